/* A soft body of a scene. */
#ifndef SCENE_SCENE_SOFT_H
#define SCENE_SCENE_SOFT_H

#include "scene/config_read.h"

#include "thenar/model.h"

/* Reads the mapping of a body and adds it to the build. Errors go to the map's reader. */
void scene_soft_read(config_map *body, const char *name, thenar_build *build);

/* The mapping under the key `material`; what it does not say stays. */
void scene_material_read(config_map *map, config_need need, thenar_material *material);

#endif
