/* Limits on the stretch along given rest directions, "fibres": the anisotropic part of the strain limits.
 *
 * For a unit direction e of the rest shape and a scaled multiplier y, t = G e + y, r = |t|, n = t / r:
 *   term (w / 2) delta^2,   delta = r - clamp(r),   w = h^2 rho Vol
 *   gradient at node a:  w delta n (e . g_a)
 *   Hessian between nodes a and b:  w (e . g_a)(e . g_b) (1[delta != 0] n n^T + max(0, delta / r)(I - n n^T))
 *   as a row (perez2013 Eq. 11 for |G e| instead of s): dC/dx_a = +-(e . g_a) n
 * Up to SOFT_FIBRES directions a tet, eight tets at a time. */
#ifndef BODY_SOFT_FIBRE_H
#define BODY_SOFT_FIBRE_H

#include "math/simd.h"

#include <stdbool.h>

#define SOFT_FIBRES 3

typedef struct soft_fibres {
    f64x8 direction[SOFT_FIBRES][3]; /* unit; zero where a tet has none */
    f64x8 min[SOFT_FIBRES], max[SOFT_FIBRES];
} soft_fibres;

typedef struct soft_fibre_point {
    f64x8 n[SOFT_FIBRES][3], r[SOFT_FIBRES], delta[SOFT_FIBRES];
} soft_fibre_point;

/* G row-major; Y: 3 per fibre. */
SIMD_INLINE void soft_fibre_evaluate(const soft_fibres *fibres, const f64x8 G[9], const f64x8 *Y,
                                     soft_fibre_point *point) {
    SIMD_FOR (k, 0, SOFT_FIBRES) {
        const f64x8 *e = fibres->direction[k];
        f64x8 t[3], square = f64x8_set(0);
        SIMD_FOR (i, 0, 3) {
            t[i] = f64x8_fma(G[3 * i], e[0], f64x8_fma(G[3 * i + 1], e[1], G[3 * i + 2] * e[2])) + Y[3 * k + i];
            square = f64x8_fma(t[i], t[i], square);
        }
        f64x8 r = f64x8_sqrt(square);
        i64x8 some = r > f64x8_set(1e-12); /* a fibre that is crushed to a point has no direction to push in */
        f64x8 scale = f64x8_select(some, 1.0 / f64x8_select(some, r, f64x8_set(1)), f64x8_set(0));
        SIMD_FOR (i, 0, 3) point->n[k][i] = scale * t[i];
        point->r[k] = r;
        point->delta[k] = f64x8_select(some, r - f64x8_max(fibres->min[k], f64x8_min(fibres->max[k], r)), f64x8_set(0));
    }
}

/* Lanes of sum over the fibres of delta^2. */
SIMD_INLINE f64x8 soft_fibre_squares(const soft_fibre_point *point) {
    f64x8 sum = f64x8_set(0);
    SIMD_FOR (k, 0, SOFT_FIBRES) sum = f64x8_fma(point->delta[k], point->delta[k], sum);
    return sum;
}

/* e . g_a of the four nodes. */
SIMD_INLINE void soft_fibre_along(const f64x8 e[3], const f64x8 gradient[9], f64x8 along[4]) {
    SIMD_FOR (a, 1, 4) {
        const f64x8 *g = gradient + 3 * (a - 1);
        along[a] = f64x8_fma(e[0], g[0], f64x8_fma(e[1], g[1], e[2] * g[2]));
    }
    along[0] = -(along[1] + along[2] + along[3]);
}

/* Adds minus the gradient to nodal[3 a + i]. */
SIMD_INLINE void soft_fibre_add_forces(const soft_fibres *fibres, const soft_fibre_point *point,
                                       const f64x8 gradient[9], f64x8 w, f64x8 *nodal) {
    SIMD_FOR (k, 0, SOFT_FIBRES) {
        f64x8 along[4];
        soft_fibre_along(fibres->direction[k], gradient, along);
        SIMD_FOR (a, 0, 4)
            SIMD_FOR (i, 0, 3) nodal[3 * a + i] -= w * point->delta[k] * along[a] * point->n[k][i];
    }
}

/* Adds the Hessian to ten blocks; convex: without max(0, .) it is exact, and may be indefinite. */
SIMD_INLINE void soft_fibre_add_blocks(const soft_fibres *fibres, const soft_fibre_point *point,
                                       const f64x8 gradient[9], f64x8 w, bool convex, f64x8 *blocks) {
    const f64x8 zero = f64x8_set(0), one = f64x8_set(1);
    for (int k = 0; k < SOFT_FIBRES; k++) {
        f64x8 along[4], core[9];
        soft_fibre_along(fibres->direction[k], gradient, along);
        const f64x8 *n = point->n[k];
        f64x8 radial = f64x8_select(point->delta[k] != zero, w, zero);
        i64x8 curved = convex ? point->delta[k] > zero : point->r[k] > f64x8_set(0.01);
        f64x8 across = f64x8_select(curved, w * point->delta[k] / f64x8_select(curved, point->r[k], one), zero);
        SIMD_FOR (i, 0, 3)
            SIMD_FOR (j, 0, 3) core[3 * i + j] = (radial - across) * n[i] * n[j] + (i == j ? across : zero);
        SIMD_FOR (a, 0, 4)
            SIMD_FOR (b, 0, a + 1) {
                f64x8 scale = along[a] * along[b];
                SIMD_FOR (i, 0, 9) {
                    f64x8 *entry = &blocks[9 * (a * (a + 1) / 2 + b) + i];
                    *entry = f64x8_fma(scale, core[i], *entry);
                }
            }
    }
}

#endif
