/* Records a simulation: its arrays as channels, its finger pads as metadata, and its inputs. */
#include "thenar/recording.h"

#include "core/memory.h"
#include "io/recording.h"
#include "tactile/tactile.h"
#include "world/model.h"
#include "world/sim.h"

#include "thenar/hand.h"
#include "thenar/haptic.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static json_t *json_numbers(const double *values, int count) {
    json_t *list = json_array();
    for (int i = 0; i < count; i++) json_array_append_new(list, json_real(values[i]));
    return list;
}

static json_t *json_range(double min, double max) {
    return json_pack("[f, f]", min, max);
}

#define HAND_NUMBERS (7 * THENAR_HAND_JOINTS)

static json_t *describe_pad(const hand_model *hand, const hand_pad_model *pad) {
    vec3 p = pad->frame.position;
    quat q = pad->frame.rotation;
    json_t *vertices = json_array();
    for (int i = 0; i < pad->region.count; i++) json_array_append_new(vertices, json_integer(pad->region.vertex[i]));
    return json_pack("{s:i, s:o, s:o}", "body", hand->first_body + pad->flesh, "frame",
                     json_numbers((const double[7]){p.x, p.y, p.z, q.x, q.y, q.z, q.w}, 7), "vertices", vertices);
}

static json_t *describe_hands(const thenar_model *model) {
    json_t *hands = json_array();
    for (int h = 0; h < model->hand_count; h++) {
        const hand_model *hand = model->hands[h];
        json_t *pads = json_array();
        for (int f = 0; f < HAND_FINGERS; f++) json_array_append_new(pads, describe_pad(hand, &hand->pad[f]));
        double rest[HAND_NUMBERS];
        thenar_model_hand_rest(model, h, rest);
        json_array_append_new(hands,
                              json_pack("{s:s, s:b, s:i, s:i, s:o, s:o}", "name", hand->name, "left",
                                        hand->skeleton.left, "body", hand->first_body, "bodies", hand->flesh_count,
                                        "rest", json_numbers(rest, HAND_NUMBERS), "pads", pads));
    }
    return hands;
}

static json_t *describe_devices(const thenar_tactile *tactile) {
    json_t *devices = json_array();
    for (int d = 0; d < thenar_tactile_device_count(tactile); d++) {
        const thenar_tactile_def *def = thenar_tactile_device(tactile, d);
        const thenar_wearable_def *w = def->device;
        json_t *values = json_array();
        for (int v = 0; v < thenar_wearable_value_count(w); v++)
            json_array_append_new(values, json_string(thenar_wearable_value_name(w, v)));
        json_array_append_new(devices,
                              json_pack("{s:s, s:s, s:s, s:i, s:f, s:s, s:s, s:f, s:o, s:o, s:o, s:o, s:o}", "name",
                                        def->name, "hand", def->hand, "finger", thenar_finger_name(def->finger), "pad",
                                        thenar_tactile_device_pad(tactile, d), "turn", def->mount_angle, "kind",
                                        thenar_wearable_kind_name(w->kind), "title", w->title, "radius",
                                        w->platform_radius, "pitch", json_range(w->pitch_min, w->pitch_max), "roll",
                                        json_range(w->roll_min, w->roll_max), "displacement",
                                        json_range(w->displacement_min, w->displacement_max), "servo",
                                        json_range(w->servo_min, w->servo_max), "values", values));
    }
    return devices;
}

/* The name of the hand of a pad, from the first device on it. */
static const char *pad_hand(const thenar_tactile *tactile, int pad) {
    int device = 0;
    while (thenar_tactile_device_pad(tactile, device) != pad) device++;
    return thenar_tactile_device(tactile, device)->hand;
}

/* {"devices": [...], "pads": [...]}: the devices, and the vertices of skin of each pad. A new reference. */
static json_t *describe_tactile(const thenar_tactile *tactile) {
    json_t *pads = json_array();
    for (int p = 0; p < thenar_tactile_pad_count(tactile); p++) {
        const thenar_tactile_pad *pad = thenar_tactile_pad_of(tactile, p);
        const thenar_tactile_point *points = thenar_tactile_points(tactile, p);
        json_t *vertices = json_array(), *places = json_array();
        for (int i = 0; i < pad->point_count; i++) {
            json_array_append_new(vertices, json_integer(points[i].vertex));
            /* In micrometres, as short integers. */
            for (int k = 0; k < 2; k++) json_array_append_new(places, json_integer(lround(1e6 * points[i].rest[k])));
        }
        json_array_append_new(pads, json_pack("{s:s, s:s, s:i, s:o, s:o}", "hand", pad_hand(tactile, p), "finger",
                                              thenar_finger_name(pad->finger), "body",
                                              tactile->world.pads[p].model.body, "vertices", vertices, "um", places));
    }
    return json_pack("{s:o, s:o}", "devices", describe_devices(tactile), "pads", pads);
}

/* The channels of tactile devices, one per device and one per pad. `tactile` of these functions may be NULL: none. */
typedef struct recorded_pads {
    int device_count, channel_count;
    double **values; /* of each channel */
    char (*names)[256];
} recorded_pads;

static int recorded_pads_count(const thenar_tactile *tactile) {
    return tactile ? thenar_tactile_device_count(tactile) + thenar_tactile_pad_count(tactile) : 0;
}

/* False: out of memory. */
static bool recorded_pads_create(const thenar_tactile *tactile, recorded_pads *out) {
    int count = recorded_pads_count(tactile), devices = tactile ? thenar_tactile_device_count(tactile) : 0;
    *out = (recorded_pads){.device_count = devices,
                           .channel_count = count,
                           .values = MEMORY_ARRAY(double *, count),
                           .names = memory_array((size_t)count, 256)};
    if (!out->values || !out->names) return false;
    for (int c = 0; c < count; c++) {
        int size = THENAR_TACTILE_NUMBERS;
        if (c < devices) {
            snprintf(out->names[c], sizeof *out->names, "tactile/%.200s", thenar_tactile_device(tactile, c)->name);
        } else {
            const thenar_tactile_pad *pad = thenar_tactile_pad_of(tactile, c - devices);
            size = pad->point_count;
            snprintf(out->names[c], sizeof *out->names, "pad/%.200s.%s", pad_hand(tactile, c - devices),
                     thenar_finger_name(pad->finger));
        }
        out->values[c] = MEMORY_ARRAY(double, size);
        if (!out->values[c]) return false;
    }
    return true;
}

thenar_status thenar_tactile_read_device(const thenar_tactile *tactile, int device,
                                         double numbers[THENAR_TACTILE_NUMBERS]) {
    const thenar_tactile_command *c = thenar_tactile_command_of(tactile, device);
    if (!c) return THENAR_ERROR_USAGE;
    USAGE_POINTER(numbers, THENAR_ERROR_USAGE);
    memcpy(numbers, c->platform, sizeof c->platform);
    memcpy(numbers + 3, c->target, sizeof c->target);
    numbers[6] = c->press;
    numbers[7] = c->touching;
    memcpy(numbers + 8, c->value, sizeof c->value);
    memcpy(numbers + 11, thenar_tactile_pad_of(tactile, thenar_tactile_device_pad(tactile, device))->pose,
           7 * sizeof *numbers);
    return THENAR_OK;
}

thenar_status thenar_tactile_read_touching(const thenar_tactile *tactile, int pad, double *touching) {
    const thenar_tactile_point *points = thenar_tactile_points(tactile, pad);
    if (!points) return THENAR_ERROR_USAGE;
    USAGE_POINTER(touching, THENAR_ERROR_USAGE);
    for (int p = 0; p < thenar_tactile_pad_of(tactile, pad)->point_count; p++) touching[p] = points[p].touches;
    return THENAR_OK;
}

char *thenar_tactile_describe(const thenar_tactile *tactile) {
    USAGE_POINTER(tactile, NULL);
    json_t *all = describe_tactile(tactile);
    char *text = all ? json_dumps(all, JSON_COMPACT) : NULL;
    if (!text) error_memory(NULL, "a description");
    json_decref(all);
    return text;
}

void thenar_text_free(char *text) {
    free(text);
}

static void recorded_pads_update(const thenar_tactile *tactile, recorded_pads *pads) {
    for (int c = 0; c < pads->channel_count; c++)
        if (c < pads->device_count)
            thenar_tactile_read_device(tactile, c, pads->values[c]);
        else
            thenar_tactile_read_touching(tactile, c - pads->device_count, pads->values[c]);
}

static void recorded_pads_free(recorded_pads *pads) {
    for (int c = 0; pads->values && c < pads->channel_count; c++) free(pads->values[c]);
    free(pads->values);
    free(pads->names);
    *pads = (recorded_pads){0};
}

/* The inputs between two steps. */
typedef struct recorded_inputs {
    bool started;
    uint64_t step;      /* the latest step that was recorded */
    uint64_t hash;      /* of the state after it */
    char *after;        /* the kept state after it */
    unsigned char *out; /* the payload of a chunk */
} recorded_inputs;

#define WORD sizeof(uint64_t)

/* Ranges closer than the size of their header are merged: then all of them need at most the state and one header. */
#define GAP (sizeof(inputs_range) / WORD)

size_t recording_inputs_max(const thenar_sim *sim) {
    size_t state = sizeof(inputs_start) + thenar_sim_snapshot_size(sim);
    size_t ranges = sizeof(inputs_step) + sizeof(inputs_range) + sim->kept_size;
    return state > ranges ? state : ranges;
}

static bool recorded_inputs_create(const thenar_sim *sim, recorded_inputs *inputs) {
    *inputs =
        (recorded_inputs){.after = memory_aligned(sim->kept_size), .out = memory_aligned(recording_inputs_max(sim))};
    return inputs->after && inputs->out;
}

static void recorded_inputs_free(recorded_inputs *inputs) {
    free(inputs->after);
    free(inputs->out);
    *inputs = (recorded_inputs){0};
}

inputs_start inputs_start_of(const thenar_sim *sim) {
    inputs_start start = {0};
    /* A world without anything to solve has no friction model; such recordings have the first one. */
    thenar_friction friction = sim->model->system_count > 0 ? thenar_sim_friction(sim) : THENAR_FRICTION_PYRAMID;
    snprintf(start.solver, sizeof start.solver, "%s", thenar_solver_name(thenar_sim_solver(sim)));
    snprintf(start.contact, sizeof start.contact, "%s", thenar_contact_method_name(thenar_sim_contact_method(sim)));
    snprintf(start.friction, sizeof start.friction, "%s", thenar_friction_name(friction));
    snprintf(start.coupling, sizeof start.coupling, "%s", thenar_coupling_name(thenar_sim_coupling(sim)));
    return start;
}

static size_t put_state(unsigned char *out, const thenar_sim *sim) {
    inputs_start start = inputs_start_of(sim);
    memcpy(out, &start, sizeof start);
    thenar_sim_snapshot(sim, out + sizeof start);
    return sizeof start + thenar_sim_snapshot_size(sim);
}

/* The first word from `word` on that differs; `words` if none does. */
static size_t next_change(const char *a, const char *b, size_t word, size_t words) {
    const size_t batch = 512; /* compared at once, since nearly all words are equal */
    while (words - word >= batch && memcmp(a + word * WORD, b + word * WORD, batch * WORD) == 0) word += batch;
    while (word < words && memcmp(a + word * WORD, b + word * WORD, WORD) == 0) word++;
    return word;
}

/* Writes the ranges in which `to` differs from `from`; returns their size. */
static size_t put_ranges(unsigned char *out, const char *from, const char *to, size_t bytes) {
    size_t words = bytes / WORD, used = 0;
    for (size_t begin = next_change(from, to, 0, words); begin < words;) {
        size_t end = begin + 1, next = next_change(from, to, end, words);
        while (next < words && next - end < GAP) {
            end = next + 1;
            next = next_change(from, to, end, words);
        }
        inputs_range range = {begin * WORD, (end - begin) * WORD};
        memcpy(out + used, &range, sizeof range);
        memcpy(out + used + sizeof range, to + range.offset, range.size);
        used += sizeof range + range.size;
        begin = next;
    }
    return used;
}

/* After a step: puts the payload for it into inputs->out and returns the type of its chunk: INPT, or STAT if the
 * simulation is not one step further than at the last call. NULL: there was no step. */
static const char *recorded_inputs_next(recorded_inputs *inputs, const thenar_sim *sim, size_t *size) {
    assert(sim->kept_size % WORD == 0);
    uint64_t step = thenar_sim_step_count(sim);
    if (inputs->started && step == inputs->step) return NULL;
    bool follows = inputs->started && step == inputs->step + 1;
    uint64_t hash = thenar_sim_hash(sim);
    if (follows) {
        /* The backup of the step is the state at its start. */
        inputs_step head = {.step = step, .hash = hash};
        memcpy(inputs->out, &head, sizeof head);
        *size = sizeof head + put_ranges(inputs->out + sizeof head, inputs->after, sim->backup, sim->kept_size);
    } else {
        *size = put_state(inputs->out, sim);
    }
    inputs->started = true;
    inputs->step = step;
    inputs->hash = hash;
    memcpy(inputs->after, sim->kept, sim->kept_size);
    return follows ? "INPT" : "STAT";
}

/* Channels of a recording, in this order: three of the run, two per body, one per hand, one per body with handles, one per
 * tactile device, one per pad, and those of the caller. */
enum { RUN_STEP_US, RUN_RESIDUAL, RUN_ITERATIONS, RUN_CHANNELS, BODY_CHANNELS = 2 };

#define HANDLE_NUMBERS (7 + 7 + 6 + 6) /* pose, target pose, force of the tool, force of the coupling */

static int count_handles(const thenar_model *model, int body) {
    int count = 0;
    for (int i = 0; i < thenar_model_handle_count(model); i++) count += thenar_model_handle_body(model, i) == body;
    return count;
}

static int count_bodies_with_handles(const thenar_model *model) {
    int count = 0;
    for (int b = 0; b < thenar_model_body_count(model); b++) count += count_handles(model, b) > 0;
    return count;
}

struct thenar_recorder {
    const thenar_sim *sim;
    recording_writer *writer;
    const double **values;         /* one array per channel: of the simulation, or of this struct */
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

static thenar_recording_channel make_channel(const char *name, const char *unit, int body, thenar_recording_place place,
                                             int element_count, int components) {
    return (thenar_recording_channel){.name = name,
                                      .unit = unit,
                                      .body = body,
                                      .place = place,
                                      .element_count = element_count,
                                      .components = components};
}

static void describe_channels(const thenar_recorder *recorder, const thenar_recorder_options *options,
                              thenar_recording_channel *next) {
    const thenar_recording_place run = THENAR_RECORDING_RUN, whole = THENAR_RECORDING_BODY;
    const thenar_model *model = thenar_sim_model(recorder->sim);
    int bodies = thenar_model_body_count(model);
    *next++ = make_channel("step_us", "us", -1, run, 1, 1);
    *next++ = make_channel("residual", "", -1, run, 1, 1);
    *next++ = make_channel("iterations", "", -1, run, 1, 1);
    for (int b = 0; b < bodies; b++)
        if (is_rigid(model, b)) {
            *next++ = make_channel("pose", "m", b, whole, 1, 7);
            *next++ = make_channel("twist", "m/s", b, whole, 1, 6);
        } else {
            int nodes = thenar_model_mesh(model, b)->node_count;
            *next++ = make_channel("position", "m", b, THENAR_RECORDING_NODES, nodes, 3);
            *next++ = make_channel("force", "N", b, THENAR_RECORDING_NODES, nodes, 3);
        }
    for (int h = 0; h < thenar_model_hand_count(model); h++) {
        int body;
        thenar_model_hand_bodies(model, h, &body);
        *next++ = make_channel("joints", "m", body, whole, THENAR_HAND_JOINTS, 7);
    }
    for (int b = 0; b < bodies; b++)
        if (count_handles(model, b) > 0)
            *next++ = make_channel("handles", "m", b, whole, count_handles(model, b), HANDLE_NUMBERS);
    const recorded_pads *pads = &recorder->pads;
    for (int c = 0; c < pads->device_count; c++)
        *next++ = make_channel(pads->names[c], "", -1, run, 1, THENAR_TACTILE_NUMBERS);
    for (int c = pads->device_count; c < pads->channel_count; c++) {
        const thenar_tactile_pad *pad = thenar_tactile_pad_of(recorder->tactile, c - pads->device_count);
        *next++ = make_channel(pads->names[c], "", -1, run, pad->point_count, 1);
    }
    for (int c = 0; c < options->channel_count; c++)
        *next++ = make_channel(options->channels[c].name, options->channels[c].unit, -1, run, 1,
                               options->channels[c].components);
}

/* In the order of the bodies. */
static void copy_handles(thenar_recorder *recorder) {
    const thenar_model *model = thenar_sim_model(recorder->sim);
    double *at = recorder->handles;
    for (int b = 0; b < thenar_model_body_count(model); b++)
        for (int i = 0; i < thenar_model_handle_count(model); i++) {
            if (thenar_model_handle_body(model, i) != b) continue;
            thenar_handle_state state;
            thenar_sim_handle(recorder->sim, i, &state);
            memcpy(at, state.pose, sizeof state.pose);
            memcpy(at + 7, state.target, sizeof state.target);
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

/* [min, max] if the limits of all tets are equal, else one such pair per tet. NULL when out of memory. */
static json_t *describe_tet_limits(const double *limits, int tets) {
    int same = 1;
    while (same < tets && memcmp(limits, limits + 2 * same, 2 * sizeof *limits) == 0) same++;
    if (same == tets) return json_range(limits[0], limits[1]);
    json_t *list = json_array();
    for (int t = 0; t < tets; t++)
        if (json_array_append_new(list, json_range(limits[2 * t], limits[2 * t + 1])) != 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

/* The stretch limits of a body, with which a viewer shows how close a tet is to its limit (0 means no limit), or null.
 * NULL when out of memory. */
static json_t *describe_limits(const thenar_model *model, int body) {
    if (is_rigid(model, body)) return json_null();
    int tets = thenar_model_mesh(model, body)->tet_count;
    double *limits = MEMORY_ARRAY(double, 2 * (size_t)tets);
    json_t *described = NULL;
    if (limits)
        described = thenar_model_stretch_limits(model, body, limits) ? describe_tet_limits(limits, tets) : json_null();
    free(limits);
    return described;
}

/* {"stretch_limits": [one per body], "hands": [...], "tactile": {...}}, without what the model does not have. free() it;
 * NULL when out of memory. tactile may be NULL. */
static char *describe_metadata(const thenar_model *model, const thenar_tactile *tactile) {
    json_t *all = json_object(), *limits = json_array();
    bool complete = all && limits, limited = false;
    for (int b = 0; complete && b < thenar_model_body_count(model); b++) {
        json_t *described = describe_limits(model, b);
        limited = limited || json_is_array(described);
        complete = json_array_append_new(limits, described) == 0;
    }
    if (complete && limited) complete = json_object_set(all, "stretch_limits", limits) == 0;
    if (complete && model->hand_count > 0) {
        complete = json_object_set_new(all, "hands", describe_hands(model)) == 0;
        if (complete && tactile) complete = json_object_set_new(all, "tactile", describe_tactile(tactile)) == 0;
    }
    char *text = complete ? json_dumps(all, JSON_COMPACT) : NULL;
    json_decref(limits);
    json_decref(all);
    return text;
}

static void connect_channels(thenar_recorder *recorder, const thenar_recorder_options *options) {
    const thenar_sim *sim = recorder->sim;
    const thenar_model *model = thenar_sim_model(sim);
    int bodies = thenar_model_body_count(model), next = 0;
    for (int i = 0; i < RUN_CHANNELS; i++) recorder->values[next++] = &recorder->run_values[i];
    for (int b = 0; b < bodies; b++) {
        bool rigid = is_rigid(model, b);
        recorder->values[next++] = rigid ? sim_rigid(sim, b)->kept->pose : thenar_sim_positions(sim, b);
        recorder->values[next++] = rigid ? sim_rigid(sim, b)->kept->twist : thenar_sim_forces(sim, b);
    }
    for (int h = 0; h < thenar_model_hand_count(model); h++)
        recorder->values[next++] = recorder->joints + (size_t)h * HAND_NUMBERS;
    const double *handles = recorder->handles;
    for (int b = 0; b < bodies; b++) {
        if (count_handles(model, b) == 0) continue;
        recorder->values[next++] = handles;
        handles += HANDLE_NUMBERS * count_handles(model, b);
    }
    for (int c = 0; c < recorder->pads.channel_count; c++) recorder->values[next++] = recorder->pads.values[c];
    for (int c = 0; c < options->channel_count; c++) recorder->values[next++] = options->channels[c].values;
}

static int max_contacts(const thenar_sim *sim) {
    return sim->contact == CONTACT_NONE ? 0 : sim->model->contacts.capacity;
}

thenar_status thenar_recorder_options_init(thenar_recorder_options *options, size_t size) {
    const thenar_recorder_options defaults = {0};
    return sized_give(options, size, &defaults, sizeof defaults, "thenar_recorder_options");
}

/* False: out of memory. */
static bool allocate(thenar_recorder *recorder, int channel_count) {
    const thenar_model *model = thenar_sim_model(recorder->sim);
    recorder->values = MEMORY_ARRAY(const double *, channel_count);
    recorder->joints = MEMORY_ARRAY(double, (size_t)thenar_model_hand_count(model) * HAND_NUMBERS);
    recorder->handles = MEMORY_ARRAY(double, HANDLE_NUMBERS *thenar_model_handle_count(model));
    return recorder->values && recorder->joints && recorder->handles &&
           recorded_pads_create(recorder->tactile, &recorder->pads) &&
           recorded_inputs_create(recorder->sim, &recorder->inputs);
}

thenar_status thenar_recorder_create(const char *path, const thenar_sim *sim, const thenar_recorder_options *given,
                                     thenar_recorder **out, thenar_error *error) {
    USAGE_STATUS(out, error, "the pointer to the recorder is NULL");
    *out = NULL;
    USAGE_STATUS(path && sim, error, "the path or the simulation is NULL");
    thenar_recorder_options options = thenar_recorder_options_default();
    thenar_status status =
        given ? sized_take(&options, sizeof options, given, "thenar_recorder_options", error) : THENAR_OK;
    if (status != THENAR_OK) return status;
    USAGE_STATUS(options.channel_count >= 0 && (options.channels || options.channel_count == 0), error, "%d channels",
                 options.channel_count);
    const thenar_model *model = thenar_sim_model(sim);
    int body_count = thenar_model_body_count(model);
    int channel_count = RUN_CHANNELS + BODY_CHANNELS * body_count + thenar_model_hand_count(model) +
                        count_bodies_with_handles(model) + recorded_pads_count(options.tactile) + options.channel_count;
    if (channel_count > RECORDING_CHANNELS_MAX)
        return error_set(error, THENAR_ERROR_INPUT, "%s: cannot record %d bodies; expected at most %d", path,
                         body_count, (RECORDING_CHANNELS_MAX - RUN_CHANNELS) / BODY_CHANNELS);
    thenar_recorder *recorder = MEMORY_ARRAY(thenar_recorder, 1);
    if (recorder) *recorder = (thenar_recorder){.sim = sim, .tactile = options.tactile};
    recording_body *bodies = MEMORY_ARRAY(recording_body, body_count);
    thenar_recording_channel *channels = MEMORY_ARRAY(thenar_recording_channel, channel_count);
    char *metadata = describe_metadata(model, options.tactile);
    if (recorder && bodies && channels && metadata && allocate(recorder, channel_count)) {
        describe_bodies(bodies, model);
        describe_channels(recorder, &options, channels);
        connect_channels(recorder, &options);
        recording_description description = {.scene = thenar_model_name(model),
                                             .solver = thenar_solver_name(thenar_sim_solver(sim)),
                                             .dt = thenar_sim_dt(sim),
                                             .metadata = metadata,
                                             .bodies = bodies,
                                             .body_count = body_count,
                                             .channels = channels,
                                             .channel_count = channel_count,
                                             .max_contacts = max_contacts(sim),
                                             .max_extra = recording_inputs_max(sim)};
        status = recording_create(path, &description, &recorder->writer, error);
    } else {
        status = error_memory(error, path);
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
    USAGE_STATUS(recorder, error, "the recorder is NULL");
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
    copy_handles(recorder);
    recorded_pads_update(recorder->tactile, &recorder->pads);
    recording_frame frame = {.step = thenar_sim_step_count(sim),
                             .time = thenar_sim_time(sim),
                             .values = recorder->values,
                             .contacts = thenar_sim_contacts(sim),
                             .contact_count = thenar_sim_contact_count(sim)};
    return recording_write_frame(recorder->writer, &frame, error);
}

uint64_t thenar_recorder_hash(const thenar_recorder *recorder) {
    USAGE_POINTER(recorder, 0);
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
