/* A benchmark: one file bench/bench_NAME.c that defines `const bench_entry bench_NAME`; the build finds it by its name.
 * Benchmarks print, people judge: no time is ever a pass or a fail. */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include "app/table.h"
#include "base/error.h"

typedef struct bench_request {
    int repeats; /* measurements per median; 0: the benchmark's own choice */
} bench_request;

typedef struct bench_entry {
    const char *name;
    const char *summary;
    /* Fills the table; prints nothing else but remarks. */
    thenar_status (*run)(const bench_request *request, table *results, thenar_error *error);
} bench_entry;

/* The median of what `measure` took, in microseconds, over `repeats` calls. */
double bench_median_us(int repeats, void (*measure)(void *context), void *context);

#endif
