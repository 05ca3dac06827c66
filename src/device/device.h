/* Devices by name, behind one table of functions (thenar/device.h).
 *
 * What a device's functions do is not ours: they may wait, fail or never come back. So they are called from a thread of
 * the device's own (the pump), and the haptic loop meets it at two triple buffers: samples one way, forces the other.
 * Devices that are computed here and never wait (the simulated person, a recording) are called by the loop itself. */
#ifndef DEVICE_DEVICE_H
#define DEVICE_DEVICE_H

#include "core/error.h"
#include "core/threads.h"

#include "thenar/device.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* A sample as it came, in the device's axes. */
typedef struct device_sample {
    thenar_device_sample body;
    uint64_t number; /* counts what came; 0: nothing has */
} device_sample;

/* What was noticed on the way. */
typedef struct device_counts {
    uint64_t lost, doubled, reordered, errors, hung, watchdog;
} device_counts;

typedef struct device_port device_port;

/* `text`: KIND:ARGUMENT, or none. `period`: of the loop, s; `watchdog`: s after which a force that was not renewed ends. */
thenar_status device_open(const char *text, double period, double watchdog, device_port **out, thenar_error *error);
/* The same for a device that the program has opened. */
thenar_status device_open_table(const thenar_device_table *table, void *device, double period, double watchdog,
                                device_port **out, thenar_error *error);
const char *device_name(const device_port *d);
/* Computed here, in the time that it is read at; others live in real time. */
bool device_is_direct(const device_port *d);
const thenar_device_info *device_info(const device_port *d);

/* The loop's side; these never wait, whatever the device does. */
void device_read(device_port *d, int64_t now_ns, device_sample *sample);
void device_write(device_port *d, int64_t now_ns, const double *values, int count);
device_counts device_read_counts(device_port *d);

/* Lets it go. One that hangs is left behind with its thread. */
void device_close(device_port *d);

/* The devices that come along, and how they are found. */

typedef struct device_kind {
    const char *name;
    const thenar_device_table *table; /* NULL: a plugin's */
    bool direct;                      /* never waits: the loop calls it itself */
    /* Of a direct one, in place of its table's `read`, which is NULL: at a given time of the loop's clock, which need
     * not be the system's. */
    int (*read_at)(void *device, int64_t now_ns, thenar_device_sample *sample);
} device_kind;

extern const thenar_device_table device_user_table, device_recorded_table;
int device_user_read_at(void *device, int64_t now_ns, thenar_device_sample *sample);
int device_recorded_read_at(void *device, int64_t now_ns, thenar_device_sample *sample);
#ifdef THENAR_OSC
extern const thenar_device_table device_osc_table;
#endif
#ifdef THENAR_WEBSOCKET
extern const thenar_device_table device_ws_table;
#endif

/* The kind of that name, or an error that lists those there are. */
thenar_status device_kind_find(const char *name, device_kind *out, thenar_error *error);

/* Loads a plugin and looks at its table, which has to be of that kind. `library` is to be closed with dlclose when the device is. */
thenar_status plugin_load(const char *path, thenar_device_kind kind, void **library, const thenar_device_table **table,
                          thenar_error *error);

/* What is wrong with a table, or NULL. opens: it has to have `open`. */
const char *device_table_wrong(const thenar_device_table *table, bool opens);

/* The table that the program has registered under a name (thenar_device_register) if it is of that kind, or NULL. */
#define DEVICE_NAME_SIZE 32
const thenar_device_table *device_registered(const char *name, thenar_device_kind kind);

/* A device with its thread: what device.c (the loop's side) and pump.c (the thread) share. */

#define DEVICE_NS 1000000000

/* A force on its way to the device. */
typedef struct force_updates {
    double values[THENAR_DEVICE_CHANNELS];
    int count;
    int64_t time_ns;
} force_updates;

enum pump_phase { PUMP_OPENING, PUMP_RUNS, PUMP_FAILED };

struct device_port {
    const thenar_device_table *table;
    thenar_device_info info;
    void *opened, *library;
    void *given; /* a device that the program has opened, or NULL */
    bool direct;
    int (*read_at)(void *device, int64_t now_ns, thenar_device_sample *sample); /* direct: in the loop's time */
    char *argument;
    char message[256];
    double period, watchdog; /* s */
    /* Samples, as far as they were looked at. */
    uint64_t number, sequence;
    device_sample last; /* direct: the newest */
    /* The pump's. */
    pthread_t thread;
    pthread_mutex_t mutex; /* of phase, while it opens */
    pthread_cond_t changed;
    enum pump_phase phase;
    triple_buffer samples, forces;
    bool guarding; /* the watchdog holds the force down */
    atomic_bool stop, done;
    atomic_llong call_began; /* ns; 0: no call is under way */
    int64_t hung_call;       /* the loop's: the call that it has counted */
    atomic_ullong lost, doubled, reordered, errors, hung, watchdogs;
};

/* Adds to a counter that one thread writes and any reads. */
void device_count(atomic_ullong *counter, uint64_t more);

/* The messages of the Haply Inverse service, as far as they are read and written here (docs/haptic-devices.md). */

#define INVERSE_ID 64

/* Reads a message of the service: where its first device is, how its first grip is turned, and the device's name. False
 * if there is no position in it. */
bool inverse_read(const char *text, size_t length, thenar_device_sample *sample, char id[INVERSE_ID]);

/* Writes the order to push with a force (N, in the device's axes); its length, or 0 if there is no room. */
size_t inverse_write(const char *id, const double force[3], char *text, size_t size);

#endif
