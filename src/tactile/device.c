#include "tactile/device.h"

#include "base/error.h"
#include "tactile/platform.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

#define DEGREE (3.14159265358979323846 / 180)
#define CHECKED 8      /* the workspace is looked at on a grid of so many cells a side */
#define SHORTENINGS 60 /* of a step that the servos are too slow for */

const char *thenar_finger_name(thenar_finger finger) {
    static const char *const names[THENAR_FINGER_COUNT] = {"thumb", "index", "middle", "ring", "little"};
    assert(finger >= 0 && finger < THENAR_FINGER_COUNT);
    return names[finger];
}

const char *thenar_wearable_kind_name(thenar_wearable_kind kind) {
    static const char *const names[THENAR_WEARABLE_KIND_COUNT] = {"cable", "rrs", "thimble", "vibration"};
    assert(kind >= 0 && kind < THENAR_WEARABLE_KIND_COUNT);
    return names[kind];
}

thenar_wearable_def thenar_wearable_def_default(thenar_wearable_kind kind) {
    thenar_wearable_def def = {.kind = kind,
                             .pitch = {-30 * DEGREE, 30 * DEGREE},
                             .roll = {-30 * DEGREE, 30 * DEGREE},
                             .displacement = {-0.003, 0.004},
                             .tilt_speed = 300 * DEGREE,
                             .displacement_speed = 0.05,
                             .clearance = 0.001,
                             .force_limit = 1.5,
                             .pulp_force = 0.08,
                             .pulp_rate = 1330,
                             .azimuth = 90 * DEGREE,
                             .base_radius = kind == THENAR_WEARABLE_RRS ? 0.004 : 0.015,
                             .base_height = 0.020,
                             .platform_radius = 0.012,
                             .platform_depth = 0.002,
                             .pulley_radius = 0.005,
                             .crank = 0.015,
                             .rod = 0.023,
                             .servo_range = {kind == THENAR_WEARABLE_RRS ? -90 * DEGREE : -180 * DEGREE,
                                             kind == THENAR_WEARABLE_RRS ? 90 * DEGREE : 180 * DEGREE},
                             .servo_speed = 600 * DEGREE,
                             .servo_pulse = {0.0005, 0.0025},
                             .frequency = {80, 250},
                             .rate_full = 10,
                             .slip_full = 0.05,
                             .release = 0.03};
    return def;
}

bool device_is_platform(const thenar_wearable_def *def) {
    return def->kind == THENAR_WEARABLE_CABLE || def->kind == THENAR_WEARABLE_RRS;
}

int thenar_wearable_value_count(const thenar_wearable_def *def) {
    return device_is_platform(def) ? 3 : def->kind == THENAR_WEARABLE_VIBRATION ? 2 : 1;
}

const char *thenar_wearable_value_name(const thenar_wearable_def *def, int value) {
    static const char *const angles[] = {"angle_1 rad", "angle_2 rad", "angle_3 rad"};
    static const char *const vibration[] = {"amplitude 1", "frequency Hz"};
    assert(value >= 0 && value < thenar_wearable_value_count(def));
    if (device_is_platform(def)) return angles[value];
    if (def->kind == THENAR_WEARABLE_VIBRATION) return vibration[value];
    return def->by_force ? "force 1" : "displacement m";
}

bool thenar_wearable_inverse(const thenar_wearable_def *def, const double pose[3], double angles[3]) {
    assert(device_is_platform(def));
    return platform_inverse(def, pose, angles);
}

bool thenar_wearable_forward(const thenar_wearable_def *def, const double angles[3], double pose[3]) {
    assert(device_is_platform(def));
    return platform_forward(def, angles, pose);
}

void device_bounds(const thenar_wearable_def *def, double low[3], double high[3]) {
    bool tilts = device_is_platform(def);
    for (int i = 0; i < 2; i++) {
        double *side = i == 0 ? low : high;
        side[0] = tilts ? def->pitch[i] : 0;
        side[1] = tilts ? def->roll[i] : 0;
        side[2] = def->displacement[i];
    }
}

double device_deepest(const thenar_wearable_def *def) {
    return log1p(def->force_limit / def->pulp_force) / def->pulp_rate;
}

void device_home(const thenar_wearable_def *def, double pose[3]) {
    double low[3], high[3];
    device_bounds(def, low, high);
    for (int k = 0; k < 3; k++) pose[k] = fmax(low[k], fmin(high[k], k == 2 ? -def->clearance : 0));
}

/* A number and what it must be. */
typedef struct range {
    const char *name;
    double value, low, high;
    bool above_low;
} range;

static thenar_status check_ranges(const range *ranges, int count, thenar_error *error) {
    for (int i = 0; i < count; i++) {
        const range *r = &ranges[i];
        if ((r->above_low ? r->value > r->low : r->value >= r->low) && r->value <= r->high) continue;
        return error_set(error, THENAR_ERROR_INPUT, "%s is %g; expected %s%g to %g", r->name, r->value,
                         r->above_low ? "above " : "", r->low, r->high);
    }
    return THENAR_OK;
}

static thenar_status check_order(const char *name, const double pair[2], double low, double high, thenar_error *error) {
    if (pair[0] >= low && pair[0] < pair[1] && pair[1] <= high) return THENAR_OK;
    return error_set(error, THENAR_ERROR_INPUT,
                     "%s is %g to %g; expected the smaller number first, both between %g and %g", name, pair[0],
                     pair[1], low, high);
}

static thenar_status check_numbers(const thenar_wearable_def *d, thenar_error *error) {
    const range all[] = {
        {"tilt_speed", d->tilt_speed, 0, 1e4, true}, {"displacement_speed", d->displacement_speed, 0, 1e3, true},
        {"clearance", d->clearance, 0, 0.1, false},  {"force_limit", d->force_limit, 0, 1e3, true},
        {"pulp_force", d->pulp_force, 0, 1e3, true}, {"pulp_rate", d->pulp_rate, 0, 1e6, true}};
    const range platform[] = {{"azimuth", d->azimuth, -360 * DEGREE, 360 * DEGREE, false},
                              {"base_radius", d->base_radius, 0, 1, true},
                              {"base_height", d->base_height, 0, 1, true},
                              {"platform_radius", d->platform_radius, 0, 1, true},
                              {"platform_depth", d->platform_depth, 0, 1, false},
                              {"pulley_radius", d->pulley_radius, 0, 1, true},
                              {"crank", d->crank, 0, 1, true},
                              {"rod", d->rod, 0, 1, true},
                              {"servo_speed", d->servo_speed, 0, 1e5, true}};
    const range vibration[] = {{"rate_full", d->rate_full, 0, 1e9, true},
                               {"slip_full", d->slip_full, 0, 1e9, true},
                               {"release", d->release, 0, 1e3, true}};
    thenar_status status = THENAR_OK;
    if (d->kind == THENAR_WEARABLE_VIBRATION) {
        status = check_ranges(vibration, 3, error);
        return status == THENAR_OK ? check_order("frequency", d->frequency, 1, 1e5, error) : status;
    }
    status = check_ranges(all, 6, error);
    if (status == THENAR_OK) status = check_order("displacement", d->displacement, -0.1, 0.1, error);
    if (status != THENAR_OK || !device_is_platform(d)) return status;
    status = check_ranges(platform, 9, error);
    if (status == THENAR_OK) status = check_order("pitch", d->pitch, -60 * DEGREE, 60 * DEGREE, error);
    if (status == THENAR_OK) status = check_order("roll", d->roll, -60 * DEGREE, 60 * DEGREE, error);
    if (status == THENAR_OK) status = check_order("servo_range", d->servo_range, -1e3, 1e3, error);
    return status == THENAR_OK ? check_order("servo_pulse", d->servo_pulse, 1e-6, 1, error) : status;
}

/* What is wrong at a pose of the workspace; false: nothing. The optimum may be anywhere in it. */
static bool is_out_of_reach(const thenar_wearable_def *def, const double pose[3], double side, char *what, size_t size) {
    double angle[3];
    if (!platform_inverse(def, pose, angle)) {
        snprintf(what, size, "the links do not close");
        return true;
    }
    double least = fmin(angle[0], fmin(angle[1], angle[2])), most = fmax(angle[0], fmax(angle[1], angle[2]));
    if (!(least >= def->servo_range[0] && most <= def->servo_range[1])) {
        snprintf(what, size, "servos would turn %.4g to %.4g degrees", least / DEGREE, most / DEGREE);
        return true;
    }
    if (!(side * platform_hold(def, pose) > 0)) {
        snprintf(what, size, "the links do not hold the platform, which can move while the servos stand still,");
        return true;
    }
    return false;
}

static thenar_status check_workspace(const thenar_wearable_def *def, thenar_error *error) {
    static const double zero[3];
    double low[3], high[3], side = platform_hold(def, zero) > 0 ? 1 : -1;
    device_bounds(def, low, high);
    for (int i = 0; i < (CHECKED + 1) * (CHECKED + 1) * (CHECKED + 1); i++) {
        const int at[3] = {i % (CHECKED + 1), i / (CHECKED + 1) % (CHECKED + 1), i / (CHECKED + 1) / (CHECKED + 1)};
        double pose[3];
        char what[128];
        for (int c = 0; c < 3; c++) pose[c] = low[c] + (high[c] - low[c]) * at[c] / CHECKED;
        if (!is_out_of_reach(def, pose, side, what, sizeof what)) continue;
        return error_set(error, THENAR_ERROR_INPUT,
                         "%s at pitch %.3g, roll %.3g degrees, displacement %.3g mm; expected links and servos that "
                         "reach all of the workspace, or a smaller workspace",
                         what, pose[0] / DEGREE, pose[1] / DEGREE, pose[2] * 1e3);
    }
    return THENAR_OK;
}

thenar_status thenar_wearable_check(const thenar_wearable_def *def, thenar_error *error) {
    if (def->kind < 0 || def->kind >= THENAR_WEARABLE_KIND_COUNT)
        return error_set(error, THENAR_ERROR_INPUT, "a device of kind %d; expected 0 to %d", (int)def->kind,
                         THENAR_WEARABLE_KIND_COUNT - 1);
    thenar_status status = check_numbers(def, error);
    return status == THENAR_OK && device_is_platform(def) ? check_workspace(def, error) : status;
}

void device_approach(const thenar_wearable_def *def, const double wanted[3], double dt, double most, double pose[3],
                     double angles[3]) {
    double step[3];
    for (int k = 0; k < 3; k++) {
        double bound = dt * (k < 2 ? def->tilt_speed : def->displacement_speed);
        step[k] = fmax(-bound, fmin(k < 2 ? bound : fmin(bound, most), wanted[k] - pose[k]));
    }
    if (!device_is_platform(def)) {
        for (int k = 0; k < 3; k++) pose[k] += step[k];
        return;
    }
    /* The servos follow the pose smoothly but not linearly: a step that is too long for them is shortened until it is
     * not. A step of no length always fits. */
    double allowed = def->servo_speed * dt, share = 1, next[3], turned[3] = {0};
    for (int i = 0; i < SHORTENINGS; i++) {
        double largest = 0;
        for (int k = 0; k < 3; k++) next[k] = pose[k] + share * step[k];
        bool closes = platform_inverse(def, next, turned);
        for (int k = 0; k < 3; k++) largest = fmax(largest, fabs(turned[k] - angles[k]));
        if (closes && largest <= allowed) {
            for (int k = 0; k < 3; k++) pose[k] = next[k], angles[k] = turned[k];
            return;
        }
        share *= closes ? fmax(0.1, fmin(0.999, 0.999 * allowed / largest)) : 0.5;
    }
}
