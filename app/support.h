/* Tools of the whole command: errors, memory, files, text, interrupts, JSON, tables, the progress line. The command uses the
 * public API and this header, nothing of the library's own headers. */
#ifndef APP_SUPPORT_H
#define APP_SUPPORT_H

#include "thenar/status.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define PRINTF_LIKE(text, first) __attribute__((format(printf, text, first)))

/* Fill an error, which may be NULL, and return its status: `return fail(error, THENAR_ERROR_INPUT, "...");` */
thenar_status fail(thenar_error *error, thenar_status status, const char *format, ...) PRINTF_LIKE(3, 4);
/* THENAR_ERROR_FILE from errno: "FILE: cannot ACTION: No such file or directory". */
thenar_status fail_errno(thenar_error *error, const char *file, const char *action);
/* THENAR_ERROR_MEMORY: "out of memory: WHAT". */
thenar_status fail_memory(thenar_error *error, const char *what);

/* A zeroed array of at least one element; NULL when memory runs out. free() it. */
#define NEW_ARRAY(type, count) ((type *)new_array((size_t)(count), sizeof(type)))
void *new_array(size_t count, size_t size);

/* A growing array:
 *     LIST(int) list = {0};
 *     if (!LIST_PUSH(&list, 7)) out of memory;
 *     free(list.data);  */
#define LIST(type)                                                                                                     \
    struct {                                                                                                           \
        type *data;                                                                                                    \
        size_t count, capacity;                                                                                        \
    }
#define LIST_RESERVE(list, wanted)                                                                                     \
    list_reserve((void **)&(list)->data, &(list)->capacity, (wanted), sizeof *(list)->data)
#define LIST_PUSH(list, ...)                                                                                           \
    (LIST_RESERVE(list, (list)->count + 1) && ((list)->data[(list)->count++] = (__VA_ARGS__), true))

/* Makes room for `wanted` elements; false, with nothing changed, when memory runs out. */
bool list_reserve(void **data, size_t *capacity, size_t wanted, size_t element_size);

/* The contents of a file with a terminating zero; size may be NULL. free() it. NULL: an error. */
char *read_file(const char *path, size_t *size, thenar_error *error);

/* Creates a file for writing; NULL: an error. */
FILE *create_file(const char *path, thenar_error *error);

/* Closes it; a write that failed since create_file (disk full) is an error here. */
thenar_status close_file(FILE *file, const char *path, thenar_error *error);

/* Makes a directory and its parents, where they do not exist. */
thenar_status make_directory(const char *path, thenar_error *error);

bool is_directory(const char *path);

/* Whether both paths lead to one file. */
bool is_same_file(const char *a, const char *b);

/* What is after the last dot of the last component; "" if there is none. */
const char *path_extension(const char *path);

/* Whether the whole text is a decimal number, or an integer in low..high. */
bool parse_number(const char *text, double *value);
bool parse_integer(const char *text, long low, long high, long *value);

/* The name that a mistyped one probably meant, or NULL. */
const char *closest_name(const char *word, const char *const *names, size_t count);

/* Monotonic time, ns. */
int64_t clock_ns(void);

/* Sorts doubles in ascending order. */
void sort_numbers(double *values, size_t count);

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

/* The contents of a JSON file, a new reference; NULL if the file does not exist or is not JSON. */
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
void table_text(table *t, const char *key, const char *format, ...) PRINTF_LIKE(3, 4);
void table_number(table *t, const char *key, double value);

/* Text left-aligned, numbers right-aligned, a dash for an empty cell. */
void table_print(const table *t, FILE *out);

/* {"bench": name, "machine": {...}, "rows": [{key: value, ...}, ...]} */
thenar_status table_write_json(const table *t, const char *name, const char *path, thenar_error *error);

/* A line of keys, then the rows. */
thenar_status table_write_csv(const table *t, const char *path, thenar_error *error);

void table_free(table *t);

#endif
