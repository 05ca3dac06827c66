/* The Jacobi direction and its line search (perez2016, Eqs. 11 and 12), for njls and njls+. */
#ifndef SOLVER_JACOBI_H
#define SOLVER_JACOBI_H

#include "solver/rows.h"

#include <math.h>

/* s = max(0, -D^-1 C / h); a row that no unknown can help stays 0. Returns how many push. */
static inline int jacobi_direction(const row_set *set, const solver_problem *problem, double *s) {
    int active = 0;
    for (int i = 0; i < set->count; i++) {
        double D = set->diagonal[i];
        s[i] = D > 0 ? fmax(0, -set->rows[i].value / (problem->step->h * D)) : 0;
        active += s[i] > 0;
    }
    return active;
}

/* alpha of Eq. 12, within [0, 1]; set->half is that of s. */
static inline double jacobi_step(row_set *set, const solver_problem *problem, const double *s) {
    double linear = 0, square = rows_push(set, problem, s);
    for (int i = 0; i < set->count; i++) linear += s[i] * set->rows[i].value;
    return square > 0 ? fmax(0, fmin(1, -linear / (problem->step->h * square))) : 0;
}

static inline int jacobi_count(int most, int active) {
    return active > most ? active : most;
}

#endif
