/* The closed loop of a simulated person with a device, the tick of the haptic loop and a simulation with a handle, in
 * simulated time: no threads, no clock.
 *
 * The simulation steps slower than the loop. A step uses the pose and velocity of the device at its start, and is
 * published at its end or earlier, as thenar_haptic_drive_sim and thenar_haptic_publish_sim do in real time with a
 * simulation that needs all of its time. */
#ifndef BENCH_CLOSED_LOOP_H
#define BENCH_CLOSED_LOOP_H

#include "haptic/haptic.h"

#include "thenar/thenar.h"

/* How the simulation is rendered. */
typedef enum haptic_rendering {
    RENDER_LINEAR, /* by its linearization */
    RENDER_HELD,   /* by its force, held from step to step */
    RENDER_PLAIN,  /* by a second coupling to the last pose of the handle (perez2013, 4.4) */
    RENDER_DIRECT  /* without a proxy: one step per tick, the force of the handle's own coupling */
} haptic_rendering;

typedef struct closed_loop {
    thenar_sim *sim; /* its step is a multiple of the tick; the device drives handle 0 */
    haptic_rendering rendering;
    thenar_haptic_handle handle;
    user_model user; /* relative to the origin of the device */
    user_state person;
    haptic_state state;
    struct haptic_linear published, next; /* known to the loop; of the current step */
    double wrench[6], wrench_before[6];   /* sent in this tick and in the previous one */
    double returned, returned_max;        /* energy returned less energy put in, and its maximum, J */
    double dt;                            /* of the loop, s */
    int publish_after;                    /* ticks after which a step is published; 0: at its end */
    int64_t tick;
} closed_loop;

/* Resets the simulation, lets it settle, and starts at rest at the start of the script. The caller keeps `sim`. */
closed_loop closed_loop_begin(thenar_sim *sim, haptic_rendering rendering, thenar_haptic_settings settings,
                              user_model user);

/* The position of the device in the world. */
vec3 closed_loop_position(const closed_loop *loop);

/* One tick of simulation, loop and person. The device renders a force one tick late, as most devices do. */
void closed_loop_tick(closed_loop *loop);

/* A script: touch, press, slide, release. Moves from the origin of the device to where it presses, slides to another
 * position, and returns. */
typedef struct press_script {
    user_key keys[7];
} press_script;

press_script press_script_make(vec3 pressed, vec3 slid);

/* A hand with this stiffness and this share of critical damping, for rotations too. */
user_model press_script_user(press_script *script, double stiffness, double damping_share);

/* Runs a press script; false if an oscillation grows while the hand holds still. */
bool closed_loop_is_stable(closed_loop *loop);

/* The force against the motion of a device that moves through free space at a constant speed, N. */
double closed_loop_drag(thenar_sim *sim, haptic_rendering rendering, thenar_haptic_settings settings, double speed);

/* Delay from the crossing of the surface, `gap` below the origin of the device, to a force, s. The device moves at a
 * constant speed and starts `phase` ticks after a step. INFINITY: there is no force. */
double closed_loop_delay(thenar_sim *sim, haptic_rendering rendering, thenar_haptic_settings settings, double gap,
                         double speed, int phase, int publish_after);

/* Makes a simulation whose handle has a coupling of this stiffness, N/m, and damping, N s/m; NULL: it failed. */
typedef thenar_sim *(*closed_loop_maker)(void *context, double stiffness, double damping);

typedef struct stable_wall {
    double felt, drag; /* stiffness of wall and coupling together, N/m; drag in free space at 0.2 m/s, N */
} stable_wall;

/* The stiffest stable wall: the couplings of handle and loop become stiffer by `factor` until one is unstable or drags
 * more than `drag_max`. The surface is `gap` below the origin of the device. */
stable_wall closed_loop_stiffest(closed_loop_maker make, void *context, haptic_rendering rendering, double drag_max,
                                 press_script *script, double gap, double factor);

#endif
