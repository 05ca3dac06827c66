/* SQP with projected Gauss-Seidel: a baseline of perez2016. See sqp_pgs.c. */
#ifndef SOLVER_SQP_PGS_H
#define SOLVER_SQP_PGS_H

#include "solver/solver.h"

extern const solver_class sqp_pgs_solver;

#endif
