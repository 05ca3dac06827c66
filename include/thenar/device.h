/* Haptic and tactile devices: a table of C functions, either in a plugin (a shared library that exports one symbol)
 * or in the program itself (thenar_device_register, thenar_haptic_handle.table, thenar_output_open_table). The author
 * of a plugin needs only this header and does not link the library; docs/haptic-devices.md has the details,
 * examples/plugin/ one of each kind. */
#ifndef THENAR_DEVICE_H
#define THENAR_DEVICE_H

#include "thenar/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define THENAR_DEVICE_VERSION 1   /**< version of the table; a plugin of another version is refused */
#define THENAR_DEVICE_CHANNELS 64 /**< maximum number of values that are written to a device at once */

/** The two kinds of devices. */
typedef enum thenar_device_kind {
    THENAR_DEVICE_HAPTIC = 1, /**< measures its pose and renders a force and a torque */
    THENAR_DEVICE_TACTILE = 2 /**< renders `channels` numbers; may measure nothing */
} thenar_device_kind;

/** Abilities of a device; bits of thenar_device_info.can and thenar_device_sample.has. */
typedef enum thenar_device_ability {
    THENAR_DEVICE_POSITION = 1,    /**< measures its position */
    THENAR_DEVICE_ORIENTATION = 2, /**< measures its orientation */
    THENAR_DEVICE_VELOCITY = 4,    /**< measures its velocity; otherwise it is computed from positions */
    THENAR_DEVICE_SPIN = 8,        /**< measures its angular velocity; otherwise it is computed */
    THENAR_DEVICE_FORCE = 16,      /**< renders a force */
    THENAR_DEVICE_TORQUE = 32      /**< renders a torque */
} thenar_device_ability;

/** A device that has been opened. */
typedef struct thenar_device_info {
    unsigned can;      /**< bits of thenar_device_ability */
    double max_force;  /**< N; 0: unknown */
    double max_torque; /**< N m; 0: unknown */
    double rate;       /**< samples per second; 0: unknown */
    int channels;      /**< number of values that it takes at once: 6 for a haptic one, 10 or more for a tactile one */
} thenar_device_info;

/** The pose of a device. Orientation and velocities are read only if their bits are in `has`. */
typedef struct thenar_device_sample {
    unsigned has;       /**< bits of thenar_device_ability */
    unsigned buttons;   /**< one bit each */
    uint64_t sequence;  /**< number of the sample, to detect lost, repeated and late ones; 0: the device does not
                             count */
    double pose[7];     /**< position, m, and unit quaternion */
    double velocity[3]; /**< m/s */
    double spin[3];     /**< angular velocity in world axes, rad/s */
} thenar_device_sample;

/** The functions of a device. They are called from one thread, which is not that of the haptic loop: they may block
 * for some milliseconds. One that never returns blocks that thread, never the loop. `describe` may be NULL, and
 * `open` where the program has opened the device itself. */
typedef struct thenar_device_table {
    uint32_t version; /**< THENAR_DEVICE_VERSION */
    uint32_t size;    /**< sizeof(thenar_device_table) */
    uint32_t kind;    /**< thenar_device_kind */
    const char *name; /**< for people */
    /** Opens the device that `argument` names (the text after the plugin's path or the device's name, "" if there is
     * none) and returns it. NULL: it failed; `message`, of `size` bytes, then says why in one line. */
    void *(*open)(const char *argument, char *message, size_t size);
    /** Abilities of the device. NULL: position, orientation, force and torque, nothing else known. */
    void (*describe)(void *device, thenar_device_info *info);
    /** The newest sample. 1: there was a new one; 0: there was none since the last call; below 0: the device failed. */
    int (*read)(void *device, thenar_device_sample *sample);
    /** The output of the device until the next call. Haptic: force (N) and torque (N m), in its own axes, six
     * numbers; tactile: one command, the ten numbers of docs/tactile.md. 0: done; below 0: the device failed. */
    int (*write)(void *device, const double *values, int count);
    /** Leaves the device without force and frees it. */
    void (*close)(void *device);
} thenar_device_table;

/** The symbol that a plugin exports: returns its table, which stays valid. */
typedef const thenar_device_table *(*thenar_device_plugin_function)(void);

#define THENAR_DEVICE_PLUGIN_SYMBOL "thenar_device_plugin" /**< name of that symbol */

/** Registers a kind of device under a name: from then on "NAME:ARGUMENT" opens it with `table`, in
 * thenar_haptic_handle.device, in scenes, and as the target of thenar_output_open. The table must stay valid. At most
 * 32; a name that is taken, empty or contains a colon is refused. Safe to call from any thread. */
THENAR_IO_API thenar_status thenar_device_register(const char *name, const thenar_device_table *table,
                                                   thenar_error *error);

/** Number of kinds of haptic devices: those that are built in and those that were registered. */
THENAR_IO_API int thenar_device_count(void);
/** Name of a kind of haptic device: "user", "recorded", "osc", "ws", "plugin", ...; "unknown" for an index out of
 * range. */
THENAR_IO_API const char *thenar_device_name(int kind);
/** Index of the kind of haptic device of that name, or -1; thenar_last_error then lists those that exist, or says what
 * this build lacks. */
THENAR_IO_API int thenar_device_find(const char *name);

#ifdef __cplusplus
}
#endif

#endif
