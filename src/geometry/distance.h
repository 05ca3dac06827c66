/* Where points are: boxes and a tree of them, signed distances to solids, and the tet that contains a point. */
#ifndef GEOMETRY_DISTANCE_H
#define GEOMETRY_DISTANCE_H

#include "core/error.h"
#include "core/vec3.h"

#include "thenar/mesh.h"

#include <stdbool.h>
#include <stddef.h>

/* A bounding volume hierarchy of boxes, for finding the items near a point or box. */

typedef struct box {
    vec3 low, high;
} box;

static inline box box_of(const vec3 *point, int count) {
    box b = {point[0], point[0]};
    for (int i = 1; i < count; i++) {
        b.low = vec3_min(b.low, point[i]);
        b.high = vec3_max(b.high, point[i]);
    }
    return b;
}
static inline box box_join(box a, box b) {
    return (box){vec3_min(a.low, b.low), vec3_max(a.high, b.high)};
}
static inline box box_grow(box a, double by) {
    vec3 margin = {by, by, by};
    return (box){vec3_sub(a.low, margin), vec3_add(a.high, margin)};
}
static inline bool box_overlaps(const box *a, const box *b) {
    return a->low.x <= b->high.x && b->low.x <= a->high.x && a->low.y <= b->high.y && b->low.y <= a->high.y &&
           a->low.z <= b->high.z && b->low.z <= a->high.z;
}
/* 0 for a point inside. */
static inline double box_distance_squared(const box *a, vec3 p) {
    double x = fmax(fmax(a->low.x - p.x, p.x - a->high.x), 0), y = fmax(fmax(a->low.y - p.y, p.y - a->high.y), 0),
           z = fmax(fmax(a->low.z - p.z, p.z - a->high.z), 0);
    return x * x + y * y + z * z;
}

typedef struct bvh_node {
    box bounds;
    int first, count; /* a leaf: item[first] up to item[first + count - 1]; count 0: an inner node */
    int right;        /* an inner node: its second child; the first one follows the node itself */
} bvh_node;

typedef struct bvh {
    int node_count;
    bvh_node *node; /* node[0] is the root; none in a tree without items */
    int *item;      /* the items in the order of the leaves */
} bvh;

#define BVH_STACK 64 /* nodes to be visited: the tree halves its items at each level, so it is at most 32 deep */

thenar_status bvh_create(const box *boxes, int count, bvh *out, thenar_error *error);
void bvh_free(bvh *tree);

/* The points (3 coordinates each) in the order of the leaves of a tree: neighbours in space follow each other. free() it. */
thenar_status bvh_order_points(int count, const double *positions, int **order, thenar_error *error);

/* Calls visit for each item whose leaf overlaps the query (the item's own box may not) until it returns
 * false. */
typedef bool (*bvh_visit)(void *context, int item);
void bvh_overlap(const bvh *tree, box query, bvh_visit visit, void *context);

/* Signed distance to a solid: negative inside, positive outside, in metres.
 *
 * A signed_distance is an evaluate function with its context, and a box that contains the solid. Primitives are exact
 * everywhere, inside as well. */

typedef struct signed_distance {
    /* normal, if not NULL, receives the unit vector in which the distance grows: out of the solid. Where it is not
     * unique (the centre of a sphere), one of them. The closest point of the surface is point - distance * normal. */
    double (*evaluate)(const void *context, vec3 point, vec3 *normal);
    /* The distances of many points, the same to the last bit, where the solid has a faster way; NULL: one by one. */
    void (*evaluate_many)(const void *context, int count, const vec3 *point, double *distance);
    const void *context; /* must outlive the signed_distance */
    box bounds;
} signed_distance;

static inline double signed_distance_at(const signed_distance *solid, vec3 point, vec3 *normal) {
    return solid->evaluate(solid->context, point, normal);
}
static inline void signed_distances_at(const signed_distance *solid, int count, const vec3 *point, double *distance) {
    if (solid->evaluate_many)
        solid->evaluate_many(solid->context, count, point, distance);
    else
        for (int i = 0; i < count; i++) distance[i] = signed_distance_at(solid, point[i], NULL);
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
    double distance;   /* signed */
    vec3 point;        /* on the surface */
    vec3 normal;       /* unit, outward; that of the feature if the query lies on the surface */
    vec3 pseudonormal; /* of the feature: replaces the normal where rounding dominates the direction to the point */
    int triangle;      /* of the surface */
    double weights[3]; /* barycentric, of the point in that triangle */
} closest_point;

closest_point surface_distance_query(const surface_distance *solid, vec3 point);

/* As surface_distance_query, but returns false quickly if the surface is not closer than limit on either side. */
bool surface_distance_within(const surface_distance *solid, vec3 point, double limit, closest_point *out);

signed_distance signed_distance_of_surface(const surface_distance *solid);

/* True if a triangle of the surface reaches deeper than `tolerance` (metres) into the tet. */
bool surface_distance_cuts_tet(const surface_distance *solid, const vec3 corner[4], double tolerance);

/* Points in tets: barycentric weights, and which tet of a mesh contains a point.
 *
 * The weights w of p in the tet (a, b, c, d): [b-a c-a d-a] (w1 w2 w3)^T = p - a and w0 = 1 - w1 - w2 - w3. All are
 * positive inside; weight i is the distance from the face opposite to corner i over that of the corner itself. */

/* Returns the smallest weight: how deep p lies inside. A tet without volume gives minus infinity. */
double tet_weights(const vec3 corner[4], vec3 p, double weights[4]);

/* A tet prepared for many points; the weights are the same to the last bit. */
typedef struct tet_frame {
    vec3 origin;  /* corner 0 */
    mat3 inverse; /* of [b-a c-a d-a] */
    bool flat;    /* no volume */
} tet_frame;

static inline tet_frame tet_frame_of(const vec3 corner[4]) {
    mat3 edges =
        mat3_columns(vec3_sub(corner[1], corner[0]), vec3_sub(corner[2], corner[0]), vec3_sub(corner[3], corner[0]));
    bool flat = !(fabs(mat3_determinant(edges)) > 0);
    return (tet_frame){corner[0], flat ? edges : mat3_inverse(edges), flat};
}
/* As tet_weights. */
static inline double tet_frame_weights(const tet_frame *frame, vec3 p, double weights[4]) {
    if (frame->flat) return -INFINITY;
    vec3 w = mat3_mul_vec(frame->inverse, vec3_sub(p, frame->origin));
    weights[0] = 1 - w.x - w.y - w.z;
    weights[1] = w.x;
    weights[2] = w.y;
    weights[3] = w.z;
    return fmin(fmin(weights[0], weights[1]), fmin(weights[2], weights[3]));
}

/* A tree over the tets of a mesh, which must outlive it. */
typedef struct tet_finder {
    const thenar_tet_mesh *mesh;
    tet_frame *frame; /* of each tet */
    bvh tree;
} tet_finder;

thenar_status tet_finder_create(const thenar_tet_mesh *mesh, tet_finder *out, thenar_error *error);
void tet_finder_free(tet_finder *finder);

/* The tet in which p lies deepest, with its weights; for p outside all tets a nearby one with the largest smallest
 * weight. The mesh must have a tet with volume. */
int tet_finder_find(const tet_finder *finder, vec3 p, double weights[4]);

#endif
