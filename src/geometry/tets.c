#include "geometry/meshing.h"

#include "core/memory.h"
#include "geometry/distance.h"
#include "mesh/mesh.h"

#include <stdlib.h>
#include <string.h>

/* Covering a skin. A vertex with barycentric weight -w beyond a face lies w h outside, where h is the height of the
 * tet over that face. The smallest motion of the three nodes of the face that moves the face there moves each along
 * the normal by w h b / (b . b), with its own share b of the vertex. In each round a node makes the largest of the
 * moves required of it. */

#define OUTSIDE (-1e-12)
#define SHARE 0.5  /* of a move that is made in a round, since the neighbours' moves help */
#define MIN 0.0003 /* of the height of a tet: the smallest move */

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
        vec3 wanted = vec3_scale(normal, (MIN - SHARE * weights[lowest]) * height * (share[i] / sum) / squares);
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

/* As tet_finder_find: searches wider and wider. */
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

/* Embeds each vertex in a tet of its own group: one that contains it, or a nearby one (then it counts as outside). The
 * group of a tet is its tag; group 0 matches every other. */
static thenar_status tet_group_embedding(const thenar_tet_mesh *mesh, const thenar_surface *skin,
                                         const int *vertex_group, thenar_embedding *embedding, int *outside,
                                         thenar_error *error) {
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

/* Up to `rounds` moves of each node; *outside receives the number of vertices still outside. Tets may get worse, even
 * inverted: improve them and call again. */
static thenar_status tet_cover(thenar_tet_mesh *mesh, const thenar_surface *skin, const int *vertex_group, int rounds,
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

#define FIT_QUALITY 0.3
#define IMPROVE_QUALITY 0.35
#define COVER_TURNS 30
#define COVER_ROUNDS 6
#define FREE_TURNS 3      /* in which improving may uncover the skin again */
#define WORST_COVERED 0.1 /* radius ratio that the last improvement aims at */

static thenar_status improve(const tet_wrap *wrap, bool keep_covered, thenar_tet_mesh *mesh, thenar_error *error) {
    if (!keep_covered) return lattice_improve(wrap->solid, NULL, NULL, IMPROVE_QUALITY, mesh, error);
    thenar_embedding hold;
    int outside;
    thenar_status status = tet_group_embedding(mesh, wrap->skin, wrap->group, &hold, &outside, error);
    if (status == THENAR_OK) status = lattice_improve(wrap->solid, wrap->skin, &hold, IMPROVE_QUALITY, mesh, error);
    thenar_embedding_free(&hold);
    return status;
}

/* Moves the boundary to the skin or, with `relax`, the inner nodes after it. */
static thenar_status fit(const tet_wrap *wrap, bool relax, thenar_tet_mesh *mesh, thenar_error *error) {
    thenar_embedding hold;
    int outside;
    thenar_status status = tet_group_embedding(mesh, wrap->skin, wrap->group, &hold, &outside, error);
    if (status == THENAR_OK)
        status = relax ? lattice_relax(wrap->skin, &hold, FIT_QUALITY, mesh, error)
                       : lattice_fit(wrap->solid, wrap->skin, &hold, FIT_QUALITY, mesh, error);
    thenar_embedding_free(&hold);
    return status;
}

/* Alternates: covering the skin makes tets worse, improving them uncovers some of it. */
thenar_status tet_wrap_cover(const tet_wrap *wrap, thenar_tet_mesh *mesh, thenar_error *error) {
    thenar_tet_figures figures = {0};
    int outside = 1;
    thenar_status status = improve(wrap, false, mesh, error);
    for (int turn = 0; turn < COVER_TURNS && status == THENAR_OK; turn++) {
        status = tet_cover(mesh, wrap->skin, wrap->group, COVER_ROUNDS, &outside, error);
        if (status == THENAR_OK) status = thenar_tet_mesh_quality(mesh, &figures, error);
        if (status != THENAR_OK || (outside == 0 && figures.radius_ratio_min > WORST_COVERED)) return status;
        status = improve(wrap, turn >= FREE_TURNS, mesh, error);
    }
    return status != THENAR_OK ? status
                               : error_set(error, THENAR_ERROR_INPUT,
                                           "no sound tets cover a hand of these sizes; expected the sizes of a hand");
}

thenar_status tet_wrap_fit(const tet_wrap *wrap, int turns, thenar_tet_mesh *mesh, thenar_error *error) {
    thenar_status status = THENAR_OK;
    for (int turn = 0; turn < turns && status == THENAR_OK; turn++) {
        if (turn > 0) status = fit(wrap, true, mesh, error);
        if (status == THENAR_OK) status = fit(wrap, false, mesh, error);
    }
    return status == THENAR_OK ? improve(wrap, true, mesh, error) : status;
}

typedef struct place {
    tet_share share; /* corners in the order of their numbers, without those of zero weight */
    size_t use;      /* 4 * tet + corner of the finer mesh */
} place;

static int compare_shares(const tet_share *a, const tet_share *b) {
    for (int i = 0; i < 4; i++) {
        if (a->node[i] != b->node[i]) return a->node[i] < b->node[i] ? -1 : 1;
        if (a->parts[i] != b->parts[i]) return a->parts[i] < b->parts[i] ? -1 : 1;
    }
    return 0;
}

static int compare_places(const void *a, const void *b) {
    const place *p = a, *q = b;
    int order = compare_shares(&p->share, &q->share);
    return order ? order : p->use < q->use ? -1 : 1;
}

/* From chain coordinates cut >= t1 >= t2 >= t3 >= 0: corner 0 has cut - t1 parts, corner 1 has t1 - t2, and so on. */
static tet_share share_at(const int corner[4], int cut, const int t[3]) {
    int parts[4] = {cut - t[0], t[0] - t[1], t[1] - t[2], t[2]};
    tet_share s = {{-1, -1, -1, -1}, {0}};
    for (int i = 0, k = 0; i < 4; i++) {
        if (parts[i] == 0) continue;
        s.node[k] = corner[i];
        s.parts[k++] = parts[i];
    }
    return s;
}

static bool in_chain(int cut, const int t[3]) {
    return cut >= t[0] && t[0] >= t[1] && t[1] >= t[2] && t[2] >= 0;
}

/* The tets of one coarse tet: those of the six in each cube of the grid that lie in the chain. Returns how many. */
static size_t cut_tet(const int corner[4], int cut, size_t first, place *out) {
    static const int order[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    size_t count = 0;
    for (int a = 0; a < cut; a++)
        for (int b = 0; b <= a; b++)
            for (int c = 0; c <= b; c++)
                for (int path = 0; path < 6; path++) {
                    int t[4][3] = {{a, b, c}};
                    bool inside = true;
                    for (int step = 0; step < 3; step++) {
                        memcpy(t[step + 1], t[step], sizeof t[step]);
                        t[step + 1][order[path][step]]++;
                        inside = inside && in_chain(cut, t[step + 1]);
                    }
                    if (!inside) continue;
                    for (int k = 0; k < 4; k++) {
                        size_t use = 4 * (first + count) + (size_t)k;
                        out[use] = (place){share_at(corner, cut, t[k]), use};
                    }
                    count++;
                }
    return count;
}

static void sort_four(int node[4]) {
    for (int i = 1; i < 4; i++)
        for (int k = i; k > 0 && node[k] < node[k - 1]; k--) {
            int swap = node[k];
            node[k] = node[k - 1];
            node[k - 1] = swap;
        }
}

static vec3 position_of(const thenar_tet_mesh *mesh, const tet_share *s, int cut) {
    vec3 sum = {0};
    for (int i = 0; i < 4 && s->node[i] >= 0; i++)
        sum = vec3_mul_add(sum, tet_mesh_node(mesh, s->node[i]), (double)s->parts[i] / cut);
    return sum;
}

thenar_status tet_subdivide(const thenar_tet_mesh *mesh, int cut, thenar_tet_mesh *out, tet_share **share,
                            thenar_error *error) {
    *out = (thenar_tet_mesh){0};
    *share = NULL;
    size_t each = (size_t)cut * (size_t)cut * (size_t)cut, tets = each * (size_t)mesh->tet_count, nodes = 0;
    place *places = MEMORY_ARRAY(place, 4 * tets);
    tet_share *shares = MEMORY_ARRAY(tet_share, 4 * tets);
    int *number = MEMORY_ARRAY(int, 4 * tets);
    thenar_status status = places && shares && number ? THENAR_OK : error_memory(error, "finer tets");
    if (status == THENAR_OK) {
        size_t first = 0;
        for (int t = 0; t < mesh->tet_count; t++) {
            int corner[4];
            memcpy(corner, tet_mesh_tet(mesh, t), sizeof corner);
            sort_four(corner);
            first += cut_tet(corner, cut, first, places);
        }
        qsort(places, 4 * tets, sizeof *places, compare_places);
        for (size_t i = 0; i < 4 * tets; i++) {
            if (i == 0 || compare_shares(&places[i].share, &places[i - 1].share) != 0)
                shares[nodes++] = places[i].share;
            number[places[i].use] = (int)nodes - 1;
        }
        status = tet_mesh_create((int)nodes, (int)tets, mesh->tags != NULL, out, error);
    }
    for (size_t n = 0; n < nodes && status == THENAR_OK; n++)
        vec3_store(out->positions + 3 * n, position_of(mesh, &shares[n], cut));
    for (size_t t = 0; t < tets && status == THENAR_OK; t++) {
        int *node = out->tets + 4 * t;
        memcpy(node, number + 4 * t, 4 * sizeof(int));
        vec3 corner[4];
        tet_mesh_corners(out, (int)t, corner);
        if (tet_volume(corner) < 0) {
            int swap = node[2];
            node[2] = node[3];
            node[3] = swap;
        }
        if (mesh->tags) out->tags[t] = mesh->tags[t / each];
    }
    free(places);
    free(number);
    if (status == THENAR_OK)
        *share = shares;
    else
        free(shares);
    return status;
}

#define FILL_DEPTH 2
#define REACH_DEPTH 4

typedef struct sampled_tet {
    vec3 corner[4];
    double value[4]; /* signed distance */
} sampled_tet;

static sampled_tet sample(const signed_distance *solid, const vec3 corner[4]) {
    sampled_tet tet;
    for (int i = 0; i < 4; i++) {
        tet.corner[i] = corner[i];
        tet.value[i] = signed_distance_at(solid, corner[i], NULL);
    }
    return tet;
}

/* Eight tets: one at each corner, four inside the octahedron between the middles of the edges. */
static void cut_into_eight(const signed_distance *solid, const sampled_tet *tet, sampled_tet part[8]) {
    static const int ends[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
    /* Points 0..3 are the corners, 4..9 the middles of the edges 01 02 03 12 13 23. The octahedron is cut
     * along the diagonal from the middle of 02 to that of 13. */
    static const int points[8][4] = {{0, 4, 5, 6}, {4, 1, 7, 8}, {5, 7, 2, 9}, {6, 8, 9, 3},
                                     {5, 8, 6, 4}, {5, 8, 9, 6}, {5, 8, 7, 9}, {5, 8, 4, 7}};
    vec3 point[10];
    double value[10];
    for (int i = 0; i < 4; i++) {
        point[i] = tet->corner[i];
        value[i] = tet->value[i];
    }
    for (int i = 0; i < 6; i++) {
        point[4 + i] = vec3_scale(vec3_add(point[ends[i][0]], point[ends[i][1]]), 0.5);
        value[4 + i] = signed_distance_at(solid, point[4 + i], NULL);
    }
    for (int p = 0; p < 8; p++)
        for (int i = 0; i < 4; i++) {
            part[p].corner[i] = point[points[p][i]];
            part[p].value[i] = value[points[p][i]];
        }
}

static double longest_edge(const vec3 corner[4]) {
    double longest = 0;
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < i; j++) longest = fmax(longest, vec3_distance(corner[i], corner[j]));
    return longest;
}

static void exchange_if_greater(double *a, double *b) {
    double low = fmin(*a, *b), high = fmax(*a, *b);
    *a = low;
    *b = high;
}

double fill_of_linear(const double value[4]) {
    double a = value[0], b = value[1], c = value[2], d = value[3];
    exchange_if_greater(&a, &b);
    exchange_if_greater(&c, &d);
    exchange_if_greater(&a, &c);
    exchange_if_greater(&b, &d);
    exchange_if_greater(&b, &c);
    if (a >= 0) return 0;
    if (d <= 0) return 1;
    /* One corner below zero: a small tet there. Three: all but a small tet at the fourth. Two: a wedge, cut
     * into three tets; s, t, u, v say where the edges ac, ad, bc, bd cross zero. */
    if (b >= 0) return a * a * a / ((a - b) * (a - c) * (a - d));
    if (c <= 0) return 1 - d * d * d / ((d - a) * (d - b) * (d - c));
    double s = a / (a - c), t = a / (a - d), u = b / (b - c), v = b / (b - d);
    return s * t + u * t * (1 - s) + u * v * (1 - t);
}

static double share_inside(const signed_distance *solid, const sampled_tet *tet, int depth) {
    double edge = longest_edge(tet->corner);
    for (int i = 0; i < 4; i++)
        if (fabs(tet->value[i]) >= edge) return tet->value[i] < 0 ? 1 : 0;
    if (depth == 0) return fill_of_linear(tet->value);
    sampled_tet part[8];
    cut_into_eight(solid, tet, part);
    double sum = 0;
    for (int p = 0; p < 8; p++) sum += share_inside(solid, part + p, depth - 1);
    return sum / 8;
}

double fill_of_tet(const signed_distance *solid, const vec3 corner[4]) {
    sampled_tet tet = sample(solid, corner);
    return share_inside(solid, &tet, FILL_DEPTH);
}

void fill_of_mesh(const signed_distance *solid, const thenar_tet_mesh *mesh, double *fill) {
    for (int t = 0; t < mesh->tet_count; t++) {
        vec3 corner[4];
        tet_mesh_corners(mesh, t, corner);
        fill[t] = fill_of_tet(solid, corner);
    }
}

static bool reaches(const signed_distance *solid, const sampled_tet *tet, double tolerance, int depth) {
    double edge = longest_edge(tet->corner), lowest = INFINITY, highest = -INFINITY;
    for (int i = 0; i < 4; i++) {
        lowest = fmin(lowest, tet->value[i]);
        highest = fmax(highest, tet->value[i]);
    }
    if (lowest < -tolerance) return true;
    if (depth == 0 || highest >= edge) return false;
    sampled_tet part[8];
    cut_into_eight(solid, tet, part);
    for (int p = 0; p < 8; p++)
        if (reaches(solid, part + p, tolerance, depth - 1)) return true;
    return false;
}

bool fill_reaches_tet(const signed_distance *solid, const vec3 corner[4], double tolerance) {
    sampled_tet tet = sample(solid, corner);
    return reaches(solid, &tet, tolerance, REACH_DEPTH);
}

thenar_status thenar_tet_mesh_fill(const thenar_tet_mesh *mesh, const thenar_surface *surface, double *fill,
                                   thenar_error *error) {
    USAGE_STATUS(mesh && surface && fill, error, "a pointer is NULL");
    surface_distance distance;
    thenar_status status = tet_mesh_validate(mesh, error);
    if (status == THENAR_OK) status = surface_distance_create(surface, &distance, error);
    if (status != THENAR_OK) return status;
    signed_distance solid = signed_distance_of_surface(&distance);
    fill_of_mesh(&solid, mesh, fill);
    surface_distance_free(&distance);
    return THENAR_OK;
}
