/* Graded tets of a hand: fine at the finger pads, coarser towards the back and the inside.
 *
 * The start is the mesh of rings (rings.c), whose nodes around bones stay where they are. Edges are halved, the longest
 * first relative to the wanted size at their place, together with all tets around them, so that faces always match.
 * The middle of an edge between two nodes of a bone is a node of that bone.
 *
 * Tried and rejected: halving edges of the coarse mesh and moving nodes to the surfaces of bones. Long tets met in a few
 * nodes on the axis, and a bone got one to eight nodes. */
#include "hand/shape.h"

#include "core/memory.h"
#include "geometry/meshing.h"
#include "mesh/mesh.h"

#include <stdlib.h>
#include <string.h>

/* Wanted edge lengths at the skin, mm for a hand of 190 mm; only their ratios count, the number of tets decides. */
typedef struct grade_sizes {
    int tets;
    double pad, finger, palm, back;
} grade_sizes;

static const grade_sizes grades[] = {
    [THENAR_HAND_MEDIUM] = {4000, 0.7, 6.0, 12.0, 14.0}, [THENAR_HAND_FINE] = {15000, 0.7, 4.0, 6.0, 10.0}};

#define LENGTH 0.19        /* m, of the hand to which these sizes belong */
#define SIDE_GROWTH 0.5    /* of the size with the distance from a pad */
#define DEPTH_GROWTH 0.3   /* of the size with the depth below the skin */
#define AT_JOINTS 0.85     /* of the size on fingers, near their joints */
#define SWEEP_SHARE 0.75   /* a sweep halves edges down to this share of the longest */
#define COVER_QUALITY 0.35 /* radius ratio, of the base */
#define FIT_QUALITY 0.25   /* of the refined mesh */
#define FIRST_TURNS 1
#define LAST_TURNS 4

typedef struct grading {
    const hand_bones *bones;
    grade_sizes wanted;
    double mm; /* a millimetre of a hand of 190 mm, m */
} grading;

static double ramp(double x, double low, double high) {
    double t = fmin(fmax((x - low) / (high - low), 0), 1);
    return t * t * (3 - 2 * t);
}

/* Distance from the pad of a distal bone: from the part of the fingertip that is palmar of the bone. */
static double from_pad(const bone_axis *bone, vec3 p) {
    vec3 d = vec3_sub(p, bone->start);
    double along = vec3_dot(d, bone->along), end = bone->length;
    double half = bone->half, low = -0.5 * half;
    double a = fmax(fmax(0.3 * end - along, along - end - half), 0);
    double u = fmax(fabs(vec3_dot(d, bone->side)) - half, 0), v = fmax(vec3_dot(d, bone->up) - low, 0);
    return sqrt(a * a + u * u + v * v);
}

/* The bone whose axis is nearest, and the way from there. */
static const bone_axis *nearest_bone(const hand_bones *bones, vec3 p, vec3 *way, double *to_joint) {
    const bone_axis *best = bones->axis;
    double min = INFINITY;
    for (int i = 0; i < bones->count; i++) {
        const bone_axis *bone = &bones->axis[i];
        double along = vec3_dot(vec3_sub(p, bone->start), bone->along), end = bone->length;
        vec3 from = vec3_mul_add(bone->start, bone->along, fmin(fmax(along, 0), end));
        double distance = vec3_distance(p, from);
        if (distance >= min) continue;
        min = distance;
        best = bone;
        *way = vec3_sub(p, from);
        *to_joint = fmin(fabs(along), bone->half > 0 ? INFINITY : fabs(end - along));
    }
    return best;
}

static double wanted_size(const grading *g, vec3 p) {
    vec3 way = {0};
    double to_joint = 0, depth = fmax(-signed_distance_at(g->bones->solid, p, NULL) - 0.5 * g->mm, 0);
    const bone_axis *bone = nearest_bone(g->bones, p, &way, &to_joint);
    double up = vec3_dot(way, bone->up) / fmax(vec3_length(way), 1e-9);
    bool of_palm = bone->number <= 1;
    double palmar = of_palm ? g->wanted.palm : g->wanted.finger, dorsal = g->wanted.back;
    double size = g->mm * (palmar + (dorsal - palmar) * ramp(up, -0.5, 0.8));
    if (!of_palm) size *= AT_JOINTS + (1 - AT_JOINTS) * ramp(to_joint, 3 * g->mm, 7 * g->mm);
    for (int i = 0; i < g->bones->count; i++)
        if (g->bones->axis[i].half > 0)
            size = fmin(size, g->wanted.pad * g->mm + SIDE_GROWTH * from_pad(&g->bones->axis[i], p));
    return size + DEPTH_GROWTH * depth;
}

/* The mesh while edges are being halved. */

typedef struct graded_tet {
    int node[4];
    int group;
} graded_tet;

typedef struct graded_mesh {
    ARRAY(vec3) place;
    ARRAY(hand_node) node;
    ARRAY(double) size; /* wanted at the node */
    ARRAY(graded_tet) tet;
} graded_mesh;

/* An edge of one tet. */
typedef struct split_edge {
    int low, high;
    int tet;
    double length; /* relative to the wanted size */
} split_edge;

static int by_nodes(const void *left, const void *right) {
    const split_edge *a = left, *b = right;
    if (a->low != b->low) return a->low < b->low ? -1 : 1;
    if (a->high != b->high) return a->high < b->high ? -1 : 1;
    return a->tet < b->tet ? -1 : a->tet > b->tet;
}

/* Longest first. */
static int by_length(const void *left, const void *right) {
    const split_edge *a = left, *b = right;
    if (a->length != b->length) return a->length > b->length ? -1 : 1;
    return by_nodes(left, right);
}

static bool same_edge(const split_edge *a, const split_edge *b) {
    return a->low == b->low && a->high == b->high;
}

static void list_edges(const graded_mesh *m, split_edge *edges) {
    static const int ends[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
    size_t count = 0;
    for (size_t t = 0; t < m->tet.count; t++)
        for (int k = 0; k < 6; k++) {
            int a = m->tet.data[t].node[ends[k][0]], b = m->tet.data[t].node[ends[k][1]];
            double length = vec3_distance(m->place.data[a], m->place.data[b]);
            double size = 0.5 * (m->size.data[a] + m->size.data[b]);
            edges[count++] = (split_edge){a < b ? a : b, a < b ? b : a, (int)t, length / size};
        }
    qsort(edges, count, sizeof *edges, by_nodes);
}

static bool add_middle(const grading *g, graded_mesh *m, int a, int b) {
    vec3 place = vec3_scale(vec3_add(m->place.data[a], m->place.data[b]), 0.5);
    hand_node node = m->node.data[a];
    for (int i = 0; i < HAND_BONES; i++) node.weight[i] = 0.5 * (node.weight[i] + m->node.data[b].weight[i]);
    node.core = 0.5 * (node.core + m->node.data[b].core);
    node.in_bone = m->node.data[a].in_bone && m->node.data[b].in_bone &&
                   memcmp(m->node.data[a].weight, m->node.data[b].weight, sizeof node.weight) == 0;
    return ARRAY_PUSH(&m->place, place) && ARRAY_PUSH(&m->node, node) && ARRAY_PUSH(&m->size, wanted_size(g, place));
}

static bool split_tet(graded_mesh *m, const split_edge *edge, int middle) {
    graded_tet *lower = &m->tet.data[edge->tet], upper = *lower;
    for (int i = 0; i < 4; i++) {
        if (lower->node[i] == edge->high) lower->node[i] = middle;
        if (upper.node[i] == edge->low) upper.node[i] = middle;
    }
    return ARRAY_PUSH(&m->tet, upper);
}

/* One sweep. False when out of memory. */
static bool sweep(const grading *g, graded_mesh *m, size_t target, split_edge *edges, split_edge *order, bool *split) {
    size_t listed = 6 * m->tet.count, count = 0;
    list_edges(m, edges);
    for (size_t i = 0; i < listed; i++) {
        if (i > 0 && same_edge(&edges[i], &edges[i - 1])) continue;
        order[count] = edges[i];
        order[count++].tet = (int)i; /* the first occurrence represents all */
    }
    qsort(order, count, sizeof *order, by_length);
    for (size_t i = 0; i < count && m->tet.count < target; i++) {
        const split_edge *edge = &edges[order[i].tet], *end = edges + listed;
        if (order[i].length < SWEEP_SHARE * order[0].length) break;
        int around = 0;
        bool fresh = true;
        for (const split_edge *e = edge; e < end && same_edge(e, edge); e++, around++) fresh &= !split[e->tet];
        /* Edges that meet a split tet wait for the next sweep, as do shorter edges beside them. */
        for (int k = 0; k < around; k++) split[edge[k].tet] = true;
        if (!fresh) continue;
        int middle = (int)m->place.count;
        if (!add_middle(g, m, edge->low, edge->high)) return false;
        for (int k = 0; k < around; k++)
            if (!split_tet(m, &edge[k], middle)) return false;
    }
    return true;
}

/* Halves edges until there are `target` tets. False when out of memory. */
static bool halve_edges(const grading *g, size_t target, graded_mesh *m) {
    while (m->tet.count < target) {
        split_edge *edges = MEMORY_ARRAY(split_edge, 6 * m->tet.count);
        split_edge *order = MEMORY_ARRAY(split_edge, 6 * m->tet.count);
        bool *split = MEMORY_ARRAY(bool, m->tet.count);
        bool done = edges && order && split && sweep(g, m, target, edges, order, split);
        free(edges);
        free(order);
        free(split);
        if (!done) return false;
    }
    return true;
}

static bool take_mesh(const grading *g, const thenar_tet_mesh *mesh, const hand_node *nodes, graded_mesh *m) {
    bool good = true;
    for (int n = 0; n < mesh->node_count && good; n++)
        good = ARRAY_PUSH(&m->place, tet_mesh_node(mesh, n)) && ARRAY_PUSH(&m->node, nodes[n]) &&
               ARRAY_PUSH(&m->size, wanted_size(g, tet_mesh_node(mesh, n)));
    for (int t = 0; t < mesh->tet_count && good; t++) {
        graded_tet tet = {.group = mesh->tags[t]};
        memcpy(tet.node, tet_mesh_tet(mesh, t), sizeof tet.node);
        good = ARRAY_PUSH(&m->tet, tet);
    }
    return good;
}

static thenar_status give_mesh(graded_mesh *m, thenar_tet_mesh *mesh, hand_node **nodes, thenar_error *error) {
    thenar_tet_mesh made;
    thenar_status status = tet_mesh_create((int)m->place.count, (int)m->tet.count, true, &made, error);
    if (status != THENAR_OK) return status;
    for (size_t n = 0; n < m->place.count; n++) vec3_store(made.positions + 3 * n, m->place.data[n]);
    for (size_t t = 0; t < m->tet.count; t++) {
        memcpy(made.tets + 4 * t, m->tet.data[t].node, sizeof m->tet.data[t].node);
        made.tags[t] = m->tet.data[t].group;
    }
    thenar_tet_mesh_free(mesh);
    free(*nodes);
    *mesh = made;
    *nodes = m->node.data;
    m->node.data = NULL;
    return THENAR_OK;
}

static thenar_status refine(const grading *g, int tets, thenar_tet_mesh *mesh, hand_node **nodes, thenar_error *error) {
    graded_mesh m = {0};
    bool done = take_mesh(g, mesh, *nodes, &m) && halve_edges(g, (size_t)tets, &m);
    thenar_status status = done ? give_mesh(&m, mesh, nodes, error) : error_memory(error, "hand");
    free(m.place.data);
    free(m.node.data);
    free(m.size.data);
    free(m.tet.data);
    return status;
}

/* Covers the skin or moves the boundary to it; nodes in bones stay. outward: of the nodes, to cover; turns: to fit. */
static thenar_status fit(const tet_wrap *wrap, const vec3 *outward, int turns, thenar_tet_mesh *mesh,
                         const hand_node *nodes, thenar_error *error) {
    bool *fixed = MEMORY_ARRAY(bool, mesh->node_count);
    if (!fixed) return error_memory(error, "hand");
    for (int n = 0; n < mesh->node_count; n++) fixed[n] = nodes[n].in_bone && nodes[n].core == 1;
    tet_wrap bound = *wrap;
    bound.fixed = fixed;
    bound.quality = outward ? COVER_QUALITY : FIT_QUALITY;
    thenar_status status =
        outward ? tet_wrap_cover_carefully(&bound, outward, mesh, error) : tet_wrap_fit(&bound, turns, mesh, error);
    free(fixed);
    return status;
}

thenar_status hand_tets_grade(const hand_bones *bones, const tet_wrap *wrap, const vec3 *outward,
                              thenar_hand_detail detail, thenar_tet_mesh *mesh, hand_node **nodes,
                              thenar_error *error) {
    grading g = {bones, grades[detail], bones->size.length / LENGTH * 1e-3};
    thenar_status status = fit(wrap, outward, 0, mesh, *nodes, error);
    if (status == THENAR_OK) status = fit(wrap, NULL, FIRST_TURNS, mesh, *nodes, error);
    if (status == THENAR_OK) status = refine(&g, g.wanted.tets, mesh, nodes, error);
    return status == THENAR_OK ? fit(wrap, NULL, LAST_TURNS, mesh, *nodes, error) : status;
}
