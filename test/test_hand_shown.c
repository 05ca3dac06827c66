/* What viewers need of hands: they go on when what they are made of is changed while they move, and recordings have
 * their joints. */
#include "test.h"

#include <thenar/thenar.h>

#include <unistd.h>

static thenar_model *make(double young, double base_stiffness, bool limits) {
    thenar_world_def world = thenar_world_def_default();
    thenar_build *build = thenar_build_create(&world);
    thenar_hand_def def = thenar_hand_def_default();
    thenar_hand_key fingers[] = {{.time = 0, .pose = THENAR_HAND_POSE_OPEN},
                                 {.time = 0.5, .pose = THENAR_HAND_POSE_FIST}};
    thenar_key wrist[] = {{.time = 0}, {.time = 0.5, .move = {0.1, 0, 0}, .turn = {0, 0.5, 0}}};
    thenar_model *model;
    thenar_error error;
    def.triangles = 6000;
    def.material.young = young;
    def.base_stiffness = base_stiffness;
    if (!limits) def.material.stretch_min = def.material.stretch_max = 0;
    def.keys = fingers;
    def.key_count = 2;
    def.base_keys = wrist;
    def.base_key_count = 2;
    assert_ok(thenar_build_add_hand(build, &def, &error), error);
    assert_ok(thenar_build_compile(build, &model, &error), error);
    thenar_build_free(build);
    return model;
}

static thenar_sim *start(thenar_model *model) {
    thenar_sim_options options = {.size = sizeof(thenar_sim_options), .dt = 0.01, .contact = THENAR_CONTACT_OF_MODEL};
    thenar_sim *sim;
    thenar_error error;
    assert_ok(thenar_sim_create(model, &options, &sim, &error), error);
    return sim;
}

/* The largest difference between coordinates of joints and nodes of two simulations, m. */
static double apart(const thenar_sim *a, const thenar_sim *b) {
    double joints[2][7 * THENAR_HAND_JOINTS], max = 0;
    thenar_sim_hand_joints(a, 0, joints[0]);
    thenar_sim_hand_joints(b, 0, joints[1]);
    for (int j = 0; j < THENAR_HAND_JOINTS; j++)
        for (int k = 0; k < 3; k++) max = fmax(max, fabs(joints[0][7 * j + k] - joints[1][7 * j + k]));
    int nodes = thenar_model_mesh(thenar_sim_model(a), 0)->node_count;
    for (int i = 0; i < 3 * nodes; i++)
        max = fmax(max, fabs(thenar_sim_positions(a, 0)[i] - thenar_sim_positions(b, 0)[i]));
    return max;
}

/* Runs a hand for 0.2 s, then goes on with another one of it for a step beside it: how far they are apart then, over
 * how far that step takes the hand. */
static double apart_after_change(double young, double base_stiffness, bool limits) {
    thenar_model *model = make(60e3, 2000, true), *changed = make(young, base_stiffness, limits);
    thenar_sim *sim = start(model), *next = start(changed);
    thenar_error error;
    for (int i = 0; i < 20; i++) assert_int_equal(thenar_sim_step(sim), THENAR_OK);
    assert_ok(thenar_sim_continue(next, sim, &error), error);
    assert_true(apart(sim, next) == 0);
    double angles[2][THENAR_HAND_ANGLES];
    thenar_sim_hand_angles(sim, 0, angles[0], NULL);
    thenar_sim_hand_angles(next, 0, angles[1], NULL);
    assert_memory_equal(angles[0], angles[1], sizeof angles[0]);
    assert_int_equal(thenar_sim_step(sim), THENAR_OK);
    double way = apart(sim, next);
    assert_int_equal(thenar_sim_step(next), THENAR_OK);
    double share = apart(sim, next) / way;
    thenar_sim_free(sim);
    thenar_sim_free(next);
    thenar_model_free(model);
    thenar_model_free(changed);
    return share;
}

static void a_hand_that_moves_does_not_jump_when_its_flesh_is_changed(void **state) {
    (void)state;
    double stiffer = apart_after_change(90e3, 2000, true);
    /* Without limits the kept state has another layout, and flesh that is at them is let go. */
    double unlimited = apart_after_change(60e3, 2000, false);
    print_message("apart by %.3f of a step when stiffer, %.3f without limits\n", stiffer, unlimited);
    /* Joints that close give way to stiffer flesh in the same step. */
    assert_true(stiffer < 0.2 && unlimited < 0.5);
}

static void a_continued_hand_has_the_springs_of_its_new_model(void **state) {
    (void)state;
    thenar_model *model = make(60e3, 2000, true), *softer = make(60e3, 20, true);
    thenar_sim *sim = start(model), *next = start(softer);
    thenar_error error;
    double firm[3], soft[3], torque[3];
    for (int i = 0; i < 20; i++) thenar_sim_step(sim);
    assert_ok(thenar_sim_continue(next, sim, &error), error);
    double wrist[7], joints[7 * THENAR_HAND_JOINTS];
    thenar_sim_hand_target(sim, 0, wrist, NULL);
    thenar_sim_hand_joints(sim, 0, joints);
    thenar_sim_hand_coupling(sim, 0, 0, firm, torque);
    thenar_sim_hand_coupling(next, 0, 0, soft, torque);
    /* The dampers pull alike; what differs is the springs' part. */
    for (int k = 0; k < 3; k++) assert_near(firm[k] - soft[k], (2000 - 20) * (wrist[k] - joints[k]), 1e-9);
    assert_true(fabs(firm[0] - soft[0]) > 0.01);
    thenar_sim_free(sim);
    thenar_sim_free(next);
    thenar_model_free(model);
    thenar_model_free(softer);
}

static void a_hand_that_was_driven_by_hand_still_is(void **state) {
    (void)state;
    thenar_model *model = make(60e3, 2000, true), *changed = make(90e3, 2000, false);
    thenar_sim *sim = start(model), *next = start(changed);
    thenar_error error;
    double wrist[7], spread[THENAR_HAND_ANGLES], wanted[THENAR_HAND_ANGLES];
    thenar_sim_hand_target(sim, 0, wrist, NULL);
    assert_true(thenar_model_hand_pose(model, 0, THENAR_HAND_POSE_SPREAD, spread) == THENAR_OK);
    assert_int_equal(thenar_sim_drive_hand_angles(sim, 0, wrist, spread), THENAR_OK);
    thenar_sim_step(sim);
    assert_ok(thenar_sim_continue(next, sim, &error), error);
    thenar_sim_step(next);
    thenar_sim_hand_target(next, 0, NULL, wanted);
    assert_memory_equal(wanted, spread, sizeof spread);
    thenar_sim_free(sim);
    thenar_sim_free(next);
    thenar_model_free(model);
    thenar_model_free(changed);
}

static void a_recording_has_the_joints_of_a_hand(void **state) {
    (void)state;
    static const char path[] = BINARY_DIR "/hand_shown.thenar";
    thenar_model *model = make(60e3, 2000, true);
    thenar_sim *sim = start(model);
    thenar_recorder *recorder;
    thenar_recording *recording;
    thenar_error error;
    double joints[3][7 * THENAR_HAND_JOINTS], read[7 * THENAR_HAND_JOINTS];
    assert_ok(thenar_recorder_create(path, sim, NULL, &recorder, &error), error);
    for (int f = 0; f < 3; f++) {
        assert_ok(thenar_recorder_add(recorder, &error), error);
        thenar_sim_hand_joints(sim, 0, joints[f]);
        for (int i = 0; i < 10; i++) thenar_sim_step(sim);
    }
    assert_ok(thenar_recorder_close(recorder, &error), error);
    assert_ok(thenar_recording_open(path, &recording, &error), error);
    int body, channel;
    thenar_model_hand_bodies(model, 0, &body);
    channel = thenar_recording_find_channel(recording, body, "joints");
    assert_true(channel >= 0);
    assert_int_equal(thenar_recording_channel_at(recording, channel)->element_count, THENAR_HAND_JOINTS);
    for (int f = 2; f >= 0; f--) {
        assert_ok(thenar_recording_read_channel(recording, channel, f, read, &error), error);
        for (int i = 0; i < 7 * THENAR_HAND_JOINTS; i++)
            assert_near(read[i], joints[f][i], 1e-7); /* single precision */
    }
    assert_true(fabs(joints[2][0] - joints[0][0]) > 0.01);
    thenar_recording_close(recording);
    unlink(path);
    thenar_sim_free(sim);
    thenar_model_free(model);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_hand_that_moves_does_not_jump_when_its_flesh_is_changed),
    cmocka_unit_test(a_continued_hand_has_the_springs_of_its_new_model),
    cmocka_unit_test(a_hand_that_was_driven_by_hand_still_is),
    cmocka_unit_test(a_recording_has_the_joints_of_a_hand),
};

TEST_MAIN(tests)
