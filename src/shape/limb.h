/* A limb: an oval that is carried along a curve and changes on the way, with round ends.
 *
 * Around a point of the curve, with the axes `side` and `up` across it, the oval is two half ellipses of the half
 * breadth `across` and the heights `above` and `below`. Knots say what holds where; between them it runs smoothly
 * (Catmull-Rom). */
#ifndef SHAPE_LIMB_H
#define SHAPE_LIMB_H

#include "shape/bvh.h"

#define LIMB_KNOTS 12
#define LIMB_STEPS 12 /* pieces between two knots */
#define LIMB_SAMPLES ((LIMB_KNOTS - 1) * LIMB_STEPS + 1)

typedef struct limb_knot {
    vec3 centre;
    vec3 side, up; /* unit, across the curve */
    double across, above, below;
} limb_knot;

typedef struct limb {
    int count; /* samples */
    limb_knot sample[LIMB_SAMPLES];
    double start_cap, end_cap; /* how far the round ends reach beyond the first and the last knot */
    box bounds;
} limb;

/* 2 to LIMB_KNOTS knots. */
limb limb_make(const limb_knot *knot, int count, double start_cap, double end_cap);

/* About the distance from the surface: right in sign and nearly right in size near the surface. Farther than `far` from
 * the limb, some number above `far`. */
double limb_distance(const limb *l, vec3 p, double far);

#endif
