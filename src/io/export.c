#include "io/export_kinds.h"

#include <string.h>

bool export_kind_from_name(const char *name, export_kind *kind) {
    static const char *const names[] = {[EXPORT_VTK] = "vtk", [EXPORT_GLTF] = "gltf", [EXPORT_CSV] = "csv"};
    for (int i = 0; i < (int)(sizeof names / sizeof *names); i++)
        if (strcmp(name, names[i]) == 0) {
            *kind = (export_kind)i;
            return true;
        }
    return false;
}

bool export_tell(const export_options *options, int frames_done, int frame_count) {
    return !options->progress || options->progress(options->context, frames_done, frame_count);
}

static thenar_status select_frames(const thenar_recording *recording, const export_options *options,
                                   export_selection *out, thenar_error *error) {
    int count = thenar_recording_frame_count(recording);
    int to = options->to == 0 || options->to > count ? count : options->to;
    if (count == 0) return error_set(error, THENAR_ERROR_INPUT, "the recording has no frames; expected at least one");
    if (options->every < 0)
        return error_set(error, THENAR_ERROR_INPUT, "every is %d; expected at least 1", options->every);
    if (options->from < 0 || options->from >= to)
        return error_set(error, THENAR_ERROR_INPUT,
                         "frames %d to %d are none; expected a range within the %d frames of the recording",
                         options->from, to, count);
    out->first = options->from;
    out->every = options->every ? options->every : 1;
    out->count = (to - options->from - 1) / out->every + 1;
    return THENAR_OK;
}

thenar_status export_recording(thenar_recording *recording, export_kind kind, const char *out_path,
                               const export_options *options, thenar_error *error) {
    export_selection selection;
    thenar_status status = select_frames(recording, options, &selection, error);
    if (status != THENAR_OK) return status;
    switch (kind) {
    case EXPORT_VTK:
        return export_vtk(recording, out_path, selection, options, error);
    case EXPORT_GLTF:
        return export_gltf(recording, out_path, selection, options, error);
    case EXPORT_CSV:
        return (options->contacts ? export_contacts_csv : export_csv)(recording, out_path, selection, options, error);
    }
    return THENAR_OK;
}
