/* One step as a row of numbers: the columns of steps.csv, and what the viewer plots. */
#ifndef APP_RUN_ROW_H
#define APP_RUN_ROW_H

#include "thenar/thenar.h"

#include <stdbool.h>

#define RUN_COLUMN_NAME 320

/* pairs: with what each body does to each other, at the end; they may be many. */
int run_column_count(const thenar_model *model, bool pairs);

/* Tells the names of all columns in order: "step", "time", "active", ..., "formulate_us", ..., "BODY_force_x", ...,
 * "BODY/OTHER_force_x", ... */
typedef void run_column_visit(void *context, const char *name);
void run_columns(const thenar_model *model, bool pairs, run_column_visit *visit, void *context);

/* The whole numbers among them. */
bool run_column_counts(int column);

/* All columns of the last step. Sums over a body may overflow to what is not finite. */
void run_row(const thenar_sim *sim, bool pairs, double *values);

#endif
