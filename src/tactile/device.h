/* Devices as data: defaults, names and checks; and from a pose and what a pad feels to the values for the actuators. */
#ifndef TACTILE_DEVICE_H
#define TACTILE_DEVICE_H

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
void device_approach(const thenar_wearable_def *def, const double wanted[3], double dt, double most, double pose[3],
                     double angles[3]);

bool device_is_platform(const thenar_wearable_def *def);

#endif
