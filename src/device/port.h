/* A device with its thread: what device.c (the loop's side) and pump.c (the thread) share. */
#ifndef THENAR_DEVICE_PORT_H
#define THENAR_DEVICE_PORT_H

#include "base/triple.h"
#include "device/device.h"

#include <pthread.h>
#include <stdatomic.h>

#define DEVICE_NS 1000000000

/* A force on its way to the device. */
typedef struct force_news {
    double values[THENAR_DEVICE_CHANNELS];
    int count;
    int64_t time_ns;
} force_news;

enum pump_phase { PUMP_OPENING, PUMP_RUNS, PUMP_FAILED };

struct device_port {
    const thenar_device_table *table;
    thenar_device_info info;
    void *opened, *library;
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
    triple samples, forces;
    bool guarding; /* the watchdog holds the force down */
    atomic_bool stop, done;
    atomic_llong call_began; /* ns; 0: no call is under way */
    int64_t hung_call;       /* the loop's: the call that it has counted */
    atomic_ullong lost, doubled, reordered, errors, hung, watchdogs;
};

/* Adds to a counter that one thread writes and any reads. */
void device_count(atomic_ullong *counter, uint64_t more);

/* Reads once, a direct one at this time; 1: a sample that counts, 0: nothing new, -1: one that does not count. */
int device_read_once(device_port *d, int64_t now_ns, device_sample *out);

/* Frees all but what the device itself has opened. */
void device_release(device_port *d);

/* Starts the thread and waits until it has opened the device. On error `d` is gone. */
thenar_status pump_start(device_port *d, const char *text, thenar_error *error);

/* Ends the thread; one that hangs is left behind and frees `d` itself when it comes back. */
void pump_stop(device_port *d);

#endif
