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
#ifndef SHAPE_HAND_PHALANGES_H
#define SHAPE_HAND_PHALANGES_H

#include "shape/hand.h"

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

#endif
