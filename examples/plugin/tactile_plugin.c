/* A tactile device as a plugin: everything that a driver needs. This one writes one line per command to a file; a driver
 * talks to its hardware instead. Build it as a shared library,
 *     cc -shared -fPIC tactile_plugin.c -o tactile_plugin.so $(pkg-config --cflags thenar)
 * and send commands to it: thenar run grip-strong --send plugin:./tactile_plugin.so,commands.txt */
#include <thenar/device.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define NUMBERS 10 /* device, time, pitch, roll, displacement, press, touching, three values */

/* All functions are called from one thread, this one again after a failed write. NULL and a message: the device cannot
 * be opened. */
static void *lines_open(const char *argument, char *message, size_t size) {
    FILE *file = argument[0] ? fopen(argument, "a") : NULL;
    if (!argument[0])
        snprintf(message, size, "no file; expected plugin:./tactile_plugin.so,FILE");
    else if (!file)
        snprintf(message, size, "cannot write %s: %s", argument, strerror(errno));
    return file;
}

static void lines_describe(void *device, thenar_device_info *info) {
    (void)device;
    info->can = 0;
    info->channels = NUMBERS;
}

/* This device measures nothing. */
static int lines_read(void *device, thenar_device_sample *sample) {
    (void)device, (void)sample;
    return 0;
}

static int lines_write(void *device, const double *values, int count) {
    FILE *file = device;
    if (count < NUMBERS) return -1;
    fprintf(file, "%.0f", values[0]);
    for (int i = 1; i < NUMBERS; i++) fprintf(file, " %.9g", values[i]);
    fputc('\n', file);
    return fflush(file) == 0 ? 0 : -1;
}

static void lines_close(void *device) {
    fclose(device);
}

static const thenar_device_table table = {.version = THENAR_DEVICE_VERSION,
                                          .size = sizeof(thenar_device_table),
                                          .kind = THENAR_DEVICE_TACTILE,
                                          .name = "lines in a file",
                                          .open = lines_open,
                                          .describe = lines_describe,
                                          .read = lines_read,
                                          .write = lines_write,
                                          .close = lines_close};

/* The symbol that Thenar looks up. */
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
const thenar_device_table *
thenar_device_plugin(void);

const thenar_device_table *thenar_device_plugin(void) {
    return &table;
}
