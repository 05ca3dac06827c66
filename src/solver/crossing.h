/* H d = g where contacts between soft bodies, or of one with itself, couple nodes that the pattern of H does not.
 *
 *   H = M + sum_c C_c,   M = A + limits + sum_c (J_a^T W J_a + J_b^T W J_b),   C_c = J_a^T W J_b + J_b^T W J_a
 *
 * with J_a and J_b the two sides of a contact: M has the pattern, is positive definite and is factored; C is the rest.
 * Blocks for all nodes that may ever meet would make the matrix of a hand dense. Conjugate gradients on H with M for a
 * preconditioner; see crossing.c for what was measured. */
#ifndef SOLVER_CROSSING_H
#define SOLVER_CROSSING_H

#include "solver/problem.h"

typedef struct crossing {
    int count;       /* contacts that push and cross */
    int *index;      /* most_contacts: of the problem's contacts */
    mat3 *stiffness; /* most_contacts: W, N/m */
    /* 3 per node */
    double *residual, *solved, *direction, *product;
} crossing;

void crossing_layout(crossing *state, const solver_problem *problem, arena *work);

/* The contacts that push where they were looked at last. Returns how many of them cross. */
int crossing_collect(crossing *state, const solver_problem *problem);

/* x = H^-1 x, to a share of |x|; blocks: M, of which the problem's factor is. Returns the iterations it took. */
int crossing_solve(crossing *state, const solver_problem *problem, const double *blocks, double *x);

#endif
