/* Sequential quadratic programming around a solver for the linear complementarity problem. See sqp.c. */
#ifndef SOLVER_SQP_H
#define SOLVER_SQP_H

#include "solver/rows.h"

/* Solves 0 <= lambda, B lambda + C / h >= 0 for the rows in the set, with the friction of contacts, and adds
 * A^-1 J^T lambda to v; counts its iterations and the limits that push in the report. */
typedef void (*sqp_lcp)(void *state, row_set *set, const solver_problem *problem, solver_report *report);

/* Of `own` further iterations, how many the solve may still take. */
static inline int sqp_left(const solver_problem *problem, const solver_report *report, int own) {
    return solver_most(problem, report->iterations + own) - report->iterations;
}

/* As rows_end. */
bool sqp_solve(row_set *set, const solver_problem *problem, sqp_lcp lcp, void *state, solver_report *report);

/* Each LCP is solved to this share of the tolerance of the limits themselves. Just below it is fastest: 0.5 takes 1.3
 * times as long, 0.2 1.5 times; what the linearization left out would keep 1 above the tolerance for long. */
#define SQP_LCP_SHARE 0.9

#endif
