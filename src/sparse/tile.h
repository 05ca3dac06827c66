/* 8x8 tiles of dense matrices in registers: the arithmetic of the fronts.
 *
 * A tile has up to eight columns of eight rows. A strip is eight rows of a matrix, stored column after column: entry
 * (row r, column t) is strip[8 t + r]. All products here have the form tile(r, c) = sum over t of a(r, t) b(c, t),
 * where a and b are strips that are read sequentially: `a` as vectors of eight rows, `b` as single numbers.
 *
 * `columns` is a constant at every call, so the compiler drops the unused columns. A tile has fields and not an array
 * because GCC keeps an array of vectors in memory. */
#ifndef SPARSE_TILE_H
#define SPARSE_TILE_H

#include "core/simd.h"

#include <float.h>

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

/* *p in all lanes. GCC would turn eight consecutive broadcasts into one load and eight permutations, which compete
 * with the arithmetic (7 % slower on Zen 4); the intrinsic keeps them loads. */
SIMD_INLINE f64x8 tile_broadcast(const double *p) {
#if defined(__AVX512F__)
    return (f64x8)_mm512_broadcastsd_pd(_mm_load_sd(p));
#else
    return f64x8_set(*p);
#endif
}

/* target[i] += source[i] for i < count, 1 to 7. Writes nothing else, since another thread may own what follows. */
SIMD_INLINE void tile_add_rows(double *target, const double *source, int count) {
#if defined(__AVX512F__)
    __mmask8 mask = (__mmask8)((1u << count) - 1);
    __m512d sum = _mm512_maskz_loadu_pd(mask, target) + _mm512_maskz_loadu_pd(mask, source);
    _mm512_mask_storeu_pd(target, mask, sum);
#else
    for (int i = 0; i < count; i++) target[i] += source[i];
#endif
}

typedef struct tile {
    f64x8 c0, c1, c2, c3, c4, c5, c6, c7;
} tile;

#define TILE_EACH(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define TILE_EACH_DOWN(X) X(7) X(6) X(5) X(4) X(3) X(2) X(1) X(0)
#define TILE_PAIRS(X, a) X(a, 0) X(a, 1) X(a, 2) X(a, 3) X(a, 4) X(a, 5) X(a, 6) X(a, 7)

/* Calls CALL(n) with a constant n: the value of `columns`, at most 8. */
#define TILE_CASE(n, CALL)                                                                                             \
    case n:                                                                                                            \
        CALL(n);                                                                                                       \
        break;
#define TILE_SWITCH(columns, CALL)                                                                                     \
    switch (columns) {                                                                                                 \
        TILE_CASE(1, CALL)                                                                                             \
        TILE_CASE(2, CALL)                                                                                             \
        TILE_CASE(3, CALL)                                                                                             \
        TILE_CASE(4, CALL)                                                                                             \
        TILE_CASE(5, CALL)                                                                                             \
        TILE_CASE(6, CALL)                                                                                             \
        TILE_CASE(7, CALL)                                                                                             \
    default:                                                                                                           \
        CALL(8);                                                                                                       \
        break;                                                                                                         \
    }

SIMD_INLINE tile tile_zero(void) {
    f64x8 zero = f64x8_set(0);
    return (tile){zero, zero, zero, zero, zero, zero, zero, zero};
}

/* Two tiles, one above the other: a product loads b half as often. */
typedef struct tile_pair {
    tile upper, lower;
} tile_pair;

/* The two factors of a product: a(:, t) is at a + t * a_step, b(c, t) at b + t * b_step + c * b_stride. */
typedef struct tile_factors {
    const double *a;
    size_t a_step;
    const double *b;
    size_t b_step, b_stride;
} tile_factors;

#if defined(__AVX512F__)
SIMD_INLINE tile tile_multiply(tile_factors f, int depth, int columns) {
    tile sum = tile_zero();
    for (int t = 0; t < depth; t++, f.a += f.a_step, f.b += f.b_step) {
        f64x8 rows = f64x8_load(f.a);
#define TILE_STEP(i)                                                                                                   \
    if (i < columns) sum.c##i = f64x8_fma(rows, tile_broadcast(f.b + i * f.b_stride), sum.c##i);
        TILE_EACH(TILE_STEP)
#undef TILE_STEP
    }
    return sum;
}

/* The rows of the lower tile are `below` doubles behind those of the upper one. */
SIMD_INLINE tile_pair tile_multiply_pair(tile_factors f, size_t below, int depth, int columns) {
    tile upper = tile_zero(), lower = tile_zero();
    for (int t = 0; t < depth; t++, f.a += f.a_step, f.b += f.b_step) {
        f64x8 rows = f64x8_load(f.a), more = f64x8_load(f.a + below);
#define TILE_STEP(i)                                                                                                   \
    if (i < columns) {                                                                                                 \
        f64x8 factor = tile_broadcast(f.b + i * f.b_stride);                                                           \
        upper.c##i = f64x8_fma(rows, factor, upper.c##i);                                                              \
        lower.c##i = f64x8_fma(more, factor, lower.c##i);                                                              \
    }
        TILE_EACH(TILE_STEP)
#undef TILE_STEP
    }
    return (tile_pair){upper, lower};
}
#else
/* With registers of four or two doubles, a tile of sums does not fit into the registers; a few rows at a time are two
 * to eight times as fast. */
#ifdef SIMD_PARTS
typedef simd_part tile_rows;
#define TILE_ROWS (8 / SIMD_PARTS)
#else
typedef double tile_rows __attribute__((vector_size(32)));
#define TILE_ROWS 4
#endif

SIMD_INLINE tile_rows tile_rows_multiply_add(tile_rows a, double b, tile_rows c) {
#if defined(SIMD_PARTS)
    return PART_FMA(a, PART_SET(b), c);
#elif defined(__FMA__) || defined(__ARM_FEATURE_FMA)
    for (int i = 0; i < TILE_ROWS; i++) c[i] = __builtin_fma(a[i], b, c[i]);
    return c;
#else
    return a * b + c;
#endif
}

SIMD_INLINE tile tile_multiply(tile_factors f, int depth, int columns) {
    double out[64];
    for (int first = 0; first < 8; first += TILE_ROWS) {
        const double *a = f.a + first, *b = f.b;
        tile_rows c0 = {0}, c1 = c0, c2 = c0, c3 = c0, c4 = c0, c5 = c0, c6 = c0, c7 = c0;
        for (int t = 0; t < depth; t++, a += f.a_step, b += f.b_step) {
            tile_rows rows;
            memcpy(&rows, a, sizeof rows);
#define TILE_STEP(i)                                                                                                   \
    if (i < columns) c##i = tile_rows_multiply_add(rows, b[i * f.b_stride], c##i);
            TILE_EACH(TILE_STEP)
#undef TILE_STEP
        }
#define TILE_STEP(i) memcpy(out + 8 * i + first, &c##i, sizeof c##i);
        TILE_EACH(TILE_STEP)
#undef TILE_STEP
    }
    tile sum;
    memcpy(&sum, out, sizeof sum);
    return sum;
}

SIMD_INLINE tile_pair tile_multiply_pair(tile_factors f, size_t below, int depth, int columns) {
    tile upper = tile_multiply(f, depth, columns);
    f.a += below;
    return (tile_pair){upper, tile_multiply(f, depth, columns)};
}
#endif

/* sum over t < depth of a(:, t) b(:, t)^T */
SIMD_INLINE tile tile_product(const double *a, const double *b, int depth, int columns) {
    return tile_multiply((tile_factors){a, 8, b, 8, 1}, depth, columns);
}

/* As tile_product for the strips a and a + strip. */
SIMD_INLINE tile_pair tile_pair_product(const double *a, size_t strip, const double *b, int depth, int columns) {
    return tile_multiply_pair((tile_factors){a, 8, b, 8, 1}, strip, depth, columns);
}

/* As tile_product, but a(:, t) is at a + t * stride; the second also for the eight rows below. */
SIMD_INLINE tile tile_product_columns(const double *a, size_t stride, const double *b, int depth, int columns) {
    return tile_multiply((tile_factors){a, stride, b, 8, 1}, depth, columns);
}

SIMD_INLINE tile_pair tile_pair_product_columns(const double *a, size_t stride, const double *b, int depth,
                                                int columns) {
    return tile_multiply_pair((tile_factors){a, stride, b, 8, 1}, 8, depth, columns);
}

/* As tile_product, but b(c, t) is b[t + c * stride]. */
SIMD_INLINE tile tile_product_rows(const double *a, const double *b, size_t stride, int depth, int columns) {
    return tile_multiply((tile_factors){a, 8, b, 1, stride}, depth, columns);
}

SIMD_INLINE tile tile_load(const double *p, size_t stride, int columns) {
    tile out = tile_zero();
#define TILE_STEP(i)                                                                                                   \
    if (i < columns) out.c##i = f64x8_load(p + i * stride);
    TILE_EACH(TILE_STEP)
#undef TILE_STEP
    return out;
}

SIMD_INLINE void tile_store(double *p, size_t stride, tile t, int columns) {
#define TILE_STEP(i)                                                                                                   \
    if (i < columns) f64x8_store(p + i * stride, t.c##i);
    TILE_EACH(TILE_STEP)
#undef TILE_STEP
}

SIMD_INLINE tile tile_subtract(tile a, tile b, int columns) {
#define TILE_STEP(i)                                                                                                   \
    if (i < columns) a.c##i -= b.c##i;
    TILE_EACH(TILE_STEP)
#undef TILE_STEP
    return a;
}

SIMD_INLINE tile tile_negate(tile a, int columns) {
#define TILE_STEP(i)                                                                                                   \
    if (i < columns) a.c##i = -a.c##i;
    TILE_EACH(TILE_STEP)
#undef TILE_STEP
    return a;
}

SIMD_INLINE tile tile_add(tile a, tile b, int columns) {
#define TILE_STEP(i)                                                                                                   \
    if (i < columns) a.c##i += b.c##i;
    TILE_EACH(TILE_STEP)
#undef TILE_STEP
    return a;
}

/* The Cholesky factor of a tile: its lower triangle, with reciprocals on the diagonal; entries above the diagonal are
 * meaningless. *failed is set to the first column whose pivot is not a positive finite number, if there is one. The
 * next pivot waits for one division only: with the pivot d and its column a, the rest is updated by a a^T / d, and the
 * square root that scales the column is off the critical path. */
SIMD_INLINE tile tile_factor(tile t, int columns, int *failed) {
#define TILE_UPDATE(i, j)                                                                                              \
    if (j > i && j < columns) t.c##j = f64x8_fma(column, f64x8_set(column[j] * minus_reciprocal), t.c##j);
#define TILE_STEP(i)                                                                                                   \
    if (i < columns) {                                                                                                 \
        f64x8 column = t.c##i;                                                                                         \
        double pivot = column[i], minus_reciprocal = -1 / pivot;                                                       \
        if (!(pivot >= DBL_MIN && pivot <= DBL_MAX) && *failed < 0) *failed = i;                                       \
        TILE_PAIRS(TILE_UPDATE, i)                                                                                     \
        double scale = sqrt(-minus_reciprocal);                                                                        \
        t.c##i *= f64x8_set(scale);                                                                                    \
        t.c##i[i] = scale;                                                                                             \
    }
    TILE_EACH(TILE_STEP)
#undef TILE_STEP
#undef TILE_UPDATE
    return t;
}

/* A column of both substitutions below. */
#define TILE_STEP(i)                                                                                                   \
    if (i < columns) {                                                                                                 \
        t.c##i *= tile_broadcast(l + 9 * i);                                                                           \
        f64x8 minus = -t.c##i;                                                                                         \
        TILE_PAIRS(TILE_UPDATE, i)                                                                                     \
        (void)minus;                                                                                                   \
    }

/* X with X L^T = t, L a factored tile of `columns` rows and columns as a strip. */
SIMD_INLINE tile tile_solve(tile t, const double *l, int columns) {
#define TILE_UPDATE(i, j)                                                                                              \
    if (j > i && j < columns) t.c##j = f64x8_fma(minus, tile_broadcast(l + 8 * i + j), t.c##j);
    TILE_EACH(TILE_STEP)
#undef TILE_UPDATE
    return t;
}

/* X with X L = t: the backward substitution. */
SIMD_INLINE tile tile_solve_back(tile t, const double *l, int columns) {
#define TILE_UPDATE(i, j)                                                                                              \
    if (j < i && i < columns) t.c##j = f64x8_fma(minus, tile_broadcast(l + 8 * j + i), t.c##j);
    TILE_EACH_DOWN(TILE_STEP)
#undef TILE_UPDATE
    return t;
}
#undef TILE_STEP

SIMD_INLINE tile tile_transpose(tile t) {
    tile out;
    f64x8_transpose(&t.c0, &out.c0);
    return out;
}

/* (t + t^T) / 2, symmetric to the last bit. */
SIMD_INLINE tile tile_symmetric(tile t) {
    tile mirror = tile_transpose(t);
#define TILE_STEP(i) t.c##i = (t.c##i + mirror.c##i) * f64x8_set(0.5);
    TILE_EACH(TILE_STEP)
#undef TILE_STEP
    return t;
}

#endif
