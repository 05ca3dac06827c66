/* 3-vectors, 3x3 matrices (row-major) and quaternions (x, y, z, w). A vec3 has the layout of double[3]. */
#ifndef CORE_VEC3_H
#define CORE_VEC3_H

#include <math.h>
#include <stdbool.h>

typedef struct vec3 {
    double x, y, z;
} vec3;

typedef struct mat3 {
    double m[9]; /* row-major: m[3 * row + column] */
} mat3;

typedef struct quat {
    double x, y, z, w;
} quat;

/* clang-format off: one line per operation */
static inline vec3 vec3_make(double x, double y, double z) {
    return (vec3){x, y, z};
}
static inline vec3 vec3_add(vec3 a, vec3 b) {
    return (vec3){a.x + b.x, a.y + b.y, a.z + b.z};
}
static inline vec3 vec3_sub(vec3 a, vec3 b) {
    return (vec3){a.x - b.x, a.y - b.y, a.z - b.z};
}
static inline vec3 vec3_scale(vec3 a, double s) {
    return (vec3){a.x * s, a.y * s, a.z * s};
}
static inline vec3 vec3_mul_add(vec3 a, vec3 b, double s) {
    return (vec3){a.x + b.x * s, a.y + b.y * s, a.z + b.z * s};
}
static inline double vec3_dot(vec3 a, vec3 b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}
static inline vec3 vec3_cross(vec3 a, vec3 b) {
    return (vec3){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
static inline double vec3_length(vec3 a) {
    return sqrt(vec3_dot(a, a));
}
static inline double vec3_distance(vec3 a, vec3 b) {
    return vec3_length(vec3_sub(a, b));
}
/* The zero vector stays zero. */
static inline vec3 vec3_unit(vec3 a) {
    double length = vec3_length(a);
    return length > 0 ? vec3_scale(a, 1 / length) : a;
}
static inline vec3 vec3_min(vec3 a, vec3 b) {
    return (vec3){fmin(a.x, b.x), fmin(a.y, b.y), fmin(a.z, b.z)};
}
static inline vec3 vec3_max(vec3 a, vec3 b) {
    return (vec3){fmax(a.x, b.x), fmax(a.y, b.y), fmax(a.z, b.z)};
}
static inline int vec3_is_finite(vec3 a) {
    return isfinite(a.x) && isfinite(a.y) && isfinite(a.z);
}

/* Loading from and storing to arrays of xyz triplets. */
static inline vec3 vec3_load(const double *p) {
    return (vec3){p[0], p[1], p[2]};
}
static inline void vec3_store(double *p, vec3 a) {
    p[0] = a.x, p[1] = a.y, p[2] = a.z;
}

static inline mat3 mat3_identity(void) {
    return (mat3){{1, 0, 0, 0, 1, 0, 0, 0, 1}};
}
static inline mat3 mat3_diagonal(double a, double b, double c) {
    return (mat3){{a, 0, 0, 0, b, 0, 0, 0, c}};
}
static inline mat3 mat3_columns(vec3 a, vec3 b, vec3 c) {
    return (mat3){{a.x, b.x, c.x, a.y, b.y, c.y, a.z, b.z, c.z}};
}
static inline vec3 mat3_column(mat3 a, int j) {
    return (vec3){a.m[j], a.m[3 + j], a.m[6 + j]};
}
static inline vec3 mat3_row(mat3 a, int i) {
    return (vec3){a.m[3 * i], a.m[3 * i + 1], a.m[3 * i + 2]};
}
static inline mat3 mat3_transpose(mat3 a) {
    return (mat3){{a.m[0], a.m[3], a.m[6], a.m[1], a.m[4], a.m[7], a.m[2], a.m[5], a.m[8]}};
}
static inline mat3 mat3_add(mat3 a, mat3 b) {
    for (int i = 0; i < 9; i++) a.m[i] += b.m[i];
    return a;
}
static inline mat3 mat3_scale(mat3 a, double s) {
    for (int i = 0; i < 9; i++) a.m[i] *= s;
    return a;
}
static inline mat3 mat3_mul(mat3 a, mat3 b) {
    mat3 c;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            c.m[3 * i + j] = a.m[3 * i] * b.m[j] + a.m[3 * i + 1] * b.m[3 + j] + a.m[3 * i + 2] * b.m[6 + j];
    return c;
}
static inline vec3 mat3_mul_vec(mat3 a, vec3 v) {
    return (vec3){vec3_dot(mat3_row(a, 0), v), vec3_dot(mat3_row(a, 1), v), vec3_dot(mat3_row(a, 2), v)};
}
/* a^T v */
static inline vec3 mat3_mul_vec_transposed(mat3 a, vec3 v) {
    return (vec3){vec3_dot(mat3_column(a, 0), v), vec3_dot(mat3_column(a, 1), v), vec3_dot(mat3_column(a, 2), v)};
}
/* a b^T */
static inline mat3 mat3_outer(vec3 a, vec3 b) {
    return (mat3){{a.x * b.x, a.x * b.y, a.x * b.z, a.y * b.x, a.y * b.y, a.y * b.z, a.z * b.x, a.z * b.y, a.z * b.z}};
}
/* [a]x: mat3_mul_vec(mat3_skew(a), b) = a x b */
static inline mat3 mat3_skew(vec3 a) {
    return (mat3){{0, -a.z, a.y, a.z, 0, -a.x, -a.y, a.x, 0}};
}
static inline double mat3_trace(mat3 a) {
    return a.m[0] + a.m[4] + a.m[8];
}
static inline double mat3_determinant(mat3 a) {
    return vec3_dot(mat3_row(a, 0), vec3_cross(mat3_row(a, 1), mat3_row(a, 2)));
}
/* By the adjugate; the determinant must not be zero. */
static inline mat3 mat3_inverse(mat3 a) {
    vec3 r0 = mat3_row(a, 0), r1 = mat3_row(a, 1), r2 = mat3_row(a, 2);
    vec3 c0 = vec3_cross(r1, r2), c1 = vec3_cross(r2, r0), c2 = vec3_cross(r0, r1);
    return mat3_scale(mat3_columns(c0, c1, c2), 1 / vec3_dot(r0, c0));
}

static inline quat quat_identity(void) {
    return (quat){0, 0, 0, 1};
}
static inline quat quat_conjugate(quat q) {
    return (quat){-q.x, -q.y, -q.z, q.w};
}
/* First b, then a: quat_rotate(quat_mul(a, b), v) = quat_rotate(a, quat_rotate(b, v)). */
static inline quat quat_mul(quat a, quat b) {
    return (quat){a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y, a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
                  a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w, a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z};
}
/* The zero quaternion becomes the identity. */
static inline quat quat_unit(quat q) {
    double length = sqrt(q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w);
    if (!(length > 0)) return quat_identity();
    return (quat){q.x / length, q.y / length, q.z / length, q.w / length};
}
static inline vec3 quat_rotate(quat q, vec3 v) {
    vec3 axis = {q.x, q.y, q.z};
    vec3 t = vec3_scale(vec3_cross(axis, v), 2);
    return vec3_add(vec3_mul_add(v, t, q.w), vec3_cross(axis, t));
}
/* The rotation by |r| radians about r: the exponential map. */
static inline quat quat_from_rotation_vector(vec3 r) {
    double angle = vec3_length(r);
    /* sin(a/2)/a without dividing by a tiny angle: its series to second order is exact in double precision there. */
    double s = angle > 1e-4 ? sin(angle / 2) / angle : 0.5 - angle * angle / 48;
    return quat_unit((quat){r.x * s, r.y * s, r.z * s, cos(angle / 2)});
}
/* The shortest rotation vector of a unit quaternion: the logarithm, |r| <= pi. */
static inline vec3 quat_to_rotation_vector(quat q) {
    vec3 axis = {q.x, q.y, q.z};
    double w = q.w;
    if (w < 0) {
        axis = vec3_scale(axis, -1);
        w = -w;
    }
    double s = vec3_length(axis);
    return vec3_scale(axis, s > 1e-12 ? 2 * atan2(s, w) / s : 2);
}
static inline mat3 quat_to_mat3(quat q) {
    double x = q.x, y = q.y, z = q.z, w = q.w;
    return (mat3){{1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w), 2 * (x * y + z * w),
                   1 - 2 * (x * x + z * z), 2 * (y * z - x * w), 2 * (x * z - y * w), 2 * (y * z + x * w),
                   1 - 2 * (x * x + y * y)}};
}
/* clang-format on */

/* Poses of the API: position and quaternion, seven numbers. */

static inline quat pose_quaternion(const double pose[7]) {
    return (quat){pose[3], pose[4], pose[5], pose[6]};
}

/* Whether the quaternion is finite and not zero. */
static inline bool pose_has_orientation(const double pose[7]) {
    double square = pose[3] * pose[3] + pose[4] * pose[4] + pose[5] * pose[5] + pose[6] * pose[6];
    return square > 0 && isfinite(square);
}

/* A unit quaternion; one that is of unit length but for rounding stays as it is, bit for bit. */
static inline quat pose_orientation(const double pose[7]) {
    quat q = pose_quaternion(pose);
    double square = q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w;
    return fabs(square - 1) <= 1e-12 ? q : quat_unit(q);
}

static inline void pose_store(double pose[7], vec3 position, quat q) {
    vec3_store(pose, position);
    pose[3] = q.x, pose[4] = q.y, pose[5] = q.z, pose[6] = q.w;
}

#endif
