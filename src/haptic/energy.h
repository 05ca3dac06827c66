/* The energy that goes through a device, and holding it back.
 *
 * Between two ticks the device holds the force f and moves by dx: it gives f dx to the person. What was put in less what
 * was given, with a small reserve, is what may still be given (Hannaford and Ryu's passivity observer, with the books of
 * an energy tank). A force that would give more within the next HORIZON at the speed of now is scaled down; it is never
 * turned round, and at rest it is never touched, so a wall that is leaned on stays a wall. */
#ifndef THENAR_HAPTIC_ENERGY_H
#define THENAR_HAPTIC_ENERGY_H

#include "thenar/haptic.h"

typedef struct haptic_energy {
    double in, out; /* J, since the beginning */
    double worst;   /* most that was given beyond what was put in, J */
    double tank;    /* what may be given, less the reserve, J */
} haptic_energy;

/* Takes note of a move (m, rad) under a wrench. */
void haptic_energy_observe(haptic_energy *energy, const double wrench[6], const double move[6], double most);

/* Share of a wrench that may be sent to a device that moves at `velocity`, 0 to 1. */
double haptic_energy_allow(const haptic_energy *energy, const double wrench[6], const double velocity[6],
                           double reserve);

#endif
