/* What can be said of triangles as a surface: its edges, whether it is closed, its normals and areas. */
#ifndef SHAPE_SURFACE_H
#define SHAPE_SURFACE_H

#include "base/error.h"
#include "math/vec3.h"
#include "thenar/mesh.h"

/* One side of a triangle, known by the edge it lies on (low < high). */
typedef struct half_edge {
    int low, high;
    int triangle;
    int corner; /* the side runs from this corner of the triangle to the next */
} half_edge;

/* All 3 * triangle_count sides, sorted by edge, then by triangle: the sides on one edge stand together.
 * free() it. */
thenar_status surface_half_edges(const thenar_surface *surface, half_edge **out, thenar_error *error);

/* The end of the run of sides that lie on the same edge as side[first]. */
size_t half_edge_run(const half_edge *side, size_t first, size_t count);

/* neighbour[3 * t + k]: the triangle across the side of t from corner k to the next, or -1 where the surface
 * is open or more than two triangles meet. free() it. */
thenar_status surface_neighbours(const thenar_surface *surface, int **out, thenar_error *error);

/* For each vertex the lowest one at the same place. NULL when memory runs out. free() it. */
int *surface_first_at_place(const thenar_surface *surface);

/* The surface with every triangle on the first vertex of each place and without triangles that have lost a
 * corner by that. The vertices stay as they are, so that their numbers still mean the same. */
thenar_status surface_weld(const thenar_surface *surface, thenar_surface *out, thenar_error *error);

/* THENAR_OK if every edge has two triangles that run along it in opposite directions, and the volume is
 * positive. Does not weld: thenar_surface_check does. */
thenar_status surface_check_closed(const thenar_surface *surface, thenar_error *error);

/* Unit normals at the vertices, each the sum of the triangles' normals weighted by their corner angles there.
 */
void surface_vertex_normals(const thenar_surface *surface, vec3 *normal);
/* A third of the area of the triangles around each vertex. */
void surface_vertex_areas(const thenar_surface *surface, double *area);
/* The normal of a triangle with its area as length. */
vec3 surface_area_vector(const thenar_surface *surface, int triangle);
/* Radians between the two sides that meet at a corner of a triangle. */
double surface_corner_angle(const thenar_surface *surface, int triangle, int corner);

#endif
