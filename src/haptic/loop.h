/* What a loop is made of. One thread ticks (loop.c); the simulation publishes, and anyone reads (loop_read.c). */
#ifndef THENAR_HAPTIC_LOOP_H
#define THENAR_HAPTIC_LOOP_H

#include "base/clock.h"
#include "base/triple.h"
#include "haptic/tick.h"
#include "haptic/timing.h"

#include <pthread.h>

_Static_assert(sizeof(struct haptic_linear) == sizeof(thenar_haptic_linear), "both tell the same");

/* One handle with its device. */
typedef struct haptic_channel {
    thenar_haptic_settings settings;
    vec3 origin;
    quat turn, grip;
    device_port *device; /* NULL: none */
    haptic_state state;
    triple news;           /* struct haptic_linear, from the simulation */
    atomic_ullong refused; /* news that were not finite */
    double latency_us, latency_worst_us;
    double peak_force, force_sum, peak_torque; /* of what was sent */
    uint64_t seen_news, ticks, fades;
    bool fading;
} haptic_channel;

/* What the loop tells at the end of a tick. */
typedef struct haptic_report {
    int64_t time_ns;
    thenar_haptic_handle_stats handles[THENAR_HAPTIC_HANDLES];
    double velocity[THENAR_HAPTIC_HANDLES][6];
    bool known[THENAR_HAPTIC_HANDLES], silent[THENAR_HAPTIC_HANDLES];
} haptic_report;

struct thenar_haptic {
    double rate;
    bool real_time;
    int priority;
    bool simulated_time;
    int64_t simulated_ns, due_ns; /* its clock then: of the last tick, and up to where it may tick */
    int channel_count;
    haptic_channel *channels;
    pthread_t thread;
    bool running;
    atomic_bool stop;
    timing timing;
    triple reports;
    pthread_mutex_t readers; /* of reports and told */
    uint64_t told[THENAR_HAPTIC_HANDLES][THENAR_HAPTIC_FAULTS], told_missed;
    pthread_mutex_t mutex; /* of what follows, while it starts */
    pthread_cond_t started;
    bool ready;
    char real_time_text[256];
};

/* The loop's clock. */
static inline int64_t haptic_now(const thenar_haptic *haptic) {
    return haptic->simulated_time ? haptic->simulated_ns : clock_now();
}

#endif
