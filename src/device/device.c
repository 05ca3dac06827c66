/* Opening and closing devices, and the loop's side of them. */
#include "device/port.h"

#include "base/memory.h"
#include "device/kinds.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define HANG_NS 20000000 /* a call that takes longer than this hangs */
#define RESTARTED 1000   /* a sequence that falls back by more has begun anew, */
#define GAP_MOST 100000  /* and one that leaps ahead by more too */

/* ----------------------------------------------------------------------------------------------------------- samples */

void device_count(atomic_ullong *counter, uint64_t more) {
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + more, memory_order_relaxed);
}

/* Whether a sample is later than all before, by its own count. */
static bool is_next(device_port *d, uint64_t sequence) {
    uint64_t last = d->sequence;
    bool began_anew = sequence < last ? last - sequence > RESTARTED : sequence - last > GAP_MOST;
    if (sequence == 0 || last == 0 || sequence == last + 1 || began_anew) {
        d->sequence = sequence;
        return true;
    }
    if (sequence == last)
        device_count(&d->doubled, 1);
    else if (sequence < last)
        device_count(&d->reordered, 1);
    else {
        device_count(&d->lost, sequence - last - 1);
        d->sequence = sequence;
        return true;
    }
    return false;
}

int device_read_once(device_port *d, int64_t now_ns, device_sample *out) {
    thenar_device_sample sample;
    memset(&sample, 0, sizeof sample);
    int came = d->read_at ? d->read_at(d->opened, now_ns, &sample) : d->table->read(d->opened, &sample);
    if (came < 0) device_count(&d->errors, 1);
    if (came <= 0) return 0;
    if (!is_next(d, sample.sequence)) return -1;
    out->body = sample;
    out->number = ++d->number;
    return 1;
}

/* ---------------------------------------------------------------------------------------------------- open and close */

void device_release(device_port *d) {
    if (d->library) dlclose(d->library);
    triple_free(&d->samples);
    triple_free(&d->forces);
    pthread_cond_destroy(&d->changed);
    pthread_mutex_destroy(&d->mutex);
    free(d->argument);
    free(d);
}

static double known(double value, double most) {
    return value > 0 && value <= most ? value : 0;
}

/* A plugin may say anything. */
static void check_info(device_port *d) {
    thenar_device_info *info = &d->info;
    info->can &= 63u;
    info->most_force = known(info->most_force, 1e4);
    info->most_torque = known(info->most_torque, 1e4);
    info->rate = known(info->rate, 1e6);
    if (d->table->kind == THENAR_DEVICE_HAPTIC) info->channels = 6;
    if (info->channels < 0) info->channels = 0;
    if (info->channels > THENAR_DEVICE_CHANNELS) info->channels = THENAR_DEVICE_CHANNELS;
}

static thenar_status open_direct(device_port *d, const char *text, thenar_error *error) {
    d->opened = d->table->open(d->argument, d->message, sizeof d->message);
    if (!d->opened) {
        thenar_status status = error_set(error, THENAR_ERROR_INPUT, "device %s: %s", text, d->message);
        device_release(d);
        return status;
    }
    if (d->table->describe) d->table->describe(d->opened, &d->info);
    return THENAR_OK;
}

thenar_status device_open(const char *text, double period, double watchdog, device_port **out, thenar_error *error) {
    *out = NULL;
    const char *colon = strchr(text, ':');
    char name[32];
    size_t length = colon ? (size_t)(colon - text) : strlen(text);
    if (length >= sizeof name) length = sizeof name - 1;
    memcpy(name, text, length);
    name[length] = 0;
    device_kind kind;
    thenar_status status = device_kind_find(name, &kind, error);
    if (status != THENAR_OK) return status;
    device_port *d = memory_aligned(sizeof *d);
    if (!d) return error_memory(error, text);
    pthread_mutex_init(&d->mutex, NULL);
    pthread_cond_init(&d->changed, NULL);
    d->direct = kind.direct;
    d->read_at = kind.read_at;
    d->period = period;
    d->watchdog = watchdog;
    d->info = (thenar_device_info){.can = THENAR_DEVICE_POSITION | THENAR_DEVICE_ORIENTATION | THENAR_DEVICE_FORCE |
                                          THENAR_DEVICE_TORQUE};
    d->argument = memory_string(colon ? colon + 1 : "");
    if (!d->argument || !triple_create(&d->samples, sizeof(device_sample)) ||
        !triple_create(&d->forces, sizeof(force_news))) {
        device_release(d);
        return error_memory(error, text);
    }
    d->table = kind.table;
    if (!d->table) { /* plugin:FILE[,ARGUMENT] */
        char *comma = strchr(d->argument, ',');
        if (comma) *comma = 0;
        status = plugin_load(d->argument, THENAR_DEVICE_HAPTIC, &d->library, &d->table, error);
        if (comma)
            memmove(d->argument, comma + 1, strlen(comma + 1) + 1);
        else
            d->argument[0] = 0;
        if (status != THENAR_OK) {
            device_release(d);
            return status;
        }
    }
    status = d->direct ? open_direct(d, text, error) : pump_start(d, text, error);
    if (status != THENAR_OK) return status;
    check_info(d);
    *out = d;
    return THENAR_OK;
}

const char *device_name(const device_port *d) {
    return d->table->name;
}

bool device_is_direct(const device_port *d) {
    return d->direct;
}

const thenar_device_info *device_info(const device_port *d) {
    return &d->info;
}

void device_close(device_port *d) {
    if (!d) return;
    if (d->direct) {
        d->table->close(d->opened);
        device_release(d);
        return;
    }
    pump_stop(d);
}

/* --------------------------------------------------------------------------------------------------- the loop's side */

void device_read(device_port *d, int64_t now_ns, device_sample *sample) {
    if (d->direct) {
        device_sample next;
        if (device_read_once(d, now_ns, &next) > 0) d->last = next;
        *sample = d->last;
        return;
    }
    *sample = *(const device_sample *)triple_read(&d->samples, NULL);
    int64_t began = atomic_load_explicit(&d->call_began, memory_order_acquire);
    if (began != 0 && now_ns - began > HANG_NS && began != d->hung_call) {
        d->hung_call = began;
        device_count(&d->hung, 1);
    }
}

void device_write(device_port *d, int64_t now_ns, const double *values, int value_count) {
    if (value_count > THENAR_DEVICE_CHANNELS) value_count = THENAR_DEVICE_CHANNELS;
    if (d->direct) {
        if (d->table->write(d->opened, values, value_count) < 0) device_count(&d->errors, 1);
        return;
    }
    force_news *force = triple_slot(&d->forces);
    memcpy(force->values, values, (size_t)value_count * sizeof *values);
    force->count = value_count;
    force->time_ns = now_ns;
    triple_tell(&d->forces);
}

device_counts device_read_counts(device_port *d) {
#define COUNT(name) atomic_load_explicit(&d->name, memory_order_relaxed)
    return (device_counts){COUNT(lost), COUNT(doubled), COUNT(reordered), COUNT(errors), COUNT(hung), COUNT(watchdogs)};
#undef COUNT
}
