/* Halving edges. An edge is split in its middle together with all tets around it; the middle of an edge of the skin is
 * put on the skin. The edge that is longest over the wanted size
 *
 *     size(p) = 1 + distance(p, pad) / 8 mm    (a measure; only ratios count)
 *
 * comes first, and so no tet gets long: an edge is never halved beside a longer one of the same tet.
 *
 * Edges are listed and sorted anew in every sweep; in a sweep a tet is split at most once. */
#include "shape/finger_half.h"

#include <math.h>
#include <stdlib.h>

#define PAD_FROM 0.003 /* of the tip, m: the middle of what is fine */
#define PAD_TO 0.014
#define PAD_RADIUS 0.003
#define GROWTH 0.008
#define COARSEST 4
#define SWEEP_SHARE 0.75 /* a sweep halves edges down to this share of the longest */

static const uint8_t corner_pairs[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};

/* An edge as one of its tets has it. */
typedef struct half_edge {
    int low, high; /* nodes */
    int tet;
    double length; /* over the wanted size */
} half_edge;

static double wanted_size(vec3 p) {
    double s = fmin(fmax(p.z, PAD_FROM), PAD_TO);
    double distance = vec3_distance(p, finger_skin_point(s, 0));
    return fmin(1 + fmax(distance - PAD_RADIUS, 0) / GROWTH, COARSEST);
}

static int by_nodes(const void *left, const void *right) {
    const half_edge *a = left, *b = right;
    if (a->low != b->low) return a->low < b->low ? -1 : 1;
    if (a->high != b->high) return a->high < b->high ? -1 : 1;
    return a->tet < b->tet ? -1 : a->tet > b->tet;
}

/* Longest first. */
static int by_length(const void *left, const void *right) {
    const half_edge *a = left, *b = right;
    if (a->length != b->length) return a->length > b->length ? -1 : 1;
    return by_nodes(left, right);
}

static void list_edges(const finger_half *half, half_edge *edges) {
    size_t count = 0;
    for (size_t t = 0; t < half->tets.count; t++)
        for (int k = 0; k < 6; k++) {
            int a = half->tets.data[t].node[corner_pairs[k][0]], b = half->tets.data[t].node[corner_pairs[k][1]];
            vec3 p = half->nodes.data[a].place, q = half->nodes.data[b].place;
            double size = wanted_size(vec3_scale(vec3_add(p, q), 0.5));
            edges[count++] = (half_edge){a < b ? a : b, a < b ? b : a, (int)t, vec3_distance(p, q) / size};
        }
    qsort(edges, count, sizeof *edges, by_nodes);
}

static bool same_edge(const half_edge *a, const half_edge *b) {
    return a->low == b->low && a->high == b->high;
}

static int corner_of(const half_tet *tet, int node) {
    for (int i = 0; i < 4; i++)
        if (tet->node[i] == node) return i;
    return -1;
}

/* A new node in the middle of an edge, `count` times there with its tets. */
static bool add_middle(finger_half *half, const half_edge *edge, int count) {
    const half_node *a = &half->nodes.data[edge->low], *b = &half->nodes.data[edge->high];
    half_node middle = {.place = vec3_scale(vec3_add(a->place, b->place), 0.5)};
    for (int i = 0; i < count; i++) {
        const half_tet *tet = &half->tets.data[edge[i].tet];
        int at_ends = 1 << corner_of(tet, edge->low) | 1 << corner_of(tet, edge->high);
        middle.on_skin |= (tet->skin & ~at_ends) != 0;
        middle.of_bone |= tet->tag == FINGER_BONE;
    }
    if (middle.on_skin) middle.place = finger_skin_above(middle.place);
    return ARRAY_PUSH(&half->nodes, middle);
}

static bool split_tet(finger_half *half, const half_edge *edge, int middle) {
    half_tet *tet = &half->tets.data[edge->tet], upper = *tet;
    int low = corner_of(tet, edge->low), high = corner_of(tet, edge->high);
    /* The half that keeps an end has a new face opposite to it. */
    tet->node[high] = middle;
    tet->skin &= (uint8_t) ~(1 << low);
    upper.node[low] = middle;
    upper.skin &= (uint8_t) ~(1 << high);
    return ARRAY_PUSH(&half->tets, upper);
}

/* One sweep. Returns false when memory runs out. */
static bool sweep(finger_half *half, size_t target_tets, half_edge *edges, half_edge *order, bool *split) {
    size_t listed = 6 * half->tets.count, count = 0;
    list_edges(half, edges);
    for (size_t i = 0; i < listed; i++) {
        if (i > 0 && same_edge(&edges[i], &edges[i - 1])) continue;
        order[count] = edges[i];
        order[count++].tet = (int)i; /* of all, where it is first */
    }
    qsort(order, count, sizeof *order, by_length);
    for (size_t i = 0; i < count && half->tets.count < target_tets; i++) {
        const half_edge *edge = &edges[order[i].tet], *end = edges + listed;
        if (order[i].length < SWEEP_SHARE * order[0].length) break;
        int around = 0;
        bool fresh = true;
        for (const half_edge *e = edge; e < end && same_edge(e, edge); e++, around++) fresh &= !split[e->tet];
        /* What meets a tet that is done waits, and so do the shorter edges beside it. */
        for (int k = 0; k < around; k++) split[edge[k].tet] = true;
        if (!fresh) continue;
        int middle = (int)half->nodes.count;
        if (!add_middle(half, edge, around)) return false;
        for (int k = 0; k < around; k++)
            if (!split_tet(half, &edge[k], middle)) return false;
    }
    return true;
}

bool finger_half_refine(finger_half *half, size_t target_tets) {
    bool done = true;
    while (done && half->tets.count < target_tets) {
        half_edge *edges = MEMORY_ARRAY(half_edge, 6 * half->tets.count);
        half_edge *order = MEMORY_ARRAY(half_edge, 6 * half->tets.count);
        bool *split = MEMORY_ARRAY(bool, half->tets.count);
        done = edges && order && split && sweep(half, target_tets, edges, order, split);
        free(edges);
        free(order);
        free(split);
    }
    return done;
}
