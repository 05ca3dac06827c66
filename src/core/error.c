#include "core/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* For thenar_last_error, and the caller's copy. */
static thenar_status give(thenar_error *error, thenar_status status, const char *text) {
    thenar_set_last_error(text);
    if (!error) return status;
    error->status = status;
    memcpy(error->text, text, strlen(text) + 1);
    return status;
}

thenar_status error_set(thenar_error *error, thenar_status status, const char *format, ...) {
    char text[sizeof error->text];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return give(error, status, text);
}

thenar_status error_at(thenar_error *error, const char *file, long line, long column, const char *format, ...) {
    char text[sizeof error->text];
    int used;
    if (line > 0 && column > 0)
        used = snprintf(text, sizeof text, "%s:%ld:%ld: ", file, line, column);
    else if (line > 0)
        used = snprintf(text, sizeof text, "%s:%ld: ", file, line);
    else
        used = snprintf(text, sizeof text, "%s: ", file);
    if (used >= 0 && (size_t)used < sizeof text) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(text + used, sizeof text - (size_t)used, format, arguments);
        va_end(arguments);
    }
    return give(error, THENAR_ERROR_INPUT, text);
}

thenar_status error_errno(thenar_error *error, const char *file, const char *action) {
    return error_set(error, THENAR_ERROR_FILE, "%s: cannot %s: %s", file, action, strerror(errno));
}

thenar_status error_memory(thenar_error *error, const char *what) {
    return error_set(error, THENAR_ERROR_MEMORY, "out of memory: %s", what);
}

void error_prefix(thenar_error *error, const char *format, ...) {
    char text[sizeof error->text], prefix[sizeof error->text];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(prefix, sizeof prefix, format, arguments);
    va_end(arguments);
    int length = snprintf(text, sizeof text, "%s: %s", prefix, error ? error->text : thenar_last_error());
    if (length < 0) return;
    if (error) memcpy(error->text, text, strlen(text) + 1);
    thenar_set_last_error(text);
}

thenar_status usage_error(thenar_error *error, const char *function, const char *format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return error_set(error, THENAR_ERROR_USAGE, "%s: %s", function, text);
}

thenar_status sized_take(void *to, size_t to_size, const void *from, const char *type, thenar_error *error) {
    uint32_t size;
    if (!from) return error_set(error, THENAR_ERROR_USAGE, "a %s is NULL", type);
    memcpy(&size, from, sizeof size);
    if (size < 2 * sizeof size)
        return error_set(error, THENAR_ERROR_USAGE, "%s.size is %u; expected %zu: start from %s_default()", type,
                         (unsigned)size, to_size, type);
    for (size_t i = to_size; i < size; i++)
        if (((const unsigned char *)from)[i])
            return error_set(error, THENAR_ERROR_USAGE,
                             "%s has %u bytes, and byte %zu is not zero; this library (%s) knows %zu bytes of it", type,
                             (unsigned)size, i, THENAR_VERSION, to_size);
    memcpy(to, from, size < to_size ? size : to_size);
    size = (uint32_t)to_size;
    memcpy(to, &size, sizeof size);
    return THENAR_OK;
}

thenar_status sized_give(void *to, size_t to_size, const void *from, size_t from_size, const char *type) {
    uint32_t size = (uint32_t)to_size;
    if (!to || to_size < 2 * sizeof size || to_size > UINT32_MAX)
        return error_set(NULL, THENAR_ERROR_USAGE, "a %s %s; expected sizeof(%s) bytes", type,
                         to ? "of the wrong size" : "is NULL", type);
    memset(to, 0, to_size);
    memcpy(to, from, to_size < from_size ? to_size : from_size);
    memcpy(to, &size, sizeof size);
    return THENAR_OK;
}

const char *names_get(const char *const *names, int count, int value) {
    return value >= 0 && value < count ? names[value] : "unknown";
}

int names_find(const char *const *names, int count, const char *name) {
    for (int i = 0; name && i < count; i++)
        if (strcmp(names[i], name) == 0) return i;
    return -1;
}
