/* Defaults of the loop, and its faults in words. */
#ifndef THENAR_HAPTIC_SETTINGS_H
#define THENAR_HAPTIC_SETTINGS_H

#include "thenar/haptic.h"

#define HAPTIC_SLOWEST 100.0 /* ticks a second */
#define HAPTIC_FASTEST 10000.0

/* The numbers of thenar_haptic_settings by name: more than 0, or not less. */
#define HAPTIC_SETTINGS 19
typedef struct haptic_setting {
    const char *name, *unit;
    size_t offset;
    bool zero_is_fine;
} haptic_setting;
extern const haptic_setting haptic_setting_table[HAPTIC_SETTINGS];

double *haptic_setting_of(thenar_haptic_settings *settings, int index);

/* What happened, for a line of text. */
const char *haptic_fault_text(thenar_haptic_fault fault);

/* A limit, or what something else can bear if that is less; 0: it has none of its own. */
static inline double haptic_lower(double limit, double other) {
    return other > 0 && other < limit ? other : limit;
}

#endif
