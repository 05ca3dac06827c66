/* How far apart the points of a hand's skin should be that touch: close where one feels, far where one does not. */
#ifndef SHAPE_HAND_SPACING_H
#define SHAPE_HAND_SPACING_H

#include "shape/hand.h"

/* One length a vertex of the skin, m; free() it. Joints, skin, labels and pads must be there. */
thenar_status hand_spacing(const hand_shape *hand, double **spacing, thenar_error *error);

#endif
