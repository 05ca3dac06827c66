/* JSON to a file. */
#ifndef APP_JSON_FILE_H
#define APP_JSON_FILE_H

#include "base/error.h"

#include <jansson.h>

/* Writes and releases `root`; NULL (memory ran out while it was built) is an error. */
thenar_status json_file_write(json_t *root, const char *path, thenar_error *error);

#endif
