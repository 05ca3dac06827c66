/* Strain limits (perez2013, Eqs. 9-11) in augmented-Lagrangian form.
 *
 * K = { G : s_min <= s_i <= s_max }, s_i the signed singular values of G. With a scaled multiplier Y (a 3x3 matrix a
 * tet: multipliers by index would be ambiguous where singular values cross) and F = G(x) + Y = U diag(f) V^T, the term
 * of a tet is
 *   (w / 2) |F - P(F)|^2,   P clamps f,   D = F - P(F) = U diag(d) V^T,   d_i = f_i - clamp(f_i),   w = h^2 rho Vol
 *   gradient at node a:  w D g_a
 *   Hessian between nodes a and b:  w sum_m c_m (Q_m g_a)(Q_m g_b)^T  over nine modes of dF in the frame of U and V:
 *     u_i v_i^T                                   c = 1 where d_i != 0
 *     (u_i v_j^T + u_j v_i^T) / sqrt 2            c = (d_i - d_j) / (f_i - f_j), in [0, 1]
 *     (u_i v_j^T - u_j v_i^T) / sqrt 2            c = max(0, (d_i + d_j) / (f_i + f_j))
 * The last is the curvature of the limit itself; without it (Gauss-Newton) the iteration stalls. */
#include "body/soft_limit.h"

#include "math/svd3.h"

#define AT(i, j) (3 * (i) + (j))
#define EQUAL_VALUES 1e-9 /* closer singular values count as one */
#define SMALLEST_SUM 0.01 /* of two singular values, to divide by */

void soft_limit_decompose(const soft_batch *batch, const double *x, const f64x8 *Y, soft_limit_point *point) {
    f64x8 F[9];
    soft_element_gradient(batch, x, F);
    if (batch->fibres) soft_fibre_evaluate(batch->fibres, F, Y + 9, &point->fibre);
    SIMD_FOR (i, 0, 9) F[i] += Y[i];
    svd3_batch(F, point->U, point->f, point->V);
    SIMD_FOR (i, 0, 3) {
        f64x8 f = point->f[i];
        point->d[i] = f - f64x8_max(batch->s_min, f64x8_min(batch->s_max, f));
    }
}

bool soft_limit_pushes(const soft_limit_point *point) {
    const f64x8 *d = point->d, *delta = point->fibre.delta;
    return i64x8_any((d[0] != 0.0) | (d[1] != 0.0) | (d[2] != 0.0) | (delta[0] != 0.0) | (delta[1] != 0.0) |
                     (delta[2] != 0.0));
}

void soft_limit_stiffen(double stiffer, soft_limit_point *point) {
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

soft_limit_measures soft_limit_measure(const soft_batch *batch, const soft_limit_point *point, const f64x8 *Y) {
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

/* The factor by which a multiplier of this size becomes no larger than `most`. */
SIMD_INLINE f64x8 shorten(f64x8 square, double most) {
    f64x8 limit = f64x8_set(most * most);
    return f64x8_select(square > limit, f64x8_sqrt(limit / f64x8_max(square, limit)), f64x8_set(1));
}

/* A vector of a multiplier (that of the principal stretches, or of a fibre) times factor, no longer than most. */
SIMD_INLINE void rescale_vector(double factor, double most, int count, f64x8 *y) {
    f64x8 square = f64x8_set(0);
    for (int i = 0; i < count; i++) square = f64x8_fma(y[i], y[i], square);
    f64x8 scale = factor * shorten(factor * factor * square, most);
    for (int i = 0; i < count; i++) y[i] = scale * y[i];
}

void soft_limit_rescale(double factor, double most, f64x8 *Y) {
    rescale_vector(factor, most, 9, Y);
    for (int k = 0; k < SOFT_FIBRES; k++) rescale_vector(factor, most, 3, Y + 9 + 3 * k);
}

void soft_limit_update(const soft_limit_point *point, double factor, double most, f64x8 *Y) {
    compose(point, Y);
    SIMD_FOR (k, 0, SOFT_FIBRES)
        SIMD_FOR (i, 0, 3) Y[9 + 3 * k + i] = point->fibre.delta[k] * point->fibre.n[k][i];
    soft_limit_rescale(factor, most, Y);
}

/* The modes' coefficients times w, as they act in the frame of U on the components of V^T g_a (see write_hessian). */
typedef struct limit_modes {
    f64x8 own[3];        /* of u_i v_i^T */
    f64x8 sum[3];        /* of the pair (i, i + 1): half the sum of both its modes */
    f64x8 difference[3]; /* and half the difference */
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

/* Writes the ten blocks. The vectors g of the four nodes add up to zero, so node 0's blocks are minus sums. */
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
        int t = 3 * (i % 3) + i / 3; /* the entry across the diagonal */
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

void soft_limit_forces(const soft_batch *batch, const soft_limit_point *point, double weight, double *records) {
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
