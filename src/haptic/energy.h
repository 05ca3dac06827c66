/* The energy that goes through a device, and holding it back.
 *
 * Between two ticks the device holds the force f and moves by dx: it gives f dx to the person. What was put in less what
 * was given, with a small reserve, is what may still be given (Hannaford and Ryu's passivity observer, with the books of
 * an energy tank). A force that would give more within the next HORIZON at the speed of now is scaled down. It is never
 * turned round, and at rest it is never touched, so a wall that is leaned on stays a wall.
 *
 * The weight of a tool is left out of it: a constant force gives on the way down what was put in on the way up. With it,
 * a heavy hand that was lowered would have emptied the tank, and the wall that it meets would buzz (4.8 N, 0.3 mm). But it
 * is known as a low-passed force only, and what swings slowly passes: a simulation in slow motion, five times slower than
 * the person who holds its hand, shook that person with 14 J in 3 s. So weight has books of its own, with a large reserve. */
#ifndef THENAR_HAPTIC_ENERGY_H
#define THENAR_HAPTIC_ENERGY_H

#include "thenar/haptic.h"

typedef struct haptic_energy {
    double in, out;            /* J, since the beginning */
    double net;                /* given less put in, weight apart, J */
    double worst;              /* the most that ever was, J */
    double tank;               /* what may be given, less the reserve, J */
    double share;              /* of the force that is not weight, that is let through */
    double lowered;            /* J that weight gave and was not given back */
    double weight_share;       /* of the weight, that is let through */
    double sent[6], weight[6]; /* what the device holds, and what of it is weight */
} haptic_energy;

/* Takes note of a move (m, rad) of the device. */
void haptic_energy_observe(haptic_energy *energy, const double move[6], double most);

/* Holds a wrench back if it must, for a device that moves at `velocity`; true if it did. */
bool haptic_energy_limit(haptic_energy *energy, const double weight[6], const double velocity[6], double reserve,
                         double h, double wrench[6]);

/* Takes note of what is sent: `gain` of a wrench. */
void haptic_energy_send(haptic_energy *energy, const double wrench[6], const double weight[6], double gain);

#endif
