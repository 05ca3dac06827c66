/* A plain hand for tests: straight bones of a man's hand (190 x 86 mm; lengths by Buchholz 1992, knuckles and volumes
 * as in docs/hand.md), fingers slightly bent and fanned at rest, masses of cylinders. */
#ifndef TEST_PLAIN_HAND_H
#define TEST_PLAIN_HAND_H

#include "test.h"

#include "core/memory.h"
#include "hand/retarget.h"

#define PLAIN_DEGREE (3.14159265358979323846 / 180)

static inline quat plain_turn(double x, double y, double z, double degrees) {
    return quat_from_rotation_vector(vec3_scale(vec3_make(x, y, z), degrees * PLAIN_DEGREE));
}

/* A right hand: fingers along -z, palm to -y, thumb at -x. scale: of all lengths. */
static inline hand_skeleton_rest plain_hand_right(double scale) {
    static const double lengths[HAND_FINGERS][3] = {
        {.251, .196, .158}, {.245, .143, .097}, {.266, .170, .108}, {.244, .165, .107}, {.204, .117, .093}};
    static const double knuckles[HAND_FINGERS][2] = {{0, 0}, {-.251, .447}, {0, .446}, {.206, .409}, {.402, .368}};
    static const double volumes[HAND_FINGERS][3] = {
        {14, 11.1, 4.7}, {15.9, 4.4, 2.5}, {16.1, 5.3, 3.0}, {12.7, 4.4, 2.5}, {8.6, 2.6, 1.8}}; /* cm^3 */
    static const double thickness[HAND_FINGERS] = {.22, .2, .2, .185, .166};
    const double length = 0.190 * scale, breadth = 0.086 * scale;
    hand_skeleton_rest rest = {0};
    rest.joints[HAND_WRIST].orientation = quat_identity();
    for (int finger = 0; finger < HAND_FINGERS; finger++) {
        int bone = 1 + 3 * finger;
        hand_joint joint = hand_bone_joint(bone);
        quat along;
        vec3 at;
        if (finger == 0) {
            along = quat_mul(plain_turn(0, 1, 0, 38), plain_turn(0, 0, 1, 55));
            at = vec3_make(-.2 * breadth, -.05 * breadth, -.1 * length);
        } else {
            vec3 root = vec3_make(.5 * knuckles[finger][0] * breadth, 0, -.12 * length);
            at = vec3_make(knuckles[finger][0] * breadth, .02 * breadth, -knuckles[finger][1] * length);
            vec3 way = vec3_unit(vec3_sub(at, root));
            along = quat_mul(quat_from_rotation_vector(vec3_make(0, atan2(-way.x, -way.z), 0)),
                             quat_from_rotation_vector(vec3_make(asin(way.y), 0, 0)));
            rest.joints[joint - 1] = (skeleton_pose){root, along};
            along = quat_mul(along, plain_turn(0, 1, 0, 3 - finger));
        }
        for (int place = 0; place < 3; place++) {
            along = quat_unit(quat_mul(along, plain_turn(-1, 0, 0, finger == 0 && place == 0 ? 0 : 6)));
            rest.joints[(int)joint + place] = (skeleton_pose){at, along};
            double l = lengths[finger][place] * length, r = thickness[finger] * breadth / 2;
            double mass = 1100 * volumes[finger][place] * 1e-6 * scale * scale * scale;
            double across = mass * (3 * r * r + l * l) / 12;
            rest.bones[bone + place] = (hand_bone_mass){mass, vec3_make(0.001 * scale, -.002 * scale, -l / 2),
                                                        mat3_diagonal(across, across * 1.05, mass * r * r / 2)};
            at = vec3_add(at, quat_rotate(along, vec3_make(0, 0, -l)));
        }
        rest.joints[(int)joint + 3] = (skeleton_pose){at, along};
    }
    double mass = 0.32 * scale * scale * scale, thick = .3 * breadth, deep = .45 * length;
    rest.bones[0] = (hand_bone_mass){mass, vec3_make(0, 0, -deep / 2),
                                     mat3_diagonal(mass * (thick * thick + deep * deep) / 12,
                                                   mass * (breadth * breadth + deep * deep) / 12,
                                                   mass * (breadth * breadth + thick * thick) / 12)};
    return rest;
}

/* The mirror image of a hand, at x = 0. */
static inline hand_skeleton_rest plain_hand_mirrored(hand_skeleton_rest rest) {
    rest.left = !rest.left;
    for (int j = 0; j < HAND_JOINTS; j++) {
        rest.joints[j].position.x *= -1;
        rest.joints[j].orientation.y *= -1;
        rest.joints[j].orientation.z *= -1;
    }
    for (int b = 0; b < HAND_BONES; b++) {
        rest.bones[b].centre.x *= -1;
        for (int k = 1; k < 3; k++) rest.bones[b].inertia.m[k] *= -1, rest.bones[b].inertia.m[3 * k] *= -1;
    }
    return rest;
}

static inline hand_skeleton plain_hand_skeleton(const hand_skeleton_rest *rest) {
    hand_springs springs = hand_springs_default();
    hand_skeleton hand;
    thenar_error error;
    assert_ok(hand_skeleton_create(rest, &springs, &hand, &error), error);
    return hand;
}

/* A state with memory of its own, at its rest pose. */
static inline skeleton_state plain_state(const skeleton_model *model, void **memory) {
    skeleton_state state = {.model = model};
    arena measure = {0};
    skeleton_layout(&state, &measure, &measure);
    *memory = memory_aligned(measure.used);
    assert_non_null(*memory);
    arena carve = arena_on(*memory, measure.used);
    skeleton_layout(&state, &carve, &carve);
    skeleton_reset(&state);
    return state;
}

/* A whole step without flesh. */
static inline bool plain_step(skeleton_state *state, double h, vec3 gravity) {
    skeleton_begin(state, h, gravity);
    if (!skeleton_solve(state, h)) return false;
    skeleton_integrate(state, h);
    return true;
}

#endif
