#include "device/device.h"

#include "io/json.h"

#include <stdio.h>

/* The first device of a kind: its object, or NULL. */
static const json_t *first_of(const json_t *root, const char *kind) {
    return json_array_get(json_object_get(root, kind), 0);
}

static bool read_members(const json_t *object, const char *const *names, int count, double *out) {
    for (int i = 0; i < count; i++) {
        const json_t *number = json_object_get(object, names[i]);
        if (!json_is_number(number)) return false;
        out[i] = json_number_value(number);
    }
    return true;
}

bool inverse_read(const char *text, size_t length, thenar_device_sample *sample, char id[INVERSE_ID]) {
    static const char *const axes[] = {"x", "y", "z", "w"};
    static const char *const grips[] = {"wireless_verse_grip", "verse_grip", "custom_verse_grip"};
    json_text_fault fault;
    json_t *root = json_text_read(text, length, &fault);
    const json_t *device = first_of(root, "inverse3"), *state = json_object_get(device, "state");
    *sample = (thenar_device_sample){.has = THENAR_DEVICE_POSITION};
    bool found = read_members(json_object_get(state, "cursor_position"), axes, 3, sample->pose);
    if (found && read_members(json_object_get(state, "cursor_velocity"), axes, 3, sample->velocity))
        sample->has |= THENAR_DEVICE_VELOCITY;
    for (int i = 0; found && i < 3; i++) {
        const json_t *grip = json_object_get(first_of(root, grips[i]), "state");
        if (!read_members(json_object_get(grip, "orientation"), axes, 4, sample->pose + 3)) continue;
        sample->has |= THENAR_DEVICE_ORIENTATION;
        break;
    }
    const char *name = json_string_value(json_object_get(device, "device_id"));
    snprintf(id, INVERSE_ID, "%s", name ? name : "");
    json_decref(root);
    return found;
}

size_t inverse_write(const char *id, const double force[3], char *text, size_t size) {
    json_t *root = json_pack("{s:[{s:s, s:{s:{s:{s:f, s:f, s:f}}}}]}", "inverse3", "device_id", id, "commands",
                             "set_cursor_force", "values", "x", force[0], "y", force[1], "z", force[2]);
    size_t length = root ? json_dumpb(root, text, size, JSON_COMPACT | JSON_REAL_PRECISION(9)) : 0;
    json_decref(root);
    return length <= size ? length : 0;
}

/* A device behind a WebSocket with JSON on this machine, in the manner of the Haply Inverse service: `ws:PORT` connects
 * to ws://127.0.0.1:PORT/. Every message of the service is answered by one with the newest force; a service that waits
 * for the answer before it speaks again is never kept waiting. A connection that ends is tried again. */
#ifdef THENAR_WEBSOCKET

#include "device/device.h"
#include "device/device.h"

#include "core/threads.h"
#include "core/memory.h"
#include "core/text.h"

#include <libwebsockets.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MESSAGE_MAX 65536 /* bytes of a message of the service */
#define ORDER_MAX 512
#define AGAIN_NS 500000000 /* until a lost connection is tried again */
#define CONNECT_NS 3000000000
#define DEFAULT_PORT 10001

typedef struct ws_device {
    struct lws_context *context;
    struct lws *connection; /* NULL: none, and none under way */
    bool connected;
    int port;
    int64_t tried_ns;
    char message[MESSAGE_MAX];
    size_t length;
    bool too_long;
    thenar_device_sample sample;
    bool news;
    char id[INVERSE_ID];
    double force[3];
} ws_device;

static void take_message(ws_device *device) {
    char id[INVERSE_ID];
    thenar_device_sample sample;
    if (device->too_long || !inverse_read(device->message, device->length, &sample, id)) return;
    device->sample = sample;
    device->news = true;
    memcpy(device->id, id, sizeof id);
}

static void take_piece(ws_device *device, struct lws *connection, const void *in, size_t length) {
    if (lws_is_first_fragment(connection)) {
        device->length = 0;
        device->too_long = false;
    }
    if (device->length + length > sizeof device->message)
        device->too_long = true;
    else {
        memcpy(device->message + device->length, in, length);
        device->length += length;
    }
    if (!lws_is_final_fragment(connection) || lws_remaining_packet_payload(connection) > 0) return;
    take_message(device);
    lws_callback_on_writable(connection);
}

static int send_order(ws_device *device, struct lws *connection) {
    unsigned char order[LWS_PRE + ORDER_MAX];
    size_t length = inverse_write(device->id, device->force, (char *)order + LWS_PRE, ORDER_MAX);
    if (length == 0) return 0;
    return lws_write(connection, order + LWS_PRE, length, LWS_WRITE_TEXT) < 0 ? -1 : 0;
}

static int happen(struct lws *connection, enum lws_callback_reasons reason, void *user, void *in, size_t length) {
    (void)user;
    ws_device *device = lws_context_user(lws_get_context(connection));
    switch (reason) {
    case LWS_CALLBACK_CLIENT_ESTABLISHED:
        device->connected = true;
        lws_callback_on_writable(connection);
        return 0;
    case LWS_CALLBACK_CLIENT_RECEIVE:
        take_piece(device, connection, in, length);
        return 0;
    case LWS_CALLBACK_CLIENT_WRITEABLE:
        return send_order(device, connection);
    case LWS_CALLBACK_CLIENT_CONNECTION_ERROR:
    case LWS_CALLBACK_CLIENT_CLOSED:
        device->connected = false;
        device->connection = NULL;
        return 0;
    default:
        return 0;
    }
}

static const struct lws_protocols protocols[] = {
    {"inverse", happen, 0, 4096, 0, NULL, 0},
    {NULL, NULL, 0, 0, 0, NULL, 0},
};

static void connect_again(ws_device *device) {
    int64_t now = clock_now();
    if (device->connection || (device->tried_ns != 0 && now - device->tried_ns < AGAIN_NS)) return;
    device->tried_ns = now;
    struct lws_client_connect_info info = {.context = device->context,
                                           .address = "127.0.0.1",
                                           .port = device->port,
                                           .path = "/",
                                           .host = "127.0.0.1",
                                           .local_protocol_name = "inverse",
                                           .pwsi = &device->connection};
    if (!lws_client_connect_via_info(&info)) device->connection = NULL;
}

/* All that can be done at once; never waits. */
static void serve(ws_device *device) {
    connect_again(device);
    lws_service(device->context, -1);
}

/* The last force that was written, none, still goes out. */
static void ws_close(void *opened) {
    ws_device *device = opened;
    if (device->connected && device->connection) lws_callback_on_writable(device->connection);
    for (int i = 0; i < 4 && device->connected; i++) lws_service(device->context, -1);
    if (device->context) lws_context_destroy(device->context);
    free(device);
}

static bool wait_for_connection(ws_device *device) {
    struct timespec pause = {0, 1000000};
    for (int64_t end = clock_now() + CONNECT_NS; clock_now() < end;) {
        serve(device);
        if (device->connected) return true;
        nanosleep(&pause, NULL);
    }
    return false;
}

static void *ws_open(const char *argument, char *message, size_t size) {
    long port = DEFAULT_PORT;
    if (argument[0] && !text_to_long(argument, 1, 65535, &port)) {
        snprintf(message, size, "%s is not a port; expected ws:PORT", argument);
        return NULL;
    }
    ws_device *device = MEMORY_ARRAY(ws_device, 1);
    if (!device) {
        snprintf(message, size, "out of memory");
        return NULL;
    }
    device->port = (int)port;
    lws_set_log_level(0, NULL);
    struct lws_context_creation_info info = {.port = CONTEXT_PORT_NO_LISTEN,
                                             .protocols = protocols,
                                             .user = device,
                                             .gid = -1,
                                             .uid = -1,
                                             .options = LWS_SERVER_OPTION_DISABLE_IPV6};
    device->context = lws_create_context(&info);
    if (device->context && wait_for_connection(device)) return device;
    snprintf(message, size, "no service answers at ws://127.0.0.1:%ld/; expected one that runs already", port);
    ws_close(device);
    return NULL;
}

static void ws_describe(void *opened, thenar_device_info *info) {
    (void)opened;
    info->can = THENAR_DEVICE_POSITION | THENAR_DEVICE_ORIENTATION | THENAR_DEVICE_VELOCITY | THENAR_DEVICE_FORCE;
}

static int ws_read(void *opened, thenar_device_sample *sample) {
    ws_device *device = opened;
    if (!device->news) serve(device);
    if (!device->news) return 0;
    *sample = device->sample;
    device->news = false;
    return 1;
}

static int ws_write(void *opened, const double *values, int count) {
    ws_device *device = opened;
    if (count != 6) return -1;
    memcpy(device->force, values, sizeof device->force);
    return 0;
}

const thenar_device_table device_ws_table = {.version = THENAR_DEVICE_VERSION,
                                             .size = sizeof(thenar_device_table),
                                             .kind = THENAR_DEVICE_HAPTIC,
                                             .name = "WebSocket",
                                             .open = ws_open,
                                             .describe = ws_describe,
                                             .read = ws_read,
                                             .write = ws_write,
                                             .close = ws_close};
#else
typedef int device_ws_is_left_out;
#endif
