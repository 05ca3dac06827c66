/* 6D spatial algebra (Featherstone, Rigid Body Dynamics Algorithms, 2008), in world axes, and symmetric 6x6 matrices.
 *
 * A motion is an angular velocity and the velocity of the body's point at a reference point O; a force is a torque
 * about O and a force; an inertia maps a motion to a momentum, which is a kind of force. All terms of a sum have the
 * same O, so the transforms between the bodies of a tree are identities; only `spatial_*_shift`, to another reference
 * point, and `spatial_*_rotate`, to other axes, remain. */
#ifndef CORE_SPATIAL_H
#define CORE_SPATIAL_H

#include "core/dense.h"
#include "core/vec3.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

typedef struct spatial_motion {
    vec3 angular, linear;
} spatial_motion;

typedef struct spatial_force {
    vec3 torque, force;
} spatial_force;

/* A symmetric 6x6 matrix [angular, coupling; coupling^T, linear]. For a rigid body: linear = m 1, coupling = m [c]x.
 * An articulated inertia, that of a body with joints, has this form too. */
typedef struct spatial_inertia {
    mat3 angular, coupling, linear;
} spatial_inertia;

/* clang-format off: one line an operation */
static inline spatial_motion spatial_motion_zero(void) {
    return (spatial_motion){{0, 0, 0}, {0, 0, 0}};
}
static inline spatial_motion spatial_motion_mul_add(spatial_motion a, spatial_motion b, double s) {
    return (spatial_motion){vec3_mul_add(a.angular, b.angular, s), vec3_mul_add(a.linear, b.linear, s)};
}
static inline spatial_force spatial_force_add(spatial_force a, spatial_force b) {
    return (spatial_force){vec3_add(a.torque, b.torque), vec3_add(a.force, b.force)};
}
static inline spatial_force spatial_force_mul_add(spatial_force a, spatial_force b, double s) {
    return (spatial_force){vec3_mul_add(a.torque, b.torque, s), vec3_mul_add(a.force, b.force, s)};
}
/* The power of a force in a motion. */
static inline double spatial_dot(spatial_motion m, spatial_force f) {
    return vec3_dot(m.angular, f.torque) + vec3_dot(m.linear, f.force);
}

/* The rotation about an axis through a point at r from O. */
static inline spatial_motion spatial_motion_turn(vec3 axis, vec3 r) {
    return (spatial_motion){axis, vec3_cross(r, axis)};
}
/* The velocity of the body's point at r from O. */
static inline vec3 spatial_motion_point(spatial_motion m, vec3 r) {
    return vec3_add(m.linear, vec3_cross(m.angular, r));
}
/* A force acting at r from O, with a torque about that point. */
static inline spatial_force spatial_force_at(vec3 torque, vec3 force, vec3 r) {
    return (spatial_force){vec3_add(torque, vec3_cross(r, force)), force};
}

/* A rigid body of mass m, centre of mass at c from O, inertia about that centre in the same axes. */
static inline spatial_inertia spatial_inertia_rigid(double mass, vec3 c, mat3 inertia) {
    mat3 arm = mat3_skew(c);
    return (spatial_inertia){mat3_add(inertia, mat3_scale(mat3_mul(arm, arm), -mass)), mat3_scale(arm, mass),
                             mat3_diagonal(mass, mass, mass)};
}
static inline spatial_inertia spatial_inertia_add(spatial_inertia a, spatial_inertia b) {
    return (spatial_inertia){mat3_add(a.angular, b.angular), mat3_add(a.coupling, b.coupling),
                             mat3_add(a.linear, b.linear)};
}
static inline spatial_force spatial_inertia_mul(const spatial_inertia *a, spatial_motion m) {
    return (spatial_force){
        vec3_add(mat3_mul_vec(a->angular, m.angular), mat3_mul_vec(a->coupling, m.linear)),
        vec3_add(mat3_mul_vec_transposed(a->coupling, m.angular), mat3_mul_vec(a->linear, m.linear))};
}
/* a + s f f^T */
static inline void spatial_inertia_add_outer(spatial_inertia *a, spatial_force f, double s) {
    vec3 torque = vec3_scale(f.torque, s), force = vec3_scale(f.force, s);
    a->angular = mat3_add(a->angular, mat3_outer(torque, f.torque));
    a->coupling = mat3_add(a->coupling, mat3_outer(torque, f.force));
    a->linear = mat3_add(a->linear, mat3_outer(force, f.force));
}
/* a + kappa J^T J, where J v is the velocity of the point at r from O: a point mass kappa. */
static inline void spatial_inertia_add_point(spatial_inertia *a, double kappa, vec3 r) {
    mat3 arm = mat3_skew(r);
    a->angular = mat3_add(a->angular, mat3_scale(mat3_mul(arm, arm), -kappa));
    a->coupling = mat3_add(a->coupling, mat3_scale(arm, kappa));
    for (int i = 0; i < 9; i += 4) a->linear.m[i] += kappa;
}
/* clang-format on */

/* The Cholesky factor of a spatial inertia (dense.h). */
typedef struct spatial_factor {
    double L[36];
} spatial_factor;

/* False if the inertia is not positive definite. */
static inline bool spatial_inertia_factor(const spatial_inertia *a, spatial_factor *out) {
    for (int row = 0; row < 3; row++)
        for (int column = 0; column < 3; column++) {
            out->L[6 * row + column] = a->angular.m[3 * row + column];
            out->L[6 * (row + 3) + column] = a->coupling.m[3 * column + row];
            out->L[6 * (row + 3) + column + 3] = a->linear.m[3 * row + column];
        }
    return dense_cholesky(out->L, 6, 6, 0) == 0;
}

/* The motion for which a factored inertia has the momentum f. */
static inline spatial_motion spatial_factor_solve(const spatial_factor *factor, spatial_force f) {
    double x[6] = {f.torque.x, f.torque.y, f.torque.z, f.force.x, f.force.y, f.force.z};
    dense_cholesky_solve(factor->L, 6, 6, x);
    return (spatial_motion){{x[0], x[1], x[2]}, {x[3], x[4], x[5]}};
}

/* Symmetric 6x6 matrices, row by row. */

/* a = V diag(values) V^T by cyclic Jacobi rotations; a is overwritten. */
static inline void sym6_eigen(double a[36], double values[6], double V[36]) {
    for (int i = 0; i < 36; i++) V[i] = i % 7 == 0;
    for (int round = 0; round < 30; round++) {
        double off = 0, on = 0;
        for (int i = 0; i < 6; i++)
            for (int j = 0; j < 6; j++) *(i == j ? &on : &off) += a[6 * i + j] * a[6 * i + j];
        if (!(off > 1e-34 * on)) break;
        for (int p = 0; p < 5; p++)
            for (int q = p + 1; q < 6; q++) {
                if (a[6 * p + q] == 0) continue;
                double theta = (a[6 * q + q] - a[6 * p + p]) / (2 * a[6 * p + q]);
                double t = copysign(1, theta) / (fabs(theta) + sqrt(theta * theta + 1)), c = 1 / sqrt(t * t + 1),
                       s = t * c;
                for (int k = 0; k < 6; k++) {
                    double x = a[6 * k + p], y = a[6 * k + q];
                    a[6 * k + p] = c * x - s * y, a[6 * k + q] = s * x + c * y;
                }
                for (int k = 0; k < 6; k++) {
                    double x = a[6 * p + k], y = a[6 * q + k];
                    a[6 * p + k] = c * x - s * y, a[6 * q + k] = s * x + c * y;
                }
                for (int k = 0; k < 6; k++) {
                    double x = V[6 * k + p], y = V[6 * k + q];
                    V[6 * k + p] = c * x - s * y, V[6 * k + q] = s * x + c * y;
                }
            }
    }
    for (int i = 0; i < 6; i++) values[i] = a[7 * i];
}

/* The nearest positive semidefinite matrix, for one that is semidefinite except for rounding. */
static inline void sym6_make_semidefinite(double a[36]) {
    double work[36], values[6], V[36];
    bool positive = true;
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < i; j++) a[6 * i + j] = a[6 * j + i] = 0.5 * (a[6 * i + j] + a[6 * j + i]);
    memcpy(work, a, sizeof work);
    sym6_eigen(work, values, V);
    for (int k = 0; k < 6; k++) positive = positive && values[k] >= 0;
    if (positive) return;
    for (int i = 0; i < 6; i++)
        for (int j = 0; j <= i; j++) {
            double sum = 0;
            for (int k = 0; k < 6; k++) sum += V[6 * i + k] * fmax(values[k], 0) * V[6 * j + k];
            a[6 * i + j] = a[6 * j + i] = sum;
        }
}

#endif
