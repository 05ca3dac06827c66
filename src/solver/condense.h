/* Newton's direction where few contacts push: these are not terms of the Hessian, but are solved exactly, with their
 * friction, against the linear equations that are left.
 *
 *   H d = h^2 J^T f - g,   H = A + limits, factored,   u = u0 + J d = q + W f,   W = h^2 J H^-1 J^T
 *
 * g is the gradient without contacts. W and q are small and dense; cone_problem.h finds the forces f, which become the
 * contacts' multipliers, and d follows. With contacts as terms of the augmented Lagrangian alone, a multipliers' step
 * leaves k / (k + rho) of their error, where k is how stiff the bodies are there: at active limits nearly all of it.
 * And one direction changes only few contacts from stick to slip or open, while here all of them settle in it.
 *
 * d is a direction of descent for the augmented Lagrangian with the new multipliers. The derivative along d is
 * -d^T H d + h^2 (f - P) . J d, and J d takes u to where P = f. As -P is the gradient of the contacts' terms, which are
 * convex in u, the second part is not positive either. */
#ifndef SOLVER_CONDENSE_H
#define SOLVER_CONDENSE_H

#include "solver/cone_problem.h"
#include "solver/contact_rows.h"

/* W costs as the square, its elimination as the cube of them. With room for 64, two-hands, grip-strong and
 * hand-phalanges take as many iterations. */
#define CONDENSE_MOST 24
#define CONDENSE_PIECES 3 /* that threads share */

/* Eight rows of contacts. */
typedef struct condense_group {
    double *half;          /* 24 per node: L^-1 P J^T of each row, in elimination order */
    cholesky_range *reach; /* where that is not zero */
    int range_count;
} condense_group;

typedef struct condense {
    cone_problem small;
    int *index;           /* a contact of the small problem: which of the problem's */
    constraint_row *rows; /* three a contact */
    row_tail *tails;
    int *tail_node; /* CONTACT_TAIL a row */
    vec3 *tail_gradient;
    condense_group *groups;
    cholesky_factor *views; /* a piece */
    double *right;          /* 3 per node: h^2 J^T f - g */
    double *start;          /* 3 per node: L^-1 P (-g) */
} condense;

void condense_layout(condense *state, const solver_problem *problem, arena *work);

/* The contacts that push, or did. Returns how many there are; 0 if they are too many. */
int condense_collect(condense *state, const solver_problem *problem);

/* The direction, with the problem's factor being of H and `gradient` that of the augmented Lagrangian. The contacts
 * collected get their multipliers, but are not looked at anew. False, and nothing changes, if their forces are not
 * found, or are larger than they may be. */
bool condense_solve(condense *state, const solver_problem *problem, const double *gradient, double *direction);

#endif
