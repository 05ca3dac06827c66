/* Tactile commands computed from a recording: its pads (metadata), positions, joints and contacts, frame by frame. */
#include "io/recording.h"

#include "core/error.h"
#include "core/memory.h"
#include "io/json.h"
#include "tactile/tactile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What is read of a body: nodes of a soft one now and in the frame before, or the pose and twist of a rigid one. */
typedef struct replay_body {
    int nodes;
    double *x, *before, *v;
    int pose, twist; /* channels, -1: none */
} replay_body;

struct thenar_tactile_replay {
    thenar_recording *recording;
    thenar_tactile *tactile;
    int body_count, hand_count;
    replay_body *bodies;
    int *joints; /* channel of each hand */
    double time; /* of the frame before; below 0: none */
};

static json_t *read_metadata(const thenar_recording *recording) {
    json_text_fault fault;
    const char *text = thenar_recording_get_info(recording).metadata;
    return json_text_read(text, strlen(text), &fault);
}

static thenar_status missing(thenar_error *error) {
    return error_set(error, THENAR_ERROR_INPUT,
                     "the recording has no finger pads; expected one with a hand, made by this version of thenar run");
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
        out->before = MEMORY_ARRAY(double, 3 * (size_t)out->nodes);
        out->v = MEMORY_ARRAY(double, 3 * (size_t)out->nodes);
        if (!out->x || !out->before || !out->v) return error_memory(error, "positions");
    }
    return THENAR_OK;
}

/* A pad of the metadata; its vertices are put into `vertices`, which is freed with all others. Files are untrusted. */
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
    int *vertices = MEMORY_ARRAY(int, count), before = -1;
    place->vertex = vertices;
    for (size_t i = 0; vertices && i < count; i++) {
        long long v = json_integer_value(json_array_get(list, i));
        if (v <= before || v >= skins[body].surface->vertex_count) return false;
        vertices[i] = before = (int)v;
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

static thenar_status prepare(thenar_tactile_replay *replay, const json_t *metadata,
                             const thenar_tactile_options *options, thenar_error *error) {
    const json_t *hands = json_object_get(metadata, "hands");
    int count = replay->hand_count = (int)json_array_size(hands);
    replay->body_count = thenar_recording_body_count(replay->recording);
    if (count == 0) return missing(error);
    replay->bodies = MEMORY_ARRAY(replay_body, replay->body_count);
    replay->joints = MEMORY_ARRAY(int, count);
    pad_skin *skins = MEMORY_ARRAY(pad_skin, replay->body_count);
    const char **names = MEMORY_ARRAY(const char *, count);
    pad_place *places = MEMORY_ARRAY(pad_place, THENAR_FINGER_COUNT * count);
    bool enough = replay->bodies && replay->joints && skins && names && places;
    thenar_status status = enough ? read_skins(replay, skins, error) : error_memory(error, "finger pads");
    if (status == THENAR_OK && !read_places(hands, replay, skins, names, places)) status = missing(error);
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
    status = prepare(replay, metadata, &options, error);
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
        free(replay->bodies[b].before);
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

/* Velocities are differences to the frame before; none in the first. */
static thenar_status read_body(thenar_tactile_replay *replay, int b, int frame, double dt, thenar_error *error) {
    replay_body *body = &replay->bodies[b];
    feel_motion *motion = &replay->tactile->motions[b];
    if (body->nodes > 0) {
        double *kept = body->before;
        body->before = body->x;
        body->x = kept;
        thenar_status status = thenar_recording_read_positions(replay->recording, b, frame, body->x, error);
        for (int i = 0; i < 3 * body->nodes && status == THENAR_OK; i++)
            body->v[i] = replay->time >= 0 && dt > 0 ? (body->x[i] - body->before[i]) / dt : 0;
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

/* Contacts whose vertices are those of the recorded skins. */
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
                         "frame %d has a contact at a vertex that is not there; expected vertices of its bodies",
                         frame);
    tactile_update(tactile, &input, time, dt);
    replay->time = time;
    return THENAR_OK;
}
