/* The HEAD chunk of a recording: its JSON text, from and to structs. */
#ifndef IO_RECORDING_HEAD_H
#define IO_RECORDING_HEAD_H

#include "base/error.h"
#include "thenar/recording.h"

#include <jansson.h>

/* Strings belong to `root`, or to the caller where root is NULL. */
typedef struct recording_head {
    thenar_recording_info info;
    thenar_recording_body *bodies;
    int body_count;
    thenar_recording_channel *channels;
    int channel_count;
    json_t *root;
    char *metadata_text;
} recording_head;

/* The JSON text, to be released with free(). path is for messages. */
thenar_status recording_head_print(const recording_head *head, const char *path, char **out, thenar_error *error);

/* Reads untrusted text; all counts and enums are checked, names are unique. */
thenar_status recording_head_parse(const char *text, size_t size, const char *path, recording_head *out,
                                   thenar_error *error);

/* Elements that a channel has by its place; for the run or a body as a whole what element_count says. */
int recording_channel_elements(const thenar_recording_channel *channel, const thenar_recording_body *bodies);

void recording_head_free(recording_head *head);

#endif
