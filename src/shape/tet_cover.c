/* A vertex at the barycentric weight -w beyond a face lies w h outside, h the height of the tet over that face. The
 * least motion of the face's three nodes that takes the face there moves each by its own share b of the vertex: along
 * the normal by w h b / (b . b). In each round a node makes the largest of the moves asked of it. */
#include "shape/tet_cover.h"

#include "base/memory.h"
#include "shape/embedding.h"
#include "shape/mesh.h"

#include <stdlib.h>

#define OUTSIDE (-1e-12)
#define SHARE 0.5    /* of a move that is made in a round: the neighbours' moves help */
#define LEAST 0.0003 /* of the height of a tet: what is moved at least */

static void ask_for_moves(const thenar_tet_mesh *mesh, int tet, const double weights[4], vec3 *move) {
    int lowest = 0;
    for (int i = 1; i < 4; i++)
        if (weights[i] < weights[lowest]) lowest = i;
    const int *node = tet_mesh_tet(mesh, tet), *face = tet_face_corners[lowest];
    vec3 corner[4];
    tet_mesh_corners(mesh, tet, corner);
    vec3 normal =
        vec3_unit(vec3_cross(vec3_sub(corner[face[1]], corner[face[0]]), vec3_sub(corner[face[2]], corner[face[0]])));
    double height = fabs(vec3_dot(vec3_sub(corner[lowest], corner[face[0]]), normal));
    double share[3], squares = 0, sum = 0;
    for (int i = 0; i < 3; i++) sum += share[i] = fmin(fmax(weights[face[i]], 0), 1);
    for (int i = 0; i < 3; i++) squares += (share[i] / sum) * (share[i] / sum);
    for (int i = 0; i < 3; i++) {
        vec3 wanted = vec3_scale(normal, (LEAST - SHARE * weights[lowest]) * height * (share[i] / sum) / squares);
        vec3 *largest = move + node[face[i]];
        if (vec3_dot(wanted, wanted) > vec3_dot(*largest, *largest)) *largest = wanted;
    }
}

typedef struct group_search {
    const thenar_tet_mesh *mesh;
    vec3 point;
    int group;
    int tet;
    double depth;
    double weights[4];
} group_search;

static bool try_tet(void *context, int tet) {
    group_search *s = context;
    int group = s->mesh->tags[tet];
    if (group != 0 && s->group != 0 && group != s->group) return true;
    vec3 corner[4];
    double w[4];
    tet_mesh_corners(s->mesh, tet, corner);
    double depth = tet_weights(corner, s->point, w);
    if (depth < s->depth || (depth == s->depth && tet > s->tet)) return true;
    s->tet = tet;
    s->depth = depth;
    for (int i = 0; i < 4; i++) s->weights[i] = w[i];
    return true;
}

/* As tet_finder_find: looks further and further. */
static void search_group(const tet_finder *finder, group_search *s) {
    box here = {s->point, s->point}, all = finder->tree.node[0].bounds;
    double size = vec3_distance(all.low, all.high), limit = size + sqrt(box_distance_squared(&all, s->point));
    for (double reach = 1e-9 * size; reach < 2 * limit; reach = fmax(2 * reach, 0.01 * size)) {
        s->tet = -1;
        s->depth = -INFINITY;
        bvh_overlap(&finder->tree, box_grow(here, reach), try_tet, s);
        if (s->depth >= OUTSIDE || (s->tet >= 0 && reach > 1e-3 * size)) return;
    }
}

thenar_status tet_group_embedding(const thenar_tet_mesh *mesh, const thenar_surface *skin, const int *vertex_group,
                                  thenar_embedding *embedding, int *outside, thenar_error *error) {
    tet_finder finder;
    *embedding = (thenar_embedding){0};
    *outside = 0;
    thenar_status status = tet_finder_create(mesh, &finder, error);
    if (status == THENAR_OK) status = embedding_create(skin->vertex_count, embedding, error);
    for (int v = 0; v < embedding->vertex_count; v++) {
        group_search s = {.mesh = mesh, .point = surface_vertex(skin, v), .group = vertex_group[v], .tet = -1};
        search_group(&finder, &s);
        embedding->tet[v] = s.tet < 0 ? 0 : s.tet;
        for (int i = 0; i < 4; i++) embedding->weights[4 * (size_t)v + (size_t)i] = s.weights[i];
        *outside += s.depth < OUTSIDE;
    }
    tet_finder_free(&finder);
    return status;
}

thenar_status tet_cover(thenar_tet_mesh *mesh, const thenar_surface *skin, const int *vertex_group, int rounds,
                        int *outside, thenar_error *error) {
    vec3 *move = MEMORY_ARRAY(vec3, mesh->node_count);
    thenar_status status = move ? THENAR_OK : error_memory(error, "covering a skin");
    for (int round = 0; round <= rounds && status == THENAR_OK; round++) {
        thenar_embedding embedding;
        status = tet_group_embedding(mesh, skin, vertex_group, &embedding, outside, error);
        if (status == THENAR_OK && *outside > 0 && round < rounds) {
            for (int n = 0; n < mesh->node_count; n++) move[n] = vec3_make(0, 0, 0);
            for (int v = 0; v < skin->vertex_count; v++) {
                const double *w = embedding.weights + 4 * (size_t)v;
                if (fmin(fmin(w[0], w[1]), fmin(w[2], w[3])) < 0) ask_for_moves(mesh, embedding.tet[v], w, move);
            }
            for (int n = 0; n < mesh->node_count; n++)
                vec3_store(mesh->positions + 3 * (size_t)n, vec3_add(tet_mesh_node(mesh, n), move[n]));
        }
        thenar_embedding_free(&embedding);
        if (status == THENAR_OK && *outside == 0) break;
    }
    free(move);
    return status;
}
