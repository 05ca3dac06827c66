#include "hand/shape.h"

#include "core/error.h"
#include "thenar/hand.h"

#include <string.h>

static const char *const names[HAND_JOINTS] = {"wrist",
                                               "thumb-metacarpal",
                                               "thumb-phalanx-proximal",
                                               "thumb-phalanx-distal",
                                               "thumb-tip",
                                               "index-finger-metacarpal",
                                               "index-finger-phalanx-proximal",
                                               "index-finger-phalanx-intermediate",
                                               "index-finger-phalanx-distal",
                                               "index-finger-tip",
                                               "middle-finger-metacarpal",
                                               "middle-finger-phalanx-proximal",
                                               "middle-finger-phalanx-intermediate",
                                               "middle-finger-phalanx-distal",
                                               "middle-finger-tip",
                                               "ring-finger-metacarpal",
                                               "ring-finger-phalanx-proximal",
                                               "ring-finger-phalanx-intermediate",
                                               "ring-finger-phalanx-distal",
                                               "ring-finger-tip",
                                               "pinky-finger-metacarpal",
                                               "pinky-finger-phalanx-proximal",
                                               "pinky-finger-phalanx-intermediate",
                                               "pinky-finger-phalanx-distal",
                                               "pinky-finger-tip"};

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

int hand_bone_parent(int bone) {
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

static void rest_of_finger(hand_size size, int finger, hand_frame *joint) {
    const finger_table *f = &fingers[finger - 1];
    vec3 knuckle = {f->across * size.breadth, f->raise * size.breadth, -f->along * size.length};
    double aside = (f->across - f->root) * size.breadth, metacarpal = f->metacarpal * size.length;
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
        at = vec3_mul_add(at, hand_frame_along(&joint[1 + i]), f->bone[i] * size.length);
    }
    joint[4] = (hand_frame){at, joint[3].rotation};
}

static void rest_of_thumb(hand_size size, hand_frame *joint) {
    vec3 at = {thumb.across * size.breadth, thumb.raise * size.breadth, -thumb.along * size.length};
    vec3 back = {-sin(thumb.roll * DEGREE), cos(thumb.roll * DEGREE), 0};
    for (int i = 0; i < 3; i++) {
        double aside = thumb.aside[i] * DEGREE, down = thumb.down[i] * DEGREE;
        vec3 along = {-sin(aside) * cos(down), -sin(down), -cos(aside) * cos(down)};
        joint[i] = (hand_frame){at, rotation_along(along, back)};
        at = vec3_mul_add(at, along, thumb.bone[i] * size.length);
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
    int finger = (bone - 1) / 3, which = (bone - 1) % 3;
    return size.length * (finger == 0 ? thumb.bone[which] : fingers[finger - 1].bone[which]);
}
