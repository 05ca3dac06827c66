/* The tactile devices of a run: their columns of steps.csv, their part of summary.json, and where commands are sent. */
#ifndef APP_RUN_TACTILE_H
#define APP_RUN_TACTILE_H

#include "app/options.h"
#include "app/run_row.h"

#include <jansson.h>

typedef struct run_tactile run_tactile;

/* What the hands of a model wear, and where to send what it does (targets as of thenar_output_open, may be NULL); *out is
 * NULL if they wear nothing, which is an error if something is to be sent. */
thenar_status run_tactile_create(const thenar_model *model, const option_list *sends, run_tactile **out,
                                 thenar_error *error);
/* NULL is fine. */
void run_tactile_free(run_tactile *tactile);

/* Looks at a simulation that has not been stepped yet. NULL is fine. */
void run_tactile_begin(run_tactile *tactile, const thenar_sim *sim);

/* After each step. NULL is fine. */
void run_tactile_step(run_tactile *tactile, const thenar_sim *sim);

/* Sends what is left and closes; prints what became of the commands. NULL is fine. */
void run_tactile_finish(run_tactile *tactile);

/* The devices; NULL without any. */
thenar_tactile *run_tactile_devices(const run_tactile *tactile);

/* Names of its columns: "tactile/DEVICE_pitch", ..., "pad/HAND.FINGER_force_x", ...; none for NULL. */
int run_tactile_column_count(const run_tactile *tactile);
void run_tactile_columns(const run_tactile *tactile, run_column_visit *visit, void *context);
void run_tactile_row(const run_tactile *tactile, double *values);

/* What came of it: for each device what it is, its largest poses and how long it was touched; the time an update took.
 * A new reference. */
json_t *run_tactile_summary(const run_tactile *tactile);

#endif
