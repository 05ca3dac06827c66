/* A device that uses OSC over UDP (docs/haptic-devices.md): receives poses and sends forces back to their sender.
 *     in:   /thenar/pose  i count, 3 or 7 numbers (f or d): position, quaternion
 *     out:  /thenar/force i count, ffffff: force, torque
 * osc:PORT accepts poses from this machine only, osc:PORT,HOST from that numeric address. */
#ifdef THENAR_OSC

#include "device/device.h"

#include "core/memory.h"
#include "core/text.h"

#include <lo/lo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUEUE 64 /* samples of one bundle */
#define HOST 64
#define PACKETS_AT_ONCE 256 /* received before a force is sent again */

typedef struct osc_device {
    lo_server server;
    lo_address sender; /* receives the forces; NULL before the first pose */
    char allowed[HOST], host[HOST], port[16];
    thenar_device_sample queue[QUEUE];
    int first, count;
    int sent;
} osc_device;

static bool is_allowed(const osc_device *device, const char *host) {
    static const char *const this_machine[] = {"127.0.0.1", "::1", "::ffff:127.0.0.1"};
    if (device->allowed[0]) return host && strcmp(host, device->allowed) == 0;
    return names_find(this_machine, 3, host) >= 0;
}

/* Forces go to the sender of the last valid pose. */
static void set_sender(osc_device *device, const char *host, const char *port) {
    if (device->sender && strcmp(host, device->host) == 0 && strcmp(port, device->port) == 0) return;
    if (device->sender) lo_address_free(device->sender);
    snprintf(device->host, sizeof device->host, "%s", host);
    snprintf(device->port, sizeof device->port, "%s", port);
    device->sender = lo_address_new(device->host, device->port);
}

/* The arguments of liblo point into the packet, where they are aligned to four bytes only. */
static double read_number(char type, const lo_arg *argument) {
    float single;
    double number;
    if (type == 'd') {
        memcpy(&number, argument, sizeof number);
        return number;
    }
    memcpy(&single, argument, sizeof single);
    return (double)single;
}

static int on_pose(const char *path, const char *types, lo_arg **argv, int argc, lo_message message, void *user) {
    (void)path;
    osc_device *device = user;
    lo_address source = lo_message_get_source(message);
    const char *host = source ? lo_address_get_hostname(source) : NULL;
    if (!is_allowed(device, host) || (argc != 4 && argc != 8) || types[0] != 'i' || device->count == QUEUE) return 0;
    double v[7];
    for (int i = 1; i < argc; i++) {
        if (types[i] != 'f' && types[i] != 'd') return 0;
        v[i - 1] = read_number(types[i], argv[i]);
    }
    thenar_device_sample *sample = &device->queue[(device->first + device->count++) % QUEUE];
    uint32_t sequence;
    memcpy(&sequence, argv[0], sizeof sequence);
    *sample = (thenar_device_sample){.has = THENAR_DEVICE_POSITION, .sequence = sequence};
    memcpy(sample->pose, v, 3 * sizeof *v);
    if (argc == 8) {
        sample->has |= THENAR_DEVICE_ORIENTATION;
        memcpy(sample->pose + 3, v + 3, 4 * sizeof *v);
    }
    const char *port = lo_address_get_port(source);
    if (port) set_sender(device, host, port);
    return 0;
}

/* Invalid packets are ignored: the network may send anything. */
static void ignore_error(int number, const char *message, const char *path) {
    (void)number, (void)message, (void)path;
}

static void osc_close(void *opened) {
    osc_device *device = opened;
    if (device->sender) lo_address_free(device->sender);
    if (device->server) lo_server_free(device->server);
    free(device);
}

static void *osc_open(const char *argument, char *message, size_t size) {
    char port[16];
    const char *comma = strchr(argument, ',');
    long number;
    snprintf(port, sizeof port, "%.*s", comma ? (int)(comma - argument) : (int)strlen(argument), argument);
    if (!text_to_long(port, 1, 65535, &number))
        return device_refuse(message, size, "%s is not a port; expected osc:PORT or osc:PORT,HOST", port);
    osc_device *device = MEMORY_ARRAY(osc_device, 1);
    if (!device) return device_refuse(message, size, "out of memory");
    snprintf(device->allowed, sizeof device->allowed, "%s", comma ? comma + 1 : "");
    device->server = lo_server_new(port, ignore_error);
    if (!device->server || !lo_server_add_method(device->server, "/thenar/pose", NULL, on_pose, device)) {
        osc_close(device);
        return device_refuse(message, size, "cannot listen on UDP port %s; expected a free one", port);
    }
    /* Bundles with a later time are delivered at once; liblo would queue any number of them, from anyone. */
    lo_server_enable_queue(device->server, 0, 1);
    return device;
}

static int osc_read(void *opened, thenar_device_sample *sample) {
    osc_device *device = opened;
    /* A result below 0 is a packet that is not OSC. A flood of those must not delay the poses behind it. */
    for (int packets = 0; device->count == 0; packets++)
        if (packets == PACKETS_AT_ONCE || lo_server_recv_noblock(device->server, 0) == 0) return 0;
    *sample = device->queue[device->first];
    device->first = (device->first + 1) % QUEUE;
    device->count--;
    return 1;
}

static int osc_write(void *opened, const double *values, int count) {
    osc_device *device = opened;
    if (count != 6) return -1;
    if (!device->sender) return 0;
    device->sent = (device->sent + 1) & 0x7fffffff;
    int sent = lo_send_from(device->sender, device->server, LO_TT_IMMEDIATE, "/thenar/force", "iffffff", device->sent,
                            values[0], values[1], values[2], values[3], values[4], values[5]);
    return sent < 0 ? -1 : 0;
}

const thenar_device_table device_osc_table = {.version = THENAR_DEVICE_VERSION,
                                              .size = sizeof(thenar_device_table),
                                              .kind = THENAR_DEVICE_HAPTIC,
                                              .name = "OSC",
                                              .open = osc_open,
                                              .read = osc_read,
                                              .write = osc_write,
                                              .close = osc_close};
#else
typedef int device_osc_is_not_built;
#endif
