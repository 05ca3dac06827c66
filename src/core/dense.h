/* Cholesky factorization A = L L^T of small dense symmetric matrices, and solves with it.
 *
 *   L_ij = (A_ij - sum_k<j L_ik L_jk) / L_jj   (j < i),      L_ii = sqrt(A_ii - sum_k<i L_ik^2)
 *
 * Matrices are row-major, n x n, with `stride` numbers from one row to the next; only the lower triangle is read and
 * written. The functions are inline so that loops of a constant size are unrolled. */
#ifndef CORE_DENSE_H
#define CORE_DENSE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

/* Factors A in place. A row whose pivot is not larger than `tolerance` times its diagonal, or whose diagonal is not
 * positive, is left out: its row of L is 0. Returns how many rows were left out; 0 if A is positive definite. */
static inline int dense_cholesky(double *A, int n, int stride, double tolerance) {
    int left_out = 0;
    for (int i = 0; i < n; i++) {
        double *row = A + (size_t)i * (size_t)stride, diagonal = row[i];
        for (int j = 0; j < i; j++) {
            const double *other = A + (size_t)j * (size_t)stride;
            double sum = row[j];
            for (int k = 0; k < j; k++) sum -= row[k] * other[k];
            row[j] = other[j] > 0 ? sum / other[j] : 0;
        }
        double pivot = diagonal;
        for (int k = 0; k < i; k++) pivot -= row[k] * row[k];
        bool is_positive = diagonal > 0 && pivot > tolerance * diagonal;
        row[i] = is_positive ? sqrt(pivot) : 0;
        for (int j = 0; j < i && !is_positive; j++) row[j] = 0;
        left_out += !is_positive;
    }
    return left_out;
}

/* x = (L L^T)^-1 x; x is 0 at the rows that were left out. */
static inline void dense_cholesky_solve(const double *L, int n, int stride, double *x) {
    for (int i = 0; i < n; i++) {
        const double *row = L + (size_t)i * (size_t)stride;
        for (int k = 0; k < i; k++) x[i] -= row[k] * x[k];
        x[i] = row[i] > 0 ? x[i] / row[i] : 0;
    }
    for (int i = n - 1; i >= 0; i--) {
        double diagonal = L[(size_t)i * (size_t)stride + (size_t)i];
        for (int k = i + 1; k < n; k++) x[i] -= L[(size_t)k * (size_t)stride + (size_t)i] * x[k];
        x[i] = diagonal > 0 ? x[i] / diagonal : 0;
    }
}

#endif
