/* A device that somebody else wrote the code for: plugin:FILE[,ARGUMENT], the table of thenar/device.h that haptic
 * devices have too. A command is ten numbers: device, time (s), pitch, roll (rad), displacement, press (m), touching
 * (0 or 1) and three values for the actuators.
 *
 * The pump of haptic devices does not fit: it repeats the newest force and lets it fade, and one plugin here serves
 * several fingers. What is the same: the plugin's functions are called from a thread of their own, which is left behind
 * if they do not come back. The writer hands that thread one order at a time and waits a little for it. */
#include "device/tactile_output.h"

#include "core/memory.h"
#include "core/threads.h"
#include "device/device.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBERS 10
#define SECOND_NS 1000000000LL
#define OPEN_NS (5 * SECOND_NS)  /* that a plugin may take to open its device at first */
#define CALL_NS (SECOND_NS / 10) /* to do anything else before it counts as hanging */
#define CLOSE_NS (SECOND_NS / 2) /* and to let the device go */
_Static_assert(THENAR_WEARABLE_VALUES == NUMBERS - 7, "a command is ten numbers");

enum order { ORDER_NONE, ORDER_OPEN, ORDER_WRITE };

/* The thread that calls the plugin, and what it shares with the writer. Whoever leaves second frees it. */
typedef struct caller {
    const thenar_device_table *table;
    void *library, *given; /* the latter: a device that the program has opened, or NULL */
    char *argument;
    /* The thread's; the writer looks at them while there is no order. */
    void *opened; /* NULL: nothing is */
    char message[256];
    double numbers[NUMBERS];
    pthread_t thread;
    pthread_mutex_t mutex; /* of all below */
    pthread_cond_t changed;
    enum order order; /* under way, or waiting for the thread */
    bool stop, ended, left;
} caller;

typedef struct plugin_driver {
    driver base;
    caller *caller;
    bool connected; /* the last order was carried out in time */
} plugin_driver;

/* ------------------------------------------------------------------------------------------------- the caller's side */

/* One that the program has opened stays open until the end. */
static void close_device(caller *c) {
    if (c->opened && !c->given) c->table->close(c->opened);
    c->opened = NULL;
}

static void open_device(caller *c) {
    c->message[0] = 0;
    c->opened = c->given ? c->given : c->table->open(c->argument, c->message, sizeof c->message);
    c->message[sizeof c->message - 1] = 0;
    if (!c->opened) {
        if (!c->message[0]) strcpy(c->message, "cannot open");
        return;
    }
    thenar_device_info info = {0};
    if (c->table->describe) c->table->describe(c->opened, &info);
    if (info.channels >= NUMBERS) return;
    snprintf(c->message, sizeof c->message, "it takes %d channels; expected %d or more", info.channels, NUMBERS);
    close_device(c);
}

static void release(caller *c) {
    if (c->library) dlclose(c->library);
    pthread_cond_destroy(&c->changed);
    pthread_mutex_destroy(&c->mutex);
    free(c->argument);
    free(c);
}

static void *call_all(void *context) {
    caller *c = context;
    pthread_mutex_lock(&c->mutex);
    for (;;) {
        while (c->order == ORDER_NONE && !c->stop) pthread_cond_wait(&c->changed, &c->mutex);
        if (c->stop) break;
        enum order order = c->order;
        pthread_mutex_unlock(&c->mutex);
        if (order == ORDER_OPEN)
            open_device(c);
        else if (c->table->write(c->opened, c->numbers, NUMBERS) < 0)
            close_device(c);
        pthread_mutex_lock(&c->mutex);
        c->order = ORDER_NONE;
        pthread_cond_signal(&c->changed);
    }
    pthread_mutex_unlock(&c->mutex);
    close_device(c);
    if (c->given) c->table->close(c->given);
    pthread_mutex_lock(&c->mutex);
    c->ended = true;
    bool left = c->left;
    pthread_cond_signal(&c->changed);
    pthread_mutex_unlock(&c->mutex);
    if (left) release(c);
    return NULL;
}

/* ------------------------------------------------------------------------------------------------- the writer's side */

/* Until the thread has done its order (or has ended), so long at most. With the mutex held. */
static bool wait_for_caller(caller *c, int64_t ns) {
    int64_t end = clock_now() + ns;
    struct timespec until = {end / SECOND_NS, end % SECOND_NS};
    int waited = 0;
    while (!c->ended && (c->order != ORDER_NONE || c->stop) && waited == 0)
        waited = pthread_cond_timedwait(&c->changed, &c->mutex, &until);
    return c->ended || (c->order == ORDER_NONE && !c->stop);
}

/* Whether the device is open after an order that was carried out in time. An order that waits is not given twice. */
static bool carry_out(caller *c, enum order order, const double *numbers, int64_t ns) {
    pthread_mutex_lock(&c->mutex);
    bool done = c->order == ORDER_NONE;
    if (done && (order == ORDER_OPEN) == !c->opened) { /* it has come back meanwhile: there is nothing to open */
        if (numbers) memcpy(c->numbers, numbers, sizeof c->numbers);
        c->order = order;
        pthread_cond_signal(&c->changed);
        done = wait_for_caller(c, ns);
    }
    bool open = done && c->opened;
    pthread_mutex_unlock(&c->mutex);
    return open;
}

static bool plugin_connect(driver *self) {
    plugin_driver *plugin = (plugin_driver *)self;
    plugin->connected = carry_out(plugin->caller, ORDER_OPEN, NULL, CALL_NS);
    return plugin->connected;
}

static bool plugin_is_connected(const driver *self) {
    return ((const plugin_driver *)self)->connected;
}

static bool plugin_send(driver *self, int device, const driver_command *command) {
    plugin_driver *plugin = (plugin_driver *)self;
    if (!plugin->connected) return false;
    const double numbers[NUMBERS] = {
        device,         command->time,     command->pose[0],  command->pose[1],  command->pose[2],
        command->press, command->touching, command->value[0], command->value[1], command->value[2]};
    plugin->connected = carry_out(plugin->caller, ORDER_WRITE, numbers, CALL_NS);
    return plugin->connected;
}

/* One that hangs is left behind with its thread, which frees the rest if it ever comes back. */
static void leave(caller *c) {
    pthread_mutex_lock(&c->mutex);
    c->stop = true;
    pthread_cond_signal(&c->changed);
    bool ended = wait_for_caller(c, CLOSE_NS);
    c->left = !ended;
    if (!ended) pthread_detach(c->thread);
    pthread_mutex_unlock(&c->mutex);
    if (!ended) return;
    pthread_join(c->thread, NULL);
    release(c);
}

static void plugin_free(driver *self) {
    leave(((plugin_driver *)self)->caller);
    free(self);
}

/* -------------------------------------------------------------------------------------------------------------- open */

/* FILE or FILE,ARGUMENT */
static thenar_status load(caller *c, const driver_source *source, thenar_error *error) {
    const char *rest = source->rest;
    if (source->table) { /* of the program */
        c->table = source->table;
        c->given = source->device;
        c->argument = memory_string(rest);
        return c->argument ? THENAR_OK : error_memory(error, rest);
    }
    char *file = memory_string(rest);
    char *comma = file ? strchr(file, ',') : NULL;
    if (comma) *comma = 0;
    c->argument = memory_string(comma ? comma + 1 : "");
    thenar_status status = file && c->argument ? plugin_load(file, THENAR_DEVICE_TACTILE, &c->library, &c->table, error)
                                               : error_memory(error, rest);
    free(file);
    return status;
}

static caller *new_caller(void) {
    caller *c = MEMORY_ARRAY(caller, 1);
    if (!c) return NULL;
    pthread_condattr_t steady; /* as clock_now is */
    pthread_condattr_init(&steady);
    pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    pthread_cond_init(&c->changed, &steady);
    pthread_condattr_destroy(&steady);
    pthread_mutex_init(&c->mutex, NULL);
    return c;
}

static thenar_status plugin_create(const driver_source *source, const thenar_tactile *tactile, driver **out,
                                   thenar_error *error) {
    const char *rest = source->rest;
    plugin_driver *plugin = MEMORY_ARRAY(plugin_driver, 1);
    caller *c = plugin ? new_caller() : NULL;
    thenar_status status = c ? load(c, source, error) : error_memory(error, rest);
    if (status == THENAR_OK && pthread_create(&c->thread, NULL, call_all, c) != 0)
        status = error_set(error, THENAR_ERROR_MEMORY, "plugin:%s: the system refused a thread", rest);
    if (status != THENAR_OK) {
        if (c) release(c);
        free(plugin);
        return status;
    }
    *plugin = (plugin_driver){{&driver_plugin, tactile}, c, carry_out(c, ORDER_OPEN, NULL, OPEN_NS)};
    if (plugin->connected) {
        *out = &plugin->base;
        return THENAR_OK;
    }
    pthread_mutex_lock(&c->mutex);
    if (c->order == ORDER_NONE)
        status = error_set(error, THENAR_ERROR_FILE, "plugin:%s: %s", rest, c->message);
    else
        status = error_set(error, THENAR_ERROR_FILE, "plugin:%s did not open within %lld s", rest, OPEN_NS / SECOND_NS);
    pthread_mutex_unlock(&c->mutex);
    plugin_free(&plugin->base);
    return status;
}

const driver_class driver_plugin = {.name = "plugin",
                                    .rate = 1000,
                                    .create = plugin_create,
                                    .connect = plugin_connect,
                                    .send = plugin_send,
                                    .is_connected = plugin_is_connected,
                                    .free = plugin_free};
