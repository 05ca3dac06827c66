/* A coarser surface on some of the vertices of a finer one.
 *
 * Vertices that are kept stay where they are, so that whatever they hang on (tets, bones) still holds them. */
#ifndef GEOMETRY_SIMPLIFY_H
#define GEOMETRY_SIMPLIFY_H

#include "core/error.h"

#include "thenar/mesh.h"

typedef struct simple_surface {
    int vertex_count;
    int *vertex; /* of the finer surface, ascending */
    int triangle_count;
    int *triangles; /* 3 a triangle: vertices of the finer surface */
} simple_surface;

/* spacing: the wanted length of edges at each vertex, m; 0 keeps what is there. closeness: how far a vertex of the
 * finer surface may be from the coarser one, as a share of its spacing. The surface may be open; its borders, and
 * vertices where it is pinched or folded onto itself, are kept as they are. The genus stays, and every triangle looks
 * the way that the finer surface does at its corners. Vertices that no triangle uses are left out. */
thenar_status surface_simplify(const thenar_surface *surface, const double *spacing, double closeness,
                               simple_surface *out, thenar_error *error);
void simple_surface_free(simple_surface *simple);

/* The triangles of a coarser surface with its own vertices alone: for files and figures. */
thenar_status simple_surface_extract(const thenar_surface *surface, const simple_surface *simple, thenar_surface *out,
                                     thenar_error *error);

#endif
