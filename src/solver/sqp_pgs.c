/* SQP (sqp.c) whose LCPs are solved by projected Gauss-Seidel on the dense B (lcp.c). B takes a forward substitution
 * over the reach of each eight rows and one backward substitution, on all threads; then 12 products an entry. */
#include "solver/sqp_pgs.h"

#include "solver/lcp.h"
#include "solver/sqp.h"

#define MOST_SWEEPS 500 /* of one LCP */

typedef struct sqp_pgs_state {
    row_set set;
    dense_lcp lcp;
} sqp_pgs_state;

static void sqp_pgs_layout(void *solver, const solver_problem *problem, arena *work) {
    sqp_pgs_state *state = solver;
    rows_layout(&state->set, problem, LCP_CONTACTS, work);
    lcp_layout(&state->lcp, problem, work);
}

static void relax(void *context, row_set *set, const solver_problem *problem, solver_report *report) {
    dense_lcp *lcp = context;
    lcp_choose(lcp, set, problem);
    lcp_formulate(lcp, set, problem);
    for (int k = 0; k < set->count; k++) lcp->w[k] = set->rows[k].value / problem->step->h;
    lcp_error enough = {.largest = SQP_LCP_SHARE * problem->tolerance.violation,
                        .length = SQP_LCP_SHARE * problem->tolerance.length * problem->step->h,
                        .weighted = 0};
    int most = sqp_left(problem, report, MOST_SWEEPS);
    report->iterations += lcp_relax(lcp, set, problem, enough, most, report->iterations);
    int active = lcp_apply(lcp, set, problem);
    if (active > report->active) report->active = active;
}

static bool sqp_pgs_solve(void *solver, const solver_problem *problem, solver_report *report) {
    sqp_pgs_state *state = solver;
    return sqp_solve(&state->set, problem, relax, &state->lcp, report);
}

const solver_class sqp_pgs_solver = {.name = "sqp-pgs",
                                     .summary = "SQP, each LCP by projected Gauss-Seidel (perez2016's first baseline)",
                                     .state_size = sizeof(sqp_pgs_state),
                                     .layout = sqp_pgs_layout,
                                     .solve = sqp_pgs_solve};
