/* What the loop hears: samples of the device and news of the simulation, and what it makes of them. */
#ifndef THENAR_HAPTIC_LISTEN_H
#define THENAR_HAPTIC_LISTEN_H

#include "haptic/tick.h"

/* `elapsed`: s since the last tick. What is no pose is left out and counted, a jump begins a restart. */
void haptic_take_sample(const thenar_haptic_settings *settings, haptic_state *state, const device_sample *sample,
                        double elapsed);

void haptic_take_news(haptic_state *state, const struct haptic_linear *linear, int64_t now_ns, double elapsed);

#endif
