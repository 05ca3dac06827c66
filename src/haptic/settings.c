#include "haptic/settings.h"

#include <stddef.h>

thenar_haptic_settings thenar_haptic_settings_default(void) {
    return (thenar_haptic_settings){.stiffness = 1000,
                                    .damping = 6,
                                    .turn_stiffness = 2,
                                    .turn_damping = 0.006,
                                    .proxy_mass = 0.02,
                                    .proxy_inertia = 1e-5,
                                    .most_force = 10,
                                    .most_torque = 0.5,
                                    .force_slew = 2000,
                                    .torque_slew = 100,
                                    .stale_after = 0.01,
                                    .silent_after = 0.01,
                                    .fade_time = 0.008,
                                    .recover_time = 0.2,
                                    .jump_distance = 0.03,
                                    .jump_speed = 5,
                                    .velocity_cutoff = 100,
                                    .one_sided = true,
                                    .passivity = true,
                                    .energy_reserve = 0.0005,
                                    .energy_most = 0.5};
}

thenar_haptic_handle thenar_haptic_handle_default(void) {
    return (thenar_haptic_handle){
        .settings = thenar_haptic_settings_default(), .turn = {0, 0, 0, 1}, .grip = {0, 0, 0, 1}};
}

thenar_haptic_def thenar_haptic_def_default(void) {
    return (thenar_haptic_def){.rate = THENAR_HAPTIC_RATE, .real_time = true, .priority = 80, .watchdog = 0.01};
}

#define AT(name) offsetof(thenar_haptic_settings, name)
const haptic_setting haptic_setting_table[HAPTIC_SETTINGS] = {
    {"stiffness", "N/m", AT(stiffness), false},
    {"damping", "N s/m", AT(damping), true},
    {"turn_stiffness", "N m/rad", AT(turn_stiffness), true},
    {"turn_damping", "N m s/rad", AT(turn_damping), true},
    {"proxy_mass", "kg", AT(proxy_mass), false},
    {"proxy_inertia", "kg m^2", AT(proxy_inertia), false},
    {"most_force", "N", AT(most_force), true},
    {"most_torque", "N m", AT(most_torque), true},
    {"force_slew", "N/s", AT(force_slew), false},
    {"torque_slew", "N m/s", AT(torque_slew), false},
    {"stale_after", "s", AT(stale_after), true},
    {"silent_after", "s", AT(silent_after), true},
    {"fade_time", "s", AT(fade_time), false},
    {"recover_time", "s", AT(recover_time), false},
    {"jump_distance", "m", AT(jump_distance), false},
    {"jump_speed", "m/s", AT(jump_speed), false},
    {"velocity_cutoff", "Hz", AT(velocity_cutoff), false},
    {"energy_reserve", "J", AT(energy_reserve), true},
    {"energy_most", "J", AT(energy_most), true},
};
#undef AT

double *haptic_setting_of(thenar_haptic_settings *settings, int index) {
    return (double *)(void *)((char *)settings + haptic_setting_table[index].offset);
}

static const struct {
    const char *name, *text;
} faults[THENAR_HAPTIC_FAULTS] = {
    [THENAR_HAPTIC_STALE] = {"stale", "the simulation is late, the force faded"},
    [THENAR_HAPTIC_SILENT] = {"silent", "the device says nothing, the force faded"},
    [THENAR_HAPTIC_BAD_SAMPLE] = {"bad_sample", "samples of the device are no poses, left out"},
    [THENAR_HAPTIC_JUMP] = {"jump", "the device jumped, the force faded"},
    [THENAR_HAPTIC_BAD_LINEAR] = {"bad_linear", "what the simulation told is not finite, left out"},
    [THENAR_HAPTIC_CLOCK] = {"clock", "the clock stepped, or the loop was held up"},
    [THENAR_HAPTIC_UNSOLVED] = {"unsolved", "the proxy's equations have no solution"},
    [THENAR_HAPTIC_LOST] = {"lost", "samples of the device were lost"},
    [THENAR_HAPTIC_DOUBLED] = {"doubled", "samples of the device came twice, left out"},
    [THENAR_HAPTIC_REORDERED] = {"reordered", "samples of the device came late, left out"},
    [THENAR_HAPTIC_DEVICE_ERROR] = {"device_error", "calls of the device failed"},
    [THENAR_HAPTIC_HUNG] = {"hung", "a call of the device does not come back"},
    [THENAR_HAPTIC_WATCHDOG] = {"watchdog", "the loop is held up, the watchdog took the force away"},
    [THENAR_HAPTIC_CLAMPED] = {"clamped", "ticks at the limit of the force"},
    [THENAR_HAPTIC_SLEWED] = {"slewed", "ticks at the limit of its change"},
    [THENAR_HAPTIC_HELD_BACK] = {"held_back", "ticks in which energy was held back"},
};

const char *thenar_haptic_fault_name(thenar_haptic_fault fault) {
    return fault >= 0 && fault < THENAR_HAPTIC_FAULTS ? faults[fault].name : "unknown";
}

const char *haptic_fault_text(thenar_haptic_fault fault) {
    return faults[fault].text;
}
