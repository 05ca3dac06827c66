#include "app/command.h"

#include <stdio.h>
#include <stdlib.h>

void scene_check_folder(void) {
    static bool is_done; /* one warning is enough for a command that looks up several scenes */
    const char *folder = getenv("THENAR_SCENES");
    if (folder && *folder && !is_directory(folder) && !is_done)
        fprintf(stderr, "thenar: warning: %s: is not a directory; expected one in THENAR_SCENES\n", folder);
    is_done = true;
}

thenar_status scene_find(const char *scene, char path[SCENE_PATH_SIZE], thenar_error *error) {
    scene_check_folder();
    return thenar_scene_find(scene, path, SCENE_PATH_SIZE, error);
}

thenar_status scene_open(const char *scene, const option_list *sets, const char *track, thenar_model **model,
                         thenar_scene_info *info, thenar_error *error) {
    char path[SCENE_PATH_SIZE];
    thenar_status status = scene_find(scene, path, error);
    if (status != THENAR_OK) return status;
    thenar_track *frames = NULL;
    if (track) status = thenar_track_load(track, &frames, error);
    if (status != THENAR_OK) return status;
    thenar_scene_options options = thenar_scene_options_default();
    options.sets = sets->values;
    options.set_count = sets->count;
    options.track = frames;
    status = thenar_scene_load(path, &options, model, info, error);
    thenar_track_free(frames);
    for (int i = 0; status == THENAR_OK && i < thenar_model_warning_count(*model); i++)
        fprintf(stderr, "thenar: warning: %s: %s\n", path, thenar_model_warning(*model, i));
    return status;
}
