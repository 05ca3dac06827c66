/* Wearable devices (tactile.h): kinematics of the platforms, defaults and checks, and limited motion. */
#include "tactile/tactile.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define TURN (2 * 3.14159265358979323846)
#define NEWTON_STEPS 50
#define NEWTON_END 1e-12 /* m, rad */

/* The direction of cable or leg k in the frame of the pad. */
static vec3 direction(const thenar_wearable_def *def, int k) {
    double angle = def->azimuth + TURN * k / 3;
    return vec3_make(cos(angle), sin(angle), 0);
}

/* The smallest rotation from e_z to n. */
static mat3 turn_to(vec3 n) {
    double s = 1 / (1 + n.z);
    return (mat3){{1 - n.x * n.x * s, -n.x * n.y * s, n.x, -n.x * n.y * s, 1 - n.y * n.y * s, n.y, -n.x, -n.y, n.z}};
}

static vec3 normal_of(const double pose[3]) {
    double n[3];
    match_normal(pose, n);
    return vec3_load(n);
}

/* The centre of the circle of joints. */
static vec3 centre_of(const thenar_wearable_def *def, const double pose[3], vec3 n, mat3 R) {
    if (def->kind != THENAR_WEARABLE_RRS) return vec3_sub(vec3_make(0, 0, pose[2]), vec3_scale(n, def->platform_depth));
    /* In axes along the first leg. */
    double c = cos(def->azimuth), s = sin(def->azimuth);
    mat3 to_leg = {{c, s, 0, -s, c, 0, 0, 0, 1}};
    mat3 L = mat3_mul(mat3_mul(to_leg, R), mat3_transpose(to_leg));
    double r = def->platform_radius, x = r / 2 * (L.m[0] - L.m[4]), y = -r * L.m[3];
    vec3 side = vec3_make(c * x - s * y, s * x + c * y, 0);
    side.z = (pose[2] * n.z - def->platform_depth - n.x * side.x - n.y * side.y) / n.z;
    return side;
}

void platform_joints(const thenar_wearable_def *def, const double pose[3], vec3 joint[3]) {
    vec3 n = normal_of(pose);
    mat3 R = turn_to(n);
    vec3 c = centre_of(def, pose, n, R);
    for (int k = 0; k < 3; k++) joint[k] = vec3_mul_add(c, mat3_mul_vec(R, direction(def, k)), def->platform_radius);
}

static vec3 base_of(const thenar_wearable_def *def, int k) {
    vec3 b = vec3_scale(direction(def, k), def->base_radius);
    b.z = def->base_height;
    return b;
}

static void cable_lengths(const thenar_wearable_def *def, const double pose[3], double length[3]) {
    vec3 joint[3];
    platform_joints(def, pose, joint);
    for (int k = 0; k < 3; k++) length[k] = vec3_distance(joint[k], base_of(def, k));
}

bool platform_inverse(const thenar_wearable_def *def, const double pose[3], double angles[3]) {
    if (def->kind == THENAR_WEARABLE_CABLE) {
        static const double zero[3];
        double now[3], before[3];
        cable_lengths(def, zero, before);
        cable_lengths(def, pose, now);
        for (int k = 0; k < 3; k++) angles[k] = (before[k] - now[k]) / def->pulley_radius;
        return isfinite(angles[0] + angles[1] + angles[2]);
    }
    vec3 joint[3];
    platform_joints(def, pose, joint);
    for (int k = 0; k < 3; k++) {
        double rho = vec3_dot(direction(def, k), joint[k]) - def->base_radius, zeta = def->base_height - joint[k].z;
        double a = def->crank, b = def->rod, L = sqrt(rho * rho + zeta * zeta);
        double cosine = (a * a + L * L - b * b) / (2 * a * L);
        if (!(fabs(cosine) <= 1)) return false;
        angles[k] = atan2(zeta, rho) - acos(cosine);
    }
    return true;
}

/* J x = b by elimination with pivoting; b becomes x. Returns the determinant; 0: singular, and b is invalid. */
static double solve_dense(int n, double J[6][6], double *b) {
    double determinant = 1;
    for (int i = 0; i < n; i++) {
        int pivot = i;
        for (int j = i + 1; j < n; j++)
            if (fabs(J[j][i]) > fabs(J[pivot][i])) pivot = j;
        if (!(fabs(J[pivot][i]) > 0)) return 0;
        determinant *= pivot == i ? J[pivot][i] : -J[pivot][i];
        double row[6], value = b[i];
        memcpy(row, J[i], sizeof row);
        memcpy(J[i], J[pivot], sizeof row);
        memcpy(J[pivot], row, sizeof row);
        b[i] = b[pivot], b[pivot] = value;
        for (int j = i + 1; j < n; j++) {
            double f = J[j][i] / J[i][i];
            for (int k = i; k < n; k++) J[j][k] -= f * J[i][k];
            b[j] -= f * b[i];
        }
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int k = i + 1; k < n; k++) b[i] -= J[i][k] * b[k];
        b[i] /= J[i][i];
    }
    return determinant;
}

/* Derivative of the pulley angles with respect to the pose, by differences. */
static void cable_jacobian(const thenar_wearable_def *def, const double pose[3], double J[6][6]) {
    const double small = 1e-6;
    for (int i = 0; i < 3; i++) {
        double low[3] = {pose[0], pose[1], pose[2]}, high[3] = {pose[0], pose[1], pose[2]}, at_low[3], at_high[3];
        low[i] -= small, high[i] += small;
        platform_inverse(def, low, at_low);
        platform_inverse(def, high, at_high);
        for (int k = 0; k < 3; k++) J[k][i] = (at_high[k] - at_low[k]) / (2 * small);
    }
}

/* Newton's method from the zero pose. */
static bool cable_forward(const thenar_wearable_def *def, const double angles[3], double pose[3]) {
    for (int i = 0; i < 3; i++) pose[i] = 0;
    for (int step = 0; step < NEWTON_STEPS; step++) {
        double here[3], J[6][6], b[6], size = 0;
        platform_inverse(def, pose, here);
        cable_jacobian(def, pose, J);
        for (int i = 0; i < 3; i++) b[i] = angles[i] - here[i];
        if (solve_dense(3, J, b) == 0) return false;
        for (int i = 0; i < 3; i++) pose[i] += b[i], size = fmax(size, fabs(b[i]));
        if (size < NEWTON_END) return isfinite(pose[0] + pose[1] + pose[2]); /* fmax ignores NaN */
    }
    return false;
}

/* The equations of the legs, |M_k - hinge_k| = rod and M_k in its plane, linearized at a position of the platform. */
static void rrs_equations(const thenar_wearable_def *def, const double angles[3], vec3 c, quat turn, double J[6][6],
                          double b[6]) {
    for (int k = 0; k < 3; k++) {
        vec3 e = direction(def, k), across = vec3_make(-e.y, e.x, 0);
        vec3 arm = quat_rotate(turn, vec3_scale(e, def->platform_radius)), M = vec3_add(c, arm);
        vec3 hinge = vec3_mul_add(base_of(def, k), e, def->crank * cos(angles[k]));
        hinge.z -= def->crank * sin(angles[k]);
        vec3 rod = vec3_sub(M, hinge);
        double length = vec3_length(rod);
        vec3 row[2] = {vec3_scale(rod, 1 / length), across};
        b[k] = def->rod - length;
        b[3 + k] = -vec3_dot(across, M);
        for (int i = 0; i < 2; i++) {
            vec3_store(J[3 * i + k], row[i]);
            vec3_store(J[3 * i + k] + 3, vec3_cross(arm, row[i]));
        }
    }
}

/* How firmly the links constrain the platform at a pose: the determinant of the system that Newton's method solves.
 * Where it changes sign, the platform can move while the servos stand still. */
static double platform_hold(const thenar_wearable_def *def, const double pose[3]) {
    double J[6][6], b[6] = {0}, angles[3];
    if (def->kind == THENAR_WEARABLE_CABLE) {
        cable_jacobian(def, pose, J);
        return solve_dense(3, J, b);
    }
    if (!platform_inverse(def, pose, angles)) return 0;
    vec3 n = normal_of(pose);
    /* The smallest rotation from e_z to n, as a quaternion. */
    quat turn = quat_unit((quat){-n.y, n.x, 0, 1 + n.z});
    rrs_equations(def, angles, centre_of(def, pose, n, turn_to(n)), turn, J, b);
    return solve_dense(6, J, b);
}

/* Newton's method on all six coordinates of the platform, with the planes of the legs as equations: independent of the
 * formulas of platform_inverse, and a check of them. */
static bool rrs_forward(const thenar_wearable_def *def, const double angles[3], double pose[3]) {
    vec3 c = vec3_make(0, 0, -def->platform_depth);
    quat turn = quat_identity();
    for (int step = 0; step < NEWTON_STEPS; step++) {
        double J[6][6], b[6], size = 0;
        rrs_equations(def, angles, c, turn, J, b);
        if (solve_dense(6, J, b) == 0) return false;
        c = vec3_add(c, vec3_load(b));
        turn = quat_unit(quat_mul(quat_from_rotation_vector(vec3_load(b + 3)), turn));
        for (int i = 0; i < 6; i++) size = fmax(size, fabs(b[i]));
        if (size >= NEWTON_END) continue;
        vec3 n = quat_rotate(turn, vec3_make(0, 0, 1));
        pose[0] = -asin(fmax(-1, fmin(1, n.y)));
        pose[1] = atan2(n.x, n.z);
        pose[2] = (vec3_dot(n, c) + def->platform_depth) / n.z;
        return isfinite(pose[0] + pose[1] + pose[2]);
    }
    return false;
}

#define DEGREE (3.14159265358979323846 / 180)
#define CHECK_CELLS 8  /* per side of the grid on which the workspace is checked */
#define SHORTENINGS 60 /* maximum, of a step that is too fast for the servos */

static const char *const kinds[] = {"cable", "rrs", "thimble", "vibration"};
NAMES(thenar_wearable_kind, kinds)

thenar_status thenar_wearable_def_init(thenar_wearable_def *def, size_t size, thenar_wearable_kind kind) {
    bool rrs = kind == THENAR_WEARABLE_RRS;
    const thenar_wearable_def defaults = {.kind = kind,
                                          .pitch_min = -30 * DEGREE,
                                          .pitch_max = 30 * DEGREE,
                                          .roll_min = -30 * DEGREE,
                                          .roll_max = 30 * DEGREE,
                                          .displacement_min = -0.003,
                                          .displacement_max = 0.004,
                                          .tilt_speed = 300 * DEGREE,
                                          .displacement_speed = 0.05,
                                          .clearance = 0.001,
                                          .force_limit = 1.5,
                                          .pulp_force = 0.08,
                                          .pulp_rate = 1330,
                                          .azimuth = 90 * DEGREE,
                                          .base_radius = rrs ? 0.004 : 0.015,
                                          .base_height = 0.020,
                                          .platform_radius = 0.012,
                                          .platform_depth = 0.002,
                                          .pulley_radius = 0.005,
                                          .crank = 0.015,
                                          .rod = 0.023,
                                          .servo_min = rrs ? -90 * DEGREE : -180 * DEGREE,
                                          .servo_max = rrs ? 90 * DEGREE : 180 * DEGREE,
                                          .servo_speed = 600 * DEGREE,
                                          .pulse_min = 0.0005,
                                          .pulse_max = 0.0025,
                                          .frequency_min = 80,
                                          .frequency_max = 250,
                                          .rate_full = 10,
                                          .slip_full = 0.05,
                                          .release = 0.03};
    USAGE_INDEX((int)kind, THENAR_WEARABLE_KIND_COUNT, THENAR_ERROR_USAGE);
    return sized_give(def, size, &defaults, sizeof defaults, "thenar_wearable_def");
}

bool wearable_is_platform(const thenar_wearable_def *def) {
    return def->kind == THENAR_WEARABLE_CABLE || def->kind == THENAR_WEARABLE_RRS;
}

int thenar_wearable_value_count(const thenar_wearable_def *def) {
    USAGE_POINTER(def, 0);
    return wearable_is_platform(def) ? 3 : def->kind == THENAR_WEARABLE_VIBRATION ? 2 : 1;
}

const char *thenar_wearable_value_name(const thenar_wearable_def *def, int value) {
    static const char *const angles[] = {"angle_1 rad", "angle_2 rad", "angle_3 rad"};
    static const char *const vibration[] = {"amplitude 1", "frequency Hz"};
    USAGE_POINTER(def, NULL);
    USAGE_INDEX(value, thenar_wearable_value_count(def), NULL);
    if (wearable_is_platform(def)) return angles[value];
    if (def->kind == THENAR_WEARABLE_VIBRATION) return vibration[value];
    return def->by_force ? "force 1" : "displacement m";
}

bool thenar_wearable_inverse(const thenar_wearable_def *def, const double platform[3], double angles[3]) {
    USAGE(def && platform && angles, false, "a pointer is NULL");
    USAGE(wearable_is_platform(def), false, "the device is a %s; expected a platform",
          thenar_wearable_kind_name(def->kind));
    return platform_inverse(def, platform, angles);
}

bool thenar_wearable_forward(const thenar_wearable_def *def, const double angles[3], double platform[3]) {
    USAGE(def && platform && angles, false, "a pointer is NULL");
    USAGE(wearable_is_platform(def), false, "the device is a %s; expected a platform",
          thenar_wearable_kind_name(def->kind));
    return def->kind == THENAR_WEARABLE_CABLE ? cable_forward(def, angles, platform)
                                              : rrs_forward(def, angles, platform);
}

void wearable_bounds(const thenar_wearable_def *def, double low[3], double high[3]) {
    bool tilts = wearable_is_platform(def);
    low[0] = tilts ? def->pitch_min : 0, high[0] = tilts ? def->pitch_max : 0;
    low[1] = tilts ? def->roll_min : 0, high[1] = tilts ? def->roll_max : 0;
    low[2] = def->displacement_min, high[2] = def->displacement_max;
}

double wearable_depth_max(const thenar_wearable_def *def) {
    return log1p(def->force_limit / def->pulp_force) / def->pulp_rate;
}

void wearable_home(const thenar_wearable_def *def, double pose[3]) {
    double low[3], high[3];
    wearable_bounds(def, low, high);
    for (int k = 0; k < 3; k++) pose[k] = fmax(low[k], fmin(high[k], k == 2 ? -def->clearance : 0));
}

/* A number and its allowed range. */
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

static thenar_status check_order(const char *name, double min, double max, double low, double high,
                                 thenar_error *error) {
    if (min >= low && min < max && max <= high) return THENAR_OK;
    return error_set(error, THENAR_ERROR_INPUT,
                     "%s is %g to %g; expected the smaller number first, both between %g and %g", name, min, max, low,
                     high);
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
    thenar_status status;
    if (d->kind == THENAR_WEARABLE_VIBRATION) {
        status = check_ranges(vibration, 3, error);
        return status == THENAR_OK ? check_order("frequency", d->frequency_min, d->frequency_max, 1, 1e5, error)
                                   : status;
    }
    status = check_ranges(all, 6, error);
    if (status == THENAR_OK)
        status = check_order("displacement", d->displacement_min, d->displacement_max, -0.1, 0.1, error);
    if (status != THENAR_OK || !wearable_is_platform(d)) return status;
    status = check_ranges(platform, 9, error);
    if (status == THENAR_OK)
        status = check_order("pitch", d->pitch_min, d->pitch_max, -60 * DEGREE, 60 * DEGREE, error);
    if (status == THENAR_OK) status = check_order("roll", d->roll_min, d->roll_max, -60 * DEGREE, 60 * DEGREE, error);
    if (status == THENAR_OK) status = check_order("servo range", d->servo_min, d->servo_max, -1e3, 1e3, error);
    return status == THENAR_OK ? check_order("servo pulse", d->pulse_min, d->pulse_max, 1e-6, 1, error) : status;
}

/* Checks a pose of the workspace, since the optimum may be anywhere in it. False if nothing is wrong. */
static bool is_out_of_reach(const thenar_wearable_def *def, const double pose[3], double side, char *what,
                            size_t size) {
    double angle[3];
    if (!platform_inverse(def, pose, angle)) {
        snprintf(what, size, "the links do not close");
        return true;
    }
    double min = fmin(angle[0], fmin(angle[1], angle[2])), max = fmax(angle[0], fmax(angle[1], angle[2]));
    if (!(min >= def->servo_min && max <= def->servo_max)) {
        snprintf(what, size, "the servos would turn %.4g to %.4g degrees", min / DEGREE, max / DEGREE);
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
    wearable_bounds(def, low, high);
    for (int i = 0; i < (CHECK_CELLS + 1) * (CHECK_CELLS + 1) * (CHECK_CELLS + 1); i++) {
        const int at[3] = {i % (CHECK_CELLS + 1), i / (CHECK_CELLS + 1) % (CHECK_CELLS + 1),
                           i / (CHECK_CELLS + 1) / (CHECK_CELLS + 1)};
        double pose[3];
        char what[128];
        for (int c = 0; c < 3; c++) pose[c] = low[c] + (high[c] - low[c]) * at[c] / CHECK_CELLS;
        if (!is_out_of_reach(def, pose, side, what, sizeof what)) continue;
        return error_set(error, THENAR_ERROR_INPUT,
                         "%s at pitch %.3g, roll %.3g degrees, displacement %.3g mm; expected links and servos that "
                         "reach all of the workspace, or a smaller workspace",
                         what, pose[0] / DEGREE, pose[1] / DEGREE, pose[2] * 1e3);
    }
    return THENAR_OK;
}

thenar_status thenar_wearable_check(const thenar_wearable_def *given, thenar_error *error) {
    thenar_wearable_def copy = thenar_wearable_def_default(THENAR_WEARABLE_CABLE);
    const thenar_wearable_def *def = &copy;
    thenar_status status = sized_take(&copy, sizeof copy, given, "thenar_wearable_def", error);
    if (status != THENAR_OK) return status;
    if (def->kind < 0 || def->kind >= THENAR_WEARABLE_KIND_COUNT)
        return error_set(error, THENAR_ERROR_INPUT, "the kind of the device is %d; expected 0 to %d", (int)def->kind,
                         THENAR_WEARABLE_KIND_COUNT - 1);
    status = check_numbers(def, error);
    return status == THENAR_OK && wearable_is_platform(def) ? check_workspace(def, error) : status;
}

void wearable_approach(const thenar_wearable_def *def, const double wanted[3], double dt, double max, double pose[3],
                       double angles[3]) {
    double step[3];
    for (int k = 0; k < 3; k++) {
        double bound = dt * (k < 2 ? def->tilt_speed : def->displacement_speed);
        step[k] = fmax(-bound, fmin(k < 2 ? bound : fmin(bound, max), wanted[k] - pose[k]));
    }
    if (!wearable_is_platform(def)) {
        for (int k = 0; k < 3; k++) pose[k] += step[k];
        return;
    }
    /* The servo angles are a smooth but nonlinear function of the pose: a step that is too long for them is shortened
     * until it fits. A step of zero length always fits. */
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
