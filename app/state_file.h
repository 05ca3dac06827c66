/* A simulation's state in a file, and runs that repeat a recorded one. */
#ifndef APP_STATE_FILE_H
#define APP_STATE_FILE_H

#include "thenar/sim.h"

/* Writes a snapshot. A file that is there already is replaced once the new one is whole. */
thenar_status state_file_save(const char *path, const thenar_sim *sim, thenar_error *error);

/* Goes on from it; the simulation stays as it is if that is refused. */
thenar_status state_file_restore(const char *path, thenar_sim *sim, thenar_error *error);

/* Steps through a recording's inputs and compares the states; stops early if the process is interrupted. */
thenar_status state_file_replay(const char *path, thenar_sim *sim, thenar_error *error);

#endif
