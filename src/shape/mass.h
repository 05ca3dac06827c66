/* Mass properties of a solid of one density, from its tets or from its closed surface.
 *
 * A tet with corners x_i and signed volume V has the moments
 *     int 1 = V,   int x = V/4 sum x_i,   int x x^T = V/20 (sum x_i x_i^T + (sum x_i)(sum x_i)^T).
 * A closed surface is the sum of the signed tets from one point to each of its triangles: the divergence
 * theorem in its plainest form. The inertia tensor about the centre of mass c, with S = int (x - c)(x - c)^T,
 * is tr(S) 1 - S. */
#ifndef SHAPE_MASS_H
#define SHAPE_MASS_H

#include "math/vec3.h"
#include "thenar/mesh.h"

typedef struct mass_properties {
    double mass;  /* kg: density * volume; with density 1, the volume in m^3 */
    vec3 centre;  /* m */
    mat3 inertia; /* kg m^2, about the centre, in the axes of the mesh */
} mass_properties;

/* density in kg/m^3. A mesh without volume has mass 0 and its centre at its first point. */
mass_properties mass_of_tets(const thenar_tet_mesh *mesh, double density);
/* As mass_of_tets with each tet's density times fill[tet]. */
mass_properties mass_of_filled_tets(const thenar_tet_mesh *mesh, const double *fill, double density);
/* For an open surface the result has no meaning; for one that is inside out the mass is negative. */
mass_properties mass_of_surface(const thenar_surface *surface, double density);

#endif
