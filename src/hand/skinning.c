#include "hand/shape.h"

#include "core/memory.h"
#include "mesh/mesh.h"

#include <stdlib.h>
#include <string.h>

#define MIN_WEIGHT 0.02

hand_skinning hand_skinning_of(const double weight[HAND_BONES]) {
    hand_skinning s = {{0}, {0}};
    double total = 0, kept = 0;
    for (int b = 0; b < HAND_BONES; b++) total += weight[b];
    for (int b = 0; b < HAND_BONES && total > 0; b++) {
        double w = weight[b] / total;
        if (w < MIN_WEIGHT || w <= s.weight[3]) continue;
        int k = 3;
        for (; k > 0 && w > s.weight[k - 1]; k--) {
            s.weight[k] = s.weight[k - 1];
            s.bone[k] = s.bone[k - 1];
        }
        s.weight[k] = w;
        s.bone[k] = b;
    }
    for (int k = 0; k < HAND_SKINNING_BONES; k++) kept += s.weight[k];
    if (!(kept > 0)) return (hand_skinning){{0}, {1}};
    for (int k = 0; k < HAND_SKINNING_BONES; k++) s.weight[k] /= kept;
    return s;
}

/* Diffuses weights from each vertex along its edges, `rounds` times: the result is smooth and never crosses a gap.
 * weight: HAND_BONES numbers per vertex. */
static thenar_status hand_skinning_smooth(const thenar_surface *skin, int rounds, double *weight, thenar_error *error) {
    size_t count = (size_t)skin->vertex_count;
    double *sum = MEMORY_ARRAY(double, HAND_BONES *count);
    int *around = MEMORY_ARRAY(int, count);
    if (!sum || !around) {
        free(sum);
        free(around);
        return error_memory(error, "skinning");
    }
    for (int i = 0; i < 3 * skin->triangle_count; i++) around[skin->triangles[i]] += 2;
    for (int round = 0; round < rounds; round++) {
        memset(sum, 0, HAND_BONES * count * sizeof *sum);
        for (int t = 0; t < skin->triangle_count; t++)
            for (int k = 0; k < 3; k++) {
                double *to = sum + HAND_BONES * (size_t)surface_triangle(skin, t)[k];
                const double *a = weight + HAND_BONES * (size_t)surface_triangle(skin, t)[(k + 1) % 3];
                const double *b = weight + HAND_BONES * (size_t)surface_triangle(skin, t)[(k + 2) % 3];
                for (int i = 0; i < HAND_BONES; i++) to[i] += a[i] + b[i];
            }
        for (size_t v = 0; v < count; v++)
            for (int i = 0; i < HAND_BONES && around[v] > 0; i++)
                weight[HAND_BONES * v + (size_t)i] =
                    (weight[HAND_BONES * v + (size_t)i] + sum[HAND_BONES * v + (size_t)i] / around[v]) / 2;
    }
    free(sum);
    free(around);
    return THENAR_OK;
}

/* A vertex belongs to the finger whose chain of joints is nearest, measured in thicknesses of that finger. Along the
 * chain the weight passes from one bone to the next over a band around the joint; between thumb and palm it follows
 * the difference of the distances from both. Sharp transitions, as in the web, are then smoothed on the skin. */

#define WEB_SHARE 0.6 /* of the first phalanx, where the web has ended */
#define SMOOTHING 14  /* rounds: about three edges of the skin */

/* Thickness of a finger's root over hand breadth. */
static const double thickness[HAND_FINGERS] = {.229, .229, .216, .203, .183};

static double ramp(double x) {
    double t = fmin(fmax((x + 1) / 2, 0), 1);
    return t * t * (3 - 2 * t);
}

/* The nearest point of a chain: its segment, and the position along it in metres; extended straight beyond the ends. */
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

/* Weights of the bones before, at and after a segment; bones[i] belongs to segment i. */
static void share_along(const chain_place *at, int pieces, const int *bones, double band, double *weight) {
    double before = at->piece > 0 ? 1 - ramp(at->from_start / band) : 0;
    double behind = at->piece + 1 < pieces ? 1 - ramp(at->to_end / band) : 0;
    weight[bones[at->piece]] += 1 - before - behind;
    if (at->piece > 0) weight[bones[at->piece - 1]] += before;
    if (at->piece + 1 < pieces) weight[bones[at->piece + 1]] += behind;
}

static void weigh(hand_size size, const hand_frame *joint, vec3 p, double *weight) {
    double b = size.breadth, palm = INFINITY, min = INFINITY;
    chain_place best = {0};
    int finger = 1;
    for (int f = 1; f < HAND_FINGERS; f++) {
        chain_place at = nearest_place(joint + HAND_INDEX_METACARPAL + 5 * (f - 1), 4, p);
        palm = fmin(palm, at.distance);
        if (at.distance / thickness[f] >= min) continue;
        min = at.distance / thickness[f];
        finger = f;
        best = at;
    }
    chain_place at = nearest_place(joint + HAND_THUMB_METACARPAL, 3, p);
    double thumb = 0; /* weight of the thumb */
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

/* A bone up to its middle may still lie within the web. */
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
