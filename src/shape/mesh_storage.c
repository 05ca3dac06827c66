#include "shape/mesh_storage.h"

#include "base/memory.h"

const int tet_face_corners[4][3] = {{1, 2, 3}, {0, 3, 2}, {0, 1, 3}, {0, 2, 1}};

thenar_status tet_mesh_reserve(int node_count, int tet_count, thenar_tet_mesh *out, thenar_error *error) {
    *out = (thenar_tet_mesh){.node_count = node_count, .tet_count = tet_count};
    out->positions = MEMORY_ARRAY(double, 3 * (size_t)node_count);
    out->tets = MEMORY_ARRAY(int, 4 * (size_t)tet_count);
    if (out->positions && out->tets) return THENAR_OK;
    thenar_tet_mesh_free(out);
    return error_memory(error, "tet mesh");
}

thenar_status surface_reserve(int vertex_count, int triangle_count, thenar_surface *out,
                              thenar_error *error) {
    *out = (thenar_surface){.vertex_count = vertex_count, .triangle_count = triangle_count};
    out->positions = MEMORY_ARRAY(double, 3 * (size_t)vertex_count);
    out->triangles = MEMORY_ARRAY(int, 3 * (size_t)triangle_count);
    if (out->positions && out->triangles) return THENAR_OK;
    thenar_surface_free(out);
    return error_memory(error, "surface");
}

thenar_status embedding_reserve(int vertex_count, thenar_embedding *out, thenar_error *error) {
    *out = (thenar_embedding){.vertex_count = vertex_count};
    out->tet = MEMORY_ARRAY(int, vertex_count);
    out->weights = MEMORY_ARRAY(double, 4 * (size_t)vertex_count);
    if (out->tet && out->weights) return THENAR_OK;
    thenar_embedding_free(out);
    return error_memory(error, "embedding");
}

static thenar_status check_positions(const double *positions, int count, const char *what,
                                     thenar_error *error) {
    for (int i = 0; i < count; i++)
        if (!vec3_is_finite(vec3_load(positions + 3 * (size_t)i)))
            return error_set(error, THENAR_ERROR_INPUT,
                             "%s %d is not at a finite position; expected three finite numbers", what, i);
    return THENAR_OK;
}

static thenar_status check_indices(const int *indices, int count, int corners, int bound, const char *what,
                                   thenar_error *error) {
    for (size_t i = 0; i < (size_t)count * (size_t)corners; i++)
        if (indices[i] < 0 || indices[i] >= bound)
            return error_set(error, THENAR_ERROR_INPUT, "%s %d has the index %d; expected 0..%d", what,
                             (int)(i / (size_t)corners), indices[i], bound - 1);
    return THENAR_OK;
}

thenar_status tet_mesh_validate(const thenar_tet_mesh *mesh, thenar_error *error) {
    thenar_status status = check_positions(mesh->positions, mesh->node_count, "node", error);
    if (status == THENAR_OK)
        status = check_indices(mesh->tets, mesh->tet_count, 4, mesh->node_count, "tet", error);
    return status;
}

thenar_status surface_validate(const thenar_surface *surface, thenar_error *error) {
    thenar_status status = check_positions(surface->positions, surface->vertex_count, "vertex", error);
    if (status == THENAR_OK)
        status = check_indices(surface->triangles, surface->triangle_count, 3, surface->vertex_count,
                               "triangle", error);
    return status;
}
