/* Device files, and what the hands of a scene wear. */
#ifndef SCENE_SCENE_DEVICE_H
#define SCENE_SCENE_DEVICE_H

#include "scene/config_read.h"
#include "thenar/tactile.h"

/* A device of the mapping at hand, which is closed: `kind` decides the defaults. Errors say where. */
void scene_device_read(config_map *map, thenar_wearable_def *def);

/* As thenar_wearable_load, from text in memory; `name` is for messages. */
thenar_status scene_device_parse(const char *text, size_t size, const char *name, thenar_wearable_def *def,
                                 thenar_error *error);

/* The scene's key `tactile`: devices by name. */
void scene_tactile_read(config_map *scene, thenar_build *build);

#endif
