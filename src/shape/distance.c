#include "shape/distance.h"

/* Distance to a point with a radius around it; `fallback` is the normal at the point itself. */
static double ball_distance(vec3 centre, double radius, vec3 point, vec3 fallback, vec3 *normal) {
    vec3 offset = vec3_sub(point, centre);
    double length = vec3_length(offset);
    if (normal) *normal = length > 0 ? vec3_scale(offset, 1 / length) : fallback;
    return length - radius;
}

double sphere_distance(const sphere_shape *sphere, vec3 point, vec3 *normal) {
    return ball_distance(sphere->centre, sphere->radius, point, vec3_make(0, 1, 0), normal);
}

/* A unit vector at a right angle to v. */
static vec3 any_perpendicular(vec3 v) {
    vec3 other = fabs(v.x) <= fabs(v.y) && fabs(v.x) <= fabs(v.z) ? vec3_make(1, 0, 0)
                 : fabs(v.y) <= fabs(v.z)                         ? vec3_make(0, 1, 0)
                                                                  : vec3_make(0, 0, 1);
    vec3 cross = vec3_cross(v, other);
    return vec3_dot(cross, cross) > 0 ? vec3_unit(cross) : other;
}

double capsule_distance(const capsule_shape *capsule, vec3 point, vec3 *normal) {
    vec3 axis = vec3_sub(capsule->b, capsule->a);
    double squared = vec3_dot(axis, axis);
    double along = squared > 0 ? vec3_dot(vec3_sub(point, capsule->a), axis) / squared : 0;
    vec3 centre = vec3_mul_add(capsule->a, axis, fmin(fmax(along, 0), 1));
    return ball_distance(centre, capsule->radius, point, any_perpendicular(axis), normal);
}

double box_distance(const box_shape *shape, vec3 point, vec3 *normal) {
    vec3 p = vec3_sub(point, shape->centre);
    vec3 beyond = {fabs(p.x) - shape->half.x, fabs(p.y) - shape->half.y, fabs(p.z) - shape->half.z};
    vec3 sign = {copysign(1, p.x), copysign(1, p.y), copysign(1, p.z)};
    vec3 out = vec3_max(beyond, vec3_make(0, 0, 0));
    double outside = vec3_length(out);
    if (outside > 0) {
        if (normal) *normal = vec3_scale(vec3_make(out.x * sign.x, out.y * sign.y, out.z * sign.z), 1 / outside);
        return outside - shape->radius;
    }
    bool x = beyond.x >= beyond.y && beyond.x >= beyond.z, y = !x && beyond.y >= beyond.z;
    if (normal) *normal = vec3_make(x ? sign.x : 0, y ? sign.y : 0, x || y ? 0 : sign.z);
    return fmax(beyond.x, fmax(beyond.y, beyond.z)) - shape->radius;
}

double cylinder_distance(const cylinder_shape *cylinder, vec3 point, vec3 *normal) {
    vec3 p = vec3_sub(point, cylinder->centre);
    double across = sqrt(p.x * p.x + p.z * p.z), up = copysign(1, p.y);
    double aside = across - cylinder->core_radius, above = fabs(p.y) - cylinder->half_length;
    vec3 sideways = across > 0 ? vec3_make(p.x / across, 0, p.z / across) : vec3_make(1, 0, 0);
    double out_aside = fmax(aside, 0), out_above = fmax(above, 0);
    double outside = sqrt(out_aside * out_aside + out_above * out_above);
    if (outside > 0) {
        if (normal)
            *normal = vec3_add(vec3_scale(sideways, out_aside / outside), vec3_make(0, up * out_above / outside, 0));
        return outside - cylinder->radius;
    }
    if (normal) *normal = aside >= above ? sideways : vec3_make(0, up, 0);
    return fmax(aside, above) - cylinder->radius;
}

double plane_distance(const plane_shape *plane, vec3 point, vec3 *normal) {
    if (normal) *normal = plane->normal;
    return vec3_dot(plane->normal, point) - plane->offset;
}

static double evaluate_sphere(const void *context, vec3 point, vec3 *normal) {
    return sphere_distance(context, point, normal);
}
static double evaluate_capsule(const void *context, vec3 point, vec3 *normal) {
    return capsule_distance(context, point, normal);
}
static double evaluate_box(const void *context, vec3 point, vec3 *normal) {
    return box_distance(context, point, normal);
}
static double evaluate_cylinder(const void *context, vec3 point, vec3 *normal) {
    return cylinder_distance(context, point, normal);
}
static double evaluate_plane(const void *context, vec3 point, vec3 *normal) {
    return plane_distance(context, point, normal);
}

signed_distance signed_distance_of_sphere(const sphere_shape *sphere) {
    return (signed_distance){evaluate_sphere, sphere, box_grow(box_of(&sphere->centre, 1), sphere->radius)};
}

signed_distance signed_distance_of_capsule(const capsule_shape *capsule) {
    vec3 ends[2] = {capsule->a, capsule->b};
    return (signed_distance){evaluate_capsule, capsule, box_grow(box_of(ends, 2), capsule->radius)};
}

signed_distance signed_distance_of_box(const box_shape *shape) {
    box core = {vec3_sub(shape->centre, shape->half), vec3_add(shape->centre, shape->half)};
    return (signed_distance){evaluate_box, shape, box_grow(core, shape->radius)};
}

signed_distance signed_distance_of_cylinder(const cylinder_shape *cylinder) {
    vec3 half = {cylinder->core_radius, cylinder->half_length, cylinder->core_radius};
    box core = {vec3_sub(cylinder->centre, half), vec3_add(cylinder->centre, half)};
    return (signed_distance){evaluate_cylinder, cylinder, box_grow(core, cylinder->radius)};
}

signed_distance signed_distance_of_plane(const plane_shape *plane) {
    box everything = {{-INFINITY, -INFINITY, -INFINITY}, {INFINITY, INFINITY, INFINITY}};
    return (signed_distance){evaluate_plane, plane, everything};
}
