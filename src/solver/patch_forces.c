/* Block Gauss-Seidel over the patches. With D the diagonal of W, a patch takes
 *
 *   lambda_n <- max(0, lambda_n - u_n / (h^2 D_n)),   lambda_f <- P(lambda_f - u_f / (h^2 D_f))
 *
 * and the torques of its pressure like the first, within bounds, in turns: a few times with its own block of W alone, then it
 * tells the others. P is the projection on what mu lambda_n allows (constraint/contensou.h). */
#include "solver/patch_forces.h"

#include "math/simd.h"

#include <math.h>
#include <string.h>

#define MOST_SWEEPS 1000
#define OWN_TURNS 4
#define ENOUGH 0.2 /* of the tolerance of lengths, so that what newton leaves has room too */
#define TRACE 1e-3 /* of the tolerance of lengths, that is nothing */

void patch_forces_layout(patch_forces *state, const solver_problem *problem, int rows, arena *work) {
    size_t nodes = problem->most_patches > 0 ? (size_t)problem->pattern->node_count : 0;
    size_t stride = ((size_t)rows * (size_t)problem->most_patches + 7) / 8 * 8;
    size_t left = 24 * nodes > stride ? 24 * nodes : stride; /* patch_forces_stabilize keeps a number a patch there */
    *state =
        (patch_forces){.rows = rows,
                       .stride = (int)stride,
                       .W = ARENA_ARRAY(work, double, stride *stride),
                       .u = ARENA_ARRAY(work, double, stride),
                       .right = ARENA_ARRAY(work, double, 24 * nodes),
                       .left = ARENA_ARRAY(work, double, left),
                       .nodes = ARENA_ARRAY(work, int, 8 * nodes),
                       .reach = ARENA_ARRAY(work, cholesky_range,
                                            nodes > 0 ? cholesky_plan_facts(problem->factor->plan).front_count : 0)};
    if (state->right) memset(state->right, 0, 24 * nodes * sizeof *state->right);
}

static const vec3 *gradient_of(const patch_forces *state, const solver_problem *problem, int row, const patch **p) {
    *p = &problem->patches[row / state->rows];
    return (*p)->gradient + (size_t)(row % state->rows) * (size_t)(*p)->leg_count;
}

/* Columns first to first + 7 of W. */
static void assemble_eight(patch_forces *state, const solver_problem *problem, int first, int end) {
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

void patch_forces_assemble(patch_forces *state, const solver_problem *problem) {
    int rows = state->rows * problem->patch_count;
    for (int first = 0; first < rows; first += 8)
        assemble_eight(state, problem, first, rows < first + 8 ? rows : first + 8);
}

static double entry(const patch_forces *state, int row, int column) {
    return state->W[(size_t)row * (size_t)state->stride + (size_t)column];
}

/* h^2 D of the patch whose rows begin there. */
static void diagonal_of(const patch_forces *state, int first, double h, double D[PATCH_ROWS]) {
    patch_diagonal(state->W + (size_t)first * (size_t)(state->stride + 1), state->stride, state->rows, h * h, D);
}

/* The parts of a patch's force that take their steps one after the other. */
typedef enum part { PART_NORMAL, PART_SLOPES, PART_FRICTION, PARTS } part;

/* What the patch's law makes of a part of lambda at u. Whether the patch sticks, of friction. */
static bool obey(patch *p, part which, const double D[PATCH_ROWS], const double u[PATCH_ROWS],
                 double lambda[PATCH_ROWS]) {
    if (!(D[0] > 0)) return false; /* nothing there can move */
    if (which == PART_NORMAL) lambda[0] = fmax(0, lambda[0] - u[0] / D[0]);
    if (which == PART_SLOPES) {
        for (int k = PATCH_ROWS_PRINTED; k < PATCH_ROWS; k++) lambda[k] = D[k] > 0 ? lambda[k] - u[k] / D[k] : 0;
        patch_confine_pressure(p, lambda[0], D, lambda);
    }
    return which == PART_FRICTION && patch_friction(p, p->mu * lambda[0], D, u, lambda);
}

/* Row `row` of W times `change` is added to u. */
static void tell(patch_forces *state, int row, double change, int count) {
    const double *W = state->W + (size_t)row * (size_t)state->stride;
    for (int i = 0; i < count; i += 8)
        f64x8_store(state->u + i, f64x8_fma(f64x8_load(W + i), f64x8_set(change), f64x8_load(state->u + i)));
}

/* By how much a patch's force changes, as what that moves and as a force itself. */
typedef struct change {
    double length, force; /* m, N */
} change;

/* One component of lambda changes by so much. Torques count at the radius of gyration. */
static void note(change *sum, const patch *p, const double D[PATCH_ROWS], int k, double by) {
    double arm = k < 3 ? 1 : p->law.radius;
    if (!(arm > 0)) return;
    sum->length = fmax(sum->length, fabs(D[k] * by) * arm);
    sum->force = fmax(sum->force, fabs(by) / arm);
}

/* Small enough, in shares of the tolerances: as a length, and as a force unless there is hardly any motion in it (where nothing
 * pushes, no force is small). */
static bool is_small(const change *c, const solver_problem *problem, double mean, double share) {
    double length = problem->tolerance.length * problem->step->h;
    return c->length <= share * length &&
           (c->force <= share * problem->tolerance.force * mean || c->length <= TRACE * length);
}

/* One patch takes its turns; returns by how much it changed. */
static change relax(patch_forces *state, const solver_problem *problem, int index) {
    patch *p = &problem->patches[index];
    double h = problem->step->h, D[PATCH_ROWS], u[PATCH_ROWS], lambda[PATCH_ROWS];
    change moved = {0};
    int each = state->rows, first = each * index, rows = each * problem->patch_count;
    diagonal_of(state, first, h, D);
    memcpy(u, state->u + first, (size_t)each * sizeof *u);
    memcpy(lambda, p->lambda, sizeof lambda);
    bool sticks = false;
    for (int turn = 0; turn < OWN_TURNS; turn++) {
        change step = {0};
        for (part which = 0; which < PARTS; which++) {
            double before[PATCH_ROWS];
            memcpy(before, lambda, sizeof before);
            sticks = obey(p, which, D, u, lambda);
            for (int k = 0; k < each; k++) {
                double by = lambda[k] - before[k];
                for (int i = 0; i < each && by != 0; i++) u[i] += h * h * entry(state, first + i, first + k) * by;
                note(&step, p, D, k, by);
            }
        }
        moved = (change){fmax(moved.length, step.length), fmax(moved.force, step.force)};
        if (is_small(&step, problem, lambda[0], 0.1 * ENOUGH)) break;
    }
    p->settled = !(lambda[0] > 0) ? CONE_OPEN : sticks ? CONE_STICK : CONE_SLIP;
    for (int k = 0; k < each; k++) {
        if (lambda[k] != p->lambda[k]) tell(state, first + k, h * h * (lambda[k] - p->lambda[k]), rows);
        p->lambda[k] = lambda[k];
    }
    return moved;
}

/* Of the patches that push, N. */
static double mean_force(const solver_problem *problem) {
    double sum = 0;
    int active = 0;
    for (int i = 0; i < problem->patch_count; i++) {
        sum += problem->patches[i].lambda[0];
        active += problem->patches[i].lambda[0] > 0;
    }
    return active > 0 ? sum / active : 0;
}

void patch_forces_solve(patch_forces *state, const solver_problem *problem) {
    int each = state->rows, rows = each * problem->patch_count;
    double h = problem->step->h;
    memset(state->u, 0, (size_t)state->stride * sizeof *state->u);
    for (int i = 0; i < problem->patch_count; i++)
        memcpy(state->u + each * i, problem->patches[i].u, (size_t)each * sizeof *state->u);
    for (int i = 0; i < problem->patch_count; i++)
        for (int k = 0; k < each; k++) tell(state, each * i + k, h * h * problem->patches[i].lambda[k], rows);
    bool done = false;
    for (state->sweeps = 0; state->sweeps < MOST_SWEEPS && !done; state->sweeps++) {
        change moved = {0};
        for (int i = 0; i < problem->patch_count; i++) {
            change one = relax(state, problem, i);
            moved = (change){fmax(moved.length, one.length), fmax(moved.force, one.force)};
        }
        done = is_small(&moved, problem, mean_force(problem), ENOUGH);
    }
    for (int i = 0; i < problem->patch_count; i++)
        memcpy(problem->patches[i].u, state->u + each * i, (size_t)each * sizeof *state->u);
}

contact_measures patch_forces_measure(const patch_forces *state, const solver_problem *problem) {
    contact_measures measures = {.mean = mean_force(problem)};
    for (int i = 0; i < problem->patch_count; i++) {
        patch p = problem->patches[i]; /* the guess of the projection is not to change */
        double D[PATCH_ROWS], lambda[PATCH_ROWS];
        change off = {0};
        diagonal_of(state, state->rows * i, problem->step->h, D);
        memcpy(lambda, p.lambda, sizeof lambda);
        for (part which = 0; which < PARTS; which++) obey(&p, which, D, p.u, lambda);
        for (int k = 0; k < state->rows; k++) note(&off, &p, D, k, lambda[k] - p.lambda[k]);
        measures.active += p.lambda[0] > 0;
        measures.length = fmax(measures.length, off.length);
        if (!is_small(&off, problem, measures.mean, 1)) measures.force = fmax(measures.force, off.force);
    }
    return measures;
}

bool patch_forces_stabilize(patch_forces *state, const solver_problem *problem, double *dq) {
    double h = problem->step->h, enough = problem->tolerance.length * h, deepest = 0;
    int count = problem->patch_count;
    for (int i = 0; i < count; i++) {
        const patch *p = &problem->patches[i];
        state->u[i] = p->u[0] - p->leeway;
        /* What is deep is taken out over some steps. */
        state->u[i] = fmax(state->u[i], -CONTACT_RECOVERY * h);
        deepest = fmax(deepest, -state->u[i]);
    }
    if (deepest <= enough) return false;
    for (int i = count; i < state->stride; i++) state->u[i] = 0;
    patch_forces_assemble(state, problem);
    double *push = state->left; /* not in use any more */
    memset(push, 0, (size_t)count * sizeof *push);
    double moved = INFINITY;
    for (int sweep = 0; sweep < MOST_SWEEPS && moved > enough; sweep++) {
        moved = 0;
        for (int i = 0; i < count; i++) {
            double D = entry(state, i, i);
            if (!(D > 0)) continue;
            double next = fmax(0, push[i] - state->u[i] / D), by = next - push[i];
            if (by == 0) continue;
            push[i] = next;
            moved = fmax(moved, fabs(D * by));
            tell(state, i, by, count);
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
