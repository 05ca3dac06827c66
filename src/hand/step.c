/* A step of the composite hand: bones, then what pulls at the flesh.
 *
 * With the velocities s of the bones, C s those of the nodes' targets, and those f of the flesh, one step of the
 * whole is
 *     (A_s + C^T kappa C) s - C^T kappa f = b_s,   A_f f - kappa C s = b_f,   kappa = h^2 k + h d, part of A_f;
 * eliminating f would leave the bones with S = C^T (kappa - kappa A_f^-1 kappa) C, dense, and new in every step. What
 * is needed of an approximation: no softer than half of S, or bones and flesh swing against each other ever wider;
 * not much stiffer either, or bones get sluggish; exact at rest and in steady motion; a sum over bones, so that the
 * tree stays a tree. S is the energy of the flesh at its best f, so any guess of f in terms of s is an upper bound.
 * Two are used.
 *
 * Where nothing touches, the flesh goes with the bones, f = C s: it adds its mass to them. The force of the springs
 * at the end of the last step, F = k (x - t), is what the flesh does to the bones (the dampers' part is small and left
 * out: it vanishes at rest and in steady motion). F holds the flesh's inertia, m (v - v0) / h, already, which is given
 * back: node i adds to the bones
 *     m_i   to A and   h F_i + m_i (2 v_i - v0_i)   to b,
 * which vanishes, but for what F bears, in steady motion and in steady acceleration.
 *
 * Nodes that touch something are held there while their bones move on: f_j = v_j. Their share of the energy is at most
 * that of their own diagonal block of the flesh's stiffness, h^2 K_jj, by which they are added at their last velocity.
 * (Adding that at every node, or kappa' = kappa (1 - kappa / a_i) with a_i the diagonal of A_f, is a bound as well, and
 * makes a hand follow its tracker like one of many times its mass at 10 ms, since one node at a time is moved against
 * its neighbours.)
 *
 * Flesh that spans a joint resists its turning, the more the nearer its limits are: never by more than the springs
 * around the joint can bear, k JOINT_REACH^2 (with a third of that a fist at its limits swings to and fro for ever).
 * That much is added at the rate at which the joint is wanted to turn: as inertia, at its last rate, it would let
 * joints ring. */
#include "hand/handle.h"

#include <float.h>
#include <string.h>

#define JOINT_REACH 0.05  /* m */
#define TOUCH_RESERVE 3.0 /* of K_jj: limits stiffen flesh that is pressed */
#define JUMP 0.2          /* m: a base that is that much elsewhere after a step was not moved but put there */
#define JUMP_TURN 1.5     /* rad */
/* As fast as hands move. A tracker that is slower than the steps moves its hand by fits and starts. */
#define FASTEST 5.0       /* m/s */
#define FASTEST_TURN 30.0 /* rad/s */

void hand_layout(hand_state *state, arena *kept, arena *work) {
    const hand_model *hand = state->model;
    state->skeleton.model = hand->skeleton.model;
    skeleton_layout(&state->skeleton, kept, work);
    state->kept = ARENA_ARRAY(kept, hand_kept, 1);
    size_t nodes = 0;
    for (int k = 0; k < hand->flesh_count; k++) nodes += (size_t)hand->flesh[k].node_count;
    state->before = ARENA_ARRAY(work, double, 3 * nodes);
}

static soft_state *flesh_state(const hand_attachment *flesh, body_state *const *bodies) {
    return (soft_state *)bodies[flesh->body];
}

/* t_i */
static vec3 wanted(const hand_attachment *flesh, int node, const skeleton_pose *pose) {
    vec3 sum = {0};
    for (int k = flesh->hold_start[node]; k < flesh->hold_start[node + 1]; k++) {
        const hand_hold *hold = &flesh->holds[k];
        vec3 place = vec3_add(pose[hold->bone].position, quat_rotate(pose[hold->bone].orientation, hold->local));
        sum = vec3_mul_add(sum, place, hold->weight);
    }
    return sum;
}

/* Sets the couplings' gains; targets follow. */
static void set_gains(hand_state *state) {
    for (int b = 0; b < HAND_BONES; b++) state->skeleton.coupling[b] = state->model->coupling[b];
}

void hand_reset(hand_state *state, body_state *const *bodies) {
    const hand_model *hand = state->model;
    skeleton_reset(&state->skeleton);
    *state->kept = (hand_kept){0};
    set_gains(state);
    const body_step begin = {.time = 0, .h = 0};
    hand_drive(state, &begin, &state->kept->target);
    /* Fingers start as the flesh is made, and go to their pose from there: flesh that is put into a fist by its bones
     * alone has inverted tets. */
    skeleton_set_pose(&state->skeleton, &state->kept->target.base, hand->skeleton.rest);
    for (int k = 0; k < hand->flesh_count; k++) {
        soft_state *flesh = flesh_state(&hand->flesh[k], bodies);
        for (int i = 0; i < hand->flesh[k].node_count; i++)
            vec3_store(flesh->x + 3 * i, wanted(&hand->flesh[k], i, state->skeleton.pose));
    }
}

void hand_continue(hand_state *state, const hand_state *from) {
    skeleton_state *to = &state->skeleton;
    const skeleton_state *bones = &from->skeleton;
    memcpy(to->pose, bones->pose, HAND_BONES * sizeof *to->pose);
    memcpy(to->motion, bones->motion, HAND_BONES * sizeof *to->motion);
    memcpy(to->wrench, bones->wrench, HAND_BONES * sizeof *to->wrench);
    memcpy(to->q, bones->q, HAND_ANGLES * sizeof *to->q);
    memcpy(to->rate, bones->rate, HAND_ANGLES * sizeof *to->rate);
    memcpy(to->target, bones->target, HAND_ANGLES * sizeof *to->target);
    set_gains(state);
    for (int b = 0; b < HAND_BONES; b++) {
        to->coupling[b].target = bones->coupling[b].target;
        to->coupling[b].velocity = bones->coupling[b].velocity;
        to->coupling[b].spin = bones->coupling[b].spin;
    }
    *state->kept = *from->kept;
}

static bool pose_is_valid(const skeleton_pose *pose) {
    const quat q = pose->orientation;
    return body_is_near(pose->position) && isfinite(q.x + q.y + q.z + q.w);
}

bool hand_is_finite(const hand_state *state) {
    const skeleton_state *bones = &state->skeleton;
    const hand_kept *kept = state->kept;
    bool is_finite = pose_is_valid(&kept->target.base) && body_within(kept->target.q, HAND_ANGLES, DBL_MAX) &&
                     pose_is_valid(&kept->given.base) && body_within(kept->given.q, HAND_ANGLES, DBL_MAX) &&
                     body_within(bones->q, HAND_ANGLES, DBL_MAX) && body_within(bones->rate, HAND_ANGLES, DBL_MAX) &&
                     body_within(bones->target, HAND_ANGLES, DBL_MAX);
    for (int b = 0; b < HAND_BONES; b++)
        is_finite = is_finite && pose_is_valid(&bones->pose[b]) && vec3_is_finite(bones->motion[b].velocity) &&
                    vec3_is_finite(bones->motion[b].spin);
    return is_finite;
}

void hand_rest_bones(hand_state *state) {
    skeleton_set_pose(&state->skeleton, NULL, NULL);
}

static vec3 no_longer(vec3 v, double max) {
    double length = vec3_length(v);
    return length > max ? vec3_scale(v, max / length) : v;
}

/* Joints and couplings are told where the hand is wanted at the end of the step, and how fast that moves. */
static void follow(hand_state *state, const hand_target *target, double h) {
    skeleton_state *bones = &state->skeleton;
    const hand_target *last = &state->kept->target;
    vec3 way = vec3_sub(target->base.position, last->base.position);
    vec3 turn = quat_to_rotation_vector(quat_mul(target->base.orientation, quat_conjugate(last->base.orientation)));
    bool jumped = vec3_length(way) > JUMP || vec3_length(turn) > JUMP_TURN;
    memcpy(bones->target, target->q, sizeof target->q);
    skeleton_pose before[HAND_BONES], after[HAND_BONES];
    before[0] = last->base, after[0] = target->base;
    skeleton_place(bones->model, last->q, before);
    skeleton_place(bones->model, target->q, after);
    for (int b = 0; b < HAND_BONES; b++) {
        skeleton_coupling *coupling = &bones->coupling[b];
        coupling->target = after[b];
        coupling->velocity = coupling->spin = (vec3){0};
        if (jumped) continue;
        quat turned = quat_mul(after[b].orientation, quat_conjugate(before[b].orientation));
        coupling->velocity = no_longer(vec3_scale(vec3_sub(after[b].position, before[b].position), 1 / h), FASTEST);
        coupling->spin = no_longer(vec3_scale(quat_to_rotation_vector(turned), 1 / h), FASTEST_TURN);
    }
}

/* What a device that took over a bone wants of it, or NULL. */
static const handle_kept *driver_of(const hand_state *state, int bone) {
    const handle_state *handle = state->handles[bone];
    return handle && handle->kept->is_driven ? handle->kept : NULL;
}

/* The palm takes all of the hand along. */
static void take_palm(const hand_state *state, hand_target *target) {
    const handle_kept *driver = driver_of(state, 0);
    if (driver) target->base = (skeleton_pose){vec3_load(driver->driven), rigid_orientation(driver->driven + 3)};
}

/* After `follow`: bones that devices hold are pulled to where these are, by couplings of the hand or else the handle's
 * own. */
static void follow_devices(hand_state *state) {
    for (int b = 0; b < HAND_BONES; b++) {
        const handle_kept *driver = driver_of(state, b);
        skeleton_coupling *coupling = &state->skeleton.coupling[b];
        if (!driver) continue;
        if (!(state->model->coupling[b].stiffness > 0)) *coupling = handle_of(state->handles[b])->coupling;
        coupling->target = (skeleton_pose){vec3_load(driver->driven), rigid_orientation(driver->driven + 3)};
        coupling->velocity = vec3_load(driver->driven_motion);
        coupling->spin = vec3_load(driver->driven_motion + 3);
    }
}

/* The dampers of the joints see the rate of their targets, and the flesh around them is reckoned with. */
static void complete_joints(hand_state *state, const hand_target *target, double h) {
    skeleton_state *bones = &state->skeleton;
    const skeleton_model *model = bones->model;
    double reserve = h * h * state->model->flesh_stiffness * JOINT_REACH * JOINT_REACH;
    for (int b = 0; b < model->bone_count; b++)
        for (int k = 0; k < model->bones[b].axis_count; k++) {
            int i = model->first_dof[b] + k;
            double rate = (target->q[i] - state->kept->target.q[i]) / h;
            bones->dof_momentum[i] += (h * model->bones[b].axes[k].damping + reserve) * rate;
            bones->dof_inertia[i] += reserve;
        }
}

/* What the flesh does to the bones. before: gets the places where its nodes are wanted as the step begins. */
static void load_bones(hand_state *state, const hand_attachment *flesh, const soft_state *soft, double h,
                       double *before) {
    const soft_model *body = soft_of(soft);
    skeleton_state *bones = &state->skeleton;
    for (int i = 0; i < flesh->node_count; i++) {
        vec3 x = vec3_load(soft->x + 3 * i), v = vec3_load(soft->v + 3 * i);
        vec3 target = wanted(flesh, i, bones->pose);
        vec3_store(before + 3 * i, target);
        double held = TOUCH_RESERVE * soft->touched[i] * h * h * flesh->stiffness[i], mass = body->mass[i];
        vec3 pull = vec3_scale(vec3_sub(x, target), body->stiffness[i]);
        vec3 impulse = vec3_mul_add(vec3_scale(pull, h), v, mass + held);
        impulse = vec3_mul_add(impulse, vec3_load(soft->change + 3 * i), mass);
        for (int k = flesh->hold_start[i]; k < flesh->hold_start[i + 1]; k++) {
            const hand_hold *hold = &flesh->holds[k];
            const skeleton_pose *pose = &bones->pose[hold->bone];
            vec3 point = vec3_add(pose->position, quat_rotate(pose->orientation, hold->local));
            skeleton_add_point(bones, hold->bone, point, hold->weight * (mass + held),
                               vec3_scale(impulse, hold->weight));
        }
    }
}

/* pull = k (t - x0) + d t', as soft_step.c has it for supports. */
static void pull_flesh(const hand_state *state, const hand_attachment *flesh, soft_state *soft, const double *before,
                       double h) {
    const soft_model *body = soft_of(soft);
    for (int i = 0; i < flesh->node_count; i++) {
        vec3 target = wanted(flesh, i, state->skeleton.pose), x = vec3_load(soft->x + 3 * i);
        vec3 speed = vec3_scale(vec3_sub(target, vec3_load(before + 3 * i)), 1 / h);
        vec3 pull = vec3_scale(vec3_sub(target, x), body->stiffness[i]);
        vec3_store(soft->spring_pull + 3 * i, vec3_mul_add(pull, speed, body->damping[i]));
    }
}

bool hand_advance(hand_state *state, body_state *const *bodies, const body_step *step) {
    const hand_model *hand = state->model;
    skeleton_state *bones = &state->skeleton;
    double h = step->h;
    hand_target target;
    hand_drive(state, step, &target);
    take_palm(state, &target);
    follow(state, &target, h);
    follow_devices(state);
    skeleton_begin(bones, h, hand->weight ? step->gravity : (vec3){0});
    complete_joints(state, &target, h);
    double *before = state->before;
    for (int k = 0; k < hand->flesh_count; before += 3 * (size_t)hand->flesh[k++].node_count)
        load_bones(state, &hand->flesh[k], flesh_state(&hand->flesh[k], bodies), h, before);
    if (!skeleton_solve(bones, h)) return false;
    skeleton_integrate(bones, h);
    before = state->before;
    for (int k = 0; k < hand->flesh_count; before += 3 * (size_t)hand->flesh[k++].node_count)
        pull_flesh(state, &hand->flesh[k], flesh_state(&hand->flesh[k], bodies), before, h);
    state->kept->target = target;
    return true;
}
