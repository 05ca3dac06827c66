/* A recording's inputs, stepped through again. Files are untrusted: what an input writes into the state is checked as a
 * snapshot is. */
#include "thenar/recording.h"

#include "core/error.h"
#include "core/memory.h"
#include "io/recording.h"
#include "world/sim.h"

#include <stdlib.h>
#include <string.h>

struct thenar_replay {
    thenar_recording *recording;
    thenar_sim *sim;
    uint64_t offset; /* of the next chunk */
    bool started;
    char *state;                             /* the simulation's, with the inputs of the next step */
    unsigned char *stored, *payload, *piece; /* of a chunk */
    size_t stored_capacity, max;             /* of the two */
};

static thenar_status complain(const thenar_replay *replay, thenar_error *error, const char *text) {
    return recording_complain(replay->recording, replay->offset, error, text);
}

/* The payload of a chunk into replay->payload. */
static thenar_status read_payload(thenar_replay *replay, const recording_chunk *chunk, thenar_error *error) {
    const thenar_recording *recording = replay->recording;
    if (chunk->raw_size > replay->max || chunk->stored_size > replay->stored_capacity)
        return complain(replay, error, "inputs of another size than this simulation's; is it the same scene?");
    thenar_status status = recording_verify_chunk(recording, replay->offset, chunk, replay->piece, error);
    if (status != THENAR_OK) return status;
    bool packed = chunk->flags & RECORDING_FLAG_ZSTD;
    if (!packed && chunk->stored_size != chunk->raw_size) return complain(replay, error, "inputs of the wrong size");
    status = recording_read_bytes(recording, replay->offset + sizeof *chunk, packed ? replay->stored : replay->payload,
                                  (size_t)chunk->stored_size, error);
    if (status != THENAR_OK || !packed) return status;
    size_t size = ZSTD_decompressDCtx(recording->decompressor, replay->payload, replay->max, replay->stored,
                                      (size_t)chunk->stored_size);
    return size == chunk->raw_size ? THENAR_OK : complain(replay, error, "inputs that cannot be decompressed");
}

static thenar_status expect_name(const thenar_replay *replay, const char *what, const char recorded[INPUTS_NAME],
                                 const char *here, thenar_error *error) {
    if (strncmp(recorded, here, INPUTS_NAME) == 0) return THENAR_OK;
    return error_at(error, replay->recording->path, 0, 0,
                    "was recorded with %s %.*s; expected %s, as this simulation has", what, INPUTS_NAME - 1, recorded,
                    here);
}

static thenar_status take_state(thenar_replay *replay, size_t size, thenar_error *error) {
    inputs_start start, here = inputs_start_of(replay->sim);
    if (size < sizeof start) return complain(replay, error, "a state of the wrong size");
    memcpy(&start, replay->payload, sizeof start);
    thenar_status status = expect_name(replay, "solver", start.solver, here.solver, error);
    if (status == THENAR_OK) status = expect_name(replay, "contact", start.contact, here.contact, error);
    if (status == THENAR_OK) status = expect_name(replay, "friction", start.friction, here.friction, error);
    if (status == THENAR_OK) status = expect_name(replay, "coupling", start.coupling, here.coupling, error);
    if (status != THENAR_OK) return status;
    thenar_error reported;
    status = thenar_sim_restore(replay->sim, replay->payload + sizeof start, size - sizeof start, &reported);
    if (status != THENAR_OK) return error_at(error, replay->recording->path, 0, 0, "%s", reported.text);
    replay->started = true;
    return THENAR_OK;
}

/* The ranges of a step's inputs into a copy of the state, and that into the simulation. */
static thenar_status set_inputs(thenar_replay *replay, size_t size, thenar_error *error) {
    size_t kept = replay->sim->kept_size;
    if (size == 0) return THENAR_OK;
    memcpy(replay->state, replay->sim->kept, kept);
    const unsigned char *at = replay->payload + sizeof(inputs_step);
    while (size > 0) {
        inputs_range range;
        if (size < sizeof range) return complain(replay, error, "inputs that end in the middle");
        memcpy(&range, at, sizeof range);
        at += sizeof range;
        size -= sizeof range;
        if (range.size > size || range.offset > kept || range.size > kept - range.offset)
            return complain(replay, error, "inputs outside the state");
        memcpy(replay->state + range.offset, at, (size_t)range.size);
        at += range.size;
        size -= (size_t)range.size;
    }
    thenar_error reported;
    thenar_status status = sim_take_state(replay->sim, replay->state, "damaged inputs", &reported);
    return status == THENAR_OK ? status : complain(replay, error, reported.text);
}

static thenar_status step_once(thenar_replay *replay, size_t size, thenar_error *error) {
    inputs_step head;
    if (!replay->started || size < sizeof head) return complain(replay, error, "inputs without a state to begin with");
    memcpy(&head, replay->payload, sizeof head);
    if (head.step != thenar_sim_step_count(replay->sim) + 1) return complain(replay, error, "inputs of another step");
    thenar_status status = set_inputs(replay, size - sizeof head, error);
    if (status != THENAR_OK) return status;
    /* A step that was impossible then is so now, and leaves the same state. */
    thenar_sim_step(replay->sim);
    uint64_t hash = thenar_sim_hash(replay->sim);
    if (hash == head.hash) return THENAR_OK;
    return error_at(error, replay->recording->path, 0, 0,
                    "step %llu ends with state %016llx; expected %016llx, as recorded", (unsigned long long)head.step,
                    (unsigned long long)hash, (unsigned long long)head.hash);
}

/* The next chunk that is of inputs; *kind: 'S' a state, 'I' inputs, 0: there are no more. */
static thenar_status next_chunk(thenar_replay *replay, recording_chunk *chunk, char *kind, thenar_error *error) {
    const thenar_recording *recording = replay->recording;
    for (*kind = 0; replay->offset < recording->size; replay->offset += sizeof *chunk + chunk->stored_size) {
        thenar_status status = recording_read_chunk(recording, replay->offset, chunk, error);
        /* What a writer that died left of its last chunk. */
        if (status != THENAR_OK) return recording->damage ? THENAR_OK : status;
        if (recording_is_type(chunk, "STAT")) *kind = 'S';
        if (recording_is_type(chunk, "INPT")) *kind = 'I';
        if (*kind) return THENAR_OK;
    }
    return THENAR_OK;
}

thenar_status thenar_replay_step(thenar_replay *replay, int *done, thenar_error *error) {
    USAGE_STATUS(replay && done, error, "the replay or the pointer to the result is NULL");
    for (;;) {
        recording_chunk chunk;
        char kind;
        *done = 0;
        thenar_status status = next_chunk(replay, &chunk, &kind, error);
        if (status != THENAR_OK) return status;
        *done = kind == 0;
        if (*done) return THENAR_OK;
        status = read_payload(replay, &chunk, error);
        if (status == THENAR_OK)
            status = kind == 'S' ? take_state(replay, (size_t)chunk.raw_size, error)
                                 : step_once(replay, (size_t)chunk.raw_size, error);
        if (status != THENAR_OK) return status;
        replay->offset += sizeof chunk + chunk.stored_size;
        if (kind == 'I') return THENAR_OK;
    }
}

/* The state that the recording begins with. */
static thenar_status begin(thenar_replay *replay, thenar_error *error) {
    recording_chunk chunk;
    char kind;
    thenar_status status = next_chunk(replay, &chunk, &kind, error);
    if (status != THENAR_OK) return status;
    if (kind != 'S')
        return error_at(error, replay->recording->path, 0, 0,
                        "has no inputs; expected a recording that this version of Thenar wrote");
    status = read_payload(replay, &chunk, error);
    if (status == THENAR_OK) status = take_state(replay, (size_t)chunk.raw_size, error);
    replay->offset += sizeof chunk + chunk.stored_size;
    return status;
}

/* Takes the recording over, also if it fails. */
static thenar_status open_replay(thenar_recording *recording, thenar_sim *sim, thenar_replay **out,
                                 thenar_error *error) {
    thenar_replay *replay = MEMORY_ARRAY(thenar_replay, 1);
    if (!replay) {
        thenar_recording_close(recording);
        return error_memory(error, "a replay");
    }
    thenar_status status = THENAR_OK;
    replay->recording = recording;
    replay->sim = sim;
    replay->offset = recording->first_chunk;
    replay->max = recorded_inputs_max(sim);
    replay->stored_capacity = ZSTD_compressBound(replay->max);
    replay->state = memory_aligned(sim->kept_size);
    replay->payload = memory_aligned(replay->max);
    replay->stored = memory_aligned(replay->stored_capacity);
    replay->piece = memory_aligned(RECORDING_PIECE);
    if (!replay->state || !replay->payload || !replay->stored || !replay->piece)
        status = error_memory(error, recording->path);
    if (status == THENAR_OK) status = begin(replay, error);
    if (status == THENAR_OK)
        *out = replay;
    else
        thenar_replay_close(replay);
    return status;
}

thenar_status thenar_replay_open(const char *path, thenar_sim *sim, thenar_replay **out, thenar_error *error) {
    USAGE_STATUS(path && sim && out, error, "the path, the simulation or the pointer to the replay is NULL");
    thenar_recording *recording;
    *out = NULL;
    thenar_status status = thenar_recording_open(path, &recording, error);
    return status == THENAR_OK ? open_replay(recording, sim, out, error) : status;
}

thenar_status thenar_replay_open_memory(const void *bytes, size_t size, thenar_sim *sim, thenar_replay **out,
                                        thenar_error *error) {
    USAGE_STATUS(bytes && sim && out, error, "the bytes, the simulation or the pointer to the replay are NULL");
    thenar_recording *recording;
    *out = NULL;
    thenar_status status = thenar_recording_open_memory(bytes, size, &recording, error);
    return status == THENAR_OK ? open_replay(recording, sim, out, error) : status;
}

void thenar_replay_close(thenar_replay *replay) {
    if (!replay) return;
    thenar_recording_close(replay->recording);
    free(replay->state);
    free(replay->payload);
    free(replay->stored);
    free(replay->piece);
    free(replay);
}
