/* Status, errors, version and the conventions of the whole API.
 *
 * Units are SI: metres, kilograms, seconds, newtons, radians. The world is right-handed with y up.
 *
 * Poses are seven numbers everywhere: `double pose[7]` is a position (m) and a unit quaternion (x, y, z, w).
 * Velocities that have an angular part are six numbers, linear (m/s) first, angular (rad/s) second, in world axes.
 * The one exception is thenar_key: a key can ask for several turns, which a quaternion cannot express, so it has a
 * rotation vector.
 *
 * The ends of a range are x_min and x_max. A limit that you set is max_x (max_force, max_iterations).
 *
 * Objects are opaque handles, made by a create, open or load function and released by a free or close function, which
 * accepts NULL. Nothing that a definition points to is needed after the call that takes it, unless its comment says
 * so.
 *
 * Definitions and options (thenar_..._def, thenar_..._options) begin with their size. Start from their default
 * function, which sets it:
 *
 *     thenar_sim_options options = thenar_sim_options_default();
 *     options.threads = 4;
 *
 * A newer library gives fields that an older caller does not know their defaults. An older library refuses a larger
 * struct if a field that it does not know is not zero. Without a C compiler (bindings), call thenar_..._init with the
 * size that you know. Structs that are elements of arrays or parts of other structs (thenar_material, thenar_key,
 * thenar_contact, ...) keep their layout as long as thenar_version_check accepts the version.
 *
 * Enumerations that have names come with three functions: thenar_X_count() values, numbered from
 * 0; thenar_X_name(value), "unknown" for any other number; thenar_X_find(name), -1 if there is
 * none of that name.
 *
 * A call that fails returns a status below 0, or NULL, -1, NaN, false or 0 where it returns a pointer, an index, a
 * number, a truth or a count; thenar_last_error then has the message. Calls that read or compile input also copy the
 * message to a thenar_error of the caller, which may be NULL. Misuse (a NULL that is not allowed, an index out of
 * range, a body of another kind, a struct without its size) is such a failure: it never stops the program. */
#ifndef THENAR_STATUS_H
#define THENAR_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* THENAR_API marks what the library thenar exports, THENAR_IO_API what thenar_io exports. Define THENAR_STATIC to link
 * static libraries on Windows. */
#if defined(THENAR_STATIC)
#define THENAR_EXPORT
#define THENAR_IMPORT
#elif defined(_WIN32) || defined(__CYGWIN__)
#define THENAR_EXPORT __declspec(dllexport)
#define THENAR_IMPORT __declspec(dllimport)
#elif defined(__GNUC__)
#define THENAR_EXPORT __attribute__((visibility("default")))
#define THENAR_IMPORT __attribute__((visibility("default")))
#else
#define THENAR_EXPORT
#define THENAR_IMPORT
#endif
#if defined(THENAR_BUILD)
#define THENAR_API THENAR_EXPORT
#else
#define THENAR_API THENAR_IMPORT
#endif
#if defined(THENAR_IO_BUILD)
#define THENAR_IO_API THENAR_EXPORT
#else
#define THENAR_IO_API THENAR_IMPORT
#endif

#if defined(__GNUC__)
#define THENAR_NORETURN __attribute__((noreturn))
#elif defined(_MSC_VER)
#define THENAR_NORETURN __declspec(noreturn)
#else
#define THENAR_NORETURN
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** Version of these headers. Before 1.0 the binary interface may change with the minor version. */
#define THENAR_VERSION_MAJOR 0
/** Grows with new functions. */
#define THENAR_VERSION_MINOR 2
/** Grows with corrections. */
#define THENAR_VERSION_PATCH 0
/** The version as text. thenar_version() has that of the library. */
#define THENAR_VERSION "0.2.0"
/** The version as one number: 1000000 major + 1000 minor + patch. */
#define THENAR_VERSION_NUMBER (1000000 * THENAR_VERSION_MAJOR + 1000 * THENAR_VERSION_MINOR + THENAR_VERSION_PATCH)

/** The result of a call. Zero is success, everything below zero is an error. */
typedef enum thenar_status {
    THENAR_OK = 0,
    /** Untrusted input (scene, mesh, recording, value) is wrong; the message says where and what was expected. */
    THENAR_ERROR_INPUT = -1,
    /** The system refused a file operation: not found, no permission, disk full. */
    THENAR_ERROR_FILE = -2,
    /** Memory ran out. Nothing was leaked and nothing is half-built. */
    THENAR_ERROR_MEMORY = -3,
    /** The simulation could not go on; the state is the last good one. */
    THENAR_ERROR_NUMERIC = -4,
    /** The call itself is wrong: a NULL, an index out of range, a body of another kind, calls in the wrong order. */
    THENAR_ERROR_USAGE = -5
} thenar_status;

/** An error with its message. The text is one line: "FILE:LINE:COLUMN: what is wrong; what was expected", without the
 * place where there is none. */
typedef struct thenar_error {
    thenar_status status; /**< what the call returned */
    char text[1024];      /**< the message */
} thenar_error;

/** A short English name of a status, never NULL: "ok", "bad input", ... */
THENAR_API const char *thenar_status_name(thenar_status status);

/** The message of the last call of this thread that failed; "" if none has. Valid until the next call of this thread
 * fails. A call that succeeds leaves it as it is. */
THENAR_API const char *thenar_last_error(void);

/** Sets that message, for libraries and bindings that extend this one. */
THENAR_API void thenar_set_last_error(const char *text);

/** Version of the library that is linked, "MAJOR.MINOR.PATCH"; THENAR_VERSION is that of the headers. */
THENAR_API const char *thenar_version(void);

/** The same as one number, as THENAR_VERSION_NUMBER. */
THENAR_API int thenar_version_number(void);

/** Whether a program that was compiled with headers of version `number` (pass THENAR_VERSION_NUMBER) can use the
 * library that is linked: the major version is the same, before 1.0 also the minor one, and the library is not older.
 * THENAR_ERROR_USAGE and a message with both versions if not. */
THENAR_API thenar_status thenar_version_check(int number, thenar_error *error);

/** Called when an internal invariant does not hold, which is a defect of the library: never because of input or misuse.
 * It should end the thread or the program, or leave by longjmp; if it returns, the program aborts. */
typedef void (*thenar_assert_handler)(const char *expression, const char *file, int line, void *context);

/** Sets the handler for the whole program; NULL: the default, which prints to stderr and aborts. */
THENAR_API void thenar_set_assert_handler(thenar_assert_handler handler, void *context);

/** Calls the handler and aborts, for libraries that extend this one. */
THENAR_NORETURN THENAR_API void thenar_assert_failed(const char *expression, const char *file, int line);

#ifdef __cplusplus
}
#endif

#endif
