/* Signed distance to a solid: negative inside, positive outside, in metres.
 *
 * Whatever can be asked for its distance is a signed_distance: an evaluate function with its context, and a
 * box that holds the solid. Primitives are exact everywhere, inside as well. */
#ifndef GEOMETRY_DISTANCE_H
#define GEOMETRY_DISTANCE_H

#include "core/vec3.h"
#include "geometry/bvh.h"

#include "thenar/mesh.h"

#include <stdbool.h>

typedef struct signed_distance {
    /* normal, if not NULL, gets the unit vector in which the distance grows: out of the solid. Where several
     * directions are as good (the middle of a sphere), one of them. The closest point of the solid's surface
     * is point - distance * normal. */
    double (*evaluate)(const void *context, vec3 point, vec3 *normal);
    const void *context; /* must live as long as the signed_distance is used */
    box bounds;
} signed_distance;

static inline double signed_distance_at(const signed_distance *solid, vec3 point, vec3 *normal) {
    return solid->evaluate(solid->context, point, normal);
}

/* The union of two solids, and what they share, rounded off by a fillet: within |a - b| < k the surface bends by
 * about k [Quilez, polynomial smooth minimum]. */
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
 * The distance is that to the nearest triangle, found in a tree of boxes. The sign comes from the
 * angle-weighted pseudonormal of the feature (face, edge, vertex) that the closest point lies on: (p -
 * closest) . n < 0 inside, which is right everywhere for a closed, oriented surface that does not cross
 * itself [Baerentzen and Aanaes 2005, Signed distance computation using the angle weighted pseudonormal,
 * theorem 1]. */

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

/* Does a triangle reach into a tet? By separating axes: two convex bodies are apart exactly if they are apart
 * along a face normal of either or along the cross product of an edge of each [Gottschalk, Lin and Manocha
 * 1996]. */

typedef struct tri_tet {
    vec3 corner[4];
    vec3 edge[6];
    vec3 face_normal[4]; /* unit */
    double tolerance;    /* bodies that overlap by no more than this, in metres, count as apart */
} tri_tet;

#endif
