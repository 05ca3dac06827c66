/* njls (njls.c) made as fast as it gets without changing what it is:
 *
 *   D_k = g^T Z g. A row touches one tet, whose nodes are neighbours in A, so the 12x12 block Z of A^-1 that it needs lies
 *   in the pattern of the factor: the selected inverse has it, once a step, for about the price of a factorization.
 *
 *   Anderson acceleration of depth m: with f_i = g_i - v_i the change that an iteration makes and g_i where it ends,
 *   v_(i+1) = g_i - sum_j gamma_j (g_(j+1) - g_j), where gamma minimizes |f_i - sum_j gamma_j (f_(j+1) - f_j)| in the norm
 *   of A: |f|_A = |L^T P f|, and that vector is what half of the solve has left. The step is taken if it brings the
 *   violations down; otherwise the plain one is, and the history is dropped. */
#include "solver/njls_plus.h"

#include "solver/jacobi.h"

#include <string.h>

#define DEPTH 5
#define MOST_ITERATIONS 500
/* The normal equations of nearly dependent changes are solved with this share of their diagonal added. */
#define RIDGE 1e-10

typedef struct njls_plus_state {
    row_set set;
    double *lambda;              /* a row */
    cholesky_location *location; /* an element of each body, one body after the other */
    int *first_element;          /* a body */
    /* 3 per node: */
    double *f, *g;           /* of this iteration; f as L^T P f */
    double *last_f, *last_g; /* of the one before */
    double *f_change[DEPTH], *g_change[DEPTH];
    double product[DEPTH][DEPTH]; /* of the f_change */
    int history;                  /* how many changes there are */
    int next;                     /* the slot that the next one takes */
} njls_plus_state;

/* A held node has no block: another node of the tet stands in for it, with a gradient of zero. */
static void locate_element(const solver_problem *problem, int k, const body_limits *limits, int element,
                           cholesky_location *location) {
    int node[ROW_NODES], some = -1;
    limits->element_nodes(problem->bodies[k]->model, element, problem->first_node[k], node);
    for (int a = 0; a < ROW_NODES; a++)
        if (node[a] >= 0) some = node[a];
    if (some < 0) return;
    for (int a = 0; a < ROW_NODES; a++)
        if (node[a] < 0) node[a] = some;
    cholesky_locate(problem->factor->plan, node, location);
}

static void njls_plus_layout(void *solver, const solver_problem *problem, arena *work) {
    njls_plus_state *state = solver;
    size_t components = 3 * (size_t)problem->pattern->node_count;
    rows_layout(&state->set, problem, work);
    state->lambda = ARENA_ARRAY(work, double, rows_limit(problem));
    state->location = ARENA_ARRAY(work, cholesky_location, rows_limit(problem) / 3);
    state->first_element = ARENA_ARRAY(work, int, problem->body_count);
    double **vectors[] = {&state->f, &state->g, &state->last_f, &state->last_g};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) *vectors[i] = ARENA_ARRAY(work, double, components);
    for (int i = 0; i < DEPTH; i++) {
        state->f_change[i] = ARENA_ARRAY(work, double, components);
        state->g_change[i] = ARENA_ARRAY(work, double, components);
    }
    if (!state->location) return;
    int first = 0;
    EACH_LIMITED (problem, k, limits) {
        state->first_element[k] = first;
        int count = limits->element_count(problem->bodies[k]->model);
        for (int i = 0; i < count; i++) locate_element(problem, k, limits, i, &state->location[first + i]);
        first += count;
    }
}

static void find_diagonal(njls_plus_state *state, const solver_problem *problem) {
    row_set *set = &state->set;
    for (int k = 0; k < problem->body_count; k++)
        for (int i = set->first_row[k]; i < set->first_row[k + 1]; i++) {
            const constraint_row *row = &set->rows[i];
            double g[3 * ROW_NODES] = {0};
            bool free = false;
            for (int a = 0; a < ROW_NODES; a++) {
                if (row->node[a] < 0) continue;
                vec3_store(g + 3 * a, row->gradient[a]);
                free = true;
            }
            const cholesky_location *location = &state->location[state->first_element[k] + row->element];
            set->diagonal[i] = free ? cholesky_inverse_form(problem->factor, location, g) : 0;
        }
}

/* Where an iteration of njls ends, and the change. */
static void iterate(njls_plus_state *state, const solver_problem *problem, solver_report *report) {
    row_set *set = &state->set;
    find_diagonal(state, problem);
    report->active = jacobi_count(report->active, jacobi_direction(set, problem, state->lambda));
    double alpha = jacobi_step(set, problem, state->lambda);
    rows_move(set, problem);
    for (int i = 0; i < 3 * problem->pattern->node_count; i++) {
        state->f[i] = alpha * set->half[i];
        state->g[i] = problem->v[i] + alpha * set->motion[i];
    }
}

static void remember(njls_plus_state *state, int components) {
    int slot = state->next;
    for (int i = 0; i < components; i++) {
        state->f_change[slot][i] = state->f[i] - state->last_f[i];
        state->g_change[slot][i] = state->g[i] - state->last_g[i];
    }
    if (state->history < DEPTH) state->history++;
    state->next = (slot + 1) % DEPTH;
    for (int j = 0; j < state->history; j++)
        state->product[slot][j] = state->product[j][slot] =
            rows_dot(state->f_change[slot], state->f_change[j], components);
}

/* gamma of the normal equations, by Cholesky; false if they are singular. */
static bool find_gamma(const njls_plus_state *state, int components, double gamma[DEPTH]) {
    int n = state->history;
    double L[DEPTH][DEPTH];
    for (int i = 0; i < n; i++) gamma[i] = rows_dot(state->f_change[i], state->f, components);
    for (int i = 0; i < n; i++) {
        for (int j = 0; j <= i; j++) {
            double sum = state->product[i][j] * (i == j ? 1 + RIDGE : 1);
            for (int t = 0; t < j; t++) sum -= L[i][t] * L[j][t];
            if (i == j && !(sum > 0)) return false;
            L[i][j] = i == j ? sqrt(sum) : sum / L[j][j];
        }
        for (int t = 0; t < i; t++) gamma[i] -= L[i][t] * gamma[t];
        gamma[i] /= L[i][i];
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int t = i + 1; t < n; t++) gamma[i] -= L[t][i] * gamma[t];
        gamma[i] /= L[i][i];
    }
    return true;
}

/* v after an iteration, accelerated if there is a history that helps; the rows are those at the new v. */
static void advance(njls_plus_state *state, const solver_problem *problem) {
    int components = 3 * problem->pattern->node_count;
    double gamma[DEPTH], before = rows_norm(&state->set);
    bool accelerated = state->history > 0 && find_gamma(state, components, gamma);
    memcpy(problem->v, state->g, (size_t)components * sizeof *problem->v);
    for (int j = 0; accelerated && j < state->history; j++)
        for (int i = 0; i < components; i++) problem->v[i] -= gamma[j] * state->g_change[j][i];
    rows_collect(&state->set, problem);
    if (!accelerated || rows_norm(&state->set) <= before) return;
    memcpy(problem->v, state->g, (size_t)components * sizeof *problem->v);
    state->history = state->next = 0;
    rows_collect(&state->set, problem);
}

static void swap(double **a, double **b) {
    double *kept = *a;
    *a = *b, *b = kept;
}

static bool njls_plus_solve(void *solver, const solver_problem *problem, solver_report *report) {
    njls_plus_state *state = solver;
    row_set *set = &state->set;
    *report = (solver_report){0};
    state->history = state->next = 0;
    rows_begin(set, problem);
    rows_collect(set, problem);
    solver_tell(problem, 0, false, set->violation);
    if (set->violation > problem->tolerance.violation) cholesky_inverse(problem->factor, problem->step->pool);
    while (set->violation > problem->tolerance.violation && report->iterations < MOST_ITERATIONS) {
        iterate(state, problem, report);
        if (report->iterations > 0) remember(state, 3 * problem->pattern->node_count);
        advance(state, problem);
        swap(&state->f, &state->last_f);
        swap(&state->g, &state->last_g);
        report->iterations++;
        solver_tell(problem, report->iterations, false, set->violation);
    }
    report->residual = set->violation;
    report->converged = set->violation <= problem->tolerance.violation;
    return true;
}

const solver_class njls_plus_solver = {.name = "njls+",
                                       .summary = "njls with D from the selected inverse and Anderson acceleration",
                                       .state_size = sizeof(njls_plus_state),
                                       .layout = njls_plus_layout,
                                       .solve = njls_plus_solve};
