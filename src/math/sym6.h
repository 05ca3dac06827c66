/* Symmetric 6x6 matrices, row after row. */
#ifndef MATH_SYM6_H
#define MATH_SYM6_H

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* a = V diag(values) V^T by cyclic Jacobi rotations; a is overwritten. */
static inline void sym6_eigen(double a[36], double values[6], double V[36]) {
    for (int i = 0; i < 36; i++) V[i] = i % 7 == 0;
    for (int round = 0; round < 30; round++) {
        double off = 0, on = 0;
        for (int i = 0; i < 6; i++)
            for (int j = 0; j < 6; j++) *(i == j ? &on : &off) += a[6 * i + j] * a[6 * i + j];
        if (!(off > 1e-34 * on)) break;
        for (int p = 0; p < 5; p++)
            for (int q = p + 1; q < 6; q++) {
                if (a[6 * p + q] == 0) continue;
                double theta = (a[6 * q + q] - a[6 * p + p]) / (2 * a[6 * p + q]);
                double t = copysign(1, theta) / (fabs(theta) + sqrt(theta * theta + 1)), c = 1 / sqrt(t * t + 1),
                       s = t * c;
                for (int k = 0; k < 6; k++) {
                    double x = a[6 * k + p], y = a[6 * k + q];
                    a[6 * k + p] = c * x - s * y, a[6 * k + q] = s * x + c * y;
                }
                for (int k = 0; k < 6; k++) {
                    double x = a[6 * p + k], y = a[6 * q + k];
                    a[6 * p + k] = c * x - s * y, a[6 * q + k] = s * x + c * y;
                }
                for (int k = 0; k < 6; k++) {
                    double x = V[6 * k + p], y = V[6 * k + q];
                    V[6 * k + p] = c * x - s * y, V[6 * k + q] = s * x + c * y;
                }
            }
    }
    for (int i = 0; i < 6; i++) values[i] = a[7 * i];
}

/* The nearest symmetric positive semidefinite matrix: for one that is so but for rounding. */
static inline void sym6_make_semidefinite(double a[36]) {
    double work[36], values[6], V[36];
    bool positive = true;
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < i; j++) a[6 * i + j] = a[6 * j + i] = 0.5 * (a[6 * i + j] + a[6 * j + i]);
    memcpy(work, a, sizeof work);
    sym6_eigen(work, values, V);
    for (int k = 0; k < 6; k++) positive = positive && values[k] >= 0;
    if (positive) return;
    for (int i = 0; i < 6; i++)
        for (int j = 0; j <= i; j++) {
            double sum = 0;
            for (int k = 0; k < 6; k++) sum += V[6 * i + k] * fmax(values[k], 0) * V[6 * j + k];
            a[6 * i + j] = a[6 * j + i] = sum;
        }
}

#endif
