/* The handle in a step (garre2009, section 5.1).
 *
 * Unknowns: v_h, the velocity of its origin and its angular velocity. A spring k, d ties node A of the tool to the
 * point B of the handle, x_B = c + r, v_B = J v_h with J = [1, -[r]x]. Implicit Euler takes its force at the end of
 * the step,
 *   F_A = -k (x_A - x_B) - d (v_A - v_B),   F_h = -J^T F_A,
 * which with kappa = h^2 k + h d and e = x_A - x_B at the start of the step is
 *   A_tt += kappa,   A_ht = -kappa J^T,   A_hh += kappa J^T J,   b_t -= h k e,   b_h += h k J^T e.
 * kappa and -h k e are the soft body's own spring terms (soft_step.c); the rest is written here. As for all rigid
 * bodies, the change of r within the step is left out of the derivative, so that A stays symmetric.
 *
 * The virtual coupling to the target pose, K and D for the origin and another pair for the orientation, adds
 *   h^2 K + h D to A_hh   and   h (K e + D v_target) to b_h,
 * where e is the way to the target pose at the end of the step, as a rotation vector for the orientation.
 *
 * Mass and inertia repeat those of the tool's nodes. Gravity already acts on the nodes, so it does not act on the
 * handle. */
#include "hand/hand.h"

#include "body/body.h"
#include "core/hash.h"
#include "core/text.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

#define FEWEST_NODES 3
#define FLATTEST 1e-9 /* smallest inertia relative to the largest: collinear nodes have none about their line */
#define STIFFEST 1e9  /* N/m and N m/rad */

thenar_status thenar_handle_def_init(thenar_handle_def *def, size_t size) {
    const thenar_handle_def defaults = {.joint = THENAR_JOINT_NONE,
                                        .spring_stiffness = 2000,
                                        .spring_damping = 2,
                                        .stiffness = 2000,
                                        .damping = 20,
                                        .turn_stiffness = 2,
                                        .turn_damping = 0.02,
                                        .max_force = 100,
                                        .max_torque = 5};
    return sized_give(def, size, &defaults, sizeof defaults, "thenar_handle_def");
}

static thenar_status check_number(const char *name, double value, bool positive, thenar_error *error) {
    if (value >= 0 && value <= STIFFEST && !(positive && value == 0)) return THENAR_OK;
    return error_set(error, THENAR_ERROR_INPUT, "%s is %g; expected %s to %g", name, value, positive ? "above 0" : "0",
                     STIFFEST);
}

static thenar_status check(const thenar_handle_def *def, thenar_error *error) {
    if (!def->name || !def->name[0] || !text_is_printable(def->name))
        return error_set(error, THENAR_ERROR_INPUT, "a handle without a name; expected printable text");
    thenar_status status = check_number("spring_stiffness", def->spring_stiffness, true, error);
    if (status == THENAR_OK) status = check_number("spring_damping", def->spring_damping, false, error);
    if (status == THENAR_OK) status = check_number("stiffness", def->stiffness, false, error);
    if (status == THENAR_OK) status = check_number("damping", def->damping, false, error);
    if (status == THENAR_OK) status = check_number("turn_stiffness", def->turn_stiffness, false, error);
    if (status == THENAR_OK) status = check_number("turn_damping", def->turn_damping, false, error);
    if (status == THENAR_OK) status = check_number("most_force", def->max_force, false, error);
    if (status == THENAR_OK) status = check_number("most_torque", def->max_torque, false, error);
    thenar_support path = {
        .name = def->name, .keys = def->keys, .key_count = def->key_count, .has_pivot = def->has_pivot};
    vec3_store(path.pivot, vec3_load(def->pivot));
    return status == THENAR_OK ? support_check(&path, error) : status;
}

void handle_free(body_model *base) {
    handle_model *handle = (handle_model *)base;
    free(handle->links);
    free(handle->blocks);
    rigid_model_free(base);
}

/* Name, gains and path. NULL when out of memory. */
static handle_model *make(const thenar_handle_def *def) {
    handle_model *handle = MEMORY_ARRAY(handle_model, 1);
    if (!handle) return NULL;
    handle->rigid.base = (body_model){.kind = &handle_class, .name = memory_string(def->name)};
    handle->rigid.orientation = quat_identity();
    handle->rigid.path.keys = memory_copy(def->keys, (size_t)def->key_count * sizeof *def->keys);
    handle->rigid.path.key_count = def->key_count;
    handle->rigid.path.linear = def->linear;
    handle->coupling = (skeleton_coupling){.target = {.orientation = quat_identity()},
                                           .stiffness = def->stiffness,
                                           .damping = def->damping,
                                           .turn_stiffness = def->turn_stiffness,
                                           .turn_damping = def->turn_damping,
                                           .max_force = def->max_force,
                                           .max_torque = def->max_torque};
    handle->hand = handle->bone = -1;
    handle->linearize = def->linearize;
    if (handle->rigid.base.name && handle->rigid.path.keys) return handle;
    handle_free(&handle->rigid.base);
    return NULL;
}

/* The nodes within the sphere, none of which may be attached to anything else. */
static thenar_status pick(const thenar_handle_def *def, const soft_model *tool, handle_model *handle,
                          thenar_error *error) {
    thenar_region sphere = {.kind = THENAR_REGION_SPHERE, .radius = def->radius};
    vec3_store(sphere.centre, vec3_load(def->seed));
    thenar_status status = region_check(&sphere, error);
    if (status != THENAR_OK) return status;
    int nodes = tool->mesh.node_count;
    bool *marked = MEMORY_ARRAY(bool, nodes);
    handle->links = MEMORY_ARRAY(handle_link, nodes);
    if (!marked || !handle->links) {
        free(marked);
        return error_memory(error, def->name);
    }
    region_mark_nodes(&sphere, &tool->mesh, marked);
    for (int i = 0; i < nodes && status == THENAR_OK; i++) {
        if (!marked[i]) continue;
        if (tool->system_node[i] < 0 || tool->stiffness[i] > 0)
            status = error_set(error, THENAR_ERROR_INPUT,
                               "handle %s: node %d is held by a support, a bone or another handle; expected free nodes "
                               "within %g m of the seed",
                               def->name, i, def->radius);
        handle->links[handle->link_count++] = (handle_link){.body = handle->body, .node = i, .weight = 1};
    }
    free(marked);
    if (status == THENAR_OK && handle->link_count < FEWEST_NODES)
        status = error_set(error, THENAR_ERROR_INPUT,
                           "handle %s: %d nodes of %s lie within %g m of the seed; expected at least %d", def->name,
                           handle->link_count, tool->base.name, def->radius, FEWEST_NODES);
    return status;
}

/* Mass and inertia of the lumped nodes; the frame is at their centre of mass. */
static thenar_status weigh(const soft_model *tool, handle_model *handle, thenar_error *error) {
    rigid_model *rigid = &handle->rigid;
    vec3 sum = {0};
    for (int k = 0; k < handle->link_count; k++) {
        int node = handle->links[k].node;
        rigid->base.mass += tool->mass[node];
        sum = vec3_mul_add(sum, vec3_load(tool->mesh.positions + 3 * node), tool->mass[node]);
    }
    rigid->position = vec3_scale(sum, 1 / rigid->base.mass);
    double largest = 0;
    for (int k = 0; k < handle->link_count; k++) {
        handle_link *link = &handle->links[k];
        vec3 r = link->local = vec3_sub(vec3_load(tool->mesh.positions + 3 * link->node), rigid->position);
        mat3 own = mat3_scale(mat3_outer(r, r), -1);
        for (int i = 0; i < 9; i += 4) own.m[i] += vec3_dot(r, r);
        rigid->inertia = mat3_add(rigid->inertia, mat3_scale(own, tool->mass[link->node]));
        largest = fmax(largest, vec3_length(r));
    }
    mat3 I = mat3_scale(rigid->inertia, 1 / (rigid->base.mass * largest * largest));
    if (mat3_determinant(I) > FLATTEST) return THENAR_OK;
    return error_set(error, THENAR_ERROR_INPUT, "handle %s: its %d nodes are in line; expected nodes around the seed",
                     rigid->base.name, handle->link_count);
}

thenar_status handle_model_create(const thenar_handle_def *def, soft_model *tool, int body, handle_model **out,
                                  thenar_error *error) {
    *out = NULL;
    thenar_status status = check(def, error);
    if (status != THENAR_OK) return status;
    handle_model *handle = make(def);
    if (!handle) return error_memory(error, def->name);
    handle->body = body;
    status = pick(def, tool, handle, error);
    if (status == THENAR_OK) status = weigh(tool, handle, error);
    handle->blocks = memory_array((size_t)handle->link_count, sizeof *handle->blocks);
    if (status == THENAR_OK && !handle->blocks) status = error_memory(error, def->name);
    if (status != THENAR_OK) {
        handle_free(&handle->rigid.base);
        return status;
    }
    handle->rigid.base.system_node_count = RIGID_NODES;
    handle->rigid.motion = THENAR_MOTION_DYNAMIC;
    handle->rigid.path.pivot = def->has_pivot ? vec3_load(def->pivot) : handle->rigid.position;
    for (int k = 0; k < handle->link_count; k++) {
        tool->stiffness[handle->links[k].node] = def->spring_stiffness;
        tool->damping[handle->links[k].node] = def->spring_damping;
    }
    *out = handle;
    return THENAR_OK;
}

static double carried_weight(const handle_model *handle, const hand_hold *holds, int count) {
    double sum = 0;
    for (int k = 0; k < count; k++) sum += handle->carries[holds[k].bone] ? holds[k].weight : 0;
    return sum;
}

/* The nodes attached to bones that the handle carries, over all flesh of the hand. False: out of memory. */
static bool take_holds(const hand_model *hand, handle_model *handle) {
    int nodes = 0;
    for (int k = 0; k < hand->flesh_count; k++) nodes += hand->flesh[k].node_count;
    handle->links = MEMORY_ARRAY(handle_link, nodes);
    if (!handle->links) return false;
    for (int k = 0; k < hand->flesh_count; k++) {
        const hand_attachment *flesh = &hand->flesh[k];
        for (int i = 0; i < flesh->node_count; i++) {
            const hand_hold *holds = flesh->holds + flesh->hold_start[i];
            int count = flesh->hold_start[i + 1] - flesh->hold_start[i];
            double weight = carried_weight(handle, holds, count);
            if (weight > 0)
                handle->links[handle->link_count++] = (handle_link){
                    .body = flesh->body, .node = i, .weight = weight, .holds = holds, .hold_count = count};
        }
    }
    return true;
}

/* The bones that the handle carries; their total mass and inertia about its joint, in its axes, at rest. */
static void take_bones(const hand_model *hand, handle_model *handle) {
    const skeleton_model *model = hand->skeleton.model;
    skeleton_pose pose[HAND_BONES] = {{.orientation = quat_identity()}};
    skeleton_place(model, hand->skeleton.rest, pose);
    quat back = quat_conjugate(pose[handle->bone].orientation);
    for (int b = handle->bone; b < HAND_BONES; b++) {
        const skeleton_bone *bone = &model->bones[b];
        handle->carries[b] = b == handle->bone || (bone->parent >= 0 && handle->carries[bone->parent]);
        if (!handle->carries[b]) continue;
        mat3 R = quat_to_mat3(quat_mul(back, pose[b].orientation));
        vec3 r = quat_rotate(back, vec3_sub(pose[b].position, pose[handle->bone].position));
        r = vec3_add(r, mat3_mul_vec(R, bone->centre));
        mat3 own = mat3_add(mat3_mul(mat3_mul(R, bone->inertia), mat3_transpose(R)),
                            mat3_scale(mat3_mul(mat3_skew(r), mat3_skew(r)), -bone->mass));
        handle->rigid.base.mass += bone->mass;
        handle->rigid.inertia = mat3_add(handle->rigid.inertia, own);
    }
}

thenar_status handle_model_on_bone(const thenar_handle_def *def, const hand_model *hand, int number, handle_model **out,
                                   thenar_error *error) {
    *out = NULL;
    thenar_status status = check(def, error);
    if (status != THENAR_OK) return status;
    int bone = thenar_hand_joint_bone(def->joint);
    if (bone < 0)
        return error_set(error, THENAR_ERROR_INPUT,
                         "handle %s: no bone begins at %s; expected wrist, or a joint of WebXR at which a bone of a "
                         "finger begins, as index-finger-phalanx-distal",
                         def->name, thenar_hand_joint_name(def->joint));
    if (def->key_count > 0)
        return error_set(error, THENAR_ERROR_INPUT,
                         "handle %s: keys for a bone; expected the hand's own keys and poses", def->name);
    handle_model *handle = make(def);
    if (!handle) return error_memory(error, def->name);
    handle->hand = number;
    handle->bone = bone;
    handle->body = hand->first_body;
    handle->rigid.motion = THENAR_MOTION_STATIC;
    take_bones(hand, handle);
    if (!take_holds(hand, handle)) status = error_memory(error, def->name);
    if (status == THENAR_OK)
        *out = handle;
    else
        handle_free(&handle->rigid.base);
    return status;
}

bool handle_couple(const handle_model *handle, const soft_model *tool, int first_node, int tool_first,
                   body_couplings *couplings) {
    bool enough = true;
    for (int k = 0; k < handle->link_count && enough; k++)
        enough = ARRAY_PUSH(&couplings->start, (int)couplings->node.count) &&
                 ARRAY_PUSH(&couplings->node, tool_first + tool->system_node[handle->links[k].node]) &&
                 ARRAY_PUSH(&couplings->node, first_node + RIGID_LINEAR) &&
                 ARRAY_PUSH(&couplings->node, first_node + RIGID_ANGULAR);
    return enough;
}

void handle_bind(handle_model *handle, const soft_model *tool, const block_pattern *pattern, int first_node,
                 int tool_first) {
    for (int k = 0; k < handle->link_count; k++)
        for (int half = 0; half < RIGID_NODES; half++)
            handle->blocks[k][half] =
                block_pattern_find(pattern, first_node + half, tool_first + tool->system_node[handle->links[k].node]);
}

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

/* Target pose from the keys. */
static skeleton_pose scripted(const handle_model *handle, double time) {
    const rigid_model *rigid = &handle->rigid;
    const support_state by_keys = {0};
    vec3 move, turn;
    support_pose(&rigid->path, &by_keys, time, &move, &turn);
    quat rotation = quat_from_rotation_vector(turn);
    return (skeleton_pose){support_place(&rigid->path, move, rotation, rigid->position),
                           quat_unit(quat_mul(rotation, rigid->orientation))};
}

/* Target pose at the end of the step, and its velocity. */
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

/* Arms, and the pull on the nodes while the handle does not move. The tools have already driven their supports. */
static void handle_drive(body_state *base, const body_step *step) {
    handle_state *state = (handle_state *)base;
    const handle_model *handle = handle_of(state);
    if (handle_is_bone(handle)) return;
    find_wanted(state, step->time, step->h);
    skeleton_pose pose = pose_now(state), wanted = load_pose(state->kept->wanted);
    const skeleton_coupling *c = &handle->coupling;
    quat turn = quat_mul(wanted.orientation, quat_conjugate(pose.orientation));
    state->linear_spring =
        coupling_soften(vec3_sub(wanted.position, pose.position), c->stiffness, c->damping, c->max_force);
    state->angular_spring =
        coupling_soften(quat_to_rotation_vector(turn), c->turn_stiffness, c->turn_damping, c->max_torque);
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

/* Gives the tools the motion of the handle's points, so that spring_pull is that of a moving support. */
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
    /* The pull at the end of the step, by the equations above. */
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

/* A bone that is coupled with its flesh: what acts on the handle besides its coupling accelerates it, F = M a - pull. */
static void publish_bone(handle_state *state, const double before[6], double h) {
    const handle_model *handle = handle_of(state);
    handle_kept *kept = state->kept;
    double M[36];
    bones_mass(state->hand->bones, handle->bone, handle->carries, M);
    for (int i = 0; i < 6; i++) {
        kept->force[i] = -kept->pull[i];
        for (int c = 0; c < 6; c++) kept->force[i] += M[6 * i + c] * (kept->motion[c] - before[c]) / h;
    }
}

/* F_h = -sum J^T F_A at the end of the step. */
static void handle_publish(body_state *base, const body_step *step) {
    handle_state *state = (handle_state *)base;
    const handle_model *handle = handle_of(state);
    vec3 force = {0}, torque = {0};
    double before[6];
    memcpy(before, state->kept->motion, sizeof before);
    handle_follow_bone(state);
    if (handle_is_bone(handle) && state->hand->bones) {
        publish_bone(state, before, step->h);
        return;
    }
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

static bool handle_is_finite(const body_state *base) {
    const handle_kept *kept = ((const handle_state *)base)->kept;
    return rigid_class.is_finite(base) && body_within(kept->motion, 6, DBL_MAX) &&
           body_within(kept->force, 6, DBL_MAX) && body_within(kept->pull, 6, DBL_MAX) &&
           body_within(kept->wanted, 7, DBL_MAX) && body_within(kept->wanted_motion, 6, DBL_MAX) &&
           body_within(kept->driven, 7, DBL_MAX) && body_within(kept->driven_motion, 6, DBL_MAX);
}

static void handle_rest(body_state *base) {
    handle_state *state = (handle_state *)base;
    rigid_class.rest(base);
    memset(state->kept->motion, 0, sizeof state->kept->motion);
    /* The response of the tool is unknown, so no force is published. */
    memset(state->kept->force, 0, sizeof state->kept->force);
    memset(state->kept->pull, 0, sizeof state->kept->pull);
    state->linear->is_there = false;
}

/* Covers what the meaning of a state depends on; the springs are part of the tool. */
static uint64_t handle_hash(const body_model *base) {
    const handle_model *handle = (const handle_model *)base;
    const skeleton_coupling *c = &handle->coupling;
    const double numbers[] = {handle->hand,         handle->bone,
                              handle->body,         c->stiffness,
                              c->damping,           c->turn_stiffness,
                              c->turn_damping,      c->max_force,
                              c->max_torque,        handle->rigid.base.mass,
                              handle->rigid.motion, handle->rigid.path.linear};
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

/* Functions for visible bodies are absent. */
const body_class handle_class = {
    .name = "handle",
    .state_size = sizeof(handle_state),
    .couple = rigid_couple,
    .bind = rigid_bind,
    .hash = handle_hash,
    .free = handle_free,
    .layout = handle_layout,
    .reset = handle_reset,
    .drive = handle_drive,
    .formulate = handle_formulate,
    .integrate = handle_integrate,
    .displace = handle_displace,
    .publish = handle_publish,
    .is_finite = handle_is_finite,
    .rest = handle_rest,
    .velocity = rigid_velocity,
    .change = rigid_change,
};
