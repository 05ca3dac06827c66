/* Cutaneous rendering: from the contact on each finger pad of a simulated hand to what the small device does that a
 * person wears on that finger (perez2016, section IV), and what a pad feels.
 *
 *     thenar_tactile *tactile;
 *     thenar_tactile_create(model, NULL, &tactile, &error);       the devices that the scene's hands wear
 *     for (;;) {
 *         thenar_sim_step(sim);
 *         thenar_tactile_update(tactile, sim);                    allocates nothing, takes no lock
 *         const thenar_tactile_command *c = thenar_tactile_command_of(tactile, 0);
 *     }
 *
 * It only reads the simulation. Everything here is in the frame of a pad: its origin is in the middle of the pad and as
 * far out as its outermost point at rest, x runs across the finger (x of the joint of the last phalanx), y towards the
 * tip, z into the finger; it moves with the last bone. (A device may be worn turned about the finger: then x and z are.)
 * A pose of a device's surface is pitch (about x; its end at the
 * tip rises into the finger), roll (about y; its side at +x falls away), and displacement along z (0: it just touches
 * the finger at rest, above 0 it presses). docs/tactile.md has the method, the device files and the outputs. */
#ifndef THENAR_TACTILE_H
#define THENAR_TACTILE_H

#include "thenar/model.h"
#include "thenar/sim.h"
#include "thenar/status.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The fingers, from the thumb on. */
typedef enum thenar_finger {
    THENAR_FINGER_THUMB,
    THENAR_FINGER_INDEX,
    THENAR_FINGER_MIDDLE,
    THENAR_FINGER_RING,
    THENAR_FINGER_LITTLE,
    THENAR_FINGER_COUNT
} thenar_finger;

/** Its name in scenes: "thumb", "index", ... */
THENAR_API const char *thenar_finger_name(thenar_finger finger);

/** What a device is. */
typedef enum thenar_wearable_kind {
    THENAR_WEARABLE_CABLE,     /**< a platform under the pad on three cables (Prattichizzo et al. 2013) */
    THENAR_WEARABLE_RRS,       /**< a platform on three legs, each driven crank, hinge, ball joint (Chinello et al.) */
    THENAR_WEARABLE_THIMBLE,   /**< a plate that moves along the pad's normal, or presses with a force */
    THENAR_WEARABLE_VIBRATION, /**< an actuator that vibrates */
    THENAR_WEARABLE_KIND_COUNT
} thenar_wearable_kind;

/** Its name in device files: "cable", "rrs", "thimble", "vibration". */
THENAR_API const char *thenar_wearable_kind_name(thenar_wearable_kind kind);

#define THENAR_WEARABLE_VALUES 3 /**< most values that a command has */

/** A device. No source has the link lengths, ranges, servos and speeds of the papers' devices: except for a tilt of 30
 * degrees and a force of 1.5 N (Prattichizzo et al. 2013) the defaults are ours, unverified, and each is a field. */
typedef struct thenar_wearable_def {
    thenar_wearable_kind kind;
    char title[64];            /**< free text */
    double pitch[2];           /**< least and largest, rad; not read for a thimble, which does not tilt */
    double roll[2];            /**< rad */
    double displacement[2];    /**< m */
    double tilt_speed;         /**< of pitch and of roll, at most, rad/s, > 0 */
    double displacement_speed; /**< at most, m/s, > 0 */
    double clearance;          /**< kept from the pad when nothing is near, m, >= 0 */
    double force_limit;        /**< N, > 0: it presses no deeper than where a pad pushes back that hard */
    double pulp_force;         /**< N, > 0, and */
    double pulp_rate;          /**< 1/m, > 0: a pad pushes back with pulp_force (exp(pulp_rate depth) - 1) */

    /* Platforms. */
    double azimuth;         /**< of the first cable or leg about z from x, rad; the others follow at 120 degrees */
    double base_radius;     /**< of the circle of pulleys or servos behind the finger, m, > 0 */
    double base_height;     /**< of that circle above the surface of the pad at rest, m, > 0 */
    double platform_radius; /**< of the circle of joints on the platform, m, > 0 */
    double platform_depth;  /**< of that circle below the surface that touches the pad, m, >= 0 */
    double pulley_radius;   /**< cable: m, > 0 */
    double crank;           /**< rrs: from a servo to its hinge, m, > 0 */
    double rod;             /**< rrs: from the hinge to the ball joint, m, > 0 */
    double servo_range[2];  /**< least and largest angle, rad */
    double servo_speed;     /**< rad/s, > 0 */
    double servo_pulse[2];  /**< width of the pulse at these angles, s, > 0 */

    /* A thimble. */
    bool by_force; /**< its value is a force, 0 to 1 of force_limit; else a displacement */

    /* Vibration. */
    double frequency[2]; /**< without slip, and at full slip, Hz, > 0 */
    double rate_full;    /**< change of the normal force that means amplitude 1, N/s, > 0 */
    double slip_full;    /**< speed of slip that means amplitude 1, m/s, > 0 */
    double release;      /**< time in which an amplitude falls to a third, s, > 0 */
} thenar_wearable_def;

/** The defaults of a kind. */
THENAR_API thenar_wearable_def thenar_wearable_def_default(thenar_wearable_kind kind);

/** Reads a device file (YAML; docs/tactile.md). Errors name file, line, column and what was expected. */
THENAR_API thenar_status thenar_wearable_load(const char *path, thenar_wearable_def *def, thenar_error *error);

/** Whether a device makes sense: ranges the right way round, links that close and servos that reach everywhere in the
 * workspace. The message says what does not. */
THENAR_API thenar_status thenar_wearable_check(const thenar_wearable_def *def, thenar_error *error);

/** Number of values that its actuators are sent: 3 angles of servos or pulleys; 1; 2. */
THENAR_API int thenar_wearable_value_count(const thenar_wearable_def *def);

/** Name of such a value, with its unit: "angle_1 rad", "displacement m", "force 1", "amplitude 1", "frequency Hz". */
THENAR_API const char *thenar_wearable_value_name(const thenar_wearable_def *def, int value);

/** From a pose (pitch and roll, rad; displacement, m) to the angles of a platform's servos, rad. Angles of pulleys count
 * from where the pose is zero. False: the links do not close there. */
THENAR_API bool thenar_wearable_inverse(const thenar_wearable_def *def, const double pose[3], double angles[3]);

/** The other way, by Newton's method from the pose zero. False: it did not converge. */
THENAR_API bool thenar_wearable_forward(const thenar_wearable_def *def, const double angles[3], double pose[3]);

/** A device on a finger. */
typedef struct thenar_tactile_def {
    const char *name; /**< of the device: unique, not empty, printable UTF-8 */
    const char *hand; /**< name of the hand; NULL: the model's only one */
    thenar_finger finger;
    double
        turn; /**< how far the device is turned about the finger (y), rad, -1.6 to 1.6; devices on one finger alike */
    double depth; /**< below the skin at which strain energy is told of its pad, m; 0: as the options have it */
    thenar_wearable_def device;
} thenar_tactile_def;

/** Lets a hand of the world wear a device; what `def` points to is copied. The simulation does not depend on it. */
THENAR_API thenar_status thenar_build_add_tactile(thenar_build *build, const thenar_tactile_def *def,
                                                  thenar_error *error);

/** Number of devices that the hands of a model wear. */
THENAR_API int thenar_model_tactile_count(const thenar_model *model);

/** One of them; valid while the model is. */
THENAR_API const thenar_tactile_def *thenar_model_tactile(const thenar_model *model, int index);

/** How pads are looked at. */
typedef struct thenar_tactile_options {
    const thenar_tactile_def *devices; /**< instead of those of the model; NULL: those */
    int device_count;
    int points;        /**< of a pad, about, 10 to 1000 */
    double touching;   /**< a point touches when it is this near, m, >= 0 */
    double hysteresis; /**< and stays in contact until it is this much further away, m, > 0 */
    double depth;      /**< below the skin at which strain energy is told, m, > 0; of a pad that has none of its own */
} thenar_tactile_options;

/** The model's devices, 100 points, 0.05 mm and 0.2 mm, 1 mm deep. */
THENAR_API thenar_tactile_options thenar_tactile_options_default(void);

/** Watches the pads of one simulation at a time. */
typedef struct thenar_tactile thenar_tactile;

/** Makes it; options may be NULL. The model is kept alive. An error if there is no device, a hand or a finger is not
 * there, or a device does not make sense. */
THENAR_API thenar_status thenar_tactile_create(const thenar_model *model, const thenar_tactile_options *options,
                                               thenar_tactile **out, thenar_error *error);

/** Frees it; NULL is fine. */
THENAR_API void thenar_tactile_free(thenar_tactile *tactile);

/** Forgets what it saw: devices are retracted. */
THENAR_API void thenar_tactile_reset(thenar_tactile *tactile);

/** Looks at a simulation of its model (or of one with the same meshes) after a step, and finds new commands. Time that
 * goes back resets it first. Allocates nothing and takes no lock. */
THENAR_API void thenar_tactile_update(thenar_tactile *tactile, const thenar_sim *sim);

/** Number of devices. */
THENAR_API int thenar_tactile_device_count(const thenar_tactile *tactile);

/** A device as it was given. */
THENAR_API const thenar_tactile_def *thenar_tactile_device(const thenar_tactile *tactile, int device);

/** The pad that a device is on; devices on the same finger share one. */
THENAR_API int thenar_tactile_device_pad(const thenar_tactile *tactile, int device);

/** What a device is to do. */
typedef struct thenar_tactile_command {
    double time;      /**< s, simulated */
    double pose[3];   /**< commanded: pitch, roll (rad), displacement (m); within the workspace */
    double wanted[3]; /**< the optimum, from which the device's speeds may keep the pose */
    double press;     /**< how deep the commanded pose is in the pad at rest, m; below 0 it does not touch it */
    double value[THENAR_WEARABLE_VALUES]; /**< for its actuators, thenar_wearable_value_name */
    bool touching;                        /**< something touches the pad */
    unsigned bounded;                     /**< bit k: wanted[k] is at the edge of the workspace */
    int iterations;                       /**< of the search for the optimum */
    double cost;                          /**< of the optimum, m^4 */
} thenar_tactile_command;

/** The last command of a device. No copy. */
THENAR_API const thenar_tactile_command *thenar_tactile_command_of(const thenar_tactile *tactile, int device);

/** Parts of a pad. */
typedef enum thenar_pad_region {
    THENAR_PAD_CENTRE,
    THENAR_PAD_DISTAL,   /**< towards the tip */
    THENAR_PAD_PROXIMAL, /**< towards the joint */
    THENAR_PAD_RADIAL,   /**< the thumb's side of the hand */
    THENAR_PAD_ULNAR,    /**< the other side */
    THENAR_PAD_REGION_COUNT
} thenar_pad_region;

/** Its name in steps.csv: "centre", "distal", ... */
THENAR_API const char *thenar_pad_region_name(thenar_pad_region region);

/** What a pad feels. Forces act on the pad, in its frame. */
typedef struct thenar_tactile_pad {
    int hand; /**< of the model */
    thenar_finger finger;
    int point_count;       /**< points on the pad */
    int contact_count;     /**< of them in contact */
    double area;           /**< in contact, m^2 */
    double force[3];       /**< total, N */
    double normal_force;   /**< sum of the normal forces, N */
    double centre[3];      /**< of pressure, m; zero without a normal force */
    double pressure;       /**< normal force over the area that touches, Pa */
    double shear;          /**< friction over the same, Pa */
    double peak_pressure;  /**< of one contact point, Pa */
    double energy_density; /**< strain energy at the chosen depth, mean over the pad, J/m^3; 0 from a recording */
    double slip;           /**< share of the normal force that is borne by points that slip, 0 to 1 */
    double slip_speed;     /**< of these points over what they touch, mean by force, m/s */
    bool slips;            /**< most of it slips: from a share of 0.5 on, until it is below 0.2 */
    int slip_onsets;       /**< how often that began */
    struct {
        double pressure;       /**< Pa, over all of the region */
        double shear;          /**< Pa */
        double energy_density; /**< J/m^3 */
    } region[THENAR_PAD_REGION_COUNT];
    double frame[7]; /**< of the pad in the world: position, m, and quaternion (x, y, z, w) */
} thenar_tactile_pad;

/** Number of pads that wear something. */
THENAR_API int thenar_tactile_pad_count(const thenar_tactile *tactile);

/** One of them. No copy. */
THENAR_API const thenar_tactile_pad *thenar_tactile_pad_of(const thenar_tactile *tactile, int pad);

/** A point of a pad. */
typedef struct thenar_tactile_point {
    int vertex;         /**< of the skin; where these are few, the nearest corner of its triangle */
    double rest[3];     /**< in the frame of the pad, m */
    double position[3]; /**< now */
    double area;        /**< that it stands for, m^2, at rest */
    double gap;         /**< to what it may touch, m, negative inside; 1 m where nothing is near */
    double force;       /**< normal force on its area, N: contact forces are spread over the points around */
    double friction[3]; /**< N, in the frame of the pad */
    bool touches;       /**< with hysteresis */
} thenar_tactile_point;

/** The points of a pad, thenar_tactile_pad.point_count of them. No copy. */
THENAR_API const thenar_tactile_point *thenar_tactile_points(const thenar_tactile *tactile, int pad);

/** Sends commands out of the program, from a thread of its own. */
typedef struct thenar_output thenar_output;

/** Opens a way out for the devices: "osc:HOST:PORT" (Open Sound Control over UDP), "serial:PATH" or "serial:PATH@BAUD"
 * (frames with a checksum, 115200 baud unless told otherwise), "csv:FILE" (a row a command), "plugin:FILE" or
 * "plugin:FILE,ARGUMENT" (a shared library, thenar/device.h). rate: sends a second and device, at most, 0.1 to 10000; 0:
 * 500, 100, all, and 1000. `tactile` must outlive it. A port that is not there is an error here; one that goes away later
 * is tried again five times a second, and so is a plugin that failed. */
THENAR_API thenar_status thenar_output_open(const thenar_tactile *tactile, const char *target, double rate,
                                            thenar_output **out, thenar_error *error);

/** Queues the commands of the last update. Never waits, allocates nothing, takes no lock: what is not sent in time is
 * overwritten by what comes later. From one thread. */
THENAR_API void thenar_output_push(thenar_output *output, const thenar_tactile *tactile);

/** What became of commands. Each that was pushed is, in the end, sent, superseded or dropped. */
typedef struct thenar_output_counts {
    uint64_t pushed;     /**< commands, of all devices */
    uint64_t sent;       /**< handed to the system */
    uint64_t superseded; /**< never sent because a newer one was there */
    uint64_t dropped;    /**< the receiver, the line or the disk did not take them in time */
    uint64_t reconnects; /**< how often a line that was lost came back */
    bool connected;      /**< it is there now; always, for UDP */
} thenar_output_counts;

/** The counts so far. */
THENAR_API thenar_output_counts thenar_output_count(const thenar_output *output);

/** Sends what is left, ends the thread and closes. counts may be NULL: the last counts. NULL for output is fine. */
THENAR_API void thenar_output_close(thenar_output *output, thenar_output_counts *counts);

#ifdef __cplusplus
}
#endif

#endif
