/* The `keys` of a support or of a driven body in a scene. */
#ifndef SCENE_SCENE_KEYS_H
#define SCENE_SCENE_KEYS_H

#include "scene/config_read.h"

#include "thenar/model.h"

/* Reads the sequence under the key `keys`; none if it is absent. free() them. Errors go to the map's reader. */
thenar_key *scene_keys_read(config_map *map, int *count);

#endif
