/* Named poses: every joint reaches its angle where nothing is in the way, the pads of a pinch touch, a fist closes, and
 * muscles that carry the flesh change neither the grip nor the stability of a hand. */
#include "hand_world.h"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEGREE (3.14159265358979323846 / 180)

/* Limits that let flesh fold; the default ones of a coarse hand do not. */
static thenar_hand_def def_of(thenar_hand_detail detail, double young) {
    thenar_hand_def def = hand_world_def();
    def.detail = detail;
    def.material.young = young;
    def.material.stretch_min = 0.5;
    def.material.stretch_max = 1.7;
    def.joint_stretch_min = 0.05;
    def.joint_stretch_max = 6;
    return def;
}

static thenar_sim *start_pose(thenar_hand_def *def, thenar_hand_pose pose, double time, double dt) {
    const thenar_hand_key keys[] = {{.time = 0, .pose = THENAR_HAND_POSE_OPEN}, {.time = time, .pose = pose}};
    def->keys = keys;
    def->key_count = 2;
    thenar_model *model = hand_world_model(def);
    thenar_sim *sim = hand_world_start(model, dt, 1);
    thenar_model_free(model);
    return sim;
}

static void run_until(thenar_sim *sim, double time) {
    while (thenar_sim_time(sim) < time - 1e-9) assert_int_equal(thenar_sim_step(sim), THENAR_OK);
}

/* Smallest share that a joint has of its way from straight, among those that have at least 10 degrees to go. */
static double worst_share(const thenar_sim *sim, thenar_hand_pose pose, double *error) {
    double asked[THENAR_HAND_ANGLES], is[THENAR_HAND_ANGLES], worst = 1;
    thenar_model_hand_pose(thenar_sim_model(sim), 0, pose, asked);
    thenar_sim_hand_angles(sim, 0, is, NULL);
    *error = 0;
    for (int i = 0; i < THENAR_HAND_ANGLES; i++) {
        *error = fmax(*error, fabs(asked[i] - is[i]) / DEGREE);
        if (fabs(asked[i]) > 10 * DEGREE) worst = fmin(worst, is[i] / asked[i]);
    }
    return worst;
}

static void expect_poses(thenar_hand_detail detail, const double *young, int count) {
    print_message("  worst share of an angle (largest error, degrees)\n  %10s", "E, Pa");
    for (int p = 1; p < THENAR_HAND_POSE_COUNT; p++) print_message("%16s", thenar_hand_pose_name((thenar_hand_pose)p));
    print_message("\n");
    for (int e = 0; e < count; e++) {
        print_message("  %10g", young[e]);
        for (int p = 1; p < THENAR_HAND_POSE_COUNT; p++) {
            thenar_hand_def def = def_of(detail, young[e]);
            thenar_sim *sim = start_pose(&def, (thenar_hand_pose)p, 1, 0.01);
            double error, share;
            run_until(sim, 2.5);
            share = worst_share(sim, (thenar_hand_pose)p, &error);
            print_message("%8.3f (%5.2f)", share, error);
            assert_true(share > 0.95 && error < 2);
            assert_int_equal(thenar_sim_warning_count(sim, THENAR_WARNING_NOT_CONVERGED), 0);
            thenar_sim_free(sim);
        }
        print_message("\n");
    }
}

static void joints_of_a_coarse_hand_reach_their_angles(void **unused) {
    (void)unused;
    const double young[] = {1e4, 1e5, 1e6};
    expect_poses(THENAR_HAND_COARSE, young, SANITIZED ? 1 : 3);
}

static void joints_of_a_medium_hand_reach_their_angles(void **unused) {
    (void)unused;
    const double young[] = {1e4, 1e6};
    if (SANITIZED) skip();
    expect_poses(THENAR_HAND_MEDIUM, young, 2);
}

/* A target that jumps or moves fast: the integral must not wind up. */
static void joints_do_not_overshoot(void **unused) {
    (void)unused;
    const double steps[] = {0.001, 0.005, 0.02}, times[] = {1e-3, 0.1, 0.3}, young[] = {1e4, 1e6};
    for (int k = 0; k < 18; k++) {
        thenar_hand_def def = def_of(THENAR_HAND_COARSE, young[k / 9]);
        thenar_sim *sim = start_pose(&def, THENAR_HAND_POSE_FIST, times[k / 3 % 3], steps[k % 3]);
        double asked[THENAR_HAND_ANGLES], is[THENAR_HAND_ANGLES], beyond = 0;
        thenar_model_hand_pose(thenar_sim_model(sim), 0, THENAR_HAND_POSE_FIST, asked);
        while (thenar_sim_time(sim) < 1) {
            assert_int_equal(thenar_sim_step(sim), THENAR_OK);
            thenar_sim_hand_angles(sim, 0, is, NULL);
            for (int i = 0; i < THENAR_HAND_ANGLES; i++)
                if (i % 4 != 1) beyond = fmax(beyond, (is[i] - asked[i]) / DEGREE);
        }
        print_message("  E %g Pa, closed within %g s, h %g s: overshoot %.2f degrees\n", young[k / 9], times[k / 3 % 3],
                      steps[k % 3], beyond);
        /* The springs of joints are not quite critically damped: a jump by 98 degrees overshoots without muscles, too. */
        assert_true(beyond < (times[k / 3 % 3] < 0.01 ? 3 : 2));
        assert_int_equal(thenar_sim_warning_count(sim, THENAR_WARNING_STEP_FAILED), 0);
        thenar_sim_free(sim);
    }
}

static void joint_place(const thenar_sim *sim, thenar_hand_joint joint, double at[3]) {
    double joints[7 * THENAR_HAND_JOINTS];
    thenar_sim_hand_joints(sim, 0, joints);
    memcpy(at, joints + 7 * joint, 3 * sizeof *at);
}

static double distance_of(const thenar_sim *sim, thenar_hand_joint a, thenar_hand_joint b) {
    double x[3], y[3];
    joint_place(sim, a, x);
    joint_place(sim, b, y);
    return hypot(hypot(x[0] - y[0], x[1] - y[1]), x[2] - y[2]);
}

static thenar_sim *touching(thenar_hand_pose pose) {
    thenar_hand_def def = def_of(THENAR_HAND_MEDIUM, 4e4);
    def.touches = true;
    thenar_sim *sim = start_pose(&def, pose, 0.7, 0.01);
    run_until(sim, 1.2);
    return sim;
}

/* Sum of normal forces of contacts within reach of two joints, N. */
static double force_between(const thenar_sim *sim, thenar_hand_joint a, thenar_hand_joint b, double reach, int *count) {
    const thenar_contact *contacts = thenar_sim_contacts(sim);
    double x[3], y[3], sum = 0;
    joint_place(sim, a, x);
    joint_place(sim, b, y);
    *count = 0;
    for (int i = 0; i < thenar_sim_contact_count(sim); i++) {
        const double *p = contacts[i].position;
        bool near = hypot(hypot(p[0] - x[0], p[1] - x[1]), p[2] - x[2]) < reach &&
                    hypot(hypot(p[0] - y[0], p[1] - y[1]), p[2] - y[2]) < reach;
        if (!near || !(contacts[i].force > 0)) continue;
        sum += contacts[i].force;
        ++*count;
    }
    return sum;
}

static void the_pads_of_a_pinch_touch(void **unused) {
    (void)unused;
    if (SANITIZED) skip();
    thenar_sim *sim = touching(THENAR_HAND_POSE_PINCH);
    int count;
    double force = force_between(sim, THENAR_JOINT_THUMB_TIP, THENAR_JOINT_INDEX_TIP, 0.025, &count);
    print_message("  %d contacts, %.2f N between thumb and index, tips %.1f mm apart\n", count, force,
                  1e3 * distance_of(sim, THENAR_JOINT_THUMB_TIP, THENAR_JOINT_INDEX_TIP));
    assert_true(count > 0 && force > 0.5 && force < 3);
    thenar_sim_free(sim);
}

static void a_fist_closes_with_the_thumb_over_the_fingers(void **unused) {
    (void)unused;
    if (SANITIZED) skip();
    thenar_sim *sim = touching(THENAR_HAND_POSE_FIST);
    static const thenar_hand_joint tips[] = {THENAR_JOINT_INDEX_TIP, THENAR_JOINT_MIDDLE_TIP, THENAR_JOINT_RING_TIP,
                                             THENAR_JOINT_LITTLE_TIP};
    double palm[3], error;
    joint_place(sim, THENAR_JOINT_WRIST, palm);
    for (int f = 0; f < 4; f++) {
        double at[3];
        joint_place(sim, tips[f], at);
        /* The hand lies palm down with its wrist in the origin; the flesh of the palm is some 15 mm thick below it. */
        print_message("  %s: tip %.1f mm below the wrist\n", thenar_finger_name((thenar_finger)(f + 1)),
                      1e3 * (palm[1] - at[1]));
        assert_true(palm[1] - at[1] < 0.035);
    }
    int count;
    double force = force_between(sim, THENAR_JOINT_THUMB_TIP, THENAR_JOINT_MIDDLE_INTERMEDIATE, 0.04, &count);
    double across = distance_of(sim, THENAR_JOINT_THUMB_TIP, THENAR_JOINT_MIDDLE_DISTAL);
    print_message("  thumb: %d contacts, %.2f N, tip %.1f mm from the middle finger's end joint; share %.3f\n", count,
                  force, 1e3 * across, worst_share(sim, THENAR_HAND_POSE_FIST, &error));
    assert_true(across < 0.035);
    assert_int_equal(thenar_sim_warning_count(sim, THENAR_WARNING_INVERTED), 0);
    thenar_sim_free(sim);
}

static void spreading_moves_the_fingertips_apart(void **unused) {
    (void)unused;
    double apart[2];
    for (int k = 0; k < 2; k++) {
        thenar_hand_def def = def_of(THENAR_HAND_COARSE, 4e4);
        thenar_sim *sim = start_pose(&def, k ? THENAR_HAND_POSE_SPREAD : THENAR_HAND_POSE_OPEN, 0.5, 0.01);
        run_until(sim, 1);
        apart[k] = distance_of(sim, THENAR_JOINT_INDEX_TIP, THENAR_JOINT_LITTLE_TIP);
        thenar_sim_free(sim);
    }
    print_message("  tips of index and little finger: open %.0f mm, spread %.0f mm apart\n", 1e3 * apart[0],
                  1e3 * apart[1]);
    assert_true(apart[1] > 1.3 * apart[0]);
}

/* A load on the fingertip that is no flesh's: the spring of the joint yields to it, and muscles do not take it back. */
static void joints_yield_to_outer_forces_like_springs(void **unused) {
    (void)unused;
    thenar_hand_def def = def_of(THENAR_HAND_COARSE, 4e4);
    thenar_sim *sim = start_pose(&def, THENAR_HAND_POSE_RELAXED, 0.5, 0.01);
    run_until(sim, 2);
    double before[THENAR_HAND_ANGLES], after[THENAR_HAND_ANGLES], later[THENAR_HAND_ANGLES], x[3];
    thenar_sim_hand_angles(sim, 0, before, NULL);
    joint_place(sim, THENAR_JOINT_INDEX_TIP, x);
    int first, nearest = 0, nodes;
    thenar_model_hand_bodies(thenar_sim_model(sim), 0, &first);
    nodes = thenar_model_node_count(thenar_sim_model(sim), first);
    const double *at = thenar_sim_positions(sim, first);
    double best = 1;
    for (int i = 0; i < nodes; i++) {
        double d = hypot(hypot(at[3 * i] - x[0], at[3 * i + 1] - x[1]), at[3 * i + 2] - x[2]);
        if (d < best) best = d, nearest = i;
    }
    const double force[3] = {0, 1, 0};
    assert_int_equal(thenar_sim_apply_force(sim, first, nearest, force), THENAR_OK);
    run_until(sim, 3);
    thenar_sim_hand_angles(sim, 0, after, NULL);
    run_until(sim, 5);
    thenar_sim_hand_angles(sim, 0, later, NULL);
    print_message("  1 N at the tip turns the knuckle by %.3f rad, two seconds later by %.3f rad\n",
                  after[4] - before[4], later[4] - before[4]);
    assert_true(fabs(after[4] - before[4]) > 0.01);
    assert_near(later[4] - before[4], after[4] - before[4], 0.1 * fabs(after[4] - before[4]));
    thenar_sim_free(sim);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(joints_of_a_coarse_hand_reach_their_angles),
    cmocka_unit_test(joints_of_a_medium_hand_reach_their_angles),
    cmocka_unit_test(joints_do_not_overshoot),
    cmocka_unit_test(the_pads_of_a_pinch_touch),
    cmocka_unit_test(a_fist_closes_with_the_thumb_over_the_fingers),
    cmocka_unit_test(spreading_moves_the_fingertips_apart),
    cmocka_unit_test(joints_yield_to_outer_forces_like_springs),
};

TEST_MAIN(tests)
