/* The default solver: Newton's method on the augmented Lagrangian. See newton.c. */
#ifndef SOLVER_NEWTON_H
#define SOLVER_NEWTON_H

#include "solver/solver.h"

/* The penalty rho, in units of each tet's Young's modulus, in whose units multipliers of limits are kept between
 * steps. */
#define NEWTON_RHO 500.0

extern const solver_class newton_solver;

#endif
