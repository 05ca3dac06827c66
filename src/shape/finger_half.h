/* The half of a finger with x >= 0 while it is meshed: a start of few tets, edges halved where they are long, nodes
 * moved for the quality of the tets. Positions are about the tip: z is the distance from it along the axis. */
#ifndef SHAPE_FINGER_HALF_H
#define SHAPE_FINGER_HALF_H

#include "base/memory.h"
#include "shape/finger.h"

#include <stdint.h>

typedef struct half_node {
    vec3 place;
    bool on_skin, of_bone;
} half_node;

typedef struct half_tet {
    int node[4];
    int tag;
    uint8_t skin; /* bit i: the face opposite to corner i is skin */
} half_tet;

typedef struct finger_half {
    double length;
    ARRAY(half_node) nodes;
    ARRAY(half_tet) tets;
} finger_half;

/* Halves the edges that are longest over the size wanted where they are, until there are that many tets or a few more.
 * False when memory runs out, as of all that follow. */
bool finger_half_refine(finger_half *half, size_t target_tets);

/* Moves nodes to where the worst tet around them is better. Those of the skin stay on it, those of the middle plane and
 * of the cut stay in these, those of the bone stay. */
bool finger_half_relax(finger_half *half);

#endif
