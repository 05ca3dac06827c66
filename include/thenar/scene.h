/* Scene files: YAML in, a compiled model out. docs/scenes.md describes the format. */
#ifndef THENAR_SCENE_H
#define THENAR_SCENE_H

#include "thenar/model.h"
#include "thenar/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How to load a scene. */
typedef struct thenar_scene_options {
    const char *const *sets; /**< overrides "path=value", as for --set; later ones win */
    int set_count;
    const char *track; /**< file of tracked joints that drives the scene's hands, as thenar_build_set_track; or NULL */
} thenar_scene_options;

/** What a scene file says besides the model. */
typedef struct thenar_scene_info {
    char title[256];
    double time; /**< how long a run is meant to last, s: as the scene says, or as long as the track lasts */
} thenar_scene_info;

/** Loads a scene. options and info may be NULL. Errors name file, line and column. */
THENAR_API thenar_status thenar_scene_load(const char *path, const thenar_scene_options *options, thenar_model **model,
                                           thenar_scene_info *info, thenar_error *error);

#ifdef __cplusplus
}
#endif

#endif
