/* What `thenar run --out DIR` writes: summary.json, steps.csv, recording.thenar, final.vtk. */
#ifndef APP_RUN_OUTPUT_H
#define APP_RUN_OUTPUT_H

#include "app/run_haptic.h"
#include "app/run_pace.h"
#include "app/run_tactile.h"

typedef struct run_output run_output;

typedef struct run_facts {
    const char *scene;
    int threads;
    int iterations;       /* at most in a solve; 0: any */
    run_tactile *tactile; /* what the hands wear, or NULL; up to date before each call */
    run_haptic *haptic;   /* the devices that hold its handles, or NULL; likewise */
} run_facts;

/* Makes the folder and opens the files; records the state at time 0. folder NULL: only collects the statistics. */
thenar_status run_output_open(const char *folder, const run_facts *facts, const thenar_sim *sim, run_output **out,
                              thenar_error *error);

/* After each step. */
thenar_status run_output_step(run_output *output, const thenar_sim *sim, thenar_error *error);

/* Writes summary.json and final.vtk and closes the rest. clock: how it was kept to, or NULL. wall: seconds that the run
 * took. */
thenar_status run_output_finish(run_output *output, const thenar_sim *sim, const pace *clock, double wall,
                                thenar_error *error);

/* Median and longest step so far, microseconds. */
void run_output_rates(run_output *output, double *median, double *longest);

/* Frees it; files that are still open are closed as they are. NULL is fine. */
void run_output_free(run_output *output);

#endif
