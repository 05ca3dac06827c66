/* A hand: joints at rest, a smooth skin, tets that cover it, and what both hang on. */
#ifndef SHAPE_HAND_H
#define SHAPE_HAND_H

#include "shape/hand_skinning.h"
#include "shape/hand_tets.h"

#define HAND_LENGTH_MIN 0.08
#define HAND_LENGTH_MAX 0.3
/* Breadth over length: 0.45 for men, 0.44 for women. */
#define HAND_SLENDER 0.38
#define HAND_BROAD 0.52
#define HAND_TRIANGLES_MIN 6000
#define HAND_TRIANGLES_MAX 400000

typedef struct hand_options {
    double length;  /* from the wrist to the end of the middle finger, m */
    double breadth; /* across the knuckles, m */
    bool left;
    int tets, triangles; /* about that many */
} hand_options;

/* A man's right hand: 190 mm by 86 mm; 600 tets (602), 24000 triangles. */
hand_options hand_options_default(void);

/* A part of the skin. */
typedef struct hand_region {
    int count;
    int *vertex;
    double *area; /* m^2, a third of the triangles around each vertex */
} hand_region;

typedef struct hand_shape {
    bool left;
    hand_frame joint[HAND_JOINTS]; /* at rest */
    thenar_surface skin;
    thenar_tet_mesh mesh;       /* the tag of a tet is its bone */
    thenar_embedding embedding; /* of the skin in the tets */
    hand_skinning *node_skinning, *vertex_skinning;
    int *node_bone, *vertex_bone;  /* the one that it follows most: its phalanx */
    double *node_core;             /* 1 on the axis of a bone, down to 0 at the boundary: what to couple to the bones */
    hand_region pad[HAND_FINGERS]; /* the palmar side of the last phalanges, thumb to little finger */
    double *contact_spacing;       /* of the skin's vertices: how far apart those that touch should be, m */
} hand_shape;

thenar_status hand_shape_create(const hand_options *options, hand_shape *out, thenar_error *error);
void hand_shape_free(hand_shape *hand);

/* The palmar side of a last phalanx: vertices of a skin beyond the joint of that bone that face out of the palm. bone_of:
 * the bone of each vertex, NULL: the skin is that phalanx's alone. Free its arrays. */
thenar_status hand_region_find_pad(const thenar_surface *skin, const int *bone_of, int bone,
                                   const hand_frame joint[HAND_JOINTS], hand_region *pad, thenar_error *error);
void hand_region_free(hand_region *region);

/* "palm", or the name of the joint at which a bone begins: the tag of its tets in scenes. */
const char *hand_bone_name(int bone);

/* Where the skin is when bones and nodes have moved: each vertex goes with its bones, and by as much further as the
 * nodes of its tet are from where their bones would take them. The large turns at joints are then as smooth as the
 * skinning, and only the flesh's own deformation is interpolated: no facets of the tets. Positions are xyz. */
void hand_shape_follow(const hand_shape *hand, const hand_frame posed[HAND_JOINTS], const double *nodes, double *skin);

/* Turns a right hand into a left one and back: x the other way round, and the order of corners too. */
void hand_shape_mirror(hand_shape *hand);

/* For whoever makes a hand: the cores of the nodes, and their weights, HAND_BONES a node; free() them. */
thenar_status hand_shape_take_nodes(const hand_node *node, hand_shape *hand, double **weight, thenar_error *error);
/* For whoever makes a hand: labels, pads and skinning of the skin and of the nodes from weights (HAND_BONES a vertex or
 * node). Joints, skin and mesh must be there. */
thenar_status hand_shape_finish(const double *vertex_weight, const double *node_weight, hand_shape *hand,
                                thenar_error *error);

#endif
