/* What a solver is given: the equations of one system, and the bodies with their limits.
 *
 *   minimize  1/2 (v - v*)^T A (v - v*)  subject to  C(x0 + h v) >= 0        (perez2016, Eq. 1)
 *
 * A v* = b is the free motion. Every solver leaves the velocities in v and says how it went in solver_report. */
#ifndef SOLVER_PROBLEM_H
#define SOLVER_PROBLEM_H

#include "body/body.h"
#include "sparse/cholesky.h"

typedef struct solver_problem {
    const block_pattern *pattern;
    const double *A;         /* 9 per block */
    const double *b;         /* 3 per node, kg m/s */
    double *v;               /* 3 per node, m/s; in: free motion, if it was solved; out: the solution */
    cholesky_factor *factor; /* of A, if it was factored; a solver may overwrite it */
    int body_count;
    body_state *const *bodies;
    const int *first_node; /* of each body's unknowns */
    const body_step *step;
} solver_problem;

typedef struct solver_report {
    bool converged;
    int iterations;
    int active;      /* limits that push */
    double residual; /* largest violation of a limit, as a strain, or a bound on it */
} solver_report;

/* Stopping rule that all solvers share: */
#define SOLVER_VIOLATION                                                                                               \
    1e-3 /* largest violation of a strain limit; with multipliers |G - P(G + Y)|, which bounds it */
#define SOLVER_STATIONARITY 0.02 /* of |A (x - x*)| that the gradient of the Lagrangian may have */

#endif
