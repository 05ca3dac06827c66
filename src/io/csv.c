#include "io/export.h"

#include "io/file.h"
#include "core/memory.h"
#include "core/text.h"

#include <stdlib.h>
#include <string.h>

thenar_status csv_open(csv_writer *csv, const char *path, thenar_error *error) {
    *csv = (csv_writer){.path = memory_string(path)};
    if (!csv->path) return error_memory(error, path);
    thenar_status status = file_create(path, &csv->file, error);
    if (status != THENAR_OK) {
        free(csv->path);
        *csv = (csv_writer){0};
    }
    return status;
}

static void begin_field(csv_writer *csv) {
    if (csv->row_begun) fputc(',', csv->file);
    csv->row_begun = true;
}

void csv_text(csv_writer *csv, const char *text) {
    begin_field(csv);
    if (!strpbrk(text, ",\"\r\n")) {
        fputs(text, csv->file);
        return;
    }
    fputc('"', csv->file);
    for (; *text; text++) {
        if (*text == '"') fputc('"', csv->file);
        fputc(*text, csv->file);
    }
    fputc('"', csv->file);
}

void csv_number(csv_writer *csv, double number) {
    begin_field(csv);
    text_locale saved = text_locale_begin();
    fprintf(csv->file, "%.9g", number);
    text_locale_end(saved);
}

void csv_integer(csv_writer *csv, long long number) {
    begin_field(csv);
    fprintf(csv->file, "%lld", number);
}

void csv_empty(csv_writer *csv) {
    begin_field(csv);
}

void csv_end_row(csv_writer *csv) {
    fputc('\n', csv->file);
    csv->row_begun = false;
}

thenar_status csv_close(csv_writer *csv, thenar_error *error) {
    if (!csv->file) return THENAR_OK;
    thenar_status status = file_close(csv->file, csv->path, error);
    free(csv->path);
    *csv = (csv_writer){0};
    return status;
}
