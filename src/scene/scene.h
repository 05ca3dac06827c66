/* Scenes from text in memory; those from files are in thenar/scene.h. */
#ifndef SCENE_SCENE_H
#define SCENE_SCENE_H

#include "core/error.h"
#include "hand/shape.h"
#include "io/mesh_file.h"
#include "scene/config.h"

#include "thenar/hand.h"
#include "thenar/haptic.h"
#include "thenar/mesh.h"
#include "thenar/model.h"
#include "thenar/tactile.h"

/* As thenar_scene_load without options; `name` stands for the file in messages and for files that the scene names. */
thenar_status scene_parse(const char *text, size_t size, const char *name, thenar_model **model, thenar_error *error);

#define SCENE_MAX_PATH 4096

/* The path of a scene that is given by name or by path: `path` if a scene of that name is found, else `name`. */
const char *scene_locate(const char *name, char path[SCENE_MAX_PATH]);

/* The `keys` of a support or of a driven body in a scene. */

/* Reads the sequence under the key `keys`; none if it is absent. free() them. Errors go to the map's reader. */
thenar_key *scene_keys_read(config_map *map, int *count);

/* The `shape` of a body in a scene: from a box, a mesh file or an embedded surface to a tet mesh in its place. */

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

/* A soft body of a scene. */

/* Reads the mapping of a body and adds it to the build. Errors go to the map's reader. */
void scene_soft_read(config_map *body, const char *name, thenar_build *build);

/* A rigid body of a scene. */

/* Reads the mapping of a body and adds it to the build. Errors go to the map's reader. */
void scene_rigid_read(config_map *body, const char *name, thenar_build *build);

/* A hand of a scene: bones, flesh and what drives them. */

/* Reads the mapping of a body of kind hand and adds it to the build. Errors go to the map's reader. */
void scene_hand_read(config_map *body, const char *name, thenar_build *build);

/* The handles of a scene. */

/* The devices that a scene names for its handles, and how they are felt: the key `haptic`. */

typedef struct scene_haptic scene_haptic;

/* Device files, and what the hands of a scene wear. */

/* A device file, and the same from text in memory; `name` is for messages. */
thenar_status scene_device_load(const char *path, thenar_wearable_def *def, thenar_error *error);
thenar_status scene_device_parse(const char *text, size_t size, const char *name, thenar_wearable_def *def,
                                 thenar_error *error);

/* The scene's key `tactile`: devices by name. */
void scene_tactile_read(config_map *scene, thenar_build *build);

#endif
