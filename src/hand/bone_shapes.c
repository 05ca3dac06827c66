/* Where the bones lie in the flesh of a hand, and its tissues.
 *
 * A bone lies nearer to the back of the finger than to its palmar side: the dorsal skin is thin, the pulp is thick. Its
 * cross-section is that of the finger, smaller; the bones of palm and thumb do not grow with the flesh around them. */
#include "hand/shape.h"

#include "core/memory.h"
#include "mesh/mesh.h"

/* In shares of the finger at that place: total is the height of its section, from the palmar to the dorsal skin. */
#define HALF_HEIGHT 0.205 /* of total */
#define DORSAL_SKIN 0.13  /* of total: the flesh between the bone and the back of the finger */
#define HALF_BREADTH 0.42 /* of half the breadth of the finger */
/* In shares of hand breadth: */
#define HALF_HEIGHT_MAX 0.05
#define HALF_BREADTH_MAX 0.05
#define DORSAL_SKIN_MAX 0.045
#define RAISE_MAX 0.06
#define REACH_MAX 0.3
#define TIP_PULP 0.022 /* of hand length: from the end of the last bone to the skin of the tip */

static double reach(const hand_bones *b, vec3 from, vec3 way, double limit) {
    double step = 0.004 * b->size.breadth, at = 0;
    while (at < limit && signed_distance_at(b->solid, vec3_mul_add(from, way, at + step), NULL) <= 0) at += step;
    return fmin(at + step / 2, limit);
}

bone_section hand_bone_section(const hand_bones *b, vec3 axis, vec3 side, vec3 up) {
    double breadth = b->size.breadth, limit = REACH_MAX * breadth;
    double above = reach(b, axis, up, limit), total = above + reach(b, axis, vec3_scale(up, -1), limit);
    double half = fmin(reach(b, axis, side, limit), reach(b, axis, vec3_scale(side, -1), limit));
    bone_section s = {.high = fmin(HALF_HEIGHT * total, HALF_HEIGHT_MAX * breadth),
                      .across = fmin(HALF_BREADTH * half, HALF_BREADTH_MAX * breadth)};
    s.raise = fmin(above - fmin(DORSAL_SKIN * total, DORSAL_SKIN_MAX * breadth) - s.high, RAISE_MAX * breadth);
    return s;
}

static bone_axis *add_axis(hand_bones *b, int number, const hand_frame *frame, vec3 end) {
    bone_axis *a = &b->axis[b->count++];
    vec3 way = vec3_sub(end, frame->position);
    *a = (bone_axis){.number = number, .start = frame->position, .along = vec3_unit(way), .length = vec3_length(way)};
    vec3 up = hand_frame_up(frame);
    a->up = vec3_unit(vec3_mul_add(up, a->along, -vec3_dot(up, a->along)));
    a->side = vec3_cross(a->along, a->up);
    return a;
}

/* The last bone ends before the skin of the tip, wherever the last joint is. */
static void end_finger(hand_bones *b, bone_axis *a) {
    double skin = reach(b, a->start, a->along, 0.3 * b->size.length);
    a->length = fmax(skin - TIP_PULP * b->size.length, 0.5 * a->length);
    a->pulp = fmax(skin - a->length, 0);
    vec3 middle = vec3_mul_add(a->start, a->along, 0.7 * a->length);
    double limit = REACH_MAX * b->size.breadth;
    a->half = fmin(reach(b, middle, a->side, limit), reach(b, middle, vec3_scale(a->side, -1), limit));
}

void hand_bones_make(hand_size size, const hand_frame *joint, const signed_distance *solid, hand_bones *out) {
    *out = (hand_bones){.size = size, .solid = solid};
    for (int f = 1; f < HAND_FINGERS; f++) {
        hand_frame base = joint[HAND_INDEX_METACARPAL + 5 * (f - 1)];
        vec3 knuckle = joint[HAND_INDEX_PROXIMAL + 5 * (f - 1)].position;
        /* The carpal bones lie before the metacarpals. */
        base.position = vec3_mul_add(base.position, vec3_sub(base.position, knuckle), 1);
        add_axis(out, 0, &base, knuckle);
    }
    for (int number = 1; number < HAND_BONES; number++) {
        const hand_frame *frame = &joint[hand_bone_joint(number)];
        bone_axis *a = add_axis(out, number, frame, frame[1].position);
        if (number % 3 == 0) end_finger(out, a);
    }
}

const bone_axis *hand_bone_axis(const hand_bones *bones, int number) {
    return &bones->axis[HAND_FINGERS - 2 + number];
}

/* Tissues, by the centroid of a tet. */

#define SKIN_DEPTH 0.005    /* of hand length: the skin layer is 1 mm deep at 190 mm */
#define SKIN_EDGE 0.024     /* of hand length: longer tets are not skin alone */
#define JOINT_HALF 0.05     /* of hand breadth: half the length of the tissue at a joint */
#define BETWEEN 0.08        /* share of a bone by which the corners of a tet differ that a joint stretches */
#define JOINT_DISTANCE 0.14 /* of hand breadth: its radius */

static bool is_at_joint(const hand_shape *hand, hand_size size, vec3 p) {
    for (int bone = 1; bone < HAND_BONES; bone++) {
        const hand_frame *joint = &hand->joint[hand_bone_joint(bone)];
        vec3 d = vec3_sub(p, joint->position);
        if (vec3_length(d) < JOINT_DISTANCE * size.breadth &&
            fabs(vec3_dot(d, hand_frame_along(joint))) < JOINT_HALF * size.breadth)
            return true;
    }
    return false;
}

static double weight_of(const hand_skinning *skinning, int bone) {
    for (int k = 0; k < HAND_SKINNING_BONES; k++)
        if (skinning->bone[k] == bone && skinning->weight[k] > 0) return skinning->weight[k];
    return 0;
}

/* Whether the corners of a tet follow different bones, so that a joint that bends stretches it. */
static bool is_between_bones(const hand_shape *hand, const int corner[4]) {
    for (int i = 0; i < 4; i++) {
        const hand_skinning *own = &hand->node_skinning[corner[i]];
        for (int k = 0; k < HAND_SKINNING_BONES && own->weight[k] > 0; k++)
            for (int j = 0; j < 4; j++)
                if (own->weight[k] - weight_of(&hand->node_skinning[corner[j]], own->bone[k]) > BETWEEN) return true;
    }
    return false;
}

thenar_status hand_tissues_find(hand_size size, const signed_distance *solid, hand_shape *hand, thenar_error *error) {
    hand->tet_tissue = MEMORY_ARRAY(unsigned char, hand->mesh.tet_count);
    if (!hand->tet_tissue) return error_memory(error, "hand");
    for (int t = 0; t < hand->mesh.tet_count; t++) {
        vec3 corner[4], centre = {0};
        double longest = 0;
        tet_mesh_corners(&hand->mesh, t, corner);
        for (int i = 0; i < 4; i++) {
            centre = vec3_mul_add(centre, corner[i], 0.25);
            for (int k = 0; k < i; k++) longest = fmax(longest, vec3_distance(corner[i], corner[k]));
        }
        bool skin =
            longest < SKIN_EDGE * size.length && signed_distance_at(solid, centre, NULL) > -SKIN_DEPTH * size.length;
        int bone = hand->mesh.tags[t];
        bool folds = is_at_joint(hand, size, centre) || is_between_bones(hand, hand->mesh.tets + 4 * (size_t)t);
        hand->tet_tissue[t] = folds       ? HAND_TISSUE_JOINT
                              : skin      ? HAND_TISSUE_SKIN
                              : bone <= 1 ? HAND_TISSUE_PALM
                                          : HAND_TISSUE_PULP;
    }
    return THENAR_OK;
}
