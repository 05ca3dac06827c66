/* JSON to a file. */
#ifndef APP_JSON_FILE_H
#define APP_JSON_FILE_H

#include "core/error.h"

#include <jansson.h>

/* Writes and releases `root`; NULL (memory ran out while it was built) is an error. */
thenar_status json_file_write(json_t *root, const char *path, thenar_error *error);

/* What a file of JSON holds, a new reference; NULL if it is not there, is larger than 64 MB or is not JSON. */
json_t *json_file_read(const char *path);

/* The same of text that ends with a zero. */
json_t *json_of_text(const char *text);

#endif
