/* The format of recordings: checksums, byte planes, layouts of meshes and contacts, and the JSON of HEAD. */
#include "io/recording.h"

#include "core/hash.h"
#include "core/memory.h"
#include "io/file.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The first byte is not ASCII and the last is a line feed, so that a transfer in text mode is detected. */
const char recording_magic[8] = {(char)0x89, 'T', 'H', 'E', 'N', 'A', 'R', '\n'};
const char recording_tail_magic[8] = {'K', 'E', 'Y', 'S', 'E', 'N', 'D', '\n'};

bool recording_is_type(const recording_chunk *chunk, const char *type) {
    return memcmp(chunk->type, type, sizeof chunk->type) == 0;
}

uint64_t recording_checksum_header(const recording_chunk *chunk) {
    return hash_bytes(0, chunk, offsetof(recording_chunk, checksum));
}

uint64_t recording_checksum_payload(uint64_t hash, const void *payload, size_t size) {
    const char *at = payload;
    while (size > 0) {
        size_t piece = size < RECORDING_PIECE ? size : RECORDING_PIECE;
        hash = hash_bytes(hash, at, piece);
        at += piece;
        size -= piece;
    }
    return hash;
}

/* With a constant width and bytes extracted by shifts, compilers vectorize these loops: 10 times as fast. One function
 * inlined with both widths is as fast with clang, but up to six times slower with gcc. */
static void split32(unsigned char *restrict planes, const unsigned char *restrict numbers, size_t count) {
    for (int plane = 0; plane < 4; plane++, planes += count)
        for (size_t i = 0; i < count; i++) {
            uint32_t word;
            memcpy(&word, numbers + 4 * i, 4);
            planes[i] = (unsigned char)(word >> (8 * plane));
        }
}

static void split64(unsigned char *restrict planes, const unsigned char *restrict numbers, size_t count) {
    for (int plane = 0; plane < 8; plane++, planes += count)
        for (size_t i = 0; i < count; i++) {
            uint64_t word;
            memcpy(&word, numbers + 8 * i, 8);
            planes[i] = (unsigned char)(word >> (8 * plane));
        }
}

static void join32(unsigned char *restrict numbers, const unsigned char *restrict planes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint32_t word = 0;
        for (int plane = 0; plane < 4; plane++) word |= (uint32_t)planes[(size_t)plane * count + i] << (8 * plane);
        memcpy(numbers + 4 * i, &word, 4);
    }
}

static void join64(unsigned char *restrict numbers, const unsigned char *restrict planes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint64_t word = 0;
        for (int plane = 0; plane < 8; plane++) word |= (uint64_t)planes[(size_t)plane * count + i] << (8 * plane);
        memcpy(numbers + 8 * i, &word, 8);
    }
}

void recording_planes_split(unsigned char *planes, const unsigned char *numbers, size_t count, size_t width) {
    assert(width == 4 || width == 8);
    if (width == 4)
        split32(planes, numbers, count);
    else
        split64(planes, numbers, count);
}

void recording_planes_join(unsigned char *numbers, const unsigned char *planes, size_t count, size_t width) {
    assert(width == 4 || width == 8);
    if (width == 4)
        join32(numbers, planes, count);
    else
        join64(numbers, planes, count);
}

size_t recording_type_width(thenar_recording_type type) {
    return type == THENAR_RECORDING_FLOAT64 ? sizeof(double) : sizeof(float);
}

size_t recording_channel_numbers(const thenar_recording_channel *channel) {
    return (size_t)channel->element_count * (size_t)channel->components;
}

size_t recording_channel_size(const thenar_recording_channel *channel) {
    return recording_channel_numbers(channel) * recording_type_width(channel->type);
}

size_t recording_values_size(const thenar_recording_channel *channels, int count) {
    size_t size = 0;
    for (int i = 0; i < count; i++) size += recording_channel_size(&channels[i]);
    return size;
}

recording_mesh_layout recording_mesh_layout_of(const thenar_recording_body *body) {
    size_t nodes = (size_t)body->node_count, vertices = (size_t)body->vertex_count;
    bool embedded = body->surface == THENAR_RECORDING_SURFACE_EMBEDDED;
    bool own_vertices = embedded || body->surface == THENAR_RECORDING_SURFACE_RIGID;
    recording_mesh_layout layout = {.rest = 3 * nodes,
                                    .surface = own_vertices ? 3 * vertices : 0,
                                    .weights = embedded ? 4 * vertices : 0,
                                    .tets = 4 * (size_t)body->tet_count,
                                    .triangles = 3 * (size_t)body->triangle_count,
                                    .embedding_tets = embedded ? vertices : 0};
    layout.doubles = layout.rest + layout.surface + layout.weights;
    layout.ints = layout.tets + layout.triangles + layout.embedding_tets;
    layout.size = layout.doubles * sizeof(double) + layout.ints * sizeof(int);
    return layout;
}

/* The arrays of contacts in the order of the file, and where their numbers are in a thenar_contact. */
static const struct contact_array {
    size_t offset;
    int components;
    bool is_integer;
} contact_arrays[] = {
    {offsetof(thenar_contact, body), 2, true},      {offsetof(thenar_contact, vertex), 1, true},
    {offsetof(thenar_contact, face), 2, true},      {offsetof(thenar_contact, sticks), 1, true},
    {offsetof(thenar_contact, position), 3, false}, {offsetof(thenar_contact, normal), 3, false},
    {offsetof(thenar_contact, gap), 1, false},      {offsetof(thenar_contact, force), 1, false},
    {offsetof(thenar_contact, friction), 3, false}, {offsetof(thenar_contact, area), 1, false},
};
enum { ARRAY_COUNT = sizeof contact_arrays / sizeof *contact_arrays, WIDTH = 4 };

void recording_contacts_put(unsigned char *numbers, const thenar_contact *contacts, int count) {
    for (int a = 0; a < ARRAY_COUNT; a++)
        for (int i = 0; i < count; i++)
            for (int k = 0; k < contact_arrays[a].components; k++, numbers += WIDTH) {
                const char *from = (const char *)&contacts[i] + contact_arrays[a].offset;
                if (contact_arrays[a].is_integer) {
                    memcpy(numbers, from + (size_t)k * sizeof(int), WIDTH);
                } else {
                    double number;
                    memcpy(&number, from + (size_t)k * sizeof number, sizeof number);
                    float single = (float)number;
                    memcpy(numbers, &single, WIDTH);
                }
            }
}

/* Checks what a reader may use as an index. Vertices are not checked: those of rigid primitives are not in the surface. */
static bool contact_is_valid(const thenar_contact *contact, const thenar_recording_body *bodies, int body_count) {
    for (int k = 0; k < 2; k++)
        if (contact->body[k] < 0 || contact->body[k] >= body_count || contact->face[k] < -1 ||
            contact->face[k] >= bodies[contact->body[k]].triangle_count)
            return false;
    return contact->vertex >= 0 && (contact->sticks == 0 || contact->sticks == 1);
}

bool recording_contacts_get(const unsigned char *numbers, const thenar_recording_body *bodies, int body_count,
                            thenar_contact *contacts, int count) {
    for (int a = 0; a < ARRAY_COUNT; a++)
        for (int i = 0; i < count; i++)
            for (int k = 0; k < contact_arrays[a].components; k++, numbers += WIDTH) {
                char *to = (char *)&contacts[i] + contact_arrays[a].offset;
                if (contact_arrays[a].is_integer) {
                    memcpy(to + (size_t)k * sizeof(int), numbers, WIDTH);
                } else {
                    float single;
                    memcpy(&single, numbers, WIDTH);
                    double number = single;
                    memcpy(to + (size_t)k * sizeof number, &number, sizeof number);
                }
            }
    for (int i = 0; i < count; i++)
        if (!contact_is_valid(&contacts[i], bodies, body_count)) return false;
    return true;
}

void recording_contacts_convert(planes_conversion *convert, unsigned char *to, const unsigned char *from, int count) {
    for (int a = 0; a < ARRAY_COUNT; a++) {
        size_t numbers = (size_t)contact_arrays[a].components * (size_t)count;
        convert(to, from, numbers, WIDTH);
        to += numbers * WIDTH;
        from += numbers * WIDTH;
    }
}

static const char *const surface_names[] = {"none", "nodes", "embedded", "rigid"};
static const char *const place_names[] = {"run", "body", "nodes", "tets", "vertices"};
static const char *const type_names[] = {"f32", "f64"};
#define NAME_COUNT(names) ((int)(sizeof(names) / sizeof *(names)))

static json_t *print_body(const thenar_recording_body *body, json_error_t *problem) {
    return json_pack_ex(problem, 0, "{s:s, s:s, s:i, s:i, s:i, s:i, s:s}", "name", body->name, "kind", body->kind,
                        "nodes", body->node_count, "tets", body->tet_count, "vertices", body->vertex_count, "triangles",
                        body->triangle_count, "surface", surface_names[body->surface]);
}

static json_t *print_channel(const thenar_recording_channel *channel, json_error_t *problem) {
    return json_pack_ex(problem, 0, "{s:s, s:s, s:i, s:s, s:i, s:i, s:s}", "name", channel->name, "unit", channel->unit,
                        "body", channel->body, "place", place_names[channel->place], "count", channel->element_count,
                        "components", channel->components, "type", type_names[channel->type]);
}

static json_t *print_lists(const recording_head *head, json_t *metadata, json_error_t *problem) {
    json_t *bodies = json_array(), *channels = json_array();
    bool complete = bodies && channels;
    for (int i = 0; complete && i < head->body_count; i++)
        complete = json_array_append_new(bodies, print_body(&head->bodies[i], problem)) == 0;
    for (int i = 0; complete && i < head->channel_count; i++)
        complete = json_array_append_new(channels, print_channel(&head->channels[i], problem)) == 0;
    if (!complete) {
        json_decref(bodies);
        json_decref(channels);
        return NULL;
    }
    return json_pack_ex(problem, 0, "{s:s, s:s, s:s, s:f, s:i, s:O, s:o, s:o}", "scene", head->info.scene,
                        "thenar_version", head->info.thenar_version, "solver", head->info.solver, "dt", head->info.dt,
                        "contacts", head->info.max_contacts, "metadata", metadata, "bodies", bodies, "channels",
                        channels);
}

thenar_status recording_head_print(const recording_head *head, const char *path, char **out, thenar_error *error) {
    *out = NULL;
    json_text_fault fault;
    json_t *metadata = json_text_read(head->info.metadata, strlen(head->info.metadata), &fault);
    if (!metadata && fault.status == THENAR_ERROR_MEMORY) return error_memory(error, "the header of a recording");
    if (!json_is_object(metadata)) {
        bool is_json = metadata != NULL;
        json_decref(metadata);
        return error_at(error, path, 0, 0, "the metadata is not JSON (%s); expected an object",
                        is_json ? "not an object" : fault.what);
    }
    json_error_t problem = {0};
    json_t *root = print_lists(head, metadata, &problem);
    json_decref(metadata);
    if (!root && (json_error_code(&problem) == json_error_invalid_utf8 || !isfinite(head->info.dt)))
        return error_at(error, path, 0, 0, "cannot describe the run as JSON; expected names in UTF-8 and a finite dt");
    if (!root) return error_memory(error, "the header of a recording");
    *out = json_dumps(root, JSON_COMPACT);
    json_decref(root);
    return *out ? THENAR_OK : error_memory(error, "the header of a recording");
}

/* Where in HEAD the reader is, for messages. */
typedef struct head_place {
    const char *path, *list;
    size_t index;
    thenar_error *error;
} head_place;

/* These two set the error and return false. */
static bool head_fail(const head_place *at, const char *key, const char *expected) {
    if (at->list)
        error_at(at->error, at->path, 0, 0, "HEAD: %s[%zu].%s: expected %s", at->list, at->index, key, expected);
    else
        error_at(at->error, at->path, 0, 0, "HEAD: %s: expected %s", key, expected);
    return false;
}

static bool head_no_memory(const head_place *at) {
    error_memory(at->error, "the header of a recording");
    return false;
}

static bool get_text(const json_t *object, const char *key, const head_place *at, const char **out) {
    *out = json_string_value(json_object_get(object, key));
    return *out || head_fail(at, key, "a string");
}

static bool get_int(const json_t *object, const char *key, int low, int high, const head_place *at, int *out) {
    const json_t *value = json_object_get(object, key);
    json_int_t number = json_integer_value(value);
    if (!json_is_integer(value) || number < low || number > high) {
        char expected[64];
        snprintf(expected, sizeof expected, "a whole number within %d..%d", low, high);
        return head_fail(at, key, expected);
    }
    *out = (int)number;
    return true;
}

static bool get_choice(const json_t *object, const char *key, const char *const *names, int count, const head_place *at,
                       int *out) {
    const char *text = json_string_value(json_object_get(object, key));
    for (int i = 0; text && i < count; i++)
        if (strcmp(text, names[i]) == 0) {
            *out = i;
            return true;
        }
    return head_fail(at, key, "one of the names in docs/recording-format.md");
}

/* Reads a name that its owner (the index of a body, -1 for the run) does not have yet; `set` has those read before. */
static bool get_new_name(const json_t *object, const head_place *at, json_t *set, int owner, const char **out) {
    if (!get_text(object, "name", at, out)) return false;
    size_t size = strlen(*out) + 16;
    char *key = memory_array(size, 1);
    if (!key) return head_no_memory(at);
    snprintf(key, size, "%d/%s", owner, *out);
    bool is_new = !json_object_get(set, key);
    bool added = is_new && json_object_set_new(set, key, json_true()) == 0;
    free(key);
    if (!is_new) return head_fail(at, "name", "a name that is not taken");
    return added || head_no_memory(at);
}

static bool surface_counts_agree(const thenar_recording_body *body) {
    switch (body->surface) {
    case THENAR_RECORDING_SURFACE_NONE:
        return body->vertex_count == 0 && body->triangle_count == 0;
    case THENAR_RECORDING_SURFACE_NODES:
        return body->vertex_count == body->node_count;
    case THENAR_RECORDING_SURFACE_EMBEDDED:
        return body->vertex_count == 0 || body->tet_count > 0;
    case THENAR_RECORDING_SURFACE_RIGID:
        break;
    }
    return true;
}

static bool parse_body(const json_t *object, const head_place *at, json_t *set, thenar_recording_body *body) {
    int surface = 0;
    if (!get_new_name(object, at, set, 0, &body->name) || !get_text(object, "kind", at, &body->kind) ||
        !get_int(object, "nodes", 0, INT_MAX, at, &body->node_count) ||
        !get_int(object, "tets", 0, INT_MAX, at, &body->tet_count) ||
        !get_int(object, "vertices", 0, INT_MAX, at, &body->vertex_count) ||
        !get_int(object, "triangles", 0, INT_MAX, at, &body->triangle_count) ||
        !get_choice(object, "surface", surface_names, NAME_COUNT(surface_names), at, &surface))
        return false;
    body->surface = (thenar_recording_surface)surface;
    return surface_counts_agree(body) || head_fail(at, "surface", "a kind that fits the counts of the body");
}

int recording_channel_elements(const thenar_recording_channel *channel, const thenar_recording_body *bodies) {
    switch (channel->place) {
    case THENAR_RECORDING_NODES:
        return bodies[channel->body].node_count;
    case THENAR_RECORDING_TETS:
        return bodies[channel->body].tet_count;
    case THENAR_RECORDING_VERTICES:
        return bodies[channel->body].vertex_count;
    case THENAR_RECORDING_RUN:
    case THENAR_RECORDING_BODY:
        break;
    }
    return channel->element_count;
}

static bool parse_channel(const json_t *object, const head_place *at, json_t *set, const recording_head *head,
                          thenar_recording_channel *channel) {
    int where = 0, type = 0;
    if (!get_text(object, "unit", at, &channel->unit) ||
        !get_choice(object, "place", place_names, NAME_COUNT(place_names), at, &where) ||
        !get_choice(object, "type", type_names, NAME_COUNT(type_names), at, &type) ||
        !get_int(object, "count", 0, INT_MAX, at, &channel->element_count) ||
        !get_int(object, "components", 1, RECORDING_COMPONENTS_MAX, at, &channel->components))
        return false;
    channel->place = (thenar_recording_place)where;
    channel->type = (thenar_recording_type)type;
    bool of_run = channel->place == THENAR_RECORDING_RUN;
    if (!of_run && head->body_count == 0) return head_fail(at, "place", "\"run\", since there are no bodies");
    if (!get_int(object, "body", of_run ? -1 : 0, of_run ? -1 : head->body_count - 1, at, &channel->body) ||
        !get_new_name(object, at, set, channel->body, &channel->name))
        return false;
    return channel->element_count == recording_channel_elements(channel, head->bodies) ||
           head_fail(at, "count", "the count of the body");
}

static bool parse_bodies(const json_t *list, head_place at, recording_head *head) {
    at.list = "bodies";
    json_t *set = json_object();
    bool valid = set || head_no_memory(&at);
    for (; valid && head->body_count < (int)json_array_size(list); head->body_count++) {
        at.index = (size_t)head->body_count;
        valid = parse_body(json_array_get(list, at.index), &at, set, &head->bodies[at.index]);
    }
    json_decref(set);
    return valid;
}

static bool parse_channels(const json_t *list, head_place at, recording_head *head) {
    at.list = "channels";
    json_t *set = json_object();
    bool valid = set || head_no_memory(&at);
    for (; valid && head->channel_count < (int)json_array_size(list); head->channel_count++) {
        at.index = (size_t)head->channel_count;
        valid = parse_channel(json_array_get(list, at.index), &at, set, head, &head->channels[at.index]);
    }
    json_decref(set);
    return valid;
}

static bool parse_info(recording_head *head, const head_place *at) {
    /* Version 1 has no contacts. */
    if (json_object_get(head->root, "contacts") &&
        !get_int(head->root, "contacts", 0, RECORDING_CONTACTS_MAX, at, &head->info.max_contacts))
        return false;
    if (!get_text(head->root, "scene", at, &head->info.scene) ||
        !get_text(head->root, "thenar_version", at, &head->info.thenar_version) ||
        !get_text(head->root, "solver", at, &head->info.solver))
        return false;
    const json_t *dt = json_object_get(head->root, "dt"), *metadata = json_object_get(head->root, "metadata");
    head->info.dt = json_number_value(dt);
    if (!json_is_number(dt) || !isfinite(head->info.dt)) return head_fail(at, "dt", "a number");
    if (!json_is_object(metadata)) return head_fail(at, "metadata", "an object");
    head->metadata_text = json_dumps(metadata, JSON_COMPACT);
    head->info.metadata = head->metadata_text;
    return head->metadata_text || head_no_memory(at);
}

static bool parse_root(recording_head *head, const head_place *at) {
    const json_t *bodies = json_object_get(head->root, "bodies"), *channels = json_object_get(head->root, "channels");
    if (!json_is_array(bodies) || json_array_size(bodies) > RECORDING_BODIES_MAX)
        return head_fail(at, "bodies", "a list of at most 16384 bodies");
    if (!json_is_array(channels) || json_array_size(channels) > RECORDING_CHANNELS_MAX)
        return head_fail(at, "channels", "a list of at most 16384 channels");
    head->bodies = MEMORY_ARRAY(thenar_recording_body, json_array_size(bodies));
    head->channels = MEMORY_ARRAY(thenar_recording_channel, json_array_size(channels));
    if (!head->bodies || !head->channels) return head_no_memory(at);
    return parse_info(head, at) && parse_bodies(bodies, *at, head) && parse_channels(channels, *at, head);
}

thenar_status recording_head_parse(const char *text, size_t size, const char *path, recording_head *out,
                                   thenar_error *error) {
    *out = (recording_head){0};
    thenar_error local = {0};
    const head_place at = {.path = path, .error = &local};
    json_text_fault fault;
    out->root = json_text_read(text, size, &fault);
    if (!out->root && fault.status == THENAR_ERROR_MEMORY) {
        error_memory(&local, "the header of a recording");
    } else if (!json_is_object(out->root)) {
        error_at(&local, path, 0, 0, "HEAD: %s; expected a JSON object", out->root ? "not an object" : fault.what);
    } else if (parse_root(out, &at)) {
        return THENAR_OK;
    }
    recording_head_free(out);
    if (error) *error = local;
    return local.status;
}

void recording_head_free(recording_head *head) {
    json_decref(head->root);
    free(head->metadata_text);
    free(head->bodies);
    free(head->channels);
    *head = (recording_head){0};
}
