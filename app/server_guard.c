#include "app/server_guard.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#define MESSAGES_A_SECOND 300
#define MESSAGE_BURST 600

thenar_status guard_create(server_guard *guard, const char *host, thenar_error *error) {
    unsigned char bytes[GUARD_TOKEN / 2], address[sizeof(struct in6_addr)];
    if (inet_pton(AF_INET, host, address) != 1 && inet_pton(AF_INET6, host, address) != 1)
        return error_set(error, THENAR_ERROR_INPUT, "--host %s; expected an IP address", host);
    ssize_t got;
    do got = getrandom(bytes, sizeof bytes, 0);
    while (got < 0 && errno == EINTR);
    if (got != (ssize_t)sizeof bytes) return error_errno(error, "getrandom", "make a token");
    for (size_t i = 0; i < sizeof bytes; i++) snprintf(guard->token + 2 * i, 3, "%02x", bytes[i]);
    snprintf(guard->host, sizeof guard->host, "%s", host);
    return THENAR_OK;
}

static bool is_wildcard(const char *host) {
    return strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0;
}

static bool is_loopback(const char *host) {
    return strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0;
}

static bool is_address(const char *host) {
    unsigned char address[sizeof(struct in6_addr)];
    return inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1;
}

bool guard_host(const server_guard *guard, const char *host) {
    char name[GUARD_HOST], port[16];
    const char *colon = strrchr(host, ':');
    if (!colon || colon == host) return false;
    snprintf(port, sizeof port, ":%d", guard->port);
    if (strcmp(colon, port) != 0) return false;
    size_t length = (size_t)(colon - host);
    bool brackets = host[0] == '[' && host[length - 1] == ']' && length > 2;
    if (length >= sizeof name) return false;
    snprintf(name, sizeof name, "%.*s", (int)(brackets ? length - 2 : length), brackets ? host + 1 : host);
    if (brackets != (strchr(name, ':') != NULL)) return false;
    if (strcmp(name, guard->host) == 0 && !is_wildcard(name)) return true;
    if (strcmp(name, "localhost") == 0) return is_loopback(guard->host) || is_wildcard(guard->host);
    return is_wildcard(guard->host) && is_address(name) && !is_wildcard(name);
}

bool guard_origin(const char *origin, const char *host) {
    static const char scheme[] = "http://";
    return strncmp(origin, scheme, sizeof scheme - 1) == 0 && strcmp(origin + sizeof scheme - 1, host) == 0;
}

bool guard_token(const server_guard *guard, const char *token) {
    /* Every one of the digits is looked at, whichever is wrong and however long the text is. */
    size_t length = strlen(token);
    unsigned different = length != GUARD_TOKEN;
    for (size_t i = 0; i < GUARD_TOKEN; i++)
        different |= (unsigned char)guard->token[i] ^ (unsigned char)token[i < length ? i : length];
    return different == 0;
}

bool guard_message(guard_rate *rate, int64_t now) {
    rate->used -= 1e-9 * (double)(now - rate->last) * MESSAGES_A_SECOND;
    if (rate->used < 0 || rate->last == 0) rate->used = 0;
    rate->last = now;
    rate->used += 1;
    return rate->used <= MESSAGE_BURST;
}
