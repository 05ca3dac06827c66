/* A world with one wall for the haptic loop, in simulated time: a person with a device, and a simulation that steps
 * slower than the loop, is a step behind and uses the pose of the device at the start of the step.
 *
 * The simulation is exact, so that it can be an oracle: a handle with mass on the virtual coupling, one axis at a
 * time, and below y = 0 an elastic wall with friction, both implicit. */
#ifndef TEST_HAPTIC_WALL_H
#define TEST_HAPTIC_WALL_H

#include "device/device.h"
#include "haptic/haptic.h"

#include <string.h>

typedef struct wall_world {
    double stiffness, damping, friction; /* of the wall: N/m, N s/m, coefficient */
    double coupling, coupling_damping;   /* of the handle to the device */
    double mass;                         /* of the handle, kg */
    double tool;             /* mass of a tool attached to the handle, kg; 0: the handle itself touches the wall */
    bool hides_inertia;      /* it does not publish its inertia */
    double tie, tie_damping; /* spring and damper of that attachment: N/m, N s/m */
    double step;             /* s */
    double ahead;            /* s by which the pose of the device is extrapolated */
    vec3 x, v;               /* of the handle */
    vec3 y, u;               /* of the tool */
    uint64_t steps;
} wall_world;

/* A step of one axis of a tool with mass: handle and tool together, and the linearization of garre2009. The contact
 * acts on the tool with f - k (y1 - y0) - d u1. */
typedef struct tool_axis {
    double f, k, d;
    double vh, vt, K, D, M, force; /* new velocities, linearization, its inertia, force on the handle */
} tool_axis;

static inline void tool_solve(const wall_world *w, int i, double wanted, double pace, tool_axis *t) {
    double h = w->step, x = (&w->x.x)[i], v = (&w->v.x)[i], y = (&w->y.x)[i], u = (&w->u.x)[i];
    double kappa = h * w->tie_damping + h * h * w->tie;
    double Ah = w->mass + h * w->coupling_damping + h * h * w->coupling + kappa;
    double At = w->tool + kappa + h * t->d + h * h * t->k;
    double bh = w->mass * v + h * (w->coupling * (wanted - x) + w->coupling_damping * pace - w->tie * (x - y));
    double bt = w->tool * u + h * (w->tie * (x - y) + t->f), X = kappa / At;
    t->vh = (bh + X * bt) / (Ah - X * kappa);
    t->vt = (bt + kappa * t->vh) / At;
    t->K = w->tie * (1 - X);
    t->D = w->tie_damping * (1 - X);
    t->M = X * w->tool * X;
    t->force = -w->tie * (x + h * t->vh - y - h * t->vt) - w->tie_damping * (t->vh - t->vt);
}

static inline void tool_step(wall_world *w, const double *wanted, const double *pace, struct haptic_linear *out) {
    const int axes[3] = {1, 0, 2};
    double h = w->step, normal = 0;
    for (int a = 0; a < 3; a++) {
        int i = axes[a];
        double *y = &w->y.x + i, *u = &w->u.x + i, max = w->friction * normal;
        tool_axis t = {.d = i != 1 ? max / 1e-3 : 0}; /* friction is viscous up to 1 mm/s */
        tool_solve(w, i, wanted[i], pace[i], &t);
        if (i == 1 && *y + h * t.vt < 0) {
            t = (tool_axis){.f = -w->stiffness * *y, .k = w->stiffness, .d = w->damping};
            tool_solve(w, i, wanted[i], pace[i], &t);
            normal = -w->stiffness * (*y + h * t.vt) - w->damping * t.vt;
        }
        if (i == 1 && normal < 0) {
            normal = 0;
            t = (tool_axis){0};
            tool_solve(w, i, wanted[i], pace[i], &t);
        }
        if (i != 1 && fabs(t.d * t.vt) > max) {
            t = (tool_axis){.f = -copysign(max, t.vt)};
            tool_solve(w, i, wanted[i], pace[i], &t);
        }
        (&w->v.x)[i] = t.vh, (&w->x.x)[i] += h * t.vh;
        *u = t.vt, *y += h * t.vt;
        out->position[i] = (&w->x.x)[i], out->velocity[i] = t.vh, out->force[i] = t.force;
        out->stiffness[7 * i] = t.K, out->damping[7 * i] = t.D;
        if (!w->hides_inertia) out->inertia[7 * i] = t.M;
    }
    out->contacts = normal > 0;
}

/* One step; `out`: what it publishes. */
static inline void wall_step(wall_world *w, vec3 device, vec3 speed, struct haptic_linear *out) {
    vec3 target = vec3_mul_add(device, speed, w->ahead);
    double h = w->step, *x = &w->x.x, *v = &w->v.x, normal = 0;
    const double *wanted = &target.x, *pace = &speed.x;
    const int axes[3] = {1, 0, 2};
    memset(out, 0, sizeof *out);
    out->orientation[3] = 1;
    out->step = ++w->steps;
    out->step_length = h;
    out->time = (double)w->steps * h;
    if (w->tool > 0) {
        tool_step(w, wanted, pace, out);
        return;
    }
    for (int a = 0; a < 3; a++) {
        int i = axes[a];
        double mass = w->mass / h + w->coupling_damping + h * w->coupling;
        double push = w->mass / h * v[i] + w->coupling * (wanted[i] - x[i]) + w->coupling_damping * pace[i];
        double k = 0, d = 0, f, next = push / mass, max = w->friction * normal;
        if (i == 1 && x[1] + h * next < 0) k = w->stiffness, d = w->damping;
        if (i != 1 && normal > 0) d = max / 1e-3; /* friction is viscous up to 1 mm/s */
        next = (push - k * x[i]) / (mass + d + h * k);
        f = -k * (x[i] + h * next) - d * next;
        if (i == 1 && f <= 0) k = d = f = 0, next = push / mass;
        if (i != 1 && fabs(f) > max) d = 0, f = copysign(max, f), next = (push + f) / mass;
        v[i] = next;
        x[i] += h * next;
        if (i == 1) normal = f;
        out->position[i] = x[i], out->velocity[i] = next, out->force[i] = f;
        out->stiffness[7 * i] = k, out->damping[7 * i] = d;
    }
    out->contacts = normal > 0;
}

/* Person, device, loop and simulation. */
typedef struct haptic_world {
    thenar_haptic_settings settings;
    user_model user;
    user_state person;
    wall_world wall;
    haptic_state state;
    struct haptic_linear reported, next; /* known to the loop; of the current step */
    double wrench[6], before[6];         /* sent in this tick and in the previous one */
    double dt;                           /* of the loop, s */
    bool late;                           /* the device renders a force one tick late, as most do */
    bool positions_only;                 /* the device does not measure velocities */
    double resolution;                   /* its positions are multiples of this, m; 0: exact */
    bool held; /* the force of the simulation is held until the next one, without linearization */
    int64_t tick;
} haptic_world;

static inline haptic_world haptic_world_make(thenar_haptic_settings settings, user_model user, double stiffness) {
    haptic_world w = {.settings = settings, .user = user, .dt = 1e-3, .late = true};
    w.person = user_begin(&user);
    w.wall = (wall_world){.stiffness = stiffness,
                          .coupling = settings.stiffness,
                          .coupling_damping = settings.damping,
                          .mass = settings.proxy_mass,
                          .step = 0.01,
                          .ahead = 0.01,
                          .x = w.person.position,
                          .y = w.person.position,
                          .tie = 2e4,
                          .tie_damping = 20};
    return w;
}

/* Publishes a step and begins the next one when they are due. */
static inline void haptic_world_simulate(haptic_world *w, int64_t now_ns) {
    int64_t every = (int64_t)lround(w->wall.step / w->dt);
    if (w->tick % every != 0) return;
    w->reported = w->next;
    w->reported.published_ns = now_ns;
    if (w->held) memset(w->reported.stiffness, 0, sizeof w->reported.stiffness);
    if (w->held) memset(w->reported.damping, 0, sizeof w->reported.damping);
    if (w->held) memset(w->reported.inertia, 0, sizeof w->reported.inertia);
    wall_step(&w->wall, w->person.position, w->person.velocity, &w->next);
}

/* One tick of the loop and the person. */
static inline void haptic_world_feel(haptic_world *w, int64_t now_ns) {
    device_sample sample = {.number = (uint64_t)w->tick + 1};
    user_sample(&w->person, sample.number, &sample.body);
    if (w->positions_only) sample.body.has = THENAR_DEVICE_POSITION | THENAR_DEVICE_ORIENTATION;
    for (int i = 0; i < 3 && w->resolution > 0; i++)
        sample.body.pose[i] = w->resolution * floor(sample.body.pose[i] / w->resolution);
    memcpy(w->before, w->wrench, sizeof w->before);
    haptic_tick(&w->settings, &w->state, &sample, &w->reported, now_ns, w->dt, w->wrench);
    user_advance(&w->user, &w->person, w->late ? w->before : w->wrench, w->dt);
    w->tick++;
}

static inline void haptic_world_tick(haptic_world *w) {
    int64_t now_ns = (int64_t)llround(1e9 * w->dt * (double)w->tick);
    haptic_world_simulate(w, now_ns);
    haptic_world_feel(w, now_ns);
}

static inline double force_size(const haptic_world *w) {
    return vec3_length(vec3_load(w->wrench));
}

/* Touch, press, slide, release. */
static const user_key press_keys[] = {
    {0, {0, 0.02, 0}, {0, 0, 0}},      {0.3, {0, 0.02, 0}, {0, 0, 0}},     {0.7, {0, -0.01, 0}, {0, 0, 0}},
    {1.6, {0, -0.01, 0}, {0, 0, 0}},   {2.0, {0.05, -0.01, 0}, {0, 0, 0}}, {2.3, {0.05, 0.02, 0}, {0, 0, 0}},
    {3.3, {0.05, 0.02, 0}, {0, 0, 0}},
};

/* A hand with this stiffness and this share of critical damping. */
static inline user_model press_hand(double stiffness, double share) {
    user_model user = user_model_default();
    user.stiffness = stiffness;
    user.damping = 2 * share * sqrt(stiffness * user.mass);
    user.keys = (user_key *)(uintptr_t)press_keys;
    user.key_count = (int)(sizeof press_keys / sizeof press_keys[0]);
    return user;
}

static inline device_sample sample_at(uint64_t number, vec3 position) {
    device_sample sample = {.number = number, .body = {.has = THENAR_DEVICE_POSITION | THENAR_DEVICE_ORIENTATION}};
    vec3_store(sample.body.pose, position);
    sample.body.pose[6] = 1;
    return sample;
}

/* The force in free space at a constant speed, N. */
static inline double drag_at(thenar_haptic_settings settings, double speed, double tool_mass) {
    haptic_state state = {0};
    double wrench[6], worst = 0, h = 0.01;
    struct haptic_linear reported = {0}, next = {0};
    for (int64_t tick = 0; tick < 1500; tick++) {
        vec3 x = {speed * 1e-3 * (double)tick, 0, 0};
        if (tick % 10 == 0) { /* the handle is a step behind; a free tool resists by its mass only */
            reported = next;
            reported.published_ns = tick * 1000000;
            next = (struct haptic_linear){
                .position = {x.x}, .orientation = {0, 0, 0, 1}, .velocity = {speed}, .step_length = h};
            next.step = (uint64_t)tick / 10 + 1;
            for (int i = 0; i < 3; i++) next.stiffness[7 * i] = tool_mass / h / h;
        }
        device_sample sample = sample_at((uint64_t)tick + 1, x);
        haptic_tick(&settings, &state, &sample, &reported, tick * 1000000, 1e-3, wrench);
        if (tick > 1000) worst = fmax(worst, vec3_length(vec3_load(wrench)));
    }
    return worst;
}

/* Runs until a tick; returns the amplitude of the hand, m. */
static inline double swing(haptic_world *w, int64_t until) {
    double low = INFINITY, high = -INFINITY;
    while (w->tick < until) {
        haptic_world_tick(w);
        low = fmin(low, w->person.position.y);
        high = fmax(high, w->person.position.y);
    }
    return high - low;
}

/* Touch, press, slide, release: false if an oscillation grows while the hand holds still. */
static inline bool is_stable(haptic_world *w) {
    swing(w, 700);
    double early = swing(w, 1150), late = swing(w, 1600);
    bool calm = late < 0.8 * early + 2e-4;
    swing(w, 2300); /* slides and releases */
    early = swing(w, 2800), late = swing(w, 3300);
    return calm && late < 0.8 * early + 2e-4 && isfinite(w->person.position.y);
}

/* Stiffness of wall and coupling together, N/m, and the drag in free space at 0.2 m/s, N. */
typedef struct stiff_wall {
    double felt, drag;
} stiff_wall;

/* Whether three hands are stable with these settings and a wall ten times as stiff as the coupling. */
static inline bool all_stable(thenar_haptic_settings settings, bool held) {
    const double hands[] = {100, 450, 2000};
    for (int i = 0; i < 3; i++) {
        haptic_world w = haptic_world_make(settings, press_hand(hands[i], 0.2), 10 * settings.stiffness);
        w.held = held;
        if (!is_stable(&w)) return false;
    }
    return true;
}

/* The stiffest stable wall: the coupling becomes stiffer until it is unstable or drags more than `max_drag`. `held`:
 * the force of the simulation is held from step to step. */
static inline stiff_wall stiffest(bool plain, bool held, double max_drag) {
    stiff_wall best = {0, 0};
    for (double k = 10; k < 3e4; k *= 1.25) {
        thenar_haptic_settings settings = thenar_haptic_settings_default();
        settings.stiffness = k;
        settings.damping = fmin(settings.damping, 0.02 * k);
        settings.plain = plain;
        settings.passivity = false;
        settings.max_force = settings.force_slew = 1e6; /* limits would hide an instability */
        double drag = drag_at(settings, 0.2, 0);
        if (drag > max_drag || !all_stable(settings, held)) return best;
        haptic_world press = haptic_world_make(settings, press_hand(500, 1), 10 * k);
        press.held = held;
        while (press.tick < 1500) haptic_world_tick(&press);
        best = (stiff_wall){-press.wrench[1] / press.person.position.y, drag};
    }
    return best;
}

#endif
