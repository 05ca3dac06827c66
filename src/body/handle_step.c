/* The handle in a step (garre2009, section 5.1).
 *
 * Unknowns: v_h, the velocity of its origin and its angular velocity. A spring k, d ties node A of the tool to the
 * point B of the handle, x_B = c + r, v_B = J v_h with J = [1, -[r]x]; implicit Euler takes its force where the step ends,
 *   F_A = -k (x_A - x_B) - d (v_A - v_B),   F_h = -J^T F_A,
 * which with kappa = h^2 k + h d and e = x_A - x_B where the step begins is
 *   A_tt += kappa,   A_ht = -kappa J^T,   A_hh += kappa J^T J,   b_t -= h k e,   b_h += h k J^T e.
 * kappa and -h k e are the soft body's own spring terms (soft_step.c); the rest is written here. As everywhere, r turns
 * with the step only at its end: what it would add to the derivative is left out, and A stays symmetric.
 *
 * The virtual coupling to the wanted pose, K and D for the origin and another pair for the orientation, adds
 *   h^2 K + h D to A_hh   and   h (K e + D v_wanted) to b_h,
 * e the way to the pose that is wanted at the end of the step, as a rotation vector where it turns.
 *
 * Mass and inertia are those of the tool's nodes again, so gravity, which pulls at these already, leaves it out. */
#include "body/handle.h"

#include "base/hash.h"

#include <float.h>
#include <string.h>

static void handle_layout(body_state *base, arena *kept, arena *work) {
    handle_state *state = (handle_state *)base;
    rigid_class.layout(base, kept, work);
    state->kept = ARENA_ARRAY(kept, handle_kept, 1);
    state->arms = ARENA_ARRAY(work, double, 3 * (size_t)handle_of(state)->link_count);
    state->linear = ARENA_ARRAY(work, handle_linear, 1);
}

void handle_open(handle_state *state, body_state *const *bodies, hand_state *hands) {
    const handle_model *handle = handle_of(state);
    state->bodies = bodies;
    state->linearize = handle->linearize;
    if (!handle_is_bone(handle)) return;
    state->hand = &hands[handle->hand];
    state->hand->handles[handle->bone] = state;
}

static skeleton_pose load_pose(const double pose[7]) {
    return (skeleton_pose){vec3_load(pose), rigid_orientation(pose + 3)};
}

static void store_pose(double out[7], skeleton_pose pose) {
    const quat q = pose.orientation;
    const double values[7] = {pose.position.x, pose.position.y, pose.position.z, q.x, q.y, q.z, q.w};
    memcpy(out, values, sizeof values);
}

static skeleton_pose pose_now(const handle_state *state) {
    return load_pose(state->rigid.kept->pose);
}

static void store_six(double out[6], vec3 linear, vec3 angular) {
    vec3_store(out, linear);
    vec3_store(out + 3, angular);
}

/* Where its keys want it. */
static skeleton_pose scripted(const handle_model *handle, double time) {
    const rigid_model *rigid = &handle->rigid;
    const support_state by_keys = {0};
    vec3 move, turn;
    support_pose(&rigid->path, &by_keys, time, &move, &turn);
    quat rotation = quat_from_rotation_vector(turn);
    return (skeleton_pose){support_place(&rigid->path, move, rotation, rigid->position),
                           quat_unit(quat_mul(rotation, rigid->orientation))};
}

/* Where it is wanted at the end of the step, and how fast that moves. */
static void find_wanted(handle_state *state, double time, double h) {
    handle_kept *kept = state->kept;
    if (kept->is_driven) {
        memcpy(kept->wanted, kept->driven, sizeof kept->wanted);
        memcpy(kept->wanted_motion, kept->driven_motion, sizeof kept->wanted_motion);
        return;
    }
    skeleton_pose after = scripted(handle_of(state), time),
                  before = h > 0 ? scripted(handle_of(state), time - h) : after;
    vec3 turn = quat_to_rotation_vector(quat_mul(after.orientation, quat_conjugate(before.orientation)));
    double rate = h > 0 ? 1 / h : 0;
    store_pose(kept->wanted, after);
    store_six(kept->wanted_motion, vec3_scale(vec3_sub(after.position, before.position), rate), vec3_scale(turn, rate));
}

static void handle_reset(body_state *base) {
    handle_state *state = (handle_state *)base;
    rigid_class.reset(base);
    *state->kept = (handle_kept){0};
    state->linear->is_there = false;
    if (!handle_is_bone(handle_of(state))) find_wanted(state, 0, 0);
}

static soft_state *tool_of(const handle_state *state, const handle_link *link) {
    return (soft_state *)state->bodies[link->body];
}

/* Arms, and what pulls at the nodes as long as the handle does not move. The tools have driven their supports. */
static void handle_drive(body_state *base, const body_step *step) {
    handle_state *state = (handle_state *)base;
    const handle_model *handle = handle_of(state);
    if (handle_is_bone(handle)) return;
    find_wanted(state, step->time, step->h);
    skeleton_pose pose = pose_now(state), wanted = load_pose(state->kept->wanted);
    const skeleton_coupling *c = &handle->coupling;
    quat turn = quat_mul(wanted.orientation, quat_conjugate(pose.orientation));
    state->linear_spring =
        coupling_soften(vec3_sub(wanted.position, pose.position), c->stiffness, c->damping, c->most_force);
    state->angular_spring =
        coupling_soften(quat_to_rotation_vector(turn), c->turn_stiffness, c->turn_damping, c->most_torque);
    for (int k = 0; k < handle->link_count; k++) {
        const handle_link *link = &handle->links[k];
        soft_state *tool = tool_of(state, link);
        vec3 arm = quat_rotate(pose.orientation, link->local), x = vec3_load(tool->x + 3 * link->node);
        vec3 way = vec3_sub(vec3_add(pose.position, arm), x);
        vec3_store(state->arms + 3 * k, arm);
        vec3_store(tool->spring_pull + 3 * link->node, vec3_scale(way, soft_of(tool)->stiffness[link->node]));
    }
}

static void add_block(double *blocks, int block, mat3 value) {
    double *target = blocks + 9 * (size_t)block;
    for (int i = 0; i < 9; i++) target[i] += value.m[i];
}

static void add_coupling(const handle_state *state, double h, double *blocks, double *b) {
    const rigid_model *rigid = &handle_of(state)->rigid;
    const double *motion = state->kept->wanted_motion;
    coupling_spring linear = state->linear_spring, angular = state->angular_spring;
    double kappa = h * (h * linear.stiffness + linear.damping), turning = h * (h * angular.stiffness + angular.damping);
    add_block(blocks, rigid->linear_block, mat3_scale(mat3_identity(), kappa));
    add_block(blocks, rigid->angular_block, mat3_scale(mat3_identity(), turning));
    vec3_store(b, vec3_mul_add(vec3_load(b), coupling_pull(linear, vec3_load(motion)), h));
    vec3_store(b + 3, vec3_mul_add(vec3_load(b + 3), coupling_pull(angular, vec3_load(motion + 3)), h));
}

static void handle_formulate(body_state *base, const body_step *step, double *blocks, double *b) {
    const handle_state *state = (const handle_state *)base;
    const handle_model *handle = handle_of(state);
    if (handle_is_bone(handle)) return;
    body_step weightless = *step;
    weightless.gravity = (vec3){0};
    rigid_class.formulate(base, &weightless, blocks, b);
    double h = step->h;
    add_coupling(state, h, blocks, b);
    for (int k = 0; k < handle->link_count; k++) {
        const handle_link *link = &handle->links[k];
        const soft_state *tool = tool_of(state, link);
        double kappa = h * (h * soft_of(tool)->stiffness[link->node] + soft_of(tool)->damping[link->node]);
        vec3 arm = vec3_load(state->arms + 3 * k);
        mat3 across = mat3_skew(arm), one = mat3_scale(mat3_identity(), kappa), turning = mat3_scale(across, kappa);
        add_block(blocks, handle->rigid.linear_block, one);
        add_block(blocks, handle->rigid.coupling_block, turning);
        add_block(blocks, handle->rigid.angular_block, mat3_scale(mat3_mul(across, across), -kappa));
        mat3 away = mat3_scale(one, -1), turning_away = mat3_scale(turning, -1);
        memcpy(blocks + 9 * (size_t)handle->blocks[k][RIGID_LINEAR], away.m, sizeof away.m);
        memcpy(blocks + 9 * (size_t)handle->blocks[k][RIGID_ANGULAR], turning_away.m, sizeof turning_away.m);
        vec3 push = vec3_scale(vec3_load(tool->spring_pull + 3 * link->node), -h);
        vec3_store(b, vec3_add(vec3_load(b), push));
        vec3_store(b + 3, vec3_add(vec3_load(b + 3), vec3_cross(arm, push)));
    }
}

/* Tells the tools how the points of the handle moved: then spring_pull is as of a support that moves. */
static bool handle_integrate(body_state *base, const body_step *step, const double *v) {
    handle_state *state = (handle_state *)base;
    const handle_model *handle = handle_of(state);
    if (handle_is_bone(handle)) return true;
    double h = step->h;
    if (!rigid_class.integrate(base, step, v)) return false;
    memcpy(state->kept->motion, v, sizeof state->kept->motion);
    vec3 velocity = vec3_load(v), spin = vec3_load(v + 3);
    for (int k = 0; k < handle->link_count; k++) {
        const handle_link *link = &handle->links[k];
        soft_state *tool = tool_of(state, link);
        double *pull = tool->spring_pull + 3 * link->node;
        vec3 moves = vec3_add(velocity, vec3_cross(spin, vec3_load(state->arms + 3 * k)));
        double gain = h * soft_of(tool)->stiffness[link->node] + soft_of(tool)->damping[link->node];
        vec3_store(pull, vec3_mul_add(vec3_load(pull), moves, gain));
    }
    /* As it pulled at the end of the step, by the equations above. */
    coupling_spring linear = state->linear_spring, angular = state->angular_spring;
    linear.way = vec3_mul_add(linear.way, velocity, -h);
    angular.way = vec3_mul_add(angular.way, spin, -h);
    const double *motion = state->kept->wanted_motion;
    store_six(state->kept->pull, coupling_pull(linear, vec3_sub(vec3_load(motion), velocity)),
              coupling_pull(angular, vec3_sub(vec3_load(motion + 3), spin)));
    return true;
}

static bool handle_displace(body_state *base, const double *dq) {
    return handle_is_bone(handle_of((handle_state *)base)) || rigid_class.displace(base, dq);
}

void handle_follow_bone(handle_state *state) {
    const handle_model *handle = handle_of(state);
    if (!handle_is_bone(handle)) return;
    const skeleton_state *bones = &state->hand->skeleton;
    const skeleton_pose *pose = &bones->pose[handle->bone];
    const skeleton_bone_motion *motion = &bones->motion[handle->bone];
    const skeleton_coupling *coupling = &bones->coupling[handle->bone];
    vec3 to_origin = quat_rotate(pose->orientation, vec3_scale(bones->model->bones[handle->bone].centre, -1));
    store_pose(state->rigid.kept->pose, *pose);
    store_six(state->kept->motion, vec3_add(motion->velocity, vec3_cross(motion->spin, to_origin)), motion->spin);
    memcpy(state->rigid.kept->twist, state->kept->motion, sizeof state->kept->motion);
    skeleton_wrench pull = skeleton_coupling_wrench(bones, handle->bone);
    store_six(state->kept->pull, pull.force, pull.torque);
    store_pose(state->kept->wanted, coupling->target);
    store_six(state->kept->wanted_motion, coupling->velocity, coupling->spin);
    for (int k = 0; k < handle->link_count; k++) {
        const handle_link *link = &handle->links[k];
        vec3 point = {0};
        for (int h = 0; h < link->hold_count; h++) {
            const hand_hold *hold = &link->holds[h];
            const skeleton_pose *of = &bones->pose[hold->bone];
            if (!handle->carries[hold->bone]) continue;
            vec3 place = vec3_add(of->position, quat_rotate(of->orientation, hold->local));
            point = vec3_mul_add(point, vec3_sub(place, pose->position), hold->weight / link->weight);
        }
        vec3_store(state->arms + 3 * k, point);
    }
}

/* F_h = -sum J^T F_A, where the step ended. */
static void handle_publish(body_state *base, const body_step *step) {
    handle_state *state = (handle_state *)base;
    const handle_model *handle = handle_of(state);
    vec3 force = {0}, torque = {0};
    handle_follow_bone(state);
    for (int k = 0; k < handle->link_count; k++) {
        const handle_link *link = &handle->links[k];
        const soft_state *tool = tool_of(state, link);
        double gain = step->h * soft_of(tool)->stiffness[link->node] + soft_of(tool)->damping[link->node];
        vec3 pull = vec3_load(tool->spring_pull + 3 * link->node);
        vec3 on_node = vec3_mul_add(pull, vec3_load(tool->v + 3 * link->node), -gain);
        vec3 own = vec3_scale(on_node, -link->weight);
        force = vec3_add(force, own);
        torque = vec3_add(torque, vec3_cross(vec3_load(state->arms + 3 * k), own));
    }
    store_six(state->kept->force, force, torque);
}

static bool handle_sound(const body_state *base) {
    const handle_kept *kept = ((const handle_state *)base)->kept;
    return rigid_class.sound(base) && body_within(kept->motion, 6, DBL_MAX) && body_within(kept->force, 6, DBL_MAX) &&
           body_within(kept->pull, 6, DBL_MAX) && body_within(kept->wanted, 7, DBL_MAX) &&
           body_within(kept->wanted_motion, 6, DBL_MAX) && body_within(kept->driven, 7, DBL_MAX) &&
           body_within(kept->driven_motion, 6, DBL_MAX);
}

static void handle_rest(body_state *base) {
    handle_state *state = (handle_state *)base;
    rigid_class.rest(base);
    memset(state->kept->motion, 0, sizeof state->kept->motion);
    /* Nobody knows what the tool would do: who feels it feels nothing. */
    memset(state->kept->force, 0, sizeof state->kept->force);
    memset(state->kept->pull, 0, sizeof state->kept->pull);
    state->linear->is_there = false;
}

/* What a state's meaning depends on: springs are the tool's. */
static uint64_t handle_hash(const body_model *base) {
    const handle_model *handle = (const handle_model *)base;
    const skeleton_coupling *c = &handle->coupling;
    const double numbers[] = {handle->hand,   handle->bone,       handle->body,         c->stiffness,
                              c->damping,     c->turn_stiffness,  c->turn_damping,      c->most_force,
                              c->most_torque, handle->rigid.mass, handle->rigid.motion, handle->rigid.path.linear};
    const support_model *path = &handle->rigid.path;
    uint64_t hash = hash_bytes(0, base->name, strlen(base->name));
    hash = hash_bytes(hash, numbers, sizeof numbers);
    hash = hash_bytes(hash, &path->pivot, sizeof path->pivot);
    hash = hash_bytes(hash, path->keys, (size_t)path->key_count * sizeof *path->keys);
    for (int k = 0; k < handle->link_count; k++) {
        const handle_link *link = &handle->links[k];
        const double tie[] = {link->body, link->node, link->weight, link->local.x, link->local.y, link->local.z};
        hash = hash_bytes(hash, tie, sizeof tie);
    }
    return hash;
}

/* The rest is as of a rigid body that the rigid body's own functions see. What is asked of bodies that are seen has no
 * answer here. */
static int handle_node_count(const body_model *base) {
    return rigid_class.system_node_count(base);
}
static bool handle_couple_own(const body_model *base, int first_node, body_couplings *couplings) {
    return rigid_class.couple(base, first_node, couplings);
}
static thenar_status handle_bind_own(body_model *base, const block_pattern *pattern, int first_node,
                                     thenar_error *error) {
    return rigid_class.bind(base, pattern, first_node, error);
}
static void handle_velocity(const body_state *base, double *v) {
    rigid_class.velocity(base, v);
}
static void handle_change(const body_state *base, double *v) {
    rigid_class.change(base, v);
}
static bool handle_limited(const body_model *base) {
    return rigid_class.limited(base);
}

const body_class handle_class = {
    .name = "handle",
    .state_size = sizeof(handle_state),
    .system_node_count = handle_node_count,
    .couple = handle_couple_own,
    .bind = handle_bind_own,
    .hash = handle_hash,
    .free = handle_free,
    .layout = handle_layout,
    .reset = handle_reset,
    .drive = handle_drive,
    .formulate = handle_formulate,
    .integrate = handle_integrate,
    .displace = handle_displace,
    .publish = handle_publish,
    .sound = handle_sound,
    .rest = handle_rest,
    .velocity = handle_velocity,
    .change = handle_change,
    .limited = handle_limited,
};
