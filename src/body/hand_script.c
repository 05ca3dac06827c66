#include "body/hand_script.h"

#include "base/memory.h"
#include "base/text.h"
#include "body/hand_pose.h"

#include <stdlib.h>
#include <string.h>

static thenar_status find_pose(const char *name, int number, const hand_skeleton *hand, double *q,
                               thenar_error *error) {
    if (hand_pose_find(hand, name, q)) return THENAR_OK;
    const char *closest = text_closest(name, hand_pose_names, (size_t)hand_pose_count());
    return error_set(error, THENAR_ERROR_INPUT, "pose %d: unknown pose %s%s%s", number, name,
                     closest ? "; did you mean " : "; expected rest, open, relaxed, fist, pinch, point or spread",
                     closest ? closest : "");
}

/* A pose, another one blended in, and angles of its own. */
static thenar_status read_pose(const thenar_hand_key *key, int number, const hand_skeleton *hand, double *q,
                               thenar_error *error) {
    double other[HAND_ANGLES];
    thenar_status status = find_pose(key->pose ? key->pose : "rest", number, hand, q, error);
    if (status == THENAR_OK && key->other) status = find_pose(key->other, number, hand, other, error);
    if (status != THENAR_OK) return status;
    if (key->other && !(key->share >= 0 && key->share <= 1))
        return error_set(error, THENAR_ERROR_INPUT, "pose %d: its share is %g; expected 0 to 1", number, key->share);
    for (int i = 0; key->other && i < HAND_ANGLES; i++) q[i] += key->share * (other[i] - q[i]);
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
