/* Tools of the whole command: interrupts, JSON files, tables, the progress line. */
#ifndef APP_SUPPORT_H
#define APP_SUPPORT_H

#include "core/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* From here on SIGINT, SIGTERM and SIGHUP only set a flag, so that the work can stop between two steps. A signal that the
 * caller ignores (nohup, a background job of a script) stays ignored. */
void process_watch_interrupts(void);

/* The signal that arrived since process_watch_interrupts, or 0. */
int process_interrupted(void);

/* Ends the process by that signal, after everything is cleaned up. A shell shows 128 + its number as the exit status, and a
 * script's loop around the command stops too, which it would not after a plain exit. */
void process_die_of(int signal_number);

/* Writes and releases `root`; NULL (memory ran out while it was built) is an error. */
thenar_status json_file_write(json_t *root, const char *path, thenar_error *error);

/* The contents of a JSON file, a new reference; NULL if the file does not exist, is larger than 64 MB or is not JSON. */
json_t *json_file_read(const char *path);

/* The same from zero-terminated text. */
json_t *json_of_text(const char *text);

/* The machine, for results: {"cpu": ..., "cores": n, "system": ..., "compiler": ...}; a new reference. */
json_t *machine_describe(void);

/* One progress line on a terminal: share done, rate, time left. Silent if stderr is not a terminal. */
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

/* Erases the line. */
void progress_end(progress *line);

/* A table (table.c): named columns, rows of text and numbers, printed with aligned columns or written as JSON or CSV. */

#define TABLE_COLUMNS 24

typedef struct table_cell {
    bool filled;
    bool is_number;
    double number;
    char text[96];
} table_cell;

typedef struct table {
    int column_count;
    struct {
        const char *key;     /* in JSON and CSV */
        const char *heading; /* in print; may contain blanks */
        int decimals;        /* of numbers in print */
    } columns[TABLE_COLUMNS];
    table_cell *cells; /* row by row */
    int row_count, row_capacity;
    bool failed; /* memory ran out; the last rows are missing */
} table;

void table_add_column(table *t, const char *key, const char *heading, int decimals);

/* Adds a row; the following cells go into it. */
void table_add_row(table *t);
/* Sets a cell by the key of its column, which must exist. */
void table_text(table *t, const char *key, const char *format, ...) THENAR_PRINTF(3, 4);
void table_number(table *t, const char *key, double value);

/* Text left-aligned, numbers right-aligned, a dash for an empty cell. */
void table_print(const table *t, FILE *out);

/* {"bench": name, "machine": {...}, "rows": [{key: value, ...}, ...]} */
thenar_status table_write_json(const table *t, const char *name, const char *path, thenar_error *error);

/* A line of keys, then the rows. */
thenar_status table_write_csv(const table *t, const char *path, thenar_error *error);

void table_free(table *t);

#endif
