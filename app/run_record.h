/* The recording of a simulation with its devices: what `thenar run --out` and `thenar view --record` write alike. */
#ifndef APP_RUN_RECORD_H
#define APP_RUN_RECORD_H

#include "app/run_haptic.h"
#include "app/run_tactile.h"

#include "thenar/recording.h"

/* Begins the file with the state as it is now. tactile, haptic: NULL, or up to date before each frame. */
thenar_status run_record_open(const char *path, const thenar_sim *sim, const run_tactile *tactile,
                              const run_haptic *haptic, thenar_recorder **out, thenar_error *error);

#endif
