/* Signed distance to a solid: negative inside, positive outside, in metres.
 *
 * A signed_distance is an evaluate function with its context, and a box that contains the solid. Primitives are exact
 * everywhere, inside as well. */
#ifndef GEOMETRY_DISTANCE_H
#define GEOMETRY_DISTANCE_H

#include "core/vec3.h"
#include "geometry/bvh.h"

#include "thenar/mesh.h"

#include <stdbool.h>

typedef struct signed_distance {
    /* normal, if not NULL, receives the unit vector in which the distance grows: out of the solid. Where it is not
     * unique (the centre of a sphere), one of them. The closest point of the surface is point - distance * normal. */
    double (*evaluate)(const void *context, vec3 point, vec3 *normal);
    const void *context; /* must outlive the signed_distance */
    box bounds;
} signed_distance;

static inline double signed_distance_at(const signed_distance *solid, vec3 point, vec3 *normal) {
    return solid->evaluate(solid->context, point, normal);
}

/* Union and intersection of two solids, rounded by a fillet: within |a - b| < k the surface bends by about k (Quilez,
 * polynomial smooth minimum). */
static inline double smooth_min(double a, double b, double k) {
    double h = fmax(k - fabs(a - b), 0) / k;
    return fmin(a, b) - h * h * k / 4;
}
static inline double smooth_max(double a, double b, double k) {
    return -smooth_min(-a, -b, k);
}

typedef struct sphere_shape {
    vec3 centre;
    double radius;
} sphere_shape;

/* All points within radius of the segment from a to b. */
typedef struct capsule_shape {
    vec3 a, b;
    double radius;
} capsule_shape;

/* A box along the axes, grown by radius all around (0: sharp edges). */
typedef struct box_shape {
    vec3 centre, half; /* half sizes, without the radius */
    double radius;
} box_shape;

/* A cylinder along y with flat ends, grown by radius all around (0: sharp edges). */
typedef struct cylinder_shape {
    vec3 centre;
    double core_radius, half_length; /* without the radius */
    double radius;
} cylinder_shape;

/* The half space below the plane normal . x = offset; normal is a unit vector. */
typedef struct plane_shape {
    vec3 normal;
    double offset;
} plane_shape;

double sphere_distance(const sphere_shape *sphere, vec3 point, vec3 *normal);
double capsule_distance(const capsule_shape *capsule, vec3 point, vec3 *normal);
double box_distance(const box_shape *shape, vec3 point, vec3 *normal);

signed_distance signed_distance_of_sphere(const sphere_shape *sphere);
signed_distance signed_distance_of_capsule(const capsule_shape *capsule);
signed_distance signed_distance_of_box(const box_shape *shape);
signed_distance signed_distance_of_cylinder(const cylinder_shape *cylinder);
signed_distance signed_distance_of_plane(const plane_shape *plane); /* its bounds are infinite */

/* Exact signed distance to a closed triangle surface.
 *
 * The distance is that to the nearest triangle, found in a tree of boxes. The sign comes from the angle-weighted
 * pseudonormal of the feature (face, edge, vertex) that contains the closest point: (p - closest) . n < 0 inside,
 * which is correct everywhere for a closed, oriented surface without self-intersections (Baerentzen and Aanaes 2005,
 * Signed distance computation using the angle weighted pseudonormal, theorem 1). */

/* Position of a point in a triangle: in its face, on the edge from corner k to the next, at corner k. */
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

/* Welds vertices at the same position; an open or inverted surface is an input error. Keeps a copy of its own. */
thenar_status surface_distance_create(const thenar_surface *surface, surface_distance *out, thenar_error *error);
void surface_distance_free(surface_distance *solid);

typedef struct closest_point {
    double distance; /* signed */
    vec3 point;      /* on the surface */
    vec3 normal;     /* unit, outward; that of the feature if the query lies on the surface */
    vec3
        pseudonormal; /* of the feature: a substitute for the normal where rounding dominates the direction to the point */
    int triangle;     /* of the surface */
    double weights[3]; /* barycentric, of the point in that triangle */
} closest_point;

closest_point surface_distance_query(const surface_distance *solid, vec3 point);

/* As surface_distance_query, but returns false quickly if the surface is not closer than limit on either side. */
bool surface_distance_within(const surface_distance *solid, vec3 point, double limit, closest_point *out);

signed_distance signed_distance_of_surface(const surface_distance *solid);

/* True if a triangle of the surface reaches deeper than `tolerance` (metres) into the tet. */
bool surface_distance_cuts_tet(const surface_distance *solid, const vec3 corner[4], double tolerance);

/* Triangle-tet overlap by separating axes: two convex bodies are disjoint exactly if they are separated along a face
 * normal of either or along the cross product of an edge of each (Gottschalk, Lin and Manocha 1996). */

typedef struct tri_tet {
    vec3 corner[4];
    vec3 edge[6];
    vec3 face_normal[4]; /* unit */
    double tolerance;    /* m: smaller overlaps do not count */
} tri_tet;

#endif
