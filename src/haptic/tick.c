/* A tick (haptic_tick at the end): reads the linearization and the sample, checks for faults, moves the proxy and limits
 * the force: first its magnitude, then the energy that it would return, then its rate of change; last comes the fade.
 * While there is a fault the last force fades, whatever caused the fault. */
#include "haptic/haptic.h"

#include <math.h>
#include <string.h>

#define HORIZON 0.004    /* s: some ticks, so that a force that runs out of energy ends in a ramp */
#define RECOVERY 0.01    /* s, from no force to full force */
#define WEIGHT_MAX 2.0   /* J that weight may return in advance: 5 N lowered by 40 cm */
#define WEIGHT_POWER 0.1 /* W that weight may return in addition, for a person who lowers things all day */
#define LIFTED_MAX 10.0  /* J that are remembered as put in by lifting */

void haptic_energy_observe(haptic_energy *energy, const double move[6], double max) {
    double returned = 0, by_weight = 0;
    for (int i = 0; i < 6; i++) returned += energy->sent[i] * move[i], by_weight += energy->weight[i] * move[i];
    if (returned > 0)
        energy->out += returned;
    else
        energy->in -= returned;
    energy->lowered = fmax(energy->lowered + by_weight, -LIFTED_MAX);
    energy->net += returned - by_weight;
    energy->worst = fmax(energy->worst, energy->net);
    energy->tank = fmin(energy->tank - (returned - by_weight), max);
}

/* Share of a force that may be rendered if it would return `wanted` energy and `left` is available; recovers slowly. */
static double rendered_share(double share, double wanted, double left, double h) {
    double max = wanted > left ? left / wanted : 1;
    return fmin(max, share + h / RECOVERY);
}

bool haptic_energy_limit(haptic_energy *energy, const double weight[6], const double velocity[6], double reserve,
                         double h, double wrench[6]) {
    double wanted = 0, lowering = 0;
    for (int i = 0; i < 6; i++) {
        wanted += HORIZON * (wrench[i] - weight[i]) * velocity[i];
        lowering += HORIZON * weight[i] * velocity[i];
    }
    if (energy->lowered > 0) energy->lowered = fmax(0, energy->lowered - WEIGHT_POWER * h);
    energy->share = rendered_share(energy->share, wanted, fmax(0, energy->tank + reserve), h);
    energy->weight_share = rendered_share(energy->weight_share, lowering, fmax(0, WEIGHT_MAX - energy->lowered), h);
    for (int i = 0; i < 6; i++) wrench[i] = energy->weight_share * weight[i] + energy->share * (wrench[i] - weight[i]);
    return energy->share < 1 || energy->weight_share < 1;
}

void haptic_energy_send(haptic_energy *energy, const double wrench[6], const double weight[6], double gain) {
    for (int i = 0; i < 6; i++) {
        energy->sent[i] = gain * wrench[i];
        energy->weight[i] = gain * energy->weight_share * weight[i];
    }
}

/* Samples of the device. */

#define SANE_QUATERNION 0.1 /* deviation from unit length */
#define JUMP_TURN 0.8       /* rad, and: */
#define JUMP_SPIN 40.0      /* rad/s */
#define INTERVAL_MIN 1e-9   /* s between two samples from which a velocity is computed */

static bool quaternion_is_sane(const double *q) {
    double length = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    return fabs(length - 1) <= SANE_QUATERNION;
}

static bool sample_is_sane(const thenar_device_sample *s) {
    if (!(s->has & THENAR_DEVICE_POSITION) || !all_within(s->pose, 3, SANE_LENGTH)) return false;
    if ((s->has & THENAR_DEVICE_ORIENTATION) && !quaternion_is_sane(s->pose + 3)) return false;
    if ((s->has & THENAR_DEVICE_VELOCITY) && !all_within(s->velocity, 3, SANE_LENGTH)) return false;
    return !(s->has & THENAR_DEVICE_SPIN) || all_within(s->spin, 3, SANE_LENGTH);
}

/* The measured velocity if the device has one, else from two positions, low-passed. */
static void update_velocity(const thenar_haptic_settings *settings, double velocity[3], bool has_measured,
                            const double *measured, vec3 move, double elapsed) {
    if (has_measured) {
        memcpy(velocity, measured, 3 * sizeof *measured);
        return;
    }
    double share = 1 - exp(-2 * M_PI * settings->velocity_cutoff * elapsed);
    vec3 computed = vec3_scale(move, 1 / fmax(elapsed, INTERVAL_MIN)), old = vec3_load(velocity);
    vec3_store(velocity, vec3_mul_add(old, vec3_sub(computed, old), share));
}

/* Moves the device to a valid sample, `elapsed` seconds after the previous one. */
static void accept_sample(const thenar_haptic_settings *settings, haptic_state *s, const thenar_device_sample *sample,
                          quat orientation, double elapsed) {
    haptic_device *device = &s->device;
    vec3 position = vec3_load(sample->pose);
    vec3 move = vec3_sub(position, device->position), turn = turn_between(device->orientation, orientation);
    if (device->known) {
        double moved[6];
        vec3_store(moved, move);
        vec3_store(moved + 3, turn);
        haptic_energy_observe(&s->energy, moved, settings->energy_max);
        update_velocity(settings, device->velocity, sample->has & THENAR_DEVICE_VELOCITY, sample->velocity, move,
                        elapsed);
        update_velocity(settings, device->velocity + 3, sample->has & THENAR_DEVICE_SPIN, sample->spin, turn, elapsed);
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

/* `elapsed`: s since the last tick. Invalid samples are ignored and counted; a jump begins a restart. */
static void read_sample(const thenar_haptic_settings *settings, haptic_state *s, const device_sample *sample,
                        double elapsed) {
    haptic_device *device = &s->device;
    device->silence += elapsed;
    if (sample->number == device->number) return;
    device->number = sample->number;
    if (!sample_is_sane(&sample->body)) {
        s->faults[THENAR_HAPTIC_BAD_SAMPLE]++;
        return;
    }
    /* A device that does not measure its orientation keeps the initial one of the handle. */
    quat orientation = sample->body.has & THENAR_DEVICE_ORIENTATION ? quat_load(sample->body.pose + 3)
                                                                    : quat_unit(device->orientation);
    s->samples++;
    if (is_jump(settings, device, vec3_load(sample->body.pose), orientation, device->silence)) {
        if (!s->restarting) s->faults[THENAR_HAPTIC_JUMP]++;
        s->restarting = true;
    }
    if (s->restarting && s->gain > 0) { /* the device stays in place until the force has faded */
        device->silence = 0;
        return;
    }
    if (s->restarting) device->known = false;
    s->restarting = false;
    accept_sample(settings, s, &sample->body, orientation, device->silence);
    device->silence = 0;
}

/* Linearizations of the simulation. */

#define LATENCY_MAX 0.05 /* s from publication to the tick; more: a clock was changed */
#define PUSH_MIN 0.02    /* N: a smaller force does not tell where a tool pushes */
#define PUSH_SHARE 0.3   /* weight of the newest direction */
#define REVERSED 0.5     /* cosine */

bool haptic_linear_is_sane(const struct haptic_linear *linear) {
    if (!all_within(linear->position, 3, SANE_LENGTH) || !quaternion_is_sane(linear->orientation) ||
        !all_within(linear->velocity, 6, SANE_LENGTH) || !all_within(linear->force, 6, SANE_STIFFNESS) ||
        !all_within(linear->stiffness, 36, SANE_STIFFNESS) || !all_within(linear->damping, 36, SANE_STIFFNESS) ||
        !all_within(linear->inertia, 36, SANE_MASS) || !all_within(linear->viscosity, 36, SANE_STIFFNESS))
        return false;
    for (int i = 0; i < 36; i += 7)
        if (linear->stiffness[i] < 0 || linear->damping[i] < 0 || linear->inertia[i] < 0 || linear->viscosity[i] < 0)
            return false;
    return linear->step_length > 0 && linear->step_length <= SANE_LENGTH && linear->contacts >= 0;
}

/* A tool that pushed in one direction and then in the other, always in contact, is clamped from both sides. */
static void update_push(haptic_state *s) {
    vec3 force = vec3_load(s->linear.force);
    double size = vec3_length(force), along = vec3_dot(force, s->push);
    if (s->linear.contacts == 0) {
        s->push = (vec3){0, 0, 0};
        s->both_sides = false;
    } else if (along < -REVERSED * size && size > PUSH_MIN)
        s->both_sides = true;
    else if (size > PUSH_MIN) /* the mean direction follows a motion around a corner */
        s->push = vec3_unit(vec3_mul_add(s->push, vec3_unit(force), PUSH_SHARE));
}

/* A wall is remembered for a while after the contact ended, unless the simulation reports a free tool where the wall
 * should push. */
static void update_wall(haptic_state *s) {
    if (s->linear.contacts > 0) {
        s->wall = s->linear;
        s->wall_age = 0;
        if (s->both_sides) s->wall.step = 0;
        return;
    }
    double away[6], force[6];
    if (s->wall.step == 0) return;
    vec3_store(away, vec3_sub(vec3_load(s->linear.position), vec3_load(s->wall.position)));
    vec3_store(away + 3, turn_between(quat_load(s->wall.orientation), quat_load(s->linear.orientation)));
    memcpy(force, s->wall.force, sizeof force);
    six_add_product(force, s->wall.stiffness, away, -1);
    if (vec3_dot(vec3_load(force), vec3_load(s->wall.force)) > 0) s->wall.step = 0;
}

/* Over a step hs of the simulation, stiffness and damping determine only the sum S = hs^2 Kc + hs Dc, which consists of
 * mass M, dampers V and elasticity E:
 *     S = M + hs V + hs^2 E.
 * As a spring, M would pull the proxy back to the old pose of the handle; so would dampers that are taken for springs,
 * and a heavy soft tool then becomes unstable (haptic-hand-bunny, steps of 10 ms: 3 of 9 hands). So from here on the
 * stiffness is E and the damping V; if V is unknown, M is subtracted from both in their present shares. The force of
 * accelerating M in the step, -M dv/hs, is removed from the force too, and the proxy carries M instead. The rest
 * depends on the pose and the velocity of the tool only. */
static void separate_inertia(struct haptic_linear *now, const struct haptic_linear *before) {
    double h = now->step_length, springs = 0, dampers = 0, known = 0, dv[6];
    for (int i = 0; i < 36; i += 7) {
        springs += h * h * now->stiffness[i], dampers += h * now->damping[i];
        known += now->viscosity[i];
    }
    if (!(springs + dampers > 0)) return;
    double share = springs / (springs + dampers);
    for (int i = 0; i < 36; i++) {
        double rest = h * (h * now->stiffness[i] + now->damping[i]) - now->inertia[i];
        now->damping[i] = known > 0 ? now->viscosity[i] : now->damping[i] - (1 - share) * now->inertia[i] / h;
        now->stiffness[i] = (rest - h * now->damping[i]) / (h * h);
    }
    if (now->step != before->step + 1) return;
    for (int i = 0; i < 6; i++) dv[i] = now->velocity[i] - before->velocity[i];
    six_add_product(now->force, now->inertia, dv, 1 / h);
}

/* Kc also contains springs between handle and tool that are stretched by inertia, and a sliding tool is held by
 * nothing. The last step dx tells both apart: stiffness changed the force by -Kc dx, inertia did not change it. So the
 * share
 *     s = dx (dF + Kc dx) / (dx Kc dx), clamped to 0..1,
 * of the motion of the handle continues until the next update, and Kc pulls the proxy to the moving pose. */
static void update_follow(haptic_state *s, const struct haptic_linear *before) {
    s->follow = 0;
    if (before->contacts == 0 || s->linear.contacts == 0 || s->linear.step != before->step + 1) return;
    double dx[6], kdx[6] = {0}, held = 0, unchanged = 0;
    vec3_store(dx, vec3_sub(vec3_load(s->linear.position), vec3_load(before->position)));
    vec3_store(dx + 3, turn_between(quat_load(before->orientation), quat_load(s->linear.orientation)));
    six_add_product(kdx, s->linear.stiffness, dx, 1);
    for (int i = 0; i < 6; i++) {
        held += dx[i] * kdx[i];
        unchanged += dx[i] * (s->linear.force[i] - before->force[i] + kdx[i]);
    }
    if (held > 0) s->follow = fmax(0, fmin(1, unchanged / held));
}

static void read_update(haptic_state *s, const struct haptic_linear *linear, int64_t now_ns, double elapsed) {
    s->age += elapsed;
    s->wall_age += elapsed;
    if (linear->step == 0 || linear->step == s->seen_step) return;
    s->seen_step = linear->step;
    if (!haptic_linear_is_sane(linear)) {
        s->faults[THENAR_HAPTIC_BAD_LINEAR]++;
        return;
    }
    struct haptic_linear before = s->linear;
    s->linear = *linear;
    separate_inertia(&s->linear, &before);
    s->updates++;
    update_push(s);
    update_wall(s);
    update_follow(s, &before);
    double age = 1e-9 * (double)(now_ns - linear->published_ns);
    s->age = age >= 0 && age < LATENCY_MAX ? age : 0; /* otherwise a clock was changed in between */
}

#define TICK_MAX 0.05 /* s: if more has elapsed, the clock was changed or the loop was delayed */

/* Lets the force fade, or recover. */
static void check_faults(const thenar_haptic_settings *settings, haptic_state *s, double h) {
    double expected = fmin(s->linear.step_length, HAPTIC_LONGEST_STEP);
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

/* Limits the length of a vector; true if it was longer. */
static bool limit_length(double v[3], double max) {
    double length = vec3_length(vec3_load(v));
    if (!(length > max)) return false;
    vec3_store(v, vec3_scale(vec3_load(v), max / length));
    return true;
}

/* Moves `now` towards `target`, at most by `max`; true if it did not arrive. */
static bool approach(double now[3], const double target[3], double max) {
    double change[3];
    vec3_store(change, vec3_sub(vec3_load(target), vec3_load(now)));
    bool limited = limit_length(change, max);
    vec3_store(now, vec3_add(vec3_load(now), vec3_load(change)));
    return limited;
}

static void limit(const thenar_haptic_settings *settings, haptic_state *s, double wrench[6], double h) {
    bool strong = limit_length(wrench, settings->max_force), twisted = limit_length(wrench + 3, settings->max_torque);
    s->faults[THENAR_HAPTIC_CLAMPED] += strong || twisted;
    /* A recovering force pushes the device out of what it entered without force; the slow ramp makes that safe. */
    if (s->gain < 1) s->energy.tank = fmax(0, s->energy.tank), s->energy.share = s->energy.weight_share = 1;
    if (settings->passivity && s->gain == 1)
        s->faults[THENAR_HAPTIC_HELD_BACK] +=
            haptic_energy_limit(&s->energy, s->weight, s->device.velocity, settings->energy_reserve, h, wrench);
    bool fast = approach(s->wrench, wrench, settings->force_slew * h);
    bool spun = approach(s->wrench + 3, wrench + 3, settings->torque_slew * h);
    s->faults[THENAR_HAPTIC_SLEWED] += fast || spun;
}

void haptic_tick(const thenar_haptic_settings *settings, haptic_state *s, const device_sample *sample,
                 const struct haptic_linear *linear, int64_t now_ns, double dt, double wrench[6]) {
    double elapsed = s->ticked ? 1e-9 * (double)(now_ns - s->last_ns) : dt;
    if (!(elapsed > 0) || elapsed > TICK_MAX) {
        s->faults[THENAR_HAPTIC_CLOCK]++;
        s->restarting = s->device.known; /* the device may have moved anywhere meanwhile */
        elapsed = dt;
    }
    s->last_ns = now_ns;
    s->ticked = true;
    read_update(s, linear, now_ns, elapsed);
    read_sample(settings, s, sample, elapsed);
    /* A start or restart puts the proxy where the device is, even without a fault from the first tick on. */
    bool starts = s->gain == 0;
    check_faults(settings, s, elapsed);
    if (starts || s->gain == 0) haptic_proxy_restart(s);
    if (s->gain > 0 && !s->stale && !s->silent && !s->restarting) { /* otherwise the last force fades */
        double wanted[6];
        haptic_proxy_move(settings, s, elapsed, wanted);
        limit(settings, s, wanted, elapsed);
    }
    if (!all_within(s->wrench, 6, SANE_STIFFNESS)) { /* whatever the cause, nothing is sent in this tick */
        s->faults[THENAR_HAPTIC_UNSOLVED]++;
        memset(s->wrench, 0, sizeof s->wrench);
        s->gain = 0;
        haptic_proxy_restart(s);
    }
    haptic_energy_send(&s->energy, s->wrench, s->weight, s->gain);
    memcpy(wrench, s->energy.sent, sizeof s->energy.sent);
}
