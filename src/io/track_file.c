/* Reads tracks: each line is one JSON object. */
#include "hand/retarget.h"

#include "io/file.h"
#include "core/memory.h"

#include "thenar/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIME_MAX 1e11 /* s */

/* Where the reader is, for messages. */
typedef struct place {
    const char *name;
    long line;
    thenar_error *error;
} place;

#define track_fail(at, ...) error_at((at)->error, (at)->name, (at)->line, 0, __VA_ARGS__)

/* Checks a position and, if oriented, a quaternion. what: whose they are, for messages. */
static thenar_status check_pose(const double v[7], bool oriented, const char *what, const place *at) {
    for (int i = 0; i < 3; i++)
        if (!(fabs(v[i]) <= TRACK_MAX_DISTANCE))
            return track_fail(at, "%s is at (%g, %g, %g); expected metres, at most %g", what, v[0], v[1], v[2],
                              TRACK_MAX_DISTANCE);
    double size = oriented ? sqrt(v[3] * v[3] + v[4] * v[4] + v[5] * v[5] + v[6] * v[6]) : 1;
    if (!(size > 0.5 && size < 2)) return track_fail(at, "%s: the quaternion has length %g; expected 1", what, size);
    return THENAR_OK;
}

static thenar_status read_joint(const json_t *value, int joint, const place *at, tracked_hand *out) {
    if (json_is_null(value)) return THENAR_OK;
    const char *name = hand_joint_name((hand_joint)joint);
    size_t count = json_array_size(value);
    if (!json_is_array(value) || (count != 3 && count != 7))
        return track_fail(
            at,
            "joint %d (%s) is not a list of 3 or 7 numbers; expected [x, y, z], [x, y, z, qx, qy, qz, qw] or "
            "null",
            joint, name);
    double v[7];
    for (size_t i = 0; i < count; i++) {
        if (!json_is_number(json_array_get(value, i)))
            return track_fail(
                at, "joint %d (%s): number %zu is not a number; expected 3 or 7 numbers, or null for the joint", joint,
                name, i);
        v[i] = json_number_value(json_array_get(value, i));
    }
    char what[64];
    snprintf(what, sizeof what, "joint %d (%s)", joint, name);
    thenar_status status = check_pose(v, count == 7, what, at);
    if (status != THENAR_OK) return status;
    out->position[joint] = vec3_load(v);
    if (count == 7) out->orientation[joint] = quat_unit((quat){v[3], v[4], v[5], v[6]});
    return THENAR_OK;
}

static thenar_status read_joints(const json_t *list, const place *at, tracked_hand *out) {
    size_t count = json_array_size(list);
    if (!json_is_array(list)) return track_fail(at, "joints is missing or not a list; expected %d joints", HAND_JOINTS);
    if (count != HAND_JOINTS)
        return track_fail(at, "%zu joints; expected %d in WebXR's order, from the wrist to the little finger's tip%s",
                          count, HAND_JOINTS,
                          count == HAND_JOINTS + 1 ? " (leave out OpenXR's first one, the palm)" : "");
    *out = tracked_hand_unseen();
    for (int j = 0; j < HAND_JOINTS; j++) {
        thenar_status status = read_joint(json_array_get(list, (size_t)j), j, at, out);
        if (status != THENAR_OK) return status;
    }
    return THENAR_OK;
}

static thenar_status read_side(const json_t *value, const place *at, bool *left) {
    const char *text = json_string_value(value);
    if (!text || (strcmp(text, "left") != 0 && strcmp(text, "right") != 0))
        return track_fail(at, "hand is %s; expected \"left\" or \"right\"",
                          !value ? "missing"
                          : text ? "another string"
                                 : "not a string");
    *left = strcmp(text, "left") == 0;
    return THENAR_OK;
}

static thenar_status read_time(const json_t *value, const place *at, double *time) {
    *time = json_number_value(value);
    if (!json_is_number(value) || !(fabs(*time) <= TIME_MAX))
        return track_fail(at, "t is %s; expected seconds, at most %g",
                          !value                  ? "missing"
                          : json_is_number(value) ? "out of range"
                                                  : "not a number",
                          TIME_MAX);
    return THENAR_OK;
}

static thenar_status read_flexion(const json_t *list, const place *at, track *t, glove_frame *out) {
    if (!json_is_array(list) || json_array_size(list) != HAND_FINGERS)
        return track_fail(
            at, "flexion is not a list of %d numbers; expected one per finger from the thumb on, 0 to 1 or null",
            HAND_FINGERS);
    for (int f = 0; f < HAND_FINGERS; f++) {
        const json_t *number = json_array_get(list, (size_t)f);
        out->flexion[f] = NAN;
        if (json_is_null(number)) continue;
        if (!json_is_number(number))
            return track_fail(at, "flexion of finger %d is not a number; expected 0 to 1, or null", f);
        double value = json_number_value(number);
        if (!glove_value_is_fine(value))
            return track_fail(at, "flexion of finger %d is %g; expected 0, open, to 1, closed", f, value);
        out->flexion[f] = fmax(0, fmin(1, value));
        if (out->flexion[f] != value && t->clamped++ == 0) t->clamped_line = at->line;
    }
    return THENAR_OK;
}

static thenar_status read_wrist(const json_t *list, const place *at, skeleton_pose *out) {
    *out = (skeleton_pose){vec3_make(NAN, NAN, NAN), quat_identity()};
    if (!list || json_is_null(list)) return THENAR_OK;
    double v[7];
    bool valid = json_is_array(list) && json_array_size(list) == 7;
    for (size_t i = 0; valid && i < 7; i++) {
        valid = json_is_number(json_array_get(list, i));
        v[i] = json_number_value(json_array_get(list, i));
    }
    if (!valid) return track_fail(at, "wrist is not a list of 7 numbers; expected [x, y, z, qx, qy, qz, qw] or null");
    thenar_status status = check_pose(v, true, "wrist", at);
    if (status == THENAR_OK) *out = (skeleton_pose){vec3_load(v), quat_unit((quat){v[3], v[4], v[5], v[6]})};
    return status;
}

/* Whether a frame is later than the previous one. Frames that are not are left out, since times must increase for
 * interpolation. */
static bool is_later(track *t, bool left, double time, const place *at) {
    double last = track_count(t, left) > 0 ? track_end(t, left) : -INFINITY;
    if (time == last && t->repeated++ == 0) t->repeated_line = at->line;
    if (time < last && t->decreasing++ == 0) t->decreasing_line = at->line;
    return time > last;
}

/* Appends the frame of a tracker (joints), or of a glove if joints is NULL. */
static thenar_status append_frame(track *t, bool left, const track_frame *joints, const glove_frame *glove,
                                  const place *at) {
    if (joints ? t->gloves[left].count > 0 : t->hands[left].count > 0)
        return track_fail(at, "has %s, but earlier lines of this hand have %s; expected one kind",
                          joints ? "joints" : "flexion", joints ? "flexion" : "joints");
    if (!is_later(t, left, joints ? joints->time : glove->time, at)) return THENAR_OK;
    if (track_count(t, false) + track_count(t, true) >= TRACK_MAX_FRAMES)
        return track_fail(at, "more than %zu frames; cut the track into pieces", TRACK_MAX_FRAMES);
    bool pushed = joints ? ARRAY_PUSH(&t->hands[left], *joints) : ARRAY_PUSH(&t->gloves[left], *glove);
    return pushed ? THENAR_OK : error_memory(at->error, at->name);
}

static thenar_status read_frame(const json_t *root, const place *at, track *t) {
    if (!json_is_object(root))
        return track_fail(at, "is not an object; expected {\"t\": seconds, \"hand\": ..., \"joints\": [...]}");
    const json_t *joints = json_object_get(root, "joints"), *flexion = json_object_get(root, "flexion");
    if (joints && flexion) return track_fail(at, "has joints and flexion; expected one of them");
    double time;
    bool left = false;
    thenar_status status = read_time(json_object_get(root, "t"), at, &time);
    if (status == THENAR_OK) status = read_side(json_object_get(root, "hand"), at, &left);
    if (status != THENAR_OK) return status;
    if (flexion) {
        glove_frame frame = {.time = time};
        status = read_flexion(flexion, at, t, &frame);
        if (status == THENAR_OK) status = read_wrist(json_object_get(root, "wrist"), at, &frame.wrist);
        return status == THENAR_OK ? append_frame(t, left, NULL, &frame, at) : status;
    }
    track_frame frame = {.time = time};
    status = read_joints(joints, at, &frame.joints);
    return status == THENAR_OK ? append_frame(t, left, &frame, NULL, at) : status;
}

static thenar_status read_line(const char *text, size_t size, bool ended, const place *at, track *t) {
    if (size > TRACK_MAX_LINE)
        return track_fail(at, "the line has %zu bytes; expected one frame per line, at most %zu bytes", size,
                          TRACK_MAX_LINE);
    json_text_fault fault;
    json_t *root = json_text_read(text, size, &fault);
    if (!root && fault.status == THENAR_ERROR_MEMORY) return error_memory(at->error, at->name);
    /* The error of a truncated last line is at its very end. */
    if (!root && !ended && fault.offset == size) {
        t->truncated_line = at->line;
        return THENAR_OK;
    }
    if (!root)
        return track_fail(at,
                          "column %ld: %s; expected JSON, one object per line, with null for a joint that is not seen",
                          fault.column, fault.what);
    thenar_status status = read_frame(root, at, t);
    json_decref(root);
    return status;
}

static bool is_blank(const char *text, size_t size) {
    for (size_t i = 0; i < size; i++)
        if (!strchr(" \t\r", text[i]) || text[i] == 0) return false;
    return true;
}

thenar_status track_parse(const char *text, size_t size, const char *name, track *out, thenar_error *error) {
    *out = (track){0};
    place at = {.name = name, .error = error};
    thenar_status status = THENAR_OK;
    for (size_t begin = 0; begin < size && status == THENAR_OK;) {
        const char *end = memchr(text + begin, '\n', size - begin);
        size_t length = end ? (size_t)(end - text) - begin : size - begin;
        at.line++;
        if (!is_blank(text + begin, length)) status = read_line(text + begin, length, end != NULL, &at, out);
        begin += length + 1;
    }
    for (int left = 0; left < 2; left++) glove_fill(&out->gloves[left]);
    if (status == THENAR_OK && track_count(out, false) + track_count(out, true) == 0)
        status = error_at(error, name, 0, 0,
                          "has no frame; expected JSON lines {\"t\": seconds, \"hand\": ..., "
                          "\"joints\": [...]}");
    if (status != THENAR_OK) track_free(out);
    return status;
}

thenar_status track_read(const char *path, track *out, thenar_error *error) {
    file_bytes bytes;
    *out = (track){0};
    thenar_status status = file_read(path, TRACK_MAX_BYTES, &bytes, error);
    if (status == THENAR_OK) status = track_parse(bytes.data, bytes.size, path, out, error);
    free(bytes.data);
    return status;
}

/* Passes a track that was read to the caller; frees it on an error. */
static thenar_status finish_track(track *t, const char *name, thenar_status status, thenar_track **out,
                                  thenar_error *error) {
    if (status == THENAR_OK) {
        t->name = memory_string(name);
        if (!t->name) status = error_memory(error, name);
    }
    if (status == THENAR_OK) {
        atomic_init(&t->owners, 1);
        *out = t;
        return status;
    }
    track_free(t);
    free(t);
    return status;
}

thenar_status thenar_track_load(const char *path, thenar_track **out, thenar_error *error) {
    USAGE_STATUS(path && out, error, "the path or the pointer to the track is NULL");
    *out = NULL;
    track *t = MEMORY_ARRAY(track, 1);
    return t ? finish_track(t, path, track_read(path, t, error), out, error) : error_memory(error, path);
}

thenar_status thenar_track_parse(const void *bytes, size_t size, thenar_track **out, thenar_error *error) {
    USAGE_STATUS(bytes && out, error, "the bytes or the pointer to the track are NULL");
    *out = NULL;
    file_bytes copy;
    thenar_status status = file_copy("a track in memory", bytes, size, TRACK_MAX_BYTES, &copy, error);
    if (status != THENAR_OK) return status;
    track *t = MEMORY_ARRAY(track, 1);
    status = t ? finish_track(t, "a track in memory", track_parse(copy.data, copy.size, "a track in memory", t, error),
                              out, error)
               : error_memory(error, "a track");
    free(copy.data);
    return status;
}
