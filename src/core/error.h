/* Errors, of three kinds: a status with a message, misuse of the API, and violated invariants (assert). Also helpers for
 * the structs and enumerations of the API. */
#ifndef CORE_ERROR_H
#define CORE_ERROR_H

#include "thenar/status.h"

#include <assert.h>

#if defined(__GNUC__)
#define THENAR_PRINTF(format_index, first_index) __attribute__((format(printf, format_index, first_index)))
#else
#define THENAR_PRINTF(format_index, first_index)
#endif

/* Each function fills a thenar_error and returns its status, so that a failing function ends in one line:
 *     return error_at(error, file, line, column, "node index %d is out of range; expected 0..%d", i, n - 1);
 * error may be NULL. The message is also what thenar_last_error returns. */

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

/* Misuse of the API is a status and a message, never an abort.
 *
 *     USAGE(body >= 0 && body < model->body_count, NULL, "body %d is out of range; expected 0 to %d", body, count - 1);
 *
 * ends the function with that result and leaves "thenar_model_mesh: body 7 is ..." for thenar_last_error. */

#define USAGE(condition, result, ...)                                                                                  \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            usage_error(NULL, __func__, __VA_ARGS__);                                                                  \
            return result;                                                                                             \
        }                                                                                                              \
    } while (0)

/* The same for functions that return a status. */
#define USAGE_STATUS(condition, error, ...)                                                                            \
    do {                                                                                                               \
        if (!(condition)) return usage_error(error, __func__, __VA_ARGS__);                                            \
    } while (0)

#define USAGE_POINTER(pointer, result) USAGE(pointer, result, "%s is NULL", #pointer)
#define USAGE_INDEX(index, count, result)                                                                              \
    USAGE((index) >= 0 && (index) < (count), result, "%s is %d; expected 0 to %d", #index, (int)(index), (int)(count)-1)

/* THENAR_ERROR_USAGE: "FUNCTION: ...". */
thenar_status usage_error(thenar_error *error, const char *function, const char *format, ...) THENAR_PRINTF(3, 4);

/* assert is for internal invariants only. A failure goes to the handler that the program has set
 * (thenar_set_assert_handler). */
#undef assert
#define assert(condition) ((condition) ? (void)0 : thenar_assert_failed(#condition, __FILE__, __LINE__))

/* Structs that carry their size as their first member, a uint32_t (thenar/status.h). */

/* Copies the caller's struct over the defaults that are in `to`: what a shorter one lacks keeps its default; a longer
 * one must be zero where this library does not know it. type: its name, for the message. */
thenar_status sized_take(void *to, size_t to_size, const void *from, const char *type, thenar_error *error);

/* Writes the struct `from` to a caller's of `to_size` bytes: cut short, or with zeros behind it. */
thenar_status sized_give(void *to, size_t to_size, const void *from, size_t from_size, const char *type);

/* Enumerations with names: the three functions of each.
 *     static const char *const names[] = {...};
 *     NAMES(thenar_solver, names) */
const char *names_get(const char *const *names, int count, int value);
int names_find(const char *const *names, int count, const char *name);
#define NAMES(type, table)                                                                                             \
    int type##_count(void) {                                                                                           \
        return (int)(sizeof(table) / sizeof *(table));                                                                 \
    }                                                                                                                  \
    const char *type##_name(type value) {                                                                              \
        return names_get(table, type##_count(), (int)value);                                                           \
    }                                                                                                                  \
    int type##_find(const char *name) {                                                                                \
        return names_find(table, type##_count(), name);                                                                \
    }

#endif
