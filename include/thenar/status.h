/* Status, errors and version: what every other public header builds on. */
#ifndef THENAR_STATUS_H
#define THENAR_STATUS_H

#if defined(__GNUC__)
#define THENAR_API __attribute__((visibility("default")))
#define THENAR_PRINTF(format_index, first_index) __attribute__((format(printf, format_index, first_index)))
#else
#define THENAR_API
#define THENAR_PRINTF(format_index, first_index)
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define THENAR_VERSION_MAJOR 0
#define THENAR_VERSION_MINOR 1
#define THENAR_VERSION_PATCH 0
#define THENAR_VERSION "0.1.0"

/** What a call came to. Zero is success, everything below zero is an error. */
typedef enum thenar_status {
    THENAR_OK = 0,
    /** Untrusted input (scene, mesh, recording, value) is wrong; the message says where and what was expected. */
    THENAR_ERROR_INPUT = -1,
    /** The system refused a file operation: not found, no permission, disk full. */
    THENAR_ERROR_FILE = -2,
    /** Memory ran out. Nothing was leaked and nothing is half-built. */
    THENAR_ERROR_MEMORY = -3,
    /** The simulation could not go on; the state is the last good one. */
    THENAR_ERROR_NUMERIC = -4
} thenar_status;

/** An error with its message. Pass a pointer to one, or NULL if the message does not matter. The text is one
 * line: "FILE:LINE:COLUMN: what is wrong; what was expected", the place left out where there is none. */
typedef struct thenar_error {
    thenar_status status;
    char text[1024];
} thenar_error;

/** Version of the library that is linked, "MAJOR.MINOR.PATCH"; compare with THENAR_VERSION of the header. */
THENAR_API const char *thenar_version(void);

/** A short English name of a status, never NULL: "ok", "bad input", ... */
THENAR_API const char *thenar_status_name(thenar_status status);

#ifdef __cplusplus
}
#endif

#endif
