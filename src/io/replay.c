/* Replaying a recording: its inputs in a simulation, step by step, and its contacts to tactile devices, frame by frame.
 * Files are untrusted: a state with inputs is checked as a snapshot is. */
#include "thenar/recording.h"

#include "core/memory.h"
#include "io/file.h"
#include "io/recording.h"
#include "tactile/tactile.h"
#include "world/sim.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct thenar_replay {
    thenar_recording *recording;
    thenar_sim *sim;
    uint64_t offset; /* of the next chunk */
    bool started;
    char *state;                             /* of the simulation, with the inputs of the next step */
    unsigned char *stored, *payload, *piece; /* of a chunk */
    size_t stored_capacity, payload_capacity;
};

static thenar_status replay_fail(const thenar_replay *replay, thenar_error *error, const char *text) {
    return recording_fail(replay->recording, replay->offset, error, text);
}

/* Reads the payload of a chunk into replay->payload. */
static thenar_status read_payload(thenar_replay *replay, const recording_chunk *chunk, thenar_error *error) {
    const thenar_recording *recording = replay->recording;
    if (chunk->raw_size > replay->payload_capacity || chunk->stored_size > replay->stored_capacity)
        return replay_fail(replay, error, "inputs that do not fit the size of this simulation; is it the same scene?");
    thenar_status status = recording_verify_chunk(recording, replay->offset, chunk, replay->piece, error);
    if (status != THENAR_OK) return status;
    bool packed = chunk->flags & RECORDING_FLAG_ZSTD;
    if (!packed && chunk->stored_size != chunk->raw_size) return replay_fail(replay, error, "inputs of the wrong size");
    status = recording_read_bytes(recording, replay->offset + sizeof *chunk, packed ? replay->stored : replay->payload,
                                  (size_t)chunk->stored_size, error);
    if (status != THENAR_OK || !packed) return status;
    size_t size = ZSTD_decompressDCtx(recording->decompressor, replay->payload, replay->payload_capacity,
                                      replay->stored, (size_t)chunk->stored_size);
    return size == chunk->raw_size ? THENAR_OK : replay_fail(replay, error, "inputs that cannot be decompressed");
}

static thenar_status expect_name(const thenar_replay *replay, const char *what, const char recorded[INPUTS_NAME],
                                 const char *here, thenar_error *error) {
    if (strncmp(recorded, here, INPUTS_NAME) == 0) return THENAR_OK;
    return error_at(error, replay->recording->path, 0, 0,
                    "was recorded with %s %.*s; expected %s, as this simulation has", what, INPUTS_NAME - 1, recorded,
                    here);
}

static thenar_status restore_state(thenar_replay *replay, size_t size, thenar_error *error) {
    inputs_start start, here = inputs_start_of(replay->sim);
    if (size < sizeof start) return replay_fail(replay, error, "a state of the wrong size");
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

/* Writes the ranges of inputs into a copy of the state, and the copy into the simulation. */
static thenar_status set_inputs(thenar_replay *replay, size_t size, thenar_error *error) {
    size_t kept = replay->sim->kept_size;
    if (size == 0) return THENAR_OK;
    memcpy(replay->state, replay->sim->kept, kept);
    const unsigned char *at = replay->payload + sizeof(inputs_step);
    while (size > 0) {
        inputs_range range;
        if (size < sizeof range) return replay_fail(replay, error, "inputs that end within a range");
        memcpy(&range, at, sizeof range);
        at += sizeof range;
        size -= sizeof range;
        if (range.size > size || range.offset > kept || range.size > kept - range.offset)
            return replay_fail(replay, error, "inputs outside the state");
        memcpy(replay->state + range.offset, at, (size_t)range.size);
        at += range.size;
        size -= (size_t)range.size;
    }
    thenar_error reported;
    thenar_status status = sim_take_state(replay->sim, replay->state, "damaged inputs", &reported);
    return status == THENAR_OK ? status : replay_fail(replay, error, reported.text);
}

static thenar_status step_once(thenar_replay *replay, size_t size, thenar_error *error) {
    inputs_step head;
    if (!replay->started || size < sizeof head)
        return replay_fail(replay, error, "inputs without a state to begin with");
    memcpy(&head, replay->payload, sizeof head);
    if (head.step != thenar_sim_step_count(replay->sim) + 1)
        return replay_fail(replay, error, "inputs of another step");
    thenar_status status = set_inputs(replay, size - sizeof head, error);
    if (status != THENAR_OK) return status;
    /* A step that failed in the recorded run fails again, and leaves the same state. */
    thenar_sim_step(replay->sim);
    uint64_t hash = thenar_sim_hash(replay->sim);
    if (hash == head.hash) return THENAR_OK;
    return error_at(error, replay->recording->path, 0, 0,
                    "step %llu ends with state %016llx; expected %016llx, as recorded", (unsigned long long)head.step,
                    (unsigned long long)hash, (unsigned long long)head.hash);
}

/* The next chunk of a state or of inputs; *kind: 'S' a state, 'I' inputs, 0 the end of the recording. */
static thenar_status next_chunk(thenar_replay *replay, recording_chunk *chunk, char *kind, thenar_error *error) {
    const thenar_recording *recording = replay->recording;
    for (*kind = 0; replay->offset < recording->size; replay->offset += sizeof *chunk + chunk->stored_size) {
        thenar_status status = recording_read_chunk(recording, replay->offset, chunk, error);
        /* A killed writer leaves an incomplete last chunk. */
        if (status != THENAR_OK) return recording->damage ? THENAR_OK : status;
        if (recording_is_type(chunk, "STAT")) *kind = 'S';
        if (recording_is_type(chunk, "INPT")) *kind = 'I';
        if (*kind) return THENAR_OK;
    }
    return THENAR_OK;
}

/* Restores the next state, or does the next step; *kind as above. */
static thenar_status process_chunk(thenar_replay *replay, char *kind, thenar_error *error) {
    recording_chunk chunk;
    thenar_status status = next_chunk(replay, &chunk, kind, error);
    if (status != THENAR_OK || *kind == 0) return status;
    status = read_payload(replay, &chunk, error);
    if (status != THENAR_OK) return status;
    status = (*kind == 'S' ? restore_state : step_once)(replay, (size_t)chunk.raw_size, error);
    if (status == THENAR_OK) replay->offset += sizeof chunk + chunk.stored_size;
    return status;
}

thenar_status thenar_replay_step(thenar_replay *replay, int *done, thenar_error *error) {
    USAGE_STATUS(replay && done, error, "the replay or the pointer to the result is NULL");
    char kind;
    thenar_status status;
    do status = process_chunk(replay, &kind, error);
    while (status == THENAR_OK && kind == 'S');
    *done = status == THENAR_OK && kind == 0;
    return status;
}

/* Restores the state at the start of the recording. */
static thenar_status replay_begin(thenar_replay *replay, thenar_error *error) {
    char kind;
    thenar_status status = process_chunk(replay, &kind, error);
    if (status != THENAR_OK || kind != 0) return status;
    return error_at(error, replay->recording->path, 0, 0,
                    "has no inputs; expected a recording written by this version of Thenar");
}

/* Takes ownership of the recording, also on an error. */
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
    replay->payload_capacity = recording_inputs_max(sim);
    replay->stored_capacity = ZSTD_compressBound(replay->payload_capacity);
    replay->state = memory_aligned(sim->kept_size);
    replay->payload = memory_aligned(replay->payload_capacity);
    replay->stored = memory_aligned(replay->stored_capacity);
    replay->piece = memory_aligned(RECORDING_PIECE);
    if (!replay->state || !replay->payload || !replay->stored || !replay->piece)
        status = error_memory(error, recording->path);
    if (status == THENAR_OK) status = replay_begin(replay, error);
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

/* Tactile commands computed from a recording: its pads (metadata), positions, joints and contacts. */

/* What is read of a body: nodes of a soft one in this and in the previous frame, or pose and twist of a rigid one. */
typedef struct replay_body {
    int nodes;
    double *x, *previous, *v;
    int pose, twist; /* channels; -1: none */
} replay_body;

struct thenar_tactile_replay {
    thenar_recording *recording;
    thenar_tactile *tactile;
    int body_count, hand_count;
    replay_body *bodies;
    int *joints; /* channel of each hand */
    double time; /* of the previous frame; below 0: none */
};

static json_t *read_metadata(const thenar_recording *recording) {
    json_text_fault fault;
    const char *text = thenar_recording_get_info(recording).metadata;
    return json_text_read(text, strlen(text), &fault);
}

static thenar_status report_missing_pads(thenar_error *error) {
    return error_set(
        error, THENAR_ERROR_INPUT,
        "the recording has no finger pads; expected one with a hand, written by this version of thenar run");
}

static thenar_status read_skins(thenar_tactile_replay *replay, pad_skin *skins, thenar_error *error) {
    for (int b = 0; b < replay->body_count; b++) {
        const thenar_recording_mesh *mesh;
        const thenar_recording_body *body = thenar_recording_body_at(replay->recording, b);
        thenar_status status = thenar_recording_read_mesh(replay->recording, b, &mesh, error);
        if (status != THENAR_OK) return status;
        skins[b].surface = &mesh->surface;
        replay_body *out = &replay->bodies[b];
        out->pose = recording_find_numbers(replay->recording, b, "pose", 7);
        out->twist = recording_find_numbers(replay->recording, b, "twist", 6);
        if (body->surface != THENAR_RECORDING_SURFACE_EMBEDDED) continue;
        skins[b].embedding = &mesh->embedding;
        skins[b].mesh = &mesh->volume;
        out->nodes = body->node_count;
        out->x = MEMORY_ARRAY(double, 3 * (size_t)out->nodes);
        out->previous = MEMORY_ARRAY(double, 3 * (size_t)out->nodes);
        out->v = MEMORY_ARRAY(double, 3 * (size_t)out->nodes);
        if (!out->x || !out->previous || !out->v) return error_memory(error, "positions");
    }
    return THENAR_OK;
}

/* Reads a pad of the metadata; false if it is not valid. Free place->vertex, also then. */
static bool read_place(const json_t *pad, const thenar_tactile_replay *replay, const pad_skin *skins,
                       pad_place *place) {
    const json_t *frame = json_object_get(pad, "frame"), *list = json_object_get(pad, "vertices");
    long long body = json_integer_value(json_object_get(pad, "body"));
    double f[7];
    if (body < 0 || body >= replay->body_count || !skins[body].mesh || json_array_size(frame) != 7) return false;
    for (size_t i = 0; i < 7; i++) f[i] = json_number_value(json_array_get(frame, i));
    for (int i = 0; i < 7; i++)
        if (!isfinite(f[i]) || fabs(f[i]) > 1e6) return false;
    size_t count = json_array_size(list);
    int *vertices = MEMORY_ARRAY(int, count), previous = -1;
    place->vertex = vertices;
    for (size_t i = 0; vertices && i < count; i++) {
        long long v = json_integer_value(json_array_get(list, i));
        if (v <= previous || v >= skins[body].surface->vertex_count) return false;
        vertices[i] = previous = (int)v;
    }
    place->body = (int)body;
    place->vertex_count = vertices ? (int)count : 0;
    place->frame = (hand_frame){{f[0], f[1], f[2]}, quat_unit((quat){f[3], f[4], f[5], f[6]})};
    return vertices && count > 0;
}

static bool read_places(const json_t *hands, thenar_tactile_replay *replay, const pad_skin *skins, const char **names,
                        pad_place *places) {
    for (int h = 0; h < replay->hand_count; h++) {
        const json_t *hand = json_array_get(hands, (size_t)h), *pads = json_object_get(hand, "pads");
        names[h] = json_string_value(json_object_get(hand, "name"));
        long long body = json_integer_value(json_object_get(hand, "body"));
        if (!names[h] || json_array_size(pads) != THENAR_FINGER_COUNT || body < 0 || body >= replay->body_count)
            return false;
        replay->joints[h] = thenar_recording_find_channel(replay->recording, (int)body, "joints");
        if (replay->joints[h] < 0) return false;
        const thenar_recording_channel *joints = thenar_recording_channel_at(replay->recording, replay->joints[h]);
        if (joints->element_count != HAND_JOINTS || joints->components != 7) return false;
        for (int f = 0; f < THENAR_FINGER_COUNT; f++) {
            pad_place *place = &places[THENAR_FINGER_COUNT * h + f];
            if (!read_place(json_array_get(pads, (size_t)f), replay, skins, place)) return false;
            place->hand = h;
            place->finger = (thenar_finger)f;
            place->left = json_is_true(json_object_get(hand, "left"));
        }
    }
    return true;
}

static thenar_status prepare_pads(thenar_tactile_replay *replay, const json_t *metadata,
                                  const thenar_tactile_options *options, thenar_error *error) {
    const json_t *hands = json_object_get(metadata, "hands");
    int count = replay->hand_count = (int)json_array_size(hands);
    replay->body_count = thenar_recording_body_count(replay->recording);
    if (count == 0) return report_missing_pads(error);
    replay->bodies = MEMORY_ARRAY(replay_body, replay->body_count);
    replay->joints = MEMORY_ARRAY(int, count);
    pad_skin *skins = MEMORY_ARRAY(pad_skin, replay->body_count);
    const char **names = MEMORY_ARRAY(const char *, count);
    pad_place *places = MEMORY_ARRAY(pad_place, THENAR_FINGER_COUNT * count);
    bool enough = replay->bodies && replay->joints && skins && names && places;
    thenar_status status = enough ? read_skins(replay, skins, error) : error_memory(error, "finger pads");
    if (status == THENAR_OK && !read_places(hands, replay, skins, names, places)) status = report_missing_pads(error);
    if (status == THENAR_OK) {
        tactile_source source = {.body_count = replay->body_count,
                                 .skins = skins,
                                 .hand_count = count,
                                 .hand_names = names,
                                 .places = places};
        status = tactile_create(&source, options, &replay->tactile, error);
    }
    if (status != THENAR_OK) free(skins);
    for (int i = 0; places && i < THENAR_FINGER_COUNT * count; i++) free((void *)places[i].vertex);
    free(names);
    free(places);
    return status;
}

thenar_status thenar_tactile_replay_create(thenar_recording *recording, const thenar_tactile_options *given,
                                           thenar_tactile_replay **out, thenar_error *error) {
    USAGE_STATUS(out, error, "the pointer to the result is NULL");
    *out = NULL;
    USAGE_STATUS(recording, error, "the recording is NULL");
    thenar_tactile_options options = thenar_tactile_options_default();
    thenar_status status = sized_take(&options, sizeof options, given, "thenar_tactile_options", error);
    if (status != THENAR_OK) return status;
    thenar_tactile_replay *replay = MEMORY_ARRAY(thenar_tactile_replay, 1);
    if (!replay) return error_memory(error, "recording");
    replay->recording = recording;
    replay->time = -1;
    json_t *metadata = read_metadata(recording);
    status = prepare_pads(replay, metadata, &options, error);
    json_decref(metadata);
    if (status == THENAR_OK)
        *out = replay;
    else
        thenar_tactile_replay_free(replay);
    return status;
}

void thenar_tactile_replay_free(thenar_tactile_replay *replay) {
    if (!replay) return;
    thenar_tactile_free(replay->tactile);
    for (int b = 0; replay->bodies && b < replay->body_count; b++) {
        free(replay->bodies[b].x);
        free(replay->bodies[b].previous);
        free(replay->bodies[b].v);
    }
    free(replay->bodies);
    free(replay->joints);
    free(replay);
}

thenar_tactile *thenar_tactile_replay_devices(const thenar_tactile_replay *replay) {
    USAGE_POINTER(replay, NULL);
    return replay->tactile;
}

/* Velocities are differences to the previous frame; zero in the first. */
static thenar_status read_body(thenar_tactile_replay *replay, int b, int frame, double dt, thenar_error *error) {
    replay_body *body = &replay->bodies[b];
    feel_motion *motion = &replay->tactile->motions[b];
    if (body->nodes > 0) {
        double *oldest = body->previous;
        body->previous = body->x;
        body->x = oldest;
        thenar_status status = thenar_recording_read_positions(replay->recording, b, frame, body->x, error);
        for (int i = 0; i < 3 * body->nodes && status == THENAR_OK; i++)
            body->v[i] = replay->time >= 0 && dt > 0 ? (body->x[i] - body->previous[i]) / dt : 0;
        *motion = (feel_motion){.x = body->x, .v = body->v};
        return status;
    }
    double pose[7] = {0}, twist[6] = {0};
    thenar_status status = THENAR_OK;
    if (body->pose >= 0) status = thenar_recording_read_channel(replay->recording, body->pose, frame, pose, error);
    if (body->twist >= 0 && status == THENAR_OK)
        status = thenar_recording_read_channel(replay->recording, body->twist, frame, twist, error);
    *motion = (feel_motion){.centre = vec3_load(pose), .velocity = vec3_load(twist), .spin = vec3_load(twist + 3)};
    return status;
}

/* Checks that the vertices of the contacts are vertices of the recorded skins. */
static bool contacts_fit(const thenar_tactile_replay *replay, const thenar_contact *contacts, int count) {
    for (int i = 0; i < count; i++) {
        const pad_skin *skin = &replay->tactile->world.skins[contacts[i].body[0]];
        if (skin->mesh && (contacts[i].vertex < 0 || contacts[i].vertex >= skin->surface->vertex_count)) return false;
    }
    return true;
}

thenar_status thenar_tactile_replay_frame(thenar_tactile_replay *replay, int frame, thenar_error *error) {
    USAGE_STATUS(replay, error, "the replay is NULL");
    USAGE_STATUS(frame >= 0 && frame < thenar_recording_frame_count(replay->recording), error,
                 "frame %d; expected 0 to %d", frame, thenar_recording_frame_count(replay->recording) - 1);
    thenar_tactile *tactile = replay->tactile;
    double time = thenar_recording_frame_time(replay->recording, frame);
    if (time < replay->time) {
        thenar_tactile_reset(tactile);
        replay->time = -1;
    }
    double dt = replay->time >= 0 ? time - replay->time : thenar_recording_get_info(replay->recording).dt;
    feel_input input = {.bodies = tactile->motions, .joints = tactile->joints};
    thenar_status status = THENAR_OK;
    for (int b = 0; b < replay->body_count && status == THENAR_OK; b++) status = read_body(replay, b, frame, dt, error);
    for (int h = 0; h < replay->hand_count && status == THENAR_OK; h++)
        status = thenar_recording_read_channel(replay->recording, replay->joints[h], frame,
                                               tactile->joints + 7 * HAND_JOINTS * (size_t)h, error);
    if (status == THENAR_OK)
        status = thenar_recording_read_contacts(replay->recording, frame, &input.contacts, &input.contact_count, error);
    if (status != THENAR_OK) return status;
    if (!contacts_fit(replay, input.contacts, input.contact_count))
        return error_set(error, THENAR_ERROR_INPUT,
                         "frame %d has a contact at a vertex that does not exist; expected vertices of its bodies",
                         frame);
    tactile_update(tactile, &input, time, dt);
    replay->time = time;
    return THENAR_OK;
}
