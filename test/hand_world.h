/* A world with nothing but a hand, for tests. */
#ifndef TEST_HAND_WORLD_H
#define TEST_HAND_WORLD_H

#include "test.h"

#include "thenar/thenar.h"

/* A small skin, and nothing touches it: what most tests look at does not depend on either. */
static inline thenar_hand_def hand_world_def(void) {
    thenar_hand_def def = thenar_hand_def_default();
    def.triangles = 6000;
    def.touches = false;
    return def;
}

static inline thenar_build *hand_world_build(const thenar_hand_def *def) {
    thenar_error error;
    thenar_world_def world = thenar_world_def_default();
    thenar_build *build = thenar_build_create(&world);
    assert_non_null(build);
    assert_ok(thenar_build_add_hand(build, def, &error), error);
    return build;
}

static inline thenar_model *hand_world_compile(thenar_build *build) {
    thenar_error error;
    thenar_model *model;
    assert_ok(thenar_build_compile(build, &model, &error), error);
    thenar_build_free(build);
    return model;
}

static inline thenar_model *hand_world_model(const thenar_hand_def *def) {
    return hand_world_compile(hand_world_build(def));
}

static inline thenar_sim *hand_world_start(const thenar_model *model, double dt, int threads) {
    thenar_error error;
    thenar_sim *sim;
    thenar_sim_options options = {
        .size = sizeof(thenar_sim_options), .dt = dt, .threads = threads, .contact = THENAR_CONTACT_OF_MODEL};
    assert_ok(thenar_sim_create(model, &options, &sim, &error), error);
    return sim;
}

#endif
