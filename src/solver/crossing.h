/* H d = g where contacts between soft bodies, or of one with itself, couple nodes that the pattern of H does not.
 *
 *   H = M + sum_c C_c,   M = A + limits + sum_c (J_a^T W J_a + J_b^T W J_b),   C_c = J_a^T W J_b + J_b^T W J_a
 *
 * with J_a and J_b the two sides of a contact: M has the pattern, is positive definite and is factored; C is the rest.
 * Blocks for all nodes that may ever meet would make the matrix of a hand dense. Conjugate gradients on H with the
 * preconditioner M^-1 + T (T^T H T)^-1 T^T, where the columns of T move each body as a whole: in M both bodies of a
 * contact are held where they are, so that their way together is what M knows least of. A body that touches only itself
 * does without T: then M times a direction follows from the residuals, and no product with the matrix is needed. At the
 * end the residual is freed of T, so that momentum is kept to rounding, however early the iteration ends. */
#ifndef SOLVER_CROSSING_H
#define SOLVER_CROSSING_H

#include "solver/problem.h"

#define CROSSING_BODIES 16 /* of an island that T moves, the first so many */

struct crossing {
    int count;          /* contacts that push and cross */
    solver_link *links; /* most_contacts: these, with their W */
    int *body;          /* a node: which of the bodies it belongs to, -1 for those of rigid and further ones */
    int whole;          /* bodies that T moves */
    double *coarse;     /* 3 whole x 3 whole: T^T H T, then its Cholesky factor, below the diagonal */
    /* 3 per node */
    double *residual, *solved, *direction, *product, *factored; /* the last: M direction */
};

/* problem: pattern, bodies, first_node and most_contacts are set. */
void crossing_layout(crossing *state, const solver_problem *problem, arena *work);

/* y = A x, with the links. */
void crossing_multiply(const solver_problem *problem, const double *x, double *y);

/* How exactly an x is wanted: until what is left of it is a share of |x|, or as little as `trace`, or after so many
 * iterations. */
typedef struct crossing_end {
    double share, trace;
    int most;
} crossing_end;

/* x = H^-1 x, with the links of A and the contacts that push where they were looked at last; blocks: M, of which the
 * problem's factor is. Where nothing crosses, by that factor alone. Returns the iterations that were needed. */
int crossing_solve(const solver_problem *problem, const double *blocks, crossing_end end, double *x);

#endif
