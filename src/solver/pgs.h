/* The solver of perez2013: one linearization, projected Gauss-Seidel. See pgs.c. */
#ifndef SOLVER_PGS_H
#define SOLVER_PGS_H

#include "solver/solver.h"

extern const solver_class pgs_solver;

#endif
