/* Substitution: L y = P b, then L^T P x = y, front by front.
 *
 *     up the tree    y1 = L11^-1 y1,  y2 -= L21 y1
 *     down the tree  y1 = L11^-T (y1 - L21^T y2)
 *
 * y is in elimination order; y1 has the rows of the pivots and y2 those below, gathered from and scattered to y by way
 * of factor->rows. With one right-hand side, a vector register holds eight rows; with eight right-hand sides, one row
 * of all eight. */
#include "sparse/cholesky_plan.h"

#include "sparse/tile.h"

#include <string.h>

/* sum over t < depth of strip(:, t) z[t]; four partial sums hide the latency of the additions. */
SIMD_INLINE f64x8 strip_times(const double *strip, const double *z, int depth) {
    f64x8 s0 = f64x8_set(0), s1 = s0, s2 = s0, s3 = s0;
    int t = 0;
    for (; t + 4 <= depth; t += 4, strip += 32) {
        s0 = f64x8_fma(f64x8_load(strip), f64x8_set(z[t]), s0);
        s1 = f64x8_fma(f64x8_load(strip + 8), f64x8_set(z[t + 1]), s1);
        s2 = f64x8_fma(f64x8_load(strip + 16), f64x8_set(z[t + 2]), s2);
        s3 = f64x8_fma(f64x8_load(strip + 24), f64x8_set(z[t + 3]), s3);
    }
    for (; t < depth; t++, strip += 8) s0 = f64x8_fma(f64x8_load(strip), f64x8_set(z[t]), s0);
    return (s0 + s1) + (s2 + s3);
}

/* Substitution with a diagonal tile for one right-hand side, L z = z or L^T z = z, in scalar registers. The loops run
 * over all eight rows and columns with the conditions inside; only then does clang unroll both and keep x out of
 * memory. */
SIMD_INLINE void substitute(const double *l, double *z, int columns) {
    double x[8];
    SIMD_FOR (c, 0, 8) x[c] = c < columns ? z[c] : 0;
    SIMD_FOR (c, 0, 8) {
        if (c < columns) x[c] *= l[9 * c];
        SIMD_FOR (r, 0, 8)
            if (r > c && r < columns) x[r] -= l[8 * c + r] * x[c];
    }
    SIMD_FOR (c, 0, 8)
        if (c < columns) z[c] = x[c];
}

SIMD_INLINE void substitute_back(const double *l, double *z, int columns) {
    double x[8];
    SIMD_FOR (c, 0, 8) x[c] = c < columns ? z[c] : 0;
    SIMD_FOR_DOWN (c, 8, 0) {
        if (c < columns) x[c] *= l[9 * c];
        SIMD_FOR (r, 0, 8)
            if (r < c && c < columns) x[r] -= l[8 * r + c] * x[c];
    }
    SIMD_FOR (c, 0, 8)
        if (c < columns) z[c] = x[c];
}

static void forward_front(const cholesky_factor *factor, const front *f, double *y) {
    int k = front_k(f), strips = front_height(f) / 8, b = 0;
    size_t strip = 8 * (size_t)k;
    const double *panel = factor->panels + f->panel;
    double *z = factor->rows, *own = y + 3 * (size_t)f->first;
    memcpy(z, own, (size_t)k * sizeof *z);
    for (; 8 * b < k; b++, panel += strip) {
        int first = 8 * b;
        f64x8_store(z + first, f64x8_load(z + first) - strip_times(panel, z, first));
#define CALL(n) substitute(panel + 8 * first, z + first, n)
        TILE_SWITCH(k - first, CALL)
#undef CALL
    }
    memcpy(own, z, (size_t)k * sizeof *z);
    for (; b < strips; b++, panel += strip) f64x8_store(z + 8 * b, strip_times(panel, z, k));
    const double *below = z + front_kp(f);
    const int *row = factor->plan->row + f->row_start;
    for (int i = 0; i < f->below; i++)
        for (int c = 0; c < 3; c++) y[3 * row[i] + c] -= below[3 * i + c];
}

/* The sums of the columns of a tile. */
SIMD_INLINE f64x8 tile_sums(tile t) {
    t = tile_transpose(t);
    return ((t.c0 + t.c1) + (t.c2 + t.c3)) + ((t.c4 + t.c5) + (t.c6 + t.c7));
}

/* L(:, columns)^T z over `strips` strips; `panel` points to the first of the columns in the first strip. */
SIMD_INLINE f64x8 columns_times(const double *panel, size_t strip, int strips, const double *z, int columns) {
    tile sum = tile_zero();
    for (int p = 0; p < strips; p++, panel += strip) {
        f64x8 rows = f64x8_load(z + 8 * p);
#define TILE_STEP(i)                                                                                                   \
    if (i < columns) sum.c##i = f64x8_fma(f64x8_load(panel + 8 * i), rows, sum.c##i);
        TILE_EACH(TILE_STEP)
#undef TILE_STEP
    }
    return tile_sums(sum);
}

static void backward_front(const cholesky_factor *factor, const front *f, double *y) {
    int k = front_k(f), kp = front_kp(f), m = front_m(f), strips = front_height(f) / 8;
    size_t strip = 8 * (size_t)k;
    const double *panel = factor->panels + f->panel;
    double *z = factor->rows, *own = y + 3 * (size_t)f->first;
    const int *row = factor->plan->row + f->row_start;
    memcpy(z, own, (size_t)k * sizeof *z);
    for (int i = k; i < kp; i++) z[i] = 0;
    for (int i = 0; i < f->below; i++)
        for (int c = 0; c < 3; c++) z[kp + 3 * i + c] = y[3 * row[i] + c];
    for (int i = kp + m; i < 8 * strips; i++) z[i] = 0;
    for (int b = kp / 8 - 1; b >= 0; b--) {
        int first = 8 * b, columns = k - first < 8 ? k - first : 8;
        const double *l = panel + (size_t)b * strip + 8 * first, *after = l + strip;
        f64x8 sums;
#define CALL(n) sums = columns_times(after, strip, strips - b - 1, z + first + 8, n)
        TILE_SWITCH(columns, CALL)
#undef CALL
        f64x8_store(z + first, f64x8_load(z + first) - sums);
#define CALL(n) substitute_back(l, z + first, n)
        TILE_SWITCH(columns, CALL)
#undef CALL
    }
    memcpy(own, z, (size_t)k * sizeof *z);
}

static void forward_front_eight(const cholesky_factor *factor, const front *f, double *y) {
    int k = front_k(f), strips = front_height(f) / 8, b = 0;
    size_t strip = 8 * (size_t)k;
    const double *panel = factor->panels + f->panel;
    double *z = y + 24 * (size_t)f->first, *below = factor->rows;
    for (; 8 * b < k; b++, panel += strip) {
        int first = 8 * b;
        double *own = z + 8 * first;
#define CALL(n)                                                                                                        \
    tile_store(                                                                                                        \
        own, 8,                                                                                                        \
        tile_solve(tile_subtract(tile_load(own, 8, n), tile_product(z, panel, first, n), n), panel + 8 * first, n), n)
        TILE_SWITCH(k - first, CALL)
#undef CALL
    }
    for (double *out = below; b < strips; b++, panel += strip, out += 64)
        tile_store(out, 8, tile_product(z, panel, k, 8), 8);
    const int *row = factor->plan->row + f->row_start;
    for (int i = 0; i < f->below; i++)
        for (int c = 0; c < 3; c++, below += 8) {
            double *target = y + 8 * (3 * (size_t)row[i] + (size_t)c);
            f64x8_store(target, f64x8_load(target) - f64x8_load(below));
        }
}

/* sum over the rows r of the strips of z(r) L(r, c); a row of z has eight right-hand sides. */
SIMD_INLINE tile rows_times(const double *panel, size_t strip, int strips, const double *z, int columns) {
    tile sum = tile_zero();
    for (int p = 0; p < strips; p++, panel += strip, z += 64)
        sum = tile_add(sum, tile_product_rows(z, panel, 8, 8, columns), columns);
    return sum;
}

static void backward_front_eight(const cholesky_factor *factor, const front *f, double *y) {
    int k = front_k(f), kp = front_kp(f), m = front_m(f), strips = front_height(f) / 8;
    size_t strip = 8 * (size_t)k;
    const double *panel = factor->panels + f->panel;
    double *z = factor->rows, *own = y + 24 * (size_t)f->first;
    const int *row = factor->plan->row + f->row_start;
    memcpy(z, own, 8 * (size_t)k * sizeof *z);
    memset(z + 8 * k, 0, 8 * (size_t)(kp - k) * sizeof *z);
    for (int i = 0; i < f->below; i++) memcpy(z + 8 * (kp + 3 * i), y + 24 * (size_t)row[i], 24 * sizeof *z);
    memset(z + 8 * (kp + m), 0, 8 * (size_t)(8 * strips - kp - m) * sizeof *z);
    for (int b = kp / 8 - 1; b >= 0; b--) {
        int first = 8 * b;
        const double *l = panel + (size_t)b * strip + 8 * first;
        double *rows = z + 8 * first;
#define CALL(n)                                                                                                        \
    tile_store(rows, 8,                                                                                                \
               tile_solve_back(tile_subtract(tile_load(rows, 8, n),                                                    \
                                             rows_times(l + strip, strip, strips - b - 1, rows + 64, n), n),           \
                               l, n),                                                                                  \
               n)
        TILE_SWITCH(k - first, CALL)
#undef CALL
    }
    memcpy(own, z, 8 * (size_t)k * sizeof *z);
}

/* Rows of `width` doubles per node, from node order to elimination order and back. */
static void permute(const cholesky_plan *plan, size_t width, const double *from, double *to) {
    for (int p = 0; p < plan->node_count; p++)
        memcpy(to + width * (size_t)p, from + width * (size_t)plan->node[p], width * sizeof *to);
}

static void permute_back(const cholesky_plan *plan, size_t width, const double *from, double *to) {
    for (int p = 0; p < plan->node_count; p++)
        memcpy(to + width * (size_t)plan->node[p], from + width * (size_t)p, width * sizeof *to);
}

static void forward(const cholesky_factor *factor, double *y) {
    for (int f = 0; f < factor->plan->front_count; f++) forward_front(factor, &factor->plan->fronts[f], y);
}

static void backward(const cholesky_factor *factor, double *y) {
    for (int f = factor->plan->front_count - 1; f >= 0; f--) backward_front(factor, &factor->plan->fronts[f], y);
}

static void forward_eight(const cholesky_factor *factor, double *y) {
    for (int f = 0; f < factor->plan->front_count; f++) forward_front_eight(factor, &factor->plan->fronts[f], y);
}

static void backward_eight(const cholesky_factor *factor, double *y) {
    for (int f = factor->plan->front_count - 1; f >= 0; f--) backward_front_eight(factor, &factor->plan->fronts[f], y);
}

void cholesky_solve(cholesky_factor *factor, double *x) {
    permute(factor->plan, 3, x, factor->vector);
    forward(factor, factor->vector);
    backward(factor, factor->vector);
    permute_back(factor->plan, 3, factor->vector, x);
}

void cholesky_solve_eight(cholesky_factor *factor, double *x) {
    permute(factor->plan, 24, x, factor->vector);
    forward_eight(factor, factor->vector);
    backward_eight(factor, factor->vector);
    permute_back(factor->plan, 24, factor->vector, x);
}

void cholesky_forward(cholesky_factor *factor, const double *b, double *y) {
    permute(factor->plan, 3, b, y);
    forward(factor, y);
}

void cholesky_forward_eight(cholesky_factor *factor, const double *b, double *y) {
    permute(factor->plan, 24, b, y);
    forward_eight(factor, y);
}

void cholesky_backward(cholesky_factor *factor, const double *y, double *x) {
    memcpy(factor->vector, y, 3 * (size_t)factor->plan->node_count * sizeof *y);
    backward(factor, factor->vector);
    permute_back(factor->plan, 3, factor->vector, x);
}

int cholesky_forward_reach(cholesky_factor *factor, const int *nodes, int node_count, double *y,
                           cholesky_range *reach) {
    const cholesky_plan *plan = factor->plan;
    int count = 0;
    for (int i = 0; i < node_count; i++) {
        /* Up the tree to the first front that is already listed. The path is ascending, so each front moves from the
         * end of the list to its place. */
        int f = plan->front_of[plan->position[nodes[i]]];
        for (; f >= 0 && !factor->visited[f]; f = plan->fronts[f].parent) {
            factor->visited[f] = true;
            int place = count++;
            for (; place > 0 && reach[place - 1].first > f; place--) reach[place] = reach[place - 1];
            reach[place].first = f;
        }
    }
    for (int i = 0; i < count; i++) {
        const front *f = &plan->fronts[reach[i].first];
        factor->visited[reach[i].first] = false;
        forward_front_eight(factor, f, y);
        reach[i] = (cholesky_range){3 * f->first, front_k(f)};
    }
    return count;
}

void cholesky_reach_mark(cholesky_factor *factor, const int *nodes, int node_count) {
    const cholesky_plan *plan = factor->plan;
    for (int i = 0; i < node_count; i++) {
        int f = plan->front_of[plan->position[nodes[i]]];
        for (; f >= 0 && !factor->visited[f]; f = plan->fronts[f].parent) factor->visited[f] = true;
    }
}

int cholesky_reach_list(cholesky_factor *factor, int *fronts) {
    int count = 0;
    for (int f = 0; f < factor->plan->front_count; f++) {
        if (!factor->visited[f]) continue;
        factor->visited[f] = false;
        fronts[count++] = f;
    }
    return count;
}

void cholesky_backward_eight_on(cholesky_factor *factor, const int *fronts, int front_count, const double *y,
                                double *x) {
    const cholesky_plan *plan = factor->plan;
    for (int i = front_count - 1; i >= 0; i--) {
        const front *f = &plan->fronts[fronts[i]];
        size_t first = 24 * (size_t)f->first;
        memcpy(factor->vector + first, y + first, 8 * (size_t)front_k(f) * sizeof *y);
        backward_front_eight(factor, f, factor->vector);
        for (int p = f->first; p < f->first + front_k(f) / 3; p++)
            memcpy(x + 24 * (size_t)plan->node[p], factor->vector + 24 * (size_t)p, 24 * sizeof *x);
    }
}

void cholesky_solve_at(cholesky_factor *factor, const int *nodes, int node_count, double *x) {
    const cholesky_plan *plan = factor->plan;
    double *y = factor->vector;
    cholesky_reach_mark(factor, nodes, node_count);
    int count = cholesky_reach_list(factor, factor->reached);
    for (int i = 0; i < count; i++) {
        const front *f = &plan->fronts[factor->reached[i]];
        memset(y + 3 * (size_t)f->first, 0, (size_t)front_k(f) * sizeof *y);
    }
    for (int i = 0; i < node_count; i++)
        memcpy(y + 3 * (size_t)plan->position[nodes[i]], x + 3 * (size_t)nodes[i], 3 * sizeof *y);
    for (int i = 0; i < count; i++) forward_front(factor, &plan->fronts[factor->reached[i]], y);
    for (int i = count - 1; i >= 0; i--) backward_front(factor, &plan->fronts[factor->reached[i]], y);
    for (int i = 0; i < node_count; i++)
        memcpy(x + 3 * (size_t)nodes[i], y + 3 * (size_t)plan->position[nodes[i]], 3 * sizeof *y);
}
