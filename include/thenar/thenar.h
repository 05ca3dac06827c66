/* Thenar: soft hands that touch things. This header includes the whole public API. */
#ifndef THENAR_THENAR_H
#define THENAR_THENAR_H

#include "thenar/status.h"
#include "thenar/mesh.h"
#include "thenar/model.h"
#include "thenar/sim.h"
#include "thenar/hand.h"
#include "thenar/device.h"
#include "thenar/haptic.h"
#include "thenar/scene.h"
#include "thenar/recording.h"
#include "thenar/tactile.h"

#endif
