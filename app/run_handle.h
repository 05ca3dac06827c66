/* The figures of one handle that steps.csv and summary.json tell. */
#ifndef APP_RUN_HANDLE_H
#define APP_RUN_HANDLE_H

#include "thenar/haptic.h"

/* Its columns in steps.csv, in order: where it is, what its tool does to it, what its coupling does, and the contact
 * area of the tool, m^2. */
#define RUN_HANDLE_COLUMNS 16
extern const char *const run_handle_columns[RUN_HANDLE_COLUMNS];

void run_handle_row(const thenar_sim *sim, int handle, double row[RUN_HANDLE_COLUMNS]);

#endif
