/* A linear complementarity problem with a dense matrix: 0 <= lambda, w = B lambda + q >= 0, lambda^T w = 0. See
 * lcp.c. */
#ifndef SOLVER_LCP_H
#define SOLVER_LCP_H

#include "solver/rows.h"

/* Rows that a dense B is made for: 72 MB. Of more, the worst violated are taken. */
#define LCP_ROWS 3000

typedef struct dense_lcp {
    int stride;
    double *B;      /* stride to a row */
    double *lambda; /* a row each: */
    double *w;
    double *order; /* violations, to find the worst */
} dense_lcp;

/* How far the linearized limits are from being kept. */
typedef struct lcp_error {
    double largest;  /* violation, as a strain */
    double weighted; /* sum of the violations as lengths, m (perez2013, Eq. 18) */
} lcp_error;

void lcp_layout(dense_lcp *lcp, const solver_problem *problem, arena *work);

/* Keeps the LCP_ROWS worst rows of the set, in their order. */
void lcp_choose(dense_lcp *lcp, row_set *set, const solver_problem *problem);

/* B of the rows; lambda = 0. */
void lcp_formulate(dense_lcp *lcp, row_set *set, const solver_problem *problem);

/* Projected Gauss-Seidel from lambda = 0, w = q until one of the two errors is at most the one in `enough`, or so many
 * sweeps. Returns the number of sweeps, which count on from `iterations` in the trace. */
int lcp_relax(dense_lcp *lcp, const row_set *set, const solver_problem *problem, lcp_error enough, int most_sweeps,
              int iterations);

#endif
