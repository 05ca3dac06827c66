/* Builds a binary glTF 2.0 file (.glb): arrays go to its one buffer, objects to its lists.
 *
 *     gltf_builder gltf;
 *     gltf_begin(&gltf, "a scene");
 *     int positions = gltf_add_floats(&gltf, GLTF_VERTICES, xyz, count, 3);
 *     int mesh = gltf_append(&gltf, "meshes", json_pack(...));
 *     ...
 *     status = gltf_write(&gltf, path, &error);
 *     gltf_free(&gltf);
 *
 * Memory that runs out on the way is remembered and told by gltf_write; the indices returned until then mean
 * nothing.
 */
#ifndef IO_GLTF_H
#define IO_GLTF_H

#include "base/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct gltf_builder {
    json_t *root;
    unsigned char *bytes; /* the buffer */
    size_t size, capacity;
    bool failed;
} gltf_builder;

/* What the numbers of an accessor are for. */
typedef enum gltf_use { GLTF_VERTICES, GLTF_ANIMATION } gltf_use;

void gltf_begin(gltf_builder *gltf, const char *scene_name);
void gltf_free(gltf_builder *gltf);

/* count elements of `components` (1, 3 or 4) finite numbers each; returns the index of the accessor. */
int gltf_add_floats(gltf_builder *gltf, gltf_use use, const float *values, size_t count, int components);

/* Triangle corners; returns the index of the accessor. */
int gltf_add_indices(gltf_builder *gltf, const uint32_t *indices, size_t count);

/* Appends to the list of that name (made when first used) and takes the object over; returns its index. */
int gltf_append(gltf_builder *gltf, const char *list, json_t *object);

thenar_status gltf_write(gltf_builder *gltf, const char *path, thenar_error *error);

#endif
