/* How much of a tet lies inside a solid.
 *
 * A tet whose corners are all farther from the surface than its longest edge is full or empty; any other is
 * cut into eight through the middles of its edges, two times over; the smallest ones take the signed distance
 * as linear between their corners, for which the share below zero has a closed form. */
#ifndef SHAPE_FILL_H
#define SHAPE_FILL_H

#include "shape/distance.h"
#include "thenar/mesh.h"

/* The share, 0..1, of a tet in which the linear function with these values at the corners is negative. */
double fill_of_linear(const double value[4]);

double fill_of_tet(const signed_distance *solid, const vec3 corner[4]);
void fill_of_mesh(const signed_distance *solid, const thenar_tet_mesh *mesh, double *fill);

/* Does the solid reach deeper than tolerance into the tet? Looks at the corners of ever smaller tets, down to
 * a sixteenth: a part of the solid that is thinner than that, and touches none of them, is overlooked. */
bool fill_reaches_tet(const signed_distance *solid, const vec3 corner[4], double tolerance);

#endif
