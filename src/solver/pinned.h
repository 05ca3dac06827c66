/* H x = r with contacts between soft bodies, or of one with itself, held all but firmly. The pattern of a system has no
 * blocks between their sides (solver/crossing.h); conjugate gradients would need the more steps the firmer they are.
 * But they are few, and held ones are rows: with M what the pattern has, J the rows and g = 1 / (h^2 w) by how much
 * each gives,
 *   H = M + J^T g^-1 J,   H^-1 = M^-1 - M^-1 J^T C^-1 J M^-1,   C = g + J M^-1 J^T,   J M^-1 J^T = |L^-1 P J^T|^2
 * costs half a solve a row, eight at once, and then two solves for each right-hand side. */
#ifndef SOLVER_PINNED_H
#define SOLVER_PINNED_H

#include "solver/problem.h"

#define PINNED_ROWS 512 /* at most */

/* One direction of a contact. */
typedef struct pinned_row {
    int contact;
    vec3 direction; /* unit, in the contact's frame */
    double give;    /* g, over kg */
} pinned_row;

typedef struct pinned {
    int count, most; /* rows; most is a multiple of eight */
    pinned_row *rows;
    double *half;     /* L^-1 P J^T: for each eight rows, 8 numbers for each component */
    double *eight;    /* 8 for each component */
    double *C;        /* most x most: its Cholesky factor, below the diagonal */
    double *multiple; /* most */
    double *column;   /* 3 a node */
} pinned;

/* For systems of so many components and contacts; contacts 0: nothing is ever pinned. */
void pinned_layout(pinned *state, size_t components, int contacts, arena *work);

/* Empties it. */
void pinned_begin(pinned *state);
/* Adds a row; weight: how hard it is held, N/m. False: there is no room. */
bool pinned_add(pinned *state, const solver_problem *problem, int index, vec3 direction, double weight);
/* All rows are there, and the problem's factor is that of M. False: C is not positive definite. */
bool pinned_factor(pinned *state, const solver_problem *problem);
/* From x = M^-1 r to what is to be taken from it: out = J^T C^-1 J x. The caller solves M y = out; x - y is H^-1 r. */
void pinned_react(pinned *state, const solver_problem *problem, const double *x, double *out);

#endif
