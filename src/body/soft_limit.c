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

typedef struct limit_state {
    f64x8 U[9], f[3], d[3], clamped[3];
} limit_state;

#define AT(i, j) (3 * (i) + (j))
#define EQUAL_VALUES 1e-9 /* closer singular values count as one */

/* F = U diag(f) V^T and its distance from the limits. */
SIMD_INLINE void decompose(const soft_batch *batch, const double *x, const f64x8 *Y, f64x8 *V, f64x8 G[9],
                           limit_state *s) {
    f64x8 F[9];
    soft_element_gradient(batch, x, G);
    SIMD_FOR (i, 0, 9) F[i] = G[i] + Y[i];
    svd3_batch(F, s->U, s->f, V);
    SIMD_FOR (i, 0, 3) {
        s->clamped[i] = f64x8_max(batch->s_min, f64x8_min(batch->s_max, s->f[i]));
        s->d[i] = s->f[i] - s->clamped[i];
    }
}

/* a diag(m) b^T */
SIMD_INLINE void compose(const f64x8 a[9], const f64x8 m[3], const f64x8 b[9], f64x8 out[9]) {
    SIMD_FOR (i, 0, 3)
        SIMD_FOR (j, 0, 3)
            out[AT(i, j)] = f64x8_fma(a[AT(i, 0)] * m[0], b[AT(j, 0)],
                                      f64x8_fma(a[AT(i, 1)] * m[1], b[AT(j, 1)], a[AT(i, 2)] * m[2] * b[AT(j, 2)]));
}

void soft_limit_decompose(const soft_batch *batch, const double *x, f64x8 U[9], f64x8 s[3], f64x8 *V) {
    f64x8 G[9];
    soft_element_gradient(batch, x, G);
    svd3_batch(G, U, s, V);
}

double soft_limit_energy(const soft_batch *batch, const double *x, double weight, const f64x8 *Y, f64x8 *V) {
    limit_state s;
    f64x8 G[9], squares = f64x8_set(0);
    decompose(batch, x, Y, V, G, &s);
    SIMD_FOR (i, 0, 3) squares = f64x8_fma(s.d[i], s.d[i], squares);
    f64x8 energy = 0.5 * weight * batch->stiffness * squares;
    double sum = 0;
    for (int l = 0; l < batch->tet_count; l++) sum += energy[l];
    return sum;
}

soft_limit_measures soft_limit_measure(const soft_batch *batch, const double *x, const f64x8 *Y, f64x8 *V) {
    limit_state s;
    f64x8 G[9], P[9], U[9], stretch[3], W[9], violation = f64x8_set(0), difference = f64x8_set(0);
    decompose(batch, x, Y, V, G, &s);
    compose(s.U, s.clamped, V, P);
    SIMD_FOR (i, 0, 9) difference = f64x8_fma(G[i] - P[i], G[i] - P[i], difference);
    SIMD_FOR (i, 0, 9) W[i] = V[i];
    svd3_batch(G, U, stretch, W);
    SIMD_FOR (i, 0, 3)
        violation = f64x8_max(violation, f64x8_max(stretch[i] - batch->s_max, batch->s_min - stretch[i]));
    soft_limit_measures measures = {0};
    for (int l = 0; l < batch->tet_count; l++) {
        measures.violation = fmax(measures.violation, violation[l]);
        measures.complementarity = fmax(measures.complementarity, sqrt(difference[l]));
        for (int i = 0; i < 3; i++) measures.active += s.d[i][l] != 0;
    }
    return measures;
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

static void add_hessian(const soft_batch *batch, const limit_state *s, const f64x8 *V, f64x8 w, f64x8 *blocks) {
    const f64x8 zero = f64x8_set(0), one = f64x8_set(1);
    f64x8 u[3][3], vg[3][3]; /* columns of U; v_i . g_a for a = 1..3 */
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) {
            u[i][k] = s->U[AT(k, i)];
            vg[i][k] =
                f64x8_fma(V[AT(0, i)], batch->gradient[AT(k, 0)],
                          f64x8_fma(V[AT(1, i)], batch->gradient[AT(k, 1)], V[AT(2, i)] * batch->gradient[AT(k, 2)]));
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

static void add_gradient(const soft_batch *batch, const limit_state *s, const f64x8 *V, f64x8 w, f64x8 *nodal) {
    f64x8 D[9];
    compose(s->U, s->d, V, D);
    for (int i = 0; i < 3; i++) {
        f64x8 sum = f64x8_set(0);
        for (int a = 1; a < 4; a++) {
            const f64x8 *g = batch->gradient + 3 * (a - 1);
            f64x8 entry = w * f64x8_fma(D[AT(i, 0)], g[0], f64x8_fma(D[AT(i, 1)], g[1], D[AT(i, 2)] * g[2]));
            nodal[3 * a + i] = -entry;
            sum += entry;
        }
        nodal[i] = sum;
    }
}

bool soft_limit_linearize(const soft_batch *batch, const double *x, double weight, const f64x8 *Y, f64x8 *V,
                          double *records) {
    limit_state s;
    f64x8 G[9];
    decompose(batch, x, Y, V, G, &s);
    i64x8 pushes = (s.d[0] != 0.0) | (s.d[1] != 0.0) | (s.d[2] != 0.0);
    if (!i64x8_any(pushes)) return false;
    f64x8 values[SOFT_RECORD];
    for (int i = 0; i < SOFT_RECORD; i++) values[i] = f64x8_set(0);
    f64x8 w = weight * batch->stiffness;
    add_hessian(batch, &s, V, w, values);
    add_gradient(batch, &s, V, w, values + SOFT_RECORD_FORCE);
    soft_element_store(values, records);
    return true;
}

void soft_limit_update(const soft_batch *batch, const double *x, double scale, f64x8 *Y, f64x8 *V) {
    limit_state s;
    f64x8 G[9], D[9];
    decompose(batch, x, Y, V, G, &s);
    compose(s.U, s.d, V, D);
    SIMD_FOR (i, 0, 9) Y[i] = scale * D[i];
}
