/* What each vertex of a hand's skin hangs on, from its place along the bones. */
#ifndef SHAPE_HAND_WEIGHTS_H
#define SHAPE_HAND_WEIGHTS_H

#include "shape/hand_skinning.h"

/* weight: HAND_BONES numbers a vertex, zeroed. Smooth, adding up to 1, and local: none beyond a finger's width from the
 * joint to that bone. */
thenar_status hand_weights(hand_size size, const hand_frame *joint, const thenar_surface *skin, double *weight,
                           thenar_error *error);

/* joint: HAND_JOINTS of them. The finger, 1 (thumb) to 5, in whose free part each vertex lies, beyond the web; 0:
 * none. */
void hand_vertex_groups(const hand_frame *joint, const thenar_surface *skin, const double *weight, int *group);

#endif
