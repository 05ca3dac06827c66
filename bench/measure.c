#include "bench/bench.h"

#include "base/clock.h"
#include "base/memory.h"

#include <stdlib.h>

static int compare_times(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

double bench_median_us(int repeats, void (*measure)(void *context), void *context) {
    double *times = MEMORY_ARRAY(double, repeats);
    if (!times) return 0;
    for (int i = 0; i < repeats; i++) {
        int64_t start = clock_now();
        measure(context);
        times[i] = 1e-3 * (double)(clock_now() - start);
    }
    qsort(times, (size_t)repeats, sizeof *times, compare_times);
    double median = times[repeats / 2];
    free(times);
    return median;
}
