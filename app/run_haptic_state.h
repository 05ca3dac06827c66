/* What the files about the devices of a run share: run_haptic.c drives them, run_haptic_summary.c tells of them. */
#ifndef APP_RUN_HAPTIC_STATE_H
#define APP_RUN_HAPTIC_STATE_H

#include "app/device_choice.h"
#include "app/run_haptic.h"

/* Ticks and steps since it began, and what the one before came to, a second. */
typedef struct rate_window {
    int64_t begun_ns;
    uint64_t ticks, steps;
    double rate, step_rate;
} rate_window;

struct run_haptic {
    thenar_haptic *loop;
    device_choice choice;
    char *text[THENAR_HAPTIC_HANDLES]; /* of each device; the model that named it may be gone */
    char channel[THENAR_HAPTIC_HANDLES][256];
    double rate;
    bool offline;
    thenar_haptic_stats stats; /* after the last step */
    double numbers[THENAR_HAPTIC_HANDLES][RUN_HAPTIC_NUMBERS];
    uint64_t reported[THENAR_HAPTIC_HANDLES][THENAR_HAPTIC_FAULTS];
    rate_window window;
    uint64_t late_steps;
    double late_seconds;
};

/* The name of the handle that a device holds. */
static inline const char *run_haptic_name(const run_haptic *haptic, int device) {
    return haptic->channel[device] + 7; /* behind "haptic/" */
}

#endif
