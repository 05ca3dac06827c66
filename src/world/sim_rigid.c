/* What can be read and set of rigid bodies between steps. */
#include "world/sim.h"

#include <assert.h>
#include <string.h>

rigid_state *sim_rigid(const thenar_sim *sim, int body) {
    (void)model_rigid(sim->model, body); /* asserts */
    return (rigid_state *)sim->bodies[body];
}

void thenar_sim_pose(const thenar_sim *sim, int body, double position[3], double quaternion[4]) {
    const rigid_kept *kept = sim_rigid(sim, body)->kept;
    memcpy(position, kept->position, sizeof kept->position);
    memcpy(quaternion, kept->orientation, sizeof kept->orientation);
}

void thenar_sim_twist(const thenar_sim *sim, int body, double velocity[3], double spin[3]) {
    const rigid_kept *kept = sim_rigid(sim, body)->kept;
    memcpy(velocity, kept->velocity, sizeof kept->velocity);
    memcpy(spin, kept->spin, sizeof kept->spin);
}

thenar_status thenar_sim_apply_wrench(thenar_sim *sim, int body, const double force[3], const double torque[3]) {
    rigid_kept *kept = sim_rigid(sim, body)->kept;
    if (!vec3_is_finite(vec3_load(force)) || !vec3_is_finite(vec3_load(torque))) return THENAR_ERROR_INPUT;
    memcpy(kept->force, force, sizeof kept->force);
    memcpy(kept->torque, torque, sizeof kept->torque);
    return THENAR_OK;
}

void thenar_sim_wrench(const thenar_sim *sim, int body, double force[3], double torque[3]) {
    const rigid_kept *kept = sim_rigid(sim, body)->kept;
    memcpy(force, kept->force, sizeof kept->force);
    memcpy(torque, kept->torque, sizeof kept->torque);
}

thenar_status thenar_sim_drive_pose(thenar_sim *sim, int body, const double position[3], const double quaternion[4]) {
    rigid_state *state = sim_rigid(sim, body);
    assert(rigid_of(state)->motion == THENAR_MOTION_DRIVEN);
    quat turn = rigid_orientation(quaternion);
    double square = turn.x * turn.x + turn.y * turn.y + turn.z * turn.z + turn.w * turn.w;
    if (!body_is_near(vec3_load(position)) || !(square > 0) || !isfinite(square)) return THENAR_ERROR_INPUT;
    turn = quat_unit(turn);
    const double pose[7] = {position[0], position[1], position[2], turn.x, turn.y, turn.z, turn.w};
    memcpy(state->kept->driven_pose, pose, sizeof pose);
    state->kept->driven = 1;
    return THENAR_OK;
}
