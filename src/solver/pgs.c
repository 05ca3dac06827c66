/* One linear complementarity problem a step, by projected Gauss-Seidel (perez2013, section 4.1):
 *
 *   0 <= lambda,  B lambda + J v* + C0 / h >= 0,  complementary (15);   A v = b + J^T lambda (16)
 *
 * The rows are the limits that are violated at the free positions x0 + h v*. C0 and J are theirs at the beginning of
 * the step, as Eq. 13 says (perez2016 linearizes at the free positions instead: sqp-pgs does). Held nodes are unknowns
 * of nobody: in C0 and J they already are where they are driven. The sweeps end when the error of Eq. 18, the sum of
 * the linearized violations as lengths, is down to the tolerance in one mean edge and that of each contact.
 *
 * Contacts are rows of the same LCP (section 4.2), all that are near: one that the others push into its body would have
 * no second chance.
 *
 * The limits are not linear, and there is no second linearization: the report tells what is left of the true violation,
 * and mostly that is more than the tolerance. */
#include "solver/pgs.h"

#include "solver/lcp.h"

#define MOST_SWEEPS 2000
#define HURRIED_ITERATIONS 100 /* pinch: 2.2 ms a step become 1.7, and the cube is 0.02 mm elsewhere after 1.5 s */

typedef struct pgs_state {
    row_set set;
    dense_lcp lcp;
} pgs_state;

static void pgs_layout(void *solver, const solver_problem *problem, arena *work) {
    pgs_state *state = solver;
    rows_layout(&state->set, problem, LCP_CONTACTS, work);
    state->set.contacts.all = true;
    lcp_layout(&state->lcp, problem, work);
}

/* lambda of the LCP. Returns the number of sweeps. */
static int solve_lcp(pgs_state *state, const solver_problem *problem) {
    row_set *set = &state->set;
    dense_lcp *lcp = &state->lcp;
    lcp_choose(lcp, set, problem);
    rows_linearize_at_start(set, problem);
    lcp_formulate(lcp, set, problem);
    double edges = 0, h = problem->step->h, length = problem->tolerance.length * h;
    int contacts = rows_of_contacts(set), limits = set->count - contacts;
    for (int k = 0; k < contacts; k++) lcp->w[k] = set->rows[k].value / h;
    for (int k = contacts; k < set->count; k++) {
        lcp->w[k] = row_times(&set->rows[k], problem->v) + set->rows[k].value / h;
        edges += set->rows[k].weight;
    }
    double sum = limits > 0 ? problem->tolerance.violation * edges / limits : 0;
    lcp_error enough = {.largest = 0, .length = length, .weighted = sum + set->contacts.count * length};
    return lcp_relax(lcp, set, problem, enough, solver_most(problem, MOST_SWEEPS), 0);
}

static bool pgs_solve(void *solver, const solver_problem *problem, solver_report *report) {
    pgs_state *state = solver;
    row_set *set = &state->set;
    *report = (solver_report){0};
    rows_begin(set, problem, rows_diagonal_by_reach);
    rows_collect(set, problem);
    solver_tell(problem, 0, false, set->violation);
    if (!rows_agree(set, problem)) {
        report->iterations = solve_lcp(state, problem);
        report->active = lcp_apply(&state->lcp, set, problem);
        rows_collect(set, problem);
        solver_tell(problem, report->iterations, false, set->violation);
    }
    return rows_end(set, problem, report);
}

const solver_class pgs_solver = {.name = "pgs",
                                 .summary = "one linearization, projected Gauss-Seidel (perez2013)",
                                 .state_size = sizeof(pgs_state),
                                 .hurried = HURRIED_ITERATIONS,
                                 .layout = pgs_layout,
                                 .solve = pgs_solve};
