#include "shape/mesh.h"

#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

const int tet_face_corners[4][3] = {{1, 2, 3}, {0, 3, 2}, {0, 1, 3}, {0, 2, 1}};

thenar_status tet_mesh_create(int node_count, int tet_count, bool tags, thenar_tet_mesh *out, thenar_error *error) {
    assert(node_count >= 0 && tet_count >= 0);
    *out = (thenar_tet_mesh){.node_count = node_count, .tet_count = tet_count};
    out->positions = MEMORY_ARRAY(double, 3 * (size_t)node_count);
    out->tets = MEMORY_ARRAY(int, 4 * (size_t)tet_count);
    if (tags) out->tags = MEMORY_ARRAY(int, tet_count);
    if (out->positions && out->tets && (out->tags || !tags)) return THENAR_OK;
    thenar_tet_mesh_free(out);
    return error_memory(error, "a tet mesh");
}

thenar_status surface_create(int vertex_count, int triangle_count, thenar_surface *out, thenar_error *error) {
    assert(vertex_count >= 0 && triangle_count >= 0);
    *out = (thenar_surface){.vertex_count = vertex_count, .triangle_count = triangle_count};
    out->positions = MEMORY_ARRAY(double, 3 * (size_t)vertex_count);
    out->triangles = MEMORY_ARRAY(int, 3 * (size_t)triangle_count);
    if (out->positions && out->triangles) return THENAR_OK;
    thenar_surface_free(out);
    return error_memory(error, "a surface");
}

thenar_status embedding_create(int vertex_count, thenar_embedding *out, thenar_error *error) {
    assert(vertex_count >= 0);
    *out = (thenar_embedding){.vertex_count = vertex_count};
    out->tet = MEMORY_ARRAY(int, vertex_count);
    out->weights = MEMORY_ARRAY(double, 4 * (size_t)vertex_count);
    if (out->tet && out->weights) return THENAR_OK;
    thenar_embedding_free(out);
    return error_memory(error, "an embedding");
}

void thenar_tet_mesh_free(thenar_tet_mesh *mesh) {
    if (!mesh) return;
    free(mesh->positions);
    free(mesh->tets);
    free(mesh->tags);
    *mesh = (thenar_tet_mesh){0};
}

void thenar_surface_free(thenar_surface *surface) {
    if (!surface) return;
    free(surface->positions);
    free(surface->triangles);
    *surface = (thenar_surface){0};
}

void thenar_embedding_free(thenar_embedding *embedding) {
    if (!embedding) return;
    free(embedding->tet);
    free(embedding->weights);
    *embedding = (thenar_embedding){0};
}

/* An empty mesh may have no arrays. */
static void copy_array(void *to, const void *from, size_t size) {
    if (size > 0) memcpy(to, from, size);
}

thenar_status tet_mesh_copy(const thenar_tet_mesh *mesh, thenar_tet_mesh *out, thenar_error *error) {
    thenar_status status = tet_mesh_create(mesh->node_count, mesh->tet_count, mesh->tags != NULL, out, error);
    if (status != THENAR_OK) return status;
    copy_array(out->positions, mesh->positions, 3 * (size_t)mesh->node_count * sizeof *mesh->positions);
    copy_array(out->tets, mesh->tets, 4 * (size_t)mesh->tet_count * sizeof *mesh->tets);
    if (mesh->tags) copy_array(out->tags, mesh->tags, (size_t)mesh->tet_count * sizeof *mesh->tags);
    return THENAR_OK;
}

thenar_status surface_copy(const thenar_surface *surface, thenar_surface *out, thenar_error *error) {
    thenar_status status = surface_create(surface->vertex_count, surface->triangle_count, out, error);
    if (status != THENAR_OK) return status;
    copy_array(out->positions, surface->positions, 3 * (size_t)surface->vertex_count * sizeof *surface->positions);
    copy_array(out->triangles, surface->triangles, 3 * (size_t)surface->triangle_count * sizeof *surface->triangles);
    return THENAR_OK;
}

thenar_status embedding_copy(const thenar_embedding *embedding, thenar_embedding *out, thenar_error *error) {
    thenar_status status = embedding_create(embedding->vertex_count, out, error);
    if (status != THENAR_OK) return status;
    copy_array(out->tet, embedding->tet, (size_t)embedding->vertex_count * sizeof *embedding->tet);
    copy_array(out->weights, embedding->weights, 4 * (size_t)embedding->vertex_count * sizeof *embedding->weights);
    return THENAR_OK;
}
