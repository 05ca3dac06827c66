#include "app/command.h"
#include "app/server.h"
#include "app/support.h"

#include <arpa/inet.h>
#include <errno.h>
#include <libwebsockets.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* The rules that every request is checked against. */

#define GUARD_TOKEN 32 /* hex digits: 128 bits */
#define GUARD_HOST 96

typedef struct server_guard {
    char host[GUARD_HOST]; /* address to listen on */
    int port;
    char token[GUARD_TOKEN + 1];
} server_guard;

/* Limits a client to MESSAGES_A_SECOND, in bursts of at most MESSAGE_BURST. Zeroed: nothing used yet. */
typedef struct guard_rate {
    int64_t last; /* ns */
    double used;
} guard_rate;

#define MESSAGES_A_SECOND 300
#define MESSAGE_BURST 600

/* Makes a token from the system's source of randomness. */
static thenar_status guard_create(server_guard *guard, const char *host, thenar_error *error) {
    unsigned char bytes[GUARD_TOKEN / 2], address[sizeof(struct in6_addr)];
    if (inet_pton(AF_INET, host, address) != 1 && inet_pton(AF_INET6, host, address) != 1)
        return fail(error, THENAR_ERROR_INPUT, "--host %s; expected an IP address", host);
    ssize_t got;
    do got = getrandom(bytes, sizeof bytes, 0);
    while (got < 0 && errno == EINTR);
    if (got != (ssize_t)sizeof bytes) return fail_errno(error, "getrandom", "make a token");
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

/* Whether the Host of a request names this server: its address or, on loopback, localhost; with the port. A page of another
 * name that resolves to this address (DNS rebinding) has its own name in Host. On a wildcard address any IP address is
 * accepted, and no name but localhost. */
static bool guard_host(const server_guard *guard, const char *host) {
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

/* Whether the Origin is the page that this server serves under that Host. */
static bool guard_origin(const char *origin, const char *host) {
    static const char scheme[] = "http://";
    return strncmp(origin, scheme, sizeof scheme - 1) == 0 && strcmp(origin + sizeof scheme - 1, host) == 0;
}

/* In constant time, whatever the text is. */
static bool guard_token(const server_guard *guard, const char *token) {
    size_t length = strlen(token);
    unsigned different = length != GUARD_TOKEN;
    for (size_t i = 0; i < GUARD_TOKEN; i++)
        different |= (unsigned char)guard->token[i] ^ (unsigned char)token[i < length ? i : length];
    return different == 0;
}

static bool guard_message(guard_rate *rate, int64_t now) {
    rate->used -= 1e-9 * (double)(now - rate->last) * MESSAGES_A_SECOND;
    if (rate->used < 0 || rate->last == 0) rate->used = 0;
    rate->last = now;
    rate->used += 1;
    return rate->used <= MESSAGE_BURST;
}

#define PROTOCOL "thenar-viewer-2"
#define VIEWERS_MAX 32
#define ORDER_MAX 1024      /* bytes, more than any order has */
#define CONNECTIONS_MAX 256 /* including those being opened; others wait in the system's queue */
#define HEADER_BYTES 4096   /* of a request */
#define REQUEST_SECONDS 5   /* until a request must be complete */
#define PIECE 16384         /* bytes of the page per write */

struct server {
    server_guard guard;
    view_source *source;
    struct lws_context *context;
    char address[SERVER_ADDRESS];
    int viewer_count;
    lws_sorted_usec_list_t tick;
};

/* One connection that requests the page. */
typedef struct page_session {
    size_t written;
} page_session;

/* One viewer. The message starts with LWS_PRE bytes that the library writes its frame header into. */
typedef struct viewer_session {
    bool counted, greeted;
    view_cursor cursor;
    view_message out;
    guard_rate rate;
    const char *notice;               /* not yet sent to it, or NULL */
    unsigned char partial[ORDER_MAX]; /* order that arrives in pieces */
    size_t partial_length;
} viewer_session;

static bool read_header(struct lws *wsi, enum lws_token_indexes token, char *text, int size) {
    return lws_hdr_copy(wsi, text, size, token) > 0;
}

/* Checks host and token, for the page and the socket. Returns NULL, or what is wrong. */
static const char *refuse(const server *s, struct lws *wsi, char host[GUARD_HOST]) {
    char token[GUARD_TOKEN * 2];
    if (!read_header(wsi, WSI_TOKEN_HOST, host, GUARD_HOST) || !guard_host(&s->guard, host))
        return "This is not the address that thenar view serves.\n";
    const char *given = lws_get_urlarg_by_name(wsi, "token=", token, sizeof token);
    if (!given || !guard_token(&s->guard, given))
        return "Open the address that thenar view printed: it has the token.\n";
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------------ page */

static bool add_header(struct lws *wsi, const char *name, const char *value, unsigned char **at, unsigned char *end) {
    return lws_add_http_header_by_name(wsi, (const unsigned char *)name, (const unsigned char *)value,
                                       (int)strlen(value), at, end) == 0;
}

static bool begin_response(struct lws *wsi, unsigned status, const char *type, size_t length, const char *policy) {
    unsigned char buffer[LWS_PRE + 2048], *start = buffer + LWS_PRE, *at = start, *end = buffer + sizeof buffer - 1;
    return lws_add_http_common_headers(wsi, status, type, (lws_filepos_t)length, &at, end) == 0 &&
           add_header(wsi, "content-security-policy:", policy, &at, end) &&
           add_header(wsi, "x-content-type-options:", "nosniff", &at, end) &&
           add_header(wsi, "x-frame-options:", "DENY", &at, end) &&
           add_header(wsi, "referrer-policy:", "no-referrer", &at, end) &&
           add_header(wsi, "cross-origin-resource-policy:", "same-origin", &at, end) &&
           add_header(wsi, "cross-origin-opener-policy:", "same-origin", &at, end) &&
           add_header(wsi, "cache-control:", "no-store", &at, end) &&
           lws_finalize_write_http_header(wsi, start, &at, end) == 0;
}

/* A short text; then the connection ends. */
static int answer(struct lws *wsi, unsigned status, const char *text) {
    unsigned char buffer[LWS_PRE + 256];
    size_t length = strlen(text);
    if (!begin_response(wsi, status, "text/plain; charset=utf-8", length, "default-src 'none'")) return -1;
    memcpy(buffer + LWS_PRE, text, length);
    lws_write(wsi, buffer + LWS_PRE, length, LWS_WRITE_HTTP_FINAL);
    return -1;
}

static int begin_page(const server *s, struct lws *wsi, page_session *session, const char *path, size_t length) {
    char host[GUARD_HOST], policy[1024];
    if (lws_hdr_total_length(wsi, WSI_TOKEN_GET_URI) <= 0) return answer(wsi, 405, "Only GET is served here.\n");
    const char *wrong = refuse(s, wsi, host);
    if (wrong) return answer(wsi, 403, wrong);
    if (length != 1 || path[0] != '/') return answer(wsi, 404, "There is no such page.\n");
    snprintf(policy, sizeof policy, "%.*s'self' ws://%s; frame-ancestors 'none'", (int)(page_policy_end - page_policy),
             page_policy, host);
    if (!begin_response(wsi, 200, "text/html; charset=utf-8", (size_t)(page_html_end - page_html), policy)) return -1;
    session->written = 0;
    lws_callback_on_writable(wsi);
    return 0;
}

static int continue_page(struct lws *wsi, page_session *session) {
    unsigned char buffer[LWS_PRE + PIECE];
    size_t total = (size_t)(page_html_end - page_html), left = total - session->written;
    size_t piece = left < PIECE ? left : PIECE;
    memcpy(buffer + LWS_PRE, page_html + session->written, piece);
    session->written += piece;
    bool last = session->written == total;
    if (lws_write(wsi, buffer + LWS_PRE, piece, last ? LWS_WRITE_HTTP_FINAL : LWS_WRITE_HTTP) < (int)piece) return -1;
    if (last) return lws_http_transaction_completed(wsi) ? -1 : 0;
    lws_callback_on_writable(wsi);
    return 0;
}

static int serve_page(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t length) {
    server *s = lws_context_user(lws_get_context(wsi));
    switch (reason) {
    case LWS_CALLBACK_HTTP:
        return begin_page(s, wsi, user, in, length);
    case LWS_CALLBACK_HTTP_WRITEABLE:
        return continue_page(wsi, user);
    /* Requests with a body are refused. */
    case LWS_CALLBACK_HTTP_BODY:
    case LWS_CALLBACK_HTTP_BODY_COMPLETION:
        return -1;
    /* A WebSocket with no protocol or another one ends up here. */
    case LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION:
    case LWS_CALLBACK_ESTABLISHED:
        return -1;
    default:
        return lws_callback_http_dummy(wsi, reason, user, in, length);
    }
}

/* ---------------------------------------------------------------------------------------------------------- viewers */

/* Checks host, token, origin and path before anything else of a viewer is read. */
static int admit(const server *s, struct lws *wsi) {
    char host[GUARD_HOST], origin[GUARD_HOST + 16], path[64];
    if (refuse(s, wsi, host)) return -1;
    if (!read_header(wsi, WSI_TOKEN_ORIGIN, origin, sizeof origin) || !guard_origin(origin, host)) return -1;
    if (!read_header(wsi, WSI_TOKEN_GET_URI, path, sizeof path) || strcmp(path, "/socket") != 0) return -1;
    return s->viewer_count < VIEWERS_MAX ? 0 : -1;
}

static int close_viewer(struct lws *wsi, enum lws_close_status status, const char *reason) {
    lws_close_reason(wsi, status, (unsigned char *)(uintptr_t)reason, strlen(reason));
    return -1;
}

/* Receives a piece of a message; an order is one frame, which may arrive in pieces. */
static int receive(server *s, struct lws *wsi, viewer_session *session, const void *in, size_t length) {
    view_order order;
    size_t missing = lws_remaining_packet_payload(wsi);
    bool first = lws_is_first_fragment(wsi);
    if (first && !guard_message(&session->rate, clock_ns()))
        return close_viewer(wsi, LWS_CLOSE_STATUS_POLICY_VIOLATION, "too many messages");
    if (!lws_frame_is_binary(wsi)) return close_viewer(wsi, LWS_CLOSE_STATUS_UNACCEPTABLE_OPCODE, "not binary");
    if (first) session->partial_length = 0;
    if ((!first && session->partial_length == 0) || missing > ORDER_MAX ||
        session->partial_length + length + missing > ORDER_MAX || (missing == 0 && !lws_is_final_fragment(wsi)))
        return close_viewer(wsi, LWS_CLOSE_STATUS_MESSAGE_TOO_LARGE, "an order is one short message");
    memcpy(session->partial + session->partial_length, in, length);
    session->partial_length += length;
    if (missing > 0) return 0;
    const char *wrong = order_read(session->partial, session->partial_length, &order);
    if (!wrong) wrong = s->source->order(s->source, &session->cursor, &order);
    if (wrong && !order_drives(order.kind)) return close_viewer(wsi, LWS_CLOSE_STATUS_INVALID_PAYLOAD, wrong);
    if (wrong) session->notice = wrong;
    lws_callback_on_writable(wsi);
    return 0;
}

/* Sends one message at a time. While one is being sent this is not called; frames in between are skipped. */
static int send_updates(server *s, struct lws *wsi, viewer_session *session) {
    view_message *out = &session->out;
    if (!LIST_RESERVE(&out->bytes, LWS_PRE)) return -1;
    message_clear(out);
    out->bytes.count = LWS_PRE;
    if (!session->greeted) {
        s->source->head(s->source, out);
        session->greeted = true;
    }
    s->source->updates(s->source, &session->cursor, out);
    if (session->notice) message_text(out, SECTION_NOTICE, session->notice);
    session->notice = NULL;
    if (out->failed) return -1;
    size_t length = out->bytes.count - LWS_PRE;
    if (length == 0) return 0;
    return lws_write(wsi, out->bytes.data + LWS_PRE, length, LWS_WRITE_BINARY) < 0 ? -1 : 0;
}

static int serve_viewer(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t length) {
    server *s = lws_context_user(lws_get_context(wsi));
    viewer_session *session = user;
    switch (reason) {
    case LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION:
        return admit(s, wsi);
    case LWS_CALLBACK_ESTABLISHED:
        *session = (viewer_session){.counted = true};
        s->viewer_count++;
        lws_callback_on_writable(wsi);
        return 0;
    case LWS_CALLBACK_RECEIVE:
        return receive(s, wsi, session, in, length);
    case LWS_CALLBACK_SERVER_WRITEABLE:
        return send_updates(s, wsi, session);
    case LWS_CALLBACK_CLOSED:
        if (!session || !session->counted) return 0;
        s->viewer_count--;
        s->source->leave(s->source, &session->cursor);
        message_free(&session->out);
        session->counted = false;
        return 0;
    case LWS_CALLBACK_EVENT_WAIT_CANCELLED:
        lws_callback_on_writable_all_protocol(lws_get_context(wsi), lws_get_protocol(wsi));
        return 0;
    default:
        return 0;
    }
}

/* -------------------------------------------------------------------------------------------------------- the server */

static const struct lws_protocols protocols[] = {
    {"http", serve_page, sizeof(page_session), 0, 0, NULL, 0},
    {PROTOCOL, serve_viewer, sizeof(viewer_session), ORDER_MAX, 0, NULL, 0},
    {NULL, NULL, 0, 0, 0, NULL, 0},
};

/* A viewer that does not answer pings is disconnected. */
static const lws_retry_bo_t idle = {.secs_since_valid_ping = 15, .secs_since_valid_hangup = 40};

thenar_status server_create(const char *host, int port, view_source *source, server **out, thenar_error *error) {
    *out = NULL;
    server *s = NEW_ARRAY(server, 1);
    if (!s) return fail_memory(error, "server");
    if (!host) host = "127.0.0.1";
    thenar_status status = guard_create(&s->guard, host, error);
    if (status != THENAR_OK) {
        free(s);
        return status;
    }
    s->source = source;
    lws_set_log_level(0, NULL);
    bool six = strchr(host, ':') != NULL;
    struct lws_context_creation_info info = {.port = port,
                                             .iface = host,
                                             .protocols = protocols,
                                             .user = s,
                                             .gid = -1,
                                             .uid = -1,
                                             .server_string = "thenar",
                                             .timeout_secs = REQUEST_SECONDS,
                                             .timeout_secs_ah_idle = REQUEST_SECONDS,
                                             .keepalive_timeout = REQUEST_SECONDS,
                                             .max_http_header_data = HEADER_BYTES,
                                             .max_http_header_pool = CONNECTIONS_MAX,
                                             .fd_limit_per_thread = CONNECTIONS_MAX,
                                             .retry_and_idle_policy = &idle,
                                             .options = six ? 0 : LWS_SERVER_OPTION_DISABLE_IPV6};
    errno = 0;
    s->context = lws_create_context(&info);
    struct lws_vhost *vhost = s->context ? lws_get_vhost_by_name(s->context, "default") : NULL;
    s->guard.port = vhost ? lws_get_vhost_listen_port(vhost) : -1;
    if (s->guard.port <= 0) {
        server_free(s);
        return fail(error, THENAR_ERROR_FILE,
                    "cannot listen on %s, port %d; expected an address of this machine and a free port", host, port);
    }
    snprintf(s->address, sizeof s->address, six ? "http://[%s]:%d/?token=%s" : "http://%s:%d/?token=%s",
             strcmp(host, "0.0.0.0") == 0 ? "127.0.0.1" : host, s->guard.port, s->guard.token);
    *out = s;
    return THENAR_OK;
}

const char *server_address(const server *s) {
    return s->address;
}

void server_notify(void *context) {
    lws_cancel_service(((server *)context)->context);
}

/* Wakes the loop twice per second, because a signal may arrive just before it sleeps. */
static void tick(lws_sorted_usec_list_t *timer) {
    server *s = lws_container_of(timer, server, tick);
    lws_sul_schedule(s->context, 0, timer, tick, LWS_US_PER_SEC / 2);
}

int server_serve(server *s) {
    return lws_service(s->context, -1);
}

thenar_status server_run(server *s, thenar_error *error) {
    tick(&s->tick);
    while (!process_interrupted())
        if (lws_service(s->context, 0) < 0)
            return fail(error, THENAR_ERROR_FILE, "the server failed while it waited for viewers");
    return THENAR_OK;
}

void server_free(server *s) {
    if (!s) return;
    if (s->context) lws_context_destroy(s->context);
    free(s);
}
