/* Keeping to the clock when steps may take longer than the time they simulate: the policy of everything that runs in
 * real time (`thenar view`, and `thenar run` with devices or tactile output).
 *
 * The backlog grows with the clock, by `speed` simulated seconds per second, and shrinks by dt with each step. A step
 * starts as soon as the backlog is at least dt.
 *
 * 1. Catching up. After a late step the next ones start immediately until the backlog is at most dt.
 * 2. Bounded. The backlog never exceeds PACE_STEPS steps, or PACE_SECONDS of real time where that is more: the person
 *    does not see a fast forward, and a machine that is too slow does not fall behind without bound.
 * 3. Fewer iterations. From when the backlog reaches half of that bound until it has stayed below for half a second,
 *    the caller limits the iterations of its solver. Not when running faster than real time, since nobody waits for
 *    it.
 * 4. Slow motion. Backlog beyond the bound is dropped: simulated time falls behind the clock. If more than PACE_SLOW
 *    of the requested time is dropped within half a second, this counts as slow motion and is shown to the person.
 *
 * Nothing here reads a clock; the caller passes the time (clock_now), which must not decrease. */
#ifndef CORE_PACE_H
#define CORE_PACE_H

#include <stdbool.h>
#include <stdint.h>

#define PACE_STEPS 4
#define PACE_SECONDS 0.02
#define PACE_HURRY 0.5 /* of the largest backlog */
#define PACE_SLOW 0.05
#define PACE_WINDOW 0.5 /* s */

typedef struct pace {
    int64_t last; /* ns: time is accounted for up to here */
    double due;   /* simulated s */
    bool hurried; /* now */
    double calm;  /* s since the backlog was last above half of its bound */
    /* statistics */
    uint64_t steps, late_steps; /* steps that ended after the next one should have started */
    uint64_t hurried_steps;
    double forgiven; /* simulated s */
    double max_due;  /* simulated s, after dropping */
    double share;    /* of the requested time that was not dropped, in the last window */
    double min_share;
    double slow_seconds; /* real time spent in slow motion */
    bool slow;           /* now */
    /* current window: real s, requested simulated s, and dropped simulated s */
    double window, window_asked, window_forgiven;
} pace;

/* Starts at `now`, with a backlog of `due` simulated seconds. */
pace pace_start(int64_t now, double due);

/* Advances the clock: `speed` simulated seconds per second, 0 while paused. */
void pace_look(pace *p, int64_t now, double speed, double dt);

/* True if a step should start. */
bool pace_is_due(const pace *p, double dt);

/* A step has ended. */
void pace_stepped(pace *p, int64_t now, double speed, double dt);

/* Time until the next step should start, ns; 0 or less: now. */
int64_t pace_wait(const pace *p, int64_t now, double speed, double dt);

#endif
