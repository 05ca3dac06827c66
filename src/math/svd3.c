/* The signed singular value decomposition of 3x3 matrices, G = U diag(s) V^T, eight in step (one a SIMD lane).
 *
 *     A = (G V0)^T (G V0)          V0: where the caller starts
 *     V = V0 J1 J2 ...             cyclic Jacobi rotations until A is diagonal (Golub and Van Loan, 8.5), then sorted
 *     B = G V = [b1 b2 b3]         u1 = b1 / |b1|; b2 and b3 lose what they have along u1
 *     [b2 b3], [v2 v3]             one more rotation, from the columns themselves (Hestenes), so that b2 . b3 = 0
 *     u2 = b2 / |b2|, u3 = u1 x u2, s = (|b1|, |b2|, u3 . b3)
 *
 * A squares the condition number of G: rounding leaves b_i . b_j near 1e-16 s1^2. Along u1 that is 1e-16 s1 of b_j
 * and harmless, but b2 . b3 / |b2| = 1e-16 s1^2 / s2 would ruin s3 where s1 >> s2; the rotation of [b2 b3] mends it.
 *
 * Shapes: a vec3x8 is a column of eight matrices; V and B are three of them. */
#include "math/svd3.h"

typedef struct vec3x8 {
    f64x8 x, y, z;
} vec3x8;

/* The upper triangle of a symmetric matrix. */
typedef struct symmetric3x8 {
    f64x8 a00, a11, a22, a01, a02, a12;
} symmetric3x8;

typedef struct rotation {
    f64x8 c, s; /* cosine, sine */
    f64x8 r;    /* |(d, o)|, see rotation_from */
} rotation;

/* Three or four sweeps are usual from the identity, and no known matrix takes more than six. */
#define MOST_SWEEPS 12

/* Lanes with |a_pq| <= CONVERGED * trace(A) are left alone: half an ulp of the largest eigenvalue. */
#define CONVERGED 0x1p-54

/* A rotation is not formed from numbers so small (beside the 1 that G is scaled to) that their squares vanish. */
#define VANISHING 0x1p-400

SIMD_INLINE f64x8 dot(vec3x8 a, vec3x8 b) { return f64x8_fma(a.x, b.x, f64x8_fma(a.y, b.y, a.z * b.z)); }
SIMD_INLINE vec3x8 scale(vec3x8 a, f64x8 k) { return (vec3x8){a.x * k, a.y * k, a.z * k}; }
SIMD_INLINE vec3x8 mul_add(vec3x8 a, vec3x8 b, f64x8 k) {
    return (vec3x8){f64x8_fma(b.x, k, a.x), f64x8_fma(b.y, k, a.y), f64x8_fma(b.z, k, a.z)};
}
SIMD_INLINE vec3x8 cross(vec3x8 a, vec3x8 b) {
    return (vec3x8){f64x8_fma(a.y, b.z, -(a.z * b.y)), f64x8_fma(a.z, b.x, -(a.x * b.z)),
                    f64x8_fma(a.x, b.y, -(a.y * b.x))};
}
SIMD_INLINE vec3x8 select3(i64x8 mask, vec3x8 a, vec3x8 b) {
    return (vec3x8){f64x8_select(mask, a.x, b.x), f64x8_select(mask, a.y, b.y), f64x8_select(mask, a.z, b.z)};
}
/* a without its part along the unit vector u */
SIMD_INLINE vec3x8 without(vec3x8 a, vec3x8 u) { return mul_add(a, u, -dot(u, a)); }
SIMD_INLINE f64x8 masked(i64x8 mask, f64x8 a) { return (f64x8)(mask & (i64x8)a); }
/* a with its sign flipped where that of b is negative */
SIMD_INLINE f64x8 times_sign(f64x8 a, f64x8 b) {
    return (f64x8)((i64x8)a ^ ((i64x8)b & (i64x8)f64x8_set(-0.0)));
}

/* The power of two that brings the largest entry of G near 2, and its inverse in *back, by arithmetic on exponents;
 * both stay normal numbers, so denormal entries come out somewhat smaller. Not a number for Inf in G. */
SIMD_INLINE f64x8 scale_to_one(const f64x8 G[9], f64x8 *back) {
    const i64x8 infinity = (i64x8)f64x8_set(INFINITY), one = (i64x8)f64x8_set(0x1p-1022);
    f64x8 largest = f64x8_set(0x1p-1021);
    for (int i = 0; i < 9; i++) largest = f64x8_max(f64x8_abs(G[i]), largest);
    i64x8 exponent = (i64x8)largest & infinity;
    *back = (f64x8)(exponent - one);
    return (f64x8)(infinity - exponent);
}

/* The rotation by at most 45 degrees, tan(2 angle) = o / d: it makes two rows of a symmetric matrix orthogonal whose
 * diagonal differs by d and whose off-diagonal entry is o / 2. The identity where not active. */
SIMD_INLINE rotation rotation_from(f64x8 d, f64x8 o, i64x8 active) {
    f64x8 r = f64x8_sqrt(f64x8_fma(d, d, o * o));
    f64x8 h = f64x8_abs(d) + r;
    f64x8 k = f64x8_set(1) / f64x8_sqrt(f64x8_fma(h, h, o * o));
    return (rotation){f64x8_select(active, h * k, f64x8_set(1)), masked(active, times_sign(o * k, d)), r};
}

SIMD_INLINE void rotate_pair(f64x8 *p, f64x8 *q, rotation j) {
    f64x8 old = *p;
    *p = f64x8_fma(j.c, old, j.s * *q);
    *q = f64x8_fma(j.c, *q, -(j.s * old));
}

SIMD_INLINE void rotate_columns(vec3x8 *p, vec3x8 *q, rotation j) {
    rotate_pair(&p->x, &q->x, j);
    rotate_pair(&p->y, &q->y, j);
    rotate_pair(&p->z, &q->z, j);
}

/* One Jacobi rotation: a_pq becomes 0. Lanes where it is negligible keep every bit. */
SIMD_INLINE void annihilate(f64x8 *app, f64x8 *aqq, f64x8 *apq, f64x8 *apr, f64x8 *aqr, vec3x8 *vp, vec3x8 *vq,
                            f64x8 negligible) {
    i64x8 active = f64x8_abs(*apq) > negligible;
    f64x8 d = *app - *aqq;
    rotation j = rotation_from(d, *apq + *apq, active);
    f64x8 shift = masked(active, times_sign((j.r - f64x8_abs(d)) * 0.5, d));
    *app += shift;
    *aqq -= shift;
    *apq = masked(~active, *apq);
    rotate_pair(apr, aqr, j);
    rotate_columns(vp, vq, j);
}

SIMD_INLINE void diagonalize(symmetric3x8 *a, vec3x8 v[3]) {
    f64x8 negligible = (a->a00 + a->a11 + a->a22) * CONVERGED;
    for (int sweep = 0; sweep < MOST_SWEEPS; sweep++) {
        f64x8 largest = f64x8_max(f64x8_abs(a->a01), f64x8_max(f64x8_abs(a->a02), f64x8_abs(a->a12)));
        if (!i64x8_any(largest > negligible)) return;
        annihilate(&a->a00, &a->a11, &a->a01, &a->a02, &a->a12, &v[0], &v[1], negligible);
        annihilate(&a->a00, &a->a22, &a->a02, &a->a01, &a->a12, &v[0], &v[2], negligible);
        annihilate(&a->a11, &a->a22, &a->a12, &a->a01, &a->a02, &v[1], &v[2], negligible);
    }
}

/* Puts the larger of two eigenvalues first; one column changes sign so that V stays a rotation. */
SIMD_INLINE void sort_pair(f64x8 *p, f64x8 *q, vec3x8 *vp, vec3x8 *vq) {
    i64x8 swap = *p < *q;
    f64x8 larger = f64x8_select(swap, *q, *p);
    *q = f64x8_select(swap, *p, *q);
    *p = larger;
    vec3x8 first = select3(swap, *vq, *vp);
    *vq = select3(swap, scale(*vp, f64x8_set(-1)), *vq);
    *vp = first;
}

SIMD_INLINE void sort_columns(symmetric3x8 *a, vec3x8 v[3]) {
    if (!i64x8_any((a->a00 < a->a11) | (a->a11 < a->a22))) return;
    sort_pair(&a->a00, &a->a11, &v[0], &v[1]);
    sort_pair(&a->a00, &a->a22, &v[0], &v[2]);
    sort_pair(&a->a11, &a->a22, &v[1], &v[2]);
}

/* 1/|a| for a nearly unit vector: a Newton step from 1. */
SIMD_INLINE f64x8 nearly_unit(vec3x8 a) { return f64x8_fma(dot(a, a), f64x8_set(-0.5), f64x8_set(1.5)); }

/* Takes off what rounding did to V, so that a V handed from call to call does not drift. */
SIMD_INLINE void orthonormalize(vec3x8 v[3]) {
    v[0] = scale(v[0], nearly_unit(v[0]));
    v[1] = without(v[1], v[0]);
    v[1] = scale(v[1], nearly_unit(v[1]));
    v[2] = cross(v[0], v[1]);
}

/* Makes b1 and b2 orthogonal, the longer one first, by a rotation of them that v1 and v2 follow. */
SIMD_INLINE void make_orthogonal(vec3x8 *b1, vec3x8 *b2, vec3x8 *v1, vec3x8 *v2) {
    f64x8 half = dot(*b1, *b2), d = dot(*b1, *b1) - dot(*b2, *b2), o = half + half;
    rotation j = rotation_from(d, o, f64x8_abs(d) + f64x8_abs(o) > f64x8_set(VANISHING));
    /* a quarter turn more where the second one is longer */
    i64x8 swap = d < f64x8_set(0);
    f64x8 c = f64x8_select(swap, -j.s, j.c);
    j.s = f64x8_select(swap, j.c, j.s);
    j.c = c;
    rotate_columns(b1, b2, j);
    rotate_columns(v1, v2, j);
}

/* The unit vector along b across u, both given nearly perpendicular. Where b is nothing but rounding, any unit vector
 * across u: from a or its companion c (orthonormal), whichever is further from u. */
SIMD_INLINE vec3x8 unit_across(vec3x8 b, f64x8 length, vec3x8 u, vec3x8 a, vec3x8 c) {
    vec3x8 w = without(scale(b, f64x8_set(1) / f64x8_max(length, f64x8_set(VANISHING))), u);
    f64x8 square = dot(w, w);
    if (i64x8_any(~(square > f64x8_set(1 - 1e-9)))) {
        vec3x8 other = select3(f64x8_abs(dot(u, a)) > f64x8_abs(dot(u, c)), c, a);
        w = select3(square > f64x8_set(0.25), w, without(other, u));
        w = without(scale(w, f64x8_set(1) / f64x8_sqrt(dot(w, w))), u);
    }
    return scale(w, nearly_unit(w));
}

SIMD_INLINE vec3x8 times_vector(const f64x8 G[9], vec3x8 v) {
    return (vec3x8){dot((vec3x8){G[0], G[1], G[2]}, v), dot((vec3x8){G[3], G[4], G[5]}, v),
                    dot((vec3x8){G[6], G[7], G[8]}, v)};
}

SIMD_INLINE void store_columns(f64x8 M[9], vec3x8 a, vec3x8 b, vec3x8 c) {
    M[0] = a.x, M[1] = b.x, M[2] = c.x;
    M[3] = a.y, M[4] = b.y, M[5] = c.y;
    M[6] = a.z, M[7] = b.z, M[8] = c.z;
}

void svd3_batch(const f64x8 G[9], f64x8 U[9], f64x8 s[3], f64x8 V[9]) {
    f64x8 back, factor = scale_to_one(G, &back), H[9];
    for (int i = 0; i < 9; i++) H[i] = G[i] * factor;
    vec3x8 v[3] = {{V[0], V[3], V[6]}, {V[1], V[4], V[7]}, {V[2], V[5], V[8]}};

    vec3x8 b0 = times_vector(H, v[0]), b1 = times_vector(H, v[1]), b2 = times_vector(H, v[2]);
    symmetric3x8 a = {dot(b0, b0), dot(b1, b1), dot(b2, b2), dot(b0, b1), dot(b0, b2), dot(b1, b2)};
    diagonalize(&a, v);
    sort_columns(&a, v);
    orthonormalize(v);

    b0 = times_vector(H, v[0]), b1 = times_vector(H, v[1]), b2 = times_vector(H, v[2]);
    f64x8 s0 = f64x8_sqrt(dot(b0, b0));
    i64x8 is_zero = s0 == f64x8_set(0);
    vec3x8 u0 = select3(is_zero, v[0], scale(b0, f64x8_set(1) / f64x8_select(is_zero, f64x8_set(1), s0)));
    b1 = without(b1, u0);
    b2 = without(b2, u0);
    make_orthogonal(&b1, &b2, &v[1], &v[2]);
    f64x8 s1 = f64x8_sqrt(dot(b1, b1));
    vec3x8 u1 = unit_across(b1, s1, u0, v[1], v[2]);
    vec3x8 u2 = cross(u0, u1);

    /* Equal singular values come out in order but for their last bits. */
    s1 = f64x8_min(s1, s0);
    f64x8 s2 = f64x8_max(f64x8_min(dot(u2, b2), s1), -s1);
    s[0] = s0 * back, s[1] = s1 * back, s[2] = s2 * back;
    store_columns(U, u0, u1, u2);
    store_columns(V, v[0], v[1], v[2]);
}

void svd3(mat3 G, mat3 *U, double s[3], mat3 *V) {
    f64x8 g[9] = {0}, u[9], values[3], v[9] = {0};
    for (int i = 0; i < 9; i++) g[i][0] = G.m[i];
    v[0] = v[4] = v[8] = f64x8_set(1);
    svd3_batch(g, u, values, v);
    for (int i = 0; i < 9; i++) U->m[i] = u[i][0], V->m[i] = v[i][0];
    for (int i = 0; i < 3; i++) s[i] = values[i][0];
}

void polar3(mat3 G, mat3 *R, mat3 *S) {
    mat3 U, V;
    double s[3];
    svd3(G, &U, s, &V);
    mat3 V_transposed = mat3_transpose(V);
    *R = mat3_mul(U, V_transposed);
    *S = mat3_mul(mat3_mul(V, mat3_diagonal(s[0], s[1], s[2])), V_transposed);
}
