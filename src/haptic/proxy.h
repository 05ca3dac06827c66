/* The proxy of the handle, between the device and the tool. */
#ifndef THENAR_HAPTIC_PROXY_H
#define THENAR_HAPTIC_PROXY_H

#include "haptic/tick.h"

/* Moves it by h seconds; wrench: what the coupling does to the device then. */
void haptic_proxy_move(const thenar_haptic_settings *settings, haptic_state *state, double h, double wrench[6]);

/* It begins where the device is. */
void haptic_proxy_restart(haptic_state *state);

#endif
