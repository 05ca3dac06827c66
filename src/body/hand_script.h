/* A scripted hand: poses by name or by angles, and a path of the wrist, both as keys over time. */
#ifndef BODY_HAND_SCRIPT_H
#define BODY_HAND_SCRIPT_H

#include "base/error.h"
#include "body/hand_skeleton.h"
#include "body/support.h"

#include "thenar/hand.h"

typedef struct hand_script_def {
    const thenar_hand_key *poses; /* none: the rest pose */
    int pose_count;
    const thenar_key *keys; /* of the wrist, from its rest place and about it; none: it stays there */
    int key_count;
    bool linear; /* constant speed between keys; false: smooth, at rest at each key */
} hand_script_def;

typedef struct hand_script_key {
    double time;
    double q[HAND_ANGLES];
} hand_script_key;

typedef struct hand_script {
    skeleton_pose rest; /* of the wrist */
    double rest_angles[HAND_ANGLES];
    int key_count;
    hand_script_key *keys;
    support_model path;
} hand_script;

thenar_status hand_script_create(const hand_script_def *def, const hand_skeleton *hand, hand_script *out,
                                 thenar_error *error);
void hand_script_free(hand_script *script);

/* Base pose and angles at a time; before the first and behind the last key they are theirs. */
void hand_script_sample(const hand_script *script, double time, skeleton_pose *base, double q[HAND_ANGLES]);

#endif
