/* A few balls in a rigid solid that touch where the solid does: what it feels other bodies with.
 *
 * A sphere is one ball, a capsule a row of balls along its axis; a box and a cylinder have balls of their rounding's
 * radius (0: points) at their corners and along their rims. All lie inside the solid and reach its surface. Bodies that
 * are smaller than the space between the balls are felt only if they feel back, by balls of their own. */
#ifndef CONTACT_BALLS_H
#define CONTACT_BALLS_H

#include "body/rigid_shape.h"

/* A longer side of a box or a cylinder has balls in its middle too, since what it lies on may be smaller; shorter ones
 * have none, since each costs. */
#define CONTACT_LONG_SIDE 0.1 /* m */
#define CONTACT_RIM 16    /* balls on a rim of a cylinder: it rolls as such a polygon does, even to 2 % of its radius */
#define CONTACT_CAPSULE 9 /* balls in a capsule at most; a radius apart if that takes fewer */
#define CONTACT_BALLS_MOST 64 /* of any primitive */

/* Writes the centres in the body's frame and tells the radius they have in common, m. Returns how many there are; the
 * shape is no plane and no mesh. */
int contact_balls(const rigid_shape *shape, vec3 centre[CONTACT_BALLS_MOST], double *radius);

#endif
