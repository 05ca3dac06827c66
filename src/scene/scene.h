/* The parts of a scene file: each function reads one mapping and adds what it describes to a build. Errors go to the reader
 * of the map. docs/scenes.md has all keys. */
#ifndef SCENE_SCENE_H
#define SCENE_SCENE_H

#include "hand/shape.h"
#include "io/file.h"
#include "scene/config.h"

#include "thenar/mesh.h"
#include "thenar/model.h"
#include "thenar/scene.h"

#define DEGREE (3.14159265358979323846 / 180)

/* The sequence `keys` of a support, a driven body, a hand or a handle; NULL if there is none. free() it. */
thenar_key *scene_keys_read(config_map *map, int *count);

/* `move` and `turn` of a shape. */
void scene_pose_read(config_map *shape, double pose[7]);

/* The tet mesh of a soft body, as its `shape` describes it: a box, a mesh file, an embedded surface, a finger or a hand. */
typedef struct scene_shape {
    thenar_tet_mesh mesh;
    thenar_surface surface; /* empty: the boundary of the mesh */
    thenar_embedding embedding;
    double *fill;            /* NULL: every tet is full */
    double *contact_spacing; /* of a hand, for `contact_spacing: hand`: one per vertex of the surface, m; else NULL */
    mesh_file file;          /* names of tags; its meshes have moved to the members above */
} scene_shape;

void scene_shape_read(config_map *body, scene_shape *shape);
void scene_shape_free(scene_shape *shape);

/* The tag of that name in the mesh file, or -1. */
int scene_shape_find_tag(const scene_shape *shape, const char *name);

/* The mapping `hand` of a shape. free() *path, the glTF file or NULL. */
void scene_hand_options_read(config_map *shape, hand_options *options, char **path);

/* Bodies. */
void scene_soft_read(config_map *body, const char *name, thenar_build *build);
void scene_rigid_read(config_map *body, const char *name, thenar_build *build);
/* tracked: drives the hand in place of its own track if it has frames of it; or NULL. */
void scene_hand_read(config_map *body, const char *name, const thenar_track *tracked, thenar_build *build);

/* The mapping `tactile` of a scene: the devices that its hands wear, by name. */
void scene_tactile_read(config_map *scene, thenar_build *build);

#endif
