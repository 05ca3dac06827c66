/* Tets for a given skin: subdivision, wrapping a coarse mesh around a fine skin, and how much of a tet is filled. */
#ifndef GEOMETRY_TETS_H
#define GEOMETRY_TETS_H

#include "core/error.h"
#include "geometry/distance.h"

#include "thenar/mesh.h"

/* Subdivides every tet of a mesh into cut^3 tets of equal volume with matching faces (Edelsbrunner and Grayson 2000,
 * Edgewise subdivision of a simplex).
 *
 * With the corners in the order of their numbers, a tet is the set of points 0 <= t1 <= t2 <= t3 <= cut on the chain
 * corner 0 -> 1 -> 2 -> 3, which the planes of the Kuhn grid divide into tets; on a face shared by two tets the order
 * is the same, and so is the division. */

/* A node of the finer mesh in the coarse one: weighted by parts / cut on up to four corners. */
typedef struct tet_share {
    int node[4]; /* -1: none */
    int parts[4];
} tet_share;

/* share receives one entry per node of out; free() it. The parts inherit the tags. cut >= 1. */
thenar_status tet_subdivide(const thenar_tet_mesh *mesh, int cut, thenar_tet_mesh *out, tet_share **share,
                            thenar_error *error);

/* Wraps a coarse tet mesh around a fine skin: every vertex of the skin in a tet, every tet valid, the boundary close.
 * Where parts of the body come close, as fingers do, each vertex lies in a tet of its own part. */

/* What the tets must cover. The tag of a tet is its group. */
typedef struct tet_wrap {
    const signed_distance *solid; /* what the skin encloses */
    const thenar_surface *skin;
    const int *group; /* of the vertices */
} tet_wrap;

/* Moves nodes until the skin is covered by tets that can still be improved. */
thenar_status tet_wrap_cover(const tet_wrap *wrap, thenar_tet_mesh *mesh, thenar_error *error);

/* Moves the boundary of tets that cover the skin towards it, in this many turns between which the inner nodes make
 * room; then improves the worst tets. */
thenar_status tet_wrap_fit(const tet_wrap *wrap, int turns, thenar_tet_mesh *mesh, thenar_error *error);

/* How much of a tet lies inside a solid.
 *
 * A tet whose corners are all farther from the surface than its longest edge is full or empty; any other is divided
 * into eight through the midpoints of its edges, twice; the smallest ones take the signed distance as linear between
 * their corners, for which the negative share has a closed form. */

/* The share, 0..1, of a tet in which the linear function with these values at the corners is negative. */
double fill_of_linear(const double value[4]);

double fill_of_tet(const signed_distance *solid, const vec3 corner[4]);
void fill_of_mesh(const signed_distance *solid, const thenar_tet_mesh *mesh, double *fill);

/* True if the solid reaches deeper than tolerance into the tet. Tests the corners of ever smaller tets, down to a
 * sixteenth: a thinner part of the solid that touches none of them is missed. */
bool fill_reaches_tet(const signed_distance *solid, const vec3 corner[4], double tolerance);

#endif
