/* CHOLMOD (SuiteSparse) at its best, for comparison: it tries AMD and METIS and keeps the better ordering, factorizes
 * into the existing LL^T factor, and its BLAS runs on one thread. */
#include "bench/peer.h"

#include <cholmod.h>
#include <stdlib.h>
#include <string.h>

typedef struct solver {
    cholmod_common common;
    cholmod_sparse *matrix; /* lower triangle */
    cholmod_factor *factor;
    cholmod_dense *right, *solution, *work_y, *work_e;
    int *source; /* entry of matrix -> entry of blocks */
} solver;

/* Weak: defined if the BLAS of CHOLMOD is OpenBLAS. */
__attribute__((weak)) void openblas_set_num_threads(int count);

static void solver_free(void *pointer) {
    solver *s = pointer;
    cholmod_free_sparse(&s->matrix, &s->common);
    cholmod_free_factor(&s->factor, &s->common);
    cholmod_free_dense(&s->right, &s->common);
    cholmod_free_dense(&s->solution, &s->common);
    cholmod_free_dense(&s->work_y, &s->common);
    cholmod_free_dense(&s->work_e, &s->common);
    cholmod_finish(&s->common);
    free(s->source);
    free(s);
}

/* The scalar lower triangle by columns with ascending rows, and the source of each entry. */
static void fill_pattern(solver *s, const block_pattern *pattern) {
    int *start = s->matrix->p, *row = s->matrix->i, count = 0;
    for (int j = 0; j < pattern->node_count; j++)
        for (int c = 0; c < 3; c++) {
            start[3 * j + c] = count;
            for (int k = pattern->column_start[j]; k < pattern->column_start[j + 1]; k++)
                for (int r = pattern->row[k] == j ? c : 0; r < 3; r++) {
                    row[count] = 3 * pattern->row[k] + r;
                    s->source[count++] = 9 * k + 3 * r + c;
                }
        }
    start[3 * pattern->node_count] = count;
}

static void *solver_create(const block_pattern *pattern, int kind) {
    if (openblas_set_num_threads) openblas_set_num_threads(1);
    solver *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    cholmod_start(&s->common);
    s->common.supernodal = kind == BENCH_PEER_SUPERNODAL ? CHOLMOD_SUPERNODAL : CHOLMOD_SIMPLICIAL;
    s->common.final_ll = 1;
    s->common.print = 0;
    size_t n = 3 * (size_t)pattern->node_count;
    size_t entries = 9 * (size_t)pattern->block_count - 3 * (size_t)pattern->node_count;
    s->source = malloc((entries + 1) * sizeof *s->source);
    s->matrix = cholmod_allocate_sparse(n, n, entries, 1, 1, -1, CHOLMOD_REAL, &s->common);
    s->right = cholmod_allocate_dense(n, 1, n, CHOLMOD_REAL, &s->common);
    if (s->source && s->matrix && s->right) {
        fill_pattern(s, pattern);
        memset(s->matrix->x, 0, entries * sizeof(double));
        /* By default CHOLMOD tries METIS only if AMD leaves much fill. Both are forced, so that neither kind of mesh
         * is at a disadvantage. */
        s->common.nmethods = 2;
        s->common.method[0].ordering = CHOLMOD_AMD;
        s->common.method[1].ordering = CHOLMOD_METIS;
        s->factor = cholmod_analyze(s->matrix, &s->common);
    }
    if (s->factor) return s;
    solver_free(s);
    return NULL;
}

static void solver_set(void *pointer, const double *blocks) {
    solver *s = pointer;
    double *x = s->matrix->x;
    const int *start = s->matrix->p;
    for (int e = 0; e < start[s->matrix->ncol]; e++) x[e] = blocks[s->source[e]];
}

static int solver_factorize(void *pointer) {
    solver *s = pointer;
    cholmod_factorize(s->matrix, s->factor, &s->common);
    return s->common.status == CHOLMOD_OK ? 0 : 1;
}

static void solver_solve(void *pointer, double *x) {
    solver *s = pointer;
    size_t bytes = s->matrix->nrow * sizeof(double);
    memcpy(s->right->x, x, bytes);
    cholmod_solve2(CHOLMOD_A, s->factor, s->right, NULL, &s->solution, NULL, &s->work_y, &s->work_e, &s->common);
    memcpy(x, s->solution->x, bytes);
}

static double solver_nonzeros(void *pointer) {
    solver *s = pointer;
    return s->common.lnz;
}

__attribute__((visibility("default"))) const bench_peer *bench_peer_table(void);

const bench_peer *bench_peer_table(void) {
    static const bench_peer table = {.name = "CHOLMOD",
                                     .create = solver_create,
                                     .set = solver_set,
                                     .factorize = solver_factorize,
                                     .solve = solver_solve,
                                     .destroy = solver_free,
                                     .nonzeros = solver_nonzeros};
    return &table;
}
