/* Fists and spread fingers from every pose: no tet inverts, no finger goes through another. */
#include "hand_world.h"

#include "core/vec3.h"

#define STEP 0.01
#define HOLD 0.5 /* s in a pose, and as long to go there */

#define POSES ((size_t)THENAR_HAND_POSE_COUNT)
/* Each pose, a fist, the pose, spread fingers. */
#define KEYS (4 * POSES)

static thenar_sim *start(double dt) {
    thenar_hand_key keys[2 * KEYS];
    for (size_t k = 0; k < KEYS; k++) {
        thenar_hand_pose pose = k % 4 == 1   ? THENAR_HAND_POSE_FIST
                                : k % 4 == 3 ? THENAR_HAND_POSE_SPREAD
                                             : (thenar_hand_pose)(k / 4);
        for (size_t end = 0; end < 2; end++)
            keys[2 * k + end] = (thenar_hand_key){.time = (2 * (double)k + (double)end + 1) * HOLD, .pose = pose};
    }
    thenar_hand_def def = hand_world_def();
    def.touches = true;
    def.keys = keys;
    def.key_count = 2 * KEYS;
    thenar_model *model = hand_world_model(&def);
    thenar_sim *sim = hand_world_start(model, dt, 1);
    thenar_model_free(model);
    return sim;
}

/* How far the deepest contact is inside, m. */
static double deepest(const thenar_sim *sim) {
    const thenar_contact *contacts = thenar_sim_contacts(sim);
    double depth = 0;
    for (int i = 0; i < thenar_sim_contact_count(sim); i++) depth = fmax(depth, -contacts[i].gap);
    return depth;
}

static vec3 joint_of(const double *joints, int joint) {
    return vec3_load(joints + 7 * joint);
}

/* The least distance between points of two segments, each sampled. */
static double segment_distance(vec3 a, vec3 b, vec3 c, vec3 d) {
    double min = INFINITY;
    for (int i = 0; i <= 10; i++)
        for (int j = 0; j <= 10; j++) {
            vec3 p = vec3_mul_add(vec3_scale(a, 1 - i / 10.), b, i / 10.);
            vec3 q = vec3_mul_add(vec3_scale(c, 1 - j / 10.), d, j / 10.);
            min = fmin(min, vec3_distance(p, q));
        }
    return min;
}

/* The least distance between the axes of two fingers' middle and end bones, m: a finger is 14 mm thick there, so that
 * one within another would be nearer. Joints 2..4 are the thumb's, 7..9, 12..14 ... the fingers'. Independent of the
 * contacts, which forget what has gone through. first: 1, between the four fingers; 0, between the thumb and them. */
static double nearest_bones(const thenar_sim *sim, int first) {
    double joints[7 * THENAR_HAND_JOINTS], min = INFINITY;
    thenar_sim_hand_joints(sim, 0, joints);
    for (int f = first + 1; f < 5; f++)
        for (int g = first; g < (first > 0 ? f : 1); g++)
            for (int i = 0; i < 2; i++)
                for (int j = 0; j < 2; j++) {
                    int a = 5 * f + 2 + i, b = 5 * g + 2 + j;
                    min = fmin(min, segment_distance(joint_of(joints, a), joint_of(joints, a + 1), joint_of(joints, b),
                                                     joint_of(joints, b + 1)));
                }
    return min;
}

static void fists_from_every_pose_leave_fingers_apart_and_no_tet_inverted(void **unused) {
    (void)unused;
    thenar_sim *sim = start(STEP);
    double depth = 0, min = INFINITY, thumb = INFINITY, max_active = 0;
    long steps = lround((2 * (double)KEYS + 4) * HOLD / STEP);
    for (long i = 1; i <= steps; i++) {
        assert_int_equal(thenar_sim_step(sim), THENAR_OK);
        max_active = fmax(max_active, thenar_sim_stats(sim)->active_constraints);
        if (i % lround(2 * HOLD / STEP) != 0) continue; /* only where a pose was held */
        depth = fmax(depth, deepest(sim));
        min = fmin(min, nearest_bones(sim, 1));
        thumb = fmin(thumb, nearest_bones(sim, 0));
    }
    print_message("  %.0f s: deepest contact at rest %.4f mm inside, bones of two fingers at least %.1f mm apart, of "
                  "the thumb %.1f, "
                  "up to %.0f limits; inverted %d, unconverged %d, split %d, failed %d\n",
                  thenar_sim_time(sim), 1e3 * depth, 1e3 * min, 1e3 * thumb, max_active,
                  (int)thenar_sim_warning_count(sim, THENAR_WARNING_INVERTED),
                  (int)thenar_sim_warning_count(sim, THENAR_WARNING_NOT_CONVERGED),
                  (int)thenar_sim_warning_count(sim, THENAR_WARNING_STEP_SPLIT),
                  (int)thenar_sim_warning_count(sim, THENAR_WARNING_STEP_FAILED));
    assert_int_equal(thenar_sim_warning_count(sim, THENAR_WARNING_INVERTED), 0);
    assert_int_equal(thenar_sim_warning_count(sim, THENAR_WARNING_STEP_FAILED), 0);
    assert_true(depth < 1e-3);
    assert_true(min > 10e-3);
    /* The thumb of a fist lies over the fingers. Coarse flesh with tight limits keeps these from closing, so that its joint
     * springs press it deep into their flesh. */
    assert_true(thumb > 4e-3);
    thenar_sim_free(sim);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(fists_from_every_pose_leave_fingers_apart_and_no_tet_inverted),
};

TEST_MAIN(tests)
