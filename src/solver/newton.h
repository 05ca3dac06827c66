/* The default solver: Newton's method on the augmented Lagrangian. See newton.c. */
#ifndef SOLVER_NEWTON_H
#define SOLVER_NEWTON_H

#include "solver/solver.h"

extern const solver_class newton_solver;

#endif
