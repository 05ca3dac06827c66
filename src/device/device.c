/* Opening and closing devices, and the loop's side of them. */
#include "device/device.h"

#include "core/error.h"
#include "core/memory.h"
#include "core/text.h"
#include "core/threads.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const device_kind kinds[] = {
    {"user", &device_user_table, true, device_user_read_at},
    {"recorded", &device_recorded_table, true, device_recorded_read_at},
#ifdef THENAR_OSC
    {"osc", &device_osc_table, false, NULL},
#endif
#ifdef THENAR_WEBSOCKET
    {"ws", &device_ws_table, false, NULL},
#endif
    {"plugin", NULL, false, NULL},
};
#define KINDS (sizeof kinds / sizeof kinds[0])

/* Kinds that this build lacks are named, with what they need. */
static const char *left_out(const char *name) {
#ifndef THENAR_OSC
    if (strcmp(name, "osc") == 0) return "this build has no OSC (it needs liblo, -DTHENAR_OSC=ON)";
#endif
#ifndef THENAR_WEBSOCKET
    if (strcmp(name, "ws") == 0) return "this build has no WebSocket (it needs libwebsockets, -DTHENAR_WEBSOCKET=ON)";
#endif
    (void)name;
    return NULL;
}

/* What the program has registered. Entries are never removed, so that a name stays valid. */
#define REGISTERED 32
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct registered {
    char name[DEVICE_NAME_SIZE];
    const thenar_device_table *table;
} registered[REGISTERED];
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
    const char *wrong = device_table_wrong(table, true);
    USAGE_STATUS(!wrong, error, "device %s: %s", name, wrong);
    static const char *const taken[] = {"none", "scene", "user", "recorded", "osc", "ws", "plugin", "serial", "csv"};
    bool is_taken = names_find(taken, (int)(sizeof taken / sizeof *taken), name) >= 0;
    pthread_mutex_lock(&lock);
    is_taken = is_taken || find_registered(name) < registered_count;
    bool full = registered_count == REGISTERED;
    if (!is_taken && !full) {
        struct registered *entry = &registered[registered_count++];
        snprintf(entry->name, sizeof entry->name, "%s", name);
        entry->table = table;
    }
    pthread_mutex_unlock(&lock);
    USAGE_STATUS(!is_taken, error, "there is a device %s already; expected another name", name);
    USAGE_STATUS(!full, error, "device %s is one too many; expected at most %d", name, REGISTERED);
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
    (void)device_kind_find(name, &found, NULL); /* says what there is */
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
    const char *missing = left_out(name);
    if (missing) return error_set(error, THENAR_ERROR_INPUT, "device %s: %s", name, missing);
    const char *closest = text_closest(name, names, KINDS);
    return error_set(error, THENAR_ERROR_INPUT,
                     "unknown device %s%s%s; expected user:FILE, recorded:FILE, osc:PORT, ws:PORT, plugin:FILE or none",
                     name, closest ? "; did you mean " : "", closest ? closest : "");
}

const char *device_table_wrong(const thenar_device_table *table, bool opens) {
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
    if ((opens && !table->open) || !table->read || !table->write || !table->close)
        return "one of open, read, write and close is NULL";
    return NULL;
}

thenar_status plugin_load(const char *path, thenar_device_kind kind, void **library, const thenar_device_table **table,
                          thenar_error *error) {
    *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!*library) return error_set(error, THENAR_ERROR_FILE, "%s: cannot load the plugin: %s", path, dlerror());
    /* POSIX lets dlsym give functions; C has no cast for it. */
    void *symbol = dlsym(*library, THENAR_DEVICE_PLUGIN_SYMBOL);
    thenar_device_plugin_function function = NULL;
    memcpy(&function, &symbol, sizeof function);
    const char *wrong = symbol ? NULL : "it does not export " THENAR_DEVICE_PLUGIN_SYMBOL;
    *table = wrong ? NULL : function();
    if (!wrong) wrong = device_table_wrong(*table, true);
    if (!wrong && (*table)->kind != (uint32_t)kind)
        wrong = kind == THENAR_DEVICE_TACTILE ? "it is a haptic device; expected a tactile one"
                                              : "it is a tactile device; expected a haptic one";
    if (!wrong) return THENAR_OK;
    thenar_status status = error_set(error, THENAR_ERROR_INPUT, "%s: not a device plugin of ours: %s", path, wrong);
    dlclose(*library);
    *library = NULL;
    return status;
}

/* The thread of a device: opens it, goes round at the loop's rate (reads all that came, writes the newest force), and
 * closes it. Whatever the device's functions do, only this thread waits for them. */

#define OPEN_SECONDS 5     /* that a plugin may take to open its device */
#define CLOSE_MS 500       /* and to let it go */
#define RAMP 0.01          /* s, of the watchdog's way to no force */
#define SAMPLES_AT_ONCE 64 /* that are read before a force is written again */

static void begin_call(device_port *d) {
    atomic_store_explicit(&d->call_began, clock_now(), memory_order_release);
}

static void end_call(device_port *d) {
    atomic_store_explicit(&d->call_began, 0, memory_order_release);
}

static int device_read_once(device_port *d, int64_t now_ns, device_sample *out);

static void pump_samples(device_port *d) {
    device_sample sample = {0};
    for (int i = 0; i < SAMPLES_AT_ONCE && !atomic_load(&d->stop); i++) {
        begin_call(d);
        int came = device_read_once(d, 0, &sample);
        end_call(d);
        if (came == 0) return;
        if (came < 0) continue;
        memcpy(triple_buffer_slot(&d->samples), &sample, sizeof sample);
        triple_buffer_publish(&d->samples);
    }
}

/* The newest force; without a new one for too long, it ends in a ramp. */
static void pump_force(device_port *d) {
    const force_updates *force = triple_buffer_read(&d->forces, NULL);
    if (force->count == 0) return;
    double late = 1e-9 * (double)(clock_now() - force->time_ns) - d->watchdog;
    double share = late <= 0 ? 1 : fmax(0, 1 - late / RAMP), values[THENAR_DEVICE_CHANNELS];
    if (late > 0 && !d->guarding) device_count(&d->watchdogs, 1);
    d->guarding = late > 0;
    for (int i = 0; i < force->count; i++) values[i] = share * force->values[i];
    begin_call(d);
    if (d->table->write(d->opened, values, force->count) < 0) device_count(&d->errors, 1);
    end_call(d);
}

static void pump_set_phase(device_port *d, enum pump_phase phase) {
    pthread_mutex_lock(&d->mutex);
    d->phase = phase;
    pthread_cond_signal(&d->changed);
    pthread_mutex_unlock(&d->mutex);
}

static void device_release(device_port *d);

static void *pump_main(void *argument) {
    device_port *d = argument;
    d->opened = d->given ? d->given : d->table->open(d->argument, d->message, sizeof d->message);
    if (d->opened && d->table->describe) d->table->describe(d->opened, &d->info);
    pump_set_phase(d, d->opened ? PUMP_RUNS : PUMP_FAILED);
    int64_t period = (int64_t)(1e9 * d->period), next = clock_now();
    while (d->opened && !atomic_load(&d->stop)) {
        pump_samples(d);
        pump_force(d);
        next += period;
        int64_t now = clock_now();
        if (next < now) next = now;
        struct timespec at = {next / DEVICE_NS, next % DEVICE_NS};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
    }
    if (d->opened) {
        const double none[THENAR_DEVICE_CHANNELS] = {0};
        const force_updates *force = triple_buffer_read(&d->forces, NULL);
        if (force->count > 0) d->table->write(d->opened, none, force->count);
        d->table->close(d->opened);
    }
    /* Whoever comes second, this thread or the one that closes, frees the rest. */
    if (atomic_exchange(&d->done, true)) device_release(d);
    return NULL;
}

/* Gives the thread so many milliseconds to end; if it does not, it frees itself when it does. */
static bool pump_join(device_port *d, int64_t ms) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    int64_t end = (int64_t)until.tv_sec * DEVICE_NS + until.tv_nsec + ms * 1000000;
    until = (struct timespec){end / DEVICE_NS, end % DEVICE_NS};
    if (pthread_timedjoin_np(d->thread, NULL, &until) == 0) return true;
    pthread_detach(d->thread);
    if (!atomic_exchange(&d->done, true)) return false;
    /* It ended just now: it is about to return and touches nothing any more. */
    return true;
}

/* Starts the thread and waits until it has opened the device. On error `d` is gone. */
static thenar_status pump_start(device_port *d, const char *text, thenar_error *error) {
    if (pthread_create(&d->thread, NULL, pump_main, d) != 0) {
        device_release(d);
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
    atomic_store(&d->stop, true);
    if (pump_join(d, phase == PUMP_OPENING ? 0 : CLOSE_MS)) device_release(d);
    return status;
}

/* Ends the thread; one that hangs is left behind and frees `d` itself when it comes back. */
static void pump_stop(device_port *d) {
    atomic_store(&d->stop, true);
    if (pump_join(d, CLOSE_MS)) device_release(d);
}

#define HANG_NS 20000000 /* a call that takes longer than this hangs */
#define RESTARTED 1000   /* a sequence that falls back by more has begun anew, */
#define GAP_MAX 100000   /* and one that leaps ahead by more too */

/* ----------------------------------------------------------------------------------------------------------- samples */

void device_count(atomic_ullong *counter, uint64_t more) {
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + more, memory_order_relaxed);
}

/* Whether a sample is later than all before, by its own count. */
static bool is_next(device_port *d, uint64_t sequence) {
    uint64_t last = d->sequence;
    bool began_anew = sequence < last ? last - sequence > RESTARTED : sequence - last > GAP_MAX;
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

/* Reads once, a direct one at this time; 1: a sample that counts, 0: nothing new, -1: one that does not count. */
static int device_read_once(device_port *d, int64_t now_ns, device_sample *out) {
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

/* Frees all but what the device itself has opened. */
static void device_release(device_port *d) {
    if (d->library) dlclose(d->library);
    triple_buffer_free(&d->samples);
    triple_buffer_free(&d->forces);
    pthread_cond_destroy(&d->changed);
    pthread_mutex_destroy(&d->mutex);
    free(d->argument);
    free(d);
}

static double known(double value, double max) {
    return value > 0 && value <= max ? value : 0;
}

/* A plugin may say anything. */
static void check_info(device_port *d) {
    thenar_device_info *info = &d->info;
    info->can &= 63u;
    info->max_force = known(info->max_force, 1e4);
    info->max_torque = known(info->max_torque, 1e4);
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
        triple_buffer_create(&d->forces, sizeof(force_updates)))
        return d;
    device_release(d);
    return NULL;
}

static thenar_status start(device_port *d, const char *text, device_port **out, thenar_error *error) {
    thenar_status status = d->direct ? open_direct(d, text, error) : pump_start(d, text, error);
    if (status != THENAR_OK) return status;
    check_info(d);
    *out = d;
    return THENAR_OK;
}

thenar_status device_open(const char *text, double period, double watchdog, device_port **out, thenar_error *error) {
    *out = NULL;
    const char *colon = strchr(text, ':');
    char name[DEVICE_NAME_SIZE];
    size_t length = colon ? (size_t)(colon - text) : strlen(text);
    if (length >= sizeof name) length = sizeof name - 1;
    memcpy(name, text, length);
    name[length] = 0;
    device_kind kind;
    thenar_status status = device_kind_find(name, &kind, error);
    if (status != THENAR_OK) return status;
    device_port *d = new_port(colon ? colon + 1 : "", period, watchdog);
    if (!d) return error_memory(error, text);
    d->direct = kind.direct;
    d->read_at = kind.read_at;
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
    return start(d, text, out, error);
}

thenar_status device_open_table(const thenar_device_table *table, void *device, double period, double watchdog,
                                device_port **out, thenar_error *error) {
    *out = NULL;
    const char *wrong = device_table_wrong(table, false);
    if (!wrong && table->kind != THENAR_DEVICE_HAPTIC) wrong = "it is a tactile device; expected a haptic one";
    if (!wrong && !device) wrong = "the device is NULL";
    if (wrong) return error_set(error, THENAR_ERROR_USAGE, "a device of the program: %s", wrong);
    device_port *d = new_port("", period, watchdog);
    if (!d) return error_memory(error, table->name);
    d->table = table;
    d->given = device;
    return start(d, table->name, out, error);
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
    *sample = *(const device_sample *)triple_buffer_read(&d->samples, NULL);
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
    force_updates *force = triple_buffer_slot(&d->forces);
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
