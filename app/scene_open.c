#include "app/scene_open.h"

#include "app/scene_find.h"

#include <stdio.h>

thenar_status scene_open(const char *scene, const option_list *sets, const char *track, thenar_model **model,
                         thenar_scene_info *info, thenar_error *error) {
    char path[SCENE_PATH_SIZE];
    thenar_status status = scene_find(scene, path, error);
    if (status != THENAR_OK) return status;
    thenar_scene_options options = {.sets = sets->values, .set_count = sets->count, .track = track};
    status = thenar_scene_load(path, &options, model, info, error);
    for (int i = 0; status == THENAR_OK && i < thenar_model_warning_count(*model); i++)
        fprintf(stderr, "thenar: warning: %s: %s\n", path, thenar_model_warning(*model, i));
    return status;
}
