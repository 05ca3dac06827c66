/* A device as a plugin: all that a driver has to bring. This one is a weight on a spring that swings by itself and is
 * pushed by the force that it is given; a driver talks to its hardware instead. Build it as a shared library,
 *     cc -shared -fPIC device_plugin.c -o device_plugin.so
 * and use it as the device plugin:./device_plugin.so or, with the amplitude in metres, plugin:./device_plugin.so,0.02 */
#include <thenar/device.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MASS 0.2        /* kg */
#define STIFFNESS 100.0 /* N/m */
#define DAMPING 2.0     /* N s/m */
#define SWING 1.0       /* turns a second */

typedef struct weight {
    double amplitude, began, time, position, velocity, force;
    uint64_t count;
} weight;

static double seconds(void) {
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Called once, from the thread that calls all the others too. NULL and a message: it does not work. */
static void *weight_open(const char *argument, char *message, size_t size) {
    char *end;
    double amplitude = argument[0] ? strtod(argument, &end) : 0.02;
    if (!(amplitude > 0 && amplitude < 1)) {
        snprintf(message, size, "\"%s\" is no amplitude; expected metres, up to 1", argument);
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

/* The newest sample: 1. Without a new one: 0. */
static int weight_read(void *device, thenar_device_sample *sample) {
    weight *w = device;
    double now = seconds();
    while (w->time < now) {
        const double h = 1e-4, pi = 3.14159265358979;
        double wanted = w->amplitude * sin(2 * pi * SWING * (w->time - w->began));
        double pull = STIFFNESS * (wanted - w->position) - DAMPING * w->velocity + w->force;
        w->velocity += h * pull / MASS;
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

/* The one name that Thenar looks for. */
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
const thenar_device_table *
thenar_device_plugin(void);

const thenar_device_table *thenar_device_plugin(void) {
    return &table;
}
