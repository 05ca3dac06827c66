/* Behind thenar_tactile: pads and the devices on them. A source says which bodies and pads there are, and a moment what
 * they do: a simulation's (tactile_sim.c) or a recording's (tactile_recording.c). */
#ifndef TACTILE_TACTILE_H
#define TACTILE_TACTILE_H

#include "tactile/feel.h"
#include "tactile/match.h"

typedef struct tactile_source {
    int body_count;
    pad_skin *skins; /* taken over on success */
    int hand_count;
    const char *const *hand_names;
    const pad_place *places; /* THENAR_FINGER_COUNT a hand; vertex NULL: that finger has no pad */
} tactile_source;

/* A device and what it does. */
typedef struct tactile_worn {
    thenar_tactile_def def; /* name and hand are copies */
    int pad;
    double low[3], high[3], home[3];
    thenar_tactile_command command;
    double before[3]; /* pose at the last update but one */
    double angles[3];
    bool engaged; /* it has reached what touches the pad */
    double amplitude;
} tactile_worn;

struct thenar_tactile {
    const thenar_model *model; /* kept alive; NULL for a recording */
    feel_world world;
    int device_count;
    tactile_worn *devices;
    match_points points; /* scratch, of one device at a time */
    void *points_memory;
    feel_motion *motions; /* of each body */
    double *joints;       /* of each hand */
    int hand_count;
    double time; /* s, of the last update; below 0: none */
};

/* options: all of it given, devices too. */
thenar_status tactile_create(const tactile_source *source, const thenar_tactile_options *options, thenar_tactile **out,
                             thenar_error *error);
/* New commands; `dt` since the moment before. motions and joints are filled in. */
void tactile_update(thenar_tactile *tactile, const feel_moment *moment, double time, double dt);

/* The problem that the last update solved for a device, for checks; false: nothing was near. Its points are good until
 * the next call or update. */
bool tactile_last_problem(const thenar_tactile *tactile, int device, match_problem *problem);

#endif
