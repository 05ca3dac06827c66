#include "core/usage.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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
