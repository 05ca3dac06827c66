/* Tactile commands worked out from a recording: its pads (metadata), positions, joints and contacts, frame by frame. */
#ifndef APP_TACTILE_REPLAY_H
#define APP_TACTILE_REPLAY_H

#include "thenar/recording.h"
#include "thenar/tactile.h"

#include <jansson.h>

typedef struct tactile_replay tactile_replay;

/* The devices of options are put on the recorded hands. The recording must outlive it. */
thenar_status tactile_replay_create(thenar_recording *recording, const thenar_tactile_options *options,
                                    tactile_replay **out, thenar_error *error);
void tactile_replay_free(tactile_replay *replay);

/* Goes on to a frame; frames must come in order, or devices begin anew. */
thenar_status tactile_replay_frame(tactile_replay *replay, int frame, thenar_error *error);

thenar_tactile *tactile_replay_devices(const tactile_replay *replay);

/* The devices that the recorded run had: the metadata's list, or NULL. A borrowed reference. */
const json_t *tactile_replay_recorded(const json_t *metadata);

#endif
