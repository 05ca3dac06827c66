/* An order of places in space in which every group of so many in a row stands together.
 *
 * The leaves of a tree (shape/bvh.h) are not all of one size, so that groups in a row reach over from one leaf to the
 * next, which may be elsewhere: of a hand's points, on other fingers. */
#ifndef CONTACT_COMPACT_H
#define CONTACT_COMPACT_H

#include "math/vec3.h"

/* order[i]: which of the places comes as number i. The same places always give the same order. */
void compact_order(const vec3 *place, int count, int group, int *order);

#endif
