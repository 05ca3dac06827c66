/* Who may come in: the rules that every request is held against. Nothing here knows the network library. */
#ifndef APP_SERVER_GUARD_H
#define APP_SERVER_GUARD_H

#include "core/error.h"

#include <stdbool.h>
#include <stdint.h>

#define GUARD_TOKEN 32 /* hex digits: 128 bits */
#define GUARD_HOST 96

typedef struct server_guard {
    char host[GUARD_HOST]; /* address that is listened on */
    int port;
    char token[GUARD_TOKEN + 1];
} server_guard;

/* A new token from the system's source of randomness. */
thenar_status guard_create(server_guard *guard, const char *host, thenar_error *error);

/* Whether the Host of a request names this server: its address or, on loopback, localhost; with the port. A page of
 * another name that was made to lead here (DNS rebinding) has its own name in Host. On a wildcard address every IP
 * address will do, a name other than localhost will not. */
bool guard_host(const server_guard *guard, const char *host);

/* Whether the Origin is the page that this server itself serves under that Host. */
bool guard_origin(const char *origin, const char *host);

/* In constant time, whatever is given. */
bool guard_token(const server_guard *guard, const char *token);

/* At most RATE messages a second, in bursts of at most BURST. Zeroed: full. */
typedef struct guard_rate {
    int64_t last; /* ns */
    double used;
} guard_rate;
bool guard_message(guard_rate *rate, int64_t now);

#endif
