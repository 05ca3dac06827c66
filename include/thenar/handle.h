/* Handles: rigid pieces inside soft bodies, or bones of hands, by which a device or a program moves them
 * (docs/haptics.md).
 *
 * A handle is a rigid piece inside a soft body, its tool (garre2009): stiff springs of zero length tie nodes of the
 * tool to it, a 6D spring and damper, the virtual coupling, pulls it to a target pose, and both are solved together
 * with all limits and contacts. Or it is a bone of a hand together with the bones beyond it (the palm: the whole
 * hand), whose springs are those that attach the flesh to them. Handles are numbered from 0 in the order in which
 * they were added.
 *
 * Six numbers are linear first, angular second, in world axes, moments about the handle's origin. Matrices are 6 x 6,
 * row by row. thenar/haptic.h renders the forces of handles with devices. */
#ifndef THENAR_HANDLE_H
#define THENAR_HANDLE_H

#include "thenar/hand.h"
#include "thenar/model.h"
#include "thenar/sim.h"
#include "thenar/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A handle. */
typedef struct thenar_handle_def {
    uint32_t size;           /**< of this struct, bytes; the default function sets it */
    const char *name;        /**< unique among handles, not empty, printable UTF-8 */
    const char *tool;        /**< name of a soft body, or of a hand; it must have been added before */
    thenar_hand_joint joint; /**< for a hand: the joint at which the bone begins, THENAR_JOINT_WRIST for the palm;
                                  for a soft body THENAR_JOINT_NONE, which has: */
    double seed[3];          /**< centre, at rest, of the sphere whose nodes are tied to the handle, m; */
    double radius;           /**< its radius, m, > 0. At least three nodes, not in line, none of a support */
    double spring_stiffness; /**< of the spring of one node, N/m, > 0 */
    double spring_damping;   /**< N s/m, >= 0 */
    double stiffness;        /**< of the virtual coupling, N/m, >= 0. For a bone that the hand itself couples to its
                                  tracker, these six are those of the hand */
    double damping;          /**< N s/m, >= 0 */
    double turn_stiffness;   /**< N m/rad, >= 0 */
    double turn_damping;     /**< N m s/rad, >= 0 */
    double max_force;        /**< maximum force of the virtual coupling, N, also when a device jumps; 0: unlimited */
    double max_torque;       /**< maximum torque of it, N m; 0: unlimited */
    const thenar_key *keys;  /**< its target, as for a driven body; none: its initial pose. Not for bones */
    int key_count;           /**< number of keys */
    bool linear;             /**< constant speed between keys; false: smooth, at rest at each key */
    bool has_pivot;          /**< false: the pivot is the handle's origin */
    double pivot[3];         /**< centre of the keys' rotation, at rest, m */
    bool linearize;          /**< from the start; thenar_sim_linearize_handle changes it */
} thenar_handle_def;

/** Fills in the defaults of a struct of `size` bytes. */
THENAR_API thenar_status thenar_handle_def_init(thenar_handle_def *def, size_t size);

/** Springs of 2000 N/m per node; a coupling of 2000 N/m and 2 N m/rad, damped. The figures are chosen by us. */
static inline thenar_handle_def thenar_handle_def_default(void) {
    thenar_handle_def def;
    thenar_handle_def_init(&def, sizeof def);
    return def;
}

/** Adds a handle. Its origin is the centre of mass of its nodes (of a bone: its joint) and its axes are the world's at
 * rest. Its mass and inertia are those of the nodes, counted a second time, so gravity does not act on it. */
THENAR_API thenar_status thenar_build_add_handle(thenar_build *build, const thenar_handle_def *def,
                                                 thenar_error *error);

/** Number of handles. */
THENAR_API int thenar_model_handle_count(const thenar_model *model);

/** Index of the handle of that name, or -1. */
THENAR_API int thenar_model_find_handle(const thenar_model *model, const char *name);

/** Name of a handle. */
THENAR_API const char *thenar_model_handle_name(const thenar_model *model, int handle);

/** The soft body of a handle; of a bone, the first body of its hand. -1 for an index out of range. */
THENAR_API int thenar_model_handle_body(const thenar_model *model, int handle);

/** Hand and bone of a handle; -1 and -1 for a handle in a soft body. Any pointer may be NULL. */
THENAR_API thenar_status thenar_model_handle_bone(const thenar_model *model, int handle, int *hand, int *bone);

/** Number of nodes that are tied to a handle. */
THENAR_API int thenar_model_handle_node_count(const thenar_model *model, int handle);

/** Mass, kg, and inertia about its origin at rest, kg m^2, in its own axes, row by row; of a bone, with those beyond
 * it. */
THENAR_API thenar_status thenar_model_handle_mass(const thenar_model *model, int handle, double *mass,
                                                  double inertia[9]);

/** Drives a handle: its target pose at the end of the next step and the target's velocity (m/s, rad/s; NULL: at rest).
 * The target stays until it is driven again; a reset returns to its keys (of a bone: to the hand's drivers). Refused
 * if not finite. */
THENAR_API thenar_status thenar_sim_drive_handle(thenar_sim *sim, int handle, const double pose[7],
                                                 const double velocity[6]);

/** Whether each step ends with the stiffness and damping of the handle: one factorization for all handles of an island
 * and six solves per handle. */
THENAR_API thenar_status thenar_sim_linearize_handle(thenar_sim *sim, int handle, bool on);

/** A handle at the end of the last step. The tool's force on it for another motion of the handle over that step is
 * F(x, v) = force - stiffness (x - pose) - damping (v - velocity), with all active limits and contacts. Both matrices
 * are symmetric and positive semidefinite. */
typedef struct thenar_handle_state {
    double pose[7];            /**< of the handle */
    double velocity[6];        /**< m/s, rad/s */
    double target[7];          /**< pose to which the virtual coupling pulled it */
    double target_velocity[6]; /**< m/s, rad/s */
    double force[6];           /**< of the tool on the handle, N and N m */
    double coupling[6];        /**< of the virtual coupling on the handle, N and N m; a device feels the opposite */
    bool linearized;           /**< the matrices are there; else they are zero */
    double stiffness[36];      /**< N/m, N, N m */
    double damping[36];        /**< N s/m, N s, N m s */
    double inertia[36];        /**< mass that moves with the handle, kg, kg m, kg m^2: the part of h^2 stiffness + h
                                    damping that is inertia of the tool and of touched bodies, h the time step */
    double viscosity[36];      /**< the part of it that is dampers, N s/m, N s, N m s: h^2 stiffness + h damping -
                                    inertia - h viscosity is elasticity and contacts */
    int contacts;              /**< contact points of the tool with a force */
} thenar_handle_state;

/** Reads a handle. */
THENAR_API thenar_status thenar_sim_handle(const thenar_sim *sim, int handle, thenar_handle_state *state);

#ifdef __cplusplus
}
#endif

#endif
