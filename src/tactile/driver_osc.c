/* Open Sound Control over UDP: one message a command, /thenar/tactile/NAME with time (d), pitch, roll (rad), displacement
 * and press (m) (f), touching (i) and the values for the actuators (f). */
#include "tactile/driver.h"

#ifdef THENAR_OSC

#include "base/memory.h"
#include "base/text.h"

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
    const thenar_wearable_def *def = &thenar_tactile_device(self->tactile, device)->device;
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
static thenar_status osc_create(const char *rest, const thenar_tactile *tactile, driver **out, thenar_error *error) {
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

static thenar_status osc_create(const char *rest, const thenar_tactile *tactile, driver **out, thenar_error *error) {
    (void)tactile, (void)out;
    return error_set(error, THENAR_ERROR_INPUT, "osc:%s: this build has no OSC; expected serial:... or csv:...", rest);
}

const driver_class driver_osc = {.name = "osc", .create = osc_create};

#endif
