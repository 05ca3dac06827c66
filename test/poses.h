/* Poses in two parts, as most tests think of them. */
#ifndef TEST_POSES_H
#define TEST_POSES_H

#include "core/vec3.h"

#include "thenar/sim.h"

#include <string.h>

static inline thenar_status body_pose(const thenar_sim *sim, int body, double position[3], double quaternion[4]) {
    double pose[7];
    thenar_status status = thenar_sim_pose(sim, body, pose);
    memcpy(position, pose, 3 * sizeof *pose);
    memcpy(quaternion, pose + 3, 4 * sizeof *pose);
    return status;
}

static inline thenar_status body_twist(const thenar_sim *sim, int body, double velocity[3], double spin[3]) {
    double twist[6];
    thenar_status status = thenar_sim_twist(sim, body, twist);
    memcpy(velocity, twist, 3 * sizeof *twist);
    memcpy(spin, twist + 3, 3 * sizeof *twist);
    return status;
}

/* turn: a rotation vector of less than half a turn, rad. */
static inline thenar_status drive_support(thenar_sim *sim, int body, int support, const double move[3],
                                          const double turn[3]) {
    double pose[7];
    pose_store(pose, vec3_load(move), quat_from_rotation_vector(vec3_load(turn)));
    return thenar_sim_drive_support(sim, body, support, pose);
}

static inline thenar_status drive_body(thenar_sim *sim, int body, const double position[3],
                                       const double quaternion[4]) {
    double pose[7];
    memcpy(pose, position, 3 * sizeof *pose);
    memcpy(pose + 3, quaternion, 4 * sizeof *pose);
    return thenar_sim_drive_body(sim, body, pose);
}

/* The rotation of a definition's pose as a rotation vector, rad. */
static inline void pose_turn(double pose[7], double x, double y, double z) {
    pose_store(pose, vec3_load(pose), quat_from_rotation_vector(vec3_make(x, y, z)));
}

#endif
