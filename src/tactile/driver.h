/* What carries commands out of the program: OSC over UDP, a serial line, a table in a file, a plugin. A driver is called from the
 * writer's thread only (output.c) and may take its time there. */
#ifndef TACTILE_DRIVER_H
#define TACTILE_DRIVER_H

#include "base/error.h"
#include "thenar/tactile.h"

/* A command on its way. */
typedef struct driver_command {
    double time, pose[3], press;
    bool touching;
    double value[THENAR_WEARABLE_VALUES];
} driver_command;

typedef struct driver driver;
typedef struct driver_class {
    const char *name; /* before the colon of a target */
    double rate;      /* sends a second and device, at most, unless told otherwise */
    bool all;         /* every command, not only the newest */
    /* `rest` is the target behind the colon. */
    thenar_status (*create)(const char *rest, const thenar_tactile *tactile, driver **out, thenar_error *error);
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

#define DRIVER_FRAME_MOST 24

/* A frame of the serial protocol (docs/tactile.md): "TH", length of what is between, sequence number, device, kind, the
 * values as u16, CRC-16 of all from the length on; little-endian. Returns its bytes. */
int driver_frame(const thenar_wearable_def *def, int device, unsigned sequence, const driver_command *command,
                 unsigned char frame[DRIVER_FRAME_MOST]);
/* CRC-16/CCITT-FALSE: polynomial 0x1021 from 0xffff. */
unsigned driver_crc(const unsigned char *bytes, int count);

#endif
