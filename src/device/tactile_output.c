/* Outputs of tactile commands: one bounded queue per device, and a thread that writes. The simulation only puts entries
 * into the queues and never waits for a receiver. */
#include "device/device.h"

#include "core/memory.h"
#include "core/threads.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RETRY_NS 200000000 /* between two attempts to connect */
#define PAUSE_NS 20000000  /* maximum, so that closing need not wait longer */
#define MIN_RATE 0.1
#define MAX_RATE 10000.0

struct thenar_output {
    const driver_class *kind;
    driver *driver;
    int device_count;
    command_ring *queues;
    uint64_t *next; /* used by the writer thread: the next entry of each queue */
    int64_t period; /* ns */
    pthread_t thread;
    atomic_bool stop;
    atomic_bool connected;
    _Atomic uint64_t sent, superseded, dropped, reconnects;
    int64_t last_try; /* ns: last attempt to connect */
};

static const driver_class *const drivers[] = {&driver_osc, &driver_serial, &driver_csv, &driver_plugin};

static void send_entry(thenar_output *output, int device, const double values[RING_WORDS]) {
    driver_command command = {.time = values[0],
                              .pose = {values[1], values[2], values[3]},
                              .press = values[4],
                              .touching = values[5] != 0,
                              .value = {values[6], values[7], values[8]}};
    bool sent = output->kind->send(output->driver, device, &command);
    atomic_fetch_add(sent ? &output->sent : &output->dropped, 1);
}

/* Sends the new commands of a device, or the newest of them. */
static void send_new(thenar_output *output, int device) {
    command_ring *queue = &output->queues[device];
    uint64_t count = atomic_load_explicit(&queue->count, memory_order_acquire), *next = &output->next[device];
    double values[RING_WORDS];
    if (*next == count) return;
    if (!output->kind->all) {
        atomic_fetch_add(&output->superseded, count - 1 - *next);
        *next = count - 1;
    }
    for (; *next < count; ++*next)
        if (ring_read(queue, *next, values))
            send_entry(output, device, values);
        else
            atomic_fetch_add(output->kind->all ? &output->dropped : &output->superseded, 1);
}

static void try_to_connect(thenar_output *output) {
    int64_t now = clock_now();
    if (output->driver->connected || !output->kind->connect || now - output->last_try < RETRY_NS) return;
    output->last_try = now;
    output->kind->connect(output->driver);
    if (output->driver->connected) atomic_fetch_add(&output->reconnects, 1);
    atomic_store(&output->connected, output->driver->connected);
}

static void *write_all(void *context) {
    thenar_output *output = context;
    bool last = false;
    while (!last) {
        int64_t begun = clock_now();
        last = atomic_load(&output->stop); /* commands pushed before are still sent */
        try_to_connect(output);
        for (int d = 0; d < output->device_count; d++) send_new(output, d);
        atomic_store(&output->connected, output->driver->connected);
        int64_t rest = output->period - (clock_now() - begun);
        for (; !last && rest > 0 && !atomic_load(&output->stop); rest -= PAUSE_NS) {
            struct timespec pause = {.tv_nsec = rest < PAUSE_NS ? rest : PAUSE_NS};
            nanosleep(&pause, NULL);
        }
    }
    return NULL;
}

/* The driver of a target by the name before its colon, which may be one that the program has registered; or NULL. */
static const driver_class *find_driver(const char *target, const char *colon, const thenar_device_table **table) {
    char name[DEVICE_NAME_SIZE];
    if (!colon || (size_t)(colon - target) >= sizeof name) return NULL;
    snprintf(name, sizeof name, "%.*s", (int)(colon - target), target);
    for (size_t i = 0; i < sizeof drivers / sizeof *drivers; i++)
        if (strcmp(drivers[i]->name, name) == 0) return drivers[i];
    *table = device_registered(name, THENAR_DEVICE_TACTILE);
    return *table ? &driver_plugin : NULL;
}

static void output_free(thenar_output *output) {
    if (output->driver) output->kind->free(output->driver);
    free(output->queues);
    free(output->next);
    free(output);
}

static thenar_status open_output(const thenar_tactile *tactile, const char *target, const driver_class *kind,
                                 const driver_source *source, double rate, thenar_output **out, thenar_error *error) {
    if (rate != 0 && !(rate >= MIN_RATE && rate <= MAX_RATE))
        return error_set(error, THENAR_ERROR_INPUT, "%s at %g commands per second; expected %g to %g", target, rate,
                         MIN_RATE, MAX_RATE);
    thenar_output *output = MEMORY_ARRAY(thenar_output, 1);
    if (!output) return error_memory(error, target);
    output->kind = kind;
    output->device_count = thenar_tactile_device_count(tactile);
    output->queues = MEMORY_ARRAY(command_ring, output->device_count);
    output->next = MEMORY_ARRAY(uint64_t, output->device_count);
    output->period = (int64_t)(1e9 / (rate != 0 ? rate : kind->rate));
    output->last_try = clock_now();
    thenar_status status = output->queues && output->next ? kind->create(source, tactile, &output->driver, error)
                                                          : error_memory(error, target);
    if (status == THENAR_OK) {
        atomic_store(&output->connected, output->driver->connected);
        if (pthread_create(&output->thread, NULL, write_all, output) != 0)
            status = error_set(error, THENAR_ERROR_MEMORY, "cannot start a thread for %s", target);
    }
    if (status == THENAR_OK)
        *out = output;
    else
        output_free(output);
    return status;
}

thenar_status thenar_output_open(const thenar_tactile *tactile, const char *target, double rate, thenar_output **out,
                                 thenar_error *error) {
    USAGE_STATUS(out, error, "the pointer to the output is NULL");
    *out = NULL;
    USAGE_STATUS(tactile && target, error, "the devices or the target are NULL");
    driver_source source = {0};
    const char *colon = strchr(target, ':');
    const driver_class *kind = find_driver(target, colon, &source.table);
    if (!kind)
        return error_set(error, THENAR_ERROR_INPUT,
                         "%s; expected osc:HOST:PORT, serial:PATH[@BAUD], csv:FILE or plugin:FILE[,ARGUMENT]", target);
    source.argument = colon + 1;
    return open_output(tactile, target, kind, &source, rate, out, error);
}

thenar_status thenar_output_open_table(const thenar_tactile *tactile, const thenar_device_table *table, void *device,
                                       double rate, thenar_output **out, thenar_error *error) {
    USAGE_STATUS(out, error, "the pointer to the output is NULL");
    *out = NULL;
    USAGE_STATUS(tactile && table && device, error, "the devices, the table or the device are NULL");
    const char *fault = device_table_fault(table, false);
    USAGE_STATUS(!fault && table->kind == THENAR_DEVICE_TACTILE, error, "%s",
                 fault ? fault : "the table is not of a tactile device");
    driver_source source = {.argument = table->name, .table = table, .device = device};
    return open_output(tactile, source.argument, &driver_plugin, &source, rate, out, error);
}

thenar_status thenar_output_push(thenar_output *output, const thenar_tactile *tactile) {
    USAGE_POINTER(output, THENAR_ERROR_USAGE);
    USAGE(thenar_tactile_device_count(tactile) == output->device_count, THENAR_ERROR_USAGE,
          "%d devices; expected the %d of the output", thenar_tactile_device_count(tactile), output->device_count);
    for (int d = 0; d < output->device_count; d++) {
        const thenar_tactile_command *c = thenar_tactile_command_of(tactile, d);
        const double values[RING_WORDS] = {c->time,     c->platform[0], c->platform[1], c->platform[2], c->press,
                                           c->touching, c->value[0],    c->value[1],    c->value[2]};
        ring_write(&output->queues[d], values);
    }
    return THENAR_OK;
}

thenar_output_counts thenar_output_count(const thenar_output *output) {
    uint64_t pushed = 0;
    USAGE_POINTER(output, (thenar_output_counts){0});
    for (int d = 0; d < output->device_count; d++) pushed += atomic_load(&output->queues[d].count);
    return (thenar_output_counts){.pushed = pushed,
                                  .sent = atomic_load(&output->sent),
                                  .superseded = atomic_load(&output->superseded),
                                  .dropped = atomic_load(&output->dropped),
                                  .reconnects = atomic_load(&output->reconnects),
                                  .connected = atomic_load(&output->connected)};
}

void thenar_output_close(thenar_output *output, thenar_output_counts *counts) {
    if (!output) return;
    atomic_store(&output->stop, true);
    pthread_join(output->thread, NULL);
    if (counts) *counts = thenar_output_count(output);
    output_free(output);
}
