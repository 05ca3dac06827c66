/* Moves the boundary of a tet mesh out until every point of a surface lies in a tet. */
#ifndef SHAPE_TET_COVER_H
#define SHAPE_TET_COVER_H

#include "base/error.h"
#include "thenar/mesh.h"

/* At most `rounds` moves of each node; the vertices that are outside then are counted in *outside. Tets may get worse, even
 * inverted: improve them and call again. */
thenar_status tet_cover(thenar_tet_mesh *mesh, const thenar_surface *skin, int rounds, int *outside,
                        thenar_error *error);

#endif
