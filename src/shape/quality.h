/* Shape figures of a single tet; those of whole meshes are in thenar/mesh.h. */
#ifndef SHAPE_QUALITY_H
#define SHAPE_QUALITY_H

#include "math/vec3.h"

/* Three times the inscribed over the circumscribed radius, with the sign of the volume: 1 for a regular tet.
 */
double tet_radius_ratio(const vec3 corner[4]);

/* Radians between the faces at each edge, in the order 01 02 03 12 13 23. */
void tet_dihedral_angles(const vec3 corner[4], double angle[6]);

#endif
