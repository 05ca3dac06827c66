/* The flesh of a hand as soft bodies, and which of their nodes hang on which bones. */
#ifndef BODY_HAND_HANG_H
#define BODY_HAND_HANG_H

#include "body/hand.h"
#include "shape/hand.h"

#define HAND_SMALLEST_FILL 0.05 /* of a tet that is hardly filled, as in scenes */

/* Makes the soft bodies of a shape in its place and fills in the hand's flesh. fill: share of each tet of the shape
 * that is flesh. flesh: room for HAND_BONES; on an error those that were made are in it. */
thenar_status hand_hang_flesh(const thenar_hand_def *def, const hand_shape *shape, const double *fill, hand_model *hand,
                              soft_model **flesh, thenar_error *error);

#endif
