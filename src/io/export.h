/* A recording in the formats of other programs. */
#ifndef IO_EXPORT_H
#define IO_EXPORT_H

#include "base/error.h"
#include "thenar/recording.h"

#include <stdbool.h>

typedef enum export_kind {
    EXPORT_VTK,  /* out_path is a directory: frame_000123.vtk per frame, and frames.vtk.series; where bodies can touch
                    also contacts_000123.vtk and contacts.vtk.series */
    EXPORT_GLTF, /* out_path is one binary glTF 2.0 file (.glb) with an animation */
    EXPORT_CSV   /* out_path is one file: a row per frame and body, or per contact */
} export_kind;

/* "vtk", "gltf" or "csv"; false for anything else. */
bool export_kind_from_name(const char *name, export_kind *kind);

/* Called after each frame; returning false stops the export, which is not an error: what was written stays
 * whole. */
typedef bool (*export_progress)(void *context, int frames_done, int frame_count);

/* Zeroed: every frame. */
typedef struct export_options {
    int from;  /* first frame */
    int to;    /* behind the last frame; 0: the end */
    int every; /* of these, each every-th; 0: each */
    /* CSV: names of channels; NULL: all those of the run and of bodies as wholes. A channel on nodes, tets or
     * vertices becomes the sum of each component (NAME_sum_x) and the largest magnitude (NAME_max). */
    const char *const *channels;
    int channel_count;
    bool contacts;            /* CSV: a row per contact instead of one per frame and body */
    export_progress progress; /* may be NULL */
    void *context;
} export_options;

thenar_status export_recording(thenar_recording *recording, export_kind kind, const char *out_path,
                               const export_options *options, thenar_error *error);

#endif
