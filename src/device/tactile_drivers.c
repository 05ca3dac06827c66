/* A table of all commands in a file. */
#include "device/tactile_output.h"

#include "core/memory.h"
#include "core/text.h"
#include "tactile/wearable.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

typedef struct csv_driver {
    driver base;
    FILE *file;
} csv_driver;

static bool csv_is_connected(const driver *self) {
    return !ferror(((const csv_driver *)self)->file);
}

/* A table that has lost rows, on a disk that was full, stays lost. */
static bool csv_connect(driver *self) {
    return csv_is_connected(self);
}

static bool csv_send(driver *self, int device, const driver_command *command) {
    FILE *file = ((csv_driver *)self)->file;
    const thenar_tactile_def *def = thenar_tactile_device(self->tactile, device);
    text_locale before = text_locale_begin();
    fprintf(file, "%.9g,%s,%.9g,%.9g,%.9g,%.9g,%d", command->time, def->name, command->pose[0], command->pose[1],
            command->pose[2], command->press, command->touching);
    int values = thenar_wearable_value_count(def->device);
    for (int i = 0; i < THENAR_WEARABLE_VALUES; i++)
        if (i < values)
            fprintf(file, ",%.9g", command->value[i]);
        else
            fputc(',', file);
    fputc('\n', file);
    text_locale_end(before);
    return !ferror(file);
}

static void csv_free(driver *self) {
    fclose(((csv_driver *)self)->file);
    free(self);
}

static thenar_status csv_create(const driver_source *source, const thenar_tactile *tactile, driver **out,
                                thenar_error *error) {
    const char *rest = source->rest;
    csv_driver *csv = MEMORY_ARRAY(csv_driver, 1);
    if (!csv) return error_memory(error, rest);
    csv->base = (driver){&driver_csv, tactile};
    csv->file = fopen(rest, "w");
    if (!csv->file) {
        free(csv);
        return error_errno(error, rest, "write");
    }
    fputs("time,device,pitch,roll,displacement,press,touching,value_1,value_2,value_3\n", csv->file);
    *out = &csv->base;
    return THENAR_OK;
}

const driver_class driver_csv = {.name = "csv",
                                 .rate = 1000,
                                 .all = true,
                                 .create = csv_create,
                                 .connect = csv_connect,
                                 .send = csv_send,
                                 .is_connected = csv_is_connected,
                                 .free = csv_free};

/* Open Sound Control over UDP: one message a command, /thenar/tactile/NAME with time (d), pitch, roll (rad), displacement
 * and press (m) (f), touching (i) and the values for the actuators (f). */

#ifdef THENAR_OSC

#include "core/memory.h"
#include "core/text.h"

#include <lo/lo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct osc_driver {
    driver base;
    lo_address target;
    char **paths; /* of each device */
    int device_count;
} osc_driver;

static bool osc_connect(driver *self) {
    (void)self;
    return true; /* UDP has no connection */
}

static bool osc_is_connected(const driver *self) {
    (void)self;
    return true;
}

static bool osc_send(driver *self, int device, const driver_command *command) {
    osc_driver *osc = (osc_driver *)self;
    lo_message message = lo_message_new();
    if (!message) return false;
    lo_message_add_double(message, command->time);
    for (int k = 0; k < 3; k++) lo_message_add_float(message, (float)command->pose[k]);
    lo_message_add_float(message, (float)command->press);
    lo_message_add_int32(message, command->touching);
    const thenar_wearable_def *def = thenar_tactile_device(self->tactile, device)->device;
    for (int i = 0; i < thenar_wearable_value_count(def); i++) lo_message_add_float(message, (float)command->value[i]);
    int sent = lo_send_message(osc->target, osc->paths[device], message);
    lo_message_free(message);
    return sent >= 0;
}

static void osc_free(driver *self) {
    osc_driver *osc = (osc_driver *)self;
    for (int i = 0; osc->paths && i < osc->device_count; i++) free(osc->paths[i]);
    free(osc->paths);
    if (osc->target) lo_address_free(osc->target);
    free(osc);
}

/* Characters that OSC gives a meaning, or does not allow, become '_'. */
static char *path_of(const char *name) {
    static const char before[] = "/thenar/tactile/";
    char *path = MEMORY_ARRAY(char, sizeof before + strlen(name));
    if (!path) return NULL;
    sprintf(path, "%s%s", before, name);
    for (char *c = path + sizeof before - 1; *c; c++)
        if (strchr(" #*,/?[]{}", *c) || (unsigned char)*c > 126) *c = '_';
    return path;
}

/* HOST:PORT */
static thenar_status osc_create(const driver_source *source, const thenar_tactile *tactile, driver **out,
                                thenar_error *error) {
    const char *rest = source->rest;
    const char *colon = strrchr(rest, ':');
    long port;
    if (!colon || colon == rest || !text_to_long(colon + 1, 1, 65535, &port))
        return error_set(error, THENAR_ERROR_INPUT, "osc:%s; expected osc:HOST:PORT with a port of 1 to 65535", rest);
    osc_driver *osc = MEMORY_ARRAY(osc_driver, 1);
    char *host = memory_string(rest);
    int count = thenar_tactile_device_count(tactile);
    if (osc && host) {
        host[colon - rest] = 0;
        osc->base = (driver){&driver_osc, tactile};
        osc->device_count = count;
        osc->paths = MEMORY_ARRAY(char *, count);
        osc->target = lo_address_new_with_proto(LO_UDP, host, colon + 1);
    }
    free(host);
    bool enough = osc && osc->paths && osc->target;
    for (int i = 0; i < count && enough; i++)
        enough = (osc->paths[i] = path_of(thenar_tactile_device(tactile, i)->name)) != NULL;
    if (enough) {
        *out = &osc->base;
        return THENAR_OK;
    }
    if (osc) osc_free(&osc->base);
    return error_memory(error, rest);
}

const driver_class driver_osc = {.name = "osc",
                                 .rate = 500,
                                 .create = osc_create,
                                 .connect = osc_connect,
                                 .send = osc_send,
                                 .is_connected = osc_is_connected,
                                 .free = osc_free};

#else

static thenar_status osc_create(const driver_source *source, const thenar_tactile *tactile, driver **out,
                                thenar_error *error) {
    const char *rest = source->rest;
    (void)tactile, (void)out;
    return error_set(error, THENAR_ERROR_INPUT, "osc:%s: this build has no OSC; expected serial:... or csv:...", rest);
}

const driver_class driver_osc = {.name = "osc", .create = osc_create};

#endif

/* A serial line. By termios rather than libserialport: version 0.1.1 of that opens only what /sys/class/tty lists, so no
 * pseudo-terminal, and with it nothing here could be tested. */

#define WRITE_MS 20 /* that a line may take before a frame is given up */
#define USUAL_BAUD 115200

typedef struct serial_driver {
    driver base;
    char *path;
    speed_t speed;
    int file; /* -1: closed */
    unsigned sequence;
} serial_driver;

unsigned driver_crc(const unsigned char *bytes, int count) {
    unsigned crc = 0xffff;
    for (int i = 0; i < count; i++) {
        crc ^= (unsigned)bytes[i] << 8;
        for (int bit = 0; bit < 8; bit++) crc = (crc & 0x8000 ? crc << 1 ^ 0x1021 : crc << 1) & 0xffff;
    }
    return crc;
}

/* Where x is between low and high, as 0 to `most`. */
static unsigned scaled(double x, double low, double high, double max) {
    double share = (x - low) / (high - low);
    return (unsigned)lround(max * fmax(0, fmin(1, share)));
}

static unsigned word_of(const thenar_wearable_def *def, int value, const driver_command *command) {
    double x = command->value[value];
    switch (def->kind) {
    case THENAR_WEARABLE_THIMBLE:
        return def->by_force ? scaled(x, 0, 1, 65535) : scaled(x, def->displacement_min, def->displacement_max, 65535);
    case THENAR_WEARABLE_VIBRATION:
        return value == 0 ? scaled(x, 0, 1, 65535) : scaled(x, 0, 6553.5, 65535);
    default: {
        double share = (x - def->servo_min) / (def->servo_max - def->servo_min);
        double us = 1e6 * (def->pulse_min + fmax(0, fmin(1, share)) * (def->pulse_max - def->pulse_min));
        return (unsigned)lround(fmin(us, 65535));
    }
    }
}

/* A frame of the serial protocol (docs/tactile.md): "TH", length of what is between, sequence number, device, kind, the
 * values as u16, CRC-16 of all from the length on; little-endian. Returns its bytes. */
static int driver_frame(const thenar_wearable_def *def, int device, unsigned sequence, const driver_command *command,
                        unsigned char frame[DRIVER_FRAME_MAX]) {
    int values = thenar_wearable_value_count(def), at = 0;
    frame[at++] = 'T', frame[at++] = 'H';
    frame[at++] = (unsigned char)(3 + 2 * values);
    frame[at++] = (unsigned char)sequence;
    frame[at++] = (unsigned char)device;
    frame[at++] = (unsigned char)def->kind;
    for (int i = 0; i < values; i++) {
        unsigned word = word_of(def, i, command);
        frame[at++] = (unsigned char)(word & 0xff), frame[at++] = (unsigned char)(word >> 8);
    }
    unsigned crc = driver_crc(frame + 2, at - 2);
    frame[at++] = (unsigned char)(crc & 0xff), frame[at++] = (unsigned char)(crc >> 8);
    return at;
}

static const struct {
    long baud;
    speed_t speed;
} speeds[] = {{9600, B9600},     {19200, B19200},   {38400, B38400},   {57600, B57600},
              {115200, B115200}, {230400, B230400}, {460800, B460800}, {921600, B921600}};

static void attach_all(serial_driver *serial) {
    if (serial->file >= 0) close(serial->file);
    serial->file = -1;
}

static bool serial_connect(driver *self) {
    serial_driver *serial = (serial_driver *)self;
    if (serial->file >= 0) return true;
    serial->file = open(serial->path, O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    if (serial->file < 0) return false;
    struct termios line;
    if (tcgetattr(serial->file, &line) == 0) {
        cfmakeraw(&line);
        line.c_cflag |= CLOCAL;
        cfsetspeed(&line, serial->speed);
        if (tcsetattr(serial->file, TCSANOW, &line) == 0) return true;
    }
    int kept = errno;
    attach_all(serial);
    errno = kept;
    return false;
}

/* All of it, or as much as the line takes in time: a frame that breaks off is one that the receiver's checksum finds. */
static bool serial_send(driver *self, int device, const driver_command *command) {
    serial_driver *serial = (serial_driver *)self;
    if (serial->file < 0) return false;
    unsigned char frame[DRIVER_FRAME_MAX];
    const thenar_wearable_def *def = thenar_tactile_device(self->tactile, device)->device;
    int size = driver_frame(def, device, serial->sequence++, command, frame), sent = 0;
    while (sent < size) {
        ssize_t part = write(serial->file, frame + sent, (size_t)(size - sent));
        if (part > 0) {
            sent += (int)part;
        } else if (part < 0 && errno == EAGAIN) {
            struct pollfd wait = {.fd = serial->file, .events = POLLOUT};
            if (poll(&wait, 1, WRITE_MS) <= 0) return false;
            if (wait.revents & (POLLERR | POLLHUP | POLLNVAL)) {
                attach_all(serial);
                return false;
            }
        } else if (part < 0 && errno != EINTR) {
            attach_all(serial);
            return false;
        }
    }
    return true;
}

static bool serial_is_connected(const driver *self) {
    return ((const serial_driver *)self)->file >= 0;
}

static void serial_free(driver *self) {
    serial_driver *serial = (serial_driver *)self;
    attach_all(serial);
    free(serial->path);
    free(serial);
}

/* PATH or PATH@BAUD. */
static thenar_status serial_create(const driver_source *source, const thenar_tactile *tactile, driver **out,
                                   thenar_error *error) {
    const char *rest = source->rest;
    long baud = USUAL_BAUD;
    const char *at = strrchr(rest, '@');
    size_t length = at ? (size_t)(at - rest) : strlen(rest), index = 0, count = sizeof speeds / sizeof *speeds;
    if (at && !text_to_long(at + 1, 1, 10000000, &baud)) baud = -1;
    while (index < count && speeds[index].baud != baud) index++;
    if (index == count || length == 0)
        return error_set(error, THENAR_ERROR_INPUT,
                         "serial:%s; expected serial:PATH or serial:PATH@BAUD with 9600, 19200, 38400, 57600, 115200, "
                         "230400, 460800 or 921600 baud",
                         rest);
    serial_driver *serial = MEMORY_ARRAY(serial_driver, 1);
    if (!serial) return error_memory(error, rest);
    *serial = (serial_driver){
        .base = {&driver_serial, tactile}, .path = memory_string(rest), .speed = speeds[index].speed, .file = -1};
    if (!serial->path) {
        free(serial);
        return error_memory(error, rest);
    }
    serial->path[length] = 0;
    if (!serial_connect(&serial->base)) {
        thenar_status status = error_errno(error, serial->path, "open the serial line");
        serial_free(&serial->base);
        return status;
    }
    *out = &serial->base;
    return THENAR_OK;
}

const driver_class driver_serial = {.name = "serial",
                                    .rate = 100,
                                    .create = serial_create,
                                    .connect = serial_connect,
                                    .send = serial_send,
                                    .is_connected = serial_is_connected,
                                    .free = serial_free};
