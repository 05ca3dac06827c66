/* Where the joints of a hand are at rest, from a table of bones in shares of hand length and breadth.
 *
 * The hand lies as one does on a table that it hardly touches: nearly flat, fingers a little apart and a little bent,
 * the thumb to the side and below the palm. In the frame of its wrist: fingers along -z, the palm faces -y, a right
 * hand has its thumb at -x. A left hand is the mirror image in x. */
#ifndef SHAPE_HAND_REST_H
#define SHAPE_HAND_REST_H

#include "math/vec3.h"
#include "shape/hand_joints.h"

#include <stdbool.h>

typedef struct hand_frame {
    vec3 position; /* m */
    quat rotation; /* -z along the bone away from the wrist, -y out of the palm */
} hand_frame;

/* From the wrist to the end of the middle finger, and across the knuckles without the thumb, m. */
typedef struct hand_size {
    double length, breadth;
} hand_size;

/* The frames of a right hand. */
void hand_rest(hand_size size, hand_frame joint[HAND_JOINTS]);

/* The mirror image of a frame in the plane x = 0: right-handed, with the same meaning of its axes. */
hand_frame hand_frame_mirrored(hand_frame frame);

/* The rotation of a matrix whose columns are at right angles and of length 1. */
quat hand_rotation_of(mat3 m);

/* A frame's own axes in the hand's. */
static inline vec3 hand_frame_along(const hand_frame *frame) {
    return quat_rotate(frame->rotation, vec3_make(0, 0, -1));
}
static inline vec3 hand_frame_up(const hand_frame *frame) {
    return quat_rotate(frame->rotation, vec3_make(0, 1, 0));
}
static inline vec3 hand_frame_side(const hand_frame *frame) {
    return quat_rotate(frame->rotation, vec3_make(1, 0, 0));
}

/* The length of a phalanx, and of the thumb's metacarpal: from its joint to the next one, m. Not for tips. */
double hand_bone_length(hand_size size, hand_joint joint);

#endif
