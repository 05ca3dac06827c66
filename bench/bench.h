/* A benchmark is one file bench/bench_NAME.c that defines `const bench_entry bench_NAME`; the build finds it by its
 * name. Benchmarks print times and never pass or fail on them.
 *
 * The benchmarks of kernels (linear, solvers, convergence, growth, force_area, haptic, tactile) measure parts that the
 * API does not expose. So bench/, unlike app/, is compiled with the headers of src/ (cmake/command.cmake). */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include "app/support.h"

#include "thenar/model.h"

/* A plot of a table as SVG: one line of points for each value of a text column. Columns are named by their keys. */
typedef struct plot_def {
    const char *title;
    const char *x, *y;
    const char *lines;         /* rows with the same text in this column are one line */
    const char *only, *equals; /* only rows with this text in that column; NULL: all rows */
    bool log_x, log_y;         /* rows that are not positive are omitted */
} plot_def;

thenar_status plot_write(const plot_def *plot, const table *t, const char *path, thenar_error *error);

typedef struct bench_request {
    int repeats;       /* measurements per median; 0: default of the benchmark */
    const char *track; /* file of a tracked hand, or NULL */
    double noise;      /* mm, added to its joints; 0: default of the benchmark */
} bench_request;

typedef struct bench_entry {
    const char *name;
    const char *summary;
    /* Fills the table; prints only remarks. */
    thenar_status (*run)(const bench_request *request, table *results, thenar_error *error);
    const plot_def *plot; /* drawn with --out; NULL: nothing */
} bench_entry;

/* A model of one soft body in the default world. */
thenar_status bench_compile(const thenar_soft_def *def, thenar_model **model, thenar_error *error);

/* Sorts the values and returns the quantile `share`: 0.5 is the median. NAN if there are none. */
double bench_quantile(double *values, int count, double share);

/* A function to time, and its times so far. */
typedef struct bench_clock {
    void (*run)(void *context);
    void *context;
    double *us; /* `capacity` samples, microseconds */
    int count, capacity;
} bench_clock;

/* Room for `capacity` samples. */
thenar_status bench_clock_create(bench_clock *clock, void (*run)(void *context), void *context, int capacity,
                                 thenar_error *error);
/* Times up to `count` more runs. Clocks that are compared take turns in short rounds, so that other load on the
 * machine affects them all alike. */
void bench_clock_round(bench_clock *clock, int count);
/* The median of all samples, microseconds; NAN if there are none. */
double bench_clock_median(bench_clock *clock);
void bench_clock_free(bench_clock *clock);

#endif
