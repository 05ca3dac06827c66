/* Simulations of the scenes in scenes/. */
#ifndef TEST_SCENE_FILES_H
#define TEST_SCENE_FILES_H

#include "test.h"

#include "thenar/thenar.h"

/* With keys set, and as `options` say; NULL: as the scene does. */
static inline thenar_sim *scene_file_open(const char *name, const char *const *sets, int set_count,
                                          const thenar_sim_options *options) {
    char path[512];
    thenar_error error;
    thenar_model *model;
    thenar_sim *sim;
    snprintf(path, sizeof path, SOURCE_DIR "/scenes/%s.yaml", name);
    thenar_scene_options of_scene = {.size = sizeof(thenar_scene_options), .sets = sets, .set_count = set_count};
    assert_ok(thenar_scene_load(path, &of_scene, &model, NULL, &error), error);
    assert_ok(thenar_sim_create(model, options, &sim, &error), error);
    thenar_model_free(model);
    return sim;
}

#endif
