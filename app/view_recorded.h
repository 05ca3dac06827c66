/* A recorded run as the viewer takes it: the recording, and what `thenar run --out` wrote beside it. */
#ifndef APP_VIEW_RECORDED_H
#define APP_VIEW_RECORDED_H

#include "app/view_source.h"

#include "thenar/recording.h"

/* A part of a recording: frames first, first + every, ... before end. */
typedef struct view_range {
    int first, end, every;
} view_range;

/* path: a recording, or the folder of a run. Warns of damage on stderr. The result is freed by its `free`. */
thenar_status view_recorded_open(const char *path, view_source **out, thenar_error *error);

/* The recording of a source that view_recorded_open made. */
thenar_recording *view_recorded_recording(view_source *source);

/* Everything of a part of it, for a page that has no server: head, meshes, figures, frames with 16-bit positions. */
thenar_status view_recorded_pack(view_source *source, view_range range, view_message *out, thenar_error *error);

#endif
