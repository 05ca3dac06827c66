/* Coulomb-Contensou friction: what a patch of contact can bear against sliding and spinning at once (talvas2015, section
 * 3.4, after Leine and Glocker 2003, A set-valued force law for spatial Coulomb-Contensou friction).
 *
 * A patch slides with v and turns with w about its normal, so its point i goes with v + w q_i, q_i = n x r_i, and bears
 * its share of mu N against that. With mu N = 1 the dissipation, the velocity potential of Eq. 17, is
 *
 *   Phi(v, w) = sum_i share_i |v + w q_i|
 *
 * and friction (two forces, one torque) lies in the convex set C that Phi is the support function of: inside, where the
 * patch sticks, at -grad Phi(v, w) where it moves (Eqs. 18 to 20; the printed stick condition of the torque tests the
 * tangential velocity and means the angular one). For a point alone C is Coulomb's disc.
 *
 * The ellipsoid that is often put in the place of C is up to 7 % off. But 64 cells do, however many points there are.
 * Each has the share and the centroid of its points; that these are not all there adds to their speed what is across
 * their motion, so the speed of a cell is |(v + w q, w spread)| with spread^2 half the mean square of their distances
 * from the centroid. */
#ifndef CONSTRAINT_CONTENSOU_H
#define CONSTRAINT_CONTENSOU_H

#include "math/simd.h"

#include <stdbool.h>

#define CONTENSOU_CELLS 64
#define CONTENSOU_BATCHES (CONTENSOU_CELLS / 8)

typedef struct contensou {
    int batches;   /* of eight cells that are in use; the last may end in shares of 0 */
    double radius; /* of gyration, m: 0 for a point, which has no torque */
    double torque; /* a torque without force that is surely in C, N m */
    f64x8 share[CONTENSOU_BATCHES];
    f64x8 x[CONTENSOU_BATCHES], y[CONTENSOU_BATCHES]; /* q, m */
    f64x8 spread[CONTENSOU_BATCHES];                  /* of a cell's points about there, m */
} contensou;

/* The law of `count` points: shares that add up to 1, places r in the plane of the patch (x, y of each), about their
 * common centre. */
contensou contensou_make(int count, const double *share, const double (*place)[2]);

/* Phi and its gradient at (v_x, v_y, w). Where a point does not move it adds nothing to the gradient. */
double contensou_potential(const contensou *law, const double motion[3], double gradient[3]);

/* The point of bound C that is nearest to z, in the norm |f|^2 + (torque / arm)^2. start: three numbers that the next
 * call for the same patch begins from; zeros at first. True if z is in bound C, so that the patch sticks. */
bool contensou_project(const contensou *law, double bound, double arm, const double z[3], double start[3],
                       double out[3]);

#endif
