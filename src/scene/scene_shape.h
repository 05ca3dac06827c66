/* The `shape` of a body in a scene: from a box, a mesh file or an embedded surface to a tet mesh in its place. */
#ifndef SCENE_SCENE_SHAPE_H
#define SCENE_SCENE_SHAPE_H

#include "scene/config_read.h"
#include "shape/hand.h"
#include "shape/mesh_file.h"

#include "thenar/mesh.h"

typedef struct scene_shape {
    thenar_tet_mesh mesh;
    thenar_surface surface; /* empty: the boundary of the mesh */
    thenar_embedding embedding;
    double *fill;            /* NULL: every tet is full */
    double *contact_spacing; /* of a hand: for `contact_spacing: hand`, one a vertex of the surface, m; else NULL */
    mesh_file file;          /* names of tags; its meshes have moved to the members above */
} scene_shape;

/* Reads the mapping under the key `shape`. Errors go to the map's reader. */
void scene_shape_read(config_map *body, scene_shape *shape);
/* The mapping under the key `hand` of a shape: how a hand is made. free() *path, the glTF file or NULL. */
void scene_hand_options_read(config_map *shape, hand_options *options, char **path);
void scene_shape_free(scene_shape *shape);

/* The tag of that name in the mesh file, or -1. */
int scene_shape_find_tag(const scene_shape *shape, const char *name);

#endif
