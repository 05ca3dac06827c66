/* The bytes of a recording, as docs/recording-format.md lays them down: what the writer and the reader share.
 */
#ifndef IO_RECORDING_FORMAT_H
#define IO_RECORDING_FORMAT_H

#include "thenar/recording.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Headers and arrays go to the file as they lie in memory. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "recordings are little-endian; this machine is not");
_Static_assert(sizeof(float) == 4 && sizeof(double) == 8 && sizeof(int) == 4, "recordings hold IEEE numbers");

#define RECORDING_VERSION 2u        /* that is written */
#define RECORDING_VERSION_OLDEST 1u /* that is read: without contacts */
#define RECORDING_FLAG_ZSTD 1u      /* the payload (of a frame: all behind step and time) is one zstd frame */
#define RECORDING_FLAG_PLANES 2u    /* the arrays in it are split into byte planes */

enum {
    RECORDING_PIECE = 1 << 16,       /* bytes hashed at once: a checksum needs a buffer of this size only */
    RECORDING_EXPANSION_MAX = 1024,  /* raw size over stored size, at most: a small file cannot ask for much memory */
    RECORDING_COMPONENTS_MAX = 4096, /* with the two below: no size computed from a header overflows 64 bits */
    RECORDING_CHANNELS_MAX = 16384,
    RECORDING_BODIES_MAX = 16384,
};

/* First in the file. */
typedef struct recording_preamble {
    char magic[8];
    uint32_t version;
    uint32_t reserved; /* 0 */
} recording_preamble;
_Static_assert(sizeof(recording_preamble) == 16, "the file holds it as it is");

/* First in each chunk; the payload of stored_size bytes follows. */
typedef struct recording_chunk {
    char type[4];
    uint32_t flags;
    uint64_t stored_size; /* bytes of the payload in the file */
    uint64_t raw_size;    /* bytes of the payload when decompressed */
    uint64_t checksum;    /* of the 24 bytes above and the payload */
} recording_chunk;
_Static_assert(sizeof(recording_chunk) == 32, "the file holds it as it is");

/* First in the payload of a frame, never compressed. */
typedef struct recording_moment {
    uint64_t step;
    double time;
} recording_moment;
_Static_assert(sizeof(recording_moment) == 16, "the file holds it as it is");

/* A frame in the index. */
typedef struct recording_key {
    uint64_t offset; /* of the frame's chunk header in the file */
    recording_moment moment;
} recording_key;
_Static_assert(sizeof(recording_key) == 24, "the file holds it as it is");

/* Last in the payload of the index, and so last in the file: the way to the index from the end. */
typedef struct recording_tail {
    uint64_t frame_count;
    uint64_t index_offset; /* of the index's chunk header */
    char magic[8];
} recording_tail;
_Static_assert(sizeof(recording_tail) == 24, "the file holds it as it is");

extern const char recording_magic[8];
extern const char recording_tail_magic[8];

bool recording_is_type(const recording_chunk *chunk, const char *type);

/* The checksum in two parts: the header's fields, then the payload in pieces of RECORDING_PIECE bytes (the
 * last one shorter), each continuing the hash. */
uint64_t recording_checksum_header(const recording_chunk *chunk);
uint64_t recording_checksum_payload(uint64_t hash, const void *payload, size_t size);

/* Byte planes: first byte 0 of every number, then byte 1 of every number, ... Neighbours in space have equal
 * sign, exponent and leading bits; side by side they compress (docs/recording-format.md has the figures). */
void recording_planes_split(unsigned char *planes, const unsigned char *numbers, size_t count, size_t width);
void recording_planes_join(unsigned char *numbers, const unsigned char *planes, size_t count, size_t width);

/* Bytes of one number, of a channel in a frame, and of all channels in a frame. */
size_t recording_type_width(thenar_recording_type type);
size_t recording_channel_numbers(const thenar_recording_channel *channel);
size_t recording_channel_size(const thenar_recording_channel *channel);
size_t recording_values_size(const thenar_recording_channel *channels, int count);

/* The arrays in the payload of a mesh, in their order: doubles first, so that all are aligned. Counts of
 * numbers. */
typedef struct recording_mesh_layout {
    size_t rest, surface, weights;          /* double */
    size_t tets, triangles, embedding_tets; /* int */
} recording_mesh_layout;
recording_mesh_layout recording_mesh_layout_of(const thenar_recording_body *body);
size_t recording_mesh_doubles(const recording_mesh_layout *layout);
size_t recording_mesh_ints(const recording_mesh_layout *layout);
size_t recording_mesh_size(const recording_mesh_layout *layout);

#endif
