/* Sequential quadratic programming as perez2016 has it, Eqs. 5 to 8: the limits that are violated at v_(i-1) are
 * linearized there, and the LCP
 *
 *   0 <= lambda,  B lambda + C(x_(i-1)) / h >= 0,  complementary
 *
 * gives v_i = v_(i-1) + A^-1 J^T lambda. The change of velocity is minimized, not the distance from the free motion, so
 * this ends at a feasible point that is not the optimum of Eq. 1. */
#include "solver/sqp.h"

#define MOST_LINEARIZATIONS 100

void sqp_solve(row_set *set, const solver_problem *problem, sqp_lcp lcp, void *state, solver_report *report) {
    *report = (solver_report){0};
    rows_begin(set, problem);
    for (int i = 0;; i++) {
        rows_collect(set, problem);
        solver_tell(problem, report->iterations, false, set->violation);
        report->residual = set->violation;
        report->converged = set->violation <= problem->tolerance.violation;
        if (report->converged || i == MOST_LINEARIZATIONS) break;
        lcp(state, set, problem, report);
        for (int c = 0; c < 3 * problem->pattern->node_count; c++) problem->v[c] += set->motion[c];
    }
    rows_end(set, problem);
}
