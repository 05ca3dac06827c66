/* The signed singular value decomposition of 3x3 matrices, G = U diag(s) V^T, eight at a time.
 *
 *     A = (G V)^T (G V)        from the V that the caller starts with
 *     V = V J J J ...          cyclic Jacobi rotations until A is diagonal (Golub and Van Loan, 8.5); sorted
 *     [b0 b1 b2] = G V         u0 = b0 / |b0|; b1 and b2 lose their components along u0
 *     [b1 b2], [v1 v2]         one rotation from the columns themselves (Hestenes 1958): b1 . b2 = 0
 *     u1 = b1 / |b1|, u2 = u0 x u1, s = (|b0|, |b1|, u2 . b2)
 *
 * A squares the condition number of G: rounding leaves b_i . b_j near 1e-16 s0^2. Along u0 that is 1e-16 s0 of b_j,
 * which is harmless, but b1 . b2 / |b1| = 1e-16 s0^2 / s1 would ruin s2 where s0 >> s1. The rotation of [b1 b2]
 * corrects this.
 *
 * Shapes: a vec3x8 is one column of eight matrices, one per lane. Indices count from 0. */
#include "core/svd3.h"

typedef struct vec3x8 {
    f64x8 x, y, z;
} vec3x8;

/* The upper triangle of a symmetric matrix. */
typedef struct symmetric3x8 {
    f64x8 a00, a11, a22, a01, a02, a12;
} symmetric3x8;

typedef struct rotation {
    f64x8 c, s; /* cosine, sine */
} rotation;

/* Three or four sweeps from the identity are typical; five were the maximum over a million matrices. */
#define MAX_SWEEPS 16

/* Off-diagonal entries below this part of trace(A) count as zero: half an ulp of the largest eigenvalue. */
#define NEGLIGIBLE 0x1p-54

/* Below this angle, eigenvectors come from second-order perturbation theory, with an error of its third power. */
#define SMALL_ANGLE 0x1p-18

/* Allowed error of the orthogonality and order of b1 and b2, relative to s0. */
#define ORTHOGONAL 0x1p-51

/* Where s1 is less than this part of s0, b1 may be mostly rounding. */
#define THIN 0x1p-20

/* The range of trace(A) in which the fourth powers of A's entries are normal numbers, even of those near NEGLIGIBLE. */
#define SMALLEST_TRACE 0x1p-120
#define LARGEST_TRACE 0x1p120

/* Squared lengths below this are not inverted, nor differences of them squared below its root. */
#define VANISHING 0x1p-800
#define ROOT_VANISHING 0x1p-400

SIMD_INLINE f64x8 dot(vec3x8 a, vec3x8 b) {
    return f64x8_fma(a.x, b.x, f64x8_fma(a.y, b.y, a.z * b.z));
}
SIMD_INLINE vec3x8 scale(vec3x8 a, f64x8 k) {
    return (vec3x8){a.x * k, a.y * k, a.z * k};
}
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
SIMD_INLINE vec3x8 without(vec3x8 a, vec3x8 u) {
    return mul_add(a, u, -dot(u, a));
}
SIMD_INLINE f64x8 masked(i64x8 mask, f64x8 a) {
    return (f64x8)(mask & (i64x8)a);
}
/* a with its sign flipped where that of b is negative */
SIMD_INLINE f64x8 times_sign(f64x8 a, f64x8 b) {
    return (f64x8)((i64x8)a ^ ((i64x8)b & (i64x8)f64x8_set(-0.0)));
}

/* The power of two that brings the largest entry of G near 2, and its inverse in *back, by arithmetic on exponents.
 * Both stay normal numbers, so denormal entries come out somewhat smaller. Zero where G has an infinite entry. */
static f64x8 scale_to_one(const f64x8 G[9], f64x8 *back) {
    const i64x8 infinity = (i64x8)f64x8_set(INFINITY), one = (i64x8)f64x8_set(0x1p-1022);
    f64x8 largest = f64x8_set(0x1p-1021);
    for (int i = 0; i < 9; i++) largest = f64x8_max(f64x8_abs(G[i]), largest);
    i64x8 exponent = (i64x8)largest & infinity;
    *back = (f64x8)(exponent - one);
    return (f64x8)(infinity - exponent);
}

/* Both functions below return the rotation by at most 45 degrees with tan(2 angle) = o / d. It makes two rows of a
 * symmetric matrix orthogonal whose diagonal entries differ by d and whose off-diagonal entry is o / 2. The identity
 * where not active. */
SIMD_INLINE rotation rotation_exact(f64x8 d, f64x8 o, i64x8 active) {
    f64x8 h = f64x8_abs(d) + f64x8_sqrt(f64x8_fma(d, d, o * o));
    f64x8 k = f64x8_set(1) / f64x8_sqrt(f64x8_fma(h, h, o * o));
    return (rotation){f64x8_select(active, h * k, f64x8_set(1)), masked(active, times_sign(o * k, d))};
}

/* A rotation by nearly that angle, without the two dependent square roots. With x = |o / d|, tan(angle / 2) =
 * tan(atan(x) / 4) is approximated by x (1 + b x) / (4 + 4 b x + 2 x^2), b = 2 tan(pi / 8): within 1.6 %, and exact at
 * x = 0 and infinity. From the identity it takes more sweeps than rotation_exact (3 to 4, not 2 to 3), but 38 ns per
 * matrix instead of 47. */
SIMD_INLINE rotation rotation_near(f64x8 d, f64x8 o, i64x8 active) {
    f64x8 p = f64x8_abs(d), q = f64x8_abs(o);
    f64x8 w = f64x8_fma(q, f64x8_set(0.82842712474619009), p);
    f64x8 cosine = f64x8_fma(p * 4, w, q * q * 2), sine = times_sign(o, d) * w;
    f64x8 cosine2 = cosine * cosine, sine2 = sine * sine;
    f64x8 k = f64x8_set(1) / (cosine2 + sine2);
    return (rotation){f64x8_select(active, (cosine2 - sine2) * k, f64x8_set(1)),
                      masked(active, cosine * (sine + sine) * k)};
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

/* One Jacobi rotation: a_pq nearly becomes 0. Inactive lanes keep every bit, and so does an a_pq so small that three
 * of them are negligible (d may be 0 as well). */
SIMD_INLINE void annihilate(f64x8 *app, f64x8 *aqq, f64x8 *apq, f64x8 *apr, f64x8 *aqr, vec3x8 *vp, vec3x8 *vq,
                            i64x8 active, f64x8 negligible) {
    f64x8 d = *app - *aqq, o = *apq + *apq;
    rotation j = rotation_near(d, o, active & (f64x8_abs(*apq) > negligible * 0.25));
    f64x8 shift = j.s * f64x8_fma(j.c, o, -(j.s * d));
    *app += shift;
    *aqq -= shift;
    *apq = f64x8_fma(f64x8_fma(j.c, j.c, -(j.s * j.s)), *apq, -(j.c * j.s * d));
    rotate_pair(apr, aqr, j);
    rotate_columns(vp, vq, j);
}

/* How far A is from diagonal, relative to the gaps between its diagonal entries. */
typedef struct progress {
    f64x8 d01, d02, d12;
    i64x8 is_left;  /* more than rounding is off the diagonal */
    i64x8 is_small; /* all of it is small relative to every gap, so no gap is 0 where something is left */
} progress;

SIMD_INLINE progress progress_of(const symmetric3x8 *a, f64x8 negligible) {
    f64x8 d01 = a->a00 - a->a11, d02 = a->a00 - a->a22, d12 = a->a11 - a->a22;
    f64x8 off = f64x8_abs(a->a01) + f64x8_abs(a->a02) + f64x8_abs(a->a12);
    i64x8 is_small = (off <= f64x8_abs(d01) * SMALL_ANGLE) & (off <= f64x8_abs(d02) * SMALL_ANGLE) &
                     (off <= f64x8_abs(d12) * SMALL_ANGLE);
    return (progress){d01, d02, d12, off > negligible, is_small};
}

/* The last step to the eigenvectors: with t_kj = a_kj / (l_j - l_k), l the diagonal, column j gains (a_ij + a_ik t_kj)
 * / (l_j - l_i) of column i (and loses its unit length). Costs a quarter of a sweep. */
SIMD_INLINE void perturb(const symmetric3x8 *a, const progress *p, vec3x8 v[3]) {
    const i64x8 active = p->is_left & p->is_small;
    const f64x8 one = f64x8_set(1);
    f64x8 a01 = masked(active, a->a01), a02 = masked(active, a->a02), a12 = masked(active, a->a12);
    f64x8 g01 = masked(active, one / p->d01), g02 = masked(active, one / p->d02), g12 = masked(active, one / p->d12);
    f64x8 t01 = a01 * g01, t02 = a02 * g02, t12 = a12 * g12;
    vec3x8 v0 = v[0], v1 = v[1], v2 = v[2];
    v[0] = mul_add(mul_add(v0, v1, g01 * f64x8_fma(a12, t02, a01)), v2, g02 * f64x8_fma(a12, t01, a02));
    v[1] = mul_add(mul_add(v1, v0, -g01 * f64x8_fma(a02, t12, a01)), v2, g12 * f64x8_fma(a02, -t01, a12));
    v[2] = mul_add(mul_add(v2, v0, -g02 * f64x8_fma(a01, -t12, a02)), v1, -g12 * f64x8_fma(a01, -t02, a12));
}

/* Rotates V until A is diagonal. A lane that needs no more sweeps keeps its bits while others continue. */
SIMD_INLINE void diagonalize(symmetric3x8 *a, vec3x8 v[3]) {
    const f64x8 negligible = (a->a00 + a->a11 + a->a22) * NEGLIGIBLE;
    progress p = progress_of(a, negligible);
    for (int sweep = 0; sweep < MAX_SWEEPS; sweep++) {
        i64x8 active = p.is_left & ~p.is_small;
        if (!i64x8_any(active)) break;
        annihilate(&a->a00, &a->a11, &a->a01, &a->a02, &a->a12, &v[0], &v[1], active, negligible);
        annihilate(&a->a00, &a->a22, &a->a02, &a->a01, &a->a12, &v[0], &v[2], active, negligible);
        annihilate(&a->a11, &a->a22, &a->a12, &a->a01, &a->a02, &v[1], &v[2], active, negligible);
        p = progress_of(a, negligible);
    }
    perturb(a, &p, v);
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

/* Removes the effect of rounding and of perturb on V, so that a V passed from call to call does not drift. V is nearly
 * orthonormal, so one Newton step for the lengths suffices and the order of the steps does not matter. */
SIMD_INLINE void orthonormalize(vec3x8 v[3]) {
    const f64x8 minus_half = f64x8_set(-0.5), three_halves = f64x8_set(1.5);
    f64x8 d00 = dot(v[0], v[0]), d01 = dot(v[0], v[1]), d11 = dot(v[1], v[1]);
    v[1] = scale(mul_add(v[1], v[0], -d01), f64x8_fma(d11, minus_half, three_halves));
    v[0] = scale(v[0], f64x8_fma(d00, minus_half, three_halves));
    v[2] = cross(v[0], v[1]);
}

/* Makes b1 and b2 orthogonal, the longer one first, by a rotation that is also applied to v1 and v2, unless they
 * already are up to rounding of s0. Returns |b1|^2. */
SIMD_INLINE f64x8 make_orthogonal(vec3x8 *b1, vec3x8 *b2, vec3x8 *v1, vec3x8 *v2, f64x8 s0) {
    f64x8 square = dot(*b1, *b1), half = dot(*b1, *b2), d = square - dot(*b2, *b2), o = half + half;
    f64x8 rounding = s0 * f64x8_sqrt(square) * ORTHOGONAL;
    i64x8 active = (f64x8_abs(half) > rounding) | (-d > rounding);
    if (!i64x8_any(active)) return square;
    active &= f64x8_abs(d) + f64x8_abs(o) > f64x8_set(ROOT_VANISHING);
    rotation j = rotation_exact(d, o, active);
    /* a quarter turn more where the second one is longer */
    i64x8 swap = active & (d < f64x8_set(0));
    f64x8 c = f64x8_select(swap, -j.s, j.c);
    j.s = f64x8_select(swap, j.c, j.s);
    j.c = c;
    rotate_columns(b1, b2, j);
    rotate_columns(v1, v2, j);
    return dot(*b1, *b1);
}

/* The unit vector across u nearest to w; where w is only rounding along u, or 0, any unit vector across u: from v or
 * v_other (orthonormal), whichever is further from u. Lanes that are not thin keep w. */
static __attribute__((noinline)) vec3x8 unit_across(vec3x8 w, vec3x8 u, vec3x8 v, vec3x8 v_other, i64x8 is_thin) {
    vec3x8 first = without(w, u);
    vec3x8 other = select3(f64x8_abs(dot(u, v)) > f64x8_abs(dot(u, v_other)), v_other, v);
    first = select3(dot(first, first) > f64x8_set(0.25), first, without(other, u));
    vec3x8 second = without(scale(first, f64x8_set(1) / f64x8_sqrt(dot(first, first))), u);
    return select3(is_thin, scale(second, f64x8_set(1) / f64x8_sqrt(dot(second, second))), w);
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

SIMD_INLINE void times_columns(const f64x8 G[9], const vec3x8 v[3], vec3x8 b[3]) {
    for (int j = 0; j < 3; j++) b[j] = times_vector(G, v[j]);
}

/* (G V)^T (G V) */
SIMD_INLINE symmetric3x8 gram_matrix(const f64x8 G[9], const vec3x8 v[3]) {
    vec3x8 b[3];
    times_columns(G, v, b);
    return (symmetric3x8){dot(b[0], b[0]), dot(b[1], b[1]), dot(b[2], b[2]),
                          dot(b[0], b[1]), dot(b[0], b[2]), dot(b[1], b[2])};
}

/* U and s from G and a V that is correct up to rounding, and the final correction of v[1] and v[2]. Lengths are
 * inverted as |b| (1 / |b|^2), so that the division does not wait for the square root. */
SIMD_INLINE void finish(const f64x8 G[9], vec3x8 v[3], vec3x8 u[3], f64x8 s[3]) {
    vec3x8 b[3];
    times_columns(G, v, b);
    f64x8 square0 = dot(b[0], b[0]), s0 = f64x8_sqrt(square0);
    i64x8 is_zero = square0 == f64x8_set(0);
    f64x8 inverse0 = f64x8_set(1) / f64x8_select(is_zero, f64x8_set(1), square0);
    u[0] = select3(is_zero, v[0], scale(b[0], s0 * inverse0));
    b[1] = mul_add(b[1], b[0], -(dot(b[0], b[1]) * inverse0));
    b[2] = mul_add(b[2], b[0], -(dot(b[0], b[2]) * inverse0));

    f64x8 square1 = make_orthogonal(&b[1], &b[2], &v[1], &v[2], s0), s1 = f64x8_sqrt(square1);
    u[1] = scale(b[1], s1 * (f64x8_set(1) / f64x8_max(square1, f64x8_set(VANISHING))));
    i64x8 is_thin = ~(s1 > s0 * THIN);
    if (i64x8_any(is_thin)) u[1] = unit_across(u[1], u[0], v[1], v[2], is_thin);
    u[2] = cross(u[0], u[1]);

    /* Equal singular values are in order except for their last bits. */
    s[0] = s0;
    s[1] = f64x8_min(s1, s0);
    s[2] = f64x8_max(f64x8_min(dot(u[2], b[2]), s[1]), -s[1]);
}

void svd3_batch(const f64x8 G[9], f64x8 U[9], f64x8 s[3], f64x8 V[9]) {
    vec3x8 u[3], v[3] = {{V[0], V[3], V[6]}, {V[1], V[4], V[7]}, {V[2], V[5], V[8]}};
    f64x8 scaled[9], back = f64x8_set(1);
    symmetric3x8 a = gram_matrix(G, v);
    f64x8 trace = a.a00 + a.a11 + a.a22;
    i64x8 is_tame = (trace > f64x8_set(SMALLEST_TRACE)) & (trace < f64x8_set(LARGEST_TRACE));
    if (i64x8_any(~is_tame)) {
        f64x8 one = f64x8_set(1), factor = f64x8_select(is_tame, one, scale_to_one(G, &back));
        back = f64x8_select(is_tame, one, back);
        for (int i = 0; i < 9; i++) scaled[i] = G[i] * factor;
        G = scaled;
        a = gram_matrix(G, v);
    }
    diagonalize(&a, v);
    sort_columns(&a, v);
    orthonormalize(v);
    finish(G, v, u, s);
    for (int i = 0; i < 3; i++) s[i] *= back;
    store_columns(U, u[0], u[1], u[2]);
    store_columns(V, v[0], v[1], v[2]);
}
