/* One tick of the haptic loop for one handle: a function of what is kept, the device's newest sample, what the
 * simulation last told, and the time. It knows no threads and no clocks, so that it can be tested without any. */
#ifndef THENAR_HAPTIC_TICK_H
#define THENAR_HAPTIC_TICK_H

#include "device/device.h"
#include "haptic/energy.h"
#include "haptic/linear.h"
#include "math/vec3.h"

#include "thenar/haptic.h"

#define HAPTIC_LONGEST_STEP 0.1 /* s; the simulation may be expected that late, not later */

/* What is believed of the device. */
typedef struct haptic_device {
    vec3 position;
    quat orientation;
    double velocity[6];
    uint64_t number; /* of the last sample that was looked at */
    double silence;  /* s since the last good one */
    bool known;
} haptic_device;

typedef struct haptic_state {
    haptic_device device;
    /* The proxy. */
    vec3 position;
    quat orientation;
    double velocity[6];
    /* The simulation's last good news, inertia taken out of force, stiffness and damping. */
    struct haptic_linear linear;
    uint64_t seen_step;        /* of the last news that were looked at */
    double age;                /* s since they were told */
    double weight[6];          /* of a free tool: its force, low-passed */
    double follow;             /* share of its motion that left its force as it was, 0 to 1 */
    vec3 push;                 /* where it pushes since it touches something, of unit length; zero: nowhere yet */
    struct haptic_linear wall; /* what it pushed at last; step 0: nothing that is remembered */
    double wall_age;           /* s since then */
    bool both_sides;           /* and it has pushed the other way too: it is held, not leaned on */
    /* What is sent. */
    double wrench[6]; /* before it fades */
    double gain;
    bool stale, silent, restarting; /* why it fades; restarting: the proxy begins anew when it has */
    haptic_energy energy;
    int64_t last_ns;
    bool ticked;
    uint64_t news, samples, faults[THENAR_HAPTIC_FAULTS];
} haptic_state;

/* The sample's pose is the world's. `dt`: how long a tick should be, s; `now_ns`: the monotonic clock. wrench: force and torque on the device, in the
 * world's axes, until the next tick. */
void haptic_tick(const thenar_haptic_settings *settings, haptic_state *state, const device_sample *sample,
                 const struct haptic_linear *linear, int64_t now_ns, double dt, double wrench[6]);

/* Whether all of it is finite and of a sane size, and its matrices could be what they should be. */
bool haptic_linear_is_sane(const struct haptic_linear *linear);

#endif
