/* Corotational linear elasticity of a tet (perez2013, section 3.1).
 *
 *   X = (x1-x0, x2-x0, x3-x0),  G = X X0^-1 = U diag(s) V^T,  R = U V^T     (signed s: det U = det V = 1)
 *   g_a: rest gradient of node a's shape function (rows of X0^-1; g_0 = -(g_1+g_2+g_3)),  q_a = R g_a
 *   first Piola stress  P = U diag(2 mu (s_i - 1) + lambda sum_k (s_k - 1)) V^T
 *   elastic force       f_a = -Vol P g_a                                    (equals -R K (R^T x - x0))
 *   warped stiffness    K_ab = Vol (lambda q_a q_b^T + mu q_b q_a^T + mu (g_a.g_b) I)   (equals R K R^T)
 *
 * K is positive semidefinite for any R, so flat and inverted tets do no harm: the smallest signed singular value is
 * pushed back towards 1 along its own direction.
 *
 * Implicit Euler with Rayleigh damping (perez2013, Eq. 12) weights K by c = h^2 + h beta. The element's part of b is
 *   h f - c K v_held,  since the velocities of held nodes are known. */
#include "body/soft.h"

#include "core/svd3.h"

/* Row-major 3x3 matrices of lanes. */
#define AT(i, j) (3 * (i) + (j))

SIMD_INLINE f64x8 gather(const double *values, const int node[SIMD_LANES], int component) {
    f64x8 lanes;
    for (int l = 0; l < SIMD_LANES; l++) lanes[l] = values[3 * node[l] + component];
    return lanes;
}

SIMD_INLINE void deformation_gradient(const soft_batch *batch, const double *x, f64x8 G[9]) {
    SIMD_FOR (i, 0, 3) {
        f64x8 base = gather(x, batch->node[0], i);
        f64x8 e0 = gather(x, batch->node[1], i) - base;
        f64x8 e1 = gather(x, batch->node[2], i) - base;
        f64x8 e2 = gather(x, batch->node[3], i) - base;
        SIMD_FOR (j, 0, 3)
            G[AT(i, j)] = f64x8_fma(e0, batch->gradient[AT(0, j)],
                                    f64x8_fma(e1, batch->gradient[AT(1, j)], e2 * batch->gradient[AT(2, j)]));
    }
}

/* c = a b^T with the lanes of 3x3 matrices. */
SIMD_INLINE void multiply_transposed(const f64x8 a[9], const f64x8 b[9], f64x8 c[9]) {
    SIMD_FOR (i, 0, 3)
        SIMD_FOR (j, 0, 3)
            c[AT(i, j)] =
                f64x8_fma(a[AT(i, 0)], b[AT(j, 0)], f64x8_fma(a[AT(i, 1)], b[AT(j, 1)], a[AT(i, 2)] * b[AT(j, 2)]));
}

/* The vectors of the nodes from those of nodes 1..3 (rows of m); that of node 0 is minus their sum. */
SIMD_INLINE void expand_nodes(const f64x8 m[9], f64x8 node[4][3]) {
    SIMD_FOR (i, 0, 3) {
        SIMD_FOR (a, 1, 4) node[a][i] = m[AT(a - 1, i)];
        node[0][i] = -(m[AT(0, i)] + m[AT(1, i)] + m[AT(2, i)]);
    }
}

SIMD_INLINE f64x8 dot3(const f64x8 a[3], const f64x8 b[3]) {
    return f64x8_fma(a[0], b[0], f64x8_fma(a[1], b[1], a[2] * b[2]));
}

/* -Vol P g_a for the four nodes, times `scale`. */
SIMD_INLINE void elastic_forces(const soft_batch *batch, const f64x8 U[9], const f64x8 s[3], const f64x8 V[9],
                                f64x8 scale, f64x8 force[4][3]) {
    f64x8 spread = batch->lambda * (s[0] + s[1] + s[2] - 3.0);
    f64x8 stressed[9], P[9], nodal[9];
    SIMD_FOR (j, 0, 3) {
        f64x8 sigma = -scale * (2.0 * batch->mu * (s[j] - 1.0) + spread);
        SIMD_FOR (i, 0, 3) stressed[AT(i, j)] = U[AT(i, j)] * sigma;
    }
    multiply_transposed(stressed, V, P);
    multiply_transposed(batch->gradient, P, nodal);
    expand_nodes(nodal, force);
}

SIMD_INLINE void rotated_gradients(const soft_batch *batch, const f64x8 R[9], f64x8 g[4][3], f64x8 q[4][3]) {
    f64x8 rotated[9];
    multiply_transposed(batch->gradient, R, rotated); /* row a: (R g_a)^T */
    expand_nodes(batch->gradient, g);
    expand_nodes(rotated, q);
}

/* c K_ab, row-major. */
SIMD_INLINE void stiffness_block(const f64x8 g[4][3], const f64x8 q[4][3], f64x8 lambda, f64x8 mu, int a, int b,
                                 f64x8 block[9]) {
    f64x8 diagonal = mu * dot3(g[a], g[b]);
    f64x8 la[3], ma[3];
    SIMD_FOR (i, 0, 3) la[i] = lambda * q[a][i], ma[i] = mu * q[b][i];
    SIMD_FOR (i, 0, 3)
        SIMD_FOR (j, 0, 3) {
            f64x8 entry = i == j ? f64x8_fma(ma[i], q[a][j], diagonal) : ma[i] * q[a][j];
            block[AT(i, j)] = f64x8_fma(la[i], q[b][j], entry);
        }
}

/* (c K w)_a = sum_b c K_ab w_b, without forming K. */
SIMD_INLINE void stiffness_times(const f64x8 g[4][3], const f64x8 q[4][3], f64x8 lambda, f64x8 mu, const f64x8 w[4][3],
                                 f64x8 out[4][3]) {
    f64x8 spread = lambda * (dot3(q[0], w[0]) + dot3(q[1], w[1]) + dot3(q[2], w[2]) + dot3(q[3], w[3]));
    SIMD_FOR (a, 0, 4) {
        SIMD_FOR (i, 0, 3) out[a][i] = spread * q[a][i];
        SIMD_FOR (b, 0, 4) {
            f64x8 along = mu * dot3(q[a], w[b]), same = mu * dot3(g[a], g[b]);
            SIMD_FOR (i, 0, 3) out[a][i] = f64x8_fma(along, q[b][i], f64x8_fma(same, w[b][i], out[a][i]));
        }
    }
}

SIMD_INLINE void gather_nodes(const soft_batch *batch, const double *values, f64x8 w[4][3]) {
    SIMD_FOR (a, 0, 4)
        SIMD_FOR (i, 0, 3) w[a][i] = gather(values, batch->node[a], i);
}

void soft_element_store(const f64x8 *values, int first, double *records) {
    for (; first < SOFT_RECORD; first += SIMD_LANES) {
        f64x8 rows[SIMD_LANES];
        f64x8_transpose(values + first, rows); /* from eight lanes of one value each to eight values of one tet each */
        for (int l = 0; l < SIMD_LANES; l++) f64x8_store(records + l * SOFT_RECORD + first, rows[l]);
    }
}

void soft_element_gradient(const soft_batch *batch, const double *x, f64x8 G[9]) {
    deformation_gradient(batch, x, G);
}

int soft_element_formulate(const soft_batch *batch, const double *x, const double *held_velocity, double h, f64x8 *warm,
                           f64x8 *rotation, double *records) {
    f64x8 G[9], U[9], s[3];
    deformation_gradient(batch, x, G);
    svd3_batch(G, U, s, warm);
    svd3_rotation(U, warm, rotation);

    f64x8 g[4][3], q[4][3], force[4][3];
    rotated_gradients(batch, rotation, g, q);
    elastic_forces(batch, U, s, warm, f64x8_set(h), force);

    f64x8 c = h * h + h * batch->beta;
    f64x8 lambda = c * batch->lambda, mu = c * batch->mu;
    if (batch->has_held) {
        f64x8 w[4][3], held[4][3];
        gather_nodes(batch, held_velocity, w);
        stiffness_times(g, q, lambda, mu, w, held);
        SIMD_FOR (a, 0, 4)
            SIMD_FOR (i, 0, 3) force[a][i] -= held[a][i];
    }

    f64x8 values[SOFT_RECORD];
    for (int i = SOFT_RECORD_FORCE + 12; i < SOFT_RECORD; i++) values[i] = f64x8_set(0);
    SIMD_FOR (a, 0, 4)
        SIMD_FOR (b, 0, a + 1) stiffness_block(g, q, lambda, mu, a, b, values + 9 * (a * (a + 1) / 2 + b));
    SIMD_FOR (a, 0, 4)
        SIMD_FOR (i, 0, 3) values[SOFT_RECORD_FORCE + 3 * a + i] = force[a][i];
    soft_element_store(values, 0, records);

    int inverted = 0;
    for (int l = 0; l < batch->tet_count; l++) inverted += s[2][l] < 0;
    return inverted;
}

void soft_element_stiffness_times(const soft_batch *batch, const f64x8 *rotation, const double *w, double h,
                                  f64x8 out[12]) {
    f64x8 g[4][3], q[4][3], values[4][3], result[4][3];
    rotated_gradients(batch, rotation, g, q);
    gather_nodes(batch, w, values);
    f64x8 c = h * h + h * batch->beta;
    stiffness_times(g, q, c * batch->lambda, c * batch->mu, values, result);
    for (int a = 0; a < 4; a++)
        for (int i = 0; i < 3; i++) out[3 * a + i] = result[a][i];
}

void soft_element_decompose(const soft_batch *batch, const double *x, f64x8 U[9], f64x8 s[3], f64x8 *V) {
    f64x8 G[9];
    deformation_gradient(batch, x, G);
    svd3_batch(G, U, s, V);
}

void soft_element_stretches(const soft_batch *batch, const double *x, f64x8 s[3]) {
    f64x8 U[9], V[9];
    for (int i = 0; i < 9; i++) V[i] = f64x8_set(i % 4 == 0);
    soft_element_decompose(batch, x, U, s, V);
}

/* The sum p of the signed singular values of G, without a decomposition: the largest root of
 *   p^4 - 2 a p^2 - 8 d p + a^2 - 4 c,   a = |G|^2,  d = det G,  c = |cof G|^2   (the other three: s1 - s2 - s3 ...).
 * Newton's method from sqrt(3 a) >= p descends to it, in four steps near rest. */
#define SUM_STEPS 8

SIMD_INLINE f64x8 stretch_sum(const f64x8 G[9], f64x8 a) {
    f64x8 c = f64x8_set(0), d = f64x8_set(0);
    SIMD_FOR (i, 0, 3)
        SIMD_FOR (j, 0, 3) {
            int i1 = (i + 1) % 3, i2 = (i + 2) % 3, j1 = (j + 1) % 3, j2 = (j + 2) % 3;
            f64x8 minor = G[AT(i1, j1)] * G[AT(i2, j2)] - G[AT(i1, j2)] * G[AT(i2, j1)];
            c += minor * minor;
            if (i == 0) d += G[AT(0, j)] * minor;
        }
    f64x8 p = f64x8_sqrt(3.0 * a), floor = f64x8_set(1e-300);
    for (int k = 0; k < SUM_STEPS; k++) {
        f64x8 square = p * p, rest = square - a;
        f64x8 value = rest * rest - 4.0 * c - 8.0 * d * p, slope = 4.0 * p * rest - 8.0 * d;
        p -= value / f64x8_max(slope, floor);
    }
    return p;
}

double soft_element_energy(const soft_batch *batch, const double *x, const f64x8 *rotation, double *frozen) {
    f64x8 G[9], square = f64x8_set(0);
    deformation_gradient(batch, x, G);
    for (int i = 0; i < 9; i++) square += G[i] * G[i];
    /* Vol (mu sum (s_i - 1)^2 + lambda/2 (sum (s_i - 1))^2) */
    f64x8 p = stretch_sum(G, square), trace = p - 3.0;
    f64x8 energy = batch->mu * (square - 2.0 * p + 3.0) + 0.5 * batch->lambda * trace * trace;
    double sum = 0;
    for (int l = 0; l < batch->tet_count; l++) sum += energy[l];
    if (!frozen) return sum;
    /* The same with e = sym(R^T G) - 1. */
    f64x8 E[9];
    SIMD_FOR (i, 0, 3)
        SIMD_FOR (j, 0, 3)
            E[AT(i, j)] = f64x8_fma(rotation[AT(0, i)], G[AT(0, j)],
                                    f64x8_fma(rotation[AT(1, i)], G[AT(1, j)], rotation[AT(2, i)] * G[AT(2, j)]));
    f64x8 squares = f64x8_set(0), stretch = E[0] + E[4] + E[8] - 3.0;
    SIMD_FOR (i, 0, 3) {
        squares += (E[AT(i, i)] - 1.0) * (E[AT(i, i)] - 1.0);
        f64x8 shear = E[AT(i, (i + 1) % 3)] + E[AT((i + 1) % 3, i)];
        squares += 0.5 * shear * shear;
    }
    f64x8 held = batch->mu * squares + 0.5 * batch->lambda * stretch * stretch;
    for (int l = 0; l < batch->tet_count; l++) *frozen += held[l];
    return sum;
}
