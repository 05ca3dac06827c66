/* Which devices hold which handles: what --device asks for. */
#ifndef APP_DEVICE_CHOICE_H
#define APP_DEVICE_CHOICE_H

#include "app/options.h"
#include "thenar/haptic.h"

typedef struct device_choice {
    int handle_count; /* that are held */
    int handle[THENAR_HAPTIC_HANDLES];
    const char *device[THENAR_HAPTIC_HANDLES]; /* KIND:ARGUMENT; the option's text or the model's */
} device_choice;

/* Each value of the option is one of
 *     HANDLE=KIND[:ARGUMENT]   a device for a handle
 *     KIND[:ARGUMENT]          for the only handle
 *     scene                    for all handles the devices that the scene names
 * A KIND without argument is the scene's device of that kind, of all handles that have one, if there is one. */
thenar_status device_choose(const thenar_sim *sim, const option_list *options, device_choice *out, thenar_error *error);

#endif
