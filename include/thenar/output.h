/* Sends the commands of tactile devices out of the program. */
#ifndef THENAR_OUTPUT_H
#define THENAR_OUTPUT_H

#include "thenar/device.h"
#include "thenar/status.h"
#include "thenar/tactile.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Sends commands from a thread of its own. */
typedef struct thenar_output thenar_output;

/** Opens an output for all devices of `tactile`, which must outlive it. target: "osc:HOST:PORT" (Open Sound Control
 * over UDP), "serial:PATH" or "serial:PATH@BAUD" (frames with a checksum, 115200 baud by default), "csv:FILE" (a row
 * per command), "plugin:FILE" or "plugin:FILE,ARGUMENT" (a shared library, thenar/device.h), or "NAME:ARGUMENT" of a
 * tactile device that was registered with thenar_device_register. rate: maximum number of commands per second and
 * device, 0.1 to 10000; 0: 500, 100, all, and 1000 for a plugin or a registered device. A port that does not exist is
 * an error here; one that is lost later is opened again five times a second, and so is a device that failed. */
THENAR_IO_API thenar_status thenar_output_open(const thenar_tactile *tactile, const char *target, double rate,
                                               thenar_output **out, thenar_error *error);

/** The same for a device of the program: `device` is passed to the functions of `table`, which both must outlive the
 * output. Its `open` is not called; its `close` is, when the output is closed. */
THENAR_IO_API thenar_status thenar_output_open_table(const thenar_tactile *tactile, const thenar_device_table *table,
                                                     void *device, double rate, thenar_output **out,
                                                     thenar_error *error);

/** Queues the commands of the last update. Never waits, allocates nothing, takes no lock: a command that is not sent
 * in time is replaced by the next one. Call it from one thread. */
THENAR_IO_API thenar_status thenar_output_push(thenar_output *output, const thenar_tactile *tactile);

/** Counts of commands. Each command that was pushed is, in the end, sent, superseded or dropped. */
typedef struct thenar_output_counts {
    uint64_t pushed;     /**< commands, of all devices */
    uint64_t sent;       /**< handed to the system */
    uint64_t superseded; /**< not sent because a newer one was there */
    uint64_t dropped;    /**< not accepted by the receiver, the line or the disk in time */
    uint64_t reconnects; /**< number of times that a lost line came back */
    bool connected;      /**< connected now; always true for UDP */
} thenar_output_counts;

/** The counts so far; zeros for NULL. */
THENAR_IO_API thenar_output_counts thenar_output_count(const thenar_output *output);

/** Sends what is left, ends the thread and closes. counts, if not NULL, receives the last counts. NULL for output is
 * fine. */
THENAR_IO_API void thenar_output_close(thenar_output *output, thenar_output_counts *counts);

#ifdef __cplusplus
}
#endif

#endif
