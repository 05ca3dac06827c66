/* How punctual a loop is. The loop's thread notes, any thread reads: counters that one thread writes without locks. */
#ifndef HAPTIC_LOOP_H
#define HAPTIC_LOOP_H

#include "core/threads.h"
#include "haptic/tick.h"
#include "world/model.h"

#include "thenar/haptic.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#define TIMING_COST_BIN_NS 50
#define TIMING_COST_BINS 4000

typedef struct timing {
    int64_t period_ns;
    int period_bins; /* of 1 us, four periods in all; the last one holds the rest */
    atomic_uint *periods, *costs;
    atomic_ullong jitter[THENAR_HAPTIC_JITTER];
    atomic_ullong ticks, missed;
    atomic_llong period_worst_ns, cost_worst_ns, began_ns, ended_ns;
} timing;

bool timing_create(timing *t, int64_t period_ns);
void timing_free(timing *t);

/* Real-time priority and locked memory for the calling thread, as far as the system grants them. */

/* Asks for them and says in one line what came of it. True if all memory is locked: real_time_end lets it go. */
bool real_time_begin(int priority, char *text, size_t size);
void real_time_end(void);

/* What a loop is made of. One thread ticks (loop.c); the simulation publishes, and anyone reads (loop_read.c). */

_Static_assert(sizeof(struct haptic_linear) == sizeof(thenar_haptic_linear), "both tell the same");

/* One handle with its device. */
typedef struct haptic_channel {
    thenar_haptic_settings settings;
    vec3 origin;
    quat turn, grip;
    device_port *device; /* NULL: none */
    haptic_state state;
    triple_buffer updates; /* struct haptic_linear, from the simulation */
    atomic_ullong refused; /* news that were not finite */
    double latency_us, latency_max_us;
    double peak_force, force_sum, peak_torque; /* of what was sent */
    uint64_t seen_updates, ticks, fades;
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
    triple_buffer reports;
    pthread_mutex_t readers; /* of reports and told */
    uint64_t reported[THENAR_HAPTIC_HANDLES][THENAR_HAPTIC_FAULT_COUNT], told_missed;
    pthread_mutex_t mutex; /* of what follows, while it starts */
    pthread_cond_t started;
    bool ready;
    char real_time_text[256];
};

/* The loop's clock. */
static inline int64_t haptic_now(const thenar_haptic *haptic) {
    return haptic->simulated_time ? haptic->simulated_ns : clock_now();
}

/* What a scene says of how its handles are held. */

#endif
