/* A hand of a scene: bones, flesh and what drives them. */
#ifndef SCENE_SCENE_HAND_H
#define SCENE_SCENE_HAND_H

#include "scene/config_read.h"

#include "thenar/hand.h"

/* Reads the mapping of a body of kind hand and adds it to the build. Errors go to the map's reader. */
void scene_hand_read(config_map *body, const char *name, thenar_build *build);

#endif
