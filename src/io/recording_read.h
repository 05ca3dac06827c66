/* Inside the reader: opening and indexing (recording_open.c) and reading frames and meshes
 * (recording_read.c). */
#ifndef IO_RECORDING_READ_H
#define IO_RECORDING_READ_H

#include "io/recording_format.h"
#include "io/recording_head.h"

#include <zstd.h>

struct thenar_recording {
    int file;
    char *path;
    uint64_t size; /* of the file, bytes */
    recording_head head;
    char *damage;
    uint64_t *mesh_offsets;        /* of each body's MESH chunk */
    thenar_recording_mesh *meshes; /* those read so far; mesh_blocks[i] holds the arrays of meshes[i] */
    void **mesh_blocks;
    recording_key *keys;
    int frame_count;
    size_t values_size; /* of a frame, raw */
    ZSTD_DCtx *decompressor;
    unsigned char *stored, *planes, *values; /* buffers of a frame, made for the first one */
    size_t stored_capacity;
    int frame_in_values; /* -1: none */
    double *nodes;       /* scratch: the positions that an embedded surface is worked out from */
    size_t nodes_capacity;
};

/* Exactly size bytes at offset. */
thenar_status recording_read_bytes(const thenar_recording *recording, uint64_t offset, void *bytes, size_t size,
                                   thenar_error *error);

/* The chunk header at offset, checked against the file's size and the limits of the format. */
thenar_status recording_read_chunk(const thenar_recording *recording, uint64_t offset, recording_chunk *chunk,
                                   thenar_error *error);

/* "FILE: at byte N: TEXT" */
thenar_status recording_complain(const thenar_recording *recording, uint64_t offset, thenar_error *error,
                                 const char *text);

#endif
