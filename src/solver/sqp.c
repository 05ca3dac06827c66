/* Sequential quadratic programming as perez2016 has it, Eqs. 5 to 8: the limits that are violated at v_(i-1) are
 * linearized there, and the LCP
 *
 *   0 <= lambda,  B lambda + C(x_(i-1)) / h >= 0,  complementary
 *
 * gives v_i = v_(i-1) + A^-1 J^T lambda. The change of velocity is minimized, not the distance from the free motion, so
 * this ends at a feasible point that is not the optimum of Eq. 1. Contacts are linear, so of them the LCP is exact;
 * their lambda goes on from one to the next (contact_rows.c).
 *
 * It should not be hurried (solver.h): an LCP that is cut short leads astray, and what goes astray is done in pieces
 * (grip-strong by sqp-pgs, at most 100 sweeps: 14 of 150 steps, and the longest takes 17 instead of 6 ms). */
#include "solver/sqp.h"

#define MOST_LINEARIZATIONS 100

bool sqp_solve(row_set *set, const solver_problem *problem, sqp_lcp lcp, void *state, solver_report *report) {
    *report = (solver_report){0};
    rows_begin(set, problem, rows_diagonal_by_reach);
    for (int i = 0;; i++) {
        rows_collect(set, problem);
        solver_tell(problem, report->iterations, false, set->violation);
        if (rows_agree(set, problem) || i == MOST_LINEARIZATIONS || sqp_left(problem, report, 1) == 0) break;
        lcp(state, set, problem, report);
    }
    return rows_end(set, problem, report);
}
