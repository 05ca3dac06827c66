/* The viewer's server: one page and one WebSocket, for clients that know the token; and the page itself. */
#ifndef APP_SERVER_H
#define APP_SERVER_H

#include "app/view.h"

#include <stdio.h>

typedef struct server server;

#define SERVER_ADDRESS 512

/* Listens on `host`, an IP address (NULL: 127.0.0.1), and `port` (0: any free one). */
thenar_status server_create(const char *host, int port, view_source *source, server **out, thenar_error *error);

/* "http://127.0.0.1:40123/?token=..." */
const char *server_address(const server *s);

/* Wakes the server up because there is something new; from any thread. context: the server. */
void server_notify(void *context);

/* Serves what is due and returns at once; negative: the server failed. For callers with their own loop. */
int server_serve(server *s);

/* Serves until the process is interrupted. */
thenar_status server_run(server *s, thenar_error *error);
void server_free(server *s);

/* The viewer's page (page.c), built from web/ and embedded in the program: HTML with two places to insert something. Not
 * zero-terminated. */
extern const char page_html[];
extern const char page_html_end[];

#define PAGE_HEAD_PLACE "<!--thenar:head-->"
#define PAGE_DATA_PLACE "<!--thenar:data-->"

/* Its Content-Security-Policy without the last value: "...; connect-src ". Not zero-terminated. */
extern const char page_policy[];
extern const char page_policy_end[];

/* A report: the page with data in it, which needs no server. */
typedef struct report {
    FILE *file;
    const char *path;
} report;

/* Creates the file and writes the page up to the place of the data. */
thenar_status report_begin(report *page, const char *path, thenar_error *error);

/* Adds one block of data: a run, or benchmarks. */
thenar_status report_add(report *page, const view_message *message, thenar_error *error);

/* Writes the rest of the page and closes the file; also after a failure. */
thenar_status report_end(report *page, thenar_error *error);

#endif
