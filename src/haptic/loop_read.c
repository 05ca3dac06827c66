/* Telling a loop and asking it, from other threads. The loop waits for none of them: the simulation tells through a triple
 * buffer; who reads takes turns at a lock that the loop does not know. */
#include "haptic/loop.h"

#include "haptic/settings.h"
#include "haptic/six.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define AHEAD_MOST 0.02 /* s */

thenar_status thenar_haptic_publish(thenar_haptic *haptic, int handle, const thenar_haptic_linear *linear) {
    assert(handle >= 0 && handle < haptic->channel_count);
    haptic_channel *c = &haptic->channels[handle];
    struct haptic_linear *slot = triple_slot(&c->news);
    memcpy(slot, linear, sizeof *slot);
    slot->published_ns = haptic_now(haptic);
    if (slot->step == 0 || !haptic_linear_is_sane(slot)) {
        atomic_fetch_add_explicit(&c->refused, 1, memory_order_relaxed);
        return THENAR_ERROR_INPUT;
    }
    triple_tell(&c->news);
    return THENAR_OK;
}

bool thenar_haptic_pose(thenar_haptic *haptic, int handle, double ahead, double position[3], double orientation[4],
                        double velocity[6]) {
    assert(handle >= 0 && handle < haptic->channel_count);
    pthread_mutex_lock(&haptic->readers);
    const haptic_report *r = triple_read(&haptic->reports, NULL);
    const thenar_haptic_handle_stats *h = &r->handles[handle];
    double v[6], since = 1e-9 * (double)(haptic_now(haptic) - r->time_ns), time;
    for (int i = 0; i < 6; i++) v[i] = r->silent[handle] ? 0 : r->velocity[handle][i];
    vec3 x = vec3_load(h->device_position);
    const double *o = h->device_orientation;
    quat q = {o[0], o[1], o[2], o[3]};
    bool known = r->known[handle], quiet = h->gain == 0;
    pthread_mutex_unlock(&haptic->readers);
    /* What is not believed is not foretold. */
    time = quiet || !(since >= 0 && since < AHEAD_MOST) ? 0 : fmin(AHEAD_MOST, since + fmax(0, ahead));
    if (position) vec3_store(position, vec3_mul_add(x, vec3_load(v), time));
    if (orientation)
        quat_store(orientation,
                   quat_unit(quat_mul(quat_from_rotation_vector(vec3_scale(vec3_load(v + 3), time)), quat_unit(q))));
    if (velocity) memcpy(velocity, v, sizeof v);
    return known;
}

void thenar_haptic_read_stats(thenar_haptic *haptic, thenar_haptic_stats *stats) {
    memset(stats, 0, sizeof *stats);
    timing_read(&haptic->timing, stats);
    stats->handle_count = haptic->channel_count;
    pthread_mutex_lock(&haptic->readers);
    const haptic_report *r = triple_read(&haptic->reports, NULL);
    memcpy(stats->handles, r->handles, (size_t)haptic->channel_count * sizeof *r->handles);
    pthread_mutex_unlock(&haptic->readers);
}

bool thenar_haptic_notice(thenar_haptic *haptic, char *text, int size) {
    thenar_haptic_stats stats;
    thenar_haptic_read_stats(haptic, &stats);
    int length = 0;
    if (size > 0) text[0] = 0;
    pthread_mutex_lock(&haptic->readers);
    for (int h = 0; h < stats.handle_count; h++)
        for (int f = 0; f < THENAR_HAPTIC_FAULTS; f++) {
            uint64_t more = stats.handles[h].faults[f] - haptic->told[h][f];
            haptic->told[h][f] = stats.handles[h].faults[f];
            if (more == 0 || length >= size) continue;
            length += snprintf(text + length, (size_t)(size - length), "%shandle %d: %s (%llu)", length ? "; " : "", h,
                               haptic_fault_text((thenar_haptic_fault)f), (unsigned long long)more);
        }
    uint64_t missed = stats.missed - haptic->told_missed;
    haptic->told_missed = stats.missed;
    if (missed > 0 && length < size)
        length += snprintf(text + length, (size_t)(size - length), "%s%llu deadlines missed", length ? "; " : "",
                           (unsigned long long)missed);
    pthread_mutex_unlock(&haptic->readers);
    return length > 0;
}
