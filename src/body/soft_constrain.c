/* The strain limits of a whole soft body, for solvers (body/body.h, body_limits). The kernel is in soft_limit.c. */
#include "body/soft.h"
#include "body/soft_limit.h"

#include <string.h>

/* Rows are looked for in pieces of at least so many batches (some 50 us, so that handing them out pays), and so many
 * pieces at most. */
#define ROW_PIECE_BATCHES 128
#define ROW_PIECES 32

/* G = U diag(s) V^T of eight tets. */
typedef struct limit_frames {
    f64x8 U[9], s[3];
    const f64x8 *V;
} limit_frames;

static double *record_of(soft_state *state, int batch) {
    return state->limit_records + (size_t)batch * SIMD_LANES * SOFT_RECORD;
}

static bool limits_warm(const body_state *base) {
    const soft_state *state = (const soft_state *)base;
    for (int i = 0; i < 9 * soft_of(state)->batch_count; i++)
        if (i64x8_any(state->multiplier[i] != 0.0)) return true;
    return false;
}

static void limits_begin(body_state *base) {
    soft_state *state = (soft_state *)base;
    int batches = soft_of(state)->batch_count;
    memcpy(state->limit_warm, state->warm, 9 * (size_t)batches * sizeof *state->warm);
    for (int k = 0; k < batches; k++) {
        if (state->limit_pushes[k]) memset(record_of(state, k), 0, SIMD_LANES * SOFT_RECORD * sizeof(double));
        state->limit_pushes[k] = 0;
    }
    memset(state->limit_impulse, 0, 3 * (size_t)soft_of(state)->mesh.node_count * sizeof *state->limit_impulse);
}

static void limits_rescale(body_state *base, double factor) {
    soft_state *state = (soft_state *)base;
    for (int i = 0; i < 9 * soft_of(state)->batch_count; i++) state->multiplier[i] *= factor;
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

static double limits_energy(body_state *base, double weight) {
    soft_state *state = (soft_state *)base;
    const soft_model *body = soft_of(state);
    double sum = 0;
    for (int k = 0; k < body->batch_count; k++)
        if (body->batches[k].limited)
            sum += soft_limit_energy(&body->batches[k], state->trial, weight, state->multiplier + 9 * k,
                                     state->limit_warm + 9 * k);
    return sum;
}

static body_limit_measures limits_measure(body_state *base) {
    soft_state *state = (soft_state *)base;
    const soft_model *body = soft_of(state);
    body_limit_measures all = {0};
    for (int k = 0; k < body->batch_count; k++) {
        if (!body->batches[k].limited) continue;
        soft_limit_measures one =
            soft_limit_measure(&body->batches[k], state->trial, state->multiplier + 9 * k, state->limit_warm + 9 * k);
        all.violation = fmax(all.violation, one.violation);
        all.complementarity = fmax(all.complementarity, one.complementarity);
        all.active += one.active;
    }
    return all;
}

/* The records of a batch: those of its limits where they push, zeros elsewhere. */
static void linearize_batch(soft_state *state, int k, double weight) {
    const soft_batch *batch = &soft_of(state)->batches[k];
    bool pushes = batch->limited && soft_limit_linearize(batch, state->trial, weight, state->multiplier + 9 * k,
                                                         state->limit_warm + 9 * k, record_of(state, k));
    if (!pushes && state->limit_pushes[k]) memset(record_of(state, k), 0, SIMD_LANES * SOFT_RECORD * sizeof(double));
    state->limit_pushes[k] = pushes;
}

static void add_blocks(const soft_state *state, double *blocks) {
    const soft_model *body = soft_of(state);
    for (int slot = 0; slot < body->block_count; slot++) {
        double *target = blocks + 9 * (size_t)body->block_target[slot];
        f64x8 sum = f64x8_load(target);
        double ninth = target[8];
        for (int k = body->block_start[slot]; k < body->block_start[slot + 1]; k++) {
            const double *source = state->limit_records + body->block_source[k];
            sum += f64x8_load(source);
            ninth += source[8];
        }
        f64x8_store(target, sum);
        target[8] = ninth;
    }
}

static void subtract_forces(const soft_state *state, double *gradient) {
    const soft_model *body = soft_of(state);
    for (int i = 0; i < body->mesh.node_count; i++) {
        int unknown = body->system_node[i];
        if (unknown < 0) continue;
        vec3 sum = vec3_load(gradient + 3 * unknown);
        for (int k = body->force_start[i]; k < body->force_start[i + 1]; k++)
            sum = vec3_sub(sum, vec3_load(state->limit_records + body->force_source[k]));
        vec3_store(gradient + 3 * unknown, sum);
    }
}

static void limits_linearize(body_state *base, const body_step *step, double weight, double *blocks, double *gradient) {
    (void)step;
    soft_state *state = (soft_state *)base;
    for (int k = 0; k < soft_of(state)->batch_count; k++) linearize_batch(state, k, weight);
    add_blocks(state, blocks);
    subtract_forces(state, gradient);
}

static void limits_update(body_state *base, double factor) {
    soft_state *state = (soft_state *)base;
    const soft_model *body = soft_of(state);
    for (int k = 0; k < body->batch_count; k++)
        if (body->batches[k].limited)
            soft_limit_update(&body->batches[k], state->trial, factor, state->multiplier + 9 * k,
                              state->limit_warm + 9 * k);
}

static int limits_element_count(const body_model *base) {
    return ((const soft_model *)base)->mesh.tet_count;
}

static void limits_element_nodes(const body_model *base, int element, int first_node, int node[ROW_NODES]) {
    const soft_model *body = (const soft_model *)base;
    const soft_batch *batch = &body->batches[element / SIMD_LANES];
    for (int a = 0; a < 4; a++) {
        int unknown = body->system_node[batch->node[a][element % SIMD_LANES]];
        node[a] = unknown < 0 ? -1 : first_node + unknown;
    }
}

/* One limit of one tet. low: of compression. dC/dx_a = +-(g_a . v_i) u_i (perez2013, Eq. 11). */
static constraint_row stretch_row(const soft_model *body, const limit_frames *frames, int element, int axis, bool low,
                                  int first_node) {
    const soft_batch *batch = &body->batches[element / SIMD_LANES];
    const f64x8 *U = frames->U, *V = frames->V;
    int lane = element % SIMD_LANES;
    double s = frames->s[axis][lane], sign = low ? 1 : -1;
    constraint_row row = {.kind = low ? CONSTRAINT_STRETCH_MIN : CONSTRAINT_STRETCH_MAX,
                          .element = element,
                          .axis = axis,
                          .value = low ? s - batch->s_min[lane] : batch->s_max[lane] - s,
                          .weight = batch->edge[lane]};
    limits_element_nodes(&body->base, element, first_node, row.node);
    vec3 u = {U[axis][lane], U[3 + axis][lane], U[6 + axis][lane]}, sum = {0};
    for (int a = 1; a < 4; a++) {
        const f64x8 *g = batch->gradient + 3 * (a - 1);
        double along = g[0][lane] * V[axis][lane] + g[1][lane] * V[3 + axis][lane] + g[2][lane] * V[6 + axis][lane];
        row.gradient[a] = vec3_scale(u, sign * along);
        sum = vec3_add(sum, row.gradient[a]);
    }
    row.gradient[0] = vec3_scale(sum, -1);
    return row;
}

static limit_frames frames_of(soft_state *state, int k) {
    limit_frames frames = {.V = state->limit_warm + 9 * k};
    soft_limit_decompose(&soft_of(state)->batches[k], state->trial, frames.U, frames.s, state->limit_warm + 9 * k);
    return frames;
}

typedef struct row_search {
    soft_state *state;
    int first_node;
    constraint_row *rows; /* a tet has room for three */
    int pieces;
    int found[ROW_PIECES];
} row_search;

static int find_in_batch(const row_search *search, int k, constraint_row *rows) {
    const soft_model *body = soft_of(search->state);
    const soft_batch *batch = &body->batches[k];
    limit_frames frames = frames_of(search->state, k);
    int count = 0;
    for (int axis = 0; axis < 3; axis++) {
        i64x8 low = frames.s[axis] < batch->s_min, out = low | (frames.s[axis] > batch->s_max);
        if (!i64x8_any(out)) continue;
        for (int l = 0; l < batch->tet_count; l++)
            if (out[l])
                rows[count++] = stretch_row(body, &frames, SIMD_LANES * k + l, axis, low[l] != 0, search->first_node);
    }
    return count;
}

static void find_in_piece(void *context, int piece) {
    row_search *search = context;
    const soft_model *body = soft_of(search->state);
    int first = body->batch_count * piece / search->pieces, end = body->batch_count * (piece + 1) / search->pieces;
    constraint_row *rows = search->rows + 3 * SIMD_LANES * first;
    int count = 0;
    for (int k = first; k < end; k++)
        if (body->batches[k].limited) count += find_in_batch(search, k, rows + count);
    search->found[piece] = count;
}

static int limits_rows(body_state *base, const body_step *step, int first_node, constraint_row *rows) {
    row_search search = {.state = (soft_state *)base, .first_node = first_node, .rows = rows};
    int batches = soft_of(search.state)->batch_count, count = 0;
    search.pieces = batches / ROW_PIECE_BATCHES;
    search.pieces = search.pieces < 1 ? 1 : search.pieces > ROW_PIECES ? ROW_PIECES : search.pieces;
    workers_run(step->pool, search.pieces, find_in_piece, &search);
    for (int piece = 0; piece < search.pieces; piece++) {
        const constraint_row *found = rows + 3 * SIMD_LANES * (batches * piece / search.pieces);
        if (piece > 0) memmove(rows + count, found, (size_t)search.found[piece] * sizeof *rows);
        count += search.found[piece];
    }
    return count;
}

static void limits_relinearize(body_state *base, int first_node, constraint_row *rows, int count) {
    soft_state *state = (soft_state *)base;
    limit_frames frames = {0};
    for (int i = 0, batch = -1; i < count; i++) {
        if (rows[i].element / SIMD_LANES != batch) {
            batch = rows[i].element / SIMD_LANES;
            frames = frames_of(state, batch);
        }
        rows[i] = stretch_row(soft_of(state), &frames, rows[i].element, rows[i].axis,
                              rows[i].kind == CONSTRAINT_STRETCH_MIN, first_node);
    }
}

static int limits_node_count(const body_model *base) {
    return ((const soft_model *)base)->mesh.node_count;
}

static void limits_react(body_state *base, const constraint_row *rows, const double *lambda, double scale, int count,
                         double *impulse) {
    const soft_model *body = soft_of((soft_state *)base);
    for (int i = 0; i < count; i++) {
        const soft_batch *batch = &body->batches[rows[i].element / SIMD_LANES];
        if (!batch->has_held || lambda[i] == 0) continue;
        for (int a = 0; a < ROW_NODES; a++) {
            if (rows[i].node[a] >= 0) continue;
            double *sum = impulse + 3 * batch->node[a][rows[i].element % SIMD_LANES];
            vec3_store(sum, vec3_mul_add(vec3_load(sum), rows[i].gradient[a], scale * lambda[i]));
        }
    }
}

static void limits_hold(body_state *base, const double *impulse) {
    soft_state *state = (soft_state *)base;
    memcpy(state->limit_impulse, impulse, 3 * (size_t)soft_of(state)->mesh.node_count * sizeof *impulse);
}

const body_limits soft_limits = {
    .warm = limits_warm,
    .begin = limits_begin,
    .rescale = limits_rescale,
    .move = limits_move,
    .energy = limits_energy,
    .measure = limits_measure,
    .linearize = limits_linearize,
    .update = limits_update,
    .element_count = limits_element_count,
    .element_nodes = limits_element_nodes,
    .rows = limits_rows,
    .relinearize = limits_relinearize,
    .node_count = limits_node_count,
    .react = limits_react,
    .hold = limits_hold,
};
