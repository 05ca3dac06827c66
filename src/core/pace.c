/* Keeping pace with a clock: thenar/sim.h has the rules. */
#include "core/error.h"

#include "thenar/sim.h"

#include <math.h>

#define BACKLOG_STEPS 4
#define BACKLOG_SECONDS 0.02
#define HURRY 0.5 /* of the largest backlog */
#define SLOW 0.05
#define WINDOW 0.5 /* s */

thenar_pace thenar_pace_start(int64_t now, double due) {
    return (thenar_pace){.last = now, .due = due, .share = 1, .share_min = 1};
}

/* At the end of a window: how much of it was dropped. */
static void end_window(thenar_pace *p) {
    if (p->window < WINDOW) return;
    p->share = fmax(0, 1 - p->window_dropped / p->window_asked);
    p->share_min = fmin(p->share_min, p->share);
    p->slow = p->share < 1 - SLOW;
    if (p->slow) p->slow_seconds += p->window;
    p->window = p->window_asked = p->window_dropped = 0;
}

/* A large backlog sets `hurried` until there was none for a whole window. */
static void hurry(thenar_pace *p, double passed, bool behind) {
    p->calm = behind ? 0 : p->calm + passed;
    p->hurried = behind || (p->hurried && p->calm < WINDOW);
}

thenar_status thenar_pace_update(thenar_pace *pace, int64_t now, double speed, double dt) {
    USAGE_POINTER(pace, THENAR_ERROR_USAGE);
    double passed = 1e-9 * (double)(now - pace->last);
    pace->last = now;
    if (!(speed > 0)) return THENAR_OK;
    double backlog_max = fmax(BACKLOG_STEPS * dt, BACKLOG_SECONDS * speed);
    pace->due += passed * speed;
    double beyond = fmax(0, pace->due - backlog_max);
    pace->due -= beyond;
    pace->dropped += beyond;
    pace->due_max = fmax(pace->due_max, pace->due);
    hurry(pace, passed, speed <= 1 && pace->due >= HURRY * backlog_max);
    pace->window += passed;
    pace->window_asked += passed * speed;
    pace->window_dropped += beyond;
    end_window(pace);
    return THENAR_OK;
}

bool thenar_pace_is_due(const thenar_pace *pace, double dt) {
    USAGE_POINTER(pace, false);
    return pace->due >= dt;
}

thenar_status thenar_pace_stepped(thenar_pace *pace, int64_t now, double speed, double dt) {
    USAGE_POINTER(pace, THENAR_ERROR_USAGE);
    pace->hurried_steps += pace->hurried;
    pace->due -= dt; /* first: the step was due until now, and is no longer */
    thenar_pace_update(pace, now, speed, dt);
    pace->steps++;
    pace->late_steps += pace->due >= dt;
    return THENAR_OK;
}

int64_t thenar_pace_wait(const thenar_pace *pace, int64_t now, double speed, double dt) {
    USAGE_POINTER(pace, 0);
    double wait = 1e9 * (dt - pace->due) / speed - (double)(now - pace->last);
    return wait < 1e18 ? (int64_t)wait : (int64_t)1e18;
}
