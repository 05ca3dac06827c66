/* Tracks and scripts: what is read, what is refused and with which words, and the way from a track to a moving hand. */
#include "plain_hand.h"
#include "allocations.h"

#include "core/threads.h"
#include "core/hash.h"
#include "random.h"
#include "hand/hand.h"
#include "hand/retarget.h"

#include <time.h>
#include <unistd.h>

#define LONGEST_TEXT 400000

typedef struct text {
    char data[LONGEST_TEXT];
    size_t size;
} text;

static text t;

static void put(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    t.size += (size_t)vsnprintf(t.data + t.size, sizeof t.data - t.size, format, arguments);
    va_end(arguments);
    assert_true(t.size < sizeof t.data);
}

/* A frame whose joint j is at (x + j, 2, 3), with `count` joints. */
static void put_frame(double time, const char *hand, double x, int count) {
    put("{\"t\": %.9g, \"hand\": \"%s\", \"joints\": [", time, hand);
    for (int j = 0; j < count; j++) put("%s[%.9g, 2, 3]", j ? ", " : "", x + j);
    put("]}\n");
}

static thenar_status parse(track *out, thenar_error *error) {
    return track_parse(t.data, t.size, "wave.jsonl", out, error);
}

/* The text is refused with a message that has these words. */
static void assert_refused(const char *place, const char *words) {
    track wave;
    thenar_error error = {0};
    assert_int_equal(parse(&wave, &error), THENAR_ERROR_INPUT);
    if (strncmp(error.text, place, strlen(place)) != 0 || !strstr(error.text, words))
        fail_msg("got \"%s\", expected \"%s ... %s\"", error.text, place, words);
    assert_null(wave.hands[0].data);
    assert_null(wave.hands[1].data);
    t.size = 0;
}

static void both_hands_of_one_file_are_read(void **unused) {
    (void)unused;
    t.size = 0;
    put_frame(0, "right", 10, 25);
    put_frame(0.1, "left", 20, 25);
    put("\n  \r\n");
    put_frame(0.5, "right", 11, 25);
    put("{\"hand\": \"left\", \"confidence\": 0.5, \"t\": 1, \"joints\": [null");
    for (int j = 1; j < 25; j++) put(", [%d, 0, 0, 0, 0, 2.0e-1, 0.8]", j);
    put("]}");
    track wave;
    thenar_error error;
    assert_ok(parse(&wave, &error), error);
    assert_int_equal(wave.hands[0].count, 2);
    assert_int_equal(wave.hands[1].count, 2);
    assert_near(track_begin(&wave, true), 0.1, 0);
    assert_near(track_end(&wave, true), 1, 0);
    const tracked_hand *last = &wave.hands[1].data[1].joints;
    assert_true(isnan(last->position[0].x) && isnan(last->orientation[0].w));
    assert_near(last->position[7].x, 7, 0);
    assert_near(last->orientation[7].z, 0.2 / sqrt(0.68), 1e-15);
    assert_true(isnan(wave.hands[0].data[0].joints.orientation[3].w));
    track_free(&wave);
}

static void bad_lines_are_refused_by_name(void **unused) {
    (void)unused;
    t.size = 0;
    assert_refused("wave.jsonl: ", "has no frame");
    put("\n\n \n");
    assert_refused("wave.jsonl: ", "has no frame");
    put_frame(0, "right", 0, 25);
    put_frame(1, "right", 0, 24);
    assert_refused("wave.jsonl:2: ", "24 joints; expected 25");
    put_frame(1, "right", 0, 26);
    assert_refused("wave.jsonl:1: ", "OpenXR");
    put("\n\n");
    put_frame(1, "Right", 0, 25);
    assert_refused("wave.jsonl:3: ", "\"left\" or \"right\"");
    put("{\"t\": 0, \"joints\": []}\n");
    assert_refused("wave.jsonl:1: ", "hand is missing");
    put("{\"hand\": \"left\", \"joints\": []}\n");
    assert_refused("wave.jsonl:1: ", "t is missing");
    put("{\"t\": \"0\", \"hand\": \"left\", \"joints\": []}\n");
    assert_refused("wave.jsonl:1: ", "t is not a number");
    put("{\"t\": 1e300, \"hand\": \"left\", \"joints\": []}\n");
    assert_refused("wave.jsonl:1: ", "t is out of range");
    put("{\"t\": 1e999, \"hand\": \"left\", \"joints\": []}\n");
    assert_refused("wave.jsonl:1: ", "number out of range");
    put("{\"t\": 0, \"hand\": \"left\"}\n");
    assert_refused("wave.jsonl:1: ", "joints is missing");
    put("[1, 2]\n");
    assert_refused("wave.jsonl:1: ", "is not an object");
    put("{\"t\": 0, \"t\": 1}\n");
    assert_refused("wave.jsonl:1: ", "duplicate key");
    put_frame(0, "right", 0, 25);
    put("{\"t\": 1, \"hand\": \n");
    put_frame(2, "right", 0, 25);
    assert_refused("wave.jsonl:2: ", "expected JSON, one object per line");
    put("{\"t\": 0, \"hand\": \"left\", \"joints\": [[NaN, 0, 0]]}\n");
    assert_refused("wave.jsonl:1: ", "NaN");
    put_frame(0, "right", 2000, 25);
    assert_refused("wave.jsonl:1: joint 0 (wrist)", "expected metres");
    static const char *const joints[][2] = {{"[1, 2]", "3 or 7 numbers"},
                                            {"[1, 2, 3, 4]", "3 or 7 numbers"},
                                            {"{}", "3 or 7 numbers"},
                                            {"7", "3 or 7 numbers"},
                                            {"[1, null, 3]", "is not a number"},
                                            {"[0, 0, 0, 0, 0, 0, 0]", "length 0; expected 1"},
                                            {"[0, 0, 0, 5, 0, 0, 0]", "length 5; expected 1"}};
    for (size_t i = 0; i < sizeof joints / sizeof *joints; i++) {
        put("{\"t\": 0, \"hand\": \"left\", \"joints\": [null, %s", joints[i][0]);
        for (int j = 2; j < 25; j++) put(", null");
        put("]}\n");
        assert_refused("wave.jsonl:1: joint 1 (thumb-metacarpal)", joints[i][1]);
    }
    put("{\"t\": 0, \"note\": \"");
    for (int i = 0; i < 8000; i++) put("aaaaaaaaaa");
    put("\"}\n");
    assert_refused("wave.jsonl:1: ", "expected one frame per line, at most 65536 bytes");
    for (int i = 0; i < 3000; i++) put("[");
    put("\n");
    assert_refused("wave.jsonl:1: ", "too deep");
    put_frame(0, "right", 0, 25);
    put("{\"t\": 0, \"hand\": NaN, \"joints\": []}"); /* wrong, not cut, although the file ends here */
    assert_refused("wave.jsonl:2: ", "NaN");
    put("{\"t\": \xff\xfe}\n");
    assert_refused("wave.jsonl:1: ", "expected JSON");
}

static void files_that_cannot_be_read_are_errors(void **unused) {
    (void)unused;
    track wave;
    thenar_error error;
    assert_int_equal(track_read("/nowhere/wave.jsonl", &wave, &error), THENAR_ERROR_FILE);
    assert_non_null(strstr(error.text, "/nowhere/wave.jsonl"));
    assert_int_equal(track_read("/", &wave, &error), THENAR_ERROR_INPUT);
    char path[] = "/tmp/thenar-track-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    assert_int_equal(track_read(path, &wave, &error), THENAR_ERROR_INPUT);
    assert_non_null(strstr(error.text, "is empty"));
    unlink(path);
}

static void a_missing_hand_is_an_error(void **unused) {
    (void)unused;
    t.size = 0;
    put_frame(0, "left", 0, 25);
    put_frame(1, "left", 0, 25);
    track wave;
    thenar_error error;
    assert_ok(parse(&wave, &error), error);
    assert_ok(track_expect(&wave, true, &error), error);
    assert_int_equal(track_expect(&wave, false, &error), THENAR_ERROR_INPUT);
    assert_string_equal(error.text, "the track: has no frame of the right hand, but 2 of the left one; expected "
                                    "\"hand\": \"right\"");
    tracked_hand seen;
    track_sample(&wave, false, 0, &seen);
    for (int j = 0; j < HAND_JOINTS; j++) assert_true(isnan(seen.position[j].x));
    track_free(&wave);
}

static void frames_out_of_order_and_a_cut_end_are_left_out_and_counted(void **unused) {
    (void)unused;
    t.size = 0;
    put_frame(0, "right", 0, 25);
    put_frame(0, "left", 0, 25); /* another hand's time */
    put_frame(1, "right", 1, 25);
    put_frame(1, "right", 50, 25);
    put_frame(0.5, "right", 50, 25);
    put_frame(1, "right", 50, 25);
    put_frame(2, "right", 2, 25);
    put("{\"t\": 3, \"hand\": \"right\", \"joints\": [[1, 2");
    track wave;
    thenar_error error;
    assert_ok(parse(&wave, &error), error);
    assert_int_equal(wave.hands[0].count, 3);
    assert_int_equal(wave.hands[1].count, 1);
    assert_int_equal(wave.repeated, 2);
    assert_int_equal(wave.repeated_line, 4);
    assert_int_equal(wave.decreasing, 1);
    assert_int_equal(wave.decreasing_line, 5);
    assert_int_equal(wave.truncated_line, 8);
    for (int k = 0; k < 3; k++) assert_near(wave.hands[0].data[k].joints.position[0].x, k, 0);
    track_free(&wave);
    /* Cut anywhere, a track gives what came before, or says that there is nothing. */
    size_t whole = t.size;
    for (size_t size = 1; size < whole; size++) {
        thenar_status status = track_parse(t.data, size, "wave.jsonl", &wave, &error);
        if (status != THENAR_OK && !strstr(error.text, "has no frame")) fail_msg("cut at %zu: %s", size, error.text);
        track_free(&wave);
    }
}

static void any_bytes_are_read_or_refused(void **unused) {
    (void)unused;
    random_source r = {21};
    static char good[20000];
    t.size = 0;
    for (int k = 0; k < 3; k++) put_frame(k, k % 2 ? "left" : "right", k, 25);
    memcpy(good, t.data, t.size);
    for (int n = 0; n < 3000; n++) {
        memcpy(t.data, good, t.size);
        for (int k = 0; k < 1 + n % 5; k++)
            t.data[random_bits(&r) % t.size] = n % 2 ? (char)random_bits(&r) : "[]{},:.0e-\"n\n"[random_bits(&r) % 13];
        track wave;
        thenar_error error = {0};
        if (parse(&wave, &error) != THENAR_OK) assert_non_null(strstr(error.text, "wave.jsonl"));
        track_free(&wave);
    }
}

static void between_frames_joints_go_straight_and_turn_evenly(void **unused) {
    (void)unused;
    t.size = 0;
    double half = sqrt(0.5);
    put("{\"t\": 1, \"hand\": \"left\", \"joints\": [[0,0,0,0,0,0,1], [1,1,1], null, [1,1,1]");
    for (int j = 4; j < 25; j++) put(", null");
    put("]}\n{\"t\": 3, \"hand\": \"left\", \"joints\": [[4,0,2,0,%.17g,0,%.17g], [2,1,1], [5,5,5], null", -half,
        -half);
    for (int j = 4; j < 25; j++) put(", null");
    put("]}\n");
    track wave;
    thenar_error error;
    assert_ok(parse(&wave, &error), error);
    tracked_hand seen;
    /* A quarter of the way: a quarter of 90 degrees, the short way round although the signs differ. */
    track_sample(&wave, true, 1.5, &seen);
    assert_near(vec3_distance(seen.position[0], vec3_make(1, 0, 0.5)), 0, 1e-15);
    assert_near(seen.orientation[0].y, sin(acos(-1) / 16), 1e-12);
    assert_near(seen.orientation[0].w, cos(acos(-1) / 16), 1e-12);
    /* What one of two frames lacks is as in the nearer one. */
    assert_true(isnan(seen.position[2].x) && seen.position[3].x == 1);
    track_sample(&wave, true, 2.5, &seen);
    assert_true(isnan(seen.position[3].x) && seen.position[2].x == 5);
    track_sample(&wave, true, -7, &seen);
    assert_near(seen.position[1].x, 1, 0);
    track_sample(&wave, true, 7, &seen);
    assert_near(seen.position[1].x, 2, 0);
    track_sample(&wave, true, 3, &seen);
    assert_near(seen.position[1].x, 2, 0);
    track_free(&wave);
}

static void a_script_blends_poses_and_moves_the_wrist(void **unused) {
    (void)unused;
    hand_skeleton_rest rest = plain_hand_right(1);
    hand_skeleton hand = plain_hand_skeleton(&rest);
    double angles[HAND_ANGLES], q[HAND_ANGLES];
    memcpy(angles, hand.rest, sizeof angles);
    angles[5] = 0.3;
    const thenar_hand_key poses[] = {{.time = 0, .pose = THENAR_HAND_POSE_OPEN},
                                     {.time = 2, .pose = THENAR_HAND_POSE_FIST},
                                     {.time = 3, .angles = angles}};
    const thenar_key keys[] = {{.time = 1, .move = {0, 0, 0}}, {.time = 2, .move = {0.4, 0, 0}, .turn = {0, 1, 0}}};
    hand_script_def def = {.poses = poses, .pose_count = 3, .keys = keys, .key_count = 2};
    hand_script script;
    thenar_error error;
    skeleton_pose base;
    assert_ok(hand_script_create(&def, &hand, &script, &error), error);
    hand_script_sample(&script, 1, &base, q); /* half-way, by symmetry */
    assert_near(q[4 + HAND_MIDDLE_FLEXION], 49 * PLAIN_DEGREE, 1e-12);
    assert_near(vec3_distance(base.position, rest.joints[0].position), 0, 1e-15);
    hand_script_sample(&script, 1.5, &base, q);
    assert_near(vec3_distance(base.position, vec3_make(0.2, 0, 0)), 0, 1e-15);
    assert_near(quat_to_rotation_vector(base.orientation).y, 0.5, 1e-12);
    hand_script_sample(&script, 9, &base, q);
    assert_memory_equal(q, angles, sizeof q);
    hand_script_free(&script);

    def = (hand_script_def){0};
    assert_ok(hand_script_create(&def, &hand, &script, &error), error);
    hand_script_sample(&script, 1, &base, q);
    assert_memory_equal(q, hand.rest, sizeof q);
    hand_script_free(&script);

    thenar_hand_key bad[] = {{.time = 0, .pose = THENAR_HAND_POSE_OPEN}, {.time = 1, .pose = (thenar_hand_pose)99}};
    def = (hand_script_def){.poses = bad, .pose_count = 2};
    assert_int_equal(hand_script_create(&def, &hand, &script, &error), THENAR_ERROR_INPUT);
    assert_string_equal(error.text, "pose 1 is of kind 99 and 0; expected 0 to 6");
    bad[1] = (thenar_hand_key){.time = 0, .pose = THENAR_HAND_POSE_FIST};
    assert_int_equal(hand_script_create(&def, &hand, &script, &error), THENAR_ERROR_INPUT);
    bad[1] = (thenar_hand_key){.time = 1, .pose = THENAR_HAND_POSE_OPEN, .other = THENAR_HAND_POSE_FIST, .share = 2};
    assert_int_equal(hand_script_create(&def, &hand, &script, &error), THENAR_ERROR_INPUT);
    angles[0] = 3;
    bad[1] = (thenar_hand_key){.time = 1, .angles = angles};
    assert_int_equal(hand_script_create(&def, &hand, &script, &error), THENAR_ERROR_INPUT);
    hand_skeleton_free(&hand);
}

/* As an optical tracker sends it: a smaller hand, no metacarpals, uneven times, 0.5 mm of noise, gaps. */
static void put_tracked_motion(const hand_skeleton *hand) {
    const thenar_hand_key poses[] = {{.time = 0, .pose = THENAR_HAND_POSE_RELAXED},
                                     {.time = 1, .pose = THENAR_HAND_POSE_PINCH},
                                     {.time = 2, .pose = THENAR_HAND_POSE_FIST},
                                     {.time = 2.7, .pose = THENAR_HAND_POSE_OPEN}};
    const thenar_key keys[] = {{.time = 0}, {.time = 2.7, .move = {0.1, 0.05, 0}, .turn = {0.3, 0.6, 0}}};
    hand_script_def def = {.poses = poses, .pose_count = 4, .keys = keys, .key_count = 2};
    hand_script script;
    thenar_error error;
    assert_ok(hand_script_create(&def, hand, &script, &error), error);
    random_source r = {31};
    t.size = 0;
    for (double time = 0; time < 2.7; time += random_uniform(&r, 0.007, 0.012)) {
        skeleton_pose bones[HAND_BONES], joints[HAND_JOINTS];
        double q[HAND_ANGLES];
        hand_script_sample(&script, time, &bones[0], q);
        skeleton_place(hand->model, q, bones);
        hand_skeleton_joints(hand, bones, joints);
        put("{\"t\":%.6f,\"hand\":\"right\",\"joints\":[", time);
        for (int j = 0; j < HAND_JOINTS; j++) {
            bool metacarpal = j >= HAND_INDEX_METACARPAL && (j - HAND_INDEX_METACARPAL) % 5 == 0;
            vec3 p = joints[j].position;
            double e[3];
            for (int k = 0; k < 3; k++) e[k] = random_uniform(&r, -5e-4, 5e-4);
            if (metacarpal || random_uniform(&r, 0, 1) < 0.02)
                put("%snull", j ? "," : "");
            else
                put("%s[%.6f,%.6f,%.6f]", j ? "," : "", p.x + e[0], p.y + e[1], p.z + e[2]);
        }
        put("]}\n");
    }
    hand_script_free(&script);
}

static double thread_microseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static int compare(const void *a, const void *b) {
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

/* From a file to a hand that moves: read, sample at the step's times, retarget, couple, step. THENAR_TRACK=FILE takes a
 * right hand's track of your own instead. */
static void a_track_drives_a_hand(void **unused) {
    (void)unused;
    enum { MAX = 20000 };
    static double times[MAX], residuals[MAX];
    hand_skeleton_rest rest = plain_hand_right(1), small = plain_hand_right(0.85);
    hand_skeleton hand = plain_hand_skeleton(&rest), tracked = plain_hand_skeleton(&small);
    track wave;
    thenar_error error;
    const char *path = getenv("THENAR_TRACK");
    if (path) {
        assert_ok(track_read(path, &wave, &error), error);
    } else {
        put_tracked_motion(&tracked);
        assert_ok(parse(&wave, &error), error);
    }
    assert_ok(track_expect(&wave, false, &error), error);
    assert_false(retarget_is_other_hand(&hand, &wave.hands[0].data[0].joints));
    uint64_t hashes[2];
    for (int round = 0; round < 2; round++) {
        retarget_options options = retarget_options_default();
        retarget retargeting;
        retarget_start(&retargeting, &hand, &options);
        void *memory;
        skeleton_state state = plain_state(hand.model, &memory);
        double begin = track_begin(&wave, false), h = 2e-3, off = 0, lag = 0, stepping = 0;
        int frames = 0, held = 0, jumped = 0, passed = 0;
        long allocated = allocation_count;
        for (double time = begin; time < track_end(&wave, false) && frames < MAX; time += h, frames++) {
            tracked_hand seen;
            retarget_result result;
            double start = thread_microseconds();
            track_sample(&wave, false, time, &seen);
            retarget_frame(&retargeting, &seen, h, &result);
            times[frames] = thread_microseconds() - start;
            residuals[frames] = result.residual;
            held += result.held, jumped += result.jumped;
            if (frames == 0) skeleton_set_pose(&state, &result.base, result.q);
            memcpy(state.target, result.q, sizeof result.q);
            state.coupling[0] = (skeleton_coupling){.target = result.base,
                                                    .stiffness = 5000,
                                                    .damping = 60,
                                                    .turn_stiffness = 20,
                                                    .turn_damping = 0.3,
                                                    .max_force = 50,
                                                    .max_torque = 2};
            start = thread_microseconds();
            assert_true(plain_step(&state, h, vec3_make(0, 0, 0)));
            stepping += thread_microseconds() - start;
            lag = fmax(lag, vec3_distance(state.pose[0].position, result.base.position));
            for (int i = 0; i < HAND_ANGLES; i++) {
                off = fmax(off, fabs(state.q[i] - result.q[i]));
                passed += state.q[i] > hand.upper[i] + 0.05 || state.q[i] < hand.lower[i] - 0.05;
            }
        }
        assert_int_equal(allocation_count, allocated);
        assert_int_equal(held, 0);
        assert_int_equal(jumped, 0);
        assert_int_equal(passed, 0);
        qsort(times, (size_t)frames, sizeof *times, compare);
        qsort(residuals, (size_t)frames, sizeof *residuals, compare);
        if (round == 0) {
            print_message("%zu frames of a track, %d steps: retargeting %.1f us median, %.1f us p99; a skeleton's step "
                          "%.1f us mean\n",
                          wave.hands[0].count, frames, times[frames / 2], times[frames * 99 / 100], stepping / frames);
            print_message(
                "directions off by %.2f degrees median, %.2f p99; the hand behind its target by at most %.1f mm, "
                "%.1f degrees\n",
                residuals[frames / 2] / PLAIN_DEGREE, residuals[frames * 99 / 100] / PLAIN_DEGREE, 1e3 * lag,
                off / PLAIN_DEGREE);
        }
        assert_true(residuals[frames / 2] < 6 * PLAIN_DEGREE);
        assert_true(lag < 0.02);
        hashes[round] = hash_bytes(0, state.pose, HAND_BONES * sizeof *state.pose);
        free(memory);
    }
    assert_true(hashes[0] == hashes[1]);
    track_free(&wave);
    hand_skeleton_free(&hand);
    hand_skeleton_free(&tracked);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(both_hands_of_one_file_are_read),
    cmocka_unit_test(bad_lines_are_refused_by_name),
    cmocka_unit_test(files_that_cannot_be_read_are_errors),
    cmocka_unit_test(a_missing_hand_is_an_error),
    cmocka_unit_test(frames_out_of_order_and_a_cut_end_are_left_out_and_counted),
    cmocka_unit_test(any_bytes_are_read_or_refused),
    cmocka_unit_test(between_frames_joints_go_straight_and_turn_evenly),
    cmocka_unit_test(a_script_blends_poses_and_moves_the_wrist),
    cmocka_unit_test(a_track_drives_a_hand),
};

TEST_MAIN(tests)
