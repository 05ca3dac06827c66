/* Strain limits of the soft body: eight tets at a time. See soft_limit.c for the equations. */
#ifndef BODY_SOFT_LIMIT_H
#define BODY_SOFT_LIMIT_H

#include "body/soft_element.h"

/* How far eight tets are from their limits. */
typedef struct soft_limit_measures {
    double violation;       /* largest distance of a singular value from its limits */
    double complementarity; /* largest |G - P(F)|: how far the multipliers are from those of the limits at x */
    int active;             /* singular values that are held at a limit */
} soft_limit_measures;

/* weight: h^2 rho / E, s^2. Y (9): scaled multipliers. V (9, in/out): where the decomposition of F starts and ends. */

/* The sum of the tets' terms of the augmented Lagrangian at x, J s^2. */
double soft_limit_energy(const soft_batch *batch, const double *x, double weight, const f64x8 *Y, f64x8 *V);

soft_limit_measures soft_limit_measure(const soft_batch *batch, const double *x, const f64x8 *Y, f64x8 *V);

/* G = U diag(s) V^T of eight tets at x; V as above. */
void soft_limit_decompose(const soft_batch *batch, const double *x, f64x8 U[9], f64x8 s[3], f64x8 *V);

/* Gradient and Hessian as records like those of soft_element_formulate: ten blocks, four nodal vectors (gradient, with
 * a minus). False, and the records untouched, if no limit of the eight tets pushes. */
bool soft_limit_linearize(const soft_batch *batch, const double *x, double weight, const f64x8 *Y, f64x8 *V,
                          double *records);

/* Y <- (F - P(F)) scale: the multipliers' step, in units of the next rho. */
void soft_limit_update(const soft_batch *batch, const double *x, double scale, f64x8 *Y, f64x8 *V);

#endif
