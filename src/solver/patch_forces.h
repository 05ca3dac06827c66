/* Patches (contact/patch.h) condensed on a factored matrix H: what their forces do to each other,
 *
 *   u = u_free + h^2 W lambda,   W = J H^-1 J^T
 *
 * with u their gaps, ways and angles at the end of the step. A few rows a patch, however many points and nodes it has, so W
 * is small and dense. See patch_forces.c. */
#ifndef SOLVER_PATCH_FORCES_H
#define SOLVER_PATCH_FORCES_H

#include "contact/patch_law.h"
#include "solver/problem.h"
#include "sparse/gram.h"

typedef struct patch_forces {
    int rows;            /* of a patch: as the problem has them, or 1 for the gaps alone */
    int stride;          /* of W */
    double *W;           /* row after row, 1/kg and so on */
    double *u;           /* a row */
    double *push;        /* a patch, of patch_forces_stabilize */
    patch_response *own; /* a patch: what its block of h^2 W does */
    gram_row *sparse;    /* a row: the patch's gradient */
    gram products;
    int sweeps; /* of the last solve */
} patch_forces;

void patch_forces_layout(patch_forces *state, const solver_problem *problem, int rows, arena *work);

/* W of the problem's patches and the matrix that its factor is of. */
void patch_forces_assemble(patch_forces *state, const solver_problem *problem);

/* The forces of the patches where all obey their law together; patches' u: where they end without forces. Leaves u where they
 * end with them. */
void patch_forces_solve(patch_forces *state, const solver_problem *problem);

/* How far the patches, where they were looked at last, are from their law: W is there. */
contact_measures patch_forces_measure(const patch_forces *state, const solver_problem *problem);

/* Position stabilization (talvas2015, Algorithm 1 and Eqs. 5, 6 and 10): the smallest displacement, in the norm of the factored
 * matrix, that takes patches out of the other body whose velocities are found. rows is 1. dq: 3 per node, m. False if there is
 * nothing to be done. */
bool patch_forces_stabilize(patch_forces *state, const solver_problem *problem, double *dq);

#endif
