/* W = h^2 Y^T Y with Y = L^-1 P J^T: half a substitution for each row of a contact, over the rows of L that it reaches,
 * eight at a time. Groups of eight are independent of each other, so threads take some each, and every number has one
 * owner. */
#include "solver/condense.h"

#include "math/simd.h"
#include "solver/rows.h"

#include <math.h>
#include <string.h>

/* Of W's diagonal, added to it: points of one tet may be more than its nodes can tell apart, and then W is singular.
 * The forces that this holds back, against the last multipliers, are those that move nothing. */
#define PROXIMAL 1e-3
#define STICKS (1 - 1e-9) /* of the bound of friction: less than that sticks */

static int group_count(int contacts) {
    return (CONTACT_ROWS * contacts + 7) / 8;
}

void condense_layout(condense *state, const solver_problem *problem, arena *work) {
    const cholesky_plan *plan = problem->factor->plan;
    int most = problem->most_contacts < CONDENSE_MOST ? problem->most_contacts : CONDENSE_MOST;
    size_t components = most > 0 ? 3 * (size_t)problem->pattern->node_count : 0;
    *state = (condense){.index = ARENA_ARRAY(work, int, most),
                        .rows = ARENA_ARRAY(work, constraint_row, CONTACT_ROWS * most),
                        .tails = ARENA_ARRAY(work, row_tail, CONTACT_ROWS * most),
                        .tail_node = ARENA_ARRAY(work, int, CONTACT_TAIL *CONTACT_ROWS *most),
                        .tail_gradient = ARENA_ARRAY(work, vec3, CONTACT_TAIL * CONTACT_ROWS * most),
                        .groups = ARENA_ARRAY(work, condense_group, group_count(most)),
                        .views = ARENA_ARRAY(work, cholesky_factor, CONDENSE_PIECES),
                        .right = ARENA_ARRAY(work, double, components),
                        .start = ARENA_ARRAY(work, double, components)};
    cone_problem_layout(&state->small, most, work);
    for (int g = 0; g < group_count(most); g++) {
        condense_group group = {.half = ARENA_ARRAY(work, double, 8 * components),
                                .reach = ARENA_ARRAY(work, cholesky_range, cholesky_plan_facts(plan).front_count)};
        if (group.half) memset(group.half, 0, 8 * components * sizeof *group.half);
        if (state->groups) state->groups[g] = group;
    }
    for (int i = 0; i < CONDENSE_PIECES && most > 0; i++) {
        cholesky_factor view;
        cholesky_view_layout(&view, plan, work);
        if (state->views) state->views[i] = view;
    }
}

int condense_collect(condense *state, const solver_problem *problem) {
    int count = 0;
    for (int i = 0; i < problem->contact_count; i++) {
        const contact *c = &problem->contacts[i];
        if (c->state == CONE_OPEN && !(c->lambda.x > 0)) continue;
        if (count == state->small.most) return 0;
        state->index[count++] = i;
    }
    return state->small.count = count;
}

/* A job over the groups: piece i takes i, i + pieces, and so on. */
typedef struct condense_job {
    condense *state;
    const solver_problem *problem;
    int groups, pieces;
} condense_job;

static void place(double *right, vec3 gradient) {
    right[0] = gradient.x, right[8] = gradient.y, right[16] = gradient.z;
}

/* J^T of the group's rows instead of what was there. Returns how many nodes they have. */
static int place_rows(const condense *state, const solver_problem *problem, int g, int *nodes) {
    const int *position = cholesky_plan_position(problem->factor->plan);
    const condense_group *group = &state->groups[g];
    for (int r = 0; r < group->range_count; r++)
        memset(group->half + 8 * (size_t)group->reach[r].first, 0,
               8 * (size_t)group->reach[r].count * sizeof *group->half);
    int node_count = 0;
    for (int lane = 0; lane < 8 && 8 * g + lane < CONTACT_ROWS * state->small.count; lane++) {
        const constraint_row *row = &state->rows[8 * g + lane];
        for (int a = 0; a < ROW_NODES + (row->tail ? row->tail->count : 0); a++) {
            bool first = a < ROW_NODES;
            int node = first ? row->node[a] : row->tail->node[a - ROW_NODES];
            if (node < 0) continue;
            place(group->half + 24 * (size_t)position[node] + lane,
                  first ? row->gradient[a] : row->tail->gradient[a - ROW_NODES]);
            nodes[node_count++] = node;
        }
    }
    return node_count;
}

static void substitute_piece(void *context, int piece) {
    const condense_job *job = context;
    int nodes[8 * CONTACT_LEGS];
    for (int g = piece; g < job->groups; g += job->pieces) {
        condense_group *group = &job->state->groups[g];
        int count = place_rows(job->state, job->problem, g, nodes);
        group->range_count = cholesky_forward_reach(&job->state->views[piece], nodes, count, group->half, group->reach);
    }
}

/* The 8x8 blocks of W of two groups. */
static void multiply_groups(condense *state, int a, int b, double scale) {
    const condense_group *from = &state->groups[a];
    size_t stride = (size_t)state->small.stride;
    f64x8 sum[8];
    SIMD_FOR (i, 0, 8) sum[i] = f64x8_set(0);
    for (int r = 0; r < from->range_count; r++) {
        size_t first = 8 * (size_t)from->reach[r].first;
        const double *left = from->half + first, *right = state->groups[b].half + first;
        for (int i = 0; i < from->reach[r].count; i++, left += 8, right += 8) {
            f64x8 row = f64x8_load(right);
            SIMD_FOR (k, 0, 8) sum[k] = f64x8_fma(f64x8_set(left[k]), row, sum[k]);
        }
    }
    for (int i = 0; i < 8; i++) {
        f64x8 row = scale * sum[i];
        f64x8_store(state->small.W + (size_t)(8 * a + i) * stride + 8 * (size_t)b, row);
        for (int j = 0; j < 8 && a != b; j++)
            state->small.W[(size_t)(8 * b + j) * stride + (size_t)(8 * a + i)] = row[j];
    }
}

/* W and Y^T start of a piece's groups. */
static void multiply_piece(void *context, int piece) {
    const condense_job *job = context;
    condense *state = job->state;
    double h = job->problem->step->h;
    for (int a = piece; a < job->groups; a += job->pieces) {
        const condense_group *group = &state->groups[a];
        for (int b = 0; b <= a; b++) multiply_groups(state, a, b, h * h);
        f64x8 sum = f64x8_set(0);
        for (int r = 0; r < group->range_count; r++)
            for (int i = group->reach[r].first; i < group->reach[r].first + group->reach[r].count; i++)
                sum = f64x8_fma(f64x8_load(group->half + 8 * (size_t)i), f64x8_set(state->start[i]), sum);
        f64x8_store(state->small.q + 8 * a, sum);
    }
}

/* W and q, and where the forces start. */
static void formulate(condense *state, const solver_problem *problem) {
    cone_problem *small = &state->small;
    int groups = group_count(small->count);
    condense_job job = {state, problem, groups, groups < CONDENSE_PIECES ? groups : CONDENSE_PIECES};
    for (int i = 0; i < CONDENSE_PIECES; i++) cholesky_view_open(&state->views[i], problem->factor);
    for (int i = 0; i < small->count; i++)
        contact_rows_of_point(&problem->contacts[state->index[i]], state->index[i], state->rows + CONTACT_ROWS * i,
                              state->tails + CONTACT_ROWS * i, state->tail_node + CONTACT_TAIL * CONTACT_ROWS * i,
                              state->tail_gradient + CONTACT_TAIL * CONTACT_ROWS * i);
    workers_run(problem->step->pool, job.pieces, substitute_piece, &job);
    workers_run(problem->step->pool, job.pieces, multiply_piece, &job);
    for (int i = 0; i < small->count; i++) {
        const contact *c = &problem->contacts[state->index[i]];
        double u[3], lambda[3];
        vec3_store(u, c->u);
        vec3_store(lambda, c->lambda);
        for (int k = 0; k < CONTACT_ROWS; k++) {
            int row = CONTACT_ROWS * i + k;
            double *diagonal = small->W + (size_t)row * (size_t)small->stride + row, more = PROXIMAL * *diagonal;
            *diagonal += more;
            small->q[row] += u[k] - more * lambda[k];
        }
        small->mu[i] = c->mu;
        small->force[i] = c->lambda;
    }
}

bool condense_solve(condense *state, const solver_problem *problem, const double *gradient, double *direction) {
    int n = 3 * problem->pattern->node_count;
    double h = problem->step->h;
    cone_problem *small = &state->small;
    for (int i = 0; i < n; i++) state->right[i] = -gradient[i];
    contacts_gradient(problem->contacts, problem->contact_count, h * h, state->right);
    cholesky_forward(problem->factor, state->right, state->start);
    formulate(state, problem);
    if (!cone_problem_solve(small)) return false;
    for (int i = 0; i < small->count; i++)
        if (small->force[i].x > problem->contacts[state->index[i]].most) return false;
    for (int i = 0; i < small->count; i++) {
        contact *c = &problem->contacts[state->index[i]];
        c->lambda = small->force[i];
        bool sticks = cone_tangential(c->lambda) < STICKS * c->mu * c->lambda.x;
        c->shift = sticks ? 0 : c->mu * cone_tangential(small->u[i]);
        contact_add_force(c, vec3_scale(mat3_mul_vec_transposed(c->frame, c->lambda), h * h), state->right);
    }
    memcpy(direction, state->right, (size_t)n * sizeof *direction);
    cholesky_solve(problem->factor, direction);
    return true;
}
