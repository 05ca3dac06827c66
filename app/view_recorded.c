#include "app/run.h"
#include "app/support.h"
#include "app/view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define COLUMN_LIMIT 20000

/* Names go into JSON: a name that is not UTF-8 loses all but its ASCII characters. */
static void make_printable(char *name) {
    json_t *valid = json_string(name);
    for (; *name; name++)
        if ((unsigned char)*name < ' ' || *name == 0x7f || (!valid && (unsigned char)*name >= 0x80)) *name = '_';
    json_decref(valid);
}

static thenar_status add_name(view_series *series, const char *name, size_t length, thenar_error *error) {
    char *copy = NEW_ARRAY(char, length + 1);
    if (!copy || !LIST_PUSH(&series->names, copy)) {
        free(copy);
        return fail_memory(error, "series");
    }
    memcpy(copy, name, length);
    make_printable(copy);
    return THENAR_OK;
}

/* Reads the line of names, quoted as in RFC 4180. Returns the text after the line. */
static const char *read_names(view_series *series, const char *at, const char *path, thenar_error *error) {
    char name[1024];
    for (;;) {
        size_t length = 0;
        bool quoted = *at == '"';
        if (quoted) at++;
        while (*at && (quoted || (*at != ',' && *at != '\n' && *at != '\r'))) {
            if (quoted && *at == '"' && *++at != '"') break;
            if (length < sizeof name) name[length++] = *at;
            at++;
        }
        if (series->names.count >= COLUMN_LIMIT || (*at && *at != ',' && *at != '\n' && *at != '\r')) {
            fail(error, THENAR_ERROR_INPUT, "%s:1: cannot read the columns; expected names separated by commas", path);
            return NULL;
        }
        if (add_name(series, name, length, error) != THENAR_OK) return NULL;
        if (*at == ',') {
            at++;
            continue;
        }
        return at + strspn(at, "\r\n");
    }
}

static thenar_status read_row(view_series *series, const char **at, const char *path, long line, thenar_error *error) {
    for (size_t i = 0; i < series->names.count; i++) {
        char *end;
        double value = strtod(*at, &end);
        if (end == *at) value = NAN;
        bool last = i + 1 == series->names.count;
        if (*end != (last ? '\n' : ',') && !(last && (*end == 0 || *end == '\r')))
            return fail(error, THENAR_ERROR_INPUT, "%s:%ld: cannot read field %zu; expected %zu numbers", path, line,
                        i + 1, series->names.count);
        if (!LIST_PUSH(&series->values, isfinite(value) ? value : NAN)) return fail_memory(error, path);
        *at = last ? end + strspn(end, "\r\n") : end + 1;
    }
    series->row_count++;
    return THENAR_OK;
}

thenar_status series_read_csv(view_series *series, const char *path, thenar_error *error) {
    char *text = read_file(path, NULL, error);
    if (!text) return error->status;
    const char *at = read_names(series, text, path, error);
    thenar_status status = at ? THENAR_OK : error->status;
    for (long line = 2; status == THENAR_OK && *at; line++) status = read_row(series, &at, path, line, error);
    free(text);
    if (status != THENAR_OK) series_free(series);
    return status;
}

/* step, time, then every channel of the run that is one number. */
thenar_status series_read_recording(view_series *series, thenar_recording *recording, int row_limit,
                                    thenar_error *error) {
    int frames = thenar_recording_frame_count(recording), channels = thenar_recording_channel_count(recording);
    thenar_status status = add_name(series, "step", 4, error);
    if (status == THENAR_OK) status = add_name(series, "time", 4, error);
    LIST(int) taken = {0};
    for (int c = 0; c < channels && status == THENAR_OK; c++) {
        const thenar_recording_channel *channel = thenar_recording_channel_at(recording, c);
        if (channel->place != THENAR_RECORDING_RUN || channel->element_count != 1 || channel->components != 1) continue;
        status = LIST_PUSH(&taken, c) ? add_name(series, channel->name, strlen(channel->name), error)
                                      : fail_memory(error, "series");
    }
    int every = frames > row_limit ? (frames + row_limit - 1) / row_limit : 1;
    for (int f = 0; f < frames && status == THENAR_OK; f += every) {
        if (!LIST_PUSH(&series->values, (double)thenar_recording_frame_step(recording, f)) ||
            !LIST_PUSH(&series->values, thenar_recording_frame_time(recording, f)))
            status = fail_memory(error, "series");
        for (size_t c = 0; c < taken.count && status == THENAR_OK; c++) {
            double value = NAN;
            thenar_error ignored; /* a damaged frame leaves a gap */
            if (thenar_recording_read_channel(recording, taken.data[c], f, &value, &ignored) != THENAR_OK) value = NAN;
            if (!LIST_PUSH(&series->values, value)) status = fail_memory(error, "series");
        }
        if (status == THENAR_OK) series->row_count++;
    }
    free(taken.data);
    if (status != THENAR_OK) series_free(series);
    return status;
}

int series_find(const view_series *series, const char *name) {
    for (size_t i = 0; i < series->names.count; i++)
        if (strcmp(series->names.data[i], name) == 0) return (int)i;
    return -1;
}

void series_thin(view_series *series, size_t row_limit) {
    size_t columns = series->names.count, rows = series->row_count;
    if (rows <= row_limit) return;
    int weight = series_find(series, "step_us");
    double *values = series->values.data;
    for (size_t out = 0; out < row_limit; out++) {
        size_t best = out * rows / row_limit, end = (out + 1) * rows / row_limit;
        for (size_t i = best + 1; i < end && weight >= 0; i++)
            if (values[i * columns + (size_t)weight] > values[best * columns + (size_t)weight]) best = i;
        memmove(values + out * columns, values + best * columns, columns * sizeof *values);
    }
    series->row_count = row_limit;
    series->values.count = row_limit * columns;
}

void series_free(view_series *series) {
    for (size_t i = 0; i < series->names.count; i++) free(series->names.data[i]);
    free(series->names.data);
    free(series->values.data);
    *series = (view_series){0};
}

#define PATH_SIZE 4096
#define SERIES_ROWS 3000     /* more than a plot has pixels */
#define TACTILE_NUMBERS 1000 /* maximum number of points of a pad */
#define FRAMES_READ 500      /* for the series, if there is no steps.csv */

typedef struct view_recorded {
    view_source base;
    thenar_recording *recording;
    json_t *summary; /* of summary.json, or NULL */
    view_series series;
    double *scratch; /* positions of the largest body */
} view_recorded;

thenar_recording *view_recorded_recording(view_source *source) {
    return ((view_recorded *)source)->recording;
}

/* The stretch limits of a body's tets from the metadata of the recording: [min, max] for all, or one pair per tet. */
static double *read_limits(const json_t *metadata, const thenar_recording_body *body, int index) {
    const json_t *limits = json_array_get(json_object_get(metadata, "stretch_limits"), (size_t)index);
    size_t count = json_array_size(limits), tets = (size_t)body->tet_count;
    bool alike = count == 2 && json_is_number(json_array_get(limits, 0));
    if (tets == 0 || (!alike && count != tets)) return NULL;
    double *values = NEW_ARRAY(double, 2 * tets);
    for (size_t t = 0; values && t < tets; t++)
        for (size_t i = 0; i < 2; i++)
            values[2 * t + i] = json_number_value(json_array_get(alike ? limits : json_array_get(limits, t), i));
    return values;
}

static void write_meshes(view_recorded *recorded, view_message *out) {
    json_t *metadata = json_of_text(thenar_recording_get_info(recorded->recording).metadata);
    for (int b = 0; b < thenar_recording_body_count(recorded->recording); b++) {
        const thenar_recording_mesh *mesh;
        const thenar_recording_body *body = thenar_recording_body_at(recorded->recording, b);
        thenar_error error;
        if (thenar_recording_read_mesh(recorded->recording, b, &mesh, &error) != THENAR_OK) continue;
        double *limits = read_limits(metadata, body, b);
        thenar_surface surface = mesh->surface;
        if (body->surface == THENAR_RECORDING_SURFACE_NODES) surface.positions = NULL; /* vertices are the nodes */
        message_mesh(out, b, &mesh->volume, body->surface == THENAR_RECORDING_SURFACE_NONE ? NULL : &surface,
                     body->surface == THENAR_RECORDING_SURFACE_EMBEDDED ? &mesh->embedding : NULL, limits);
        free(limits);
    }
    json_decref(metadata);
}

static json_t *describe_bodies(thenar_recording *recording) {
    json_t *bodies = json_array();
    for (int b = 0; b < thenar_recording_body_count(recording); b++) {
        const thenar_recording_body *body = thenar_recording_body_at(recording, b);
        json_array_append_new(bodies, json_pack("{s:s, s:s, s:i, s:i, s:i, s:i}", "name", body->name, "kind",
                                                body->kind, "nodes", body->node_count, "tets", body->tet_count,
                                                "vertices", body->vertex_count, "triangles", body->triangle_count));
    }
    return bodies;
}

/* Hands are recognized by their channel and numbered in its order. */
static bool is_joints(const thenar_recording_channel *channel) {
    return channel->place == THENAR_RECORDING_BODY && strcmp(channel->name, "joints") == 0 &&
           channel->element_count == THENAR_HAND_JOINTS && channel->components == 7;
}

/* Adds what the metadata says about the shape of a hand. Recordings of earlier versions do not have it. */
static void describe_rest(const json_t *metadata, int body, json_t *hand) {
    size_t i;
    json_t *known;
    json_array_foreach(json_object_get(metadata, "hands"), i, known) {
        json_t *first = json_object_get(known, "body"), *rest = json_object_get(known, "rest");
        if (!json_is_integer(first) || json_integer_value(first) != body) continue;
        if (json_array_size(rest) != 7 * THENAR_HAND_JOINTS) continue;
        json_object_set(hand, "bodies", json_object_get(known, "bodies"));
        json_object_set(hand, "rest", rest);
    }
}

static json_t *describe_hands(const thenar_recording *recording, const json_t *metadata) {
    json_t *hands = json_array();
    for (int c = 0; c < thenar_recording_channel_count(recording); c++) {
        const thenar_recording_channel *channel = thenar_recording_channel_at(recording, c);
        if (!is_joints(channel)) continue;
        json_t *hand = json_pack("{s:s, s:i}", "name", thenar_recording_body_at(recording, channel->body)->name, "body",
                                 channel->body);
        describe_rest(metadata, channel->body, hand);
        json_array_append_new(hands, hand);
    }
    return hands;
}

/* Haptic devices are recognized by the names of their channels and numbered in their order. */
static bool is_haptic(const thenar_recording_channel *channel) {
    return channel->place == THENAR_RECORDING_RUN && strncmp(channel->name, "haptic/", 7) == 0 &&
           channel->components == RUN_HAPTIC_NUMBERS && channel->element_count == 1;
}

static json_t *describe_haptic(const thenar_recording *recording) {
    json_t *names = json_array();
    for (int c = 0; c < thenar_recording_channel_count(recording); c++)
        if (is_haptic(thenar_recording_channel_at(recording, c)))
            json_array_append_new(names, json_string(thenar_recording_channel_at(recording, c)->name + 7));
    return names;
}

static json_t *describe_columns(const view_series *series) {
    json_t *columns = json_array();
    for (size_t i = 0; i < series->names.count; i++) json_array_append_new(columns, json_string(series->names.data[i]));
    return columns;
}

#define FRAMES_MEASURED 8 /* for the bounds: spread over the recording, including the last one */

/* Low and high corner of all bodies but planes, at some times: what the camera should show. */
static json_t *measure_bounds(view_recorded *recorded, view_range range) {
    thenar_recording *recording = recorded->recording;
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int b = 0; b < thenar_recording_body_count(recording); b++) {
        const thenar_recording_body *body = thenar_recording_body_at(recording, b);
        if (body->vertex_count <= 4) continue;
        double *x = NEW_ARRAY(double, 3 * (size_t)body->vertex_count);
        for (int i = 0; i < FRAMES_MEASURED && x; i++) {
            thenar_error ignored;
            int frame = range.first + (int)((int64_t)(range.end - 1 - range.first) * i / (FRAMES_MEASURED - 1));
            if (thenar_recording_read_surface(recording, b, frame, x, &ignored) != THENAR_OK) continue;
            for (int k = 0; k < 3 * body->vertex_count; k++) {
                low[k % 3] = fmin(low[k % 3], x[k]);
                high[k % 3] = fmax(high[k % 3], x[k]);
            }
        }
        free(x);
    }
    if (!isfinite(low[0] + low[1] + low[2] + high[0] + high[1] + high[2])) return NULL;
    return json_pack("[f, f, f, f, f, f]", low[0], low[1], low[2], high[0], high[1], high[2]);
}

static void write_head(view_recorded *recorded, view_range range, view_message *out) {
    thenar_recording *recording = recorded->recording;
    thenar_recording_info info = thenar_recording_get_info(recording);
    json_t *metadata = json_of_text(info.metadata), *tactile = json_object_get(metadata, "tactile");
    json_t *head = json_pack("{s:i, s:s, s:s, s:s, s:s, s:f, s:o, s:o, s:o}", "protocol", VIEW_PROTOCOL, "mode",
                             "recording", "scene", info.scene, "version", info.thenar_version, "solver", info.solver,
                             "dt", info.dt, "bodies", describe_bodies(recording), "columns",
                             describe_columns(&recorded->series), "hands", describe_hands(recording, metadata));
    json_t *haptic = describe_haptic(recording);
    if (json_array_size(haptic) > 0) json_object_set(head, "haptic", haptic);
    json_decref(haptic);
    if (recorded->summary) json_object_set(head, "summary", recorded->summary);
    json_t *bounds = measure_bounds(recorded, range);
    if (bounds) json_object_set_new(head, "bounds", bounds);
    if (json_is_object(tactile)) json_object_set(head, "tactile", tactile);
    json_decref(metadata);
    if (thenar_recording_damage(recording))
        json_object_set_new(head, "damage", json_string(thenar_recording_damage(recording)));
    message_json(out, SECTION_HEAD, head);
    write_meshes(recorded, out);
    size_t count = (size_t)((range.end - range.first + range.every - 1) / range.every);
    double *times = message_section(out, SECTION_TIMES, 0, count, count * sizeof *times);
    for (size_t i = 0; times && i < count; i++)
        times[i] = thenar_recording_frame_time(recording, range.first + (int)i * range.every);
    message_doubles(out, SECTION_STEPS, recorded->series.row_count, recorded->series.values.data,
                    recorded->series.values.count);
}

static view_range whole(const view_recorded *recorded) {
    return (view_range){0, thenar_recording_frame_count(recorded->recording), 1};
}

static void recorded_head(view_source *source, view_message *out) {
    view_recorded *recorded = (view_recorded *)source;
    write_head(recorded, whole(recorded), out);
}

static void write_pose(thenar_recording *recording, int body, int frame, view_message *out) {
    double pose[7];
    thenar_error error;
    int channel = thenar_recording_find_channel(recording, body, "pose");
    if (channel < 0 || thenar_recording_channel_at(recording, channel)->components != 7 ||
        thenar_recording_channel_at(recording, channel)->element_count != 1)
        return;
    if (thenar_recording_read_channel(recording, channel, frame, pose, &error) == THENAR_OK)
        message_floats(out, SECTION_POSE, body, 1, pose, 7);
}

static void write_hands(thenar_recording *recording, int frame, view_message *out) {
    double joints[7 * THENAR_HAND_JOINTS];
    thenar_error error;
    for (int c = 0, hand = 0; c < thenar_recording_channel_count(recording); c++) {
        if (!is_joints(thenar_recording_channel_at(recording, c))) continue;
        if (thenar_recording_read_channel(recording, c, frame, joints, &error) == THENAR_OK)
            message_joints(out, hand, joints);
        hand++;
    }
}

/* Handles are numbered body by body. */
static void write_handles(thenar_recording *recording, int frame, view_message *out) {
    enum { NUMBERS = 26, MAX = 64 };
    double values[NUMBERS * MAX];
    thenar_error error;
    for (int c = 0, handle = 0; c < thenar_recording_channel_count(recording); c++) {
        const thenar_recording_channel *channel = thenar_recording_channel_at(recording, c);
        if (strcmp(channel->name, "handles") != 0 || channel->place != THENAR_RECORDING_BODY ||
            channel->components != NUMBERS || channel->element_count > MAX)
            continue;
        if (thenar_recording_read_channel(recording, c, frame, values, &error) != THENAR_OK) continue;
        for (int i = 0; i < channel->element_count; i++)
            message_floats(out, SECTION_HANDLE, handle++, 1, values + NUMBERS * i, NUMBERS);
    }
}

/* Devices and pads are recognized by the names of their channels and numbered in their order. */
static void write_tactile(thenar_recording *recording, int frame, view_message *out) {
    thenar_error error;
    for (int c = 0, device = 0, pad = 0; c < thenar_recording_channel_count(recording); c++) {
        const thenar_recording_channel *channel = thenar_recording_channel_at(recording, c);
        double values[TACTILE_NUMBERS];
        bool is_device = strncmp(channel->name, "tactile/", 8) == 0 && channel->components == VIEW_DEVICE_NUMBERS &&
                         channel->element_count == 1;
        bool is_pad = strncmp(channel->name, "pad/", 4) == 0 && channel->components == 1 &&
                      channel->element_count <= TACTILE_NUMBERS;
        if (channel->place != THENAR_RECORDING_RUN || !(is_device || is_pad)) continue;
        bool read = thenar_recording_read_channel(recording, c, frame, values, &error) == THENAR_OK;
        if (is_device && read) message_device(out, device, values);
        if (is_pad && read) message_pad(out, pad, values, channel->element_count);
        device += is_device;
        pad += is_pad;
    }
}

static void write_haptic(thenar_recording *recording, int frame, view_message *out) {
    double values[RUN_HAPTIC_NUMBERS];
    thenar_error error;
    for (int c = 0, device = 0; c < thenar_recording_channel_count(recording); c++) {
        if (!is_haptic(thenar_recording_channel_at(recording, c))) continue;
        if (thenar_recording_read_channel(recording, c, frame, values, &error) == THENAR_OK)
            message_floats(out, SECTION_HAPTIC, device, 1, values, RUN_HAPTIC_NUMBERS);
        device++;
    }
}

static void write_contacts(thenar_recording *recording, int frame, view_message *out) {
    const thenar_contact *contacts;
    int count;
    thenar_error error;
    if (thenar_recording_read_contacts(recording, frame, &contacts, &count, &error) == THENAR_OK)
        message_contacts(out, contacts, count);
}

/* Everything of a frame but the bodies. */
static void write_details(thenar_recording *recording, int frame, view_message *out) {
    write_hands(recording, frame, out);
    write_handles(recording, frame, out);
    write_tactile(recording, frame, out);
    write_haptic(recording, frame, out);
    write_contacts(recording, frame, out);
}

/* Shows what can be read of a damaged frame. */
static void recorded_updates(view_source *source, view_cursor *cursor, view_message *out) {
    view_recorded *recorded = (view_recorded *)source;
    thenar_recording *recording = recorded->recording;
    if (cursor->wanted == 0) return;
    int frame = (int)(cursor->wanted - 1);
    cursor->wanted = 0;
    message_frame(out, thenar_recording_frame_time(recording, frame),
                  (double)thenar_recording_frame_step(recording, frame), frame, 0);
    for (int b = 0; b < thenar_recording_body_count(recording); b++) {
        const thenar_recording_body *body = thenar_recording_body_at(recording, b);
        thenar_error error;
        if (body->node_count == 0)
            write_pose(recording, b, frame, out);
        else if (thenar_recording_read_positions(recording, b, frame, recorded->scratch, &error) == THENAR_OK)
            message_floats(out, SECTION_POSITIONS, b, (size_t)body->node_count, recorded->scratch,
                           3 * (size_t)body->node_count);
    }
    write_details(recording, frame, out);
}

static const char *recorded_order(view_source *source, view_cursor *cursor, const view_order *order) {
    view_recorded *recorded = (view_recorded *)source;
    if (order_drives(order->kind)) return "a recording has no hand to drive";
    if (order->kind != ORDER_WANT || order->a >= (uint32_t)thenar_recording_frame_count(recorded->recording))
        return "no such order";
    cursor->wanted = (int64_t)order->a + 1;
    return NULL;
}

static void recorded_leave(view_source *source, view_cursor *cursor) {
    (void)source;
    (void)cursor;
}

static void recorded_free(view_source *source) {
    view_recorded *recorded = (view_recorded *)source;
    thenar_recording_close(recorded->recording);
    json_decref(recorded->summary);
    series_free(&recorded->series);
    free(recorded->scratch);
    free(recorded);
}

/* Reads summary.json and steps.csv next to the recording if they belong to it: the last step must be the same. */
static thenar_status read_run_files(view_recorded *recorded, const char *folder, thenar_error *error) {
    char path[PATH_SIZE + 32];
    thenar_error ignored;
    int frames = thenar_recording_frame_count(recorded->recording);
    double last = frames > 0 ? (double)thenar_recording_frame_step(recorded->recording, frames - 1) : 0;
    snprintf(path, sizeof path, "%s/summary.json", folder);
    recorded->summary = json_file_read(path);
    if (recorded->summary && json_number_value(json_object_get(recorded->summary, "steps")) != last) {
        json_decref(recorded->summary);
        recorded->summary = NULL;
    }
    snprintf(path, sizeof path, "%s/steps.csv", folder);
    view_series *series = &recorded->series;
    if (series_read_csv(series, path, &ignored) == THENAR_OK) {
        int step = series_find(series, "step");
        size_t columns = series->names.count;
        if (step >= 0 && series->row_count > 0 &&
            series->values.data[(series->row_count - 1) * columns + (size_t)step] == last) {
            series_thin(series, SERIES_ROWS);
            return THENAR_OK;
        }
        series_free(series);
    }
    return series_read_recording(series, recorded->recording, FRAMES_READ, error);
}

/* The recording at a path, and its folder. */
static thenar_status find_recording(const char *path, char file[PATH_SIZE + 32], char folder[PATH_SIZE],
                                    thenar_error *error) {
    if (strlen(path) >= PATH_SIZE) return fail(error, THENAR_ERROR_FILE, "the path is too long");
    if (is_directory(path)) {
        snprintf(folder, PATH_SIZE, "%s", path);
        snprintf(file, PATH_SIZE + 32, "%s/recording.thenar", path);
        return THENAR_OK;
    }
    snprintf(file, PATH_SIZE + 32, "%s", path);
    snprintf(folder, PATH_SIZE, "%s", path);
    char *slash = strrchr(folder, '/');
    snprintf(slash ? slash : folder, 2, "%s", slash ? "" : ".");
    if (slash == folder) snprintf(folder, PATH_SIZE, "/");
    return THENAR_OK;
}

bool view_is_recording(const char *path) {
    return strcmp(path_extension(path), "thenar") == 0 || is_directory(path);
}

thenar_status view_recorded_open(const char *path, view_source **out, thenar_error *error) {
    *out = NULL;
    char file[PATH_SIZE + 32], folder[PATH_SIZE];
    thenar_status status = find_recording(path, file, folder, error);
    if (status != THENAR_OK) return status;
    view_recorded *recorded = NEW_ARRAY(view_recorded, 1);
    if (!recorded) return fail_memory(error, path);
    recorded->base = (view_source){recorded_head, recorded_updates, recorded_order, recorded_leave, recorded_free};
    status = thenar_recording_open(file, &recorded->recording, error);
    if (status == THENAR_OK && thenar_recording_damage(recorded->recording))
        fprintf(stderr, "thenar: warning: %s\n", thenar_recording_damage(recorded->recording));
    if (status == THENAR_OK && thenar_recording_frame_count(recorded->recording) == 0)
        status = fail(error, THENAR_ERROR_INPUT, "%s: no readable frame; expected at least one", file);
    if (status == THENAR_OK) status = read_run_files(recorded, folder, error);
    if (status == THENAR_OK) {
        int max = 1;
        for (int b = 0; b < thenar_recording_body_count(recorded->recording); b++) {
            int nodes = thenar_recording_body_at(recorded->recording, b)->node_count;
            if (nodes > max) max = nodes;
        }
        recorded->scratch = NEW_ARRAY(double, 3 * (size_t)max);
        if (!recorded->scratch) status = fail_memory(error, path);
    }
    if (status == THENAR_OK)
        *out = &recorded->base;
    else
        recorded_free(&recorded->base);
    return status;
}

/* Two passes over the recording: first the boxes, then the frames. */
static thenar_status pack_frames(view_recorded *recorded, view_range range, view_packer *packers, view_message *out,
                                 thenar_error *error) {
    thenar_recording *recording = recorded->recording;
    int bodies = thenar_recording_body_count(recording);
    thenar_status status = THENAR_OK;
    for (int pass = 0; pass < 2 && status == THENAR_OK; pass++) {
        for (int b = 0; b < bodies && pass == 1 && status == THENAR_OK; b++)
            if (packers[b].node_count > 0) status = packer_begin(&packers[b], out, b, error);
        for (int f = range.first; f < range.end && status == THENAR_OK; f += range.every) {
            if (pass == 1)
                message_frame(out, thenar_recording_frame_time(recording, f),
                              (double)thenar_recording_frame_step(recording, f), (f - range.first) / range.every, 0);
            for (int b = 0; b < bodies && status == THENAR_OK; b++) {
                if (packers[b].node_count == 0) {
                    if (pass == 1) write_pose(recording, b, f, out);
                    continue;
                }
                status = thenar_recording_read_positions(recording, b, f, recorded->scratch, error);
                if (status != THENAR_OK) break;
                if (pass == 0)
                    packer_grow(&packers[b], recorded->scratch);
                else
                    packer_add(&packers[b], out, b, recorded->scratch);
            }
            if (pass == 0) continue;
            write_details(recording, f, out);
        }
    }
    return status;
}

thenar_status view_recorded_pack(view_source *source, view_range range, view_message *out, thenar_error *error) {
    view_recorded *recorded = (view_recorded *)source;
    int bodies = thenar_recording_body_count(recorded->recording);
    view_packer *packers = NEW_ARRAY(view_packer, bodies);
    if (!packers) return fail_memory(error, "the replay");
    for (int b = 0; b < bodies; b++)
        packers[b].node_count = thenar_recording_body_at(recorded->recording, b)->node_count;
    write_head(recorded, range, out);
    thenar_status status = pack_frames(recorded, range, packers, out, error);
    if (status == THENAR_OK && out->failed) status = fail_memory(error, "the replay");
    for (int b = 0; b < bodies; b++) free(packers[b].last);
    free(packers);
    return status;
}
