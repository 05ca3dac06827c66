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

/* Adds sign u v^T g_a for the nodes a = 1..3 to the vectors of a mode; vg holds v . g_a. */
SIMD_INLINE void add_vectors(const f64x8 u[3], const f64x8 vg[3], double sign, f64x8 q[4][3]) {
    SIMD_FOR (a, 1, 4)
        SIMD_FOR (i, 0, 3) q[a][i] += sign * vg[a - 1] * u[i];
}

/* Adds c (Q g_a)(Q g_b)^T to the ten blocks; node 0's vector is minus the sum of the others. */
SIMD_INLINE void add_mode(f64x8 q[4][3], f64x8 c, f64x8 *blocks) {
    SIMD_FOR (i, 0, 3) q[0][i] = -(q[1][i] + q[2][i] + q[3][i]);
    SIMD_FOR (a, 0, 4) {
        f64x8 scaled[3];
        SIMD_FOR (i, 0, 3) scaled[i] = c * q[a][i];
        SIMD_FOR (b, 0, a + 1) {
            f64x8 *block = blocks + 9 * (a * (a + 1) / 2 + b);
            SIMD_FOR (i, 0, 3)
                SIMD_FOR (j, 0, 3) block[AT(i, j)] = f64x8_fma(scaled[i], q[b][j], block[AT(i, j)]);
        }
    }
}

static void add_hessian(const soft_batch *batch, const soft_limit_point *s, f64x8 w, f64x8 *blocks) {
    const f64x8 zero = f64x8_set(0), one = f64x8_set(1);
    const f64x8 *V = s->V;
    f64x8 u[3][3], vg[3][3]; /* columns of U; v_i . g_a for a = 1..3 */
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) {
            const f64x8 *g = batch->gradient + 3 * k;
            u[i][k] = s->U[AT(k, i)];
            vg[i][k] = f64x8_fma(V[AT(0, i)], g[0], f64x8_fma(V[AT(1, i)], g[1], V[AT(2, i)] * g[2]));
        }
    f64x8 on[3];
    for (int i = 0; i < 3; i++) on[i] = f64x8_select(s->d[i] != zero, one, zero);
    for (int i = 0; i < 3; i++) {
        f64x8 q[4][3] = {{{0}}};
        add_vectors(u[i], vg[i], 1, q);
        add_mode(q, w * on[i], blocks);
    }
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3;
        f64x8 gap = s->f[i] - s->f[j], sum = s->f[i] + s->f[j], both = s->d[i] + s->d[j];
        i64x8 apart = f64x8_abs(gap) > f64x8_set(EQUAL_VALUES), outward = both > zero;
        f64x8 along = f64x8_select(apart, (s->d[i] - s->d[j]) / f64x8_select(apart, gap, one), on[i]);
        f64x8 across = f64x8_select(outward, both / f64x8_select(outward, sum, one), zero);
        f64x8 q[4][3] = {{{0}}}, p[4][3] = {{{0}}};
        add_vectors(u[i], vg[j], 1, q);
        add_vectors(u[j], vg[i], 1, q);
        add_mode(q, 0.5 * w * along, blocks);
        add_vectors(u[i], vg[j], 1, p);
        add_vectors(u[j], vg[i], -1, p);
        add_mode(p, 0.5 * w * across, blocks);
    }
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

void soft_limit_blocks(const soft_batch *batch, const soft_limit_point *point, double weight, double *records) {
    f64x8 values[SOFT_RECORD], w = weight * batch->stiffness;
    for (int i = 0; i < SOFT_RECORD; i++) values[i] = f64x8_set(0);
    add_hessian(batch, point, w, values);
    if (batch->fibres) soft_fibre_add_blocks(batch->fibres, &point->fibre, batch->gradient, w, values);
    nodal_forces(batch, point, w, values + SOFT_RECORD_FORCE);
    soft_element_store(values, 0, records);
}
