#include "haptic/energy.h"

#include <math.h>

#define HORIZON 0.004  /* s: some ticks, so that a force that runs out of energy ends in a ramp */
#define COME_BACK 0.01 /* s, from nothing to all of it */

void haptic_energy_observe(haptic_energy *energy, const double move[6], double most) {
    double given = 0, lifted = 0;
    for (int i = 0; i < 6; i++) given += energy->sent[i] * move[i], lifted += energy->weight[i] * move[i];
    if (given > 0)
        energy->out += given;
    else
        energy->in -= given;
    energy->net += given - lifted;
    energy->worst = fmax(energy->worst, energy->net);
    energy->tank = fmin(energy->tank - (given - lifted), most);
}

bool haptic_energy_limit(haptic_energy *energy, const double weight[6], const double velocity[6], double reserve,
                         double h, double wrench[6]) {
    double wanted = 0, left = fmax(0, energy->tank + reserve), share = 1;
    for (int i = 0; i < 6; i++) wanted += HORIZON * (wrench[i] - weight[i]) * velocity[i];
    if (wanted > left) share = left / wanted;
    energy->share = fmin(share, energy->share + h / COME_BACK);
    for (int i = 0; i < 6; i++) wrench[i] = weight[i] + energy->share * (wrench[i] - weight[i]);
    return energy->share < 1;
}

void haptic_energy_send(haptic_energy *energy, const double wrench[6], const double weight[6], double gain) {
    for (int i = 0; i < 6; i++) {
        energy->sent[i] = gain * wrench[i];
        energy->weight[i] = gain * weight[i];
    }
}
