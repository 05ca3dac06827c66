#include "app/json_file.h"

#include "base/file.h"

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
