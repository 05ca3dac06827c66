/* What is next to what in a tet mesh: faces, edges, and the boundary as a surface. */
#ifndef SHAPE_BOUNDARY_H
#define SHAPE_BOUNDARY_H

#include "base/error.h"
#include "thenar/mesh.h"

/* The boundary of a tet mesh with where it comes from. */
typedef struct boundary {
    thenar_surface surface; /* triangles face outward */
    int *node;              /* vertex_count: the node of each vertex, ascending */
    int *tet;               /* triangle_count: the tet of each triangle, ascending */
    int *face;              /* triangle_count: which corner of that tet is opposite to the triangle */
} boundary;

/* A face that belongs to three tets or more is an input error. */
thenar_status boundary_create(const thenar_tet_mesh *mesh, boundary *out, thenar_error *error);
void boundary_free(boundary *b);

/* neighbour[4 * t + i]: the tet behind the face of t that is opposite to its corner i, or -1 at the boundary.
 * free() it. A face that belongs to three tets or more is an input error. */
thenar_status tet_mesh_neighbours(const thenar_tet_mesh *mesh, int **out, thenar_error *error);

/* part[t]: the number of the piece, joined by faces, that tet t belongs to; pieces count from 0 in the order
 * of their first tets. free() it. */
thenar_status tet_mesh_parts(const thenar_tet_mesh *mesh, int **out, int *part_count, thenar_error *error);

/* The edges of the mesh, two nodes each, lower one first, sorted. free() it. */
thenar_status tet_mesh_edges(const thenar_tet_mesh *mesh, int **out, int *count, thenar_error *error);

#endif
