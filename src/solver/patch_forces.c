/* Forces of patches by block Gauss-Seidel. With D the diagonal of W, a patch takes
 *
 *   lambda_n <- max(0, lambda_n - u_n / (h^2 D_n)),   lambda_f <- P(lambda_f - u_f / (h^2 D_f))
 *
 * and the torques of its pressure like the first, within their bounds: a few times in turn with its own block of W
 * alone, then the change is added to u of all patches. P is the projection on the friction that mu lambda_n allows
 * (contact/patch.h). Where the patch sticks and presses everywhere, its own block is solved directly
 * (contact/patch_law.c). */
#include "solver/solver.h"

#include <math.h>
#include <string.h>

#define MAX_SWEEPS 1000
#define OWN_TURNS 4
#define ENOUGH 0.2 /* of the tolerance of lengths, which leaves room for the error of newton */
#define TRACE 1e-3 /* of the tolerance of lengths: negligible */

void patch_forces_layout(patch_forces *state, const solver_problem *problem, int rows, arena *work) {
    int max = rows * problem->max_patches, stride = (max + 7) / 8 * 8;
    *state = (patch_forces){.rows = rows,
                            .stride = stride,
                            .W = ARENA_ARRAY(work, double, (size_t)stride *(size_t)stride),
                            .u = ARENA_ARRAY(work, double, stride),
                            .push = ARENA_ARRAY(work, double, stride),
                            .own = ARENA_ARRAY(work, patch_response, problem->max_patches),
                            .sparse = ARENA_ARRAY(work, compliance_row, max)};
    row_compliance_layout(&state->products, problem->factor->plan, problem->pattern->node_count, max, work);
}

void patch_forces_assemble(patch_forces *state, const solver_problem *problem) {
    int each = state->rows, rows = each * problem->patch_count;
    double h = problem->step->h;
    for (int row = 0; row < rows; row++) {
        const patch *p = &problem->patches[row / each];
        size_t first = (size_t)(row % each) * (size_t)p->leg_count;
        state->sparse[row] = (compliance_row){p->arm[row % each] > 0 ? p->leg_count : 0, p->node, p->gradient + first};
    }
    state->products.reduction = problem->reduction;
    row_compliance_product(&state->products, problem->factor, state->sparse, rows, state->W, state->stride);
    for (int i = 0; i < problem->patch_count; i++)
        state->own[i] =
            patch_respond(state->W + (size_t)(each * i) * (size_t)(state->stride + 1), state->stride, each, h * h);
}

static double entry(const patch_forces *state, int row, int column) {
    return state->W[(size_t)row * (size_t)state->stride + (size_t)column];
}

/* The parts of the force of a patch, which step one after the other. */
typedef enum part { PART_NORMAL, PART_SLOPES, PART_FRICTION, PARTS } part;

/* Projects one part of lambda on the law of the patch at u. For friction: true if the patch sticks. */
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

/* u += change times row `row` of W. */
static void add_response(patch_forces *state, int row, double change, int count) {
    const double *W = state->W + (size_t)row * (size_t)state->stride;
    for (int i = 0; i < count; i += 8)
        f64x8_store(state->u + i, f64x8_fma(f64x8_load(W + i), f64x8_set(change), f64x8_load(state->u + i)));
}

/* The change of the force of a patch, as a motion and as a force. */
typedef struct change {
    double length, force; /* m, N */
} change;

/* Includes the change of one component of lambda. Torques count at their arms. */
static void include_change(change *sum, const patch *p, const double D[PATCH_ROWS], int k, double by) {
    double arm = p->arm[k];
    if (!(arm > 0)) return;
    sum->length = fmax(sum->length, fabs(D[k] * by) * arm);
    sum->force = fmax(sum->force, fabs(by) / arm);
}

/* Whether a change is below a share of the tolerances: as a length, and as a force unless the motion is negligible
 * (without active patches, no force is small). */
static bool is_small(const change *c, const solver_problem *problem, double mean, double share) {
    double length = problem->tolerance.length * problem->step->h;
    return c->length <= share * length &&
           (c->force <= share * problem->tolerance.force * mean || c->length <= TRACE * length);
}

/* Steps one patch; returns its change. */
static change relax(patch_forces *state, const solver_problem *problem, int index) {
    patch *p = &problem->patches[index];
    const double *D = state->own[index].D;
    double h = problem->step->h, u[PATCH_ROWS] = {0}, lambda[PATCH_ROWS];
    change moved = {0};
    int each = state->rows, first = each * index, rows = each * problem->patch_count;
    memcpy(u, state->u + first, (size_t)each * sizeof *u);
    memcpy(lambda, p->lambda, sizeof lambda);
    bool sticks = patch_settle(p, &state->own[index], u, lambda);
    for (int k = 0; k < each && sticks; k++) include_change(&moved, p, D, k, lambda[k] - p->lambda[k]);
    for (int turn = 0, turns = sticks ? 0 : OWN_TURNS; turn < turns; turn++) {
        change step = {0};
        for (part which = 0; which < PARTS; which++) {
            double before[PATCH_ROWS];
            memcpy(before, lambda, sizeof before);
            sticks = obey(p, which, D, u, lambda);
            for (int k = 0; k < each; k++) {
                double by = lambda[k] - before[k];
                for (int i = 0; i < each && by != 0; i++) u[i] += h * h * entry(state, first + i, first + k) * by;
                include_change(&step, p, D, k, by);
            }
        }
        moved = (change){fmax(moved.length, step.length), fmax(moved.force, step.force)};
        if (is_small(&step, problem, lambda[0], 0.1 * ENOUGH)) break;
    }
    p->settled = !(lambda[0] > 0) ? CONE_OPEN : sticks ? CONE_STICK : CONE_SLIP;
    for (int k = 0; k < each; k++) {
        if (lambda[k] != p->lambda[k]) add_response(state, first + k, h * h * (lambda[k] - p->lambda[k]), rows);
        p->lambda[k] = lambda[k];
    }
    return moved;
}

/* Mean normal force of the active patches, N. */
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
        for (int k = 0; k < each; k++) add_response(state, each * i + k, h * h * problem->patches[i].lambda[k], rows);
    bool done = false;
    for (state->sweeps = 0; state->sweeps < MAX_SWEEPS && !done; state->sweeps++) {
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
        patch *p = &problem->patches[i];
        const double *D = state->own[i].D;
        double lambda[PATCH_ROWS], guess[3];
        change off = {0};
        memcpy(lambda, p->lambda, sizeof lambda);
        memcpy(guess, p->guess, sizeof guess);
        for (part which = 0; which < PARTS; which++) obey(p, which, D, p->u, lambda);
        memcpy(p->guess, guess, sizeof guess); /* evaluating does not change the start of the next projection */
        for (int k = 0; k < state->rows; k++) include_change(&off, p, D, k, lambda[k] - p->lambda[k]);
        measures.active += p->lambda[0] > 0;
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
        state->u[i] = p->u[0] - p->allowed_penetration;
        /* Deep penetration is corrected over several steps. */
        state->u[i] = fmax(state->u[i], -CONTACT_RECOVERY * h);
        deepest = fmax(deepest, -state->u[i]);
    }
    if (deepest <= enough) return false;
    for (int i = count; i < state->stride; i++) state->u[i] = 0;
    patch_forces_assemble(state, problem);
    double *push = state->push;
    memset(push, 0, (size_t)count * sizeof *push);
    double moved = INFINITY;
    for (int sweep = 0; sweep < MAX_SWEEPS && moved > enough; sweep++) {
        moved = 0;
        for (int i = 0; i < count; i++) {
            double D = entry(state, i, i);
            if (!(D > 0)) continue;
            double next = fmax(0, push[i] - state->u[i] / D), by = next - push[i];
            if (by == 0) continue;
            push[i] = next;
            moved = fmax(moved, fabs(D * by));
            add_response(state, i, by, count);
        }
    }
    memset(dq, 0, 3 * (size_t)problem->pattern->node_count * sizeof *dq);
    for (int i = 0; i < count; i++) {
        const patch *p = &problem->patches[i];
        for (int k = 0; k < p->leg_count && push[i] > 0; k++)
            vec3_store(dq + 3 * p->node[k], vec3_mul_add(vec3_load(dq + 3 * p->node[k]), p->gradient[k], push[i]));
    }
    solver_solve(problem, dq);
    return true;
}
