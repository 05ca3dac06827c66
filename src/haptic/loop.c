/* The loop: a thread that ticks at a set rate, for every handle: the device's newest sample, the simulation's newest
 * news, haptic_tick, the force to the device. It waits for the clock and for nothing else, and allocates nothing.
 *
 * Whoever reads (statistics, where the device is) takes turns at a lock that the loop does not know. */
#include "haptic/tick.h"
#include "haptic/real_time.h"
#include "haptic/settings.h"
#include "haptic/timing.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/triple.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NS 1000000000
#define SLOWEST 100.0
#define FASTEST 10000.0
#define AHEAD_MOST 0.02 /* s */

_Static_assert(sizeof(struct haptic_linear) == sizeof(thenar_haptic_linear), "both tell the same");

/* One handle with its device. */
typedef struct channel {
    thenar_haptic_settings settings;
    vec3 origin;
    quat turn;
    device_port *device; /* NULL: none */
    haptic_state state;
    triple news;           /* struct haptic_linear, from the simulation */
    atomic_ullong refused; /* news that were not finite */
    double latency_us, latency_worst_us;
    uint64_t seen_news;
} channel;

/* What the loop tells at the end of a tick. */
typedef struct report {
    int64_t time_ns;
    thenar_haptic_handle_stats handles[THENAR_HAPTIC_HANDLES];
    double velocity[THENAR_HAPTIC_HANDLES][6];
    bool known[THENAR_HAPTIC_HANDLES];
} report;

struct thenar_haptic {
    double rate;
    bool real_time;
    int priority;
    int channel_count;
    channel *channels;
    pthread_t thread;
    bool running;
    atomic_bool stop;
    timing timing;
    triple reports;
    pthread_mutex_t readers; /* of reports and told */
    uint64_t told[THENAR_HAPTIC_HANDLES][THENAR_HAPTIC_FAULTS], told_missed;
    pthread_mutex_t mutex; /* of what follows, while it starts */
    pthread_cond_t started;
    bool ready;
    char real_time_text[256];
};

/* ------------------------------------------------------------------------------------------------------------- a tick */

/* From the device's axes to the world's. */
static void to_world(const channel *c, thenar_device_sample *sample) {
    vec3_store(sample->position, vec3_add(c->origin, quat_rotate(c->turn, vec3_load(sample->position))));
    vec3_store(sample->velocity, quat_rotate(c->turn, vec3_load(sample->velocity)));
    vec3_store(sample->spin, quat_rotate(c->turn, vec3_load(sample->spin)));
    const double *q = sample->orientation;
    quat turned = quat_mul(c->turn, (quat){q[0], q[1], q[2], q[3]});
    memcpy(sample->orientation, (double[]){turned.x, turned.y, turned.z, turned.w}, sizeof sample->orientation);
}

static void tick_channel(channel *c, int64_t now, double dt, double fade) {
    device_sample sample = {0};
    double wrench[6], values[6];
    if (c->device) device_read(c->device, now, &sample);
    if (sample.number > 0) to_world(c, &sample.body);
    haptic_tick(&c->settings, &c->state, &sample, triple_read(&c->news, NULL), now, dt, wrench);
    if (!c->device) return;
    for (int i = 0; i < 6; i++) wrench[i] = c->state.sent[i] *= fade;
    vec3_store(values, quat_rotate(quat_conjugate(c->turn), vec3_load(wrench)));
    vec3_store(values + 3, quat_rotate(quat_conjugate(c->turn), vec3_load(wrench + 3)));
    device_write(c->device, now, values, 6);
    if (c->state.news == c->seen_news) return;
    c->seen_news = c->state.news;
    c->latency_us = 1e-3 * (double)(clock_now() - c->state.linear.published_ns);
    c->latency_worst_us = fmax(c->latency_worst_us, c->latency_us);
}

static void store_quat(double out[4], quat q) {
    out[0] = q.x, out[1] = q.y, out[2] = q.z, out[3] = q.w;
}

static void report_channel(channel *c, thenar_haptic_handle_stats *out) {
    const haptic_state *s = &c->state;
    vec3_store(out->device_position, s->device.position);
    store_quat(out->device_orientation, s->device.orientation);
    vec3_store(out->proxy_position, s->position);
    store_quat(out->proxy_orientation, s->orientation);
    memcpy(out->force, s->sent, sizeof out->force);
    memcpy(out->torque, s->sent + 3, sizeof out->torque);
    out->gain = s->gain;
    out->energy_in = s->energy.in;
    out->energy_out = s->energy.out;
    out->energy_worst = s->energy.worst;
    out->latency_us = c->latency_us;
    out->latency_worst_us = c->latency_worst_us;
    out->news = s->news;
    out->samples = s->samples;
    memcpy(out->faults, s->faults, sizeof out->faults);
    out->faults[THENAR_HAPTIC_BAD_LINEAR] += atomic_load_explicit(&c->refused, memory_order_relaxed);
    if (!c->device) return;
    device_counts counts = device_read_counts(c->device);
    out->faults[THENAR_HAPTIC_LOST] = counts.lost;
    out->faults[THENAR_HAPTIC_DOUBLED] = counts.doubled;
    out->faults[THENAR_HAPTIC_REORDERED] = counts.reordered;
    out->faults[THENAR_HAPTIC_DEVICE_ERROR] = counts.errors;
    out->faults[THENAR_HAPTIC_HUNG] = counts.hung;
    out->faults[THENAR_HAPTIC_WATCHDOG] = counts.watchdog;
}

static void tell(thenar_haptic *haptic, int64_t now) {
    report *r = triple_slot(&haptic->reports);
    r->time_ns = now;
    for (int i = 0; i < haptic->channel_count; i++) {
        channel *c = &haptic->channels[i];
        report_channel(c, &r->handles[i]);
        memcpy(r->velocity[i], c->state.device.velocity, sizeof r->velocity[i]);
        r->known[i] = c->state.device.known;
    }
    triple_tell(&haptic->reports);
}

/* --------------------------------------------------------------------------------------------------------- the thread */

/* The share of the force while the loop ends: none after the longest fade of its handles. */
static double ending(const thenar_haptic *haptic, int64_t stopped_ns, int64_t now) {
    double longest = 0;
    for (int i = 0; i < haptic->channel_count; i++) longest = fmax(longest, haptic->channels[i].settings.fade_time);
    return stopped_ns == 0 ? 1 : fmax(0, 1 - 1e-9 * (double)(now - stopped_ns) / longest);
}

static void announce(thenar_haptic *haptic) {
    pthread_mutex_lock(&haptic->mutex);
    haptic->ready = true;
    pthread_cond_signal(&haptic->started);
    pthread_mutex_unlock(&haptic->mutex);
}

static void *loop_main(void *argument) {
    thenar_haptic *haptic = argument;
    bool locked = false;
    if (haptic->real_time)
        locked = real_time_begin(haptic->priority, haptic->real_time_text, sizeof haptic->real_time_text);
    else
        snprintf(haptic->real_time_text, sizeof haptic->real_time_text, "real-time priority was not asked for");
    announce(haptic);
    const int64_t period = haptic->timing.period_ns;
    int64_t next = clock_now() + period, last = 0, stopped = 0;
    timing_begin(&haptic->timing, next - period);
    for (;;) {
        struct timespec at = {next / NS, next % NS};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
        int64_t now = clock_now();
        if (stopped == 0 && atomic_load_explicit(&haptic->stop, memory_order_relaxed)) stopped = now;
        double fade = ending(haptic, stopped, now);
        for (int i = 0; i < haptic->channel_count; i++)
            tick_channel(&haptic->channels[i], now, 1e-9 * (double)period, fade);
        tell(haptic, now);
        int64_t end = clock_now(), missed = (end - next) / period;
        timing_note(&haptic->timing, now, last ? now - last : 0, end - now, missed);
        last = now;
        next += (missed + 1) * period;
        if (fade == 0) break;
    }
    if (locked) real_time_end();
    return NULL;
}

/* ----------------------------------------------------------------------------------------------------- make and free */

static thenar_status check_positive(const char *name, double value, bool zero_is_fine, thenar_error *error) {
    if (isfinite(value) && (value > 0 || (zero_is_fine && value == 0))) return THENAR_OK;
    return error_set(error, THENAR_ERROR_INPUT, "%s is %g; expected %s", name, value,
                     zero_is_fine ? "0 or more" : "more than 0");
}

static thenar_status check_settings(const thenar_haptic_settings *s, thenar_error *error) {
    const struct {
        const char *name;
        double value;
        bool zero_is_fine;
    } all[] = {{"stiffness", s->stiffness, false},
               {"damping", s->damping, true},
               {"turn_stiffness", s->turn_stiffness, false},
               {"turn_damping", s->turn_damping, true},
               {"proxy_mass", s->proxy_mass, false},
               {"proxy_inertia", s->proxy_inertia, false},
               {"most_force", s->most_force, true},
               {"most_torque", s->most_torque, true},
               {"force_slew", s->force_slew, false},
               {"torque_slew", s->torque_slew, false},
               {"stale_after", s->stale_after, true},
               {"silent_after", s->silent_after, true},
               {"fade_time", s->fade_time, false},
               {"recover_time", s->recover_time, false},
               {"jump_distance", s->jump_distance, false},
               {"jump_speed", s->jump_speed, false},
               {"velocity_cutoff", s->velocity_cutoff, false},
               {"energy_reserve", s->energy_reserve, true},
               {"energy_most", s->energy_most, true}};
    thenar_status status = THENAR_OK;
    for (size_t i = 0; i < sizeof all / sizeof all[0] && status == THENAR_OK; i++)
        status = check_positive(all[i].name, all[i].value, all[i].zero_is_fine, error);
    return status;
}

static thenar_status check_def(const thenar_haptic_def *def, thenar_error *error) {
    if (!(def->rate >= SLOWEST && def->rate <= FASTEST))
        return error_set(error, THENAR_ERROR_INPUT, "a rate of %g; expected %g to %g ticks a second", def->rate,
                         SLOWEST, FASTEST);
    if (def->handle_count < 1 || def->handle_count > THENAR_HAPTIC_HANDLES || !def->handles)
        return error_set(error, THENAR_ERROR_INPUT, "%d handles; expected 1 to %d", def->handle_count,
                         THENAR_HAPTIC_HANDLES);
    if (def->real_time && (def->priority < 1 || def->priority > 99))
        return error_set(error, THENAR_ERROR_INPUT, "priority %d; expected 1 to 99", def->priority);
    return check_positive("watchdog", def->watchdog, false, error);
}

static double lower(double limit, double device) {
    return device > 0 && device < limit ? device : limit;
}

static thenar_status open_channel(channel *c, const thenar_haptic_handle *handle, const thenar_haptic_def *def,
                                  thenar_error *error) {
    const double *q = handle->turn;
    c->settings = handle->settings;
    c->origin = vec3_load(handle->origin);
    c->turn = quat_unit((quat){q[0], q[1], q[2], q[3]});
    c->state.orientation = c->state.device.orientation = quat_identity();
    thenar_status status = check_settings(&c->settings, error);
    if (status != THENAR_OK) return status;
    if (!vec3_is_finite(c->origin) || !isfinite(c->turn.x + c->turn.y + c->turn.z + c->turn.w))
        return error_set(error, THENAR_ERROR_INPUT, "the device's place in the world is not finite");
    if (!triple_create(&c->news, sizeof(struct haptic_linear))) return error_memory(error, "a handle");
    if (!handle->device || strcmp(handle->device, "none") == 0) return THENAR_OK;
    status = device_open(handle->device, 1 / def->rate, def->watchdog, &c->device, error);
    if (status != THENAR_OK) return status;
    const thenar_device_info *info = device_info(c->device);
    c->settings.most_force = lower(c->settings.most_force, info->most_force);
    c->settings.most_torque = lower(c->settings.most_torque, info->most_torque);
    return THENAR_OK;
}

thenar_status thenar_haptic_create(const thenar_haptic_def *def, thenar_haptic **out, thenar_error *error) {
    *out = NULL;
    thenar_status status = check_def(def, error);
    if (status != THENAR_OK) return status;
    thenar_haptic *haptic = MEMORY_ARRAY(thenar_haptic, 1);
    if (!haptic) return error_memory(error, "a haptic loop");
    haptic->rate = def->rate;
    haptic->real_time = def->real_time;
    haptic->priority = def->priority;
    pthread_mutex_init(&haptic->readers, NULL);
    pthread_mutex_init(&haptic->mutex, NULL);
    pthread_cond_init(&haptic->started, NULL);
    snprintf(haptic->real_time_text, sizeof haptic->real_time_text, "not started");
    haptic->channels = memory_aligned((size_t)def->handle_count * sizeof *haptic->channels);
    if (!haptic->channels || !timing_create(&haptic->timing, (int64_t)(1e9 / def->rate)) ||
        !triple_create(&haptic->reports, sizeof(report)))
        status = error_memory(error, "a haptic loop");
    for (int i = 0; i < def->handle_count && status == THENAR_OK; i++) {
        status = open_channel(&haptic->channels[i], &def->handles[i], def, error);
        if (status != THENAR_OK) error_prefix(error, "handle %d", i);
        haptic->channel_count = i + 1;
    }
    if (status != THENAR_OK) {
        thenar_haptic_free(haptic);
        return status;
    }
    *out = haptic;
    return THENAR_OK;
}

void thenar_haptic_free(thenar_haptic *haptic) {
    if (!haptic) return;
    thenar_haptic_stop(haptic);
    for (int i = 0; i < haptic->channel_count; i++) {
        device_close(haptic->channels[i].device);
        triple_free(&haptic->channels[i].news);
    }
    free(haptic->channels);
    timing_free(&haptic->timing);
    triple_free(&haptic->reports);
    pthread_cond_destroy(&haptic->started);
    pthread_mutex_destroy(&haptic->mutex);
    pthread_mutex_destroy(&haptic->readers);
    free(haptic);
}

thenar_status thenar_haptic_start(thenar_haptic *haptic, thenar_error *error) {
    if (haptic->running) return THENAR_OK;
    atomic_store(&haptic->stop, false);
    haptic->ready = false;
    for (int i = 0; i < haptic->channel_count; i++) { /* whatever happened since it was stopped */
        haptic->channels[i].state.ticked = false;
        haptic->channels[i].state.gain = 0;
    }
    if (pthread_create(&haptic->thread, NULL, loop_main, haptic) != 0)
        return error_set(error, THENAR_ERROR_MEMORY, "the system refused a thread for the haptic loop");
    haptic->running = true;
    pthread_mutex_lock(&haptic->mutex);
    while (!haptic->ready) pthread_cond_wait(&haptic->started, &haptic->mutex);
    pthread_mutex_unlock(&haptic->mutex);
    return THENAR_OK;
}

void thenar_haptic_stop(thenar_haptic *haptic) {
    if (!haptic->running) return;
    atomic_store(&haptic->stop, true);
    pthread_join(haptic->thread, NULL);
    haptic->running = false;
}

const char *thenar_haptic_real_time(const thenar_haptic *haptic) {
    return haptic->real_time_text;
}

/* ---------------------------------------------------------------------------------------------------- tell and ask */

thenar_status thenar_haptic_publish(thenar_haptic *haptic, int handle, const thenar_haptic_linear *linear) {
    assert(handle >= 0 && handle < haptic->channel_count);
    channel *c = &haptic->channels[handle];
    struct haptic_linear *slot = triple_slot(&c->news);
    memcpy(slot, linear, sizeof *slot);
    slot->published_ns = clock_now();
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
    const report *r = triple_read(&haptic->reports, NULL);
    const thenar_haptic_handle_stats *h = &r->handles[handle];
    double v[6], since = 1e-9 * (double)(clock_now() - r->time_ns), time;
    memcpy(v, r->velocity[handle], sizeof v);
    vec3 x = vec3_load(h->device_position);
    const double *o = h->device_orientation;
    quat q = {o[0], o[1], o[2], o[3]};
    bool known = r->known[handle], quiet = h->gain == 0;
    pthread_mutex_unlock(&haptic->readers);
    /* What is not believed is not foretold. */
    time = quiet || !(since >= 0 && since < AHEAD_MOST) ? 0 : fmin(AHEAD_MOST, since + fmax(0, ahead));
    if (position) vec3_store(position, vec3_mul_add(x, vec3_load(v), time));
    if (orientation)
        store_quat(orientation,
                   quat_unit(quat_mul(quat_from_rotation_vector(vec3_scale(vec3_load(v + 3), time)), quat_unit(q))));
    if (velocity) memcpy(velocity, v, sizeof v);
    return known;
}

void thenar_haptic_read_stats(thenar_haptic *haptic, thenar_haptic_stats *stats) {
    memset(stats, 0, sizeof *stats);
    timing_read(&haptic->timing, stats);
    stats->handle_count = haptic->channel_count;
    pthread_mutex_lock(&haptic->readers);
    const report *r = triple_read(&haptic->reports, NULL);
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
