/* The augmented Lagrangian of a problem,
 *
 *   Phi(d) = 1/2 d^T A d - h b^T d + h^2 (rho sum of the limits' terms + sum of the contacts' terms),   d = x - x0,
 *
 * put together from the bodies' limits (body/body.h) and the contacts (contact/contact.h), and how far a d is from its
 * optimum. Patches (contact/patch.h) have no term with a penalty: their forces, which solver/patch_forces.h finds, do work on
 * what they move, -h^2 lambda^T u. rho is in units of each tet's Young's modulus; contacts have penalties of their own. */
#ifndef SOLVER_LAGRANGIAN_H
#define SOLVER_LAGRANGIAN_H

#include "solver/problem.h"

/* Limits and contacts are looked at where d takes them. */
void lagrangian_move(const solver_problem *problem, const double *d);

/* Below: where they were looked at last. */

/* The terms of limits and contacts, kg m^2. */
double lagrangian_constraint_energy(const solver_problem *problem, double rho);

/* gradient = residual + gradients of the terms; residual = A d - h b = A (x - x*). */
void lagrangian_gradient(const solver_problem *problem, double rho, const double *residual, double *gradient);

/* hessian = A + Hessians of the terms, 9 per block. */
void lagrangian_hessian(const solver_problem *problem, double rho, double *hessian);
/* Without those of contacts. */
void lagrangian_hessian_of_limits(const solver_problem *problem, double rho, double *hessian);

body_limit_measures lagrangian_measure_limits(const solver_problem *problem);

typedef struct lagrangian_measures {
    body_limit_measures limits;
    contact_measures contacts;
    double size;    /* |A (x - x*)| */
    double slope;   /* |gradient| */
    double balance; /* largest force on a rigid body that nothing balances, of its weight on earth; torques likewise */
} lagrangian_measures;

lagrangian_measures lagrangian_measure(const solver_problem *problem, const double *residual, const double *gradient);

#endif
