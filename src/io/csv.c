#include "io/export.h"

#include "core/error.h"
#include "core/memory.h"
#include "core/text.h"
#include "io/file.h"

#include "thenar/file.h"

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

struct thenar_csv {
    csv_writer writer;
};

thenar_status thenar_csv_open(const char *path, thenar_csv **out, thenar_error *error) {
    USAGE_STATUS(path && out, error, "the path or the pointer to the writer is NULL");
    *out = NULL;
    thenar_csv *csv = MEMORY_ARRAY(thenar_csv, 1);
    thenar_status status = csv ? csv_open(&csv->writer, path, error) : error_memory(error, path);
    if (status == THENAR_OK)
        *out = csv;
    else
        free(csv);
    return status;
}

void thenar_csv_text(thenar_csv *csv, const char *text) {
    if (csv) csv_text(&csv->writer, text ? text : "");
}

void thenar_csv_number(thenar_csv *csv, double number) {
    if (csv) csv_number(&csv->writer, number);
}

void thenar_csv_integer(thenar_csv *csv, long long number) {
    if (csv) csv_integer(&csv->writer, number);
}

void thenar_csv_empty(thenar_csv *csv) {
    if (csv) csv_empty(&csv->writer);
}

void thenar_csv_end_row(thenar_csv *csv) {
    if (csv) csv_end_row(&csv->writer);
}

thenar_status thenar_csv_close(thenar_csv *csv, thenar_error *error) {
    if (!csv) return THENAR_OK;
    thenar_status status = csv_close(&csv->writer, error);
    free(csv);
    return status;
}
