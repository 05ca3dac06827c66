/* Tets of a hand: sections across palm and fingers, layers of tets between them, and refinement. */
#include "hand/sections.h"

#include "core/memory.h"
#include "geometry/meshing.h"
#include "mesh/mesh.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define MARGIN 1.05      /* of a section over the hand: straight edges between sections cut into round shapes */
#define TIP_SIZE 0.66    /* of a finger's last section over that in the middle of the last bone */
#define TIP_BEYOND 0.025 /* of the last section beyond the end of the last joint, over hand length */
#define THUMB_FIRST 0.84 /* position of the thumb's first section on its first bone */

static vec3 mid(vec3 a, vec3 b) {
    return vec3_scale(vec3_add(a, b), 0.5);
}

static vec3 mix(vec3 a, vec3 b, double t) {
    return vec3_add(vec3_scale(a, 1 - t), vec3_scale(b, t));
}

/* How far the hand extends from an inner point in a direction, at most `limit`. */
double hand_reach(const hand_maker *m, vec3 from, vec3 way, double limit) {
    double step = 0.004 * m->size.breadth, at = 0;
    while (at < limit && signed_distance_at(m->solid, vec3_mul_add(from, way, at + step), NULL) <= 0) at += step;
    return MARGIN * fmin(at + step, limit);
}

/* The frames of a finger's joints; the thumb starts one joint earlier than the others. */
const hand_frame *hand_chain(const hand_maker *m, int finger) {
    return m->joint + (finger == 0 ? HAND_THUMB_METACARPAL : HAND_INDEX_PROXIMAL + 5 * (finger - 1));
}

/* The point at a position along the bones of a finger; beyond the last one extended straight, in units of its length. */
vec3 hand_chain_point(const hand_frame *chain, double place) {
    int i = place < 1 ? 0 : place < 2 ? 1 : 2;
    return vec3_add(chain[i].position, vec3_scale(vec3_sub(chain[i + 1].position, chain[i].position), place - i));
}

/* The nearest position on the first bone. */
static double first_bone_place(const hand_frame *chain, vec3 p) {
    vec3 way = vec3_sub(chain[1].position, chain[0].position);
    return vec3_dot(vec3_sub(p, chain[0].position), way) / vec3_dot(way, way);
}

static hand_section rectangle(vec3 middle, vec3 side, vec3 up, const double extent[4], double place) {
    hand_section s = {.place = place};
    for (int k = 0; k < 4; k++) {
        double x = k == 1 || k == 2 ? extent[0] : -extent[1], y = k < 2 ? extent[2] : -extent[3];
        s.corner[k] = vec3_mul_add(vec3_mul_add(middle, side, x), up, y);
    }
    s.corner[4] = middle;
    return s;
}

/* The rectangle around a finger: extents to +side, -side, up, down. Joints have the mean direction of their bones. */
static hand_section finger_section(const hand_maker *m, int finger, double place) {
    const hand_frame *chain = hand_chain(m, finger);
    double last = vec3_distance(chain[3].position, chain[2].position);
    double end = 3 + TIP_BEYOND * m->size.length / last, limit = (finger == 0 ? 0.20 : 0.13) * m->size.breadth;
    bool tip = place > 2.999;
    double form = tip ? 2.6 : place;
    vec3 middle = hand_chain_point(chain, form);
    int i = form < 1 ? 0 : form < 2 ? 1 : 2;
    bool at_joint = i > 0 && form - i < 1e-9;
    const hand_frame *a = &chain[at_joint ? i - 1 : i], *b = &chain[i];
    vec3 side = vec3_unit(vec3_add(hand_frame_side(a), hand_frame_side(b)));
    vec3 up = vec3_unit(vec3_add(hand_frame_up(a), hand_frame_up(b)));
    double extent[4] = {hand_reach(m, middle, side, limit), hand_reach(m, middle, vec3_scale(side, -1), limit),
                        hand_reach(m, middle, up, limit), hand_reach(m, middle, vec3_scale(up, -1), limit)};
    for (int k = 0; k < 4 && tip; k++) extent[k] *= TIP_SIZE;
    return rectangle(hand_chain_point(chain, tip ? end : place), side, up, extent, tip ? 3 : place);
}

/* Sections from one position to another, without the first. */
static void add_sections(hand_maker *m, int finger, double from, double to, int layers) {
    for (int i = 1; i <= layers; i++) {
        assert(m->out->count[finger] < HAND_FINGER_LIMIT);
        m->out->finger[finger][m->out->count[finger]++] =
            finger_section(m, finger, i == layers ? to : from + (to - from) * i / layers);
    }
}

/* The edge of the web between a finger and the next: from between their knuckles as far as there is flesh. */
static vec3 web_between(const hand_maker *m, int finger) {
    const hand_frame *a = hand_chain(m, finger), *b = hand_chain(m, finger + 1);
    vec3 start = mid(a->position, b->position), down = {0, -0.03 * m->size.breadth, 0};
    vec3 way = vec3_unit(vec3_add(hand_frame_along(a), hand_frame_along(b)));
    vec3 from = vec3_add(start, down);
    return vec3_mul_add(from, way, hand_reach(m, from, way, 0.2 * m->size.length));
}

/* The edges of the webs, and the place on each finger where its web ends. */
void hand_webs_find(const hand_maker *m, vec3 edge[HAND_RAYS - 1], double web[HAND_RAYS]) {
    for (int i = 0; i < HAND_RAYS - 1; i++) edge[i] = web_between(m, i + 1);
    for (int ray = 0; ray < HAND_RAYS; ray++) {
        const hand_frame *chain = hand_chain(m, ray + 1);
        double before = first_bone_place(chain, edge[ray > 0 ? ray - 1 : 0]);
        double behind = first_bone_place(chain, edge[ray < HAND_RAYS - 1 ? ray : HAND_RAYS - 2]);
        web[ray] = fmin(fmax((before + behind) / 2, 0.2), 0.7);
    }
}

static void make_middles(hand_maker *m, const double web[HAND_RAYS]) {
    hand_sections *s = m->out;
    int knuckles = s->layers.palm - 1;
    for (int ray = 0; ray < HAND_RAYS; ray++) {
        const hand_frame *chain = hand_chain(m, ray + 1);
        double across = (ray - 1.5) * 0.165 * m->size.breadth;
        vec3 start = {across, -0.02 * m->size.breadth, m->wrist_end + 0.01 * m->size.length};
        for (int j = 0; j <= knuckles; j++) s->middle[ray][j] = mix(start, chain->position, (double)j / knuckles);
        s->middle[ray][knuckles + 1] = hand_chain_point(chain, web[ray]);
    }
}

/* The lines between rays pass through the midpoints of their sections; the outer ones follow the outline of the hand. */
void hand_lines_make(hand_maker *m, const vec3 web[HAND_RAYS - 1]) {
    hand_sections *s = m->out;
    double b = m->size.breadth;
    for (int j = 0; j <= s->layers.palm; j++)
        for (int line = 0; line < HAND_LINES; line++) {
            int left = line > 0 ? line - 1 : 0, right = line < HAND_RAYS ? line : HAND_RAYS - 1;
            vec3 up =
                vec3_unit(vec3_add(hand_frame_up(hand_chain(m, left + 1)), hand_frame_up(hand_chain(m, right + 1))));
            vec3 middle = mid(s->middle[left][j], s->middle[right][j]);
            bool outer = left == right, at_web = j == s->layers.palm;
            /* The first section is as large as the wrist slightly inside its cut. */
            vec3 from = j > 0 ? middle : vec3_add(middle, vec3_make(0, 0, -0.05 * m->size.length)), at = middle;
            double above = hand_reach(m, from, up, 0.3 * b),
                   below = hand_reach(m, from, vec3_scale(up, -1), (line < 2 ? 0.27 : 0.3) * b);
            if (outer) {
                vec3 out = {line == 0 ? -1 : 1, 0, 0};
                /* The flesh of the thumb does not belong to the palm. */
                at = vec3_mul_add(middle, out,
                                  hand_reach(m, from, out, (line == 0 && j > 1 && j < 4 ? 0.13 : 0.19) * b));
            } else if (at_web) {
                const hand_section l = finger_section(m, left + 1, 0.45), r = finger_section(m, right + 1, 0.45);
                at = web[line - 1];
                above = vec3_dot(vec3_sub(mid(l.corner[1], r.corner[0]), at), up);
                below = -vec3_dot(vec3_sub(mid(l.corner[2], r.corner[3]), at), up);
            }
            s->top[line][j] = vec3_mul_add(at, up, above);
            s->bottom[line][j] = vec3_mul_add(at, up, -below);
        }
}

/* The second-last section of the palm is at the knuckles, the last one at the end of the web. For a right hand;
 * wrist_end: z of its cut. */
static void hand_sections_make(hand_size size, const hand_frame joint[HAND_JOINTS], const signed_distance *solid,
                               double wrist_end, hand_layers layers, hand_sections *out) {
    assert(layers.palm >= 3 && layers.palm <= HAND_PALM_LIMIT);
    *out = (hand_sections){.layers = layers};
    hand_maker m = {size, joint, solid, wrist_end, out};
    vec3 edge[HAND_RAYS - 1];
    double web[HAND_RAYS];
    hand_webs_find(&m, edge, web);
    make_middles(&m, web);
    hand_lines_make(&m, edge);
    for (int finger = 1; finger < HAND_FINGERS; finger++) {
        add_sections(&m, finger, web[finger - 1], 1, layers.finger[0]);
        add_sections(&m, finger, 1, 2, layers.finger[1]);
        add_sections(&m, finger, 2, 3, layers.finger[2]);
    }
    add_sections(&m, 0, 0, THUMB_FIRST, 1);
    add_sections(&m, 0, THUMB_FIRST, 1, layers.thumb[0]);
    add_sections(&m, 0, 1, 2, layers.thumb[1]);
    add_sections(&m, 0, 2, 3, layers.thumb[2]);
}

#define THUMB_FROM 1 /* the sections of the palm between which the thumb grows out of its side */
#define CUT_LIMIT 8
#define FIT_TURNS 8
#define COARSE_TETS 600

/* From coarse to fine. */
static const hand_layers layerings[] = {
    {5, {1, 1, 1}, {1, 1, 1}}, {5, {1, 1, 2}, {1, 1, 2}}, {5, {2, 1, 2}, {1, 2, 2}}, {5, {2, 2, 2}, {1, 2, 2}},
    {5, {2, 2, 3}, {1, 2, 3}}, {5, {3, 2, 3}, {1, 3, 3}}, {5, {3, 3, 4}, {1, 3, 4}},
};

/* Node indices of a section: four corners and the middle. */
typedef struct ring {
    int node[5];
} ring;

int hand_add_node(hand_builder *b, vec3 p, hand_node node) {
    if (!ARRAY_PUSH(&b->position, p) || !ARRAY_PUSH(&b->node, node) || !ARRAY_PUSH(&b->outward, vec3_make(0, 0, 0))) {
        b->failed = true;
        return 0;
    }
    return (int)b->position.count - 1;
}

int hand_add_outer_node(hand_builder *b, vec3 p, vec3 from, hand_node node) {
    int n = hand_add_node(b, p, node);
    if (!b->failed) b->outward.data[n] = vec3_unit(vec3_sub(p, from));
    return n;
}

void hand_add_tet(hand_builder *b, int n0, int n1, int n2, int n3) {
    if (b->failed || n0 == n1 || n0 == n2 || n0 == n3 || n1 == n2 || n1 == n3 || n2 == n3) return;
    const vec3 *p = b->position.data;
    vec3 corner[4] = {p[n0], p[n1], p[n2], p[n3]};
    bool turned = tet_volume(corner) < 0;
    b->failed = !(ARRAY_PUSH(&b->tet, n0) && ARRAY_PUSH(&b->tet, n1) && ARRAY_PUSH(&b->tet, turned ? n3 : n2) &&
                  ARRAY_PUSH(&b->tet, turned ? n2 : n3) && ARRAY_PUSH(&b->group, b->adding));
}

/* The prism between a triangle of one section and that of the next: three tets, split by the order of the columns, so
 * that two prisms with a common side agree. */
void hand_add_prism(hand_builder *b, const int near[3], const int far[3], const int rank[3]) {
    int order[3] = {0, 1, 2};
    for (int i = 1; i < 3; i++)
        for (int k = i; k > 0 && rank[order[k]] < rank[order[k - 1]]; k--) {
            int swap = order[k];
            order[k] = order[k - 1];
            order[k - 1] = swap;
        }
    int x = order[0], y = order[1], z = order[2];
    hand_add_tet(b, near[x], near[y], near[z], far[z]);
    hand_add_tet(b, near[x], near[y], far[y], far[z]);
    hand_add_tet(b, near[x], far[x], far[y], far[z]);
}

/* A layer of one ray. Every other layer is split the other way round. */
static void add_layer(hand_builder *b, const ring *near, const ring *far, const int rank[5], bool turned) {
    const ring *from = turned ? far : near, *to = turned ? near : far;
    for (int k = 0; k < 4; k++) {
        int m = (k + 1) % 4;
        hand_add_prism(b, (int[3]){from->node[k], from->node[m], from->node[4]},
                       (int[3]){to->node[k], to->node[m], to->node[4]}, (int[3]){rank[k], rank[m], rank[4]});
    }
}

/* A node at a joint belongs to both bones, elsewhere to one. `place` as in hand_section. */
hand_node hand_node_at(int finger, double place, double core) {
    hand_node n = {.core = core};
    int first = 1 + 3 * finger, i = place < 1 ? 0 : place < 2 ? 1 : 2;
    bool joint = place - i < 1e-9 && i >= 0;
    if (place < 0) {
        n.weight[0] = 1;
    } else if (joint) {
        n.weight[i == 0 ? 0 : first + i - 1] = 0.5;
        n.weight[first + i] = 0.5;
    } else {
        n.weight[first + i] = 1;
    }
    return n;
}

hand_node hand_node_between(const hand_node *a, const hand_node *b, double core) {
    hand_node n = {.core = core};
    for (int i = 0; i < HAND_BONES; i++) n.weight[i] = (a->weight[i] + b->weight[i]) / 2;
    return n;
}

/* Position of a palm section along the bones of a finger: before the knuckle, at it, beyond it. */
static double palm_place(const hand_sections *s, int j) {
    int knuckles = s->layers.palm - 1;
    return j < knuckles ? -1 : j == knuckles ? 0 : 0.4;
}

/* Whether the bones of a node are one, or two with a joint between them. */
bool hand_node_follows_one_chain(const hand_node *n) {
    int first = -1, last = -1, count = 0;
    for (int i = 0; i < HAND_BONES; i++) {
        if (!(n->weight[i] > 0)) continue;
        if (first < 0) first = i;
        last = i;
        count++;
    }
    bool joined = last == first + 1 ? last % 3 != 1 || last == 1 : first == 0 && last % 3 == 1;
    return count == 1 || (count == 2 && joined);
}

static void add_palm(hand_builder *b, const hand_sections *s, ring section[HAND_RAYS][HAND_PALM_LIMIT + 1]) {
    for (int j = 0; j <= s->layers.palm; j++) {
        int top[HAND_LINES], bottom[HAND_LINES];
        for (int line = 0; line < HAND_LINES; line++) {
            int left = line > 0 ? line - 1 : 0, right = line < HAND_RAYS ? line : HAND_RAYS - 1;
            hand_node l = hand_node_at(left + 1, palm_place(s, j), 0), r = hand_node_at(right + 1, palm_place(s, j), 0);
            hand_node n = hand_node_between(&l, &r, 0);
            if (line == 0 && j > THUMB_FROM && j <= THUMB_FROM + 2) {
                /* The side of the palm moves with the root of the thumb. */
                n.weight[0] = 0.75;
                n.weight[1] = 0.25;
            }
            hand_node dorsal = n;
            dorsal.in_bone = hand_node_follows_one_chain(&n);
            top[line] = hand_add_node(b, s->top[line][j], dorsal);
            bottom[line] = hand_add_node(b, s->bottom[line][j], n);
        }
        for (int ray = 0; ray < HAND_RAYS; ray++) {
            hand_node n = hand_node_at(ray + 1, palm_place(s, j), 1);
            n.in_bone = true;
            section[ray][j] =
                (ring){{top[ray], top[ray + 1], bottom[ray + 1], bottom[ray], hand_add_node(b, s->middle[ray][j], n)}};
        }
    }
    for (int j = 0; j < s->layers.palm; j++)
        for (int ray = 0; ray < HAND_RAYS; ray++) {
            int rank[5] = {2 * ray, 2 * ray + 2, 2 * ray + 3, 2 * ray + 1, 100 + ray};
            add_layer(b, &section[ray][j], &section[ray][j + 1], rank, j % 2);
        }
}

static ring add_ring(hand_builder *b, int finger, const hand_section *s) {
    ring r;
    for (int k = 0; k < 5; k++) {
        hand_node n = hand_node_at(finger, s->place, k == 4 && s->place < 2.999);
        /* The bone lies near the back of the finger; the middle of the last section is the tip of the pulp. */
        n.in_bone = k < 2 || n.core > 0;
        r.node[k] = hand_add_node(b, s->corner[k], n);
    }
    return r;
}

static void add_finger(hand_builder *b, const hand_sections *s, int finger, int first, ring last) {
    static const int rank[5] = {0, 1, 2, 3, 4};
    b->adding = finger + 1;
    for (int i = first; i < s->count[finger]; i++) {
        ring next = add_ring(b, finger, &s->finger[finger][i]);
        add_layer(b, &last, &next, rank, i % 2);
        last = next;
    }
    b->adding = 0;
}

/* Tets from a node to the polygon between a chain of nodes and the edge from a to b. */
static void add_fan(hand_builder *b, int apex, const int *chain, int count, int from, int to) {
    int half = (count - 1) / 2;
    for (int i = 0; i + 1 < count; i++) hand_add_tet(b, apex, chain[i], chain[i + 1], i < half ? from : to);
    hand_add_tet(b, apex, chain[half], from, to);
}

/* From the side of the palm to the thumb's first section: all tets share the node in the middle of that section. */
static void add_thumb_root(hand_builder *b, const ring *side, ring *first) {
    int patch[6] = {side[0].node[0], side[1].node[0], side[2].node[0],
                    side[2].node[3], side[1].node[3], side[0].node[3]};
    const int patch_corner[4] = {0, 2, 3, 5};
    const vec3 *p = b->position.data;
    /* The rotation of the section that twists it least against the patch. */
    int best = 0;
    double min = INFINITY;
    for (int turn = 0; turn < 4; turn++) {
        double sum = 0;
        for (int k = 0; k < 4; k++) {
            vec3 d = vec3_sub(p[patch[patch_corner[k]]], p[first->node[(k + turn) % 4]]);
            sum += vec3_dot(d, d);
        }
        if (sum >= min) continue;
        min = sum;
        best = turn;
    }
    int corner[4], apex = first->node[4];
    for (int k = 0; k < 4; k++) corner[k] = first->node[(k + best) % 4];
    /* The triangles of the patch are faces of the palm's tets. */
    size_t tets = b->tet.count / 4;
    for (size_t t = 0; t < tets && !b->failed; t++) {
        int face[4], count = 0;
        for (int i = 0; i < 4; i++)
            for (int k = 0; k < 6; k++)
                if (b->tet.data[4 * t + (size_t)i] == patch[k]) face[count++] = patch[k];
        if (count == 3) hand_add_tet(b, apex, face[0], face[1], face[2]);
    }
    add_fan(b, apex, (int[3]){patch[0], patch[1], patch[2]}, 3, corner[0], corner[1]);
    add_fan(b, apex, (int[2]){patch[2], patch[3]}, 2, corner[1], corner[2]);
    add_fan(b, apex, (int[3]){patch[3], patch[4], patch[5]}, 3, corner[2], corner[3]);
    add_fan(b, apex, (int[2]){patch[5], patch[0]}, 2, corner[3], corner[0]);
}

static void add_hand(hand_builder *b, const hand_sections *s) {
    ring palm[HAND_RAYS][HAND_PALM_LIMIT + 1];
    add_palm(b, s, palm);
    for (int finger = 1; finger < HAND_FINGERS; finger++) add_finger(b, s, finger, 0, palm[finger - 1][s->layers.palm]);
    if (b->failed) return;
    ring root = add_ring(b, 0, &s->finger[0][0]);
    if (!b->failed) add_thumb_root(b, palm[0] + THUMB_FROM, &root);
    add_finger(b, s, 0, 1, root);
}

static int tets_of(const hand_layers *l) {
    int finger = l->finger[0] + l->finger[1] + l->finger[2], thumb = l->thumb[0] + l->thumb[1] + l->thumb[2];
    return 12 * (HAND_RAYS * (l->palm + finger) + thumb) + 14;
}

/* The layers and subdivision whose number of tets is nearest; the coarser subdivision wins a tie. */
static hand_layers choose_layers(int target, int *cut) {
    double best = INFINITY;
    hand_layers chosen = layerings[0];
    for (int c = 1; c <= CUT_LIMIT; c++)
        for (size_t i = 0; i < sizeof layerings / sizeof *layerings; i++) {
            double miss = fabs(log((double)tets_of(&layerings[i]) * c * c * c / target));
            if (miss >= best - 1e-9) continue;
            best = miss;
            chosen = layerings[i];
            *cut = c;
        }
    return chosen;
}

static thenar_status coarse_mesh(const hand_builder *b, thenar_tet_mesh *mesh, thenar_error *error) {
    thenar_status status = tet_mesh_create((int)b->position.count, (int)(b->tet.count / 4), true, mesh, error);
    if (status != THENAR_OK) return status;
    memcpy(mesh->positions, b->position.data, b->position.count * sizeof(vec3));
    memcpy(mesh->tets, b->tet.data, b->tet.count * sizeof(int));
    memcpy(mesh->tags, b->group.data, b->group.count * sizeof(int));
    return THENAR_OK;
}

/* Subdivides the tets and interpolates the bone weights of the nodes. */
static thenar_status refine(int cut, thenar_tet_mesh *mesh, hand_node **nodes, thenar_error *error) {
    thenar_tet_mesh fine;
    tet_share *share;
    thenar_status status = tet_subdivide(mesh, cut, &fine, &share, error);
    if (status != THENAR_OK) return status;
    hand_node *all = MEMORY_ARRAY(hand_node, fine.node_count);
    if (!all) {
        thenar_tet_mesh_free(&fine);
        free(share);
        return error_memory(error, "hand");
    }
    for (int n = 0; n < fine.node_count; n++)
        for (int i = 0; i < 4 && share[n].node[i] >= 0; i++) {
            const hand_node *from = *nodes + share[n].node[i];
            double w = (double)share[n].parts[i] / cut;
            for (int k = 0; k < HAND_BONES; k++) all[n].weight[k] += w * from->weight[k];
            all[n].core += w * from->core;
        }
    for (int n = 0; n < fine.node_count; n++)
        all[n].in_bone = all[n].core >= HAND_PHALANX_BONE && hand_node_follows_one_chain(&all[n]);
    free(share);
    free(*nodes);
    thenar_tet_mesh_free(mesh);
    *mesh = fine;
    *nodes = all;
    return THENAR_OK;
}

bool hand_fineness_is_graded(hand_fineness fineness) {
    return fineness.tets == 0 && fineness.detail != THENAR_HAND_COARSE;
}

thenar_status hand_fineness_check(hand_fineness fineness, thenar_error *error) {
    if (fineness.tets != 0 && (fineness.tets < HAND_TETS_MIN || fineness.tets > HAND_TETS_MAX))
        return error_set(error, THENAR_ERROR_INPUT, "a hand of %d tets; expected %d to %d", fineness.tets,
                         HAND_TETS_MIN, HAND_TETS_MAX);
    if ((int)fineness.detail < 0 || fineness.detail > THENAR_HAND_FINE)
        return error_set(error, THENAR_ERROR_INPUT, "detail %d of a hand; expected 0 (coarse) to %d (fine)",
                         (int)fineness.detail, THENAR_HAND_FINE);
    return THENAR_OK;
}

thenar_status hand_tets(hand_size size, const hand_frame *joint, const signed_distance *solid,
                        const thenar_surface *skin, const int *vertex_group, hand_fineness fineness,
                        thenar_tet_mesh *mesh, hand_node **nodes, thenar_error *error) {
    *mesh = (thenar_tet_mesh){0};
    *nodes = NULL;
    bool graded = hand_fineness_is_graded(fineness);
    int target = fineness.tets > 0 ? fineness.tets : COARSE_TETS;
    thenar_status allowed = hand_fineness_check(fineness, error);
    if (allowed != THENAR_OK) return allowed;
    int cut = 1;
    double wrist_end = -INFINITY;
    for (int v = 0; v < skin->vertex_count; v++) wrist_end = fmax(wrist_end, surface_vertex(skin, v).z);
    hand_sections sections;
    hand_builder b = {0};
    hand_bones bones;
    if (graded) {
        hand_maker maker = {size, joint, solid, wrist_end, &sections};
        hand_bones_make(size, joint, solid, &bones);
        hand_rings_build(&maker, &bones, &b);
    } else {
        hand_sections_make(size, joint, solid, wrist_end, choose_layers(target, &cut), &sections);
        add_hand(&b, &sections);
    }
    thenar_status status = b.failed ? error_memory(error, "hand") : coarse_mesh(&b, mesh, error);
    if (status == THENAR_OK) {
        *nodes = b.node.data;
        b.node.data = NULL;
    }
    free(b.position.data);
    free(b.node.data);
    free(b.tet.data);
    free(b.group.data);
    tet_wrap wrap = {.solid = solid, .skin = skin, .group = vertex_group};
    if (status == THENAR_OK && !graded) status = tet_wrap_cover(&wrap, mesh, error);
    if (status == THENAR_OK && cut > 1) status = refine(cut, mesh, nodes, error);
    if (status == THENAR_OK && graded) {
        status = hand_tets_grade(&bones, &wrap, b.outward.data, fineness.detail, mesh, nodes, error);
    } else if (status == THENAR_OK) {
        status = tet_wrap_fit(&wrap, cut > 1 ? FIT_TURNS : 1, mesh, error);
    }
    free(b.outward.data);
    if (status == THENAR_OK) return status;
    thenar_tet_mesh_free(mesh);
    free(*nodes);
    *nodes = NULL;
    /* Hands from files whose skin the rings cannot cover get even tets of about the same number. */
    hand_fineness even = {.tets = fineness.detail == THENAR_HAND_FINE ? 15000 : 4000};
    if (graded && status == THENAR_ERROR_INPUT)
        return hand_tets(size, joint, solid, skin, vertex_group, even, mesh, nodes, error);
    return status;
}
