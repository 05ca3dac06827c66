/* The skin of the finger pads with one vertex at each boundary node of the tets, where contact points then are.
 *
 * A contact point moves with the corners of its tet. If points and nodes alternate, a smooth pressure on the nodes is
 * an uneven one on the points. With the points at the nodes, and a third of the triangles around a point as its area A_i,
 * the force on it for a pressure p is the consistent nodal force p A_i.
 *
 * Vertices are inserted at the boundary nodes of a pad, and the other vertices of the pad are merged into them. */
#include "hand/shape.h"

#include "core/memory.h"
#include "geometry/meshing.h"
#include "mesh/mesh.h"

#include <stdlib.h>
#include <string.h>

#define FACING 0.3    /* smallest cosine between the normal and the direction out of the palm */
#define NEAR 0.7      /* weight of a corner at which a node takes that vertex instead of a new one */
#define ON_EDGE 0.08  /* weight of the third corner at which it splits the edge */
#define MERGE 0.026   /* of hand length: twice the distance over which vertices merge */
#define CLOSENESS 0.2 /* of that */

typedef struct pad_triangle {
    int corner[3];
} pad_triangle;

typedef struct pad_skin {
    int original; /* vertices of the skin as it was */
    ARRAY(vec3) place;
    ARRAY(vec3) target; /* where a vertex at a node goes */
    ARRAY(bool) keep;   /* the vertex is at a node */
    ARRAY(int) node;    /* that node, as a vertex of the boundary of the tets, or -1 */
    ARRAY(pad_triangle) triangle;
    double *weight; /* HAND_BONES per vertex */
    size_t weight_capacity;
    ARRAY(int) near; /* triangles around the pad */
} pad_skin;

static bool add_vertex(pad_skin *s, const pad_triangle *t, const double w[3], vec3 target, int node) {
    vec3 p = {0};
    size_t n = s->place.count;
    if (!memory_grow((void **)&s->weight, &s->weight_capacity, (n + 1) * HAND_BONES, sizeof *s->weight)) return false;
    double *weight = s->weight + n * HAND_BONES;
    memset(weight, 0, HAND_BONES * sizeof *weight);
    for (int k = 0; k < 3; k++) {
        p = vec3_mul_add(p, s->place.data[t->corner[k]], w[k]);
        const double *from = s->weight + HAND_BONES * (size_t)t->corner[k];
        for (int i = 0; i < HAND_BONES; i++) weight[i] += w[k] * from[i];
    }
    return ARRAY_PUSH(&s->place, p) && ARRAY_PUSH(&s->target, target) && ARRAY_PUSH(&s->keep, true) &&
           ARRAY_PUSH(&s->node, node);
}

/* Splits a triangle at the edge after corner k, or at its inner point for k < 0. */
static bool split(pad_skin *s, int triangle, int k, int vertex) {
    pad_triangle t = s->triangle.data[triangle];
    for (int i = 0, first = 1; i < 3; i++) {
        if (i == k) continue;
        pad_triangle part = {{t.corner[i], t.corner[(i + 1) % 3], vertex}};
        if (first) {
            s->triangle.data[triangle] = part;
            first = 0;
        } else if (!ARRAY_PUSH(&s->near, (int)s->triangle.count) || !ARRAY_PUSH(&s->triangle, part)) {
            return false;
        }
    }
    return true;
}

/* The other triangle at an edge and the place of the edge in it; -1: none among those near. */
static int across(const pad_skin *s, int from, int to, int *k) {
    for (size_t i = 0; i < s->near.count; i++) {
        const int *c = s->triangle.data[s->near.data[i]].corner;
        for (*k = 0; *k < 3; *k += 1)
            if (c[*k] == to && c[(*k + 1) % 3] == from) return s->near.data[i];
    }
    return -1;
}

/* A vertex at a node: one that is there, or a new one. */
static bool add_node(pad_skin *s, vec3 p, int node) {
    int best = -1, feature;
    double min = INFINITY, w[3] = {0};
    for (size_t i = 0; i < s->near.count; i++) {
        const int *c = s->triangle.data[s->near.data[i]].corner;
        triangle_corners t = {{s->place.data[c[0]], s->place.data[c[1]], s->place.data[c[2]]}};
        double weight[3], distance = vec3_distance(closest_in_triangle(&t, p, weight, &feature), p);
        if (distance >= min) continue;
        min = distance;
        best = s->near.data[i];
        memcpy(w, weight, sizeof w);
    }
    if (best < 0) return true;
    pad_triangle t = s->triangle.data[best];
    int largest = w[0] > w[1] ? (w[0] > w[2] ? 0 : 2) : (w[1] > w[2] ? 1 : 2);
    int smallest = w[0] < w[1] ? (w[0] < w[2] ? 0 : 2) : (w[1] < w[2] ? 1 : 2);
    int vertex = t.corner[largest];
    if (w[largest] > NEAR) {
        if (s->keep.data[vertex]) return true; /* two nodes at one vertex: one of them is it */
        s->keep.data[vertex] = true;
        s->target.data[vertex] = p;
        s->node.data[vertex] = node;
        return true;
    }
    vertex = (int)s->place.count;
    if (w[smallest] > ON_EDGE) return add_vertex(s, &t, w, p, node) && split(s, best, -1, vertex);
    int edge = (smallest + 1) % 3, there, other = across(s, t.corner[edge], t.corner[(edge + 1) % 3], &there);
    double sum = 1 - w[smallest], on_edge[3] = {w[0] / sum, w[1] / sum, w[2] / sum};
    on_edge[smallest] = 0;
    if (other < 0) return true;
    return add_vertex(s, &t, on_edge, p, node) && split(s, best, edge, vertex) && split(s, other, there, vertex);
}

/* Triangles with a corner in the pad. */
static bool list_near(pad_skin *s, const bool *of_pad) {
    bool good = true;
    s->near.count = 0;
    for (size_t t = 0; t < s->triangle.count && good; t++) {
        const int *c = s->triangle.data[t].corner;
        bool here = false;
        for (int k = 0; k < 3; k++) here |= c[k] < s->original && of_pad[c[k]];
        if (here) good = ARRAY_PUSH(&s->near, (int)t);
    }
    return good;
}

static bool is_on_pad(const hand_node *node, const hand_frame *frame, int bone, vec3 p, vec3 normal) {
    return !node->in_bone && node->weight[bone] > 0.5 && vec3_dot(normal, hand_frame_up(frame)) < -FACING &&
           vec3_dot(vec3_sub(p, frame->position), hand_frame_along(frame)) > 0;
}

/* The point of the skin below a node of the boundary; a node inside the skin stays. */
static vec3 onto_skin(const signed_distance *solid, vec3 p) {
    for (int i = 0; i < 3; i++) {
        vec3 normal;
        double distance = signed_distance_at(solid, p, &normal);
        if (distance <= 0) break;
        p = vec3_mul_add(p, normal, -distance);
    }
    return p;
}

static bool add_nodes(pad_skin *s, const signed_distance *solid, const boundary *b, const vec3 *normal,
                      const hand_node *node, const hand_frame *frame, int bone) {
    bool good = true;
    for (int v = 0; v < b->surface.vertex_count && good; v++) {
        vec3 p = surface_vertex(&b->surface, v);
        if (is_on_pad(&node[b->node[v]], frame, bone, p, normal[v])) good = add_node(s, onto_skin(solid, p), v);
    }
    return good;
}

static bool take_skin(const thenar_surface *skin, const double *weight, pad_skin *s) {
    size_t vertices = (size_t)skin->vertex_count;
    s->original = skin->vertex_count;
    bool good = memory_grow((void **)&s->weight, &s->weight_capacity, vertices * HAND_BONES, sizeof *s->weight);
    if (good) memcpy(s->weight, weight, vertices * HAND_BONES * sizeof *weight);
    for (int v = 0; v < skin->vertex_count && good; v++) {
        vec3 p = surface_vertex(skin, v);
        good = ARRAY_PUSH(&s->place, p) && ARRAY_PUSH(&s->target, p) && ARRAY_PUSH(&s->keep, false) &&
               ARRAY_PUSH(&s->node, -1);
    }
    for (int t = 0; t < skin->triangle_count && good; t++) {
        pad_triangle triangle;
        memcpy(triangle.corner, surface_triangle(skin, t), sizeof triangle.corner);
        good = ARRAY_PUSH(&s->triangle, triangle);
    }
    return good;
}

/* Edges: those of the boundary of the tets replace others between the same nodes, so that a third of the triangles
 * around a vertex is a third of the faces around its node. */

#define FLIP_PASSES 12
#define FLIP_SHAPE 0.05 /* smallest shape of a new triangle, 1 for equal sides */

typedef struct pad_edge {
    int from, to;
    int corner; /* 3 triangle + k: the edge starts there */
} pad_edge;

static int by_ends(const void *left, const void *right) {
    const pad_edge *a = left, *b = right;
    if (a->from != b->from) return a->from < b->from ? -1 : 1;
    return a->to < b->to ? -1 : a->to > b->to;
}

static pad_edge *list_edges(const int *triangles, int count) {
    pad_edge *edges = MEMORY_ARRAY(pad_edge, 3 * (size_t)count);
    for (int i = 0; i < 3 * count && edges; i++)
        edges[i] = (pad_edge){triangles[i], triangles[i - i % 3 + (i + 1) % 3], i};
    if (edges) qsort(edges, 3 * (size_t)count, sizeof *edges, by_ends);
    return edges;
}

static const pad_edge *find_edge(const pad_edge *edges, int count, int from, int to) {
    pad_edge key = {.from = from, .to = to};
    return bsearch(&key, edges, 3 * (size_t)count, sizeof key, by_ends);
}

static double shape_towards(vec3 a, vec3 b, vec3 c, vec3 normal) {
    vec3 ab = vec3_sub(b, a), bc = vec3_sub(c, b), ca = vec3_sub(a, c);
    double squares = vec3_dot(ab, ab) + vec3_dot(bc, bc) + vec3_dot(ca, ca);
    return squares > 0 ? 2 * sqrt(3) * vec3_dot(vec3_cross(ab, vec3_sub(c, a)), normal) / squares : 0;
}

/* Whether the edge ab between triangles abc and bad should be cd. */
static bool should_flip(const pad_skin *s, const pad_edge *wanted, int faces, int a, int b, int c, int d) {
    const int *node = s->node.data;
    const vec3 *p = s->target.data;
    if (node[a] < 0 || node[b] < 0 || node[c] < 0 || node[d] < 0) return false;
    if (find_edge(wanted, faces, node[a], node[b])) return false;
    vec3 normal = vec3_unit(vec3_add(vec3_cross(vec3_sub(p[b], p[a]), vec3_sub(p[c], p[a])),
                                     vec3_cross(vec3_sub(p[a], p[b]), vec3_sub(p[d], p[b]))));
    double after = fmin(shape_towards(p[a], p[d], p[c], normal), shape_towards(p[d], p[b], p[c], normal));
    double before = fmin(shape_towards(p[a], p[b], p[c], normal), shape_towards(p[b], p[a], p[d], normal));
    return after > FLIP_SHAPE && (find_edge(wanted, faces, node[c], node[d]) || after > before);
}

static bool flip_edges(const pad_skin *s, const boundary *b, simple_surface *left) {
    pad_edge *wanted = list_edges(b->surface.triangles, b->surface.triangle_count);
    bool *changed = MEMORY_ARRAY(bool, left->triangle_count), good = wanted && changed;
    int faces = b->surface.triangle_count, flips = 1, *corners = left->triangles;
    for (int pass = 0; pass < FLIP_PASSES && good && flips > 0; pass++) {
        pad_edge *edges = list_edges(corners, left->triangle_count);
        good = edges;
        flips = 0;
        memset(changed, 0, (size_t)left->triangle_count * sizeof *changed);
        for (int i = 0; i < 3 * left->triangle_count && good; i++) {
            pad_edge e = edges[i];
            bool first = e.from < e.to && s->node.data[e.from] >= 0;
            const pad_edge *back = first ? find_edge(edges, left->triangle_count, e.to, e.from) : NULL;
            if (!back || changed[e.corner / 3] || changed[back->corner / 3]) continue;
            int *t = corners + 3 * (e.corner / 3), *u = corners + 3 * (back->corner / 3);
            int c = t[(e.corner + 2) % 3], d = u[(back->corner + 2) % 3];
            if (find_edge(edges, left->triangle_count, c, d) || find_edge(edges, left->triangle_count, d, c)) continue;
            if (!should_flip(s, wanted, faces, e.from, e.to, c, d)) continue;
            t[0] = e.from, t[1] = d, t[2] = c;
            u[0] = d, u[1] = e.to, u[2] = c;
            changed[e.corner / 3] = changed[back->corner / 3] = true;
            flips++;
        }
        free(edges);
    }
    free(wanted);
    free(changed);
    return good;
}

/* Writes the vertices that are left, renumbered. */
static thenar_status give_skin(const pad_skin *s, const simple_surface *left, thenar_surface *skin, double **weight,
                               thenar_error *error) {
    size_t vertices = (size_t)left->vertex_count, triangles = (size_t)left->triangle_count;
    double *positions = MEMORY_ARRAY(double, 3 * vertices), *weights = MEMORY_ARRAY(double, HAND_BONES * vertices);
    int *corners = MEMORY_ARRAY(int, 3 * triangles), *number = MEMORY_ARRAY(int, s->place.count);
    bool have = positions && weights && corners && number;
    for (size_t v = 0; v < vertices && have; v++) {
        int old = left->vertex[v];
        number[old] = (int)v;
        vec3_store(positions + 3 * v, s->target.data[old]);
        memcpy(weights + HAND_BONES * v, s->weight + HAND_BONES * (size_t)old, HAND_BONES * sizeof *weights);
    }
    for (size_t i = 0; i < 3 * triangles && have; i++) corners[i] = number[left->triangles[i]];
    free(number);
    if (!have) {
        free(positions);
        free(weights);
        free(corners);
        return error_memory(error, "hand");
    }
    free(skin->positions);
    free(skin->triangles);
    free(*weight);
    *skin = (thenar_surface){.vertex_count = left->vertex_count,
                             .triangle_count = left->triangle_count,
                             .positions = positions,
                             .triangles = corners};
    *weight = weights;
    return THENAR_OK;
}

/* Merges the vertices of the pads that are not at nodes into those that are. */
static thenar_status merge(const pad_skin *s, const boundary *b, const bool *of_pad, double spacing,
                           thenar_surface *skin, double **weight, thenar_error *error) {
    size_t vertices = s->place.count;
    double *target = MEMORY_ARRAY(double, vertices), *positions = MEMORY_ARRAY(double, 3 * vertices);
    simple_surface left = {0};
    thenar_status status = target && positions ? THENAR_OK : error_memory(error, "hand");
    for (size_t v = 0; v < vertices && status == THENAR_OK; v++) {
        vec3_store(positions + 3 * v, s->place.data[v]);
        target[v] = s->keep.data[v] || ((int)v < s->original && of_pad[v]) ? spacing : 0;
    }
    if (status == THENAR_OK) {
        thenar_surface split = {.vertex_count = (int)vertices,
                                .triangle_count = (int)s->triangle.count,
                                .positions = positions,
                                .triangles = s->triangle.data->corner};
        status = surface_simplify(&split, target, s->keep.data, CLOSENESS, &left, error);
    }
    if (status == THENAR_OK && !flip_edges(s, b, &left)) status = error_memory(error, "hand");
    if (status == THENAR_OK) status = give_skin(s, &left, skin, weight, error);
    simple_surface_free(&left);
    free(target);
    free(positions);
    return status;
}

thenar_status hand_pads_follow_nodes(hand_size size, const hand_frame *joint, const signed_distance *solid,
                                     const thenar_tet_mesh *mesh, const hand_node *node, thenar_surface *skin,
                                     double **vertex_weight, thenar_error *error) {
    pad_skin s = {0};
    boundary b;
    thenar_status status = boundary_create(mesh, &b, error);
    if (status != THENAR_OK) return status;
    vec3 *normal = MEMORY_ARRAY(vec3, b.surface.vertex_count);
    int *bone_of = MEMORY_ARRAY(int, skin->vertex_count);
    bool *of_pads = MEMORY_ARRAY(bool, skin->vertex_count), *of_pad = MEMORY_ARRAY(bool, skin->vertex_count);
    bool have = normal && bone_of && of_pads && of_pad && take_skin(skin, *vertex_weight, &s);
    if (!have) status = error_memory(error, "hand");
    if (have) surface_vertex_normals(&b.surface, normal);
    for (int v = 0; v < skin->vertex_count && have; v++)
        bone_of[v] = hand_skinning_of(*vertex_weight + HAND_BONES * (size_t)v).bone[0];
    for (int finger = 0; finger < HAND_FINGERS && status == THENAR_OK; finger++) {
        hand_region pad;
        int bone = 3 * finger + 3;
        status = hand_region_find_pad(skin, bone_of, bone, joint, &pad, error);
        memset(of_pad, 0, (size_t)skin->vertex_count * sizeof *of_pad);
        for (int i = 0; i < pad.count && status == THENAR_OK; i++)
            of_pads[pad.vertex[i]] = of_pad[pad.vertex[i]] = true;
        hand_region_free(&pad);
        bool good = status != THENAR_OK || (list_near(&s, of_pad) && add_nodes(&s, solid, &b, normal, node,
                                                                                &joint[hand_bone_joint(bone)], bone));
        if (!good) status = error_memory(error, "hand");
    }
    if (status == THENAR_OK) status = merge(&s, &b, of_pads, MERGE * size.length, skin, vertex_weight, error);
    boundary_free(&b);
    free(normal);
    free(bone_of);
    free(of_pads);
    free(of_pad);
    free(s.place.data);
    free(s.target.data);
    free(s.keep.data);
    free(s.node.data);
    free(s.triangle.data);
    free(s.weight);
    free(s.near.data);
    return status;
}
