/* The solid of a hand. Dimensions that are not in the table of thicknesses were chosen by eye, from all sides, at rest
 * and in poses.
 *
 * Two solids are blended by smooth_min. */
#include "hand/shape.h"

#include "core/memory.h"
#include "core/simd.h"

#include <stddef.h>

/* A limb: an oval swept along a curve, varying on the way, with round ends.
 *
 * Around a point of the curve, with the axes `side` and `up` across it, the oval is two half ellipses of half breadth
 * `across` and heights `above` and `below`. Knots give the values; in between they are interpolated smoothly
 * (Catmull-Rom). */

#define LIMB_KNOTS 12
#define LIMB_STEPS 12 /* segments between two knots */
#define LIMB_SAMPLES ((LIMB_KNOTS - 1) * LIMB_STEPS + 1)

typedef struct limb_knot {
    vec3 centre;
    vec3 side, up; /* unit, across the curve */
    double across, above, below;
} limb_knot;

/* A knot and the chord to the next one: read as two vectors of eight. */
typedef struct limb_sample {
    limb_knot knot;
    vec3 chord;
    double chord_squared; /* at least 1e-30 */
} limb_sample;

_Static_assert(sizeof(limb_sample) == 2 * sizeof(f64x8), "a sample is read as two vectors");

typedef struct limb {
    int count; /* samples */
    limb_sample sample[LIMB_SAMPLES];
    double start_cap, end_cap; /* length of the round ends beyond the first and the last knot */
    box bounds;
} limb;

#define HAND_FLESH_PADS 24

/* An ellipsoid. */
typedef struct hand_pad {
    vec3 centre, axis[3]; /* unit axes */
    double half[3];
    double blend; /* length over which it blends into the rest, m */
} hand_pad;

struct hand_flesh {
    double unit;               /* hand breadth, m */
    limb finger[HAND_FINGERS]; /* thumb to little finger, from the knuckle to the tip */
    limb ray[HAND_FINGERS];    /* of the palm, along the metacarpals */
    limb wrist;
    int pad_count;
    hand_pad pad[HAND_FLESH_PADS];
    int hollow_count;
    hand_pad hollow[4];
    double wrist_end; /* z of the cut */
    box bounds;
};

/* The cubic through p1 and p2 with the slopes of the neighbouring chords. */
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

/* 2 to LIMB_KNOTS knots. */
static limb limb_make(const limb_knot *knot, int count, double start_cap, double end_cap) {
    assert(count >= 2 && count <= LIMB_KNOTS);
    limb l = {.count = (count - 1) * LIMB_STEPS + 1, .start_cap = start_cap, .end_cap = end_cap};
    for (int i = 0; i < l.count; i++) {
        int k = i / LIMB_STEPS < count - 1 ? i / LIMB_STEPS : count - 2;
        l.sample[i].knot = between(knot, count, k, (double)(i - k * LIMB_STEPS) / LIMB_STEPS);
        const limb_knot *s = &l.sample[i].knot;
        double reach = fmax(s->across, fmax(s->above, s->below));
        if (i == 0) reach = fmax(reach, start_cap);
        if (i == l.count - 1) reach = fmax(reach, end_cap);
        box here = box_grow((box){s->centre, s->centre}, reach);
        l.bounds = i == 0 ? here : box_join(l.bounds, here);
    }
    for (int i = 0; i + 1 < l.count; i++) {
        limb_sample *s = &l.sample[i];
        s->chord = vec3_sub(s[1].knot.centre, s->knot.centre);
        s->chord_squared = fmax(vec3_dot(s->chord, s->chord), 1e-30);
    }
    return l;
}

/* Eight points at a time: the lanes of a vector belong to as many points, mostly neighbours. Each lane does the
 * arithmetic that its point needs, in the same order whatever the other lanes hold: a value depends on its point alone.
 * Work is left out only where no lane needs it. */

typedef struct points8 {
    f64x8 x, y, z;
} points8;

SIMD_INLINE f64x8 dot8(points8 a, points8 b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}
SIMD_INLINE points8 sub8(points8 a, points8 b) {
    return (points8){a.x - b.x, a.y - b.y, a.z - b.z};
}
SIMD_INLINE points8 set8(vec3 a) {
    return (points8){f64x8_set(a.x), f64x8_set(a.y), f64x8_set(a.z)};
}
SIMD_INLINE f64x8 mix8(f64x8 a, f64x8 b, f64x8 t) {
    return a + (b - a) * t;
}
SIMD_INLINE points8 blend8(points8 a, points8 b, f64x8 t) {
    return (points8){a.x * (1 - t) + b.x * t, a.y * (1 - t) + b.y * t, a.z * (1 - t) + b.z * t};
}

/* smooth_min, lane by lane: beyond a difference of k nothing is added. */
SIMD_INLINE f64x8 smooth_min8(f64x8 a, f64x8 b, double k) {
    f64x8 least = f64x8_select(b < a, b, a), near = k - f64x8_abs(a - b);
    if (!i64x8_any(near > 0)) return least;
    f64x8 h = f64x8_max(near, f64x8_set(0)) / k;
    return least - h * h * k / 4;
}

/* The samples of a limb by lane, column by column of limb_sample. */
typedef struct samples8 {
    points8 centre, side, up;
    f64x8 across, above, below;
    points8 chord;
    f64x8 chord_squared;
} samples8;

_Static_assert(sizeof(samples8) == SIMD_LANES * sizeof(limb_sample), "a sample in each lane");

static samples8 samples_at(const limb *l, i64x8 index) {
    union {
        samples8 samples;
        f64x8 column[16];
    } out;
    if (!i64x8_any(index != index[0])) {
        const double *only = (const double *)&l->sample[index[0]];
        for (int i = 0; i < 16; i++) out.column[i] = f64x8_set(only[i]);
        return out.samples;
    }
    for (int half = 0; half < 2; half++) {
        f64x8 row[SIMD_LANES];
        for (int i = 0; i < SIMD_LANES; i++) row[i] = f64x8_load((const double *)&l->sample[index[i]] + 8 * half);
        f64x8_transpose(row, out.column + 8 * half);
    }
    return out.samples;
}

/* Takes the sample where it is nearer than the best so far. */
SIMD_INLINE void try_sample(const limb *l, points8 p, int i, f64x8 *min, i64x8 *best) {
    points8 d = sub8(p, set8(l->sample[i].knot.centre));
    f64x8 squared = dot8(d, d);
    i64x8 nearer = squared < *min;
    *min = f64x8_select(nearer, squared, *min);
    *best = (nearer & i) | (~nearer & *best);
}

/* The sample nearest to each point; every fourth is tried first, then the three on either side of the best. */
static i64x8 nearest_samples(const limb *l, points8 p) {
    f64x8 min = f64x8_set(INFINITY);
    i64x8 best = {0};
    for (int i = 0; i < l->count; i += 4) try_sample(l, p, i, &min, &best);
    if (!i64x8_any(best != best[0])) {
        int middle = (int)best[0], from = middle > 3 ? middle - 3 : 0;
        int to = middle + 3 < l->count ? middle + 3 : l->count - 1;
        for (int i = from; i <= to; i++) try_sample(l, p, i, &min, &best);
        return best;
    }
    for (int lane = 0; lane < SIMD_LANES; lane++) {
        int middle = (int)best[lane], from = middle > 3 ? middle - 3 : 0;
        int to = middle + 3 < l->count ? middle + 3 : l->count - 1;
        vec3 here = {p.x[lane], p.y[lane], p.z[lane]};
        double least = min[lane];
        for (int i = from; i <= to; i++) {
            vec3 d = vec3_sub(here, l->sample[i].knot.centre);
            if (vec3_dot(d, d) >= least) continue;
            least = vec3_dot(d, d);
            best[lane] = i;
        }
    }
    return best;
}

/* Position of the point of a chord nearest to p; below 0 or above 1 beyond its ends. */
SIMD_INLINE f64x8 chord_place(const samples8 *a, points8 p) {
    return dot8(sub8(p, a->centre), a->chord) / a->chord_squared;
}

SIMD_INLINE f64x8 box_distance_squared8(const box *b, points8 p) {
    f64x8 none = f64x8_set(0);
    f64x8 x = f64x8_max(f64x8_max(b->low.x - p.x, p.x - b->high.x), none);
    f64x8 y = f64x8_max(f64x8_max(b->low.y - p.y, p.y - b->high.y), none);
    f64x8 z = f64x8_max(f64x8_max(b->low.z - p.z, p.z - b->high.z), none);
    return x * x + y * y + z * z;
}

/* Approximate distances to the surface: correct in sign, nearly correct in size near the surface. Farther than `far`
 * from the limb, some number above `far`. */
static f64x8 limb_distances(const limb *l, points8 p, double far) {
    f64x8 outside = box_distance_squared8(&l->bounds, p);
    i64x8 away = outside > far * far;
    if (!i64x8_any(~away)) return f64x8_sqrt(outside);
    /* The chord from the nearest sample, or the one to it. */
    i64x8 i = nearest_samples(l, p), last = i == l->count - 1;
    i += last;
    samples8 a = samples_at(l, i);
    i64x8 before = (chord_place(&a, p) < 0) & (i > 0) & ~last;
    if (i64x8_any(before)) {
        i += before;
        a = samples_at(l, i);
    }
    samples8 b = samples_at(l, i + 1);
    f64x8 place = chord_place(&a, p), none = f64x8_set(0), one = f64x8_set(1);
    f64x8 t = f64x8_select(place < 0, none, f64x8_select(place > 1, one, place));
    points8 d = sub8(p, blend8(a.centre, b.centre, t)), side = blend8(a.side, b.side, t), up = blend8(a.up, b.up, t);
    f64x8 u = dot8(d, side), v = dot8(d, up);
    i64x8 in_start = (i == 0) & (place < 0), in_end = (i == l->count - 2) & (place > 1);
    f64x8 w = f64x8_select(in_start | in_end, f64x8_sqrt(f64x8_max(dot8(d, d) - u * u - v * v, none)), none);
    f64x8 cap = f64x8_select(in_start, f64x8_set(l->start_cap), f64x8_select(in_end, f64x8_set(l->end_cap), one));
    f64x8 across = mix8(a.across, b.across, t);
    f64x8 high = f64x8_select(v > 0, mix8(a.above, b.above, t), mix8(a.below, b.below, t));
    /* The first-order distance to the ellipsoid: f / |grad f| of f = |(u/across, v/high, w/cap)|. */
    f64x8 x = u / across, y = v / high, z = w / cap, f = f64x8_sqrt(x * x + y * y + z * z);
    f64x8 slope = f64x8_sqrt(x * x / (across * across) + y * y / (high * high) + z * z / (cap * cap));
    f64x8 near = f64x8_select(slope > 0, f * (f - 1) / slope, -f64x8_min(across, high));
    return f64x8_select(away, f64x8_sqrt(outside), near);
}

#define FAR 0.3 /* of the breadth: parts farther away do not matter */

/* Thickness over hand breadth, thumb to little finger: proximal, middle (for the thumb: its distal joint), distal. */
static const double thickness[HAND_FINGERS][3] = {
    {.229, .222, .212}, {.229, .198, .176}, {.216, .197, .180}, {.203, .182, .168}, {.183, .165, .149}};

static limb_knot knot_at(const hand_frame *frame, double along, double raise, double across, double above,
                         double below) {
    vec3 centre = vec3_mul_add(frame->position, hand_frame_along(frame), along);
    return (limb_knot){vec3_mul_add(centre, hand_frame_up(frame), raise),
                       hand_frame_side(frame),
                       hand_frame_up(frame),
                       across,
                       above,
                       below};
}

/* At a joint a limb has the mean direction of its two bones. */
static limb_knot knot_between(const hand_frame *a, const hand_frame *b, double across, double above, double below) {
    limb_knot k = knot_at(b, 0, 0, across, above, below);
    k.side = vec3_unit(vec3_add(hand_frame_side(a), hand_frame_side(b)));
    k.up = vec3_unit(vec3_add(hand_frame_up(a), hand_frame_up(b)));
    return k;
}

static limb finger_limb(hand_size size, const hand_frame *joint, int finger) {
    const hand_frame *bone = joint + HAND_INDEX_PROXIMAL + 5 * (finger - 1);
    hand_joint first = (hand_joint)(HAND_INDEX_PROXIMAL + 5 * (finger - 1));
    double p = hand_bone_length(size, first), m = hand_bone_length(size, first + 1),
           d = hand_bone_length(size, first + 2);
    double r = size.breadth / 2 * thickness[finger][0], s = size.breadth / 2 * thickness[finger][1],
           t = size.breadth / 2 * thickness[finger][2];
    double pulp = 0.02 * size.length;
    limb_knot knot[] = {
        knot_at(&bone[0], -0.45 * p, 0, 0.60 * r, 0.62 * r, 0.70 * r),
        knot_at(&bone[0], 0.05 * p, 0, 0.95 * r, 0.98 * r, 1.00 * r),
        knot_at(&bone[0], 0.50 * p, 0, 0.98 * r, 0.86 * r, 1.04 * r),
        knot_at(&bone[0], 0.80 * p, 0, 0.52 * (r + s), 0.46 * (r + s), 0.47 * (r + s)),
        knot_between(&bone[0], &bone[1], 0.53 * (r + s), 0.47 * (r + s), 0.435 * (r + s)),
        knot_at(&bone[1], 0.28 * m, 0, 1.01 * s, 0.84 * s, 0.95 * s),
        knot_at(&bone[1], 0.60 * m, 0, 0.97 * s, 0.78 * s, 0.96 * s),
        knot_between(&bone[1], &bone[2], 0.50 * (s + t), 0.395 * (s + t), 0.42 * (s + t)),
        knot_at(&bone[2], 0.38 * d, 0, 1.02 * t, 0.72 * t, 1.00 * t),
        knot_at(&bone[2], 0.78 * d, 0, 0.97 * t, 0.60 * t, 0.94 * t),
    };
    return limb_make(knot, 10, 1.4 * r, 0.22 * d + pulp);
}

static limb thumb_limb(hand_size size, const hand_frame *joint) {
    const hand_frame *bone = joint + HAND_THUMB_METACARPAL;
    double m = hand_bone_length(size, HAND_THUMB_METACARPAL), p = hand_bone_length(size, HAND_THUMB_PROXIMAL),
           d = hand_bone_length(size, HAND_THUMB_DISTAL);
    double r = size.breadth / 2 * thickness[0][0], t = size.breadth / 2 * thickness[0][2];
    limb_knot knot[] = {
        knot_at(&bone[0], 0.45 * m, 0, 1.15 * r, 1.00 * r, 1.30 * r),
        knot_at(&bone[0], 0.80 * m, 0, 1.08 * r, 0.98 * r, 1.20 * r),
        knot_between(&bone[0], &bone[1], 1.06 * r, 1.02 * r, 1.06 * r),
        knot_at(&bone[1], 0.45 * p, 0, 0.92 * r, 0.84 * r, 0.96 * r),
        knot_between(&bone[1], &bone[2], 0.51 * (r + t), 0.43 * (r + t), 0.42 * (r + t)),
        knot_at(&bone[2], 0.36 * d, 0, 1.12 * t, 0.72 * t, 1.02 * t),
        knot_at(&bone[2], 0.74 * d, 0, 1.06 * t, 0.58 * t, 0.92 * t),
    };
    return limb_make(knot, 7, 0.8 * r, 0.26 * d + 0.022 * size.length);
}

static limb_knot free_knot(double x, double y, double z, double across, double above, double below) {
    return (limb_knot){{x, y, z}, {1, 0, 0}, {0, 1, 0}, across, above, below};
}

/* Along a metacarpal, from the wrist to beyond the knuckle where the web ends. */
static limb ray_limb(hand_size size, const hand_frame *joint, int finger) {
    const hand_frame *root = joint + HAND_INDEX_METACARPAL + 5 * (finger - 1), *knuckle = root + 1;
    static const double below[HAND_FINGERS] = {0, .190, .190, .190, .185},
                        above[HAND_FINGERS] = {0, .132, .130, .127, .120};
    double b = size.breadth, r = b / 2 * thickness[finger][0];
    double m = vec3_distance(root->position, knuckle->position);
    double p = hand_bone_length(size, (hand_joint)(HAND_INDEX_PROXIMAL + 5 * (finger - 1)));
    limb_knot knot[] = {
        knot_at(root, -0.22 * m, 0, 0.125 * b, 0.13 * b, 0.16 * b),
        knot_at(root, 0.12 * m, 0, 0.125 * b, 0.150 * b, 0.20 * b),
        knot_at(root, 0.50 * m, 0, 0.140 * b, (above[finger] + .018) * b, (below[finger] + 0.015) * b),
        knot_at(root, 0.84 * m, 0, 0.155 * b, (above[finger] + .005) * b, below[finger] * b),
        knot_between(root, knuckle, 1.18 * r, above[finger] * b, 0.145 * b),
        knot_at(knuckle, 0.24 * p, 0, 1.06 * r, 0.80 * r, 0.140 * b),
    };
    return limb_make(knot, 6, 0.1 * b, 1.1 * r);
}

/* The root of the thumb and the flesh between it and the index finger. */
static limb thumb_ray(hand_size size, const hand_frame *joint) {
    const hand_frame *root = &joint[HAND_THUMB_METACARPAL];
    double b = size.breadth, m = hand_bone_length(size, HAND_THUMB_METACARPAL);
    limb_knot knot[] = {
        knot_at(root, -0.30 * m, 0, 0.15 * b, 0.13 * b, 0.14 * b),
        knot_at(root, 0.10 * m, 0, 0.165 * b, 0.125 * b, 0.175 * b),
        knot_at(root, 0.50 * m, 0, 0.160 * b, 0.115 * b, 0.185 * b),
        knot_at(root, 0.85 * m, 0, 0.130 * b, 0.112 * b, 0.145 * b),
    };
    return limb_make(knot, 4, 0.12 * b, 0.10 * b);
}

static limb wrist_limb(hand_size size) {
    double b = size.breadth, l = size.length;
    limb_knot knot[] = {
        free_knot(0.010 * b, -0.02 * b, 0.22 * l, 0.325 * b, 0.225 * b, 0.225 * b),
        free_knot(0.010 * b, -0.02 * b, 0.10 * l, 0.330 * b, 0.225 * b, 0.225 * b),
        free_knot(0.005 * b, -0.02 * b, -0.02 * l, 0.345 * b, 0.210 * b, 0.230 * b),
        free_knot(0.000 * b, -0.02 * b, -0.13 * l, 0.355 * b, 0.185 * b, 0.220 * b),
    };
    return limb_make(knot, 4, 0.1 * b, 0.12 * l);
}

static void add_pad(hand_flesh *f, vec3 centre, vec3 along, vec3 up, double a, double b, double c, double blend) {
    vec3 x = vec3_unit(along), z = vec3_unit(vec3_cross(x, up));
    f->pad[f->pad_count++] = (hand_pad){centre, {x, vec3_cross(z, x), z}, {a, b, c}, blend};
}

static void add_pads(hand_size size, const hand_frame *joint, hand_flesh *f) {
    double b = size.breadth, l = size.length;
    const vec3 up = {0, 1, 0};
    /* The thenar: over the thumb's metacarpal, on the side of the palm. */
    const hand_frame *thumb = &joint[HAND_THUMB_METACARPAL];
    double m = hand_bone_length(size, HAND_THUMB_METACARPAL);
    vec3 along = hand_frame_along(thumb), down = vec3_scale(hand_frame_up(thumb), -1);
    vec3 middle = vec3_mul_add(thumb->position, along, 0.42 * m);
    add_pad(f, vec3_mul_add(vec3_mul_add(middle, down, 0.07 * b), up, -0.035 * b), along, down, 0.60 * m, 0.198 * b,
            0.205 * b, 0.16 * b);
    /* The hypothenar: along the outer edge. */
    add_pad(f, vec3_make(0.31 * b, -0.115 * b, -0.19 * l), vec3_make(0.16, -0.02, -1), up, 0.175 * l, 0.165 * b,
            0.165 * b, 0.16 * b);
    /* The pads below the knuckles and the web between two fingers. */
    for (int finger = 1; finger < HAND_FINGERS; finger++) {
        const hand_frame *knuckle = &joint[HAND_INDEX_PROXIMAL + 5 * (finger - 1)];
        vec3 at = vec3_mul_add(knuckle->position, hand_frame_up(knuckle), -0.095 * b);
        add_pad(f, at, hand_frame_along(knuckle), up, 0.095 * l, 0.088 * b, 0.125 * b, 0.10 * b);
        if (finger == HAND_FINGERS - 1) continue;
        const hand_frame *next = knuckle + 5;
        double p = hand_bone_length(size, (hand_joint)(HAND_INDEX_PROXIMAL + 5 * (finger - 1)));
        double q = hand_bone_length(size, (hand_joint)(HAND_INDEX_PROXIMAL + 5 * finger));
        vec3 here = vec3_mul_add(knuckle->position, hand_frame_along(knuckle), 0.26 * p);
        vec3 there = vec3_mul_add(next->position, hand_frame_along(next), 0.26 * q);
        vec3 way = vec3_sub(there, here), centre = vec3_scale(vec3_add(here, there), 0.5);
        add_pad(f, vec3_mul_add(centre, up, -0.035 * b), way, up, 0.5 * vec3_length(way), 0.060 * b, 0.075 * b,
                0.08 * b);
    }
    /* The skin between thumb and index finger. */
    const hand_frame *index = &joint[HAND_INDEX_PROXIMAL];
    vec3 a = vec3_mul_add(thumb->position, along, 0.72 * m);
    vec3 c = vec3_mul_add(index->position, hand_frame_along(&joint[HAND_INDEX_METACARPAL]), -0.17 * l);
    vec3 web = vec3_sub(c, a);
    add_pad(f, vec3_add(vec3_scale(vec3_add(a, c), 0.5), vec3_make(0, -0.01 * b, 0)), web, up, 0.62 * vec3_length(web),
            0.085 * b, 0.24 * b, 0.16 * b);
    /* The hollow of the palm. */
    f->hollow[f->hollow_count++] = (hand_pad){
        {0.03 * b, -0.45 * b, -0.275 * l}, {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, {0.17 * b, 0.24 * b, 0.16 * l}, 0.16 * b};
}

static f64x8 pad_distances(const hand_pad *pad, points8 p, double far) {
    points8 d = sub8(p, set8(pad->centre));
    double beyond = fmax(pad->half[0], fmax(pad->half[1], pad->half[2])) + far;
    i64x8 away = dot8(d, d) > beyond * beyond;
    if (!i64x8_any(~away)) return f64x8_set(far);
    f64x8 f = f64x8_set(0), slope = f64x8_set(0);
    for (int i = 0; i < 3; i++) {
        f64x8 x = dot8(d, set8(pad->axis[i])) / pad->half[i];
        f += x * x;
        slope += x * x / (pad->half[i] * pad->half[i]);
    }
    f = f64x8_sqrt(f);
    f64x8 middle = f64x8_set(-fmin(pad->half[0], fmin(pad->half[1], pad->half[2])));
    return f64x8_select(away, f64x8_set(far), f64x8_select(slope > 0, f * (f - 1) / f64x8_sqrt(slope), middle));
}

static f64x8 flesh_values(const hand_flesh *flesh, points8 p) {
    double b = flesh->unit, far = FAR * b;
    f64x8 palm = limb_distances(&flesh->wrist, p, far);
    for (int i = 0; i < HAND_FINGERS; i++)
        palm = smooth_min8(palm, limb_distances(&flesh->ray[i], p, far), (i == 0 ? 0.20 : 0.10) * b);
    for (int i = 0; i < flesh->pad_count; i++)
        palm = smooth_min8(palm, pad_distances(&flesh->pad[i], p, far), flesh->pad[i].blend);
    for (int i = 0; i < flesh->hollow_count; i++)
        palm = -smooth_min8(-palm, pad_distances(&flesh->hollow[i], p, far), flesh->hollow[i].blend);
    f64x8 fingers = f64x8_set(2 * far);
    for (int i = 1; i < HAND_FINGERS; i++)
        fingers = smooth_min8(fingers, limb_distances(&flesh->finger[i], p, far), 0.04 * b);
    f64x8 all = smooth_min8(palm, fingers, 0.075 * b);
    all = smooth_min8(all, limb_distances(&flesh->finger[0], p, far), 0.12 * b);
    /* The cut through the wrist, with a round edge. */
    return -smooth_min8(-all, -(p.z - flesh->wrist_end), 0.06 * b);
}

static void evaluate_many(const void *context, int count, const vec3 *point, double *distance) {
    for (int first = 0; first < count; first += SIMD_LANES) {
        points8 p;
        for (int i = 0; i < SIMD_LANES; i++) {
            vec3 at = point[first + i < count ? first + i : count - 1];
            p.x[i] = at.x, p.y[i] = at.y, p.z[i] = at.z;
        }
        f64x8 value = flesh_values(context, p);
        for (int i = 0; i < SIMD_LANES && first + i < count; i++) distance[first + i] = value[i];
    }
}

/* The point itself is in the first lane, those for the slope in the next six. */
static double evaluate_flesh(const void *context, vec3 p, vec3 *normal) {
    const hand_flesh *flesh = context;
    double h = normal ? 1e-4 * flesh->unit : 0;
    f64x8 value = flesh_values(flesh, (points8){{p.x, p.x + h, p.x - h, p.x, p.x, p.x, p.x, p.x},
                                                {p.y, p.y, p.y, p.y + h, p.y - h, p.y, p.y, p.y},
                                                {p.z, p.z, p.z, p.z, p.z, p.z + h, p.z - h, p.z}});
    if (!normal) return value[0];
    vec3 slope = {value[1] - value[2], value[3] - value[4], value[5] - value[6]};
    double length = vec3_length(slope);
    *normal = length > 0 ? vec3_scale(slope, 1 / length) : vec3_make(0, 1, 0);
    return value[0];
}

hand_flesh *hand_flesh_create(hand_size size, const hand_frame joint[HAND_JOINTS]) {
    hand_flesh *out = MEMORY_ARRAY(hand_flesh, 1);
    if (!out) return NULL;
    *out = (hand_flesh){.unit = size.breadth, .wrist_end = 0.10 * size.length};
    out->finger[0] = thumb_limb(size, joint);
    out->ray[0] = thumb_ray(size, joint);
    for (int finger = 1; finger < HAND_FINGERS; finger++) {
        out->finger[finger] = finger_limb(size, joint, finger);
        out->ray[finger] = ray_limb(size, joint, finger);
    }
    out->wrist = wrist_limb(size);
    add_pads(size, joint, out);
    out->bounds = out->wrist.bounds;
    for (int i = 0; i < HAND_FINGERS; i++)
        out->bounds = box_join(out->bounds, box_join(out->finger[i].bounds, out->ray[i].bounds));
    out->bounds = box_grow(out->bounds, 0.12 * size.breadth);
    out->bounds.high.z = out->wrist_end;
    return out;
}

signed_distance signed_distance_of_flesh(const hand_flesh *flesh) {
    return (signed_distance){evaluate_flesh, evaluate_many, flesh, flesh->bounds};
}
