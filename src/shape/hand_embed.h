/* Hangs a hand's skin on its tets. Tets of neighbouring fingers may overlap at their roots: a vertex hangs on one that
 * follows the same bones. */
#ifndef SHAPE_HAND_EMBED_H
#define SHAPE_HAND_EMBED_H

#include "shape/hand.h"

/* Skin, mesh and both skinnings must be there; fills in hand->embedding. */
thenar_status hand_embed(hand_shape *hand, thenar_error *error);

#endif
