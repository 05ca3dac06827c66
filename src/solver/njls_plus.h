/* njls with D from the selected inverse and Anderson acceleration. See njls_plus.c. */
#ifndef SOLVER_NJLS_PLUS_H
#define SOLVER_NJLS_PLUS_H

#include "solver/solver.h"

extern const solver_class njls_plus_solver;

#endif
