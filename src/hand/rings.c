/* The base of the graded meshes of a hand: sections with five nodes at the skin and four around the bone.
 *
 *      TL ------- TR        Between two sections each triangle is a prism of three tets. What lies between two
 *      | \ tl-tr / |        sections of the same bone is the bone and has no tets. At a joint the bones end, and the
 *      |   bl-br   |        four inner nodes are flesh. In the palm four sections lie side by side and share the nodes
 *      BL -- BM -- BR       of the lines between them; each finger continues its section of the web.
 *
 * The thumb grows out of the side of the palm as in the coarse mesh. A section whose inner nodes are one and the same,
 * as at the root of the thumb and at the fingertips, needs no other code: tets with a repeated node are left out. */
#include "hand/sections.h"

#include "mesh/mesh.h"

#include <string.h>

#define SKIN_NODES 5 /* TL TR BR BM BL */
#define BONE_NODES 4 /* tl tr br bl */
#define RING_NODES (SKIN_NODES + BONE_NODES)
#define RING_TRIANGLES 9 /* between skin and bone; two more fill the bone */
#define PALM_LAYERS 7
#define KNUCKLES 5   /* the section of the palm at the knuckles */
#define THUMB_FROM 1 /* the sections of the palm between which the thumb grows out of its side */
#define PATCH 6
#define THUMB_FIRST 0.84 /* position of the thumb's first section on its first bone */

#define GAP 0.03 /* of hand breadth: from a joint to the ends of its bones */
#define KNUCKLE_GAP 0.055
#define AROUND 1.25      /* of a pentagon over the oval in it */
#define BONE_RING 0.8    /* of a rectangle over the half axes of an oval bone */
#define HEAD 1.25        /* breadth of a bone at its ends over that in the middle */
#define TIP_SIZE 0.62    /* of a finger's last section over that on the last bone */
#define TIP_MARGIN 0.004 /* of hand length: of the last section beyond the skin */
#define NAIL_FROM 2.45   /* place on the finger where the nail begins */
#define FREE (-1)

static const int ring_triangles[RING_TRIANGLES + 2][3] = {{0, 1, 6}, {0, 6, 5}, {1, 2, 7}, {1, 7, 6},
                                                          {2, 3, 7}, {3, 8, 7}, {3, 4, 8}, {4, 0, 8},
                                                          {0, 5, 8}, {5, 6, 7}, {5, 7, 8}};

/* Node numbers of a section, skin first, and the bone of its inner nodes or FREE. */
typedef struct ring {
    int node[RING_NODES];
    int bone;
} ring;

/* Directions and sizes of a section across a finger. */
typedef struct cross {
    vec3 middle, side, up;
    vec3 inside;      /* the middle, or a point near it in the flesh: where the bone is measured */
    vec3 from;        /* nodes of the skin may move away from there: the middle */
    double extent[4]; /* to +side, -side, up, down */
} cross;

static void add_layer(hand_builder *b, const ring *near, const ring *far, const int rank[RING_NODES], bool turned) {
    const ring *from = turned ? far : near, *to = turned ? near : far;
    bool solid = near->bone != FREE && near->bone == far->bone;
    for (int t = 0; t < RING_TRIANGLES + (solid ? 0 : 2); t++) {
        const int *k = ring_triangles[t];
        hand_add_prism(b, (int[3]){from->node[k[0]], from->node[k[1]], from->node[k[2]]},
                       (int[3]){to->node[k[0]], to->node[k[1]], to->node[k[2]]},
                       (int[3]){rank[k[0]], rank[k[1]], rank[k[2]]});
    }
}

/* The inner nodes: around the bone, or flesh at a joint. head: breadth over that in the middle of a bone. */
static void add_bone_nodes(hand_builder *b, const hand_bones *bones, const cross *c, double head, hand_node node,
                           ring *r) {
    bone_section s = hand_bone_section(bones, c->inside, c->side, c->up);
    node.in_bone = r->bone != FREE;
    node.core = node.in_bone ? 1 : 0.3;
    if (node.in_bone) {
        memset(node.weight, 0, sizeof node.weight);
        node.weight[r->bone] = 1;
    }
    for (int k = 0; k < BONE_NODES; k++) {
        double x = BONE_RING * head * s.across * (k == 1 || k == 2 ? 1 : -1);
        double y = s.raise + BONE_RING * s.high * (k < 2 ? 1 : -1);
        vec3 p = vec3_mul_add(vec3_mul_add(c->middle, c->side, x), c->up, y);
        r->node[SKIN_NODES + k] = hand_add_node(b, p, node);
    }
}

static void add_one_inner_node(hand_builder *b, vec3 p, vec3 from, hand_node node, ring *r) {
    int n = r->bone == FREE ? hand_add_outer_node(b, p, from, node) : hand_add_node(b, p, node);
    for (int k = 0; k < BONE_NODES; k++) r->node[SKIN_NODES + k] = n;
}

/* The section of a finger at a place on its chain; joints have the mean direction of their bones. */
static cross cross_at(const hand_maker *m, int finger, double place) {
    const hand_frame *chain = hand_chain(m, finger);
    int i = place < 1 ? 0 : place < 2 ? 1 : 2;
    bool at_joint = i > 0 && place - i < 1e-9;
    const hand_frame *a = &chain[at_joint ? i - 1 : i], *b = &chain[i];
    cross c = {.middle = hand_chain_point(chain, place),
               .side = vec3_unit(vec3_add(hand_frame_side(a), hand_frame_side(b))),
               .up = vec3_unit(vec3_add(hand_frame_up(a), hand_frame_up(b)))};
    c.from = c.inside = c.middle;
    double limit = (finger == 0 ? 0.20 : 0.13) * m->size.breadth;
    vec3 ways[4] = {c.side, vec3_scale(c.side, -1), c.up, vec3_scale(c.up, -1)};
    for (int k = 0; k < 4; k++) c.extent[k] = hand_reach(m, c.middle, ways[k], limit);
    return c;
}

/* A regular pentagon around the finger, one corner down. */
static void add_skin_nodes(hand_builder *b, const cross *c, double scale, hand_node node, bool nail, ring *r) {
    static const double way[SKIN_NODES][2] = {
        {-0.5878, 0.8090}, {0.5878, 0.8090}, {0.9511, -0.3090}, {0, -1}, {-0.9511, -0.3090}};
    for (int k = 0; k < SKIN_NODES; k++) {
        double x = AROUND * scale * way[k][0] * c->extent[way[k][0] > 0 ? 0 : 1];
        double y = AROUND * scale * way[k][1] * c->extent[way[k][1] > 0 ? 2 : 3];
        node.in_bone = nail && k < 2;
        node.core = node.in_bone ? 1 : 0;
        vec3 p = vec3_mul_add(vec3_mul_add(c->middle, c->side, x), c->up, y);
        r->node[k] = hand_add_outer_node(b, p, c->from, node);
    }
}

static const int finger_rank[RING_NODES] = {0, 1, 2, 3, 4, 5, 6, 7, 8};

/* Places on a finger, ascending, and whether the bones have a head there. */
typedef struct stations {
    int count;
    double place[16];
    bool head[16];
} stations;

static void add_station(stations *s, double place, bool head) {
    s->place[s->count] = place;
    s->head[s->count++] = head;
}

/* Dense around the joints and along the pad. first: the section that is there already; end: of the last bone. */
static stations stations_of(const hand_maker *m, int finger, double first, double end) {
    stations s = {0};
    const hand_frame *chain = hand_chain(m, finger);
    double gap[3];
    for (int i = 0; i < 3; i++)
        gap[i] = fmin(GAP * m->size.breadth / vec3_distance(chain[i].position, chain[i + 1].position), 0.2);
    if (1 - gap[0] - first > 0.25) add_station(&s, 0.5 * (first + 1 - gap[0]), false);
    add_station(&s, 1 - gap[0], true);
    add_station(&s, 1, true);
    add_station(&s, 1 + gap[1], true);
    add_station(&s, 1.5, false);
    add_station(&s, 2 - gap[1], true);
    add_station(&s, 2, true);
    add_station(&s, 2 + gap[2], true);
    for (int i = 1; i < 3; i++) add_station(&s, 2 + gap[2] + (end - 2 - gap[2]) * i / 3, false);
    add_station(&s, end, true);
    return s;
}

static void add_finger(hand_maker *m, const hand_bones *bones, hand_builder *b, int finger, double first, ring last) {
    const hand_frame *chain = hand_chain(m, finger);
    const bone_axis *distal = hand_bone_axis(bones, 3 * finger + 3);
    double unit = vec3_distance(chain[2].position, chain[3].position), end = 2 + distal->length / unit;
    stations s = stations_of(m, finger, first, end);
    b->adding = finger + 1;
    int i = 0;
    for (; i < s.count; i++) {
        double place = s.place[i];
        int bone = place < 1 ? 0 : place < 2 ? 1 : 2;
        cross c = cross_at(m, finger, place);
        hand_node node = hand_node_at(finger, place, 0);
        ring next = {.bone = place == 1 || place == 2 ? FREE : 1 + 3 * finger + bone};
        add_skin_nodes(b, &c, 1, node, place > NAIL_FROM, &next);
        add_bone_nodes(b, bones, &c, s.head[i] ? HEAD : 1, node, &next);
        add_layer(b, &last, &next, finger_rank, i % 2);
        last = next;
    }
    /* The tip of the pulp. */
    cross c = cross_at(m, finger, 2 + 0.7 * (end - 2));
    c.middle = hand_chain_point(chain, end + (distal->pulp + TIP_MARGIN * m->size.length) / unit);
    c.from = vec3_mul_add(c.middle, hand_frame_along(&chain[2]), -c.extent[0]);
    hand_node node = hand_node_at(finger, 2.9, 0);
    ring tip = {.bone = FREE};
    add_skin_nodes(b, &c, TIP_SIZE, node, false, &tip);
    add_one_inner_node(b, c.middle, c.from, node, &tip);
    add_layer(b, &last, &tip, finger_rank, i % 2);
    b->adding = 0;
}

/* Position of a palm section along the bones of a finger: before the knuckle, at it, beyond it. */
static double palm_place(int j) {
    return j < KNUCKLES ? -1 : j == KNUCKLES ? 0 : 0.4;
}

/* The sections of the rays between the wrist and the web; web: places at which it ends. */
static void make_middles(hand_maker *m, const double web[HAND_RAYS]) {
    static const double share[KNUCKLES - 1] = {0, 0.25, 0.5, 0.75};
    for (int ray = 0; ray < HAND_RAYS; ray++) {
        const hand_frame *chain = hand_chain(m, ray + 1);
        vec3 *middle = m->out->middle[ray], knuckle = chain->position, start;
        double gap = KNUCKLE_GAP * m->size.breadth;
        start = vec3_make((ray - 1.5) * 0.165 * m->size.breadth, -0.02 * m->size.breadth,
                          m->wrist_end + 0.01 * m->size.length);
        vec3 way = vec3_sub(knuckle, start);
        for (int j = 0; j < KNUCKLES - 1; j++) middle[j] = vec3_mul_add(start, way, share[j]);
        middle[KNUCKLES - 1] = vec3_mul_add(knuckle, vec3_unit(way), -gap);
        middle[KNUCKLES] = knuckle;
        middle[KNUCKLES + 1] = vec3_mul_add(knuckle, hand_frame_along(chain), gap);
        middle[KNUCKLES + 2] = hand_chain_point(chain, web[ray]);
    }
}

static void add_lines(const hand_sections *s, hand_builder *b, int j, int top[HAND_LINES], int bottom[HAND_LINES]) {
    for (int line = 0; line < HAND_LINES; line++) {
        int left = line > 0 ? line - 1 : 0, right = line < HAND_RAYS ? line : HAND_RAYS - 1;
        hand_node l = hand_node_at(left + 1, palm_place(j), 0), r = hand_node_at(right + 1, palm_place(j), 0);
        hand_node n = hand_node_between(&l, &r, 0);
        if (line == 0 && j > THUMB_FROM && j <= THUMB_FROM + 2) {
            /* The side of the palm moves with the root of the thumb. */
            n.weight[0] = 0.75;
            n.weight[1] = 0.25;
        }
        vec3 from = vec3_scale(vec3_add(s->middle[left][j], s->middle[right][j]), 0.5);
        top[line] = hand_add_outer_node(b, s->top[line][j], from, n);
        bottom[line] = hand_add_outer_node(b, s->bottom[line][j], from, n);
    }
}

static void add_palm(hand_maker *m, const hand_bones *bones, hand_builder *b,
                     ring section[HAND_RAYS][PALM_LAYERS + 1]) {
    const hand_sections *s = m->out;
    for (int j = 0; j <= PALM_LAYERS; j++) {
        int top[HAND_LINES], bottom[HAND_LINES];
        add_lines(s, b, j, top, bottom);
        for (int ray = 0; ray < HAND_RAYS; ray++) {
            const hand_frame *frame = hand_chain(m, ray + 1);
            hand_node node = hand_node_at(ray + 1, palm_place(j), 0);
            cross c = {.middle = s->middle[ray][j], .side = hand_frame_side(frame), .up = hand_frame_up(frame)};
            c.inside = j > 0 ? c.middle : vec3_add(c.middle, vec3_make(0, 0, -0.05 * m->size.length));
            vec3 below = vec3_scale(vec3_add(s->bottom[ray][j], s->bottom[ray + 1][j]), 0.5);
            ring *r = &section[ray][j];
            *r = (ring){.bone = j == 0 || j == KNUCKLES ? FREE : j < KNUCKLES ? 0 : 1 + 3 * (ray + 1)};
            int skin[SKIN_NODES] = {top[ray], top[ray + 1], bottom[ray + 1],
                                    hand_add_outer_node(b, below, c.middle, node), bottom[ray]};
            memcpy(r->node, skin, sizeof skin);
            bool head = j >= KNUCKLES - 1 && j <= KNUCKLES + 1;
            add_bone_nodes(b, bones, &c, head ? HEAD : 1, node, r);
        }
    }
    for (int j = 0; j < PALM_LAYERS; j++)
        for (int ray = 0; ray < HAND_RAYS; ray++) {
            int bone = 100 + BONE_NODES * ray;
            int rank[RING_NODES] = {2 * ray, 2 * ray + 2, 2 * ray + 3, 50 + ray, 2 * ray + 1,
                                    bone,    bone + 1,    bone + 2,    bone + 3};
            add_layer(b, &section[ray][j], &section[ray][j + 1], rank, j % 2);
        }
}

static double squared(const hand_builder *b, int a, int c) {
    vec3 d = vec3_sub(b->position.data[a], b->position.data[c]);
    return vec3_dot(d, d);
}

/* The rotation and direction of a section that twist it least against the patch. */
static void align(const hand_builder *b, const int patch[PATCH], int corner[SKIN_NODES]) {
    int best[SKIN_NODES];
    double min = INFINITY;
    for (int turn = 0; turn < 2 * SKIN_NODES; turn++) {
        int tried[SKIN_NODES];
        double sum = 0;
        for (int k = 0; k < SKIN_NODES; k++)
            tried[k] = corner[(turn < SKIN_NODES ? k + turn : 2 * SKIN_NODES - k + turn) % SKIN_NODES];
        for (int k = 0; k < PATCH; k++) sum += squared(b, patch[k], tried[k * SKIN_NODES / PATCH]);
        if (sum >= min) continue;
        min = sum;
        memcpy(best, tried, sizeof best);
    }
    memcpy(corner, best, sizeof best);
}

/* From the side of the palm to the thumb's first section: all tets share the node in the middle of that section. */
static void add_thumb_root(hand_builder *b, const ring *side, const ring *first) {
    int patch[PATCH] = {side[0].node[0], side[1].node[0], side[2].node[0],
                        side[2].node[4], side[1].node[4], side[0].node[4]};
    int corner[SKIN_NODES], apex = first->node[SKIN_NODES];
    memcpy(corner, first->node, sizeof corner);
    align(b, patch, corner);
    /* The triangles of the patch are faces of the palm's tets. */
    size_t tets = b->tet.count / 4;
    for (size_t t = 0; t < tets && !b->failed; t++) {
        int face[4], count = 0;
        for (int i = 0; i < 4; i++)
            for (int k = 0; k < PATCH; k++)
                if (b->tet.data[4 * t + (size_t)i] == patch[k]) face[count++] = patch[k];
        if (count == 3) hand_add_tet(b, apex, face[0], face[1], face[2]);
    }
    /* A strip of triangles around, across the shorter diagonals. */
    for (int i = 0, k = 0; i < PATCH || k < SKIN_NODES;) {
        int p = patch[i % PATCH], q = patch[(i + 1) % PATCH], c = corner[k % SKIN_NODES],
            d = corner[(k + 1) % SKIN_NODES];
        bool along_patch = k == SKIN_NODES || (i < PATCH && squared(b, q, c) < squared(b, p, d));
        hand_add_tet(b, apex, p, along_patch ? q : d, c);
        *(along_patch ? &i : &k) += 1;
    }
}

static void add_thumb(hand_maker *m, const hand_bones *bones, hand_builder *b, const ring *side) {
    cross c = cross_at(m, 0, THUMB_FIRST);
    hand_node node = hand_node_at(0, THUMB_FIRST, 0), inner = node;
    inner.in_bone = true;
    inner.core = 0.9; /* it may move: all tets of the root meet there */
    ring root = {.bone = 1};
    add_skin_nodes(b, &c, 1, node, false, &root);
    add_one_inner_node(b, c.middle, c.middle, inner, &root);
    if (b->failed) return;
    add_thumb_root(b, side, &root);
    add_finger(m, bones, b, 0, THUMB_FIRST, root);
}

void hand_rings_build(hand_maker *m, const hand_bones *bones, hand_builder *b) {
    ring palm[HAND_RAYS][PALM_LAYERS + 1];
    vec3 edge[HAND_RAYS - 1];
    double web[HAND_RAYS];
    *m->out = (hand_sections){.layers = {.palm = PALM_LAYERS}};
    hand_webs_find(m, edge, web);
    make_middles(m, web);
    hand_lines_make(m, edge);
    add_palm(m, bones, b, palm);
    for (int finger = 1; finger < HAND_FINGERS && !b->failed; finger++)
        add_finger(m, bones, b, finger, web[finger - 1], palm[finger - 1][PALM_LAYERS]);
    if (!b->failed) add_thumb(m, bones, b, palm[0] + THUMB_FROM);
}
