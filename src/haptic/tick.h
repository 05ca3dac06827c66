/* Six numbers, linear first, and the little algebra that they need. */
#ifndef HAPTIC_TICK_H
#define HAPTIC_TICK_H

#include "core/vec3.h"
#include "device/device.h"
#include "world/linearize.h"

#include "thenar/haptic.h"

#include <stdbool.h>

#define SANE_LENGTH 1e3     /* m, m/s, rad/s: nothing that is felt is larger */
#define SANE_STIFFNESS 1e12 /* N/m and the like, N */
#define SANE_MASS 1e6       /* kg and the like */

/* All are numbers, and none is larger. */
static inline bool all_within(const double *v, int count, double max) {
    for (int i = 0; i < count; i++)
        if (!(fabs(v[i]) <= max)) return false;
    return true;
}

static inline quat quat_load(const double *q) {
    return quat_unit((quat){q[0], q[1], q[2], q[3]});
}

static inline void quat_store(double *out, quat q) {
    out[0] = q.x, out[1] = q.y, out[2] = q.z, out[3] = q.w;
}

/* The turn from a to b, in the world's axes. */
static inline vec3 turn_between(quat a, quat b) {
    return quat_to_rotation_vector(quat_mul(b, quat_conjugate(a)));
}

/* out += factor matrix v */
static inline void six_add_product(double out[6], const double *matrix, const double *v, double factor) {
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++) out[i] += factor * matrix[6 * i + j] * v[j];
}

/* Defaults of the loop, and its faults in words. */

#define HAPTIC_SLOWEST 100.0 /* ticks a second */
#define HAPTIC_FASTEST 10000.0

/* The numbers of thenar_haptic_settings by name: more than 0, or not less. */
#define HAPTIC_SETTINGS 19
typedef struct haptic_setting {
    const char *name, *unit;
    size_t offset;
    bool zero_is_fine;
} haptic_setting;
extern const haptic_setting haptic_setting_table[HAPTIC_SETTINGS];

double *haptic_setting_of(thenar_haptic_settings *settings, int index);

/* How a scene binds a handle to a device. */
typedef struct device_binding {
    bool is_set;
    char *device;                    /* NULL: none */
    thenar_haptic_settings settings; /* NaN where the scene sets nothing */
    bool has_origin, has_turn;
    double origin[3]; /* m */
    quat turn;
} device_binding;

/* What a scene says about haptic devices; attached to its model (thenar_model.attachment). */
typedef struct haptic_scene {
    thenar_haptic_def loop; /* without handles */
    int handle_count;
    device_binding bindings[]; /* of each handle of the model */
} haptic_scene;

/* A limit, or what something else can bear if that is less; 0: it has none of its own. */
static inline double haptic_lower(double limit, double other) {
    return other > 0 && other < limit ? other : limit;
}

/* The energy that goes through a device, and holding it back.
 *
 * Between two ticks the device holds the force f and moves by dx: it gives f dx to the person. What was put in less what
 * was given, with a small reserve, is what may still be given (Hannaford and Ryu's passivity observer, with the books of
 * an energy tank). A force that would give more within the next HORIZON at the speed of now is scaled down. It is never
 * turned round, and at rest it is never touched, so a wall that is leaned on stays a wall.
 *
 * The weight of a tool is left out of it: a constant force gives on the way down what was put in on the way up. With it,
 * a heavy hand that was lowered would have emptied the tank, and the wall that it meets would buzz (4.8 N, 0.3 mm). But it
 * is known as a low-passed force only, and what swings slowly passes: a simulation in slow motion, five times slower than
 * the person who holds its hand, shook that person with 14 J in 3 s. So weight has books of its own, with a large reserve. */

typedef struct haptic_energy {
    double in, out;            /* J, since the beginning */
    double net;                /* given less put in, weight apart, J */
    double worst;              /* the most that ever was, J */
    double tank;               /* what may be given, less the reserve, J */
    double share;              /* of the force that is not weight, that is let through */
    double lowered;            /* J that weight gave and was not given back */
    double weight_share;       /* of the weight, that is let through */
    double sent[6], weight[6]; /* what the device holds, and what of it is weight */
} haptic_energy;

/* Takes note of a move (m, rad) of the device. */
void haptic_energy_observe(haptic_energy *energy, const double move[6], double max);

/* Holds a wrench back if it must, for a device that moves at `velocity`; true if it did. */
bool haptic_energy_limit(haptic_energy *energy, const double weight[6], const double velocity[6], double reserve,
                         double h, double wrench[6]);

/* Takes note of what is sent: `gain` of a wrench. */
void haptic_energy_send(haptic_energy *energy, const double wrench[6], const double weight[6], double gain);

/* One tick of the haptic loop for one handle: a function of what is kept, the device's newest sample, what the
 * simulation last told, and the time. It knows no threads and no clocks, so that it can be tested without any. */

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
    uint64_t updates, samples, faults[THENAR_HAPTIC_FAULT_COUNT];
} haptic_state;

/* The sample's pose is the world's. `dt`: how long a tick should be, s; `now_ns`: the monotonic clock. wrench: force and torque on the device, in the
 * world's axes, until the next tick. */
void haptic_tick(const thenar_haptic_settings *settings, haptic_state *state, const device_sample *sample,
                 const struct haptic_linear *linear, int64_t now_ns, double dt, double wrench[6]);

/* Whether all of it is finite and of a sane size, and its matrices could be what they should be. */
bool haptic_linear_is_sane(const struct haptic_linear *linear);

/* What the loop hears: samples of the device and news of the simulation, and what it makes of them. */

/* The proxy of the handle, between the device and the tool. */

/* Moves it by h seconds; wrench: what the coupling does to the device then. */
void haptic_proxy_move(const thenar_haptic_settings *settings, haptic_state *state, double h, double wrench[6]);

/* It begins where the device is. */
void haptic_proxy_restart(haptic_state *state);

#endif
