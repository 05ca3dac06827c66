/* A person with a device, the loop's tick and a real simulation with a handle, in simulated time: no threads, no clock.
 *
 * The simulation steps slower than the loop, knows where the device was when a step began and how fast it moved, and is
 * heard when the step ends, as thenar_haptic_drive_sim and thenar_haptic_publish_sim do it in real time with a simulation that needs
 * all of its time; or sooner. */
#ifndef BENCH_HAPTIC_REAL_H
#define BENCH_HAPTIC_REAL_H

#include "device/device.h"
#include "haptic/haptic.h"
#include "world/sim.h"

#include "thenar/thenar.h"

#include <string.h>

/* How the simulation is felt. */
typedef enum haptic_feel {
    FEEL_LINEAR, /* by its linearization */
    FEEL_HELD,   /* its force is held from step to step */
    FEEL_PLAIN,  /* by a second coupling to the last pose of the handle (perez2013, 4.4) */
    FEEL_DIRECT  /* no proxy: a step a tick, the device is given what the handle's own coupling does */
} haptic_feel;

typedef struct haptic_real {
    thenar_sim *sim; /* of steps that are a multiple of the tick; one handle, 0 */
    haptic_feel feel;
    thenar_haptic_handle held;
    user_model user; /* about the device's own origin */
    user_state person;
    haptic_state state;
    struct haptic_linear reported, next; /* what the loop has, what the step under way will tell */
    double wrench[6], before[6];         /* sent in this tick and the one before */
    double given, max_given;             /* energy less what was put in, and the most that it ever was, J */
    double dt;                           /* of the loop, s */
    bool late;                           /* the device acts a tick late, as most do */
    int takes;                           /* ticks after which a step is told of, 0: as many as it lasts */
    int64_t tick;
} haptic_real;

/* Where the device is, in the world. */
static inline vec3 real_place(const haptic_real *w) {
    return vec3_add(vec3_load(w->held.base), w->person.position);
}

static inline void real_step(haptic_real *w) {
    const double *g = w->held.grip;
    double ahead = thenar_sim_dt(w->sim), pose[7], velocity[6];
    vec3_store(velocity, w->person.velocity);
    vec3_store(velocity + 3, w->person.spin);
    vec3_store(pose, vec3_mul_add(real_place(w), w->person.velocity, ahead));
    quat turn = quat_mul(quat_from_rotation_vector(vec3_scale(w->person.spin, ahead)), w->person.orientation);
    quat_store(pose + 3, quat_unit(quat_mul(turn, (quat){g[0], g[1], g[2], g[3]})));
    thenar_sim_drive_handle(w->sim, 0, pose, velocity);
    thenar_sim_step(w->sim);
    sim_handle_linear(w->sim, 0, &w->next);
}

/* At rest where the person begins; the simulation has settled there. It is reset first, and goes on being the caller's. */
static inline haptic_real haptic_real_begin(thenar_sim *sim, haptic_feel feel, thenar_haptic_settings settings,
                                            user_model user) {
    thenar_sim_reset(sim);
    haptic_real w = {.sim = sim, .feel = feel, .held = thenar_haptic_handle_of(sim, 0), .user = user, .dt = 1e-3};
    w.held.settings = settings;
    w.held.settings.plain = feel == FEEL_PLAIN;
    w.late = true;
    w.person = user_begin(&user);
    thenar_sim_linearize_handle(sim, 0, feel == FEEL_LINEAR);
    for (int i = 0; i < 30; i++) real_step(&w);
    return w;
}

/* The simulation ends a step and begins the next, if it is time to. */
static inline void real_simulate(haptic_real *w, int64_t now_ns) {
    int64_t every = (int64_t)lround(thenar_sim_dt(w->sim) / w->dt), takes = w->takes > 0 ? w->takes : every;
    if ((w->tick - takes) % every == 0) {
        w->reported = w->next;
        w->reported.published_ns = now_ns;
    }
    if (w->tick % every == 0) real_step(w);
}

/* The simulation and the loop, one tick; the device stays where it is. */
static inline void real_feel(haptic_real *w) {
    int64_t now_ns = (int64_t)llround(1e9 * w->dt * (double)w->tick);
    const double *g = w->held.grip;
    device_sample sample = {.number = (uint64_t)w->tick + 1};
    memcpy(w->before, w->wrench, sizeof w->before);
    real_simulate(w, now_ns);
    w->tick++;
    user_sample(&w->person, sample.number, &sample.body);
    vec3_store(sample.body.pose, real_place(w));
    quat_store(sample.body.pose + 3, quat_mul(w->person.orientation, (quat){g[0], g[1], g[2], g[3]}));
    if (w->feel != FEEL_DIRECT) {
        haptic_tick(&w->held.settings, &w->state, &sample, &w->reported, now_ns, w->dt, w->wrench);
        return;
    }
    thenar_handle_state handle;
    thenar_sim_handle(w->sim, 0, &handle);
    for (int i = 0; i < 6; i++) w->wrench[i] = -handle.coupling[i];
}

/* And the person. */
static inline void haptic_real_tick(haptic_real *w) {
    vec3 x = w->person.position;
    quat q = w->person.orientation;
    real_feel(w);
    const double *acts = w->late ? w->before : w->wrench;
    user_advance(&w->user, &w->person, acts, w->dt);
    double moved[6];
    vec3_store(moved, vec3_sub(w->person.position, x));
    vec3_store(moved + 3, turn_between(q, w->person.orientation));
    for (int i = 0; i < 6; i++) w->given += acts[i] * moved[i];
    w->max_given = fmax(w->max_given, w->given);
}

/* Or a device that is led, whatever the force: `position` about its own origin. */
static inline void real_lead(haptic_real *w, vec3 position, vec3 velocity) {
    w->person.position = position;
    w->person.velocity = velocity;
    real_feel(w);
}

/* ------------------------------------------------------------------------------------------------- what is asked of it */

/* Touch, press, slide, let go: from the device's origin to a place where it is pressed, along to another, and back. */
typedef struct real_script {
    user_key keys[7];
} real_script;

static inline real_script real_press(vec3 pressed, vec3 slid) {
    const vec3 none = {0, 0, 0};
    return (real_script){{{0, none, none},
                          {0.3, none, none},
                          {0.7, pressed, none},
                          {1.6, pressed, none},
                          {2.0, slid, none},
                          {2.3, none, none},
                          {3.3, none, none}}};
}

/* A hand of some firmness; `share` of critical damping, in turns too. */
static inline user_model real_hand(real_script *script, double stiffness, double share) {
    user_model user = user_model_default();
    user.stiffness = stiffness;
    user.damping = 2 * share * sqrt(stiffness * user.mass);
    user.turn_damping = 2 * share * sqrt(user.turn_stiffness * user.inertia);
    user.keys = script->keys;
    user.key_count = (int)(sizeof script->keys / sizeof script->keys[0]);
    return user;
}

/* How far the hand swings, along the axis where it does so most, m; turns count by 2 cm of arm. */
static inline double real_swing(haptic_real *w, int64_t until) {
    double low[6], high[6], max = 0;
    for (int i = 0; i < 6; i++) low[i] = INFINITY, high[i] = -INFINITY;
    while (w->tick < until) {
        double at[6];
        haptic_real_tick(w);
        vec3_store(at, w->person.position);
        vec3_store(at + 3, vec3_scale(quat_to_rotation_vector(w->person.orientation), 0.02));
        for (int i = 0; i < 6; i++) low[i] = fmin(low[i], at[i]), high[i] = fmax(high[i], at[i]);
    }
    for (int i = 0; i < 6; i++) max = fmax(max, high[i] - low[i]);
    return max;
}

/* Goes through the script; false if a swing grows while the hand holds still. `force`, if not NULL: what is sent after
 * the press, N and N m. */
static inline bool real_is_calm(haptic_real *w, double force[6]) {
    real_swing(w, 700);
    double early = real_swing(w, 1150), late = real_swing(w, 1600);
    bool calm = late < 0.8 * early + 2e-4;
    if (force) memcpy(force, w->wrench, sizeof w->wrench);
    real_swing(w, 2300); /* slides, lets go */
    early = real_swing(w, 2800), late = real_swing(w, 3300);
    return calm && late < 0.8 * early + 2e-4 && isfinite(w->person.position.y);
}

/* The force along its way on a device that is led through free space at a steady speed, N. */
static inline double real_drag(thenar_sim *sim, haptic_feel feel, thenar_haptic_settings settings, double speed) {
    haptic_real w = haptic_real_begin(sim, feel, settings, user_model_default());
    double worst = 0;
    for (int i = 1; i <= 800; i++) {
        real_lead(&w, vec3_make(1e-3 * i * speed, 0, 0), vec3_make(speed, 0, 0));
        if (i > 500) worst = fmax(worst, fabs(w.wrench[0]));
    }
    return worst;
}

/* How long after the device crossed the surface, `gap` below its origin, a force is sent, s; it is led there at a steady
 * speed, and begins `phase` ticks after a step; steps are told of after `takes` ticks. INFINITY: it is never felt. */
static inline double real_delay(thenar_sim *sim, haptic_feel feel, thenar_haptic_settings settings, double gap,
                                double speed, int phase, int takes) {
    haptic_real w = haptic_real_begin(sim, feel, settings, user_model_default());
    w.takes = takes;
    const vec3 none = {0, 0, 0}, down = {0, -speed, 0};
    const double felt = 0.05,
                 above = fmin(0.1 * speed, 0.02); /* N; m above its origin where it sets out, for a while */
    double y = above, free_force = 0;
    for (int i = 0; i < 300 + phase; i++) real_lead(&w, vec3_make(0, above, 0), none);
    while (y > -gap - 0.02) {
        if (y > -gap + 0.2 * above) free_force = w.wrench[1];
        if (y < -gap + 1e-4 && w.wrench[1] > free_force + felt) return w.dt * round((-gap - y) / speed / w.dt) + 0.0;
        y -= speed * w.dt;
        real_lead(&w, vec3_make(0, y, 0), down);
    }
    return INFINITY;
}

/* ------------------------------------------------------------------------------------------------- how stiff it may be */

/* What a simulation is made of whose handle has a coupling of this stiffness, N/m, and damping, N s/m; NULL: it failed. */
typedef thenar_sim *(*real_maker)(void *context, double stiffness, double damping);

typedef struct real_wall {
    double felt, coupling, drag; /* N/m as it is felt, N/m of the coupling; N at 0.2 m/s in free space */
} real_wall;

static inline bool real_all_calm(thenar_sim *sim, haptic_feel feel, thenar_haptic_settings settings,
                                 real_script *script) {
    const double hands[] = {100, 450, 2000};
    for (int i = 0; i < 3; i++) {
        haptic_real w = haptic_real_begin(sim, feel, settings, real_hand(script, hands[i], 0.2));
        if (!real_is_calm(&w, NULL)) return false;
    }
    return true;
}

/* The stiffest that stays calm: couplings of handle and loop are made stiffer, by `factor` each time, until one does not.
 * Those that drag more than `max_drag` do not count. The surface is `gap` below the device's origin. */
static inline real_wall real_stiffest(real_maker make, void *context, haptic_feel feel, double max_drag,
                                      real_script *script, double gap, double factor) {
    real_wall best = {0, 0, 0};
    for (double k = 10; k < 3e4; k *= factor) {
        double damping = fmin(10, 0.02 * k);
        thenar_sim *sim = make(context, k, damping);
        if (!sim) return best;
        thenar_haptic_settings settings = thenar_haptic_handle_of(sim, 0).settings;
        settings.passivity = false;
        settings.max_force = settings.max_torque = settings.force_slew = settings.torque_slew = 1e6; /* would hide it */
        double drag = real_drag(sim, feel, settings, 0.2);
        bool calm = drag <= max_drag && real_all_calm(sim, feel, settings, script);
        if (calm) {
            haptic_real press = haptic_real_begin(sim, feel, settings, real_hand(script, 500, 1));
            while (press.tick < 1500) haptic_real_tick(&press);
            best = (real_wall){press.wrench[1] / (-gap - press.person.position.y), k, drag};
        }
        thenar_sim_free(sim);
        if (!calm) break;
    }
    return best;
}

#endif
