/* A simulation: the changing state of one model, stepped in time.
 *
 * Everything is allocated by thenar_sim_create; the step allocates nothing. Pointers that the readers return stay
 * valid, and are updated in place, until the simulation is freed. A simulation is used by one thread at a time;
 * simulations that share a model are independent. The same inputs give the same state bit for bit, whatever the
 * number of threads. */
#ifndef THENAR_SIM_H
#define THENAR_SIM_H

#include "thenar/model.h"
#include "thenar/status.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** One simulation of one model. */
typedef struct thenar_sim thenar_sim;

/** How to run it. */
typedef struct thenar_sim_options {
    double dt;          /**< time step, s, 1e-6 to 1; 0: the model's own */
    int threads;        /**< 1 to 256, the calling one included; 0: 1 */
    const char *solver; /**< name of the constraint solver; NULL: the default, "newton" */
    /** How bodies touch; NULL: the model's own (thenar_world_def.contact_method). "point": points of skins and of dynamic
     * rigid bodies against other bodies, as constraints with friction, which hold to the solver's tolerance. "aggregate":
     * the points of a phalanx, or of one spot of another soft body, share four constraints, with friction that resists
     * twist, as in talvas2015; what is told of contacts is the same. "penalty": the same points with springs and
     * dampers (thenar_world_def.contact_stiffness) and anchored friction, as in perez2016: they sink in, and cost no
     * more than a free motion where nothing has limits; between soft bodies with limits they need the solver newton.
     * "none": they pass through each other. */
    const char *contact;
    /** What solvers other than newton, which always takes Coulomb's cone, do about friction: "pyramid", also for NULL
     * (four sides around the cone, as in perez2013; along its edges friction is 1.41 times too strong), or "cone". Of
     * aggregated contacts both are the nearest point of the exact set, and "printed" is what talvas2015 has instead. */
    const char *friction;
    /** How handles (thenar/haptic.h) are solved with their tools: "monolithic", also for NULL, as one matrix; "schur",
     * apart, as in garre2009, by a factor of the tool's own; "cg", the same by conjugate gradients. All three find the
     * same motion; the last two need the solver newton. */
    const char *coupling;
} thenar_sim_options;

/** The model's time step, one thread. */
THENAR_API thenar_sim_options thenar_sim_options_default(void);

/** The stages of a step, in order. */
typedef enum thenar_stage {
    THENAR_STAGE_DRIVE,             /**< supports go where their scripts or drivers want them */
    THENAR_STAGE_SKELETONS,         /**< bones of hands go where they are tracked; flesh is pulled after them */
    THENAR_STAGE_FORMULATE,         /**< rotations, forces, A and b of every body */
    THENAR_STAGE_FIND_CONTACTS,     /**< points of bodies that are near each other */
    THENAR_STAGE_BUILD_CONSTRAINTS, /**< constraints of these points */
    THENAR_STAGE_FACTOR,            /**< A = L L^T */
    THENAR_STAGE_FREE_MOTION,       /**< A v* = b */
    THENAR_STAGE_SOLVE_CONSTRAINTS, /**< the closest motion to v* within the limits */
    THENAR_STAGE_INTEGRATE,         /**< x = x0 + h v */
    THENAR_STAGE_PUBLISH,           /**< reactions and statistics */
    THENAR_STAGE_LINEARIZE,         /**< stiffness and damping of handles, where these are asked for */
    THENAR_STAGE_COUNT
} thenar_stage;

/** Its name in steps.csv and summary.json: "drive", "formulate", ... */
THENAR_API const char *thenar_stage_name(thenar_stage stage);

/** Trouble that a step met and survived. */
typedef enum thenar_warning {
    THENAR_WARNING_STEP_SPLIT,    /**< the step failed whole and was done in smaller ones */
    THENAR_WARNING_STEP_FAILED,   /**< smaller ones failed too: the last good state was kept, at rest */
    THENAR_WARNING_INVERTED,      /**< a step began with inverted tets (det G < 0) */
    THENAR_WARNING_NOT_CONVERGED, /**< a solver stopped before its tolerance was met; the state is usable */
    THENAR_WARNING_CONTACTS_LOST, /**< there were more contact points than there is room for: the last were ignored */
    THENAR_WARNING_SPIN_LIMITED,  /**< a rigid body would have turned by more than half a turn: it was slowed down */
    THENAR_WARNING_COUNT
} thenar_warning;

/** Its name in summary.json: "step_split", ... */
THENAR_API const char *thenar_warning_name(thenar_warning warning);

/** What the last step did. */
typedef struct thenar_stats {
    int64_t step_ns;                      /**< whole step, ns */
    int64_t stage_ns[THENAR_STAGE_COUNT]; /**< each stage, ns */
    int iterations;                       /**< of the solver, or 1 for a free motion */
    double residual;                      /**< largest violation of a strain limit; without limits |A v - b| / |b| */
    int active_constraints;               /**< strain limits that push */
    int contacts;                         /**< contact points that push */
    int rows;                             /**< constraint rows */
    int inverted_tets;                    /**< at the beginning of the step */
    int unconverged;                      /**< solves that stopped before their tolerance was met */
} thenar_stats;

/** Makes a simulation at time 0. It keeps the model alive. options may be NULL. */
THENAR_API thenar_status thenar_sim_create(const thenar_model *model, const thenar_sim_options *options,
                                           thenar_sim **sim, thenar_error *error);

/** Frees a simulation; NULL is fine. */
THENAR_API void thenar_sim_free(thenar_sim *sim);

/** Goes back to time 0. */
THENAR_API void thenar_sim_reset(thenar_sim *sim);

/** Advances by one time step. THENAR_ERROR_NUMERIC: the step was impossible even in smaller pieces; positions are
 * those before it, velocities zero, time went on; never NaN. A step is impossible that cannot be solved, in which a number
 * would not be finite, or a body be more than 1e6 m away or turn faster than 1e9 rad/s. */
THENAR_API thenar_status thenar_sim_step(thenar_sim *sim);

/** The model it simulates. */
THENAR_API const thenar_model *thenar_sim_model(const thenar_sim *sim);

/** Simulated time, s. */
THENAR_API double thenar_sim_time(const thenar_sim *sim);

/** Name of its constraint solver. */
THENAR_API const char *thenar_sim_solver(const thenar_sim *sim);

/** Name of how its bodies touch: "point", "aggregate", "penalty" or "none". */
THENAR_API const char *thenar_sim_contact_method(const thenar_sim *sim);

/** Time step, s. */
THENAR_API double thenar_sim_dt(const thenar_sim *sim);

/** Steps done since time 0. */
THENAR_API uint64_t thenar_sim_step_count(const thenar_sim *sim);

/** Node positions of a soft body, 3 per node, m. No copy. */
THENAR_API const double *thenar_sim_positions(const thenar_sim *sim, int body);

/** Node velocities, 3 per node, m/s. No copy. */
THENAR_API const double *thenar_sim_velocities(const thenar_sim *sim, int body);

/** Outside forces on the nodes during the last step, 3 per node, N: what was applied to a free node (loads and
 * thenar_sim_apply_force), and the spring of its support if it has one; at a held node the force of its support, which
 * also bears what was applied there. Gravity is
 * not among them. Before the first step: the loads. No copy. */
THENAR_API const double *thenar_sim_forces(const thenar_sim *sim, int body);

/** Total force (N) and torque about the origin (N m) that a support exerted on its body in the last step. */
THENAR_API void thenar_sim_support_wrench(const thenar_sim *sim, int body, int support, double force[3],
                                          double torque[3]);

/** From now on a solve takes at most so many iterations, and so a bounded time, until this is set again or the simulation
 * is reset; 0: as many as the solver allows itself (newton 60, pgs 2000 sweeps, the others 500 or more). A solve that is cut
 * short counts as not converged, and leaves the next step a worse start: bounds of fewer than 8 iterations (newton) or 50
 * (the others) cost more than they save. The bound is part of the state: snapshots and recordings have it. A negative one is
 * refused. */
THENAR_API thenar_status thenar_sim_limit_iterations(thenar_sim *sim, int max);

/** Sets the force applied to a node, N, besides its loads; it stays until it is set again or the simulation is reset. A
 * force that is not finite is refused. */
THENAR_API thenar_status thenar_sim_apply_force(thenar_sim *sim, int body, int node, const double force[3]);

/** Sets all nodes' positions and velocities (3 per node each; NULL: unchanged). Refused if any is not finite, or
 * beyond 1e6 m or 1e9 m/s. Held
 * nodes are where they are put until the next step, which takes them back to their support. */
THENAR_API thenar_status thenar_sim_set_state(thenar_sim *sim, int body, const double *positions,
                                              const double *velocities);

/** Takes a support over from its keys: from the next step on its nodes go to this pose (translation in m from the
 * rest place, rotation vector in radians about the pivot) within one time step. The keys stay out of it until the
 * simulation is reset. Refused if not finite or beyond 1e6. */
THENAR_API thenar_status thenar_sim_drive(thenar_sim *sim, int body, int support, const double move[3],
                                          const double turn[3]);

/** Where the centre of mass of a rigid body is, m, and how the body is turned, as a unit quaternion (x, y, z, w). */
THENAR_API void thenar_sim_pose(const thenar_sim *sim, int body, double position[3], double quaternion[4]);

/** Velocity of the centre of mass of a rigid body, m/s, and its angular velocity, rad/s, in world axes. */
THENAR_API void thenar_sim_twist(const thenar_sim *sim, int body, double velocity[3], double spin[3]);

/** Sets the force at the centre of mass, N, and the torque, N m, applied to a rigid body, in world axes; they stay
 * until they are set again. They move dynamic bodies only. Refused if not finite. */
THENAR_API thenar_status thenar_sim_apply_wrench(thenar_sim *sim, int body, const double force[3],
                                                 const double torque[3]);

/** What thenar_sim_apply_wrench set. */
THENAR_API void thenar_sim_wrench(const thenar_sim *sim, int body, double force[3], double torque[3]);

/** Takes a driven rigid body over from its keys: from the next step on it goes to this pose (its centre of mass, m, and
 * a quaternion (x, y, z, w) of any length but 0) within one time step. Refused if not finite or beyond
 * 1e6 m. */
THENAR_API thenar_status thenar_sim_drive_pose(thenar_sim *sim, int body, const double position[3],
                                               const double quaternion[4]);

/** Positions of the surface's vertices, 3 per vertex, m, written to `positions`. */
THENAR_API void thenar_sim_surface(const thenar_sim *sim, int body, double *positions);

/** The three signed singular values of each tet's deformation gradient, largest first, written to `values`
 * (3 per tet); the last is negative where the tet is inverted. */
THENAR_API void thenar_sim_stretches(const thenar_sim *sim, int body, double *values);

/** Writes all bodies to a legacy VTK file (ASCII, unstructured grid) for ParaView: points in m with `rest`,
 * `displacement` (m), `velocity` (m/s) and `force` (N), tets with `s` (the three stretches) and `body`. Rigid bodies
 * are triangles without displacement and force. */
THENAR_API thenar_status thenar_sim_write_vtk(const thenar_sim *sim, const char *path, thenar_error *error);

/** Energies of a body, J; any pointer may be NULL. Gravity's is zero at the origin. */
THENAR_API void thenar_sim_energy(const thenar_sim *sim, int body, double *kinetic, double *elastic, double *gravity);

/** A point where two bodies touched, or nearly did, in the last step. Positions are those at its end. */
typedef struct thenar_contact {
    int body[2];        /**< whose point it is, and whose surface it is near; the first is soft or dynamic. The same
                             twice where a soft body touches itself */
    int vertex;         /**< of the surface of body[0]; of a rigid primitive the number of its point */
    int face[2];        /**< triangle of either surface; -1 for rigid primitives, which have none of their own. The
                             first is around `vertex` and faces the other body most; with a contact_spacing, it is
                             the one on the side of the coarser triangle that does */
    int sticks;         /**< 1: it pushes and does not slip */
    double position[3]; /**< m */
    double normal[3];   /**< unit, out of body[1], world axes */
    double gap;         /**< m, negative inside; where a body touches itself and overlaps at rest, counted from there */
    double force;       /**< normal force, N, >= 0: body[0] is pushed along the normal, body[1] against it */
    double friction[3]; /**< tangential force on body[0], world axes, N; at most mu times the normal force, 1.41
                             times that on the pyramid (thenar_sim_options); by springs to the solver's tolerance */
    double area;        /**< of the skin that belongs to the point, m^2; 0 for points of rigid bodies */
} thenar_contact;

/** Two bodies with contacts between them: the sums over those that push. Two soft bodies are two pairs, one for the
 * points of each; what one does to the other is the first's force less the second's. */
typedef struct thenar_contact_pair {
    int body[2];         /**< as in their contacts */
    int first, count;    /**< their contacts in thenar_sim_contacts */
    int touching;        /**< how many of them push */
    double force[3];     /**< on body[0], N; on body[1] the opposite */
    double torque[3];    /**< on body[0] about the origin, N m */
    double centre[3];    /**< of pressure, m */
    double normal_force; /**< sum of the normal forces, N */
    double area;         /**< m^2 */
    double pressure;     /**< normal force over area, Pa; 0 without area */
} thenar_contact_pair;

/** Contacts of the last step, thenar_sim_contact_count of them, those of a pair together. None after a reset, a
 * restore or a step that failed. No copy. */
THENAR_API const thenar_contact *thenar_sim_contacts(const thenar_sim *sim);

/** How many. */
THENAR_API int thenar_sim_contact_count(const thenar_sim *sim);

/** Pairs of bodies with contacts in the last step, thenar_sim_contact_pair_count of them. No copy. */
THENAR_API const thenar_contact_pair *thenar_sim_contact_pairs(const thenar_sim *sim);

/** How many. */
THENAR_API int thenar_sim_contact_pair_count(const thenar_sim *sim);

/** All that contact did to a body in the last step: force (N), torque about the origin (N m), and the area of skin that
 * touched (m^2; of a rigid body, the other's skin). What a body does to itself adds up to no force and no torque, but
 * its area counts. Any pointer may be NULL. */
THENAR_API void thenar_sim_contact_wrench(const thenar_sim *sim, int body, double force[3], double torque[3],
                                          double *area);

/** Times and counts of the last step. No copy. */
THENAR_API const thenar_stats *thenar_sim_stats(const thenar_sim *sim);

/** How often a warning came up since time 0. */
THENAR_API uint64_t thenar_sim_warning_count(const thenar_sim *sim, thenar_warning warning);

/** A hash over the whole state: equal states, equal hashes. */
THENAR_API uint64_t thenar_sim_hash(const thenar_sim *sim);

/** Size of a snapshot, bytes. */
THENAR_API size_t thenar_sim_snapshot_size(const thenar_sim *sim);

/** Writes the state to `bytes` (thenar_sim_snapshot_size of them). */
THENAR_API void thenar_sim_snapshot(const thenar_sim *sim, void *bytes);

/** Takes the state over from a snapshot of any simulation of an equal model; with the same options (but for threads) it
 * then goes on bit for bit as that one. A damaged snapshot, one with values that no step leaves, or one of another model or
 * time step, is refused and the state stays as it was. */
THENAR_API thenar_status thenar_sim_restore(thenar_sim *sim, const void *bytes, size_t size, thenar_error *error);

/** Goes on from where another simulation is: its time, the motion of its bodies and what acts on them. Materials, time
 * step and solver may differ; the bodies must be the same in number, kind, nodes and supports, or it is refused. */
THENAR_API thenar_status thenar_sim_continue(thenar_sim *sim, const thenar_sim *from, thenar_error *error);

#ifdef __cplusplus
}
#endif

#endif
