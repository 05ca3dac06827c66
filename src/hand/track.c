#include "hand/retarget.h"

#include "core/error.h"

#include <stdlib.h>

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

thenar_status track_expect(const track *t, bool left, thenar_error *error) {
    if (track_count(t, left) > 0) return THENAR_OK;
    const char *wanted = left ? "left" : "right", *other = left ? "right" : "left";
    return error_at(error, t->name ? t->name : "the track", 0, 0,
                    "has no frame of the %s hand, but %zu of the %s one; expected \"hand\": \"%s\"", wanted,
                    track_count(t, !left), other, wanted);
}

/* Number of frames at or before a time. */
static size_t count_until(const track_hand *hand, double time) {
    size_t low = 0, high = hand->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (hand->data[middle].time <= time)
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

void track_sample(const track *t, bool left, double time, tracked_hand *out) {
    const track_hand *hand = &t->hands[left];
    *out = tracked_hand_unseen();
    if (hand->count == 0) return;
    size_t next = count_until(hand, time);
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
