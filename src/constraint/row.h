/* A constraint row: C(x) >= 0, linearized. Strain limits, contacts and aggregates meet in one list of these; every
 * solver that works on rows takes that list. */
#ifndef CONSTRAINT_ROW_H
#define CONSTRAINT_ROW_H

#include "math/vec3.h"

#define ROW_NODES 4
#define ROW_AXES 6 /* limits of an element that may be rows at once: three singular values, three fibres */

typedef enum constraint_kind {
    CONSTRAINT_STRETCH_MIN, /* s - s_min >= 0 */
    CONSTRAINT_STRETCH_MAX, /* s_max - s >= 0 */
    CONSTRAINT_CONTACT /* axis 0: gap >= 0; 1 and 2: the way along a tangent, which friction wants to be 0; of a patch of
                          contact points also 3: the angle about its normal, likewise */
} constraint_kind;

/* What few rows need and all would have to carry: contacts hang on up to eight nodes, patches of them on many. */
typedef struct row_tail {
    int count;
    const int *node; /* no two of a row are the same */
    const vec3 *gradient;
} row_tail;

typedef struct constraint_row {
    constraint_kind kind;
    int element;              /* tet of the body; of a contact its index */
    int axis;                 /* which of its singular values, 0 the largest; 3 and on: which fibre */
    int node[ROW_NODES];      /* unknowns of the system, -1 for a held node */
    const row_tail *tail;     /* more nodes, or NULL */
    vec3 gradient[ROW_NODES]; /* dC / dx of each node */
    double value;             /* C; negative where it is violated */
    double weight; /* metres that one unit of C stands for (perez2013, Eq. 18): mean edge for strains, 1 for contacts */
} constraint_row;

#endif
