/* The one table printer: named columns, rows of text and numbers, aligned on a terminal and as JSON. */
#ifndef APP_TABLE_H
#define APP_TABLE_H

#include "core/error.h"

#include <stdbool.h>
#include <stdio.h>

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
        const char *key;     /* in JSON */
        const char *heading; /* in print; may hold blanks */
        int decimals;        /* of numbers in print */
    } columns[TABLE_COLUMNS];
    table_cell *cells; /* row by row */
    int row_count, row_capacity;
    bool failed; /* memory ran out; what was added last is missing */
} table;

void table_add_column(table *t, const char *key, const char *heading, int decimals);

/* A new row; the cells that follow go into it. */
void table_add_row(table *t);
/* By the column's key; an unknown key is an assert. */
void table_text(table *t, const char *key, const char *format, ...) THENAR_PRINTF(3, 4);
void table_number(table *t, const char *key, double value);

/* Text left, numbers right, a dash for what is not there. */
void table_print(const table *t, FILE *out);

/* {"bench": name, "machine": {...}, "rows": [{key: value, ...}, ...]} to a file. */
thenar_status table_write_json(const table *t, const char *name, const char *path, thenar_error *error);

/* The keys, then the rows, to a file. */
thenar_status table_write_csv(const table *t, const char *path, thenar_error *error);

void table_free(table *t);

#endif
