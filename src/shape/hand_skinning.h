/* Skinning: which bones a point of the hand follows, and where it goes when they move.
 *
 * Linear blend: x' = sum_k w_k B_k B_k,rest^-1 x, with B the frame of a bone, that of the joint at which it begins. */
#ifndef SHAPE_HAND_SKINNING_H
#define SHAPE_HAND_SKINNING_H

#include "base/error.h"
#include "shape/hand_rest.h"
#include "thenar/mesh.h"

#define HAND_SKINNING_BONES 4

/* Up to four bones, the heaviest first; weights are positive and add up to 1, the rest is zero. */
typedef struct hand_skinning {
    int bone[HAND_SKINNING_BONES];
    double weight[HAND_SKINNING_BONES];
} hand_skinning;

/* The heaviest four of all bones, without those of less than a fiftieth. The weights need not add up to 1; if there are
 * none, it is the palm. */
hand_skinning hand_skinning_of(const double weight[HAND_BONES]);

/* Weights spread from each vertex to those across an edge, `rounds` times: smooth, and never across a gap. weight has
 * HAND_BONES numbers a vertex. */
thenar_status hand_skinning_smooth(const thenar_surface *skin, int rounds, double *weight, thenar_error *error);

/* Where a point goes, and all of many, from the rest frames of the joints to others. */
vec3 hand_skinning_point(const hand_skinning *skinning, const hand_frame rest[HAND_JOINTS],
                         const hand_frame posed[HAND_JOINTS], vec3 point);
void hand_skinning_apply(const hand_skinning *skinning, int count, const hand_frame rest[HAND_JOINTS],
                         const hand_frame posed[HAND_JOINTS], const double *positions, double *out);

/* The frames of a hand that is bent from rest: turn[joint] turns what hangs on a joint, in the joint's own axes (-x
 * bends a finger), before the frame of rest; the wrist's turns all. */
void hand_bend(const hand_frame rest[HAND_JOINTS], const quat turn[HAND_JOINTS], hand_frame posed[HAND_JOINTS]);

#endif
