/* One progress line on a terminal: how far, how fast, how long still. Silent when stderr is not a terminal. */
#ifndef APP_PROGRESS_H
#define APP_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct progress {
    bool shown;       /* stderr is a terminal */
    const char *what; /* "beam-soft" */
    const char *unit; /* "steps" */
    double total;
    int64_t start, last; /* ns */
    const char *note;    /* at the end of the line, or NULL */
} progress;

progress progress_start(const char *what, const char *unit, double total);

/* Redraws at most ten times a second. */
void progress_update(progress *line, double done);

/* Wipes the line. */
void progress_end(progress *line);

#endif
