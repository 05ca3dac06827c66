/* Cutaneous rendering: from the contact on each finger pad of a simulated hand to the commands of the small device
 * that a person wears on that finger (perez2016, section IV), and measures of what a pad feels. thenar/output.h sends
 * the commands.
 *
 *     thenar_tactile *tactile;
 *     thenar_tactile_create(model, NULL, &tactile, &error);       the devices that the hands of the scene wear
 *     for (;;) {
 *         thenar_sim_step(sim);
 *         thenar_tactile_update(tactile, sim);                    allocates nothing, takes no lock
 *         const thenar_tactile_command *c = thenar_tactile_command_of(tactile, 0);
 *     }
 *
 * It only reads the simulation. Everything here is in the frame of a pad: its origin is in the middle of the pad, at
 * the height of its outermost point at rest, x runs across the finger (x of the joint of the last phalanx), y towards
 * the tip, z into the finger; it moves with the last bone. (If a device is worn rotated about the finger, x and z
 * rotate with it.) The surface of a device has three degrees of freedom, not six, so its position is not a pose of
 * seven numbers but `platform[3]`: pitch (about x, rad; the end at the tip rises into the finger), roll (about y,
 * rad; the side at +x falls away), and displacement along z (m; 0: it just touches the finger at rest, above 0 it
 * presses). docs/tactile.md has the method, the device files and the outputs. */
#ifndef THENAR_TACTILE_H
#define THENAR_TACTILE_H

#include "thenar/hand.h"
#include "thenar/model.h"
#include "thenar/sim.h"
#include "thenar/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The kinds of wearable devices. */
typedef enum thenar_wearable_kind {
    THENAR_WEARABLE_CABLE,     /**< a platform under the pad on three cables (Prattichizzo et al. 2013) */
    THENAR_WEARABLE_RRS,       /**< a platform on three legs, each driven crank, hinge, ball joint (Chinello et al.) */
    THENAR_WEARABLE_THIMBLE,   /**< a plate that moves along the pad's normal, or presses with a force */
    THENAR_WEARABLE_VIBRATION, /**< an actuator that vibrates */
    THENAR_WEARABLE_KIND_COUNT
} thenar_wearable_kind;

/** Number of kinds of wearable devices. */
THENAR_API int thenar_wearable_kind_count(void);
/** Name of a kind in device files: "cable", "rrs", "thimble" or "vibration". */
THENAR_API const char *thenar_wearable_kind_name(thenar_wearable_kind kind);
/** The wearable kind of that name, or -1. */
THENAR_API int thenar_wearable_kind_find(const char *name);

#define THENAR_WEARABLE_VALUES 3 /**< maximum number of values of a command */

/** A wearable device. No source has the link lengths, ranges, servos and speeds of the papers' devices: except for a
 * tilt of 30 degrees and a force of 1.5 N (Prattichizzo et al. 2013) the defaults are chosen by us and not verified,
 * and each is a field. */
typedef struct thenar_wearable_def {
    uint32_t size;             /**< of this struct, bytes; the default function sets it */
    thenar_wearable_kind kind; /**< which of the fields below are read */
    char title[64];            /**< free text */
    double pitch_min;          /**< rad; not read for a thimble, which does not tilt */
    double pitch_max;          /**< rad */
    double roll_min;           /**< rad; as pitch */
    double roll_max;           /**< rad */
    double displacement_min;   /**< m */
    double displacement_max;   /**< m */
    double tilt_speed;         /**< maximum rate of pitch and of roll, rad/s, > 0 */
    double displacement_speed; /**< maximum rate of displacement, m/s, > 0 */
    double clearance;          /**< distance kept from the pad without contact, m, >= 0 */
    double force_limit;        /**< maximum force on the pad, N, > 0: limits the depth */
    double pulp_force;         /**< N, > 0, and */
    double pulp_rate;          /**< 1/m, > 0: the force of a pad at a depth is pulp_force (exp(pulp_rate depth) - 1) */

    /* Platforms. */
    double azimuth;         /**< of the first cable or leg about z from x, rad; the others follow at 120 degrees */
    double base_radius;     /**< of the circle of pulleys or servos behind the finger, m, > 0 */
    double base_height;     /**< of that circle above the surface of the pad at rest, m, > 0 */
    double platform_radius; /**< of the circle of joints on the platform, m, > 0 */
    double platform_depth;  /**< of that circle below the surface that touches the pad, m, >= 0 */
    double pulley_radius;   /**< cable: m, > 0 */
    double crank;           /**< rrs: from a servo to its hinge, m, > 0 */
    double rod;             /**< rrs: from the hinge to the ball joint, m, > 0 */
    double servo_min;       /**< smallest angle of a servo, rad */
    double servo_max;       /**< largest angle, rad */
    double servo_speed;     /**< rad/s, > 0 */
    double pulse_min;       /**< width of the pulse at the smallest angle, s, > 0 */
    double pulse_max;       /**< width of the pulse at the largest angle, s, > 0 */

    /* Thimbles. */
    bool by_force; /**< its value is a force, 0 to 1 of force_limit; false: a displacement */

    /* Vibration. */
    double frequency_min; /**< without slip, Hz, > 0 */
    double frequency_max; /**< at full slip, Hz, > 0 */
    double rate_full;     /**< change of the normal force for amplitude 1, N/s, > 0 */
    double slip_full;     /**< speed of slip for amplitude 1, m/s, > 0 */
    double release;       /**< time in which the amplitude falls to a third, s, > 0 */
} thenar_wearable_def;

/** Fills in the defaults of a struct of `size` bytes. */
THENAR_API thenar_status thenar_wearable_def_init(thenar_wearable_def *def, size_t size, thenar_wearable_kind kind);

/** The defaults of a kind. */
static inline thenar_wearable_def thenar_wearable_def_default(thenar_wearable_kind kind) {
    thenar_wearable_def def;
    thenar_wearable_def_init(&def, sizeof def, kind);
    return def;
}

/** Validates a device: ranges in order, links that close and servos that reach the whole workspace. The message says
 * what is wrong. */
THENAR_API thenar_status thenar_wearable_check(const thenar_wearable_def *def, thenar_error *error);

/** Number of values of a command to its actuators: 3 angles of servos or pulleys; 1 (thimble); 2 (vibration). */
THENAR_API int thenar_wearable_value_count(const thenar_wearable_def *def);

/** Name of such a value, with its unit: "angle_1 rad", "displacement m", "force 1", "amplitude 1", "frequency Hz". */
THENAR_API const char *thenar_wearable_value_name(const thenar_wearable_def *def, int value);

/** Inverse kinematics: from pitch and roll (rad) and displacement (m) to the angles of a platform's servos, rad.
 * Angles of pulleys count from platform zero. False: the links do not close there, or the device is not a platform. */
THENAR_API bool thenar_wearable_inverse(const thenar_wearable_def *def, const double platform[3], double angles[3]);

/** Forward kinematics, by Newton's method from platform zero. False: it did not converge, or the device is not a
 * platform. */
THENAR_API bool thenar_wearable_forward(const thenar_wearable_def *def, const double angles[3], double platform[3]);

/** A device on a finger. */
typedef struct thenar_tactile_def {
    uint32_t size;        /**< of this struct, bytes; the default function sets it */
    const char *name;     /**< of the device: unique, not empty, printable UTF-8 */
    const char *hand;     /**< name of the hand; NULL: the model's only one */
    thenar_finger finger; /**< on which it is worn */
    double mount_angle;   /**< rotation of the device about the finger (y), rad, -1.6 to 1.6; the same for all
                               devices on one finger */
    double depth;         /**< below the skin at which the strain energy of its pad is measured, m; 0: as in the
                               options */
    const thenar_wearable_def *device; /**< must be set */
} thenar_tactile_def;

/** Fills in the defaults of a struct of `size` bytes. */
THENAR_API thenar_status thenar_tactile_def_init(thenar_tactile_def *def, size_t size);

/** On the thumb, without a name and a device, which must be set. */
static inline thenar_tactile_def thenar_tactile_def_default(void) {
    thenar_tactile_def def;
    thenar_tactile_def_init(&def, sizeof def);
    return def;
}

/** Adds a device that a hand of the world wears. The simulation does not depend on it. */
THENAR_API thenar_status thenar_build_add_tactile(thenar_build *build, const thenar_tactile_def *def,
                                                  thenar_error *error);

/** Number of devices that the hands of a model wear. */
THENAR_API int thenar_model_tactile_count(const thenar_model *model);

/** One of these devices; valid as long as the model. */
THENAR_API const thenar_tactile_def *thenar_model_tactile(const thenar_model *model, int index);

/** Options of cutaneous rendering. */
typedef struct thenar_tactile_options {
    uint32_t size;                     /**< of this struct, bytes; the default function sets it */
    int points;                        /**< approximate number of points of a pad, 10 to 1000 */
    const thenar_tactile_def *devices; /**< in place of those of the model; NULL: those of the model */
    int device_count;                  /**< number of devices */
    double touching;                   /**< distance at which a point begins to touch, m, >= 0 */
    double hysteresis;                 /**< additional distance at which it stops, m, > 0 */
    double depth; /**< below the skin at which strain energy is measured, m, > 0, for pads without a depth of their
                       own */
} thenar_tactile_options;

/** Fills in the defaults of a struct of `size` bytes. */
THENAR_API thenar_status thenar_tactile_options_init(thenar_tactile_options *options, size_t size);

/** The model's devices, 100 points, 0.05 mm and 0.2 mm, 1 mm deep. */
static inline thenar_tactile_options thenar_tactile_options_default(void) {
    thenar_tactile_options options;
    thenar_tactile_options_init(&options, sizeof options);
    return options;
}

/** The pads of one simulation at a time, and the devices on them. */
typedef struct thenar_tactile thenar_tactile;

/** Makes one; options may be NULL. It holds a reference to the model. An error if there is no device, a hand or a
 * finger does not exist, or a device is not valid. */
THENAR_API thenar_status thenar_tactile_create(const thenar_model *model, const thenar_tactile_options *options,
                                               thenar_tactile **out, thenar_error *error);

/** Frees it; NULL is fine. */
THENAR_API void thenar_tactile_free(thenar_tactile *tactile);

/** Clears its history: devices are retracted. */
THENAR_API thenar_status thenar_tactile_reset(thenar_tactile *tactile);

/** Reads a simulation of its model (or of one with the same meshes) after a step and computes new commands. If the
 * time has decreased, it is reset first. Allocates nothing and takes no lock. */
THENAR_API thenar_status thenar_tactile_update(thenar_tactile *tactile, const thenar_sim *sim);

/** Number of devices. */
THENAR_API int thenar_tactile_device_count(const thenar_tactile *tactile);

/** The definition of a device. */
THENAR_API const thenar_tactile_def *thenar_tactile_device(const thenar_tactile *tactile, int device);

/** The pad under a device; devices on the same finger share one. */
THENAR_API int thenar_tactile_device_pad(const thenar_tactile *tactile, int device);

/** A command to a device. */
typedef struct thenar_tactile_command {
    double time;        /**< s, simulated */
    double platform[3]; /**< commanded pitch, roll (rad) and displacement (m), within the workspace */
    double target[3];   /**< the optimum, which the speed limits of the device may not allow yet */
    double press;       /**< depth of the commanded platform in the pad at rest, m; below 0 it does not touch the pad */
    double value[THENAR_WEARABLE_VALUES]; /**< for its actuators, thenar_wearable_value_name */
    bool touching;                        /**< something touches the pad, or did and is less than 0.5 mm away */
    unsigned bounded;                     /**< bit k: target[k] is at the edge of the workspace */
    int iterations;                       /**< of the optimization */
    double cost;                          /**< of the optimum, m^4 */
} thenar_tactile_command;

/** The last command of a device. No copy: valid as long as `tactile`, with new contents after each update. */
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

/** Number of regions of a pad. */
THENAR_API int thenar_pad_region_count(void);
/** Name of a region in steps.csv: "centre", "distal", "proximal", "radial" or "ulnar". */
THENAR_API const char *thenar_pad_region_name(thenar_pad_region region);
/** The pad region of that name, or -1. */
THENAR_API int thenar_pad_region_find(const char *name);

/** Measures of a pad. Forces act on the pad, in its frame. */
typedef struct thenar_tactile_pad {
    int hand;              /**< index of the hand */
    thenar_finger finger;  /**< of that hand */
    int point_count;       /**< points on the pad */
    int contact_count;     /**< points in contact */
    double area;           /**< in contact, m^2 */
    double force[3];       /**< total, N */
    double normal_force;   /**< sum of the normal forces, N */
    double centre[3];      /**< of pressure, m; zero without a normal force */
    double pressure;       /**< normal force over the area that touches, Pa */
    double shear;          /**< friction over the same, Pa */
    double peak_pressure;  /**< of one contact point, Pa */
    double energy_density; /**< strain energy at the chosen depth, mean over the pad, J/m^3; 0 from a recording */
    double slip;           /**< share of the normal force at points that slip, 0 to 1 */
    double slip_speed;     /**< of these points relative to the touched surface, mean weighted by force, m/s */
    bool slips;            /**< the share is above 0.5, until it falls below 0.2 */
    int slip_onsets;       /**< number of times that this began */
    struct {
        double pressure;       /**< Pa, over all of the region */
        double shear;          /**< Pa */
        double energy_density; /**< J/m^3 */
    } region[THENAR_PAD_REGION_COUNT]; /**< the same for each part of the pad */
    double pose[7]; /**< of the pad's frame in the world */
} thenar_tactile_pad;

/** Number of pads with a device. */
THENAR_API int thenar_tactile_pad_count(const thenar_tactile *tactile);

/** One of these pads. No copy. */
THENAR_API const thenar_tactile_pad *thenar_tactile_pad_of(const thenar_tactile *tactile, int pad);

/** A point of a pad. */
typedef struct thenar_tactile_point {
    int vertex;         /**< of the skin; on a coarse skin, the nearest corner of its triangle */
    double rest[3];     /**< in the frame of the pad, m */
    double position[3]; /**< now, in the frame of the pad, m */
    double area;        /**< that it represents, m^2, at rest */
    double gap;         /**< to the closest other body, m, negative inside; 1 m where nothing is close */
    double force;       /**< normal force on its area, N: contact forces are distributed over the points around */
    double friction[3]; /**< N, in the frame of the pad */
    bool touches;       /**< with hysteresis */
} thenar_tactile_point;

/** The points of a pad, thenar_tactile_pad.point_count of them. No copy. */
THENAR_API const thenar_tactile_point *thenar_tactile_points(const thenar_tactile *tactile, int pad);

#ifdef __cplusplus
}
#endif

#endif
