/* The haptic loop: a thread at 1 kHz or more that never waits for the simulation (docs/haptic-loop.md). It reads the
 * pose of a device, moves a proxy of a handle (thenar/handle.h) under the force that the simulation last published
 * (and how that force changes as the handle moves), and sends the force of the coupling between device and proxy to
 * the device.
 *
 * Which handle of the loop (`channel`) belongs to which handle of a simulation is an argument of each call. In real
 * time, once per step:
 *
 *     thenar_haptic_drive_sim(haptic, 0, sim, handle);
 *     thenar_sim_step(sim);
 *     thenar_haptic_publish_sim(haptic, 0, sim, handle); */
#ifndef THENAR_HAPTIC_H
#define THENAR_HAPTIC_H

#include "thenar/device.h"
#include "thenar/file.h"
#include "thenar/handle.h"
#include "thenar/model.h"
#include "thenar/sim.h"
#include "thenar/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define THENAR_HAPTIC_HANDLES 8   /**< maximum number of handles of one loop */
#define THENAR_HAPTIC_JITTER 16   /**< classes of jitter: under 1, 2, 4, ... microseconds, the last has the rest */
#define THENAR_HAPTIC_RATE 1000.0 /**< default rate, ticks per second */

/** The linearization of a handle at the end of a step: the force of the tool on it, and how that changes as the handle
 * moves: F(x, v) = force - stiffness (x - pose) - damping (v - velocity). Six numbers are linear first, angular
 * second, in world axes, moments about the handle's origin. Matrices are symmetric, positive semidefinite, row by
 * row. */
typedef struct thenar_haptic_linear {
    double pose[7];       /**< of the handle */
    double velocity[6];   /**< m/s, rad/s */
    double force[6];      /**< N, N m */
    double stiffness[36]; /**< N/m, N, N m */
    double damping[36];   /**< N s/m, N s, N m s */
    double time;          /**< simulated time at the end of the step, s */
    double step_length;   /**< s, simulated: also when the next one is expected */
    uint64_t step;        /**< number of the step, from 1 */
    int64_t published_ns; /**< set by thenar_haptic_publish */
    int contacts;         /**< contacts of the tool; 0: it is free */
    double inertia[36];   /**< mass that moves with the handle, kg, kg m, kg m^2. It is part of the matrices above:
                               h^2 stiffness + h damping - inertia is springs, dampers and contacts over a step h,
                               and nearly zero while the tool is free. Zeros: unknown */
    double viscosity[36]; /**< dampers, N s/m, N s, N m s: viscosity times h of that. Zeros: unknown; then stiffness and
                               damping determine the shares */
} thenar_haptic_linear;

/** How a handle is rendered. No source has figures for most of these: the defaults are chosen by us and not verified
 * on hardware. The stiffnesses of the coupling should be those of the handle in the simulation: then handle and proxy
 * come to rest at the same pose, and a steady force is that of the simulation whatever its time step. */
typedef struct thenar_haptic_settings {
    double stiffness;       /**< of the virtual coupling between device and proxy, N/m, > 0 */
    double damping;         /**< N s/m, >= 0 */
    double turn_stiffness;  /**< N m/rad, >= 0 */
    double turn_damping;    /**< N m s/rad, >= 0 */
    double proxy_mass;      /**< kg, > 0 */
    double proxy_inertia;   /**< kg m^2, > 0 */
    double max_force;       /**< maximum force that is sent, N; lowered to the maximum of the device */
    double max_torque;      /**< maximum torque that is sent, N m */
    double force_slew;      /**< maximum change of the force, N/s */
    double torque_slew;     /**< maximum change of the torque, N m/s */
    double stale_after;     /**< time beyond the expected step without an update from the simulation before the force
                                 fades, s */
    double silent_after;    /**< time without a valid sample of the device before the force fades, s */
    double fade_time;       /**< from full force to none, s */
    double recover_time;    /**< back to full force, s */
    double jump_distance;   /**< a larger distance between two samples, m, ... */
    double jump_speed;      /**< ... at a higher speed, m/s, is a jump: the force fades and the proxy is reset */
    double velocity_cutoff; /**< of the low pass for velocities that are computed from positions, Hz */
    bool one_sided;         /**< between two steps, a tool that pushed does not begin to pull */
    bool passivity;         /**< forces that would return more energy than was put in are reduced */
    double energy_reserve;  /**< energy that may be returned in advance with `passivity`, J */
    double energy_max;      /**< maximum energy that is remembered as put in, J */
    bool plain;             /**< no linearization: a second coupling to the last pose of the handle (perez2013, 4.4) */
} thenar_haptic_settings;

/** 1000 N/m, limits 10 N and 0.5 N m, all safety functions enabled. */
THENAR_IO_API thenar_haptic_settings thenar_haptic_settings_default(void);

/** One handle of a loop and its device. */
typedef struct thenar_haptic_handle {
    uint32_t size; /**< of this struct, bytes; the default function sets it */
    /** `user:FILE` a simulated person, `recorded:FILE`, `osc:PORT`, `ws:PORT`, `plugin:FILE[,ARGUMENT]`,
     * `NAME:ARGUMENT` of a registered device, `none`; docs/haptic-devices.md. NULL: none. */
    const char *device;
    const thenar_device_table *table; /**< in place of `device`: functions of a device of the program, which must
                                           outlive the loop. `open` is not called; `close` is, when the loop is freed */
    void *table_device;               /**< passed to the functions of `table` */
    double base[7];                   /**< pose of the device's origin in the world */
    double grip[4]; /**< orientation of the handle, in the device's axes, while the device is not rotated; unit
                           quaternion. A device without orientation keeps the handle so */
    thenar_haptic_settings settings; /**< how it is rendered */
} thenar_haptic_handle;

/** Fills in the defaults of a struct of `size` bytes. */
THENAR_IO_API thenar_status thenar_haptic_handle_init(thenar_haptic_handle *handle, size_t size);

/** A handle without a device, at the origin, with default settings. */
static inline thenar_haptic_handle thenar_haptic_handle_default(void) {
    thenar_haptic_handle handle;
    thenar_haptic_handle_init(&handle, sizeof handle);
    return handle;
}

/** A loop. */
typedef struct thenar_haptic_def {
    uint32_t size;       /**< of this struct, bytes; the default function sets it */
    int priority;        /**< of SCHED_FIFO, 1 to 99 */
    double rate;         /**< ticks per second, 100 to 10000 */
    bool real_time;      /**< request real-time priority and locked memory; the system may refuse */
    bool simulated_time; /**< no thread and no clock: it ticks in thenar_haptic_advance, deterministically. Only for
                              devices that are computed: `user`, `recorded`, `none` */
    double watchdog;     /**< time without a tick after which the device's thread sets the force to zero, s */
    const thenar_haptic_handle *handles; /**< the handles */
    int handle_count;                    /**< 1 to THENAR_HAPTIC_HANDLES */
    const thenar_file_source *files;     /**< for the files of `user:FILE` and `recorded:FILE`; NULL: the file system */
} thenar_haptic_def;

/** Fills in the defaults of a struct of `size` bytes. */
THENAR_IO_API thenar_status thenar_haptic_def_init(thenar_haptic_def *def, size_t size);

/** 1 kHz, real-time where granted, no handles yet. */
static inline thenar_haptic_def thenar_haptic_def_default(void) {
    thenar_haptic_def def;
    thenar_haptic_def_init(&def, sizeof def);
    return def;
}

/** A running loop. */
typedef struct thenar_haptic thenar_haptic;

/** Opens the devices; nothing moves yet. */
THENAR_IO_API thenar_status thenar_haptic_create(const thenar_haptic_def *def, thenar_haptic **out,
                                                 thenar_error *error);

/** Stops the loop if it runs, closes the devices, frees everything. NULL is fine. */
THENAR_IO_API void thenar_haptic_free(thenar_haptic *haptic);

/** Starts the thread. THENAR_ERROR_USAGE for a loop in simulated time. */
THENAR_IO_API thenar_status thenar_haptic_start(thenar_haptic *haptic, thenar_error *error);

/** Fades the force out and ends the thread. It can be started again. */
THENAR_IO_API thenar_status thenar_haptic_stop(thenar_haptic *haptic);

/** Runs all ticks of the next `seconds` of a loop in simulated time, 0 to 60; more count as 60. Does nothing in real
 * time. */
THENAR_IO_API thenar_status thenar_haptic_advance(thenar_haptic *haptic, double seconds);

/** What the system granted, in one line: "real-time priority 80, memory locked", or what it refused and how to obtain
 * it. */
THENAR_IO_API const char *thenar_haptic_real_time(const thenar_haptic *haptic);

/** Publishes a linearization, once after each step, from one thread. Never waits. One that is not finite is refused and
 * counted. */
THENAR_IO_API thenar_status thenar_haptic_publish(thenar_haptic *haptic, int channel,
                                                  const thenar_haptic_linear *linear);

/** The pose of a device in the world after validation, and its velocity (m/s, rad/s), extrapolated by `ahead` seconds,
 * at most 0.02: a step that begins now ends later. False while the device has sent nothing. A device that has become
 * silent is at rest at its last pose. Any pointer may be NULL. */
THENAR_IO_API bool thenar_haptic_pose(thenar_haptic *haptic, int channel, double ahead, double pose[7],
                                      double velocity[6]);

/* ---- The loop and a simulation ---- */

/** Fills in, in a struct of `size` bytes, the loop that a model's scene describes (its key `haptic`), without
 * handles; the defaults where it has none. */
THENAR_IO_API thenar_status thenar_haptic_def_from(const thenar_model *model, thenar_haptic_def *def, size_t size);

/** The loop that a model's scene describes. */
static inline thenar_haptic_def thenar_haptic_def_of(const thenar_model *model) {
    thenar_haptic_def def;
    thenar_haptic_def_from(model, &def, sizeof def);
    return def;
}

/** Fills in, in a struct of `size` bytes, the loop's side of a handle of a simulation, without a device yet: the same
 * virtual coupling, so that proxy and handle come to rest at the same pose (with another one the steady force depends
 * on the time step); its mass and the mean of its moments of inertia for the proxy; the handle's max_force and
 * max_torque as limits; and `base` and `grip` such that a device at its own origin, not rotated, is at the handle's
 * current pose. The rest are defaults. What the scene has for the handle under `haptic` takes precedence, its device
 * too, whose name is valid as long as the model. */
THENAR_IO_API thenar_status thenar_haptic_handle_from(const thenar_sim *sim, int handle, thenar_haptic_handle *out,
                                                      size_t size);

/** The loop's side of a handle of a simulation. */
static inline thenar_haptic_handle thenar_haptic_handle_of(const thenar_sim *sim, int handle) {
    thenar_haptic_handle out;
    thenar_haptic_handle_from(sim, handle, &out, sizeof out);
    return out;
}

/** Before a step: drives the simulation's handle to the pose of the loop's device at the end of the step. A device
 * that has become silent is at rest at its last pose; one that has not sent anything yet leaves the handle at rest at
 * its current pose, without its keys. Enables the linearization, or with `plain` disables it. True if a device drives
 * the handle; without a device (`none`) nothing is done. */
THENAR_IO_API bool thenar_haptic_drive_sim(thenar_haptic *haptic, int channel, thenar_sim *sim, int handle);

/** After a step: publishes the linearization of the simulation's handle. If the step could not be linearized
 * (THENAR_ERROR_NUMERIC) or is not finite (THENAR_ERROR_INPUT), nothing is published, and the loop continues with the
 * last update until it is stale. */
THENAR_IO_API thenar_status thenar_haptic_publish_sim(thenar_haptic *haptic, int channel, const thenar_sim *sim,
                                                      int handle);

/** Faults, and what was done about them. */
typedef enum thenar_haptic_fault {
    THENAR_HAPTIC_STALE,        /**< the simulation was late: the force faded */
    THENAR_HAPTIC_SILENT,       /**< the device sent nothing: the force faded */
    THENAR_HAPTIC_BAD_SAMPLE,   /**< a sample that is not finite, not a pose or out of range: ignored */
    THENAR_HAPTIC_JUMP,         /**< the device jumped: the force faded, the proxy was reset */
    THENAR_HAPTIC_BAD_LINEAR,   /**< the simulation published numbers that are not finite: ignored */
    THENAR_HAPTIC_CLOCK,        /**< the clock was changed, or no tick came for 50 ms: as a jump */
    THENAR_HAPTIC_UNSOLVED,     /**< the equations of the proxy could not be solved: it stayed */
    THENAR_HAPTIC_LOST,         /**< samples that never came */
    THENAR_HAPTIC_DOUBLED,      /**< samples that came twice: ignored */
    THENAR_HAPTIC_REORDERED,    /**< samples that came late: ignored */
    THENAR_HAPTIC_DEVICE_ERROR, /**< calls of the device that failed */
    THENAR_HAPTIC_HUNG,         /**< calls of the device that did not return: the force faded */
    THENAR_HAPTIC_WATCHDOG,     /**< the device's thread set the force to zero because no tick came */
    THENAR_HAPTIC_CLAMPED,      /**< ticks in which force or torque was limited */
    THENAR_HAPTIC_SLEWED,       /**< ticks in which its change was limited */
    THENAR_HAPTIC_HELD_BACK,    /**< ticks in which it was reduced because it would have returned more energy than
                                     was put in */
    THENAR_HAPTIC_FAULT_COUNT
} thenar_haptic_fault;

/** Number of faults. */
THENAR_IO_API int thenar_haptic_fault_count(void);
/** Name of a fault in a summary: "stale", "silent", .... */
THENAR_IO_API const char *thenar_haptic_fault_name(thenar_haptic_fault fault);
/** The haptic fault of that name, or -1. */
THENAR_IO_API int thenar_haptic_fault_find(const char *name);
/** A fault in words, for a line of text: "the simulation is late, the force faded". */
THENAR_IO_API const char *thenar_haptic_fault_text(thenar_haptic_fault fault);

/** Statistics of one handle. */
typedef struct thenar_haptic_handle_stats {
    double device_pose[7];    /**< in the world */
    double proxy_pose[7];     /**< in the world */
    double force[3];          /**< sent last, in world axes, N */
    double torque[3];         /**< N m */
    double gain;              /**< share of the force that is sent: 1, or less while it fades */
    uint64_t fades;           /**< number of times that it began to fade */
    double force_max;         /**< largest force that was sent, N */
    double force_mean;        /**< mean of its magnitude over all ticks, N */
    double torque_max;        /**< largest torque that was sent, N m */
    double energy_in;         /**< put in by the person, J */
    double energy_out;        /**< returned to the person, J */
    double energy_excess_max; /**< largest energy that was returned beyond what was put in, without the tool's
                                   weight, J */
    double latency_us;        /**< from the last update of the simulation to the first force that used it */
    double latency_max_us;    /**< largest latency */
    uint64_t updates;         /**< linearizations used */
    uint64_t samples;         /**< valid samples of the device */
    uint64_t faults[THENAR_HAPTIC_FAULT_COUNT]; /**< count of each fault */
} thenar_haptic_handle_stats;

/** Statistics of a loop. */
typedef struct thenar_haptic_stats {
    uint64_t ticks;                        /**< ticks since it was created */
    uint64_t missed;                       /**< deadlines missed: ticks that began after the next one was due */
    double seconds;                        /**< since it was started */
    double period_us;                      /**< requested */
    double period_p50_us;                  /**< measured; to 1 us, up to four periods */
    double period_p99_us;                  /**< 99th percentile */
    double period_p999_us;                 /**< 99.9th percentile */
    double period_max_us;                  /**< longest */
    double tick_p50_us;                    /**< cost of a tick; to 0.05 us, up to 200 us */
    double tick_p99_us;                    /**< 99th percentile */
    double tick_max_us;                    /**< longest */
    uint64_t jitter[THENAR_HAPTIC_JITTER]; /**< ticks by |period - requested|: under 1, 2, 4, ... us */
    int handle_count;                      /**< number of handles */
    thenar_haptic_handle_stats handles[THENAR_HAPTIC_HANDLES]; /**< of each handle */
} thenar_haptic_stats;

/** Reads the statistics at any time, from any thread; the loop does not wait. */
THENAR_IO_API thenar_status thenar_haptic_read_stats(thenar_haptic *haptic, thenar_haptic_stats *stats);

/** Faults since the last call, in one line of at most `size` bytes. False: none. */
THENAR_IO_API bool thenar_haptic_notice(thenar_haptic *haptic, char *text, int size);

#ifdef __cplusplus
}
#endif

#endif
