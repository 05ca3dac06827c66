/* Strain limits (perez2013, Eqs. 9-11) in augmented-Lagrangian form.
 *
 * K = { G : s_min <= s_i <= s_max }, where s_i are the signed singular values of G. With a scaled multiplier Y (a 3x3
 * matrix per tet, since multipliers by index would be ambiguous where singular values cross) and F = G(x) + Y = U
 * diag(f) V^T, the term of a tet is
 *   (w / 2) |F - P(F)|^2,   P clamps f,   D = F - P(F) = U diag(d) V^T,   d_i = f_i - clamp(f_i),   w = h^2 rho Vol
 *   gradient at node a:  w D g_a
 *   Hessian between nodes a and b:  w sum_m c_m (Q_m g_a)(Q_m g_b)^T  over nine modes of dF in the frame of U and V:
 *     u_i v_i^T                                   c = 1 where d_i != 0
 *     (u_i v_j^T + u_j v_i^T) / sqrt 2            c = (d_i - d_j) / (f_i - f_j), in [0, 1]
 *     (u_i v_j^T - u_j v_i^T) / sqrt 2            c = max(0, (d_i + d_j) / (f_i + f_j))
 * The last one is the curvature of the limit itself; without it (Gauss-Newton) the iteration stalls. */
#include "body/soft.h"

#include "core/svd3.h"

#include <string.h>

#define AT(i, j) (3 * (i) + (j))
#define EQUAL_VALUES 1e-9 /* closer singular values count as equal */
#define SMALLEST_SUM 0.01 /* of two singular values, as a divisor */

/* Leading principal minors of a symmetric matrix a, b, c (diagonal), d = 01, e = 02, f = 12, all above `tiny` times the
 * size of its entries: it is positive definite, rounding errors included. */
SIMD_INLINE i64x8 is_definite(f64x8 a, f64x8 b, f64x8 c, f64x8 d, f64x8 e, f64x8 f, f64x8 size) {
    const double tiny = 1e-12;
    f64x8 minor = a * b - d * d;
    f64x8 determinant = c * minor - a * f * f - b * e * e + 2.0 * d * e * f;
    return (a > tiny * size) & (minor > tiny * size * size) & (determinant > tiny * size * size * size);
}

/* Whether all singular values lie within the limits, without a decomposition: det F > 0, F^T F - low^2 and high^2 - F^T F
 * are positive definite. SAFE keeps values that rounding errors could move across a limit out. */
static bool is_within_limits(const soft_batch *batch, const f64x8 F[9]) {
    const double safe = 1e-6, widest = 100; /* a wider limit counts as this */
    f64x8 low = f64x8_max(batch->s_min, f64x8_set(0)) * (1 + safe);
    f64x8 high = f64x8_min(batch->s_max, f64x8_set(widest)) * (1 - safe);
    f64x8 C[6]; /* F^T F: 00, 11, 22, 01, 02, 12 */
    SIMD_FOR (i, 0, 6) {
        int j = i < 3 ? i : i == 5 ? 1 : 0, k = i < 3 ? i : i == 3 ? 1 : 2;
        C[i] = f64x8_fma(F[j], F[k], f64x8_fma(F[3 + j], F[3 + k], F[6 + j] * F[6 + k]));
    }
    f64x8 determinant =
        F[0] * (F[4] * F[8] - F[5] * F[7]) - F[1] * (F[3] * F[8] - F[5] * F[6]) + F[2] * (F[3] * F[7] - F[4] * F[6]);
    f64x8 a = low * low, b = high * high;
    i64x8 within = (determinant > f64x8_set(0)) & is_definite(C[0] - a, C[1] - a, C[2] - a, C[3], C[4], C[5], b) &
                   is_definite(b - C[0], b - C[1], b - C[2], -C[3], -C[4], -C[5], b);
    return i64x8_bits(within) == (1u << SIMD_LANES) - 1;
}

/* Whether the limits of a batch without multipliers are inactive at F = G. */
static bool is_inactive(const soft_batch *batch, const f64x8 F[9]) {
    if (!is_within_limits(batch, F)) return false;
    if (!batch->fibres) return true;
    const f64x8 no_multipliers[3 * SOFT_FIBRES] = {{0}};
    soft_fibre_point fibre;
    soft_fibre_evaluate(batch->fibres, F, no_multipliers, &fibre);
    return !i64x8_any((fibre.delta[0] != 0.0) | (fibre.delta[1] != 0.0) | (fibre.delta[2] != 0.0));
}

/* F = G on entry. */
static void decompose(const soft_batch *batch, const f64x8 *Y, f64x8 F[9], soft_limit_point *point) {
    if (batch->fibres) soft_fibre_evaluate(batch->fibres, F, Y + 9, &point->fibre);
    SIMD_FOR (i, 0, 9) F[i] += Y[i];
    svd3_batch(F, point->U, point->f, point->V);
    SIMD_FOR (i, 0, 3) {
        f64x8 f = point->f[i];
        point->d[i] = f - f64x8_max(batch->s_min, f64x8_min(batch->s_max, f));
    }
}

void soft_limit_decompose(const soft_batch *batch, const double *x, const f64x8 *Y, soft_limit_point *point) {
    f64x8 F[9];
    soft_element_gradient(batch, x, F);
    decompose(batch, Y, F, point);
}

/* A bit for each tet: some singular value exceeds its limit. */
static unsigned soft_limit_pushes(const soft_batch *batch, const soft_limit_point *point) {
    const f64x8 *d = point->d, *delta = point->fibre.delta;
    unsigned real = (1u << batch->tet_count) - 1;
    return real & i64x8_bits((d[0] != 0.0) | (d[1] != 0.0) | (d[2] != 0.0) | (delta[0] != 0.0) | (delta[1] != 0.0) |
                             (delta[2] != 0.0));
}

/* The point for a penalty `stiffer` times as large, at the same forces: active values lie at their limit except for 1
 * / stiffer of their violation. */
static void soft_limit_stiffen(double stiffer, soft_limit_point *point) {
    SIMD_FOR (i, 0, 3) {
        f64x8 beyond = point->d[i] / stiffer;
        point->f[i] = point->f[i] - point->d[i] + beyond;
        point->d[i] = beyond;
    }
    SIMD_FOR (k, 0, SOFT_FIBRES) {
        f64x8 beyond = point->fibre.delta[k] / stiffer;
        point->fibre.r[k] = point->fibre.r[k] - point->fibre.delta[k] + beyond;
        point->fibre.delta[k] = beyond;
    }
}

/* D = U diag(d) V^T */
SIMD_INLINE void compose(const soft_limit_point *point, f64x8 D[9]) {
    const f64x8 *U = point->U, *V = point->V, *d = point->d;
    SIMD_FOR (i, 0, 3)
        SIMD_FOR (j, 0, 3)
            D[AT(i, j)] = f64x8_fma(U[AT(i, 0)] * d[0], V[AT(j, 0)],
                                    f64x8_fma(U[AT(i, 1)] * d[1], V[AT(j, 1)], U[AT(i, 2)] * d[2] * V[AT(j, 2)]));
}

double soft_limit_energy(const soft_batch *batch, const soft_limit_point *point) {
    f64x8 squares = soft_fibre_squares(&point->fibre);
    SIMD_FOR (i, 0, 3) squares = f64x8_fma(point->d[i], point->d[i], squares);
    f64x8 energy = 0.5 * batch->stiffness * squares;
    double sum = 0;
    for (int l = 0; l < batch->tet_count; l++) sum += energy[l];
    return sum;
}

static soft_limit_measures soft_limit_measure(const soft_batch *batch, const soft_limit_point *point, const f64x8 *Y) {
    f64x8 D[9], squares = f64x8_set(0);
    compose(point, D);
    SIMD_FOR (i, 0, 9) squares = f64x8_fma(D[i] - Y[i], D[i] - Y[i], squares);
    SIMD_FOR (k, 0, SOFT_FIBRES) {
        f64x8 of_fibre = f64x8_set(0);
        SIMD_FOR (i, 0, 3) {
            f64x8 difference = point->fibre.delta[k] * point->fibre.n[k][i] - Y[9 + 3 * k + i];
            of_fibre = f64x8_fma(difference, difference, of_fibre);
        }
        squares = f64x8_max(squares, of_fibre);
    }
    soft_limit_measures measures = {0};
    for (int l = 0; l < batch->tet_count; l++) {
        measures.distance = fmax(measures.distance, sqrt(squares[l]));
        for (int i = 0; i < 3; i++) measures.active += (point->d[i][l] != 0) + (point->fibre.delta[i][l] != 0);
    }
    return measures;
}

/* The factor that shortens a multiplier of this size to `max`. */
SIMD_INLINE f64x8 shorten(f64x8 square, double max) {
    f64x8 limit = f64x8_set(max * max);
    return f64x8_select(square > limit, f64x8_sqrt(limit / f64x8_max(square, limit)), f64x8_set(1));
}

/* Scales a vector of a multiplier (that of the principal stretches, or of a fibre) by factor, to at most `max`. */
SIMD_INLINE void rescale_vector(double factor, double max, int count, f64x8 *y) {
    f64x8 square = f64x8_set(0);
    for (int i = 0; i < count; i++) square = f64x8_fma(y[i], y[i], square);
    f64x8 scale = factor * shorten(factor * factor * square, max);
    for (int i = 0; i < count; i++) y[i] = scale * y[i];
}

/* Y <- Y factor, at most `max` long. */
static void soft_limit_rescale(double factor, double max, f64x8 *Y) {
    rescale_vector(factor, max, 9, Y);
    for (int k = 0; k < SOFT_FIBRES; k++) rescale_vector(factor, max, 3, Y + 9 + 3 * k);
}

/* Y <- D factor: the multiplier update, in units of another rho; at most `max` long in these units. */
static void soft_limit_update(const soft_limit_point *point, double factor, double max, f64x8 *Y) {
    compose(point, Y);
    SIMD_FOR (k, 0, SOFT_FIBRES)
        SIMD_FOR (i, 0, 3) Y[9 + 3 * k + i] = point->fibre.delta[k] * point->fibre.n[k][i];
    soft_limit_rescale(factor, max, Y);
}

/* Coefficients of the modes times w, acting in the frame of U on the components of V^T g_a (see write_hessian). */
typedef struct limit_modes {
    f64x8 own[3];        /* of u_i v_i^T */
    f64x8 sum[3];        /* of the pair (i, i + 1): half the sum of its two modes */
    f64x8 difference[3]; /* half their difference */
} limit_modes;

SIMD_INLINE limit_modes modes_of(const soft_limit_point *s, f64x8 w, bool convex) {
    const f64x8 zero = f64x8_set(0), one = f64x8_set(1);
    limit_modes modes;
    SIMD_FOR (i, 0, 3) modes.own[i] = f64x8_select(s->d[i] != zero, w, zero);
    SIMD_FOR (i, 0, 3) {
        int j = (i + 1) % 3;
        f64x8 gap = s->f[i] - s->f[j], total = s->f[i] + s->f[j], both = s->d[i] + s->d[j];
        i64x8 apart = f64x8_abs(gap) > f64x8_set(EQUAL_VALUES);
        i64x8 curved = convex ? both > zero : total > f64x8_set(SMALLEST_SUM);
        f64x8 along = f64x8_select(apart, w * (s->d[i] - s->d[j]) / f64x8_select(apart, gap, one), modes.own[i]);
        f64x8 across = f64x8_select(curved, w * both / f64x8_select(curved, total, one), zero);
        modes.sum[i] = 0.5 * (along + across);
        modes.difference[i] = 0.5 * (along - across);
    }
    return modes;
}

#define BLOCK(a, b) (9 * ((a) * ((a) + 1) / 2 + (b)))

/* The Hessian between nodes a and b is U H U^T with, for p = V^T g_a and q = V^T g_b,
 *   H_ii = own_i p_i q_i + sum_ij p_j q_j + sum_ik p_k q_k,   H_ij = difference_ij p_j q_i. */
SIMD_INLINE void write_block(const limit_modes *m, const f64x8 *U, const f64x8 p[3], const f64x8 q[3], f64x8 *block) {
    f64x8 H[9], UH[9], pq[3];
    SIMD_FOR (i, 0, 3) pq[i] = p[i] * q[i];
    SIMD_FOR (i, 0, 3) {
        int j = (i + 1) % 3, k = (i + 2) % 3; /* the pair (i, j) is number i, the pair (k, i) number k */
        H[AT(i, i)] = f64x8_fma(m->own[i], pq[i], f64x8_fma(m->sum[i], pq[j], m->sum[k] * pq[k]));
        H[AT(i, j)] = m->difference[i] * p[j] * q[i];
        H[AT(j, i)] = m->difference[i] * p[i] * q[j];
    }
    SIMD_FOR (i, 0, 3)
        SIMD_FOR (j, 0, 3)
            UH[AT(i, j)] =
                f64x8_fma(U[AT(i, 0)], H[AT(0, j)], f64x8_fma(U[AT(i, 1)], H[AT(1, j)], U[AT(i, 2)] * H[AT(2, j)]));
    SIMD_FOR (i, 0, 3)
        SIMD_FOR (j, 0, 3)
            block[AT(i, j)] =
                f64x8_fma(UH[AT(i, 0)], U[AT(j, 0)], f64x8_fma(UH[AT(i, 1)], U[AT(j, 1)], UH[AT(i, 2)] * U[AT(j, 2)]));
}

/* Writes the ten blocks. The vectors g of the four nodes add up to zero, so the blocks of node 0 are negative sums. */
static void write_hessian(const soft_batch *batch, const soft_limit_point *s, f64x8 w, bool convex, f64x8 *blocks) {
    limit_modes modes = modes_of(s, w, convex);
    f64x8 p[4][3]; /* V^T g_a for a = 1..3 */
    SIMD_FOR (a, 1, 4)
        SIMD_FOR (i, 0, 3) {
            const f64x8 *g = batch->gradient + 3 * (a - 1), *V = s->V;
            p[a][i] = f64x8_fma(V[AT(0, i)], g[0], f64x8_fma(V[AT(1, i)], g[1], V[AT(2, i)] * g[2]));
        }
    SIMD_FOR (a, 1, 4)
        SIMD_FOR (b, 1, a + 1) write_block(&modes, s->U, p[a], p[b], blocks + BLOCK(a, b));
    SIMD_FOR (i, 0, 9) {
        int t = 3 * (i % 3) + i / 3; /* the transposed entry */
        blocks[BLOCK(1, 0) + i] = -(blocks[BLOCK(1, 1) + i] + blocks[BLOCK(2, 1) + t] + blocks[BLOCK(3, 1) + t]);
        blocks[BLOCK(2, 0) + i] = -(blocks[BLOCK(2, 1) + i] + blocks[BLOCK(2, 2) + i] + blocks[BLOCK(3, 2) + t]);
        blocks[BLOCK(3, 0) + i] = -(blocks[BLOCK(3, 1) + i] + blocks[BLOCK(3, 2) + i] + blocks[BLOCK(3, 3) + i]);
    }
    SIMD_FOR (i, 0, 9) blocks[i] = -(blocks[BLOCK(1, 0) + i] + blocks[BLOCK(2, 0) + i] + blocks[BLOCK(3, 0) + i]);
}

/* -w D g_a at the four nodes. */
SIMD_INLINE void nodal_forces(const soft_batch *batch, const soft_limit_point *point, f64x8 w, f64x8 *nodal) {
    f64x8 D[9];
    compose(point, D);
    SIMD_FOR (i, 0, 3) {
        f64x8 sum = f64x8_set(0);
        SIMD_FOR (a, 1, 4) {
            const f64x8 *g = batch->gradient + 3 * (a - 1);
            f64x8 entry = w * f64x8_fma(D[AT(i, 0)], g[0], f64x8_fma(D[AT(i, 1)], g[1], D[AT(i, 2)] * g[2]));
            nodal[3 * a + i] = -entry;
            sum += entry;
        }
        nodal[i] = sum;
    }
    if (batch->fibres) soft_fibre_add_forces(batch->fibres, &point->fibre, batch->gradient, w, nodal);
}

/* The negative gradient at the nodes: the force part of SIMD_LANES records like those of soft_element_formulate. The
 * block part is undefined. */
static void soft_limit_forces(const soft_batch *batch, const soft_limit_point *point, double weight, double *records) {
    f64x8 values[SOFT_RECORD];
    for (int i = SOFT_RECORD_FORCE_GROUP; i < SOFT_RECORD; i++) values[i] = f64x8_set(0);
    nodal_forces(batch, point, weight * batch->stiffness, values + SOFT_RECORD_FORCE);
    soft_element_store(values, SOFT_RECORD_FORCE_GROUP, records);
}

void soft_limit_blocks(const soft_batch *batch, const soft_limit_point *point, double weight, bool convex,
                       double *records) {
    f64x8 values[SOFT_RECORD], w = weight * batch->stiffness;
    for (int i = SOFT_RECORD_FORCE_GROUP; i < SOFT_RECORD; i++) values[i] = f64x8_set(0);
    write_hessian(batch, point, w, convex, values);
    if (batch->fibres) soft_fibre_add_blocks(batch->fibres, &point->fibre, batch->gradient, w, convex, values);
    nodal_forces(batch, point, w, values + SOFT_RECORD_FORCE);
    soft_element_store(values, 0, records);
}

/* The strain limits of a soft body as rows, for solvers that work on rows (body/body.h, body_limits). */

/* Maximum number of pieces in which rows are searched. */
#define ROW_PIECES 32

static int soft_row_element_count(const body_model *base) {
    return ((const soft_model *)base)->mesh.tet_count;
}

static void soft_row_element_nodes(const body_model *base, int element, int first_node, int node[ROW_NODES]) {
    const soft_model *body = (const soft_model *)base;
    const soft_batch *batch = &body->batches[element / SIMD_LANES];
    for (int a = 0; a < 4; a++) {
        int unknown = body->system_node[batch->node[a][element % SIMD_LANES]];
        node[a] = unknown < 0 ? -1 : first_node + unknown;
    }
}

/* The limits of eight tets: G = U diag(s) V^T, and the images of the fibres. */
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

/* A stretch |G e| in the direction n and its limits: of singular value `axis`, or of fibre `axis` - 3. */
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

/* One limit of one tet. low: the compression limit. dC/dx_a = +-(g_a . e) n (perez2013, Eq. 11, with e = v_i and n =
 * u_i). */
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
    constraint_row *rows; /* room for ROW_AXES per tet */
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

static int soft_rows_find(body_state *base, const body_step *step, int first_node, constraint_row *rows) {
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

static void soft_rows_relinearize(body_state *base, int first_node, constraint_row *rows, int count) {
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

static int soft_row_node_count(const body_model *base) {
    return ((const soft_model *)base)->mesh.node_count;
}

static void soft_rows_react(body_state *base, const constraint_row *rows, const double *lambda, double scale, int count,
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

static void soft_rows_hold(body_state *base, const double *impulse) {
    soft_state *state = (soft_state *)base;
    memcpy(state->limit_impulse, impulse, 3 * (size_t)soft_of(state)->mesh.node_count * sizeof *impulse);
}

/* The strain limits of a whole soft body, for solvers (body/body.h, body_limits).
 *
 * Most tets are far from their limits most of the time. Batches whose multipliers are zero and whose limits are inactive
 * are quiet: they are not decomposed and contribute nothing. Gradient and Hessian are added tet by tet, in ascending
 * order, only for tets with an active limit. */

static double *record_of(soft_state *state, int batch) {
    return state->limit_records + (size_t)batch * SIMD_LANES * SOFT_RECORD;
}

static bool is_warm(const soft_state *state, int k) {
    const f64x8 *Y = state->multiplier + SOFT_MULTIPLIERS * k;
    i64x8 some = Y[0] != 0.0;
    for (int i = 1; i < SOFT_MULTIPLIERS; i++) some |= Y[i] != 0.0;
    return i64x8_any(some);
}

/* Bodies without bones have too few tets for skipping to matter, and it would change the last bits of their golden states:
 * the signs of zeros in multipliers, and where decompositions start. */
static bool counts_as_warm(const soft_state *state, int k) {
    return !soft_of(state)->carriers || is_warm(state, k);
}

static bool limits_warm(const body_state *base) {
    const soft_state *state = (const soft_state *)base;
    for (int k = 0; k < soft_of(state)->batch_count; k++)
        if (is_warm(state, k)) return true;
    return false;
}

static void limits_rescale(body_state *base, double factor, double max) {
    soft_state *state = (soft_state *)base;
    for (int k = 0; k < soft_of(state)->batch_count; k++)
        if (state->limit_warm[k]) soft_limit_rescale(factor, max, state->multiplier + SOFT_MULTIPLIERS * k);
}

/* Between steps the multipliers are stored in the frames of the tets at the start of the step. Restored in the frames
 * at the start of the next step, they have rotated with the tets, which is the best guess for the coming rotation: 5.9
 * iterations per step instead of 8.0 with multipliers in world axes, for the bent hand of `thenar bench solvers`. */
static void turn_multipliers(const soft_state *state, int k, bool back, f64x8 *turned) {
    const f64x8 *R = state->rotation + 9 * k, *Y = state->multiplier + SOFT_MULTIPLIERS * k;
    /* Column j of Y, then the vector of each fibre, times R or its transpose. */
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
        if (!state->limit_warm[k]) continue;
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
        state->limit_warm[k] = counts_as_warm(state, k);
        state->limit_quiet[k] = true;
        state->limit_pushes[k] = 0;
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
    const soft_batch *batch = &soft_of(state)->batches[k];
    f64x8 F[9];
    soft_element_gradient(batch, state->trial, F);
    state->limit_quiet[k] = !state->limit_warm[k] && is_inactive(batch, F);
    if (!state->limit_quiet[k]) decompose(batch, state->multiplier + SOFT_MULTIPLIERS * k, F, &state->limit_points[k]);
}

static void limits_evaluate(body_state *base, const body_step *step) {
    visit_batches(step, &(limit_job){.state = (soft_state *)base, .visit = evaluate_batch});
}

static double limits_energy(const body_state *base) {
    const soft_state *state = (const soft_state *)base;
    const soft_model *body = soft_of(state);
    double sum = 0;
    for (int k = 0; k < body->batch_count; k++)
        if (!state->limit_quiet[k]) sum += soft_limit_energy(&body->batches[k], &state->limit_points[k]);
    return sum;
}

static body_limit_measures limits_measure(const body_state *base) {
    const soft_state *state = (const soft_state *)base;
    const soft_model *body = soft_of(state);
    body_limit_measures all = {0};
    for (int k = 0; k < body->batch_count; k++) {
        if (state->limit_quiet[k]) continue;
        soft_limit_measures one =
            soft_limit_measure(&body->batches[k], &state->limit_points[k], state->multiplier + SOFT_MULTIPLIERS * k);
        all.distance = fmax(all.distance, one.distance);
        all.active += one.active;
    }
    return all;
}

/* The next tet from t on with an active limit, or the number of tets. */
static int next_pushing(const soft_state *state, int t) {
    int batches = soft_of(state)->batch_count;
    for (int k = t / SIMD_LANES; k < batches; k++, t = SIMD_LANES * k) {
        unsigned left = state->limit_pushes[k] >> t % SIMD_LANES;
        if (left) return t + __builtin_ctz(left);
    }
    return soft_of(state)->mesh.tet_count;
}

#define EACH_PUSHING(state, t)                                                                                         \
    for (int t = next_pushing(state, 0); t < soft_of(state)->mesh.tet_count; t = next_pushing(state, t + 1))

static void force_batch(const limit_job *job, int k) {
    soft_state *state = job->state;
    const soft_batch *batch = &soft_of(state)->batches[k];
    state->limit_pushes[k] = state->limit_quiet[k] ? 0 : soft_limit_pushes(batch, &state->limit_points[k]);
    if (state->limit_pushes[k]) soft_limit_forces(batch, &state->limit_points[k], job->weight, record_of(state, k));
}

static void limits_gradient(body_state *base, const body_step *step, double weight, double *gradient) {
    soft_state *state = (soft_state *)base;
    const soft_model *body = soft_of(state);
    visit_batches(step, &(limit_job){.state = state, .weight = weight, .visit = force_batch});
    EACH_PUSHING(state, t) {
        const double *force = state->limit_records + (size_t)t * SOFT_RECORD + SOFT_RECORD_FORCE;
        for (int a = 0; a < 4; a++) {
            int unknown = body->system_node[body->batches[t / SIMD_LANES].node[a][t % SIMD_LANES]];
            if (unknown < 0) continue;
            double *sum = gradient + 3 * (size_t)unknown;
            vec3_store(sum, vec3_sub(vec3_load(sum), vec3_load(force + 3 * a)));
        }
    }
}

static void block_batch(const limit_job *job, int k) {
    soft_state *state = job->state;
    if (state->limit_pushes[k])
        soft_limit_blocks(&soft_of(state)->batches[k], &state->limit_points[k], job->weight, true, record_of(state, k));
}

static void add_blocks(const soft_state *state, double *blocks) {
    const soft_model *body = soft_of(state);
    EACH_PUSHING(state, t) {
        const double *source = state->limit_records + (size_t)t * SOFT_RECORD;
        for (int i = 0; i < 10; i++, source += 9) {
            if (body->tet_block[t][i] < 0) continue;
            double *target = blocks + 9 * (size_t)body->tet_block[t][i];
            f64x8_store(target, f64x8_load(target) + f64x8_load(source));
            target[8] += source[8];
        }
    }
}

/* Completes the records of tets that the gradient found active. */
static void limits_hessian(body_state *base, const body_step *step, double weight, double *blocks) {
    soft_state *state = (soft_state *)base;
    visit_batches(step, &(limit_job){.state = state, .weight = weight, .visit = block_batch});
    add_blocks(state, blocks);
}

/* Called with stored multipliers and nodes at the end of the step; does not change the state. */
static void tangent_batch(const limit_job *job, int k) {
    soft_state *state = job->state;
    const soft_batch *batch = &soft_of(state)->batches[k];
    soft_limit_point point = state->limit_points[k]; /* V: start of the decomposition */
    f64x8 Y[SOFT_MULTIPLIERS];
    turn_multipliers(state, k, false, Y);
    soft_limit_decompose(batch, state->x, Y, &point);
    state->limit_pushes[k] = soft_limit_pushes(batch, &point);
    if (!state->limit_pushes[k]) return;
    soft_limit_stiffen(job->stiffer, &point);
    soft_limit_blocks(batch, &point, job->stiffer * job->weight, job->convex, record_of(state, k));
}

static void limits_tangent(body_state *base, const body_step *step, double weight, double stiffer, bool convex,
                           double *blocks) {
    limit_job job = {
        .state = (soft_state *)base, .weight = weight, .stiffer = stiffer, .convex = convex, .visit = tangent_batch};
    visit_batches(step, &job);
    add_blocks(job.state, blocks);
}

static void limits_update(body_state *base, double factor, double max) {
    soft_state *state = (soft_state *)base;
    const soft_model *body = soft_of(state);
    for (int k = 0; k < body->batch_count; k++)
        if (!state->limit_quiet[k]) {
            soft_limit_update(&state->limit_points[k], factor, max, state->multiplier + SOFT_MULTIPLIERS * k);
            state->limit_warm[k] = counts_as_warm(state, k);
        }
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
