/* Signed distance to a solid: negative inside, positive outside, in metres.
 *
 * Whatever can be asked for its distance is a signed_distance: an evaluate function with its context, and a
 * box that holds the solid. Primitives are exact everywhere, inside as well. */
#ifndef SHAPE_DISTANCE_H
#define SHAPE_DISTANCE_H

#include "math/vec3.h"
#include "shape/bvh.h"

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
double cylinder_distance(const cylinder_shape *cylinder, vec3 point, vec3 *normal);
double plane_distance(const plane_shape *plane, vec3 point, vec3 *normal);

signed_distance signed_distance_of_sphere(const sphere_shape *sphere);
signed_distance signed_distance_of_capsule(const capsule_shape *capsule);
signed_distance signed_distance_of_box(const box_shape *shape);
signed_distance signed_distance_of_cylinder(const cylinder_shape *cylinder);
signed_distance signed_distance_of_plane(const plane_shape *plane); /* its bounds are infinite */

#endif
