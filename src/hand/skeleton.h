/* Articulated skeletons: bones in a tree, joints with up to three axes, implicit Euler in linear time.
 *
 * A bone is connected to its parent by 0 to 3 hinges in sequence through one point; a bone without a parent may be
 * free (6 DoF). The unknowns of a step are the rates of the joints and the twists of the free bones; skeleton.c has
 * the equations. A step is
 *     skeleton_begin       poses, momenta, gravity, applied wrenches, springs of joints and couplings
 *     skeleton_add_point   any number of times: flesh that pulls at bones
 *     skeleton_solve       the velocities at the end of the step, with joint limits
 *     skeleton_integrate   the new pose
 * World axes, SI units. */
#ifndef HAND_SKELETON_H
#define HAND_SKELETON_H

#include "core/error.h"
#include "core/memory.h"
#include "core/spatial.h"
#include "core/vec3.h"

#include <stdbool.h>
#include <stdint.h>

/* Half of a 6D virtual coupling, linear or angular: a spring and a damper that pull a frame to its target. */
typedef struct coupling_spring {
    vec3 way;                  /* m or rad, to the target */
    double stiffness, damping; /* N/m and N s/m, or N m/rad and N m s/rad */
} coupling_spring;

/* Softens a spring that would exceed its maximum force, and its damper so that the damping ratio is kept. */
static inline coupling_spring coupling_soften(vec3 way, double stiffness, double damping, double max) {
    double pull = stiffness * vec3_length(way), share = max > 0 && pull > max ? max / pull : 1;
    return (coupling_spring){way, share * stiffness, sqrt(share) * damping};
}

/* approach: velocity of the target minus that of the frame. */
static inline vec3 coupling_pull(coupling_spring spring, vec3 approach) {
    return vec3_mul_add(vec3_scale(spring.way, spring.stiffness), approach, spring.damping);
}

#define SKELETON_AXES 3

/* One hinge of a joint. Its spring pulls towards a target, initially `rest`; beyond its limits a second, one-sided
 * spring pushes back. */
typedef struct skeleton_axis {
    vec3 axis;                             /* unit, in the frame of the joint after rotation by the axes before it */
    double lower, upper;                   /* rad; may be infinite */
    double rest;                           /* angle at reset and first target of the spring, rad */
    double stiffness, damping;             /* N m/rad, N m s/rad */
    double limit_stiffness, limit_damping; /* N m/rad, N m s/rad */
} skeleton_axis;

typedef struct skeleton_bone {
    int parent;    /* a lower index; -1: the world */
    bool free;     /* only without a parent: 6 DoF, starting at `offset` and `rotation` */
    vec3 offset;   /* of the joint, which is the origin of the bone's frame, in the parent's frame, m */
    quat rotation; /* of the bone's frame in the parent's at zero angles */
    int axis_count;
    skeleton_axis axes[SKELETON_AXES];
    double mass;  /* kg */
    vec3 centre;  /* of mass, in the bone's frame, m */
    mat3 inertia; /* about that centre, in the bone's frame, kg m^2 */
} skeleton_bone;

typedef struct skeleton_model {
    int bone_count, dof_count; /* dof: angles, without those of free bones */
    skeleton_bone *bones;
    int *first_dof; /* bone_count + 1: first angle of each bone */
} skeleton_model;

/* Checks and copies the bones. */
thenar_status skeleton_model_create(const skeleton_bone *bones, int bone_count, skeleton_model **out,
                                    thenar_error *error);
void skeleton_model_free(skeleton_model *model);
uint64_t skeleton_model_hash(const skeleton_model *model);

/* A bone's frame. Layout: position, quaternion xyzw. */
typedef struct skeleton_pose {
    vec3 position;
    quat orientation;
} skeleton_pose;

/* A 6D virtual coupling of a bone to a target frame: a linear and an angular spring and damper. The force acts at the
 * origin of the bone's frame. Zero stiffness and damping: no coupling. */
typedef struct skeleton_coupling {
    skeleton_pose target;                /* at the end of the step */
    vec3 velocity, spin;                 /* of the target, m/s and rad/s, for the dampers */
    double stiffness, damping;           /* N/m, N s/m */
    double turn_stiffness, turn_damping; /* N m/rad, N m s/rad */
    /* Maximum of the springs, N and N m; 0 = unlimited. A spring that would exceed it, as after a jump of the tracker, is
     * softened for the step. */
    double max_force, max_torque;
} skeleton_coupling;

/* Velocity of a bone, which carries its momentum into the next step. */
typedef struct skeleton_bone_motion {
    vec3 velocity, spin; /* of the centre of mass, m/s; rad/s */
} skeleton_bone_motion;

typedef struct skeleton_wrench {
    vec3 force, torque; /* N; N m */
} skeleton_wrench;

typedef struct skeleton_state {
    const skeleton_model *model;

    /* Saved state. */
    skeleton_pose *pose;          /* of each bone */
    skeleton_bone_motion *motion; /* of each bone */
    double *q, *rate;             /* of each dof, rad and rad/s */
    double *target;               /* of each dof's spring, rad */
    skeleton_coupling *coupling;  /* of each bone */
    skeleton_wrench *wrench;      /* applied to each bone at its centre of mass; stays until changed */

    /* Work memory. O, the reference point of all spatial quantities, is the position of bone 0 at the start of the
     * step. */
    vec3 origin;
    mat3 *turn;               /* of each bone: its orientation as a matrix */
    spatial_motion *axis;     /* of each dof: its motion at unit rate */
    spatial_inertia *inertia; /* of each bone: its part of A */
    spatial_force *momentum;  /* of each bone: its part of b */
    double *dof_inertia;      /* of each dof: its part of A without limits */
    double *dof_momentum;     /* of each dof: its part of b without limits */
    signed char *limit;       /* of each dof: -1 or 1 where the lower or upper limit is active */
    spatial_inertia *articulated;
    spatial_force *carried, *lever; /* of each bone; of each dof */
    double *give, *push;            /* of each dof */
    spatial_factor *free_factor;    /* of each bone; used for free ones */
    spatial_motion *twist;          /* of each bone: its motion at the end of the step */
    double *next_rate;              /* of each dof: the same */
    int limit_rounds;               /* rounds in which the last solve found the active limits */
    int unsettled;                  /* steps since the reset in which they did not settle */
} skeleton_state;

void skeleton_layout(skeleton_state *state, arena *kept, arena *work);
/* To the rest pose at zero velocity, without couplings, wrenches or targets other than the rest angles. */
void skeleton_reset(skeleton_state *state);

/* Sets a pose at zero velocity. base: frames of the free bones in order, NULL: unchanged. q: every angle, NULL:
 * unchanged. Targets and couplings stay. */
void skeleton_set_pose(skeleton_state *state, const skeleton_pose *base, const double *q);

/* Forward kinematics without a state. pose: bone_count frames; those of free bones are read, all others written. */
void skeleton_place(const skeleton_model *model, const double *q, skeleton_pose *pose);

void skeleton_begin(skeleton_state *state, double h, vec3 gravity);
/* A zero-length spring and damper between a bone and a point: adds kappa J^T J, kappa = h d + h^2 k, to the bone's
 * part of A and J^T impulse to that of b. Call between begin and solve. */
void skeleton_add_point(skeleton_state *state, int bone, vec3 point, double kappa, vec3 impulse);
/* False if the matrix is not positive definite or a velocity is out of bounds; the state is then unchanged. */
bool skeleton_solve(skeleton_state *state, double h);
/* To the pose at the end of the step, after a successful solve. */
void skeleton_integrate(skeleton_state *state, double h);

/* Inertia of a bone alone, about O, between begin and integrate. */
spatial_inertia skeleton_inertia(const skeleton_state *state, int bone);

/* h^2 K + h D of the coupling of a bone in its current pose, linear and angular. */
void skeleton_coupling_kappa(const skeleton_state *state, int bone, double h, double kappa[2]);

/* Force and torque of a coupling at the bone's origin in its current pose. The tracked hand feels the opposite (the
 * bilateral coupling of talvas2015, section 4). */
skeleton_wrench skeleton_coupling_wrench(const skeleton_state *state, int bone);
/* The torque of a dof's spring, damper and limit spring at its current angle, N m. */
double skeleton_joint_torque(const skeleton_state *state, int dof);

/* Energies, J: of the moving bones; of their weight, zero at the origin; and of the springs of joints, limits and
 * couplings, relative to their targets. */
double skeleton_kinetic(const skeleton_state *state);
double skeleton_weight(const skeleton_state *state, vec3 gravity);
double skeleton_springs(const skeleton_state *state);
/* Work of the moving targets of joints and couplings on their dampers in a step of h. before: the state at its start with
 * the targets of its end; target: angles that the joints were pulled to before; extra: damping of every
 * joint in addition to its own, N m s/rad. */
double skeleton_damper_work(const skeleton_state *before, const skeleton_state *after, const double *target,
                            double extra, double h);
/* The same of one coupling damper: the frame moved by `moved`, its target has the velocity `speed`. */
static inline double coupling_damper_work(coupling_spring spring, vec3 moved, vec3 speed, double h) {
    return spring.damping * vec3_dot(vec3_sub(vec3_scale(speed, h), moved), speed);
}
/* Potential of a coupling spring at the distance `way` to its target, J: beyond its maximum force it grows with that force
 * alone. */
double skeleton_spring_potential(double way, double stiffness, double max);

#endif
