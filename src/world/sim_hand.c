/* Hands behind the public API. */
#include "world/sim.h"

#include "core/threads.h"
#include "hand/hand.h"

#include <assert.h>
#include <string.h>

#define UNIT_TOLERANCE 0.1

static const hand_model *model_hand(const thenar_model *model, int hand) {
    assert(hand >= 0 && hand < model->hand_count);
    return model->hands[hand];
}

static hand_state *sim_hand(const thenar_sim *sim, int hand) {
    assert(hand >= 0 && hand < sim->model->hand_count);
    return &sim->hands[hand];
}

int thenar_model_hand_count(const thenar_model *model) {
    return model->hand_count;
}

int thenar_model_find_hand(const thenar_model *model, const char *name) {
    for (int i = 0; i < model->hand_count; i++)
        if (strcmp(model->hands[i]->name, name) == 0) return i;
    return -1;
}

const char *thenar_model_hand_name(const thenar_model *model, int hand) {
    return model_hand(model, hand)->name;
}

bool thenar_model_hand_is_left(const thenar_model *model, int hand) {
    return model_hand(model, hand)->skeleton.left;
}

int thenar_model_hand_bodies(const thenar_model *model, int hand, int *first) {
    if (first) *first = model_hand(model, hand)->first_body;
    return model_hand(model, hand)->flesh_count;
}

int thenar_model_hand_of_body(const thenar_model *model, int body) {
    for (int i = 0; i < model->hand_count; i++) {
        const hand_model *hand = model->hands[i];
        if (body >= hand->first_body && body < hand->first_body + hand->flesh_count) return i;
    }
    return -1;
}

void thenar_model_hand_limits(const thenar_model *model, int hand, double lower[THENAR_HAND_ANGLES],
                              double upper[THENAR_HAND_ANGLES]) {
    const hand_skeleton *skeleton = &model_hand(model, hand)->skeleton;
    memcpy(lower, skeleton->lower, sizeof skeleton->lower);
    memcpy(upper, skeleton->upper, sizeof skeleton->upper);
}

bool thenar_model_hand_pose(const thenar_model *model, int hand, const char *name, double angles[THENAR_HAND_ANGLES]) {
    return hand_pose_find(&model_hand(model, hand)->skeleton, name, angles);
}

const char *thenar_hand_joint_name(int joint) {
    assert(joint >= 0 && joint < HAND_JOINTS);
    return hand_joint_name((hand_joint)joint);
}

/* Not seen at all (some number is NaN), or as a position or quaternion should be. */
static bool position_is_fine(const double p[3]) {
    for (int k = 0; k < 3; k++)
        if (fabs(p[k]) > TRACK_MAX_DISTANCE) return false; /* false for NaN */
    return true;
}

static bool quaternion_is_fine(const double q[4]) {
    double size = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    return isnan(size) || fabs(size - 1) <= UNIT_TOLERANCE;
}

static quat unit_quaternion(const double q[4]) {
    return quat_unit((quat){q[0], q[1], q[2], q[3]});
}

thenar_status thenar_sim_drive_hand(thenar_sim *sim, int hand, const double joints[7 * THENAR_HAND_JOINTS]) {
    hand_kept *kept = sim_hand(sim, hand)->kept;
    tracked_hand seen = tracked_hand_unseen();
    for (int j = 0; j < HAND_JOINTS; j++) {
        const double *joint = joints + 7 * j;
        if (!position_is_fine(joint) || !quaternion_is_fine(joint + 3)) return THENAR_ERROR_INPUT;
        if (vec3_is_finite(vec3_load(joint))) seen.position[j] = vec3_load(joint);
        quat q = unit_quaternion(joint + 3);
        if (isfinite(q.x) && isfinite(q.y) && isfinite(q.z) && isfinite(q.w)) seen.orientation[j] = q;
    }
    kept->joints = seen;
    kept->driver = HAND_BY_JOINTS;
    return THENAR_OK;
}

thenar_status thenar_sim_drive_hand_angles(thenar_sim *sim, int hand, const double wrist[7],
                                           const double angles[THENAR_HAND_ANGLES]) {
    hand_state *state = sim_hand(sim, hand);
    const hand_skeleton *skeleton = &state->model->skeleton;
    hand_target given = {.base = {vec3_load(wrist), unit_quaternion(wrist + 3)}};
    if (!vec3_is_finite(given.base.position) || !position_is_fine(wrist) || !isfinite(wrist[3]) ||
        !isfinite(wrist[4]) || !isfinite(wrist[5]) || !quaternion_is_fine(wrist + 3) || !isfinite(wrist[6]))
        return THENAR_ERROR_INPUT;
    for (int i = 0; i < HAND_ANGLES; i++) {
        if (!isfinite(angles[i])) return THENAR_ERROR_INPUT;
        given.q[i] = fmax(skeleton->lower[i], fmin(skeleton->upper[i], angles[i]));
    }
    state->kept->given = given;
    state->kept->driver = HAND_BY_ANGLES;
    return THENAR_OK;
}

static void write_pose(skeleton_pose pose, double out[7]) {
    vec3_store(out, pose.position);
    out[3] = pose.orientation.x, out[4] = pose.orientation.y;
    out[5] = pose.orientation.z, out[6] = pose.orientation.w;
}

thenar_status thenar_sim_drive_hand_flexion(thenar_sim *sim, int hand, const double flexion[HAND_FINGERS],
                                            const double wrist[7]) {
    const hand_state *state = sim_hand(sim, hand);
    hand_target wanted = state->kept->driver == HAND_BY_ANGLES ? state->kept->given : state->kept->target;
    double place[7];
    for (int f = 0; f < HAND_FINGERS; f++) {
        if (isnan(flexion[f])) continue;
        if (!glove_value_is_fine(flexion[f])) return THENAR_ERROR_INPUT;
        glove_finger(&state->model->skeleton, f, flexion[f], wanted.q);
    }
    write_pose(wanted.base, place);
    return thenar_sim_drive_hand_angles(sim, hand, wrist ? wrist : place, wanted.q);
}

void thenar_sim_hand_joints(const thenar_sim *sim, int hand, double joints[7 * THENAR_HAND_JOINTS]) {
    const hand_state *state = sim_hand(sim, hand);
    skeleton_pose frames[HAND_JOINTS];
    hand_skeleton_joints(&state->model->skeleton, state->skeleton.pose, frames);
    for (int j = 0; j < HAND_JOINTS; j++) write_pose(frames[j], joints + 7 * j);
}

void thenar_sim_hand_target(const thenar_sim *sim, int hand, double wrist[7], double angles[THENAR_HAND_ANGLES]) {
    const hand_kept *kept = sim_hand(sim, hand)->kept;
    if (wrist) write_pose(kept->target.base, wrist);
    if (angles) memcpy(angles, kept->target.q, sizeof kept->target.q);
}

void thenar_sim_hand_angles(const thenar_sim *sim, int hand, double angles[THENAR_HAND_ANGLES],
                            double torques[THENAR_HAND_ANGLES]) {
    const skeleton_state *bones = &sim_hand(sim, hand)->skeleton;
    if (angles) memcpy(angles, bones->q, HAND_ANGLES * sizeof *angles);
    for (int i = 0; torques && i < HAND_ANGLES; i++) torques[i] = skeleton_joint_torque(bones, i);
}

void thenar_sim_hand_coupling(const thenar_sim *sim, int hand, int bone, double force[3], double torque[3]) {
    assert(bone >= 0 && bone < HAND_BONES);
    skeleton_wrench pull = skeleton_coupling_wrench(&sim_hand(sim, hand)->skeleton, bone);
    vec3_store(force, pull.force);
    vec3_store(torque, pull.torque);
}

double thenar_model_track_time(const thenar_model *model) {
    double longest = 0;
    for (int i = 0; i < model->hand_count; i++) {
        const track *t = model->hands[i]->track;
        if (t) longest = fmax(longest, track_stop(t) - track_start(t));
    }
    return longest;
}

/* Handles behind the public API, and for the haptic loop. */

#define FARTHEST 1e6 /* m, and m/s: beyond it a device is broken */

const handle_model *model_handle(const thenar_model *model, int handle) {
    assert(handle >= 0 && handle < model->handle_count);
    return (const handle_model *)model->bodies[model->body_count + handle];
}

handle_state *sim_handle(const thenar_sim *sim, int handle) {
    (void)model_handle(sim->model, handle); /* asserts */
    return (handle_state *)sim->bodies[sim->model->body_count + handle];
}

int thenar_model_handle_count(const thenar_model *model) {
    return model->handle_count;
}

int thenar_model_find_handle(const thenar_model *model, const char *name) {
    for (int i = 0; i < model->handle_count; i++)
        if (strcmp(model_handle(model, i)->rigid.base.name, name) == 0) return i;
    return -1;
}

const char *thenar_model_handle_name(const thenar_model *model, int handle) {
    return model_handle(model, handle)->rigid.base.name;
}

int thenar_model_handle_body(const thenar_model *model, int handle) {
    return model_handle(model, handle)->body;
}

void thenar_model_handle_bone(const thenar_model *model, int handle, int *hand, int *bone) {
    if (hand) *hand = model_handle(model, handle)->hand;
    if (bone) *bone = model_handle(model, handle)->bone;
}

int thenar_model_handle_node_count(const thenar_model *model, int handle) {
    return model_handle(model, handle)->link_count;
}

void thenar_model_handle_mass(const thenar_model *model, int handle, double *mass, double inertia[9]) {
    const rigid_model *rigid = &model_handle(model, handle)->rigid;
    if (mass) *mass = rigid->mass;
    if (inertia) memcpy(inertia, rigid->inertia.m, sizeof rigid->inertia.m);
}

static bool are_usable(const double *values, int count) {
    for (int i = 0; i < count; i++)
        if (!(fabs(values[i]) <= FARTHEST)) return false;
    return true;
}

thenar_status thenar_sim_drive_handle(thenar_sim *sim, int handle, const double pose[7], const double velocity[6]) {
    static const double at_rest[6] = {0};
    handle_kept *kept = sim_handle(sim, handle)->kept;
    if (!velocity) velocity = at_rest;
    if (!are_usable(pose, 7) || !are_usable(velocity, 6)) return THENAR_ERROR_INPUT;
    quat turn = rigid_orientation(pose + 3);
    double square = turn.x * turn.x + turn.y * turn.y + turn.z * turn.z + turn.w * turn.w;
    if (!(square > 1e-6)) return THENAR_ERROR_INPUT;
    turn = quat_unit(turn);
    const double unit[7] = {pose[0], pose[1], pose[2], turn.x, turn.y, turn.z, turn.w};
    memcpy(kept->driven, unit, sizeof unit);
    memcpy(kept->driven_motion, velocity, sizeof kept->driven_motion);
    kept->is_driven = 1;
    return THENAR_OK;
}

void thenar_sim_linearize_handle(thenar_sim *sim, int handle, bool on) {
    handle_state *state = sim_handle(sim, handle);
    state->linearize = on;
    if (!on) state->linear->is_there = false;
}

static int count_contacts(const thenar_sim *sim, const handle_model *handle) {
    int count = 0, bodies = handle_is_bone(handle) ? sim->model->hands[handle->hand]->flesh_count : 1;
    for (int i = 0; i < sim->contacts.pair_report_count; i++) {
        const thenar_contact_pair *pair = &sim->contacts.pair_reports[i];
        bool own = false;
        for (int k = 0; k < 2; k++)
            own = own || (pair->body[k] >= handle->body && pair->body[k] < handle->body + bodies);
        if (own) count += pair->touching;
    }
    return count;
}

void thenar_sim_handle(const thenar_sim *sim, int handle, thenar_handle_state *state) {
    const handle_state *own = sim_handle(sim, handle);
    const handle_kept *kept = own->kept;
    *state =
        (thenar_handle_state){.linearized = own->linear->is_there, .contacts = count_contacts(sim, handle_of(own))};
    memcpy(state->pose, own->rigid.kept->pose, sizeof state->pose);
    memcpy(state->velocity, kept->motion, sizeof state->velocity);
    memcpy(state->wanted, kept->wanted, sizeof state->wanted);
    memcpy(state->wanted_velocity, kept->wanted_motion, sizeof state->wanted_velocity);
    memcpy(state->force, kept->force, sizeof state->force);
    memcpy(state->coupling, kept->pull, sizeof state->coupling);
    if (!state->linearized) return;
    memcpy(state->stiffness, own->linear->stiffness, sizeof state->stiffness);
    memcpy(state->damping, own->linear->damping, sizeof state->damping);
    memcpy(state->inertia, own->linear->inertia, sizeof state->inertia);
    memcpy(state->viscosity, own->linear->viscosity, sizeof state->viscosity);
}

void sim_handle_linear(const thenar_sim *sim, int handle, struct haptic_linear *linear) {
    thenar_handle_state state;
    thenar_sim_handle(sim, handle, &state);
    *linear = (struct haptic_linear){.time = sim->clock->time,
                                     .step_length = sim->dt,
                                     .step = sim->clock->step_count,
                                     .published_ns = clock_now(),
                                     .contacts = state.contacts};
    memcpy(linear->position, state.pose, sizeof linear->position);
    memcpy(linear->orientation, state.pose + 3, sizeof linear->orientation);
    memcpy(linear->velocity, state.velocity, sizeof linear->velocity);
    memcpy(linear->force, state.force, sizeof linear->force);
    memcpy(linear->stiffness, state.stiffness, sizeof linear->stiffness);
    memcpy(linear->damping, state.damping, sizeof linear->damping);
    memcpy(linear->inertia, state.inertia, sizeof linear->inertia);
    memcpy(linear->viscosity, state.viscosity, sizeof linear->viscosity);
}

const char *thenar_sim_coupling(const thenar_sim *sim) {
    return coupling_method_names[sim->coupling];
}
