#include "shape/hand_embed.h"

#include "shape/embedding.h"
#include "shape/mesh.h"

#define INSIDE (-1e-12)

typedef struct chooser {
    const hand_shape *hand;
    int vertex;
    vec3 point;
    int tet;
    double agreement;
    double weights[4];
} chooser;

static double shared(const hand_skinning *a, const hand_skinning *b) {
    double sum = 0;
    for (int i = 0; i < HAND_SKINNING_BONES; i++)
        for (int k = 0; k < HAND_SKINNING_BONES; k++)
            if (a->bone[i] == b->bone[k]) sum += fmin(a->weight[i], b->weight[k]);
    return sum;
}

/* The share of bones that a vertex has in common with the place in the tet. */
static bool try_tet(void *context, int tet) {
    chooser *c = context;
    vec3 corner[4];
    double w[4], agreement = 0;
    tet_mesh_corners(&c->hand->mesh, tet, corner);
    if (tet_weights(corner, c->point, w) < INSIDE) return true;
    for (int k = 0; k < 4; k++)
        agreement += w[k] * shared(&c->hand->vertex_skinning[c->vertex],
                                   &c->hand->node_skinning[tet_mesh_tet(&c->hand->mesh, tet)[k]]);
    if (agreement < c->agreement + 1e-9 && (agreement < c->agreement - 1e-9 || tet > c->tet)) return true;
    c->tet = tet;
    c->agreement = agreement;
    for (int k = 0; k < 4; k++) c->weights[k] = w[k];
    return true;
}

thenar_status hand_embed(hand_shape *hand, thenar_error *error) {
    tet_finder finder;
    thenar_status status = tet_finder_create(&hand->mesh, &finder, error);
    if (status == THENAR_OK) status = embedding_create(hand->skin.vertex_count, &hand->embedding, error);
    for (int v = 0; v < hand->embedding.vertex_count; v++) {
        vec3 p = surface_vertex(&hand->skin, v);
        chooser c = {.hand = hand, .vertex = v, .point = p, .tet = -1, .agreement = -1};
        bvh_overlap(&finder.tree, box_grow((box){p, p}, 1e-9), try_tet, &c);
        if (c.tet < 0) c.tet = tet_finder_find(&finder, p, c.weights);
        hand->embedding.tet[v] = c.tet;
        for (int k = 0; k < 4; k++) hand->embedding.weights[4 * (size_t)v + (size_t)k] = c.weights[k];
    }
    tet_finder_free(&finder);
    return status;
}
