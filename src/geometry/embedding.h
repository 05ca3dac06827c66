/* Points in tets: barycentric weights, and which tet of a mesh contains a point.
 *
 * The weights w of p in the tet (a, b, c, d): [b-a c-a d-a] (w1 w2 w3)^T = p - a and w0 = 1 - w1 - w2 - w3. All are
 * positive inside; weight i is the distance from the face opposite to corner i over that of the corner itself. */
#ifndef GEOMETRY_EMBEDDING_H
#define GEOMETRY_EMBEDDING_H

#include "core/error.h"
#include "core/vec3.h"
#include "geometry/bvh.h"

#include "thenar/mesh.h"

/* Returns the smallest weight: how deep p lies inside. A tet without volume gives minus infinity. */
double tet_weights(const vec3 corner[4], vec3 p, double weights[4]);

/* A tree over the tets of a mesh, which must outlive it. */
typedef struct tet_finder {
    const thenar_tet_mesh *mesh;
    bvh tree;
} tet_finder;

thenar_status tet_finder_create(const thenar_tet_mesh *mesh, tet_finder *out, thenar_error *error);
void tet_finder_free(tet_finder *finder);

/* The tet in which p lies deepest, with its weights; for p outside all tets a nearby one with the largest smallest
 * weight. The mesh must have a tet with volume. */
int tet_finder_find(const tet_finder *finder, vec3 p, double weights[4]);

#endif
