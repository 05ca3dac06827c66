/* A glTF 2.0 file, binary (.glb) or text (.gltf) with its buffers inside it: its objects, and its arrays as doubles.
 *
 * A file is untrusted: every offset, length, stride and index is checked before a byte is read. */
#ifndef IO_HAND_GLTF_H
#define IO_HAND_GLTF_H

#include "core/error.h"
#include "io/file.h"
#include "hand/shape.h"

#include <jansson.h>

typedef struct gltf_bytes {
    const unsigned char *data;
    size_t size;
    unsigned char *owned; /* decoded from text, or NULL */
} gltf_bytes;

typedef struct gltf_file {
    const char *path; /* the caller's */
    file_bytes bytes;
    json_t *root;
    int buffer_count;
    gltf_bytes *buffers;
} gltf_file;

/* Hands from glTF: any closed mesh with the 25 joints of WebXR, by name, and skin weights.
 *
 * Joints come from the inverse bind matrices, not from the nodes, which may be siblings, in any order and in any pose.
 * Vertices at the same place (texture seams) become one. The hand is turned into its wrist's frame; that its thumb is
 * at -x makes it a right one. The last joints of some hands lie deep inside the fingertips: they stay where the file
 * has them. */

/* About `tets` tets: in layers as those of the built-in hand. Metres. */
thenar_status hand_gltf_load(const char *path, int tets, hand_shape *out, thenar_error *error);

/* What is read of a file before any tet is made: joints and skin as the file has them, and HAND_BONES weights a vertex,
 * to be freed. `bytes` are used up, also if this fails; path is for messages. */
thenar_status hand_gltf_parse(const char *path, file_bytes bytes, hand_shape *out, double **weight,
                              thenar_error *error);

#endif
