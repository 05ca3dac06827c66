/* Exact signed distance to a closed triangle surface.
 *
 * The distance is that to the nearest triangle, found in a tree of boxes. The sign comes from the
 * angle-weighted pseudonormal of the feature (face, edge, vertex) that the closest point lies on: (p -
 * closest) . n < 0 inside, which is right everywhere for a closed, oriented surface that does not cross
 * itself [Baerentzen and Aanaes 2005, Signed distance computation using the angle weighted pseudonormal,
 * theorem 1]. */
#ifndef SHAPE_SURFACE_DISTANCE_H
#define SHAPE_SURFACE_DISTANCE_H

#include "shape/distance.h"
#include "thenar/mesh.h"

/* Where in a triangle a point lies: in its face, on the edge from corner k to the next, at corner k. */
enum { FEATURE_FACE = 0, FEATURE_EDGE = 1, FEATURE_VERTEX = 4, FEATURES = 7 };

typedef struct triangle_corners {
    vec3 corner[3];
} triangle_corners;

/* The closest point of a triangle, its barycentric weights, and the feature it lies on. */
vec3 closest_in_triangle(const triangle_corners *t, vec3 p, double w[3], int *feature);

/* Unit pseudonormals, by feature. */
typedef struct triangle_normals {
    vec3 of[FEATURES];
} triangle_normals;

typedef struct surface_distance {
    int triangle_count;
    triangle_corners *triangle; /* in the order of the tree's leaves, as are the two below */
    triangle_normals *normals;
    int *original; /* the number of each triangle in the surface that this was made from */
    bvh tree;
    box bounds;
} surface_distance;

/* Welds vertices at the same place; an open or inside-out surface is an input error. Keeps its own copy. */
thenar_status surface_distance_create(const thenar_surface *surface, surface_distance *out, thenar_error *error);
void surface_distance_free(surface_distance *solid);

typedef struct closest_point {
    double distance;   /* signed */
    vec3 point;        /* on the surface */
    vec3 normal;       /* unit, outward; that of the feature when the query lies on the surface */
    vec3 pseudonormal; /* of the feature: what to take for a normal where rounding rules the direction to the point */
    int triangle;      /* of the surface */
    double weights[3]; /* barycentric, of the point in that triangle */
} closest_point;

closest_point surface_distance_query(const surface_distance *solid, vec3 point);

/* As surface_distance_query, but gives up quickly (false) when the surface is not nearer than limit on either
 * side. */
bool surface_distance_within(const surface_distance *solid, vec3 point, double limit, closest_point *out);

signed_distance signed_distance_of_surface(const surface_distance *solid);

/* Does a triangle of the surface reach deeper than `tolerance` (metres) into the tet? */
bool surface_distance_cuts_tet(const surface_distance *solid, const vec3 corner[4], double tolerance);

#endif
