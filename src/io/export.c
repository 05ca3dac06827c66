#include "io/export.h"

#include "core/error.h"
#include "core/memory.h"
#include "core/text.h"
#include "core/vec3.h"
#include "io/recording.h"

#include <stdlib.h>
#include <string.h>

/* The contacts of a recording: a table with a row each, and points with vectors for ParaView. Forces are those on the
 * first of the two bodies; on the second they are the opposite. */

/* Normal force and friction together, N. */
static vec3 total_force(const thenar_contact *contact) {
    return vec3_mul_add(vec3_load(contact->friction), vec3_load(contact->normal), contact->force);
}

/* Of the skin around the point, Pa; points of rigid bodies have no area, and so 0. */
static double pressure(const thenar_contact *contact) {
    return contact->area > 0 ? contact->force / contact->area : 0;
}

static void write_header(csv_writer *csv) {
    static const char *const columns[] = {"frame",      "step",         "time",       "body_a",     "body_b",
                                          "vertex",     "face_a",       "face_b",     "sticks",     "position_x",
                                          "position_y", "position_z",   "normal_x",   "normal_y",   "normal_z",
                                          "gap",        "normal_force", "friction_x", "friction_y", "friction_z",
                                          "force_x",    "force_y",      "force_z",    "area",       "pressure"};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) csv_text(csv, columns[i]);
    csv_end_row(csv);
}

static void write_vector(csv_writer *csv, vec3 v) {
    csv_number(csv, v.x);
    csv_number(csv, v.y);
    csv_number(csv, v.z);
}

static void write_row(csv_writer *csv, const thenar_recording *recording, int frame, const thenar_contact *contact) {
    csv_integer(csv, frame);
    csv_integer(csv, (long long)thenar_recording_frame_step(recording, frame));
    csv_number(csv, thenar_recording_frame_time(recording, frame));
    csv_text(csv, thenar_recording_body_at(recording, contact->body[0])->name);
    csv_text(csv, thenar_recording_body_at(recording, contact->body[1])->name);
    csv_integer(csv, contact->vertex);
    csv_integer(csv, contact->face[0]);
    csv_integer(csv, contact->face[1]);
    csv_integer(csv, contact->sticks);
    write_vector(csv, vec3_load(contact->position));
    write_vector(csv, vec3_load(contact->normal));
    csv_number(csv, contact->gap);
    csv_number(csv, contact->force);
    write_vector(csv, vec3_load(contact->friction));
    write_vector(csv, total_force(contact));
    csv_number(csv, contact->area);
    csv_number(csv, pressure(contact));
    csv_end_row(csv);
}

static thenar_status write_rows(csv_writer *csv, thenar_recording *recording, export_selection selection,
                                const thenar_export_options *options, thenar_error *error) {
    write_header(csv);
    thenar_status status = THENAR_OK;
    bool go_on = true;
    for (int i = 0; status == THENAR_OK && go_on && i < selection.count; i++) {
        const thenar_contact *contacts;
        int frame = export_frame(selection, i), count;
        status = thenar_recording_read_contacts(recording, frame, &contacts, &count, error);
        for (int c = 0; c < count; c++) write_row(csv, recording, frame, &contacts[c]);
        if (status == THENAR_OK) go_on = export_tell(options, i + 1, selection.count);
    }
    return status;
}

static thenar_status export_contacts_csv(thenar_recording *recording, const char *path, export_selection selection,
                                         const thenar_export_options *options, thenar_error *error) {
    csv_writer csv;
    thenar_status status = csv_open(&csv, path, error);
    if (status != THENAR_OK) return status;
    status = write_rows(&csv, recording, selection, options, error);
    thenar_status closed = csv_close(&csv, status == THENAR_OK ? error : NULL);
    return status == THENAR_OK ? closed : status;
}

/* Arrays of the points in VTK. */
enum { NORMAL, FORCE, FRICTION, NORMAL_FORCE, GAP, AREA, PRESSURE, STICKS, BODY_A, BODY_B, ARRAYS };
static const vtk_array arrays[ARRAYS] = {[NORMAL] = {"normal", 3},     [FORCE] = {"force", 3},
                                         [FRICTION] = {"friction", 3}, [NORMAL_FORCE] = {"normal_force", 1},
                                         [GAP] = {"gap", 1},           [AREA] = {"area", 1},
                                         [PRESSURE] = {"pressure", 1}, [STICKS] = {"sticks", 1},
                                         [BODY_A] = {"body_a", 1},     [BODY_B] = {"body_b", 1}};

static void fill(double *points, double *const *values, const thenar_contact *contacts, int count) {
    for (size_t i = 0; i < (size_t)count; i++) {
        const thenar_contact *contact = &contacts[i];
        vec3_store(points + 3 * i, vec3_load(contact->position));
        vec3_store(values[NORMAL] + 3 * i, vec3_load(contact->normal));
        vec3_store(values[FORCE] + 3 * i, total_force(contact));
        vec3_store(values[FRICTION] + 3 * i, vec3_load(contact->friction));
        values[NORMAL_FORCE][i] = contact->force;
        values[GAP][i] = contact->gap;
        values[AREA][i] = contact->area;
        values[PRESSURE][i] = pressure(contact);
        values[STICKS][i] = contact->sticks;
        values[BODY_A][i] = contact->body[0];
        values[BODY_B][i] = contact->body[1];
    }
}

thenar_status export_contacts_vtk(thenar_recording *recording, const char *path, int frame, thenar_error *error) {
    const thenar_contact *contacts;
    int count;
    thenar_status status = thenar_recording_read_contacts(recording, frame, &contacts, &count, error);
    if (status != THENAR_OK) return status;
    size_t numbers = 3;
    for (int a = 0; a < ARRAYS; a++) numbers += (size_t)arrays[a].components;
    double *points = MEMORY_ARRAY(double, numbers *(size_t)count), *values[ARRAYS];
    if (!points) return error_memory(error, "contacts");
    double *next = points + 3 * (size_t)count;
    for (int a = 0; a < ARRAYS; a++) {
        values[a] = next;
        next += (size_t)arrays[a].components * (size_t)count;
    }
    fill(points, values, contacts, count);
    char title[256];
    snprintf(title, sizeof title, "%.150s contacts of frame %d", thenar_recording_get_info(recording).scene, frame);
    vtk_piece piece = {.point_count = count, .points = points, .point_values = (const double *const *)values};
    vtk_grid grid = {
        .title = title, .pieces = &piece, .piece_count = 1, .point_arrays = arrays, .point_array_count = ARRAYS};
    status = vtk_write_points(path, &grid, error);
    free(points);
    return status;
}

/* One row per frame and body: where the body is (centroid and bounding box of its nodes, or of its vertices
 * where it has none) and the chosen channels. Channels of the run are repeated on each row of a frame; a body
 * that lacks a channel leaves its fields empty. */

/* Columns of the same name and shape, shared by the bodies that have them. */
typedef struct column_group {
    const thenar_recording_channel *shape; /* the first channel of the group */
    bool summed;                           /* on nodes, tets or vertices: a sum and a largest magnitude */
} column_group;

typedef struct csv_export {
    thenar_recording *recording;
    csv_writer csv;
    column_group *groups;
    int group_count;
    int *group_of_channel; /* -1: not chosen */
    int *channel_of_group; /* for the body of the present row; -1: it has none */
    double *values;        /* the largest channel or set of positions */
} csv_export;

static bool is_summed(const thenar_recording_channel *channel) {
    return channel->place != THENAR_RECORDING_RUN && channel->place != THENAR_RECORDING_BODY;
}

static bool same_columns(const thenar_recording_channel *a, const thenar_recording_channel *b) {
    return (a->body < 0) == (b->body < 0) && is_summed(a) == is_summed(b) && a->components == b->components &&
           (is_summed(a) || a->element_count == b->element_count) && strcmp(a->name, b->name) == 0;
}

static bool is_chosen(const thenar_recording_channel *channel, const thenar_export_options *options) {
    if (!options->channels) return !is_summed(channel);
    for (int i = 0; i < options->channel_count; i++)
        if (strcmp(options->channels[i], channel->name) == 0) return true;
    return false;
}

static int find_or_add_group(csv_export *job, const thenar_recording_channel *channel) {
    for (int g = 0; g < job->group_count; g++)
        if (same_columns(job->groups[g].shape, channel)) return g;
    job->groups[job->group_count] = (column_group){.shape = channel, .summed = is_summed(channel)};
    return job->group_count++;
}

/* A name that was asked for and that no channel has is a mistake worth telling. */
static thenar_status check_names(const csv_export *job, const thenar_export_options *options, thenar_error *error) {
    int count = thenar_recording_channel_count(job->recording);
    const char **names = MEMORY_ARRAY(const char *, count);
    if (!names) return error_memory(error, "a table");
    for (int c = 0; c < count; c++) names[c] = thenar_recording_channel_at(job->recording, c)->name;
    thenar_status status = THENAR_OK;
    for (int i = 0; status == THENAR_OK && options->channels && i < options->channel_count; i++) {
        bool found = false;
        for (int c = 0; c < count && !found; c++) found = strcmp(names[c], options->channels[i]) == 0;
        if (found) continue;
        const char *closest = text_closest(options->channels[i], names, (size_t)count);
        status = error_set(error, THENAR_ERROR_INPUT, "the recording has no channel \"%s\"%s%s%s", options->channels[i],
                           closest ? "; did you mean \"" : "", closest ? closest : "", closest ? "\"?" : "");
    }
    free(names);
    return status;
}

static thenar_status prepare(csv_export *job, const thenar_export_options *options, thenar_error *error) {
    thenar_status status = check_names(job, options, error);
    if (status != THENAR_OK) return status;
    int channels = thenar_recording_channel_count(job->recording);
    size_t largest = 0;
    job->groups = MEMORY_ARRAY(column_group, channels);
    job->group_of_channel = MEMORY_ARRAY(int, channels);
    job->channel_of_group = MEMORY_ARRAY(int, channels);
    if (!job->groups || !job->group_of_channel || !job->channel_of_group) return error_memory(error, "a table");
    for (int c = 0; c < channels; c++) {
        const thenar_recording_channel *channel = thenar_recording_channel_at(job->recording, c);
        job->group_of_channel[c] = is_chosen(channel, options) ? find_or_add_group(job, channel) : -1;
        if (recording_channel_numbers(channel) > largest) largest = recording_channel_numbers(channel);
    }
    for (int b = 0; b < thenar_recording_body_count(job->recording); b++) {
        const thenar_recording_body *body = thenar_recording_body_at(job->recording, b);
        size_t points = (size_t)(body->node_count > body->vertex_count ? body->node_count : body->vertex_count);
        if (3 * points > largest) largest = 3 * points;
    }
    job->values = MEMORY_ARRAY(double, largest);
    return job->values ? THENAR_OK : error_memory(error, "a table");
}

static void component_suffix(const thenar_recording_channel *channel, int component, char *text, size_t size) {
    static const char *const axes[] = {"x", "y", "z"};
    static const char *const pose[] = {"x", "y", "z", "qx", "qy", "qz", "qw"};
    if (channel->components == 1)
        text[0] = 0;
    else if (channel->components == 3)
        snprintf(text, size, "_%s", axes[component]);
    else if (channel->components == 7 && (strcmp(channel->name, "pose") == 0 || strcmp(channel->name, "joints") == 0))
        snprintf(text, size, "_%s", pose[component]);
    else
        snprintf(text, size, "_%d", component);
}

static void write_column(csv_export *job, const thenar_recording_channel *channel, const char *middle, int component) {
    char suffix[16], name[256];
    component_suffix(channel, component, suffix, sizeof suffix);
    snprintf(name, sizeof name, "%.200s%s%s", channel->name, middle, suffix);
    csv_text(&job->csv, name);
}

static void export_csv_write_header(csv_export *job) {
    static const char *const fixed[] = {"frame", "step",  "time",  "body",  "centroid_x", "centroid_y", "centroid_z",
                                        "min_x", "min_y", "min_z", "max_x", "max_y",      "max_z"};
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) csv_text(&job->csv, fixed[i]);
    for (int g = 0; g < job->group_count; g++) {
        const thenar_recording_channel *channel = job->groups[g].shape;
        for (int e = 0; e < (job->groups[g].summed ? 1 : channel->element_count); e++) {
            char middle[16] = "";
            if (job->groups[g].summed)
                snprintf(middle, sizeof middle, "_sum");
            else if (channel->element_count > 1)
                snprintf(middle, sizeof middle, "_%d", e);
            for (int k = 0; k < channel->components; k++) write_column(job, channel, middle, k);
        }
        if (job->groups[g].summed) {
            char name[256];
            snprintf(name, sizeof name, "%.200s_max", channel->name);
            csv_text(&job->csv, name);
        }
    }
    csv_end_row(&job->csv);
}

static thenar_status write_place(csv_export *job, int b, int frame, thenar_error *error) {
    const thenar_recording_body *body = thenar_recording_body_at(job->recording, b);
    bool by_nodes = body->node_count > 0 && body->surface != THENAR_RECORDING_SURFACE_RIGID;
    size_t count = (size_t)(by_nodes ? body->node_count : body->vertex_count);
    if (count == 0) {
        for (int i = 0; i < 9; i++) csv_empty(&job->csv);
        return THENAR_OK;
    }
    thenar_status status = by_nodes ? thenar_recording_read_positions(job->recording, b, frame, job->values, error)
                                    : thenar_recording_read_surface(job->recording, b, frame, job->values, error);
    if (status != THENAR_OK) return status;
    vec3 sum = {0, 0, 0}, low = vec3_load(job->values), high = low;
    for (size_t i = 0; i < count; i++) {
        vec3 point = vec3_load(job->values + 3 * i);
        sum = vec3_add(sum, point);
        low = vec3_min(low, point);
        high = vec3_max(high, point);
    }
    write_vector(&job->csv, vec3_scale(sum, 1 / (double)count));
    write_vector(&job->csv, low);
    write_vector(&job->csv, high);
    return THENAR_OK;
}

static void write_sums(csv_export *job, const thenar_recording_channel *channel) {
    size_t components = (size_t)channel->components, elements = (size_t)channel->element_count;
    double largest = 0;
    for (size_t e = 0; e < elements; e++) {
        double square = 0;
        for (size_t k = 0; k < components; k++)
            square += job->values[e * components + k] * job->values[e * components + k];
        if (square > largest) largest = square;
    }
    for (size_t k = 0; k < components; k++) {
        double sum = 0;
        for (size_t e = 0; e < elements; e++) sum += job->values[e * components + k];
        csv_number(&job->csv, sum);
    }
    csv_number(&job->csv, sqrt(largest));
}

static thenar_status write_group(csv_export *job, int g, int frame, thenar_error *error) {
    const column_group *group = &job->groups[g];
    int channel = job->channel_of_group[g];
    size_t fields = group->summed ? (size_t)group->shape->components + 1 : recording_channel_numbers(group->shape);
    if (channel < 0) {
        for (size_t i = 0; i < fields; i++) csv_empty(&job->csv);
        return THENAR_OK;
    }
    thenar_status status = thenar_recording_read_channel(job->recording, channel, frame, job->values, error);
    if (status != THENAR_OK) return status;
    if (group->summed)
        write_sums(job, thenar_recording_channel_at(job->recording, channel));
    else
        for (size_t i = 0; i < fields; i++) csv_number(&job->csv, job->values[i]);
    return THENAR_OK;
}

static thenar_status export_csv_write_row(csv_export *job, int frame, int body, thenar_error *error) {
    for (int g = 0; g < job->group_count; g++) job->channel_of_group[g] = -1;
    for (int c = 0; c < thenar_recording_channel_count(job->recording); c++) {
        int owner = thenar_recording_channel_at(job->recording, c)->body;
        if (job->group_of_channel[c] >= 0 && (owner == body || owner < 0))
            job->channel_of_group[job->group_of_channel[c]] = c;
    }
    csv_integer(&job->csv, frame);
    csv_integer(&job->csv, (long long)thenar_recording_frame_step(job->recording, frame));
    csv_number(&job->csv, thenar_recording_frame_time(job->recording, frame));
    csv_text(&job->csv, thenar_recording_body_at(job->recording, body)->name);
    thenar_status status = write_place(job, body, frame, error);
    for (int g = 0; status == THENAR_OK && g < job->group_count; g++) status = write_group(job, g, frame, error);
    csv_end_row(&job->csv);
    return status;
}

static thenar_status export_csv_write_rows(csv_export *job, export_selection selection,
                                           const thenar_export_options *options, thenar_error *error) {
    export_csv_write_header(job);
    thenar_status status = THENAR_OK;
    bool go_on = true;
    for (int i = 0; status == THENAR_OK && go_on && i < selection.count; i++) {
        int frame = export_frame(selection, i);
        for (int b = 0; status == THENAR_OK && b < thenar_recording_body_count(job->recording); b++)
            status = export_csv_write_row(job, frame, b, error);
        if (status == THENAR_OK) go_on = export_tell(options, i + 1, selection.count);
    }
    return status;
}

static thenar_status export_csv(thenar_recording *recording, const char *path, export_selection selection,
                                const thenar_export_options *options, thenar_error *error) {
    csv_export job = {.recording = recording};
    thenar_status status = prepare(&job, options, error);
    if (status == THENAR_OK) status = csv_open(&job.csv, path, error);
    if (status == THENAR_OK) status = export_csv_write_rows(&job, selection, options, error);
    thenar_status closed = csv_close(&job.csv, status == THENAR_OK ? error : NULL);
    free(job.groups);
    free(job.group_of_channel);
    free(job.channel_of_group);
    free(job.values);
    return status == THENAR_OK ? closed : status;
}

static const char *const formats[] = {"vtk", "gltf", "csv"};
NAMES(thenar_export_format, formats)

thenar_status thenar_export_options_init(thenar_export_options *options, size_t size) {
    const thenar_export_options defaults = {.every = 1};
    return sized_give(options, size, &defaults, sizeof defaults, "thenar_export_options");
}

bool export_tell(const thenar_export_options *options, int frames_done, int frame_count) {
    return !options->progress || options->progress(options->context, frames_done, frame_count);
}

static thenar_status select_frames(const thenar_recording *recording, const thenar_export_options *options,
                                   export_selection *out, thenar_error *error) {
    int count = thenar_recording_frame_count(recording);
    int to = options->end == 0 || options->end > count ? count : options->end;
    if (count == 0) return error_set(error, THENAR_ERROR_INPUT, "the recording has no frames; expected at least one");
    if (options->every < 0)
        return error_set(error, THENAR_ERROR_INPUT, "every is %d; expected at least 1", options->every);
    if (options->first < 0 || options->first >= to)
        return error_set(error, THENAR_ERROR_INPUT,
                         "frames %d to %d are none; expected a range within the %d frames of the recording",
                         options->first, to, count);
    out->first = options->first;
    out->every = options->every ? options->every : 1;
    out->count = (to - options->first - 1) / out->every + 1;
    return THENAR_OK;
}

thenar_status thenar_recording_export(thenar_recording *recording, thenar_export_format format, const char *path,
                                      const thenar_export_options *given, thenar_error *error) {
    USAGE_STATUS(recording && path, error, "the recording or the path is NULL");
    export_selection selection;
    thenar_export_options options = thenar_export_options_default();
    thenar_status status =
        given ? sized_take(&options, sizeof options, given, "thenar_export_options", error) : THENAR_OK;
    if (status == THENAR_OK) status = select_frames(recording, &options, &selection, error);
    if (status != THENAR_OK) return status;
    switch (format) {
    case THENAR_EXPORT_VTK:
        return export_vtk(recording, path, selection, &options, error);
    case THENAR_EXPORT_GLTF:
        return export_gltf(recording, path, selection, &options, error);
    case THENAR_EXPORT_CSV:
        return (options.contacts ? export_contacts_csv : export_csv)(recording, path, selection, &options, error);
    }
    return error_set(error, THENAR_ERROR_USAGE, "export format %d; expected 0 to %d", (int)format,
                     thenar_export_format_count() - 1);
}
