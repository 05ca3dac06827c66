#include "app/run_record.h"

thenar_status run_record_open(const char *path, const thenar_sim *sim, const run_tactile *tactile,
                              const run_haptic *haptic, thenar_recorder **out, thenar_error *error) {
    thenar_recorder_channel devices[THENAR_HAPTIC_HANDLES];
    int device_count = run_haptic_device_count(haptic);
    for (int i = 0; i < device_count; i++)
        devices[i] = (thenar_recorder_channel){run_haptic_channel(haptic, i), "", RUN_HAPTIC_NUMBERS,
                                               run_haptic_numbers(haptic, i)};
    thenar_status status =
        thenar_recorder_create_more(path, sim, run_tactile_devices(tactile), devices, device_count, out, error);
    return status == THENAR_OK ? thenar_recorder_add(*out, error) : status;
}
