/* Moves the boundary of a tet mesh out until every vertex of a surface lies in a tet, and in one of its own part of the
 * body where parts come close, as fingers do. */
#ifndef GEOMETRY_TETS_H
#define GEOMETRY_TETS_H

#include "core/error.h"
#include "geometry/distance.h"

#include "thenar/mesh.h"

/* Every tet of a mesh cut into cut^3 tets of equal volume, faces matching [Edelsbrunner and Grayson 2000, Edgewise
 * subdivision of a simplex].
 *
 * With the corners in the order of their numbers, a tet is the set of places 0 <= t1 <= t2 <= t3 <= cut on the chain
 * corner 0 -> 1 -> 2 -> 3, which the planes of the Kuhn grid cut into tets; on a face shared by two tets the order is
 * the same, and so are the cuts. */

/* A node of the finer mesh in the coarse one: weighted by parts / cut on up to four corners. */
typedef struct tet_share {
    int node[4]; /* -1: none */
    int parts[4];
} tet_share;

/* share gets one entry a node of out; free() it. Tags go over to the parts. cut >= 1. */
thenar_status tet_subdivide(const thenar_tet_mesh *mesh, int cut, thenar_tet_mesh *out, tet_share **share,
                            thenar_error *error);

/* Wraps a coarse tet mesh around a fine skin: every vertex of the skin in a tet, every tet sound, the boundary close.
 * */

/* What the tets must cover. Meshes have a group for each tet as tag. */
typedef struct tet_wrap {
    const signed_distance *solid; /* what the skin holds */
    const thenar_surface *skin;
    const int *group; /* of the vertices: see tet_cover.h */
} tet_wrap;

/* Moves nodes until the skin is covered by tets that improving can still mend. */
thenar_status tet_wrap_cover(const tet_wrap *wrap, thenar_tet_mesh *mesh, thenar_error *error);

/* Draws the boundary of tets that cover the skin to it, in so many turns between which the inner nodes make room; then
 * improves the worst tets. */
thenar_status tet_wrap_fit(const tet_wrap *wrap, int turns, thenar_tet_mesh *mesh, thenar_error *error);

/* How much of a tet lies inside a solid.
 *
 * A tet whose corners are all farther from the surface than its longest edge is full or empty; any other is
 * cut into eight through the middles of its edges, two times over; the smallest ones take the signed distance
 * as linear between their corners, for which the share below zero has a closed form. */

/* The share, 0..1, of a tet in which the linear function with these values at the corners is negative. */
double fill_of_linear(const double value[4]);

double fill_of_tet(const signed_distance *solid, const vec3 corner[4]);
void fill_of_mesh(const signed_distance *solid, const thenar_tet_mesh *mesh, double *fill);

/* Does the solid reach deeper than tolerance into the tet? Looks at the corners of ever smaller tets, down to
 * a sixteenth: a part of the solid that is thinner than that, and touches none of them, is overlooked. */
bool fill_reaches_tet(const signed_distance *solid, const vec3 corner[4], double tolerance);

#endif
