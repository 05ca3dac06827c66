#include "core/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

thenar_status error_set(thenar_error *error, thenar_status status, const char *format, ...) {
    if (!error) return status;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    error->status = status;
    return status;
}

thenar_status error_at(thenar_error *error, const char *file, long line, long column, const char *format, ...) {
    if (!error) return THENAR_ERROR_INPUT;
    int used;
    if (line > 0 && column > 0)
        used = snprintf(error->text, sizeof error->text, "%s:%ld:%ld: ", file, line, column);
    else if (line > 0)
        used = snprintf(error->text, sizeof error->text, "%s:%ld: ", file, line);
    else
        used = snprintf(error->text, sizeof error->text, "%s: ", file);
    if (used >= 0 && (size_t)used < sizeof error->text) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(error->text + used, sizeof error->text - (size_t)used, format, arguments);
        va_end(arguments);
    }
    error->status = THENAR_ERROR_INPUT;
    return THENAR_ERROR_INPUT;
}

thenar_status error_errno(thenar_error *error, const char *file, const char *action) {
    return error_set(error, THENAR_ERROR_FILE, "%s: cannot %s: %s", file, action, strerror(errno));
}

thenar_status error_memory(thenar_error *error, const char *what) {
    return error_set(error, THENAR_ERROR_MEMORY, "out of memory: %s", what);
}

void error_prefix(thenar_error *error, const char *format, ...) {
    if (!error) return;
    char text[sizeof error->text];
    memcpy(text, error->text, sizeof text);
    va_list arguments;
    va_start(arguments, format);
    int used = vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    size_t front = used >= 0 ? (size_t)used + strlen(": ") : sizeof text;
    if (front >= sizeof text) return;
    memcpy(error->text + front - strlen(": "), ": ", strlen(": "));
    size_t length = strnlen(text, sizeof text - front - 1);
    memcpy(error->text + front, text, length);
    error->text[front + length] = 0;
}
