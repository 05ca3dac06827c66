/* SQP with projected Jacobi and line search: a baseline of perez2016. See sqp_pjls.c. */
#ifndef SOLVER_SQP_PJLS_H
#define SOLVER_SQP_PJLS_H

#include "solver/solver.h"

extern const solver_class sqp_pjls_solver;

#endif
