/* Half of a 6D virtual coupling: a spring and a damper that pull a frame to a wanted one, linear or angular. */
#ifndef HAND_SKELETON_H
#define HAND_SKELETON_H

#include "core/error.h"
#include "core/memory.h"
#include "core/spatial.h"
#include "core/vec3.h"

#include <stdbool.h>
#include <stdint.h>

/* As it pulls now. */
typedef struct coupling_spring {
    vec3 way;                  /* m or rad, to the target */
    double stiffness, damping; /* N/m and N s/m, or N m/rad and N m s/rad */
} coupling_spring;

/* A spring that would pull harder than it may is softer, and its damper as much as keeps the damping ratio. */
static inline coupling_spring coupling_soften(vec3 way, double stiffness, double damping, double max) {
    double pull = stiffness * vec3_length(way), share = max > 0 && pull > max ? max / pull : 1;
    return (coupling_spring){way, share * stiffness, sqrt(share) * damping};
}

/* approach: velocity of the target less that of the frame. */
static inline vec3 coupling_pull(coupling_spring spring, vec3 approach) {
    return vec3_mul_add(vec3_scale(spring.way, spring.stiffness), approach, spring.damping);
}

/* The articulated skeleton: bones in a tree, joints with up to three axes, implicit Euler in linear time.
 *
 * A bone hangs on its parent by 0..3 hinges, one after the other through one point, or is free (6D) if it has none. The
 * unknowns of a step are the rates of the joints and the twists of the free bones; skeleton_solve.c has the equations,
 * skeleton_step.c the motion, skeleton_model.c the checks, hand_skeleton.h the hand.
 *
 * A step is
 *     skeleton_begin       where the bones are, momenta, gravity, applied wrenches, springs of joints and couplings
 *     skeleton_add_point   as often as need be: flesh that pulls at bones
 *     skeleton_solve       the velocities at the end of the step, with the limits of the joints
 *     skeleton_respond     as often as need be: what further impulses would do to them
 *     skeleton_integrate   the new pose
 * or skeleton_step for all of it when nothing is added. All in the axes of the world, SI units. */

#define SKELETON_AXES 3

/* One hinge of a joint. Its spring pulls towards a target, which starts as `rest`; beyond its limits a second,
 * one-sided spring pushes back. */
typedef struct skeleton_axis {
    vec3 axis;                             /* unit, in the frame of the joint with the axes before it turned */
    double lower, upper;                   /* rad; may be infinite */
    double rest;                           /* angle at reset, and the spring's first target, rad */
    double stiffness, damping;             /* N m/rad, N m s/rad */
    double limit_stiffness, limit_damping; /* N m/rad, N m s/rad */
} skeleton_axis;

typedef struct skeleton_bone {
    int parent;    /* of a lower number; -1: the world */
    bool free;     /* only without a parent: moves in all six directions, from `offset` and `rotation` on */
    vec3 offset;   /* of the joint, the origin of the bone's frame, in the parent's frame, m */
    quat rotation; /* of the bone's frame in the parent's when all angles are zero */
    int axis_count;
    skeleton_axis axes[SKELETON_AXES];
    double mass;  /* kg */
    vec3 centre;  /* of mass, in the bone's frame, m */
    mat3 inertia; /* about that centre, in the bone's frame, kg m^2 */
} skeleton_bone;

typedef struct skeleton_model {
    int bone_count, dof_count; /* dof: angles, not counting free bones */
    skeleton_bone *bones;
    int *first_dof; /* bone_count + 1: the angles of a bone are numbered first_dof[bone].. */
} skeleton_model;

/* Copies and checks the bones. */
thenar_status skeleton_model_create(const skeleton_bone *bones, int bone_count, skeleton_model **out,
                                    thenar_error *error);
void skeleton_model_free(skeleton_model *model);
uint64_t skeleton_model_hash(const skeleton_model *model);

/* A bone's frame. As doubles: position, quaternion xyzw. */
typedef struct skeleton_pose {
    vec3 position;
    quat orientation;
} skeleton_pose;

/* A 6D virtual coupling of a bone's frame to a tracked one: a spring and a damper, linear and angular. The force pulls
 * at the origin of the bone's frame. Zero stiffness and damping: none. */
typedef struct skeleton_coupling {
    skeleton_pose target;                /* at the end of the step */
    vec3 velocity, spin;                 /* of the target, m/s and rad/s: what the dampers compare with */
    double stiffness, damping;           /* N/m, N s/m */
    double turn_stiffness, turn_damping; /* N m/rad, N m s/rad */
    double max_force, max_torque;        /* of the springs, N and N m: a tracker that jumps pulls no harder; 0: any.
                                          * A spring that would is softened for the step. */
} skeleton_coupling;

/* How a bone moves: what carries its momentum into the next step. */
typedef struct skeleton_bone_motion {
    vec3 velocity, spin; /* of the centre of mass, m/s; rad/s */
} skeleton_bone_motion;

typedef struct skeleton_wrench {
    vec3 force, torque; /* N; N m */
} skeleton_wrench;

typedef struct skeleton_state {
    const skeleton_model *model;

    /* Kept. */
    skeleton_pose *pose;          /* of each bone */
    skeleton_bone_motion *motion; /* of each bone */
    double *q, *rate;             /* of each dof, rad and rad/s */
    double *target;               /* of each dof's spring, rad */
    skeleton_coupling *coupling;  /* of each bone */
    skeleton_wrench *wrench;      /* applied to each bone, the force at its centre of mass; stays until changed */

    /* Work. O, the reference point of all spatial quantities, is where bone 0 is at the beginning of the step. */
    vec3 origin;
    mat3 *turn;               /* of each bone, its orientation as a matrix */
    spatial_motion *axis;     /* of each dof, its motion at a rate of 1 */
    spatial_inertia *inertia; /* of each bone: its part of A */
    spatial_force *momentum;  /* of each bone: its part of b */
    double *dof_inertia;      /* of each dof: its part of A without limits */
    double *dof_momentum;     /* of each dof: its part of b without limits */
    signed char *limit;       /* of each dof: -1 and 1 where the lower and upper limit push */
    spatial_inertia *articulated;
    spatial_force *carried, *lever; /* of each bone; of each dof */
    double *give, *push;            /* of each dof */
    spatial_factor *free_factor;    /* of each bone; used for free ones */
    spatial_motion *twist;          /* of each bone: its motion at the end of the step */
    double *next_rate;              /* of each dof: the same */
    int limit_rounds;               /* rounds that the last solve needed to settle the limits */
    int unsettled;                  /* steps in which they did not settle; since the reset */
} skeleton_state;

void skeleton_layout(skeleton_state *state, arena *kept, arena *work);
/* To the rest pose, at rest, without couplings, wrenches or targets other than the rest angles. */
void skeleton_reset(skeleton_state *state);

/* Puts a skeleton into a pose, at rest. base: the frames of the free bones in their order, NULL: where they are.
 * q: every angle, NULL: as they are. Targets and couplings stay. */
void skeleton_set_pose(skeleton_state *state, const skeleton_pose *base, const double *q);
/* Gives it velocities. base: of the free bones in their order (angular; linear at the bone's origin), NULL: zero. */
void skeleton_set_rates(skeleton_state *state, const spatial_motion *base, const double *rate);

/* Where the bones are, from base frames and angles: forward kinematics without a state. pose: bone_count frames, those
 * of free bones are read, all others written. */
void skeleton_place(const skeleton_model *model, const double *q, skeleton_pose *pose);

void skeleton_begin(skeleton_state *state, double h, vec3 gravity);
/* A zero-length spring and damper pulls a bone at a point: adds kappa J^T J, kappa = h d + h^2 k, to the bone's part of
 * A and J^T impulse to that of b. To be called between begin and solve. */
void skeleton_add_point(skeleton_state *state, int bone, vec3 point, double kappa, vec3 impulse);
/* False: the matrix is not positive definite, or a velocity is beyond all reason; the state is as it was. */
bool skeleton_solve(skeleton_state *state, double h);
/* The change of every bone's motion (about O) and of every dof's rate that impulses on the bones (about O) bring, with
 * the factor of the last solve. change, rate: of each bone, of each dof; may not be NULL. */
void skeleton_respond(const skeleton_state *state, const spatial_force *impulse, spatial_motion *change, double *rate);
/* To the pose at the end of the step, after a solve that came to an end. */
void skeleton_integrate(skeleton_state *state, double h);
/* All of it; false as skeleton_solve. */
bool skeleton_step(skeleton_state *state, double h, vec3 gravity);

/* The velocity at the end of the step of a bone's point that is at `point` in the world at its beginning, after
 * solve. */
static inline vec3 skeleton_point_velocity(const skeleton_state *state, int bone, vec3 point) {
    return spatial_motion_point(state->twist[bone], vec3_sub(point, state->origin));
}

/* The force and torque, at the bone's origin, with which a coupling pulls where the bone is now; the tracked hand feels
 * the opposite (the bilateral coupling of talvas2015, section 4; who has no haptic device leaves it unused). */
skeleton_wrench skeleton_coupling_wrench(const skeleton_state *state, int bone);
/* The torque of a dof's spring and damper and of its limit's spring where it is now, N m. */
double skeleton_joint_torque(const skeleton_state *state, int dof);

/* Accelerations without springs of any kind, of the continuous motion: d/dt of every rate, and of the free bones'
 * angular velocity and velocity of the origin, from poses and rates set by skeleton_set_pose and skeleton_set_rates.
 * For checks: the step does not use it. base may be NULL without free bones. False: as skeleton_solve. */
bool skeleton_accelerations(skeleton_state *state, vec3 gravity, spatial_motion *base, double *acceleration);

typedef struct skeleton_energies {
    double kinetic, elastic, potential; /* J; elastic: springs of joints, limits and couplings */
} skeleton_energies;
skeleton_energies skeleton_energy(const skeleton_state *state, vec3 gravity);

#endif
