/* A coarser surface on a subset of the vertices of a finer one.
 *
 * The remaining vertices do not move, so their embedding in tets and their bone weights stay valid. */
#ifndef GEOMETRY_SIMPLIFY_H
#define GEOMETRY_SIMPLIFY_H

#include "core/error.h"

#include "thenar/mesh.h"

typedef struct simple_surface {
    int vertex_count;
    int *vertex; /* of the finer surface, ascending */
    int triangle_count;
    int *triangles; /* 3 per triangle: vertices of the finer surface */
} simple_surface;

/* spacing: target edge length at each vertex, m; 0 keeps the surface. closeness: largest distance of a vertex of the
 * finer surface from the coarser one, as a share of its spacing. The surface may be open; its borders, and vertices
 * where it is pinched or folded onto itself, are kept. The genus is preserved, and every triangle faces the same way
 * as the finer surface at its corners. Unused vertices are left out. */
thenar_status surface_simplify(const thenar_surface *surface, const double *spacing, double closeness,
                               simple_surface *out, thenar_error *error);
void simple_surface_free(simple_surface *simple);

/* The triangles of a coarser surface with its own vertices only, for files and figures. */
thenar_status simple_surface_extract(const thenar_surface *surface, const simple_surface *simple, thenar_surface *out,
                                     thenar_error *error);

#endif
