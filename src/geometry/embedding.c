#include "geometry/distance.h"

#include "core/memory.h"
#include "mesh/mesh.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A weight slightly below zero is rounding: the point lies on a face. */
#define WEIGHT_TOLERANCE 1e-12

double tet_weights(const vec3 corner[4], vec3 p, double weights[4]) {
    tet_frame frame = tet_frame_of(corner);
    return tet_frame_weights(&frame, p, weights);
}

thenar_status tet_finder_create(const thenar_tet_mesh *mesh, tet_finder *out, thenar_error *error) {
    *out = (tet_finder){.mesh = mesh};
    box *boxes = MEMORY_ARRAY(box, mesh->tet_count);
    out->frame = MEMORY_ARRAY(tet_frame, mesh->tet_count);
    thenar_status status = boxes && out->frame ? THENAR_OK : error_memory(error, "tree of tets");
    for (int t = 0; t < mesh->tet_count && status == THENAR_OK; t++) {
        vec3 corner[4];
        tet_mesh_corners(mesh, t, corner);
        boxes[t] = box_of(corner, 4);
        out->frame[t] = tet_frame_of(corner);
    }
    if (status == THENAR_OK) status = bvh_create(boxes, mesh->tet_count, &out->tree, error);
    free(boxes);
    return status;
}

void tet_finder_free(tet_finder *finder) {
    bvh_free(&finder->tree);
    free(finder->frame);
}

typedef struct deepest {
    const tet_frame *frame;
    vec3 point;
    int tet;
    double depth;
    double weights[4];
} deepest;

static bool try_tet(void *context, int tet) {
    deepest *best = context;
    double w[4] = {0}, depth = tet_frame_weights(&best->frame[tet], best->point, w);
    if (depth > best->depth || (depth == best->depth && tet < best->tet)) {
        best->tet = tet;
        best->depth = depth;
        for (int i = 0; i < 4; i++) best->weights[i] = w[i];
    }
    return true;
}

int tet_finder_find(const tet_finder *finder, vec3 p, double weights[4]) {
    deepest best = {.frame = finder->frame, .point = p, .tet = -1, .depth = -INFINITY};
    box here = {p, p}, all = finder->tree.node[0].bounds;
    double size = vec3_distance(all.low, all.high), reach = 1e-12 * size;
    bvh_overlap(&finder->tree, box_grow(here, reach), try_tet, &best);
    if (best.depth < -WEIGHT_TOLERANCE) {
        /* Outside: search wider and wider, up to the whole mesh. */
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
    USAGE_STATUS(mesh && surface && embedding, error, "a pointer is NULL");
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

#define OWN_SHARE 0.03   /* of each node of a vertex's tet, before spreading, so that no weight starts at zero */
#define SPREAD_MIN 1e-3  /* smaller weights do not spread */
#define WEIGHT_MIN 0.005 /* subtracted from every weight, so that weights vanish smoothly */
#define ROUNDS_MAX 100   /* a very fine surface is smoothed less far; its kinks are smaller */
#define WEIGHT_MAX 4.0   /* beyond this, the nodes of a vertex are too nearly coplanar for a correction */

/* The weight of one node for one vertex. */
typedef struct hold {
    int vertex, node;
    double weight;
} hold;

typedef struct spreading {
    const thenar_tet_mesh *mesh;
    const thenar_surface *surface;
    const thenar_embedding *embedding;
    int rounds;
    int *first;                  /* of each vertex: the representative of its position */
    int *start, *neighbour;      /* of each vertex; each neighbour as often as it shares a triangle */
    int *tet_start, *tet_vertex; /* of each node the vertices in its tets */
    double *now, *next;          /* of each vertex: the weight of the current node */
    char *reached;               /* of each vertex */
    int *active, active_count;   /* vertices that were reached */
    ARRAY(hold) holds;           /* node by node */
} spreading;

static double mean_edge_of_tets(const thenar_tet_mesh *mesh) {
    double sum = 0;
    for (int t = 0; t < mesh->tet_count; t++) {
        vec3 corner[4];
        tet_mesh_corners(mesh, t, corner);
        for (int a = 0; a < 4; a++)
            for (int b = a + 1; b < 4; b++) sum += vec3_distance(corner[a], corner[b]);
    }
    return sum / fmax(1, 6.0 * mesh->tet_count);
}

static double mean_edge_of_triangles(const thenar_surface *surface) {
    double sum = 0;
    for (int t = 0; t < surface->triangle_count; t++) {
        vec3 corner[3];
        surface_corners(surface, t, corner);
        for (int a = 0; a < 3; a++) sum += vec3_distance(corner[a], corner[(a + 1) % 3]);
    }
    return sum / fmax(1, 3.0 * surface->triangle_count);
}

/* Groups entries by key: counts, then fills. key, value: entry i of `count`. */
static bool group_entries(int keys, int count, int (*entry)(const spreading *s, int i, int *value), spreading *s,
                          int **start, int **values) {
    int *begin = *start = MEMORY_ARRAY(int, (size_t)keys + 2);
    int *list = *values = MEMORY_ARRAY(int, count);
    if (!begin || !list) return false;
    int value;
    for (int i = 0; i < count; i++) begin[entry(s, i, &value) + 2]++;
    for (int k = 2; k < keys + 2; k++) begin[k] += begin[k - 1];
    for (int i = 0; i < count; i++) {
        int key = entry(s, i, &value);
        list[begin[key + 1]++] = value;
    }
    return true;
}

static int neighbour_entry(const spreading *s, int i, int *value) {
    const int *corner = surface_triangle(s->surface, i / 6);
    *value = s->first[corner[(i % 6 / 2 + 1 + i % 2) % 3]];
    return s->first[corner[i % 6 / 2]];
}

static int node_entry(const spreading *s, int i, int *value) {
    *value = i / 4;
    return tet_mesh_tet(s->mesh, s->embedding->tet[i / 4])[i % 4];
}

static thenar_status prepare(spreading *s, thenar_error *error) {
    int vertices = s->surface->vertex_count;
    s->first = surface_first_at_place(s->surface);
    s->now = MEMORY_ARRAY(double, vertices);
    s->next = MEMORY_ARRAY(double, vertices);
    s->reached = MEMORY_ARRAY(char, vertices);
    s->active = MEMORY_ARRAY(int, vertices);
    bool good = s->first && s->now && s->next && s->reached && s->active &&
                group_entries(vertices, 6 * s->surface->triangle_count, neighbour_entry, s, &s->start, &s->neighbour) &&
                group_entries(s->mesh->node_count, 4 * vertices, node_entry, s, &s->tet_start, &s->tet_vertex);
    return good ? THENAR_OK : error_memory(error, "smooth embedding");
}

static void finish(spreading *s) {
    void *arrays[] = {s->first, s->now,       s->next,      s->reached,    s->active,
                      s->start, s->neighbour, s->tet_start, s->tet_vertex, s->holds.data};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) free(arrays[i]);
}

static void reach_vertex(spreading *s, int vertex) {
    if (s->reached[vertex]) return;
    s->reached[vertex] = 1;
    s->active[s->active_count++] = vertex;
}

static double begin_weight(const spreading *s, int vertex, int node) {
    const int *corner = tet_mesh_tet(s->mesh, s->embedding->tet[vertex]);
    double sum = 0, own = 0;
    for (int k = 0; k < 4; k++) {
        double w = fmax(s->embedding->weights[4 * (size_t)vertex + (size_t)k], 0);
        sum += w;
        if (corner[k] == node) own = w;
    }
    return OWN_SHARE + (1 - 4 * OWN_SHARE) * own / sum;
}

static void spread_once(spreading *s) {
    for (int i = 0, count = s->active_count; i < count; i++) {
        int v = s->active[i];
        if (s->now[v] < SPREAD_MIN) continue;
        for (int k = s->start[v]; k < s->start[v + 1]; k++) reach_vertex(s, s->neighbour[k]);
    }
    for (int i = 0; i < s->active_count; i++) {
        int v = s->active[i], around = s->start[v + 1] - s->start[v];
        double sum = 0;
        for (int k = s->start[v]; k < s->start[v + 1]; k++) sum += s->now[s->neighbour[k]];
        s->next[v] = around > 0 ? (s->now[v] + sum / around) / 2 : s->now[v];
    }
    for (int i = 0; i < s->active_count; i++) s->now[s->active[i]] = s->next[s->active[i]];
}

static bool spread_node(spreading *s, int node) {
    s->active_count = 0;
    for (int k = s->tet_start[node]; k < s->tet_start[node + 1]; k++) {
        int v = s->tet_vertex[k];
        if (s->first[v] != v) continue;
        reach_vertex(s, v);
        s->now[v] = begin_weight(s, v, node);
    }
    for (int round = 0; round < s->rounds; round++) spread_once(s);
    bool good = true;
    for (int i = 0; i < s->active_count; i++) {
        int v = s->active[i];
        if (s->now[v] > WEIGHT_MIN && good) good = ARRAY_PUSH(&s->holds, (hold){v, node, s->now[v] - WEIGHT_MIN});
        s->now[v] = 0;
        s->reached[v] = 0;
    }
    return good;
}

/* Restores that the weights of a vertex reproduce its position. False: its nodes are nearly coplanar. */
static bool correct(const thenar_tet_mesh *mesh, vec3 place, double scale, const int *node, double *weight, int count) {
    double total = 0;
    vec3 first = {0};
    mat3 second = {0};
    for (int i = 0; i < count; i++) {
        vec3 d = vec3_scale(vec3_sub(tet_mesh_node(mesh, node[i]), place), scale);
        total += weight[i];
        first = vec3_mul_add(first, d, weight[i]);
        second = mat3_add(second, mat3_scale(mat3_outer(d, d), weight[i]));
    }
    if (!(mat3_determinant(second) > 0)) return false;
    vec3 c = mat3_mul_vec(mat3_inverse(second), first);
    double c0 = 1 / (total - vec3_dot(first, c));
    for (int i = 0; i < count; i++) {
        vec3 d = vec3_scale(vec3_sub(tet_mesh_node(mesh, node[i]), place), scale);
        weight[i] *= c0 * (1 - vec3_dot(c, d));
        if (!(fabs(weight[i]) < WEIGHT_MAX)) return false;
    }
    return true;
}

static void keep_own_tet(const spreading *s, int vertex, int *node, double *weight) {
    memcpy(node, tet_mesh_tet(s->mesh, s->embedding->tet[vertex]), 4 * sizeof *node);
    memcpy(weight, s->embedding->weights + 4 * (size_t)vertex, 4 * sizeof *weight);
    for (int a = 1; a < 4; a++) /* ascending */
        for (int b = a; b > 0 && node[b] < node[b - 1]; b--) {
            int n = node[b];
            double w = weight[b];
            node[b] = node[b - 1], weight[b] = weight[b - 1];
            node[b - 1] = n, weight[b - 1] = w;
        }
}

/* From weights by node to lists by vertex. */
static thenar_status collect(const spreading *s, double scale, thenar_smooth_embedding *out, thenar_error *error) {
    int vertices = out->vertex_count, *count = MEMORY_ARRAY(int, vertices);
    size_t max = 4 * (size_t)vertices;
    int *begin = MEMORY_ARRAY(int, (size_t)vertices + 1), *nodes = MEMORY_ARRAY(int, s->holds.count);
    double *weights = MEMORY_ARRAY(double, s->holds.count);
    bool good = count && begin && nodes && weights;
    for (size_t i = 0; i < s->holds.count && good; i++) count[s->holds.data[i].vertex]++;
    for (int v = 0; v < vertices && good; v++) {
        begin[v + 1] = begin[v] + count[v];
        count[v] = 0;
    }
    for (size_t i = 0; i < s->holds.count && good; i++) {
        const hold *h = &s->holds.data[i];
        int at = begin[h->vertex] + count[h->vertex]++;
        nodes[at] = h->node;
        weights[at] = h->weight;
    }
    for (int v = 0; v < vertices && good; v++) max += (size_t)count[s->first[v]];
    out->start = MEMORY_ARRAY(int, (size_t)vertices + 1);
    out->node = MEMORY_ARRAY(int, max);
    out->weight = MEMORY_ARRAY(double, max);
    good = good && out->start && out->node && out->weight;
    for (int v = 0; v < vertices && good; v++) {
        int from = s->first[v], at = out->start[v], n = count[from];
        memcpy(out->node + at, nodes + begin[from], (size_t)n * sizeof *out->node);
        memcpy(out->weight + at, weights + begin[from], (size_t)n * sizeof *out->weight);
        if (n < 4 || !correct(s->mesh, surface_vertex(s->surface, v), scale, out->node + at, out->weight + at, n)) {
            keep_own_tet(s, v, out->node + at, out->weight + at);
            n = 4;
        }
        out->start[v + 1] = at + n;
    }
    free(count);
    free(begin);
    free(nodes);
    free(weights);
    if (good) return THENAR_OK;
    thenar_smooth_embedding_free(out);
    return error_memory(error, "smooth embedding");
}

/* A surface that follows coarse tets smoothly.
 *
 * Barycentric interpolation has a kink at every face between tets, which shading shows, and a step where tets overlap.
 * Here the weight of each node is diffused along the surface, by about half an edge of the tets:
 *     w_n <- (w_n + mean of w_n at the neighbours) / 2,   repeated.
 * Diffused weights no longer reproduce the position of a vertex; a factor linear in the position of the node,
 *     w_n <- w_n (c0 + c . (X_n - X_v)),   with sum w_n = 1 and sum w_n X_n = X_v,
 * (moving least squares) restores it: affine motions are exact. A vertex then depends on ten to thirty nodes, and the
 * surface bends where it had kinks. Diffusion along the surface never reaches from one finger to the next, however
 * close they are. (A mean over a ball around the vertex needs to know the fingers, and leaves half of the kinks, since
 * points of the ball outside the tets have to be left out.)
 *
 * For display only; contact uses the four nodes of thenar_embedding. */
thenar_status thenar_smooth_embedding_create(const thenar_tet_mesh *mesh, const thenar_surface *surface,
                                             const thenar_embedding *embedding, double reach,
                                             thenar_smooth_embedding *out, thenar_error *error) {
    USAGE_STATUS(mesh && surface && embedding && out, error, "a pointer is NULL");
    USAGE_STATUS(reach > 0 && isfinite(reach), error, "the reach is %g; expected more than 0", reach);
    USAGE_STATUS(embedding->vertex_count == surface->vertex_count, error, "an embedding of %d vertices; expected %d",
                 embedding->vertex_count, surface->vertex_count);
    thenar_status status = tet_mesh_validate(mesh, error);
    if (status == THENAR_OK) status = surface_validate(surface, error);
    if (status != THENAR_OK) return status;
    *out = (thenar_smooth_embedding){.vertex_count = surface->vertex_count};
    double edge = mean_edge_of_tets(mesh), step = mean_edge_of_triangles(surface);
    /* A round is a random step of one edge with probability one half, in two dimensions: a variance of a quarter along
     * each. */
    double rounds = floor(4 * reach * reach * edge * edge / (step * step));
    spreading s = {.mesh = mesh, .surface = surface, .embedding = embedding};
    s.rounds = rounds < ROUNDS_MAX ? (int)rounds : ROUNDS_MAX; /* NaN: all */
    status = prepare(&s, error);
    for (int n = 0; n < mesh->node_count && status == THENAR_OK && s.rounds > 0; n++)
        if (!spread_node(&s, n)) status = error_memory(error, "smooth embedding");
    if (status == THENAR_OK) status = collect(&s, 1 / edge, out, error);
    finish(&s);
    return status;
}

void thenar_smooth_embedding_free(thenar_smooth_embedding *embedding) {
    if (!embedding) return;
    free(embedding->start);
    free(embedding->node);
    free(embedding->weight);
    *embedding = (thenar_smooth_embedding){0};
}

thenar_status thenar_smooth_embedding_apply(const thenar_smooth_embedding *embedding, const double *nodes,
                                            double *vertices) {
    USAGE(embedding && nodes && vertices, THENAR_ERROR_USAGE, "a pointer is NULL");
    for (int v = 0; v < embedding->vertex_count; v++) {
        vec3 sum = {0};
        for (int i = embedding->start[v]; i < embedding->start[v + 1]; i++)
            sum = vec3_mul_add(sum, vec3_load(nodes + 3 * (size_t)embedding->node[i]), embedding->weight[i]);
        vec3_store(vertices + 3 * (size_t)v, sum);
    }
    return THENAR_OK;
}
