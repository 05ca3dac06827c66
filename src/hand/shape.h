/* The joints and bones of a hand, as everyone counts them: 25 joints in WebXR's order, and the 16 bones that move.
 *
 * A joint's frame has -z along its bone away from the wrist and -y out of the palm (x to the thumb's side of a left
 * hand and away from it on a right one, as right-handedness has it). A bone is named after the joint at which it
 * begins. The palm, one bone from the wrist to the knuckles, holds the four fingers' metacarpals. */
#ifndef HAND_SHAPE_H
#define HAND_SHAPE_H

#include "core/error.h"
#include "core/vec3.h"
#include "geometry/bvh.h"
#include "geometry/distance.h"

#include "thenar/mesh.h"

#include <stdbool.h>

typedef enum hand_joint {
    HAND_WRIST,
    HAND_THUMB_METACARPAL,
    HAND_THUMB_PROXIMAL,
    HAND_THUMB_DISTAL,
    HAND_THUMB_TIP,
    HAND_INDEX_METACARPAL,
    HAND_INDEX_PROXIMAL,
    HAND_INDEX_INTERMEDIATE,
    HAND_INDEX_DISTAL,
    HAND_INDEX_TIP,
    HAND_MIDDLE_METACARPAL,
    HAND_MIDDLE_PROXIMAL,
    HAND_MIDDLE_INTERMEDIATE,
    HAND_MIDDLE_DISTAL,
    HAND_MIDDLE_TIP,
    HAND_RING_METACARPAL,
    HAND_RING_PROXIMAL,
    HAND_RING_INTERMEDIATE,
    HAND_RING_DISTAL,
    HAND_RING_TIP,
    HAND_LITTLE_METACARPAL,
    HAND_LITTLE_PROXIMAL,
    HAND_LITTLE_INTERMEDIATE,
    HAND_LITTLE_DISTAL,
    HAND_LITTLE_TIP,
    HAND_JOINTS
} hand_joint;

/* The palm, then three bones a finger from the thumb on. */
#define HAND_FINGERS 5
#define HAND_BONES (1 + 3 * HAND_FINGERS)

/* WebXR's name of a joint: "wrist", "thumb-metacarpal", ..., "pinky-finger-tip". */
const char *hand_joint_name(hand_joint joint);
/* The joint of that name, or -1. */
int hand_joint_find(const char *name);
/* The joint at which a bone begins: the wrist, the thumb's metacarpal, proximal and distal ones, the fingers' proximal,
 * intermediate and distal ones. */
hand_joint hand_bone_joint(int bone);
/* The bone that a bone hangs on, -1 for the palm. */
int hand_bone_parent(int bone);
/* The bone that carries a joint's frame: its own, the palm for the fingers' metacarpals, the distal one for a tip. */
int hand_joint_bone(hand_joint joint);

/* Where the joints of a hand are at rest, from a table of bones in shares of hand length and breadth.
 *
 * The hand lies as one does on a table that it hardly touches: nearly flat, fingers a little apart and a little bent,
 * the thumb to the side and below the palm. In the frame of its wrist: fingers along -z, the palm faces -y, a right
 * hand has its thumb at -x. A left hand is the mirror image in x. */

typedef struct hand_frame {
    vec3 position; /* m */
    quat rotation; /* -z along the bone away from the wrist, -y out of the palm */
} hand_frame;

/* From the wrist to the end of the middle finger, and across the knuckles without the thumb, m. */
typedef struct hand_size {
    double length, breadth;
} hand_size;

/* The frames of a right hand. */
void hand_rest(hand_size size, hand_frame joint[HAND_JOINTS]);

/* The mirror image of a frame in the plane x = 0: right-handed, with the same meaning of its axes. */
hand_frame hand_frame_mirrored(hand_frame frame);

/* The rotation of a matrix whose columns are at right angles and of length 1. */
quat hand_rotation_of(mat3 m);

/* A frame's own axes in the hand's. */
static inline vec3 hand_frame_along(const hand_frame *frame) {
    return quat_rotate(frame->rotation, vec3_make(0, 0, -1));
}
static inline vec3 hand_frame_up(const hand_frame *frame) {
    return quat_rotate(frame->rotation, vec3_make(0, 1, 0));
}
static inline vec3 hand_frame_side(const hand_frame *frame) {
    return quat_rotate(frame->rotation, vec3_make(1, 0, 0));
}

/* The length of a phalanx, and of the thumb's metacarpal: from its joint to the next one, m. Not for tips. */
double hand_bone_length(hand_size size, hand_joint joint);

/* Skinning: which bones a point of the hand follows, and where it goes when they move.
 *
 * Linear blend: x' = sum_k w_k B_k B_k,rest^-1 x, with B the frame of a bone, that of the joint at which it begins. */

#define HAND_SKINNING_BONES 4

/* Up to four bones, the heaviest first; weights are positive and add up to 1, the rest is zero. */
typedef struct hand_skinning {
    int bone[HAND_SKINNING_BONES];
    double weight[HAND_SKINNING_BONES];
} hand_skinning;

/* The heaviest four of all bones, without those of less than a fiftieth. The weights need not add up to 1; if there are
 * none, it is the palm. */
hand_skinning hand_skinning_of(const double weight[HAND_BONES]);

/* Where a point goes, and all of many, from the rest frames of the joints to others. */
vec3 hand_skinning_point(const hand_skinning *skinning, const hand_frame rest[HAND_JOINTS],
                         const hand_frame posed[HAND_JOINTS], vec3 point);
void hand_skinning_apply(const hand_skinning *skinning, int count, const hand_frame rest[HAND_JOINTS],
                         const hand_frame posed[HAND_JOINTS], const double *positions, double *out);

/* The frames of a hand that is bent from rest: turn[joint] turns what hangs on a joint, in the joint's own axes (-x
 * bends a finger), before the frame of rest; the wrist's turns all. */
void hand_bend(const hand_frame rest[HAND_JOINTS], const quat turn[HAND_JOINTS], hand_frame posed[HAND_JOINTS]);

/* Tets around a hand: layers along the fingers and along the palm, five columns of nodes a finger.
 *
 * A finger's section is a rectangle with a node in the middle, on the bone's axis: four triangles, twelve tets a layer.
 * The palm's section is four such rectangles side by side; where the web ends, the fingers part. The thumb grows out of
 * the palm's side. A finer mesh is this one with every tet cut into 8, 27, ... and its boundary drawn to the skin. */

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

/* A hand: joints at rest, a smooth skin, tets that cover it, and what both hang on. */

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

/* A limb: an oval that is carried along a curve and changes on the way, with round ends.
 *
 * Around a point of the curve, with the axes `side` and `up` across it, the oval is two half ellipses of the half
 * breadth `across` and the heights `above` and `below`. Knots say what holds where; between them it runs smoothly
 * (Catmull-Rom). */

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

/* The form of a hand around its joints at rest: limbs and pads that run into each other smoothly.
 *
 * Of a right hand; the left one is mirrored once it is a mesh. */

#define HAND_FLESH_PADS 24

/* An ellipsoid. */
typedef struct hand_pad {
    vec3 centre, axis[3]; /* unit axes */
    double half[3];
    double blend; /* over what length it runs into the rest, m */
} hand_pad;

typedef struct hand_flesh {
    double unit;               /* hand breadth, m */
    limb finger[HAND_FINGERS]; /* thumb to little finger, from the knuckle to the tip */
    limb ray[HAND_FINGERS];    /* of the palm: along the metacarpals */
    limb wrist;
    int pad_count;
    hand_pad pad[HAND_FLESH_PADS];
    int hollow_count;
    hand_pad hollow[4];
    double wrist_end; /* z of the cut */
    box bounds;
} hand_flesh;

void hand_flesh_make(hand_size size, const hand_frame joint[HAND_JOINTS], hand_flesh *out);

/* Negative inside; nearly a distance close to the skin. flesh must stay. */
signed_distance signed_distance_of_flesh(const hand_flesh *flesh);

/* Where the sections of a hand's tets lie: across the palm from the wrist to the web, then across each finger. */

#define HAND_RAYS (HAND_FINGERS - 1) /* of the palm: index to little finger */
#define HAND_LINES (HAND_RAYS + 1)   /* that part the rays, the outer sides with them */
#define HAND_PALM_LIMIT 12           /* layers */
#define HAND_FINGER_LIMIT 12

/* How many layers: of the palm, of a finger from the web to its second joint, on to the third, on to the tip; of the
 * thumb from its root to its first knuckle, on to the second, on to the tip. */
typedef struct hand_layers {
    int palm, finger[3], thumb[3];
} hand_layers;

/* A rectangle across a finger: corners at -side +up, +side +up, +side -up, -side -up, then the middle. */
typedef struct hand_section {
    vec3 corner[5];
    /* Along the finger's bones: 0 at the first knuckle (the thumb's: at its root), 1 at the next joint, 3 at the tip.
     * */
    double place;
} hand_section;

typedef struct hand_sections {
    hand_layers layers;
    vec3 middle[HAND_RAYS][HAND_PALM_LIMIT + 1];
    vec3 top[HAND_LINES][HAND_PALM_LIMIT + 1], bottom[HAND_LINES][HAND_PALM_LIMIT + 1];
    int count[HAND_FINGERS]; /* beyond the palm's last section */
    hand_section finger[HAND_FINGERS][HAND_FINGER_LIMIT];
} hand_sections;

/* What each vertex of a hand's skin hangs on, from its place along the bones. */

/* weight: HAND_BONES numbers a vertex, zeroed. Smooth, adding up to 1, and local: none beyond a finger's width from the
 * joint to that bone. */
thenar_status hand_weights(hand_size size, const hand_frame *joint, const thenar_surface *skin, double *weight,
                           thenar_error *error);

/* joint: HAND_JOINTS of them. The finger, 1 (thumb) to 5, in whose free part each vertex lies, beyond the web; 0:
 * none. */
void hand_vertex_groups(const hand_frame *joint, const thenar_surface *skin, const double *weight, int *group);

/* Hangs a hand's skin on its tets. Tets of neighbouring fingers may overlap at their roots: a vertex hangs on one that
 * follows the same bones. */

/* Skin, mesh and both skinnings must be there; fills in hand->embedding. */
thenar_status hand_embed(hand_shape *hand, thenar_error *error);

/* How far apart the points of a hand's skin should be that touch: close where one feels, far where one does not. */

/* Which part of a hand is whose: its solid cut up into the palm and fifteen phalanges.
 *
 * A phalanx is what lies beyond the plane through its joint and before that through the next one (each halves the angle
 * between its two bones), and is nearer to the chain of its own finger's bones than to any other, distances counted
 * from a bone's mean thickness on. The palm is the rest. Nothing is asked of the skin but that it is closed. */

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

/* A hand as separate soft phalanges on bones [Talvas et al. 2015, section 4: 1513 tets for all 15 phalanges].
 *
 * Each piece is a body of its own at rest, in the hand's frame: a closed skin (the hand's own, and the cuts at its
 * joints), tets that cover it, and which of their nodes lie on the bone. For the built-in hand and hands from glTF,
 * left and right: a hand_shape is all it takes.
 *
 *     hand_phalanges_options options = hand_phalanges_options_default();
 *     hand_phalanges phalanges;
 *     status = hand_phalanges_create(&hand, &options, &phalanges, error);
 *     for (int i = 0; i < phalanges.count; i++) use(&phalanges.piece[i]);
 *     hand_phalanges_free(&phalanges);  */

/* Nodes with a core of this or more lie in the bone: of the way from its axis to the skin it takes six tenths, as
 * phalanges do. */
#define HAND_PHALANX_BONE 0.4

#define HAND_PHALANGES_TETS_MIN 1000 /* the fewest bricks have some 60 tets a piece */
#define HAND_PHALANGES_TETS_MAX 500000

typedef struct hand_phalanges_options {
    int tets;      /* of all fifteen phalanges, about; each gets about as many */
    int triangles; /* of their skins, about, in proportion to the pieces' sizes */
    int palm_tets; /* about that many for the palm, the sixteenth piece; 0: no palm */
    unsigned only; /* bit b: bone b is made, as one of the fifteen; 0: all of them */
} hand_phalanges_options;

/* 1513 tets, 15000 triangles, no palm. */
hand_phalanges_options hand_phalanges_options_default(void);

typedef struct hand_phalanx {
    int bone;             /* 1 to 15, thumb first; 0: the palm */
    thenar_tet_mesh mesh; /* every tet has the bone for a tag */
    thenar_surface skin;  /* closed */
    thenar_embedding embedding;
    double *node_core; /* of a node: 1 on the axis of the bone, down to 0 at the hand's skin and outside */
    bool *held;        /* of a node: in the bone, which is to hold it. They are on no line: a piece held by them cannot
                          turn about its bone */
    double *fill;      /* share of each tet that the piece fills, 0 to 1: put a floor under it */
    double *contact_spacing; /* of a vertex of the skin, as in hand_shape, m; wide on the cuts */
    bool *cut; /* of a vertex: it lies on a cut or the rounding of its edge, inside the hand, not on its skin */
} hand_phalanx;

typedef struct hand_phalanges {
    int count;                      /* 15, or 16 with the palm; with `only` fewer */
    hand_phalanx piece[HAND_BONES]; /* bones 1 to 15, then the palm */
} hand_phalanges;

thenar_status hand_phalanges_create(const hand_shape *hand, const hand_phalanges_options *options, hand_phalanges *out,
                                    thenar_error *error);
void hand_phalanges_free(hand_phalanges *phalanges);

/* Tets around one piece of a hand, in line with its bone. */

#endif
