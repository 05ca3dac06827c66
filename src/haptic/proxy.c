/* The proxy of the handle (garre2009 section 3 and Fig. 2, after Garre and Otaduy 2009).
 *
 * A rigid body of mass M between the device and the tool:
 *     M dv/dt = Fd + Ft,
 *     Fd = K (xd - x) + D (vd - v)                       the virtual coupling to the device,
 *     Ft = Fc - Kc (x - xh) - Dc (v - vh)                the tool, as the simulation published it.
 * Implicit Euler over a tick h, x1 = x0 + h v1 in both, gives one symmetric positive definite 6x6 system:
 *     (M/h + D + h K + Dc + h Kc) v1 = M v0/h + K (xd - x0) + D vd + Fc - Kc (x0 - xh) + Dc vh.
 * The device receives -Fd at the end of the tick. Rotations are rotation vectors in world axes; terms that depend on the
 * current rotation are neglected, as in Kc.
 *
 * The mass of the tool that moves with the handle is added to M; Fc, Kc and Dc are without it here (tick.c). A tool without
 * contacts has no rest position: what remains in Kc and Dc is then inertia too, hs^2 Kc + hs Dc over a step hs of the
 * simulation. Pulling the proxy to the old pose of the handle would cause drag (1.8 N at 0.2 m/s).
 *
 * A pushing contact may end before the simulation knows: where Ft would point against Fc it is zero (`one_sided`), unless the
 * tool was seen to push in both directions, as a tool that is clamped. So a wall that the simulation predicts
 * (thenar_haptic_pose, ahead) is felt where it is, not a step late. A wall is remembered for some steps after the contact
 * ended, unless the simulation reports that it is gone. Otherwise a loosely held device that bounces along a wall enters it
 * for a step each time and is thrown out (steps of 33 ms: 3 of 27 hands become unstable without this, none with it). */
#include "haptic/haptic.h"

#include "core/spatial.h"

#include <string.h>

#define REMEMBER_STEPS 4.0 /* steps of the simulation for which a wall is remembered, */
#define REMEMBER_MAX 0.1   /* but at most this time, s */
#define WEIGHT_TIME 0.1    /* s, time constant of the low pass on the force of a free tool */

/* The tool's force on the proxy, force - stiffness (x - pose) - damping (v - velocity), and the inertia that it adds. */
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
    double step = fmin(s->linear.step_length, HAPTIC_LONGEST_STEP), share = fmin(1, h / WEIGHT_TIME);
    for (int i = 0; i < 36; i++)
        tool->inertia[i] = s->linear.inertia[i] + step * (step * s->linear.stiffness[i] + s->linear.damping[i]);
    for (int i = 0; i < 6; i++) {
        s->weight[i] += share * (s->linear.force[i] - s->weight[i]);
        tool->force[i] = s->weight[i];
    }
}

static void tool_linear(const struct haptic_linear *linear, tool_force *tool) {
    memcpy(tool->force, linear->force, sizeof tool->force);
    memcpy(tool->stiffness, linear->stiffness, sizeof tool->stiffness);
    memcpy(tool->damping, linear->damping, sizeof tool->damping);
    memcpy(tool->inertia, linear->inertia, sizeof tool->inertia);
}

/* The symmetric part of a 6x6 matrix by rows, linear part first. */
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

/* Solves the system above; false if it has no solution. ft: the tool's force at the end of the tick. */
static bool solve_proxy(const thenar_haptic_settings *settings, const haptic_state *s, const tool_force *tool, double h,
                        double v1[6], double ft[6]) {
    const double K[2] = {settings->stiffness, settings->turn_stiffness};
    const double D[2] = {settings->damping, settings->turn_damping};
    double a[36], b[6], stretch[6], away[6], change[6];
    pose_difference(stretch, s->position, s->orientation, s->device.position, s->device.orientation);
    pose_difference(away, tool->position, tool->orientation, s->position, s->orientation);
    for (int i = 0; i < 36; i++) a[i] = tool->inertia[i] / h + tool->damping[i] + h * tool->stiffness[i];
    memcpy(b, tool->force, sizeof b);
    six_add_product(b, tool->inertia, s->velocity, 1 / h);
    six_add_product(b, tool->stiffness, away, -1);
    six_add_product(b, tool->damping, tool->velocity, 1);
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
    if (!all_within(v1, 6, SANE_LENGTH)) return false;
    memcpy(ft, tool->force, 6 * sizeof *ft);
    for (int i = 0; i < 6; i++) away[i] += h * v1[i], change[i] = v1[i] - tool->velocity[i];
    six_add_product(ft, tool->stiffness, away, -1);
    six_add_product(ft, tool->damping, change, -1);
    return true;
}

/* Solves with the remembered wall; false if there is none or the proxy is not in it. */
static bool solve_at_wall(const thenar_haptic_settings *settings, haptic_state *s, double h, double v[6]) {
    if (!settings->one_sided || s->wall.step == 0 ||
        s->wall_age > fmin(REMEMBER_STEPS * s->wall.step_length, REMEMBER_MAX))
        return false;
    tool_force tool = {.position = vec3_load(s->wall.position), .orientation = quat_load(s->wall.orientation)};
    const double still[6] = {0};
    double ft[6];
    tool.velocity = still;
    tool_linear(&s->wall, &tool);
    return solve_proxy(settings, s, &tool, h, v, ft) && vec3_dot(vec3_load(ft), vec3_load(s->wall.force)) > 0;
}

void haptic_proxy_move(const thenar_haptic_settings *settings, haptic_state *s, double h, double wrench[6]) {
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
        tool_linear(&s->linear, &tool);
    double v[6], ft[6];
    bool solved = solve_proxy(settings, s, &tool, h, v, ft);
    if (solved && settings->one_sided && !s->both_sides && !settings->plain && s->linear.contacts > 0 &&
        vec3_dot(vec3_load(ft), vec3_load(s->linear.force)) < 0) {
        memset(tool.force, 0, sizeof tool.force);
        memset(tool.stiffness, 0, sizeof tool.stiffness);
        memset(tool.damping, 0, sizeof tool.damping);
        solved = solve_proxy(settings, s, &tool, h, v, ft);
    }
    double at_wall[6];
    if (!settings->plain && s->linear.contacts == 0 && solve_at_wall(settings, s, h, at_wall))
        memcpy(v, at_wall, sizeof v);
    if (!solved) {
        s->faults[THENAR_HAPTIC_UNSOLVED]++;
        memset(v, 0, sizeof v);
    }
    memcpy(s->velocity, v, sizeof v);
    s->position = vec3_mul_add(s->position, vec3_load(v), h);
    s->orientation = quat_unit(quat_mul(quat_from_rotation_vector(vec3_scale(vec3_load(v + 3), h)), s->orientation));
    double stretch[6];
    pose_difference(stretch, s->device.position, s->device.orientation, s->position, s->orientation);
    for (int i = 0; i < 6; i++)
        wrench[i] = (i < 3 ? settings->stiffness : settings->turn_stiffness) * stretch[i] +
                    (i < 3 ? settings->damping : settings->turn_damping) * (v[i] - s->device.velocity[i]);
}

void haptic_proxy_restart(haptic_state *s) {
    s->position = s->device.position;
    s->orientation = s->device.orientation;
    memcpy(s->velocity, s->device.velocity, sizeof s->velocity);
    memset(s->wrench, 0, sizeof s->wrench);
    memset(s->weight, 0, sizeof s->weight);
}
