/* Multifrontal Cholesky: every front adds up its part of A and its children's Schur complements, eliminates
 * its pivots, and leaves a Schur complement for its parent.
 *
 *     [F11    ]   pivot columns of A        L11 L11^T = F11
 *     [F21 ...] = + sum of children    ->   L21 = F21 L11^-T
 *                                           U = - L21 L21^T + (children's entries outside the pivot columns)
 *
 * Duff and Reid 1983. Arrays of a front (k, m, kp, mp: cholesky_plan.h):
 *   pivot columns F   scratch, column-major, height x k, padded rows zero
 *   panel L           strips of 8 rows (tile.h), height / 8 of them, k columns each; the diagonal holds
 * reciprocals update U          lower triangle in block columns of 8 (front_update_column), m x m A has
 * entries in the pivot columns only, so U is written by the product and never cleared. */
#include "sparse/cholesky_plan.h"
#include "sparse/tile.h"

#include <limits.h>
#include <string.h>

static const double lane_number[8] = {0, 1, 2, 3, 4, 5, 6, 7};

/* Three columns of a matrix that are indexed by the same rows. */
typedef struct column_triple {
    double *c[3];
} column_triple;

/* The columns of one node in the update of a front. */
SIMD_INLINE column_triple update_columns(double *update, int mp, int j) {
    column_triple t;
    t.c[0] = update + front_update_column(mp, j);
    for (int i = 1; i < 3; i++, j++) t.c[i] = t.c[i - 1] + (mp - (j & ~7)) - (j % 8 == 7 ? 8 : 0);
    return t;
}

SIMD_INLINE void add_vector(double *target, const double *source) {
    f64x8_store(target, f64x8_load(target) + f64x8_load(source));
}

/* target(to + i) += source(from + i) for i < count. Writes, unchanged, up to 7 numbers behind. */
SIMD_INLINE void add_run(column_triple target, int to, column_triple source, int from, int count) {
    int i = 0;
    for (; i + 8 <= count; i += 8)
        for (int c = 0; c < 3; c++) add_vector(target.c[c] + to + i, source.c[c] + from + i);
    if (i == count) return;
    i64x8 mask = f64x8_load(lane_number) < f64x8_set(count - i);
    for (int c = 0; c < 3; c++) {
        double *end = target.c[c] + to + i;
        f64x8 rest = f64x8_select(mask, f64x8_load(source.c[c] + from + i), f64x8_set(0));
        f64x8_store(end, f64x8_load(end) + rest);
    }
}

/* Adds the columns of one node of a child's update, from the diagonal down, to columns of the parent (indexed by
 * padded rows). The node's first row is row j, in `run`. */
SIMD_INLINE void add_columns(column_triple target, column_triple source, int j, const front_run *run,
                             const front_run *end) {
    int into = j - run->from, to = run->to + into;
    for (int c = 0; c < 3; c++)
        for (int r = c; r < 3; r++) target.c[c][to + r] += source.c[c][j + r];
    add_run(target, to + 3, source, j + 3, run->count - into - 3);
    for (run++; run < end; run++) add_run(target, run->to, source, run->from, run->count);
}

/* What a child adds to the pivot columns of its parent. */
static void add_inner(const cholesky_plan *plan, const front *child, double *update, double *columns, size_t height) {
    const front_run *run = plan->run + child->run_start, *end = run + child->run_count;
    int mp = front_mp(child);
    for (int j = 0; j < child->inner; j += 3) {
        while (j >= run->from + run->count) run++;
        double *target = columns + height * (size_t)(run->to + j - run->from);
        add_columns((column_triple){{target, target + height, target + 2 * height}}, update_columns(update, mp, j), j,
                    run, end);
    }
}

/* What a child adds to the update of its parent. */
static void add_outer(const cholesky_plan *plan, const front *child, double *update, const front *parent,
                      double *parent_update) {
    const front_run *run = plan->run + child->run_start, *end = run + child->run_count;
    int mp = front_mp(child), parent_kp = front_kp(parent), parent_mp = front_mp(parent);
    for (int j = child->inner; j < front_m(child); j += 3) {
        while (j >= run->from + run->count) run++;
        column_triple target = update_columns(parent_update, parent_mp, run->to + j - run->from - parent_kp);
        for (int c = 0; c < 3; c++) target.c[c] -= parent_kp;
        add_columns(target, update_columns(update, mp, j), j, run, end);
    }
}

static void scatter_matrix(const cholesky_plan *plan, const front *f, const double *blocks, double *columns) {
    size_t height = (size_t)front_height(f);
    const front_scatter *scatter = plan->scatter + f->scatter_start;
    for (int s = 0; s < f->scatter_count; s++) {
        const double *b = blocks + 9 * (size_t)(scatter[s].source / 2);
        double *c0 = columns + scatter[s].target, *c1 = c0 + height, *c2 = c1 + height;
        if (scatter[s].source & 1) {
            c0[0] = b[0], c0[1] = b[1], c0[2] = b[2];
            c1[0] = b[3], c1[1] = b[4], c1[2] = b[5];
            c2[0] = b[6], c2[1] = b[7], c2[2] = b[8];
        } else {
            c0[0] = b[0], c0[1] = b[3], c0[2] = b[6];
            c1[0] = b[1], c1[1] = b[4], c1[2] = b[7];
            c2[0] = b[2], c2[1] = b[5], c2[2] = b[8];
        }
    }
}

static void assemble_columns(const cholesky_factor *factor, const front *f, const double *blocks,
                             double *columns) {
    const cholesky_plan *plan = factor->plan;
    size_t height = (size_t)front_height(f);
    memset(columns, 0, height * (size_t)front_k(f) * sizeof *columns);
    scatter_matrix(plan, f, blocks, columns);
    for (int c = 0; c < f->child_count; c++) {
        const front *child = &plan->fronts[plan->child[f->child_start + c]];
        add_inner(plan, child, factor->work + child->update, columns, height);
    }
}

/* Column block `first` (a multiple of 8) of the panel, `columns` wide: left-looking over the blocks before
 * it. */
SIMD_INLINE void factor_block(const double *source, size_t height, double *panel, int k, int first,
                              int columns, int *failed) {
    size_t strip = 8 * (size_t)k;
    int strips = (int)(height / 8), b = first / 8;
    double *own = panel + (size_t)b * strip, *diagonal = own + 8 * first;
    source += (size_t)first * height;
    tile t = tile_subtract(tile_load(source + first, height, columns), tile_product(own, own, first, columns),
                           columns);
    t = tile_factor(t, columns, failed);
    tile_store(diagonal, 8, t, columns);
    int p = b + 1;
    for (; p + 2 <= strips; p += 2) {
        double *row = panel + (size_t)p * strip;
        tile_pair sum = tile_pair_product(row, strip, own, first, columns);
        t = tile_subtract(tile_load(source + 8 * p, height, columns), sum.upper, columns);
        tile u = tile_subtract(tile_load(source + 8 * p + 8, height, columns), sum.lower, columns);
        tile_store(row + 8 * first, 8, tile_solve(t, diagonal, columns), columns);
        tile_store(row + strip + 8 * first, 8, tile_solve(u, diagonal, columns), columns);
    }
    if (p < strips) {
        double *row = panel + (size_t)p * strip;
        t = tile_subtract(tile_load(source + 8 * p, height, columns), tile_product(row, own, first, columns), columns);
        tile_store(row + 8 * first, 8, tile_solve(t, diagonal, columns), columns);
    }
}

/* The position of the first pivot that fails, or INT_MAX. */
static int factor_columns(const front *f, const double *source, double *panel) {
    int k = front_k(f);
    size_t height = (size_t)front_height(f);
    for (int first = 0; first < k; first += 8) {
        int failed = -1;
#define CALL(n) factor_block(source, height, panel, k, first, n, &failed)
        TILE_SWITCH(k - first, CALL)
#undef CALL
        if (failed >= 0) return f->first + (first + failed) / 3;
    }
    return INT_MAX;
}

SIMD_INLINE void update_strips(const double *rows, size_t strip, int strips, const double *own, int k,
                               double *target, size_t stride, int columns) {
    int p = 0;
    for (; p + 2 <= strips; p += 2, rows += 2 * strip, target += 16) {
        tile_pair t = tile_pair_product(rows, strip, own, k, columns);
        tile_store(target, stride, tile_negate(t.upper, columns), columns);
        tile_store(target + 8, stride, tile_negate(t.lower, columns), columns);
    }
    if (p < strips) tile_store(target, stride, tile_negate(tile_product(rows, own, k, columns), columns), columns);
}

/* Block column b of U = - L21 L21^T. */
static void update_block(const front *f, const double *panel, double *update, int b) {
    int k = front_k(f), mp = front_mp(f), columns = front_m(f) - 8 * b;
    size_t strip = 8 * (size_t)k, stride = (size_t)(mp - 8 * b);
    const double *own = panel + (size_t)(front_kp(f) / 8 + b) * strip;
    double *target = update + front_update_column(mp, 8 * b) + 8 * b;
#define CALL(n) update_strips(own, strip, mp / 8 - b, own, k, target, stride, n)
    TILE_SWITCH(columns, CALL)
#undef CALL
}

static void add_children(const cholesky_factor *factor, const front *f, double *update) {
    const cholesky_plan *plan = factor->plan;
    for (int c = 0; c < f->child_count; c++) {
        const front *child = &plan->fronts[plan->child[f->child_start + c]];
        add_outer(plan, child, factor->work + child->update, f, update);
    }
}

static int factor_front(const cholesky_factor *factor, const front *f, const double *blocks,
                        double *scratch) {
    double *panel = factor->panels + f->panel, *update = factor->work + f->update;
    assemble_columns(factor, f, blocks, scratch);
    int failed = factor_columns(f, scratch, panel);
    if (failed != INT_MAX) return failed;
    for (int b = 0; 8 * b < front_m(f); b++) update_block(f, panel, update, b);
    add_children(factor, f, update);
    return INT_MAX;
}

typedef struct factorization {
    cholesky_factor *factor;
    const double *blocks;
} factorization;

static void factor_piece(void *context, int index) {
    const factorization *job = context;
    const cholesky_plan *plan = job->factor->plan;
    const front_piece *piece = &plan->piece[index];
    int failed = INT_MAX;
    for (int f = piece->first; f < piece->end && failed == INT_MAX; f++)
        failed =
            factor_front(job->factor, &plan->fronts[f], job->blocks, job->factor->scratch + piece->scratch);
    job->factor->failed[index] = failed;
}

int cholesky_factorize(cholesky_factor *factor, const double *blocks, workers *pool) {
    const cholesky_plan *plan = factor->plan;
    factorization job = {factor, blocks};
    workers_run(pool, plan->piece_count, factor_piece, &job);
    int failed = INT_MAX;
    for (int i = 0; i < plan->piece_count; i++)
        if (factor->failed[i] < failed) failed = factor->failed[i];
    for (int i = 0; i < plan->top_count && failed == INT_MAX; i++)
        failed =
            factor_front(factor, &plan->fronts[plan->top[i]], blocks, factor->scratch + plan->top_scratch);
    return failed == INT_MAX ? CHOLESKY_DONE : plan->node[failed];
}
