/* What a scene says of how its handles are held. */
#ifndef THENAR_HAPTIC_HELD_H
#define THENAR_HAPTIC_HELD_H

#include "world/model.h"

#include "thenar/haptic.h"

/* Device, settings and place of a handle as the scene has them; what it does not say stays. */
void haptic_as_said(const thenar_model *model, int handle, thenar_haptic_handle *out);

#endif
