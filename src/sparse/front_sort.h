/* The order of the pivots within a front. */
#ifndef SPARSE_FRONT_SORT_H
#define SPARSE_FRONT_SORT_H

#include "sparse/cholesky_plan.h"

/* The pivots of one front may be eliminated in any order. Puts those together that the same fronts below have
 * among their rows, so that these rows fall into few runs, and renumbers positions and rows. Fronts are known
 * with their rows; positions from first_last on stay. False if memory runs out. */
bool front_sort_pivots(cholesky_plan *plan, int first_last);

#endif
