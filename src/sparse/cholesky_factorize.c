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

/* target[i] += source[i] for i < count. Writes, unchanged, up to 7 numbers behind. */
SIMD_INLINE void add_run(double *target, const double *source, int count) {
    int i = 0;
    for (; i + 8 <= count; i += 8) f64x8_store(target + i, f64x8_load(target + i) + f64x8_load(source + i));
    if (i == count) return;
    i64x8 mask = f64x8_load(lane_number) < f64x8_set(count - i);
    f64x8 rest = f64x8_select(mask, f64x8_load(source + i), f64x8_set(0));
    f64x8_store(target + i, f64x8_load(target + i) + rest);
}

/* Adds column j of a child's update, from the diagonal down, to a column of the parent (indexed by padded
 * rows). */
SIMD_INLINE void add_column(double *target, const double *source, int j, const front_run *run,
                            const front_run *end) {
    int into = j - run->from;
    add_run(target + run->to + into, source + j, run->count - into);
    for (run++; run < end; run++) add_run(target + run->to, source + run->from, run->count);
}

/* Columns [first, last) of the update of a child. The target of column j is `base` for a pivot column of the
 * parent, column-major with `stride`; otherwise, stride being 0, the parent's update. */
static void add_child(const cholesky_plan *plan, const front *child, const double *update, int first,
                      int last, const front *parent, double *base, size_t stride) {
    const front_run *run = plan->run + child->run_start, *end = run + child->run_count;
    int mp = front_mp(child), parent_kp = front_kp(parent), parent_mp = front_mp(parent);
    for (int j = first; j < last; j++) {
        while (j >= run->from + run->count) run++;
        int to = run->to + j - run->from;
        double *target = stride ? base + stride * (size_t)to
                                : base + front_update_column(parent_mp, to - parent_kp) - parent_kp;
        add_column(target, update + front_update_column(mp, j), j, run, end);
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
        add_child(plan, child, factor->work + child->update, 0, child->inner, f, columns, height);
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
    for (int p = b + 1; p < strips; p++) {
        double *row = panel + (size_t)p * strip;
        t = tile_subtract(tile_load(source + 8 * p, height, columns), tile_product(row, own, first, columns),
                          columns);
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

/* Block column b of U = - L21 L21^T. */
static void update_block(const front *f, const double *panel, double *update, int b) {
    int k = front_k(f), mp = front_mp(f), columns = front_m(f) - 8 * b;
    size_t strip = 8 * (size_t)k, stride = (size_t)(mp - 8 * b);
    const double *below = panel + (size_t)(front_kp(f) / 8) * strip, *own = below + (size_t)b * strip;
    double *target = update + front_update_column(mp, 8 * b);
#define CALL(n)                                                                                              \
    for (int p = b; p < mp / 8; p++)                                                                         \
    tile_store(target + 8 * p, stride, tile_negate(tile_product(below + (size_t)p * strip, own, k, n), n), n)
    TILE_SWITCH(columns, CALL)
#undef CALL
}

static void add_children(const cholesky_factor *factor, const front *f, double *update) {
    const cholesky_plan *plan = factor->plan;
    for (int c = 0; c < f->child_count; c++) {
        const front *child = &plan->fronts[plan->child[f->child_start + c]];
        add_child(plan, child, factor->work + child->update, child->inner, front_m(child), f, update, 0);
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
