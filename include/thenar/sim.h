/* A simulation: the changing state of one model, advanced in time steps.
 *
 * thenar_sim_create allocates everything; the step allocates nothing. Pointers that the readers return stay valid, and
 * their contents are updated in place, until the simulation is freed. The thenar_sim_read_... functions copy what a
 * binding needs every step into one array of the caller. A simulation is used by one thread at a time; simulations that
 * share a model are independent. The same inputs give the same state bit for bit, whatever the number of threads. */
#ifndef THENAR_SIM_H
#define THENAR_SIM_H

#include "thenar/model.h"
#include "thenar/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** One simulation of one model. */
typedef struct thenar_sim thenar_sim;

/** The constraint solvers. All but the first are baselines from the papers. */
typedef enum thenar_solver {
    THENAR_SOLVER_NEWTON,     /**< augmented-Lagrangian Newton, the default */
    THENAR_SOLVER_PGS,        /**< one linearization, projected Gauss-Seidel (perez2013) */
    THENAR_SOLVER_SQP_PGS,    /**< sequential quadratic programming with projected Gauss-Seidel (perez2016) */
    THENAR_SOLVER_SQP_PJLS,   /**< sequential quadratic programming with projected Jacobi line search (perez2016) */
    THENAR_SOLVER_NJLS,       /**< nonlinear Jacobi line search as printed (perez2016, Algorithm 1) */
    THENAR_SOLVER_NJLS_REACH, /**< the same with sparse substitutions, eight at a time */
    THENAR_SOLVER_NJLS_PLUS,  /**< the same with D from the selected inverse and Anderson acceleration */
    THENAR_SOLVER_COUNT
} thenar_solver;

/** Number of solvers. */
THENAR_API int thenar_solver_count(void);
/** Name of a solver: "newton", "pgs", ..., as in scenes and on the command line. */
THENAR_API const char *thenar_solver_name(thenar_solver solver);
/** The solver of that name, or -1. */
THENAR_API int thenar_solver_find(const char *name);
/** What a solver is, in one line. */
THENAR_API const char *thenar_solver_summary(thenar_solver solver);
/** The number of iterations after which a solver leaves the next step a good start when time is short, for
 * thenar_sim_limit_iterations; 0: it must not be cut short. */
THENAR_API int thenar_solver_short_iterations(thenar_solver solver);

/** The friction of solvers other than THENAR_SOLVER_NEWTON, which always uses Coulomb's cone. */
typedef enum thenar_friction {
    THENAR_FRICTION_PYRAMID, /**< four sides around the cone (perez2013): up to 1.41 times too strong along its edges */
    THENAR_FRICTION_CONE,    /**< Coulomb's cone */
    THENAR_FRICTION_PRINTED, /**< of aggregated contacts: the formula printed in talvas2015, instead of the nearest
                                  point of the exact set, which the other two use */
    THENAR_FRICTION_COUNT
} thenar_friction;

/** Number of friction models. */
THENAR_API int thenar_friction_count(void);
/** Name of a friction model: "pyramid", "cone" or "printed". */
THENAR_API const char *thenar_friction_name(thenar_friction friction);
/** The friction of that name, or -1. */
THENAR_API int thenar_friction_find(const char *name);

/** How handles (thenar/handle.h) are solved together with their tools. All three find the same motion. */
typedef enum thenar_coupling {
    THENAR_COUPLING_MONOLITHIC, /**< one matrix */
    THENAR_COUPLING_SCHUR,      /**< separately, with a factor of the tool alone (garre2009); needs
                                     THENAR_SOLVER_NEWTON */
    THENAR_COUPLING_CG,         /**< separately, with conjugate gradients; needs THENAR_SOLVER_NEWTON */
    THENAR_COUPLING_COUNT
} thenar_coupling;

/** Number of couplings. */
THENAR_API int thenar_coupling_count(void);
/** Name of a coupling: "monolithic", "schur" or "cg". */
THENAR_API const char *thenar_coupling_name(thenar_coupling coupling);
/** The coupling of that name, or -1. */
THENAR_API int thenar_coupling_find(const char *name);

/** Options of a simulation. */
typedef struct thenar_sim_options {
    uint32_t size;                 /**< of this struct, bytes; the default function sets it */
    int threads;                   /**< 1 to 256, the calling one included; 0: 1 */
    double dt;                     /**< time step, s, 1e-6 to 1; 0: the model's own */
    thenar_solver solver;          /**< constraint solver */
    thenar_contact_method contact; /**< contact method; by default THENAR_CONTACT_OF_MODEL */
    thenar_friction friction;      /**< friction model */
    thenar_coupling coupling;      /**< coupling of handles */
} thenar_sim_options;

/** Fills in the defaults of a struct of `size` bytes. */
THENAR_API thenar_status thenar_sim_options_init(thenar_sim_options *options, size_t size);

/** The time step and contact method of the model, one thread, THENAR_SOLVER_NEWTON. */
static inline thenar_sim_options thenar_sim_options_default(void) {
    thenar_sim_options options;
    thenar_sim_options_init(&options, sizeof options);
    return options;
}

/** The stages of a step, in order. */
typedef enum thenar_stage {
    THENAR_STAGE_DRIVE,             /**< supports move to the poses of their keys or drivers */
    THENAR_STAGE_SKELETONS,         /**< bones of hands follow their targets; springs pull the flesh after them */
    THENAR_STAGE_FORMULATE,         /**< rotations, forces, A and b of every body */
    THENAR_STAGE_FIND_CONTACTS,     /**< points of bodies that are close to each other */
    THENAR_STAGE_BUILD_CONSTRAINTS, /**< constraints of these points */
    THENAR_STAGE_FACTOR,            /**< A = L L^T */
    THENAR_STAGE_FREE_MOTION,       /**< A v* = b */
    THENAR_STAGE_SOLVE_CONSTRAINTS, /**< the motion closest to v* that satisfies the constraints */
    THENAR_STAGE_INTEGRATE,         /**< x = x0 + h v */
    THENAR_STAGE_PUBLISH,           /**< reactions and statistics */
    THENAR_STAGE_LINEARIZE,         /**< stiffness and damping of handles, where enabled */
    THENAR_STAGE_COUNT
} thenar_stage;

/** Number of stages. */
THENAR_API int thenar_stage_count(void);
/** Name of a stage in steps.csv and summary.json: "drive", "formulate", .... */
THENAR_API const char *thenar_stage_name(thenar_stage stage);
/** The stage of that name, or -1. */
THENAR_API int thenar_stage_find(const char *name);

/** Problems that a step recovered from. */
typedef enum thenar_warning {
    THENAR_WARNING_STEP_SPLIT,    /**< the step failed, or gained energy, and was repeated in smaller ones */
    THENAR_WARNING_STEP_FAILED,   /**< the smaller steps failed too: the last good state was kept, at rest */
    THENAR_WARNING_INVERTED,      /**< a step began with inverted tets (det G < 0) */
    THENAR_WARNING_NOT_CONVERGED, /**< a solver stopped before its tolerance was met; the state is usable */
    THENAR_WARNING_CONTACTS_LOST, /**< more contact points than the capacity: the last were ignored */
    THENAR_WARNING_SPIN_LIMITED,  /**< a rigid body would have rotated by more than half a turn: it was slowed down */
    THENAR_WARNING_ENERGY, /**< bodies gained energy that nothing supplied: the step was repeated in smaller ones */
    THENAR_WARNING_COUNT
} thenar_warning;

/** Number of warnings. */
THENAR_API int thenar_warning_count(void);
/** Name of a warning in summary.json: "step_split", "step_failed", .... */
THENAR_API const char *thenar_warning_name(thenar_warning warning);
/** The warning of that name, or -1. */
THENAR_API int thenar_warning_find(const char *name);

/** The energy of all bodies, hands and handles, and where it came from and went, J. */
typedef struct thenar_energy {
    double kinetic;    /**< of everything that moves, at the end of the step */
    double elastic;    /**< of soft bodies, at the end of the step */
    double gravity;    /**< of weight, zero at the origin, at the end of the step */
    double springs;    /**< between flesh and bones, of joints, of couplings to targets, of handles, at the end of the
                            step */
    double supports;   /**< work of supports, firm ones and springs, in the step */
    double driven;     /**< work of driven rigid bodies on what they touch, in the step */
    double targets;    /**< work of the targets that hands and handles are coupled to, in the step */
    double applied;    /**< work of loads and applied forces, in the step */
    double contacts;   /**< work of contacts in the step: positive where they push bodies apart that overlapped (more
                            than the overlap explains is excess), negative for friction and impacts */
    double dissipated; /**< in the step, by damping and by the integration in time; friction is in `contacts` */
    double excess;     /**< gained in the step without a source */
    double turning;    /**< elastic energy gained in the step because a step moves along the tangent, so that tets that
                            turn are stretched; it adds to `excess`, or makes `dissipated` smaller */
} thenar_energy;

/** Times and counts of a step. */
typedef struct thenar_stats {
    int64_t step_ns;                      /**< whole step, ns */
    int64_t stage_ns[THENAR_STAGE_COUNT]; /**< each stage, ns */
    int iterations;                       /**< of the solver, or 1 for a free motion */
    double residual;                      /**< largest violation of a strain limit; without limits |A v - b| / |b| */
    int active_constraints;               /**< strain limits with a force */
    int contacts;                         /**< contact points with a force */
    int rows;                             /**< constraint rows */
    int inverted_tets;                    /**< at the beginning of the step */
    int unconverged;                      /**< solves that stopped before their tolerance was met */
    thenar_energy energy;                 /**< energy at the end of the step, and its balance */
} thenar_stats;

/** Makes a simulation at time 0. It holds a reference to the model. options may be NULL: the defaults. */
THENAR_API thenar_status thenar_sim_create(const thenar_model *model, const thenar_sim_options *options,
                                           thenar_sim **sim, thenar_error *error);

/** Frees a simulation; NULL is fine. */
THENAR_API void thenar_sim_free(thenar_sim *sim);

/** Returns to time 0. */
THENAR_API thenar_status thenar_sim_reset(thenar_sim *sim);

/** Advances by one time step. THENAR_ERROR_NUMERIC: the step failed even when divided into smaller ones; positions are
 * those before it, velocities are zero, time has advanced; nothing is ever NaN. A step fails if it cannot be solved,
 * if a number would not be finite, or if a body would be more than 1e6 m away or rotate faster than 1e9 rad/s. */
THENAR_API thenar_status thenar_sim_step(thenar_sim *sim);

/** The model of a simulation. */
THENAR_API const thenar_model *thenar_sim_model(const thenar_sim *sim);

/** Simulated time, s. */
THENAR_API double thenar_sim_time(const thenar_sim *sim);

/** Its constraint solver. */
THENAR_API thenar_solver thenar_sim_solver(const thenar_sim *sim);

/** Its contact method. */
THENAR_API thenar_contact_method thenar_sim_contact_method(const thenar_sim *sim);

/** Its friction model. */
THENAR_API thenar_friction thenar_sim_friction(const thenar_sim *sim);

/** Its coupling of handles. */
THENAR_API thenar_coupling thenar_sim_coupling(const thenar_sim *sim);

/** Time step, s. */
THENAR_API double thenar_sim_dt(const thenar_sim *sim);

/** Steps done since time 0. */
THENAR_API uint64_t thenar_sim_step_count(const thenar_sim *sim);

/** Node positions of a soft body, 3 per node, m. No copy: valid as long as the simulation. */
THENAR_API const double *thenar_sim_positions(const thenar_sim *sim, int body);

/** Node velocities of a soft body, 3 per node, m/s. No copy. */
THENAR_API const double *thenar_sim_velocities(const thenar_sim *sim, int body);

/** External forces on the nodes of a soft body during the last step, 3 per node, N: at a free node the applied force
 * (loads and thenar_sim_apply_force) and the spring of its support, if it has one; at a fixed node the force of its
 * support, which also bears what is applied there. Without gravity. Before the first step: the loads. No copy. */
THENAR_API const double *thenar_sim_forces(const thenar_sim *sim, int body);

/** Total force (N) and torque about the origin (N m) that a support exerted on its body in the last step. */
THENAR_API thenar_status thenar_sim_support_wrench(const thenar_sim *sim, int body, int support, double force[3],
                                                   double torque[3]);

/** Limits the iterations of each solve, and so its time, until it is set again or the simulation is reset; 0: the
 * solver's own limit (newton 60, pgs 2000 sweeps, the others 500 or more). A solve that is cut short counts as not
 * converged and gives the next step a worse start: limits below 8 iterations (newton) or 50 (the others) cost more
 * than they save. The limit is part of the state: snapshots and recordings contain it. A negative one is refused. */
THENAR_API thenar_status thenar_sim_limit_iterations(thenar_sim *sim, int max_iterations);

/** Sets the force applied to a node, N, in addition to its loads, until it is set again or the simulation is reset. A
 * force that is not finite is refused. */
THENAR_API thenar_status thenar_sim_apply_force(thenar_sim *sim, int body, int node, const double force[3]);

/** Sets the positions (m) and velocities (m/s) of all nodes of a soft body, 3 per node each; NULL: unchanged. Refused
 * if any is not finite, or beyond 1e6 m or 1e9 m/s. The next step moves fixed nodes back to their support. */
THENAR_API thenar_status thenar_sim_set_state(thenar_sim *sim, int body, const double *positions,
                                              const double *velocities);

/** Drives a support instead of its keys: with the next step its nodes move to this pose relative to the rest pose
 * (translation, m, and rotation about the pivot, quaternion of any length but 0) within one time step. It stays there
 * until it is driven again; a reset returns to the keys. Refused if not finite or beyond 1e6 m. */
THENAR_API thenar_status thenar_sim_drive_support(thenar_sim *sim, int body, int support, const double pose[7]);

/** Pose of a rigid body: its centre of mass, m, and its orientation. */
THENAR_API thenar_status thenar_sim_pose(const thenar_sim *sim, int body, double pose[7]);

/** Velocity of the centre of mass of a rigid body, m/s, and its angular velocity, rad/s, in world axes. */
THENAR_API thenar_status thenar_sim_twist(const thenar_sim *sim, int body, double twist[6]);

/** Sets the force at the centre of mass, N, and the torque, N m, applied to a rigid body, in world axes, until they
 * are set again. They move dynamic bodies only. Refused if not finite. */
THENAR_API thenar_status thenar_sim_apply_wrench(thenar_sim *sim, int body, const double force[3],
                                                 const double torque[3]);

/** The force, N, and torque, N m, that thenar_sim_apply_wrench has set. */
THENAR_API thenar_status thenar_sim_wrench(const thenar_sim *sim, int body, double force[3], double torque[3]);

/** Drives a rigid body of THENAR_MOTION_DRIVEN instead of its keys: with the next step it moves to this pose (its
 * centre of mass, m, and a quaternion of any length but 0) within one time step. Refused if not finite or beyond 1e6
 * m. */
THENAR_API thenar_status thenar_sim_drive_body(thenar_sim *sim, int body, const double pose[7]);

/** Positions of the surface vertices of a body, 3 per vertex, m, written to `positions`. */
THENAR_API thenar_status thenar_sim_surface(const thenar_sim *sim, int body, double *positions);

/** The three signed singular values of each tet's deformation gradient, largest first, written to `values`
 * (3 per tet); the last is negative where the tet is inverted. */
THENAR_API thenar_status thenar_sim_stretches(const thenar_sim *sim, int body, double *values);

/** Energies of a body, J; any pointer may be NULL. The potential energy of gravity is zero at the origin. */
THENAR_API thenar_status thenar_sim_energy(const thenar_sim *sim, int body, double *kinetic, double *elastic,
                                           double *gravity);

/** A point where two bodies touched, or nearly touched, in the last step. Positions are those at its end. */
typedef struct thenar_contact {
    int body[2];        /**< body of the point and body of the surface close to it; the first is soft or dynamic. The
                             same twice for self-contact */
    int vertex;         /**< of the surface of body[0]; of a rigid primitive the number of its point */
    int face[2];        /**< triangle of either surface; -1 for rigid primitives, which have none. The first is
                             adjacent to `vertex` and faces the other body best (with a contact_spacing, the one
                             beside the coarser triangle that does) */
    int sticks;         /**< 1: it has a force and does not slip */
    double position[3]; /**< m */
    double normal[3];   /**< unit, out of body[1], world axes */
    double gap;         /**< m, negative inside; for self-contact of a body that overlaps at rest, relative to that */
    double force;       /**< normal force, N, >= 0: body[0] is pushed along the normal, body[1] against it */
    double friction[3]; /**< tangential force on body[0], world axes, N; at most mu times the normal force, 1.41 times
                             that with THENAR_FRICTION_PYRAMID, to the tolerance of the solver with
                             THENAR_CONTACT_PENALTY */
    double area;        /**< area of skin that the point represents, m^2; 0 for points of rigid bodies */
} thenar_contact;

/** Two bodies with contacts between them: the sums over contacts with a force. Two soft bodies are two pairs, one for
 * the points of each; the force between them is the first pair's force minus the second's. */
typedef struct thenar_contact_pair {
    int body[2];         /**< as in their contacts */
    int first;           /**< their first contact in thenar_sim_contacts */
    int count;           /**< number of their contacts there */
    int touching;        /**< number of them with a force */
    double force[3];     /**< on body[0], N; on body[1] the opposite */
    double torque[3];    /**< on body[0] about the origin, N m */
    double centre[3];    /**< of pressure, m */
    double normal_force; /**< sum of the normal forces, N */
    double area;         /**< m^2 */
    double pressure;     /**< normal force over area, Pa; 0 without area */
} thenar_contact_pair;

/** All contacts of the last step, thenar_sim_contact_count of them, grouped by pair. None after a reset, a restore or
 * a step that failed. No copy: valid as long as the simulation, with new contents after each step. */
THENAR_API const thenar_contact *thenar_sim_contacts(const thenar_sim *sim);

/** Number of contacts of the last step. */
THENAR_API int thenar_sim_contact_count(const thenar_sim *sim);

/** Pairs of bodies with contacts in the last step, thenar_sim_contact_pair_count of them. No copy. */
THENAR_API const thenar_contact_pair *thenar_sim_contact_pairs(const thenar_sim *sim);

/** Number of pairs of bodies with contacts in the last step. */
THENAR_API int thenar_sim_contact_pair_count(const thenar_sim *sim);

/** Total contact on a body in the last step: force (N), torque about the origin (N m), and the area of skin in contact
 * (m^2; for a rigid body the skin of the others). Self-contact has no total force and torque, but its area counts.
 * Any pointer may be NULL. */
THENAR_API thenar_status thenar_sim_contact_wrench(const thenar_sim *sim, int body, double force[3], double torque[3],
                                                   double *area);

/* ---- Reading everything in one call ----
 *
 * `count` is the number of doubles in the caller's array; too few is THENAR_ERROR_USAGE and nothing is written.
 * Nothing is allocated. */

/** Positions of the nodes of a soft body, or with THENAR_ALL_BODIES of all soft bodies, one after the other: 3 *
 * thenar_model_node_count, m. */
THENAR_API thenar_status thenar_sim_read_positions(const thenar_sim *sim, int body, double *positions, size_t count);

/** The same for velocities, m/s. */
THENAR_API thenar_status thenar_sim_read_velocities(const thenar_sim *sim, int body, double *velocities, size_t count);

/** The same for external forces, N, as thenar_sim_forces. */
THENAR_API thenar_status thenar_sim_read_forces(const thenar_sim *sim, int body, double *forces, size_t count);

/** Positions of the surface vertices of a body, or with THENAR_ALL_BODIES of all bodies: 3 * thenar_model_vertex_count,
 * m. */
THENAR_API thenar_status thenar_sim_read_surface(const thenar_sim *sim, int body, double *positions, size_t count);

/** Poses of all rigid bodies in the order of bodies: 7 * thenar_model_rigid_count. */
THENAR_API thenar_status thenar_sim_read_poses(const thenar_sim *sim, double *poses, size_t count);

/** Velocities of all rigid bodies: 6 * thenar_model_rigid_count, m/s and rad/s. */
THENAR_API thenar_status thenar_sim_read_twists(const thenar_sim *sim, double *twists, size_t count);

/** Contact on all bodies, soft and rigid: force (N), torque about the origin (N m) and area (m^2) as
 * thenar_sim_contact_wrench, 7 * thenar_model_body_count. */
THENAR_API thenar_status thenar_sim_read_contact_wrenches(const thenar_sim *sim, double *wrenches, size_t count);

/* ---- Statistics and state ---- */

/** Times and counts of the last step. No copy. */
THENAR_API const thenar_stats *thenar_sim_stats(const thenar_sim *sim);

/** Energy at the end of the last step, and the sums of its balance over all steps since time 0: work, dissipation and
 * excess. They are no part of the state: snapshots do not contain them. No copy. */
THENAR_API const thenar_energy *thenar_sim_energy_sum(const thenar_sim *sim);

/** Number of occurrences of a warning since time 0. */
THENAR_API uint64_t thenar_sim_warning_count(const thenar_sim *sim, thenar_warning warning);

/** A hash over the whole state: equal states, equal hashes. */
THENAR_API uint64_t thenar_sim_hash(const thenar_sim *sim);

/** Size of a snapshot, bytes. */
THENAR_API size_t thenar_sim_snapshot_size(const thenar_sim *sim);

/** Writes the state to `bytes` (thenar_sim_snapshot_size of them). */
THENAR_API thenar_status thenar_sim_snapshot(const thenar_sim *sim, void *bytes);

/** Restores the state from a snapshot of any simulation of an equal model; with the same options (except threads) it
 * then continues bit for bit as that one. A damaged snapshot, one with values that no step produces, or one of
 * another model or time step is refused and the state stays as it was. */
THENAR_API thenar_status thenar_sim_restore(thenar_sim *sim, const void *bytes, size_t size, thenar_error *error);

/** Continues from the state of another simulation: its time, the motion of its bodies and the applied forces.
 * Materials, time step and solver may differ; the bodies must agree in number, kind, nodes and supports, or it is
 * refused. */
THENAR_API thenar_status thenar_sim_continue(thenar_sim *sim, const thenar_sim *from, thenar_error *error);

/* ---- Keeping pace with a clock ----
 *
 * For programs that run in real time, where a step can take longer than it simulates. The time that is due grows with
 * the clock and shrinks by dt with each step; a step begins as soon as dt is due.
 *
 * 1. After a late step the next ones begin at once, until no more than dt is due.
 * 2. The backlog never exceeds four steps, or 20 ms of real time where that is more.
 * 3. While the backlog is more than half of that, `hurried` is set: limit the iterations of the solver.
 * 4. Time beyond the maximum backlog is dropped. Where more than 5 % is dropped within half a second, `slow` is set.
 *
 * No clock is read here: pass the time in nanoseconds, never decreasing. */

/** The state of a pace. Read it, but change it only with the functions below. */
typedef struct thenar_pace {
    int64_t last;           /**< time up to which time is counted, ns */
    double due;             /**< backlog, simulated s */
    bool hurried;           /**< steps should take fewer iterations now */
    double calm;            /**< time since the backlog was more than half of the maximum, s */
    uint64_t steps;         /**< steps done */
    uint64_t late_steps;    /**< steps that ended when the next one should have begun */
    uint64_t hurried_steps; /**< steps done while `hurried` */
    double dropped;         /**< simulated s that were dropped */
    double due_max;         /**< largest backlog, simulated s */
    double share;           /**< share of the requested time that was not dropped, in the last window */
    double share_min;       /**< smallest share of a window */
    double slow_seconds;    /**< duration of slow motion, real s */
    bool slow;              /**< slow motion now */
    double window;          /**< length of the current window, real s */
    double window_asked;    /**< simulated s requested in it */
    double window_dropped;  /**< simulated s dropped in it */
} thenar_pace;

/** Starts at the time `now`, ns, with a backlog of `due` simulated seconds. */
THENAR_API thenar_pace thenar_pace_start(int64_t now, double due);
/** Time has passed: `speed` simulated seconds per second, 0 while paused. dt: time step, s. */
THENAR_API thenar_status thenar_pace_update(thenar_pace *pace, int64_t now, double speed, double dt);
/** Whether a step should begin. */
THENAR_API bool thenar_pace_is_due(const thenar_pace *pace, double dt);
/** A step has ended at the time `now`, ns. */
THENAR_API thenar_status thenar_pace_stepped(thenar_pace *pace, int64_t now, double speed, double dt);
/** Time until the next step should begin, ns; 0 or less: now. */
THENAR_API int64_t thenar_pace_wait(const thenar_pace *pace, int64_t now, double speed, double dt);

#ifdef __cplusplus
}
#endif

#endif
