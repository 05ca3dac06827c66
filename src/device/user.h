/* A simulated person: the mass of a hand, pulled along a script by a spring and a damper, holds a device. It closes the loop
 * without hardware.
 *     m dv/dt = k (p(t) - x) + d (p'(t) - v) - f v + F,
 * p the script, F the force of the device, f the friction of the device; rotations likewise. */
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
    bool turns;  /* the device measures its orientation and renders torques; false: three degrees of freedom */
    bool repeat; /* the script starts again when it ends; false: the last position is held */
} user_model;

typedef struct user_state {
    double time;
    vec3 position, velocity, spin;
    quat orientation;
} user_state;

/* A hand of medium stiffness, without a script. */
user_model user_model_default(void);

/* Reads a script (docs/haptic-devices.md has the format). "": a built-in one, which presses down every two seconds. */
thenar_status user_model_read(const char *path, user_model *out, thenar_error *error);
/* The same from text; `name` is for messages. */
thenar_status user_model_parse(const char *text, size_t size, const char *name, user_model *out, thenar_error *error);
void user_model_free(user_model *model);

/* At rest at the start of the script. */
user_state user_begin(const user_model *model);

/* Advances by dt seconds under a constant wrench (N, N m). */
void user_advance(const user_model *model, user_state *state, const double wrench[6], double dt);

void user_sample(const user_state *state, uint64_t sequence, thenar_device_sample *out);

#endif
