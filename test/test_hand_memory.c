/* What making a hand, reading a track and making a script do when memory runs out: an error, nothing leaked. */
#include "failing_memory.h"

#if FAILING_MEMORY

#include "plain_hand.h"

#include "hand/hand.h"
#include "hand/retarget.h"

static thenar_status make_hand(void *context, thenar_error *error) {
    const hand_springs springs = hand_springs_default();
    const thenar_hand_key poses[] = {{.time = 0, .pose = "open"}, {.time = 1, .pose = "fist"}};
    const thenar_key keys[] = {{.time = 0}, {.time = 1, .move = {0.1, 0, 0}}};
    const hand_script_def def = {.poses = poses, .pose_count = 2, .keys = keys, .key_count = 2};
    hand_skeleton hand;
    hand_script script;
    thenar_status status = hand_skeleton_create(context, &springs, &hand, error);
    if (status != THENAR_OK) return status;
    status = hand_script_create(&def, &hand, &script, error);
    if (status == THENAR_OK) hand_script_free(&script);
    hand_skeleton_free(&hand);
    return status;
}

static thenar_status read_track(void *context, thenar_error *error) {
    track frames;
    thenar_status status = track_parse(context, strlen(context), "wave.jsonl", &frames, error);
    if (status == THENAR_OK) track_free(&frames);
    return status;
}

static void running_out_of_memory_anywhere_is_reported_and_leaks_nothing(void **unused) {
    (void)unused;
    hand_skeleton_rest rest = plain_hand_right(1);
    char text[2000] = "";
    for (int frame = 0; frame < 2; frame++) {
        size_t length = strlen(text);
        snprintf(text + length, sizeof text - length, "{\"t\": %d, \"hand\": \"left\", \"joints\": [", frame);
        for (int j = 0; j < HAND_JOINTS; j++) strcat(text, j ? ", [1, 2, 3]" : "null");
        strcat(text, "]}\n");
    }
    for (int once = 0; once < 2; once++) {
        failing_memory_count count = failing_memory_each(make_hand, &rest, once);
        assert_true(count.failed >= 5);
        assert_int_equal(count.refused, count.failed);
        count = failing_memory_each(read_track, text, once);
        assert_true(count.failed > 50);
        assert_int_equal(count.refused, count.failed);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(running_out_of_memory_anywhere_is_reported_and_leaks_nothing),
};

TEST_MAIN(tests)
#else
int main(void) {
    return 0;
}
#endif
