/* Gloves with one value a finger (talvas2015 used a 5DT Data Glove 5): flexion f from 0, open, to 1, closed.
 *
 * Angle i of the hand is q_i = o_i + f (c_i - o_i) with the finger's f and the angles o_i open and c_i closed of
 * glove.c, so that all joints of a finger bend in the same proportion. Such a glove measures no abduction: fingers
 * stay side by side, the thumb opposes them. */
#ifndef BODY_GLOVE_H
#define BODY_GLOVE_H

#include "base/memory.h"
#include "body/hand_skeleton.h"

/* A glove that is worn otherwise than it was calibrated tells a little less than 0 or more than 1: values are brought
 * between these up to here, and no glove's beyond. */
#define GLOVE_LEAST (-0.5)
#define GLOVE_MOST 1.5

typedef struct glove_frame {
    double time; /* s */
    double flexion[HAND_FINGERS];
    skeleton_pose wrist; /* position.x is NaN: not told */
} glove_frame;

/* The frames of one hand, by ascending time. */
typedef ARRAY(glove_frame) glove_track;

static inline bool glove_value_is_fine(double flexion) {
    return flexion >= GLOVE_LEAST && flexion <= GLOVE_MOST; /* false for NaN */
}

/* Values that are missing (NaN) become what they were in the frame before, before the first one what they are in that,
 * and 0 if there is none; so do wrists, if there is any. */
void glove_fill(glove_track *frames);
/* At a time, along straight lines and great circles; before the first and behind the last frame it is theirs. There
 * must be one. */
glove_frame glove_sample(const glove_track *frames, double time);
/* The angles of a hand, within its limits, rad. */
void glove_angles(const hand_skeleton *hand, const double flexion[HAND_FINGERS], double q[HAND_ANGLES]);
/* The same of one finger. */
void glove_finger(const hand_skeleton *hand, int finger, double flexion, double q[HAND_ANGLES]);

#endif
