#include "shape/limb.h"

#include <assert.h>

/* The cubic through p1 and p2 with the slopes of the chords around them. */
static double through(double p0, double p1, double p2, double p3, double t) {
    double slope1 = (p2 - p0) / 2, slope2 = (p3 - p1) / 2, d = p2 - p1;
    return p1 + t * (slope1 + t * ((3 * d - 2 * slope1 - slope2) + t * (slope1 + slope2 - 2 * d)));
}

static vec3 through3(vec3 p0, vec3 p1, vec3 p2, vec3 p3, double t) {
    return vec3_make(through(p0.x, p1.x, p2.x, p3.x, t), through(p0.y, p1.y, p2.y, p3.y, t),
                     through(p0.z, p1.z, p2.z, p3.z, t));
}

static limb_knot between(const limb_knot *knot, int count, int i, double t) {
    const limb_knot *k0 = knot + (i > 0 ? i - 1 : 0), *k1 = knot + i, *k2 = k1 + 1, *k3 = k1 + (i + 2 < count ? 2 : 1);
    return (limb_knot){
        .centre = through3(k0->centre, k1->centre, k2->centre, k3->centre, t),
        .side = vec3_unit(through3(k0->side, k1->side, k2->side, k3->side, t)),
        .up = vec3_unit(through3(k0->up, k1->up, k2->up, k3->up, t)),
        .across = through(k0->across, k1->across, k2->across, k3->across, t),
        .above = through(k0->above, k1->above, k2->above, k3->above, t),
        .below = through(k0->below, k1->below, k2->below, k3->below, t),
    };
}

limb limb_make(const limb_knot *knot, int count, double start_cap, double end_cap) {
    assert(count >= 2 && count <= LIMB_KNOTS);
    limb l = {.count = (count - 1) * LIMB_STEPS + 1, .start_cap = start_cap, .end_cap = end_cap};
    for (int i = 0; i < l.count; i++) {
        int k = i / LIMB_STEPS < count - 1 ? i / LIMB_STEPS : count - 2;
        l.sample[i] = between(knot, count, k, (double)(i - k * LIMB_STEPS) / LIMB_STEPS);
        const limb_knot *s = &l.sample[i];
        double reach = fmax(s->across, fmax(s->above, s->below));
        if (i == 0) reach = fmax(reach, start_cap);
        if (i == l.count - 1) reach = fmax(reach, end_cap);
        box here = box_grow((box){s->centre, s->centre}, reach);
        l.bounds = i == 0 ? here : box_join(l.bounds, here);
    }
    return l;
}

/* The sample that p is nearest to, found among every fourth first. */
static int nearest_sample(const limb *l, vec3 p) {
    double least = INFINITY;
    int best = 0;
    for (int i = 0; i < l->count; i += 4) {
        vec3 d = vec3_sub(p, l->sample[i].centre);
        if (vec3_dot(d, d) >= least) continue;
        least = vec3_dot(d, d);
        best = i;
    }
    int from = best > 3 ? best - 3 : 0, to = best + 3 < l->count ? best + 3 : l->count - 1;
    for (int i = from; i <= to; i++) {
        vec3 d = vec3_sub(p, l->sample[i].centre);
        if (vec3_dot(d, d) >= least) continue;
        least = vec3_dot(d, d);
        best = i;
    }
    return best;
}

/* Where between two samples p is nearest to their chord; below 0 and above 1 beyond its ends. */
static double chord_place(const limb *l, int i, vec3 p) {
    vec3 chord = vec3_sub(l->sample[i + 1].centre, l->sample[i].centre);
    return vec3_dot(vec3_sub(p, l->sample[i].centre), chord) / fmax(vec3_dot(chord, chord), 1e-30);
}

static double mix(double a, double b, double t) {
    return a + (b - a) * t;
}

double limb_distance(const limb *l, vec3 p, double far) {
    double outside = box_distance_squared(&l->bounds, p);
    if (outside > far * far) return sqrt(outside);
    int i = nearest_sample(l, p);
    if (i == l->count - 1 || (i > 0 && chord_place(l, i, p) < 0)) i--;
    double place = chord_place(l, i, p), t = fmin(fmax(place, 0), 1);
    const limb_knot *a = &l->sample[i], *b = a + 1;
    vec3 centre = vec3_add(vec3_scale(a->centre, 1 - t), vec3_scale(b->centre, t)), d = vec3_sub(p, centre);
    vec3 side = vec3_add(vec3_scale(a->side, 1 - t), vec3_scale(b->side, t));
    vec3 up = vec3_add(vec3_scale(a->up, 1 - t), vec3_scale(b->up, t));
    double u = vec3_dot(d, side), v = vec3_dot(d, up), w = 0, cap = 1;
    if ((i == 0 && place < 0) || (i == l->count - 2 && place > 1)) {
        w = sqrt(fmax(vec3_dot(d, d) - u * u - v * v, 0));
        cap = i == 0 && place < 0 ? l->start_cap : l->end_cap;
    }
    double across = mix(a->across, b->across, t);
    double high = v > 0 ? mix(a->above, b->above, t) : mix(a->below, b->below, t);
    /* The first-order distance from the ellipsoid: f / |grad f| of f = |(u/across, v/high, w/cap)|. */
    double x = u / across, y = v / high, z = w / cap, f = sqrt(x * x + y * y + z * z);
    double slope = sqrt(x * x / (across * across) + y * y / (high * high) + z * z / (cap * cap));
    return slope > 0 ? f * (f - 1) / slope : -fmin(across, high);
}
