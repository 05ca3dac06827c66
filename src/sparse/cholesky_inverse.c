/* The selected inverse: the entries of Z = A^-1 in the pattern of L, from the root of the tree down.
 *
 *     M = L11^-1,  S = L21 M,  Z21 = - Z22 S,  Z11 = M^T M - S^T Z21
 *
 * Z22 is Z on the rows below a front. All of these are rows of its parent, which comes first. Takahashi, Fagan and
 * Chin 1973; Erisman and Tinney, Comm. ACM 18 (1975); here by fronts. Arrays of a front (cholesky_plan.h):
 *
 *     inverse   column-major, height x k: Z11 (both triangles) in the rows from 0, Z21 in the rows from kp
 *     spread    column-major, height x m: Z12 in the rows from 0, Z22 in the rows from kp; children read whole columns
 *               of Z, from `inverse` for pivots and from `spread` for the others
 *     M, S^T    scratch, strips of eight columns c: M(d, c) at [c / 8][d][c % 8], S^T(c, j) at [c / 8][j][c % 8] */
#include "sparse/cholesky_plan.h"

#include "sparse/tile.h"

#include <string.h>

/* The current front; shared by the pieces of a large one. */
typedef struct inverse_job {
    const cholesky_factor *factor;
    const front *f;
    const double *panel;
    double *inverse, *spread;
    double *m, *s; /* M and S^T */
} inverse_job;

/* Copies rows of the three columns of a node. Also writes up to 7 numbers behind each: rows that a later run writes,
 * padding, or rows of Z12, which are written later. */
SIMD_INLINE void copy_run(double *target, size_t height, const double *source, size_t source_height, int count) {
    for (int c = 0; c < 3; c++, target += height, source += source_height)
        for (int i = 0; i < count; i += 8) f64x8_store(target + i, f64x8_load(source + i));
}

/* Copies the columns [begin, end) of Z22, multiples of 3, from the parent. Both triangles: copying one and mirroring
 * it tile by tile takes as long. */
static void gather_below(const inverse_job *job, int begin, int end) {
    const cholesky_plan *plan = job->factor->plan;
    const front *f = job->f, *parent = &plan->fronts[f->parent];
    const front_run *first = plan->run + f->run_start, *last = first + f->run_count, *run = first;
    size_t height = (size_t)front_height(f), parent_height = (size_t)front_height(parent);
    const double *pivots = job->factor->inverse + parent->panel;
    const double *others = job->factor->work + parent->spread - parent_height * (size_t)front_kp(parent);
    double *target = job->spread + (size_t)front_kp(f) + height * (size_t)begin;
    for (int j = begin; j < end; j += 3, target += 3 * height) {
        while (j >= run->from + run->count) run++;
        const double *source = (j < f->inner ? pivots : others) + parent_height * (size_t)(run->to + j - run->from);
        for (const front_run *r = first; r < last; r++)
            copy_run(target + r->from, height, source + r->to, parent_height, r->count);
    }
}

/* Computes eight columns of M, from the diagonal down, by substitution of unit vectors. */
static void invert_pivots(const double *panel, int k, double *m, int block) {
    size_t strip = 8 * (size_t)k;
    int first = 8 * block;
    for (int next = first; next < k; next += 8) {
        const double *row = panel + (size_t)(next / 8) * strip;
        double unit[64] = {0};
        if (next == first)
            for (int c = 0; c < 8 && first + c < k; c++) unit[9 * c] = 1;
#define CALL(n)                                                                                                        \
    tile_store(m + 8 * next, 8,                                                                                        \
               tile_solve(tile_subtract(tile_load(unit, 8, n),                                                         \
                                        tile_product(m + 8 * first, row + 8 * first, next - first, n), n),             \
                          row + 8 * next, n),                                                                          \
               n)
        TILE_SWITCH(k - next, CALL)
#undef CALL
    }
}

/* Eight rows of S^T. */
static void scale_below(const front *f, const double *panel, const double *m, double *s, int block) {
    int k = front_k(f), first = 8 * block, strips = front_mp(f) / 8;
    const double *row = panel + 8 * (size_t)k * (size_t)(front_kp(f) / 8) + 8 * first;
    for (int p = 0; p < strips; p++, row += 8 * (size_t)k)
        tile_store(s + 64 * p, 8, tile_product(m + 8 * first, row, k - first, 8), 8);
}

/* Stores a tile of Z21 in `inverse` and, if there are children to read it, its transpose as Z12 in `spread`. */
SIMD_INLINE void store_below(const front *f, tile t, double *inverse, double *across, size_t height, int rows,
                             int columns) {
    tile_store(inverse, height, t, columns);
    if (f->child_count == 0) return;
    t = tile_transpose(t);
#define CALL(n) tile_store(across, height, t, n)
    TILE_SWITCH(rows, CALL)
#undef CALL
}

SIMD_INLINE void multiply_strips(const front *f, const double *below, const double *s, double *inverse, double *across,
                                 int columns) {
    size_t height = (size_t)front_height(f);
    int m = front_m(f), r = 0;
    for (; r + 8 < m; r += 16) {
        tile_pair t = tile_pair_product_columns(below + r, height, s, m, columns);
        store_below(f, tile_negate(t.upper, columns), inverse + r, across + (size_t)r * height, height, 8, columns);
        store_below(f, tile_negate(t.lower, columns), inverse + r + 8, across + (size_t)(r + 8) * height, height,
                    m - r - 8, columns);
    }
    if (r >= m) return;
    tile t = tile_product_columns(below + r, height, s, m, columns);
    store_below(f, tile_negate(t, columns), inverse + r, across + (size_t)r * height, height, m - r, columns);
}

/* Eight columns of Z21. */
static void multiply_below(const front *f, double *spread, const double *s, double *inverse, int block) {
    size_t height = (size_t)front_height(f);
    int kp = front_kp(f), first = 8 * block;
    inverse += (size_t)first * height + (size_t)kp;
#define CALL(n) multiply_strips(f, spread + kp, s, inverse, spread + first, n)
    TILE_SWITCH(front_k(f) - first, CALL)
#undef CALL
}

/* Computes the tile (row block, column block) of Z11, row block >= column block, and stores it and its transpose. */
static void invert_tile(const front *f, const double *m, const double *s, double *inverse, int row, int column) {
    size_t height = (size_t)front_height(f), kp = (size_t)front_kp(f), mp = (size_t)front_mp(f);
    int k = front_k(f), first = 8 * row;
    const double *m_row = m + 8 * (kp * (size_t)row + (size_t)first);
    const double *m_column = m + 8 * (kp * (size_t)column + (size_t)first);
    const double *z = inverse + 8 * (size_t)column * height;
    tile t;
#define CALL(n)                                                                                                        \
    t = tile_subtract(tile_product(m_row, m_column, k - first, n),                                                     \
                      tile_product_rows(s + 8 * mp * (size_t)row, z + kp, height, front_m(f), n), n);                  \
    if (row == column) t = tile_symmetric(t);                                                                          \
    tile_store(inverse + 8 * (size_t)column * height + first, height, t, n)
    TILE_SWITCH(k - 8 * column, CALL)
#undef CALL
    if (row == column) return;
    t = tile_transpose(t);
#define CALL(n) tile_store(inverse + (size_t)first * height + 8 * column, height, t, n)
    TILE_SWITCH(k - first, CALL)
#undef CALL
}

/* Columns of Z22 that a piece of a large front gathers: whole nodes. The store at the end of a column may reach into
 * the first rows of the next one, which belong to Z12 and are written after all pieces. */
#define PIECE_COLUMNS 24

static void gather_piece(void *context, int piece) {
    const inverse_job *job = context;
    int begin = PIECE_COLUMNS * piece, end = begin + PIECE_COLUMNS, m = front_m(job->f);
    gather_below(job, begin, end < m ? end : m);
}

/* Eight columns of M, of S and of Z21. */
static void columns_piece(void *context, int block) {
    const inverse_job *job = context;
    const front *f = job->f;
    double *m = job->m + 8 * (size_t)front_kp(f) * (size_t)block, *s = job->s + 8 * (size_t)front_mp(f) * (size_t)block;
    invert_pivots(job->panel, front_k(f), m, block);
    scale_below(f, job->panel, m, s, block);
    multiply_below(f, job->spread, s, job->inverse, block);
}

/* Eight rows of Z11, and as many columns. */
static void rows_piece(void *context, int row) {
    const inverse_job *job = context;
    for (int column = 0; column <= row; column++) invert_tile(job->f, job->m, job->s, job->inverse, row, column);
}

static void invert_front(const cholesky_factor *factor, const front *f, double *scratch, workers *pool) {
    int blocks = front_kp(f) / 8;
    inverse_job job = {.factor = factor,
                       .f = f,
                       .panel = factor->panels + f->panel,
                       .inverse = factor->inverse + f->panel,
                       .spread = factor->work + f->spread,
                       .m = scratch,
                       .s = scratch + 64 * (size_t)blocks * (size_t)blocks};
    if (f->below > 0) workers_run(pool, (front_m(f) + PIECE_COLUMNS - 1) / PIECE_COLUMNS, gather_piece, &job);
    workers_run(pool, blocks, columns_piece, &job);
    workers_run(pool, blocks, rows_piece, &job);
}

static void invert_piece(void *context, int index) {
    const cholesky_factor *factor = context;
    const front_piece *piece = &factor->plan->piece[index];
    for (int f = piece->end - 1; f >= piece->first; f--)
        invert_front(factor, &factor->plan->fronts[f], factor->scratch + piece->scratch, NULL);
}

void cholesky_inverse(cholesky_factor *factor, workers *pool) {
    const cholesky_plan *plan = factor->plan;
    for (int i = plan->top_count - 1; i >= 0; i--) {
        const front *f = &plan->fronts[plan->top[i]];
        invert_front(factor, f, factor->scratch + plan->top_scratch, front_pool(f, pool));
    }
    workers_run(pool, plan->piece_count, invert_piece, factor);
}

/* Finds where block (i, j) is stored; *transposed if it is stored as (j, i). */
static bool locate_block(const cholesky_plan *plan, int i, int j, size_t *block, int *stride, bool *transposed) {
    int p = plan->position[i], q = plan->position[j];
    *transposed = p < q;
    int column = p < q ? p : q, row = p < q ? q : p;
    const front *f = &plan->fronts[plan->front_of[column]];
    int padded = front_find_row(plan, f, row);
    if (padded < 0) return false;
    *stride = front_height(f);
    *block = f->panel + 3 * (size_t)(column - f->first) * (size_t)*stride + (size_t)padded;
    return true;
}

bool cholesky_inverse_block(const cholesky_factor *factor, int i, int j, double out[9]) {
    size_t block;
    int stride;
    bool transposed;
    if (!locate_block(factor->plan, i, j, &block, &stride, &transposed)) return false;
    const double *z = factor->inverse + block;
    for (int c = 0; c < 3; c++)
        for (int r = 0; r < 3; r++) out[transposed ? 3 * c + r : 3 * r + c] = z[stride * c + r];
    return true;
}

bool cholesky_locate(const cholesky_plan *plan, const int nodes[4], cholesky_location *location) {
    int pair = 0;
    for (int i = 0; i < 4; i++)
        for (int j = 0; j <= i; j++, pair++) {
            bool transposed;
            if (!locate_block(plan, nodes[i], nodes[j], &location->block[pair], &location->stride[pair], &transposed))
                return false;
            location->row[pair] = (unsigned char)(transposed ? j : i);
            location->column[pair] = (unsigned char)(transposed ? i : j);
        }
    return true;
}

double cholesky_inverse_form(const cholesky_factor *factor, const cholesky_location *location, const double g[12]) {
    double diagonal = 0, others = 0;
    for (int pair = 0; pair < 10; pair++) {
        const double *z = factor->inverse + location->block[pair];
        int stride = location->stride[pair], row = location->row[pair], column = location->column[pair];
        const double *left = g + 3 * row, *right = g + 3 * column;
        double sum = 0;
        for (int c = 0; c < 3; c++, z += stride) sum += (z[0] * left[0] + z[1] * left[1] + z[2] * left[2]) * right[c];
        if (row == column)
            diagonal += sum;
        else
            others += sum;
    }
    return diagonal + 2 * others;
}
