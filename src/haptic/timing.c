#include "haptic/timing.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

bool timing_create(timing *t, int64_t period_ns) {
    t->period_ns = period_ns;
    t->period_bins = (int)(4 * period_ns / 1000) + 2;
    t->periods = MEMORY_ARRAY(atomic_uint, t->period_bins);
    t->costs = MEMORY_ARRAY(atomic_uint, TIMING_COST_BINS);
    return t->periods && t->costs;
}

void timing_free(timing *t) {
    free(t->periods);
    free(t->costs);
}

#define GET(counter) atomic_load_explicit(&(counter), memory_order_relaxed)
#define SET(counter, value) atomic_store_explicit(&(counter), (value), memory_order_relaxed)

void timing_begin(timing *t, int64_t now_ns) {
    for (int i = 0; i < t->period_bins; i++) SET(t->periods[i], 0);
    for (int i = 0; i < TIMING_COST_BINS; i++) SET(t->costs[i], 0);
    for (int i = 0; i < THENAR_HAPTIC_JITTER; i++) SET(t->jitter[i], 0);
    SET(t->ticks, 0);
    SET(t->missed, 0);
    SET(t->period_worst_ns, 0);
    SET(t->cost_worst_ns, 0);
    SET(t->began_ns, now_ns);
    SET(t->ended_ns, now_ns);
}

static void add(atomic_uint *bins, int count, int64_t bin) {
    if (bin >= count) bin = count - 1;
    SET(bins[bin], GET(bins[bin]) + 1);
}

void timing_note(timing *t, int64_t now_ns, int64_t period_ns, int64_t cost_ns, int64_t missed) {
    SET(t->ticks, GET(t->ticks) + 1);
    SET(t->missed, GET(t->missed) + (unsigned long long)missed);
    SET(t->ended_ns, now_ns);
    add(t->costs, TIMING_COST_BINS, cost_ns / TIMING_COST_BIN_NS);
    if (cost_ns > GET(t->cost_worst_ns)) SET(t->cost_worst_ns, cost_ns);
    if (period_ns <= 0) return;
    add(t->periods, t->period_bins, period_ns / 1000);
    if (period_ns > GET(t->period_worst_ns)) SET(t->period_worst_ns, period_ns);
    int64_t off = llabs(period_ns - t->period_ns) / 1000;
    int class = 0;
    while (class < THENAR_HAPTIC_JITTER - 1 && off >= (int64_t)1 << class) class ++;
    SET(t->jitter[class], GET(t->jitter[class]) + 1);
}

/* The upper edge of the bin in which a share of all lies, in bins; what lies in the last one is as bad as the worst. */
static double percentile(atomic_uint *bins, int count, double share, double bin_us, double worst_us) {
    uint64_t all = 0, sum = 0;
    for (int i = 0; i < count; i++) all += GET(bins[i]);
    if (all == 0) return 0;
    uint64_t wanted = (uint64_t)ceil(share * (double)all);
    for (int i = 0; i < count - 1; i++) {
        sum += GET(bins[i]);
        if (sum >= wanted) return fmin(worst_us, (i + 1) * bin_us);
    }
    return worst_us;
}

void timing_read(timing *t, thenar_haptic_stats *out) {
    out->ticks = GET(t->ticks);
    out->missed = GET(t->missed);
    out->seconds = 1e-9 * (double)(GET(t->ended_ns) - GET(t->began_ns));
    out->period_us = 1e-3 * (double)t->period_ns;
    out->period_worst_us = 1e-3 * (double)GET(t->period_worst_ns);
    out->period_p50_us = percentile(t->periods, t->period_bins, 0.5, 1, out->period_worst_us);
    out->period_p99_us = percentile(t->periods, t->period_bins, 0.99, 1, out->period_worst_us);
    out->period_p999_us = percentile(t->periods, t->period_bins, 0.999, 1, out->period_worst_us);
    out->tick_worst_us = 1e-3 * (double)GET(t->cost_worst_ns);
    out->tick_p50_us = percentile(t->costs, TIMING_COST_BINS, 0.5, 1e-3 * TIMING_COST_BIN_NS, out->tick_worst_us);
    out->tick_p99_us = percentile(t->costs, TIMING_COST_BINS, 0.99, 1e-3 * TIMING_COST_BIN_NS, out->tick_worst_us);
    for (int i = 0; i < THENAR_HAPTIC_JITTER; i++) out->jitter[i] = GET(t->jitter[i]);
}
