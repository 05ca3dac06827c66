/* How well something that runs in real time kept to the clock (base/pace.h), told: on the terminal and in summary.json. */
#ifndef APP_RUN_PACE_H
#define APP_RUN_PACE_H

#include "core/pace.h"

#include "thenar/sim.h"

#include <jansson.h>
#include <stddef.h>

/* "slow motion, 0.40x real time", or "" where it keeps up. speed: that is asked for. */
#define RUN_PACE_TEXT 64
void run_pace_text(const pace *p, double speed, char text[RUN_PACE_TEXT]);

/* Waits until dt is due, or the process is interrupted. */
void run_pace_wait(pace *p, double dt);

/* Before a step: as many iterations as the user allows (0: any), or, where the clock is in a hurry, as are good for that with
 * its solver. clock: NULL where nothing is late. */
void run_pace_limit(const pace *clock, int allowed, thenar_sim *sim);

/* Late steps, what was forgiven and owed, the least share of real time and how long it was too little; a new reference. */
json_t *run_pace_summary(const pace *p);

/* The same in a line on stdout. */
void run_pace_print(const pace *p);

#endif
