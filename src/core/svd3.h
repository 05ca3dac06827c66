/* Signed singular value decomposition of 3x3 matrices.
 *
 *     G = U diag(s) V^T,   U and V proper rotations,   s1 >= s2 >= |s3|,   s3 has the sign of det G
 *
 * so an inverted tetrahedron has a negative s3, and R = U V^T is the rotation closest to G even then. Every finite G
 * is valid: flat, zero, of any scale. Errors are at worst near 1e-15 of s1: small singular values are accurate
 * relative to s1, not to themselves. (Where an entry is close to the largest double, s itself may be infinite; U and V
 * stay rotations.) If G is not finite, U and s are unspecified but V is returned unchanged. */
#ifndef CORE_SVD3_H
#define CORE_SVD3_H

#include "core/simd.h"

/* Eight matrices at a time, one per lane, row-major: entry (i, j) of all eight is G[3 * i + j].
 *
 * V is in/out: any rotation, up to rounding, to start from. The identity is a cold start; the V of a nearby G saves
 * most of the work. Every call makes it orthonormal again, so it can be passed on forever. A lane does not depend on
 * its neighbours except for the sign of a zero. To pad a lane: G zero, V the identity. */
void svd3_batch(const f64x8 G[9], f64x8 U[9], f64x8 s[3], f64x8 V[9]);

/* R = U V^T, on eight matrices. */
SIMD_INLINE void svd3_rotation(const f64x8 U[9], const f64x8 V[9], f64x8 R[9]) {
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            R[3 * i + j] =
                f64x8_fma(U[3 * i], V[3 * j], f64x8_fma(U[3 * i + 1], V[3 * j + 1], U[3 * i + 2] * V[3 * j + 2]));
}

#endif
