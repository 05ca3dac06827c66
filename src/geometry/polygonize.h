/* A closed triangle surface where a signed distance is zero.
 *
 * By a net [Gibson 1998, Constrained elastic surface nets]: one vertex in each cell of a grid for each sheet of
 * surface that passes through it, a quad around each edge of the grid that it cuts, then the vertices slide to even
 * spacing on the surface. */
#ifndef GEOMETRY_POLYGONIZE_H
#define GEOMETRY_POLYGONIZE_H

#include "geometry/distance.h"

#include "thenar/mesh.h"

#define POLYGONIZE_MIN 100
#define POLYGONIZE_MAX 2000000

/* About target triangles (within 3 % on a smooth solid that spans many cells). A solid with parts thinner than a cell
 * may come out open or pinched: that is an error. */
thenar_status polygonize(const signed_distance *solid, int target, thenar_surface *out, thenar_error *error);

#endif
