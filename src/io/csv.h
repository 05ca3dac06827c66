/* Comma-separated values: fields one by one, quoted as RFC 4180 has it where they need to be, lines ending in
 * LF.
 *
 *     csv_writer csv;
 *     csv_open(&csv, path, &error) ...
 *     csv_text(&csv, "step"), csv_text(&csv, "time"), csv_end_row(&csv);
 *     csv_integer(&csv, 1), csv_number(&csv, 0.001), csv_end_row(&csv);
 *     csv_close(&csv, &error) ...
 *
 * Numbers have 9 significant digits and a decimal point in every locale. Nothing is allocated between open
 * and close. A write that fails (disk full) is told by csv_close. */
#ifndef IO_CSV_H
#define IO_CSV_H

#include "base/error.h"

#include <stdbool.h>
#include <stdio.h>

typedef struct csv_writer {
    FILE *file;
    char *path;
    bool row_begun;
} csv_writer;

thenar_status csv_open(csv_writer *csv, const char *path, thenar_error *error);
void csv_text(csv_writer *csv, const char *text);
void csv_number(csv_writer *csv, double number);
void csv_integer(csv_writer *csv, long long number);
void csv_empty(csv_writer *csv);
void csv_end_row(csv_writer *csv);

/* Releases everything, also when it fails. A writer that was never opened (zeroed) is fine. */
thenar_status csv_close(csv_writer *csv, thenar_error *error);

#endif
