#include "shape/smooth_embedding.h"

#include "base/memory.h"
#include "shape/embedding.h"
#include "shape/mesh.h"

#include <stdlib.h>

#define RINGS 3 /* of points around a vertex, at 1/3, 2/3 and 1 of the radius */
#define PAIRS 7 /* in each ring: along the axes and the diagonals */
#define NODES_LIMIT (4 * (1 + RINGS * PAIRS * 2))
#define INSIDE (-1e-9)

typedef struct gathering {
    int count;
    int node[NODES_LIMIT];
    double weight[NODES_LIMIT];
} gathering;

/* Keeps the nodes in order; a node that is there gets more weight. */
static void add_weight(gathering *g, int node, double weight) {
    int at = g->count;
    while (at > 0 && g->node[at - 1] > node) at--;
    if (at > 0 && g->node[at - 1] == node) {
        g->weight[at - 1] += weight;
        return;
    }
    for (int i = g->count++; i > at; i--) {
        g->node[i] = g->node[i - 1];
        g->weight[i] = g->weight[i - 1];
    }
    g->node[at] = node;
    g->weight[at] = weight;
}

typedef struct nearby {
    const thenar_tet_mesh *mesh;
    const int *group;
    int own; /* group of the vertex's tet */
    vec3 point;
    int tet;
    double depth;
    double weights[4];
} nearby;

static bool try_tet(void *context, int tet) {
    nearby *n = context;
    if (n->group && n->own != 0 && n->group[tet] != 0 && n->group[tet] != n->own) return true;
    vec3 corner[4];
    double w[4];
    tet_mesh_corners(n->mesh, tet, corner);
    double depth = tet_weights(corner, n->point, w);
    if (depth < n->depth || (depth == n->depth && tet > n->tet)) return true;
    n->depth = depth;
    n->tet = tet;
    for (int k = 0; k < 4; k++) n->weights[k] = w[k];
    return true;
}

/* Finds the tet that holds a point near the vertex; false: none. */
static bool find_tet(const tet_finder *finder, nearby *n, vec3 point) {
    n->point = point;
    n->depth = -INFINITY;
    n->tet = -1;
    bvh_overlap(&finder->tree, box_grow((box){point, point}, 1e-9), try_tet, n);
    return n->depth >= INSIDE;
}

static void add_place(gathering *g, const nearby *n, double share) {
    const int *node = tet_mesh_tet(n->mesh, n->tet);
    for (int k = 0; k < 4; k++) add_weight(g, node[k], share * n->weights[k]);
}

/* Two points on opposite sides, as far out as both lie in the mesh: an affine motion does not see how far. */
static void add_pair(const tet_finder *finder, const nearby *own, vec3 p, vec3 d, double share, gathering *g) {
    for (double scale = 1; scale > 0.1; scale -= 0.2) {
        nearby a = *own, b = *own;
        if (!find_tet(finder, &a, vec3_mul_add(p, d, scale)) || !find_tet(finder, &b, vec3_mul_add(p, d, -scale)))
            continue;
        add_place(g, &a, share / 2);
        add_place(g, &b, share / 2);
        return;
    }
    add_place(g, own, share);
}

static void gather(const tet_finder *finder, const nearby *own, vec3 p, double radius, gathering *g) {
    static const double way[PAIRS][3] = {{1, 0, 0},  {0, 1, 0},  {0, 0, 1}, {1, 1, 1},
                                         {-1, 1, 1}, {1, -1, 1}, {1, 1, -1}};
    /* A pair of a ring stands for its share of the ball, less towards the border. */
    static const double ring_share[RINGS] = {0.3, 0.45, 0.2};
    g->count = 0;
    add_place(g, own, 1 - ring_share[0] - ring_share[1] - ring_share[2]);
    for (int ring = 0; ring < RINGS; ring++)
        for (int i = 0; i < PAIRS; i++) {
            vec3 d = vec3_scale(vec3_unit(vec3_load(way[i])), radius * (ring + 1) / RINGS);
            add_pair(finder, own, p, d, ring_share[ring] / PAIRS, g);
        }
}

thenar_status smooth_embedding_create(const thenar_tet_mesh *mesh, const int *tet_group, const thenar_surface *surface,
                                      const thenar_embedding *embedding, double radius, smooth_embedding *out,
                                      thenar_error *error) {
    *out = (smooth_embedding){0};
    tet_finder finder;
    thenar_status status = tet_finder_create(mesh, &finder, error);
    if (status != THENAR_OK) return status;
    ARRAY(int) nodes = {0};
    ARRAY(double) weights = {0};
    out->vertex_count = surface->vertex_count;
    out->start = MEMORY_ARRAY(int, (size_t)surface->vertex_count + 1);
    bool good = out->start != NULL;
    for (int v = 0; v < surface->vertex_count && good; v++) {
        gathering g;
        int tet = embedding->tet[v];
        nearby n = {.mesh = mesh, .group = tet_group, .own = tet_group ? tet_group[tet] : 0, .tet = tet};
        for (int k = 0; k < 4; k++) n.weights[k] = embedding->weights[4 * (size_t)v + (size_t)k];
        gather(&finder, &n, surface_vertex(surface, v), radius, &g);
        for (int i = 0; i < g.count && good; i++)
            good = ARRAY_PUSH(&nodes, g.node[i]) && ARRAY_PUSH(&weights, g.weight[i]);
        out->start[v + 1] = (int)nodes.count;
    }
    tet_finder_free(&finder);
    out->node = nodes.data;
    out->weight = weights.data;
    if (good) return THENAR_OK;
    smooth_embedding_free(out);
    return error_memory(error, "smooth embedding");
}

void smooth_embedding_free(smooth_embedding *embedding) {
    free(embedding->start);
    free(embedding->node);
    free(embedding->weight);
    *embedding = (smooth_embedding){0};
}

void smooth_embedding_apply(const smooth_embedding *embedding, const double *nodes, double *vertices) {
    for (int v = 0; v < embedding->vertex_count; v++) {
        vec3 sum = {0};
        for (int i = embedding->start[v]; i < embedding->start[v + 1]; i++)
            sum = vec3_mul_add(sum, vec3_load(nodes + 3 * (size_t)embedding->node[i]), embedding->weight[i]);
        vec3_store(vertices + 3 * (size_t)v, sum);
    }
}
