/* A tick, as a table of contents: hear the simulation and the device, see what is wrong, move the proxy, and hold the
 * force to its limits: first its size, then the energy that it would give, then how fast it changes; last comes the
 * fade. While anything is wrong the last force fades, whatever made it. */
#include "haptic/tick.h"

#include "haptic/listen.h"
#include "haptic/proxy.h"
#include "haptic/six.h"

#include <string.h>

#define LONGEST_TICK 0.05 /* s; a clock that says more has stepped, or the loop was held up */

/* The force begins to fade, or may come back. */
static void look_for_faults(const thenar_haptic_settings *settings, haptic_state *s, double h) {
    double expected = fmin(s->linear.step_length, HAPTIC_LONGEST_STEP);
    bool stale = s->linear.step > 0 && s->age > expected + settings->stale_after;
    bool silent = s->device.known && s->device.silence > settings->silent_after;
    s->faults[THENAR_HAPTIC_STALE] += stale && !s->stale;
    s->faults[THENAR_HAPTIC_SILENT] += silent && !s->silent;
    s->stale = stale;
    s->silent = silent;
    bool fine = s->linear.step > 0 && s->device.known && !stale && !silent && !s->restarting;
    s->gain += fine ? h / settings->recover_time : -h / settings->fade_time;
    s->gain = fmax(0, fmin(1, s->gain));
}

/* Shortens a vector; true if it was too long. */
static bool shorten(double v[3], double most) {
    double length = vec3_length(vec3_load(v));
    if (!(length > most)) return false;
    vec3_store(v, vec3_scale(vec3_load(v), most / length));
    return true;
}

/* Goes from `now` towards `wanted`, at most by `most`. */
static bool approach(double now[3], const double wanted[3], double most) {
    double change[3];
    vec3_store(change, vec3_sub(vec3_load(wanted), vec3_load(now)));
    bool held = shorten(change, most);
    vec3_store(now, vec3_add(vec3_load(now), vec3_load(change)));
    return held;
}

static void limit(const thenar_haptic_settings *settings, haptic_state *s, double wrench[6], double h) {
    bool strong = shorten(wrench, settings->most_force), twisted = shorten(wrench + 3, settings->most_torque);
    s->faults[THENAR_HAPTIC_CLAMPED] += strong || twisted;
    /* A force that comes back pushes out who went in while there was none; its slow ramp makes that safe. */
    if (s->gain < 1) s->energy.tank = fmax(0, s->energy.tank), s->energy.share = s->energy.weight_share = 1;
    if (settings->passivity && s->gain == 1)
        s->faults[THENAR_HAPTIC_HELD_BACK] +=
            haptic_energy_limit(&s->energy, s->weight, s->device.velocity, settings->energy_reserve, h, wrench);
    bool fast = approach(s->wrench, wrench, settings->force_slew * h);
    bool spun = approach(s->wrench + 3, wrench + 3, settings->torque_slew * h);
    s->faults[THENAR_HAPTIC_SLEWED] += fast || spun;
}

void haptic_tick(const thenar_haptic_settings *settings, haptic_state *s, const device_sample *sample,
                 const struct haptic_linear *linear, int64_t now_ns, double dt, double wrench[6]) {
    double elapsed = s->ticked ? 1e-9 * (double)(now_ns - s->last_ns) : dt;
    if (!(elapsed > 0) || elapsed > LONGEST_TICK) {
        s->faults[THENAR_HAPTIC_CLOCK]++;
        s->restarting = s->device.known; /* nobody knows what happened meanwhile */
        elapsed = dt;
    }
    s->last_ns = now_ns;
    s->ticked = true;
    haptic_take_news(s, linear, now_ns, elapsed);
    haptic_take_sample(settings, s, sample, elapsed);
    /* Whoever begins, or begins again, does so where the device is, even if all is well from the first tick on. */
    bool begins = s->gain == 0;
    look_for_faults(settings, s, elapsed);
    if (begins || s->gain == 0) haptic_proxy_restart(s);
    if (s->gain > 0 && !s->stale && !s->silent && !s->restarting) { /* otherwise the last force fades */
        double wanted[6];
        haptic_proxy_move(settings, s, elapsed, wanted);
        limit(settings, s, wanted, elapsed);
    }
    if (!all_within(s->wrench, 6, SANE_STIFFNESS)) { /* whatever made it: nothing is sent in this tick */
        s->faults[THENAR_HAPTIC_UNSOLVED]++;
        memset(s->wrench, 0, sizeof s->wrench);
        s->gain = 0;
        haptic_proxy_restart(s);
    }
    haptic_energy_send(&s->energy, s->wrench, s->weight, s->gain);
    memcpy(wrench, s->energy.sent, sizeof s->energy.sent);
}
