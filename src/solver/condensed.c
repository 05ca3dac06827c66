/* Block Gauss-Seidel over the patches. With D the diagonal of W, a patch takes
 *
 *   lambda_n <- max(0, lambda_n - u_n / (h^2 D_n)),   lambda_f <- P(lambda_f - u_f / (h^2 D_f))
 *
 * in turns, P being the projection on what mu lambda_n allows (constraint/contensou.h), a few times with its own block of W
 * alone, and then tells the others. */
#include "solver/condensed.h"

#include "math/simd.h"

#include <math.h>
#include <string.h>

#define MOST_SWEEPS 1000
#define OWN_TURNS 4
#define ENOUGH 0.2          /* of the tolerance of lengths, so that what newton leaves has room too */
#define STABILIZE_SPEED 0.5 /* m/s, at which what is deep inside comes out */

static int patches_most(const solver_problem *problem) {
    return problem->most_patches;
}

void condensed_layout(condensed *state, const solver_problem *problem, int rows, arena *work) {
    size_t nodes = problem->most_patches > 0 ? (size_t)problem->pattern->node_count : 0;
    size_t stride = ((size_t)rows * (size_t)patches_most(problem) + 7) / 8 * 8;
    *state = (condensed){.rows = rows,
                         .stride = (int)stride,
                         .W = ARENA_ARRAY(work, double, stride *stride),
                         .u = ARENA_ARRAY(work, double, stride),
                         .right = ARENA_ARRAY(work, double, 24 * nodes),
                         .left = ARENA_ARRAY(work, double, 24 * nodes),
                         .nodes = ARENA_ARRAY(work, int, 8 * nodes),
                         .reach = ARENA_ARRAY(work, cholesky_range,
                                              nodes > 0 ? cholesky_plan_facts(problem->factor->plan).front_count : 0)};
    if (state->right) memset(state->right, 0, 24 * nodes * sizeof *state->right);
}

static const vec3 *gradient_of(const condensed *state, const solver_problem *problem, int row, const patch **p) {
    *p = &problem->patches[row / state->rows];
    return (*p)->gradient + (size_t)(row % state->rows) * (size_t)(*p)->leg_count;
}

/* Columns first to first + 7 of W. */
static void assemble_eight(condensed *state, const solver_problem *problem, int first, int end) {
    const int *position = cholesky_plan_position(problem->factor->plan);
    int count = 0, rows = state->rows * problem->patch_count;
    const patch *p;
    for (int row = first; row < end; row++) {
        const vec3 *gradient = gradient_of(state, problem, row, &p);
        bool same = row > first && row % state->rows != 0; /* the nodes of the row before */
        for (int k = 0; k < p->leg_count; k++) {
            double *right = state->right + 24 * (size_t)position[p->node[k]] + (row - first);
            right[0] = gradient[k].x, right[8] = gradient[k].y, right[16] = gradient[k].z;
            if (!same) state->nodes[count++] = p->node[k];
        }
    }
    int ranges = cholesky_forward_reach(problem->factor, state->nodes, count, state->right, state->reach);
    cholesky_backward_eight(problem->factor, state->right, state->left);
    for (int r = 0; r < ranges; r++)
        memset(state->right + 8 * (size_t)state->reach[r].first, 0,
               8 * (size_t)state->reach[r].count * sizeof *state->right);
    for (int row = 0; row < rows; row++) {
        const vec3 *gradient = gradient_of(state, problem, row, &p);
        f64x8 sum = f64x8_set(0);
        for (int k = 0; k < p->leg_count; k++) {
            const double *left = state->left + 24 * (size_t)p->node[k];
            sum = f64x8_fma(f64x8_load(left), f64x8_set(gradient[k].x), sum);
            sum = f64x8_fma(f64x8_load(left + 8), f64x8_set(gradient[k].y), sum);
            sum = f64x8_fma(f64x8_load(left + 16), f64x8_set(gradient[k].z), sum);
        }
        f64x8_store(state->W + (size_t)row * (size_t)state->stride + first, sum);
    }
}

void condensed_assemble(condensed *state, const solver_problem *problem) {
    int rows = state->rows * problem->patch_count;
    for (int first = 0; first < rows; first += 8)
        assemble_eight(state, problem, first, rows < first + 8 ? rows : first + 8);
}

static double entry(const condensed *state, int row, int column) {
    return state->W[(size_t)row * (size_t)state->stride + (size_t)column];
}

/* h^2 D of a patch: the larger one of the two tangents for both, or friction would not oppose the slip. */
static void diagonal_of(const condensed *state, int first, double h, double D[PATCH_ROWS]) {
    for (int k = 0; k < PATCH_ROWS; k++) D[k] = h * h * entry(state, first + k, first + k);
    double across = h * h * entry(state, first + 1, first + 2);
    D[1] = D[2] = 0.5 * (D[1] + D[2]) + hypot(0.5 * (D[1] - D[2]), across);
}

/* What the patch's law makes of lambda at u: the normal first, then friction with the normal as it is now. Whether it sticks. */
static bool obey(patch *p, const double D[PATCH_ROWS], const double u[PATCH_ROWS], double lambda[PATCH_ROWS]) {
    if (!(D[0] > 0)) return false; /* nothing there can move */
    lambda[0] = fmax(0, lambda[0] - u[0] / D[0]);
    return patch_friction(p, p->mu * lambda[0], D, u, lambda);
}

/* Row `row` of W times `change` is added to u. */
static void tell(condensed *state, int row, double change, int count) {
    const double *W = state->W + (size_t)row * (size_t)state->stride;
    for (int i = 0; i < count; i += 8)
        f64x8_store(state->u + i, f64x8_fma(f64x8_load(W + i), f64x8_set(change), f64x8_load(state->u + i)));
}

/* One patch takes its turns; returns how far that moved it, m. */
static double relax(condensed *state, const solver_problem *problem, int index) {
    patch *p = &problem->patches[index];
    double h = problem->step->h, D[PATCH_ROWS], u[PATCH_ROWS], lambda[PATCH_ROWS], moved = 0;
    int first = PATCH_ROWS * index, rows = PATCH_ROWS * problem->patch_count;
    diagonal_of(state, first, h, D);
    memcpy(u, state->u + first, sizeof u);
    memcpy(lambda, p->lambda, sizeof lambda);
    bool sticks = false;
    for (int turn = 0; turn < OWN_TURNS; turn++) {
        double before[PATCH_ROWS], step = 0;
        memcpy(before, lambda, sizeof before);
        sticks = obey(p, D, u, lambda);
        for (int k = 0; k < PATCH_ROWS; k++) {
            double change = lambda[k] - before[k];
            for (int i = 0; i < PATCH_ROWS; i++) u[i] += h * h * entry(state, first + i, first + k) * change;
            step = fmax(step, fabs(D[k] * change) * (k == 3 ? p->law.radius : 1));
        }
        moved = fmax(moved, step);
        if (step <= 0.1 * ENOUGH * problem->tolerance.length * h) break;
    }
    p->settled = !(lambda[0] > 0) ? CONE_OPEN : sticks ? CONE_STICK : CONE_SLIP;
    for (int k = 0; k < PATCH_ROWS; k++) {
        if (lambda[k] != p->lambda[k]) tell(state, first + k, h * h * (lambda[k] - p->lambda[k]), rows);
        p->lambda[k] = lambda[k];
    }
    return moved;
}

void condensed_solve(condensed *state, const solver_problem *problem) {
    int rows = PATCH_ROWS * problem->patch_count;
    double h = problem->step->h, enough = ENOUGH * problem->tolerance.length * h;
    memset(state->u, 0, (size_t)state->stride * sizeof *state->u);
    for (int i = 0; i < problem->patch_count; i++)
        memcpy(state->u + PATCH_ROWS * i, problem->patches[i].u, sizeof problem->patches[i].u);
    for (int i = 0; i < problem->patch_count; i++)
        for (int k = 0; k < PATCH_ROWS; k++)
            tell(state, PATCH_ROWS * i + k, h * h * problem->patches[i].lambda[k], rows);
    double moved = INFINITY;
    for (state->sweeps = 0; state->sweeps < MOST_SWEEPS && moved > enough; state->sweeps++) {
        moved = 0;
        for (int i = 0; i < problem->patch_count; i++) moved = fmax(moved, relax(state, problem, i));
    }
    for (int i = 0; i < problem->patch_count; i++)
        memcpy(problem->patches[i].u, state->u + PATCH_ROWS * i, sizeof problem->patches[i].u);
}

contact_measures condensed_measure(const condensed *state, const solver_problem *problem) {
    contact_measures measures = {0};
    for (int i = 0; i < problem->patch_count; i++) {
        patch p = problem->patches[i]; /* the guess of the projection is not to change */
        double D[PATCH_ROWS], lambda[PATCH_ROWS], off[PATCH_ROWS];
        diagonal_of(state, PATCH_ROWS * i, problem->step->h, D);
        memcpy(lambda, p.lambda, sizeof lambda);
        obey(&p, D, p.u, lambda);
        for (int k = 0; k < PATCH_ROWS; k++) off[k] = fabs(lambda[k] - p.lambda[k]);
        double scale = p.law.radius > 0 ? 1 / p.law.radius : 0;
        double force = fmax(fmax(off[0], off[3] * scale), fmax(off[1], off[2]));
        double length = fmax(fmax(D[0] * off[0], D[3] * off[3] * p.law.radius), D[1] * fmax(off[1], off[2]));
        measures.length = fmax(measures.length, length);
        measures.force = fmax(measures.force, force);
        if (!(p.lambda[0] > 0)) continue;
        measures.active++;
        measures.mean += p.lambda[0];
    }
    if (measures.active > 0) measures.mean /= measures.active;
    return measures;
}

bool condensed_stabilize(condensed *state, const solver_problem *problem, double *dq) {
    double h = problem->step->h, enough = problem->tolerance.length * h, deepest = 0;
    int count = problem->patch_count;
    for (int i = 0; i < count; i++) {
        const patch *p = &problem->patches[i];
        state->u[i] = p->u[0] - p->leeway;
        /* What is deep is taken out over some steps. */
        state->u[i] = fmax(state->u[i], -STABILIZE_SPEED * h);
        deepest = fmax(deepest, -state->u[i]);
    }
    if (deepest <= enough) return false;
    for (int i = count; i < state->stride; i++) state->u[i] = 0;
    condensed_assemble(state, problem);
    double *push = state->left; /* not in use any more */
    memset(push, 0, (size_t)count * sizeof *push);
    double moved = INFINITY;
    for (int sweep = 0; sweep < MOST_SWEEPS && moved > enough; sweep++) {
        moved = 0;
        for (int i = 0; i < count; i++) {
            double D = entry(state, i, i);
            if (!(D > 0)) continue;
            double next = fmax(0, push[i] - state->u[i] / D), change = next - push[i];
            if (change == 0) continue;
            push[i] = next;
            moved = fmax(moved, fabs(D * change));
            tell(state, i, change, count);
        }
    }
    memset(dq, 0, 3 * (size_t)problem->pattern->node_count * sizeof *dq);
    for (int i = 0; i < count; i++) {
        const patch *p = &problem->patches[i];
        for (int k = 0; k < p->leg_count && push[i] > 0; k++)
            vec3_store(dq + 3 * p->node[k], vec3_mul_add(vec3_load(dq + 3 * p->node[k]), p->gradient[k], push[i]));
    }
    cholesky_solve(problem->factor, dq);
    return true;
}
