/* Multifrontal Cholesky factorization (Duff and Reid 1983): every front assembles its part of A and the Schur
 * complements of its children, eliminates its pivots, and leaves a Schur complement for its parent.
 *
 *     [F11    ]   pivot columns of A        L11 L11^T = F11
 *     [F21 ...] = + sum of children    ->   L21 = F21 L11^-T
 *                                           U = - L21 L21^T + (entries of the children outside the pivot columns)
 *
 * Arrays of a front (k, m, kp, mp: cholesky_plan.h):
 *
 *     pivot columns F   scratch, column-major, height x k, padded rows zero
 *     panel L           strips of 8 rows (tile.h), height / 8 of them, k columns each; the diagonal has reciprocals
 *     update U          m x m, lower triangle in block columns of 8 (front_update_column)
 *
 * A has entries in the pivot columns only, so the product writes all of U, which is never cleared. */
#include "sparse/cholesky_plan.h"

#include "sparse/tile.h"

#include <limits.h>
#include <string.h>

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

/* target(to + i) += source(from + i) for i < count. */
SIMD_INLINE void add_run(column_triple target, int to, column_triple source, int from, int count) {
    int i = 0;
    for (; i + 8 <= count; i += 8)
        for (int c = 0; c < 3; c++) {
            double *rows = target.c[c] + to + i;
            f64x8_store(rows, f64x8_load(rows) + f64x8_load(source.c[c] + from + i));
        }
    if (i < count)
        for (int c = 0; c < 3; c++) tile_add_rows(target.c[c] + to + i, source.c[c] + from + i, count - i);
}

/* Adds the columns of one node of a child's update, from the diagonal down, to columns of the parent (indexed
 * by padded rows). The node's first row is row j, in `run`. */
SIMD_INLINE void add_columns(column_triple target, column_triple source, int j, const front_run *run,
                             const front_run *end) {
    int into = j - run->from, to = run->to + into;
    for (int c = 0; c < 3; c++)
        for (int r = c; r < 3; r++) target.c[c][to + r] += source.c[c][j + r];
    add_run(target, to + 3, source, j + 3, run->count - into - 3);
    for (run++; run < end; run++) add_run(target, run->to, source, run->from, run->count);
}

/* Adds a child's update to the pivot columns [begin, end) of its parent; multiples of 3, as below. */
static void add_inner(const cholesky_plan *plan, const front *child, double *update, double *columns, size_t height,
                      int begin, int end) {
    const front_run *run = plan->run + child->run_start, *last = run + child->run_count;
    int mp = front_mp(child);
    for (; run < last && run->from < child->inner; run++) {
        int to = run->to > begin ? run->to : begin, stop = run->to + run->count < end ? run->to + run->count : end;
        for (; to < stop; to += 3) {
            int j = run->from + to - run->to;
            double *target = columns + height * (size_t)to;
            add_columns((column_triple){{target, target + height, target + 2 * height}}, update_columns(update, mp, j),
                        j, run, last);
        }
    }
}

/* Adds a child's update to the columns [begin, end) of its parent's update. */
static void add_outer(const cholesky_plan *plan, const front *child, double *update, const front *parent,
                      double *parent_update, int begin, int end) {
    const front_run *run = plan->run + child->run_start, *last = run + child->run_count;
    int mp = front_mp(child), parent_kp = front_kp(parent), parent_mp = front_mp(parent);
    begin += parent_kp;
    end += parent_kp;
    for (; run < last; run++) {
        int to = run->to > begin ? run->to : begin, stop = run->to + run->count < end ? run->to + run->count : end;
        for (; to < stop; to += 3) {
            int j = run->from + to - run->to;
            column_triple target = update_columns(parent_update, parent_mp, to - parent_kp);
            for (int c = 0; c < 3; c++) target.c[c] -= parent_kp;
            add_columns(target, update_columns(update, mp, j), j, run, last);
        }
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

/* The current front; shared by the pieces of a large one. */
typedef struct front_job {
    const cholesky_factor *factor;
    const front *f;
    const double *blocks; /* of the matrix */
    double *columns;      /* the pivot columns */
    double *panel, *update;
    int first; /* column of the block being factored */
} front_job;

/* Columns per piece of a large front: whole tiles and whole nodes. */
#define PIECE_COLUMNS 24
/* Strips per piece of a column block. */
#define PIECE_STRIPS 8

static int min(int a, int b) {
    return a < b ? a : b;
}

/* Zeroes the pivot columns from their diagonal tiles down; nothing above is ever read. */
static void clear_columns(double *columns, int k, int height) {
    for (int j = 0; j < k; j++, columns += height)
        for (int i = j & ~7; i < height; i += 8) f64x8_store(columns + i, f64x8_set(0));
}

/* Adds the updates of the children to the pivot columns [begin, end), which hold the entries of A. */
static void assemble_columns(const front_job *job, int begin, int end) {
    const cholesky_plan *plan = job->factor->plan;
    const front *f = job->f;
    for (int c = 0; c < f->child_count; c++) {
        const front *child = &plan->fronts[plan->child[f->child_start + c]];
        add_inner(plan, child, job->factor->work + child->update, job->columns, (size_t)front_height(f), begin, end);
    }
}

static void assemble_piece(void *context, int piece) {
    const front_job *job = context;
    assemble_columns(job, PIECE_COLUMNS * piece, min(PIECE_COLUMNS * (piece + 1), front_k(job->f)));
}

/* Factors the diagonal tile of column block `first`, `columns` wide: left-looking over the blocks before it. Returns
 * the column that failed, or -1. */
SIMD_INLINE int factor_diagonal(const front_job *job, int first, int columns) {
    size_t strip = 8 * (size_t)front_k(job->f), height = (size_t)front_height(job->f);
    double *own = job->panel + (size_t)(first / 8) * strip;
    int failed = -1;
    tile t = tile_load(job->columns + (size_t)first * (height + 1), height, columns);
    t = tile_subtract(t, tile_product(own, own, first, columns), columns);
    tile_store(own + 8 * first, 8, tile_factor(t, columns, &failed), columns);
    return failed;
}

/* Solves for the strips [p, end) of column block `first`, below its diagonal tile. */
SIMD_INLINE void factor_strips(const front_job *job, int first, int p, int end, int columns) {
    size_t strip = 8 * (size_t)front_k(job->f), height = (size_t)front_height(job->f);
    const double *own = job->panel + (size_t)(first / 8) * strip, *diagonal = own + 8 * first;
    const double *source = job->columns + (size_t)first * height + 8 * (size_t)p;
    double *row = job->panel + (size_t)p * strip;
    for (; p + 2 <= end; p += 2, row += 2 * strip, source += 16) {
        tile_pair sum = tile_pair_product(row, strip, own, first, columns);
        tile t = tile_subtract(tile_load(source, height, columns), sum.upper, columns);
        tile u = tile_subtract(tile_load(source + 8, height, columns), sum.lower, columns);
        tile_store(row + 8 * first, 8, tile_solve(t, diagonal, columns), columns);
        tile_store(row + strip + 8 * first, 8, tile_solve(u, diagonal, columns), columns);
    }
    if (p < end) {
        tile t = tile_load(source, height, columns);
        t = tile_subtract(t, tile_product(row, own, first, columns), columns);
        tile_store(row + 8 * first, 8, tile_solve(t, diagonal, columns), columns);
    }
}

static void strips_piece(void *context, int piece) {
    const front_job *job = context;
    int begin = job->first / 8 + 1 + PIECE_STRIPS * piece;
    int end = min(begin + PIECE_STRIPS, front_height(job->f) / 8);
#define CALL(n) factor_strips(job, job->first, begin, end, n)
    TILE_SWITCH(front_k(job->f) - job->first, CALL)
#undef CALL
}

/* Factors the pivot columns into the panel. Returns the position of the first pivot that fails, or INT_MAX. */
static int factor_columns(front_job *job, workers *pool) {
    int k = front_k(job->f), strips = front_height(job->f) / 8, failed = -1;
    for (int first = 0; first < k; first += 8) {
        int below = first / 8 + 1;
        if (pool) {
#define CALL(n) failed = factor_diagonal(job, first, n)
            TILE_SWITCH(k - first, CALL)
#undef CALL
            job->first = first;
            workers_run(pool, (strips - below + PIECE_STRIPS - 1) / PIECE_STRIPS, strips_piece, job);
        } else {
#define CALL(n)                                                                                                        \
    failed = factor_diagonal(job, first, n);                                                                           \
    factor_strips(job, first, below, strips, n)
            TILE_SWITCH(k - first, CALL)
#undef CALL
        }
        if (failed >= 0) return job->f->first + (first + failed) / 3;
    }
    return INT_MAX;
}

SIMD_INLINE void update_strips(const double *rows, size_t strip, int strips, const double *own, int k, double *target,
                               size_t stride, int columns) {
    int p = 0;
    for (; p + 2 <= strips; p += 2, rows += 2 * strip, target += 16) {
        tile_pair t = tile_pair_product(rows, strip, own, k, columns);
        tile_store(target, stride, tile_negate(t.upper, columns), columns);
        tile_store(target + 8, stride, tile_negate(t.lower, columns), columns);
    }
    if (p < strips) tile_store(target, stride, tile_negate(tile_product(rows, own, k, columns), columns), columns);
}

/* Block column b of - L21 L21^T. */
static void update_block(const front_job *job, int b) {
    const front *f = job->f;
    int k = front_k(f), mp = front_mp(f), columns = front_m(f) - 8 * b;
    size_t strip = 8 * (size_t)k, stride = (size_t)(mp - 8 * b);
    const double *own = job->panel + (size_t)(front_kp(f) / 8 + b) * strip;
    double *target = job->update + front_update_column(mp, 8 * b) + 8 * b;
    if (columns <= 4)
        update_strips(own, strip, mp / 8 - b, own, k, target, stride, 4);
    else
        update_strips(own, strip, mp / 8 - b, own, k, target, stride, 8);
}

/* Columns [begin, end) of the update; begin is a multiple of 24. */
static void update_columns_of(const front_job *job, int begin, int end) {
    const cholesky_plan *plan = job->factor->plan;
    const front *f = job->f;
    for (int b = begin / 8; 8 * b < end; b++) update_block(job, b);
    for (int c = 0; c < f->child_count; c++) {
        const front *child = &plan->fronts[plan->child[f->child_start + c]];
        add_outer(plan, child, job->factor->work + child->update, f, job->update, begin, end);
    }
}

static void update_piece(void *context, int piece) {
    const front_job *job = context;
    update_columns_of(job, PIECE_COLUMNS * piece, min(PIECE_COLUMNS * (piece + 1), front_m(job->f)));
}

static int pieces_of(int columns) {
    return (columns + PIECE_COLUMNS - 1) / PIECE_COLUMNS;
}

/* Returns the position of the first pivot that fails, or INT_MAX. With a pool, its threads share the front. */
static int factor_front(const cholesky_factor *factor, const front *f, const double *blocks, double *scratch,
                        workers *pool) {
    front_job job = {.factor = factor,
                     .f = f,
                     .blocks = blocks,
                     .columns = scratch,
                     .panel = factor->panels + f->panel,
                     .update = factor->work + f->update};
    int k = front_k(f), m = front_m(f);
    clear_columns(job.columns, k, front_height(f));
    scatter_matrix(factor->plan, f, blocks, job.columns);
    if (pool)
        workers_run(pool, pieces_of(k), assemble_piece, &job);
    else
        assemble_columns(&job, 0, k);
    int failed = factor_columns(&job, pool);
    if (failed != INT_MAX) return failed;
    if (pool)
        workers_run(pool, pieces_of(m), update_piece, &job);
    else
        update_columns_of(&job, 0, m);
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
        failed = factor_front(job->factor, &plan->fronts[f], job->blocks, job->factor->scratch + piece->scratch, NULL);
    job->factor->failed[index] = failed;
}

int cholesky_factorize(cholesky_factor *factor, const double *blocks, workers *pool) {
    const cholesky_plan *plan = factor->plan;
    factorization job = {factor, blocks};
    workers_run(pool, plan->piece_count, factor_piece, &job);
    int failed = INT_MAX;
    for (int i = 0; i < plan->piece_count; i++) failed = min(failed, factor->failed[i]);
    for (int i = 0; i < plan->top_count && failed == INT_MAX; i++) {
        const front *f = &plan->fronts[plan->top[i]];
        failed = factor_front(factor, f, blocks, factor->scratch + plan->top_scratch, front_pool(f, pool));
    }
    return failed == INT_MAX ? CHOLESKY_DONE : plan->node[failed];
}
