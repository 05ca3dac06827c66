#include "tactile/platform.h"

#include "tactile/match.h"

#include <string.h>

#define TURN (2 * 3.14159265358979323846)
#define NEWTON_STEPS 50
#define NEWTON_END 1e-12 /* m, rad */

/* The direction of cable or leg k in the frame of the pad. */
static vec3 direction(const thenar_wearable_def *def, int k) {
    double angle = def->azimuth + TURN * k / 3;
    return vec3_make(cos(angle), sin(angle), 0);
}

/* The least turn from e_z to n. */
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

/* J x = b by elimination with pivots; b becomes x. Returns the determinant; 0: singular, b is of no use. */
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

/* How the pulleys turn with the pose, by differences. */
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

static bool cable_forward(const thenar_wearable_def *def, const double angles[3], double pose[3]) {
    for (int i = 0; i < 3; i++) pose[i] = 0;
    for (int step = 0; step < NEWTON_STEPS; step++) {
        double here[3], J[6][6], b[6], size = 0;
        platform_inverse(def, pose, here);
        cable_jacobian(def, pose, J);
        for (int i = 0; i < 3; i++) b[i] = angles[i] - here[i];
        if (solve_dense(3, J, b) == 0) return false;
        for (int i = 0; i < 3; i++) pose[i] += b[i], size = fmax(size, fabs(b[i]));
        if (size < NEWTON_END) return isfinite(pose[0] + pose[1] + pose[2]); /* fmax overlooks NaN */
    }
    return false;
}

/* The equations of the legs, |M_k - hinge_k| = rod and M_k in its plane, linearized at a place of the platform. */
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

double platform_hold(const thenar_wearable_def *def, const double pose[3]) {
    double J[6][6], b[6] = {0}, angles[3];
    if (def->kind == THENAR_WEARABLE_CABLE) {
        cable_jacobian(def, pose, J);
        return solve_dense(3, J, b);
    }
    if (!platform_inverse(def, pose, angles)) return 0;
    vec3 n = normal_of(pose);
    /* The least turn from e_z to n, as a quaternion. */
    quat turn = quat_unit((quat){-n.y, n.x, 0, 1 + n.z});
    rrs_equations(def, angles, centre_of(def, pose, n, turn_to(n)), turn, J, b);
    return solve_dense(6, J, b);
}

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

bool platform_forward(const thenar_wearable_def *def, const double angles[3], double pose[3]) {
    return def->kind == THENAR_WEARABLE_CABLE ? cable_forward(def, angles, pose) : rrs_forward(def, angles, pose);
}
