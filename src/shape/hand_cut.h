/* Which part of a hand is whose: its solid cut up into the palm and fifteen phalanges.
 *
 * A phalanx is what lies beyond the plane through its joint and before that through the next one (each halves the angle
 * between its two bones), and is nearer to the chain of its own finger's bones than to any other, distances counted
 * from a bone's mean thickness on. The palm is the rest. Nothing is asked of the skin but that it is closed. */
#ifndef SHAPE_HAND_CUT_H
#define SHAPE_HAND_CUT_H

#include "shape/hand.h"
#include "shape/surface_distance.h"

typedef struct hand_cut {
    const surface_distance *skin;
    hand_frame joint[HAND_JOINTS];
    vec3 plane[HAND_BONES];    /* unit normal of the cut where a phalanx begins, along the finger */
    double radius[HAND_BONES]; /* mean distance of its skin from a bone, m */
    box bounds[HAND_BONES];    /* around each piece */
    double fillet;             /* m: how far from the edge of a cut its rounding begins */
} hand_cut;

/* skin: the distance from the hand's skin; must stay. */
void hand_cut_make(const hand_shape *hand, const surface_distance *skin, hand_cut *out);

/* How far a point is from the part of space, inside and outside of the hand, that belongs to a bone: negative within.
 * Beyond an edge between two cuts it is less than the distance. */
double hand_cut_region(const hand_cut *cut, int bone, vec3 p);

/* A piece as a solid, with the edges of its cuts rounded. */
typedef struct hand_piece {
    const hand_cut *cut;
    int bone;
} hand_piece;
signed_distance signed_distance_of_piece(const hand_piece *piece); /* piece must stay */

/* How far a point is from a bone: the straight line between its two joints, all four metacarpals for the palm. */
double hand_cut_bone_distance(const hand_cut *cut, int bone, vec3 p);

#endif
