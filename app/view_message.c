#include "app/view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(view_contact) == 64, "16 words");

#define HEADER_WORDS 4

void *message_section(view_message *message, uint32_t kind, int body, size_t count, size_t size) {
    size_t header = HEADER_WORDS * sizeof(uint32_t), padded = (size + 7) / 8 * 8, start = message->bytes.count;
    if (message->failed || size > UINT32_MAX || !LIST_RESERVE(&message->bytes, start + header + padded)) {
        message->failed = true;
        return NULL;
    }
    unsigned char *at = message->bytes.data + start;
    uint32_t words[HEADER_WORDS] = {kind, (uint32_t)body, (uint32_t)count, (uint32_t)size};
    memcpy(at, words, header);
    memset(at + header, 0, padded);
    message->bytes.count = start + header + padded;
    return at + header;
}

void message_clear(view_message *message) {
    message->bytes.count = 0;
    message->failed = false;
}

void message_free(view_message *message) {
    free(message->bytes.data);
    *message = (view_message){0};
}

void message_floats(view_message *message, uint32_t kind, int body, size_t count, const double *values,
                    size_t value_count) {
    float *out = message_section(message, kind, body, count, value_count * sizeof *out);
    for (size_t i = 0; out && i < value_count; i++) out[i] = (float)values[i];
}

void message_doubles(view_message *message, uint32_t kind, size_t count, const double *values, size_t value_count) {
    double *out = message_section(message, kind, 0, count, value_count * sizeof *out);
    if (out) memcpy(out, values, value_count * sizeof *out);
}

void message_text(view_message *message, uint32_t kind, const char *text) {
    char *out = message_section(message, kind, 0, 0, strlen(text));
    if (out) memcpy(out, text, strlen(text));
}

void message_json(view_message *message, uint32_t kind, json_t *value) {
    char *text = value ? json_dumps(value, JSON_COMPACT) : NULL;
    if (text)
        message_text(message, kind, text);
    else
        message->failed = true;
    free(text);
    json_decref(value);
}

void message_append(view_message *message, const void *bytes, size_t size) {
    if (message->failed || !LIST_RESERVE(&message->bytes, message->bytes.count + size)) {
        message->failed = true;
        return;
    }
    memcpy(message->bytes.data + message->bytes.count, bytes, size);
    message->bytes.count += size;
}

static void write_indices(view_message *message, uint32_t kind, int body, int count, int each, const int *values) {
    size_t size = (size_t)count * (size_t)each * sizeof *values;
    void *out = message_section(message, kind, body, (size_t)count, size);
    if (out) memcpy(out, values, size);
}

/* Rounds weights to multiples of 2^-16 that add up to 1. Positions change by a micrometre; a report has half the size. */
static void round_weights(const double *weight, int count, float *out) {
    double sum = 0;
    int heaviest = 0;
    for (int i = 0; i < count; i++) {
        double rounded = nearbyint(weight[i] * 65536) / 65536;
        out[i] = (float)rounded;
        sum += rounded;
        if (weight[i] > weight[heaviest]) heaviest = i;
    }
    out[heaviest] += (float)(1 - sum);
}

/* The attachment of the fine surface to the nodes. */
static void write_skin(view_message *message, int body, const thenar_tet_mesh *mesh, const thenar_surface *surface,
                       const thenar_embedding *embedding) {
    thenar_smooth_embedding skin;
    thenar_error error;
    if (thenar_smooth_embedding_create(mesh, surface, embedding, THENAR_SMOOTH_REACH, &skin, &error) != THENAR_OK) {
        message->failed = true;
        return;
    }
    int vertices = skin.vertex_count, count = skin.start[vertices];
    write_indices(message, SECTION_SKIN_START, body, vertices + 1, 1, skin.start);
    write_indices(message, SECTION_SKIN_NODE, body, count, 1, skin.node);
    float *weight = message_section(message, SECTION_SKIN_WEIGHT, body, (size_t)count, (size_t)count * sizeof *weight);
    for (int v = 0; v < vertices && weight; v++)
        round_weights(skin.weight + skin.start[v], skin.start[v + 1] - skin.start[v], weight + skin.start[v]);
    thenar_smooth_embedding_free(&skin);
}

void message_mesh(view_message *message, int body, const thenar_tet_mesh *mesh, const thenar_surface *surface,
                  const thenar_embedding *embedding, const double *limits) {
    if (mesh && mesh->node_count > 0)
        message_floats(message, SECTION_REST, body, (size_t)mesh->node_count, mesh->positions,
                       3 * (size_t)mesh->node_count);
    if (mesh && mesh->tet_count > 0) write_indices(message, SECTION_TETS, body, mesh->tet_count, 4, mesh->tets);
    if (mesh && limits)
        message_floats(message, SECTION_LIMITS, body, (size_t)mesh->tet_count, limits, 2 * (size_t)mesh->tet_count);
    if (!surface) return;
    if (surface->positions)
        message_floats(message, SECTION_SURFACE, body, (size_t)surface->vertex_count, surface->positions,
                       3 * (size_t)surface->vertex_count);
    write_indices(message, SECTION_TRIANGLES, body, surface->triangle_count, 3, surface->triangles);
    if (mesh && embedding && embedding->vertex_count > 0) write_skin(message, body, mesh, surface, embedding);
}

void message_joints(view_message *message, int hand, const double joints[7 * THENAR_HAND_JOINTS]) {
    double places[3 * THENAR_HAND_JOINTS];
    for (int j = 0; j < THENAR_HAND_JOINTS; j++) memcpy(places + 3 * j, joints + 7 * j, 3 * sizeof *places);
    message_floats(message, SECTION_JOINTS, hand, THENAR_HAND_JOINTS, places, 3 * THENAR_HAND_JOINTS);
}

void message_device(view_message *message, int device, const double *numbers) {
    message_floats(message, SECTION_DEVICE, device, 1, numbers, VIEW_DEVICE_NUMBERS);
}

void message_pad(view_message *message, int pad, const double *touches, int count) {
    unsigned char *out = message_section(message, SECTION_PAD, pad, (size_t)count, (size_t)count);
    for (int i = 0; out && i < count; i++) out[i] = touches[i] != 0;
}

static void to_floats(float out[3], const double in[3]) {
    for (int i = 0; i < 3; i++) out[i] = (float)in[i];
}

void message_contacts(view_message *message, const thenar_contact *contacts, int count) {
    size_t pushing = 0;
    for (int i = 0; i < count; i++) pushing += contacts[i].force > 0;
    view_contact *out = pushing ? message_section(message, SECTION_CONTACTS, 0, pushing, pushing * sizeof *out) : NULL;
    for (int i = 0; i < count && out; i++) {
        const thenar_contact *from = &contacts[i];
        if (!(from->force > 0)) continue;
        to_floats(out->position, from->position);
        to_floats(out->normal, from->normal);
        to_floats(out->friction, from->friction);
        out->normal_force = (float)from->force;
        out->area = (float)from->area;
        out->gap = (float)from->gap;
        for (int k = 0; k < 2; k++) out->body[k] = from->body[k], out->face[k] = from->face[k];
        out++;
    }
}

void message_frame(view_message *message, double time, double step, double index, double wall) {
    message_doubles(message, SECTION_FRAME, 1, (const double[4]){time, step, index, wall}, 4);
}

void packer_grow(view_packer *packer, const double *positions) {
    for (int i = 0; i < packer->node_count; i++)
        for (int c = 0; c < 3; c++) {
            float x = (float)positions[3 * i + c];
            if (!packer->grown || x < packer->low[c]) packer->low[c] = x;
            if (!packer->grown || x > packer->high[c]) packer->high[c] = x;
            if (c == 2) packer->grown = true;
        }
}

thenar_status packer_begin(view_packer *packer, view_message *message, int body, thenar_error *error) {
    packer->last = NEW_ARRAY(uint16_t, 3 * (size_t)packer->node_count);
    float *box = message_section(message, SECTION_BOX, body, 1, 6 * sizeof *box);
    if (!packer->last || !box) return fail_memory(error, "the replay");
    memcpy(box, packer->low, sizeof packer->low);
    memcpy(box + 3, packer->high, sizeof packer->high);
    return THENAR_OK;
}

static uint16_t pack(float x, float low, float high) {
    double share = high > low ? ((double)x - (double)low) / ((double)high - (double)low) : 0;
    return (uint16_t)lround(fmin(fmax(share, 0), 1) * 65535);
}

void packer_add(view_packer *packer, view_message *message, int body, const double *positions) {
    size_t count = 3 * (size_t)packer->node_count;
    unsigned char *low = message_section(message, SECTION_POSITIONS16, body, (size_t)packer->node_count, 2 * count);
    if (!low) return;
    for (size_t i = 0; i < count; i++) {
        uint16_t now = pack((float)positions[i], packer->low[i % 3], packer->high[i % 3]);
        /* Zigzag code: 0, -1, 1, -2 become 0, 1, 2, 3, so that small differences have a zero high byte. */
        int16_t difference = (int16_t)(uint16_t)(now - packer->last[i]);
        uint16_t folded = (uint16_t)((unsigned)difference * 2u ^ (difference < 0 ? 0xffffu : 0u));
        low[i] = (unsigned char)(folded & 0xff);
        low[count + i] = (unsigned char)(folded >> 8);
        packer->last[i] = now;
    }
}

const char *order_read(const void *bytes, size_t length, view_order *order) {
    *order = (view_order){0};
    if (length >= sizeof order->kind) memcpy(&order->kind, bytes, sizeof order->kind);
    if (length != order_size(order->kind))
        return order->kind == ORDER_JOINTS   ? "an order with joints has 716 bytes"
               : order->kind == ORDER_ANGLES ? "an order with angles has 124 bytes"
                                             : "an order has 48 bytes";
    const size_t head = 4 * sizeof(uint32_t);
    memcpy(order, bytes, head);
    memcpy(order_drives(order->kind) ? (void *)order->drive : (void *)order->x, (const char *)bytes + head,
           length - head);
    return order->zero != 0 ? "no such order" : NULL;
}
