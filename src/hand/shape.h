/* The shape of a hand: its joints and bones, skin, tets, and how skin and tets follow the bones.
 *
 * Joints are the 25 of WebXR, in its order; 16 bones move. The frame of a joint has -z along its bone away from the
 * wrist and -y out of the palm (in a right-handed frame x then points to the thumb's side of a left hand and away from
 * it on a right hand). A bone is named after the joint at which it begins. The palm is one bone from the wrist to the
 * knuckles and contains the four fingers' metacarpals. */
#ifndef HAND_SHAPE_H
#define HAND_SHAPE_H

#include "core/error.h"
#include "core/shared.h"
#include "core/vec3.h"
#include "geometry/distance.h"

#include "thenar/hand.h"
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

/* The palm, then three bones per finger, thumb first. */
#define HAND_FINGERS 5
#define HAND_BONES (1 + 3 * HAND_FINGERS)

/* WebXR's name of a joint: "wrist", "thumb-metacarpal", ..., "pinky-finger-tip". */
const char *hand_joint_name(hand_joint joint) SHARED(hand_joint_name);

/* The joint at which a bone begins: the wrist; the thumb's metacarpal, proximal and distal joints; the fingers'
 * proximal, intermediate and distal joints. */
hand_joint hand_bone_joint(int bone);
/* The bone that carries the frame of a joint: its own, the palm for the fingers' metacarpals, the distal bone for a
 * tip. */
int hand_joint_bone(hand_joint joint) SHARED(hand_joint_bone);

/* Rest positions of the joints, from a table of bones in shares of hand length and breadth.
 *
 * The hand lies as on a table that it hardly touches: nearly flat, fingers slightly apart and slightly bent, the thumb
 * to the side and below the palm. In the frame of its wrist the fingers point along -z, the palm faces -y, and the
 * thumb of a right hand is at -x. A left hand is the mirror image in x. */

typedef struct hand_frame {
    vec3 position; /* m */
    quat rotation; /* -z along the bone away from the wrist, -y out of the palm */
} hand_frame;

/* From the wrist to the tip of the middle finger, and across the knuckles without the thumb, m. A hand that was measured
 * (hand_measure) also has lengths of single bones and places of the roots of its fingers; zero: those of the table. */
typedef struct hand_size {
    double length, breadth;
    double bone[HAND_BONES - 1]; /* thumb to little finger, three each, m */
    vec3 root[HAND_FINGERS]; /* start of the first bone of each finger in the frame of the wrist of a right hand, m */
} hand_size;

/* The frames of a right hand. */
void hand_rest(hand_size size, hand_frame joint[HAND_JOINTS]);

/* The mirror image of a frame in the plane x = 0: right-handed, with the same meaning of its axes. */
hand_frame hand_frame_mirrored(hand_frame frame);

/* The quaternion of a rotation matrix. */
quat hand_rotation_of(mat3 m) SHARED(hand_rotation_of);

/* The axes of a frame in the frame of the hand. */
static inline vec3 hand_frame_along(const hand_frame *frame) {
    return quat_rotate(frame->rotation, vec3_make(0, 0, -1));
}
static inline vec3 hand_frame_up(const hand_frame *frame) {
    return quat_rotate(frame->rotation, vec3_make(0, 1, 0));
}
static inline vec3 hand_frame_side(const hand_frame *frame) {
    return quat_rotate(frame->rotation, vec3_make(1, 0, 0));
}

/* Length of a phalanx or of the thumb's metacarpal: from its joint to the next one, m. Not for tips. */
double hand_bone_length(hand_size size, hand_joint joint);

/* Linear blend skinning: which bones a point of the hand follows, x' = sum_k w_k B_k B_k,rest^-1 x, where B is the frame
 * of a bone, that of the joint at which it begins. */

#define HAND_SKINNING_BONES 4

/* Up to four bones in descending order of weight. Weights are positive and add up to 1; unused entries are zero. */
typedef struct hand_skinning {
    int bone[HAND_SKINNING_BONES];
    double weight[HAND_SKINNING_BONES];
} hand_skinning;

/* The four largest weights of all bones, without those below a fiftieth. The weights need not add up to 1; if all are
 * zero, the result is the palm. */
hand_skinning hand_skinning_of(const double weight[HAND_BONES]);

/* Tets around a hand: layers along the fingers and along the palm, five columns of nodes per finger.
 *
 * The section of a finger is a rectangle with a node in the middle, on the axis of the bone: four triangles, twelve
 * tets per layer. The section of the palm is four such rectangles side by side; the fingers separate where the web
 * ends. The thumb grows out of the side of the palm. A finer mesh subdivides every tet into 8, 27, ... and moves the
 * boundary to the skin. */

#define HAND_TETS_MIN 350
#define HAND_TETS_MAX 200000

/* Bone weights of a node before they are reduced to four bones. */
typedef struct hand_node {
    double weight[HAND_BONES]; /* add up to 1 */
    double core;               /* 1 on the axis of a bone, 0 on the boundary */
    bool in_bone;              /* moves rigidly with its bones, at most two */
} hand_node;

/* The bones in the flesh (bones.c). */

#define BONE_AXES (HAND_BONES - 1 + HAND_FINGERS - 1) /* the palm has four metacarpals */

typedef struct bone_axis {
    int number;
    vec3 start, along, up, side; /* the joint at which it begins; unit axes */
    double length;               /* m */
    double pulp, half;           /* of a distal bone: from its end to the skin, and half the breadth there, m; else 0 */
} bone_axis;

typedef struct hand_bones {
    hand_size size;
    const signed_distance *solid; /* the flesh */
    int count;
    bone_axis axis[BONE_AXES];
} hand_bones;

typedef struct bone_section {
    double raise;        /* of its centre above the line between the joints, m */
    double across, high; /* half axes of an oval, m */
} bone_section;

/* Of a right hand. solid must outlive the result. */
void hand_bones_make(hand_size size, const hand_frame *joint, const signed_distance *solid, hand_bones *out);
/* Of a phalanx or the thumb's metacarpal. */
const bone_axis *hand_bone_axis(const hand_bones *bones, int number);
/* The cross-section of a bone at a point on the line between two joints; unit axes across it. */
bone_section hand_bone_section(const hand_bones *bones, vec3 axis, vec3 side, vec3 up);

/* Covers the skin and refines the tets to a level of detail (graded.c). The tags are groups. nodes: one per node;
 * outward: directions in which they may move to cover the skin. */
struct tet_wrap; /* geometry/meshing.h */
thenar_status hand_tets_grade(const hand_bones *bones, const struct tet_wrap *wrap, const vec3 *outward,
                              thenar_hand_detail detail, thenar_tet_mesh *mesh, hand_node **nodes, thenar_error *error);

/* How fine the tets are. */
typedef struct hand_fineness {
    int tets; /* approximate number of an even mesh; 0: as `detail` says */
    thenar_hand_detail detail;
} hand_fineness;

bool hand_fineness_is_graded(hand_fineness fineness);
thenar_status hand_fineness_check(hand_fineness fineness, thenar_error *error);

/* Tets that cover every vertex of the skin of a right hand. joint: HAND_JOINTS frames; solid: what the
 * skin encloses; vertex_group: the finger (1 to 5) whose tets must contain a vertex, or 0. nodes receives one entry
 * per node; the caller frees it. */
thenar_status hand_tets(hand_size size, const hand_frame *joint, const signed_distance *solid,
                        const thenar_surface *skin, const int *vertex_group, hand_fineness fineness,
                        thenar_tet_mesh *mesh, hand_node **nodes, thenar_error *error);

/* Makes the vertices of the pads those boundary nodes of the tets that lie there (pad_skin.c). vertex_weight:
 * HAND_BONES per vertex of the skin; both are replaced. */
thenar_status hand_pads_follow_nodes(hand_size size, const hand_frame *joint, const signed_distance *solid,
                                     const thenar_tet_mesh *mesh, const hand_node *node, thenar_surface *skin,
                                     double **vertex_weight, thenar_error *error);

/* A hand: joints at rest, a smooth skin, tets that cover it, and the bones that both follow. */

#define HAND_LENGTH_MIN 0.08
#define HAND_LENGTH_MAX 0.3
/* Breadth over length: 0.45 for men, 0.44 for women. */
#define HAND_SLENDER 0.38
#define HAND_BROAD 0.52
#define HAND_TRIANGLES_MIN 6000
#define HAND_TRIANGLES_MAX 400000

typedef struct hand_options {
    double length;  /* from the wrist to the tip of the middle finger, m */
    double breadth; /* across the knuckles, m */
    bool left;
    hand_fineness fineness;
    int triangles; /* approximate number */
    double
        bone[HAND_BONES - 1]; /* lengths of single bones and places of the roots, as in hand_size; zero: the table's */
    vec3 root[HAND_FINGERS];
} hand_options;

/* A man's right hand: 190 mm by 86 mm; coarse (602 tets), 24000 triangles. */
hand_options hand_options_default(void) SHARED(hand_options_default);

/* A part of the skin. */
typedef struct hand_region {
    int count;
    int *vertex;
    double *area; /* m^2, a third of the triangles around each vertex */
} hand_region;

/* Materials of the flesh. */
typedef enum hand_tissue {
    HAND_TISSUE_SKIN,  /* the layer at the skin, where tets are small enough to tell it from the rest */
    HAND_TISSUE_PULP,  /* of the fingers */
    HAND_TISSUE_JOINT, /* between the heads of two bones */
    HAND_TISSUE_PALM,
    HAND_TISSUES
} hand_tissue;

typedef struct hand_shape {
    bool left;
    bool graded;                   /* of a level of detail above coarse */
    hand_frame joint[HAND_JOINTS]; /* at rest */
    thenar_surface skin;
    thenar_tet_mesh mesh;       /* the tag of a tet is its bone */
    thenar_embedding embedding; /* of the skin in the tets */
    hand_skinning *node_skinning, *vertex_skinning;
    int *node_bone, *vertex_bone; /* the bone with the largest weight, hence the phalanx */
    bool *node_in_bone;           /* moves rigidly with its bones, at most two: node_skinning has them */
    unsigned char *tet_tissue;    /* hand_tissue */
    double *node_core; /* how firmly a node is attached: 1 on the axis of a bone, falling to 0 at the boundary */
    hand_region pad[HAND_FINGERS]; /* palmar side of the distal phalanges, thumb to little finger */
    double *contact_spacing;       /* of the skin's vertices: target spacing of contact points, m */
} hand_shape;

/* The tissue of each tet of a right hand; needs joints and tags. solid: what the skin encloses. */
thenar_status hand_tissues_find(hand_size size, const signed_distance *solid, hand_shape *hand, thenar_error *error);

/* What the API hands out. */
struct thenar_hand_shape {
    hand_shape shape;
};

thenar_status hand_shape_create(const hand_options *options, hand_shape *out, thenar_error *error)
    SHARED(hand_shape_create);
/* A copy with arrays of its own. */
thenar_status hand_shape_copy(const hand_shape *from, hand_shape *out, thenar_error *error);
void hand_shape_free(hand_shape *hand) SHARED(hand_shape_free);

/* The palmar side of a distal phalanx: vertices of a skin beyond the joint of that bone that face out of the palm.
 * bone_of: the bone of each vertex; NULL if the skin is that of this phalanx alone. The caller frees its arrays. */
thenar_status hand_region_find_pad(const thenar_surface *skin, const int *bone_of, int bone,
                                   const hand_frame joint[HAND_JOINTS], hand_region *pad, thenar_error *error);
void hand_region_free(hand_region *region);

/* "palm", or the name of the joint at which a bone begins: the tag of its tets in scenes. */
const char *hand_bone_name(int bone) SHARED(hand_bone_name);

/* Makes the flesh of a hand of which joints and skin are given, in any frame, as that of the built-in hand.
 * vertex_weight: HAND_BONES per vertex. On an error the hand is to be freed. */
thenar_status hand_shape_import(hand_shape *hand, const double *vertex_weight, hand_fineness fineness,
                                thenar_error *error) SHARED(hand_shape_import);
/* The solid of a right hand around its joints at rest; the left one is mirrored as a mesh. NULL when out of memory;
 * free() it. */
typedef struct hand_flesh hand_flesh;
hand_flesh *hand_flesh_create(hand_size size, const hand_frame joint[HAND_JOINTS]);

/* Negative inside; close to a distance near the skin. flesh must outlive the result. */
signed_distance signed_distance_of_flesh(const hand_flesh *flesh);

/* Bone weights of the skin's vertices, from their position along the bones. */

/* weight: HAND_BONES numbers per vertex, zeroed. The result is smooth, adds up to 1, and is local: no weight farther
 * than a finger's width from the joint of that bone. */
thenar_status hand_weights(hand_size size, const hand_frame *joint, const thenar_surface *skin, double *weight,
                           thenar_error *error);

/* The finger, 1 (thumb) to 5, in whose free part, beyond the web, each vertex lies; 0: none. joint: HAND_JOINTS
 * frames. */
void hand_vertex_groups(const hand_frame *joint, const thenar_surface *skin, const double *weight, int *group);

/* The parts of a hand: its solid divided into the palm and fifteen phalanges.
 *
 * A phalanx is the region beyond the plane through its joint and before the plane through the next one (each bisects
 * the angle between its two bones) that is nearer to the bones of its own finger than to any other, with distances
 * measured from the mean thickness of a bone. The palm is the rest. The skin only has to be closed. */

typedef struct hand_cut {
    const surface_distance *skin;
    hand_frame joint[HAND_JOINTS];
    vec3 plane[HAND_BONES];    /* unit normal of the cut at the start of a phalanx, along the finger */
    double radius[HAND_BONES]; /* mean distance of its skin from a bone, m */
    box bounds[HAND_BONES];    /* around each piece */
    double fillet;             /* m: radius of the rounding at the edge of a cut */
} hand_cut;

/* skin: distance to the hand's skin; must outlive the cut. */
void hand_cut_make(const hand_shape *hand, const surface_distance *skin, hand_cut *out);

/* Signed distance to the region of space, inside and outside the hand, that belongs to a bone: negative within. Beyond
 * an edge between two cuts it underestimates the distance. */
double hand_cut_region(const hand_cut *cut, int bone, vec3 p);

/* A hand as separate soft phalanges on bones (talvas2015, section 4: 1513 tets for all 15 phalanges).
 *
 * Each piece is a body of its own at rest, in the frame of the hand: a closed skin (that of the hand, and the cuts at
 * its joints), tets that cover it, and the nodes that lie in the bone. Works for the built-in hand and hands from
 * glTF, left and right.
 *
 *     hand_phalanges_options options = hand_phalanges_options_default();
 *     hand_phalanges phalanges;
 *     status = hand_phalanges_create(&hand, &options, &phalanges, error);
 *     for (int i = 0; i < phalanges.count; i++) use(&phalanges.piece[i]);
 *     hand_phalanges_free(&phalanges); */

/* Nodes with at least this core lie in the bone, which fills six tenths of the way from its axis to the skin. */
#define HAND_PHALANX_BONE 0.4

#define HAND_PHALANGES_TETS_MIN 1000 /* the coarsest piece has some 60 tets */
#define HAND_PHALANGES_TETS_MAX 500000

typedef struct hand_phalanges_options {
    int tets;      /* of all fifteen phalanges, approximately; each gets about the same number */
    int triangles; /* of their skins, approximately, in proportion to the sizes of the pieces */
    int palm_tets; /* approximate number for the palm, the sixteenth piece; 0: no palm */
    unsigned only; /* bit b: bone b is built, with the resolution of one of the fifteen; 0: all of them */
} hand_phalanges_options;

/* 1513 tets, 15000 triangles, no palm. */
hand_phalanges_options hand_phalanges_options_default(void);

typedef struct hand_phalanx {
    int bone;             /* 1 to 15, thumb first; 0: the palm */
    thenar_tet_mesh mesh; /* every tet is tagged with the bone */
    thenar_surface skin;  /* closed */
    thenar_embedding embedding;
    double *node_core; /* of a node: 1 on the axis of the bone, falling to 0 at the hand's skin and outside */
    /* Of a node: inside the bone, which holds it. These nodes are not collinear, so the piece cannot rotate about its
     * bone. */
    bool *held;
    double *fill;            /* share of each tet that the piece fills, 0 to 1; apply a lower bound to it */
    double *contact_spacing; /* of a vertex of the skin, as in hand_shape, m; wide on the cuts */
    bool *cut;               /* of a vertex: on a cut or the rounding of its edge, inside the hand, not on its skin */
} hand_phalanx;

typedef struct hand_phalanges {
    int count;                      /* 15, or 16 with the palm; fewer with `only` */
    hand_phalanx piece[HAND_BONES]; /* bones 1 to 15, then the palm */
} hand_phalanges;

thenar_status hand_phalanges_create(const hand_shape *hand, const hand_phalanges_options *options, hand_phalanges *out,
                                    thenar_error *error);
void hand_phalanges_free(hand_phalanges *phalanges);

/* A human index finger: tets whose boundary lies on its skin, fine at the pad, with a bone inside.
 *
 * The finger points along -z like that of a WebXR hand: the origin is the centre of the cut end, the tip is at z =
 * -length, the pad faces down (-y), the nail up. Dimensions are those of an adult hand 86 mm broad; a finger of
 * another length is the same finger cut off elsewhere. */

#define FINGER_BONE 1 /* tag of the tets of the bone; those of the flesh have 0 */

#define FINGER_LENGTH_MIN 0.03
#define FINGER_LENGTH_MAX 0.1
#define FINGER_PULP_MIN 0.003
#define FINGER_PULP_MAX 0.01
#define FINGER_TETS_MIN 200
#define FINGER_TETS_MAX 200000

typedef struct finger_options {
    double length;   /* from the cut end to the tip, m */
    double pulp;     /* from the end of the bone to the tip, m */
    int target_tets; /* met within 10 % */
} finger_options;

/* 7 cm, 6 mm, 347: the finger of perez2013. */
finger_options finger_options_default(void) SHARED(finger_options_default);

/* A point of the skin, in coordinates about the tip: `from_tip` along the axis, m; angle 0 is the pad, a quarter turn
 * the side at +x, half a turn the nail. z of the result is from_tip. */
vec3 finger_skin_point(double from_tip, double angle);

/* The mesh is symmetric in x. Every boundary node lies on the skin or in the plane of the cut. */
thenar_status finger_mesh(const finger_options *options, thenar_tet_mesh *mesh, thenar_error *error)
    SHARED(finger_mesh);

#endif
