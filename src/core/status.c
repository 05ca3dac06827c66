/* The part of thenar/status.h that libthenar alone has: src/core/error.c is part of both libraries. */
#include "core/error.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What failed last in this thread. */
static _Thread_local char last[sizeof((thenar_error *)0)->text];

const char *thenar_last_error(void) {
    return last;
}

void thenar_set_last_error(const char *text) {
    if (text != last) snprintf(last, sizeof last, "%s", text ? text : "");
}

const char *thenar_version(void) {
    return THENAR_VERSION;
}

int thenar_version_number(void) {
    return THENAR_VERSION_NUMBER;
}

thenar_status thenar_version_check(int number, thenar_error *error) {
    int major = number / 1000000, minor = number / 1000 % 1000;
    if (major == THENAR_VERSION_MAJOR && (major > 0 || minor == THENAR_VERSION_MINOR) &&
        number <= THENAR_VERSION_NUMBER)
        return THENAR_OK;
    return error_set(error, THENAR_ERROR_USAGE,
                     "the program was compiled with headers of Thenar %d.%d.%d; the library is %s", major, minor,
                     number % 1000, THENAR_VERSION);
}

const char *thenar_status_name(thenar_status status) {
    switch (status) {
    case THENAR_OK:
        return "ok";
    case THENAR_ERROR_INPUT:
        return "bad input";
    case THENAR_ERROR_FILE:
        return "file error";
    case THENAR_ERROR_MEMORY:
        return "out of memory";
    case THENAR_ERROR_NUMERIC:
        return "numerical failure";
    case THENAR_ERROR_USAGE:
        return "wrong usage";
    }
    return "unknown status";
}

static _Atomic(thenar_assert_handler) handler;
static _Atomic(void *) handler_context;

void thenar_set_assert_handler(thenar_assert_handler new_handler, void *context) {
    atomic_store(&handler_context, context);
    atomic_store(&handler, new_handler);
}

void thenar_assert_failed(const char *expression, const char *file, int line) {
    thenar_assert_handler own = atomic_load(&handler);
    if (own)
        own(expression, file, line, atomic_load(&handler_context));
    else
        fprintf(stderr, "thenar: %s:%d: the invariant %s does not hold; please report this\n", file, line, expression);
    abort();
}
