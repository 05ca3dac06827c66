/* Nonlinear Jacobi line search: perez2016, Algorithm 1, as printed.
 *
 *   s = max(0, -D^-1 C(x) / h)                                   (11)
 *   alpha = -s^T C / (h s^T J A^-1 J^T s), clamped to [0, 1]     (12)
 *   v += alpha A^-1 J^T s                                        (7)
 *
 * with the limits linearized anew in every iteration. D takes one whole back-substitution a row and iteration (13);
 * that and the evaluation of the limits run on all threads, as the paper has it. (njls-reach is the same with the
 * substitutions that the SQP solvers have: eight rows at a time, over the rows of L that they reach.) It ends at a
 * feasible point, which is not the optimum of Eq. 1: a limit that was pushed too far is never let go.
 *
 * The paper's contacts are penalties. Here they are rows (contact_rows.c): normals move with the limits, but from the
 * lambda that they have, and friction follows in each iteration with a line search of its own (jacobi.c). */
#include "solver/njls.h"

#include "solver/jacobi.h"

#define MOST_ITERATIONS 500
#define HURRIED_ITERATIONS 100 /* pinch: 104 ms a step become 36, and the cube is 0.07 mm elsewhere after 1.5 s */

typedef struct njls_state {
    row_set set;
    double *lambda; /* a row */
    double *w;      /* a row of a contact: C / h */
    double *kept;   /* 3 per node: for the friction's step */
} njls_state;

static void njls_layout(void *solver, const solver_problem *problem, arena *work) {
    njls_state *state = solver;
    rows_layout(&state->set, problem, contact_rows_most(problem), work);
    state->lambda = ARENA_ARRAY(work, double, rows_limit(problem));
    state->w = ARENA_ARRAY(work, double, contact_rows_each(problem) * contact_rows_most(problem));
    state->kept = ARENA_ARRAY(work, double, 3 * problem->pattern->node_count);
}

static void advance(const row_set *set, const solver_problem *problem, double scale) {
    for (int i = 0; i < 3 * problem->pattern->node_count; i++) problem->v[i] += scale * set->motion[i];
}

static void iterate(njls_state *state, const solver_problem *problem, solver_report *report) {
    row_set *set = &state->set;
    rows_diagonal_of_limits(set, problem);
    double slope;
    report->active = jacobi_count(report->active, jacobi_direction(set, problem, state->lambda, &slope));
    double alpha = jacobi_step(set, problem, slope, state->lambda, state->kept);
    rows_react(set, problem, state->lambda, alpha);
    rows_move(set, problem);
    advance(set, problem, alpha);
    if (set->contacts.count == 0) return;
    jacobi_push_contacts(set, state->lambda, alpha);
    jacobi_rates(set, problem, alpha, state->w);
    jacobi_friction(set, problem, state->w, state->lambda, state->kept);
    advance(set, problem, 1);
}

static bool solve(njls_state *state, const solver_problem *problem, solver_report *report, row_diagonal find_diagonal) {
    row_set *set = &state->set;
    *report = (solver_report){0};
    rows_begin(set, problem, find_diagonal);
    for (;; report->iterations++) {
        rows_collect(set, problem);
        solver_tell(problem, report->iterations, false, set->violation);
        if (rows_agree(set, problem) || report->iterations == solver_most(problem, MOST_ITERATIONS)) break;
        iterate(state, problem, report);
    }
    return rows_end(set, problem, report);
}

static bool njls_solve(void *solver, const solver_problem *problem, solver_report *report) {
    return solve(solver, problem, report, rows_diagonal);
}

static bool njls_reach_solve(void *solver, const solver_problem *problem, solver_report *report) {
    return solve(solver, problem, report, rows_diagonal_by_reach);
}

const solver_class njls_solver = {.name = "njls",
                                  .summary = "nonlinear Jacobi line search as printed (perez2016, Algorithm 1)",
                                  .state_size = sizeof(njls_state),
                                  .hurried = HURRIED_ITERATIONS,
                                  .layout = njls_layout,
                                  .solve = njls_solve};

const solver_class njls_reach_solver = {.name = "njls-reach",
                                        .summary = "njls, its substitutions eight at a time and only where they reach",
                                        .state_size = sizeof(njls_state),
                                        .hurried = HURRIED_ITERATIONS,
                                        .layout = njls_layout,
                                        .solve = njls_reach_solve};
