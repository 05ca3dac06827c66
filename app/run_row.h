/* One step as a row of numbers: the columns of steps.csv, and what the viewer plots. */
#ifndef APP_RUN_ROW_H
#define APP_RUN_ROW_H

#include "thenar/thenar.h"

#include <stdbool.h>

#define RUN_COLUMN_NAME 320

int run_column_count(const thenar_model *model);

/* "step", "time", "active", ..., "formulate_us", ..., "BODY_force_x", ... */
void run_column_name(const thenar_model *model, int column, char name[RUN_COLUMN_NAME]);

/* The whole numbers among them. */
bool run_column_counts(int column);

/* All columns of the last step. Sums over a body may overflow to what is not finite. */
void run_row(const thenar_sim *sim, double *values);

#endif
