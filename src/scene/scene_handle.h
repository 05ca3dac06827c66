/* The handles of a scene. */
#ifndef SCENE_SCENE_HANDLE_H
#define SCENE_SCENE_HANDLE_H

#include "scene/config_read.h"

#include "thenar/haptic.h"

/* Reads the mapping under `handles`, if there is one, and adds them to the build, which has the bodies already. Errors
 * go to the map's reader. */
void scene_handles_read(config_map *scene, thenar_build *build);

#endif
