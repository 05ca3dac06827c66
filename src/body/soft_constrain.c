/* The strain limits of a whole soft body, for solvers (body/body.h, body_limits). The kernel is in soft_limit.c. */
#include "body/soft.h"
#include "body/soft_pieces.h"

#include <string.h>

static double *record_of(soft_state *state, int batch) {
    return state->limit_records + (size_t)batch * SIMD_LANES * SOFT_RECORD;
}

static bool limits_warm(const body_state *base) {
    const soft_state *state = (const soft_state *)base;
    for (int i = 0; i < SOFT_MULTIPLIERS * soft_of(state)->batch_count; i++)
        if (i64x8_any(state->multiplier[i] != 0.0)) return true;
    return false;
}

static void limits_rescale(body_state *base, double factor) {
    soft_state *state = (soft_state *)base;
    for (int i = 0; i < SOFT_MULTIPLIERS * soft_of(state)->batch_count; i++) state->multiplier[i] *= factor;
}

static void clear_record(soft_state *state, int k) {
    if (state->limit_pushes[k]) memset(record_of(state, k), 0, SIMD_LANES * SOFT_RECORD * sizeof(double));
    state->limit_pushes[k] = 0;
}

static void limits_begin(body_state *base) {
    soft_state *state = (soft_state *)base;
    for (int k = 0; k < soft_of(state)->batch_count; k++) {
        memcpy(state->limit_points[k].V, state->warm + 9 * k, sizeof state->limit_points[k].V);
        clear_record(state, k);
    }
}

static void limits_move(body_state *base, const body_step *step, const double *d) {
    soft_state *state = (soft_state *)base;
    const soft_model *body = soft_of(state);
    for (int i = 0; i < body->mesh.node_count; i++) {
        int unknown = body->system_node[i];
        vec3 x = vec3_load(state->x + 3 * i);
        x = unknown >= 0 ? vec3_add(x, vec3_load(d + 3 * unknown))
                         : vec3_mul_add(x, vec3_load(state->target_velocity + 3 * i), step->h);
        vec3_store(state->trial + 3 * i, x);
    }
}

/* Work on the batches with limits, in pieces. */
typedef struct limit_job {
    soft_state *state;
    double weight;
    double *blocks;
    void (*visit)(const struct limit_job *job, int batch);
} limit_job;

static void visit_piece(void *context, int piece) {
    const limit_job *job = context;
    const soft_model *body = soft_of(job->state);
    int pieces = soft_piece_count(body->batch_count, SOFT_BATCHES_PER_PIECE);
    int end = soft_share(body->batch_count, piece + 1, pieces);
    for (int k = soft_share(body->batch_count, piece, pieces); k < end; k++)
        if (body->batches[k].limited) job->visit(job, k);
}

static void visit_batches(const body_step *step, limit_job *job) {
    workers_run(step->pool, soft_piece_count(soft_of(job->state)->batch_count, SOFT_BATCHES_PER_PIECE), visit_piece,
                job);
}

static void evaluate_batch(const limit_job *job, int k) {
    soft_state *state = job->state;
    soft_limit_decompose(&soft_of(state)->batches[k], state->trial, state->multiplier + SOFT_MULTIPLIERS * k,
                         &state->limit_points[k]);
}

static void limits_evaluate(body_state *base, const body_step *step) {
    visit_batches(step, &(limit_job){.state = (soft_state *)base, .visit = evaluate_batch});
}

static double limits_energy(const body_state *base) {
    const soft_state *state = (const soft_state *)base;
    const soft_model *body = soft_of(state);
    double sum = 0;
    for (int k = 0; k < body->batch_count; k++)
        if (body->batches[k].limited) sum += soft_limit_energy(&body->batches[k], &state->limit_points[k]);
    return sum;
}

static body_limit_measures limits_measure(const body_state *base) {
    const soft_state *state = (const soft_state *)base;
    const soft_model *body = soft_of(state);
    body_limit_measures all = {0};
    for (int k = 0; k < body->batch_count; k++) {
        if (!body->batches[k].limited) continue;
        soft_limit_measures one =
            soft_limit_measure(&body->batches[k], &state->limit_points[k], state->multiplier + SOFT_MULTIPLIERS * k);
        all.distance = fmax(all.distance, one.distance);
        all.active += one.active;
    }
    return all;
}

static void force_batch(const limit_job *job, int k) {
    soft_state *state = job->state;
    if (!soft_limit_pushes(&state->limit_points[k])) {
        clear_record(state, k);
        return;
    }
    soft_limit_forces(&soft_of(state)->batches[k], &state->limit_points[k], job->weight, record_of(state, k));
    state->limit_pushes[k] = 1;
}

static void limits_gradient(body_state *base, const body_step *step, double weight, double *gradient) {
    soft_state *state = (soft_state *)base;
    const soft_model *body = soft_of(state);
    visit_batches(step, &(limit_job){.state = state, .weight = weight, .visit = force_batch});
    for (int i = 0; i < body->mesh.node_count; i++) {
        int unknown = body->system_node[i];
        if (unknown < 0) continue;
        vec3 sum = vec3_load(gradient + 3 * unknown);
        for (int k = body->force_start[i]; k < body->force_start[i + 1]; k++)
            sum = vec3_sub(sum, vec3_load(state->limit_records + body->force_source[k]));
        vec3_store(gradient + 3 * unknown, sum);
    }
}

static void block_batch(const limit_job *job, int k) {
    soft_state *state = job->state;
    if (state->limit_pushes[k])
        soft_limit_blocks(&soft_of(state)->batches[k], &state->limit_points[k], job->weight, record_of(state, k));
}

static void add_blocks(void *context, int piece) {
    const limit_job *job = context;
    const soft_model *body = soft_of(job->state);
    int pieces = soft_piece_count(body->block_count, SOFT_BLOCKS_PER_PIECE);
    int end = soft_share(body->block_count, piece + 1, pieces);
    for (int slot = soft_share(body->block_count, piece, pieces); slot < end; slot++) {
        double *target = job->blocks + 9 * (size_t)body->block_target[slot];
        f64x8 sum = f64x8_load(target);
        double ninth = target[8];
        for (int k = body->block_start[slot]; k < body->block_start[slot + 1]; k++) {
            const double *source = job->state->limit_records + body->block_source[k];
            sum += f64x8_load(source);
            ninth += source[8];
        }
        f64x8_store(target, sum);
        target[8] = ninth;
    }
}

/* The records of pushing batches are whole afterwards; those of the others were cleared by the gradient. */
static void limits_hessian(body_state *base, const body_step *step, double weight, double *blocks) {
    limit_job job = {.state = (soft_state *)base, .weight = weight, .blocks = blocks, .visit = block_batch};
    visit_batches(step, &job);
    workers_run(step->pool, soft_piece_count(soft_of(job.state)->block_count, SOFT_BLOCKS_PER_PIECE), add_blocks, &job);
}

static void limits_update(body_state *base, double factor) {
    soft_state *state = (soft_state *)base;
    const soft_model *body = soft_of(state);
    for (int k = 0; k < body->batch_count; k++)
        if (body->batches[k].limited)
            soft_limit_update(&state->limit_points[k], factor, state->multiplier + SOFT_MULTIPLIERS * k);
}

static int limits_row_limit(const body_model *base) {
    return (3 + SOFT_FIBRES) * ((const soft_model *)base)->mesh.tet_count;
}

/* Mean edge length of a tet in the rest shape, m (perez2013, section 4.3). */
static double mean_edge(const soft_model *body, const soft_batch *batch, int lane) {
    double sum = 0;
    for (int a = 1; a < 4; a++)
        for (int b = 0; b < a; b++)
            sum += vec3_distance(vec3_load(body->mesh.positions + 3 * batch->node[a][lane]),
                                 vec3_load(body->mesh.positions + 3 * batch->node[b][lane]));
    return sum / 6;
}

/* dC/dx_a = sign (g_a . e) n: e is v_i and n is u_i for a singular value (perez2013, Eq. 11), e the direction and n its
 * image for a fibre. */
static constraint_row stretch_row(const soft_model *body, int k, int lane, vec3 e, vec3 n, double stretch, double low,
                                  double high, int first_node) {
    const soft_batch *batch = &body->batches[k];
    bool is_low = stretch < low;
    constraint_row row = {.kind = is_low ? CONSTRAINT_STRETCH_MIN : CONSTRAINT_STRETCH_MAX,
                          .element = SIMD_LANES * k + lane,
                          .value = is_low ? stretch - low : high - stretch,
                          .weight = mean_edge(body, batch, lane)};
    for (int a = 0; a < 4; a++) {
        int unknown = body->system_node[batch->node[a][lane]];
        row.node[a] = unknown < 0 ? -1 : first_node + unknown;
    }
    vec3 sum = {0};
    for (int a = 1; a < 4; a++) {
        const f64x8 *g = batch->gradient + 3 * (a - 1);
        double along = g[0][lane] * e.x + g[1][lane] * e.y + g[2][lane] * e.z;
        row.gradient[a] = vec3_scale(n, is_low ? along : -along);
        sum = vec3_add(sum, row.gradient[a]);
    }
    row.gradient[0] = vec3_scale(sum, -1);
    return row;
}

static vec3 lane_vector(const f64x8 *x, const f64x8 *y, const f64x8 *z, int lane) {
    return vec3_make((*x)[lane], (*y)[lane], (*z)[lane]);
}

static int principal_rows(soft_state *state, int k, int first_node, constraint_row *rows) {
    const soft_model *body = soft_of(state);
    const soft_batch *batch = &body->batches[k];
    f64x8 U[9], s[3], *V = state->limit_points[k].V;
    soft_element_decompose(batch, state->trial, U, s, V);
    int count = 0;
    for (int l = 0; l < batch->tet_count; l++)
        for (int i = 0; i < 3; i++)
            if (s[i][l] < batch->s_min[l] || s[i][l] > batch->s_max[l])
                rows[count++] = stretch_row(body, k, l, lane_vector(&V[i], &V[3 + i], &V[6 + i], l),
                                            lane_vector(&U[i], &U[3 + i], &U[6 + i], l), s[i][l], batch->s_min[l],
                                            batch->s_max[l], first_node);
    return count;
}

static int fibre_rows(soft_state *state, int k, int first_node, constraint_row *rows) {
    const soft_model *body = soft_of(state);
    const soft_batch *batch = &body->batches[k];
    const f64x8 none[3 * SOFT_FIBRES] = {{0}};
    f64x8 G[9];
    soft_fibre_point point;
    soft_element_gradient(batch, state->trial, G);
    soft_fibre_evaluate(batch->fibres, G, none, &point);
    int count = 0;
    for (int l = 0; l < batch->tet_count; l++)
        for (int i = 0; i < SOFT_FIBRES; i++) {
            const f64x8 *e = batch->fibres->direction[i], *n = point.n[i];
            if (point.delta[i][l] != 0)
                rows[count++] =
                    stretch_row(body, k, l, lane_vector(&e[0], &e[1], &e[2], l), lane_vector(&n[0], &n[1], &n[2], l),
                                point.r[i][l], batch->fibres->min[i][l], batch->fibres->max[i][l], first_node);
        }
    return count;
}

static int limits_rows(body_state *base, int first_node, constraint_row *rows) {
    soft_state *state = (soft_state *)base;
    const soft_model *body = soft_of(state);
    int count = 0;
    for (int k = 0; k < body->batch_count; k++) {
        if (!body->batches[k].limited) continue;
        count += principal_rows(state, k, first_node, rows + count);
        if (body->batches[k].fibres) count += fibre_rows(state, k, first_node, rows + count);
    }
    return count;
}

const body_limits soft_limits = {
    .warm = limits_warm,
    .begin = limits_begin,
    .rescale = limits_rescale,
    .move = limits_move,
    .evaluate = limits_evaluate,
    .energy = limits_energy,
    .measure = limits_measure,
    .gradient = limits_gradient,
    .hessian = limits_hessian,
    .update = limits_update,
    .row_limit = limits_row_limit,
    .rows = limits_rows,
};
