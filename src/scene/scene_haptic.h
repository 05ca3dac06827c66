/* The devices that a scene names for its handles, and how they are felt: the key `haptic`. */
#ifndef SCENE_SCENE_HAPTIC_H
#define SCENE_SCENE_HAPTIC_H

#include "scene/config_read.h"
#include "thenar/haptic.h"

typedef struct scene_haptic scene_haptic;

/* Reads the mapping under `haptic`; *out is NULL if there is none. Errors go to the map's reader. */
void scene_haptic_read(config_map *scene, scene_haptic **out);

/* Puts it into a model that nobody else has yet. NULL is fine. */
thenar_status scene_haptic_give(const scene_haptic *haptic, thenar_model *model, thenar_error *error);

void scene_haptic_free(scene_haptic *haptic);

#endif
