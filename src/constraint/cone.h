/* Coulomb's cone K = { f : |f_t| <= mu f_n } in a contact's frame (x the normal, y and z the tangents).
 *
 * P(z), the point of K that is nearest to z, and its derivative D = dP/dz, symmetric and positive semidefinite:
 *   stick  |z_t| <= mu z_n      P = z,                                  D = 1
 *   open   mu |z_t| <= -z_n     P = 0,                                  D = 0
 *   slip   otherwise            P = alpha w,  w = (1, mu t), t = z_t / |z_t|,  alpha = (z_n + mu |z_t|) / (1 + mu^2)
 *                               D = w w^T / (1 + mu^2) + (mu alpha / |z_t|) (1_t - t t^T) */
#ifndef CONSTRAINT_CONE_H
#define CONSTRAINT_CONE_H

#include "math/vec3.h"

typedef enum cone_state { CONE_OPEN, CONE_STICK, CONE_SLIP } cone_state;

static inline double cone_tangential(vec3 z) {
    return hypot(z.y, z.z);
}

static inline cone_state cone_state_of(vec3 z, double mu) {
    double size = cone_tangential(z);
    if (mu * size <= -z.x) return CONE_OPEN;
    /* Without friction nothing sticks. */
    return size <= mu * z.x && mu > 0 ? CONE_STICK : CONE_SLIP;
}

static inline vec3 cone_project(vec3 z, double mu, cone_state state) {
    if (state == CONE_OPEN) return vec3_make(0, 0, 0);
    if (state == CONE_STICK) return z;
    double size = cone_tangential(z), alpha = (z.x + mu * size) / (1 + mu * mu);
    double along = size > 0 ? mu * alpha / size : 0;
    return vec3_make(alpha, along * z.y, along * z.z);
}

static inline mat3 cone_derivative(vec3 z, double mu, cone_state state) {
    if (state == CONE_OPEN) return (mat3){{0}};
    if (state == CONE_STICK) return mat3_identity();
    double size = cone_tangential(z), alpha = (z.x + mu * size) / (1 + mu * mu);
    if (!(size > 0)) return mat3_diagonal(1 / (1 + mu * mu), 0, 0);
    double y = z.y / size, x = z.z / size, across = mu * alpha / size;
    vec3 w = {1, mu * y, mu * x};
    mat3 D = mat3_scale(mat3_outer(w, w), 1 / (1 + mu * mu));
    D.m[4] += across * x * x, D.m[5] -= across * x * y;
    D.m[7] -= across * x * y, D.m[8] += across * y * y;
    return D;
}

#endif
