#include "shape/embedding.h"

#include "base/memory.h"
#include "shape/mesh.h"
#include "shape/mesh_check.h"

#include <stdlib.h>

/* A weight this little below zero is rounding: the point lies on a face. */
#define WEIGHT_TOLERANCE 1e-12

double tet_weights(const vec3 corner[4], vec3 p, double weights[4]) {
    mat3 edges =
        mat3_columns(vec3_sub(corner[1], corner[0]), vec3_sub(corner[2], corner[0]), vec3_sub(corner[3], corner[0]));
    if (!(fabs(mat3_determinant(edges)) > 0)) return -INFINITY;
    vec3 w = mat3_mul_vec(mat3_inverse(edges), vec3_sub(p, corner[0]));
    weights[0] = 1 - w.x - w.y - w.z;
    weights[1] = w.x;
    weights[2] = w.y;
    weights[3] = w.z;
    return fmin(fmin(weights[0], weights[1]), fmin(weights[2], weights[3]));
}

thenar_status tet_finder_create(const thenar_tet_mesh *mesh, tet_finder *out, thenar_error *error) {
    *out = (tet_finder){.mesh = mesh};
    box *boxes = MEMORY_ARRAY(box, mesh->tet_count);
    if (!boxes) return error_memory(error, "tree of tets");
    for (int t = 0; t < mesh->tet_count; t++) {
        vec3 corner[4];
        tet_mesh_corners(mesh, t, corner);
        boxes[t] = box_of(corner, 4);
    }
    thenar_status status = bvh_create(boxes, mesh->tet_count, &out->tree, error);
    free(boxes);
    return status;
}

void tet_finder_free(tet_finder *finder) {
    bvh_free(&finder->tree);
}

typedef struct deepest {
    const thenar_tet_mesh *mesh;
    vec3 point;
    int tet;
    double depth;
    double weights[4];
} deepest;

static bool try_tet(void *context, int tet) {
    deepest *best = context;
    vec3 corner[4];
    double w[4];
    tet_mesh_corners(best->mesh, tet, corner);
    double depth = tet_weights(corner, best->point, w);
    if (depth > best->depth || (depth == best->depth && tet < best->tet)) {
        best->tet = tet;
        best->depth = depth;
        for (int i = 0; i < 4; i++) best->weights[i] = w[i];
    }
    return true;
}

int tet_finder_find(const tet_finder *finder, vec3 p, double weights[4]) {
    deepest best = {.mesh = finder->mesh, .point = p, .tet = -1, .depth = -INFINITY};
    box here = {p, p}, all = finder->tree.node[0].bounds;
    double size = vec3_distance(all.low, all.high), reach = 1e-12 * size;
    bvh_overlap(&finder->tree, box_grow(here, reach), try_tet, &best);
    if (best.depth < -WEIGHT_TOLERANCE) {
        /* Outside: look further and further, up to where the whole mesh is in sight. */
        double limit = size + sqrt(box_distance_squared(&all, p));
        best.tet = -1;
        best.depth = -INFINITY;
        for (reach = 0.01 * size; best.tet < 0; reach *= 2) {
            bvh_overlap(&finder->tree, box_grow(here, reach), try_tet, &best);
            if (reach > limit) break;
        }
    }
    for (int i = 0; i < 4; i++) weights[i] = best.weights[i];
    return best.tet;
}

static bool has_volume(const thenar_tet_mesh *mesh) {
    for (int t = 0; t < mesh->tet_count; t++) {
        vec3 corner[4];
        tet_mesh_corners(mesh, t, corner);
        if (fabs(tet_volume(corner)) > 0) return true;
    }
    return false;
}

thenar_status thenar_embedding_create(const thenar_tet_mesh *mesh, const thenar_surface *surface,
                                      thenar_embedding *embedding, int *outside, thenar_error *error) {
    *embedding = (thenar_embedding){0};
    tet_finder finder = {0};
    thenar_status status = tet_mesh_validate(mesh, error);
    if (status == THENAR_OK) status = surface_validate(surface, error);
    if (status == THENAR_OK && !has_volume(mesh))
        status = error_set(error, THENAR_ERROR_INPUT, "the mesh has no tet with a volume; expected one to embed in");
    if (status == THENAR_OK) status = tet_finder_create(mesh, &finder, error);
    if (status == THENAR_OK) status = embedding_create(surface->vertex_count, embedding, error);
    int count = 0;
    for (int v = 0; v < embedding->vertex_count; v++) {
        double *w = embedding->weights + 4 * (size_t)v;
        embedding->tet[v] = tet_finder_find(&finder, surface_vertex(surface, v), w);
        count += fmin(fmin(w[0], w[1]), fmin(w[2], w[3])) < -WEIGHT_TOLERANCE;
    }
    if (outside) *outside = count;
    tet_finder_free(&finder);
    return status;
}
