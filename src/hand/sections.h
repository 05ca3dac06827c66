/* Building the tets of a hand from sections across palm and fingers: what the coarse mesh (tets.c) and the one with
 * bones inside (rings.c) share.
 *
 * Positions of the sections: across the palm from the wrist to the web, then across each finger. */
#ifndef HAND_SECTIONS_H
#define HAND_SECTIONS_H

#include "core/memory.h"
#include "hand/shape.h"

#define HAND_RAYS (HAND_FINGERS - 1) /* of the palm: index to little finger */
#define HAND_LINES (HAND_RAYS + 1)   /* lines that separate the rays, including the two outer sides */
#define HAND_PALM_LIMIT 12           /* layers */
#define HAND_FINGER_LIMIT 12

/* Numbers of layers: of the palm; of a finger from the web to its second joint, to the third, to the tip; of the thumb
 * from its root to its first knuckle, to the second, to the tip. */
typedef struct hand_layers {
    int palm, finger[3], thumb[3];
} hand_layers;

/* A rectangle across a finger: corners at -side +up, +side +up, +side -up, -side -up, then the middle. */
typedef struct hand_section {
    vec3 corner[5];
    /* Position along the bones of the finger: 0 at the first knuckle (for the thumb, at its root), 1 at the next
     * joint, 3 at the tip. */
    double place;
} hand_section;

typedef struct hand_sections {
    hand_layers layers;
    vec3 middle[HAND_RAYS][HAND_PALM_LIMIT + 1];
    vec3 top[HAND_LINES][HAND_PALM_LIMIT + 1], bottom[HAND_LINES][HAND_PALM_LIMIT + 1];
    int count[HAND_FINGERS]; /* beyond the last section of the palm */
    hand_section finger[HAND_FINGERS][HAND_FINGER_LIMIT];
} hand_sections;

typedef struct hand_maker {
    hand_size size;
    const hand_frame *joint;
    const signed_distance *solid;
    double wrist_end;
    hand_sections *out;
} hand_maker;

/* How far the hand extends from an inner point in a direction, at most `limit`, and a margin. */
double hand_reach(const hand_maker *m, vec3 from, vec3 way, double limit);
/* The frames of a finger's joints; the thumb starts one joint earlier than the others. */
const hand_frame *hand_chain(const hand_maker *m, int finger);
/* The point at a position along the bones of a finger; beyond the last one extended straight, in units of its length. */
vec3 hand_chain_point(const hand_frame *chain, double place);
/* The edges of the webs, and the place on each finger where its web ends. */
void hand_webs_find(const hand_maker *m, vec3 edge[HAND_RAYS - 1], double web[HAND_RAYS]);
/* The lines between the rays of the palm, from the middles of their sections. */
void hand_lines_make(hand_maker *m, const vec3 web[HAND_RAYS - 1]);

/* A node at a joint belongs to both bones, elsewhere to one. `place` as in hand_section. */
hand_node hand_node_at(int finger, double place, double core);
hand_node hand_node_between(const hand_node *a, const hand_node *b, double core);
/* Whether the bones of a node are one, or two with a joint between them. */
bool hand_node_follows_one_chain(const hand_node *n);

typedef struct hand_builder {
    ARRAY(vec3) position;
    ARRAY(hand_node) node;
    ARRAY(vec3) outward; /* with rings: the direction in which a node may move to cover the skin; zero: it stays */
    ARRAY(int) tet;
    ARRAY(int) group; /* of a tet: the finger it belongs to, 1 to 5, or 0 */
    int adding;       /* group of the tets being added */
    bool failed;      /* out of memory */
} hand_builder;

int hand_add_node(hand_builder *b, vec3 p, hand_node node);
/* A node that may move away from `from` while the skin is being covered. */
int hand_add_outer_node(hand_builder *b, vec3 p, vec3 from, hand_node node);
/* Turned if it is inverted. */
void hand_add_tet(hand_builder *b, int n0, int n1, int n2, int n3);
/* The prism between a triangle of one section and that of the next: three tets, split by the order of the columns, so
 * that two prisms with a common side agree. Tets with a repeated node are left out. */
void hand_add_prism(hand_builder *b, const int near[3], const int far[3], const int rank[3]);

/* The base of the graded meshes: sections with a ring of nodes around each bone and a ring at the skin (rings.c). */
void hand_rings_build(hand_maker *m, const hand_bones *bones, hand_builder *b);

#endif
