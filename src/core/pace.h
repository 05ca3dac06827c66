/* Keeping to the clock where steps may take longer than they simulate: the one policy for everything that runs in real
 * time (`thenar view`, and `thenar run` with devices or tactile output).
 *
 * What is due grows with the clock, by `speed` simulated seconds a second, and shrinks by dt with each step; a step begins
 * as soon as dt is due.
 *
 * 1. Catching up. After a step that ended late the next ones begin at once, until no more than dt is due.
 * 2. Bounded. At most PACE_STEPS steps are ever owed, or PACE_SECONDS of real time where that is more: a person is not
 *    fast-forwarded to, and a machine that is too slow for good does not fall behind further and further.
 * 3. Fewer iterations. From when half of that is owed until it was not for half a second, a step should be done in a hurry:
 *    the caller bounds the iterations of its solver (app/run_pace.c). Not at more than real time, for which nobody waits.
 * 4. Slow motion. What would be owed beyond the bound is forgiven: simulated time goes on from there. Where more than
 *    PACE_SLOW of the time that was asked for is forgiven within half a second, this is slow motion, and shown to whoever
 *    watches.
 *
 * No clock is read here; the caller tells what time it is (base/clock.h), never less than before. */
#ifndef CORE_PACE_H
#define CORE_PACE_H

#include <stdbool.h>
#include <stdint.h>

#define PACE_STEPS 4
#define PACE_SECONDS 0.02
#define PACE_HURRY 0.5 /* of what may be owed */
#define PACE_SLOW 0.05
#define PACE_WINDOW 0.5 /* s */

typedef struct pace {
    int64_t last; /* ns: up to here time is counted */
    double due;   /* simulated s */
    bool hurried; /* now */
    double calm;  /* s since half of the most was owed */
    /* what came of it */
    uint64_t steps, late_steps; /* that ended when the next one should have begun */
    uint64_t hurried_steps;
    double forgiven; /* simulated s */
    double max_due;  /* simulated s, after what was forgiven */
    double share;    /* of the time asked for that was not forgiven, in the last window */
    double min_share;
    double slow_seconds; /* of slow motion, real ones */
    bool slow;           /* now */
    /* the window at hand: real s, simulated s that were asked for, and those of them that were forgiven */
    double window, window_asked, window_forgiven;
} pace;

/* From now on; `due` simulated seconds of it at once. */
pace pace_start(int64_t now, double due);

/* Time has passed: `speed` simulated seconds a second, 0 where it stands still. */
void pace_look(pace *p, int64_t now, double speed, double dt);

/* Whether a step should begin. */
bool pace_is_due(const pace *p, double dt);

/* A step has ended. */
void pace_stepped(pace *p, int64_t now, double speed, double dt);

/* How long until the next step should begin, ns; 0 or less: now. */
int64_t pace_wait(const pace *p, int64_t now, double speed, double dt);

#endif
