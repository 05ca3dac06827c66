/* Strain limits of the soft body: eight tets at a time. See soft_limit.c for the equations. */
#ifndef BODY_SOFT_LIMIT_H
#define BODY_SOFT_LIMIT_H

#include "body/soft_element.h"

/* F = G(x) + Y = U diag(f) V^T of eight tets, and d = f - clamp(f): what pushes. */
typedef struct soft_limit_point {
    f64x8 U[9], V[9], f[3], d[3];
    soft_fibre_point fibre; /* if the batch has fibres; zero otherwise */
} soft_limit_point;

#define SOFT_MULTIPLIERS 18 /* a batch: the 9 of Y, then 3 for each fibre */

/* The point at x with scaled multipliers Y (SOFT_MULTIPLIERS); point->V is where the decomposition starts and ends. */
void soft_limit_decompose(const soft_batch *batch, const double *x, const f64x8 *Y, soft_limit_point *point);

/* Some singular value of some tet is beyond its limit. */
bool soft_limit_pushes(const soft_limit_point *point);

/* The sum of the tets' terms of the augmented Lagrangian, over weight = h^2 rho / E (s^2): N m. */
double soft_limit_energy(const soft_batch *batch, const soft_limit_point *point);

/* How far eight tets are from the optimum. |G - P(F)|, which is |D - Y|, bounds both the violation of the limits (P is
 * within them) and how far the multipliers are from being complementary to them. */
typedef struct soft_limit_measures {
    double distance; /* largest |G - P(F)| */
    int active;      /* singular values that are held at a limit */
} soft_limit_measures;

soft_limit_measures soft_limit_measure(const soft_batch *batch, const soft_limit_point *point, const f64x8 *Y);

/* Minus the gradient, at the nodes: the force part of SIMD_LANES records like those of soft_element_formulate. The
 * block part is left undefined. */
void soft_limit_forces(const soft_batch *batch, const soft_limit_point *point, double weight, double *records);

/* Minus the gradient and the ten blocks of the Hessian: whole records. convex: with max(0, .), so that it has no
 * negative direction; else it is exact. */
void soft_limit_blocks(const soft_batch *batch, const soft_limit_point *point, double weight, bool convex,
                       double *records);

/* The point as a penalty of `stiffer` times the size would have it, at the same forces: what pushes is at its limit but
 * for a share of 1 / stiffer of how far it was beyond. */
void soft_limit_stiffen(double stiffer, soft_limit_point *point);

/* Y <- Y factor, no longer than `most`. */
void soft_limit_rescale(double factor, double most, f64x8 *Y);

/* Y <- D factor: the multipliers' step, in units of another rho; no longer than `most` in these. */
void soft_limit_update(const soft_limit_point *point, double factor, double most, f64x8 *Y);

#endif
