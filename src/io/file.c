#include "io/file.h"

#include "core/memory.h"
#include "core/text.h"

#include "thenar/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static thenar_status read_open_file(FILE *file, const char *path, size_t limit, file_bytes *out, thenar_error *error) {
    struct stat info;
    if (fstat(fileno(file), &info) != 0) return error_errno(error, path, "read");
    if (S_ISDIR(info.st_mode)) return error_at(error, path, 0, 0, "is a directory; expected a file");
    if (!S_ISREG(info.st_mode)) return error_at(error, path, 0, 0, "is not a regular file; expected a regular file");
    if (info.st_size == 0) return error_at(error, path, 0, 0, "is empty");
    if ((size_t)info.st_size > limit)
        return error_at(error, path, 0, 0, "has %lld bytes; expected at most %zu", (long long)info.st_size, limit);
    size_t size = (size_t)info.st_size;
    char *data = memory_array(size + 1, 1);
    if (!data) return error_memory(error, path);
    if (fread(data, 1, size, file) != size) {
        free(data);
        return error_set(error, THENAR_ERROR_FILE, "%s: cannot read: it became shorter while it was read", path);
    }
    *out = (file_bytes){.data = data, .size = size};
    return THENAR_OK;
}

thenar_status file_copy(const char *name, const void *bytes, size_t size, size_t limit, file_bytes *out,
                        thenar_error *error) {
    *out = (file_bytes){0};
    if (size == 0) return error_at(error, name, 0, 0, "is empty");
    if (size > limit) return error_at(error, name, 0, 0, "has %zu bytes; expected at most %zu", size, limit);
    char *data = memory_array(size + 1, 1);
    if (!data) return error_memory(error, name);
    memcpy(data, bytes, size);
    *out = (file_bytes){.data = data, .size = size};
    return THENAR_OK;
}

static _Thread_local const thenar_file_source *source;

const thenar_file_source *file_source_set(const thenar_file_source *new_source) {
    const thenar_file_source *before = source;
    source = new_source;
    return before;
}

static thenar_status read_from_source(const char *path, size_t limit, file_bytes *out, thenar_error *error) {
    const void *bytes = NULL;
    size_t size = 0;
    if (!source->read || !source->read(source->context, path, &bytes, &size) || (!bytes && size > 0))
        return error_set(error, THENAR_ERROR_FILE, "%s: cannot open: the program has no such file", path);
    thenar_status status = file_copy(path, bytes, size, limit, out, error);
    if (source->release) source->release(source->context, bytes);
    return status;
}

thenar_status file_read(const char *path, size_t limit, file_bytes *out, thenar_error *error) {
    *out = (file_bytes){0};
    if (source) return read_from_source(path, limit, out, error);
    /* Non-blocking, since opening a pipe without a writer would never return. */
    int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    FILE *file = descriptor >= 0 ? fdopen(descriptor, "rb") : NULL;
    if (!file) {
        thenar_status status = error_errno(error, path, "open");
        if (descriptor >= 0) close(descriptor);
        return status;
    }
    thenar_status status = read_open_file(file, path, limit, out, error);
    fclose(file);
    return status;
}

thenar_status file_create(const char *path, FILE **out, thenar_error *error) {
    *out = fopen(path, "wb");
    return *out ? THENAR_OK : error_errno(error, path, "write");
}

thenar_status file_close(FILE *file, const char *path, thenar_error *error) {
    bool failed_before = ferror(file);
    errno = 0;
    bool flushed = fflush(file) == 0;
    thenar_status status = flushed ? THENAR_OK : error_errno(error, path, "write");
    if (fclose(file) != 0 && flushed) status = error_errno(error, path, "write");
    /* The reason of an earlier failed write is lost; a full disk is the usual one. */
    if (status == THENAR_OK && failed_before)
        return error_set(error, THENAR_ERROR_FILE, "%s: cannot write: a write failed (disk full?)", path);
    return status;
}

thenar_status file_make_directory(const char *path, thenar_error *error) {
    if (!*path) return error_set(error, THENAR_ERROR_FILE, "the name of the directory is empty");
    char *partial = memory_string(path);
    if (!partial) return error_memory(error, path);
    for (char *at = partial + 1;; at++) {
        if (*at != '/' && *at != 0) continue;
        char saved = *at;
        *at = 0;
        if (mkdir(partial, 0777) != 0 && errno != EEXIST) {
            thenar_status status = error_errno(error, path, "make the directory");
            free(partial);
            return status;
        }
        *at = saved;
        if (saved == 0) break;
    }
    free(partial);
    struct stat info;
    if (stat(path, &info) != 0) return error_errno(error, path, "make the directory");
    if (!S_ISDIR(info.st_mode)) return error_set(error, THENAR_ERROR_FILE, "%s: is a file; expected a directory", path);
    return THENAR_OK;
}

const char *file_extension(const char *path) {
    const char *slash = strrchr(path, '/');
    const char *dot = strrchr(slash ? slash : path, '.');
    return dot ? dot + 1 : "";
}

struct thenar_csv {
    FILE *file;
    char *path;
    bool row_begun;
};

thenar_status thenar_csv_open(const char *path, thenar_csv **out, thenar_error *error) {
    USAGE_STATUS(path && out, error, "the path or the pointer to the writer is NULL");
    *out = NULL;
    thenar_csv *csv = MEMORY_ARRAY(thenar_csv, 1);
    char *copy = memory_string(path);
    FILE *file;
    thenar_status status = csv && copy ? file_create(path, &file, error) : error_memory(error, path);
    if (status != THENAR_OK) {
        free(csv);
        free(copy);
        return status;
    }
    *csv = (thenar_csv){.file = file, .path = copy};
    *out = csv;
    return THENAR_OK;
}

static void begin_field(thenar_csv *csv) {
    if (csv->row_begun) fputc(',', csv->file);
    csv->row_begun = true;
}

void thenar_csv_text(thenar_csv *csv, const char *text) {
    if (!csv) return;
    begin_field(csv);
    if (!text) return;
    bool quoted = strpbrk(text, ",\"\r\n");
    if (quoted) fputc('"', csv->file);
    for (; *text; text++) {
        if (*text == '"') fputc('"', csv->file);
        fputc(*text, csv->file);
    }
    if (quoted) fputc('"', csv->file);
}

void thenar_csv_number(thenar_csv *csv, double number) {
    if (!csv) return;
    begin_field(csv);
    text_locale saved = text_locale_begin();
    fprintf(csv->file, "%.9g", number);
    text_locale_end(saved);
}

void thenar_csv_integer(thenar_csv *csv, long long number) {
    if (!csv) return;
    begin_field(csv);
    fprintf(csv->file, "%lld", number);
}

void thenar_csv_empty(thenar_csv *csv) {
    if (csv) begin_field(csv);
}

void thenar_csv_end_row(thenar_csv *csv) {
    if (!csv) return;
    fputc('\n', csv->file);
    csv->row_begun = false;
}

thenar_status thenar_csv_close(thenar_csv *csv, thenar_error *error) {
    if (!csv) return THENAR_OK;
    thenar_status status = file_close(csv->file, csv->path, error);
    free(csv->path);
    free(csv);
    return status;
}
