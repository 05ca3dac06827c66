/* What carries commands out of the program: OSC over UDP, a serial line, a table in a file, a plugin. A driver is called from the
 * writer's thread only (output.c) and may take its time there. */
#ifndef DEVICE_TACTILE_OUTPUT_H
#define DEVICE_TACTILE_OUTPUT_H

#include "core/error.h"

#include "thenar/output.h"
#include "thenar/device.h"
#include "thenar/tactile.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* A command on its way. */
typedef struct driver_command {
    double time, pose[3], press;
    bool touching;
    double value[THENAR_WEARABLE_VALUES];
} driver_command;

/* What a driver opens. */
typedef struct driver_source {
    const char *rest;                 /* the target behind the colon */
    const thenar_device_table *table; /* of a device of the program; NULL: the driver's own */
    void *device;                     /* that is open already; NULL: table->open(rest) */
} driver_source;

typedef struct driver driver;
typedef struct driver_class {
    const char *name; /* before the colon of a target */
    double rate;      /* sends a second and device, at most, unless told otherwise */
    bool all;         /* every command, not only the newest */
    thenar_status (*create)(const driver_source *source, const thenar_tactile *tactile, driver **out,
                            thenar_error *error);
    /* Opens what is not open. False: not now. */
    bool (*connect)(driver *self);
    /* False: it was not sent; the connection may have been closed. */
    bool (*send)(driver *self, int device, const driver_command *command);
    bool (*is_connected)(const driver *self);
    void (*free)(driver *self);
} driver_class;

struct driver {
    const driver_class *kind;
    const thenar_tactile *tactile; /* for what the devices are; not for commands */
};

extern const driver_class driver_osc, driver_serial, driver_csv, driver_plugin;

#define DRIVER_FRAME_MAX 24

/* CRC-16/CCITT-FALSE: polynomial 0x1021 from 0xffff. */
unsigned driver_crc(const unsigned char *bytes, int count);

/* A bounded queue from the simulation's thread to a writer's, in which the newest entries win: the writing side never
 * waits and overwrites what was not read in time; the reading side is told how much it missed.
 *
 * An entry is stamped with 2 n + 1 while it is written and 2 n + 2 when it is whole (n counts entries). Every word is an
 * atomic: a reader that saw a word of a newer entry also sees the newer stamp, and takes the entry for lost. */

#define RING_ENTRIES 256
#define RING_WORDS 10

typedef struct ring_slot {
    _Atomic uint64_t stamp;
    _Atomic uint64_t words[RING_WORDS];
} ring_slot;

typedef struct command_ring {
    _Atomic uint64_t count; /* entries ever written */
    ring_slot slots[RING_ENTRIES];
} command_ring;

/* By one thread. */
static inline void ring_write(command_ring *queue, const double values[RING_WORDS]) {
    uint64_t n = atomic_load_explicit(&queue->count, memory_order_relaxed);
    ring_slot *slot = &queue->slots[n % RING_ENTRIES];
    atomic_store_explicit(&slot->stamp, 2 * n + 1, memory_order_relaxed);
    for (int i = 0; i < RING_WORDS; i++) {
        uint64_t word;
        memcpy(&word, &values[i], sizeof word);
        atomic_store_explicit(&slot->words[i], word, memory_order_release);
    }
    atomic_store_explicit(&slot->stamp, 2 * n + 2, memory_order_release);
    atomic_store_explicit(&queue->count, n + 1, memory_order_release);
}

/* Entry n; false: it was overwritten. */
static inline bool ring_read(command_ring *queue, uint64_t n, double values[RING_WORDS]) {
    ring_slot *slot = &queue->slots[n % RING_ENTRIES];
    if (atomic_load_explicit(&slot->stamp, memory_order_acquire) != 2 * n + 2) return false;
    for (int i = 0; i < RING_WORDS; i++) {
        uint64_t word = atomic_load_explicit(&slot->words[i], memory_order_acquire);
        memcpy(&values[i], &word, sizeof word);
    }
    return atomic_load_explicit(&slot->stamp, memory_order_relaxed) == 2 * n + 2;
}

#endif
