/* Contact with Coulomb friction of a few points that act on each other:
 *
 *   u = q + W f,   f_i in K_i = { |f_t| <= mu f_n },   u_n >= 0,   f_n u_n = 0,   u_t = 0 or f_t = -mu f_n u_t / |u_t|
 *
 * for each of them, with W symmetric and positive definite. See cone_problem.c. */
#ifndef SOLVER_CONE_PROBLEM_H
#define SOLVER_CONE_PROBLEM_H

#include "base/arena.h"
#include "constraint/cone.h"

#include <stdbool.h>

/* Three rows and columns a contact: normal, two tangents. */
typedef struct cone_problem {
    int count;     /* contacts */
    int most;      /* that there is room for */
    int stride;    /* of W: a multiple of eight */
    double *W;     /* m/N, row-major */
    double *q;     /* m: u without forces */
    double *mu;    /* a contact */
    vec3 *force;   /* a contact, N; in: where to start */
    vec3 *u;       /* a contact, m; out */
    double *slope; /* as W: of the residual */
    double *step;  /* a row: Newton's, from the residual */
} cone_problem;

void cone_problem_layout(cone_problem *problem, int most, arena *work);

/* False if it does not come to an end, or W is singular: then forces and u are of no use. */
bool cone_problem_solve(cone_problem *problem);

#endif
