/* The loop: a thread that ticks at a set rate. For every handle a tick takes the newest sample of the device and the
 * newest linearization of the simulation, calls haptic_tick and sends the force to the device. The thread waits for the
 * clock only, and allocates nothing. */
#include "haptic/haptic.h"

#include "core/memory.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>

bool real_time_begin(int priority, char *text, size_t size) {
    char scheduling[128], memory[128];
    struct sched_param param = {.sched_priority = priority};
    /* By default the system may wake a thread without real-time priority 50 us late, to wake several at once. */
    prctl(PR_SET_TIMERSLACK, 1UL);
    int refused = pthread_setschedparam(pthread_self(), SCHED_FIFO, &param);
    if (refused == 0)
        snprintf(scheduling, sizeof scheduling, "real-time priority %d", priority);
    else
        snprintf(scheduling, sizeof scheduling, "no real-time priority (%s; `ulimit -r %d` or CAP_SYS_NICE gives it)",
                 refused == EPERM ? "not permitted" : "refused", priority);
    /* Only memory that exists now: with a limit on locked memory, later allocations of the program would fail. */
    bool locked = mlockall(MCL_CURRENT) == 0;
    snprintf(memory, sizeof memory,
             locked ? "memory locked" : "memory not locked (`ulimit -l unlimited` or CAP_IPC_LOCK gives it)");
    snprintf(text, size, "%s, %s", scheduling, memory);
    return locked;
}

bool timing_create(timing *t, int64_t period_ns) {
    t->period_ns = period_ns;
    t->period_bins = (int)(4 * period_ns / 1000) + 2;
    t->periods = MEMORY_ARRAY(atomic_uint, t->period_bins);
    t->costs = MEMORY_ARRAY(atomic_uint, TIMING_COST_BINS);
    return t->periods && t->costs;
}

void timing_free(timing *t) {
    free(t->periods);
    free(t->costs);
}

#define GET(counter) atomic_load_explicit(&(counter), memory_order_relaxed)
#define SET(counter, value) atomic_store_explicit(&(counter), (value), memory_order_relaxed)

/* Resets all counters. */
static void timing_begin(timing *t, int64_t now_ns) {
    for (int i = 0; i < t->period_bins; i++) SET(t->periods[i], 0);
    for (int i = 0; i < TIMING_COST_BINS; i++) SET(t->costs[i], 0);
    for (int i = 0; i < THENAR_HAPTIC_JITTER; i++) SET(t->jitter[i], 0);
    SET(t->ticks, 0);
    SET(t->missed, 0);
    SET(t->period_worst_ns, 0);
    SET(t->cost_worst_ns, 0);
    SET(t->began_ns, now_ns);
    SET(t->ended_ns, now_ns);
}

static void count_bin(atomic_uint *bins, int count, int64_t bin) {
    if (bin >= count) bin = count - 1;
    SET(bins[bin], GET(bins[bin]) + 1);
}

/* Counts a tick that began `period_ns` after the previous one (0: it is the first), took `cost_ns` and missed so many
 * deadlines. */
static void timing_count(timing *t, int64_t now_ns, int64_t period_ns, int64_t cost_ns, int64_t missed) {
    SET(t->ticks, GET(t->ticks) + 1);
    SET(t->missed, GET(t->missed) + (unsigned long long)missed);
    SET(t->ended_ns, now_ns);
    count_bin(t->costs, TIMING_COST_BINS, cost_ns / TIMING_COST_BIN_NS);
    if (cost_ns > GET(t->cost_worst_ns)) SET(t->cost_worst_ns, cost_ns);
    if (period_ns <= 0) return;
    count_bin(t->periods, t->period_bins, period_ns / 1000);
    if (period_ns > GET(t->period_worst_ns)) SET(t->period_worst_ns, period_ns);
    int64_t off = llabs(period_ns - t->period_ns) / 1000;
    int class = 0;
    while (class < THENAR_HAPTIC_JITTER - 1 && off >= (int64_t)1 << class) class ++;
    SET(t->jitter[class], GET(t->jitter[class]) + 1);
}

/* Upper edge of the bin that holds the percentile `share` of all counts; the worst value if that is the last bin. */
static double percentile(atomic_uint *bins, int count, double share, double bin_us, double worst_us) {
    uint64_t all = 0, sum = 0;
    for (int i = 0; i < count; i++) all += GET(bins[i]);
    if (all == 0) return 0;
    uint64_t wanted = (uint64_t)ceil(share * (double)all);
    for (int i = 0; i < count - 1; i++) {
        sum += GET(bins[i]);
        if (sum >= wanted) return fmin(worst_us, (i + 1) * bin_us);
    }
    return worst_us;
}

static void timing_read(timing *t, thenar_haptic_stats *out) {
    out->ticks = GET(t->ticks);
    out->missed = GET(t->missed);
    out->seconds = 1e-9 * (double)(GET(t->ended_ns) - GET(t->began_ns));
    out->period_us = 1e-3 * (double)t->period_ns;
    out->period_max_us = 1e-3 * (double)GET(t->period_worst_ns);
    out->period_p50_us = percentile(t->periods, t->period_bins, 0.5, 1, out->period_max_us);
    out->period_p99_us = percentile(t->periods, t->period_bins, 0.99, 1, out->period_max_us);
    out->period_p999_us = percentile(t->periods, t->period_bins, 0.999, 1, out->period_max_us);
    out->tick_max_us = 1e-3 * (double)GET(t->cost_worst_ns);
    out->tick_p50_us = percentile(t->costs, TIMING_COST_BINS, 0.5, 1e-3 * TIMING_COST_BIN_NS, out->tick_max_us);
    out->tick_p99_us = percentile(t->costs, TIMING_COST_BINS, 0.99, 1e-3 * TIMING_COST_BIN_NS, out->tick_max_us);
    for (int i = 0; i < THENAR_HAPTIC_JITTER; i++) out->jitter[i] = GET(t->jitter[i]);
}

#define ADVANCE_MAX 60 /* s */
#define SECOND_NS 1000000000
#define AHEAD_MAX 0.02 /* s */

/* From the axes of the device to world axes. */
static void to_world(const haptic_channel *c, thenar_device_sample *sample) {
    vec3_store(sample->pose, vec3_add(c->origin, quat_rotate(c->turn, vec3_load(sample->pose))));
    vec3_store(sample->velocity, quat_rotate(c->turn, vec3_load(sample->velocity)));
    vec3_store(sample->spin, quat_rotate(c->turn, vec3_load(sample->spin)));
    quat_store(sample->pose + 3, quat_mul(quat_mul(c->turn, pose_quaternion(sample->pose)), c->grip));
}

/* Statistics of the force that was sent. */
static void count_force(haptic_channel *c, double gain_before) {
    const double *sent = c->state.energy.sent;
    double force = vec3_length(vec3_load(sent)), torque = vec3_length(vec3_load(sent + 3));
    bool fading = c->state.gain < gain_before;
    c->peak_force = fmax(c->peak_force, force);
    c->peak_torque = fmax(c->peak_torque, torque);
    c->force_sum += force;
    c->ticks++;
    c->fades += fading && !c->fading;
    c->fading = fading;
}

/* The clock of the loop. */
static int64_t loop_now(const thenar_haptic *haptic) {
    return haptic->simulated_time ? haptic->simulated_ns : clock_now();
}

static void tick_channel(const thenar_haptic *haptic, haptic_channel *c, int64_t now, double dt, double fade) {
    device_sample sample = {0};
    double wrench[6], values[6], gain = c->state.gain;
    if (c->device) device_read(c->device, now, &sample);
    if (sample.number > 0) to_world(c, &sample.body);
    haptic_tick(&c->settings, &c->state, &sample, triple_buffer_read(&c->updates, NULL), now, dt, wrench);
    if (!c->device) return;
    if (fade < 1) haptic_energy_send(&c->state.energy, c->state.wrench, c->state.weight, fade * c->state.gain);
    count_force(c, gain);
    memcpy(wrench, c->state.energy.sent, sizeof wrench);
    vec3_store(values, quat_rotate(quat_conjugate(c->turn), vec3_load(wrench)));
    vec3_store(values + 3, quat_rotate(quat_conjugate(c->turn), vec3_load(wrench + 3)));
    device_write(c->device, now, values, 6);
    if (c->state.updates == c->seen_updates) return;
    c->seen_updates = c->state.updates;
    c->latency_us = 1e-3 * (double)(loop_now(haptic) - c->state.linear.published_ns);
    c->latency_max_us = fmax(c->latency_max_us, c->latency_us);
}

static void report_channel(haptic_channel *c, thenar_haptic_handle_stats *out) {
    const haptic_state *s = &c->state;
    pose_store(out->device_pose, s->device.position, s->device.orientation);
    pose_store(out->proxy_pose, s->position, s->orientation);
    memcpy(out->force, s->energy.sent, sizeof out->force);
    memcpy(out->torque, s->energy.sent + 3, sizeof out->torque);
    out->gain = s->gain;
    out->fades = c->fades;
    out->force_max = c->peak_force;
    out->torque_max = c->peak_torque;
    out->force_mean = c->ticks > 0 ? c->force_sum / (double)c->ticks : 0;
    out->energy_in = s->energy.in;
    out->energy_out = s->energy.out;
    out->energy_excess_max = s->energy.worst;
    out->latency_us = c->latency_us;
    out->latency_max_us = c->latency_max_us;
    out->updates = s->updates;
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

static void publish_report(thenar_haptic *haptic, int64_t now) {
    haptic_report *r = triple_buffer_slot(&haptic->reports);
    r->time_ns = now;
    for (int i = 0; i < haptic->channel_count; i++) {
        haptic_channel *c = &haptic->channels[i];
        report_channel(c, &r->handles[i]);
        memcpy(r->velocity[i], c->state.device.velocity, sizeof r->velocity[i]);
        r->known[i] = c->state.device.known;
        r->silent[i] = c->state.silent;
    }
    triple_buffer_publish(&haptic->reports);
}

/* Share of the force while the loop stops: zero after the longest fade time of its handles. */
static double stop_fade(const thenar_haptic *haptic, int64_t stopped_ns, int64_t now) {
    double longest = 0;
    for (int i = 0; i < haptic->channel_count; i++) longest = fmax(longest, haptic->channels[i].settings.fade_time);
    return stopped_ns == 0 ? 1 : fmax(0, 1 - 1e-9 * (double)(now - stopped_ns) / longest);
}

static void *loop_main(void *argument) {
    thenar_haptic *haptic = argument;
    bool locked = false;
    if (haptic->real_time)
        locked = real_time_begin(haptic->priority, haptic->real_time_text, sizeof haptic->real_time_text);
    else
        snprintf(haptic->real_time_text, sizeof haptic->real_time_text, "real-time priority was not asked for");
    pthread_mutex_lock(&haptic->mutex);
    haptic->ready = true;
    pthread_cond_signal(&haptic->started);
    pthread_mutex_unlock(&haptic->mutex);
    const int64_t period = haptic->timing.period_ns;
    int64_t next = clock_now() + period, last = 0, stopped = 0;
    timing_begin(&haptic->timing, next - period);
    for (;;) {
        struct timespec at = {next / SECOND_NS, next % SECOND_NS};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
        int64_t now = clock_now();
        if (stopped == 0 && atomic_load_explicit(&haptic->stop, memory_order_relaxed)) stopped = now;
        double fade = stop_fade(haptic, stopped, now);
        for (int i = 0; i < haptic->channel_count; i++)
            tick_channel(haptic, &haptic->channels[i], now, 1e-9 * (double)period, fade);
        publish_report(haptic, now);
        int64_t end = clock_now(), missed = (end - next) / period;
        timing_count(&haptic->timing, now, last ? now - last : 0, end - now, missed);
        last = now;
        next += (missed + 1) * period;
        if (fade == 0) break;
    }
    if (locked) munlockall();
    return NULL;
}

/* The same ticks without a thread, on a simulated clock. Their cost is measured by the real one. */
thenar_status thenar_haptic_advance(thenar_haptic *haptic, double seconds) {
    USAGE_POINTER(haptic, THENAR_ERROR_USAGE);
    USAGE(seconds >= 0, THENAR_ERROR_USAGE, "%g seconds; expected 0 or more", seconds);
    if (!haptic->simulated_time) return THENAR_OK;
    const int64_t period = haptic->timing.period_ns;
    haptic->due_ns += llround(fmin(seconds, ADVANCE_MAX) * SECOND_NS);
    while (haptic->simulated_ns + period <= haptic->due_ns) {
        int64_t began = clock_now(), before = haptic->simulated_ns;
        int64_t now = haptic->simulated_ns += period;
        for (int i = 0; i < haptic->channel_count; i++)
            tick_channel(haptic, &haptic->channels[i], now, 1e-9 * (double)period, 1);
        publish_report(haptic, now);
        timing_count(&haptic->timing, now, now - before, clock_now() - began, 0);
    }
    return THENAR_OK;
}

thenar_status thenar_haptic_start(thenar_haptic *haptic, thenar_error *error) {
    USAGE_STATUS(haptic, error, "the loop is NULL");
    if (haptic->running || haptic->simulated_time) return THENAR_OK;
    atomic_store(&haptic->stop, false);
    haptic->ready = false;
    for (int i = 0; i < haptic->channel_count; i++) { /* anything may have happened while it was stopped */
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

thenar_status thenar_haptic_stop(thenar_haptic *haptic) {
    USAGE_POINTER(haptic, THENAR_ERROR_USAGE);
    if (!haptic->running) return THENAR_OK;
    atomic_store(&haptic->stop, true);
    pthread_join(haptic->thread, NULL);
    haptic->running = false;
    return THENAR_OK;
}

const char *thenar_haptic_real_time(const thenar_haptic *haptic) {
    USAGE_POINTER(haptic, NULL);
    return haptic->real_time_text;
}

/* Other threads. The loop waits for none of them: the simulation publishes through a triple buffer, and readers share a
 * lock that the loop does not use. */

thenar_status thenar_haptic_publish(thenar_haptic *haptic, int channel, const thenar_haptic_linear *linear) {
    USAGE_POINTER(haptic, THENAR_ERROR_USAGE);
    USAGE_INDEX(channel, haptic->channel_count, THENAR_ERROR_USAGE);
    USAGE_POINTER(linear, THENAR_ERROR_USAGE);
    haptic_channel *c = &haptic->channels[channel];
    struct haptic_linear *slot = triple_buffer_slot(&c->updates);
    memcpy(slot, linear, sizeof *slot);
    slot->published_ns = loop_now(haptic);
    if (slot->step == 0 || !haptic_linear_is_sane(slot)) {
        atomic_fetch_add_explicit(&c->refused, 1, memory_order_relaxed);
        return error_set(NULL, THENAR_ERROR_INPUT, "the linearization is not finite, or its step is 0");
    }
    triple_buffer_publish(&c->updates);
    return THENAR_OK;
}

bool thenar_haptic_pose(thenar_haptic *haptic, int channel, double ahead, double pose[7], double velocity[6]) {
    USAGE_POINTER(haptic, false);
    USAGE_INDEX(channel, haptic->channel_count, false);
    pthread_mutex_lock(&haptic->readers);
    const haptic_report *r = triple_buffer_read(&haptic->reports, NULL);
    const thenar_haptic_handle_stats *h = &r->handles[channel];
    double v[6], since = 1e-9 * (double)(loop_now(haptic) - r->time_ns), time;
    for (int i = 0; i < 6; i++) v[i] = r->silent[channel] ? 0 : r->velocity[channel][i];
    vec3 x = vec3_load(h->device_pose);
    quat q = pose_quaternion(h->device_pose);
    bool known = r->known[channel], quiet = h->gain == 0;
    pthread_mutex_unlock(&haptic->readers);
    /* A pose that is not reliable is not extrapolated. */
    time = quiet || !(since >= 0 && since < AHEAD_MAX) ? 0 : fmin(AHEAD_MAX, since + fmax(0, ahead));
    if (pose) vec3_store(pose, vec3_mul_add(x, vec3_load(v), time));
    if (pose)
        quat_store(pose + 3,
                   quat_unit(quat_mul(quat_from_rotation_vector(vec3_scale(vec3_load(v + 3), time)), quat_unit(q))));
    if (velocity) memcpy(velocity, v, sizeof v);
    return known;
}

thenar_status thenar_haptic_read_stats(thenar_haptic *haptic, thenar_haptic_stats *stats) {
    USAGE_POINTER(haptic, THENAR_ERROR_USAGE);
    USAGE_POINTER(stats, THENAR_ERROR_USAGE);
    memset(stats, 0, sizeof *stats);
    timing_read(&haptic->timing, stats);
    stats->handle_count = haptic->channel_count;
    pthread_mutex_lock(&haptic->readers);
    const haptic_report *r = triple_buffer_read(&haptic->reports, NULL);
    memcpy(stats->handles, r->handles, (size_t)haptic->channel_count * sizeof *r->handles);
    pthread_mutex_unlock(&haptic->readers);
    return THENAR_OK;
}

bool thenar_haptic_notice(thenar_haptic *haptic, char *text, int size) {
    USAGE_POINTER(haptic, false);
    USAGE_POINTER(text, false);
    thenar_haptic_stats stats;
    thenar_haptic_read_stats(haptic, &stats);
    int length = 0;
    if (size > 0) text[0] = 0;
    pthread_mutex_lock(&haptic->readers);
    for (int h = 0; h < stats.handle_count; h++)
        for (int f = 0; f < THENAR_HAPTIC_FAULT_COUNT; f++) {
            uint64_t more = stats.handles[h].faults[f] - haptic->noticed[h][f];
            haptic->noticed[h][f] = stats.handles[h].faults[f];
            if (more == 0 || length >= size) continue;
            length += snprintf(text + length, (size_t)(size - length), "%shandle %d: %s (%llu)", length ? "; " : "", h,
                               thenar_haptic_fault_text((thenar_haptic_fault)f), (unsigned long long)more);
        }
    uint64_t missed = stats.missed - haptic->noticed_missed;
    haptic->noticed_missed = stats.missed;
    if (missed > 0 && length < size)
        length += snprintf(text + length, (size_t)(size - length), "%s%llu deadlines missed", length ? "; " : "",
                           (unsigned long long)missed);
    pthread_mutex_unlock(&haptic->readers);
    return length > 0;
}
