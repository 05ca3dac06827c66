/* The tick (garre2009 section 3, Fig. 2; METHODS after GO09).
 *
 * The proxy, a rigid body of mass M, hangs between the device and the tool:
 *     M dv/dt = Fd + Ft,
 *     Fd = K (xd - x) + D (vd - v)                       the virtual coupling to the device,
 *     Ft = Fc - Kc (x - xh) - Dc (v - vh)                the tool, as the simulation told of it.
 * Implicit Euler over a tick h, x1 = x0 + h v1 in both, gives one symmetric positive definite 6x6 system:
 *     (M/h + D + h K + Dc + h Kc) v1 = M v0/h + K (xd - x0) + D vd + Fc - Kc (x0 - xh) + Dc vh.
 * The device is given -Fd at the end of the tick. Turns are rotation vectors in the world's axes; what depends on how far
 * something is turned already is left out, as it is from Kc.
 *
 * A tool without contacts has no place of its own: Kc and Dc are then its inertia, hs^2 Kc + hs Dc over a step hs of the
 * simulation, which is added to M instead; pulling the proxy to where the handle was would feel like moving through honey.
 * A tool that pushes may be left before the simulation knows: where Ft would turn against Fc, it is nothing
 * (`one_sided`); not so a tool that was seen to push both ways, which is held. So a wall that the simulation foresees (thenar_haptic_pose, ahead) is met where it is, not a step late. */
#include "haptic/tick.h"

#include "math/spatial.h"

#include <string.h>

#define SANE_LENGTH 1e3     /* m, m/s, rad/s */
#define SANE_STIFFNESS 1e12 /* N/m and the like, N */
#define SANE_QUATERNION 0.1 /* off unit length */
#define JUMP_TURN 0.8       /* rad, and: */
#define JUMP_SPIN 40.0      /* rad/s */
#define LONGEST_TICK 0.05   /* s; a clock that says more has stepped */
#define WEIGHT_TIME 0.1     /* s, of the low pass of a free tool's force */
#define LONGEST_STEP 0.1    /* s; the simulation may be expected that late, not later */
#define TURN_SHORTEST 1e-9  /* s between two samples that make a velocity */

#define PUSH_LEAST 0.02 /* N; less says nothing of where a tool pushes */
#define PUSH_SHARE 0.3  /* of the newest direction */
#define REVERSED 0.5    /* cosine */

/* clang-format off */
static bool all_sane(const double *v, int count, double most) {
    for (int i = 0; i < count; i++) if (!(fabs(v[i]) <= most)) return false;
    return true;
}
/* clang-format on */

static bool quaternion_is_sane(const double *q) {
    double length = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    return fabs(length - 1) <= SANE_QUATERNION;
}

static quat quat_load(const double *q) {
    return quat_unit((quat){q[0], q[1], q[2], q[3]});
}

static void add_product(double out[6], const double *matrix, const double *v, double factor) {
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++) out[i] += factor * matrix[6 * i + j] * v[j];
}

bool haptic_linear_is_sane(const struct haptic_linear *linear) {
    if (!all_sane(linear->position, 3, SANE_LENGTH) || !quaternion_is_sane(linear->orientation) ||
        !all_sane(linear->velocity, 6, SANE_LENGTH) || !all_sane(linear->force, 6, SANE_STIFFNESS) ||
        !all_sane(linear->stiffness, 36, SANE_STIFFNESS) || !all_sane(linear->damping, 36, SANE_STIFFNESS))
        return false;
    for (int i = 0; i < 36; i += 7)
        if (linear->stiffness[i] < 0 || linear->damping[i] < 0) return false;
    return linear->step_length > 0 && linear->step_length <= SANE_LENGTH && linear->contacts >= 0;
}

/* ----------------------------------------------------------------------------------------------------- what came in */

/* The turn from a to b, in the world's axes. */
static vec3 turn_between(quat a, quat b) {
    return quat_to_rotation_vector(quat_mul(b, quat_conjugate(a)));
}

static bool sample_is_sane(const thenar_device_sample *s) {
    if (!(s->has & THENAR_DEVICE_POSITION) || !all_sane(s->position, 3, SANE_LENGTH)) return false;
    if ((s->has & THENAR_DEVICE_ORIENTATION) && !quaternion_is_sane(s->orientation)) return false;
    if ((s->has & THENAR_DEVICE_VELOCITY) && !all_sane(s->velocity, 3, SANE_LENGTH)) return false;
    return !(s->has & THENAR_DEVICE_SPIN) || all_sane(s->spin, 3, SANE_LENGTH);
}

/* A velocity from two places, low-passed; the device's own if it has one. */
static void follow_velocity(const thenar_haptic_settings *settings, double velocity[3], bool given, const double *own,
                            vec3 move, double elapsed) {
    if (given) {
        memcpy(velocity, own, 3 * sizeof *own);
        return;
    }
    double share = 1 - exp(-2 * M_PI * settings->velocity_cutoff * elapsed);
    vec3 measured = vec3_scale(move, 1 / fmax(elapsed, TURN_SHORTEST)), old = vec3_load(velocity);
    vec3_store(velocity, vec3_mul_add(old, vec3_sub(measured, old), share));
}

/* The device is where the sample says; `elapsed` since the one before. */
static void believe(const thenar_haptic_settings *settings, haptic_state *s, const thenar_device_sample *sample,
                    quat orientation, double elapsed) {
    haptic_device *device = &s->device;
    vec3 position = vec3_load(sample->position);
    vec3 move = vec3_sub(position, device->position), turn = turn_between(device->orientation, orientation);
    if (device->known) {
        double moved[6];
        vec3_store(moved, move);
        vec3_store(moved + 3, turn);
        haptic_energy_observe(&s->energy, s->sent, moved, settings->energy_most);
        follow_velocity(settings, device->velocity, sample->has & THENAR_DEVICE_VELOCITY, sample->velocity, move,
                        elapsed);
        follow_velocity(settings, device->velocity + 3, sample->has & THENAR_DEVICE_SPIN, sample->spin, turn, elapsed);
    } else
        memset(device->velocity, 0, sizeof device->velocity);
    device->position = position;
    device->orientation = orientation;
    device->known = true;
}

static bool is_jump(const thenar_haptic_settings *settings, const haptic_device *device, vec3 position,
                    quat orientation, double elapsed) {
    if (!device->known) return false;
    double distance = vec3_distance(position, device->position);
    double angle = vec3_length(turn_between(device->orientation, orientation));
    return (distance > settings->jump_distance && distance > settings->jump_speed * elapsed) ||
           (angle > JUMP_TURN && angle > JUMP_SPIN * elapsed);
}

static void take_sample(const thenar_haptic_settings *settings, haptic_state *s, const device_sample *sample,
                        double elapsed) {
    haptic_device *device = &s->device;
    device->silence += elapsed;
    if (sample->number == device->number) return;
    device->number = sample->number;
    if (!sample_is_sane(&sample->body)) {
        s->faults[THENAR_HAPTIC_BAD_SAMPLE]++;
        return;
    }
    /* A device that does not know how it is turned is turned like the handle. */
    quat orientation = sample->body.has & THENAR_DEVICE_ORIENTATION ? quat_load(sample->body.orientation)
                       : s->linear.step > 0                         ? quat_load(s->linear.orientation)
                       : device->known                              ? device->orientation
                                                                    : quat_identity();
    s->samples++;
    if (is_jump(settings, device, vec3_load(sample->body.position), orientation, device->silence)) {
        if (!s->restarting) s->faults[THENAR_HAPTIC_JUMP]++;
        s->restarting = true;
    }
    if (s->restarting && s->gain > 0) { /* until the force is gone, the device is where it was */
        device->silence = 0;
        return;
    }
    if (s->restarting) device->known = false;
    s->restarting = false;
    believe(settings, s, &sample->body, orientation, device->silence);
    device->silence = 0;
}

/* A tool that pushes one way, then the other, and touched something all the time, is held from both sides. */
static void look_at_push(haptic_state *s) {
    vec3 force = vec3_load(s->linear.force);
    double size = vec3_length(force), along = vec3_dot(force, s->push);
    if (s->linear.contacts == 0) {
        s->push = (vec3){0, 0, 0};
        s->both_sides = false;
    } else if (along < -REVERSED * size && size > PUSH_LEAST)
        s->both_sides = true;
    else if (size > PUSH_LEAST) /* follows a way round a corner */
        s->push = vec3_unit(vec3_mul_add(s->push, vec3_unit(force), PUSH_SHARE));
}

/* Kc is stiffness where the tool leans on something, and inertia where it slides: what a step of hs makes of the mass of
 * a tool, m / hs^2, which would pull the proxy back to where the handle was told to be. Which of both it was shows in the
 * last step dx: stiffness changed the force by -Kc dx, inertia did not change it. So the share
 *     s = dx (dF + Kc dx) / (dx Kc dx), within 0 and 1,
 * of the handle's motion goes on until the next news, and Kc holds the proxy to where the handle is by then. */
static void look_at_motion(haptic_state *s, const struct haptic_linear *before) {
    s->follow = 0;
    if (before->contacts == 0 || s->linear.contacts == 0 || s->linear.step != before->step + 1) return;
    double dx[6], kdx[6] = {0}, held = 0, unchanged = 0;
    vec3_store(dx, vec3_sub(vec3_load(s->linear.position), vec3_load(before->position)));
    vec3_store(dx + 3, turn_between(quat_load(before->orientation), quat_load(s->linear.orientation)));
    add_product(kdx, s->linear.stiffness, dx, 1);
    for (int i = 0; i < 6; i++) {
        held += dx[i] * kdx[i];
        unchanged += dx[i] * (s->linear.force[i] - before->force[i] + kdx[i]);
    }
    if (held > 0) s->follow = fmax(0, fmin(1, unchanged / held));
}

static void take_news(haptic_state *s, const struct haptic_linear *linear, int64_t now_ns, double elapsed) {
    s->age += elapsed;
    if (linear->step == 0 || linear->step == s->seen_step) return;
    s->seen_step = linear->step;
    if (!haptic_linear_is_sane(linear)) {
        s->faults[THENAR_HAPTIC_BAD_LINEAR]++;
        return;
    }
    struct haptic_linear before = s->linear;
    s->linear = *linear;
    s->news++;
    look_at_push(s);
    look_at_motion(s, &before);
    double age = 1e-9 * (double)(now_ns - linear->published_ns);
    s->age = age >= 0 && age < LONGEST_TICK ? age : 0; /* otherwise a clock has stepped between the two */
}

/* The force begins to fade, or may come back. */
static void look_for_faults(const thenar_haptic_settings *settings, haptic_state *s, double h) {
    double expected = fmin(s->linear.step_length, LONGEST_STEP);
    bool stale = s->linear.step > 0 && s->age > expected + settings->stale_after;
    bool silent = s->device.known && s->device.silence > settings->silent_after;
    s->faults[THENAR_HAPTIC_STALE] += stale && !s->stale;
    s->faults[THENAR_HAPTIC_SILENT] += silent && !s->silent;
    s->stale = stale;
    s->silent = silent;
    bool fine = s->linear.step > 0 && s->device.known && !stale && !silent && !s->restarting;
    s->gain += fine ? h / settings->recover_time : -h / settings->fade_time;
    s->gain = fmax(0, fmin(1, s->gain));
}

/* ------------------------------------------------------------------------------------------------------- the proxy */

/* The tool's force on the proxy: force - stiffness (x - pose) - damping (v - velocity), and inertia that it adds. */
typedef struct tool_force {
    double force[6], stiffness[36], damping[36], inertia[36];
    vec3 position;
    quat orientation;
    const double *velocity;
} tool_force;

static void tool_plain(const thenar_haptic_settings *settings, tool_force *tool) {
    for (int i = 0; i < 6; i++) {
        tool->stiffness[7 * i] = i < 3 ? settings->stiffness : settings->turn_stiffness;
        tool->damping[7 * i] = i < 3 ? settings->damping : settings->turn_damping;
    }
}

static void tool_free(haptic_state *s, tool_force *tool, double h) {
    double step = fmin(s->linear.step_length, LONGEST_STEP), share = fmin(1, h / WEIGHT_TIME);
    for (int i = 0; i < 36; i++) tool->inertia[i] = step * (step * s->linear.stiffness[i] + s->linear.damping[i]);
    for (int i = 0; i < 6; i++) {
        s->weight[i] += share * (s->linear.force[i] - s->weight[i]);
        tool->force[i] = s->weight[i];
    }
}

static void tool_linear(const haptic_state *s, tool_force *tool) {
    memcpy(tool->force, s->linear.force, sizeof tool->force);
    memcpy(tool->stiffness, s->linear.stiffness, sizeof tool->stiffness);
    memcpy(tool->damping, s->linear.damping, sizeof tool->damping);
}

/* Symmetric; the rows are linear first. */
static spatial_inertia spatial_from_rows(const double *a) {
    spatial_inertia out;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            out.linear.m[3 * i + j] = (a[6 * i + j] + a[6 * j + i]) / 2;
            out.angular.m[3 * i + j] = (a[6 * (3 + i) + 3 + j] + a[6 * (3 + j) + 3 + i]) / 2;
            out.coupling.m[3 * i + j] = (a[6 * (3 + i) + j] + a[6 * j + 3 + i]) / 2;
        }
    return out;
}

/* The system above; false if it has no solution. `ft` is the tool's force at the end of the tick. */
static bool solve_proxy(const thenar_haptic_settings *settings, const haptic_state *s, const tool_force *tool, double h,
                        double v1[6], double ft[6]) {
    const double K[2] = {settings->stiffness, settings->turn_stiffness};
    const double D[2] = {settings->damping, settings->turn_damping};
    double a[36], b[6], stretch[6], away[6], change[6];
    vec3_store(stretch, vec3_sub(s->device.position, s->position));
    vec3_store(stretch + 3, turn_between(s->orientation, s->device.orientation));
    vec3_store(away, vec3_sub(s->position, tool->position));
    vec3_store(away + 3, turn_between(tool->orientation, s->orientation));
    for (int i = 0; i < 36; i++) a[i] = tool->inertia[i] / h + tool->damping[i] + h * tool->stiffness[i];
    memcpy(b, tool->force, sizeof b);
    add_product(b, tool->inertia, s->velocity, 1 / h);
    add_product(b, tool->stiffness, away, -1);
    add_product(b, tool->damping, tool->velocity, 1);
    for (int i = 0; i < 6; i++) {
        double mass = i < 3 ? settings->proxy_mass : settings->proxy_inertia, k = K[i / 3], d = D[i / 3];
        a[7 * i] += mass / h + d + h * k;
        b[i] += mass / h * s->velocity[i] + k * stretch[i] + d * s->device.velocity[i];
    }
    spatial_inertia system = spatial_from_rows(a);
    spatial_factor factor;
    if (!spatial_inertia_factor(&system, &factor)) return false;
    spatial_motion v = spatial_factor_solve(&factor, (spatial_force){vec3_load(b + 3), vec3_load(b)});
    vec3_store(v1, v.linear);
    vec3_store(v1 + 3, v.angular);
    if (!all_sane(v1, 6, SANE_LENGTH)) return false;
    memcpy(ft, tool->force, 6 * sizeof *ft);
    for (int i = 0; i < 6; i++) away[i] += h * v1[i], change[i] = v1[i] - tool->velocity[i];
    add_product(ft, tool->stiffness, away, -1);
    add_product(ft, tool->damping, change, -1);
    return true;
}

/* Moves the proxy by a tick; wrench: what the coupling does to the device. */
static void move_proxy(const thenar_haptic_settings *settings, haptic_state *s, double h, double wrench[6]) {
    double on = settings->plain ? 0 : s->follow * fmin(s->age, s->linear.step_length);
    const double *vh = s->linear.velocity;
    tool_force tool = {.position = vec3_mul_add(vec3_load(s->linear.position), vec3_load(vh), on),
                       .orientation = quat_mul(quat_from_rotation_vector(vec3_scale(vec3_load(vh + 3), on)),
                                               quat_load(s->linear.orientation)),
                       .velocity = vh};
    if (settings->plain)
        tool_plain(settings, &tool);
    else if (s->linear.contacts == 0)
        tool_free(s, &tool, h);
    else
        tool_linear(s, &tool);
    double v[6], ft[6];
    bool solved = solve_proxy(settings, s, &tool, h, v, ft);
    if (solved && settings->one_sided && !s->both_sides && !settings->plain && s->linear.contacts > 0 &&
        vec3_dot(vec3_load(ft), vec3_load(s->linear.force)) < 0) {
        memset(tool.force, 0, sizeof tool.force);
        memset(tool.stiffness, 0, sizeof tool.stiffness);
        memset(tool.damping, 0, sizeof tool.damping);
        solved = solve_proxy(settings, s, &tool, h, v, ft);
    }
    if (!solved) {
        s->faults[THENAR_HAPTIC_UNSOLVED]++;
        memset(v, 0, sizeof v);
    }
    memcpy(s->velocity, v, sizeof v);
    s->position = vec3_mul_add(s->position, vec3_load(v), h);
    s->orientation = quat_unit(quat_mul(quat_from_rotation_vector(vec3_scale(vec3_load(v + 3), h)), s->orientation));
    vec3 away = vec3_sub(s->position, s->device.position);
    vec3 turn = turn_between(s->device.orientation, s->orientation);
    double stretch[6];
    vec3_store(stretch, away);
    vec3_store(stretch + 3, turn);
    for (int i = 0; i < 6; i++)
        wrench[i] = (i < 3 ? settings->stiffness : settings->turn_stiffness) * stretch[i] +
                    (i < 3 ? settings->damping : settings->turn_damping) * (v[i] - s->device.velocity[i]);
}

/* The proxy begins where the device is. */
static void restart(haptic_state *s) {
    s->position = s->device.position;
    s->orientation = s->device.orientation;
    memcpy(s->velocity, s->device.velocity, sizeof s->velocity);
    memset(s->wrench, 0, sizeof s->wrench);
}

/* ------------------------------------------------------------------------------------------------------ what is sent */

/* Shortens a vector; true if it was too long. */
static bool shorten(double v[3], double most) {
    double length = vec3_length(vec3_load(v));
    if (!(length > most)) return false;
    vec3_store(v, vec3_scale(vec3_load(v), most / length));
    return true;
}

/* Goes from `now` towards `wanted`, at most by `most`. */
static bool approach(double now[3], const double wanted[3], double most) {
    double change[3];
    vec3_store(change, vec3_sub(vec3_load(wanted), vec3_load(now)));
    bool held = shorten(change, most);
    vec3_store(now, vec3_add(vec3_load(now), vec3_load(change)));
    return held;
}

static void limit(const thenar_haptic_settings *settings, haptic_state *s, double wrench[6], double h) {
    bool strong = shorten(wrench, settings->most_force), twisted = shorten(wrench + 3, settings->most_torque);
    s->faults[THENAR_HAPTIC_CLAMPED] += strong || twisted;
    /* A force that comes back pushes out who went in while there was none; its slow ramp makes that safe. */
    if (s->gain < 1) s->energy.tank = fmax(0, s->energy.tank);
    if (settings->passivity && s->gain == 1) {
        double share = haptic_energy_allow(&s->energy, wrench, s->device.velocity, settings->energy_reserve);
        s->faults[THENAR_HAPTIC_HELD_BACK] += share < 1;
        for (int i = 0; i < 6; i++) wrench[i] *= share;
    }
    bool fast = approach(s->wrench, wrench, settings->force_slew * h);
    bool spun = approach(s->wrench + 3, wrench + 3, settings->torque_slew * h);
    s->faults[THENAR_HAPTIC_SLEWED] += fast || spun;
}

void haptic_tick(const thenar_haptic_settings *settings, haptic_state *s, const device_sample *sample,
                 const struct haptic_linear *linear, int64_t now_ns, double dt, double wrench[6]) {
    double elapsed = s->ticked ? 1e-9 * (double)(now_ns - s->last_ns) : dt;
    if (!(elapsed > 0) || elapsed > LONGEST_TICK) {
        s->faults[THENAR_HAPTIC_CLOCK]++;
        s->restarting = s->device.known; /* nobody knows what happened meanwhile */
        elapsed = dt;
    }
    s->last_ns = now_ns;
    s->ticked = true;
    take_news(s, linear, now_ns, elapsed);
    take_sample(settings, s, sample, elapsed);
    look_for_faults(settings, s, elapsed);
    if (s->gain == 0)
        restart(s);
    else if (!s->stale && !s->silent && !s->restarting) { /* otherwise the last force fades */
        double wanted[6];
        move_proxy(settings, s, elapsed, wanted);
        limit(settings, s, wanted, elapsed);
    }
    for (int i = 0; i < 6; i++) wrench[i] = s->sent[i] = s->gain * s->wrench[i];
}
