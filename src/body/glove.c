#include "body/glove.h"

#define DEGREE (3.14159265358979323846 / 180)

/* Degrees: flexion, abduction, middle joint, end joint of the thumb and the fingers. A closed hand is the fist of
 * hand_pose.c but for the thumb, which such gloves are used to grasp with: it opposes the fingers. Ours, unverified. */
static const double open[HAND_FINGERS][HAND_FINGER_ANGLES] = {
    {0, 45, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}};
static const double closed[HAND_FINGERS][HAND_FINGER_ANGLES] = {
    {30, 45, 60, 50}, {82, 0, 98, 60}, {85, 0, 98, 62}, {86, 0, 98, 62}, {86, 0, 96, 60}};

/* The first frame that has a value of a finger; of the wrist for HAND_FINGERS. NULL: none. */
static const glove_frame *first_with(const glove_track *frames, int finger) {
    for (size_t k = 0; k < frames->count; k++) {
        const glove_frame *frame = &frames->data[k];
        if (!isnan(finger < HAND_FINGERS ? frame->flexion[finger] : frame->wrist.position.x)) return frame;
    }
    return NULL;
}

void glove_fill(glove_track *frames) {
    for (int f = 0; f < HAND_FINGERS; f++) {
        const glove_frame *first = first_with(frames, f);
        double last = first ? first->flexion[f] : 0;
        for (size_t k = 0; k < frames->count; k++) {
            double *value = &frames->data[k].flexion[f];
            *value = last = isnan(*value) ? last : *value;
        }
    }
    const glove_frame *first = first_with(frames, HAND_FINGERS);
    if (!first) return;
    skeleton_pose last = first->wrist;
    for (size_t k = 0; k < frames->count; k++) {
        skeleton_pose *wrist = &frames->data[k].wrist;
        *wrist = last = isnan(wrist->position.x) ? last : *wrist;
    }
}

glove_frame glove_sample(const glove_track *frames, double time) {
    size_t low = 0, high = frames->count; /* frames before low are at or before the time, those from high on later */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (frames->data[middle].time <= time)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || low == frames->count) return frames->data[low == 0 ? 0 : low - 1];
    glove_frame at = frames->data[low - 1], to = frames->data[low];
    double share = (time - at.time) / (to.time - at.time);
    at.time = time;
    for (int f = 0; f < HAND_FINGERS; f++) at.flexion[f] += share * (to.flexion[f] - at.flexion[f]);
    vec3 turn = quat_to_rotation_vector(quat_mul(to.wrist.orientation, quat_conjugate(at.wrist.orientation)));
    at.wrist.position = vec3_mul_add(at.wrist.position, vec3_sub(to.wrist.position, at.wrist.position), share);
    at.wrist.orientation =
        quat_unit(quat_mul(quat_from_rotation_vector(vec3_scale(turn, share)), at.wrist.orientation));
    return at;
}

void glove_finger(const hand_skeleton *hand, int finger, double flexion, double q[HAND_ANGLES]) {
    double share = fmax(0, fmin(1, flexion));
    for (int k = 0; k < HAND_FINGER_ANGLES; k++) {
        int i = HAND_FINGER_ANGLES * finger + k;
        double angle = DEGREE * (open[finger][k] + share * (closed[finger][k] - open[finger][k]));
        q[i] = fmax(hand->lower[i], fmin(hand->upper[i], angle));
    }
}

void glove_angles(const hand_skeleton *hand, const double flexion[HAND_FINGERS], double q[HAND_ANGLES]) {
    for (int f = 0; f < HAND_FINGERS; f++) glove_finger(hand, f, flexion[f], q);
}
