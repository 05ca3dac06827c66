/* Serves the viewer: one page, one WebSocket, to those who know the token. */
#ifndef APP_SERVER_H
#define APP_SERVER_H

#include "app/view_source.h"

typedef struct server server;

#define SERVER_ADDRESS 512

/* Listens on `host`, an IP address (NULL: 127.0.0.1), and `port` (0: any free one). */
thenar_status server_create(const char *host, int port, view_source *source, server **out, thenar_error *error);

/* "http://127.0.0.1:40123/?token=..." */
const char *server_address(const server *s);

/* Tells the viewers that there is something new; from any thread. Context is the server. */
void server_notify(void *context);

/* Does what is due and comes back at once; below 0: it cannot go on. For who has a loop of their own. */
int server_serve(server *s);

/* Serves until the process is interrupted. */
thenar_status server_run(server *s, thenar_error *error);
void server_free(server *s);

#endif
