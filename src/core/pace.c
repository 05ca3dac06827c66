#include "core/pace.h"

#include <math.h>

pace pace_start(int64_t now, double due) {
    return (pace){.last = now, .due = due, .share = 1, .min_share = 1};
}

/* At the end of a window: computes the dropped share. */
static void end_window(pace *p) {
    if (p->window < PACE_WINDOW) return;
    p->share = fmax(0, 1 - p->window_forgiven / p->window_asked);
    p->min_share = fmin(p->min_share, p->share);
    p->slow = p->share < 1 - PACE_SLOW;
    if (p->slow) p->slow_seconds += p->window;
    p->window = p->window_asked = p->window_forgiven = 0;
}

/* Hurried mode starts when a step is behind and ends after a window without any backlog. */
static void hurry(pace *p, double passed, bool behind) {
    p->calm = behind ? 0 : p->calm + passed;
    p->hurried = behind || (p->hurried && p->calm < PACE_WINDOW);
}

void pace_look(pace *p, int64_t now, double speed, double dt) {
    double passed = 1e-9 * (double)(now - p->last);
    p->last = now;
    if (!(speed > 0)) return;
    double max = fmax(PACE_STEPS * dt, PACE_SECONDS * speed);
    p->due += passed * speed;
    double beyond = fmax(0, p->due - max);
    p->due -= beyond;
    p->forgiven += beyond;
    p->max_due = fmax(p->max_due, p->due);
    hurry(p, passed, speed <= 1 && p->due >= PACE_HURRY * max);
    p->window += passed;
    p->window_asked += passed * speed;
    p->window_forgiven += beyond;
    end_window(p);
}

bool pace_is_due(const pace *p, double dt) {
    return p->due >= dt;
}

void pace_stepped(pace *p, int64_t now, double speed, double dt) {
    p->hurried_steps += p->hurried;
    p->due -= dt; /* first, since it is no longer part of the backlog */
    pace_look(p, now, speed, dt);
    p->steps++;
    p->late_steps += p->due >= dt;
}

int64_t pace_wait(const pace *p, int64_t now, double speed, double dt) {
    double wait = 1e9 * (dt - p->due) / speed - (double)(now - p->last);
    return wait < 1e18 ? (int64_t)wait : (int64_t)1e18;
}
