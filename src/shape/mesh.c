#include "shape/mesh.h"

#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>

thenar_status tet_mesh_create(int node_count, int tet_count, bool tags, thenar_tet_mesh *out,
                              thenar_error *error) {
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
