/* Haptic devices by name, behind one table of functions (thenar/device.h), and the outputs of tactile commands.
 *
 * The functions of a device are foreign code: they may block, fail or never return. A thread of the device's own calls
 * them (the pump, device.c) and exchanges samples and forces with the haptic loop through two triple buffers. Devices
 * that are computed here and never block (the simulated person, a recording) are direct: the loop calls them itself. */
#ifndef DEVICE_DEVICE_H
#define DEVICE_DEVICE_H

#include "core/error.h"
#include "core/vec3.h"

#include "thenar/device.h"
#include "thenar/output.h"
#include "thenar/tactile.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* A sample in the axes of the device. */
typedef struct device_sample {
    thenar_device_sample body;
    uint64_t number; /* counts accepted samples; 0: none yet */
} device_sample;

/* Number of incidents since the device was opened. */
typedef struct device_counts {
    uint64_t lost, doubled, reordered, errors, hung, watchdog;
} device_counts;

typedef struct device_port device_port;

/* `text`: KIND:ARGUMENT. `period`: of the loop, s; `watchdog`: s after which a force that is not renewed ends. */
thenar_status device_open(const char *text, double period, double watchdog, device_port **out, thenar_error *error);
/* The same for a device that the program has opened. */
thenar_status device_open_table(const thenar_device_table *table, void *device, double period, double watchdog,
                                device_port **out, thenar_error *error);
/* A direct device runs on any clock, the others in real time only. */
bool device_is_direct(const device_port *d);
const thenar_device_info *device_info(const device_port *d);

/* The side of the loop; these never block, whatever the device does. */
void device_read(device_port *d, int64_t now_ns, device_sample *sample);
void device_write(device_port *d, int64_t now_ns, const double *values, int count);
device_counts device_read_counts(device_port *d);

/* A device that hangs is abandoned together with its thread. */
void device_close(device_port *d);

/* Kinds of devices. */

typedef struct device_kind {
    const char *name;
    const thenar_device_table *table; /* NULL: that of a plugin */
    /* Of a direct device, in place of `read` of its table: reads it at a time of the loop's clock, which may be a
     * simulated one. NULL: not direct. */
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

/* For `open` of a table: writes the message and returns NULL. */
void *device_refuse(char *message, size_t size, const char *format, ...) THENAR_PRINTF(3, 4);

/* The kind of that name, or an error that lists the existing ones. */
thenar_status device_kind_find(const char *name, device_kind *out, thenar_error *error);

/* Loads a plugin and checks that its table is of that kind. `text`: FILE[,ARGUMENT]; FILE and its comma are removed
 * from it. Close `library` with dlclose after the device. */
thenar_status plugin_load(char *text, thenar_device_kind kind, void **library, const thenar_device_table **table,
                          thenar_error *error);

/* Describes what is wrong with a table, or returns NULL. needs_open: `open` must not be NULL. */
const char *device_table_fault(const thenar_device_table *table, bool needs_open);

/* The table that the program has registered under a name (thenar_device_register) if it is of that kind, or NULL. */
#define DEVICE_NAME_SIZE 32
const thenar_device_table *device_registered(const char *name, thenar_device_kind kind);

/* The messages of the Haply Inverse service, as far as they are used here (docs/haptic-devices.md). */

#define INVERSE_ID 64

/* Reads a message of the service: the position and name of its first device and the orientation of its first grip.
 * False if it has no position. */
bool inverse_read(const char *text, size_t length, thenar_device_sample *sample, char id[INVERSE_ID]);

/* Writes the command that renders a force (N, in the axes of the device); returns its length, 0 if it does not fit. */
size_t inverse_write(const char *id, const double force[3], char *text, size_t size);

/* A simulated person: the mass of a hand, pulled along a script by a spring and a damper, holds a device. It closes the
 * loop without hardware:
 *     m dv/dt = k (p(t) - x) + d (p'(t) - v) - f v + F,
 * with the script p, the force F of the device and its friction f; rotations likewise. */

typedef struct user_key {
    double time; /* s, ascending */
    vec3 position;
    vec3 turn; /* rotation vector, rad */
} user_key;

typedef struct user_model {
    double mass, stiffness, damping, friction;                   /* kg, N/m, N s/m, N s/m */
    double inertia, turn_stiffness, turn_damping, turn_friction; /* kg m2, N m/rad, N m s/rad, N m s/rad */
    user_key *keys;
    int key_count;
    bool turns;  /* the device measures its orientation and renders torques; false: three degrees of freedom */
    bool repeat; /* the script starts again when it ends; false: the last position is held */
} user_model;

typedef struct user_state {
    double time;
    vec3 position, velocity, spin;
    quat orientation;
} user_state;

/* A hand of medium stiffness, without a script. */
user_model user_model_default(void);

/* Reads a script (docs/haptic-devices.md has the format). "": a built-in one, which presses down every two seconds. */
thenar_status user_model_read(const char *path, user_model *out, thenar_error *error);
/* The same from text; `name` is for messages. */
thenar_status user_model_parse(const char *text, size_t size, const char *name, user_model *out, thenar_error *error);
void user_model_free(user_model *model);

/* At rest at the start of the script. */
user_state user_begin(const user_model *model);

/* Advances by dt seconds under a constant wrench (N, N m). */
void user_advance(const user_model *model, user_state *state, const double wrench[6], double dt);

void user_sample(const user_state *state, uint64_t sequence, thenar_device_sample *out);

/* Drivers carry tactile commands out of the program: OSC over UDP, a serial line, a table in a file, a plugin. They are
 * called from the writer thread only (tactile_output.c) and may block there for a while. */

typedef struct driver_command {
    double time, pose[3], press;
    bool touching;
    double value[THENAR_WEARABLE_VALUES];
} driver_command;

/* What a driver opens. */
typedef struct driver_source {
    const char *argument;             /* the target after its colon */
    const thenar_device_table *table; /* of a device of the program; NULL: the driver's own */
    void *device;                     /* already opened by the program; NULL: table->open(argument) */
} driver_source;

typedef struct driver driver;
typedef struct driver_class {
    const char *name; /* before the colon of a target */
    double rate;      /* default maximum of commands per second and device */
    bool all;         /* sends every command, not only the newest */
    thenar_status (*create)(const driver_source *source, const thenar_tactile *tactile, driver **out,
                            thenar_error *error);
    /* Sets `connected` if the connection can be opened again now. NULL: it cannot be opened twice. */
    void (*connect)(driver *self);
    /* False: not sent. Clears `connected` if the connection is lost. */
    bool (*send)(driver *self, int device, const driver_command *command);
    void (*free)(driver *self);
} driver_class;

struct driver {
    const driver_class *kind;
    const thenar_tactile *tactile; /* for the definitions of the devices, not for commands */
    bool connected;
};

extern const driver_class driver_osc, driver_serial, driver_csv, driver_plugin;

/* CRC-16/CCITT-FALSE: polynomial 0x1021, initial value 0xffff. */
unsigned driver_crc(const unsigned char *bytes, int count);

/* A bounded queue of commands from the thread of the simulation to the writer thread. The newest entries win: writing
 * never blocks and overwrites entries that were not read in time; a reader notices that an entry is lost.
 *
 * An entry is stamped with 2 n + 1 while it is written and with 2 n + 2 when it is complete (n counts entries). Every
 * word is atomic: a reader that saw a word of a newer entry also sees the newer stamp, and takes the entry for lost. */

#define RING_ENTRIES 256
#define RING_WORDS 9

typedef struct ring_slot {
    _Atomic uint64_t stamp;
    _Atomic uint64_t words[RING_WORDS];
} ring_slot;

typedef struct command_ring {
    _Atomic uint64_t count; /* entries ever written */
    ring_slot slots[RING_ENTRIES];
} command_ring;

/* From one thread only. */
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
