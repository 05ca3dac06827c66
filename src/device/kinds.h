/* The devices that come along, and how they are found. */
#ifndef THENAR_DEVICE_KINDS_H
#define THENAR_DEVICE_KINDS_H

#include "base/error.h"

#include "thenar/device.h"

#include <stdbool.h>

typedef struct device_kind {
    const char *name;
    const thenar_device_table *table; /* NULL: a plugin's */
    bool direct;                      /* never waits: the loop calls it itself */
    /* Of a direct one, in place of its table's `read`, which is NULL: at a given time of the loop's clock, which need
     * not be the system's. */
    int (*read_at)(void *device, int64_t now_ns, thenar_device_sample *sample);
} device_kind;

extern const thenar_device_table device_user_table, device_recorded_table;
int device_user_read_at(void *device, int64_t now_ns, thenar_device_sample *sample);
int device_recorded_read_at(void *device, int64_t now_ns, thenar_device_sample *sample);
#ifdef THENAR_OSC
extern const thenar_device_table device_osc_table;
#endif
#ifdef THENAR_WEBSOCKET
extern const thenar_device_table device_ws_table;
#endif

/* The kind of that name, or an error that lists those there are. */
thenar_status device_kind_find(const char *name, device_kind *out, thenar_error *error);

/* Loads a plugin and looks at its table, which has to be of that kind. `library` is to be closed with dlclose when the device is. */
thenar_status plugin_load(const char *path, thenar_device_kind kind, void **library, const thenar_device_table **table,
                          thenar_error *error);

/* What is wrong with a table, or NULL. */
const char *device_table_wrong(const thenar_device_table *table);

#endif
