/* What is held and felt: handles, and the loop that renders their forces. docs/haptics.md has the equations. */
#ifndef THENAR_HAPTIC_H
#define THENAR_HAPTIC_H

#include "thenar/model.h"
#include "thenar/sim.h"
#include "thenar/status.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Handles ----
 *
 * A handle is a rigid piece inside a soft body, its tool, by which a device holds it (garre2009): stiff springs of zero
 * length tie nodes of the tool to it, a 6D spring and damper, the virtual coupling, pulls it to a wanted pose, and both
 * are solved together with all limits and contacts. Or it is a bone of a hand together with the bones beyond it (the
 * palm: the whole hand), whose springs are those by which flesh hangs on them. Handles are numbered from 0 in the order
 * in which they were added.
 *
 * Six numbers are linear first, angular second, in the world's axes, moments about the handle's origin; poses are a
 * position (m) and a unit quaternion (x, y, z, w). */

/** A handle. */
typedef struct thenar_handle_def {
    const char *name; /**< unique among handles, not empty, printable UTF-8 */
    const char *tool; /**< name of a soft body, or of a hand; it must have been added before */
    const char *bone; /**< of a hand: WebXR's name of the joint at which the bone begins, "wrist" for the palm; NULL of
                           a soft body, which has: */
    double seed[3];   /**< the nodes within a sphere around this place at rest, m, are tied to the handle; */
    double radius;    /**< of that sphere, m, > 0. At least three nodes, not in line, none held by a support */
    double spring_stiffness; /**< of the spring of one node, N/m, > 0 */
    double spring_damping;   /**< N s/m, >= 0 */
    double stiffness;        /**< of the virtual coupling, N/m, >= 0. Of a bone that the hand itself couples to its
                                  tracker, these six are the hand's own */
    double damping;          /**< N s/m, >= 0 */
    double turn_stiffness;   /**< N m/rad, >= 0 */
    double turn_damping;     /**< N m s/rad, >= 0 */
    double most_force;       /**< that its spring pulls with, N; 0: any. A device that jumps pulls no harder */
    double most_torque;      /**< N m; 0: any */
    const thenar_key *keys;  /**< where it is wanted, as for a driven body; none: where it was made. Of a bone: none */
    int key_count;           /**< number of keys */
    bool linear;             /**< straight between keys instead of smooth */
    bool has_pivot;          /**< else the pivot of turns is the handle's origin */
    double pivot[3];         /**< at rest, m */
    bool linearize;          /**< from the start; thenar_sim_linearize_handle changes it */
} thenar_handle_def;

/** Springs of 2000 N/m a node; a coupling of 2000 N/m and 2 N m/rad, damped. The figures are ours. */
THENAR_API thenar_handle_def thenar_handle_def_default(void);

/** Adds a handle. Its origin is the centre of mass of its nodes (a bone's: its joint) and its axes are the world's at
 * rest. Mass and inertia are those of the nodes, counted a second time, so gravity does not pull at it. */
THENAR_API thenar_status thenar_build_add_handle(thenar_build *build, const thenar_handle_def *def,
                                                 thenar_error *error);

/** Number of handles. */
THENAR_API int thenar_model_handle_count(const thenar_model *model);

/** The handle of that name, or -1. */
THENAR_API int thenar_model_find_handle(const thenar_model *model, const char *name);

/** Its name. */
THENAR_API const char *thenar_model_handle_name(const thenar_model *model, int handle);

/** The soft body that it holds; of a bone, the first of its hand's. */
THENAR_API int thenar_model_handle_body(const thenar_model *model, int handle);

/** Its hand and bone; -1 and -1 for a handle in a soft body. Any pointer may be NULL. */
THENAR_API void thenar_model_handle_bone(const thenar_model *model, int handle, int *hand, int *bone);

/** How many nodes are tied to it. */
THENAR_API int thenar_model_handle_node_count(const thenar_model *model, int handle);

/** Mass, kg, and inertia about its origin at rest, kg m^2, in its own axes, row after row; of a bone, with those beyond
 * it. */
THENAR_API void thenar_model_handle_mass(const thenar_model *model, int handle, double *mass, double inertia[9]);

/** Where a device wants the handle at the end of the next step, and how fast that moves (m/s, rad/s; NULL: at rest).
 * It stays so until it is told otherwise; its keys (a bone: what drives the hand) stay out of it until the simulation
 * is reset. Refused if not finite. */
THENAR_API thenar_status thenar_sim_drive_handle(thenar_sim *sim, int handle, const double pose[7],
                                                 const double velocity[6]);

/** Whether each step ends with stiffness and damping of the handle: a factorization for all handles of an island and
 * six solves each. */
THENAR_API void thenar_sim_linearize_handle(thenar_sim *sim, int handle, bool on);

/** A handle at the end of the last step. The tool's force on it for another motion of the handle over that step is
 * F(x, v) = force - stiffness (x - pose) - damping (v - velocity), with all limits and contacts that pushed. Both
 * matrices are symmetric and positive semidefinite, row after row. */
typedef struct thenar_handle_state {
    double pose[7];
    double velocity[6];        /**< m/s, rad/s */
    double wanted[7];          /**< the pose to which the virtual coupling pulled it */
    double wanted_velocity[6]; /**< m/s, rad/s */
    double force[6];           /**< of the tool on the handle, N and N m */
    double coupling[6];        /**< of the virtual coupling on the handle, N and N m; a device feels the opposite */
    bool linearized;           /**< the matrices are there; else they are zero */
    double stiffness[36];      /**< N/m, N, N m */
    double damping[36];        /**< N s/m, N s, N m s */
    double inertia[36]; /**< mass that goes with the handle, kg, kg m, kg m^2: what of h^2 stiffness + h damping is
                             inertia of tool and touched things, h the time step */
    int contacts;       /**< contact points of the tool that push */
} thenar_handle_state;

/** Reads a handle. */
THENAR_API void thenar_sim_handle(const thenar_sim *sim, int handle, thenar_handle_state *state);

/** Name of how handles are solved with their tools: "monolithic", "schur" or "cg" (thenar_sim_options.coupling). */
THENAR_API const char *thenar_sim_coupling(const thenar_sim *sim);

#ifdef __cplusplus
}
#endif

#endif
