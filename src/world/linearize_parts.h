/* What of a handle's resistance over a step is mass, and what is dampers (linearize.c has S and X). */
#ifndef WORLD_LINEARIZE_PARTS_H
#define WORLD_LINEARIZE_PARTS_H

#include "body/body.h"

/* Adds X^T M X of one body, whose unknowns start at node `first`, to a 6x6 matrix; X are six columns. */
void linearize_add_inertia(double *const X[6], const body_model *body, const body_state *state, int first,
                           double sum[36]);

/* Adds X^T (alpha M + beta K) X of a soft body, and X^T d X of the dampers that tie its nodes to what does not move. Uses
 * up soft_state.free_velocity. */
void linearize_add_viscosity(double *const X[6], body_state *state, int first, double h, double sum[36]);

#endif
