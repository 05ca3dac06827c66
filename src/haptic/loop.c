/* The loop: a thread that ticks at a set rate, for every handle: the device's newest sample, the simulation's newest
 * news, haptic_tick, the force to the device. It waits for the clock and for nothing else, and allocates nothing. */
#include "haptic/loop.h"

#include "base/clock.h"
#include "base/error.h"
#include "haptic/real_time.h"
#include "haptic/six.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define LONGEST_ADVANCE 60 /* s */
#define NS 1000000000

/* From the device's axes to the world's. */
static void to_world(const haptic_channel *c, thenar_device_sample *sample) {
    vec3_store(sample->position, vec3_add(c->origin, quat_rotate(c->turn, vec3_load(sample->position))));
    vec3_store(sample->velocity, quat_rotate(c->turn, vec3_load(sample->velocity)));
    vec3_store(sample->spin, quat_rotate(c->turn, vec3_load(sample->spin)));
    const double *q = sample->orientation;
    quat turned = quat_mul(quat_mul(c->turn, (quat){q[0], q[1], q[2], q[3]}), c->grip);
    memcpy(sample->orientation, (double[]){turned.x, turned.y, turned.z, turned.w}, sizeof sample->orientation);
}

/* What was felt, for the statistics. */
static void note_force(haptic_channel *c, double gain_before) {
    double force = vec3_length(vec3_load(c->state.energy.sent)),
           torque = vec3_length(vec3_load(c->state.energy.sent + 3));
    bool fading = c->state.gain < gain_before;
    c->peak_force = fmax(c->peak_force, force);
    c->peak_torque = fmax(c->peak_torque, torque);
    c->force_sum += force;
    c->ticks++;
    c->fades += fading && !c->fading;
    c->fading = fading;
}

static void tick_channel(const thenar_haptic *haptic, haptic_channel *c, int64_t now, double dt, double fade) {
    device_sample sample = {0};
    double wrench[6], values[6], gain = c->state.gain;
    if (c->device) device_read(c->device, now, &sample);
    if (sample.number > 0) to_world(c, &sample.body);
    haptic_tick(&c->settings, &c->state, &sample, triple_read(&c->news, NULL), now, dt, wrench);
    if (!c->device) return;
    if (fade < 1) haptic_energy_send(&c->state.energy, c->state.wrench, c->state.weight, fade * c->state.gain);
    note_force(c, gain);
    memcpy(wrench, c->state.energy.sent, sizeof wrench);
    vec3_store(values, quat_rotate(quat_conjugate(c->turn), vec3_load(wrench)));
    vec3_store(values + 3, quat_rotate(quat_conjugate(c->turn), vec3_load(wrench + 3)));
    device_write(c->device, now, values, 6);
    if (c->state.news == c->seen_news) return;
    c->seen_news = c->state.news;
    c->latency_us = 1e-3 * (double)(haptic_now(haptic) - c->state.linear.published_ns);
    c->latency_worst_us = fmax(c->latency_worst_us, c->latency_us);
}

static void report_channel(haptic_channel *c, thenar_haptic_handle_stats *out) {
    const haptic_state *s = &c->state;
    vec3_store(out->device_position, s->device.position);
    quat_store(out->device_orientation, s->device.orientation);
    vec3_store(out->proxy_position, s->position);
    quat_store(out->proxy_orientation, s->orientation);
    memcpy(out->force, s->energy.sent, sizeof out->force);
    memcpy(out->torque, s->energy.sent + 3, sizeof out->torque);
    out->gain = s->gain;
    out->fades = c->fades;
    out->peak_force = c->peak_force;
    out->peak_torque = c->peak_torque;
    out->mean_force = c->ticks > 0 ? c->force_sum / (double)c->ticks : 0;
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
    haptic_report *r = triple_slot(&haptic->reports);
    r->time_ns = now;
    for (int i = 0; i < haptic->channel_count; i++) {
        haptic_channel *c = &haptic->channels[i];
        report_channel(c, &r->handles[i]);
        memcpy(r->velocity[i], c->state.device.velocity, sizeof r->velocity[i]);
        r->known[i] = c->state.device.known;
        r->silent[i] = c->state.silent;
    }
    triple_tell(&haptic->reports);
}

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
            tick_channel(haptic, &haptic->channels[i], now, 1e-9 * (double)period, fade);
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

/* Without a thread: the same ticks on a clock that only this moves. What they cost is measured by the system's. */
void thenar_haptic_advance(thenar_haptic *haptic, double seconds) {
    if (!haptic->simulated_time || !(seconds >= 0)) return;
    const int64_t period = haptic->timing.period_ns;
    haptic->due_ns += llround(fmin(seconds, LONGEST_ADVANCE) * NS);
    while (haptic->simulated_ns + period <= haptic->due_ns) {
        int64_t began = clock_now(), before = haptic->simulated_ns;
        int64_t now = haptic->simulated_ns += period;
        for (int i = 0; i < haptic->channel_count; i++)
            tick_channel(haptic, &haptic->channels[i], now, 1e-9 * (double)period, 1);
        tell(haptic, now);
        timing_note(&haptic->timing, now, now - before, clock_now() - began, 0);
    }
}

thenar_status thenar_haptic_start(thenar_haptic *haptic, thenar_error *error) {
    if (haptic->running || haptic->simulated_time) return THENAR_OK;
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
