/* A page that needs no server: the viewer with data in it. */
#ifndef APP_REPORT_H
#define APP_REPORT_H

#include "app/view_message.h"

#include <stdio.h>

/* A report under way. */
typedef struct report {
    FILE *file;
    const char *path;
} report;

/* Opens the file and writes the page up to the place of the data. */
thenar_status report_begin(report *page, const char *path, thenar_error *error);

/* One block of data: a run, or benchmarks. */
thenar_status report_add(report *page, const view_message *message, thenar_error *error);

/* The rest of the page; closes the file. After a failure too. */
thenar_status report_end(report *page, thenar_error *error);

#endif
