#include "device/kinds.h"

#include "base/text.h"

#include <string.h>

static const device_kind kinds[] = {
    {"user", &device_user_table, true, device_user_read_at},
    {"recorded", &device_recorded_table, true, device_recorded_read_at},
#ifdef THENAR_OSC
    {"osc", &device_osc_table, false, NULL},
#endif
#ifdef THENAR_WEBSOCKET
    {"ws", &device_ws_table, false, NULL},
#endif
    {"plugin", NULL, false, NULL},
};
#define KINDS (sizeof kinds / sizeof kinds[0])

/* Kinds that this build lacks are named, with what they need. */
static const char *left_out(const char *name) {
#ifndef THENAR_OSC
    if (strcmp(name, "osc") == 0) return "this build has no OSC (it needs liblo, -DTHENAR_OSC=ON)";
#endif
#ifndef THENAR_WEBSOCKET
    if (strcmp(name, "ws") == 0) return "this build has no WebSocket (it needs libwebsockets, -DTHENAR_WEBSOCKET=ON)";
#endif
    (void)name;
    return NULL;
}

thenar_status device_kind_find(const char *name, device_kind *out, thenar_error *error) {
    const char *names[KINDS];
    for (size_t i = 0; i < KINDS; i++) {
        names[i] = kinds[i].name;
        if (strcmp(name, names[i]) != 0) continue;
        *out = kinds[i];
        return THENAR_OK;
    }
    const char *missing = left_out(name);
    if (missing) return error_set(error, THENAR_ERROR_INPUT, "device %s: %s", name, missing);
    const char *closest = text_closest(name, names, KINDS);
    return error_set(error, THENAR_ERROR_INPUT,
                     "unknown device %s%s%s; expected user:FILE, recorded:FILE, osc:PORT, ws:PORT, plugin:FILE or none",
                     name, closest ? "; did you mean " : "", closest ? closest : "");
}
