/* Making and reading meshes: arrays of the public structs, corners, volumes. */
#ifndef SHAPE_MESH_H
#define SHAPE_MESH_H

#include "base/error.h"
#include "math/vec3.h"
#include "thenar/mesh.h"

#include <stdbool.h>

/* Zeroed arrays of these sizes, or an error and an empty struct. tags: whether the mesh has region tags. */
thenar_status tet_mesh_create(int node_count, int tet_count, bool tags, thenar_tet_mesh *out, thenar_error *error);

thenar_status surface_create(int vertex_count, int triangle_count, thenar_surface *out, thenar_error *error);

thenar_status embedding_create(int vertex_count, thenar_embedding *out, thenar_error *error);

/* Copies of all arrays. */
thenar_status tet_mesh_copy(const thenar_tet_mesh *mesh, thenar_tet_mesh *out, thenar_error *error);
thenar_status surface_copy(const thenar_surface *surface, thenar_surface *out, thenar_error *error);
thenar_status embedding_copy(const thenar_embedding *embedding, thenar_embedding *out, thenar_error *error);

static inline vec3 tet_mesh_node(const thenar_tet_mesh *mesh, int node) {
    return vec3_load(mesh->positions + 3 * (size_t)node);
}
static inline const int *tet_mesh_tet(const thenar_tet_mesh *mesh, int tet) {
    return mesh->tets + 4 * (size_t)tet;
}
static inline void tet_mesh_corners(const thenar_tet_mesh *mesh, int tet, vec3 corner[4]) {
    for (int i = 0; i < 4; i++) corner[i] = tet_mesh_node(mesh, tet_mesh_tet(mesh, tet)[i]);
}
static inline vec3 surface_vertex(const thenar_surface *surface, int vertex) {
    return vec3_load(surface->positions + 3 * (size_t)vertex);
}
static inline const int *surface_triangle(const thenar_surface *surface, int triangle) {
    return surface->triangles + 3 * (size_t)triangle;
}
static inline void surface_corners(const thenar_surface *surface, int triangle, vec3 corner[3]) {
    for (int i = 0; i < 3; i++) corner[i] = surface_vertex(surface, surface_triangle(surface, triangle)[i]);
}

/* Signed: positive for a tet that is oriented as thenar_tet_mesh says. */
static inline double tet_volume(const vec3 corner[4]) {
    vec3 a = vec3_sub(corner[1], corner[0]), b = vec3_sub(corner[2], corner[0]), c = vec3_sub(corner[3], corner[0]);
    return vec3_dot(vec3_cross(a, b), c) / 6;
}

/* The corners opposite to corner 0, 1, 2, 3, counter-clockwise seen from outside a positive tet. */
extern const int tet_face_corners[4][3];

#endif
