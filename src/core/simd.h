/* Eight doubles at a time, in GCC and Clang's vector extensions: one source for AVX-512, AVX2, SSE2 and NEON.
 *
 * The lanes are the same eight on every machine, so results do not depend on the width of the hardware. The
 * compiler must not contract a*b+c by itself (-ffp-contract=off); where a fused multiply-add is wanted it is
 * written as f64x8_fma. A comparison gives a mask of all-ones or zero lanes for f64x8_select. */
#ifndef CORE_SIMD_H
#define CORE_SIMD_H

#include <math.h>
#include <string.h>

#ifdef __AVX512DQ__
#include <immintrin.h>
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

/* clang-format off: one line an operation */
SIMD_INLINE f64x8 f64x8_set(double a) {
    return (f64x8){a, a, a, a, a, a, a, a};
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
    return (f64x8)((mask & (i64x8)a) | (~mask & (i64x8)b));
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
    for (int i = 0; i < SIMD_LANES; i++) a[i] = sqrt(a[i]);
    return a;
}
/* Whether a mask holds in any lane. */
SIMD_INLINE int i64x8_any(i64x8 mask) {
#ifdef __AVX512DQ__
    return _mm512_movepi64_mask((__m512i)mask) != 0; /* gcc makes ten instructions of the loop */
#else
    long long any = 0;
    for (int i = 0; i < SIMD_LANES; i++) any |= mask[i];
    return any != 0;
#endif
}
/* Bit i: whether a mask holds in lane i. */
SIMD_INLINE unsigned i64x8_bits(i64x8 mask) {
#ifdef __AVX512DQ__
    return _mm512_movepi64_mask((__m512i)mask);
#else
    unsigned bits = 0;
    for (int i = 0; i < SIMD_LANES; i++) bits |= (unsigned)(mask[i] & 1) << i;
    return bits;
#endif
}
/* a * b + c with one rounding where the machine has it (x86-64-v3, ARM), with two where it does not. */
SIMD_INLINE f64x8 f64x8_fma(f64x8 a, f64x8 b, f64x8 c) {
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
    for (int i = 0; i < SIMD_LANES; i++) c[i] = __builtin_fma(a[i], b[i], c[i]);
    return c;
#else
    return a * b + c;
#endif
}
/* clang-format on */

#endif
