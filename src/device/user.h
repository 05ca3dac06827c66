/* A simulated person: a hand's mass on a spring and a damper that pull it along a script, and a device in it that pushes
 * back. With it the loop is closed without hardware.
 *     m dv/dt = k (p(t) - x) + d (p'(t) - v) - f v + F,
 * p the script, F the device's force, f the friction of the device itself; the same for turns. */
#ifndef DEVICE_USER_H
#define DEVICE_USER_H

#include "core/error.h"
#include "core/vec3.h"

#include "thenar/device.h"

#include <stdbool.h>

typedef struct user_key {
    double time; /* s, ascending */
    vec3 position;
    vec3 turn; /* rotation vector, rad */
} user_key;

typedef struct user_model {
    double mass, stiffness, damping, friction;                   /* kg, N/m, N s/m, N s/m */
    double inertia, turn_stiffness, turn_damping, turn_friction; /* kg m2, N m/rad, N m s/rad, N m s/rad */
    user_key *keys;
    int key_count;
    bool
        turns; /* the device knows how it is turned, and twists back; else it is a thimble with three degrees of freedom */
    bool repeat; /* from the start when the script is over; otherwise the last place is held */
} user_model;

typedef struct user_state {
    double time;
    vec3 position, velocity, spin;
    quat orientation;
} user_state;

/* A hand of medium firmness that has no script yet. */
user_model user_model_default(void);

/* Reads a script (docs/haptic-devices.md has the format). "": a built-in one, which presses down every two seconds. */
thenar_status user_model_read(const char *path, user_model *out, thenar_error *error);
/* The same from text; `name` is for messages. */
thenar_status user_model_parse(const char *text, size_t size, const char *name, user_model *out, thenar_error *error);
void user_model_free(user_model *model);

/* At rest where the script begins. */
user_state user_begin(const user_model *model);

/* Moves on by dt seconds under a wrench (N, N m) that is held. */
void user_advance(const user_model *model, user_state *state, const double wrench[6], double dt);

void user_sample(const user_state *state, uint64_t sequence, thenar_device_sample *out);

#endif
