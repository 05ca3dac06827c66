/* Devices by name, behind one table of functions (thenar/device.h).
 *
 * What a device's functions do is not ours: they may wait, fail or never come back. So they are called from a thread of
 * the device's own (the pump), and the haptic loop meets it at two triple buffers: samples one way, forces the other.
 * Devices that are computed here and never wait (the simulated person, a recording) are called by the loop itself. */
#ifndef THENAR_DEVICE_DEVICE_H
#define THENAR_DEVICE_DEVICE_H

#include "base/error.h"

#include "thenar/device.h"

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

#endif
