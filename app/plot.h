/* A table's numbers as a drawing: one line of points for each value of a column of text, as SVG. */
#ifndef APP_PLOT_H
#define APP_PLOT_H

#include "app/table.h"

/* Columns are named by their keys. */
typedef struct plot_def {
    const char *title;
    const char *x, *y;
    const char *lines;         /* rows of the same text here are one line */
    const char *only, *equals; /* rows with this text in that column; NULL: all rows */
    bool log_x, log_y;         /* rows that are not positive are left out */
} plot_def;

thenar_status plot_write(const plot_def *plot, const table *t, const char *path, thenar_error *error);

#endif
