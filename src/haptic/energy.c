#include "haptic/energy.h"

#include <math.h>

#define HORIZON 0.004    /* s: some ticks, so that a force that runs out of energy ends in a ramp */
#define COME_BACK 0.01   /* s, from nothing to all of it */
#define WEIGHT_MOST 2.0  /* J that weight may give in advance: 5 N lowered by 40 cm */
#define WEIGHT_POWER 0.1 /* W, besides: for who lowers things all day */
#define LIFTED_MOST 10.0 /* J that are remembered as lifted */

void haptic_energy_observe(haptic_energy *energy, const double move[6], double most) {
    double given = 0, lifted = 0;
    for (int i = 0; i < 6; i++) given += energy->sent[i] * move[i], lifted += energy->weight[i] * move[i];
    if (given > 0)
        energy->out += given;
    else
        energy->in -= given;
    energy->lowered = fmax(energy->lowered + lifted, -LIFTED_MOST);
    energy->net += given - lifted;
    energy->worst = fmax(energy->worst, energy->net);
    energy->tank = fmin(energy->tank - (given - lifted), most);
}

/* How much of a force may be let through that wants so much energy where so much is left; comes back slowly. */
static double let_through(double share, double wanted, double left, double h) {
    double most = wanted > left ? left / wanted : 1;
    return fmin(most, share + h / COME_BACK);
}

bool haptic_energy_limit(haptic_energy *energy, const double weight[6], const double velocity[6], double reserve,
                         double h, double wrench[6]) {
    double wanted = 0, lowering = 0;
    for (int i = 0; i < 6; i++) {
        wanted += HORIZON * (wrench[i] - weight[i]) * velocity[i];
        lowering += HORIZON * weight[i] * velocity[i];
    }
    if (energy->lowered > 0) energy->lowered = fmax(0, energy->lowered - WEIGHT_POWER * h);
    energy->share = let_through(energy->share, wanted, fmax(0, energy->tank + reserve), h);
    energy->weight_share = let_through(energy->weight_share, lowering, fmax(0, WEIGHT_MOST - energy->lowered), h);
    for (int i = 0; i < 6; i++) wrench[i] = energy->weight_share * weight[i] + energy->share * (wrench[i] - weight[i]);
    return energy->share < 1 || energy->weight_share < 1;
}

void haptic_energy_send(haptic_energy *energy, const double wrench[6], const double weight[6], double gain) {
    for (int i = 0; i < 6; i++) {
        energy->sent[i] = gain * wrench[i];
        energy->weight[i] = gain * energy->weight_share * weight[i];
    }
}
