/* Defaults of the loop, and its faults in words. */
#ifndef THENAR_HAPTIC_SETTINGS_H
#define THENAR_HAPTIC_SETTINGS_H

#include "thenar/haptic.h"

/* What happened, for a line of text. */
const char *haptic_fault_text(thenar_haptic_fault fault);

/* A limit, or what something else can bear if that is less; 0: it has none of its own. */
static inline double haptic_lower(double limit, double other) {
    return other > 0 && other < limit ? other : limit;
}

#endif
