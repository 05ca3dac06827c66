/* Eight doubles at a time, in GCC and Clang's vector extensions: one source for AVX-512, AVX2, SSE2 and NEON.
 *
 * The lanes are the same eight on every machine, so results do not depend on the width of the hardware. The
 * compiler must not contract a*b+c by itself (-ffp-contract=off); where a fused multiply-add is wanted it is
 * written as f64x8_fma. A comparison gives a mask of all-ones or zero lanes for f64x8_select. */
#ifndef CORE_SIMD_H
#define CORE_SIMD_H

#include <math.h>
#include <string.h>

/* Only where intrinsics are used below: reading these headers takes half of the time that a source takes to compile. */
#if defined(__AVX512DQ__) || (!defined(__clang__) && defined(__AVX__))
#include <immintrin.h>
#elif !defined(__clang__) && defined(__aarch64__)
#include <arm_neon.h>
#endif

#define SIMD_LANES 8

typedef double f64x8 __attribute__((vector_size(64)));
typedef long long i64x8 __attribute__((vector_size(64)));

#define SIMD_INLINE static inline __attribute__((always_inline))

/* A short loop over rows or nodes in a kernel, unrolled: gcc 12 leaves such loops rolled by itself, and then lanes that
 * could stay in registers go through memory. */
#if defined(__clang__)
#define SIMD_UNROLL _Pragma("unroll")
#else
#define SIMD_UNROLL _Pragma("GCC unroll 16")
#endif
#define SIMD_FOR(i, begin, end) SIMD_UNROLL for (int i = (begin); i < (end); i++)
#define SIMD_FOR_DOWN(i, begin, end) SIMD_UNROLL for (int i = (begin); i-- > (end);)

#if defined(__clang__) || (defined(__GNUC__) && __GNUC__ >= 12)
#define F64X8_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define F64X8_SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (i64x8){__VA_ARGS__})
#endif

/* gcc keeps vectors that are wider than a register in memory and calculates functions of their lanes one by one. There the
 * operations below work on parts as wide as a register: a step of 600 tets takes a third of the time with AVX2. (The
 * operators + - * / < & | do that by themselves.) Clang makes registers of the whole vector. */
#if !defined(__clang__) && defined(__AVX2__) && defined(__FMA__) && !defined(__AVX512F__)
typedef double simd_part __attribute__((vector_size(32), may_alias));
#define SIMD_EACH_PART(X) X(0) X(1)
#define PART_SET(a) _mm256_set1_pd(a)
#define SIMD_PARTS 2
#define PART_FMA(a, b, c) _mm256_fmadd_pd(a, b, c)
#define PART_SQRT(a) _mm256_sqrt_pd(a)
#define PART_SELECT(mask, a, b) _mm256_blendv_pd(b, a, mask)
#elif !defined(__clang__) && defined(__aarch64__)
typedef double simd_part __attribute__((vector_size(16), may_alias));
#define SIMD_EACH_PART(X) X(0) X(1) X(2) X(3)
#define PART_SET(a) vdupq_n_f64(a)
#define SIMD_PARTS 4
#define PART_FMA(a, b, c) vfmaq_f64(c, a, b)
#define PART_SQRT(a) vsqrtq_f64(a)
#define PART_SELECT(mask, a, b) vbslq_f64((uint64x2_t)(mask), a, b)
#endif
#ifdef SIMD_PARTS
typedef union simd_parts {
    f64x8 all;
    i64x8 mask;
    simd_part part[SIMD_PARTS];
} simd_parts;
#endif

/* clang-format off: one line an operation */
SIMD_INLINE f64x8 f64x8_set(double a) {
#ifdef SIMD_PARTS
    simd_part every = PART_SET(a);
    simd_parts x;
#define PART(i) x.part[i] = every;
    SIMD_EACH_PART(PART)
#undef PART
    return x.all;
#else
    return (f64x8){a, a, a, a, a, a, a, a};
#endif
}
SIMD_INLINE f64x8 f64x8_load(const double *p) { /* any alignment */
    f64x8 a;
    memcpy(&a, p, sizeof a);
    return a;
}
SIMD_INLINE void f64x8_store(double *p, f64x8 a) {
    memcpy(p, &a, sizeof a);
}

/* mask ? a : b, lane by lane */
SIMD_INLINE f64x8 f64x8_select(i64x8 mask, f64x8 a, f64x8 b) {
#ifdef SIMD_PARTS
    simd_parts m = {.mask = mask}, x = {a}, y = {b};
#define PART(i) y.part[i] = PART_SELECT(m.part[i], x.part[i], y.part[i]);
    SIMD_EACH_PART(PART)
#undef PART
    return y.all;
#else
    return (f64x8)((mask & (i64x8)a) | (~mask & (i64x8)b));
#endif
}
SIMD_INLINE f64x8 f64x8_abs(f64x8 a) {
    return (f64x8)((i64x8)a & 0x7fffffffffffffffLL);
}
SIMD_INLINE f64x8 f64x8_min(f64x8 a, f64x8 b) {
    return f64x8_select(a < b, a, b);
}
SIMD_INLINE f64x8 f64x8_max(f64x8 a, f64x8 b) {
    return f64x8_select(a > b, a, b);
}
SIMD_INLINE f64x8 f64x8_sqrt(f64x8 a) {
#ifdef SIMD_PARTS
    simd_parts x = {a};
#define PART(i) x.part[i] = PART_SQRT(x.part[i]);
    SIMD_EACH_PART(PART)
#undef PART
    return x.all;
#else
    for (int i = 0; i < SIMD_LANES; i++) a[i] = sqrt(a[i]);
    return a;
#endif
}
/* Bit i: whether a mask holds in lane i. */
SIMD_INLINE unsigned i64x8_bits(i64x8 mask) {
#if defined(__AVX512DQ__)
    return _mm512_movepi64_mask((__m512i)mask);
#elif defined(SIMD_PARTS) && defined(__AVX2__)
    simd_parts m = {.mask = mask};
    return (unsigned)_mm256_movemask_pd(m.part[0]) | (unsigned)_mm256_movemask_pd(m.part[1]) << 4;
#else
    unsigned bits = 0;
    for (int i = 0; i < SIMD_LANES; i++) bits |= (unsigned)(mask[i] & 1) << i;
    return bits;
#endif
}
/* Whether a mask holds in any lane. */
SIMD_INLINE int i64x8_any(i64x8 mask) {
#if defined(__AVX512DQ__) || (defined(SIMD_PARTS) && defined(__AVX2__))
    return i64x8_bits(mask) != 0; /* gcc makes ten instructions of the loop */
#else
    long long any = 0;
    for (int i = 0; i < SIMD_LANES; i++) any |= mask[i];
    return any != 0;
#endif
}
/* a * b + c with one rounding where the machine has it (x86-64-v3, ARM), with two where it does not. */
SIMD_INLINE f64x8 f64x8_fma(f64x8 a, f64x8 b, f64x8 c) {
#if defined(SIMD_PARTS)
    simd_parts x = {a}, y = {b}, z = {c};
#define PART(i) z.part[i] = PART_FMA(x.part[i], y.part[i], z.part[i]);
    SIMD_EACH_PART(PART)
#undef PART
    return z.all;
#elif defined(__FMA__) || defined(__ARM_FEATURE_FMA)
    for (int i = 0; i < SIMD_LANES; i++) c[i] = __builtin_fma(a[i], b[i], c[i]);
    return c;
#else
    return a * b + c;
#endif
}
/* clang-format on */

/* The 8x8 transpose: from eight rows to eight columns. `in` and `out` are eight each and do not overlap. */
SIMD_INLINE void f64x8_transpose(const f64x8 *in, f64x8 *out) {
#if defined(SIMD_PARTS) && defined(__AVX2__)
    /* Four blocks of 4x4, in two rounds of exchanges of 1 and 2 neighbours. */
    const simd_part(*from)[2] = (const simd_part(*)[2])in;
    simd_part(*to)[2] = (simd_part(*)[2])out;
    SIMD_FOR (i, 0, 2) {
        SIMD_FOR (j, 0, 2) {
            simd_part r0 = from[4 * i][j], r1 = from[4 * i + 1][j], r2 = from[4 * i + 2][j], r3 = from[4 * i + 3][j];
            simd_part a0 = _mm256_unpacklo_pd(r0, r1), a1 = _mm256_unpackhi_pd(r0, r1);
            simd_part a2 = _mm256_unpacklo_pd(r2, r3), a3 = _mm256_unpackhi_pd(r2, r3);
            to[4 * j][i] = _mm256_permute2f128_pd(a0, a2, 0x20);
            to[4 * j + 1][i] = _mm256_permute2f128_pd(a1, a3, 0x20);
            to[4 * j + 2][i] = _mm256_permute2f128_pd(a0, a2, 0x31);
            to[4 * j + 3][i] = _mm256_permute2f128_pd(a1, a3, 0x31);
        }
    }
#elif defined(SIMD_PARTS)
    const simd_part(*from)[4] = (const simd_part(*)[4])in;
    simd_part(*to)[4] = (simd_part(*)[4])out;
    SIMD_FOR (i, 0, 4) {
        SIMD_FOR (j, 0, 4) {
            to[2 * j][i] = vzip1q_f64(from[2 * i][j], from[2 * i + 1][j]);
            to[2 * j + 1][i] = vzip2q_f64(from[2 * i][j], from[2 * i + 1][j]);
        }
    }
#else
    /* Three rounds of exchanges of 1, 2 and 4 neighbours. */
    f64x8 a[8], b[8];
    for (int i = 0; i < 8; i += 2) {
        a[i] = F64X8_SHUFFLE(in[i], in[i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
        a[i + 1] = F64X8_SHUFFLE(in[i], in[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
    }
    for (int i = 0; i < 8; i += 4)
        for (int j = i; j < i + 2; j++) {
            b[j] = F64X8_SHUFFLE(a[j], a[j + 2], 0, 1, 8, 9, 4, 5, 12, 13);
            b[j + 2] = F64X8_SHUFFLE(a[j], a[j + 2], 2, 3, 10, 11, 6, 7, 14, 15);
        }
    SIMD_FOR (j, 0, 4) {
        out[j] = F64X8_SHUFFLE(b[j], b[j + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        out[j + 4] = F64X8_SHUFFLE(b[j], b[j + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
#endif
}

#endif
