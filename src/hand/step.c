/* A step of the hand: first the bones, then the springs that pull the flesh.
 *
 * Let s be the velocities of the bones, C s those of the node targets, and f those of the flesh. One implicit step of
 * both is
 *     (A_s + C^T kappa C) s - C^T kappa f = b_s,   A_f f - kappa C s = b_f,   kappa = h^2 k + h d, part of A_f.
 * Eliminating f leaves the bones with S = C^T (kappa - kappa A_f^-1 kappa) C, which is dense and changes every step.
 * An approximation of S has to be at least half as stiff as S, or bones and flesh oscillate with growing amplitude;
 * not much stiffer, or the bones become sluggish; exact at rest and in steady motion; and a sum over bones, so that
 * the tree stays a tree. S is the energy of the flesh at its optimal f, so any guess of f in terms of s gives an upper
 * bound. Two guesses are used.
 *
 * Without contact the flesh moves with the bones, f = C s, and adds its mass to them. The force of the flesh on the
 * bones is that of the springs at the end of the last step, F = k (x - t). (The dampers' part is small and vanishes at
 * rest and in steady motion; it is left out.) F already contains the inertial force of the flesh, m (v - v0) / h,
 * which is compensated: node i adds
 *     m_i   to A and   h F_i + m_i (2 v_i - v0_i)   to b,
 * which vanishes, apart from the load in F, in steady motion and in steady acceleration.
 *
 * Nodes in contact stay where they are while their bones move: f_j = v_j. Their energy is at most that of their own
 * diagonal block of the stiffness matrix, h^2 K_jj, which is added at their last velocity. (Adding it at every node,
 * or kappa' = kappa (1 - kappa / a_i) with a_i the diagonal of A_f, is also a bound, but at 10 ms the hand then
 * follows its tracker as if it had many times its mass, because each node is moved against its neighbours.)
 *
 * Flesh that spans a joint resists flexion, more so near its strain limits, but never by more than the springs around
 * the joint can bear, k JOINT_REACH^2. (With a third of that, a fist at its limits oscillates forever.) This
 * resistance is added at the target rate of the joint; as inertia, at the last rate, it would let the joints ring. */
#include "hand/hand.h"

#include <float.h>
#include <string.h>

#define JOINT_REACH 0.05  /* m */
#define TOUCH_RESERVE 3.0 /* times K_jj: strain limits stiffen flesh under load */
#define JUMP 0.2          /* m; a base that moves farther in one step was placed, not moved */
#define JUMP_TURN 1.5     /* rad */
/* Bounds on the velocity of the target. A tracker slower than the time step moves its hand in jerks. */
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
vec3 hand_skinned_point(const hand_attachment *flesh, int node, const skeleton_pose *pose) {
    vec3 sum = {0};
    for (int k = flesh->hold_start[node]; k < flesh->hold_start[node + 1]; k++) {
        const hand_hold *hold = &flesh->holds[k];
        vec3 place = vec3_add(pose[hold->bone].position, quat_rotate(pose[hold->bone].orientation, hold->local));
        sum = vec3_mul_add(sum, place, hold->weight);
    }
    return sum;
}

static bool is_tracked(const hand_state *state) {
    return state->kept->driver == HAND_BY_JOINTS || (state->kept->driver == HAND_BY_SCRIPT && state->model->track);
}

/* Sets the gains of the couplings; the targets follow. */
static void set_gains(hand_state *state) {
    bool only_palm = state->model->couples_if_tracked && !is_tracked(state);
    for (int b = 0; b < HAND_BONES; b++)
        state->skeleton.coupling[b] = only_palm && b > 0
                                          ? (skeleton_coupling){.target = {.orientation = quat_identity()}}
                                          : state->model->coupling[b];
}

void hand_reset(hand_state *state, body_state *const *bodies) {
    const hand_model *hand = state->model;
    skeleton_reset(&state->skeleton);
    *state->kept = (hand_kept){0};
    set_gains(state);
    const body_step begin = {.time = 0, .h = 0};
    hand_drive(state, &begin, &state->kept->target);
    /* Fingers start in the shape in which the flesh was built and move to their pose from there: posing the flesh
     * directly as a fist would invert tets. */
    skeleton_set_pose(&state->skeleton, &state->kept->target.base, hand->skeleton.rest);
    for (int k = 0; k < hand->flesh_count; k++) {
        soft_state *flesh = flesh_state(&hand->flesh[k], bodies);
        for (int i = 0; i < hand->flesh[k].node_count; i++)
            vec3_store(flesh->x + 3 * i, hand_skinned_point(&hand->flesh[k], i, state->skeleton.pose));
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

/* Gives joints and couplings their target at the end of the step and its velocity. */
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

/* The device target of a bone, or NULL if no device drives it. */
static const handle_kept *driver_of(const hand_state *state, int bone) {
    const handle_state *handle = state->handles[bone];
    return handle && handle->kept->is_driven ? handle->kept : NULL;
}

/* A driven palm carries the whole hand. */
static void take_palm(const hand_state *state, hand_target *target) {
    const handle_kept *driver = driver_of(state, 0);
    if (driver) target->base = (skeleton_pose){vec3_load(driver->driven), rigid_orientation(driver->driven + 3)};
}

/* After `follow`: pulls bones driven by devices to the device poses, with the hand's couplings or else the handle's
 * own. */
static void follow_devices(hand_state *state) {
    for (int b = 0; b < HAND_BONES; b++) {
        const handle_kept *driver = driver_of(state, b);
        skeleton_coupling *coupling = &state->skeleton.coupling[b];
        if (!driver) continue;
        *coupling = *handle_bone_coupling(handle_of(state->handles[b]), state->model);
        coupling->target = (skeleton_pose){vec3_load(driver->driven), rigid_orientation(driver->driven + 3)};
        coupling->velocity = vec3_load(driver->driven_motion);
        coupling->spin = vec3_load(driver->driven_motion + 3);
    }
}

double hand_joint_reserve(const hand_model *hand, double h) {
    if (hand->coupled) return 0;
    return h * h * hand->flesh_stiffness * JOINT_REACH * JOINT_REACH;
}

/* Adds the target rates to the joint dampers, and, if bones are solved first, the resistance of the flesh around each
 * joint. */
static void complete_joints(hand_state *state, const hand_target *target, double h) {
    skeleton_state *bones = &state->skeleton;
    const skeleton_model *model = bones->model;
    double reserve = hand_joint_reserve(state->model, h);
    for (int b = 0; b < model->bone_count; b++)
        for (int k = 0; k < model->bones[b].axis_count; k++) {
            int i = model->first_dof[b] + k;
            double rate = (target->q[i] - state->kept->target.q[i]) / h;
            bones->dof_momentum[i] += (h * model->bones[b].axes[k].damping + reserve) * rate;
            bones->dof_inertia[i] += reserve;
        }
}

/* Adds the load of the flesh to the bones. before: receives the node targets at the start of the step. */
static void load_bones(hand_state *state, const hand_attachment *flesh, const soft_state *soft, double h,
                       double *before) {
    const soft_model *body = soft_of(soft);
    skeleton_state *bones = &state->skeleton;
    for (int i = 0; i < flesh->node_count; i++) {
        vec3 x = vec3_load(soft->x + 3 * i), v = vec3_load(soft->v + 3 * i);
        vec3 target = hand_skinned_point(flesh, i, bones->pose);
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

/* pull = k (t - x0) + d t', as for supports in soft_step.c. */
static void pull_flesh(const hand_state *state, const hand_attachment *flesh, soft_state *soft, const double *before,
                       double h) {
    const soft_model *body = soft_of(soft);
    for (int i = 0; i < flesh->node_count; i++) {
        vec3 target = hand_skinned_point(flesh, i, state->skeleton.pose), x = vec3_load(soft->x + 3 * i);
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
    if (hand->couples_if_tracked) set_gains(state);
    follow(state, &target, h);
    follow_devices(state);
    skeleton_begin(bones, h, hand->weight ? step->gravity : (vec3){0});
    complete_joints(state, &target, h);
    if (hand->has_muscles) bones_compensate(state->bones, target.q, state->kept->target.q, h);
    state->kept->target = target;
    if (hand->coupled) {
        bones_begin(state->bones, h);
        return true;
    }
    double *before = state->before;
    for (int k = 0; k < hand->flesh_count; before += 3 * (size_t)hand->flesh[k++].node_count)
        load_bones(state, &hand->flesh[k], flesh_state(&hand->flesh[k], bodies), h, before);
    if (!skeleton_solve(bones, h)) return false;
    skeleton_integrate(bones, h);
    before = state->before;
    for (int k = 0; k < hand->flesh_count; before += 3 * (size_t)hand->flesh[k++].node_count)
        pull_flesh(state, &hand->flesh[k], flesh_state(&hand->flesh[k], bodies), before, h);
    return true;
}
