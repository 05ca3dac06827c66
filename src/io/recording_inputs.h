/* What a recording holds to be replayed bit for bit: the state that it begins with, and what was set from outside
 * before each step.
 *
 * All that can be set between two steps (forces, drivers, poses) becomes part of the simulation's kept state, so an
 * input is a difference: between what a step left and what the next one began with. Nothing that sets anything has to
 * say so. docs/recording-format.md has the bytes. */
#ifndef IO_RECORDING_INPUTS_H
#define IO_RECORDING_INPUTS_H

#include "base/error.h"

#include "thenar/recording.h"
#include "thenar/sim.h"

#include <stdbool.h>

#define INPUTS_NAME 16

/* First in a STAT chunk: how the simulation was made; a snapshot follows. */
typedef struct inputs_start {
    char solver[INPUTS_NAME], contact[INPUTS_NAME], friction[INPUTS_NAME], coupling[INPUTS_NAME];
} inputs_start;

/* First in an INPT chunk; ranges of changed bytes follow, each an inputs_range and its bytes. */
typedef struct inputs_step {
    uint64_t step; /* number of the step that it is for */
    uint64_t hash; /* of the state behind that step */
} inputs_step;

typedef struct inputs_range {
    uint64_t offset, size; /* in the kept state, bytes, multiples of 8 */
} inputs_range;

typedef struct recorded_inputs {
    bool started;
    uint64_t step;      /* that `after` is behind */
    uint64_t hash;      /* of it */
    char *after;        /* the kept state there */
    unsigned char *out; /* the payload of a chunk */
} recorded_inputs;

bool recorded_inputs_create(const thenar_sim *sim, recorded_inputs *inputs);
void recorded_inputs_free(recorded_inputs *inputs);

/* How large a payload can be. */
size_t recorded_inputs_most(const thenar_sim *sim);

/* Behind a step: the payload for it in inputs->out, its size, and the type of its chunk: INPT, or STAT where the state
 * is not one step further than at the last call. NULL: there was no step. */
const char *recorded_inputs_next(recorded_inputs *inputs, const thenar_sim *sim, size_t *size);

/* The hash of the state that was recorded last: what a replay ends with. */
uint64_t recorder_hash(const thenar_recorder *recorder);

/* How a simulation was made, for comparison. */
inputs_start inputs_start_of(const thenar_sim *sim);

#endif
