#include "io/recording_pads.h"

#include "base/memory.h"
#include "tactile/tactile.h"
#include "world/model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static json_t *numbers(const double *values, int count) {
    json_t *list = json_array();
    for (int i = 0; i < count; i++) json_array_append_new(list, json_real(values[i]));
    return list;
}

static json_t *describe_pad(const hand_model *hand, const hand_pad_model *pad) {
    vec3 p = pad->frame.position;
    quat q = pad->frame.rotation;
    json_t *vertices = json_array();
    for (int i = 0; i < pad->region.count; i++) json_array_append_new(vertices, json_integer(pad->region.vertex[i]));
    return json_pack("{s:i, s:o, s:o}", "body", hand->first_body + pad->flesh, "frame",
                     numbers((const double[7]){p.x, p.y, p.z, q.x, q.y, q.z, q.w}, 7), "vertices", vertices);
}

static json_t *describe_hands(const thenar_model *model) {
    json_t *hands = json_array();
    for (int h = 0; h < model->hand_count; h++) {
        const hand_model *hand = model->hands[h];
        json_t *pads = json_array();
        for (int f = 0; f < HAND_FINGERS; f++) json_array_append_new(pads, describe_pad(hand, &hand->pad[f]));
        json_array_append_new(hands, json_pack("{s:s, s:b, s:i, s:o}", "name", hand->name, "left", hand->skeleton.left,
                                               "body", hand->first_body, "pads", pads));
    }
    return hands;
}

static json_t *describe_devices(const thenar_tactile *tactile) {
    json_t *devices = json_array();
    for (int d = 0; d < thenar_tactile_device_count(tactile); d++) {
        const thenar_tactile_def *def = thenar_tactile_device(tactile, d);
        json_t *values = json_array();
        for (int v = 0; v < thenar_wearable_value_count(&def->device); v++)
            json_array_append_new(values, json_string(thenar_wearable_value_name(&def->device, v)));
        json_array_append_new(
            devices, json_pack("{s:s, s:s, s:s, s:i, s:f, s:s, s:s, s:f, s:o, s:o, s:o, s:o, s:o}", "name", def->name,
                               "hand", def->hand, "finger", thenar_finger_name(def->finger), "pad",
                               thenar_tactile_device_pad(tactile, d), "turn", def->turn, "kind",
                               thenar_wearable_kind_name(def->device.kind), "title", def->device.title, "radius",
                               def->device.platform_radius, "pitch", numbers(def->device.pitch, 2), "roll",
                               numbers(def->device.roll, 2), "displacement", numbers(def->device.displacement, 2),
                               "servo", numbers(def->device.servo_range, 2), "values", values));
    }
    return devices;
}

/* The hand of a pad: as a device on it has it. */
static const char *hand_of(const thenar_tactile *tactile, int pad) {
    int device = 0;
    while (thenar_tactile_device_pad(tactile, device) != pad) device++;
    return thenar_tactile_device(tactile, device)->hand;
}

json_t *describe_tactile(const thenar_tactile *tactile) {
    json_t *pads = json_array();
    for (int p = 0; p < thenar_tactile_pad_count(tactile); p++) {
        const thenar_tactile_pad *pad = thenar_tactile_pad_of(tactile, p);
        const thenar_tactile_point *points = thenar_tactile_points(tactile, p);
        json_t *vertices = json_array(), *places = json_array();
        for (int i = 0; i < pad->point_count; i++) {
            json_array_append_new(vertices, json_integer(points[i].vertex));
            /* In micrometres: short in print. */
            for (int k = 0; k < 2; k++) json_array_append_new(places, json_integer(lround(1e6 * points[i].rest[k])));
        }
        json_array_append_new(pads, json_pack("{s:s, s:s, s:i, s:o, s:o}", "hand", hand_of(tactile, p), "finger",
                                              thenar_finger_name(pad->finger), "body",
                                              tactile->world.pads[p].model.body, "vertices", vertices, "um", places));
    }
    return json_pack("{s:o, s:o}", "devices", describe_devices(tactile), "pads", pads);
}

char *describe_pads(const thenar_model *model, const thenar_tactile *tactile) {
    if (model->hand_count == 0) return memory_string("");
    json_t *all = json_pack("{s:o}", "hands", describe_hands(model));
    if (all && tactile) json_object_set_new(all, "tactile", describe_tactile(tactile));
    char *text = all ? json_dumps(all, JSON_COMPACT) : NULL;
    json_decref(all);
    return text;
}

int recorded_pads_count(const thenar_tactile *tactile) {
    return tactile ? thenar_tactile_device_count(tactile) + thenar_tactile_pad_count(tactile) : 0;
}

bool recorded_pads_create(const thenar_tactile *tactile, recorded_pads *out) {
    int count = recorded_pads_count(tactile), devices = tactile ? thenar_tactile_device_count(tactile) : 0;
    *out = (recorded_pads){.values = MEMORY_ARRAY(double *, count), .names = memory_array((size_t)count, 256)};
    if (!out->values || !out->names) return false;
    out->channel_count = count;
    for (int c = 0; c < count; c++) {
        int size = RECORDED_DEVICE_NUMBERS;
        if (c < devices) {
            snprintf(out->names[c], sizeof *out->names, "tactile/%.200s", thenar_tactile_device(tactile, c)->name);
        } else {
            const thenar_tactile_pad *pad = thenar_tactile_pad_of(tactile, c - devices);
            size = pad->point_count;
            snprintf(out->names[c], sizeof *out->names, "pad/%.200s.%s", hand_of(tactile, c - devices),
                     thenar_finger_name(pad->finger));
        }
        out->values[c] = MEMORY_ARRAY(double, size);
        if (!out->values[c]) return false;
    }
    return true;
}

void recorded_pads_describe(const thenar_tactile *tactile, const recorded_pads *pads,
                            thenar_recording_channel *channels) {
    int devices = tactile ? thenar_tactile_device_count(tactile) : 0;
    for (int c = 0; c < pads->channel_count; c++) {
        bool device = c < devices;
        channels[c] = (thenar_recording_channel){
            .name = pads->names[c],
            .unit = "",
            .body = -1,
            .place = THENAR_RECORDING_RUN,
            .element_count = device ? 1 : thenar_tactile_pad_of(tactile, c - devices)->point_count,
            .components = device ? RECORDED_DEVICE_NUMBERS : 1};
    }
}

static void write_device(const thenar_tactile *tactile, int device, double *out) {
    const thenar_tactile_command *c = thenar_tactile_command_of(tactile, device);
    memcpy(out, c->pose, sizeof c->pose);
    memcpy(out + 3, c->wanted, sizeof c->wanted);
    out[6] = c->press;
    out[7] = c->touching;
    memcpy(out + 8, c->value, sizeof c->value);
    memcpy(out + 11, thenar_tactile_pad_of(tactile, thenar_tactile_device_pad(tactile, device))->frame,
           7 * sizeof *out);
}

static void write_points(const thenar_tactile *tactile, int pad, double *out) {
    const thenar_tactile_point *points = thenar_tactile_points(tactile, pad);
    for (int p = 0; p < thenar_tactile_pad_of(tactile, pad)->point_count; p++) out[p] = points[p].touches;
}

void recorded_pads_update(const thenar_tactile *tactile, recorded_pads *pads) {
    int devices = tactile ? thenar_tactile_device_count(tactile) : 0;
    for (int c = 0; c < pads->channel_count; c++)
        if (c < devices)
            write_device(tactile, c, pads->values[c]);
        else
            write_points(tactile, c - devices, pads->values[c]);
}

void recorded_pads_free(recorded_pads *pads) {
    for (int c = 0; pads->values && c < pads->channel_count; c++) free(pads->values[c]);
    free(pads->values);
    free(pads->names);
    *pads = (recorded_pads){0};
}
