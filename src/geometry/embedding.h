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

/* A surface that follows coarse tets smoothly.
 *
 * Barycentric interpolation has a kink at every face between tets, which shading shows, and a step where tets overlap.
 * Here the weight of each node is diffused along the surface, by about half an edge of the tets:
 *     w_n <- (w_n + mean of w_n at the neighbours) / 2,   repeated.
 * Diffused weights no longer reproduce the position of a vertex; a factor linear in the position of the node,
 *     w_n <- w_n (c0 + c . (X_n - X_v)),   with sum w_n = 1 and sum w_n X_n = X_v,
 * (moving least squares) restores it: affine motions are exact. A vertex then depends on ten to thirty nodes, and the
 * surface bends where it had kinks. Diffusion along the surface never reaches from one finger to the next, however
 * close they are. (A mean over a ball around the vertex needs to know the fingers, and leaves half of the kinks, since
 * points of the ball outside the tets have to be left out.)
 *
 * For display only; contact uses the four nodes of thenar_embedding. */

typedef struct smooth_embedding {
    int vertex_count;
    int *start;     /* vertex_count + 1: the nodes of vertex v are node[start[v]] up to node[start[v + 1] - 1] */
    int *node;      /* ascending within a vertex */
    double *weight; /* adding up to 1 within a vertex; some may be negative */
} smooth_embedding;

/* reach: standard deviation of the diffusion, in mean edges of the tets; SMOOTH_EMBEDDING_REACH is the default. A
 * surface that is not finer than the tets is unchanged. */
#define SMOOTH_EMBEDDING_REACH 0.3
thenar_status smooth_embedding_create(const thenar_tet_mesh *mesh, const thenar_surface *surface,
                                      const thenar_embedding *embedding, double reach, smooth_embedding *out,
                                      thenar_error *error);
void smooth_embedding_free(smooth_embedding *embedding);

/* Positions of the vertices for given nodes; both arrays are xyz. */
void smooth_embedding_apply(const smooth_embedding *embedding, const double *nodes, double *vertices);

#endif
