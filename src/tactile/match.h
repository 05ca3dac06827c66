/* Contact surface matching (perez2016, IV): the pose of a plane that touches a finger pad as the virtual surface does.
 *
 * In the frame of a pad (tactile/pad.h: x across the finger, y towards its tip, z into it) a pose is
 * q = (pitch, roll, displacement): the plane through (0, 0, q[2]) with the normal
 *     n(q) = Ry(roll) Rx(pitch) e_z = (sin roll cos pitch, -sin pitch, cos roll cos pitch)
 * towards the finger. With d(x) = n . (x - q[2] e_z) the pose minimizes
 *     1/2 sum_i touch_i d(target_i)^2 + 1/2 sum_i free_i min(0, d(skin_i))^2
 *       + 1/2 hold |q - before|^2_W + 1/2 rest |q - home|^2_W,      |q|^2_W = arm^2 (q0^2 + q1^2) + q2^2
 * within low <= q <= high. The first sum draws the plane to where the virtual surface is, the second keeps it from
 * pressing skin that the surface does not touch, the third holds what the first two leave open (a point says nothing of
 * the tilt), the fourth is for what comes near or goes away.
 *
 * Newton's method: each step solves the quadratic model exactly within the bounds, by trying which of the three are
 * active (clipping a free solution is not optimal), and is halved until the sum falls. With Gauss and Newton's Hessian
 * alone it takes more than 12 steps where a surface is far outside the workspace. */
#ifndef TACTILE_MATCH_H
#define TACTILE_MATCH_H

#include "math/simd.h"

#define MATCH_ITERATIONS 12

/* Points in groups of eight, structure of arrays; groups are filled up with points of no weight. */
typedef struct match_points {
    int group_count;
    f64x8 *target[3]; /* m: on the virtual surface */
    f64x8 *touch;     /* m^2: their weight */
    f64x8 *skin[3];   /* m */
    f64x8 *free;      /* m^2 */
} match_points;

typedef struct match_problem {
    match_points points;
    double before[3], home[3];
    double hold, rest; /* m^2; hold > 0 */
    double arm;        /* m: what a radian of tilt counts for */
    double low[3], high[3];
} match_problem;

typedef struct match_result {
    double pose[3]; /* rad, rad, m */
    double cost;    /* m^4 */
    int iterations;
    unsigned bounded; /* bit k: pose[k] is at a bound */
} match_result;

double match_cost(const match_problem *problem, const double q[3]);
/* From `before`, brought within the bounds. The result is always within them. */
match_result match_solve(const match_problem *problem);

/* The normal of a pose. */
static inline void match_normal(const double q[3], double n[3]) {
    n[0] = sin(q[1]) * cos(q[0]);
    n[1] = -sin(q[0]);
    n[2] = cos(q[1]) * cos(q[0]);
}

#endif
