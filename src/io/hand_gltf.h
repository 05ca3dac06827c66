/* Reads glTF 2.0 files, binary (.glb) or text (.gltf) with embedded buffers.
 *
 * Files are untrusted: every offset, length, stride and index is checked before a byte is read. */
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
    const char *path; /* owned by the caller */
    file_bytes bytes;
    json_t *root;
    int buffer_count;
    gltf_bytes *buffers;
} gltf_file;

/* Hands from glTF: any closed mesh with the 25 joints of WebXR, by name, and skin weights.
 *
 * Joints come from the inverse bind matrices, not from the nodes, which may be siblings, in any order and in any pose.
 * Vertices at the same position (texture seams) are merged. The hand is rotated into the frame of its wrist; a hand
 * whose thumb is at -x is a right hand. The last joints of some hands lie deep inside the fingertips and are kept there. */

/* Makes about `tets` tets, in layers as in the built-in hand. */
thenar_status hand_gltf_load(const char *path, int tets, hand_shape *out, thenar_error *error);

/* Reads joints and skin as the file has them, without tets, and HAND_BONES weights per vertex; free() these. `bytes` are
 * freed, also on an error. path: for messages. */
thenar_status hand_gltf_parse(const char *path, file_bytes bytes, hand_shape *out, double **weight,
                              thenar_error *error);

#endif
