/* The haptic devices of a run: the loop that drives handles by them, columns of steps.csv, what is recorded and shown, and
 * their part of summary.json. */
#ifndef APP_RUN_HAPTIC_H
#define APP_RUN_HAPTIC_H

#include "app/options.h"
#include "app/run_row.h"
#include "core/pace.h"

#include <jansson.h>

typedef struct run_haptic run_haptic;

/* Opens the devices that --device asks for, at the handles as they are now; *out is NULL if it asks for none. offline: in
 * simulated time, the same each time. Nothing moves yet. All other functions do nothing with NULL. */
thenar_status run_haptic_create(const thenar_sim *sim, const option_list *devices, bool offline, run_haptic **out,
                                thenar_error *error);
void run_haptic_free(run_haptic *haptic);

/* Starts the loop. */
thenar_status run_haptic_start(run_haptic *haptic, thenar_error *error);

/* Whether steps have to keep to the clock: there are devices, in real time. */
bool run_haptic_is_live(const run_haptic *haptic);

/* What the system refused the loop, in a line; NULL: nothing. */
const char *run_haptic_refused(const run_haptic *haptic);

/* Looks where the devices are, while no step is done. */
void run_haptic_look(run_haptic *haptic);

/* Around each step. tells: the loop hears what the step came to; else its force fades. */
void run_haptic_before(run_haptic *haptic, thenar_sim *sim);
void run_haptic_after(run_haptic *haptic, const thenar_sim *sim, bool tells);

/* How many steps came late so far, and what was forgiven. */
void run_haptic_late(run_haptic *haptic, const pace *clock);

/* Names and values of its columns: "device.HANDLE_x", ..., then the rates of loop and simulation. */
int run_haptic_column_count(const run_haptic *haptic);
void run_haptic_columns(const run_haptic *haptic, run_column_visit *visit, void *context);
void run_haptic_row(const run_haptic *haptic, double *values);

/* What is recorded and shown of a device, as of the last step: its pose, the proxy's, force and torque on the person, and
 * the share of the force that is sent. The name is "haptic/HANDLE". */
#define RUN_HAPTIC_NUMBERS 21
int run_haptic_device_count(const run_haptic *haptic);
const char *run_haptic_channel(const run_haptic *haptic, int device);
const double *run_haptic_numbers(const run_haptic *haptic, int device);

/* What is shown of the loop: rate, punctuality, what was granted, faults; and what has gone wrong since the last call in a
 * line, "" if nothing. A new reference; NULL without devices. */
json_t *run_haptic_updates(run_haptic *haptic, char *fault, size_t size);

/* Ends the loop; the force fades first. */
void run_haptic_stop(run_haptic *haptic);

/* After the end: the statistics, a new reference, and in some lines on stdout. */
json_t *run_haptic_summary(const run_haptic *haptic);
void run_haptic_print(const run_haptic *haptic);

#endif
