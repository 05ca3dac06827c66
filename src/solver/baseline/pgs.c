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
 * The limits are not linear, and there is no second linearization: the report has the true violation,
 * and mostly that is more than the tolerance. */
#include "solver/baseline/baseline.h"

#include <math.h>
#include <string.h>

/* Projected Gauss-Seidel on a dense B = J A^-1 J^T (perez2013, Eq. 15; perez2016, Eq. 6):
 *
 *   lambda_k <- max(0, lambda_k - w_k / B_kk),   w = B lambda + q
 *
 * and after the normal of a contact its friction (contact_rows.c). On the pyramid a tangent is a row with two bounds;
 * on the cone both tangents move at once, by w / D with D the largest eigenvalue of their 2x2 block of B, so that
 * friction ends up against the slip. The rows of a patch are solved together where it sticks (contact/patch_law.c).
 *
 * w is kept up to date: a change of lambda_k adds a multiple of row k of B, and a row that does not change costs
 * nothing. B is symmetric, so its rows are its columns. */

void lcp_layout(dense_lcp *lcp, const solver_problem *problem, arena *work) {
    int rows = rows_limit(problem);
    size_t size = (size_t)((rows < LCP_ROWS ? rows : LCP_ROWS) + 7) / 8 * 8;
    *lcp = (dense_lcp){.stride = (int)size,
                       .B = ARENA_ARRAY(work, double, size *size),
                       .lambda = ARENA_ARRAY(work, double, size),
                       .w = ARENA_ARRAY(work, double, size),
                       .D = ARENA_ARRAY(work, double, size),
                       .patches = ARENA_ARRAY(work, patch_response, problem->max_patches),
                       .order = ARENA_ARRAY(work, double, rows)};
}

/* The `rank` smallest values come first (Hoare's selection); returns the largest of them. */
static double select_smallest(double *values, int count, int rank) {
    for (int low = 0, high = count - 1; low < high;) {
        double pivot = values[low + (high - low) / 2];
        int i = low - 1, j = high + 1;
        for (;;) {
            do i++;
            while (values[i] < pivot);
            do j--;
            while (values[j] > pivot);
            if (i >= j) break;
            double swapped = values[i];
            values[i] = values[j], values[j] = swapped;
        }
        if (rank - 1 <= j)
            high = j;
        else
            low = j + 1;
    }
    return values[rank - 1];
}

void lcp_choose(dense_lcp *lcp, row_set *set, const solver_problem *problem) {
    if (set->count <= LCP_ROWS) return;
    int first = rows_of_contacts(set), room = LCP_ROWS - first;
    for (int i = first; i < set->count; i++) lcp->order[i - first] = set->rows[i].value;
    double worst = select_smallest(lcp->order, set->count - first, room);
    int ties = room;
    for (int i = first; i < set->count; i++) ties -= set->rows[i].value < worst;
    int kept = first;
    for (int k = 0, i = first; k < problem->body_count; k++) {
        int end = set->first_row[k + 1];
        set->first_row[k] = kept;
        for (; i < end; i++) {
            double value = set->rows[i].value;
            if (value < worst || (value == worst && ties-- > 0)) set->rows[kept++] = set->rows[i];
        }
    }
    set->count = set->first_row[problem->body_count] = kept;
}

static double diagonal(const dense_lcp *lcp, int k) {
    return lcp->B[(size_t)k * (size_t)lcp->stride + (size_t)k];
}

/* The largest eigenvalue of the block of the rows k and k + 1. */
static double largest_of_two(const dense_lcp *lcp, int k) {
    double a = diagonal(lcp, k), b = diagonal(lcp, k + 1),
           across = lcp->B[(size_t)k * (size_t)lcp->stride + (size_t)k + 1];
    return 0.5 * (a + b) + hypot(0.5 * (a - b), across);
}

/* D of the i-th contact's rows, which begin at k: where friction is bounded in all directions alike, both tangents
 * must go equally far. */
static void contact_diagonal(dense_lcp *lcp, const row_set *set, const solver_problem *problem, int i, int k) {
    double *D = lcp->D + k;
    if (contact_rows_aggregated(problem)) {
        const double *block = lcp->B + (size_t)k * (size_t)(lcp->stride + 1);
        lcp->patches[i] = patch_respond(block, lcp->stride, set->contacts.each, 1);
        memcpy(D, lcp->patches[i].D, (size_t)set->contacts.each * sizeof *D);
        return;
    }
    for (int axis = 0; axis < CONTACT_ROWS; axis++) D[axis] = diagonal(lcp, k + axis);
    if (problem->friction == FRICTION_CONE) D[1] = D[2] = largest_of_two(lcp, k + 1);
}

void lcp_formulate(dense_lcp *lcp, row_set *set, const solver_problem *problem) {
    rows_matrix(set, problem, lcp->B, lcp->stride);
    memset(lcp->lambda, 0, (size_t)lcp->stride * sizeof *lcp->lambda);
    memset(lcp->w, 0, (size_t)lcp->stride * sizeof *lcp->w);
    if (set->contacts.count > 0)
        memcpy(lcp->lambda, set->contacts.lambda, (size_t)rows_of_contacts(set) * sizeof *lcp->lambda);
    for (int i = 0, k = 0; i < set->contacts.count; i++, k += set->contacts.each)
        contact_diagonal(lcp, set, problem, i, k);
}

static lcp_error error_of(const dense_lcp *lcp, const row_set *set, const solver_problem *problem) {
    lcp_error error = {0};
    for (int i = 0, k = 0; i < set->contacts.count; i++, k += set->contacts.each) {
        double one = contact_rows_error(problem, set->contacts.index[i], lcp->lambda + k, lcp->w + k, lcp->D + k);
        error.length = fmax(error.length, one);
        error.weighted += set->rows[k].weight * one;
    }
    for (int k = rows_of_contacts(set); k < set->count; k++) {
        double violation = fmax(0, -problem->step->h * lcp->w[k]);
        error.largest = fmax(error.largest, violation);
        error.weighted += set->rows[k].weight * violation;
    }
    return error;
}

static void change_to(dense_lcp *lcp, int k, double next, int count) {
    const double *row = lcp->B + (size_t)k * (size_t)lcp->stride;
    double change = next - lcp->lambda[k];
    if (change == 0) return;
    lcp->lambda[k] = next;
    for (int i = 0; i < count; i += 8)
        f64x8_store(lcp->w + i, f64x8_fma(f64x8_load(row + i), f64x8_set(change), f64x8_load(lcp->w + i)));
}

/* The step of friction of the i-th contact, whose rows start at k. */
static void relax_friction(dense_lcp *lcp, const row_set *set, const solver_problem *problem, int i, int k) {
    int index = set->contacts.index[i], each = set->contacts.each;
    const double *D = lcp->D + k;
    double normal = lcp->lambda[k], bound = contact_rows_mu(problem, index) * normal, next[MAX_CONTACT_ROWS];
    if (!(D[1] > 0 && D[2] > 0)) return;
    if (problem->friction != FRICTION_CONE && !contact_rows_aggregated(problem)) {
        for (int t = k + 1; t < k + CONTACT_ROWS; t++)
            change_to(lcp, t, fmax(-bound, fmin(bound, lcp->lambda[t] - lcp->w[t] / D[t - k])), set->count);
        return;
    }
    /* The torques of a patch's pressure. */
    for (int t = PATCH_ROWS_PRINTED; t < each; t++) next[t] = D[t] > 0 ? lcp->lambda[k + t] - lcp->w[k + t] / D[t] : 0;
    if (each == PATCH_ROWS) patch_confine_pressure(&problem->patches[index], normal, D, next);
    for (int t = PATCH_ROWS_PRINTED; t < each; t++) change_to(lcp, k + t, next[t], set->count);
    for (int t = 1; t < PATCH_ROWS_PRINTED && t < each; t++)
        next[t] = D[t] > 0 ? lcp->lambda[k + t] - lcp->w[k + t] / D[t] : 0;
    contact_rows_confine(problem, index, normal, D, next);
    for (int t = 1; t < each; t++) change_to(lcp, k + t, next[t], set->count);
}

/* All rows of a patch at once, if it sticks. */
static bool settle(dense_lcp *lcp, const row_set *set, const solver_problem *problem, int i, int k) {
    if (!contact_rows_aggregated(problem) || problem->friction == FRICTION_PRINTED) return false;
    double w[PATCH_ROWS] = {0}, next[PATCH_ROWS] = {0};
    memcpy(w, lcp->w + k, (size_t)set->contacts.each * sizeof *w);
    memcpy(next, lcp->lambda + k, (size_t)set->contacts.each * sizeof *next);
    if (!patch_settle(&problem->patches[set->contacts.index[i]], &lcp->patches[i], w, next)) return false;
    for (int t = 0; t < set->contacts.each; t++) change_to(lcp, k + t, next[t], set->count);
    return true;
}

static void relax(dense_lcp *lcp, int k, int count) {
    double D = diagonal(lcp, k);
    if (D > 0) change_to(lcp, k, fmax(0, lcp->lambda[k] - lcp->w[k] / D), count);
}

static void sweep(dense_lcp *lcp, const row_set *set, const solver_problem *problem) {
    for (int i = 0, k = 0; i < set->contacts.count; i++, k += set->contacts.each) {
        if (settle(lcp, set, problem, i, k)) continue;
        relax(lcp, k, set->count);
        relax_friction(lcp, set, problem, i, k);
    }
    for (int k = rows_of_contacts(set); k < set->count; k++) relax(lcp, k, set->count);
}

int lcp_relax(dense_lcp *lcp, const row_set *set, const solver_problem *problem, lcp_error enough, int max_sweeps,
              int iterations) {
    int sweeps = 0;
    while (sweeps < max_sweeps) {
        sweep(lcp, set, problem);
        sweeps++;
        lcp_error error = error_of(lcp, set, problem);
        solver_trace_point(problem, iterations + sweeps, true, error.largest);
        bool limits_agree = error.largest <= enough.largest || error.weighted <= enough.weighted;
        if (limits_agree && error.length <= enough.length) break;
    }
    return sweeps;
}

int lcp_apply(dense_lcp *lcp, row_set *set, const solver_problem *problem) {
    int active = 0;
    for (int k = rows_of_contacts(set); k < set->count; k++) active += lcp->lambda[k] > 0;
    for (int k = 0; k < rows_of_contacts(set); k++) {
        double before = set->contacts.lambda[k];
        set->contacts.lambda[k] = lcp->lambda[k];
        lcp->lambda[k] -= before;
    }
    rows_react(set, problem, lcp->lambda, 1);
    rows_push(set, problem, lcp->lambda, set->count);
    rows_move(set, problem);
    for (int i = 0; i < 3 * problem->pattern->node_count; i++) problem->v[i] += set->motion[i];
    return active;
}

#define MAX_SWEEPS 2000
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
    return lcp_relax(lcp, set, problem, enough, solver_max_iterations(problem, MAX_SWEEPS), 0);
}

static bool pgs_solve(void *solver, const solver_problem *problem, solver_report *report) {
    pgs_state *state = solver;
    row_set *set = &state->set;
    *report = (solver_report){0};
    rows_begin(set, problem, rows_diagonal_by_reach);
    rows_collect(set, problem);
    solver_trace_point(problem, 0, false, set->violation);
    if (!rows_agree(set, problem)) {
        report->iterations = solve_lcp(state, problem);
        report->active = lcp_apply(&state->lcp, set, problem);
        rows_collect(set, problem);
        solver_trace_point(problem, report->iterations, false, set->violation);
    }
    return rows_end(set, problem, report);
}

const solver_class pgs_solver = {.name = "pgs",
                                 .summary = "one linearization, projected Gauss-Seidel (perez2013)",
                                 .state_size = sizeof(pgs_state),
                                 .hurried = HURRIED_ITERATIONS,
                                 .layout = pgs_layout,
                                 .solve = pgs_solve};
