/* SQP (sqp.c) whose LCPs are solved by projected Jacobi with a line search (perez2016, Eqs. 9 and 12 for lambda != 0):
 *
 *   w = B lambda + C / h,   s = max(0, lambda - D^-1 w) - lambda,   alpha = -s^T w / s^T B s within [0, 1]
 *   lambda += alpha s
 *
 * B is never formed: B s = J (A^-1 J^T s) is one solve, and A^-1 J^T lambda is summed up along the way. D takes the
 * substitutions of Eq. 13, eight rows at a time over their reach, once an LCP. */
#include "solver/sqp_pjls.h"

#include "solver/sqp.h"

#include <math.h>
#include <string.h>

#define MOST_ITERATIONS 500 /* of one LCP */

typedef struct sqp_pjls_state {
    row_set set;
    double *lambda, *s, *w; /* a row */
    double *change;         /* 3 per node: A^-1 J^T lambda */
} sqp_pjls_state;

static void sqp_pjls_layout(void *solver, const solver_problem *problem, arena *work) {
    sqp_pjls_state *state = solver;
    int limit = rows_limit(problem);
    rows_layout(&state->set, problem, work);
    state->lambda = ARENA_ARRAY(work, double, limit);
    state->s = ARENA_ARRAY(work, double, limit);
    state->w = ARENA_ARRAY(work, double, limit);
    state->change = ARENA_ARRAY(work, double, 3 * problem->pattern->node_count);
}

/* One iteration; returns the largest violation that is left of the linearized limits. */
static double iterate(sqp_pjls_state *state, const solver_problem *problem) {
    row_set *set = &state->set;
    double h = problem->step->h, slope = 0, violation = 0;
    for (int k = 0; k < set->count; k++) {
        double D = set->diagonal[k], next = D > 0 ? fmax(0, state->lambda[k] - state->w[k] / D) : 0;
        state->s[k] = next - state->lambda[k];
        slope += state->s[k] * state->w[k];
    }
    double square = rows_push(set, problem, state->s);
    double alpha = square > 0 ? fmax(0, fmin(1, -slope / square)) : 0;
    rows_move(set, problem);
    for (int i = 0; i < 3 * problem->pattern->node_count; i++) state->change[i] += alpha * set->motion[i];
    for (int k = 0; k < set->count; k++) {
        state->lambda[k] += alpha * state->s[k];
        state->w[k] += alpha * row_times(&set->rows[k], set->motion);
        violation = fmax(violation, -h * state->w[k]);
    }
    return violation;
}

static void relax(void *context, row_set *set, const solver_problem *problem, solver_report *report) {
    sqp_pjls_state *state = context;
    size_t bytes = 3 * (size_t)problem->pattern->node_count * sizeof(double);
    rows_diagonal_by_reach(set, problem);
    for (int k = 0; k < set->count; k++) {
        state->lambda[k] = 0;
        state->w[k] = set->rows[k].value / problem->step->h;
    }
    memset(state->change, 0, bytes);
    double violation = INFINITY;
    for (int i = 0; i < MOST_ITERATIONS && violation > SQP_LCP_SHARE * problem->tolerance.violation; i++) {
        violation = iterate(state, problem);
        report->iterations++;
        solver_tell(problem, report->iterations, true, violation);
    }
    int active = 0;
    for (int k = 0; k < set->count; k++) active += state->lambda[k] > 0;
    if (active > report->active) report->active = active;
    rows_react(set, problem, state->lambda, 1);
    memcpy(set->motion, state->change, bytes);
}

static bool sqp_pjls_solve(void *solver, const solver_problem *problem, solver_report *report) {
    sqp_pjls_state *state = solver;
    sqp_solve(&state->set, problem, relax, state, report);
    return true;
}

const solver_class sqp_pjls_solver = {.name = "sqp-pjls",
                                      .summary = "SQP, each LCP by projected Jacobi line search (perez2016's second)",
                                      .state_size = sizeof(sqp_pjls_state),
                                      .layout = sqp_pjls_layout,
                                      .solve = sqp_pjls_solve};
