/* The skeleton of a hand: 16 bones, 20 angles and a free base, from the frames of its 25 joints at rest.
 *
 * Angles are numbered 4 finger + {flexion, abduction, middle joint, end joint}: the thumb's carpometacarpal (CMC) joint
 * with two axes, its metacarpophalangeal (MCP) and interphalangeal (IP) one; the fingers' MCP joint with two axes,
 * their proximal (PIP) and distal (DIP) interphalangeal one. In rad; flexion is positive towards the palm's side of the
 * bone (-y), abduction towards the thumb's side of the hand, of the thumb itself away from the palm. An angle is zero
 * where the bone continues the one before it (a finger's metacarpal for its MCP joint), whatever the rest pose is; the
 * thumb's CMC joint, which has no such pose, is zero at rest.
 *
 * Two axes turn flexion first, abduction in the flexed frame: the other order would let abduction roll a finger bent by
 * 90 degrees instead of spreading it. */
#ifndef BODY_HAND_SKELETON_H
#define BODY_HAND_SKELETON_H

#include "body/skeleton.h"
#include "shape/hand_joints.h"

#define HAND_FINGER_ANGLES 4
#define HAND_ANGLES (HAND_FINGERS * HAND_FINGER_ANGLES)
enum { HAND_FLEXION, HAND_ABDUCTION, HAND_MIDDLE_FLEXION, HAND_END_FLEXION };

/* Of a bone in the frame of its first joint. */
typedef struct hand_bone_mass {
    double mass;  /* kg */
    vec3 centre;  /* m */
    mat3 inertia; /* about the centre, kg m^2 */
} hand_bone_mass;

/* Springs of the joints. A finger's joints get softer towards its tip, as what hangs on them gets lighter. No source
 * has figures of a hand that follows a tracked one: the defaults (unverified) let a finger settle within about 20
 * ms. */
typedef struct hand_springs {
    double stiffness, damping;             /* of the first joint of a finger, N m/rad, N m s/rad */
    double middle, end;                    /* shares of these for the middle and the end joint */
    double limit_stiffness, limit_damping; /* of all joints, N m/rad, N m s/rad */
} hand_springs;
hand_springs hand_springs_default(void);

typedef struct hand_skeleton_rest {
    bool left;
    skeleton_pose joints[HAND_JOINTS]; /* hand_joints.h has the conventions of the frames */
    hand_bone_mass bones[HAND_BONES];
} hand_skeleton_rest;

typedef struct hand_skeleton {
    bool left;
    skeleton_model *model;
    skeleton_pose joints[HAND_JOINTS]; /* each in the frame of the bone that carries it (hand_joint_bone) */
    double lower[HAND_ANGLES], upper[HAND_ANGLES], rest[HAND_ANGLES]; /* rad */
} hand_skeleton;

/* Ranges of motion as in hand_skeleton.c, widened where the rest pose is beyond them. */
thenar_status hand_skeleton_create(const hand_skeleton_rest *rest, const hand_springs *springs, hand_skeleton *out,
                                   thenar_error *error);
void hand_skeleton_free(hand_skeleton *hand);

/* The frames of the 25 joints, from those of the 16 bones. */
void hand_skeleton_joints(const hand_skeleton *hand, const skeleton_pose bones[HAND_BONES],
                          skeleton_pose joints[HAND_JOINTS]);

#endif
