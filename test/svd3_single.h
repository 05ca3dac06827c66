/* The decompositions of core/svd3.h for one matrix at a time, from a cold start. */
#ifndef TEST_SVD3_SINGLE_H
#define TEST_SVD3_SINGLE_H

#include "core/svd3.h"
#include "core/vec3.h"

static inline void svd3(mat3 G, mat3 *U, double s[3], mat3 *V) {
    f64x8 g[9] = {0}, u[9], values[3], v[9] = {0};
    for (int i = 0; i < 9; i++) g[i][0] = G.m[i];
    v[0] = v[4] = v[8] = f64x8_set(1);
    svd3_batch(g, u, values, v);
    for (int i = 0; i < 9; i++) U->m[i] = u[i][0], V->m[i] = v[i][0];
    for (int i = 0; i < 3; i++) s[i] = values[i][0];
}

/* G = R S: R the closest rotation, S = V diag(s) V^T symmetric. Where the closest rotation is not unique
 * (s2 + s3 = 0) it is one of them; for G = 0 it is the identity. */
static inline void polar3(mat3 G, mat3 *R, mat3 *S) {
    mat3 U, V;
    double s[3];
    svd3(G, &U, s, &V);
    mat3 V_transposed = mat3_transpose(V);
    *R = mat3_mul(U, V_transposed);
    *S = mat3_mul(mat3_mul(V, mat3_diagonal(s[0], s[1], s[2])), V_transposed);
}

#endif
