#include "app/run_haptic_state.h"

#include "core/threads.h"
#include "core/error.h"
#include "core/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RATE_NS 250000000 /* over which rates are counted */

/* Of a device, in the order of its numbers. */
static const char *const of_device[RUN_HAPTIC_NUMBERS] = {
    "x",       "y",       "z",       "qx",       "qy",       "qz",       "qw",
    "proxy_x", "proxy_y", "proxy_z", "proxy_qx", "proxy_qy", "proxy_qz", "proxy_qw",
    "force_x", "force_y", "force_z", "torque_x", "torque_y", "torque_z", "gain"};
/* Of all: ticks and steps a second as they come, deadlines missed since the beginning, steps that were late. */
static const char *const of_loop[] = {"haptic_rate", "haptic_step_rate", "haptic_missed", "haptic_late_steps"};
enum { OF_LOOP = sizeof of_loop / sizeof *of_loop };

static thenar_status open_loop(run_haptic *haptic, const thenar_sim *sim, bool offline, thenar_error *error) {
    thenar_haptic_handle handles[THENAR_HAPTIC_HANDLES];
    thenar_haptic_def def = thenar_haptic_def_of(thenar_sim_model(sim));
    int count = haptic->choice.handle_count;
    for (int i = 0; i < count; i++) {
        handles[i] = thenar_haptic_handle_of(sim, haptic->choice.handle[i]);
        handles[i].device = haptic->choice.device[i];
        snprintf(haptic->channel[i], sizeof haptic->channel[i], "haptic/%.200s",
                 thenar_model_handle_name(thenar_sim_model(sim), haptic->choice.handle[i]));
        haptic->text[i] = memory_string(handles[i].device);
        if (!haptic->text[i]) return error_memory(error, "devices");
    }
    def.simulated_time = offline;
    def.handles = handles;
    def.handle_count = count;
    haptic->rate = def.rate;
    haptic->offline = offline;
    return thenar_haptic_create(&def, &haptic->loop, error);
}

/* What the loop says now, as numbers. */
static void take_stats(run_haptic *haptic) {
    thenar_haptic_read_stats(haptic->loop, &haptic->stats);
    for (int i = 0; i < haptic->choice.handle_count; i++) {
        const thenar_haptic_handle_stats *from = &haptic->stats.handles[i];
        double *to = haptic->numbers[i];
        memcpy(to, from->device_position, sizeof from->device_position);
        memcpy(to + 3, from->device_orientation, sizeof from->device_orientation);
        memcpy(to + 7, from->proxy_position, sizeof from->proxy_position);
        memcpy(to + 10, from->proxy_orientation, sizeof from->proxy_orientation);
        memcpy(to + 14, from->force, sizeof from->force);
        memcpy(to + 17, from->torque, sizeof from->torque);
        to[20] = from->gain;
    }
}

thenar_status run_haptic_create(const thenar_sim *sim, const option_list *devices, bool offline, run_haptic **out,
                                thenar_error *error) {
    *out = NULL;
    if (devices->count == 0) return THENAR_OK;
    run_haptic *haptic = MEMORY_ARRAY(run_haptic, 1);
    if (!haptic) return error_memory(error, "devices");
    thenar_status status = device_choose(sim, devices, &haptic->choice, error);
    if (status == THENAR_OK) status = open_loop(haptic, sim, offline, error);
    if (status != THENAR_OK) {
        run_haptic_free(haptic);
        return status;
    }
    take_stats(haptic);
    *out = haptic;
    return THENAR_OK;
}

void run_haptic_free(run_haptic *haptic) {
    if (!haptic) return;
    thenar_haptic_free(haptic->loop);
    for (int i = 0; i < THENAR_HAPTIC_HANDLES; i++) free(haptic->text[i]);
    free(haptic);
}

static int64_t now_ns(const run_haptic *haptic, const thenar_sim *sim) {
    return haptic->offline ? (int64_t)(1e9 * thenar_sim_time(sim)) : clock_now();
}

thenar_status run_haptic_start(run_haptic *haptic, thenar_error *error) {
    if (!haptic) return THENAR_OK;
    thenar_status status = thenar_haptic_start(haptic->loop, error);
    thenar_haptic_advance(haptic->loop, 1 / haptic->rate); /* offline: that the first step knows where the device is */
    take_stats(haptic);
    haptic->window = (rate_window){.begun_ns = haptic->offline ? 0 : clock_now(), .ticks = haptic->stats.ticks};
    return status;
}

bool run_haptic_is_live(const run_haptic *haptic) {
    return haptic && !haptic->offline;
}

const char *run_haptic_refused(const run_haptic *haptic) {
    const char *line = haptic ? thenar_haptic_real_time(haptic->loop) : "";
    return strstr(line, "no real-time") || strstr(line, "not locked") ? line : NULL;
}

void run_haptic_before(run_haptic *haptic, thenar_sim *sim) {
    for (int i = 0; haptic && i < haptic->choice.handle_count; i++)
        thenar_haptic_drive(haptic->loop, i, sim, haptic->choice.handle[i]);
}

static void count_rates(run_haptic *haptic, const thenar_sim *sim) {
    rate_window *w = &haptic->window;
    int64_t now = now_ns(haptic, sim);
    w->steps++;
    if (now < w->begun_ns) *w = (rate_window){.begun_ns = now, .ticks = haptic->stats.ticks}; /* a reset */
    if (now - w->begun_ns < RATE_NS) return;
    double seconds = 1e-9 * (double)(now - w->begun_ns);
    *w = (rate_window){.begun_ns = now,
                       .ticks = haptic->stats.ticks,
                       .rate = (double)(haptic->stats.ticks - w->ticks) / seconds,
                       .step_rate = (double)w->steps / seconds};
}

/* Offline a step's news come when its time is over, as from a machine that just keeps up. */
void run_haptic_after(run_haptic *haptic, const thenar_sim *sim, bool tells) {
    if (!haptic) return;
    if (haptic->offline) thenar_haptic_advance(haptic->loop, thenar_sim_dt(sim));
    for (int i = 0; tells && i < haptic->choice.handle_count; i++)
        thenar_haptic_tell(haptic->loop, i, sim, haptic->choice.handle[i]);
    take_stats(haptic);
    count_rates(haptic, sim);
}

void run_haptic_look(run_haptic *haptic) {
    if (haptic) take_stats(haptic);
}

void run_haptic_late(run_haptic *haptic, const pace *clock) {
    if (!haptic) return;
    haptic->late_steps = clock->late_steps;
    haptic->late_seconds = clock->forgiven;
}

int run_haptic_column_count(const run_haptic *haptic) {
    return haptic ? RUN_HAPTIC_NUMBERS * haptic->choice.handle_count + OF_LOOP : 0;
}

void run_haptic_columns(const run_haptic *haptic, run_column_visit *visit, void *context) {
    if (!haptic) return;
    for (int i = 0; i < haptic->choice.handle_count; i++)
        for (int k = 0; k < RUN_HAPTIC_NUMBERS; k++) {
            char name[RUN_COLUMN_NAME];
            snprintf(name, sizeof name, "device.%s_%s", run_haptic_name(haptic, i), of_device[k]);
            visit(context, name);
        }
    for (int k = 0; k < OF_LOOP; k++) visit(context, of_loop[k]);
}

void run_haptic_row(const run_haptic *haptic, double *values) {
    if (!haptic) return;
    for (int i = 0; i < haptic->choice.handle_count; i++, values += RUN_HAPTIC_NUMBERS)
        memcpy(values, haptic->numbers[i], sizeof haptic->numbers[i]);
    values[0] = haptic->window.rate;
    values[1] = haptic->window.step_rate;
    values[2] = (double)haptic->stats.missed;
    values[3] = (double)haptic->late_steps;
}

int run_haptic_device_count(const run_haptic *haptic) {
    return haptic ? haptic->choice.handle_count : 0;
}

const char *run_haptic_channel(const run_haptic *haptic, int device) {
    return haptic->channel[device];
}

const double *run_haptic_numbers(const run_haptic *haptic, int device) {
    return haptic->numbers[device];
}

void run_haptic_stop(run_haptic *haptic) {
    if (!haptic) return;
    thenar_haptic_stop(haptic->loop);
    take_stats(haptic);
}
