#include "app/command.h"
#include "app/run.h"

#include "thenar/haptic.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -------------------------------------------------------------------------------------------------- the option --device */

typedef struct device_choice {
    int handle_count; /* that have a device */
    int handle[THENAR_HAPTIC_HANDLES];
    const char *device[THENAR_HAPTIC_HANDLES]; /* KIND:ARGUMENT; belongs to the option or to the model */
} device_choice;

/* "palm, thumb, index" */
static void list_handles(const thenar_model *model, char *text, size_t size) {
    text[0] = 0;
    for (int i = 0; i < thenar_model_handle_count(model); i++) {
        size_t used = strlen(text);
        snprintf(text + used, size - used, "%s%s", i > 0 ? ", " : "", thenar_model_handle_name(model, i));
    }
}

/* Splits HANDLE=DEVICE; both parts may contain equals signs. Returns the handle, -1 if none is named, -2 if it does
 * not exist. */
static int split_handle(const thenar_model *model, const char *option, const char **device) {
    *device = option;
    for (const char *equals = strchr(option, '='); equals; equals = strchr(equals + 1, '='))
        for (int i = 0; i < thenar_model_handle_count(model); i++) {
            const char *name = thenar_model_handle_name(model, i);
            if (strlen(name) != (size_t)(equals - option) || strncmp(name, option, strlen(name)) != 0) continue;
            *device = equals + 1;
            return i;
        }
    return option[strcspn(option, ":=")] == '=' ? -2 : -1;
}

static thenar_status refuse_handle(const thenar_model *model, const char *option, thenar_error *error) {
    const char *names[64];
    char all[512], wrong[128];
    int count = thenar_model_handle_count(model) < 64 ? thenar_model_handle_count(model) : 64;
    for (int i = 0; i < count; i++) names[i] = thenar_model_handle_name(model, i);
    list_handles(model, all, sizeof all);
    snprintf(wrong, sizeof wrong, "%.*s", (int)strcspn(option, "="), option);
    const char *closest = closest_name(wrong, names, (size_t)count);
    return fail(error, THENAR_ERROR_INPUT, "--device %s: %s has no handle %s%s%s%s; expected one of: %s", option,
                thenar_model_name(model), wrong, closest ? "; did you mean " : "", closest ? closest : "",
                closest ? "?" : "", all);
}

/* Whether a device of the scene is of that kind; every device is of kind "scene". */
static bool is_of_kind(const char *device, const char *kind) {
    if (!device) return false;
    if (strcmp(kind, "scene") == 0) return true;
    size_t length = strcspn(device, ":");
    return strlen(kind) == length && strncmp(kind, device, length) == 0;
}

static thenar_status add(const thenar_model *model, device_choice *choice, int handle, const char *device,
                         const char *option, thenar_error *error) {
    for (int i = 0; i < choice->handle_count; i++)
        if (choice->handle[i] == handle)
            return fail(error, THENAR_ERROR_INPUT,
                        "--device %s: handle %s has a device already; expected one per handle", option,
                        thenar_model_handle_name(model, handle));
    if (choice->handle_count == THENAR_HAPTIC_HANDLES)
        return fail(error, THENAR_ERROR_INPUT, "--device %s: too many devices; expected at most %d", option,
                    THENAR_HAPTIC_HANDLES);
    choice->handle[choice->handle_count] = handle;
    choice->device[choice->handle_count++] = device;
    return THENAR_OK;
}

/* Adds the devices of that kind that the scene names for the handles from `first` to before `end`. */
static thenar_status add_of_scene(const thenar_sim *sim, const char *option, const char *kind, int first, int end,
                                  device_choice *choice, bool *any, thenar_error *error) {
    thenar_status status = THENAR_OK;
    for (int h = first; h < end && status == THENAR_OK; h++) {
        thenar_haptic_handle of_scene = thenar_haptic_handle_of(sim, h);
        if (!is_of_kind(of_scene.device, kind)) continue;
        *any = true;
        status = add(thenar_sim_model(sim), choice, h, of_scene.device, option, error);
    }
    return status;
}

static thenar_status choose(const thenar_sim *sim, const char *option, device_choice *choice, thenar_error *error) {
    const thenar_model *model = thenar_sim_model(sim);
    const char *device;
    int handle = split_handle(model, option, &device), count = thenar_model_handle_count(model);
    if (handle == -2) return refuse_handle(model, option, error);
    bool any = false;
    if (!strchr(device, ':')) {
        thenar_status status = add_of_scene(sim, option, device, handle < 0 ? 0 : handle,
                                            handle < 0 ? count : handle + 1, choice, &any, error);
        if (status != THENAR_OK || any) return status;
    }
    if (strcmp(device, "scene") == 0)
        return fail(error, THENAR_ERROR_INPUT, "--device %s: %s names no device%s%s; expected one under haptic.handles",
                    option, thenar_model_name(model), handle < 0 ? "" : " for ",
                    handle < 0 ? "" : thenar_model_handle_name(model, handle));
    char kind[32], all[512];
    snprintf(kind, sizeof kind, "%.*s", (int)strcspn(device, ":"), device);
    if (strcmp(device, "none") != 0 && thenar_device_find(kind) < 0)
        return fail(error, THENAR_ERROR_INPUT, "--device %s: %s", option, thenar_last_error());
    list_handles(model, all, sizeof all);
    if (handle < 0 && count > 1)
        return fail(error, THENAR_ERROR_INPUT,
                    "--device %s: for which handle of %s? expected HANDLE=%s, with one of: %s", option,
                    thenar_model_name(model), option, all);
    return add(model, choice, handle < 0 ? 0 : handle, device, option, error);
}

/* Each value of the option is one of
 *     HANDLE=KIND[:ARGUMENT]   a device for a handle
 *     KIND[:ARGUMENT]          a device for the only handle
 *     scene                    the devices that the scene names, for all handles
 * A KIND without an argument selects the devices of that kind that the scene names, if there are any. */
static thenar_status device_choose(const thenar_sim *sim, const option_list *options, device_choice *out,
                                   thenar_error *error) {
    *out = (device_choice){0};
    const thenar_model *model = thenar_sim_model(sim);
    if (options->count > 0 && thenar_model_handle_count(model) == 0)
        return fail(error, THENAR_ERROR_INPUT,
                    "--device %s: %s has no handle for a device; expected a scene with the key handles",
                    options->values[0], thenar_model_name(model));
    thenar_status status = THENAR_OK;
    for (int i = 0; i < options->count && status == THENAR_OK; i++)
        status = choose(sim, options->values[i], out, error);
    return status;
}

/* ------------------------------------------------------------------------------------------------ the devices of a run */

/* Counts ticks and steps since start_ns; the rates are those of the previous window, 1/s. */
typedef struct rate_window {
    int64_t start_ns;
    uint64_t ticks, steps;
    double rate, step_rate;
} rate_window;

struct run_haptic {
    thenar_haptic *loop;
    device_choice choice;
    char *text[THENAR_HAPTIC_HANDLES]; /* of each device; the model that named it may have been freed */
    char channel[THENAR_HAPTIC_HANDLES][256];
    double rate;
    bool offline;
    thenar_haptic_stats stats; /* after the last step */
    double numbers[THENAR_HAPTIC_HANDLES][RUN_HAPTIC_NUMBERS];
    uint64_t reported[THENAR_HAPTIC_HANDLES][THENAR_HAPTIC_FAULT_COUNT];
    rate_window window;
    uint64_t late_steps;
    double late_seconds;
};

/* The name of the handle of a device. */
static inline const char *run_haptic_name(const run_haptic *haptic, int device) {
    return haptic->channel[device] + 7; /* after "haptic/" */
}

#define RATE_NS 250000000 /* length of a window */

/* Columns of a device, in the order of its numbers. */
static const char *const of_device[RUN_HAPTIC_NUMBERS] = {
    "x",       "y",       "z",       "qx",       "qy",       "qz",       "qw",
    "proxy_x", "proxy_y", "proxy_z", "proxy_qx", "proxy_qy", "proxy_qz", "proxy_qw",
    "force_x", "force_y", "force_z", "torque_x", "torque_y", "torque_z", "gain"};
/* Columns of the loop: current rates of ticks and steps, missed deadlines and late steps so far. */
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
        haptic->text[i] = strdup(handles[i].device);
        if (!haptic->text[i]) return fail_memory(error, "devices");
    }
    def.simulated_time = offline;
    def.handles = handles;
    def.handle_count = count;
    haptic->rate = def.rate;
    haptic->offline = offline;
    return thenar_haptic_create(&def, &haptic->loop, error);
}

/* Reads the statistics of the loop. */
static void take_stats(run_haptic *haptic) {
    thenar_haptic_read_stats(haptic->loop, &haptic->stats);
    for (int i = 0; i < haptic->choice.handle_count; i++) {
        const thenar_haptic_handle_stats *from = &haptic->stats.handles[i];
        double *to = haptic->numbers[i];
        memcpy(to, from->device_pose, sizeof from->device_pose);
        memcpy(to + 7, from->proxy_pose, sizeof from->proxy_pose);
        memcpy(to + 14, from->force, sizeof from->force);
        memcpy(to + 17, from->torque, sizeof from->torque);
        to[20] = from->gain;
    }
}

thenar_status run_haptic_create(const thenar_sim *sim, const option_list *devices, bool offline, run_haptic **out,
                                thenar_error *error) {
    *out = NULL;
    if (devices->count == 0) return THENAR_OK;
    run_haptic *haptic = NEW_ARRAY(run_haptic, 1);
    if (!haptic) return fail_memory(error, "devices");
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
    return haptic->offline ? (int64_t)(1e9 * thenar_sim_time(sim)) : clock_ns();
}

thenar_status run_haptic_start(run_haptic *haptic, thenar_error *error) {
    if (!haptic) return THENAR_OK;
    thenar_status status = thenar_haptic_start(haptic->loop, error);
    thenar_haptic_advance(haptic->loop, 1 / haptic->rate); /* offline: the first step needs the pose of the device */
    take_stats(haptic);
    haptic->window = (rate_window){.start_ns = haptic->offline ? 0 : clock_ns(), .ticks = haptic->stats.ticks};
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
        thenar_haptic_drive_sim(haptic->loop, i, sim, haptic->choice.handle[i]);
}

static void count_rates(run_haptic *haptic, const thenar_sim *sim) {
    rate_window *w = &haptic->window;
    int64_t now = now_ns(haptic, sim);
    w->steps++;
    if (now < w->start_ns)
        *w = (rate_window){.start_ns = now, .ticks = haptic->stats.ticks}; /* the simulation was reset */
    if (now - w->start_ns < RATE_NS) return;
    double seconds = 1e-9 * (double)(now - w->start_ns);
    *w = (rate_window){.start_ns = now,
                       .ticks = haptic->stats.ticks,
                       .rate = (double)(haptic->stats.ticks - w->ticks) / seconds,
                       .step_rate = (double)w->steps / seconds};
}

/* Offline, the loop advances by the time of the step before it gets its result, as with a simulation that just keeps
 * up with real time. */
void run_haptic_after(run_haptic *haptic, const thenar_sim *sim, bool publish) {
    if (!haptic) return;
    if (haptic->offline) thenar_haptic_advance(haptic->loop, thenar_sim_dt(sim));
    for (int i = 0; publish && i < haptic->choice.handle_count; i++)
        thenar_haptic_publish_sim(haptic->loop, i, sim, haptic->choice.handle[i]);
    take_stats(haptic);
    count_rates(haptic, sim);
}

void run_haptic_refresh(run_haptic *haptic) {
    if (haptic) take_stats(haptic);
}

void run_haptic_late(run_haptic *haptic, const thenar_pace *clock) {
    if (!haptic) return;
    haptic->late_steps = clock->late_steps;
    haptic->late_seconds = clock->dropped;
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

/* ------------------------------------------------------------------------------------------------------------ results */

static json_t *describe_faults(const uint64_t faults[THENAR_HAPTIC_FAULT_COUNT]) {
    json_t *all = json_object();
    for (int f = 0; f < THENAR_HAPTIC_FAULT_COUNT; f++)
        json_object_set_new(all, thenar_haptic_fault_name((thenar_haptic_fault)f), json_integer((json_int_t)faults[f]));
    return all;
}

static json_t *describe_handle(const run_haptic *haptic, int i) {
    const thenar_haptic_handle_stats *h = &haptic->stats.handles[i];
    return json_pack("{s:s, s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:I, s:o}", "device", haptic->text[i],
                     "samples", (json_int_t)h->samples, "news", (json_int_t)h->updates, "latency_worst_us",
                     h->latency_max_us, "peak_force", h->force_max, "mean_force", h->force_mean, "peak_torque",
                     h->torque_max, "energy_in", h->energy_in, "energy_out", h->energy_out, "energy_worst",
                     h->energy_excess_max, "gain", h->gain, "fades", (json_int_t)h->fades, "faults",
                     describe_faults(h->faults));
}

/* Histogram of the deviation of the period. */
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
                                  s->period_p99_us, "p999", s->period_p999_us, "max", s->period_max_us));
    json_object_set_new(all, "jitter", describe_jitter(s));
    json_object_set_new(
        all, "tick_us",
        json_pack("{s:f, s:f, s:f}", "p50", s->tick_p50_us, "p99", s->tick_p99_us, "max", s->tick_max_us));
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
                                                 "device", haptic->text[i], "peak_force", s->handles[i].force_max,
                                                 "energy_in", s->handles[i].energy_in, "energy_out",
                                                 s->handles[i].energy_out, "faults", describe_faults(faults)));
        for (int f = 0; f < THENAR_HAPTIC_FAULT_COUNT; f++) {
            bool more = faults[f] > haptic->reported[i][f];
            haptic->reported[i][f] = faults[f];
            if (!more || f >= THENAR_HAPTIC_CLAMPED || used >= size)
                continue; /* limits that hold are not worth a message */
            int length = snprintf(fault + used, size - used, "%s%s: %s", used > 0 ? "; " : "",
                                  run_haptic_name(haptic, i), thenar_haptic_fault_text((thenar_haptic_fault)f));
            used += length > 0 ? (size_t)length : 0;
        }
    }
    return json_pack("{s:s, s:b, s:f, s:f, s:f, s:I, s:I, s:f, s:f, s:f, s:I, s:o}", "real_time",
                     thenar_haptic_real_time(haptic->loop), "refused", run_haptic_refused(haptic) != NULL, "rate",
                     haptic->rate, "measured_rate", haptic->window.rate, "step_rate", haptic->window.step_rate, "ticks",
                     (json_int_t)s->ticks, "missed", (json_int_t)s->missed, "period_p50_us", s->period_p50_us,
                     "period_p99_us", s->period_p99_us, "period_worst_us", s->period_max_us, "late_steps",
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
               s->period_p50_us, s->period_p99_us, s->period_p999_us, s->period_max_us, s->missed, haptic->late_steps,
               s->tick_p50_us, thenar_haptic_real_time(haptic->loop));
    for (int i = 0; i < haptic->choice.handle_count; i++) {
        const thenar_haptic_handle_stats *h = &s->handles[i];
        printf("handle %s, %s: %.2f N at most, %.2f N on average, %.1f mJ in, %.1f mJ out", run_haptic_name(haptic, i),
               haptic->text[i], h->force_max, h->force_mean, 1e3 * h->energy_in, 1e3 * h->energy_out);
        for (int f = 0; f < THENAR_HAPTIC_FAULT_COUNT; f++)
            if (h->faults[f] > 0)
                printf("; %s %" PRIu64, thenar_haptic_fault_name((thenar_haptic_fault)f), h->faults[f]);
        printf("\n");
    }
}
