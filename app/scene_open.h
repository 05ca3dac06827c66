/* What run, check and bench share: a scene by name, with overrides, compiled, its warnings told. */
#ifndef APP_SCENE_OPEN_H
#define APP_SCENE_OPEN_H

#include "app/options.h"

#include "thenar/thenar.h"

/* track: file of tracked joints for its hands, or NULL. */
thenar_status scene_open(const char *scene, const option_list *sets, const char *track, thenar_model **model,
                         thenar_scene_info *info, thenar_error *error);

#endif
