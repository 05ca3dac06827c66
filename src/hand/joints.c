/* The joints of a hand: names, rest positions, and the skeleton with its axes. */
#include "hand/retarget.h"

#include "hand/shape.h"
#include "mesh/mesh.h"

#include "thenar/hand.h"

#include <string.h>

/* clang-format off */
static const char *const names[HAND_JOINTS] = {
    "wrist",
    "thumb-metacarpal", "thumb-phalanx-proximal", "thumb-phalanx-distal", "thumb-tip",
    "index-finger-metacarpal", "index-finger-phalanx-proximal",
    "index-finger-phalanx-intermediate", "index-finger-phalanx-distal", "index-finger-tip",
    "middle-finger-metacarpal", "middle-finger-phalanx-proximal",
    "middle-finger-phalanx-intermediate", "middle-finger-phalanx-distal", "middle-finger-tip",
    "ring-finger-metacarpal", "ring-finger-phalanx-proximal",
    "ring-finger-phalanx-intermediate", "ring-finger-phalanx-distal", "ring-finger-tip",
    "pinky-finger-metacarpal", "pinky-finger-phalanx-proximal",
    "pinky-finger-phalanx-intermediate", "pinky-finger-phalanx-distal", "pinky-finger-tip"};
/* clang-format on */

const char *hand_joint_name(hand_joint joint) {
    assert((unsigned)joint < HAND_JOINTS);
    return names[joint];
}

NAMES(thenar_hand_joint, names)

static const char *const finger_names[] = {"thumb", "index", "middle", "ring", "little"};
NAMES(thenar_finger, finger_names)

/* The first joint of a finger, its metacarpal. */
static int first_joint(int finger) {
    return finger == 0 ? HAND_THUMB_METACARPAL : HAND_INDEX_METACARPAL + 5 * (finger - 1);
}

hand_joint hand_bone_joint(int bone) {
    assert(bone >= 0 && bone < HAND_BONES);
    if (bone == 0) return HAND_WRIST;
    int finger = (bone - 1) / 3, place = (bone - 1) % 3;
    return (hand_joint)(first_joint(finger) + (finger == 0 ? place : place + 1));
}

/* -1 for the palm. */
static int hand_bone_parent(int bone) {
    assert(bone >= 0 && bone < HAND_BONES);
    return bone == 0 ? -1 : (bone - 1) % 3 == 0 ? 0 : bone - 1;
}

int hand_joint_bone(hand_joint joint) {
    assert((unsigned)joint < HAND_JOINTS);
    if (joint == HAND_WRIST) return 0;
    int finger = joint < HAND_INDEX_METACARPAL ? 0 : 1 + ((int)joint - (int)HAND_INDEX_METACARPAL) / 5;
    int place = (int)joint - first_joint(finger) - (finger > 0); /* -1 for a finger's metacarpal */
    if (place < 0) return 0;
    return 1 + 3 * finger + (place < 3 ? place : 2);
}

int thenar_hand_joint_bone(thenar_hand_joint joint) {
    for (int bone = 0; bone < HAND_BONES; bone++)
        if ((int)hand_bone_joint(bone) == (int)joint) return bone;
    return -1;
}

const char *thenar_hand_bone_name(int bone) {
    return bone == 0 ? "palm" : bone > 0 && bone < HAND_BONES ? names[hand_bone_joint(bone)] : "unknown";
}

/* Bone lengths and knuckles after Buchholz et al. 1992; the fingers' metacarpals after X-ray means of hands about 185
 * mm long, since Buchholz measures them from the wrist. The rest angles, the arch of the knuckles and the position of
 * the thumb's root are our own choice. */

#define DEGREE (3.14159265358979323846 / 180)

typedef struct finger_table {
    double across, along, raise; /* the knuckle: shares of breadth, length, breadth */
    double root;                 /* proximal end of the metacarpal, across: share of breadth */
    double metacarpal, bone[3];  /* lengths: shares of hand length */
    double spread;               /* towards the little finger, degrees from -z */
    double roll;                 /* of the back of the finger towards the little finger, degrees */
    double bend[3];              /* flexion at the three joints, degrees */
} finger_table;

/* Index to little finger. */
static const finger_table fingers[HAND_FINGERS - 1] = {
    {-.251, .447, .010, -.130, 68.1 / 185, {.245, .143, .097}, -9, -4, {7, 9, 6}},
    {0, .446, .030, -.020, 64.6 / 185, {.266, .170, .108}, -1.5, 0, {8, 10, 6}},
    {.206, .409, .010, .085, 58.0 / 185, {.244, .165, .107}, 6.5, 4, {9, 11, 6}},
    {.402, .368, -.045, .185, 53.7 / 185, {.204, .117, .093}, 16, 9, {10, 11, 7}},
};

/* The thumb: its root, the lengths of its bones, their directions by the angles to the side (from -z towards the
 * thumb's side) and down, and the rotation of its back from the back of the hand towards the side. */
static const struct {
    double across, along, raise, bone[3], aside[3], down[3], roll;
} thumb = {-.235, .115, -.13, {.251, .196, .158}, {43, 34, 28}, {24, 21, 20}, 62};

quat hand_rotation_of(mat3 m) {
    /* From the largest of the four squares, for accuracy (Shepperd 1978). */
    double t[4] = {m.m[0] - m.m[4] - m.m[8], m.m[4] - m.m[0] - m.m[8], m.m[8] - m.m[0] - m.m[4],
                   m.m[0] + m.m[4] + m.m[8]};
    int best = 0;
    for (int i = 1; i < 4; i++)
        if (t[i] > t[best]) best = i;
    double s = 2 * sqrt(1 + t[best]);
    double a = m.m[7] - m.m[5], b = m.m[2] - m.m[6], c = m.m[3] - m.m[1];
    double d = m.m[1] + m.m[3], e = m.m[2] + m.m[6], f = m.m[5] + m.m[7];
    switch (best) {
    case 0:
        return quat_unit((quat){s / 4, d / s, e / s, a / s});
    case 1:
        return quat_unit((quat){d / s, s / 4, f / s, b / s});
    case 2:
        return quat_unit((quat){e / s, f / s, s / 4, c / s});
    default:
        return quat_unit((quat){a / s, b / s, c / s, s / 4});
    }
}

/* -z along, y as close to `up` as possible. */
static quat rotation_along(vec3 along, vec3 up) {
    vec3 z = vec3_unit(vec3_scale(along, -1));
    vec3 x = vec3_unit(vec3_cross(up, z));
    return hand_rotation_of(mat3_columns(x, vec3_cross(z, x), z));
}

/* The length of a bone 1..15: as measured, or the table's. */
static double bone_length(const hand_size *size, int bone) {
    int finger = (bone - 1) / 3, which = (bone - 1) % 3;
    if (size->bone[bone - 1] > 0) return size->bone[bone - 1];
    return size->length * (finger == 0 ? thumb.bone[which] : fingers[finger - 1].bone[which]);
}

static bool root_is_known(const hand_size *size, int finger) {
    vec3 root = size->root[finger];
    return root.x != 0 || root.y != 0 || root.z != 0;
}

/* Where the first bone of a finger begins: as measured, or the table's place. */
static vec3 root_of(const hand_size *size, int finger, double across, double along, double raise) {
    if (root_is_known(size, finger)) return size->root[finger];
    return vec3_make(across * size->breadth, raise * size->breadth, -along * size->length);
}

static void rest_of_finger(hand_size size, int finger, hand_frame *joint) {
    const finger_table *f = &fingers[finger - 1];
    vec3 knuckle = root_of(&size, finger, f->across, f->along, f->raise);
    double across = root_is_known(&size, finger) ? knuckle.x / size.breadth : f->across;
    double aside = (across - f->root) * size.breadth, metacarpal = f->metacarpal * size.length;
    vec3 root = {f->root * size.breadth, 0, 0};
    /* A breadth that leaves no length for the metacarpal still yields a direction. */
    root.z = knuckle.z + sqrt(fmax(metacarpal * metacarpal - aside * aside - knuckle.y * knuckle.y,
                                   0.25 * metacarpal * metacarpal));
    vec3 up = {sin(f->roll * DEGREE), cos(f->roll * DEGREE), 0};
    joint[0] = (hand_frame){root, rotation_along(vec3_sub(knuckle, root), up)};
    vec3 at = knuckle;
    quat turn = quat_mul(quat_from_rotation_vector(vec3_make(0, -f->spread * DEGREE, 0)),
                         quat_from_rotation_vector(vec3_make(0, 0, -f->roll * DEGREE)));
    for (int i = 0; i < 3; i++) {
        turn = quat_mul(turn, quat_from_rotation_vector(vec3_make(-f->bend[i] * DEGREE, 0, 0)));
        joint[1 + i] = (hand_frame){at, quat_unit(turn)};
        at = vec3_mul_add(at, hand_frame_along(&joint[1 + i]), bone_length(&size, 1 + 3 * finger + i));
    }
    joint[4] = (hand_frame){at, joint[3].rotation};
}

static void rest_of_thumb(hand_size size, hand_frame *joint) {
    vec3 at = root_of(&size, 0, thumb.across, thumb.along, thumb.raise);
    vec3 back = {-sin(thumb.roll * DEGREE), cos(thumb.roll * DEGREE), 0};
    for (int i = 0; i < 3; i++) {
        double aside = thumb.aside[i] * DEGREE, down = thumb.down[i] * DEGREE;
        vec3 along = {-sin(aside) * cos(down), -sin(down), -cos(aside) * cos(down)};
        joint[i] = (hand_frame){at, rotation_along(along, back)};
        at = vec3_mul_add(at, along, bone_length(&size, 1 + i));
    }
    joint[3] = (hand_frame){at, joint[2].rotation};
}

void hand_rest(hand_size size, hand_frame joint[HAND_JOINTS]) {
    joint[HAND_WRIST] = (hand_frame){{0, 0, 0}, quat_identity()};
    rest_of_thumb(size, joint + HAND_THUMB_METACARPAL);
    for (int finger = 1; finger < HAND_FINGERS; finger++)
        rest_of_finger(size, finger, joint + HAND_INDEX_METACARPAL + 5 * (finger - 1));
}

hand_frame hand_frame_mirrored(hand_frame frame) {
    /* Reflecting on both sides of a rotation gives a rotation again, with y and z reversed. */
    quat q = frame.rotation;
    return (hand_frame){vec3_make(-frame.position.x, frame.position.y, frame.position.z), {q.x, -q.y, -q.z, q.w}};
}

double hand_bone_length(hand_size size, hand_joint joint) {
    int bone = hand_joint_bone(joint);
    assert(bone > 0 && hand_bone_joint(bone) == joint);
    return bone_length(&size, bone);
}

/* The bones and joint axes of a hand, from its joints at rest. */

#define SHORTEST_BONE 1e-4 /* m */
/* Rotation of the thumb about its own bone per unit of abduction. The axes of its CMC joint are skew (it is a saddle
 * joint), so a thumb that moves away from the palm turns its pad towards the pads of the fingers; without this
 * rotation no grip between thumb and fingertips closes. The value is our own choice, not verified: it makes the pads
 * face each other. */
#define PRONATION 1.2

/* Ranges of motion in degrees: lower and upper bound of flexion, abduction, middle and end joint. docs/hand.md has the
 * source. Its abduction is read as positive towards the thumb, so the index and little fingers spread farther away
 * from the middle finger than towards it. */
static const double ranges[HAND_FINGERS][HAND_FINGER_ANGLES][2] = {
    {{-25, 35}, {-30, 60}, {-10, 80}, {-15, 80}}, {{0, 90}, {-15, 42}, {0, 100}, {-10, 90}},
    {{0, 90}, {-8, 35}, {0, 100}, {-10, 90}},     {{0, 90}, {-14, 20}, {0, 100}, {-20, 90}},
    {{0, 90}, {-40, 30}, {0, 100}, {-30, 90}},
};

hand_springs hand_springs_default(void) {
    return (hand_springs){
        .stiffness = 1, .damping = 0.015, .middle = 0.5, .end = 0.25, .limit_stiffness = 20, .limit_damping = 0.02};
}

static thenar_status check(const hand_skeleton_rest *rest, thenar_error *error) {
    for (int j = 0; j < HAND_JOINTS; j++) {
        quat q = rest->joints[j].orientation;
        double size = sqrt(q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w);
        if (!vec3_is_finite(rest->joints[j].position) || !(fabs(size - 1) < 1e-3))
            return error_set(error, THENAR_ERROR_INPUT, "the rest frame of %s is not a position and a unit quaternion",
                             hand_joint_name((hand_joint)j));
    }
    for (int b = 1; b < HAND_BONES; b++) {
        hand_joint joint = hand_bone_joint(b), next = (hand_joint)(joint + 1);
        double length = vec3_distance(rest->joints[joint].position, rest->joints[next].position);
        if (!(length >= SHORTEST_BONE))
            return error_set(error, THENAR_ERROR_INPUT, "the bone from %s to %s is %g m long; expected at least %g m",
                             hand_joint_name(joint), hand_joint_name(next), length, SHORTEST_BONE);
    }
    return THENAR_OK;
}

/* A joint frame relative to another one. */
static skeleton_pose relative(skeleton_pose to, skeleton_pose from) {
    quat back = quat_conjugate(quat_unit(from.orientation));
    return (skeleton_pose){quat_rotate(back, vec3_sub(to.position, from.position)),
                           quat_unit(quat_mul(back, quat_unit(to.orientation)))};
}

static quat turn(vec3 axis, double angle) {
    return quat_from_rotation_vector(vec3_scale(axis, angle));
}

static skeleton_axis make_axis(vec3 direction, int finger, int number, double rest, double share,
                               const hand_springs *springs) {
    const double *range = ranges[finger][number];
    return (skeleton_axis){.axis = direction,
                           .lower = fmin(range[0] * DEGREE, rest),
                           .upper = fmax(range[1] * DEGREE, rest),
                           .rest = rest,
                           .stiffness = share * springs->stiffness,
                           .damping = share * springs->damping,
                           .limit_stiffness = springs->limit_stiffness,
                           .limit_damping = springs->limit_damping};
}

/* The axes of a bone and its frame at zero angles, chosen so that the rest angles reproduce the rest pose. The rest
 * angles follow from the bone's direction -z in the frame of the bone it continues, (-sin a, -cos a sin f, -cos a cos
 * f) for flexion f about -x followed by a rotation a about y. Roll and misalignment stay in the frame, so that a
 * finger bends in its own plane. */
static void make_joint(const hand_skeleton_rest *rest, int b, const hand_springs *springs, skeleton_bone *bone) {
    int finger = (b - 1) / 3, place = (b - 1) % 3;
    hand_joint joint = hand_bone_joint(b), before = place > 0 || finger > 0 ? (hand_joint)(joint - 1) : HAND_WRIST;
    double side = rest->left ? -1 : 1;
    const vec3 bending = {-1, 0, 0};
    vec3 spreading = {0, side, 0};
    if (b == 1) spreading = vec3_unit(vec3_make(0, side, side * PRONATION));
    skeleton_pose local = relative(rest->joints[joint], rest->joints[before]);
    vec3 along = quat_rotate(local.orientation, vec3_make(0, 0, -1));
    double flexion = atan2(-along.y, -along.z), spread = 0;
    if (place == 0) spread = finger == 0 ? 0 : side * asin(fmax(-1, fmin(1, -along.x)));
    if (place == 0 && finger == 0) flexion = 0;
    if (place == 0) {
        bone->axis_count = 2;
        bone->axes[HAND_FLEXION] = make_axis(bending, finger, HAND_FLEXION, flexion, 1, springs);
        bone->axes[HAND_ABDUCTION] = make_axis(spreading, finger, HAND_ABDUCTION, spread, 1, springs);
    } else {
        double share = place == 1 ? springs->middle : springs->end;
        bone->axis_count = 1;
        bone->axes[0] = make_axis(bending, finger, HAND_MIDDLE_FLEXION + place - 1, flexion, share, springs);
    }
    int parent = hand_bone_parent(b);
    skeleton_pose in_parent = relative(rest->joints[joint], rest->joints[hand_bone_joint(parent)]);
    quat turned = quat_mul(turn(bending, flexion), turn(spreading, spread));
    bone->parent = parent;
    bone->offset = in_parent.position;
    bone->rotation = quat_unit(quat_mul(in_parent.orientation, quat_conjugate(turned)));
}

thenar_status hand_skeleton_create(const hand_skeleton_rest *rest, const hand_springs *springs, hand_skeleton *out,
                                   thenar_error *error) {
    *out = (hand_skeleton){.left = rest->left};
    thenar_status status = check(rest, error);
    if (status != THENAR_OK) return status;
    skeleton_bone bones[HAND_BONES] = {0};
    for (int b = 0; b < HAND_BONES; b++) {
        skeleton_bone *bone = &bones[b];
        bone->mass = rest->bones[b].mass;
        bone->centre = rest->bones[b].centre;
        bone->inertia = rest->bones[b].inertia;
        if (b > 0) {
            make_joint(rest, b, springs, bone);
            continue;
        }
        bone->parent = -1;
        bone->free = true;
        bone->offset = rest->joints[HAND_WRIST].position;
        bone->rotation = quat_unit(rest->joints[HAND_WRIST].orientation);
    }
    status = skeleton_model_create(bones, HAND_BONES, &out->model, error);
    if (status != THENAR_OK) return status;
    for (int j = 0; j < HAND_JOINTS; j++)
        out->joints[j] = relative(rest->joints[j], rest->joints[hand_bone_joint(hand_joint_bone((hand_joint)j))]);
    for (int b = 0; b < HAND_BONES; b++)
        for (int k = 0; k < bones[b].axis_count; k++) {
            int i = out->model->first_dof[b] + k;
            out->lower[i] = bones[b].axes[k].lower;
            out->upper[i] = bones[b].axes[k].upper;
            out->rest[i] = bones[b].axes[k].rest;
        }
    return THENAR_OK;
}

void hand_skeleton_free(hand_skeleton *hand) {
    skeleton_model_free(hand->model);
    *hand = (hand_skeleton){0};
}

void hand_skeleton_joints(const hand_skeleton *hand, const skeleton_pose bones[HAND_BONES],
                          skeleton_pose joints[HAND_JOINTS]) {
    for (int j = 0; j < HAND_JOINTS; j++) {
        skeleton_pose bone = bones[hand_joint_bone((hand_joint)j)], local = hand->joints[j];
        joints[j].position = vec3_add(bone.position, quat_rotate(bone.orientation, local.position));
        joints[j].orientation = quat_unit(quat_mul(bone.orientation, local.orientation));
    }
}

#define TIP_SLICE 0.06 /* half the thickness of the slice in which a breadth is measured, over the bone's length */

void hand_skeleton_measure_tips(hand_skeleton *hand, const thenar_surface *skin, const int *bone_of,
                                const hand_frame joint[HAND_JOINTS]) {
    double half[HAND_BONES] = {0}; /* breadths at the middle of each bone */
    for (int f = 0; f < HAND_FINGERS; f++) hand->tip_half[f] = (vec3){0};
    for (int v = 0; v < skin->vertex_count; v++) {
        int bone = bone_of[v];
        if (bone == 0) continue;
        const hand_frame *start = &joint[hand_bone_joint(bone)], *end = start + 1;
        vec3 p = surface_vertex(skin, v), from = vec3_sub(p, start->position), tip = vec3_sub(p, end->position);
        double length = vec3_distance(start->position, end->position);
        double across = fabs(vec3_dot(from, hand_frame_side(start)));
        if (fabs(vec3_dot(from, hand_frame_along(start)) / length - 0.5) < TIP_SLICE)
            half[bone] = fmax(half[bone], across);
        if (bone % 3 != 0) continue;
        vec3 *reach = &hand->tip_half[bone / 3 - 1];
        double beyond = vec3_dot(tip, hand_frame_along(start));
        reach->z = fmax(reach->z, beyond);
        if (fabs(beyond) > TIP_SLICE * length) continue;
        reach->x = fmax(reach->x, across);
        reach->y = fmax(reach->y, -vec3_dot(tip, hand_frame_up(start)));
    }
    for (int f = 0; f < HAND_FINGERS; f++) {
        const double *b = half + 3 * f + 1;
        const vec3 *reach = &hand->tip_half[f];
        /* The thumb's metacarpal lies in the palm. */
        hand->finger_radius[f] = f == 0 ? (b[1] + b[2]) / 2 : (b[0] + b[1] + b[2]) / 3;
        if (!(reach->x > 0 && reach->y > 0 && reach->z > 0)) hand->finger_radius[f] = 0; /* no skin there */
    }
}
