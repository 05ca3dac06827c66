/* Devices as data: defaults, names and checks; and from a pose and what a pad feels to the values for the actuators. */
#ifndef TACTILE_WEARABLE_H
#define TACTILE_WEARABLE_H

#include "core/vec3.h"

#include "thenar/tactile.h"

/* Poses that the device may take: its workspace. A thimble does not tilt. */
void device_bounds(const thenar_wearable_def *def, double low[3], double high[3]);

/* How deep it may press, m: where the pad pushes back with the force limit. */
double device_deepest(const thenar_wearable_def *def);

/* Where it is when nothing is near. */
void device_home(const thenar_wearable_def *def, double pose[3]);

/* From where it is to where it is wanted, as far as its speeds allow within dt. `most` is a further bound on the
 * displacement, m, into the pad and not away from it. `angles` (platforms): where the servos are, and then where they will be. Both poses are in the
 * workspace, in which the links close. */
void device_approach(const thenar_wearable_def *def, const double wanted[3], double dt, double max, double pose[3],
                     double angles[3]);

bool device_is_platform(const thenar_wearable_def *def);

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

/* False: the links do not close. */
bool platform_inverse(const thenar_wearable_def *def, const double pose[3], double angles[3]);
/* Where the joints of the platform are, for pictures and checks. */
void platform_joints(const thenar_wearable_def *def, const double pose[3], vec3 joint[3]);

#endif
