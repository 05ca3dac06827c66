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
    uint64_t first_chunk;          /* behind the meshes: where the frames begin */
    uint64_t *mesh_offsets;        /* of each body's MESH chunk */
    thenar_recording_mesh *meshes; /* those read so far; mesh_blocks[i] holds the arrays of meshes[i] */
    void **mesh_blocks;
    recording_key *keys;
    int frame_count;
    size_t values_size; /* of a frame's channels, raw */
    ZSTD_DCtx *decompressor;
    unsigned char *stored, *planes, *values; /* buffers of a frame; they grow with the contacts */
    size_t stored_capacity, planes_capacity, values_capacity;
    int frame_in_values;      /* -1: none */
    int contact_count;        /* of that frame */
    thenar_contact *contacts; /* what was handed out last */
    size_t contacts_capacity;
    double *nodes; /* scratch: the positions that an embedded surface is worked out from */
    size_t nodes_capacity;
};

/* Exactly size bytes at offset. */
thenar_status recording_read_bytes(const thenar_recording *recording, uint64_t offset, void *bytes, size_t size,
                                   thenar_error *error);

/* The chunk header at offset, checked against the file's size and the limits of the format. */
thenar_status recording_read_chunk(const thenar_recording *recording, uint64_t offset, recording_chunk *chunk,
                                   thenar_error *error);

/* Compares the checksum of a chunk with its header and payload. piece: RECORDING_PIECE bytes to work in. */
thenar_status recording_verify_chunk(const thenar_recording *recording, uint64_t offset, const recording_chunk *chunk,
                                     unsigned char *piece, thenar_error *error);

/* How many contacts a frame of that raw size has behind its channels; -1: HEAD does not allow that size. */
int recording_count_contacts(const thenar_recording *recording, uint64_t raw_size);

/* The channel of that name if it is of the body as a whole and has so many numbers, else -1: names mean nothing, and a
 * file may have any number of numbers under them. */
int recording_find_numbers(const thenar_recording *recording, int body, const char *name, int numbers);

/* "FILE: at byte N: TEXT" */
thenar_status recording_complain(const thenar_recording *recording, uint64_t offset, thenar_error *error,
                                 const char *text);

#endif
