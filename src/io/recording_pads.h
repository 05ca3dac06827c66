/* What a recording has of finger pads and tactile devices: where pads are, in its metadata, for whoever works commands
 * out of it later; and what the devices of a run did, in channels (thenar_recorder_create_tactile). */
#ifndef IO_RECORDING_PADS_H
#define IO_RECORDING_PADS_H

#include "base/error.h"
#include "thenar/recording.h"
#include "thenar/tactile.h"

#include <jansson.h>

#define RECORDED_DEVICE_NUMBERS 18

typedef struct recorded_pads {
    int channel_count;
    double **values; /* of each channel */
    char (*names)[256];
} recorded_pads;

/* {"hands": [...], "tactile": {...}} as docs/recording-format.md has it, or "" without hands. free() it; NULL when memory
 * runs out. tactile may be NULL. */
char *describe_pads(const thenar_model *model, const thenar_tactile *tactile);

/* {"devices": [...], "pads": [...]}: what they are, and which points of which skin. A new reference. */
json_t *describe_tactile(const thenar_tactile *tactile);

/* Channels: one a device, one a pad. tactile may be NULL: none. */
int recorded_pads_count(const thenar_tactile *tactile);
/* False: out of memory. */
bool recorded_pads_create(const thenar_tactile *tactile, recorded_pads *out);
/* The names of the channels are in `pads`. */
void recorded_pads_describe(const thenar_tactile *tactile, const recorded_pads *pads,
                            thenar_recording_channel *channels);
void recorded_pads_update(const thenar_tactile *tactile, recorded_pads *pads);
void recorded_pads_free(recorded_pads *pads);

#endif
