#include "app/json_file.h"

#include "core/file.h"
#include "io/json.h"

#include <stdlib.h>
#include <string.h>

#define READ_MAX ((size_t)1 << 26) /* bytes */

thenar_status json_file_write(json_t *root, const char *path, thenar_error *error) {
    if (!root) return error_memory(error, path);
    FILE *file;
    thenar_status status = file_create(path, &file, error);
    if (status == THENAR_OK) {
        json_dumpf(root, file, JSON_INDENT(2));
        fputc('\n', file);
        status = file_close(file, path, error);
    }
    json_decref(root);
    return status;
}

json_t *json_file_read(const char *path) {
    file_bytes bytes;
    thenar_error error;
    json_text_fault fault;
    if (file_read(path, READ_MAX, &bytes, &error) != THENAR_OK) return NULL;
    json_t *root = json_text_read(bytes.data, bytes.size, &fault);
    free(bytes.data);
    return root;
}

json_t *json_of_text(const char *text) {
    json_text_fault fault;
    return json_text_read(text, strlen(text), &fault);
}
