#include "haptic/energy.h"

#include <math.h>

#define HORIZON 0.004 /* s: some ticks, so that a force that runs out of energy ends in a ramp */

static double dot6(const double *a, const double *b) {
    double sum = 0;
    for (int i = 0; i < 6; i++) sum += a[i] * b[i];
    return sum;
}

void haptic_energy_observe(haptic_energy *energy, const double wrench[6], const double move[6], double most) {
    double given = dot6(wrench, move);
    if (given > 0)
        energy->out += given;
    else
        energy->in -= given;
    energy->worst = fmax(energy->worst, energy->out - energy->in);
    energy->tank = fmin(energy->tank - given, most);
}

double haptic_energy_allow(const haptic_energy *energy, const double wrench[6], const double velocity[6],
                           double reserve) {
    double wanted = HORIZON * dot6(wrench, velocity), left = energy->tank + reserve;
    if (!(wanted > 0) || wanted <= left) return 1;
    return left > 0 ? left / wanted : 0;
}
