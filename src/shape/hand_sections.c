#include "shape/hand_sections.h"

#include <assert.h>
#include <stddef.h>

#define MARGIN 1.05      /* of a section over the hand: straight lines from section to section cut into round forms */
#define TIP_SIZE 0.66    /* of a finger's last section over that in the middle of the last bone */
#define TIP_BEYOND 0.025 /* of the last section beyond the last joint's end, over hand length */
#define THUMB_FIRST 0.84 /* where on its first bone the thumb's first section is */

typedef struct maker {
    hand_size size;
    const hand_frame *joint;
    const signed_distance *solid;
    double wrist_end;
    hand_sections *out;
} maker;

static vec3 mid(vec3 a, vec3 b) {
    return vec3_scale(vec3_add(a, b), 0.5);
}

static vec3 mix(vec3 a, vec3 b, double t) {
    return vec3_add(vec3_scale(a, 1 - t), vec3_scale(b, t));
}

/* How far the hand reaches from a point inside it on a way; at most `limit`. */
static double reach(const maker *m, vec3 from, vec3 way, double limit) {
    double step = 0.004 * m->size.breadth, at = 0;
    while (at < limit && signed_distance_at(m->solid, vec3_mul_add(from, way, at + step), NULL) <= 0) at += step;
    return MARGIN * fmin(at + step, limit);
}

/* The frames of a finger's joints; the thumb begins one joint earlier than the others. */
static const hand_frame *chain_of(const maker *m, int finger) {
    return m->joint + (finger == 0 ? HAND_THUMB_METACARPAL : HAND_INDEX_PROXIMAL + 5 * (finger - 1));
}

/* The point at a place along a finger's bones; beyond the last one straight on, in metres over its length. */
static vec3 chain_point(const hand_frame *chain, double place) {
    int i = place < 1 ? 0 : place < 2 ? 1 : 2;
    return vec3_add(chain[i].position, vec3_scale(vec3_sub(chain[i + 1].position, chain[i].position), place - i));
}

/* The nearest place on the first bone. */
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

/* The rectangle around a finger: extents to +side, -side, up, down. Joints look the way between their bones. */
static hand_section finger_section(const maker *m, int finger, double place) {
    const hand_frame *chain = chain_of(m, finger);
    double last = vec3_distance(chain[3].position, chain[2].position);
    double end = 3 + TIP_BEYOND * m->size.length / last, limit = (finger == 0 ? 0.20 : 0.13) * m->size.breadth;
    bool tip = place > 2.999;
    double form = tip ? 2.6 : place;
    vec3 middle = chain_point(chain, form);
    int i = form < 1 ? 0 : form < 2 ? 1 : 2;
    bool at_joint = i > 0 && form - i < 1e-9;
    const hand_frame *a = &chain[at_joint ? i - 1 : i], *b = &chain[i];
    vec3 side = vec3_unit(vec3_add(hand_frame_side(a), hand_frame_side(b)));
    vec3 up = vec3_unit(vec3_add(hand_frame_up(a), hand_frame_up(b)));
    double extent[4] = {reach(m, middle, side, limit), reach(m, middle, vec3_scale(side, -1), limit),
                        reach(m, middle, up, limit), reach(m, middle, vec3_scale(up, -1), limit)};
    for (int k = 0; k < 4 && tip; k++) extent[k] *= TIP_SIZE;
    return rectangle(chain_point(chain, tip ? end : place), side, up, extent, tip ? 3 : place);
}

/* Sections from one place to another, the first one left out. */
static void add_sections(maker *m, int finger, double from, double to, int layers) {
    for (int i = 1; i <= layers; i++) {
        assert(m->out->count[finger] < HAND_FINGER_LIMIT);
        m->out->finger[finger][m->out->count[finger]++] =
            finger_section(m, finger, i == layers ? to : from + (to - from) * i / layers);
    }
}

/* The edge of the web between a finger and the next: from between their knuckles as far as there is flesh. */
static vec3 web_between(const maker *m, int finger) {
    const hand_frame *a = chain_of(m, finger), *b = chain_of(m, finger + 1);
    vec3 start = mid(a->position, b->position), down = {0, -0.03 * m->size.breadth, 0};
    vec3 way = vec3_unit(vec3_add(hand_frame_along(a), hand_frame_along(b)));
    vec3 from = vec3_add(start, down);
    return vec3_mul_add(from, way, reach(m, from, way, 0.2 * m->size.length));
}

static void make_middles(maker *m, const double web[HAND_RAYS]) {
    hand_sections *s = m->out;
    int knuckles = s->layers.palm - 1;
    for (int ray = 0; ray < HAND_RAYS; ray++) {
        const hand_frame *chain = chain_of(m, ray + 1);
        double across = (ray - 1.5) * 0.165 * m->size.breadth;
        vec3 start = {across, -0.02 * m->size.breadth, m->wrist_end + 0.01 * m->size.length};
        for (int j = 0; j <= knuckles; j++) s->middle[ray][j] = mix(start, chain->position, (double)j / knuckles);
        s->middle[ray][knuckles + 1] = chain_point(chain, web[ray]);
    }
}

/* The lines between rays run through the middles of their sections; the outer ones are as far out as the hand is. */
static void make_lines(maker *m, const vec3 web[HAND_RAYS - 1]) {
    hand_sections *s = m->out;
    double b = m->size.breadth;
    for (int j = 0; j <= s->layers.palm; j++)
        for (int line = 0; line < HAND_LINES; line++) {
            int left = line > 0 ? line - 1 : 0, right = line < HAND_RAYS ? line : HAND_RAYS - 1;
            vec3 up = vec3_unit(vec3_add(hand_frame_up(chain_of(m, left + 1)), hand_frame_up(chain_of(m, right + 1))));
            vec3 middle = mid(s->middle[left][j], s->middle[right][j]);
            bool outer = left == right, at_web = j == s->layers.palm;
            /* The first section is as large as the wrist a little inside its cut. */
            vec3 from = j > 0 ? middle : vec3_add(middle, vec3_make(0, 0, -0.05 * m->size.length)), at = middle;
            double above = reach(m, from, up, 0.3 * b),
                   below = reach(m, from, vec3_scale(up, -1), (line < 2 ? 0.27 : 0.3) * b);
            if (outer) {
                vec3 out = {line == 0 ? -1 : 1, 0, 0};
                /* The thumb's flesh is not the palm's. */
                at = vec3_mul_add(middle, out, reach(m, from, out, (line == 0 && j > 1 && j < 4 ? 0.13 : 0.19) * b));
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

void hand_sections_make(hand_size size, const hand_frame joint[HAND_JOINTS], const signed_distance *solid,
                        double wrist_end, hand_layers layers, hand_sections *out) {
    assert(layers.palm >= 3 && layers.palm <= HAND_PALM_LIMIT);
    *out = (hand_sections){.layers = layers};
    maker m = {size, joint, solid, wrist_end, out};
    vec3 edge[HAND_RAYS - 1];
    double web[HAND_RAYS];
    for (int i = 0; i < HAND_RAYS - 1; i++) edge[i] = web_between(&m, i + 1);
    for (int ray = 0; ray < HAND_RAYS; ray++) {
        const hand_frame *chain = chain_of(&m, ray + 1);
        double before = first_bone_place(chain, edge[ray > 0 ? ray - 1 : 0]);
        double behind = first_bone_place(chain, edge[ray < HAND_RAYS - 1 ? ray : HAND_RAYS - 2]);
        web[ray] = fmin(fmax((before + behind) / 2, 0.2), 0.7);
    }
    make_middles(&m, web);
    make_lines(&m, edge);
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
