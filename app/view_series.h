/* Figures of a run, a row a step: what is plotted. From steps.csv of a run, or from the recording itself. */
#ifndef APP_VIEW_SERIES_H
#define APP_VIEW_SERIES_H

#include "core/error.h"
#include "core/memory.h"

#include "thenar/recording.h"

typedef struct view_series {
    ARRAY(char *) names;
    ARRAY(double) values; /* row by row; NaN where a field is empty */
    size_t row_count;
} view_series;

/* Reads a table of numbers under one line of names. */
thenar_status series_read_csv(view_series *series, const char *path, thenar_error *error);

/* The channels of the run, from at most row_limit frames spread over the recording. */
thenar_status series_read_recording(view_series *series, thenar_recording *recording, int row_limit,
                                    thenar_error *error);

/* At most row_limit rows: of each stretch of rows the one with the longest step, so that no peak is lost. */
void series_thin(view_series *series, size_t row_limit);

/* Index of a column, -1 if there is none. */
int series_find(const view_series *series, const char *name);
void series_free(view_series *series);

#endif
