/* The strain limits of a soft body as rows, for solvers that work on rows (body/body.h, body_limits). */
#include "body/soft_rows.h"

#include "body/soft_pieces.h"

#include <string.h>

/* Rows are looked for in at most so many pieces. */
#define ROW_PIECES 32

int soft_row_element_count(const body_model *base) {
    return ((const soft_model *)base)->mesh.tet_count;
}

void soft_row_element_nodes(const body_model *base, int element, int first_node, int node[ROW_NODES]) {
    const soft_model *body = (const soft_model *)base;
    const soft_batch *batch = &body->batches[element / SIMD_LANES];
    for (int a = 0; a < 4; a++) {
        int unknown = body->system_node[batch->node[a][element % SIMD_LANES]];
        node[a] = unknown < 0 ? -1 : first_node + unknown;
    }
}

/* Where the limits of eight tets are: G = U diag(s) V^T, and the fibres' images. */
typedef struct limit_frames {
    f64x8 U[9], s[3];
    const f64x8 *V;
    soft_fibre_point fibre;
} limit_frames;

static limit_frames frames_of(soft_state *state, int k) {
    const soft_batch *batch = &soft_of(state)->batches[k];
    limit_frames frames = {.V = state->limit_points[k].V};
    soft_element_decompose(batch, state->trial, frames.U, frames.s, state->limit_points[k].V);
    if (batch->fibres) {
        const f64x8 no_multipliers[3 * SOFT_FIBRES] = {{0}};
        f64x8 G[9];
        soft_element_gradient(batch, state->trial, G);
        soft_fibre_evaluate(batch->fibres, G, no_multipliers, &frames.fibre);
    }
    return frames;
}

/* A stretch |G e| in the direction n, and its limits: of singular value `axis`, or of fibre `axis` - 3. */
typedef struct stretch {
    vec3 e, n;
    double value, low, high;
} stretch;

static vec3 lane_vector(const f64x8 *components, int stride, int lane) {
    return vec3_make(components[0][lane], components[stride][lane], components[2 * stride][lane]);
}

static stretch stretch_of(const soft_batch *batch, const limit_frames *frames, int lane, int axis) {
    if (axis < 3)
        return (stretch){.e = lane_vector(frames->V + axis, 3, lane),
                         .n = lane_vector(frames->U + axis, 3, lane),
                         .value = frames->s[axis][lane],
                         .low = batch->s_min[lane],
                         .high = batch->s_max[lane]};
    int k = axis - 3;
    return (stretch){.e = lane_vector(batch->fibres->direction[k], 1, lane),
                     .n = lane_vector(frames->fibre.n[k], 1, lane),
                     .value = frames->fibre.r[k][lane],
                     .low = batch->fibres->min[k][lane],
                     .high = batch->fibres->max[k][lane]};
}

/* One limit of one tet. low: of compression. dC/dx_a = +-(g_a . e) n (perez2013, Eq. 11, with e = v_i and n = u_i). */
static constraint_row stretch_row(const soft_model *body, const limit_frames *frames, int element, int axis, bool low,
                                  int first_node) {
    const soft_batch *batch = &body->batches[element / SIMD_LANES];
    int lane = element % SIMD_LANES;
    stretch s = stretch_of(batch, frames, lane, axis);
    constraint_row row = {.kind = low ? CONSTRAINT_STRETCH_MIN : CONSTRAINT_STRETCH_MAX,
                          .element = element,
                          .axis = axis,
                          .value = low ? s.value - s.low : s.high - s.value,
                          .weight = batch->edge[lane]};
    soft_row_element_nodes(&body->base, element, first_node, row.node);
    vec3 sum = {0};
    for (int a = 1; a < 4; a++) {
        double along = vec3_dot(lane_vector(batch->gradient + 3 * (a - 1), 1, lane), s.e);
        row.gradient[a] = vec3_scale(s.n, low ? along : -along);
        sum = vec3_add(sum, row.gradient[a]);
    }
    row.gradient[0] = vec3_scale(sum, -1);
    return row;
}

typedef struct row_search {
    soft_state *state;
    int first_node;
    constraint_row *rows; /* a tet has room for ROW_AXES */
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
    for (int fibre = 0; batch->fibres && fibre < SOFT_FIBRES; fibre++)
        for (int l = 0; l < batch->tet_count; l++)
            if (frames.fibre.delta[fibre][l] != 0)
                rows[count++] = stretch_row(body, &frames, SIMD_LANES * k + l, 3 + fibre,
                                            frames.fibre.delta[fibre][l] < 0, search->first_node);
    return count;
}

static void find_in_piece(void *context, int piece) {
    row_search *search = context;
    const soft_model *body = soft_of(search->state);
    int first = body->batch_count * piece / search->pieces, end = body->batch_count * (piece + 1) / search->pieces;
    constraint_row *rows = search->rows + ROW_AXES * SIMD_LANES * first;
    int count = 0;
    for (int k = first; k < end; k++)
        if (body->batches[k].limited) count += find_in_batch(search, k, rows + count);
    search->found[piece] = count;
}

int soft_rows_find(body_state *base, const body_step *step, int first_node, constraint_row *rows) {
    row_search search = {.state = (soft_state *)base, .first_node = first_node, .rows = rows};
    int batches = soft_of(search.state)->batch_count, count = 0;
    search.pieces = batches / SOFT_BATCHES_PER_PIECE;
    search.pieces = search.pieces < 1 ? 1 : search.pieces > ROW_PIECES ? ROW_PIECES : search.pieces;
    workers_run(step->pool, search.pieces, find_in_piece, &search);
    for (int piece = 0; piece < search.pieces; piece++) {
        const constraint_row *found = rows + ROW_AXES * SIMD_LANES * (batches * piece / search.pieces);
        if (piece > 0) memmove(rows + count, found, (size_t)search.found[piece] * sizeof *rows);
        count += search.found[piece];
    }
    return count;
}

void soft_rows_relinearize(body_state *base, int first_node, constraint_row *rows, int count) {
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

int soft_row_node_count(const body_model *base) {
    return ((const soft_model *)base)->mesh.node_count;
}

void soft_rows_react(body_state *base, const constraint_row *rows, const double *lambda, double scale, int count,
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

void soft_rows_hold(body_state *base, const double *impulse) {
    soft_state *state = (soft_state *)base;
    memcpy(state->limit_impulse, impulse, 3 * (size_t)soft_of(state)->mesh.node_count * sizeof *impulse);
}
