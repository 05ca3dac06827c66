/* The kinematics of the platforms: from the pose of the surface that touches the pad to the angles of three servos, and
 * back. Poses as in tactile/match.h, lengths and angles as in thenar_wearable_def.
 *
 * Both platforms turn without torsion, about an axis in the plane of the base: R is the least turn from e_z to the
 * normal n, R e_z = n. Their joints are M_k = c + R r e_k, with the centre c of their circle platform_depth behind the
 * surface, and e_k three directions at 120 degrees.
 *
 * Cable: the surface's centre stays on the axis. l_k = |M_k - b_k| with the pulleys b_k; a pulley turns by
 * (l_k0 - l_k) / pulley_radius from where the pose is zero.
 *
 * 3-RRS: each leg moves in the plane of e_k and z, which leaves c no choice: c_x = r/2 (R_11 - R_22), c_y = -r R_21 with
 * x along the first leg. In that plane, from the servo, the ball joint is rho = e_k . M_k - base_radius out and zeta =
 * base_height - M_kz down, L^2 = rho^2 + zeta^2, and the crank is at
 *     theta_k = atan2(zeta, rho) - acos((crank^2 + L^2 - rod^2) / (2 crank L)),
 * 0 straight out and a right angle towards the pad, its hinge on the outer side. */
#ifndef TACTILE_PLATFORM_H
#define TACTILE_PLATFORM_H

#include "math/vec3.h"
#include "thenar/tactile.h"

/* False: the links do not close. */
bool platform_inverse(const thenar_wearable_def *def, const double pose[3], double angles[3]);
/* Where the joints of the platform are, for pictures and checks. */
void platform_joints(const thenar_wearable_def *def, const double pose[3], vec3 joint[3]);
/* Newton's method from the pose zero. Of the 3-RRS on all six coordinates of the platform, with the planes of the legs
 * as equations: it knows nothing of the formulas above, and checks them. */
bool platform_forward(const thenar_wearable_def *def, const double angles[3], double pose[3]);

/* How the links hold the platform at a pose: the determinant of what Newton's method solves. Where it changes its sign,
 * the platform can move while the servos stand still. */
double platform_hold(const thenar_wearable_def *def, const double pose[3]);

#endif
