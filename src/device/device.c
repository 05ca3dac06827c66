/* The kinds of devices, the thread that calls a device (the pump), and the side of the haptic loop. */
#include "device/device.h"

#include "core/memory.h"
#include "core/text.h"
#include "core/threads.h"

#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const device_kind kinds[] = {
    {"user", &device_user_table, device_user_read_at},
    {"recorded", &device_recorded_table, device_recorded_read_at},
#ifdef THENAR_OSC
    {"osc", &device_osc_table, NULL},
#endif
#ifdef THENAR_WEBSOCKET
    {"ws", &device_ws_table, NULL},
#endif
    {"plugin", NULL, NULL},
};
#define KINDS (sizeof kinds / sizeof kinds[0])

/* Describes what a kind needs that this build lacks; NULL: there is no such kind. */
static const char *missing_support(const char *name) {
#ifndef THENAR_OSC
    if (strcmp(name, "osc") == 0) return "this build has no OSC (it needs liblo, -DTHENAR_OSC=ON)";
#endif
#ifndef THENAR_WEBSOCKET
    if (strcmp(name, "ws") == 0) return "this build has no WebSocket (it needs libwebsockets, -DTHENAR_WEBSOCKET=ON)";
#endif
    (void)name;
    return NULL;
}

/* Devices that the program has registered. Entries are never removed, so names stay valid. */
#define REGISTERED_MAX 32
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct registered {
    char name[DEVICE_NAME_SIZE];
    const thenar_device_table *table;
} registered[REGISTERED_MAX];
static int registered_count;

static int find_registered(const char *name) {
    int i = 0;
    while (i < registered_count && strcmp(registered[i].name, name) != 0) i++;
    return i;
}

const thenar_device_table *device_registered(const char *name, thenar_device_kind kind) {
    pthread_mutex_lock(&lock);
    int i = find_registered(name);
    const thenar_device_table *table = i < registered_count ? registered[i].table : NULL;
    pthread_mutex_unlock(&lock);
    return table && table->kind == (uint32_t)kind ? table : NULL;
}

thenar_status thenar_device_register(const char *name, const thenar_device_table *table, thenar_error *error) {
    USAGE_STATUS(name && name[0] && !strchr(name, ':') && strlen(name) < DEVICE_NAME_SIZE, error,
                 "the name of a device is '%s'; expected 1 to %d characters without a colon", name ? name : "",
                 DEVICE_NAME_SIZE - 1);
    const char *fault = device_table_fault(table, true);
    USAGE_STATUS(!fault, error, "device %s: %s", name, fault);
    static const char *const taken[] = {"none", "scene", "user", "recorded", "osc", "ws", "plugin", "serial", "csv"};
    bool is_taken = names_find(taken, (int)(sizeof taken / sizeof *taken), name) >= 0;
    pthread_mutex_lock(&lock);
    is_taken = is_taken || find_registered(name) < registered_count;
    bool full = registered_count == REGISTERED_MAX;
    if (!is_taken && !full) {
        struct registered *entry = &registered[registered_count++];
        snprintf(entry->name, sizeof entry->name, "%s", name);
        entry->table = table;
    }
    pthread_mutex_unlock(&lock);
    USAGE_STATUS(!is_taken, error, "a device %s already exists; expected another name", name);
    USAGE_STATUS(!full, error, "device %s is one too many; expected at most %d", name, REGISTERED_MAX);
    return THENAR_OK;
}

int thenar_device_count(void) {
    int count = (int)KINDS;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < registered_count; i++) count += registered[i].table->kind == THENAR_DEVICE_HAPTIC;
    pthread_mutex_unlock(&lock);
    return count;
}

const char *thenar_device_name(int kind) {
    const char *name = "unknown";
    if (kind >= 0 && kind < (int)KINDS) return kinds[kind].name;
    pthread_mutex_lock(&lock);
    for (int i = 0, k = (int)KINDS; i < registered_count; i++)
        if (registered[i].table->kind == THENAR_DEVICE_HAPTIC && k++ == kind) name = registered[i].name;
    pthread_mutex_unlock(&lock);
    return name;
}

int thenar_device_find(const char *name) {
    device_kind found;
    USAGE_POINTER(name, -1);
    for (int i = 0; i < thenar_device_count(); i++)
        if (strcmp(thenar_device_name(i), name) == 0) return i;
    (void)device_kind_find(name, &found, NULL); /* for its message */
    return -1;
}

thenar_status device_kind_find(const char *name, device_kind *out, thenar_error *error) {
    const char *names[KINDS];
    for (size_t i = 0; i < KINDS; i++) {
        names[i] = kinds[i].name;
        if (strcmp(name, names[i]) != 0) continue;
        *out = kinds[i];
        return THENAR_OK;
    }
    const thenar_device_table *own = device_registered(name, THENAR_DEVICE_HAPTIC);
    if (own) {
        *out = (device_kind){.name = own->name, .table = own};
        return THENAR_OK;
    }
    const char *missing = missing_support(name);
    if (missing) return error_set(error, THENAR_ERROR_INPUT, "device %s: %s", name, missing);
    const char *closest = text_closest(name, names, KINDS);
    return error_set(error, THENAR_ERROR_INPUT,
                     "unknown device %s%s%s; expected user:FILE, recorded:FILE, osc:PORT, ws:PORT, plugin:FILE or none",
                     name, closest ? "; did you mean " : "", closest ? closest : "");
}

const char *device_table_fault(const thenar_device_table *table, bool needs_open) {
    static _Thread_local char text[128];
    if (!table) return "its table is NULL";
    if (table->version != THENAR_DEVICE_VERSION) {
        snprintf(text, sizeof text, "its table has version %u; expected %u", (unsigned)table->version,
                 (unsigned)THENAR_DEVICE_VERSION);
        return text;
    }
    if (table->size < sizeof *table) return "its table is shorter than that of its version";
    if (table->kind != THENAR_DEVICE_HAPTIC && table->kind != THENAR_DEVICE_TACTILE)
        return "it is neither a haptic nor a tactile device";
    if (!table->name) return "its device has no name";
    if ((needs_open && !table->open) || !table->read || !table->write || !table->close)
        return "one of open, read, write and close is NULL";
    return NULL;
}

void *device_refuse(char *message, size_t size, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, size, format, arguments);
    va_end(arguments);
    return NULL;
}

thenar_status plugin_load(char *text, thenar_device_kind kind, void **library, const thenar_device_table **table,
                          thenar_error *error) {
    char *comma = strchr(text, ',');
    if (comma) *comma = 0;
    thenar_status status = THENAR_OK;
    *library = dlopen(text, RTLD_NOW | RTLD_LOCAL);
    if (*library) {
        /* POSIX lets dlsym return functions; C has no cast for it. */
        void *symbol = dlsym(*library, THENAR_DEVICE_PLUGIN_SYMBOL);
        thenar_device_plugin_function function = NULL;
        memcpy(&function, &symbol, sizeof function);
        *table = symbol ? function() : NULL;
        const char *fault =
            symbol ? device_table_fault(*table, true) : "it does not export " THENAR_DEVICE_PLUGIN_SYMBOL;
        if (!fault && (*table)->kind != (uint32_t)kind)
            fault = kind == THENAR_DEVICE_TACTILE ? "it is a haptic device; expected a tactile one"
                                                  : "it is a tactile device; expected a haptic one";
        if (fault) status = error_set(error, THENAR_ERROR_INPUT, "%s: not a Thenar device plugin: %s", text, fault);
    } else {
        status = error_set(error, THENAR_ERROR_FILE, "%s: cannot load the plugin: %s", text, dlerror());
    }
    if (status != THENAR_OK && *library) {
        dlclose(*library);
        *library = NULL;
    }
    const char *argument = comma ? comma + 1 : "";
    memmove(text, argument, strlen(argument) + 1);
    return status;
}

/* A device with its thread. */

#define SECOND_NS 1000000000
#define OPEN_SECONDS 5     /* maximum time to open a device */
#define CLOSE_MS 500       /* maximum time to close it */
#define RAMP 0.01          /* s, in which the watchdog reduces the force to zero */
#define SAMPLES_AT_ONCE 64 /* read before a force is written again */
#define HANG_NS 20000000   /* a call that takes longer counts as hanging */
#define RESTARTED 1000     /* a sequence number that falls by more, */
#define GAP_MAX 100000     /* or rises by more, belongs to a restarted sequence */

typedef struct device_force {
    double values[THENAR_DEVICE_CHANNELS];
    int count;
    int64_t time_ns;
} device_force;

enum pump_phase { PUMP_OPENING, PUMP_RUNS, PUMP_FAILED };

struct device_port {
    const thenar_device_table *table;
    thenar_device_info info;
    void *opened, *library;
    void *program_device;                                                       /* opened by the program, or NULL */
    int (*read_at)(void *device, int64_t now_ns, thenar_device_sample *sample); /* direct devices; else NULL */
    char *argument;
    char message[256];
    double period, watchdog;   /* s */
    uint64_t number, sequence; /* of the last accepted sample */
    device_sample last;        /* direct devices: the newest sample */
    /* The pump. */
    pthread_t thread;
    pthread_mutex_t mutex; /* guards phase while the device is opened */
    pthread_cond_t changed;
    enum pump_phase phase;
    triple_buffer samples, forces;
    bool watchdog_active; /* the watchdog reduces the force */
    atomic_bool stop, done;
    atomic_llong call_began; /* ns; 0: no call is running */
    int64_t hung_call;       /* used by the loop: start of the hanging call that it has counted */
    atomic_ullong lost, doubled, reordered, errors, hung, watchdogs;
};

/* Adds to a counter that one thread writes and any thread reads. */
static void add_count(atomic_ullong *counter, uint64_t more) {
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + more, memory_order_relaxed);
}

/* Whether a sample is newer than all before, by its sequence number. */
static bool is_newer(device_port *d, uint64_t sequence) {
    uint64_t last = d->sequence;
    bool restarted = sequence < last ? last - sequence > RESTARTED : sequence - last > GAP_MAX;
    bool counted = sequence != 0 && last != 0 && !restarted;
    if (counted && sequence <= last) {
        add_count(sequence == last ? &d->doubled : &d->reordered, 1);
        return false;
    }
    if (counted) add_count(&d->lost, sequence - last - 1);
    d->sequence = sequence;
    return true;
}

/* Reads once, a direct device at the given time. 1: an accepted sample; 0: nothing new; -1: a rejected sample. */
static int read_once(device_port *d, int64_t now_ns, device_sample *out) {
    thenar_device_sample sample;
    memset(&sample, 0, sizeof sample);
    int result = d->read_at ? d->read_at(d->opened, now_ns, &sample) : d->table->read(d->opened, &sample);
    if (result < 0) add_count(&d->errors, 1);
    if (result <= 0) return 0;
    if (!is_newer(d, sample.sequence)) return -1;
    out->body = sample;
    out->number = ++d->number;
    return 1;
}

/* Frees everything except the device itself, which is closed by now. */
static void release(device_port *d) {
    if (d->library) dlclose(d->library);
    triple_buffer_free(&d->samples);
    triple_buffer_free(&d->forces);
    pthread_cond_destroy(&d->changed);
    pthread_mutex_destroy(&d->mutex);
    free(d->argument);
    free(d);
}

/* The pump: opens the device, then at the rate of the loop reads all new samples and writes the newest force, and
 * closes the device. Only this thread waits for the functions of the device. */

static void begin_call(device_port *d) {
    atomic_store_explicit(&d->call_began, clock_now(), memory_order_release);
}

static void end_call(device_port *d) {
    atomic_store_explicit(&d->call_began, 0, memory_order_release);
}

static void pump_samples(device_port *d) {
    device_sample sample = {0};
    for (int i = 0; i < SAMPLES_AT_ONCE && !atomic_load(&d->stop); i++) {
        begin_call(d);
        int result = read_once(d, 0, &sample);
        end_call(d);
        if (result == 0) return;
        if (result < 0) continue;
        memcpy(triple_buffer_slot(&d->samples), &sample, sizeof sample);
        triple_buffer_publish(&d->samples);
    }
}

/* Writes the newest force; one that was not renewed in time is ramped down to zero. */
static void pump_force(device_port *d) {
    const device_force *force = triple_buffer_read(&d->forces, NULL);
    if (force->count == 0) return;
    double late = 1e-9 * (double)(clock_now() - force->time_ns) - d->watchdog;
    double share = late <= 0 ? 1 : fmax(0, 1 - late / RAMP), values[THENAR_DEVICE_CHANNELS];
    if (late > 0 && !d->watchdog_active) add_count(&d->watchdogs, 1);
    d->watchdog_active = late > 0;
    for (int i = 0; i < force->count; i++) values[i] = share * force->values[i];
    begin_call(d);
    if (d->table->write(d->opened, values, force->count) < 0) add_count(&d->errors, 1);
    end_call(d);
}

static void *pump_main(void *argument) {
    device_port *d = argument;
    d->opened = d->program_device ? d->program_device : d->table->open(d->argument, d->message, sizeof d->message);
    if (d->opened && d->table->describe) d->table->describe(d->opened, &d->info);
    pthread_mutex_lock(&d->mutex);
    d->phase = d->opened ? PUMP_RUNS : PUMP_FAILED;
    pthread_cond_signal(&d->changed);
    pthread_mutex_unlock(&d->mutex);
    int64_t period = (int64_t)(1e9 * d->period), next = clock_now();
    while (d->opened && !atomic_load(&d->stop)) {
        pump_samples(d);
        pump_force(d);
        next += period;
        int64_t now = clock_now();
        if (next < now) next = now;
        struct timespec at = {next / SECOND_NS, next % SECOND_NS};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
    }
    if (d->opened) {
        const double none[THENAR_DEVICE_CHANNELS] = {0};
        const device_force *force = triple_buffer_read(&d->forces, NULL);
        if (force->count > 0) d->table->write(d->opened, none, force->count);
        d->table->close(d->opened);
    }
    /* Of this thread and the one that closes the device, the second frees the port. */
    if (atomic_exchange(&d->done, true)) release(d);
    return NULL;
}

/* Stops the thread and frees `d`. A thread that does not end in time is abandoned and frees `d` when it ends. */
static void pump_stop(device_port *d, int64_t ms) {
    struct timespec until;
    atomic_store(&d->stop, true);
    clock_gettime(CLOCK_REALTIME, &until);
    int64_t end = (int64_t)until.tv_sec * SECOND_NS + until.tv_nsec + ms * 1000000;
    until = (struct timespec){end / SECOND_NS, end % SECOND_NS};
    bool joined = pthread_timedjoin_np(d->thread, NULL, &until) == 0;
    if (!joined) pthread_detach(d->thread);
    if (joined || atomic_exchange(&d->done, true)) release(d);
}

/* Starts the thread and waits until it has opened the device. On error `d` is freed. */
static thenar_status pump_start(device_port *d, const char *text, thenar_error *error) {
    if (pthread_create(&d->thread, NULL, pump_main, d) != 0) {
        release(d);
        return error_set(error, THENAR_ERROR_MEMORY, "device %s: the system refused a thread", text);
    }
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += OPEN_SECONDS;
    pthread_mutex_lock(&d->mutex);
    int waited = 0;
    while (d->phase == PUMP_OPENING && waited == 0) waited = pthread_cond_timedwait(&d->changed, &d->mutex, &until);
    enum pump_phase phase = d->phase;
    pthread_mutex_unlock(&d->mutex);
    if (phase == PUMP_RUNS) return THENAR_OK;
    thenar_status status;
    if (phase == PUMP_OPENING)
        status = error_set(error, THENAR_ERROR_FILE, "device %s did not open within %d s", text, OPEN_SECONDS);
    else {
        d->message[sizeof d->message - 1] = 0;
        status = error_set(error, THENAR_ERROR_FILE, "device %s: %s", text, d->message[0] ? d->message : "cannot open");
    }
    pump_stop(d, phase == PUMP_OPENING ? 0 : CLOSE_MS);
    return status;
}

/* 0 for a number that cannot be right. */
static double plausible(double value, double max) {
    return value > 0 && value <= max ? value : 0;
}

/* A plugin may report anything. */
static void check_info(thenar_device_info *info) {
    info->can &= 63u;
    info->max_force = plausible(info->max_force, 1e4);
    info->max_torque = plausible(info->max_torque, 1e4);
    info->rate = plausible(info->rate, 1e6);
    info->channels = 6;
}

static thenar_status open_direct(device_port *d, const char *text, thenar_error *error) {
    d->opened = d->table->open(d->argument, d->message, sizeof d->message);
    if (!d->opened) {
        thenar_status status = error_set(error, THENAR_ERROR_INPUT, "device %s: %s", text, d->message);
        release(d);
        return status;
    }
    if (d->table->describe) d->table->describe(d->opened, &d->info);
    return THENAR_OK;
}

static device_port *new_port(const char *argument, double period, double watchdog) {
    device_port *d = memory_aligned(sizeof *d);
    if (!d) return NULL;
    pthread_mutex_init(&d->mutex, NULL);
    pthread_cond_init(&d->changed, NULL);
    d->period = period;
    d->watchdog = watchdog;
    d->info = (thenar_device_info){.can = THENAR_DEVICE_POSITION | THENAR_DEVICE_ORIENTATION | THENAR_DEVICE_FORCE |
                                          THENAR_DEVICE_TORQUE};
    d->argument = memory_string(argument);
    if (d->argument && triple_buffer_create(&d->samples, sizeof(device_sample)) &&
        triple_buffer_create(&d->forces, sizeof(device_force)))
        return d;
    release(d);
    return NULL;
}

static thenar_status start(device_port *d, const char *text, device_port **out, thenar_error *error) {
    thenar_status status = d->read_at ? open_direct(d, text, error) : pump_start(d, text, error);
    if (status != THENAR_OK) return status;
    check_info(&d->info);
    *out = d;
    return THENAR_OK;
}

thenar_status device_open(const char *text, double period, double watchdog, device_port **out, thenar_error *error) {
    *out = NULL;
    const char *colon = strchr(text, ':');
    char name[DEVICE_NAME_SIZE];
    snprintf(name, sizeof name, "%.*s", colon ? (int)(colon - text) : (int)sizeof name, text);
    device_kind kind;
    thenar_status status = device_kind_find(name, &kind, error);
    if (status != THENAR_OK) return status;
    device_port *d = new_port(colon ? colon + 1 : "", period, watchdog);
    if (!d) return error_memory(error, text);
    d->read_at = kind.read_at;
    d->table = kind.table;
    if (!d->table) status = plugin_load(d->argument, THENAR_DEVICE_HAPTIC, &d->library, &d->table, error);
    if (status == THENAR_OK) return start(d, text, out, error);
    release(d);
    return status;
}

thenar_status device_open_table(const thenar_device_table *table, void *device, double period, double watchdog,
                                device_port **out, thenar_error *error) {
    *out = NULL;
    const char *fault = device_table_fault(table, false);
    if (!fault && table->kind != THENAR_DEVICE_HAPTIC) fault = "it is a tactile device; expected a haptic one";
    if (!fault && !device) fault = "the device is NULL";
    if (fault) return error_set(error, THENAR_ERROR_USAGE, "a device of the program: %s", fault);
    device_port *d = new_port("", period, watchdog);
    if (!d) return error_memory(error, table->name);
    d->table = table;
    d->program_device = device;
    return start(d, table->name, out, error);
}

bool device_is_direct(const device_port *d) {
    return d->read_at != NULL;
}

const thenar_device_info *device_info(const device_port *d) {
    return &d->info;
}

void device_close(device_port *d) {
    if (!d) return;
    if (!d->read_at) {
        pump_stop(d, CLOSE_MS);
        return;
    }
    d->table->close(d->opened);
    release(d);
}

void device_read(device_port *d, int64_t now_ns, device_sample *sample) {
    if (d->read_at) {
        device_sample next;
        if (read_once(d, now_ns, &next) > 0) d->last = next;
        *sample = d->last;
        return;
    }
    *sample = *(const device_sample *)triple_buffer_read(&d->samples, NULL);
    int64_t began = atomic_load_explicit(&d->call_began, memory_order_acquire);
    if (began != 0 && now_ns - began > HANG_NS && began != d->hung_call) {
        d->hung_call = began;
        add_count(&d->hung, 1);
    }
}

void device_write(device_port *d, int64_t now_ns, const double *values, int value_count) {
    if (value_count > THENAR_DEVICE_CHANNELS) value_count = THENAR_DEVICE_CHANNELS;
    if (d->read_at) {
        if (d->table->write(d->opened, values, value_count) < 0) add_count(&d->errors, 1);
        return;
    }
    device_force *force = triple_buffer_slot(&d->forces);
    memcpy(force->values, values, (size_t)value_count * sizeof *values);
    force->count = value_count;
    force->time_ns = now_ns;
    triple_buffer_publish(&d->forces);
}

device_counts device_read_counts(device_port *d) {
#define COUNT(name) atomic_load_explicit(&d->name, memory_order_relaxed)
    return (device_counts){COUNT(lost), COUNT(doubled), COUNT(reordered), COUNT(errors), COUNT(hung), COUNT(watchdogs)};
#undef COUNT
}
