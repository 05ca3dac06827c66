/* One row per frame and body: where the body is (centroid and bounding box of its nodes, or of its vertices
 * where it has none) and the chosen channels. Channels of the run are repeated on each row of a frame; a body
 * that lacks a channel leaves its fields empty. */
#include "io/export_kinds.h"

#include "base/memory.h"
#include "base/text.h"
#include "io/csv.h"
#include "io/recording_format.h"
#include "math/vec3.h"

#include <stdlib.h>
#include <string.h>

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

static bool is_chosen(const thenar_recording_channel *channel, const export_options *options) {
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
static thenar_status check_names(const csv_export *job, const export_options *options, thenar_error *error) {
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

static thenar_status prepare(csv_export *job, const export_options *options, thenar_error *error) {
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

static void write_header(csv_export *job) {
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

static void write_vector(csv_writer *csv, vec3 v) {
    csv_number(csv, v.x);
    csv_number(csv, v.y);
    csv_number(csv, v.z);
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

static thenar_status write_row(csv_export *job, int frame, int body, thenar_error *error) {
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

static thenar_status write_rows(csv_export *job, export_selection selection, const export_options *options,
                                thenar_error *error) {
    write_header(job);
    thenar_status status = THENAR_OK;
    bool go_on = true;
    for (int i = 0; status == THENAR_OK && go_on && i < selection.count; i++) {
        int frame = export_frame(selection, i);
        for (int b = 0; status == THENAR_OK && b < thenar_recording_body_count(job->recording); b++)
            status = write_row(job, frame, b, error);
        if (status == THENAR_OK) go_on = export_tell(options, i + 1, selection.count);
    }
    return status;
}

thenar_status export_csv(thenar_recording *recording, const char *path, export_selection selection,
                         const export_options *options, thenar_error *error) {
    csv_export job = {.recording = recording};
    thenar_status status = prepare(&job, options, error);
    if (status == THENAR_OK) status = csv_open(&job.csv, path, error);
    if (status == THENAR_OK) status = write_rows(&job, selection, options, error);
    thenar_status closed = csv_close(&job.csv, status == THENAR_OK ? error : NULL);
    free(job.groups);
    free(job.group_of_channel);
    free(job.channel_of_group);
    free(job.values);
    return status == THENAR_OK ? closed : status;
}
