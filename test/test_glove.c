/* Gloves with one value a finger: what is read, what is refused and with which words, and which angles they become. */
#include "hand_world.h"
#include "thenar/file.h"

#include "hand/retarget.h"
#include "world/model.h"

#include <unistd.h>

#define DEGREE (3.14159265358979323846 / 180)

static thenar_status parse(const char *text, track *out, thenar_error *error) {
    return track_parse(text, strlen(text), "glove.jsonl", out, error);
}

static void assert_refused(const char *text, const char *words) {
    track glove;
    thenar_error error = {0};
    assert_int_equal(parse(text, &glove, &error), THENAR_ERROR_INPUT);
    if (!strstr(error.text, "glove.jsonl") || !strstr(error.text, words))
        fail_msg("got \"%s\", expected \"%s\"", error.text, words);
    assert_null(glove.gloves[0].data);
}

static void values_between_frames_are_on_straight_lines_and_held_outside(void **unused) {
    (void)unused;
    track glove;
    thenar_error error;
    assert_ok(parse("{\"t\": 1, \"hand\": \"right\", \"flexion\": [0, 0.2, 0.4, 0.6, 0.8], "
                    "\"wrist\": [0, 0.1, 0, 0, 0, 0, 1]}\n"
                    "{\"t\": 3, \"hand\": \"right\", \"flexion\": [1, 0.4, 0.4, 0.6, 0], "
                    "\"wrist\": [0.2, 0.1, 0, 0, 0.7071067811865476, 0, 0.7071067811865476]}\n",
                    &glove, &error),
              error);
    assert_int_equal(track_count(&glove, false), 2);
    assert_near(track_start(&glove), 1, 0);
    assert_near(track_stop(&glove), 3, 0);
    glove_frame at = glove_sample(&glove.gloves[0], 1.5);
    const double expected[] = {0.25, 0.25, 0.4, 0.6, 0.6};
    for (int f = 0; f < HAND_FINGERS; f++) assert_near(at.flexion[f], expected[f], 1e-15);
    assert_near(at.wrist.position.x, 0.05, 1e-15);
    /* A quarter of a right angle about y. */
    assert_near(at.wrist.orientation.y, sin(22.5 / 2 * DEGREE), 1e-15);
    assert_near(glove_sample(&glove.gloves[0], 0).flexion[4], 0.8, 0);
    assert_near(glove_sample(&glove.gloves[0], 9).flexion[0], 1, 0);
    track_free(&glove);
}

static void missing_angles_stay_as_they_were_and_angles_never_sent_stay_open(void **unused) {
    (void)unused;
    track glove;
    thenar_error error;
    assert_ok(parse("{\"t\": 0, \"hand\": \"left\", \"flexion\": [null, 0.2, null, 0.5, null]}\n"
                    "{\"t\": 1, \"hand\": \"left\", \"flexion\": [0.3, null, null, 0.6, null], \"wrist\": null}\n"
                    "{\"t\": 2, \"hand\": \"left\", \"flexion\": [null, null, 0.9, null, null]}\n",
                    &glove, &error),
              error);
    const double expected[][HAND_FINGERS] = {{0.3, 0.2, 0.9, 0.5, 0}, {0.3, 0.2, 0.9, 0.6, 0}, {0.3, 0.2, 0.9, 0.6, 0}};
    for (int k = 0; k < 3; k++)
        for (int f = 0; f < HAND_FINGERS; f++) assert_near(glove.gloves[1].data[k].flexion[f], expected[k][f], 0);
    assert_true(isnan(glove_sample(&glove.gloves[1], 1.5).wrist.position.x));
    assert_int_equal(track_expect(&glove, false, &error), THENAR_ERROR_INPUT);
    assert_non_null(strstr(error.text, "3 of the left"));
    track_free(&glove);
}

static void
a_little_out_of_range_is_clamped_and_times_that_do_not_rise_are_left_out_and_both_are_counted(void **unused) {
    (void)unused;
    track glove;
    thenar_error error;
    assert_ok(parse("{\"t\": 0, \"hand\": \"right\", \"flexion\": [0, 0, 0, 0, 0]}\n"
                    "{\"t\": 2, \"hand\": \"right\", \"flexion\": [-0.1, 1.2, 0, 0, 0]}\n"
                    "{\"t\": 1, \"hand\": \"right\", \"flexion\": [0.5, 0.5, 0, 0, 0]}\n"
                    "{\"t\": 2, \"hand\": \"right\", \"flexion\": [0.5, 0.5, 0, 0, 0]}\n"
                    "{\"t\": 3, \"hand\": \"right\", \"flexi",
                    &glove, &error),
              error);
    assert_int_equal(glove.gloves[0].count, 2);
    assert_near(glove.gloves[0].data[1].flexion[0], 0, 0);
    assert_near(glove.gloves[0].data[1].flexion[1], 1, 0);
    assert_int_equal(glove.clamped, 2);
    assert_int_equal(glove.clamped_line, 2);
    assert_int_equal(glove.decreasing_line, 3);
    assert_int_equal(glove.repeated_line, 4);
    assert_int_equal(glove.truncated_line, 5);
    track_free(&glove);
}

static void invalid_glove_messages_are_refused_with_their_line(void **unused) {
    (void)unused;
    assert_refused("{\"t\": 0, \"hand\": \"right\", \"flexion\": [0, 0, 0, 0]}\n", "expected one per finger");
    assert_refused("{\"t\": 0, \"hand\": \"right\", \"flexion\": [0, 0, 0, 0, 0, 0]}\n", "expected one per finger");
    assert_refused("\n{\"t\": 0, \"hand\": \"right\", \"flexion\": [0, 90, 0, 0, 0]}\n",
                   ":2: flexion of finger 1 is 90");
    assert_refused("{\"t\": 0, \"hand\": \"right\", \"flexion\": [0, 0, -0.6, 0, 0]}\n", "flexion of finger 2 is -0.6");
    assert_refused("{\"t\": 0, \"hand\": \"right\", \"flexion\": [0, \"a\", 0, 0, 0]}\n", "finger 1 is not a number");
    assert_refused("{\"t\": 0, \"hand\": \"right\", \"flexion\": [0, NaN, 0, 0, 0]}\n", ":1: ");
    assert_refused("{\"t\": 0, \"hand\": \"right\", \"flexion\": [0, 0, 0, 0, 0], \"wrist\": [0, 0, 0]}\n",
                   "wrist is not a list of 7");
    assert_refused("{\"t\": 0, \"hand\": \"right\", \"flexion\": [0, 0, 0, 0, 0], \"wrist\": [0, 0, 0, 0, 0, 0, 0]}\n",
                   "wrist: the quaternion has length 0");
    assert_refused(
        "{\"t\": 0, \"hand\": \"right\", \"flexion\": [0, 0, 0, 0, 0], \"wrist\": [0, 1e6, 0, 0, 0, 0, 1]}\n",
        "wrist is at");
    assert_refused("{\"t\": 0, \"hand\": \"right\", \"flexion\": [0, 0, 0, 0, 0], \"joints\": []}\n",
                   "joints and flexion");
    assert_refused("{\"hand\": \"right\", \"flexion\": [0, 0, 0, 0, 0]}\n", "t is missing");
    assert_refused("{\"t\": 0, \"flexion\": [0, 0, 0, 0, 0]}\n", "hand is missing");
}

static void one_hand_does_not_mix_joints_and_flexion(void **unused) {
    (void)unused;
    char text[4096] = "{\"t\": 0, \"hand\": \"right\", \"flexion\": [0, 0, 0, 0, 0]}\n"
                      "{\"t\": 1, \"hand\": \"right\", \"joints\": [";
    for (int j = 0; j < HAND_JOINTS; j++) strcat(text, j ? ", [0, 0, 0]" : "[0, 0, 0]");
    strcat(text, "]}\n");
    assert_refused(text, ":2: has joints, but earlier lines of this hand have flexion");
}

/* A hand whose glove closes within half a second, from a file; its wrist stays where the hand is put. */
static void a_track_of_a_glove_closes_a_hand_by_the_documented_angles(void **unused) {
    (void)unused;
    char path[] = "/tmp/thenar-glove-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    const char *lines = "{\"t\": 10, \"hand\": \"right\", \"flexion\": [0, 0, 0, 0, 0]}\n"
                        "{\"t\": 10.5, \"hand\": \"right\", \"flexion\": [1.1, 0.5, 1, 1, 1]}\n"
                        "{\"t\": 10.6, \"hand\": \"right\", \"flex";
    assert_int_equal(write(file, lines, strlen(lines)), (long)strlen(lines));
    close(file);
    thenar_hand_def def = hand_world_def();
    thenar_error unread;
    thenar_track *frames;
    assert_ok(thenar_track_load(path, &frames, &unread), unread);
    def.track = frames;
    def.pose[1] = 0.3;
    thenar_model *model = hand_world_model(&def);
    thenar_track_free(frames);
    remove(path);
    assert_int_equal(thenar_model_warning_count(model), 2);
    assert_non_null(strstr(thenar_model_warning(model, 0), "line 3 ends in the middle and is left out"));
    assert_non_null(strstr(thenar_model_warning(model, 1), "1 values of its glove"));
    assert_near(thenar_model_track_time(model), 0.5, 1e-12);
    thenar_sim *sim = hand_world_start(model, 0.01, 1);
    for (int k = 0; k < 60; k++) assert_int_equal(thenar_sim_step(sim), THENAR_OK);
    double wrist[7], q[THENAR_HAND_ANGLES];
    thenar_sim_hand_target(sim, 0, wrist, q);
    assert_near(wrist[1], 0.3, 1e-12);
    /* docs/hand.md: the thumb closed, the index finger half closed, the little finger closed. */
    const double expected[] = {30, 45, 60, 50, 41, 0, 49, 30}, little[] = {86, 0, 96, 60};
    for (int i = 0; i < 8; i++) assert_near(q[i], expected[i] * DEGREE, 1e-12);
    for (int k = 0; k < 4; k++) assert_near(q[16 + k], little[k] * DEGREE, 1e-12);
    thenar_sim_free(sim);
    thenar_model_free(model);
}

static void a_live_glove_takes_over_and_invalid_messages_change_nothing(void **unused) {
    (void)unused;
    thenar_hand_def def = hand_world_def();
    thenar_model *model = hand_world_model(&def);
    thenar_sim *sim = hand_world_start(model, 0.01, 1);
    const double closed[5] = {1, 1, 1, 1, 1}, some[5] = {NAN, 0, NAN, 1.4, NAN};
    const double wrist[7] = {0.01, 0.02, 0.03, 0, 0, 0, 1};
    assert_int_equal(thenar_sim_drive_hand_flexion(sim, 0, closed, wrist), THENAR_OK);
    assert_int_equal(thenar_sim_drive_hand_flexion(sim, 0, some, NULL), THENAR_OK);
    const double bad[][5] = {{0, 0, 0, 0, 1.6}, {-1, 0, 0, 0, 0}, {0, 0, INFINITY, 0, 0}};
    for (int k = 0; k < 3; k++)
        assert_int_equal(thenar_sim_drive_hand_flexion(sim, 0, bad[k], NULL), THENAR_ERROR_INPUT);
    const double nowhere[7] = {NAN, 0, 0, 0, 0, 0, 1};
    assert_int_equal(thenar_sim_drive_hand_flexion(sim, 0, closed, nowhere), THENAR_ERROR_INPUT);
    assert_int_equal(thenar_sim_step(sim), THENAR_OK);
    double place[7], q[THENAR_HAND_ANGLES];
    thenar_sim_hand_target(sim, 0, place, q);
    for (int k = 0; k < 7; k++) assert_near(place[k], wrist[k], 1e-15);
    assert_near(q[2], 60 * DEGREE, 1e-12);  /* the thumb, as before */
    assert_near(q[4], 0, 1e-12);            /* the index finger, opened */
    assert_near(q[8], 85 * DEGREE, 1e-12);  /* the middle finger, as before */
    assert_near(q[12], 86 * DEGREE, 1e-12); /* the ring finger, closed */
    thenar_sim_free(sim);
    thenar_model_free(model);
}

/* Nulls take jansson no memory, so that half a million lines take about a second. */
static void a_track_of_too_many_frames_is_refused_with_its_line(void **unused) {
    (void)unused;
    if (SANITIZED) skip();
    static const char line[] = "{\"t\":%8zu,\"hand\":\"left\",\"flexion\":[null,null,null,null,null]}\n";
    size_t one = (size_t)snprintf(NULL, 0, line, (size_t)0), at = 0;
    char *text = malloc((TRACK_MAX_FRAMES + 1) * one + 1);
    for (size_t i = 0; i <= TRACK_MAX_FRAMES; i++) at += (size_t)sprintf(text + at, line, i);
    assert_refused(text, "glove.jsonl:524289: more than 524288 frames; cut the track into pieces");
    free(text);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(values_between_frames_are_on_straight_lines_and_held_outside),
    cmocka_unit_test(missing_angles_stay_as_they_were_and_angles_never_sent_stay_open),
    cmocka_unit_test(a_little_out_of_range_is_clamped_and_times_that_do_not_rise_are_left_out_and_both_are_counted),
    cmocka_unit_test(invalid_glove_messages_are_refused_with_their_line),
    cmocka_unit_test(a_track_of_too_many_frames_is_refused_with_its_line),
    cmocka_unit_test(one_hand_does_not_mix_joints_and_flexion),
    cmocka_unit_test(a_track_of_a_glove_closes_a_hand_by_the_documented_angles),
    cmocka_unit_test(a_live_glove_takes_over_and_invalid_messages_change_nothing),
};

TEST_MAIN(tests)
