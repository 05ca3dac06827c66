/* How punctual a loop is. The loop's thread notes, any thread reads: counters that one thread writes without locks. */
#ifndef THENAR_HAPTIC_TIMING_H
#define THENAR_HAPTIC_TIMING_H

#include "thenar/haptic.h"

#include <stdatomic.h>
#include <stdbool.h>

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

/* The loop begins; figures begin anew. */
void timing_begin(timing *t, int64_t now_ns);

/* A tick that began `period_ns` after the one before (0: there was none), took `cost_ns`, and missed so many deadlines. */
void timing_note(timing *t, int64_t now_ns, int64_t period_ns, int64_t cost_ns, int64_t missed);

void timing_read(timing *t, thenar_haptic_stats *out);

#endif
