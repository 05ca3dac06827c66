/* Checks at the border of the API: misuse is a status and a message, never an abort.
 *
 *     USAGE(body >= 0 && body < model->body_count, NULL, "body %d is out of range; expected 0 to %d", body, count - 1);
 *
 * ends the function with that result and leaves "thenar_model_mesh: body 7 is ..." for thenar_last_error. */
#ifndef CORE_USAGE_H
#define CORE_USAGE_H

#include "core/error.h"

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
