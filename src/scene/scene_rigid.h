/* A rigid body of a scene. */
#ifndef SCENE_SCENE_RIGID_H
#define SCENE_SCENE_RIGID_H

#include "scene/config_read.h"

#include "thenar/model.h"

/* Reads the mapping of a body and adds it to the build. Errors go to the map's reader. */
void scene_rigid_read(config_map *body, const char *name, thenar_build *build);

#endif
