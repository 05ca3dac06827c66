/* A device plugin that misbehaves as its argument says. Compiled several times: with FAULTY_EMPTY it exports nothing,
 * with FAULTY_OLD its version is another, with FAULTY_HOLLOW one function is missing, with FAULTY_NULL the table; with
 * FAULTY_TACTILE it is a tactile device. */
#include "thenar/device.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct faulty {
    char how[64];
    uint64_t count;
    int calls;
} faulty;

static void sleep_ms(long ms) {
    struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&pause, NULL);
}

static void *faulty_open(const char *argument, char *message, size_t size) {
    faulty *f = calloc(1, sizeof *f);
    strncpy(f->how, argument, sizeof f->how - 1);
    if (strcmp(argument, "refuse") == 0) {
        strncpy(message, "the cable is not plugged in", size);
        free(f);
        return NULL;
    }
    if (strcmp(argument, "mute") == 0) { /* fails and says nothing */
        free(f);
        return NULL;
    }
    if (strcmp(argument, "open-hangs") == 0) sleep_ms(7000);
    return f;
}

static void faulty_describe(void *device, thenar_device_info *info) {
    faulty *f = device;
    info->channels = strcmp(f->how, "few") == 0 ? 3 : 10;
    if (strcmp(f->how, "garbage") == 0) memset(info, 0x7f, sizeof *info);
}

static int faulty_read(void *device, thenar_device_sample *sample) {
    faulty *f = device;
    f->calls++;
    if (f->calls % 2 == 0 && strcmp(f->how, "sequence") != 0) return 0;
    sample->has = THENAR_DEVICE_POSITION | THENAR_DEVICE_ORIENTATION;
    sample->pose[6] = 1;
    sample->sequence = ++f->count;
    if (strcmp(f->how, "fail") == 0 && f->count > 200) return -5;
    if (strcmp(f->how, "hang") == 0 && f->count == 200) sleep_ms(300);
    if (strcmp(f->how, "nan") == 0 && f->count > 200) sample->pose[0] = NAN;
    if (strcmp(f->how, "garbage") == 0) {
        memset(sample, 0x7f, sizeof *sample);
        return 12345;
    }
    if (strcmp(f->how, "sequence") == 0) { /* 1 2 2 4 3 5, again and again */
        static const uint64_t pattern[] = {1, 2, 2, 4, 3, 5};
        uint64_t n = f->count - 1;
        if (n >= 60) return 0;
        sample->sequence = 5 * (n / 6) + pattern[n % 6];
    }
    return 1;
}

static int faulty_write(void *device, const double *values, int count) {
    faulty *f = device;
    (void)values, (void)count;
    if (strncmp(f->how, "while ", 6) == 0) /* hangs as long as there is that file */
        while (access(f->how + 6, F_OK) == 0) sleep_ms(1);
    if (strcmp(f->how, "fail third") == 0) return ++f->calls % 3 == 0 ? -1 : 0;
    return strcmp(f->how, "fail") == 0 ? -1 : 0;
}

static void faulty_close(void *device) {
    faulty *f = device;
    if (strcmp(f->how, "close-hangs") == 0) sleep_ms(900);
    free(f);
}

static const thenar_device_table table = {
#ifdef FAULTY_OLD
    .version = 77,
#else
    .version = THENAR_DEVICE_VERSION,
#endif
    .size = sizeof(thenar_device_table),
#ifdef FAULTY_TACTILE
    .kind = THENAR_DEVICE_TACTILE,
#else
    .kind = THENAR_DEVICE_HAPTIC,
#endif
    .name = "faulty",
    .open = faulty_open,
    .describe = faulty_describe,
#ifdef FAULTY_HOLLOW
    .read = sizeof(faulty_read(NULL, NULL)) > 1000 ? faulty_read : NULL,
#else
    .read = faulty_read,
#endif
    .write = faulty_write,
    .close = faulty_close,
};

__attribute__((visibility("default"))) const thenar_device_table *
#ifdef FAULTY_EMPTY
thenar_another_name(void);
const thenar_device_table *thenar_another_name(void) {
#else
thenar_device_plugin(void);
const thenar_device_table *thenar_device_plugin(void) {
#endif
#ifdef FAULTY_NULL
    return table.version > 1000 ? &table : (void *)0;
#else
    return &table;
#endif
}
