/* A vertex belongs to the finger whose chain of joints is nearest in thicknesses of that finger. Along the chain it
 * passes from one bone to the next over a band around the joint; between the thumb and the palm it passes over with the
 * difference of the distances from both. What is sharp there, as in the web, is then smoothed on the skin. */
#include "shape/hand_weights.h"

#include "shape/mesh.h"

#define WEB_SHARE 0.6 /* of the first phalanx: the web is gone there */
#define SMOOTHING 14  /* rounds: about three edges of the skin far */

/* Thickness of a finger's root over hand breadth. */
static const double thickness[HAND_FINGERS] = {.229, .229, .216, .203, .183};

static double ramp(double x) {
    double t = fmin(fmax((x + 1) / 2, 0), 1);
    return t * t * (3 - 2 * t);
}

/* The nearest point of a chain: which piece, and how far along it in metres; beyond the ends straight on. */
typedef struct chain_place {
    double distance;
    int piece;
    double from_start, to_end;
} chain_place;

static chain_place nearest_place(const hand_frame *chain, int pieces, vec3 p) {
    chain_place best = {.distance = INFINITY};
    for (int i = 0; i < pieces; i++) {
        vec3 way = vec3_sub(chain[i + 1].position, chain[i].position);
        double length = vec3_length(way), along = vec3_dot(vec3_sub(p, chain[i].position), way) / length;
        double inside = fmin(fmax(along, 0), length);
        double distance = vec3_distance(p, vec3_mul_add(chain[i].position, way, inside / length));
        if (distance >= best.distance) continue;
        best = (chain_place){distance, i, along, length - along};
    }
    return best;
}

/* Shares of the bones before, of and behind a piece; bones[i] belongs to piece i. */
static void share_along(const chain_place *at, int pieces, const int *bones, double band, double *weight) {
    double before = at->piece > 0 ? 1 - ramp(at->from_start / band) : 0;
    double behind = at->piece + 1 < pieces ? 1 - ramp(at->to_end / band) : 0;
    weight[bones[at->piece]] += 1 - before - behind;
    if (at->piece > 0) weight[bones[at->piece - 1]] += before;
    if (at->piece + 1 < pieces) weight[bones[at->piece + 1]] += behind;
}

static void weigh(hand_size size, const hand_frame *joint, vec3 p, double *weight) {
    double b = size.breadth, palm = INFINITY, least = INFINITY;
    chain_place best = {0};
    int finger = 1;
    for (int f = 1; f < HAND_FINGERS; f++) {
        chain_place at = nearest_place(joint + HAND_INDEX_METACARPAL + 5 * (f - 1), 4, p);
        palm = fmin(palm, at.distance);
        if (at.distance / thickness[f] >= least) continue;
        least = at.distance / thickness[f];
        finger = f;
        best = at;
    }
    chain_place at = nearest_place(joint + HAND_THUMB_METACARPAL, 3, p);
    double thumb = 0; /* how much of the vertex is the thumb's */
    if (at.piece > 0)
        thumb = at.distance < palm ? 1 : 0;
    else
        thumb = ramp((palm - at.distance) / (0.16 * b)) * ramp((at.from_start - 0.06 * b) / (0.22 * b));
    const int thumb_bones[3] = {1, 2, 3}, finger_bones[4] = {0, 3 * finger + 1, 3 * finger + 2, 3 * finger + 3};
    double of_thumb[HAND_BONES] = {0}, of_finger[HAND_BONES] = {0};
    share_along(&at, 3, thumb_bones, 0.5 * thickness[0] * b, of_thumb);
    share_along(&best, 4, finger_bones, (best.piece == 0 ? 0.6 : 0.45) * thickness[finger] * b, of_finger);
    for (int i = 0; i < HAND_BONES; i++) weight[i] = thumb * of_thumb[i] + (1 - thumb) * of_finger[i];
}

thenar_status hand_weights(hand_size size, const hand_frame *joint, const thenar_surface *skin, double *weight,
                           thenar_error *error) {
    for (int v = 0; v < skin->vertex_count; v++)
        weigh(size, joint, surface_vertex(skin, v), weight + HAND_BONES * (size_t)v);
    return hand_skinning_smooth(skin, SMOOTHING, weight, error);
}

/* A bone before its middle may still be within the web. */
void hand_vertex_groups(const hand_frame *joint, const thenar_surface *skin, const double *weight, int *group) {
    for (int v = 0; v < skin->vertex_count; v++) {
        int bone = hand_skinning_of(weight + HAND_BONES * (size_t)v).bone[0], finger = (bone - 1) / 3;
        bool first = finger == 0 ? bone <= 2 : (bone - 1) % 3 == 0;
        hand_joint start = hand_bone_joint(bone);
        vec3 way = vec3_sub(joint[start + 1].position, joint[start].position);
        double place = vec3_dot(vec3_sub(surface_vertex(skin, v), joint[start].position), way) / vec3_dot(way, way);
        group[v] = bone == 0 || bone == 1 || (first && place < WEB_SHARE) ? 0 : finger + 1;
    }
}
