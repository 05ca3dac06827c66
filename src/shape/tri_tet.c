#include "shape/tri_tet.h"

#include "shape/mesh.h"

tri_tet tri_tet_make(const vec3 corner[4], double tolerance) {
    static const int ends[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
    tri_tet tet = {.tolerance = tolerance};
    for (int i = 0; i < 4; i++) {
        const int *face = tet_face_corners[i];
        tet.corner[i] = corner[i];
        tet.face_normal[i] = vec3_unit(
            vec3_cross(vec3_sub(corner[face[1]], corner[face[0]]), vec3_sub(corner[face[2]], corner[face[0]])));
    }
    for (int i = 0; i < 6; i++) tet.edge[i] = vec3_sub(corner[ends[i][1]], corner[ends[i][0]]);
    return tet;
}

/* Apart along a unit axis? */
static bool apart_along(const tri_tet *tet, const vec3 triangle[3], vec3 axis) {
    double low = INFINITY, high = -INFINITY, triangle_low = INFINITY, triangle_high = -INFINITY;
    for (int i = 0; i < 4; i++) {
        double at = vec3_dot(tet->corner[i], axis);
        low = fmin(low, at);
        high = fmax(high, at);
    }
    for (int i = 0; i < 3; i++) {
        double at = vec3_dot(triangle[i], axis);
        triangle_low = fmin(triangle_low, at);
        triangle_high = fmax(triangle_high, at);
    }
    return triangle_low > high - tet->tolerance || triangle_high < low + tet->tolerance;
}

bool tri_tet_overlaps(const tri_tet *tet, const vec3 triangle[3]) {
    for (int i = 0; i < 4; i++)
        if (apart_along(tet, triangle, tet->face_normal[i])) return false;
    vec3 side[3];
    for (int i = 0; i < 3; i++) side[i] = vec3_sub(triangle[(i + 1) % 3], triangle[i]);
    vec3 normal = vec3_cross(side[0], side[1]);
    if (vec3_dot(normal, normal) > 0 && apart_along(tet, triangle, vec3_unit(normal))) return false;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 6; j++) {
            vec3 axis = vec3_cross(side[i], tet->edge[j]);
            double squared = vec3_dot(axis, axis),
                   scale = vec3_dot(side[i], side[i]) * vec3_dot(tet->edge[j], tet->edge[j]);
            /* Edges this close to parallel give an axis of rounding errors; the face normals decide there. */
            if (squared <= 1e-20 * scale) continue;
            if (apart_along(tet, triangle, vec3_scale(axis, 1 / sqrt(squared)))) return false;
        }
    return true;
}
