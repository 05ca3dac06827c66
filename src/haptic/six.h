/* Six numbers, linear first, and the little algebra that they need. */
#ifndef THENAR_HAPTIC_SIX_H
#define THENAR_HAPTIC_SIX_H

#include "math/vec3.h"

#include <stdbool.h>

#define SANE_LENGTH 1e3     /* m, m/s, rad/s: nothing that is felt is larger */
#define SANE_STIFFNESS 1e12 /* N/m and the like, N */
#define SANE_MASS 1e6       /* kg and the like */

/* All are numbers, and none is larger. */
static inline bool all_within(const double *v, int count, double most) {
    for (int i = 0; i < count; i++)
        if (!(fabs(v[i]) <= most)) return false;
    return true;
}

static inline quat quat_load(const double *q) {
    return quat_unit((quat){q[0], q[1], q[2], q[3]});
}

static inline void quat_store(double *out, quat q) {
    out[0] = q.x, out[1] = q.y, out[2] = q.z, out[3] = q.w;
}

/* The turn from a to b, in the world's axes. */
static inline vec3 turn_between(quat a, quat b) {
    return quat_to_rotation_vector(quat_mul(b, quat_conjugate(a)));
}

/* out += factor matrix v */
static inline void six_add_product(double out[6], const double *matrix, const double *v, double factor) {
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++) out[i] += factor * matrix[6 * i + j] * v[j];
}

#endif
