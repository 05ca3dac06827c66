/* The simulated person as a device: lives in the loop's time. */
#include "device/kinds.h"

#include "base/memory.h"
#include "device/user.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST 0.05 /* s; whoever was not looked at for longer has paused */

typedef struct user_device {
    user_model model;
    user_state state;
    double wrench[6];
    int64_t last_ns;
    uint64_t sequence;
} user_device;

static void *user_open(const char *argument, char *message, size_t size) {
    thenar_error error;
    user_device *user = MEMORY_ARRAY(user_device, 1);
    if (!user || user_model_read(argument, &user->model, &error) != THENAR_OK) {
        snprintf(message, size, "%s", user ? error.text : "out of memory");
        free(user);
        return NULL;
    }
    user->state = user_begin(&user->model);
    return user;
}

static void user_describe(void *device, thenar_device_info *info) {
    const user_device *user = device;
    info->can = THENAR_DEVICE_POSITION | THENAR_DEVICE_VELOCITY | THENAR_DEVICE_FORCE;
    if (user->model.turns) info->can |= THENAR_DEVICE_ORIENTATION | THENAR_DEVICE_SPIN | THENAR_DEVICE_TORQUE;
}

int device_user_read_at(void *device, int64_t now_ns, thenar_device_sample *sample) {
    user_device *user = device;
    double elapsed = user->last_ns ? 1e-9 * (double)(now_ns - user->last_ns) : 0;
    user->last_ns = now_ns;
    user_advance(&user->model, &user->state, user->wrench, elapsed < LONGEST ? elapsed : LONGEST);
    user_sample(&user->state, ++user->sequence, sample);
    if (!user->model.turns) sample->has &= ~(unsigned)(THENAR_DEVICE_ORIENTATION | THENAR_DEVICE_SPIN);
    return 1;
}

static int user_write(void *device, const double *values, int count) {
    user_device *user = device;
    if (count != 6) return -1;
    memcpy(user->wrench, values, sizeof user->wrench);
    if (!user->model.turns) memset(user->wrench + 3, 0, 3 * sizeof *user->wrench);
    return 0;
}

static void user_close(void *device) {
    user_device *user = device;
    user_model_free(&user->model);
    free(user);
}

const thenar_device_table device_user_table = {.version = THENAR_DEVICE_VERSION,
                                               .size = sizeof(thenar_device_table),
                                               .kind = THENAR_DEVICE_HAPTIC,
                                               .name = "simulated person",
                                               .open = user_open,
                                               .describe = user_describe,
                                               .write = user_write,
                                               .close = user_close};
