/* The part of thenar/status.h that libthenar alone has: src/core/error.c is part of both libraries. */
#include "thenar/status.h"

const char *thenar_version(void) {
    return THENAR_VERSION;
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
    }
    return "unknown status";
}
