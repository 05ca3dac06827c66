/* What is held and felt: handles (docs/haptics.md), and the loop that renders their forces (docs/haptic-loop.md). */
#ifndef THENAR_HAPTIC_H
#define THENAR_HAPTIC_H

#include "thenar/model.h"
#include "thenar/sim.h"
#include "thenar/status.h"

#include <stdbool.h>
#include <stdint.h>

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
    double max_force;        /**< that its spring pulls with, N; 0: any. A device that jumps pulls no harder */
    double max_torque;       /**< N m; 0: any */
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
    double inertia[36];   /**< mass that goes with the handle, kg, kg m, kg m^2: what of h^2 stiffness + h damping is
                             inertia of tool and touched things, h the time step */
    double viscosity[36]; /**< what of it is dampers, N s/m, N s, N m s: h^2 stiffness + h damping - inertia -
                               h viscosity is what elasticity and contacts do */
    int contacts;         /**< contact points of the tool that push */
} thenar_handle_state;

/** Reads a handle. */
THENAR_API void thenar_sim_handle(const thenar_sim *sim, int handle, thenar_handle_state *state);

/** Name of how handles are solved with their tools: "monolithic", "schur" or "cg" (thenar_sim_options.coupling). */
THENAR_API const char *thenar_sim_coupling(const thenar_sim *sim);

/* ------------------------------------------------------------------------------------------------- The haptic loop
 *
 * A thread at 1 kHz or more that never waits for the simulation. It reads where the device is, moves a proxy of the
 * handle under the force that the simulation last told of (and how that force changes as the handle moves), and sends
 * the force of the coupling between device and proxy to the device. */

#define THENAR_HAPTIC_HANDLES 8   /**< most handles of one loop */
#define THENAR_HAPTIC_JITTER 16   /**< classes of jitter: under 1, 2, 4, ... microseconds, the last holds the rest */
#define THENAR_HAPTIC_RATE 1000.0 /**< ticks a second, by default */

/** What the simulation tells of a handle at the end of a step: the force of the tool on it, and how that changes as the
 * handle moves: F(x, v) = force - stiffness (x - pose) - damping (v - velocity). Six numbers are linear first, angular
 * second, in the world's axes, moments about the handle's origin. Matrices are symmetric, positive semidefinite, row
 * after row. */
typedef struct thenar_haptic_linear {
    double position[3];    /**< the handle's origin, m */
    double orientation[4]; /**< unit quaternion */
    double velocity[6];    /**< m/s, rad/s */
    double force[6];       /**< N, N m */
    double stiffness[36];  /**< N/m, N, N m */
    double damping[36];    /**< N s/m, N s, N m s */
    double time;           /**< simulated time at the end of the step, s */
    double step_length;    /**< s, simulated: also how soon the next one is expected */
    uint64_t step;         /**< counts from 1 */
    int64_t published_ns;  /**< thenar_haptic_publish fills it in */
    int contacts;          /**< how many contacts the tool has; 0: it is free */
    double inertia[36];    /**< kg, kg m, kg m2: mass that goes along with the handle. It is part of the matrices above:
                                h^2 stiffness + h damping - inertia is what springs, dampers and contacts do over a step
                                h, and nearly zero while the tool is free. Zeros: not known */
    double viscosity[36];  /**< N s/m, N s, N m s: what of that is dampers, viscosity times h. Zeros: not known; then
                                stiffness and damping tell how it is shared */
} thenar_haptic_linear;

/** How a handle is felt. No source has figures for most of these: the defaults are ours, unverified on hardware. The
 * stiffnesses of the coupling should be those by which the handle hangs on the device in the simulation: then handle and
 * proxy come to rest at the same place, and a steady force is that of the simulation whatever its steps are. */
typedef struct thenar_haptic_settings {
    double stiffness;       /**< of the virtual coupling between device and proxy, N/m, > 0 */
    double damping;         /**< N s/m, >= 0 */
    double turn_stiffness;  /**< N m/rad, >= 0 */
    double turn_damping;    /**< N m s/rad, >= 0 */
    double proxy_mass;      /**< kg, > 0 */
    double proxy_inertia;   /**< kg m2, > 0 */
    double max_force;       /**< that is ever sent, N; a device that can do less lowers it */
    double max_torque;      /**< N m */
    double force_slew;      /**< fastest change of the force, N/s */
    double torque_slew;     /**< N m/s */
    double stale_after;     /**< s beyond the expected step without news from the simulation, until the force fades */
    double silent_after;    /**< s without a good sample of the device, until the force fades */
    double fade_time;       /**< s from full force to none */
    double recover_time;    /**< s back to full force */
    double jump_distance;   /**< further than this between two samples ... */
    double jump_speed;      /**< ... and faster than this, m/s, is a jump: the force fades, the proxy starts anew */
    double velocity_cutoff; /**< of the low pass for velocities made from positions, Hz */
    bool one_sided;         /**< between two steps, a tool that pushed does not begin to pull */
    bool passivity;         /**< forces that would give more energy than was put in are held back */
    double energy_reserve;  /**< J that may be given in advance with `passivity` */
    double energy_max;      /**< J that are remembered as put in */
    bool plain;             /**< no linearization: a second coupling to the last pose of the handle (perez2013, 4.4) */
} thenar_haptic_settings;

/** Defaults: 1000 N/m, limits 10 N and 0.5 N m, everything that makes it safe switched on. */
THENAR_API thenar_haptic_settings thenar_haptic_settings_default(void);

/** One handle and the device it is held by. */
typedef struct thenar_haptic_handle {
    /** `user:FILE` a simulated person, `recorded:FILE`, `osc:PORT`, `ws:PORT`, `plugin:FILE[,ARGUMENT]`, `none`;
     * docs/haptic-devices.md. NULL: none. */
    const char *device;
    thenar_haptic_settings settings;
    double origin[3]; /**< where the device's origin is in the world, m */
    double turn[4];   /**< how its axes are turned, unit quaternion */
    double grip[4];   /**< how the handle lies in the device: its orientation, in the device's axes, while the device is
                           not turned; unit quaternion. A device that tells no orientation holds it so */
} thenar_haptic_handle;

/** A handle without a device, at the origin, with default settings. */
THENAR_API thenar_haptic_handle thenar_haptic_handle_default(void);

/** A loop. */
typedef struct thenar_haptic_def {
    double rate;         /**< ticks a second, 100 to 10000 */
    bool real_time;      /**< ask the system for real-time priority and locked memory; it may refuse */
    int priority;        /**< of SCHED_FIFO, 1 to 99 */
    double watchdog;     /**< s without a tick, after which the device's thread takes the force away by itself */
    bool simulated_time; /**< no thread and no clock: it ticks in thenar_haptic_advance, always the same way. Only for
                              devices that are computed: `user`, `recorded`, `none` */
    const thenar_haptic_handle *handles;
    int handle_count; /**< 1 to THENAR_HAPTIC_HANDLES */
} thenar_haptic_def;

/** 1 kHz, real-time where granted, no handles yet. */
THENAR_API thenar_haptic_def thenar_haptic_def_default(void);

/** A running loop. */
typedef struct thenar_haptic thenar_haptic;

/** Opens the devices; nothing moves yet. Nothing that `def` points to is needed afterwards. */
THENAR_API thenar_status thenar_haptic_create(const thenar_haptic_def *def, thenar_haptic **out, thenar_error *error);

/** Stops the loop if it runs, lets the devices go, frees everything. NULL is fine. */
THENAR_API void thenar_haptic_free(thenar_haptic *haptic);

/** Starts the thread. */
THENAR_API thenar_status thenar_haptic_start(thenar_haptic *haptic, thenar_error *error);

/** Fades the force out and ends the thread. It can be started again. */
THENAR_API void thenar_haptic_stop(thenar_haptic *haptic);

/** Of a loop in simulated time: all ticks of the next so many seconds, 0 to 60; of more, those of 60. Others are not moved
 * by it. */
THENAR_API void thenar_haptic_advance(thenar_haptic *haptic, double seconds);

/** What the system granted, in one line: "real-time priority 80, memory locked", or what it refused and how to get it. */
THENAR_API const char *thenar_haptic_real_time(const thenar_haptic *haptic);

/** Tells of a handle, once after each step, from one thread. Never waits. One that is not finite is refused, and
 * counted. */
THENAR_API thenar_status thenar_haptic_publish(thenar_haptic *haptic, int handle, const thenar_haptic_linear *linear);

/** Where a handle's device is, in the world, as far as it is believed: position (m), unit quaternion, velocity (m/s,
 * rad/s). `ahead` seconds from now if it goes on as it does, at most 0.02: a step that is begun now ends later. False
 * while nothing has come from the device. One that has gone silent is where it was, at rest. Any pointer may be NULL.
 */
THENAR_API bool thenar_haptic_pose(thenar_haptic *haptic, int handle, double ahead, double position[3],
                                   double orientation[4], double velocity[6]);

/* ---- The loop and a simulation ----
 *
 * Which handle of the loop holds which handle of a simulation is said with each call. In real time, once a step:
 *
 *     thenar_haptic_drive(haptic, 0, sim, handle);
 *     thenar_sim_step(sim);
 *     thenar_haptic_tell(haptic, 0, sim, handle);
 */

/** The loop that a model's scene asks for (its key `haptic`), without handles; thenar_haptic_def_default where it says
 * nothing. */
THENAR_API thenar_haptic_def thenar_haptic_def_of(const thenar_model *model);

/** The loop's side of a handle of a simulation, without a device yet: the same virtual coupling, so that proxy and handle
 * come to rest at the same place (another one makes the steady force depend on the time step); its mass and the mean of
 * its moments of inertia as the proxy's; no stronger than the handle's max_force and max_torque; and `origin` and
 * `grip` such that a device at its own origin, not turned, is where the handle is now. The rest is as by default. What the scene says of the handle under `haptic` goes
 * before all this, its device too, whose name lives as long as the model. */
THENAR_API thenar_haptic_handle thenar_haptic_handle_of(const thenar_sim *sim, int handle);

/** Before a step: the simulation's handle is wanted where the loop's device will be when the step ends. A device that has
 * gone silent is where it was, at rest; one that has not said anything yet leaves the handle where it is, at rest, without
 * its keys. Switches the linearization on, or with `plain` off. True if a device drives it; without a device (`none`)
 * nothing is done. */
THENAR_API bool thenar_haptic_drive(thenar_haptic *haptic, int of_loop, thenar_sim *sim, int handle);

/** After a step: tells the loop how the simulation's handle is pushed, and how that changes as it moves. Nothing is told,
 * and the loop goes on with the last news until they are stale, if the step could not be linearized
 * (THENAR_ERROR_NUMERIC) or is not finite (THENAR_ERROR_INPUT). */
THENAR_API thenar_status thenar_haptic_tell(thenar_haptic *haptic, int of_loop, const thenar_sim *sim, int handle);

/** What can go wrong, and what was done about it. */
typedef enum thenar_haptic_fault {
    THENAR_HAPTIC_STALE,        /**< the simulation was late: the force faded */
    THENAR_HAPTIC_SILENT,       /**< the device said nothing: the force faded */
    THENAR_HAPTIC_BAD_SAMPLE,   /**< a sample that is not finite, not a pose or out of range: left out */
    THENAR_HAPTIC_JUMP,         /**< the device jumped: the force faded, the proxy began anew */
    THENAR_HAPTIC_BAD_LINEAR,   /**< the simulation told nonsense: left out */
    THENAR_HAPTIC_CLOCK,        /**< the clock stepped, or no tick came for 50 ms: as a jump */
    THENAR_HAPTIC_UNSOLVED,     /**< the proxy's equations could not be solved: it stayed */
    THENAR_HAPTIC_LOST,         /**< samples that never came */
    THENAR_HAPTIC_DOUBLED,      /**< samples that came twice: left out */
    THENAR_HAPTIC_REORDERED,    /**< samples that came late: left out */
    THENAR_HAPTIC_DEVICE_ERROR, /**< calls in which the device said that it failed */
    THENAR_HAPTIC_HUNG,         /**< times that a call of the device did not come back: the force faded */
    THENAR_HAPTIC_WATCHDOG,     /**< times that the device's thread took the force away because no tick came */
    THENAR_HAPTIC_CLAMPED,      /**< ticks in which the force or torque was held to its limit */
    THENAR_HAPTIC_SLEWED,       /**< ticks in which its change was held to its limit */
    THENAR_HAPTIC_HELD_BACK,    /**< ticks in which it would have given more energy than was put in */
    THENAR_HAPTIC_FAULTS        /**< how many kinds there are */
} thenar_haptic_fault;

/** Its name in a summary: "stale", "silent", ... */
THENAR_API const char *thenar_haptic_fault_name(thenar_haptic_fault fault);

/** What has happened to one handle. */
typedef struct thenar_haptic_handle_stats {
    double device_position[3];    /**< in the world, m */
    double device_orientation[4]; /**< unit quaternion */
    double proxy_position[3];     /**< m */
    double proxy_orientation[4];  /**< unit quaternion */
    double force[3];              /**< sent last, in the world's axes, N */
    double torque[3];             /**< N m */
    double gain;                  /**< share of the force that is sent: 1, or less while it fades */
    uint64_t fades;               /**< how often it began to fade */
    double peak_force;            /**< largest that was ever sent, N */
    double mean_force;            /**< of its size, over all ticks, N */
    double peak_torque;           /**< N m */
    double energy_in;             /**< J, put in by the person */
    double energy_out;            /**< J, given to the person */
    double energy_worst;          /**< most that was ever given beyond what was put in, weight of the tool apart, J */
    double latency_us;            /**< from the simulation's news to the first force that used them, last time */
    double latency_worst_us;      /**< longest */
    uint64_t updates;             /**< linearizations used */
    uint64_t samples;             /**< good samples of the device */
    uint64_t faults[THENAR_HAPTIC_FAULTS];
} thenar_haptic_handle_stats;

/** What has happened to a loop. */
typedef struct thenar_haptic_stats {
    uint64_t ticks;
    uint64_t missed;      /**< deadlines: ticks that began after the next one was due */
    double seconds;       /**< since it was started */
    double period_us;     /**< that was asked for */
    double period_p50_us; /**< measured; to 1 us, up to four periods */
    double period_p99_us;
    double period_p999_us;
    double period_worst_us;
    double tick_p50_us; /**< what a tick costs; to 0.05 us, up to 200 us */
    double tick_p99_us;
    double tick_worst_us;
    uint64_t jitter[THENAR_HAPTIC_JITTER]; /**< ticks by |period - asked|: under 1, 2, 4, ... us */
    int handle_count;
    thenar_haptic_handle_stats handles[THENAR_HAPTIC_HANDLES];
} thenar_haptic_stats;

/** Reads them at any time, from any thread; the loop does not wait. */
THENAR_API void thenar_haptic_read_stats(thenar_haptic *haptic, thenar_haptic_stats *stats);

/** What has gone wrong since the last call, in one line of at most `size` bytes. False: nothing. */
THENAR_API bool thenar_haptic_notice(thenar_haptic *haptic, char *text, int size);

#ifdef __cplusplus
}
#endif

#endif
