/* A glTF 2.0 file, binary (.glb) or text (.gltf) with its buffers inside it: its objects, and its arrays as doubles.
 *
 * A file is untrusted: every offset, length, stride and index is checked before a byte is read. */
#ifndef SHAPE_GLTF_FILE_H
#define SHAPE_GLTF_FILE_H

#include "base/error.h"
#include "base/file.h"

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

/* The bytes, as file_read gives them, are the file's from here on, also if this fails; path is for messages. */
thenar_status gltf_parse(const char *path, file_bytes bytes, gltf_file *out, thenar_error *error);
void gltf_close(gltf_file *file);

/* The object at an index of one of the root's lists ("nodes"), or NULL. */
json_t *gltf_object(const gltf_file *file, const char *list, long index);
/* A member that is a whole number from 0 on; -1: not there or not such a number. */
long gltf_index(const json_t *object, const char *key);

/* All numbers of an accessor, `components` an element (1 SCALAR, 3 VEC3, 4 VEC4, 16 MAT4, column by column), normalized
 * ones as 0..1. free() it. */
thenar_status gltf_read(const gltf_file *file, long accessor, int components, double **out, int *count,
                        thenar_error *error);

#endif
