/* A device behind a WebSocket with JSON messages on this machine, like the Haply Inverse service. */
#include "device/device.h"

#include "io/file.h"

#include <stdio.h>

/* The object of the first device of a kind, or NULL. */
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

/* `ws:PORT` connects to ws://127.0.0.1:PORT/. Every message of the service is answered at once with the newest force,
 * since a service may wait for the answer before it sends the next message. A lost connection is opened again. */
#ifdef THENAR_WEBSOCKET

#include "core/memory.h"
#include "core/text.h"
#include "core/threads.h"

#include <libwebsockets.h>
#include <stdlib.h>

#define MESSAGE_MAX 65536 /* bytes of a message of the service */
#define COMMAND_MAX 512
#define RETRY_NS 500000000 /* between two attempts to connect */
#define CONNECT_NS 3000000000
#define DEFAULT_PORT 10001

typedef struct ws_device {
    struct lws_context *context;
    struct lws *connection; /* NULL: neither connected nor connecting */
    bool connected;
    int port;
    int64_t tried_ns;
    char message[MESSAGE_MAX];
    size_t length;
    bool too_long;
    thenar_device_sample sample;
    bool is_new; /* the sample was not read yet */
    char id[INVERSE_ID];
    double force[3];
} ws_device;

static void parse_message(ws_device *device) {
    char id[INVERSE_ID];
    thenar_device_sample sample;
    if (device->too_long || !inverse_read(device->message, device->length, &sample, id)) return;
    device->sample = sample;
    device->is_new = true;
    memcpy(device->id, id, sizeof id);
}

static void receive_fragment(ws_device *device, struct lws *connection, const void *in, size_t length) {
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
    parse_message(device);
    lws_callback_on_writable(connection);
}

static int send_force(ws_device *device, struct lws *connection) {
    unsigned char command[LWS_PRE + COMMAND_MAX];
    size_t length = inverse_write(device->id, device->force, (char *)command + LWS_PRE, COMMAND_MAX);
    if (length == 0) return 0;
    return lws_write(connection, command + LWS_PRE, length, LWS_WRITE_TEXT) < 0 ? -1 : 0;
}

static int on_event(struct lws *connection, enum lws_callback_reasons reason, void *user, void *in, size_t length) {
    (void)user;
    ws_device *device = lws_context_user(lws_get_context(connection));
    switch (reason) {
    case LWS_CALLBACK_CLIENT_ESTABLISHED:
        device->connected = true;
        lws_callback_on_writable(connection);
        return 0;
    case LWS_CALLBACK_CLIENT_RECEIVE:
        receive_fragment(device, connection, in, length);
        return 0;
    case LWS_CALLBACK_CLIENT_WRITEABLE:
        return send_force(device, connection);
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
    {"inverse", on_event, 0, 4096, 0, NULL, 0},
    {NULL, NULL, 0, 0, 0, NULL, 0},
};

static void try_to_connect(ws_device *device) {
    int64_t now = clock_now();
    if (device->connection || (device->tried_ns != 0 && now - device->tried_ns < RETRY_NS)) return;
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

/* Handles pending events without blocking. */
static void service(ws_device *device) {
    try_to_connect(device);
    lws_service(device->context, -1);
}

/* Sends the last force that was written, zero, before it disconnects. */
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
        service(device);
        if (device->connected) return true;
        nanosleep(&pause, NULL);
    }
    return false;
}

static void *ws_open(const char *argument, char *message, size_t size) {
    long port = DEFAULT_PORT;
    if (argument[0] && !text_to_long(argument, 1, 65535, &port))
        return device_refuse(message, size, "%s is not a port; expected ws:PORT", argument);
    ws_device *device = MEMORY_ARRAY(ws_device, 1);
    if (!device) return device_refuse(message, size, "out of memory");
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
    ws_close(device);
    return device_refuse(message, size, "no service answers at ws://127.0.0.1:%ld/; expected a running one", port);
}

static void ws_describe(void *opened, thenar_device_info *info) {
    (void)opened;
    info->can = THENAR_DEVICE_POSITION | THENAR_DEVICE_ORIENTATION | THENAR_DEVICE_VELOCITY | THENAR_DEVICE_FORCE;
}

static int ws_read(void *opened, thenar_device_sample *sample) {
    ws_device *device = opened;
    if (!device->is_new) service(device);
    if (!device->is_new) return 0;
    *sample = device->sample;
    device->is_new = false;
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
#endif
