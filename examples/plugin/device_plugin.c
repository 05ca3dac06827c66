/* A haptic device as a plugin: everything that a driver needs. This one simulates a weight on a spring that oscillates
 * and reacts to the rendered force; a driver talks to its hardware instead. Build it as a shared library,
 *     cc -shared -fPIC device_plugin.c -o device_plugin.so $(pkg-config --cflags thenar) -lm
 * and use it as the device plugin:./device_plugin.so or, with the amplitude in metres, plugin:./device_plugin.so,0.02 */
#include <thenar/device.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MASS 0.2        /* kg */
#define STIFFNESS 100.0 /* N/m */
#define DAMPING 2.0     /* N s/m */
#define FREQUENCY 1.0   /* Hz */

typedef struct weight {
    double amplitude, began, time, position, velocity, force;
    uint64_t count;
} weight;

static double seconds(void) {
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* All functions are called from one thread, this one once. NULL and a message: the device cannot be opened. */
static void *weight_open(const char *argument, char *message, size_t size) {
    char *end;
    double amplitude = argument[0] ? strtod(argument, &end) : 0.02;
    if (!(amplitude > 0 && amplitude < 1)) {
        snprintf(message, size, "\"%s\" is not an amplitude; expected metres, less than 1", argument);
        return NULL;
    }
    weight *w = calloc(1, sizeof *w);
    if (!w) {
        snprintf(message, size, "out of memory");
        return NULL;
    }
    w->amplitude = amplitude;
    w->began = w->time = seconds();
    return w;
}

static void weight_describe(void *device, thenar_device_info *info) {
    (void)device;
    info->can = THENAR_DEVICE_POSITION | THENAR_DEVICE_VELOCITY | THENAR_DEVICE_FORCE;
    info->max_force = 5;
    info->rate = 1000;
}

/* Returns 1 and the newest sample, or 0 if there is no new one. */
static int weight_read(void *device, thenar_device_sample *sample) {
    weight *w = device;
    double now = seconds();
    while (w->time < now) {
        const double h = 1e-4, pi = 3.14159265358979;
        double target = w->amplitude * sin(2 * pi * FREQUENCY * (w->time - w->began));
        double force = STIFFNESS * (target - w->position) - DAMPING * w->velocity + w->force;
        w->velocity += h * force / MASS;
        w->position += h * w->velocity;
        w->time += h;
    }
    sample->has = THENAR_DEVICE_POSITION | THENAR_DEVICE_VELOCITY;
    sample->sequence = ++w->count;
    sample->pose[1] = w->position;
    sample->velocity[1] = w->velocity;
    return 1;
}

static int weight_write(void *device, const double *values, int count) {
    weight *w = device;
    if (count < 3) return -1;
    w->force = values[1];
    return 0;
}

static void weight_close(void *device) {
    free(device);
}

static const thenar_device_table table = {.version = THENAR_DEVICE_VERSION,
                                          .size = sizeof(thenar_device_table),
                                          .kind = THENAR_DEVICE_HAPTIC,
                                          .name = "weight on a spring",
                                          .open = weight_open,
                                          .describe = weight_describe,
                                          .read = weight_read,
                                          .write = weight_write,
                                          .close = weight_close};

/* The symbol that Thenar looks up. */
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
const thenar_device_table *
thenar_device_plugin(void);

const thenar_device_table *thenar_device_plugin(void) {
    return &table;
}
