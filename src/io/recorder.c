/* From a simulation to a recording: which arrays become which channels. */
#include "thenar/recording.h"

#include "base/memory.h"
#include "base/text.h"
#include "io/recording.h"
#include "io/recording_format.h"
#include "io/recording_inputs.h"
#include "io/recording_pads.h"
#include "world/sim.h"

#include "thenar/hand.h"
#include "thenar/haptic.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Channels of a recording: three of the run, then two a body, one a hand, one a body with handles, then one a tactile device
 * and a pad, and those of the caller. */
enum { RUN_STEP_US, RUN_RESIDUAL, RUN_ITERATIONS, RUN_CHANNELS };
enum { SOFT_POSITION, SOFT_FORCE, RIGID_POSE = 0, RIGID_TWIST, BODY_CHANNELS };

static int body_channel(int body, int channel) {
    return RUN_CHANNELS + BODY_CHANNELS * body + channel;
}

#define HAND_NUMBERS (7 * THENAR_HAND_JOINTS)
/* Of a handle: pose, wanted pose, force of the tool, force of the coupling. */
#define HANDLE_NUMBERS (7 + 7 + 6 + 6)

/* How many handles a body has. */
static int handles_of(const thenar_model *model, int body) {
    int count = 0;
    for (int i = 0; i < thenar_model_handle_count(model); i++) count += thenar_model_handle_body(model, i) == body;
    return count;
}

static int held_bodies(const thenar_model *model) {
    int count = 0;
    for (int b = 0; b < thenar_model_body_count(model); b++) count += handles_of(model, b) > 0;
    return count;
}

struct thenar_recorder {
    const thenar_sim *sim;
    recording_writer *writer;
    const double **values;         /* one array per channel: the simulation's own, or run_values, or joints */
    double *joints;                /* of each hand */
    double *handles;               /* of each handle, body by body */
    const thenar_tactile *tactile; /* or NULL */
    recorded_pads pads;
    recorded_inputs inputs;
    double run_values[RUN_CHANNELS];
};

static bool is_rigid(const thenar_model *model, int body) {
    return thenar_model_body_kind(model, body) == THENAR_BODY_RIGID;
}

static void describe_channels(thenar_recording_channel *channels, const thenar_model *model) {
    const thenar_recording_channel of_run = {.unit = "", .body = -1, .place = THENAR_RECORDING_RUN, .components = 1};
    for (int i = 0; i < RUN_CHANNELS; i++) channels[i] = of_run;
    channels[RUN_STEP_US].name = "step_us";
    channels[RUN_STEP_US].unit = "us";
    channels[RUN_RESIDUAL].name = "residual";
    channels[RUN_ITERATIONS].name = "iterations";
    static const thenar_recording_channel of_soft[BODY_CHANNELS] = {
        [SOFT_POSITION] = {.name = "position", .unit = "m", .place = THENAR_RECORDING_NODES, .components = 3},
        [SOFT_FORCE] = {.name = "force", .unit = "N", .place = THENAR_RECORDING_NODES, .components = 3}};
    static const thenar_recording_channel of_rigid[BODY_CHANNELS] = {
        [RIGID_POSE] = {.name = "pose", .unit = "m", .place = THENAR_RECORDING_BODY, .components = 7},
        [RIGID_TWIST] = {.name = "twist", .unit = "m/s", .place = THENAR_RECORDING_BODY, .components = 6}};
    for (int b = 0; b < thenar_model_body_count(model); b++)
        for (int i = 0; i < BODY_CHANNELS; i++) {
            channels[body_channel(b, i)] = is_rigid(model, b) ? of_rigid[i] : of_soft[i];
            channels[body_channel(b, i)].body = b;
        }
    for (int h = 0; h < thenar_model_hand_count(model); h++) {
        thenar_recording_channel *joints = &channels[body_channel(thenar_model_body_count(model), h)];
        *joints = (thenar_recording_channel){.name = "joints",
                                             .unit = "m",
                                             .place = THENAR_RECORDING_BODY,
                                             .element_count = THENAR_HAND_JOINTS,
                                             .components = 7};
        thenar_model_hand_bodies(model, h, &joints->body);
    }
    int next = body_channel(thenar_model_body_count(model), thenar_model_hand_count(model));
    for (int b = 0; b < thenar_model_body_count(model); b++)
        if (handles_of(model, b) > 0)
            channels[next++] = (thenar_recording_channel){.name = "handles",
                                                          .unit = "m",
                                                          .place = THENAR_RECORDING_BODY,
                                                          .body = b,
                                                          .element_count = handles_of(model, b),
                                                          .components = HANDLE_NUMBERS};
}

/* Pose, wanted pose, force and pull of each handle, in the order of their bodies. */
static void take_handles(thenar_recorder *recorder) {
    const thenar_model *model = thenar_sim_model(recorder->sim);
    double *at = recorder->handles;
    for (int b = 0; b < thenar_model_body_count(model); b++)
        for (int i = 0; i < thenar_model_handle_count(model); i++) {
            if (thenar_model_handle_body(model, i) != b) continue;
            thenar_handle_state state;
            thenar_sim_handle(recorder->sim, i, &state);
            memcpy(at, state.pose, sizeof state.pose);
            memcpy(at + 7, state.wanted, sizeof state.wanted);
            memcpy(at + 14, state.force, sizeof state.force);
            memcpy(at + 20, state.coupling, sizeof state.coupling);
            at += HANDLE_NUMBERS;
        }
}

static void describe_bodies(recording_body *bodies, const thenar_model *model) {
    for (int b = 0; b < thenar_model_body_count(model); b++) {
        bodies[b] = (recording_body){.name = thenar_model_body_name(model, b),
                                     .kind = model->bodies[b]->kind->name,
                                     .surface_kind = THENAR_RECORDING_SURFACE_RIGID,
                                     .surface = thenar_model_surface(model, b)};
        if (is_rigid(model, b)) continue;
        bodies[b].surface_kind = THENAR_RECORDING_SURFACE_EMBEDDED;
        bodies[b].mesh = thenar_model_mesh(model, b);
        bodies[b].embedding = thenar_model_embedding(model, b);
    }
}

#define PAIR_TEXT 64 /* "[0.9,1.1]," with 17 digits each */

/* Appends the limits of a body's tets: null, [min, max] if they are alike, or one such pair a tet. */
static char *write_limits(char *at, const double *limits, int tets) {
    int same = 1;
    while (same < tets && memcmp(limits, limits + 2 * same, 2 * sizeof *limits) == 0) same++;
    int pairs = same == tets ? 1 : tets;
    if (pairs > 1) *at++ = '[';
    for (int t = 0; t < pairs; t++)
        at += snprintf(at, PAIR_TEXT, "%s[%.17g,%.17g]", t > 0 ? "," : "", limits[2 * t], limits[2 * t + 1]);
    if (pairs > 1) *at++ = ']';
    return at;
}

/* {"stretch_limits": [one entry a body]}: what a viewer needs to show how close a tet is to its limit; 0 stands for no
 * limit. Empty text if no body has one; NULL when memory runs out. */
static char *describe_limits(const thenar_model *model) {
    size_t tets = 0;
    int body_count = thenar_model_body_count(model);
    for (int b = 0; b < body_count; b++)
        if (!is_rigid(model, b)) tets += (size_t)thenar_model_mesh(model, b)->tet_count;
    double *limits = MEMORY_ARRAY(double, 2 * tets);
    char *text = MEMORY_ARRAY(char, PAIR_TEXT *(tets + (size_t)body_count + 2));
    if (limits && text) {
        text_locale before = text_locale_begin();
        bool any = false;
        char *at = text + sprintf(text, "{\"stretch_limits\":[");
        for (int b = 0; b < body_count; b++) {
            if (b > 0) *at++ = ',';
            bool limited = !is_rigid(model, b) && thenar_model_stretch_limits(model, b, limits);
            any = any || limited;
            if (limited)
                at = write_limits(at, limits, thenar_model_mesh(model, b)->tet_count);
            else
                at += sprintf(at, "null");
        }
        sprintf(at, "]}");
        if (!any) *text = 0;
        text_locale_end(before);
    } else {
        free(text);
        text = NULL;
    }
    free(limits);
    return text;
}

static void connect_channels(thenar_recorder *recorder, const thenar_sim *sim, const thenar_recorder_channel *more,
                             int more_count) {
    for (int i = 0; i < RUN_CHANNELS; i++) recorder->values[i] = &recorder->run_values[i];
    for (int b = 0; b < thenar_model_body_count(thenar_sim_model(sim)); b++) {
        bool rigid = is_rigid(thenar_sim_model(sim), b);
        const double **values = recorder->values + body_channel(b, 0);
        values[0] = rigid ? sim_rigid(sim, b)->kept->pose : thenar_sim_positions(sim, b);
        values[1] = rigid ? sim_rigid(sim, b)->kept->twist : thenar_sim_forces(sim, b);
    }
    int bodies = thenar_model_body_count(thenar_sim_model(sim)), hands = thenar_model_hand_count(thenar_sim_model(sim));
    for (int h = 0; h < hands; h++)
        recorder->values[body_channel(bodies, h)] = recorder->joints + (size_t)h * HAND_NUMBERS;
    const thenar_model *model = thenar_sim_model(sim);
    const double *handles = recorder->handles;
    int next = body_channel(bodies, thenar_model_hand_count(model));
    for (int b = 0; b < bodies; b++) {
        if (handles_of(model, b) == 0) continue;
        recorder->values[next++] = handles;
        handles += HANDLE_NUMBERS * handles_of(model, b);
    }
    for (int c = 0; c < recorder->pads.channel_count; c++) recorder->values[next++] = recorder->pads.values[c];
    for (int c = 0; c < more_count; c++) recorder->values[next++] = more[c].values;
}

static int most_contacts(const thenar_sim *sim) {
    return sim->contact == CONTACT_NONE ? 0 : sim->model->contacts.capacity;
}

/* One JSON object of two texts, each an object or empty; they are freed. NULL when memory runs out. */
static char *join_metadata(char *limits, char *pads) {
    char *text = limits && pads ? MEMORY_ARRAY(char, strlen(limits) + strlen(pads) + 2) : NULL;
    if (text && *limits && *pads)
        sprintf(text, "%.*s,%s", (int)strlen(limits) - 1, limits, pads + 1);
    else if (text)
        sprintf(text, "%s%s", limits, pads);
    free(limits);
    free(pads);
    return text;
}

thenar_status thenar_recorder_create(const char *path, const thenar_sim *sim, thenar_recorder **out,
                                     thenar_error *error) {
    return thenar_recorder_create_tactile(path, sim, NULL, out, error);
}

thenar_status thenar_recorder_create_tactile(const char *path, const thenar_sim *sim, const thenar_tactile *tactile,
                                             thenar_recorder **out, thenar_error *error) {
    return thenar_recorder_create_more(path, sim, tactile, NULL, 0, out, error);
}

thenar_status thenar_recorder_create_more(const char *path, const thenar_sim *sim, const thenar_tactile *tactile,
                                          const thenar_recorder_channel *more, int more_count, thenar_recorder **out,
                                          thenar_error *error) {
    *out = NULL;
    const thenar_model *model = thenar_sim_model(sim);
    int body_count = thenar_model_body_count(model), hand_count = thenar_model_hand_count(model);
    int own_count = body_channel(body_count, hand_count) + held_bodies(model) + recorded_pads_count(tactile);
    int channel_count = own_count + more_count;
    if (channel_count > RECORDING_CHANNELS_MAX)
        return error_set(error, THENAR_ERROR_INPUT, "%s: cannot record %d bodies; expected at most %d", path,
                         body_count, (RECORDING_CHANNELS_MAX - RUN_CHANNELS) / BODY_CHANNELS);
    thenar_recorder *recorder = MEMORY_ARRAY(thenar_recorder, 1);
    recording_body *bodies = MEMORY_ARRAY(recording_body, body_count);
    thenar_recording_channel *channels = MEMORY_ARRAY(thenar_recording_channel, channel_count);
    thenar_status status = recorder && bodies && channels ? THENAR_OK : error_memory(error, path);
    if (status == THENAR_OK) {
        recorder->values = MEMORY_ARRAY(const double *, channel_count);
        recorder->joints = MEMORY_ARRAY(double, (size_t)hand_count *HAND_NUMBERS);
        recorder->handles = MEMORY_ARRAY(double, HANDLE_NUMBERS *thenar_model_handle_count(model));
        if (!recorder->values || !recorder->joints || !recorder->handles ||
            !recorded_pads_create(tactile, &recorder->pads) || !recorded_inputs_create(sim, &recorder->inputs))
            status = error_memory(error, path);
    }
    char *metadata = join_metadata(describe_limits(model), describe_pads(model, tactile));
    if (!metadata && status == THENAR_OK) status = error_memory(error, path);
    if (status == THENAR_OK) {
        describe_bodies(bodies, model);
        describe_channels(channels, model);
        recorded_pads_describe(tactile, &recorder->pads,
                               channels + body_channel(body_count, hand_count) + held_bodies(model));
        for (int c = 0; c < more_count; c++)
            channels[own_count + c] = (thenar_recording_channel){.name = more[c].name,
                                                                 .unit = more[c].unit,
                                                                 .body = -1,
                                                                 .place = THENAR_RECORDING_RUN,
                                                                 .element_count = 1,
                                                                 .components = more[c].components};
        recorder->sim = sim;
        recorder->tactile = tactile;
        connect_channels(recorder, sim, more, more_count);
        recording_description description = {.scene = thenar_model_name(model),
                                             .solver = thenar_sim_solver(sim),
                                             .dt = thenar_sim_dt(sim),
                                             .metadata = *metadata ? metadata : NULL,
                                             .bodies = bodies,
                                             .body_count = body_count,
                                             .channels = channels,
                                             .channel_count = channel_count,
                                             .most_contacts = most_contacts(sim),
                                             .most_extra = recorded_inputs_most(sim)};
        status = recording_create(path, &description, &recorder->writer, error);
    }
    free(bodies);
    free(channels);
    free(metadata);
    if (status == THENAR_OK)
        *out = recorder;
    else
        thenar_recorder_close(recorder, NULL);
    return status;
}

thenar_status thenar_recorder_add(thenar_recorder *recorder, thenar_error *error) {
    const thenar_sim *sim = recorder->sim;
    const thenar_stats *stats = thenar_sim_stats(sim);
    size_t size;
    const char *inputs = recorded_inputs_next(&recorder->inputs, sim, &size);
    thenar_status status = inputs ? recording_write_extra(recorder->writer, inputs, recorder->inputs.out, size,
                                                          strcmp(inputs, "STAT") == 0, error)
                                  : THENAR_OK;
    if (status != THENAR_OK) return status;
    recorder->run_values[RUN_STEP_US] = 1e-3 * (double)stats->step_ns;
    recorder->run_values[RUN_RESIDUAL] = stats->residual;
    recorder->run_values[RUN_ITERATIONS] = stats->iterations;
    for (int h = 0; h < thenar_model_hand_count(thenar_sim_model(sim)); h++)
        thenar_sim_hand_joints(sim, h, recorder->joints + (size_t)h * HAND_NUMBERS);
    take_handles(recorder);
    recorded_pads_update(recorder->tactile, &recorder->pads);
    recording_frame frame = {.step = thenar_sim_step_count(sim),
                             .time = thenar_sim_time(sim),
                             .values = recorder->values,
                             .contacts = thenar_sim_contacts(sim),
                             .contact_count = thenar_sim_contact_count(sim)};
    return recording_write_frame(recorder->writer, &frame, error);
}

uint64_t recorder_hash(const thenar_recorder *recorder) {
    return recorder->inputs.hash;
}

thenar_status thenar_recorder_close(thenar_recorder *recorder, thenar_error *error) {
    if (!recorder) return THENAR_OK;
    thenar_status status = recording_close(recorder->writer, error);
    free(recorder->values);
    free(recorder->joints);
    free(recorder->handles);
    recorded_pads_free(&recorder->pads);
    recorded_inputs_free(&recorder->inputs);
    free(recorder);
    return status;
}
