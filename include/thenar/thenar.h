/* Thenar: real-time simulation of soft hands and what they touch. This header includes the whole public API.
 *
 * The library thenar has the physics: status, mesh, model, sim, hand, handle, tactile. The library thenar_io has
 * files, scenes, recordings and devices: file, scene, recording, device, haptic, output. */
#ifndef THENAR_THENAR_H
#define THENAR_THENAR_H

#include "thenar/status.h"
#include "thenar/mesh.h"
#include "thenar/model.h"
#include "thenar/sim.h"
#include "thenar/hand.h"
#include "thenar/handle.h"
#include "thenar/tactile.h"

#include "thenar/file.h"
#include "thenar/scene.h"
#include "thenar/recording.h"
#include "thenar/device.h"
#include "thenar/haptic.h"
#include "thenar/output.h"

#endif
