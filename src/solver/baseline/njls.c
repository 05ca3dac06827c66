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
 * lambda that they have, and friction follows in each iteration with a line search of its own (below). */
#include "solver/baseline/baseline.h"

#include "core/dense.h"

#include <math.h>
#include <string.h>

/* Projected Jacobi with a line search, and friction.
 *
 * The line search minimizes 1/2 lambda^T B lambda + w^T lambda within bounds that do not depend on lambda. Those of
 * friction do, through the normal impulse, and Coulomb's law is not the minimum of anything. So an iteration has two
 * halves, as perez2013 has them in PGS ("after the normal force of a contact is computed, we add friction").
 *
 * Limits and normals together, as printed. What slips follows its normal, s_t = (lambda_t / lambda_n) s_n, which Eq. 12
 * must know of, or with a soft body that slides the iteration goes round in circles: with s' = s + s_t
 *
 *   alpha = -s^T w / s^T B s'                     within [0, 1]; without slip it is Eq. 12
 *
 * Then friction, with the normals as they are:
 *
 *   f = P(lambda_t) - lambda_t                    what the new bounds forbid: always done, whatever it costs
 *   s = P(lambda_t + f - D^-1 w_t) - lambda_t - f
 *   alpha = -(s^T w + s^T B f) / s^T B s          within [0, 1]
 *   lambda_t += f + alpha s
 *
 * s^T B f is the product of what half a solve leaves of each. P is the projection on the pyramid's or the cone's
 * section, which is convex: every alpha ends within it. (One line search over both halves was left: where normals give
 * way, f may climb, and alpha stays 0.) */

#define AT_BOUND 1e-9 /* share of its bound by which friction of a slipping contact may be below it */

/* s = max(0, -D^-1 C / h), of a contact's normal max(0, lambda - D^-1 C / h) - lambda, of friction 0; a row that no
 * unknown can help stays 0. Returns how many limits push; slope: s^T C / h. */
static int jacobi_direction(const row_set *set, const solver_problem *problem, double *s, double *slope) {
    int active = 0, contacts = rows_of_contacts(set);
    double h = problem->step->h;
    for (int i = 0; i < contacts; i += set->contacts.each) {
        double D = set->diagonal[i], lambda = set->contacts.lambda[i];
        s[i] = D > 0 ? fmax(0, lambda - set->rows[i].value / (h * D)) - lambda : 0;
        for (int t = 1; t < set->contacts.each; t++) s[i + t] = 0;
    }
    for (int i = contacts; i < set->count; i++) {
        double D = set->diagonal[i];
        s[i] = D > 0 ? fmax(0, -set->rows[i].value / (h * D)) : 0;
        active += s[i] > 0;
    }
    *slope = 0;
    for (int i = 0; i < set->count; i++) *slope += s[i] * set->rows[i].value;
    *slope /= h;
    return active;
}

static double within(double alpha) {
    return fmax(0, fmin(1, alpha));
}

/* Sets s_t of slipping contacts. True if there are any. */
static bool follow(const row_set *set, const solver_problem *problem, double *s) {
    bool any = false, together = problem->friction == FRICTION_CONE || contact_rows_aggregated(problem);
    for (int i = 0, k = 0; i < set->contacts.count; i++, k += set->contacts.each) {
        const double *lambda = set->contacts.lambda + k;
        double normal = (1 - AT_BOUND) * lambda[0], bound = contact_rows_mu(problem, set->contacts.index[i]) * normal;
        if (!(bound > 0) || s[k] == 0) continue;
        double inside[MAX_CONTACT_ROWS];
        memcpy(inside, lambda, (size_t)set->contacts.each * sizeof *inside);
        bool out =
            together && !contact_rows_confine(problem, set->contacts.index[i], normal, set->diagonal + k, inside);
        for (int t = 1; t < set->contacts.each; t++)
            if (t >= PATCH_ROWS_PRINTED ? inside[t] != lambda[t] : together ? out : fabs(lambda[t]) >= bound)
                s[k + t] = lambda[t] / lambda[0] * s[k], any = true;
    }
    return any;
}

double jacobi_step(row_set *set, const solver_problem *problem, double slope, double *s, double *kept) {
    int components = 3 * problem->pattern->node_count;
    double square = rows_push(set, problem, s, set->count);
    if (set->contacts.count > 0) memcpy(kept, set->half, (size_t)components * sizeof *kept);
    if (follow(set, problem, s)) {
        rows_push(set, problem, s, set->count);
        square = rows_dot(set->half, kept, components);
    }
    return square > 0 ? within(-slope / square) : 0;
}

void jacobi_push_contacts(row_set *set, const double *s, double alpha) {
    for (int k = 0; k < rows_of_contacts(set); k++) set->contacts.lambda[k] += alpha * s[k];
}

/* w = C / h of the contacts' rows after v went alpha set->motion from where the rows were collected. */
static void jacobi_rates(const row_set *set, const solver_problem *problem, double alpha, double *w) {
    for (int k = 0; k < rows_of_contacts(set); k++)
        w[k] = set->rows[k].value / problem->step->h + alpha * row_times(&set->rows[k], set->motion);
}

/* Projects lambda_t on its bounds; the change is added to s. True if anything changed. */
static bool confine(row_set *set, const solver_problem *problem, double *s) {
    bool changed = false;
    for (int i = 0, k = 0; i < set->contacts.count; i++, k += set->contacts.each) {
        double *lambda = set->contacts.lambda + k;
        int index = set->contacts.index[i];
        for (int t = 1; t < set->contacts.each; t++) s[k + t] = -lambda[t];
        contact_rows_confine(problem, index, lambda[0], set->diagonal + k, lambda);
        s[k] = 0;
        for (int t = 1; t < set->contacts.each; t++) changed = (s[k + t] += lambda[t]) != 0 || changed;
    }
    return changed;
}

/* s from there on. Returns s^T w. */
static double aim(const row_set *set, const solver_problem *problem, const double *w, double *s) {
    double slope = 0;
    for (int i = 0, k = 0; i < set->contacts.count; i++, k += set->contacts.each) {
        const double *lambda = set->contacts.lambda + k, *D = set->diagonal + k;
        int index = set->contacts.index[i], each = set->contacts.each;
        double next[MAX_CONTACT_ROWS];
        for (int t = 0; t < each; t++) s[k + t] = 0;
        if (!(D[1] > 0 && D[2] > 0)) continue;
        for (int t = 1; t < each; t++) next[t] = D[t] > 0 ? lambda[t] - w[k + t] / D[t] : 0;
        contact_rows_confine(problem, index, lambda[0], D, next);
        for (int t = 1; t < each; t++) {
            s[k + t] = next[t] - lambda[t];
            slope += s[k + t] * w[k + t];
        }
    }
    return slope;
}

void jacobi_friction(row_set *set, const solver_problem *problem, const double *w, double *s, double *kept) {
    int components = 3 * problem->pattern->node_count, rows = rows_of_contacts(set);
    bool confined = confine(set, problem, s);
    if (confined) {
        rows_push(set, problem, s, rows);
        memcpy(kept, set->half, (size_t)components * sizeof *kept);
    }
    double slope = aim(set, problem, w, s), square = rows_push(set, problem, s, rows);
    if (confined) slope += rows_dot(set->half, kept, components);
    double alpha = square > 0 ? within(-slope / square) : 0;
    for (int k = 0; k < rows; k++) set->contacts.lambda[k] += alpha * s[k];
    for (int i = 0; i < components; i++) set->half[i] = alpha * set->half[i] + (confined ? kept[i] : 0);
    rows_move(set, problem);
}

#define MAX_ITERATIONS 500
#define HURRIED_ITERATIONS 100 /* pinch: 104 ms a step become 36, and the cube is 0.07 mm elsewhere after 1.5 s */

typedef struct njls_state {
    row_set set;
    double *lambda; /* a row */
    double *w;      /* a row of a contact: C / h */
    double *kept;   /* 3 per node: for the friction's step */
} njls_state;

static void njls_layout(void *solver, const solver_problem *problem, arena *work) {
    njls_state *state = solver;
    rows_layout(&state->set, problem, contact_rows_max(problem), work);
    state->lambda = ARENA_ARRAY(work, double, rows_limit(problem));
    state->w = ARENA_ARRAY(work, double, contact_rows_each(problem) * contact_rows_max(problem));
    state->kept = ARENA_ARRAY(work, double, 3 * problem->pattern->node_count);
}

static void advance(const row_set *set, const solver_problem *problem, double scale) {
    for (int i = 0; i < 3 * problem->pattern->node_count; i++) problem->v[i] += scale * set->motion[i];
}

/* Finds the direction lambda and the step along it, which is returned. */
static double search_line(row_set *set, const solver_problem *problem, double *lambda, double *kept,
                          solver_report *report) {
    double slope;
    rows_diagonal_of_limits(set, problem);
    int active = jacobi_direction(set, problem, lambda, &slope);
    if (active > report->active) report->active = active;
    return jacobi_step(set, problem, slope, lambda, kept);
}

static void iterate(njls_state *state, const solver_problem *problem, solver_report *report) {
    row_set *set = &state->set;
    double alpha = search_line(set, problem, state->lambda, state->kept, report);
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
        solver_trace_point(problem, report->iterations, false, set->violation);
        if (rows_agree(set, problem) || report->iterations == solver_max_iterations(problem, MAX_ITERATIONS)) break;
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

/* njls+: njls accelerated without changing the method.
 *
 * D_k = g^T Z g. A row involves one tet, whose nodes are neighbours in A, so the 12x12 block Z of A^-1 that it needs
 * is in the pattern of the factor: the selected inverse has it, once per step, for about the cost of a
 * factorization. The nodes of a contact are neighbours too, since the pattern couples all that may touch.
 *
 * Anderson acceleration of depth m: with f_i = g_i - v_i the change of an iteration and g_i its end,
 *
 *   v_(i+1) = g_i - sum_j gamma_j (g_(j+1) - g_j)
 *
 * where gamma minimizes |f_i - sum_j gamma_j (f_(j+1) - f_j)| in the norm of A: |f|_A = |L^T P f|, a vector that
 * half of the solve provides. The impulses follow; those of contacts are then projected on their bounds, and v with
 * them. The step is taken if it reduces the violations; otherwise the plain one is, and the history is dropped. */

#define DEPTH 5
/* Share of the diagonal added to the normal equations of nearly dependent changes. */
#define RIDGE 1e-10

typedef struct njls_plus_state {
    row_set set;                 /* must stay first: of_inverse gets from the one to the other */
    bool has_inverse;            /* of this step's A */
    double *lambda;              /* a row */
    double *w;                   /* a row of a contact: C / h */
    double *kept;                /* 3 per node: for the friction's step */
    cholesky_location *location; /* an element of each body, one body after the other */
    int *first_element;          /* a body */
    int size;                    /* of f: 3 per node */
    int whole;                   /* of g: v, and what follows it in everything: the impulses on held nodes and those of
                                    contacts, as many as take part; the others are 0 */
    double *f, *g;               /* of this iteration; f as L^T P f */
    double *last_f, *last_g;     /* of the one before */
    double *mixed;               /* as g: where the acceleration goes */
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
    rows_layout(&state->set, problem, contact_rows_max(problem), work);
    int contact_rows = contact_rows_each(problem) * contact_rows_max(problem);
    state->size = 3 * problem->pattern->node_count;
    state->whole = state->size + state->set.impulse_size + contact_rows;
    state->lambda = ARENA_ARRAY(work, double, rows_limit(problem));
    state->w = ARENA_ARRAY(work, double, contact_rows);
    state->kept = ARENA_ARRAY(work, double, state->size);
    state->location = ARENA_ARRAY(work, cholesky_location, rows_limit(problem) / 3);
    state->first_element = ARENA_ARRAY(work, int, problem->body_count);
    state->f = ARENA_ARRAY(work, double, state->size);
    state->last_f = ARENA_ARRAY(work, double, state->size);
    state->g = ARENA_ARRAY(work, double, state->whole);
    state->last_g = ARENA_ARRAY(work, double, state->whole);
    state->mixed = ARENA_ARRAY(work, double, state->whole);
    for (int i = 0; i < DEPTH; i++) {
        state->f_change[i] = ARENA_ARRAY(work, double, state->size);
        state->g_change[i] = ARENA_ARRAY(work, double, state->whole);
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

static double diagonal_of_limit(const njls_plus_state *state, const solver_problem *problem, int body,
                                const constraint_row *row) {
    double g[3 * ROW_NODES] = {0};
    bool free = false;
    for (int a = 0; a < ROW_NODES; a++) {
        if (row->node[a] < 0) continue;
        vec3_store(g + 3 * a, row->gradient[a]);
        free = true;
    }
    const cholesky_location *location = &state->location[state->first_element[body] + row->element];
    return free ? cholesky_inverse_form(problem->factor, location, g) : 0;
}

/* Contacts combine their nodes in so many ways that their blocks are looked up once per step. Blocks outside the
 * pattern are between two soft bodies, which A does not couple: zero. (Between two places of one body that touches
 * itself they are not zero; leaving them out changes D, and with it the step length.) */
static double diagonal_of_contact(const solver_problem *problem, const constraint_row *row) {
    int node[CONTACT_LEGS], count = 0;
    vec3 gradient[CONTACT_LEGS];
    for (int a = 0; a < ROW_NODES; a++)
        if (row->node[a] >= 0) node[count] = row->node[a], gradient[count++] = row->gradient[a];
    for (int a = 0; row->tail && a < row->tail->count; a++)
        node[count] = row->tail->node[a], gradient[count++] = row->tail->gradient[a];
    double sum = 0;
    for (int i = 0; i < count; i++)
        for (int j = 0; j <= i; j++) {
            mat3 Z;
            if (!cholesky_inverse_block(problem->factor, node[i], node[j], Z.m)) continue;
            sum += (i == j ? 1 : 2) * vec3_dot(gradient[i], mat3_mul_vec(Z, gradient[j]));
        }
    return sum;
}

/* A row_diagonal. */
static void of_inverse(row_set *set, const solver_problem *problem, int first, int end) {
    njls_plus_state *state = (njls_plus_state *)set;
    /* The nodes of a patch are not neighbours: the selected inverse lacks their blocks. */
    if (first < rows_of_contacts(set) && contact_rows_aggregated(problem)) {
        rows_diagonal_by_reach(set, problem, first, end);
        return;
    }
    if (!state->has_inverse) cholesky_inverse(problem->factor, problem->step->pool);
    state->has_inverse = true;
    if (first < rows_of_contacts(set)) {
        for (int i = first; i < end; i++) set->diagonal[i] = diagonal_of_contact(problem, &set->rows[i]);
        return;
    }
    for (int k = 0; k < problem->body_count; k++)
        for (int i = set->first_row[k]; i < set->first_row[k + 1]; i++)
            set->diagonal[i] = diagonal_of_limit(state, problem, k, &set->rows[i]);
}

/* The friction's part of an iteration, from where the normals end. */
static void iterate_friction(njls_plus_state *state, const solver_problem *problem, double alpha) {
    row_set *set = &state->set;
    jacobi_push_contacts(set, state->lambda, alpha);
    jacobi_rates(set, problem, alpha, state->w);
    jacobi_friction(set, problem, state->w, state->lambda, state->kept);
    for (int i = 0; i < state->size; i++) {
        state->f[i] += set->half[i];
        state->g[i] += set->motion[i];
    }
}

/* Where an iteration of njls ends, and the change. */
static void njls_plus_iterate(njls_plus_state *state, const solver_problem *problem, solver_report *report) {
    row_set *set = &state->set;
    double alpha = search_line(set, problem, state->lambda, state->kept, report);
    rows_move(set, problem);
    rows_react(set, problem, state->lambda, alpha);
    for (int i = 0; i < state->size; i++) {
        state->f[i] = alpha * set->half[i];
        state->g[i] = problem->v[i] + alpha * set->motion[i];
    }
    if (set->contacts.count > 0) iterate_friction(state, problem, alpha);
    double *impulses = state->g + state->size, *of_contacts = impulses + set->impulse_size;
    memcpy(impulses, set->impulse, (size_t)set->impulse_size * sizeof *impulses);
    memcpy(of_contacts, set->contacts.lambda, (size_t)rows_of_contacts(set) * sizeof *of_contacts);
    state->whole = state->size + set->impulse_size + rows_of_contacts(set);
}

static void remember(njls_plus_state *state) {
    int slot = state->next;
    for (int i = 0; i < state->size; i++) state->f_change[slot][i] = state->f[i] - state->last_f[i];
    for (int i = 0; i < state->whole; i++) state->g_change[slot][i] = state->g[i] - state->last_g[i];
    if (state->history < DEPTH) state->history++;
    state->next = (slot + 1) % DEPTH;
    for (int j = 0; j < state->history; j++)
        state->product[slot][j] = state->product[j][slot] =
            rows_dot(state->f_change[slot], state->f_change[j], state->size);
}

/* gamma of the normal equations, by Cholesky; false if they are singular. */
static bool find_gamma(const njls_plus_state *state, double gamma[DEPTH]) {
    int n = state->history;
    double L[DEPTH][DEPTH];
    for (int i = 0; i < n; i++) {
        gamma[i] = rows_dot(state->f_change[i], state->f, state->size);
        for (int j = 0; j <= i; j++) L[i][j] = state->product[i][j] * (i == j ? 1 + RIDGE : 1);
    }
    if (dense_cholesky(L[0], n, DEPTH, 0) > 0) return false;
    dense_cholesky_solve(L[0], n, DEPTH, gamma);
    return true;
}

/* Projects the impulses of contacts on their bounds, and changes v with them. */
static void njls_plus_confine(njls_plus_state *state, const solver_problem *problem) {
    row_set *set = &state->set;
    bool changed = false;
    for (int i = 0, k = 0; i < set->contacts.count; i++, k += set->contacts.each) {
        double *lambda = set->contacts.lambda + k, *change = state->lambda + k;
        for (int a = 0; a < set->contacts.each; a++) change[a] = -lambda[a];
        contact_rows_project(problem, set->contacts.index[i], lambda);
        for (int a = 0; a < set->contacts.each; a++) changed = (change[a] += lambda[a]) != 0 || changed;
    }
    if (!changed) return;
    rows_push(set, problem, state->lambda, rows_of_contacts(set));
    rows_move(set, problem);
    for (int i = 0; i < state->size; i++) problem->v[i] += set->motion[i];
}

/* Moves to g minus the changes with the weights gamma, if there are any, and collects the rows at the new v. */
static void move_to(njls_plus_state *state, const solver_problem *problem, const double *gamma) {
    row_set *set = &state->set;
    if (gamma) memcpy(state->mixed, state->g, (size_t)state->whole * sizeof *state->g);
    for (int j = 0; gamma && j < state->history; j++)
        for (int i = 0; i < state->whole; i++) state->mixed[i] -= gamma[j] * state->g_change[j][i];
    const double *next = gamma ? state->mixed : state->g, *impulses = next + state->size;
    memcpy(problem->v, next, (size_t)state->size * sizeof *next);
    memcpy(set->impulse, impulses, (size_t)set->impulse_size * sizeof *next);
    memcpy(set->contacts.lambda, impulses + set->impulse_size, (size_t)rows_of_contacts(set) * sizeof *next);
    if (gamma) njls_plus_confine(state, problem);
    rows_collect(set, problem);
}

/* Ends an iteration, accelerated if there is a history that helps. */
static void njls_plus_advance(njls_plus_state *state, const solver_problem *problem) {
    double gamma[DEPTH], before = rows_norm(&state->set, problem);
    bool accelerated = state->history > 0 && find_gamma(state, gamma);
    move_to(state, problem, accelerated ? gamma : NULL);
    if (!accelerated || rows_norm(&state->set, problem) <= before) return;
    move_to(state, problem, NULL);
    state->history = state->next = 0;
}

static void swap(double **a, double **b) {
    double *kept = *a;
    *a = *b, *b = kept;
}

/* Impulses of contacts that do not take part yet are 0 in all of the history. */
static void forget(njls_plus_state *state, const solver_problem *problem) {
    size_t first = (size_t)(state->size + state->set.impulse_size), bytes = sizeof(double);
    bytes *= (size_t)(contact_rows_each(problem) * contact_rows_count(problem));
    state->history = state->next = 0;
    memset(state->g + first, 0, bytes);
    memset(state->last_g + first, 0, bytes);
    for (int i = 0; i < DEPTH; i++) memset(state->g_change[i] + first, 0, bytes);
}

static bool njls_plus_solve(void *solver, const solver_problem *problem, solver_report *report) {
    njls_plus_state *state = solver;
    row_set *set = &state->set;
    *report = (solver_report){0};
    state->has_inverse = false;
    forget(state, problem);
    rows_begin(set, problem, of_inverse);
    rows_collect(set, problem);
    solver_trace_point(problem, 0, false, set->violation);
    while (!rows_agree(set, problem) && report->iterations < solver_max_iterations(problem, MAX_ITERATIONS)) {
        njls_plus_iterate(state, problem, report);
        if (report->iterations > 0) remember(state);
        njls_plus_advance(state, problem);
        swap(&state->f, &state->last_f);
        swap(&state->g, &state->last_g);
        report->iterations++;
        solver_trace_point(problem, report->iterations, false, set->violation);
    }
    return rows_end(set, problem, report);
}

const solver_class njls_plus_solver = {.name = "njls+",
                                       .summary = "njls with D from the selected inverse and Anderson acceleration",
                                       .state_size = sizeof(njls_plus_state),
                                       .hurried = HURRIED_ITERATIONS,
                                       .layout = njls_plus_layout,
                                       .solve = njls_plus_solve};
