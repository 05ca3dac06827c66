/* Tracks with errors: they are refused or tolerated, and the simulation stays stable. */
#include "hand_world.h"
#include "thenar/file.h"

#include "core/vec3.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FRAMES 90
#define RATE 90.0 /* frames a second */

typedef struct frame {
    double time;
    const char *hand;
    int joint_count;
    double position[26][3]; /* NaN: null */
} frame;

static char path[] = "/tmp/thenar_track_XXXXXX";
static frame frames[FRAMES];

/* A hand that waves and closes: the joints of a simulated one. */
static void record(void) {
    const thenar_hand_key keys[] = {{.time = 0, .pose = THENAR_HAND_POSE_RELAXED},
                                    {.time = 1, .pose = THENAR_HAND_POSE_FIST}};
    const thenar_key wave[] = {{.time = 0}, {.time = 0.5, .move = {0.1, 0, 0}}, {.time = 1, .turn = {0, 0.4, 0}}};
    thenar_hand_def def = hand_world_def();
    def.keys = keys, def.key_count = 2;
    def.base_keys = wave, def.base_key_count = 3;
    thenar_model *model = hand_world_model(&def);
    thenar_sim *sim = hand_world_start(model, 1 / RATE, 1);
    for (int k = 0; k < FRAMES; k++) {
        double joints[7 * THENAR_HAND_JOINTS];
        assert_int_equal(thenar_sim_step(sim), THENAR_OK);
        thenar_sim_hand_joints(sim, 0, joints);
        frames[k] = (frame){.time = k / RATE, .hand = "right", .joint_count = THENAR_HAND_JOINTS};
        for (int j = 0; j < THENAR_HAND_JOINTS; j++) memcpy(frames[k].position[j], joints + 7 * j, 3 * sizeof(double));
    }
    thenar_sim_free(sim);
    thenar_model_free(model);
}

static void write_frame(FILE *file, const frame *f) {
    fprintf(file, "{\"t\": %.6f, \"hand\": \"%s\", \"joints\": [", f->time, f->hand);
    for (int j = 0; j < f->joint_count; j++) {
        const double *p = f->position[j];
        if (j > 0) fputs(", ", file);
        if (isnan(p[0]))
            fputs("null", file);
        else
            fprintf(file, "[%.6f, %.6f, %.6f]", p[0], p[1], p[2]);
    }
    fputs("]}\n", file);
}

static void write_track(const frame *track, int count) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int k = 0; k < count; k++) write_frame(file, &track[k]);
    fclose(file);
}

typedef struct outcome {
    thenar_status status;
    char text[512];  /* of the error, or the first warning */
    int warnings;    /* of the model */
    double min, max; /* stretches of the flesh that were seen */
    vec3 wrist;      /* in the end */
    uint64_t inverted, failed;
} outcome;

/* A hand follows the file. */
static outcome follow(bool left) {
    outcome out = {.min = INFINITY};
    thenar_error error;
    thenar_hand_def def = hand_world_def();
    def.left = left;
    thenar_build *build = hand_world_build(&def);
    thenar_track *track;
    out.status = thenar_track_load(path, &track, &error);
    if (out.status == THENAR_OK) out.status = thenar_build_set_track(build, track, &error);
    thenar_track_free(track);
    if (out.status != THENAR_OK) {
        snprintf(out.text, sizeof out.text, "%s", error.text);
        thenar_build_free(build);
        return out;
    }
    thenar_model *model = hand_world_compile(build);
    out.warnings = thenar_model_warning_count(model);
    if (out.warnings > 0) snprintf(out.text, sizeof out.text, "%s", thenar_model_warning(model, 0));
    thenar_sim *sim = hand_world_start(model, 0.01, 1);
    int tets = thenar_model_mesh(model, 0)->tet_count;
    double *s = malloc(3 * (size_t)tets * sizeof *s), joints[7 * THENAR_HAND_JOINTS];
    for (int i = 0; i < 150; i++) {
        thenar_sim_step(sim);
        thenar_sim_stretches(sim, 0, s);
        for (int t = 0; t < tets; t++) out.max = fmax(out.max, s[3 * t]), out.min = fmin(out.min, s[3 * t + 2]);
    }
    thenar_sim_hand_joints(sim, 0, joints);
    out.wrist = vec3_load(joints);
    out.inverted = thenar_sim_warning_count(sim, THENAR_WARNING_INVERTED);
    out.failed = thenar_sim_warning_count(sim, THENAR_WARNING_STEP_FAILED);
    free(s);
    thenar_sim_free(sim);
    thenar_model_free(model);
    return out;
}

static void assert_valid(const char *what, const outcome *out) {
    print_message("  %s: stretches %.3f..%.3f, wrist at %.3f %.3f %.3f m%s%s\n", what, out->min, out->max, out->wrist.x,
                  out->wrist.y, out->wrist.z, out->warnings > 0 ? "; warns: " : "", out->text);
    assert_int_equal(out->status, THENAR_OK);
    assert_int_equal(out->inverted, 0);
    assert_int_equal(out->failed, 0);
    assert_true(out->min > 0.3 && out->max < 1.9); /* the limits at joints, nearly */
    assert_true(vec3_is_finite(out->wrist));
}

static void assert_refused(const char *what, const outcome *out, const char *says) {
    print_message("  %s: %s\n", what, out->text);
    assert_int_equal(out->status, THENAR_ERROR_INPUT);
    if (!strstr(out->text, says)) fail_msg("'%s' does not say '%s'", out->text, says);
}

static frame copy[FRAMES];

static frame *fresh(void) {
    memcpy(copy, frames, sizeof copy);
    return copy;
}

static void a_good_track_is_followed(void **unused) {
    (void)unused;
    write_track(fresh(), FRAMES);
    outcome out = follow(false);
    assert_valid("as it was recorded", &out);
    assert_int_equal(out.warnings, 0);
    const double *end = frames[FRAMES - 1].position[0];
    assert_true(vec3_distance(out.wrist, vec3_load(end)) < 3e-3);
}

static void missing_and_unordered_frames_are_tolerated(void **unused) {
    (void)unused;
    frame *t = fresh();
    for (int k = 0; k < FRAMES; k++)
        for (int j = k % 5; j < THENAR_HAND_JOINTS; j += 5) t[k].position[j][0] = NAN;
    write_track(t, FRAMES);
    outcome out = follow(false);
    assert_valid("a fifth of the joints missing, others in each frame", &out);

    t = fresh();
    for (int k = 30; k < 60; k++)
        for (int j = 0; j < THENAR_HAND_JOINTS; j++) t[k].position[j][0] = NAN;
    write_track(t, FRAMES);
    out = follow(false);
    assert_valid("nothing seen for a third of a second", &out);

    t = fresh();
    t[40].time = t[39].time;
    t[60].time = t[20].time;
    write_track(t, FRAMES);
    out = follow(false);
    assert_valid("a time twice, and one that goes back", &out);
    assert_int_equal(out.warnings, 2);

    t = fresh();
    for (int k = 0; k < FRAMES; k++) t[k].time = 1.7e9 + 0.011 * k + (k % 7 ? 0 : 0.008);
    write_track(t, FRAMES);
    out = follow(false);
    assert_valid("uneven times that count from long ago", &out);

    t = fresh();
    for (int k = 45; k < FRAMES; k++)
        for (int j = 0; j < THENAR_HAND_JOINTS; j++) t[k].position[j][1] += 0.5;
    write_track(t, FRAMES);
    out = follow(false);
    assert_valid("a jump of half a metre", &out);
    assert_true(vec3_distance(out.wrist, vec3_load(t[FRAMES - 1].position[0])) < 5e-3);

    t = fresh();
    for (int k = 0; k < FRAMES; k++)
        for (int j = 0; j < THENAR_HAND_JOINTS; j++)
            for (int c = 0; c < 3; c++)
                t[k].position[j][c] =
                    0.8 * t[k].position[j][c] + 2e-3 * (((k * 25 + j) * 3 + c) * 7919 % 1000 / 500.0 - 1);
    write_track(t, FRAMES);
    out = follow(false);
    assert_valid("a hand of four fifths the size, with 2 mm of noise", &out);

    t = fresh();
    for (int k = 0; k < FRAMES; k++)
        for (int j = 0; j < THENAR_HAND_JOINTS; j++) t[k].position[j][0] *= -1; /* a left hand that is called right */
    write_track(t, FRAMES);
    out = follow(false);
    print_message("  a left hand for a right one: warns: %s; stretches %.3f..%.3f\n", out.text, out.min, out.max);
    assert_int_equal(out.status, THENAR_OK);
    assert_non_null(strstr(out.text, "left hand"));
    assert_int_equal(out.failed, 0);
    assert_true(out.min > 0.1 && out.max < 2.5);
}

static void files_that_are_no_track_are_refused(void **unused) {
    (void)unused;
    write_track(fresh(), 0);
    outcome out = follow(false);
    assert_refused("an empty file", &out, "empty");
    write_track(fresh(), FRAMES);
    out = follow(true);
    assert_refused("a right hand's track for a left hand", &out, "left");
    frame *t = fresh();
    t[3].joint_count = 24;
    write_track(t, FRAMES);
    out = follow(false);
    assert_refused("24 joints", &out, "24");
    t = fresh();
    t[3].joint_count = 26;
    write_track(t, FRAMES);
    out = follow(false);
    assert_refused("26 joints", &out, "26");
    t = fresh();
    t[7].position[4][2] = NAN;
    t[7].position[4][0] = 0;
    write_track(t, FRAMES);
    out = follow(false);
    assert_refused("NaN", &out, ":8");
    t = fresh();
    t[7].position[4][2] = 1e30;
    write_track(t, FRAMES);
    out = follow(false);
    assert_refused("a joint beyond the moon", &out, ":8");
    FILE *file = fopen(path, "w");
    fputs("this is not JSON\n", file);
    fclose(file);
    out = follow(false);
    assert_refused("something else", &out, ":1");
    unlink(path);
    out = follow(false);
    assert_true(out.status != THENAR_OK);
    print_message("  no file: %s\n", out.text);
}

static int set_up(void **unused) {
    (void)unused;
    int file = mkstemp(path);
    if (file < 0) return -1;
    close(file);
    record();
    return 0;
}

static int tear_down(void **unused) {
    (void)unused;
    unlink(path);
    return 0;
}

int main(int argc, char **argv) {
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_track_is_followed),
        cmocka_unit_test(missing_and_unordered_frames_are_tolerated),
        cmocka_unit_test(files_that_are_no_track_are_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
