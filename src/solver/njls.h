/* The nonlinear Jacobi line-search solver of perez2016, as printed. See njls.c. */
#ifndef SOLVER_NJLS_H
#define SOLVER_NJLS_H

#include "solver/solver.h"

extern const solver_class njls_solver, njls_reach_solver;

#endif
