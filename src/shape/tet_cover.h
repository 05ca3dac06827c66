/* Moves the boundary of a tet mesh out until every vertex of a surface lies in a tet, and in one of its own part of the
 * body where parts come close, as fingers do. */
#ifndef SHAPE_TET_COVER_H
#define SHAPE_TET_COVER_H

#include "base/error.h"
#include "thenar/mesh.h"

/* Hangs each vertex on a tet of its own group: on one that holds it, or on one close by (then it counts as outside).
 * The group of a tet is its tag; group 0 goes with every other. */
thenar_status tet_group_embedding(const thenar_tet_mesh *mesh, const thenar_surface *skin, const int *vertex_group,
                                  thenar_embedding *embedding, int *outside, thenar_error *error);

/* At most `rounds` moves of each node; the vertices that are outside then are counted in *outside. Tets may get
 * worse, even inverted: improve them and call again. */
thenar_status tet_cover(thenar_tet_mesh *mesh, const thenar_surface *skin, const int *vertex_group, int rounds,
                        int *outside, thenar_error *error);

#endif
