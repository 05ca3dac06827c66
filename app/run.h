/* A run of a simulation, as `thenar run`, `thenar view` and `thenar shot` share it: its columns, its devices, its clock, and
 * the files that it writes. Every function that takes a run_tactile or a run_haptic accepts NULL: there are no devices. */
#ifndef APP_RUN_H
#define APP_RUN_H

#include "app/command.h"

#include "thenar/haptic.h"
#include "thenar/recording.h"
#include "thenar/thenar.h"

#include <jansson.h>

/* -------------------------------------------------------------------------------------- a step as a row (run_columns.c) */

/* Forces on a body in the last step. Together with its weight and the loads of the scene, contact and supports are all that
 * acts on it. Torques are about the centroid. */
typedef struct run_body_figures {
    double centroid[3];      /* soft: mean of the nodes weighted by mass; rigid: centre of mass; m */
    double force[3];         /* of contact, N */
    double torque[3];        /* of contact, N m */
    double contact_area;     /* of the skin in contact, m^2 */
    int contacts;            /* points with a force */
    double normal_force;     /* sum of their normal forces, N */
    double friction_ratio;   /* sum of their friction forces over that of the normal forces: mu where all points slip */
    double pressure;         /* normal force over area, Pa; 0 without area */
    double largest_pressure; /* of one point, Pa */
    double support_force[3]; /* of all supports of a soft body, N; 0 for a rigid one */
    double support_torque[3]; /* N m */
} run_body_figures;

run_body_figures run_body_measure(const thenar_sim *sim, int body);

/* Rigid bodies have no supports. */
bool run_body_is_rigid(const thenar_model *model, int body);

#define RUN_COLUMN_NAME 320

/* The columns of steps.csv, which the viewer plots too. pairs: with the forces between each two bodies, at the end; there may
 * be many. */
int run_column_count(const thenar_model *model, bool pairs);

/* Visits the names of all columns in order: "step", "time", "active", ..., "formulate_us", ..., "BODY_force_x", ...,
 * "BODY/OTHER_force_x", ... */
typedef void run_column_visit(void *context, const char *name);
void run_columns(const thenar_model *model, bool pairs, run_column_visit *visit, void *context);

/* Whether a column contains integers. */
bool run_column_counts(int column);

/* All columns of the last step. Sums over a body may overflow and become infinite. */
void run_row(const thenar_sim *sim, bool pairs, double *values);

/* ------------------------------------------------------------------------------------------- real time (run_pace.c) */

/* "slow motion, 0.40x real time", or "" if the simulation keeps up. speed: the requested one. */
#define RUN_PACE_TEXT 64
void run_pace_text(const thenar_pace *p, double speed, char text[RUN_PACE_TEXT]);

/* Waits until dt is due, or the process is interrupted. */
void run_pace_wait(thenar_pace *p, double dt);

/* Before a step: limits the iterations to what the user allows (0: unlimited) or, if steps are late, to what the solver
 * needs to leave a usable state. clock: NULL if steps cannot be late. */
void run_pace_limit(const thenar_pace *clock, int allowed, thenar_sim *sim);

/* Late steps, backlog, dropped time, smallest share of real time and duration of slow motion; a new reference. */
json_t *run_pace_summary(const thenar_pace *p);

/* The same in one line on stdout. */
void run_pace_print(const thenar_pace *p);

/* ------------------------------------------------------------------------------------ tactile devices (run_tactile.c) */

typedef struct run_tactile run_tactile;

/* The poses and the deepest press of a device while it touched the finger. */
typedef struct run_tactile_range {
    double low[3], high[3], press;
    long touched; /* number of commands in contact */
} run_tactile_range;

/* Extends the range by a command. */
void run_tactile_widen(run_tactile_range *range, const thenar_tactile_command *command);

/* The devices that the hands of a model wear, and where to send their commands (targets of thenar_output_open; may be NULL).
 * *out is NULL if they wear none, which is an error if commands are to be sent. */
thenar_status run_tactile_create(const thenar_model *model, const option_list *sends, run_tactile **out,
                                 thenar_error *error);
void run_tactile_free(run_tactile *tactile);

/* Reads the state of a simulation that has not been stepped yet. */
void run_tactile_begin(run_tactile *tactile, const thenar_sim *sim);

/* After each step. */
void run_tactile_step(run_tactile *tactile, const thenar_sim *sim);

/* Sends the remaining commands, closes the outputs and prints their counts. */
void run_tactile_finish(run_tactile *tactile);

/* The devices; NULL without any. */
thenar_tactile *run_tactile_devices(const run_tactile *tactile);

/* Its columns: "tactile/DEVICE_pitch", ..., "pad/HAND.FINGER_force_x", ... */
int run_tactile_column_count(const run_tactile *tactile);
void run_tactile_columns(const run_tactile *tactile, run_column_visit *visit, void *context);
void run_tactile_row(const run_tactile *tactile, double *values);

/* Per device its kind, range of poses and number of steps in contact; the time of an update. A new reference. */
json_t *run_tactile_summary(const run_tactile *tactile);

/* -------------------------------------------------------------------------------------- haptic devices (run_haptic.c) */

typedef struct run_haptic run_haptic;

/* Opens the devices of --device at the current poses of their handles; *out is NULL if there are none. offline: in simulated
 * time, reproducible. Nothing moves yet. */
thenar_status run_haptic_create(const thenar_sim *sim, const option_list *devices, bool offline, run_haptic **out,
                                thenar_error *error);
void run_haptic_free(run_haptic *haptic);

/* Starts the loop. */
thenar_status run_haptic_start(run_haptic *haptic, thenar_error *error);

/* Whether steps have to keep to the clock: there are devices, in real time. */
bool run_haptic_is_live(const run_haptic *haptic);

/* What the operating system refused to the loop (real-time priority, locked memory), in one line; NULL: nothing. */
const char *run_haptic_refused(const run_haptic *haptic);

/* Reads the poses of the devices while no step is done. */
void run_haptic_refresh(run_haptic *haptic);

/* Before and after each step. publish: the loop gets the result of the step; otherwise its force fades out. */
void run_haptic_before(run_haptic *haptic, thenar_sim *sim);
void run_haptic_after(run_haptic *haptic, const thenar_sim *sim, bool publish);

/* Takes over the number of late steps and the dropped time so far. */
void run_haptic_late(run_haptic *haptic, const thenar_pace *clock);

/* Its columns: "device.HANDLE_x", ..., then the rates of loop and simulation. */
int run_haptic_column_count(const run_haptic *haptic);
void run_haptic_columns(const run_haptic *haptic, run_column_visit *visit, void *context);
void run_haptic_row(const run_haptic *haptic, double *values);

/* The numbers of a device that are recorded and shown, as of the last step: its pose, the proxy's pose, force and torque on
 * the user, and the gain of the force. The channel is "haptic/HANDLE". */
#define RUN_HAPTIC_NUMBERS 21
int run_haptic_device_count(const run_haptic *haptic);
const char *run_haptic_channel(const run_haptic *haptic, int device);
const double *run_haptic_numbers(const run_haptic *haptic, int device);

/* The loop for the viewer: rate, punctuality, permissions, faults; a new reference, NULL without devices. `fault` receives
 * the faults since the last call in one line, "" for none. */
json_t *run_haptic_updates(run_haptic *haptic, char *fault, size_t size);

/* Ends the loop; the force fades out first. */
void run_haptic_stop(run_haptic *haptic);

/* After the end: the statistics as JSON, a new reference, and as lines on stdout. */
json_t *run_haptic_summary(const run_haptic *haptic);
void run_haptic_print(const run_haptic *haptic);

/* ---------------------------------------------------------------------------------------- output files (run_output.c) */

/* Starts a recording with the current state, as `thenar run --out` and `thenar view --record` write it. The devices must be
 * up to date before each frame. */
thenar_status run_record_open(const char *path, const thenar_sim *sim, const run_tactile *tactile,
                              const run_haptic *haptic, thenar_recorder **out, thenar_error *error);

/* Prints the warnings of a simulation, one line each, to stdout. */
void run_print_warnings(const thenar_sim *sim);

/* The files of `thenar run --out DIR`: summary.json, steps.csv, recording.thenar, final.vtk. */
typedef struct run_output run_output;

typedef struct run_facts {
    const char *scene;
    int threads;
    int iterations;       /* maximum per solve; 0: unlimited */
    run_tactile *tactile; /* or NULL; up to date before each call */
    run_haptic *haptic;   /* likewise */
} run_facts;

/* Makes the folder, opens the files and records the state at time 0. folder NULL: only collects statistics. */
thenar_status run_output_open(const char *folder, const run_facts *facts, const thenar_sim *sim, run_output **out,
                              thenar_error *error);

/* After each step. */
thenar_status run_output_step(run_output *output, const thenar_sim *sim, thenar_error *error);

/* Writes summary.json and final.vtk and closes the other files. clock: of a run in real time, or NULL. wall: duration of the
 * run, s. */
thenar_status run_output_finish(run_output *output, const thenar_sim *sim, const thenar_pace *clock, double wall,
                                thenar_error *error);

/* Median and longest step so far, microseconds. */
void run_output_rates(run_output *output, double *median, double *longest);

/* Frees it; files that are still open are closed as they are. NULL is fine. */
void run_output_free(run_output *output);

#endif
