#include "bench/closed_loop.h"

#include "world/sim.h"

#include <string.h>

#define SETTLE_STEPS 30
#define TURN_ARM 0.02 /* m: lever arm by which rotations are compared with displacements */

vec3 closed_loop_position(const closed_loop *loop) {
    return vec3_add(vec3_load(loop->handle.base), loop->person.position);
}

static void step(closed_loop *loop) {
    const user_state *person = &loop->person;
    const double *g = loop->handle.grip;
    double ahead = thenar_sim_dt(loop->sim), pose[7], velocity[6];
    vec3_store(velocity, person->velocity);
    vec3_store(velocity + 3, person->spin);
    quat turn = quat_mul(quat_from_rotation_vector(vec3_scale(person->spin, ahead)), person->orientation);
    pose_store(pose, vec3_mul_add(closed_loop_position(loop), person->velocity, ahead),
               quat_unit(quat_mul(turn, (quat){g[0], g[1], g[2], g[3]})));
    thenar_sim_drive_handle(loop->sim, 0, pose, velocity);
    thenar_sim_step(loop->sim);
    sim_handle_linear(loop->sim, 0, &loop->next);
}

closed_loop closed_loop_begin(thenar_sim *sim, haptic_rendering rendering, thenar_haptic_settings settings,
                              user_model user) {
    thenar_sim_reset(sim);
    closed_loop loop = {.sim = sim,
                        .rendering = rendering,
                        .handle = thenar_haptic_handle_of(sim, 0),
                        .user = user,
                        .person = user_begin(&user),
                        .dt = 1e-3};
    loop.handle.settings = settings;
    loop.handle.settings.plain = rendering == RENDER_PLAIN;
    thenar_sim_linearize_handle(sim, 0, rendering == RENDER_LINEAR);
    for (int i = 0; i < SETTLE_STEPS; i++) step(&loop);
    return loop;
}

/* Publishes a step and begins the next one when they are due. */
static void simulate(closed_loop *loop, int64_t now_ns) {
    int64_t every = (int64_t)lround(thenar_sim_dt(loop->sim) / loop->dt);
    int64_t after = loop->publish_after > 0 ? loop->publish_after : every;
    if ((loop->tick - after) % every == 0) {
        loop->published = loop->next;
        loop->published.published_ns = now_ns;
    }
    if (loop->tick % every == 0) step(loop);
}

/* One tick of simulation and loop; the device stays in place. */
static void render(closed_loop *loop) {
    int64_t now_ns = (int64_t)llround(1e9 * loop->dt * (double)loop->tick);
    const double *g = loop->handle.grip;
    device_sample sample = {.number = (uint64_t)loop->tick + 1};
    memcpy(loop->wrench_before, loop->wrench, sizeof loop->wrench_before);
    simulate(loop, now_ns);
    loop->tick++;
    user_sample(&loop->person, sample.number, &sample.body);
    pose_store(sample.body.pose, closed_loop_position(loop),
               quat_mul(loop->person.orientation, (quat){g[0], g[1], g[2], g[3]}));
    if (loop->rendering != RENDER_DIRECT) {
        haptic_tick(&loop->handle.settings, &loop->state, &sample, &loop->published, now_ns, loop->dt, loop->wrench);
        return;
    }
    thenar_handle_state handle;
    thenar_sim_handle(loop->sim, 0, &handle);
    for (int i = 0; i < 6; i++) loop->wrench[i] = -handle.coupling[i];
}

void closed_loop_tick(closed_loop *loop) {
    vec3 x = loop->person.position;
    quat q = loop->person.orientation;
    double moved[6];
    render(loop);
    user_advance(&loop->user, &loop->person, loop->wrench_before, loop->dt);
    pose_difference(moved, x, q, loop->person.position, loop->person.orientation);
    for (int i = 0; i < 6; i++) loop->returned += loop->wrench_before[i] * moved[i];
    loop->returned_max = fmax(loop->returned_max, loop->returned);
}

/* One tick with a device that is moved regardless of the force; the position is relative to its own origin. */
static void tick_guided(closed_loop *loop, vec3 position, vec3 velocity) {
    loop->person.position = position;
    loop->person.velocity = velocity;
    render(loop);
}

press_script press_script_make(vec3 pressed, vec3 slid) {
    const vec3 none = {0, 0, 0};
    return (press_script){{{0, none, none},
                           {0.3, none, none},
                           {0.7, pressed, none},
                           {1.6, pressed, none},
                           {2.0, slid, none},
                           {2.3, none, none},
                           {3.3, none, none}}};
}

user_model press_script_user(press_script *script, double stiffness, double damping_share) {
    user_model user = user_model_default();
    user.stiffness = stiffness;
    user.damping = 2 * damping_share * sqrt(stiffness * user.mass);
    user.turn_damping = 2 * damping_share * sqrt(user.turn_stiffness * user.inertia);
    user.keys = script->keys;
    user.key_count = (int)(sizeof script->keys / sizeof script->keys[0]);
    return user;
}

/* Runs until a tick; returns the amplitude along the axis in which the hand moves most, m. */
static double amplitude(closed_loop *loop, int64_t until) {
    double low[6], high[6], max = 0;
    for (int i = 0; i < 6; i++) low[i] = INFINITY, high[i] = -INFINITY;
    while (loop->tick < until) {
        double at[6];
        closed_loop_tick(loop);
        vec3_store(at, loop->person.position);
        vec3_store(at + 3, vec3_scale(quat_to_rotation_vector(loop->person.orientation), TURN_ARM));
        for (int i = 0; i < 6; i++) low[i] = fmin(low[i], at[i]), high[i] = fmax(high[i], at[i]);
    }
    for (int i = 0; i < 6; i++) max = fmax(max, high[i] - low[i]);
    return max;
}

bool closed_loop_is_stable(closed_loop *loop) {
    amplitude(loop, 700);
    double early = amplitude(loop, 1150), late = amplitude(loop, 1600);
    bool stable = late < 0.8 * early + 2e-4;
    amplitude(loop, 2300); /* slides and releases */
    early = amplitude(loop, 2800), late = amplitude(loop, 3300);
    return stable && late < 0.8 * early + 2e-4 && isfinite(loop->person.position.y);
}

double closed_loop_drag(thenar_sim *sim, haptic_rendering rendering, thenar_haptic_settings settings, double speed) {
    closed_loop loop = closed_loop_begin(sim, rendering, settings, user_model_default());
    double worst = 0;
    for (int i = 1; i <= 800; i++) {
        tick_guided(&loop, vec3_make(1e-3 * i * speed, 0, 0), vec3_make(speed, 0, 0));
        if (i > 500) worst = fmax(worst, fabs(loop.wrench[0]));
    }
    return worst;
}

double closed_loop_delay(thenar_sim *sim, haptic_rendering rendering, thenar_haptic_settings settings, double gap,
                         double speed, int phase, int publish_after) {
    closed_loop loop = closed_loop_begin(sim, rendering, settings, user_model_default());
    loop.publish_after = publish_after;
    const vec3 none = {0, 0, 0}, down = {0, -speed, 0};
    const double felt = 0.05;                     /* N */
    const double above = fmin(0.1 * speed, 0.02); /* m above its origin: where it starts after a while at rest */
    double y = above, free_force = 0;
    for (int i = 0; i < 300 + phase; i++) tick_guided(&loop, vec3_make(0, above, 0), none);
    while (y > -gap - 0.02) {
        if (y > -gap + 0.2 * above) free_force = loop.wrench[1];
        if (y < -gap + 1e-4 && loop.wrench[1] > free_force + felt)
            return loop.dt * round((-gap - y) / speed / loop.dt) + 0.0;
        y -= speed * loop.dt;
        tick_guided(&loop, vec3_make(0, y, 0), down);
    }
    return INFINITY;
}

static bool all_hands_are_stable(thenar_sim *sim, haptic_rendering rendering, thenar_haptic_settings settings,
                                 press_script *script) {
    const double hands[] = {100, 450, 2000};
    for (int i = 0; i < 3; i++) {
        closed_loop loop = closed_loop_begin(sim, rendering, settings, press_script_user(script, hands[i], 0.2));
        if (!closed_loop_is_stable(&loop)) return false;
    }
    return true;
}

stable_wall closed_loop_stiffest(closed_loop_maker make, void *context, haptic_rendering rendering, double drag_max,
                                 press_script *script, double gap, double factor) {
    stable_wall best = {0, 0};
    for (double k = 10; k < 3e4; k *= factor) {
        thenar_sim *sim = make(context, k, fmin(10, 0.02 * k));
        if (!sim) return best;
        thenar_haptic_settings settings = thenar_haptic_handle_of(sim, 0).settings;
        settings.passivity = false;
        /* Limits would hide an instability. */
        settings.max_force = settings.max_torque = settings.force_slew = settings.torque_slew = 1e6;
        double drag = closed_loop_drag(sim, rendering, settings, 0.2);
        bool stable = drag <= drag_max && all_hands_are_stable(sim, rendering, settings, script);
        if (stable) {
            closed_loop press = closed_loop_begin(sim, rendering, settings, press_script_user(script, 500, 1));
            while (press.tick < 1500) closed_loop_tick(&press);
            best = (stable_wall){press.wrench[1] / (-gap - press.person.position.y), drag};
        }
        thenar_sim_free(sim);
        if (!stable) break;
    }
    return best;
}
