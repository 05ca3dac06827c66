/* The strain limits of a whole soft body, for solvers (body/body.h, body_limits). The kernel is in soft_limit.c. */
#include "body/soft.h"
#include "body/soft_pieces.h"
#include "body/soft_rows.h"

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

static void limits_rescale(body_state *base, double factor, double most) {
    soft_state *state = (soft_state *)base;
    for (int k = 0; k < soft_of(state)->batch_count; k++)
        soft_limit_rescale(factor, most, state->multiplier + SOFT_MULTIPLIERS * k);
}

static void clear_record(soft_state *state, int k) {
    if (state->limit_pushes[k]) memset(record_of(state, k), 0, SIMD_LANES * SOFT_RECORD * sizeof(double));
    state->limit_pushes[k] = 0;
}

/* Between steps the multipliers are kept in the frames of the tets as these were at the beginning of the step. Put back
 * into the frames of the next step's beginning, they have turned by as much as the tets did in between, which is the
 * best guess for the turn to come: 5.9 iterations a step instead of 8.0 with multipliers in world axes on the bent hand
 * of `thenar bench solvers`. */
static void turn_multipliers(const soft_state *state, int k, bool back, f64x8 *turned) {
    const f64x8 *R = state->rotation + 9 * k, *Y = state->multiplier + SOFT_MULTIPLIERS * k;
    /* Column j of Y, then each fibre's vector, times R or its transpose. */
    for (int v = 0; v < 3 + SOFT_FIBRES; v++) {
        int first = v < 3 ? v : 9 + 3 * (v - 3), stride = v < 3 ? 3 : 1;
        for (int i = 0; i < 3; i++) {
            const f64x8 *row = back ? R + i : R + 3 * i;
            int step = back ? 3 : 1;
            turned[first + stride * i] = f64x8_fma(
                row[0], Y[first], f64x8_fma(row[step], Y[first + stride], row[2 * step] * Y[first + 2 * stride]));
        }
    }
}

static void turn_all(soft_state *state, bool back) {
    for (int k = 0; k < soft_of(state)->batch_count; k++) {
        f64x8 turned[SOFT_MULTIPLIERS];
        turn_multipliers(state, k, back, turned);
        memcpy(state->multiplier + SOFT_MULTIPLIERS * k, turned, sizeof turned);
    }
}

static void limits_take_up(body_state *base) {
    turn_all((soft_state *)base, false);
}

static void limits_put_away(body_state *base) {
    turn_all((soft_state *)base, true);
}

static void limits_begin(body_state *base) {
    soft_state *state = (soft_state *)base;
    for (int k = 0; k < soft_of(state)->batch_count; k++) {
        memcpy(state->limit_points[k].V, state->warm + 9 * k, sizeof state->limit_points[k].V);
        clear_record(state, k);
    }
    memset(state->limit_impulse, 0, 3 * (size_t)soft_of(state)->mesh.node_count * sizeof *state->limit_impulse);
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
    double weight, stiffer;
    bool convex;
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
        soft_limit_blocks(&soft_of(state)->batches[k], &state->limit_points[k], job->weight, true, record_of(state, k));
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

/* The multipliers are put away and the nodes are where the step took them; nothing of the state is touched. */
static void tangent_batch(const limit_job *job, int k) {
    soft_state *state = job->state;
    const soft_batch *batch = &soft_of(state)->batches[k];
    soft_limit_point point = state->limit_points[k]; /* V: where the decomposition starts */
    f64x8 Y[SOFT_MULTIPLIERS];
    turn_multipliers(state, k, false, Y);
    soft_limit_decompose(batch, state->x, Y, &point);
    if (!soft_limit_pushes(&point)) {
        clear_record(state, k);
        return;
    }
    soft_limit_stiffen(job->stiffer, &point);
    soft_limit_blocks(batch, &point, job->stiffer * job->weight, job->convex, record_of(state, k));
    state->limit_pushes[k] = 1;
}

static void limits_tangent(body_state *base, const body_step *step, double weight, double stiffer, bool convex,
                           double *blocks) {
    limit_job job = {.state = (soft_state *)base,
                     .weight = weight,
                     .stiffer = stiffer,
                     .convex = convex,
                     .blocks = blocks,
                     .visit = tangent_batch};
    visit_batches(step, &job);
    workers_run(step->pool, soft_piece_count(soft_of(job.state)->block_count, SOFT_BLOCKS_PER_PIECE), add_blocks, &job);
}

static void limits_update(body_state *base, double factor, double most) {
    soft_state *state = (soft_state *)base;
    const soft_model *body = soft_of(state);
    for (int k = 0; k < body->batch_count; k++)
        if (body->batches[k].limited)
            soft_limit_update(&state->limit_points[k], factor, most, state->multiplier + SOFT_MULTIPLIERS * k);
}

const body_limits soft_limits = {
    .warm = limits_warm,
    .begin = limits_begin,
    .take_up = limits_take_up,
    .put_away = limits_put_away,
    .rescale = limits_rescale,
    .move = limits_move,
    .evaluate = limits_evaluate,
    .energy = limits_energy,
    .measure = limits_measure,
    .gradient = limits_gradient,
    .hessian = limits_hessian,
    .tangent = limits_tangent,
    .update = limits_update,
    .element_count = soft_row_element_count,
    .element_nodes = soft_row_element_nodes,
    .rows = soft_rows_find,
    .relinearize = soft_rows_relinearize,
    .node_count = soft_row_node_count,
    .react = soft_rows_react,
    .hold = soft_rows_hold,
};
