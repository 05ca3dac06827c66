/* What a haptic or tactile device is to Thenar: a table of C functions. This header is all that the author of a device
 * plugin needs; docs/haptic-devices.md tells the whole story, examples/plugin/ has one of each kind.
 *
 * Metres, newtons, seconds, radians; right-handed, y up; quaternions x, y, z, w. */
#ifndef THENAR_DEVICE_H
#define THENAR_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Version of the table. A plugin of another version is refused. */
#define THENAR_DEVICE_VERSION 1

/** Most numbers that are written to a device at once. */
#define THENAR_DEVICE_CHANNELS 64

/** What a device is for. */
typedef enum thenar_device_kind {
    THENAR_DEVICE_HAPTIC = 1, /**< says where it is, and takes a force and a torque */
    THENAR_DEVICE_TACTILE = 2 /**< takes `channels` numbers; may say nothing */
} thenar_device_kind;

/** What a device can do; bits of thenar_device_info.can and thenar_device_sample.has. */
typedef enum thenar_device_ability {
    THENAR_DEVICE_POSITION = 1,    /**< where it is */
    THENAR_DEVICE_ORIENTATION = 2, /**< how it is turned */
    THENAR_DEVICE_VELOCITY = 4,    /**< its velocity; otherwise it is made from positions */
    THENAR_DEVICE_SPIN = 8,        /**< its angular velocity; likewise */
    THENAR_DEVICE_FORCE = 16,      /**< takes a force */
    THENAR_DEVICE_TORQUE = 32      /**< takes a torque */
} thenar_device_ability;

/** A device that has been opened. */
typedef struct thenar_device_info {
    unsigned can;      /**< bits of thenar_device_ability */
    double max_force;  /**< N; 0: not known */
    double max_torque; /**< N m; 0: not known */
    double rate;       /**< samples a second; 0: not known */
    int channels;      /**< numbers that it takes at once: 6 for a haptic one, 10 or more for a tactile one */
} thenar_device_info;

/** Where a device is. The orientation and velocities are read only if their bits are in `has`. */
typedef struct thenar_device_sample {
    unsigned has;     /**< bits of thenar_device_ability */
    unsigned buttons; /**< one bit each */
    uint64_t
        sequence; /**< counts samples, so that lost, doubled and late ones are seen; 0: the device does not count */
    double position[3];    /**< m */
    double orientation[4]; /**< unit quaternion */
    double velocity[3];    /**< m/s */
    double spin[3];        /**< angular velocity in the world's axes, rad/s */
} thenar_device_sample;

/** The functions of a device. They are called from one thread, which is not the haptic loop's: they may wait for the
 * device, up to some milliseconds. One that does not come back at all costs that thread, never the loop. None is NULL
 * but `describe`. */
typedef struct thenar_device_table {
    uint32_t version; /**< THENAR_DEVICE_VERSION */
    uint32_t size;    /**< sizeof(thenar_device_table) */
    uint32_t kind;    /**< thenar_device_kind */
    const char *name; /**< for people */
    /** Opens the device that `argument` names (what stands behind the plugin's path, "" if nothing does) and returns it.
     * NULL: it could not; `message`, of `size` bytes, then says why in one line. */
    void *(*open)(const char *argument, char *message, size_t size);
    /** What the device can do. NULL: position, orientation, force and torque, no figures known. */
    void (*describe)(void *device, thenar_device_info *info);
    /** The newest sample. 1: there was a new one; 0: there was none since the last call; below 0: the device failed. */
    int (*read)(void *device, thenar_device_sample *sample);
    /** What the device is to do until the next call. A haptic one: force (N) and torque (N m), in its own axes, six
     * numbers; a tactile one: one command, the ten numbers of docs/tactile.md. 0: done; below 0: the device failed. */
    int (*write)(void *device, const double *values, int count);
    /** Leaves the device without force and frees it. */
    void (*close)(void *device);
} thenar_device_table;

/** The one symbol that a plugin exports, under this name: returns its table, which stays where it is. */
typedef const thenar_device_table *(*thenar_device_plugin_function)(void);

/** The name of that symbol. */
#define THENAR_DEVICE_PLUGIN_SYMBOL "thenar_device_plugin"

#ifdef __cplusplus
}
#endif

#endif
