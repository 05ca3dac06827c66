/* A tracked pinch touches when the tracked one does: thumb and index finger of a synthetic tracked hand close until
 * their tips are a finger's breadth apart, as trackers report it, and open again. */
#include "hand_world.h"

#include "hand/hand.h"
#include "hand/retarget.h"
#include "world/model.h"

#include <string.h>

#define DT 0.02
#define STEPS 100

/* The joints of the hand itself, `share` of the way from an open hand to a pinch. Returns the distance of the tips. */
static double joints_at(const hand_skeleton *hand, double share, double joints[7 * HAND_JOINTS]) {
    double open[HAND_ANGLES], q[HAND_ANGLES];
    skeleton_pose bones[HAND_BONES], at[HAND_JOINTS];
    hand_pose_angles(hand, THENAR_HAND_POSE_OPEN, open);
    hand_pose_angles(hand, THENAR_HAND_POSE_PINCH, q);
    for (int i = 0; i < HAND_ANGLES; i++) q[i] = open[i] + share * (q[i] - open[i]);
    bones[0] = (skeleton_pose){hand->model->bones[0].offset, hand->model->bones[0].rotation};
    skeleton_place(hand->model, q, bones);
    hand_skeleton_joints(hand, bones, at);
    for (int j = 0; j < HAND_JOINTS; j++) {
        vec3_store(joints + 7 * j, at[j].position);
        for (int k = 3; k < 7; k++) joints[7 * j + k] = NAN;
    }
    return vec3_distance(at[HAND_THUMB_TIP].position, at[HAND_INDEX_TIP].position);
}

/* The share at which the tips are this far apart. */
static double share_for(const hand_skeleton *hand, double apart) {
    double low = 0, high = 1, joints[7 * HAND_JOINTS];
    for (int i = 0; i < 50; i++) {
        double middle = (low + high) / 2;
        if (joints_at(hand, middle, joints) > apart)
            low = middle;
        else
            high = middle;
    }
    return low;
}

typedef struct outcome {
    int meet, touch, both; /* steps */
    int early;             /* touches while the tracked tips are farther apart than 1.5 times the sum of the radii */
    double jump;           /* largest change of a target angle in a step, rad */
} outcome;

/* Closes within 0.7 s, holds for 0.6 s, opens within 0.7 s. */
static outcome pinch_with(thenar_model *model, double pinch) {
    outcome out = {0};
    hand_model *hand = model->hands[0];
    const hand_skeleton *skeleton = &hand->skeleton;
    double before[HAND_ANGLES], meet = skeleton->finger_radius[0] + skeleton->finger_radius[1];
    hand->retarget.pinch = pinch;
    double closed = share_for(skeleton, 0.95 * meet);
    thenar_sim *sim = hand_world_start(model, DT, 1);
    for (int k = 0; k < STEPS; k++) {
        double t = fmin(1, DT * fmin(k, STEPS - k) / 0.7), share = closed * t * t * (3 - 2 * t);
        double joints[7 * HAND_JOINTS], q[HAND_ANGLES], wrist[7];
        double apart = joints_at(skeleton, share, joints);
        assert_int_equal(thenar_sim_drive_hand(sim, 0, joints), THENAR_OK);
        assert_int_equal(thenar_sim_step(sim), THENAR_OK);
        bool touch = false;
        for (int i = 0; i < thenar_sim_contact_count(sim); i++) touch |= thenar_sim_contacts(sim)[i].force > 0;
        thenar_sim_hand_target(sim, 0, wrist, q);
        for (int i = 0; i < HAND_ANGLES && k > 0; i++) out.jump = fmax(out.jump, fabs(q[i] - before[i]));
        memcpy(before, q, sizeof before);
        out.meet += apart < meet;
        out.both += apart < meet && touch;
        out.touch += touch;
        out.early += touch && apart > 1.5 * meet;
    }
    thenar_sim_free(sim);
    print_message("  pinch %g: radii add up to %.1f mm; tips meet in %d steps, fingers touch in %d, both in %d, too early "
                  "in %d; largest step of an angle %.3f rad\n",
                  pinch, 1e3 * meet, out.meet, out.touch, out.both, out.early, out.jump);
    return out;
}

static void fingers_touch_when_the_tracked_ones_do(void **unused) {
    (void)unused;
    thenar_hand_def def = thenar_hand_def_default();
    assert_int_equal(thenar_hand_def_set_detail(&def, THENAR_HAND_MEDIUM), THENAR_OK);
    thenar_model *model = hand_world_model(&def);
    outcome on = pinch_with(model, 1), off = pinch_with(model, 0);
    assert_true(on.meet > 25);
    /* The filter delays a hand that comes to rest by up to 0.1 s. */
    assert_true(on.both >= on.meet - 5);
    assert_int_equal(on.early, 0);
    assert_true(on.jump < 2 * off.jump); /* continuous: not faster than twice the motion itself */
    assert_int_equal(off.both, 0);       /* what the correction is for */
    thenar_model_free(model);
}

/* The default hand: no muscles, coarse. */
static void fingers_of_a_coarse_hand_touch_too(void **unused) {
    (void)unused;
    thenar_hand_def def = thenar_hand_def_default();
    thenar_model *model = hand_world_model(&def);
    outcome on = pinch_with(model, 1);
    assert_true(on.meet > 25);
    assert_true(on.both >= on.meet - 5);
    assert_int_equal(on.early, 0);
    thenar_model_free(model);
    def.pinch = false;
    model = hand_world_model(&def);
    assert_true(model->hands[0]->retarget.pinch == 0);
    thenar_model_free(model);
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(fingers_touch_when_the_tracked_ones_do),
                                          cmocka_unit_test(fingers_of_a_coarse_hand_touch_too)};

TEST_MAIN(tests)
