/* CSV tables of a recording, and the choice of the exporter. */
#include "io/file.h"
#include "io/recording.h"

#include "core/memory.h"
#include "core/text.h"

#include "thenar/file.h"

#include <stdlib.h>
#include <string.h>

vec3 export_contact_force(const thenar_contact *contact) {
    return vec3_mul_add(vec3_load(contact->friction), vec3_load(contact->normal), contact->force);
}

double export_contact_pressure(const thenar_contact *contact) {
    return contact->area > 0 ? contact->force / contact->area : 0;
}

/* Columns of the same name and shape, shared by the bodies that have them. */
typedef struct column_group {
    const thenar_recording_channel *shape; /* the first channel of the group */
    bool summed;                           /* on nodes, tets or vertices: a sum and a largest magnitude */
} column_group;

/* A table of contacts, or of bodies; the members after `csv` are for bodies. */
typedef struct csv_export {
    thenar_recording *recording;
    thenar_csv *csv;
    column_group *groups;
    int group_count;
    int *group_of_channel; /* -1: not selected */
    int *channel_of_group; /* for the body of the current row; -1: it has none */
    double *values;        /* room for the largest channel or set of positions */
} csv_export;

static void write_vector(thenar_csv *csv, vec3 v) {
    thenar_csv_number(csv, v.x);
    thenar_csv_number(csv, v.y);
    thenar_csv_number(csv, v.z);
}

static void write_frame_columns(const csv_export *job, int frame) {
    thenar_csv_integer(job->csv, frame);
    thenar_csv_integer(job->csv, (long long)thenar_recording_frame_step(job->recording, frame));
    thenar_csv_number(job->csv, thenar_recording_frame_time(job->recording, frame));
}

/* The table of contacts: one row per contact, with forces on the first of its two bodies. */

static void write_contact_header(thenar_csv *csv) {
    static const char *const columns[] = {"frame",      "step",         "time",       "body_a",     "body_b",
                                          "vertex",     "face_a",       "face_b",     "sticks",     "position_x",
                                          "position_y", "position_z",   "normal_x",   "normal_y",   "normal_z",
                                          "gap",        "normal_force", "friction_x", "friction_y", "friction_z",
                                          "force_x",    "force_y",      "force_z",    "area",       "pressure"};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) thenar_csv_text(csv, columns[i]);
    thenar_csv_end_row(csv);
}

static void write_contact(const csv_export *job, int frame, const thenar_contact *contact) {
    thenar_csv *csv = job->csv;
    write_frame_columns(job, frame);
    thenar_csv_text(csv, thenar_recording_body_at(job->recording, contact->body[0])->name);
    thenar_csv_text(csv, thenar_recording_body_at(job->recording, contact->body[1])->name);
    thenar_csv_integer(csv, contact->vertex);
    thenar_csv_integer(csv, contact->face[0]);
    thenar_csv_integer(csv, contact->face[1]);
    thenar_csv_integer(csv, contact->sticks);
    write_vector(csv, vec3_load(contact->position));
    write_vector(csv, vec3_load(contact->normal));
    thenar_csv_number(csv, contact->gap);
    thenar_csv_number(csv, contact->force);
    write_vector(csv, vec3_load(contact->friction));
    write_vector(csv, export_contact_force(contact));
    thenar_csv_number(csv, contact->area);
    thenar_csv_number(csv, export_contact_pressure(contact));
    thenar_csv_end_row(csv);
}

static thenar_status write_contacts(csv_export *job, int frame, thenar_error *error) {
    const thenar_contact *contacts;
    int count;
    thenar_status status = thenar_recording_read_contacts(job->recording, frame, &contacts, &count, error);
    for (int c = 0; c < count; c++) write_contact(job, frame, &contacts[c]);
    return status;
}

/* The table of bodies: one row per frame and body with its location (centroid and bounding box of its nodes, or of its
 * vertices if it has no nodes) and the selected channels. Channels of the run are repeated on each row of a frame; a
 * body without a channel has empty fields there. */

static bool is_summed(const thenar_recording_channel *channel) {
    return channel->place != THENAR_RECORDING_RUN && channel->place != THENAR_RECORDING_BODY;
}

static bool same_columns(const thenar_recording_channel *a, const thenar_recording_channel *b) {
    return (a->body < 0) == (b->body < 0) && is_summed(a) == is_summed(b) && a->components == b->components &&
           (is_summed(a) || a->element_count == b->element_count) && strcmp(a->name, b->name) == 0;
}

static bool is_selected(const thenar_recording_channel *channel, const thenar_export_options *options) {
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

/* A requested name that no channel has is an error. */
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

static thenar_status prepare_groups(csv_export *job, const thenar_export_options *options, thenar_error *error) {
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
        job->group_of_channel[c] = is_selected(channel, options) ? find_or_add_group(job, channel) : -1;
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
    thenar_csv_text(job->csv, name);
}

static void write_body_header(csv_export *job) {
    static const char *const fixed[] = {"frame", "step",  "time",  "body",  "centroid_x", "centroid_y", "centroid_z",
                                        "min_x", "min_y", "min_z", "max_x", "max_y",      "max_z"};
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) thenar_csv_text(job->csv, fixed[i]);
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
            thenar_csv_text(job->csv, name);
        }
    }
    thenar_csv_end_row(job->csv);
}

static thenar_status write_location(csv_export *job, int b, int frame, thenar_error *error) {
    const thenar_recording_body *body = thenar_recording_body_at(job->recording, b);
    bool by_nodes = body->node_count > 0 && body->surface != THENAR_RECORDING_SURFACE_RIGID;
    size_t count = (size_t)(by_nodes ? body->node_count : body->vertex_count);
    if (count == 0) {
        for (int i = 0; i < 9; i++) thenar_csv_empty(job->csv);
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
    write_vector(job->csv, vec3_scale(sum, 1 / (double)count));
    write_vector(job->csv, low);
    write_vector(job->csv, high);
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
        thenar_csv_number(job->csv, sum);
    }
    thenar_csv_number(job->csv, sqrt(largest));
}

static thenar_status write_group(csv_export *job, int g, int frame, thenar_error *error) {
    const column_group *group = &job->groups[g];
    int channel = job->channel_of_group[g];
    size_t fields = group->summed ? (size_t)group->shape->components + 1 : recording_channel_numbers(group->shape);
    if (channel < 0) {
        for (size_t i = 0; i < fields; i++) thenar_csv_empty(job->csv);
        return THENAR_OK;
    }
    thenar_status status = thenar_recording_read_channel(job->recording, channel, frame, job->values, error);
    if (status != THENAR_OK) return status;
    if (group->summed)
        write_sums(job, thenar_recording_channel_at(job->recording, channel));
    else
        for (size_t i = 0; i < fields; i++) thenar_csv_number(job->csv, job->values[i]);
    return THENAR_OK;
}

static thenar_status write_body(csv_export *job, int frame, int body, thenar_error *error) {
    for (int g = 0; g < job->group_count; g++) job->channel_of_group[g] = -1;
    for (int c = 0; c < thenar_recording_channel_count(job->recording); c++) {
        int owner = thenar_recording_channel_at(job->recording, c)->body;
        if (job->group_of_channel[c] >= 0 && (owner == body || owner < 0))
            job->channel_of_group[job->group_of_channel[c]] = c;
    }
    write_frame_columns(job, frame);
    thenar_csv_text(job->csv, thenar_recording_body_at(job->recording, body)->name);
    thenar_status status = write_location(job, body, frame, error);
    for (int g = 0; status == THENAR_OK && g < job->group_count; g++) status = write_group(job, g, frame, error);
    thenar_csv_end_row(job->csv);
    return status;
}

static thenar_status write_bodies(csv_export *job, int frame, thenar_error *error) {
    thenar_status status = THENAR_OK;
    for (int b = 0; status == THENAR_OK && b < thenar_recording_body_count(job->recording); b++)
        status = write_body(job, frame, b, error);
    return status;
}

static thenar_status write_table(csv_export *job, export_selection selection, const thenar_export_options *options,
                                 thenar_error *error) {
    if (options->contacts)
        write_contact_header(job->csv);
    else
        write_body_header(job);
    thenar_status status = THENAR_OK;
    bool stopped = false;
    for (int i = 0; status == THENAR_OK && !stopped && i < selection.count; i++) {
        status = (options->contacts ? write_contacts : write_bodies)(job, export_frame(selection, i), error);
        stopped = status == THENAR_OK && !export_report_progress(options, i + 1, selection.count);
    }
    return status;
}

static thenar_status export_csv(thenar_recording *recording, const char *path, export_selection selection,
                                const thenar_export_options *options, thenar_error *error) {
    csv_export job = {.recording = recording};
    thenar_status status = options->contacts ? THENAR_OK : prepare_groups(&job, options, error);
    if (status == THENAR_OK) status = thenar_csv_open(path, &job.csv, error);
    if (status == THENAR_OK) status = write_table(&job, selection, options, error);
    thenar_status closed = thenar_csv_close(job.csv, status == THENAR_OK ? error : NULL);
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

bool export_report_progress(const thenar_export_options *options, int frames_done, int frame_count) {
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
                         "frames %d to %d are an empty range; expected a range within the %d frames of the recording",
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
        return export_csv(recording, path, selection, &options, error);
    }
    return error_set(error, THENAR_ERROR_USAGE, "export format %d; expected 0 to %d", (int)format,
                     thenar_export_format_count() - 1);
}
