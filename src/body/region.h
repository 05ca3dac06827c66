/* Which nodes and tets of a mesh lie in a region. */
#ifndef BODY_REGION_H
#define BODY_REGION_H

#include "thenar/model.h"

#include "base/error.h"
#include "math/vec3.h"

#include <stdbool.h>

/* The region's own numbers make sense: finite, radius > 0, corners in order, a direction that is one. */
thenar_status region_check(const thenar_region *region, thenar_error *error);

/* One flag per node or per tet of the mesh. */
void region_mark_nodes(const thenar_region *region, const thenar_tet_mesh *mesh, bool *marked);
void region_mark_tets(const thenar_region *region, const thenar_tet_mesh *mesh, bool *marked);

/* The longest side of the box around some points, m. */
double region_extent(const double *positions, int count);

#endif
