#include "app/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Columns of a device; the values of its actuators follow. */
static const char *const of_device[] = {"pitch", "roll", "displacement", "press", "touching"};
static const char *const of_pad[] = {
    "force_x", "force_y",  "force_z", "normal_force",  "centre_x",       "centre_y", "centre_z",   "area",
    "points",  "pressure", "shear",   "peak_pressure", "energy_density", "slip",     "slip_speed", "slip_onsets"};
static const char *const of_region[] = {"pressure", "shear", "energy_density"};
enum {
    OF_DEVICE = sizeof of_device / sizeof *of_device,
    OF_PAD = sizeof of_pad / sizeof *of_pad,
    OF_REGION = sizeof of_region / sizeof *of_region,
    NAME_SIZE = 400,
    UPDATES_KEPT = 16384
};

struct run_tactile {
    thenar_tactile *devices;
    run_tactile_range *ranges;
    double us[UPDATES_KEPT]; /* ring buffer: a viewer may run for days */
    uint64_t updates;
    const thenar_model *model;
    const option_list *sends;
    thenar_output **outputs; /* one per --send */
    size_t output_count;
};

static thenar_status open_outputs(run_tactile *tactile, const option_list *sends, thenar_error *error) {
    thenar_status status = THENAR_OK;
    size_t count = sends ? (size_t)sends->count : 0;
    tactile->outputs = NEW_ARRAY(thenar_output *, count);
    if (!tactile->outputs) return fail_memory(error, "outputs");
    tactile->sends = sends;
    for (; tactile->output_count < count && status == THENAR_OK; tactile->output_count++) {
        size_t i = tactile->output_count;
        status = thenar_output_open(tactile->devices, sends->values[i], 0, &tactile->outputs[i], error);
    }
    return status;
}

thenar_status run_tactile_create(const thenar_model *model, const option_list *sends, run_tactile **out,
                                 thenar_error *error) {
    *out = NULL;
    if (thenar_model_tactile_count(model) == 0) {
        if (!sends || sends->count == 0) return THENAR_OK;
        return fail(error, THENAR_ERROR_INPUT,
                    "%s: nothing to send, since no hand wears a device; expected a scene with the key tactile",
                    thenar_model_name(model));
    }
    run_tactile *tactile = NEW_ARRAY(run_tactile, 1);
    if (!tactile) return fail_memory(error, "tactile devices");
    tactile->model = model;
    thenar_status status = thenar_tactile_create(model, NULL, &tactile->devices, error);
    if (status == THENAR_OK) {
        int count = thenar_tactile_device_count(tactile->devices);
        tactile->ranges = NEW_ARRAY(run_tactile_range, count);
        if (!tactile->ranges) status = fail_memory(error, "tactile devices");
    }
    if (status == THENAR_OK) status = open_outputs(tactile, sends, error);
    if (status == THENAR_OK)
        *out = tactile;
    else
        run_tactile_free(tactile);
    return status;
}

void run_tactile_free(run_tactile *tactile) {
    if (!tactile) return;
    for (size_t i = 0; i < tactile->output_count; i++) thenar_output_close(tactile->outputs[i], NULL);
    free(tactile->outputs);
    thenar_tactile_free(tactile->devices);
    free(tactile->ranges);
    free(tactile);
}

void run_tactile_finish(run_tactile *tactile) {
    for (size_t i = 0; tactile && i < tactile->output_count; i++) {
        thenar_output_counts c;
        thenar_output_close(tactile->outputs[i], &c);
        tactile->outputs[i] = NULL;
        printf("%s: %llu of %llu commands sent, %llu superseded by newer ones, %llu dropped, %llu reconnects\n",
               tactile->sends->values[i], (unsigned long long)c.sent, (unsigned long long)c.pushed,
               (unsigned long long)c.superseded, (unsigned long long)c.dropped, (unsigned long long)c.reconnects);
    }
}

thenar_tactile *run_tactile_devices(const run_tactile *tactile) {
    return tactile ? tactile->devices : NULL;
}

void run_tactile_begin(run_tactile *tactile, const thenar_sim *sim) {
    if (tactile) thenar_tactile_update(tactile->devices, sim);
}

void run_tactile_widen(run_tactile_range *range, const thenar_tactile_command *command) {
    if (!command->touching) return;
    for (int k = 0; k < 3; k++) {
        double x = command->platform[k];
        range->low[k] = range->touched ? fmin(range->low[k], x) : x;
        range->high[k] = range->touched ? fmax(range->high[k], x) : x;
    }
    range->press = range->touched ? fmax(range->press, command->press) : command->press;
    range->touched++;
}

void run_tactile_step(run_tactile *tactile, const thenar_sim *sim) {
    if (!tactile) return;
    int64_t start = clock_ns();
    thenar_tactile_update(tactile->devices, sim);
    double us = 1e-3 * (double)(clock_ns() - start);
    for (size_t i = 0; i < tactile->output_count; i++) thenar_output_push(tactile->outputs[i], tactile->devices);
    tactile->us[tactile->updates++ % UPDATES_KEPT] = us;
    for (int d = 0; d < thenar_tactile_device_count(tactile->devices); d++)
        run_tactile_widen(&tactile->ranges[d], thenar_tactile_command_of(tactile->devices, d));
}

static int device_columns(const run_tactile *tactile, int device) {
    return OF_DEVICE + thenar_wearable_value_count(thenar_tactile_device(tactile->devices, device)->device);
}

int run_tactile_column_count(const run_tactile *tactile) {
    if (!tactile) return 0;
    int count = thenar_tactile_pad_count(tactile->devices) * (OF_PAD + OF_REGION * THENAR_PAD_REGION_COUNT);
    for (int d = 0; d < thenar_tactile_device_count(tactile->devices); d++) count += device_columns(tactile, d);
    return count;
}

/* The columns of actuator values have no unit in their names. */
static void name_device(const thenar_tactile_def *def, run_column_visit *visit, void *context) {
    char name[NAME_SIZE];
    for (int i = 0; i < OF_DEVICE; i++) {
        snprintf(name, sizeof name, "tactile/%.200s_%s", def->name, of_device[i]);
        visit(context, name);
    }
    for (int v = 0; v < thenar_wearable_value_count(def->device); v++) {
        const char *value = thenar_wearable_value_name(def->device, v);
        snprintf(name, sizeof name, "tactile/%.200s_%.*s%s", def->name, (int)strcspn(value, " "), value,
                 strncmp(value, "displacement", 12) == 0 ? "_sent" : "");
        visit(context, name);
    }
}

static void name_pad(const run_tactile *tactile, const thenar_tactile_pad *pad, run_column_visit *visit,
                     void *context) {
    char prefix[NAME_SIZE - 64], name[NAME_SIZE];
    snprintf(prefix, sizeof prefix, "pad/%.200s.%s", thenar_model_hand_name(tactile->model, pad->hand),
             thenar_finger_name(pad->finger));
    for (int i = 0; i < OF_PAD; i++) {
        snprintf(name, sizeof name, "%s_%s", prefix, of_pad[i]);
        visit(context, name);
    }
    for (int r = 0; r < THENAR_PAD_REGION_COUNT; r++)
        for (int i = 0; i < OF_REGION; i++) {
            snprintf(name, sizeof name, "%s_%s_%s", prefix, thenar_pad_region_name((thenar_pad_region)r), of_region[i]);
            visit(context, name);
        }
}

void run_tactile_columns(const run_tactile *tactile, run_column_visit *visit, void *context) {
    if (!tactile) return;
    for (int d = 0; d < thenar_tactile_device_count(tactile->devices); d++)
        name_device(thenar_tactile_device(tactile->devices, d), visit, context);
    for (int p = 0; p < thenar_tactile_pad_count(tactile->devices); p++)
        name_pad(tactile, thenar_tactile_pad_of(tactile->devices, p), visit, context);
}

static double *pad_row(const thenar_tactile_pad *pad, double *row) {
    const double first[OF_PAD] = {pad->force[0],       pad->force[1],  pad->force[2],   pad->normal_force,
                                  pad->centre[0],      pad->centre[1], pad->centre[2],  pad->area,
                                  pad->contact_count,  pad->pressure,  pad->shear,      pad->peak_pressure,
                                  pad->energy_density, pad->slip,      pad->slip_speed, pad->slip_onsets};
    memcpy(row, first, sizeof first);
    row += OF_PAD;
    for (int r = 0; r < THENAR_PAD_REGION_COUNT; r++) {
        *row++ = pad->region[r].pressure;
        *row++ = pad->region[r].shear;
        *row++ = pad->region[r].energy_density;
    }
    return row;
}

void run_tactile_row(const run_tactile *tactile, double *row) {
    if (!tactile) return;
    for (int d = 0; d < thenar_tactile_device_count(tactile->devices); d++) {
        const thenar_tactile_command *command = thenar_tactile_command_of(tactile->devices, d);
        memcpy(row, command->platform, sizeof command->platform);
        row[3] = command->press;
        row[4] = command->touching;
        int values = device_columns(tactile, d) - OF_DEVICE;
        memcpy(row + OF_DEVICE, command->value, (size_t)values * sizeof *row);
        row += OF_DEVICE + values;
    }
    for (int p = 0; p < thenar_tactile_pad_count(tactile->devices); p++)
        row = pad_row(thenar_tactile_pad_of(tactile->devices, p), row);
}

static json_t *pair(double low, double high) {
    return json_pack("[f, f]", low, high);
}

json_t *run_tactile_summary(const run_tactile *tactile) {
    json_t *all = json_object(), *devices = json_object();
    for (int d = 0; d < thenar_tactile_device_count(tactile->devices); d++) {
        const thenar_tactile_def *def = thenar_tactile_device(tactile->devices, d);
        const thenar_tactile_pad *pad =
            thenar_tactile_pad_of(tactile->devices, thenar_tactile_device_pad(tactile->devices, d));
        const run_tactile_range *r = &tactile->ranges[d];
        json_t *device = json_pack(
            "{s:s, s:s, s:s, s:s, s:i, s:I, s:i}", "hand", def->hand, "finger", thenar_finger_name(def->finger), "kind",
            thenar_wearable_kind_name(def->device->kind), "title", def->device->title, "points", pad->point_count,
            "steps_touched", (json_int_t)r->touched, "slip_onsets", pad->slip_onsets);
        if (r->touched > 0 && def->device->kind != THENAR_WEARABLE_VIBRATION) {
            json_object_set_new(device, "pitch", pair(r->low[0], r->high[0]));
            json_object_set_new(device, "roll", pair(r->low[1], r->high[1]));
            json_object_set_new(device, "displacement", pair(r->low[2], r->high[2]));
            json_object_set_new(device, "deepest_press", json_real(r->press));
        }
        json_object_set_new(devices, def->name, device);
    }
    json_object_set_new(all, "devices", devices);
    double *us = NEW_ARRAY(double, UPDATES_KEPT);
    size_t count = tactile->updates < UPDATES_KEPT ? (size_t)tactile->updates : UPDATES_KEPT;
    if (us && count > 0) {
        memcpy(us, tactile->us, count * sizeof *us);
        sort_numbers(us, count);
        json_object_set_new(
            all, "update_us",
            json_pack("{s:f, s:f, s:f}", "p50", us[count / 2], "p99", us[count * 99 / 100], "max", us[count - 1]));
    }
    free(us);
    return all;
}
