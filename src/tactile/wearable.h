/* Wearable devices: defaults, names and checks, and actuator values from a pose and the state of a pad. */
#ifndef TACTILE_WEARABLE_H
#define TACTILE_WEARABLE_H

#include "core/vec3.h"

#include "thenar/tactile.h"

/* The workspace of the device. A thimble does not tilt. */
void device_bounds(const thenar_wearable_def *def, double low[3], double high[3]);

/* Maximum depth, m: where the pad pushes back with the force limit. */
double device_deepest(const thenar_wearable_def *def);

/* The pose when nothing is near. */
void device_home(const thenar_wearable_def *def, double pose[3]);

/* Moves from the current pose towards the target, as far as its speeds allow within dt. `max` further bounds the
 * displacement into the pad, m, but not away from it. `angles` (platforms): current servo angles, updated. Both poses
 * are in the workspace, in which the links close. */
void device_approach(const thenar_wearable_def *def, const double wanted[3], double dt, double max, double pose[3],
                     double angles[3]);

bool device_is_platform(const thenar_wearable_def *def);

/* Kinematics of the platforms: from the pose of the surface that touches the pad to the angles of three servos, and
 * back. Poses as in tactile.h, lengths and angles as in thenar_wearable_def.
 *
 * Both platforms rotate without torsion, about an axis in the plane of the base: R is the smallest rotation from e_z
 * to the normal n, R e_z = n. Their joints are M_k = c + R r e_k, with the centre c of their circle platform_depth
 * behind the surface, and three directions e_k at 120 degrees.
 *
 * Cable: the centre of the surface stays on the axis. l_k = |M_k - b_k| with the pulleys b_k; a pulley rotates by
 * (l_k0 - l_k) / pulley_radius from its angle at the zero pose.
 *
 * 3-RRS: each leg moves in the plane of e_k and z, which determines c: c_x = r/2 (R_11 - R_22), c_y = -r R_21 with x
 * along the first leg. In that plane, measured from the servo, the ball joint is rho = e_k . M_k - base_radius outward
 * and zeta = base_height - M_kz down, L^2 = rho^2 + zeta^2, and the crank is at
 *     theta_k = atan2(zeta, rho) - acos((crank^2 + L^2 - rod^2) / (2 crank L)),
 * where 0 is straight out and a right angle points towards the pad, with its hinge on the outer side. */

/* False: the links do not close. */
bool platform_inverse(const thenar_wearable_def *def, const double pose[3], double angles[3]);
/* Positions of the platform's joints, for pictures and checks. */
void platform_joints(const thenar_wearable_def *def, const double pose[3], vec3 joint[3]);

#endif
