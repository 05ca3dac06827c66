/* Tets around a hand: layers along the fingers and along the palm, five columns of nodes a finger.
 *
 * A finger's section is a rectangle with a node in the middle, on the bone's axis: four triangles, twelve tets a layer.
 * The palm's section is four such rectangles side by side; where the web ends, the fingers part. The thumb grows out of
 * the palm's side. A finer mesh is this one with every tet cut into 8, 27, ... and its boundary drawn to the skin. */
#ifndef SHAPE_HAND_TETS_H
#define SHAPE_HAND_TETS_H

#include "shape/distance.h"
#include "shape/hand_rest.h"
#include "thenar/mesh.h"

#define HAND_TETS_MIN 350
#define HAND_TETS_MAX 200000

/* What a node hangs on before it is cut down to four bones. */
typedef struct hand_node {
    double weight[HAND_BONES]; /* add up to 1 */
    double core;               /* 1 on the axis of a bone, 0 on the boundary */
} hand_node;

/* joint: HAND_JOINTS of them. About `target` tets that cover every vertex of the skin of a right hand; solid: what
 * the skin holds; vertex_group: the finger (1 to 5) whose tets must hold a vertex, or 0. nodes gets one entry a node;
 * free() it. */
thenar_status hand_tets(hand_size size, const hand_frame *joint, const signed_distance *solid,
                        const thenar_surface *skin, const int *vertex_group, int target, thenar_tet_mesh *mesh,
                        hand_node **nodes, thenar_error *error);

#endif
