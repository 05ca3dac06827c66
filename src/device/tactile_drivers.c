/* The drivers of tactile commands: a table in a file, OSC, a serial line, a plugin. */
#include "device/device.h"

#include "core/memory.h"
#include "core/text.h"
#include "core/threads.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

/* A table of all commands in a file. */

typedef struct csv_driver {
    driver base;
    FILE *file;
} csv_driver;

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
    self->connected = !ferror(file); /* a table that has lost rows, say on a full disk, stays incomplete */
    return self->connected;
}

static void csv_free(driver *self) {
    fclose(((csv_driver *)self)->file);
    free(self);
}

static thenar_status csv_create(const driver_source *source, const thenar_tactile *tactile, driver **out,
                                thenar_error *error) {
    const char *argument = source->argument;
    csv_driver *csv = MEMORY_ARRAY(csv_driver, 1);
    if (!csv) return error_memory(error, argument);
    csv->base = (driver){&driver_csv, tactile, true};
    csv->file = fopen(argument, "w");
    if (!csv->file) {
        free(csv);
        return error_errno(error, argument, "write");
    }
    fputs("time,device,pitch,roll,displacement,press,touching,value_1,value_2,value_3\n", csv->file);
    *out = &csv->base;
    return THENAR_OK;
}

const driver_class driver_csv = {
    .name = "csv", .rate = 1000, .all = true, .create = csv_create, .send = csv_send, .free = csv_free};

/* Open Sound Control over UDP: one message per command, /thenar/tactile/NAME with time (d), pitch, roll (rad),
 * displacement and press (m) (f), touching (i) and the values for the actuators (f). */

#ifdef THENAR_OSC

#include <lo/lo.h>

typedef struct osc_driver {
    driver base;
    lo_address target;
    char *path; /* of the message, long enough for any device */
} osc_driver;

static const char osc_prefix[] = "/thenar/tactile/";

static bool osc_send(driver *self, int device, const driver_command *command) {
    osc_driver *osc = (osc_driver *)self;
    const thenar_tactile_def *def = thenar_tactile_device(self->tactile, device);
    lo_message message = lo_message_new();
    if (!message) return false;
    /* Characters that OSC reserves or does not allow become '_'. */
    char *name = strcpy(osc->path, osc_prefix) + sizeof osc_prefix - 1;
    for (char *c = strcpy(name, def->name); *c; c++)
        if (strchr(" #*,/?[]{}", *c) || (unsigned char)*c > 126) *c = '_';
    lo_message_add_double(message, command->time);
    for (int k = 0; k < 3; k++) lo_message_add_float(message, (float)command->pose[k]);
    lo_message_add_float(message, (float)command->press);
    lo_message_add_int32(message, command->touching);
    int values = thenar_wearable_value_count(def->device);
    for (int i = 0; i < values; i++) lo_message_add_float(message, (float)command->value[i]);
    int sent = lo_send_message(osc->target, osc->path, message);
    lo_message_free(message);
    return sent >= 0;
}

static void osc_free(driver *self) {
    osc_driver *osc = (osc_driver *)self;
    free(osc->path);
    if (osc->target) lo_address_free(osc->target);
    free(osc);
}

/* HOST:PORT */
static thenar_status osc_create(const driver_source *source, const thenar_tactile *tactile, driver **out,
                                thenar_error *error) {
    const char *argument = source->argument;
    const char *colon = strrchr(argument, ':');
    long port;
    if (!colon || colon == argument || !text_to_long(colon + 1, 1, 65535, &port))
        return error_set(error, THENAR_ERROR_INPUT, "osc:%s; expected osc:HOST:PORT with a port of 1 to 65535",
                         argument);
    osc_driver *osc = MEMORY_ARRAY(osc_driver, 1);
    char *host = memory_string(argument);
    size_t longest = 0;
    for (int i = 0; i < thenar_tactile_device_count(tactile); i++) {
        size_t length = strlen(thenar_tactile_device(tactile, i)->name);
        if (length > longest) longest = length;
    }
    if (osc && host) {
        host[colon - argument] = 0;
        osc->base = (driver){&driver_osc, tactile, true};
        osc->path = MEMORY_ARRAY(char, sizeof osc_prefix + longest);
        osc->target = lo_address_new_with_proto(LO_UDP, host, colon + 1);
    }
    free(host);
    if (osc && osc->path && osc->target) {
        *out = &osc->base;
        return THENAR_OK;
    }
    if (osc) osc_free(&osc->base);
    return error_memory(error, argument);
}

const driver_class driver_osc = {.name = "osc", .rate = 500, .create = osc_create, .send = osc_send, .free = osc_free};

#else

static thenar_status osc_create(const driver_source *source, const thenar_tactile *tactile, driver **out,
                                thenar_error *error) {
    (void)tactile, (void)out;
    return error_set(error, THENAR_ERROR_INPUT, "osc:%s: this build has no OSC; expected serial:... or csv:...",
                     source->argument);
}

const driver_class driver_osc = {.name = "osc", .create = osc_create};

#endif

/* A serial line, by termios: libserialport 0.1.1 opens only lines that /sys/class/tty lists, which has no
 * pseudo-terminals, so tests could not use it. */

#define WRITE_MS 20 /* maximum time to wait for the line before a frame is dropped */
#define DEFAULT_BAUD 115200
#define FRAME_MAX 24 /* bytes */

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

/* Maps x from low..high to 0..65535. */
static unsigned scaled(double x, double low, double high) {
    return (unsigned)lround(65535 * fmax(0, fmin(1, (x - low) / (high - low))));
}

static unsigned word_of(const thenar_wearable_def *def, int value, const driver_command *command) {
    double x = command->value[value];
    switch (def->kind) {
    case THENAR_WEARABLE_THIMBLE:
        return def->by_force ? scaled(x, 0, 1) : scaled(x, def->displacement_min, def->displacement_max);
    case THENAR_WEARABLE_VIBRATION:
        return scaled(x, 0, value == 0 ? 1 : 6553.5);
    default: {
        double share = (x - def->servo_min) / (def->servo_max - def->servo_min);
        double us = 1e6 * (def->pulse_min + fmax(0, fmin(1, share)) * (def->pulse_max - def->pulse_min));
        return (unsigned)lround(fmin(us, 65535));
    }
    }
}

/* A frame of the serial protocol (docs/tactile.md): "TH", length of sequence number to values, sequence number, device,
 * kind, the values as u16, CRC-16 of everything after "TH"; little-endian. Returns its size in bytes. */
static int make_frame(const thenar_wearable_def *def, int device, unsigned sequence, const driver_command *command,
                      unsigned char frame[FRAME_MAX]) {
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

static void close_line(serial_driver *serial) {
    int reason = errno;
    if (serial->file >= 0) close(serial->file);
    serial->file = -1;
    serial->base.connected = false;
    errno = reason;
}

static void serial_connect(driver *self) {
    serial_driver *serial = (serial_driver *)self;
    serial->file = open(serial->path, O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    struct termios line;
    if (serial->file >= 0 && tcgetattr(serial->file, &line) == 0) {
        cfmakeraw(&line);
        line.c_cflag |= CLOCAL;
        cfsetspeed(&line, serial->speed);
        self->connected = tcsetattr(serial->file, TCSANOW, &line) == 0;
    }
    if (!self->connected) close_line(serial);
}

/* Sends as much of a frame as the line accepts in time. The receiver detects an incomplete frame by its checksum. */
static bool serial_send(driver *self, int device, const driver_command *command) {
    serial_driver *serial = (serial_driver *)self;
    if (!self->connected) return false;
    unsigned char frame[FRAME_MAX];
    const thenar_wearable_def *def = thenar_tactile_device(self->tactile, device)->device;
    int size = make_frame(def, device, serial->sequence++, command, frame), sent = 0;
    while (sent < size) {
        ssize_t part = write(serial->file, frame + sent, (size_t)(size - sent));
        if (part > 0) {
            sent += (int)part;
        } else if (part < 0 && errno == EAGAIN) {
            struct pollfd wait = {.fd = serial->file, .events = POLLOUT};
            if (poll(&wait, 1, WRITE_MS) <= 0) return false;
            if (wait.revents & (POLLERR | POLLHUP | POLLNVAL)) {
                close_line(serial);
                return false;
            }
        } else if (part < 0 && errno != EINTR) {
            close_line(serial);
            return false;
        }
    }
    return true;
}

static void serial_free(driver *self) {
    serial_driver *serial = (serial_driver *)self;
    close_line(serial);
    free(serial->path);
    free(serial);
}

/* PATH or PATH@BAUD. */
static thenar_status serial_create(const driver_source *source, const thenar_tactile *tactile, driver **out,
                                   thenar_error *error) {
    const char *argument = source->argument;
    long baud = DEFAULT_BAUD;
    const char *at = strrchr(argument, '@');
    size_t length = at ? (size_t)(at - argument) : strlen(argument), index = 0, count = sizeof speeds / sizeof *speeds;
    if (at && !text_to_long(at + 1, 1, 10000000, &baud)) baud = -1;
    while (index < count && speeds[index].baud != baud) index++;
    if (index == count || length == 0)
        return error_set(error, THENAR_ERROR_INPUT,
                         "serial:%s; expected serial:PATH or serial:PATH@BAUD with 9600, 19200, 38400, 57600, 115200, "
                         "230400, 460800 or 921600 baud",
                         argument);
    serial_driver *serial = MEMORY_ARRAY(serial_driver, 1);
    if (!serial) return error_memory(error, argument);
    *serial = (serial_driver){.base = {&driver_serial, tactile, false},
                              .path = memory_string(argument),
                              .speed = speeds[index].speed,
                              .file = -1};
    if (!serial->path) {
        free(serial);
        return error_memory(error, argument);
    }
    serial->path[length] = 0;
    serial_connect(&serial->base);
    if (!serial->base.connected) {
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
                                    .free = serial_free};

/* A device that somebody else's code drives: plugin:FILE[,ARGUMENT] or a device of the program, with the table of
 * thenar/device.h that haptic devices use too. A command is ten numbers: device, time (s), pitch, roll (rad),
 * displacement, press (m), touching (0 or 1) and three values for the actuators.
 *
 * The pump of haptic devices (device.c) does not fit: it repeats the newest force and lets it fade, while one plugin
 * here serves several fingers. As there, the functions of the plugin are called from a thread of their own, which is
 * abandoned if they do not return. The writer hands that thread one request at a time and waits briefly for it. */

#define NUMBERS 10
#define SECOND_NS 1000000000LL
#define OPEN_NS (5 * SECOND_NS)  /* maximum time to open the device at first, */
#define CALL_NS (SECOND_NS / 10) /* for any later request before the plugin counts as hanging, */
#define CLOSE_NS (SECOND_NS / 2) /* and to close the device */
_Static_assert(THENAR_WEARABLE_VALUES == NUMBERS - 7, "a command is ten numbers");

enum request { REQUEST_NONE, REQUEST_OPEN, REQUEST_WRITE };

/* The thread that calls the plugin, and its exchange with the writer. The one of both that ends last frees it. */
typedef struct caller {
    const thenar_device_table *table;
    void *library, *program_device; /* the latter: opened by the program, or NULL */
    char *argument;
    /* Used by the thread, and by the writer while there is no request. */
    void *opened; /* NULL: not open */
    char message[256];
    double numbers[NUMBERS];
    pthread_t thread;
    pthread_mutex_t mutex; /* guards the members below */
    pthread_cond_t changed;
    enum request request; /* pending or in progress */
    bool stop, ended, abandoned;
} caller;

typedef struct plugin_driver {
    driver base; /* connected: the last request succeeded in time */
    caller *caller;
} plugin_driver;

/* A device that the program has opened stays open until the end. */
static void close_device(caller *c) {
    if (c->opened && !c->program_device) c->table->close(c->opened);
    c->opened = NULL;
}

static void open_device(caller *c) {
    c->message[0] = 0;
    c->opened = c->program_device ? c->program_device : c->table->open(c->argument, c->message, sizeof c->message);
    c->message[sizeof c->message - 1] = 0;
    if (!c->opened) {
        if (!c->message[0]) strcpy(c->message, "cannot open");
        return;
    }
    thenar_device_info info = {0};
    if (c->table->describe) c->table->describe(c->opened, &info);
    if (info.channels >= NUMBERS) return;
    snprintf(c->message, sizeof c->message, "it takes %d channels; expected %d or more", info.channels, NUMBERS);
    close_device(c);
}

static void caller_free(caller *c) {
    if (c->library) dlclose(c->library);
    pthread_cond_destroy(&c->changed);
    pthread_mutex_destroy(&c->mutex);
    free(c->argument);
    free(c);
}

static void *caller_main(void *context) {
    caller *c = context;
    pthread_mutex_lock(&c->mutex);
    for (;;) {
        while (c->request == REQUEST_NONE && !c->stop) pthread_cond_wait(&c->changed, &c->mutex);
        if (c->stop) break;
        enum request request = c->request;
        pthread_mutex_unlock(&c->mutex);
        if (request == REQUEST_OPEN)
            open_device(c);
        else if (c->table->write(c->opened, c->numbers, NUMBERS) < 0)
            close_device(c);
        pthread_mutex_lock(&c->mutex);
        c->request = REQUEST_NONE;
        pthread_cond_signal(&c->changed);
    }
    pthread_mutex_unlock(&c->mutex);
    close_device(c);
    if (c->program_device) c->table->close(c->program_device);
    pthread_mutex_lock(&c->mutex);
    c->ended = true;
    bool abandoned = c->abandoned;
    pthread_cond_signal(&c->changed);
    pthread_mutex_unlock(&c->mutex);
    if (abandoned) caller_free(c);
    return NULL;
}

/* Waits at most so long until the thread has handled its request or has ended. To be called with the mutex held. */
static bool wait_for_caller(caller *c, int64_t ns) {
    int64_t end = clock_now() + ns;
    struct timespec until = {end / SECOND_NS, end % SECOND_NS};
    int waited = 0;
    while (!c->ended && (c->request != REQUEST_NONE || c->stop) && waited == 0)
        waited = pthread_cond_timedwait(&c->changed, &c->mutex, &until);
    return c->ended || (c->request == REQUEST_NONE && !c->stop);
}

/* Makes a request, unless one is pending. True if it was handled in time and the device is open. */
static bool make_request(caller *c, enum request request, const double *numbers, int64_t ns) {
    pthread_mutex_lock(&c->mutex);
    bool done = c->request == REQUEST_NONE;
    if (done && (request == REQUEST_OPEN) == !c->opened) { /* a late request may have opened it meanwhile */
        if (numbers) memcpy(c->numbers, numbers, sizeof c->numbers);
        c->request = request;
        pthread_cond_signal(&c->changed);
        done = wait_for_caller(c, ns);
    }
    bool open = done && c->opened;
    pthread_mutex_unlock(&c->mutex);
    return open;
}

static void plugin_connect(driver *self) {
    self->connected = make_request(((plugin_driver *)self)->caller, REQUEST_OPEN, NULL, CALL_NS);
}

static bool plugin_send(driver *self, int device, const driver_command *command) {
    if (!self->connected) return false;
    const double numbers[NUMBERS] = {
        device,         command->time,     command->pose[0],  command->pose[1],  command->pose[2],
        command->press, command->touching, command->value[0], command->value[1], command->value[2]};
    self->connected = make_request(((plugin_driver *)self)->caller, REQUEST_WRITE, numbers, CALL_NS);
    return self->connected;
}

/* A plugin that hangs is abandoned together with its thread, which frees `c` if it ever ends. */
static void caller_stop(caller *c) {
    pthread_mutex_lock(&c->mutex);
    c->stop = true;
    pthread_cond_signal(&c->changed);
    bool ended = wait_for_caller(c, CLOSE_NS);
    c->abandoned = !ended;
    if (!ended) pthread_detach(c->thread);
    pthread_mutex_unlock(&c->mutex);
    if (!ended) return;
    pthread_join(c->thread, NULL);
    caller_free(c);
}

static void plugin_free(driver *self) {
    caller_stop(((plugin_driver *)self)->caller);
    free(self);
}

static thenar_status load(caller *c, const driver_source *source, thenar_error *error) {
    c->argument = memory_string(source->argument);
    if (!c->argument) return error_memory(error, source->argument);
    c->table = source->table;
    c->program_device = source->device;
    return c->table ? THENAR_OK : plugin_load(c->argument, THENAR_DEVICE_TACTILE, &c->library, &c->table, error);
}

static caller *new_caller(void) {
    caller *c = MEMORY_ARRAY(caller, 1);
    if (!c) return NULL;
    pthread_condattr_t steady; /* the clock of clock_now */
    pthread_condattr_init(&steady);
    pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    pthread_cond_init(&c->changed, &steady);
    pthread_condattr_destroy(&steady);
    pthread_mutex_init(&c->mutex, NULL);
    return c;
}

static thenar_status plugin_create(const driver_source *source, const thenar_tactile *tactile, driver **out,
                                   thenar_error *error) {
    const char *argument = source->argument;
    plugin_driver *plugin = MEMORY_ARRAY(plugin_driver, 1);
    caller *c = plugin ? new_caller() : NULL;
    thenar_status status = c ? load(c, source, error) : error_memory(error, argument);
    if (status == THENAR_OK && pthread_create(&c->thread, NULL, caller_main, c) != 0)
        status = error_set(error, THENAR_ERROR_MEMORY, "plugin:%s: the system refused a thread", argument);
    if (status != THENAR_OK) {
        if (c) caller_free(c);
        free(plugin);
        return status;
    }
    *plugin = (plugin_driver){{&driver_plugin, tactile, make_request(c, REQUEST_OPEN, NULL, OPEN_NS)}, c};
    if (plugin->base.connected) {
        *out = &plugin->base;
        return THENAR_OK;
    }
    pthread_mutex_lock(&c->mutex);
    if (c->request == REQUEST_NONE)
        status = error_set(error, THENAR_ERROR_FILE, "plugin:%s: %s", argument, c->message);
    else
        status =
            error_set(error, THENAR_ERROR_FILE, "plugin:%s did not open within %lld s", argument, OPEN_NS / SECOND_NS);
    pthread_mutex_unlock(&c->mutex);
    plugin_free(&plugin->base);
    return status;
}

const driver_class driver_plugin = {.name = "plugin",
                                    .rate = 1000,
                                    .create = plugin_create,
                                    .connect = plugin_connect,
                                    .send = plugin_send,
                                    .free = plugin_free};
