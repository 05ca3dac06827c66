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
