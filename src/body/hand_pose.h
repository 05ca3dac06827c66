/* Poses of a hand by name, as angles. */
#ifndef BODY_HAND_POSE_H
#define BODY_HAND_POSE_H

#include "body/hand_skeleton.h"

/* The angles of a named pose, within the limits of this hand: "rest", "open", "relaxed", "fist", "pinch", "point" or
 * "spread". Returns false for any other name. */
bool hand_pose_find(const hand_skeleton *hand, const char *name, double q[HAND_ANGLES]);

/* The names, for messages. */
extern const char *const hand_pose_names[];
int hand_pose_count(void);

#endif
