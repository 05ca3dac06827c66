/* Fills a thenar_error and returns its status, so that a failing function ends in one line:
 *     return error_at(error, file, line, column, "node index %d is out of range; expected 0..%d", i, n - 1);
 * The message is also what thenar_last_error returns. */
#ifndef CORE_ERROR_H
#define CORE_ERROR_H

#include "thenar/status.h"

#if defined(__GNUC__)
#define THENAR_PRINTF(format_index, first_index) __attribute__((format(printf, format_index, first_index)))
#else
#define THENAR_PRINTF(format_index, first_index)
#endif

/* error may be NULL. Returns status. */
thenar_status error_set(thenar_error *error, thenar_status status, const char *format, ...) THENAR_PRINTF(3, 4);

/* THENAR_ERROR_INPUT with a position in front: "file:line:column: ...". line or column 0: left out. */
thenar_status error_at(thenar_error *error, const char *file, long line, long column, const char *format, ...)
    THENAR_PRINTF(5, 6);

/* THENAR_ERROR_FILE from errno: "file: cannot ACTION: No such file or directory". */
thenar_status error_errno(thenar_error *error, const char *file, const char *action);

/* THENAR_ERROR_MEMORY: "out of memory: WHAT". */
thenar_status error_memory(thenar_error *error, const char *what);

/* Puts "PREFIX: " in front of the existing text, so that callers can add context. */
void error_prefix(thenar_error *error, const char *format, ...) THENAR_PRINTF(2, 3);

#endif
