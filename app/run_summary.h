/* Statistics of a run, and summary.json. */
#ifndef APP_RUN_SUMMARY_H
#define APP_RUN_SUMMARY_H

#include "app/run_output.h"
#include "core/memory.h"

typedef struct run_summary {
    ARRAY(thenar_stats) steps;
} run_summary;

/* False: out of memory. */
bool run_summary_add(run_summary *summary, const thenar_stats *stats);

/* Of the steps' times so far, microseconds; 0 without steps. */
double run_summary_percentile(const run_summary *summary, double percent);

thenar_status run_summary_write(const run_summary *summary, const run_facts *facts, const thenar_sim *sim,
                                const pace *clock, double wall, const char *path, thenar_error *error);

/* Warnings that were counted, a line each on stdout. */
void run_print_warnings(const thenar_sim *sim);
void run_summary_free(run_summary *summary);

#endif
