/* Sequential quadratic programming as perez2016 has it, Eqs. 5 to 8: the limits that are violated at v_(i-1) are
 * linearized there, and the LCP
 *
 *   0 <= lambda,  B lambda + C(x_(i-1)) / h >= 0,  complementary
 *
 * gives v_i = v_(i-1) + A^-1 J^T lambda. The change of velocity is minimized, not the distance from the free motion,
 * so this ends at a feasible point that is not the optimum of Eq. 1. Contacts are linear, so of them the LCP is
 * exact; their lambda carries over from one to the next (contact_rows.c).
 *
 * Its iterations should not be limited further (solver.h): an LCP that is stopped early may diverge, and then the
 * step is repeated in substeps (grip-strong by sqp-pgs, up to 100 sweeps: 14 of 150 steps, and the longest takes 17
 * instead of 6 ms). */
#include "solver/baseline/baseline.h"

#include <math.h>
#include <string.h>

/* Each LCP is solved to this share of the tolerance of the limits. Just below it is fastest: 0.5 takes 1.3 times as
 * long, 0.2 1.5 times. With 1, the error of the linearization would stay above the tolerance for long. */
#define SQP_LCP_SHARE 0.9

/* How many of `own` further iterations the solve may take. */
static int sqp_left(const solver_problem *problem, const solver_report *report, int own) {
    return solver_max_iterations(problem, report->iterations + own) - report->iterations;
}

#define MAX_LINEARIZATIONS 100

/* As rows_end. */
static bool sqp_solve(row_set *set, const solver_problem *problem, sqp_lcp lcp, void *state, solver_report *report) {
    *report = (solver_report){0};
    rows_begin(set, problem, rows_diagonal_by_reach);
    for (int i = 0;; i++) {
        rows_collect(set, problem);
        solver_trace_point(problem, report->iterations, false, set->violation);
        if (rows_agree(set, problem) || i == MAX_LINEARIZATIONS || sqp_left(problem, report, 1) == 0) break;
        lcp(state, set, problem, report);
    }
    return rows_end(set, problem, report);
}

/* SQP whose LCPs are solved by projected Gauss-Seidel on the dense B (pgs.c). B takes a forward substitution
 * over the reach of each eight rows and one backward substitution, on all threads; then 12 products an entry. */

#define MAX_SWEEPS 500 /* of one LCP */

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
    int max = sqp_left(problem, report, MAX_SWEEPS);
    report->iterations += lcp_relax(lcp, set, problem, enough, max, report->iterations);
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

/* SQP whose LCPs are solved by projected Jacobi with a line search (perez2016, Eqs. 9 and 12 for lambda != 0):
 *
 *   w = B lambda + C / h,   s = max(0, lambda - D^-1 w) - lambda,   alpha = -s^T w / s^T B s within [0, 1]
 *   lambda += alpha s
 *
 * B is never formed: B s = J (A^-1 J^T s) is one solve, and A^-1 J^T lambda is summed up along the way. D takes the
 * substitutions of Eq. 13, eight rows at a time over their reach, once an LCP. Friction follows in each iteration
 * (njls.c); the lambda of contacts is that of the set. */

#define MAX_ITERATIONS 500 /* of one LCP */

typedef struct sqp_pjls_state {
    row_set set;
    double *lambda, *s, *w; /* a row */
    double *kept;           /* 3 per node: for the friction's step */
} sqp_pjls_state;

static void sqp_pjls_layout(void *solver, const solver_problem *problem, arena *work) {
    sqp_pjls_state *state = solver;
    int limit = rows_limit(problem);
    rows_layout(&state->set, problem, contact_rows_max(problem), work);
    state->lambda = ARENA_ARRAY(work, double, limit);
    state->s = ARENA_ARRAY(work, double, limit);
    state->w = ARENA_ARRAY(work, double, limit);
    state->kept = ARENA_ARRAY(work, double, 3 * problem->pattern->node_count);
}

/* The rows' part of `scale` times set->motion is done. */
static void advance(sqp_pjls_state *state, const solver_problem *problem, double scale) {
    row_set *set = &state->set;
    for (int i = 0; i < 3 * problem->pattern->node_count; i++) problem->v[i] += scale * set->motion[i];
    for (int k = 0; k < set->count; k++) state->w[k] += scale * row_times(&set->rows[k], set->motion);
}

/* s of limits and normals. Returns s^T w. */
static double aim(sqp_pjls_state *state) {
    row_set *set = &state->set;
    double slope = 0;
    for (int k = 0; k < set->count; k++) {
        double D = set->diagonal[k], next = D > 0 ? fmax(0, state->lambda[k] - state->w[k] / D) : 0;
        bool of_friction = set->rows[k].kind == CONSTRAINT_CONTACT && set->rows[k].axis > 0;
        state->s[k] = of_friction ? 0 : next - state->lambda[k];
        slope += state->s[k] * state->w[k];
    }
    return slope;
}

/* One iteration; returns what is left of the violations of the linearized limits and of the errors of contacts, of
 * their tolerances. */
static double iterate(sqp_pjls_state *state, const solver_problem *problem, double *violation) {
    row_set *set = &state->set;
    double h = problem->step->h, *lambda = set->contacts.lambda, error = 0;
    double alpha = jacobi_step(set, problem, aim(state), state->s, state->kept);
    rows_move(set, problem);
    for (int k = 0; k < set->count; k++) state->lambda[k] += alpha * state->s[k];
    advance(state, problem, alpha);
    if (set->contacts.count > 0) {
        jacobi_push_contacts(set, state->s, alpha);
        jacobi_friction(set, problem, state->w, state->s, state->kept);
        advance(state, problem, 1);
    }
    *violation = 0;
    for (int k = rows_of_contacts(set); k < set->count; k++) *violation = fmax(*violation, -h * state->w[k]);
    for (int i = 0, k = 0; i < set->contacts.count; i++, k += set->contacts.each)
        error = fmax(error,
                     contact_rows_error(problem, set->contacts.index[i], lambda + k, state->w + k, set->diagonal + k));
    return fmax(*violation / problem->tolerance.violation, error / (h * problem->tolerance.length));
}

static void sqp_pjls_relax(void *context, row_set *set, const solver_problem *problem, solver_report *report) {
    sqp_pjls_state *state = context;
    int contacts = rows_of_contacts(set), active = 0;
    rows_diagonal_of_limits(set, problem);
    for (int k = 0; k < set->count; k++) {
        state->lambda[k] = k < contacts ? set->contacts.lambda[k] : 0;
        state->w[k] = set->rows[k].value / problem->step->h;
    }
    double left = INFINITY, violation;
    int max = sqp_left(problem, report, MAX_ITERATIONS);
    for (int i = 0; i < max && left > SQP_LCP_SHARE; i++) {
        left = iterate(state, problem, &violation);
        report->iterations++;
        solver_trace_point(problem, report->iterations, true, violation);
    }
    for (int k = contacts; k < set->count; k++) active += state->lambda[k] > 0;
    if (active > report->active) report->active = active;
    rows_react(set, problem, state->lambda, 1);
}

static bool sqp_pjls_solve(void *solver, const solver_problem *problem, solver_report *report) {
    sqp_pjls_state *state = solver;
    return sqp_solve(&state->set, problem, sqp_pjls_relax, state, report);
}

const solver_class sqp_pjls_solver = {.name = "sqp-pjls",
                                      .summary = "SQP, each LCP by projected Jacobi line search (perez2016's second)",
                                      .state_size = sizeof(sqp_pjls_state),
                                      .layout = sqp_pjls_layout,
                                      .solve = sqp_pjls_solve};
