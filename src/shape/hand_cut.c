#include "shape/hand_cut.h"

#include "shape/mesh.h"

#define FILLET 0.3 /* of the thickness of a finger */

/* Along a segment: 0 at its start, 1 at its end, and beyond. */
static double along_segment(vec3 a, vec3 b, vec3 p) {
    vec3 way = vec3_sub(b, a);
    double square = vec3_dot(way, way);
    return square > 0 ? vec3_dot(vec3_sub(p, a), way) / square : 0;
}

static double segment_distance(vec3 a, vec3 b, vec3 p) {
    double t = fmin(fmax(along_segment(a, b, p), 0), 1);
    return vec3_distance(p, vec3_mul_add(a, vec3_sub(b, a), t));
}

/* The first of the four metacarpals' joints that a finger has; the thumb's has none in the palm. */
static hand_joint root_of(int finger) {
    return (hand_joint)(HAND_INDEX_METACARPAL + 5 * (finger - 1));
}

double hand_cut_bone_distance(const hand_cut *cut, int bone, vec3 p) {
    if (bone > 0) {
        hand_joint j = hand_bone_joint(bone);
        return segment_distance(cut->joint[j].position, cut->joint[j + 1].position, p);
    }
    double least = INFINITY;
    for (int finger = 1; finger < HAND_FINGERS; finger++) {
        const hand_frame *root = &cut->joint[root_of(finger)];
        least = fmin(least, segment_distance(root[0].position, root[1].position, p));
    }
    return least;
}

/* From the chain of a finger's bones, its metacarpal with them, less their thickness. */
static double chain_distance(const hand_cut *cut, int finger, vec3 p) {
    double least = INFINITY;
    for (int bone = 3 * finger + 1; bone <= 3 * finger + 3; bone++)
        least = fmin(least, hand_cut_bone_distance(cut, bone, p) - cut->radius[bone]);
    if (finger == 0) return least;
    const hand_frame *root = &cut->joint[root_of(finger)];
    return fmin(least, segment_distance(root[0].position, root[1].position, p) - cut->radius[0]);
}

/* Half the difference between the distances from a finger and from the nearest other one. */
static double beside(const hand_cut *cut, int finger, vec3 p) {
    double other = INFINITY;
    for (int i = 0; i < HAND_FINGERS; i++)
        if (i != finger) other = fmin(other, chain_distance(cut, i, p));
    return (chain_distance(cut, finger, p) - other) / 2;
}

static double before_joint(const hand_cut *cut, int bone, vec3 p) {
    return vec3_dot(cut->plane[bone], vec3_sub(p, cut->joint[hand_bone_joint(bone)].position));
}

double hand_cut_region(const hand_cut *cut, int bone, vec3 p) {
    if (bone == 0) {
        double inside = INFINITY; /* the fingers */
        for (int finger = 0; finger < HAND_FINGERS; finger++)
            inside = fmin(inside, fmax(-before_joint(cut, 3 * finger + 1, p), beside(cut, finger, p)));
        return -inside;
    }
    double region = fmax(-before_joint(cut, bone, p), beside(cut, (bone - 1) / 3, p));
    return bone % 3 == 0 ? region : fmax(region, before_joint(cut, bone + 1, p));
}

/* The same with rounded edges. */
static double rounded_region(const hand_cut *cut, int bone, vec3 p) {
    double k = cut->fillet, region = -2 * k;
    if (bone == 0) {
        for (int finger = 0; finger < HAND_FINGERS; finger++)
            region =
                smooth_max(region, -smooth_max(-before_joint(cut, 3 * finger + 1, p), beside(cut, finger, p), k), k);
        return region;
    }
    region = smooth_max(-before_joint(cut, bone, p), beside(cut, (bone - 1) / 3, p), k);
    return bone % 3 == 0 ? region : smooth_max(region, before_joint(cut, bone + 1, p), k);
}

static double piece_value(const hand_piece *piece, vec3 p) {
    double region = rounded_region(piece->cut, piece->bone, p);
    /* Out here the skin, which is dear to ask, does not matter. */
    if (region > 2 * piece->cut->fillet) return region;
    return smooth_max(region, surface_distance_query(piece->cut->skin, p).distance, piece->cut->fillet);
}

static double evaluate_piece(const void *context, vec3 p, vec3 *normal) {
    const hand_piece *piece = context;
    double value = piece_value(piece, p), h = 0.01 * piece->cut->fillet;
    if (!normal) return value;
    vec3 slope = {piece_value(piece, vec3_make(p.x + h, p.y, p.z)) - piece_value(piece, vec3_make(p.x - h, p.y, p.z)),
                  piece_value(piece, vec3_make(p.x, p.y + h, p.z)) - piece_value(piece, vec3_make(p.x, p.y - h, p.z)),
                  piece_value(piece, vec3_make(p.x, p.y, p.z + h)) - piece_value(piece, vec3_make(p.x, p.y, p.z - h))};
    double length = vec3_length(slope);
    *normal = length > 0 ? vec3_scale(slope, 1 / length) : vec3_make(0, 1, 0);
    return value;
}

signed_distance signed_distance_of_piece(const hand_piece *piece) {
    return (signed_distance){evaluate_piece, piece, piece->cut->bounds[piece->bone]};
}

/* Does a vertex stand beside its bone, rather than beyond an end? */
static bool is_beside(const hand_cut *cut, int bone, vec3 p) {
    if (bone == 0) return true;
    hand_joint j = hand_bone_joint(bone);
    double t = along_segment(cut->joint[j].position, cut->joint[j + 1].position, p);
    return t >= 0 && t <= 1;
}

static void measure(const hand_shape *hand, hand_cut *cut) {
    int count[HAND_BONES] = {0};
    for (int v = 0; v < hand->skin.vertex_count; v++) {
        int bone = hand->vertex_bone[v];
        vec3 p = surface_vertex(&hand->skin, v);
        cut->bounds[bone] = box_join(cut->bounds[bone], (box){p, p});
        if (!is_beside(cut, bone, p)) continue;
        cut->radius[bone] += hand_cut_bone_distance(cut, bone, p);
        count[bone]++;
    }
    for (int bone = 0; bone < HAND_BONES; bone++)
        if (count[bone] > 0) cut->radius[bone] /= count[bone];
    /* Pieces reach farther into the hand than their skin does. */
    for (int bone = 0; bone < HAND_BONES; bone++) cut->bounds[bone] = box_grow(cut->bounds[bone], cut->radius[bone]);
}

void hand_cut_make(const hand_shape *hand, const surface_distance *skin, hand_cut *out) {
    *out = (hand_cut){.skin = skin};
    for (int j = 0; j < HAND_JOINTS; j++) out->joint[j] = hand->joint[j];
    for (int bone = 0; bone < HAND_BONES; bone++) {
        hand_joint j = hand_bone_joint(bone);
        vec3 here = hand->joint[j].position, next = hand->joint[j + 1].position;
        out->bounds[bone] = (box){vec3_min(here, next), vec3_max(here, next)};
        if (bone == 0) continue;
        vec3 way = vec3_unit(vec3_sub(next, here));
        /* The thumb's metacarpal begins in the palm, with no bone of its own before it. */
        if (bone != 1) way = vec3_add(way, vec3_unit(vec3_sub(here, hand->joint[j - 1].position)));
        out->plane[bone] = vec3_unit(way);
    }
    measure(hand, out);
    for (int finger = 0; finger < HAND_FINGERS; finger++)
        out->fillet += FILLET * out->radius[3 * finger + 3] / HAND_FINGERS;
}
