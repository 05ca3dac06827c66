#include "geometry/meshing.h"

#include "core/memory.h"
#include "core/simd.h"
#include "geometry/distance.h"
#include "mesh/mesh.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Covering a skin. A vertex with barycentric weight -w beyond a face lies w h outside, where h is the height of the
 * tet over that face. The smallest motion of the three nodes of the face that moves the face there moves each along
 * the normal by w h b / (b . b), with its own share b of the vertex. In each round a node makes the largest of the
 * moves required of it. */

#define OUTSIDE (-1e-12)
#define SEARCH_FIRST 1e-9 /* of the size of the mesh */
#define SHARE 0.5         /* of a move that is made in a round, since the neighbours' moves help */
#define MIN 0.0003        /* of the height of a tet: the smallest move */
#define OUTWARD_SHARE 0.7
#define OUTWARD_MIN 0.4 /* cosine between a node's direction and the normal of a face, at least */
#define CAREFUL_ROUNDS 60
#define CAREFUL_PASSES 8
#define CAREFUL_QUALITY 0.03 /* radius ratio that tets keep */
#define LAST_QUALITY 0.01    /* the same in the last rounds, for hands of unusual proportions */
#define WORST_OUTSIDE (-0.2) /* weight of a single vertex that stays outside; it follows its tet all the same */
#define IMPROVE_EVERY 6      /* rounds */

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
    const tet_finder *finder;
    vec3 point;
    int group;
    int tet;
    double depth;
    double weights[4];
} group_search;

static bool try_tet(void *context, int tet) {
    group_search *s = context;
    int group = s->finder->mesh->tags[tet];
    if (group != 0 && s->group != 0 && group != s->group) return true;
    double w[4] = {0}, depth = tet_frame_weights(&s->finder->frame[tet], s->point, w);
    if (depth < s->depth || (depth == s->depth && tet > s->tet)) return true;
    s->tet = tet;
    s->depth = depth;
    for (int i = 0; i < 4; i++) s->weights[i] = w[i];
    return true;
}

/* As tet_finder_find: searches wider and wider. */
static void search_group(group_search *s) {
    const bvh *tree = &s->finder->tree;
    box here = {s->point, s->point}, all = tree->node[0].bounds;
    double size = vec3_distance(all.low, all.high), limit = size + sqrt(box_distance_squared(&all, s->point));
    for (double reach = SEARCH_FIRST * size; reach < 2 * limit; reach = fmax(2 * reach, 0.01 * size)) {
        s->tet = -1;
        s->depth = -INFINITY;
        bvh_overlap(tree, box_grow(here, reach), try_tet, s);
        if (s->depth >= OUTSIDE || (s->tet >= 0 && reach > 1e-3 * size)) return;
    }
}

/* The first search of search_group for eight neighbouring vertices at a time, with one walk through the tree. A lane
 * takes part in a leaf only if its own box overlaps it, so that each finds what it would find alone. */

typedef struct search8 {
    f64x8 x, y, z;
    int group[SIMD_LANES];
    double reach;
    f64x8 depth;
    i64x8 tet;
} search8;

SIMD_INLINE void try_tet8(const tet_frame *frame, int tet, i64x8 able, search8 *s) {
    if (frame->flat) return;
    const double *m = frame->inverse.m;
    f64x8 x = s->x - frame->origin.x, y = s->y - frame->origin.y, z = s->z - frame->origin.z;
    f64x8 w1 = m[0] * x + m[1] * y + m[2] * z, w2 = m[3] * x + m[4] * y + m[5] * z, w3 = m[6] * x + m[7] * y + m[8] * z;
    f64x8 depth = f64x8_min(f64x8_min(1 - w1 - w2 - w3, w1), f64x8_min(w2, w3));
    i64x8 better = able & ((depth > s->depth) | ((depth == s->depth) & (tet < s->tet)));
    s->depth = f64x8_select(better, depth, s->depth);
    s->tet = (better & tet) | (~better & s->tet);
}

/* The lanes whose boxes overlap a box. */
SIMD_INLINE i64x8 lanes_in(const box *b, const search8 *s) {
    return (b->low.x <= s->x + s->reach) & (s->x - s->reach <= b->high.x) & (b->low.y <= s->y + s->reach) &
           (s->y - s->reach <= b->high.y) & (b->low.z <= s->z + s->reach) & (s->z - s->reach <= b->high.z);
}

static void search_leaf(const tet_finder *finder, const bvh_node *leaf, i64x8 inside, search8 *s) {
    for (int i = leaf->first; i < leaf->first + leaf->count; i++) {
        int tet = finder->tree.item[i], group = finder->mesh->tags[tet];
        i64x8 able = inside;
        for (int lane = 0; lane < SIMD_LANES && group != 0; lane++)
            if (s->group[lane] != 0 && s->group[lane] != group) able[lane] = 0;
        try_tet8(&finder->frame[tet], tet, able, s);
    }
}

static void search_tree(const tet_finder *finder, search8 *s) {
    int stack[BVH_STACK], depth = 0;
    stack[depth++] = 0;
    while (depth > 0) {
        int index = stack[--depth];
        const bvh_node *node = finder->tree.node + index;
        i64x8 inside = lanes_in(&node->bounds, s);
        if (!i64x8_any(inside)) continue;
        if (node->count == 0) {
            stack[depth++] = node->right;
            stack[depth++] = index + 1;
            continue;
        }
        search_leaf(finder, node, inside, s);
    }
}

/* What a vertex must be embedded in. */
typedef struct skin_groups {
    const thenar_surface *skin;
    const int *group; /* of the vertices */
    int *order;       /* neighbours follow each other */
} skin_groups;

static thenar_status skin_groups_create(const tet_wrap *wrap, skin_groups *out, thenar_error *error) {
    *out = (skin_groups){.skin = wrap->skin, .group = wrap->group};
    return bvh_order_points(wrap->skin->vertex_count, wrap->skin->positions, &out->order, error);
}

static void embed_eight(const tet_finder *finder, const skin_groups *g, const int vertex[SIMD_LANES], int count,
                        thenar_embedding *embedding, int *outside) {
    box all = finder->tree.node[0].bounds;
    search8 s = {.reach = SEARCH_FIRST * vec3_distance(all.low, all.high),
                 .depth = f64x8_set(-INFINITY),
                 .tet = {-1, -1, -1, -1, -1, -1, -1, -1}};
    for (int i = 0; i < SIMD_LANES; i++) {
        int v = vertex[i < count ? i : 0];
        vec3 p = surface_vertex(g->skin, v);
        s.x[i] = p.x, s.y[i] = p.y, s.z[i] = p.z;
        s.group[i] = g->group[v];
    }
    search_tree(finder, &s);
    for (int i = 0; i < count; i++) {
        int v = vertex[i];
        group_search one = {.finder = finder, .point = surface_vertex(g->skin, v), .group = g->group[v], .tet = -1};
        if (s.depth[i] >= OUTSIDE) {
            one.tet = (int)s.tet[i];
            one.depth = tet_frame_weights(&finder->frame[one.tet], one.point, one.weights);
        } else {
            search_group(&one);
        }
        embedding->tet[v] = one.tet < 0 ? 0 : one.tet;
        for (int k = 0; k < 4; k++) embedding->weights[4 * (size_t)v + (size_t)k] = one.weights[k];
        *outside += one.depth < OUTSIDE;
    }
}

/* Embeds each vertex in a tet of its own group: one that contains it, or a nearby one (then it counts as outside). The
 * group of a tet is its tag; group 0 matches every other. */
static thenar_status tet_group_embedding(const thenar_tet_mesh *mesh, const skin_groups *g, thenar_embedding *embedding,
                                         int *outside, thenar_error *error) {
    tet_finder finder;
    *embedding = (thenar_embedding){0};
    *outside = 0;
    thenar_status status = tet_finder_create(mesh, &finder, error);
    if (status == THENAR_OK) status = embedding_create(g->skin->vertex_count, embedding, error);
    for (int v = 0; v < embedding->vertex_count; v += SIMD_LANES) {
        int rest = embedding->vertex_count - v;
        embed_eight(&finder, g, g->order + v, rest < SIMD_LANES ? rest : SIMD_LANES, embedding, outside);
    }
    tet_finder_free(&finder);
    return status;
}

/* Up to `rounds` moves of each node; *outside receives the number of vertices still outside. Tets may get worse, even
 * inverted: improve them and call again. */
static thenar_status tet_cover(const tet_wrap *wrap, const skin_groups *g, int rounds, thenar_tet_mesh *mesh,
                               int *outside, thenar_error *error) {
    vec3 *move = MEMORY_ARRAY(vec3, mesh->node_count);
    thenar_status status = move ? THENAR_OK : error_memory(error, "covering a skin");
    for (int round = 0; round <= rounds && status == THENAR_OK; round++) {
        thenar_embedding embedding;
        status = tet_group_embedding(mesh, g, &embedding, outside, error);
        if (status == THENAR_OK && *outside > 0 && round < rounds) {
            for (int n = 0; n < mesh->node_count; n++) move[n] = vec3_make(0, 0, 0);
            for (int v = 0; v < g->skin->vertex_count; v++) {
                const double *w = embedding.weights + 4 * (size_t)v;
                if (fmin(fmin(w[0], w[1]), fmin(w[2], w[3])) < 0) ask_for_moves(mesh, embedding.tet[v], w, move);
            }
            for (int n = 0; n < mesh->node_count; n++)
                if (!wrap->fixed || !wrap->fixed[n])
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

static thenar_status improve(const tet_wrap *wrap, const skin_groups *keep, thenar_tet_mesh *mesh,
                             thenar_error *error) {
    double quality = wrap->quality > 0 ? wrap->quality : IMPROVE_QUALITY;
    if (!keep) return lattice_improve(wrap->solid, NULL, NULL, quality, wrap->fixed, mesh, error);
    thenar_embedding hold;
    int outside;
    thenar_status status = tet_group_embedding(mesh, keep, &hold, &outside, error);
    if (status == THENAR_OK)
        status = lattice_improve(wrap->solid, wrap->skin, &hold, quality, wrap->fixed, mesh, error);
    thenar_embedding_free(&hold);
    return status;
}

/* The face of the tet beyond which the vertex lies the farthest, of those whose nodes may all move, moves outward. */
static void ask_outward(const thenar_tet_mesh *mesh, int tet, const double weights[4], const vec3 *way, vec3 *move) {
    const int *node = tet_mesh_tet(mesh, tet);
    vec3 corner[4];
    tet_mesh_corners(mesh, tet, corner);
    int lowest = -1;
    for (int i = 0; i < 4; i++) {
        const int *face = tet_face_corners[i];
        bool free = true;
        for (int k = 0; k < 3; k++) free = free && vec3_dot(way[node[face[k]]], way[node[face[k]]]) > 0;
        if (free && (lowest < 0 || weights[i] < weights[lowest])) lowest = i;
    }
    if (lowest < 0 || weights[lowest] >= 0) return;
    const int *face = tet_face_corners[lowest];
    vec3 normal =
        vec3_unit(vec3_cross(vec3_sub(corner[face[1]], corner[face[0]]), vec3_sub(corner[face[2]], corner[face[0]])));
    double height = fabs(vec3_dot(vec3_sub(corner[lowest], corner[face[0]]), normal));
    for (int k = 0; k < 3; k++) {
        vec3 out = way[node[face[k]]], *largest = move + node[face[k]];
        double along = vec3_dot(normal, out);
        double wanted = (MIN - OUTWARD_SHARE * weights[lowest]) * height / fmax(along, OUTWARD_MIN);
        if (along > 0 && wanted * wanted > vec3_dot(*largest, *largest)) *largest = vec3_scale(out, wanted);
    }
}

static void shift_node(thenar_tet_mesh *mesh, int node, vec3 by, double share) {
    vec3_store(mesh->positions + 3 * (size_t)node, vec3_mul_add(tet_mesh_node(mesh, node), by, share));
}

/* Makes the moves: those that would flatten or invert a tet by halves, quarters, or not at all. */
static void move_carefully(thenar_tet_mesh *mesh, double quality, vec3 *move) {
    for (int n = 0; n < mesh->node_count; n++) shift_node(mesh, n, move[n], 1);
    for (int pass = 0; pass < CAREFUL_PASSES; pass++) {
        double back = pass < 2 ? 0.5 : 1;
        for (int t = 0; t < mesh->tet_count; t++) {
            const int *node = tet_mesh_tet(mesh, t);
            vec3 corner[4];
            tet_mesh_corners(mesh, t, corner);
            if (tet_radius_ratio(corner) > quality) continue;
            for (int k = 0; k < 4; k++) {
                shift_node(mesh, node[k], move[node[k]], -back);
                move[node[k]] = vec3_scale(move[node[k]], 1 - back);
            }
        }
    }
}

/* Every other round each node moves along the normals of the faces, as in tet_cover. */
thenar_status tet_wrap_cover_carefully(const tet_wrap *wrap, const vec3 *way, thenar_tet_mesh *mesh,
                                       thenar_error *error) {
    int outside = 1;
    skin_groups g;
    double worst = 0;
    vec3 *move = MEMORY_ARRAY(vec3, mesh->node_count);
    thenar_status status = skin_groups_create(wrap, &g, error);
    if (status == THENAR_OK) status = move ? improve(wrap, NULL, mesh, error) : error_memory(error, "covering a skin");
    for (int round = 0; round < CAREFUL_ROUNDS && status == THENAR_OK && outside > 0; round++) {
        if (round % IMPROVE_EVERY == IMPROVE_EVERY - 1) status = improve(wrap, &g, mesh, error);
        thenar_embedding embedding = {0};
        if (status == THENAR_OK) status = tet_group_embedding(mesh, &g, &embedding, &outside, error);
        memset(move, 0, (size_t)mesh->node_count * sizeof *move);
        worst = 0;
        for (int v = 0; v < wrap->skin->vertex_count && status == THENAR_OK && outside > 0; v++) {
            const double *w = embedding.weights + 4 * (size_t)v;
            double lowest = fmin(fmin(w[0], w[1]), fmin(w[2], w[3]));
            if (lowest >= 0) continue;
            worst = fmin(worst, lowest);
            if (round % 2)
                ask_for_moves(mesh, embedding.tet[v], w, move);
            else
                ask_outward(mesh, embedding.tet[v], w, way, move);
        }
        for (int n = 0; n < mesh->node_count; n++)
            if (wrap->fixed && wrap->fixed[n]) move[n] = vec3_make(0, 0, 0);
        move_carefully(mesh, round < CAREFUL_ROUNDS / 3 ? CAREFUL_QUALITY : LAST_QUALITY, move);
        thenar_embedding_free(&embedding);
    }
    free(move);
    free(g.order);
    if (status == THENAR_OK && outside > 0 && worst < WORST_OUTSIDE)
        return error_set(error, THENAR_ERROR_INPUT,
                         "%d vertices of the skin are outside the tets; expected the sizes of a hand", outside);
    return status;
}

/* Moves the boundary to the skin or, with `relax`, the inner nodes after it. */
static thenar_status fit(const tet_wrap *wrap, const skin_groups *g, bool relax, thenar_tet_mesh *mesh,
                         thenar_error *error) {
    thenar_embedding hold;
    int outside;
    double quality = wrap->quality > 0 ? wrap->quality : FIT_QUALITY;
    thenar_status status = tet_group_embedding(mesh, g, &hold, &outside, error);
    if (status == THENAR_OK)
        status = relax ? lattice_relax(wrap->skin, &hold, quality, mesh, error)
                       : lattice_fit(wrap->solid, wrap->skin, &hold, quality, mesh, error);
    thenar_embedding_free(&hold);
    return status;
}

/* Alternates: covering the skin makes tets worse, improving them uncovers some of it. */
static thenar_status cover(const tet_wrap *wrap, const skin_groups *g, thenar_tet_mesh *mesh, thenar_error *error) {
    thenar_tet_figures figures = {0};
    int outside = 1;
    thenar_status status = improve(wrap, NULL, mesh, error);
    for (int turn = 0; turn < COVER_TURNS && status == THENAR_OK; turn++) {
        status = tet_cover(wrap, g, COVER_ROUNDS, mesh, &outside, error);
        if (status == THENAR_OK) status = thenar_tet_mesh_quality(mesh, &figures, error);
        if (status != THENAR_OK || (outside == 0 && figures.radius_ratio_min > WORST_COVERED)) return status;
        status = improve(wrap, turn >= FREE_TURNS ? g : NULL, mesh, error);
    }
    return status != THENAR_OK ? status
                               : error_set(error, THENAR_ERROR_INPUT,
                                           "no sound tets cover a hand of these sizes; expected the sizes of a hand");
}

thenar_status tet_wrap_cover(const tet_wrap *wrap, thenar_tet_mesh *mesh, thenar_error *error) {
    skin_groups g;
    thenar_status status = skin_groups_create(wrap, &g, error);
    if (status == THENAR_OK) status = cover(wrap, &g, mesh, error);
    free(g.order);
    return status;
}

thenar_status tet_wrap_fit(const tet_wrap *wrap, int turns, thenar_tet_mesh *mesh, thenar_error *error) {
    skin_groups g;
    thenar_status status = skin_groups_create(wrap, &g, error);
    for (int turn = 0; turn < turns && status == THENAR_OK; turn++) {
        if (turn > 0) status = fit(wrap, &g, true, mesh, error);
        if (status == THENAR_OK) status = fit(wrap, &g, false, mesh, error);
    }
    if (status == THENAR_OK) status = improve(wrap, &g, mesh, error);
    free(g.order);
    return status;
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

/* A solid, and the latest distances by the bits of their points: neighbouring tets share corners and middles of edges. */
#define KEPT_BITS 14

typedef struct kept_distance {
    vec3 point;
    double distance;
} kept_distance;

typedef struct sampler {
    const signed_distance *solid;
    kept_distance *kept; /* 2^KEPT_BITS; NULL: none are kept */
} sampler;

static uint64_t bits_of(double a) {
    uint64_t bits;
    memcpy(&bits, &a, sizeof bits);
    return bits;
}

static double distance_at(const sampler *s, vec3 p) {
    if (!s->kept) return signed_distance_at(s->solid, p, NULL);
    uint64_t hash = bits_of(p.x) * 0x9e3779b97f4a7c15u ^ bits_of(p.y) * 0xc2b2ae3d27d4eb4fu;
    hash = (hash ^ bits_of(p.z)) * 0x165667b19e3779f9u;
    kept_distance *kept = s->kept + (hash >> (64 - KEPT_BITS));
    if (memcmp(&kept->point, &p, sizeof p) != 0) *kept = (kept_distance){p, signed_distance_at(s->solid, p, NULL)};
    return kept->distance;
}

static sampled_tet sample(const sampler *s, const vec3 corner[4]) {
    sampled_tet tet;
    for (int i = 0; i < 4; i++) {
        tet.corner[i] = corner[i];
        tet.value[i] = distance_at(s, corner[i]);
    }
    return tet;
}

/* Eight tets: one at each corner, four inside the octahedron between the middles of the edges. */
static void cut_into_eight(const sampler *s, const sampled_tet *tet, sampled_tet part[8]) {
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
        value[4 + i] = distance_at(s, point[4 + i]);
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

static double share_inside(const sampler *s, const sampled_tet *tet, int depth) {
    double edge = longest_edge(tet->corner);
    for (int i = 0; i < 4; i++)
        if (fabs(tet->value[i]) >= edge) return tet->value[i] < 0 ? 1 : 0;
    if (depth == 0) return fill_of_linear(tet->value);
    sampled_tet part[8];
    cut_into_eight(s, tet, part);
    double sum = 0;
    for (int p = 0; p < 8; p++) sum += share_inside(s, part + p, depth - 1);
    return sum / 8;
}

double fill_of_tet(const signed_distance *solid, const vec3 corner[4]) {
    sampler s = {solid, NULL};
    sampled_tet tet = sample(&s, corner);
    return share_inside(&s, &tet, FILL_DEPTH);
}

void fill_of_mesh(const signed_distance *solid, const thenar_tet_mesh *mesh, double *fill) {
    sampler s = {solid, MEMORY_ARRAY(kept_distance, 1 << KEPT_BITS)};
    for (int i = 0; i < 1 << KEPT_BITS && s.kept; i++) s.kept[i].point = vec3_make(NAN, NAN, NAN);
    for (int t = 0; t < mesh->tet_count; t++) {
        vec3 corner[4];
        tet_mesh_corners(mesh, t, corner);
        sampled_tet tet = sample(&s, corner);
        fill[t] = share_inside(&s, &tet, FILL_DEPTH);
    }
    free(s.kept);
}

static bool reaches(const sampler *s, const sampled_tet *tet, double tolerance, int depth) {
    double edge = longest_edge(tet->corner), lowest = INFINITY, highest = -INFINITY;
    for (int i = 0; i < 4; i++) {
        lowest = fmin(lowest, tet->value[i]);
        highest = fmax(highest, tet->value[i]);
    }
    if (lowest < -tolerance) return true;
    if (depth == 0 || highest >= edge) return false;
    sampled_tet part[8];
    cut_into_eight(s, tet, part);
    for (int p = 0; p < 8; p++)
        if (reaches(s, part + p, tolerance, depth - 1)) return true;
    return false;
}

bool fill_reaches_tet(const signed_distance *solid, const vec3 corner[4], double tolerance) {
    sampler s = {solid, NULL};
    sampled_tet tet = sample(&s, corner);
    return reaches(&s, &tet, tolerance, REACH_DEPTH);
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
