/* API: reading and setting the state of a simulation between steps. */
#include "world/sim.h"

#include "core/error.h"
#include "core/hash.h"

#include "thenar/handle.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define DEVICE_FARTHEST 1e6 /* m, and m/s: a device that reports more is broken */
#define UNIT_TOLERANCE 0.1  /* of the length of a quaternion from a tracker */

#define BODY(result) USAGE_BODY(sim, sim->model, result)
#define SOFT(result) USAGE_KIND(sim, sim->model, false, result)
#define RIGID(result) USAGE_KIND(sim, sim->model, true, result)
#define HAND(result) USAGE_HAND(sim, sim->model, result)
#define HANDLE(result) USAGE_HANDLE(sim, sim->model, result)
#define FAILED THENAR_ERROR_USAGE

/* Normalizes q; false if its length is 0 or not finite. */
static bool take_quaternion(const double q[4], quat *out) {
    quat given = rigid_orientation(q);
    double square = given.x * given.x + given.y * given.y + given.z * given.z + given.w * given.w;
    if (!(square > 0) || !isfinite(square)) return false;
    *out = quat_unit(given);
    return true;
}

static thenar_status refuse(const char *what) {
    return error_set(NULL, THENAR_ERROR_INPUT, "%s", what);
}

/* ---- The simulation as a whole ---- */

const thenar_model *thenar_sim_model(const thenar_sim *sim) {
    USAGE_POINTER(sim, NULL);
    return sim->model;
}

double thenar_sim_time(const thenar_sim *sim) {
    USAGE_POINTER(sim, NAN);
    return sim->clock->time;
}

thenar_solver thenar_sim_solver(const thenar_sim *sim) {
    USAGE_POINTER(sim, (thenar_solver)-1);
    return (thenar_solver)thenar_solver_find(sim->solver->name);
}

thenar_contact_method thenar_sim_contact_method(const thenar_sim *sim) {
    USAGE_POINTER(sim, THENAR_CONTACT_OF_MODEL);
    return (thenar_contact_method)sim->contact;
}

thenar_friction thenar_sim_friction(const thenar_sim *sim) {
    USAGE_POINTER(sim, (thenar_friction)-1);
    return sim->friction;
}

thenar_coupling thenar_sim_coupling(const thenar_sim *sim) {
    USAGE_POINTER(sim, (thenar_coupling)-1);
    return (thenar_coupling)sim->coupling;
}

double thenar_sim_dt(const thenar_sim *sim) {
    USAGE_POINTER(sim, NAN);
    return sim->dt;
}

uint64_t thenar_sim_step_count(const thenar_sim *sim) {
    USAGE_POINTER(sim, 0);
    return sim->clock->step_count;
}

const thenar_stats *thenar_sim_stats(const thenar_sim *sim) {
    USAGE_POINTER(sim, NULL);
    return &sim->stats;
}

uint64_t thenar_sim_warning_count(const thenar_sim *sim, thenar_warning warning) {
    USAGE_POINTER(sim, 0);
    USAGE_INDEX((int)warning, THENAR_WARNING_COUNT, 0);
    return warning == THENAR_WARNING_ENERGY ? sim->ledger.warnings : sim->clock->warnings[warning];
}

const thenar_energy *thenar_sim_energy_sum(const thenar_sim *sim) {
    USAGE_POINTER(sim, NULL);
    return &sim->ledger.sum;
}

uint64_t thenar_sim_hash(const thenar_sim *sim) {
    USAGE_POINTER(sim, 0);
    return hash_bytes(0, sim->kept, sim->kept_size);
}

thenar_status thenar_sim_limit_iterations(thenar_sim *sim, int max_iterations) {
    USAGE_POINTER(sim, FAILED);
    if (max_iterations < 0) return refuse("the maximum number of iterations is negative; expected 0 or more");
    sim->clock->max_iterations = (uint64_t)max_iterations;
    return THENAR_OK;
}

/* ---- Soft bodies ---- */

const double *thenar_sim_positions(const thenar_sim *sim, int body) {
    SOFT(NULL);
    return sim_soft(sim, body)->x;
}

const double *thenar_sim_velocities(const thenar_sim *sim, int body) {
    SOFT(NULL);
    return sim_soft(sim, body)->v;
}

const double *thenar_sim_forces(const thenar_sim *sim, int body) {
    SOFT(NULL);
    return sim_soft(sim, body)->force;
}

thenar_status thenar_sim_support_wrench(const thenar_sim *sim, int body, int support, double force[3],
                                        double torque[3]) {
    vec3 f, t;
    SOFT(FAILED);
    USAGE_INDEX(support, model_soft(sim->model, body)->support_count, FAILED);
    soft_support_wrench(sim_soft(sim, body), support, &f, &t);
    if (force) vec3_store(force, f);
    if (torque) vec3_store(torque, t);
    return THENAR_OK;
}

thenar_status thenar_sim_apply_force(thenar_sim *sim, int body, int node, const double force[3]) {
    SOFT(FAILED);
    USAGE_POINTER(force, FAILED);
    USAGE_INDEX(node, model_soft(sim->model, body)->mesh.node_count, FAILED);
    if (!vec3_is_finite(vec3_load(force))) return refuse("a force is not finite");
    memcpy(sim_soft(sim, body)->applied + 3 * node, force, 3 * sizeof *force);
    return THENAR_OK;
}

thenar_status thenar_sim_set_state(thenar_sim *sim, int body, const double *positions, const double *velocities) {
    SOFT(FAILED);
    soft_state *state = sim_soft(sim, body);
    size_t count = 3 * (size_t)soft_of(state)->mesh.node_count;
    if ((positions && !body_within(positions, count, BODY_FARTHEST)) ||
        (velocities && !body_within(velocities, count, BODY_FASTEST)))
        return refuse("a position or velocity is not finite or too large; expected up to 1e6 m and 1e9 m/s");
    sim->ledger.is_current = false;
    if (positions) {
        memcpy(state->x, positions, count * sizeof *positions);
        contact_forget(&sim->contacts, &sim->model->contacts, body);
    }
    if (velocities) memcpy(state->v, velocities, count * sizeof *velocities);
    return THENAR_OK;
}

thenar_status thenar_sim_drive_support(thenar_sim *sim, int body, int support, const double pose[7]) {
    quat turn;
    SOFT(FAILED);
    USAGE_POINTER(pose, FAILED);
    USAGE_INDEX(support, model_soft(sim->model, body)->support_count, FAILED);
    if (!body_within(pose, 3, BODY_FARTHEST) || !take_quaternion(pose + 3, &turn))
        return refuse("the pose of a support is not finite, too far away or has no orientation");
    support_state *driven = &sim_soft(sim, body)->support_states[support];
    memcpy(driven->move, pose, sizeof driven->move);
    vec3_store(driven->turn, quat_to_rotation_vector(turn));
    driven->driven = 1;
    return THENAR_OK;
}

thenar_status thenar_sim_stretches(const thenar_sim *sim, int body, double *values) {
    SOFT(FAILED);
    USAGE_POINTER(values, FAILED);
    soft_stretches(sim_soft(sim, body), values);
    return THENAR_OK;
}

/* ---- Rigid bodies ---- */

thenar_status thenar_sim_pose(const thenar_sim *sim, int body, double pose[7]) {
    RIGID(FAILED);
    USAGE_POINTER(pose, FAILED);
    const rigid_kept *kept = sim_rigid(sim, body)->kept;
    memcpy(pose, kept->position, sizeof kept->position);
    memcpy(pose + 3, kept->orientation, sizeof kept->orientation);
    return THENAR_OK;
}

thenar_status thenar_sim_twist(const thenar_sim *sim, int body, double twist[6]) {
    RIGID(FAILED);
    USAGE_POINTER(twist, FAILED);
    const rigid_kept *kept = sim_rigid(sim, body)->kept;
    memcpy(twist, kept->velocity, sizeof kept->velocity);
    memcpy(twist + 3, kept->spin, sizeof kept->spin);
    return THENAR_OK;
}

thenar_status thenar_sim_apply_wrench(thenar_sim *sim, int body, const double force[3], const double torque[3]) {
    RIGID(FAILED);
    USAGE_POINTER(force, FAILED);
    USAGE_POINTER(torque, FAILED);
    rigid_kept *kept = sim_rigid(sim, body)->kept;
    if (!vec3_is_finite(vec3_load(force)) || !vec3_is_finite(vec3_load(torque)))
        return refuse("a force or torque is not finite");
    memcpy(kept->force, force, sizeof kept->force);
    memcpy(kept->torque, torque, sizeof kept->torque);
    return THENAR_OK;
}

thenar_status thenar_sim_wrench(const thenar_sim *sim, int body, double force[3], double torque[3]) {
    RIGID(FAILED);
    const rigid_kept *kept = sim_rigid(sim, body)->kept;
    if (force) memcpy(force, kept->force, sizeof kept->force);
    if (torque) memcpy(torque, kept->torque, sizeof kept->torque);
    return THENAR_OK;
}

thenar_status thenar_sim_drive_body(thenar_sim *sim, int body, const double pose[7]) {
    quat turn;
    RIGID(FAILED);
    USAGE_POINTER(pose, FAILED);
    rigid_state *state = sim_rigid(sim, body);
    USAGE(rigid_of(state)->motion == THENAR_MOTION_DRIVEN, FAILED, "body %d (%s) is %s; expected a driven one", body,
          sim->model->bodies[body]->name, thenar_motion_name(rigid_of(state)->motion));
    if (!body_is_near(vec3_load(pose)) || !take_quaternion(pose + 3, &turn))
        return refuse("the pose of a body is not finite, too far away or has no orientation");
    pose_store(state->kept->driven_pose, vec3_load(pose), turn);
    state->kept->driven = 1;
    return THENAR_OK;
}

/* ---- All kinds of bodies ---- */

thenar_status thenar_sim_surface(const thenar_sim *sim, int body, double *positions) {
    BODY(FAILED);
    USAGE_POINTER(positions, FAILED);
    sim->model->bodies[body]->kind->place_surface(sim->bodies[body], positions);
    return THENAR_OK;
}

thenar_status thenar_sim_energy(const thenar_sim *sim, int body, double *kinetic, double *elastic, double *gravity) {
    BODY(FAILED);
    sim->model->bodies[body]->kind->energy(sim->bodies[body], sim->model->gravity, kinetic, elastic, gravity);
    return THENAR_OK;
}

/* ---- Contacts ---- */

const thenar_contact *thenar_sim_contacts(const thenar_sim *sim) {
    USAGE_POINTER(sim, NULL);
    return sim->contacts.reported;
}

int thenar_sim_contact_count(const thenar_sim *sim) {
    USAGE_POINTER(sim, 0);
    return sim->contacts.report_count;
}

const thenar_contact_pair *thenar_sim_contact_pairs(const thenar_sim *sim) {
    USAGE_POINTER(sim, NULL);
    return sim->contacts.pair_reports;
}

int thenar_sim_contact_pair_count(const thenar_sim *sim) {
    USAGE_POINTER(sim, 0);
    return sim->contacts.pair_report_count;
}

thenar_status thenar_sim_contact_wrench(const thenar_sim *sim, int body, double force[3], double torque[3],
                                        double *area) {
    vec3 f = {0}, t = {0};
    double sum = 0;
    BODY(FAILED);
    for (int i = 0; i < sim->contacts.pair_report_count; i++) {
        const thenar_contact_pair *pair = &sim->contacts.pair_reports[i];
        if (pair->body[0] != body && pair->body[1] != body) continue;
        /* Each of two soft bodies has contact points, and so an area, of its own. The forces of a body on itself sum to
         * zero. */
        bool own = pair->body[0] == body, both = pair->body[0] == pair->body[1];
        double sign = both ? 0 : own ? 1 : -1;
        f = vec3_mul_add(f, vec3_load(pair->force), sign);
        t = vec3_mul_add(t, vec3_load(pair->torque), sign);
        if (own || model_is_rigid(sim->model, body)) sum += pair->area;
    }
    if (force) vec3_store(force, f);
    if (torque) vec3_store(torque, t);
    if (area) *area = sum;
    return THENAR_OK;
}

/* ---- Everything in one call ---- */

#define ROOM(needed)                                                                                                   \
    do {                                                                                                               \
        size_t numbers = (needed);                                                                                     \
        USAGE(count >= numbers, FAILED, "an array of %zu numbers; expected %zu", count, numbers);                      \
        USAGE(out || numbers == 0, FAILED, "the array is NULL");                                                       \
    } while (0)

/* Reads one array of the state, of one soft body or of all. */
typedef const double *soft_array(const thenar_sim *sim, int body);

static thenar_status read_nodes(const thenar_sim *sim, int body, soft_array *array, double *out, size_t count) {
    bool all = body == THENAR_ALL_BODIES;
    USAGE_POINTER(sim, FAILED);
    if (!all) SOFT(FAILED);
    ROOM(3 * (size_t)thenar_model_node_count(sim->model, body));
    for (int b = all ? 0 : body; b < (all ? sim->model->body_count : body + 1); b++) {
        if (model_is_rigid(sim->model, b)) continue;
        size_t size = 3 * (size_t)model_soft(sim->model, b)->mesh.node_count;
        memcpy(out, array(sim, b), size * sizeof *out);
        out += size;
    }
    return THENAR_OK;
}

thenar_status thenar_sim_read_positions(const thenar_sim *sim, int body, double *positions, size_t count) {
    return read_nodes(sim, body, thenar_sim_positions, positions, count);
}

thenar_status thenar_sim_read_velocities(const thenar_sim *sim, int body, double *velocities, size_t count) {
    return read_nodes(sim, body, thenar_sim_velocities, velocities, count);
}

thenar_status thenar_sim_read_forces(const thenar_sim *sim, int body, double *forces, size_t count) {
    return read_nodes(sim, body, thenar_sim_forces, forces, count);
}

thenar_status thenar_sim_read_surface(const thenar_sim *sim, int body, double *out, size_t count) {
    bool all = body == THENAR_ALL_BODIES;
    USAGE_POINTER(sim, FAILED);
    if (!all) BODY(FAILED);
    ROOM(3 * (size_t)thenar_model_vertex_count(sim->model, body));
    for (int b = all ? 0 : body; b < (all ? sim->model->body_count : body + 1); b++) {
        thenar_sim_surface(sim, b, out);
        out += 3 * (size_t)thenar_model_vertex_count(sim->model, b);
    }
    return THENAR_OK;
}

thenar_status thenar_sim_read_poses(const thenar_sim *sim, double *out, size_t count) {
    USAGE_POINTER(sim, FAILED);
    ROOM(7 * (size_t)thenar_model_rigid_count(sim->model));
    for (int b = 0; b < sim->model->body_count; b++)
        if (model_is_rigid(sim->model, b)) thenar_sim_pose(sim, b, out), out += 7;
    return THENAR_OK;
}

thenar_status thenar_sim_read_twists(const thenar_sim *sim, double *out, size_t count) {
    USAGE_POINTER(sim, FAILED);
    ROOM(6 * (size_t)thenar_model_rigid_count(sim->model));
    for (int b = 0; b < sim->model->body_count; b++)
        if (model_is_rigid(sim->model, b)) thenar_sim_twist(sim, b, out), out += 6;
    return THENAR_OK;
}

thenar_status thenar_sim_read_contact_wrenches(const thenar_sim *sim, double *out, size_t count) {
    USAGE_POINTER(sim, FAILED);
    ROOM(7 * (size_t)sim->model->body_count);
    for (int b = 0; b < sim->model->body_count; b++, out += 7) thenar_sim_contact_wrench(sim, b, out, out + 3, out + 6);
    return THENAR_OK;
}

/* ---- Hands ---- */

/* Whether a tracked position or quaternion is valid. NaN is: the tracker did not see it. */
static bool position_is_valid(const double p[3]) {
    for (int k = 0; k < 3; k++)
        if (fabs(p[k]) > TRACK_MAX_DISTANCE) return false; /* false for NaN */
    return true;
}

static bool quaternion_is_valid(const double q[4]) {
    double size = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    return isnan(size) || fabs(size - 1) <= UNIT_TOLERANCE;
}

thenar_status thenar_sim_drive_hand(thenar_sim *sim, int hand, const double joints[7 * THENAR_HAND_JOINTS]) {
    HAND(FAILED);
    USAGE_POINTER(joints, FAILED);
    hand_kept *kept = sim_hand(sim, hand)->kept;
    tracked_hand seen = tracked_hand_unseen();
    for (int j = 0; j < HAND_JOINTS; j++) {
        const double *joint = joints + 7 * j;
        if (!position_is_valid(joint) || !quaternion_is_valid(joint + 3))
            return error_set(NULL, THENAR_ERROR_INPUT,
                             "the pose of joint %s is invalid; expected up to %g m and a unit quaternion",
                             hand_joint_name((hand_joint)j), TRACK_MAX_DISTANCE);
        if (vec3_is_finite(vec3_load(joint))) seen.position[j] = vec3_load(joint);
        quat q = quat_unit(rigid_orientation(joint + 3));
        if (isfinite(q.x) && isfinite(q.y) && isfinite(q.z) && isfinite(q.w)) seen.orientation[j] = q;
    }
    kept->joints = seen;
    kept->driver = HAND_BY_JOINTS;
    return THENAR_OK;
}

thenar_status thenar_sim_drive_hand_angles(thenar_sim *sim, int hand, const double wrist[7],
                                           const double angles[THENAR_HAND_ANGLES]) {
    HAND(FAILED);
    USAGE_POINTER(wrist, FAILED);
    USAGE_POINTER(angles, FAILED);
    hand_state *state = sim_hand(sim, hand);
    const hand_skeleton *skeleton = &state->model->skeleton;
    hand_target given = {.base = {vec3_load(wrist), quat_unit(rigid_orientation(wrist + 3))}};
    if (!body_within(wrist, 3, TRACK_MAX_DISTANCE) || !body_within(wrist + 3, 4, DBL_MAX) ||
        !quaternion_is_valid(wrist + 3))
        return refuse("the pose of a wrist is invalid; expected finite numbers and a unit quaternion");
    for (int i = 0; i < HAND_ANGLES; i++) {
        if (!isfinite(angles[i])) return refuse("an angle of a hand is not finite");
        given.q[i] = fmax(skeleton->lower[i], fmin(skeleton->upper[i], angles[i]));
    }
    state->kept->given = given;
    state->kept->driver = HAND_BY_ANGLES;
    return THENAR_OK;
}

thenar_status thenar_sim_drive_hand_flexion(thenar_sim *sim, int hand, const double flexion[HAND_FINGERS],
                                            const double wrist[7]) {
    HAND(FAILED);
    USAGE_POINTER(flexion, FAILED);
    const hand_state *state = sim_hand(sim, hand);
    hand_target target = state->kept->driver == HAND_BY_ANGLES ? state->kept->given : state->kept->target;
    double pose[7];
    for (int f = 0; f < HAND_FINGERS; f++) {
        if (isnan(flexion[f])) continue;
        if (!glove_value_is_fine(flexion[f]))
            return refuse("the flexion of a finger is out of range; expected -0.5 to 1.5");
        glove_finger(&state->model->skeleton, f, flexion[f], target.q);
    }
    pose_store(pose, target.base.position, target.base.orientation);
    return thenar_sim_drive_hand_angles(sim, hand, wrist ? wrist : pose, target.q);
}

thenar_status thenar_sim_hand_joints(const thenar_sim *sim, int hand, double joints[7 * THENAR_HAND_JOINTS]) {
    skeleton_pose frames[HAND_JOINTS];
    HAND(FAILED);
    USAGE_POINTER(joints, FAILED);
    const hand_state *state = sim_hand(sim, hand);
    hand_skeleton_joints(&state->model->skeleton, state->skeleton.pose, frames);
    for (int j = 0; j < HAND_JOINTS; j++) pose_store(joints + 7 * j, frames[j].position, frames[j].orientation);
    return THENAR_OK;
}

thenar_status thenar_sim_read_hand_joints(const thenar_sim *sim, double *out, size_t count) {
    USAGE_POINTER(sim, FAILED);
    ROOM(7 * THENAR_HAND_JOINTS * (size_t)sim->model->hand_count);
    for (int h = 0; h < sim->model->hand_count; h++, out += 7 * THENAR_HAND_JOINTS) thenar_sim_hand_joints(sim, h, out);
    return THENAR_OK;
}

thenar_status thenar_sim_hand_target(const thenar_sim *sim, int hand, double wrist[7],
                                     double angles[THENAR_HAND_ANGLES]) {
    HAND(FAILED);
    const hand_kept *kept = sim_hand(sim, hand)->kept;
    if (wrist) pose_store(wrist, kept->target.base.position, kept->target.base.orientation);
    if (angles) memcpy(angles, kept->target.q, sizeof kept->target.q);
    return THENAR_OK;
}

thenar_status thenar_sim_hand_angles(const thenar_sim *sim, int hand, double angles[THENAR_HAND_ANGLES],
                                     double torques[THENAR_HAND_ANGLES]) {
    HAND(FAILED);
    const skeleton_state *bones = &sim_hand(sim, hand)->skeleton;
    if (angles) memcpy(angles, bones->q, HAND_ANGLES * sizeof *angles);
    for (int i = 0; torques && i < HAND_ANGLES; i++) torques[i] = skeleton_joint_torque(bones, i);
    return THENAR_OK;
}

thenar_status thenar_sim_hand_coupling(const thenar_sim *sim, int hand, int bone, double force[3], double torque[3]) {
    HAND(FAILED);
    USAGE_INDEX(bone, HAND_BONES, FAILED);
    skeleton_wrench pull = skeleton_coupling_wrench(&sim_hand(sim, hand)->skeleton, bone);
    if (force) vec3_store(force, pull.force);
    if (torque) vec3_store(torque, pull.torque);
    return THENAR_OK;
}

/* ---- Handles ---- */

thenar_status thenar_sim_drive_handle(thenar_sim *sim, int handle, const double pose[7], const double velocity[6]) {
    static const double at_rest[6] = {0};
    HANDLE(FAILED);
    USAGE_POINTER(pose, FAILED);
    handle_kept *kept = sim_handle(sim, handle)->kept;
    if (!velocity) velocity = at_rest;
    if (!body_within(pose, 7, DEVICE_FARTHEST) || !body_within(velocity, 6, DEVICE_FARTHEST))
        return refuse("the pose or velocity of a handle is not finite or too large");
    quat turn = rigid_orientation(pose + 3);
    double square = turn.x * turn.x + turn.y * turn.y + turn.z * turn.z + turn.w * turn.w;
    if (!(square > 1e-6)) return refuse("the quaternion of a handle has no length");
    pose_store(kept->driven, vec3_load(pose), quat_unit(turn));
    memcpy(kept->driven_motion, velocity, sizeof kept->driven_motion);
    kept->is_driven = 1;
    return THENAR_OK;
}

thenar_status thenar_sim_linearize_handle(thenar_sim *sim, int handle, bool on) {
    HANDLE(FAILED);
    handle_state *state = sim_handle(sim, handle);
    state->linearize = on;
    if (!on) state->linear->is_there = false;
    return THENAR_OK;
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

thenar_status thenar_sim_handle(const thenar_sim *sim, int handle, thenar_handle_state *state) {
    HANDLE(FAILED);
    USAGE_POINTER(state, FAILED);
    const handle_state *own = sim_handle(sim, handle);
    const handle_kept *kept = own->kept;
    *state =
        (thenar_handle_state){.linearized = own->linear->is_there, .contacts = count_contacts(sim, handle_of(own))};
    memcpy(state->pose, own->rigid.kept->pose, sizeof state->pose);
    memcpy(state->velocity, kept->motion, sizeof state->velocity);
    memcpy(state->target, kept->wanted, sizeof state->target);
    memcpy(state->target_velocity, kept->wanted_motion, sizeof state->target_velocity);
    memcpy(state->force, kept->force, sizeof state->force);
    memcpy(state->coupling, kept->pull, sizeof state->coupling);
    if (!state->linearized) return THENAR_OK;
    memcpy(state->stiffness, own->linear->stiffness, sizeof state->stiffness);
    memcpy(state->damping, own->linear->damping, sizeof state->damping);
    memcpy(state->inertia, own->linear->inertia, sizeof state->inertia);
    memcpy(state->viscosity, own->linear->viscosity, sizeof state->viscosity);
    return THENAR_OK;
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
