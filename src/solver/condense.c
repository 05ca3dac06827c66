/* The condensed contact problem of newton.h. W = h^2 Y^T Y with Y = L^-1 P J^T: half a solve for each row of a
 * contact, over the rows of L that it reaches, eight at a time. Groups of eight are independent, so threads take
 * some each, and every number has one owner. */
#include "solver/newton.h"

#include "solver/baseline/baseline.h"

#include <math.h>
#include <string.h>

/* The small problem: Newton's method on the residual r(f) = f - P(z), z = f - (u + mu |u_t| e_n) / W_nn, which is
 * zero at the solution (contact/constraint.h), with P the projection on the cone and D its derivative:
 *
 *   r' = 1 - D + D S W / W_nn,   S = 1 + mu e_n u_t^T / |u_t|
 *
 * This is a dense matrix that is not symmetric, so it is factored with pivoting (not by core/dense.h). The residual
 * is piecewise smooth (open, stick, slip). Where a step does not reduce it, the forces are in the wrong piece; then
 * some sweeps of Gauss-Seidel follow, each contact solved exactly with the others fixed. Alone these would need
 * hundreds where a light body lies between two others. */

#define RESIDUAL 1e-6 /* of the largest force */
#define MAX_PASSES 30
#define SWEEPS 5
#define SMALLEST_PIVOT 1e-12
#define SLIP_STEPS 40
#define SLIP_RESIDUAL 1e-10 /* of the bound of friction */

void cone_problem_layout(cone_problem *problem, int max, arena *work) {
    int stride = (3 * max + 7) / 8 * 8;
    *problem = (cone_problem){.max = max,
                              .stride = stride,
                              .W = ARENA_ARRAY(work, double, stride *stride),
                              .q = ARENA_ARRAY(work, double, stride),
                              .mu = ARENA_ARRAY(work, double, max),
                              .force = ARENA_ARRAY(work, vec3, max),
                              .u = ARENA_ARRAY(work, vec3, max),
                              .slope = ARENA_ARRAY(work, double, stride *stride),
                              .step = ARENA_ARRAY(work, double, stride)};
}

static const double *row_of(const cone_problem *p, int row) {
    return p->W + (size_t)row * (size_t)p->stride;
}

static double entry(const cone_problem *p, int row, int column) {
    return row_of(p, row)[column];
}

/* q + W f of contact i. */
static vec3 motion(const cone_problem *p, int i) {
    double u[3];
    for (int k = 0; k < 3; k++) {
        const double *row = row_of(p, 3 * i + k);
        u[k] = p->q[3 * i + k];
        for (int j = 0; j < p->count; j++) u[k] += vec3_dot(vec3_load(row + 3 * j), p->force[j]);
    }
    return vec3_load(u);
}

/* Fills the rows of r' of contact i. */
static void fill_slope(cone_problem *p, int i, const mat3 *D, vec3 u) {
    double slip = cone_tangential(u), share = 1 / entry(p, 3 * i, 3 * i);
    double lift_y = slip > 0 ? p->mu[i] * u.y / slip : 0, lift_z = slip > 0 ? p->mu[i] * u.z / slip : 0;
    const double *n = row_of(p, 3 * i), *t1 = n + p->stride, *t2 = t1 + p->stride;
    for (int k = 0; k < 3; k++) {
        double *row = p->slope + (size_t)(3 * i + k) * (size_t)p->stride;
        double a = share * D->m[3 * k], b = share * D->m[3 * k + 1] + a * lift_y,
               c = share * D->m[3 * k + 2] + a * lift_z;
        for (int j = 0; j < 3 * p->count; j++) row[j] = a * n[j] + b * t1[j] + c * t2[j];
        for (int l = 0; l < 3; l++) row[3 * i + l] += (k == l) - D->m[3 * k + l];
    }
}

/* Sets the residual (in step), its derivative and u. Returns the largest residual relative to the largest force. */
static double evaluate(cone_problem *p) {
    double worst = 0, largest = 0;
    for (int i = 0; i < p->count; i++) {
        vec3 u = p->u[i] = motion(p, i);
        vec3 shifted = vec3_make(u.x + p->mu[i] * cone_tangential(u), u.y, u.z);
        vec3 z = vec3_mul_add(p->force[i], shifted, -1 / entry(p, 3 * i, 3 * i));
        cone_state state = cone_state_of(z, p->mu[i]);
        vec3 wanted = cone_project(z, p->mu[i], state), residual = vec3_sub(p->force[i], wanted);
        mat3 D = cone_derivative(z, p->mu[i], state);
        vec3_store(p->step + 3 * i, residual);
        fill_slope(p, i, &D, u);
        worst = fmax(worst, vec3_length(residual));
        largest = fmax(largest, vec3_length(wanted));
    }
    return worst > 0 ? worst / largest : 0;
}

static void swap_rows(cone_problem *p, int a, int b) {
    double *left = p->slope + (size_t)a * (size_t)p->stride, *right = p->slope + (size_t)b * (size_t)p->stride;
    for (int j = 0; j < 3 * p->count; j++) {
        double kept = left[j];
        left[j] = right[j], right[j] = kept;
    }
    double kept = p->step[a];
    p->step[a] = p->step[b], p->step[b] = kept;
}

/* step = slope^-1 step, by elimination. */
static bool eliminate(cone_problem *p) {
    int n = 3 * p->count;
    size_t stride = (size_t)p->stride;
    for (int k = 0; k < n; k++) {
        int pivot = k;
        for (int i = k + 1; i < n; i++)
            if (fabs(p->slope[(size_t)i * stride + (size_t)k]) > fabs(p->slope[(size_t)pivot * stride + (size_t)k]))
                pivot = i;
        if (pivot != k) swap_rows(p, k, pivot);
        const double *top = p->slope + (size_t)k * stride;
        if (!(fabs(top[k]) > SMALLEST_PIVOT)) return false;
        for (int i = k + 1; i < n; i++) {
            double *row = p->slope + (size_t)i * stride, share = row[k] / top[k];
            if (share == 0) continue; /* rows of open contacts */
            for (int j = k + 1; j < n; j++) row[j] -= share * top[j];
            p->step[i] -= share * p->step[k];
        }
    }
    for (int i = n - 1; i >= 0; i--) {
        const double *row = p->slope + (size_t)i * stride;
        for (int j = i + 1; j < n; j++) p->step[i] -= row[j] * p->step[j];
        p->step[i] /= row[i];
    }
    return true;
}

/* One contact with u = b + M f, M a 3x3 block of W. After elimination of the normal, u_t = c + S f_t, and where it
 * slips u_t = -r f_t for some r > 0: (S + r) f_t = -c. |f_t| - mu f_n is positive at r = 0 if the contact does not
 * stick, and negative for large r. Regula falsi in r / (1 + r) finds its zero. */
static vec3 solve_one(const double M[9], vec3 b, double mu) {
    if (b.x >= 0) return vec3_make(0, 0, 0);
    double normal = -b.x / M[0];
    if (mu == 0) return vec3_make(normal, 0, 0);
    double y = M[1] / M[0], z = M[2] / M[0];
    double Syy = M[4] - M[3] * y, Syz = M[5] - M[3] * z, Szz = M[8] - M[6] * z, scale = Syy + Szz;
    double cy = b.y + M[3] * normal, cz = b.z + M[6] * normal;
    double low = 0, high = 1, share = 0, at_low = 0, at_high = -mu * normal;
    vec3 f = {0};
    for (int k = 0; k < SLIP_STEPS; k++) {
        double r = scale * share / (1 - share), a = Syy + r, d = Szz + r, det = a * d - Syz * Syz;
        f.y = (Syz * cz - d * cy) / det, f.z = (Syz * cy - a * cz) / det;
        f.x = normal - y * f.y - z * f.z;
        double excess = cone_tangential(f) - mu * f.x;
        if ((k == 0 && excess <= 0) || fabs(excess) <= SLIP_RESIDUAL * mu * normal) break;
        /* Illinois: halve the value of the end that stays, or it might stay forever. */
        if (excess > 0)
            low = share, at_low = excess, at_high *= k > 0 ? 0.5 : 1;
        else
            high = share, at_high = excess, at_low *= 0.5;
        share = low + (high - low) * at_low / (at_low - at_high);
    }
    return f;
}

static void sweep(cone_problem *p) {
    for (int i = 0; i < p->count; i++) {
        double M[9];
        p->force[i] = vec3_make(0, 0, 0);
        for (int k = 0; k < 9; k++) M[k] = entry(p, 3 * i + k / 3, 3 * i + k % 3);
        p->force[i] = solve_one(M, motion(p, i), p->mu[i]);
    }
}

bool cone_problem_solve(cone_problem *p) {
    double best = INFINITY;
    for (int pass = 0; pass < MAX_PASSES; pass++) {
        double now = evaluate(p);
        if (now <= RESIDUAL) return true;
        bool newton = now < best && eliminate(p);
        best = newton ? now : INFINITY;
        for (int i = 0; newton && i < p->count; i++) p->force[i] = vec3_sub(p->force[i], vec3_load(p->step + 3 * i));
        for (int k = 0; !newton && k < SWEEPS; k++) sweep(p);
    }
    return false;
}

/* Share of the diagonal of W that is added to it: points of one tet may outnumber its degrees of freedom, and then W
 * is singular. This damps only forces that move nothing, towards the last multipliers. */
#define PROXIMAL 1e-3
#define STICKS (1 - 1e-9) /* of the bound of friction: less sticks */

static int group_count(int contacts) {
    return (CONTACT_ROWS * contacts + 7) / 8;
}

void condense_layout(condense *state, const solver_problem *problem, arena *work) {
    const cholesky_plan *plan = problem->factor->plan;
    int max = problem->max_contacts < CONDENSE_MAX ? problem->max_contacts : CONDENSE_MAX;
    size_t components = max > 0 ? 3 * (size_t)problem->pattern->node_count : 0;
    *state = (condense){.index = ARENA_ARRAY(work, int, max),
                        .rows = ARENA_ARRAY(work, constraint_row, CONTACT_ROWS * max),
                        .tails = ARENA_ARRAY(work, row_tail, CONTACT_ROWS * max),
                        .tail_node = ARENA_ARRAY(work, int, CONTACT_TAIL *CONTACT_ROWS *max),
                        .tail_gradient = ARENA_ARRAY(work, vec3, CONTACT_TAIL * CONTACT_ROWS * max),
                        .groups = ARENA_ARRAY(work, condense_group, group_count(max)),
                        .views = ARENA_ARRAY(work, cholesky_factor, CONDENSE_PIECES),
                        .right = ARENA_ARRAY(work, double, components),
                        .start = ARENA_ARRAY(work, double, components)};
    cone_problem_layout(&state->small, max, work);
    for (int g = 0; g < group_count(max); g++) {
        condense_group group = {.half = ARENA_ARRAY(work, double, 8 * components),
                                .reach = ARENA_ARRAY(work, cholesky_range, cholesky_plan_facts(plan).front_count)};
        if (group.half) memset(group.half, 0, 8 * components * sizeof *group.half);
        if (state->groups) state->groups[g] = group;
    }
    for (int i = 0; i < CONDENSE_PIECES && max > 0; i++) {
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
        if (count == state->small.max) return 0;
        state->index[count++] = i;
    }
    return state->small.count = count;
}

/* Work of the groups: part i has groups i, i + pieces, and so on. */
typedef struct condense_job {
    condense *state;
    const solver_problem *problem;
    int groups, pieces;
} condense_job;

static void scatter(double *right, vec3 gradient) {
    right[0] = gradient.x, right[8] = gradient.y, right[16] = gradient.z;
}

/* The same at a dependent node: adds to the right-hand side at its carriers. Returns their number. */
static int scatter_carried(const solver_problem *problem, double *half, int dependent, vec3 gradient, int *nodes) {
    const int *position = cholesky_plan_position(problem->factor->plan);
    vec3 part[REDUCTION_CARRIERS];
    int count = reduction_gradient(problem->reduction, dependent, gradient, nodes, part);
    for (int k = 0; k < count; k++) {
        double *right = half + 24 * (size_t)position[nodes[k]];
        right[0] += part[k].x, right[8] += part[k].y, right[16] += part[k].z;
    }
    return count;
}

/* Replaces the contents of the group by J^T of its rows. Returns the number of their nodes. */
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
            vec3 gradient = first ? row->gradient[a] : row->tail->gradient[a - ROW_NODES];
            int dependent = problem->reduction ? problem->reduction->model->index[node] : -1;
            if (dependent >= 0) {
                node_count += scatter_carried(problem, group->half + lane, dependent, gradient, nodes + node_count);
                continue;
            }
            scatter(group->half + 24 * (size_t)position[node] + lane, gradient);
            nodes[node_count++] = node;
        }
    }
    return node_count;
}

static void substitute_piece(void *context, int piece) {
    const condense_job *job = context;
    int nodes[8 * REDUCTION_CARRIERS * CONTACT_LEGS];
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

/* Sets W, q and the initial forces. */
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
    contact_add_gradient(problem->contacts, problem->contact_count, h * h, state->right);
    solver_fold(problem, state->right);
    cholesky_forward(problem->factor, state->right, state->start);
    formulate(state, problem);
    if (!cone_problem_solve(small)) return false;
    for (int i = 0; i < small->count; i++)
        if (small->force[i].x > problem->contacts[state->index[i]].max) return false;
    for (int i = 0; i < small->count; i++) {
        contact *c = &problem->contacts[state->index[i]];
        c->lambda = small->force[i];
        bool sticks = cone_tangential(c->lambda) < STICKS * c->mu * c->lambda.x;
        c->shift = sticks ? 0 : c->mu * cone_tangential(small->u[i]);
        contact_add_force(c, vec3_scale(mat3_mul_vec_transposed(c->frame, c->lambda), h * h), state->right);
    }
    memcpy(direction, state->right, (size_t)n * sizeof *direction);
    solver_solve(problem, direction);
    return true;
}
