/* Every tet of a mesh cut into cut^3 tets of equal volume, faces matching [Edelsbrunner and Grayson 2000, Edgewise
 * subdivision of a simplex].
 *
 * With the corners in the order of their numbers, a tet is the set of places 0 <= t1 <= t2 <= t3 <= cut on the chain
 * corner 0 -> 1 -> 2 -> 3, which the planes of the Kuhn grid cut into tets; on a face shared by two tets the order is
 * the same, and so are the cuts. */
#ifndef SHAPE_TET_SUBDIVIDE_H
#define SHAPE_TET_SUBDIVIDE_H

#include "base/error.h"
#include "thenar/mesh.h"

/* A node of the finer mesh in the coarse one: weighted by parts / cut on up to four corners. */
typedef struct tet_share {
    int node[4]; /* -1: none */
    int parts[4];
} tet_share;

/* share gets one entry a node of out; free() it. Tags go over to the parts. cut >= 1. */
thenar_status tet_subdivide(const thenar_tet_mesh *mesh, int cut, thenar_tet_mesh *out, tet_share **share,
                            thenar_error *error);

#endif
