#include "app/run.h"
#include "app/support.h"

#include "app/command.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

void run_pace_text(const thenar_pace *p, double speed, char text[RUN_PACE_TEXT]) {
    text[0] = 0;
    if (p->slow) snprintf(text, RUN_PACE_TEXT, "slow motion, %.2fx real time", p->share * speed);
}

void run_pace_wait(thenar_pace *p, double dt) {
    for (; !thenar_pace_is_due(p, dt) && !process_interrupted(); thenar_pace_update(p, clock_ns(), 1, dt)) {
        int64_t rest = thenar_pace_wait(p, clock_ns(), 1, dt);
        if (rest > 0) nanosleep(&(struct timespec){.tv_sec = rest / 1000000000, .tv_nsec = rest % 1000000000}, NULL);
    }
}

void run_pace_limit(const thenar_pace *clock, int allowed, thenar_sim *sim) {
    int hurried = clock && clock->hurried ? thenar_solver_short_iterations(thenar_sim_solver(sim)) : 0;
    thenar_sim_limit_iterations(sim, hurried > 0 && (allowed == 0 || hurried < allowed) ? hurried : allowed);
}

json_t *run_pace_summary(const thenar_pace *p) {
    return json_pack("{s:I, s:I, s:I, s:f, s:f, s:f, s:f}", "steps", (json_int_t)p->steps, "late_steps",
                     (json_int_t)p->late_steps, "hurried_steps", (json_int_t)p->hurried_steps, "forgiven_s", p->dropped,
                     "most_owed_s", p->due_max, "least_speed", p->share_min, "slow_motion_s", p->slow_seconds);
}

void run_pace_print(const thenar_pace *p) {
    printf("real time: %" PRIu64 " of %" PRIu64 " steps late, %" PRIu64 " shortened, "
           "%.3f s largest backlog, %.3f s dropped, %.2fx lowest speed, %.1f s in slow motion\n",
           p->late_steps, p->steps, p->hurried_steps, p->due_max, p->dropped, p->share_min, p->slow_seconds);
}
