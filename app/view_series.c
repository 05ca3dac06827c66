#include "app/view_series.h"

#include "core/file.h"
#include "core/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COLUMN_LIMIT 20000

static thenar_status add_name(view_series *series, const char *name, size_t length, thenar_error *error) {
    char *copy = MEMORY_ARRAY(char, length + 1);
    if (!copy || !ARRAY_PUSH(&series->names, copy)) {
        free(copy);
        return error_memory(error, "series");
    }
    memcpy(copy, name, length);
    text_make_printable(copy);
    return THENAR_OK;
}

/* The line of names; quotes as RFC 4180 has them. Returns what follows the line. */
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
            error_at(error, path, 1, 0, "cannot make out the columns; expected names with commas between");
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
        const char *end;
        double value = text_scan_double(*at, &end);
        if (end == *at) value = NAN;
        bool last = i + 1 == series->names.count;
        if (*end != (last ? '\n' : ',') && !(last && (*end == 0 || *end == '\r')))
            return error_at(error, path, line, 0, "cannot make out field %zu; expected %zu numbers", i + 1,
                            series->names.count);
        if (!ARRAY_PUSH(&series->values, isfinite(value) ? value : NAN)) return error_memory(error, path);
        *at = last ? end + strspn(end, "\r\n") : end + 1;
    }
    series->row_count++;
    return THENAR_OK;
}

thenar_status series_read_csv(view_series *series, const char *path, thenar_error *error) {
    file_bytes file;
    thenar_status status = file_read(path, FILE_SIZE_LIMIT, &file, error);
    if (status != THENAR_OK) return status;
    const char *at = read_names(series, file.data, path, error);
    status = at ? THENAR_OK : error->status;
    for (long line = 2; status == THENAR_OK && *at; line++) status = read_row(series, &at, path, line, error);
    free(file.data);
    if (status != THENAR_OK) series_free(series);
    return status;
}

/* step, time, then every channel of the run that is one number. */
thenar_status series_read_recording(view_series *series, thenar_recording *recording, int row_limit,
                                    thenar_error *error) {
    int frames = thenar_recording_frame_count(recording), channels = thenar_recording_channel_count(recording);
    thenar_status status = add_name(series, "step", 4, error);
    if (status == THENAR_OK) status = add_name(series, "time", 4, error);
    ARRAY(int) taken = {0};
    for (int c = 0; c < channels && status == THENAR_OK; c++) {
        const thenar_recording_channel *channel = thenar_recording_channel_at(recording, c);
        if (channel->place != THENAR_RECORDING_RUN || channel->element_count != 1 || channel->components != 1) continue;
        status = ARRAY_PUSH(&taken, c) ? add_name(series, channel->name, strlen(channel->name), error)
                                       : error_memory(error, "series");
    }
    int every = frames > row_limit ? (frames + row_limit - 1) / row_limit : 1;
    for (int f = 0; f < frames && status == THENAR_OK; f += every) {
        if (!ARRAY_PUSH(&series->values, (double)thenar_recording_frame_step(recording, f)) ||
            !ARRAY_PUSH(&series->values, thenar_recording_frame_time(recording, f)))
            status = error_memory(error, "series");
        for (size_t c = 0; c < taken.count && status == THENAR_OK; c++) {
            double value = NAN;
            thenar_error ignored; /* a damaged frame leaves a gap */
            if (thenar_recording_read_channel(recording, taken.data[c], f, &value, &ignored) != THENAR_OK) value = NAN;
            if (!ARRAY_PUSH(&series->values, value)) status = error_memory(error, "series");
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
