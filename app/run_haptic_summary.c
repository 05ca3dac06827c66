#include "app/run_haptic_state.h"

#include "haptic/tick.h"

#include <inttypes.h>
#include <stdio.h>

static json_t *describe_faults(const uint64_t faults[THENAR_HAPTIC_FAULTS]) {
    json_t *all = json_object();
    for (int f = 0; f < THENAR_HAPTIC_FAULTS; f++)
        json_object_set_new(all, thenar_haptic_fault_name((thenar_haptic_fault)f), json_integer((json_int_t)faults[f]));
    return all;
}

static json_t *describe_handle(const run_haptic *haptic, int i) {
    const thenar_haptic_handle_stats *h = &haptic->stats.handles[i];
    return json_pack("{s:s, s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:I, s:o}", "device", haptic->text[i],
                     "samples", (json_int_t)h->samples, "news", (json_int_t)h->updates, "latency_worst_us",
                     h->latency_worst_us, "peak_force", h->peak_force, "mean_force", h->mean_force, "peak_torque",
                     h->peak_torque, "energy_in", h->energy_in, "energy_out", h->energy_out, "energy_worst",
                     h->energy_worst, "gain", h->gain, "fades", (json_int_t)h->fades, "faults",
                     describe_faults(h->faults));
}

/* Ticks by how far their period was from what was asked for. */
static json_t *describe_jitter(const thenar_haptic_stats *stats) {
    json_t *edges = json_array(), *ticks = json_array();
    for (int i = 0; i < THENAR_HAPTIC_JITTER; i++) {
        if (i < THENAR_HAPTIC_JITTER - 1) json_array_append_new(edges, json_integer((json_int_t)1 << i));
        json_array_append_new(ticks, json_integer((json_int_t)stats->jitter[i]));
    }
    return json_pack("{s:o, s:o}", "under_us", edges, "ticks", ticks);
}

json_t *run_haptic_summary(const run_haptic *haptic) {
    const thenar_haptic_stats *s = &haptic->stats;
    json_t *handles = json_object();
    for (int i = 0; i < haptic->choice.handle_count; i++)
        json_object_set_new(handles, run_haptic_name(haptic, i), describe_handle(haptic, i));
    json_t *all = json_pack("{s:s, s:s, s:f, s:f, s:I, s:I}", "time", haptic->offline ? "simulated" : "real",
                            "real_time", thenar_haptic_real_time(haptic->loop), "rate", haptic->rate, "seconds",
                            s->seconds, "ticks", (json_int_t)s->ticks, "missed", (json_int_t)s->missed);
    json_object_set_new(all, "period_us",
                        json_pack("{s:f, s:f, s:f, s:f, s:f}", "asked", s->period_us, "p50", s->period_p50_us, "p99",
                                  s->period_p99_us, "p999", s->period_p999_us, "max", s->period_worst_us));
    json_object_set_new(all, "jitter", describe_jitter(s));
    json_object_set_new(
        all, "tick_us",
        json_pack("{s:f, s:f, s:f}", "p50", s->tick_p50_us, "p99", s->tick_p99_us, "max", s->tick_worst_us));
    json_object_set_new(all, "late_steps", json_integer((json_int_t)haptic->late_steps));
    json_object_set_new(all, "late_s", json_real(haptic->late_seconds));
    json_object_set_new(all, "handles", handles);
    return all;
}

json_t *run_haptic_updates(run_haptic *haptic, char *fault, size_t size) {
    fault[0] = 0;
    if (!haptic) return NULL;
    const thenar_haptic_stats *s = &haptic->stats;
    json_t *handles = json_array();
    size_t used = 0;
    for (int i = 0; i < haptic->choice.handle_count; i++) {
        const uint64_t *faults = s->handles[i].faults;
        json_array_append_new(handles, json_pack("{s:s, s:s, s:f, s:f, s:f, s:o}", "name", run_haptic_name(haptic, i),
                                                 "device", haptic->text[i], "peak_force", s->handles[i].peak_force,
                                                 "energy_in", s->handles[i].energy_in, "energy_out",
                                                 s->handles[i].energy_out, "faults", describe_faults(faults)));
        for (int f = 0; f < THENAR_HAPTIC_FAULTS; f++) {
            bool more = faults[f] > haptic->reported[i][f];
            haptic->reported[i][f] = faults[f];
            if (!more || f >= THENAR_HAPTIC_CLAMPED || used >= size) continue; /* limits that hold are no news */
            int length = snprintf(fault + used, size - used, "%s%s: %s", used > 0 ? "; " : "",
                                  run_haptic_name(haptic, i), haptic_fault_text((thenar_haptic_fault)f));
            used += length > 0 ? (size_t)length : 0;
        }
    }
    return json_pack("{s:s, s:b, s:f, s:f, s:f, s:I, s:I, s:f, s:f, s:f, s:I, s:o}", "real_time",
                     thenar_haptic_real_time(haptic->loop), "refused", run_haptic_refused(haptic) != NULL, "rate",
                     haptic->rate, "measured_rate", haptic->window.rate, "step_rate", haptic->window.step_rate, "ticks",
                     (json_int_t)s->ticks, "missed", (json_int_t)s->missed, "period_p50_us", s->period_p50_us,
                     "period_p99_us", s->period_p99_us, "period_worst_us", s->period_worst_us, "late_steps",
                     (json_int_t)haptic->late_steps, "handles", handles);
}

void run_haptic_print(const run_haptic *haptic) {
    if (!haptic) return;
    const thenar_haptic_stats *s = &haptic->stats;
    printf("haptic loop: %" PRIu64 " ticks, %g a second, ", s->ticks, haptic->rate);
    if (haptic->offline)
        printf("in simulated time; tick %.1f us median\n", s->tick_p50_us);
    else
        printf("period %.0f us median, %.0f us p99, %.0f us p99.9, %.0f us longest; %" PRIu64
               " deadlines missed, %" PRIu64 " steps late; tick %.1f us median; %s\n",
               s->period_p50_us, s->period_p99_us, s->period_p999_us, s->period_worst_us, s->missed, haptic->late_steps,
               s->tick_p50_us, thenar_haptic_real_time(haptic->loop));
    for (int i = 0; i < haptic->choice.handle_count; i++) {
        const thenar_haptic_handle_stats *h = &s->handles[i];
        printf("handle %s, %s: %.2f N at most, %.2f N on average, %.1f mJ in, %.1f mJ out", run_haptic_name(haptic, i),
               haptic->text[i], h->peak_force, h->mean_force, 1e3 * h->energy_in, 1e3 * h->energy_out);
        for (int f = 0; f < THENAR_HAPTIC_FAULTS; f++)
            if (h->faults[f] > 0)
                printf("; %s %" PRIu64, thenar_haptic_fault_name((thenar_haptic_fault)f), h->faults[f]);
        printf("\n");
    }
}
