#include "bench/bench.h"

#include <math.h>
#include <stdlib.h>

thenar_status bench_compile(const thenar_soft_def *def, thenar_model **model, thenar_error *error) {
    thenar_world_def world = thenar_world_def_default();
    thenar_build *build = thenar_build_create(&world);
    thenar_status status = build ? thenar_build_add_soft(build, def, error) : fail_memory(error, def->name);
    if (status == THENAR_OK) status = thenar_build_compile(build, model, error);
    thenar_build_free(build);
    return status;
}

thenar_status bench_clock_create(bench_clock *clock, void (*run)(void *context), void *context, int capacity,
                                 thenar_error *error) {
    *clock = (bench_clock){.run = run, .context = context, .capacity = capacity};
    clock->us = NEW_ARRAY(double, capacity);
    return clock->us ? THENAR_OK : fail_memory(error, "samples");
}

void bench_clock_round(bench_clock *clock, int count) {
    for (int i = 0; i < count && clock->count < clock->capacity; i++) {
        int64_t start = clock_ns();
        clock->run(clock->context);
        clock->us[clock->count++] = 1e-3 * (double)(clock_ns() - start);
    }
}

double bench_quantile(double *values, int count, double share) {
    if (count == 0) return NAN;
    sort_numbers(values, (size_t)count);
    int at = (int)(share * count);
    return values[at < count ? at : count - 1];
}

double bench_clock_median(bench_clock *clock) {
    return bench_quantile(clock->us, clock->count, 0.5);
}

void bench_clock_free(bench_clock *clock) {
    free(clock->us);
    *clock = (bench_clock){0};
}
