/* Projected Gauss-Seidel on a dense B = J A^-1 J^T (perez2013, Eq. 15; perez2016, Eq. 6):
 *
 *   lambda_k <- max(0, lambda_k - w_k / B_kk),   w = B lambda + q
 *
 * w is kept up to date: a change of lambda_k adds a multiple of row k of B, and a row that does not change costs
 * nothing. B is symmetric, so its rows are its columns. */
#include "solver/lcp.h"

#include "math/simd.h"

#include <math.h>
#include <string.h>

void lcp_layout(dense_lcp *lcp, const solver_problem *problem, arena *work) {
    int rows = rows_limit(problem);
    size_t size = (size_t)((rows < LCP_ROWS ? rows : LCP_ROWS) + 7) / 8 * 8;
    *lcp = (dense_lcp){.stride = (int)size,
                       .B = ARENA_ARRAY(work, double, size *size),
                       .lambda = ARENA_ARRAY(work, double, size),
                       .w = ARENA_ARRAY(work, double, size),
                       .order = ARENA_ARRAY(work, double, rows)};
}

/* The `rank` smallest values come first (Hoare's selection); returns the largest of them. */
static double select_smallest(double *values, int count, int rank) {
    for (int low = 0, high = count - 1; low < high;) {
        double pivot = values[low + (high - low) / 2];
        int i = low - 1, j = high + 1;
        for (;;) {
            do i++;
            while (values[i] < pivot);
            do j--;
            while (values[j] > pivot);
            if (i >= j) break;
            double swapped = values[i];
            values[i] = values[j], values[j] = swapped;
        }
        if (rank - 1 <= j)
            high = j;
        else
            low = j + 1;
    }
    return values[rank - 1];
}

void lcp_choose(dense_lcp *lcp, row_set *set, const solver_problem *problem) {
    if (set->count <= LCP_ROWS) return;
    for (int i = 0; i < set->count; i++) lcp->order[i] = set->rows[i].value;
    double worst = select_smallest(lcp->order, set->count, LCP_ROWS);
    int ties = LCP_ROWS;
    for (int i = 0; i < set->count; i++) ties -= set->rows[i].value < worst;
    int kept = 0;
    for (int k = 0, i = 0; k < problem->body_count; k++) {
        int end = set->first_row[k + 1];
        set->first_row[k] = kept;
        for (; i < end; i++) {
            double value = set->rows[i].value;
            if (value < worst || (value == worst && ties-- > 0)) set->rows[kept++] = set->rows[i];
        }
    }
    set->count = set->first_row[problem->body_count] = kept;
}

void lcp_formulate(dense_lcp *lcp, row_set *set, const solver_problem *problem) {
    rows_matrix(set, problem, lcp->B, lcp->stride);
    memset(lcp->lambda, 0, (size_t)lcp->stride * sizeof *lcp->lambda);
    memset(lcp->w, 0, (size_t)lcp->stride * sizeof *lcp->w);
}

static lcp_error error_of(const dense_lcp *lcp, const row_set *set, double h) {
    lcp_error error = {0};
    for (int k = 0; k < set->count; k++) {
        double violation = fmax(0, -h * lcp->w[k]);
        error.largest = fmax(error.largest, violation);
        error.weighted += set->rows[k].weight * violation;
    }
    return error;
}

static void sweep(dense_lcp *lcp, int count) {
    const double *row = lcp->B;
    for (int k = 0; k < count; k++, row += lcp->stride) {
        if (!(row[k] > 0)) continue;
        double next = fmax(0, lcp->lambda[k] - lcp->w[k] / row[k]), change = next - lcp->lambda[k];
        if (change == 0) continue;
        lcp->lambda[k] = next;
        for (int i = 0; i < count; i += 8)
            f64x8_store(lcp->w + i, f64x8_fma(f64x8_load(row + i), f64x8_set(change), f64x8_load(lcp->w + i)));
    }
}

int lcp_relax(dense_lcp *lcp, const row_set *set, const solver_problem *problem, lcp_error enough, int most_sweeps,
              int iterations) {
    int sweeps = 0;
    while (sweeps < most_sweeps) {
        sweep(lcp, set->count);
        sweeps++;
        lcp_error error = error_of(lcp, set, problem->step->h);
        solver_tell(problem, iterations + sweeps, true, error.largest);
        if (error.largest <= enough.largest || error.weighted <= enough.weighted) break;
    }
    return sweeps;
}
