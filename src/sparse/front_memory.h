/* Which fronts threads may take on their own, and where in memory fronts wait for each other. */
#ifndef SPARSE_FRONT_MEMORY_H
#define SPARSE_FRONT_MEMORY_H

#include "sparse/cholesky_plan.h"

/* Cuts the tree into pieces and fills in the offsets and sizes of all that a factor holds. The fronts of the
 * plan are known, with their rows and children. */
thenar_status front_memory_plan(cholesky_plan *plan, thenar_error *error);

/* Operations of one front. */
double front_flops(const front *f);

/* The pool if the front is large enough to be shared by its threads, else NULL. */
workers *front_pool(const front *f, workers *pool);

#endif
