/* Defaults of the loop, and its faults in words. */
#ifndef THENAR_HAPTIC_SETTINGS_H
#define THENAR_HAPTIC_SETTINGS_H

#include "thenar/haptic.h"

/* What happened, for a line of text. */
const char *haptic_fault_text(thenar_haptic_fault fault);

#endif
