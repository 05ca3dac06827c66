/* A surface that follows coarse tets smoothly.
 *
 * Barycentric interpolation u(x) has a kink at every face between tets, which shading shows. Here a vertex is its mean
 * over a small ball around the vertex, u_smooth(x) = mean of u(x + d), with d a set of points symmetric about 0: each
 * u is exact for affine motions, and so is the mean. A vertex then hangs on all nodes of the tets nearby, ten to
 * thirty, and the surface bends where it had kinks. Points outside the mesh would have to be extrapolated, which
 * jumps from tet to tet (tried): a pair of opposite points comes closer instead until both are inside.
 *
 * For what is seen. What touches goes on with the four nodes of thenar_embedding. */
#ifndef SHAPE_SMOOTH_EMBEDDING_H
#define SHAPE_SMOOTH_EMBEDDING_H

#include "base/error.h"
#include "thenar/mesh.h"

typedef struct smooth_embedding {
    int vertex_count;
    int *start;     /* vertex_count + 1: the nodes of vertex v are node[start[v]] up to node[start[v + 1] - 1] */
    int *node;      /* ascending within a vertex */
    double *weight; /* adding up to 1 within a vertex; some may be negative */
} smooth_embedding;

/* radius: of the ball, m; about half an edge of the tets. tet_group (or NULL): tets of different groups, except 0, do
 * not mix in a vertex: neighbouring fingers. embedding: the tet of each vertex. */
thenar_status smooth_embedding_create(const thenar_tet_mesh *mesh, const int *tet_group, const thenar_surface *surface,
                                      const thenar_embedding *embedding, double radius, smooth_embedding *out,
                                      thenar_error *error);
void smooth_embedding_free(smooth_embedding *embedding);

/* Where the vertices are when the nodes are at `nodes`; both arrays are xyz. */
void smooth_embedding_apply(const smooth_embedding *embedding, const double *nodes, double *vertices);

#endif
