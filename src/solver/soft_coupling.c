/* Conjugate gradients for contact between soft bodies (solver.h has the equations). */
#include "solver/solver.h"

#include "body/soft.h"
#include "core/dense.h"
#include "hand/hand.h"
#include "solver/baseline/baseline.h"

#include <math.h>
#include <string.h>

static int size_of(const solver_problem *problem) {
    return 3 * problem->pattern->node_count;
}

static int whole_bodies(const solver_problem *problem) {
    int count = 0;
    for (int k = 0; k < problem->body_count && count < COARSE_BODIES_MAX; k++)
        count += problem->bodies[k]->model->kind == &soft_class;
    return count;
}

/* The first soft body that moves as a whole with body k: itself, or the first flesh on the same bones. */
static int first_on_bones(const solver_problem *problem, int k) {
    const soft_model *body = (const soft_model *)problem->bodies[k]->model;
    for (int other = 0; body->carriers && other < k; other++)
        if (problem->bodies[other]->model->family == body->base.family) return other;
    return k;
}

/* Soft bodies are the first of a system. Bones translate with their flesh. */
static void find_bodies(soft_coupling *state, const solver_problem *problem) {
    for (int i = 0; i < problem->pattern->node_count; i++) state->body[i] = -1;
    for (int k = 0; k < state->whole; k++) {
        const body_model *body = problem->bodies[k]->model;
        int first = problem->first_node[k], count = body->system_node_count, whole = first_on_bones(problem, k);
        for (int i = first; i < first + count; i++) state->body[i] = whole;
        for (int b = 0; b < problem->body_count && whole == k; b++)
            if (problem->bodies[b]->model->kind == &bones_class && problem->bodies[b]->model->family == body->family)
                state->body[problem->first_node[b] + BONES_LINEAR] = k;
    }
}

void soft_coupling_layout(soft_coupling *state, const solver_problem *problem, arena *work) {
    int components = size_of(problem), whole = whole_bodies(problem);
    *state = (soft_coupling){.links = ARENA_ARRAY(work, contact_link, problem->max_contacts),
                             .body = ARENA_ARRAY(work, int, components / 3),
                             .whole = whole,
                             .coarse = ARENA_ARRAY(work, double, 9 * (size_t)whole * (size_t)whole),
                             .residual = ARENA_ARRAY(work, double, components),
                             .solved = ARENA_ARRAY(work, double, components),
                             .direction = ARENA_ARRAY(work, double, components),
                             .product = ARENA_ARRAY(work, double, components),
                             .factored = ARENA_ARRAY(work, double, components)};
    if (state->body) find_bodies(state, problem);
}

static void collect(soft_coupling *state, const solver_problem *problem) {
    state->count = problem->link_count;
    if (problem->link_count > 0)
        memcpy(state->links, problem->links, (size_t)problem->link_count * sizeof *state->links);
    for (int i = 0; i < problem->contact_count; i++) {
        const contact *c = &problem->contacts[i];
        if (!c->couples_soft || c->state == CONE_OPEN) continue;
        state->links[state->count++] = (contact_link){.contact = c, .stiffness = contact_stiffness(c)};
    }
}

/* y += C x */
static void add_links(const contact_link *links, int count, double h, const double *x, double *y) {
    for (int i = 0; i < count; i++) contact_add_soft_coupling(links[i].contact, &links[i].stiffness, h * h, x, y);
}

void soft_coupling_multiply(const solver_problem *problem, const double *x, double *y) {
    block_pattern_multiply(problem->pattern, problem->A, x, y);
    add_links(problem->links, problem->link_count, problem->step->h, x, y);
}

/* Adds weight times a 3x3 block to T^T H T at bodies (a, b). */
static void add_coarse(soft_coupling *state, int a, int b, const double *block, double weight) {
    double *target = state->coarse + 9 * (size_t)a * (size_t)state->whole + 3 * (size_t)b;
    for (int row = 0; row < 3; row++)
        for (int column = 0; column < 3; column++)
            target[3 * row * state->whole + column] += weight * block[3 * row + column];
}

static void assemble_coarse(soft_coupling *state, const solver_problem *problem, const double *blocks) {
    const block_pattern *pattern = problem->pattern;
    double h = problem->step->h;
    memset(state->coarse, 0, 9 * (size_t)state->whole * (size_t)state->whole * sizeof *state->coarse);
    for (int j = 0; j < pattern->node_count; j++) {
        int b = state->body[j];
        double sum[9] = {0};
        if (b < 0) continue;
        /* No pattern couples two soft bodies: the blocks of a column belong to the same body or to a rigid one. */
        for (int k = pattern->column_start[j]; k < pattern->column_start[j + 1]; k++) {
            const double *block = blocks + 9 * (size_t)k;
            if (state->body[pattern->row[k]] < 0) continue;
            bool diagonal = pattern->row[k] == j;
            for (int e = 0; e < 9; e++) sum[e] += diagonal ? block[e] : block[e] + block[e / 3 + 3 * (e % 3)];
        }
        add_coarse(state, b, b, sum, 1);
    }
    for (int i = 0; i < state->count; i++) {
        const contact *c = state->links[i].contact;
        double weights[2] = {0};
        int body[2] = {-1, -1};
        for (int k = 0; k < c->leg_count; k++) {
            weights[c->legs[k].other] += c->legs[k].weight;
            body[c->legs[k].other] = state->body[c->legs[k].node];
        }
        if (body[0] < 0 || body[1] < 0) continue;
        double weight = h * h * weights[0] * weights[1];
        add_coarse(state, body[0], body[1], state->links[i].stiffness.m, weight);
        add_coarse(state, body[1], body[0], state->links[i].stiffness.m, weight);
    }
}

/* x += T (T^T H T)^-1 T^T r */
static void add_whole(const soft_coupling *state, const solver_problem *problem, const double *r, double *x) {
    int n = 3 * state->whole, nodes = problem->pattern->node_count;
    double y[3 * COARSE_BODIES_MAX] = {0};
    for (int i = 0; i < nodes; i++)
        for (int c = 0; c < 3 && state->body[i] >= 0; c++) y[3 * state->body[i] + c] += r[3 * i + c];
    dense_cholesky_solve(state->coarse, n, n, y);
    for (int i = 0; i < nodes; i++)
        for (int c = 0; c < 3 && state->body[i] >= 0; c++) x[3 * i + c] += y[3 * state->body[i] + c];
}

/* Whether two bodies touch, not only one itself: only then does M lack a common motion. */
static bool couples_soft_bodies(const soft_coupling *state) {
    for (int i = 0; i < state->count; i++) {
        const contact *c = state->links[i].contact;
        bool side[2] = {false, false};
        for (int k = 0; k < c->leg_count; k++) {
            side[c->legs[k].other] = true;
            if (state->body[c->legs[k].node] != state->body[c->legs[0].node]) return true;
        }
        if (!side[0] || !side[1]) return true; /* the other body cannot move */
    }
    return false;
}

int soft_coupling_solve(const solver_problem *problem, const double *blocks, soft_coupling_end end, double *x) {
    soft_coupling *state = problem->soft_coupling;
    int n = size_of(problem), steps = 0;
    if (state) collect(state, problem);
    if (!state || state->count == 0) {
        solver_solve(problem, x);
        return 0;
    }
    double *r = state->residual, *z = state->solved, *p = state->direction, *q = state->product, *m = state->factored;
    bool two_bodies = couples_soft_bodies(state);
    assemble_coarse(state, problem, blocks);
    /* A body without unknowns has a row of zeros, which is left out. */
    (void)dense_cholesky(state->coarse, 3 * state->whole, 3 * state->whole, 0);
    memcpy(r, x, (size_t)n * sizeof *r);
    solver_fold(problem, r);
    memset(x, 0, (size_t)n * sizeof *x);
    double enough = fmax(end.share * sqrt(rows_dot(r, r, n)), end.trace), before = 0;
    while (steps < end.max) {
        memcpy(z, r, (size_t)n * sizeof *z);
        solver_solve(problem, z);
        if (two_bodies) add_whole(state, problem, r, z);
        double now = rows_dot(r, z, n), keep = steps > 0 ? now / before : 0;
        for (int i = 0; i < n; i++) p[i] = steps > 0 ? z[i] + keep * p[i] : z[i];
        /* M p: M z is the residual, unless T contributes to z. */
        if (two_bodies)
            block_pattern_multiply(problem->pattern, blocks, p, m);
        else
            for (int i = 0; i < n; i++) m[i] = steps > 0 ? r[i] + keep * m[i] : r[i];
        memcpy(q, m, (size_t)n * sizeof *q);
        add_links(state->links, state->count, problem->step->h, p, q);
        solver_fold(problem, q);
        double curvature = rows_dot(p, q, n);
        if (!(curvature > 0)) break;
        double step = now / curvature;
        for (int i = 0; i < n; i++) x[i] += step * p[i], r[i] -= step * q[i];
        before = now;
        steps++;
        if (sqrt(rows_dot(r, r, n)) <= enough) break;
    }
    add_whole(state, problem, r, x);
    return steps;
}
