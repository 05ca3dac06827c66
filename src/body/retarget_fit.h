/* Directions of a tracked hand to the orientation R of the base and the angles q, by damped least squares with bounds.
 *
 *     min over R, q of  sum_v w_v rho(|m_v(q) - R^T s_v|^2) + sum_o w_o rho(|log(R^T S_o R_b(q)^T)|^2),
 *     lower <= q <= upper.
 * s_v: a vector between two tracked joints over its length; m_v: the same of the model, its bones scaled to the tracked
 * lengths, in the frame of the base; S_o: a tracked orientation, R_b the model's; rho(x) = c^2 log(1 + x / c^2), which
 * lets go of what does not fit. Fingers meet in R only: the normal equations are an arrow of five 4x4 blocks and a 3x3
 * one. */
#ifndef BODY_RETARGET_FIT_H
#define BODY_RETARGET_FIT_H

#include "body/hand_skeleton.h"

/* The bones `first` to `last` of a finger (0..2), one after the other; or, with finger -1, a vector in the palm. */
typedef struct fit_vector {
    int finger, first, last;
    vec3 seen;       /* in the world, over its length */
    vec3 fixed;      /* the part of the model's vector that lies in the palm, over the same length */
    double share[3]; /* of each bone's own vector in the model's */
    double weight;
} fit_vector;

typedef struct fit_turn {
    int finger, bone; /* finger -1: the base */
    quat seen;
    double weight;
} fit_turn;

#define FIT_MOST_VECTORS 40
#define FIT_MOST_TURNS HAND_BONES

typedef struct fit_problem {
    const hand_skeleton *hand;
    int vector_count, turn_count;
    fit_vector vectors[FIT_MOST_VECTORS];
    fit_turn turns[FIT_MOST_TURNS];
} fit_problem;

typedef struct fit_point {
    quat turn;
    double q[HAND_ANGLES];
} fit_point;

/* Improves a point; `width` is c. Returns the number of iterations, `most` at most. */
int fit_solve(const fit_problem *problem, double width, int most, fit_point *point);
/* Root mean square of |m_v - R^T s_v| over the vectors along fingers, or over all if there are none; rad. */
double fit_residual(const fit_problem *problem, const fit_point *point);
/* The vector of a bone of a finger in the frame of the base, m, in the model's length. */
void fit_finger_vectors(const hand_skeleton *hand, int finger, const double q[HAND_FINGER_ANGLES], vec3 vectors[3]);

/* The rotation that brings `from` nearest to `to`, weighted (Horn 1987). */
quat fit_rotation(const vec3 *from, const vec3 *to, const double *weight, int count);

#endif
