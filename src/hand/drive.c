/* The target pose of a hand: from its script, from a track or glove, or from the application. */
#include "hand/hand.h"

#include "core/text.h"
#include "hand/retarget.h"

#include <stdlib.h>
#include <string.h>

#define DEGREE (3.14159265358979323846 / 180)

static const char *const pose_names[] = {"rest", "open", "relaxed", "fist", "pinch", "point", "spread"};

/* Degrees, in the order of the pose names after "rest": flexion, abduction, middle joint, end joint, for the thumb and
 * each finger. Our own choice. The thumb's first two angles count from the rest pose, so the position of its tip
 * depends on the hand. */
static const double poses[][HAND_FINGERS][HAND_FINGER_ANGLES] = {
    {{0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}},
    {{5, 5, 10, 15}, {20, 2, 30, 15}, {25, 0, 32, 16}, {28, -2, 34, 16}, {28, -5, 32, 15}},
    {{6, 18, 68, 50}, {82, 0, 98, 60}, {85, 0, 98, 62}, {86, 0, 98, 62}, {86, 0, 96, 60}},
    {{6, 50, 59, -6}, {76, 7, 34, 5}, {35, 0, 35, 18}, {30, -2, 32, 16}, {26, -5, 28, 14}},
    {{6, 18, 68, 50}, {0, 0, 5, 2}, {85, 0, 98, 62}, {86, 0, 98, 62}, {86, 0, 96, 60}},
    {{-20, -10, 0, -5}, {0, 18, 0, 0}, {0, 4, 0, 0}, {0, -12, 0, 0}, {0, -28, 0, 0}},
};

NAMES(thenar_hand_pose, pose_names)

void hand_pose_angles(const hand_skeleton *hand, thenar_hand_pose pose, double q[HAND_ANGLES]) {
    for (int i = 0; i < HAND_ANGLES; i++) {
        double angle = pose == THENAR_HAND_POSE_REST
                           ? hand->rest[i]
                           : poses[pose - 1][i / HAND_FINGER_ANGLES][i % HAND_FINGER_ANGLES] * DEGREE;
        q[i] = fmax(hand->lower[i], fmin(hand->upper[i], angle));
    }
}

/* A named pose, optionally blended with another, with single angles overridden. */
static thenar_status read_pose(const thenar_hand_key *key, int number, const hand_skeleton *hand, double *q,
                               thenar_error *error) {
    double other[HAND_ANGLES];
    if ((unsigned)key->pose >= THENAR_HAND_POSE_COUNT || (unsigned)key->other >= THENAR_HAND_POSE_COUNT)
        return error_set(error, THENAR_ERROR_INPUT, "pose %d is of kind %d and %d; expected 0 to %d", number,
                         (int)key->pose, (int)key->other, THENAR_HAND_POSE_COUNT - 1);
    if (!(key->share >= 0 && key->share <= 1))
        return error_set(error, THENAR_ERROR_INPUT, "pose %d: its share is %g; expected 0 to 1", number, key->share);
    hand_pose_angles(hand, key->pose, q);
    hand_pose_angles(hand, key->other, other);
    for (int i = 0; key->share > 0 && i < HAND_ANGLES; i++) q[i] += key->share * (other[i] - q[i]);
    for (int i = 0; key->angles && i < HAND_ANGLES; i++) {
        if (isnan(key->angles[i])) continue;
        if (!(key->angles[i] >= hand->lower[i] && key->angles[i] <= hand->upper[i]))
            return error_set(error, THENAR_ERROR_INPUT, "pose %d: angle %d is %g rad; expected %g..%g", number, i,
                             key->angles[i], hand->lower[i], hand->upper[i]);
        q[i] = key->angles[i];
    }
    return THENAR_OK;
}

static thenar_status read_poses(const hand_script_def *def, const hand_skeleton *hand, hand_script *out,
                                thenar_error *error) {
    out->keys = MEMORY_ARRAY(hand_script_key, def->pose_count);
    if (!out->keys) return error_memory(error, "a script");
    out->key_count = def->pose_count;
    for (int k = 0; k < def->pose_count; k++) {
        double time = def->poses[k].time;
        if (!isfinite(time) || (k > 0 && time <= def->poses[k - 1].time))
            return error_set(error, THENAR_ERROR_INPUT, "pose %d is at %g s; expected a time later than the one before",
                             k, time);
        out->keys[k].time = time;
        thenar_status status = read_pose(&def->poses[k], k, hand, out->keys[k].q, error);
        if (status != THENAR_OK) return status;
    }
    return THENAR_OK;
}

thenar_status hand_script_create(const hand_script_def *def, const hand_skeleton *hand, hand_script *out,
                                 thenar_error *error) {
    const skeleton_bone *base = &hand->model->bones[0];
    *out = (hand_script){.rest = {base->offset, base->rotation}};
    memcpy(out->rest_angles, hand->rest, sizeof out->rest_angles);
    const thenar_support path = {.name = "wrist", .keys = def->keys, .key_count = def->key_count};
    thenar_status status = support_check(&path, error);
    if (status != THENAR_OK) return status;
    out->path = (support_model){.pivot = base->offset, .key_count = def->key_count, .linear = def->linear};
    out->path.keys = MEMORY_ARRAY(thenar_key, def->key_count);
    if (!out->path.keys) return error_memory(error, "a script");
    if (def->key_count > 0) memcpy(out->path.keys, def->keys, (size_t)def->key_count * sizeof *def->keys);
    status = read_poses(def, hand, out, error);
    if (status != THENAR_OK) hand_script_free(out);
    return status;
}

void hand_script_free(hand_script *script) {
    free(script->keys);
    support_free(&script->path);
    *script = (hand_script){0};
}

static void sample_angles(const hand_script *script, double time, double q[HAND_ANGLES]) {
    int next = 0;
    while (next < script->key_count && script->keys[next].time <= time) next++;
    if (script->key_count == 0 || next == 0 || next == script->key_count) {
        const double *from = script->key_count == 0 ? script->rest_angles : script->keys[next == 0 ? 0 : next - 1].q;
        memcpy(q, from, HAND_ANGLES * sizeof *q);
        return;
    }
    const hand_script_key *from = &script->keys[next - 1], *to = &script->keys[next];
    double share = (time - from->time) / (to->time - from->time);
    if (!script->path.linear) share = share * share * (3 - 2 * share);
    for (int i = 0; i < HAND_ANGLES; i++) q[i] = (1 - share) * from->q[i] + share * to->q[i];
}

void hand_script_sample(const hand_script *script, double time, skeleton_pose *base, double q[HAND_ANGLES]) {
    const support_state by_keys = {0};
    vec3 move, turn;
    support_pose(&script->path, &by_keys, time, &move, &turn);
    quat rotation = quat_from_rotation_vector(turn);
    base->position = support_place(&script->path, move, rotation, script->rest.position);
    base->orientation = quat_unit(quat_mul(rotation, script->rest.orientation));
    sample_angles(script, time, q);
}

/* Degrees: flexion, abduction, middle joint, end joint, for the thumb and each finger. A closed hand is the pose
 * "fist" except for the thumb, which opposes the fingers, since gloves of this kind are used for grasping. Our own
 * choice, not verified. */
static const double open[HAND_FINGERS][HAND_FINGER_ANGLES] = {
    {0, 45, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}};
static const double closed[HAND_FINGERS][HAND_FINGER_ANGLES] = {
    {30, 45, 60, 50}, {82, 0, 98, 60}, {85, 0, 98, 62}, {86, 0, 98, 62}, {86, 0, 96, 60}};

/* The first frame with a value for a finger, or for the wrist if finger is HAND_FINGERS. NULL if there is none. */
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

/* Number of frames at or before a time. A frame has `size` bytes and begins with its time. */
static size_t count_until(const void *frames, size_t count, size_t size, double time) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (*(const double *)((const char *)frames + middle * size) <= time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static vec3 blend_position(vec3 a, vec3 b, double share) {
    if (isnan(a.x) || isnan(b.x)) return share < 0.5 ? a : b;
    return vec3_mul_add(a, vec3_sub(b, a), share);
}

/* Along the shorter great circle at constant speed. */
static quat blend_orientation(quat a, quat b, double share) {
    if (isnan(a.w) || isnan(b.w)) return share < 0.5 ? a : b;
    vec3 turn = quat_to_rotation_vector(quat_mul(b, quat_conjugate(a)));
    return quat_unit(quat_mul(quat_from_rotation_vector(vec3_scale(turn, share)), a));
}

glove_frame glove_sample(const glove_track *frames, double time) {
    size_t next = count_until(frames->data, frames->count, sizeof *frames->data, time);
    if (next == 0 || next == frames->count) return frames->data[next == 0 ? 0 : next - 1];
    glove_frame at = frames->data[next - 1], to = frames->data[next];
    double share = (time - at.time) / (to.time - at.time);
    at.time = time;
    for (int f = 0; f < HAND_FINGERS; f++) at.flexion[f] += share * (to.flexion[f] - at.flexion[f]);
    at.wrist.position = blend_position(at.wrist.position, to.wrist.position, share);
    at.wrist.orientation = blend_orientation(at.wrist.orientation, to.wrist.orientation, share);
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

/* Joint angles, rad, within the limits of the hand. */
static void glove_angles(const hand_skeleton *hand, const double flexion[HAND_FINGERS], double q[HAND_ANGLES]) {
    for (int f = 0; f < HAND_FINGERS; f++) glove_finger(hand, f, flexion[f], q);
}

static hand_target seen_by_tracker(hand_state *state, const tracked_hand *seen, double h) {
    const hand_model *hand = state->model;
    retarget fit;
    retarget_result result;
    retarget_start(&fit, &hand->skeleton, &hand->retarget);
    if (state->kept->carried.started) fit.carried = state->kept->carried;
    retarget_frame(&fit, seen, h, &result);
    state->kept->carried = fit.carried;
    hand_target target = {.base = result.base};
    for (int i = 0; i < HAND_ANGLES; i++) target.q[i] = result.q[i];
    return target;
}

void hand_drive(hand_state *state, const body_step *step, hand_target *target) {
    const hand_model *hand = state->model;
    switch ((hand_driver)state->kept->driver) {
    case HAND_BY_JOINTS:
        *target = seen_by_tracker(state, &state->kept->joints, step->h);
        return;
    case HAND_BY_ANGLES:
        *target = state->kept->given;
        return;
    case HAND_BY_SCRIPT:
        break;
    }
    hand_script_sample(&hand->script, step->time, &target->base, target->q);
    if (!hand->track) return;
    const glove_track *glove = &hand->track->gloves[hand->skeleton.left];
    if (glove->count > 0) {
        glove_frame worn = glove_sample(glove, track_start(hand->track) + step->time);
        glove_angles(&hand->skeleton, worn.flexion, target->q);
        if (!isnan(worn.wrist.position.x)) target->base = worn.wrist;
    } else {
        tracked_hand seen;
        track_sample(hand->track, hand->skeleton.left, track_start(hand->track) + step->time, &seen);
        *target = seen_by_tracker(state, &seen, step->h);
    }
}

/* Number of evenly spaced frames that are compared. */
#define COMPARED_FRAMES 9

bool hand_track_looks_mirrored(const hand_model *hand) {
    const track_hand *frames = &hand->track->hands[hand->skeleton.left];
    int mirrored = 0;
    if (frames->count == 0) return false; /* a glove track */
    for (size_t k = 0; k < COMPARED_FRAMES; k++)
        mirrored += retarget_is_other_hand(&hand->skeleton,
                                           &frames->data[k * (frames->count - 1) / (COMPARED_FRAMES - 1)].joints);
    return mirrored > COMPARED_FRAMES / 2;
}

/* Tracks: lifetime, and interpolation between frames. */

void track_free(track *t) {
    for (int left = 0; left < 2; left++) {
        free(t->hands[left].data);
        free(t->gloves[left].data);
    }
    free(t->name);
    *t = (track){0};
}

track *track_keep(const track *t) {
    track *own = (track *)t; /* the count is the one thing of it that changes; it is atomic */
    atomic_fetch_add(&own->owners, 1);
    return own;
}

void thenar_track_free(thenar_track *t) {
    if (!t || atomic_fetch_sub(&t->owners, 1) > 1) return;
    track_free(t);
    free(t);
}

bool thenar_track_has_hand(const thenar_track *frames, bool left) {
    USAGE_POINTER(frames, false);
    return track_count(frames, left) > 0;
}

double thenar_track_duration(const thenar_track *frames) {
    USAGE_POINTER(frames, NAN);
    return track_stop(frames) - track_start(frames);
}

static void give_size(const hand_size *from, thenar_hand_size *to) {
    *to = (thenar_hand_size){.length = from->length, .breadth = from->breadth};
    memcpy(to->bone, from->bone, sizeof to->bone);
    for (int f = 0; f < HAND_FINGERS; f++) vec3_store(to->root + 3 * f, from->root[f]);
}

thenar_status track_measure(const track *t, bool left, hand_size *out, thenar_error *error) {
    const track_hand *hand = &t->hands[left];
    return hand_measure(hand->count > 0 ? &hand->data->joints : NULL, sizeof *hand->data, hand->count, left, out,
                        error);
}

thenar_status thenar_track_measure(const thenar_track *frames, bool left, thenar_hand_size *measured,
                                   thenar_error *error) {
    USAGE_STATUS(frames && measured, error, "a pointer is NULL");
    hand_size size;
    thenar_status status = track_measure(frames, left, &size, error);
    if (status == THENAR_OK) give_size(&size, measured);
    return status;
}

thenar_status thenar_hand_measure(const double *joints, int frame_count, bool left, thenar_hand_size *measured,
                                  thenar_error *error) {
    USAGE_STATUS(joints && measured && frame_count >= 0, error, "a pointer is NULL or the number of frames negative");
    tracked_hand *frames = MEMORY_ARRAY(tracked_hand, frame_count);
    if (!frames) return error_memory(error, "the size of a hand");
    for (size_t k = 0; k < (size_t)frame_count; k++)
        for (size_t j = 0; j < HAND_JOINTS; j++) frames[k].position[j] = vec3_load(joints + 7 * (HAND_JOINTS * k + j));
    hand_size size;
    thenar_status status = hand_measure(frames, sizeof *frames, (size_t)frame_count, left, &size, error);
    if (status == THENAR_OK) give_size(&size, measured);
    free(frames);
    return status;
}

thenar_status track_expect(const track *t, bool left, thenar_error *error) {
    if (track_count(t, left) > 0) return THENAR_OK;
    const char *wanted = left ? "left" : "right", *other = left ? "right" : "left";
    return error_at(error, t->name ? t->name : "the track", 0, 0,
                    "has no frame of the %s hand, but %zu of the %s one; expected \"hand\": \"%s\"", wanted,
                    track_count(t, !left), other, wanted);
}

void track_sample(const track *t, bool left, double time, tracked_hand *out) {
    const track_hand *hand = &t->hands[left];
    *out = tracked_hand_unseen();
    if (hand->count == 0) return;
    size_t next = count_until(hand->data, hand->count, sizeof *hand->data, time);
    if (next == 0 || next == hand->count) {
        *out = hand->data[next == 0 ? 0 : next - 1].joints;
        return;
    }
    const track_frame *from = &hand->data[next - 1], *to = &hand->data[next];
    double share = (time - from->time) / (to->time - from->time);
    for (int j = 0; j < HAND_JOINTS; j++) {
        out->position[j] = blend_position(from->joints.position[j], to->joints.position[j], share);
        out->orientation[j] = blend_orientation(from->joints.orientation[j], to->joints.orientation[j], share);
    }
}

double track_start(const track *t) {
    double first = INFINITY;
    for (int left = 0; left < 2; left++)
        if (track_count(t, left) > 0) first = fmin(first, track_begin(t, left));
    return first;
}

double track_stop(const track *t) {
    double last = -INFINITY;
    for (int left = 0; left < 2; left++)
        if (track_count(t, left) > 0) last = fmax(last, track_end(t, left));
    return last;
}
