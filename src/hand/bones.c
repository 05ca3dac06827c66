/* The bones and joint axes of a hand, from its joints at rest. */
#include "hand/retarget.h"

#define DEGREE (3.14159265358979323846 / 180)
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
    skeleton_pose hung = relative(rest->joints[joint], rest->joints[before]);
    vec3 along = quat_rotate(hung.orientation, vec3_make(0, 0, -1));
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
