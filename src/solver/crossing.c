#include "solver/crossing.h"

#include "solver/rows.h"

#include <math.h>
#include <string.h>

#define TOLERANCE 1e-3 /* of the right-hand side that is left: a tenth of what lets newton's multipliers move */
#define MOST_STEPS 100

static int size_of(const solver_problem *problem) {
    return 3 * problem->pattern->node_count;
}

void crossing_layout(crossing *state, const solver_problem *problem, arena *work) {
    bool any = problem->crosses;
    int most = any ? problem->most_contacts : 0, components = any ? size_of(problem) : 0;
    *state = (crossing){.index = ARENA_ARRAY(work, int, most),
                        .stiffness = ARENA_ARRAY(work, mat3, most),
                        .residual = ARENA_ARRAY(work, double, components),
                        .solved = ARENA_ARRAY(work, double, components),
                        .direction = ARENA_ARRAY(work, double, components),
                        .product = ARENA_ARRAY(work, double, components)};
}

int crossing_collect(crossing *state, const solver_problem *problem) {
    state->count = 0;
    for (int i = 0; i < problem->contact_count; i++) {
        const contact *c = &problem->contacts[i];
        if (!c->crosses || c->state == CONE_OPEN) continue;
        state->index[state->count] = i;
        state->stiffness[state->count++] = contact_stiffness(c);
    }
    return state->count;
}

/* y = H x */
static void multiply(const crossing *state, const solver_problem *problem, const double *blocks, const double *x,
                     double *y) {
    double h = problem->step->h;
    block_pattern_multiply(problem->pattern, blocks, x, y);
    for (int i = 0; i < state->count; i++)
        contact_add_crossing(&problem->contacts[state->index[i]], &state->stiffness[i], h * h, x, y);
}

int crossing_solve(crossing *state, const solver_problem *problem, const double *blocks, double *x) {
    int n = size_of(problem), steps = 0;
    double *r = state->residual, *z = state->solved, *p = state->direction, *q = state->product;
    memcpy(r, x, (size_t)n * sizeof *r);
    memset(x, 0, (size_t)n * sizeof *x);
    double enough = TOLERANCE * sqrt(rows_dot(r, r, n)), before = 0;
    while (steps < MOST_STEPS) {
        memcpy(z, r, (size_t)n * sizeof *z);
        cholesky_solve(problem->factor, z);
        double now = rows_dot(r, z, n), keep = steps > 0 ? now / before : 0;
        for (int i = 0; i < n; i++) p[i] = steps > 0 ? z[i] + keep * p[i] : z[i];
        multiply(state, problem, blocks, p, q);
        double curvature = rows_dot(p, q, n);
        if (!(curvature > 0)) break;
        double step = now / curvature;
        for (int i = 0; i < n; i++) x[i] += step * p[i], r[i] -= step * q[i];
        before = now;
        steps++;
        if (sqrt(rows_dot(r, r, n)) <= enough) break;
    }
    return steps;
}
