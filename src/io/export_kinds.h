/* The exporters behind export_recording. Frames are those of a selection: first, first + every, ..., count of
 * them. */
#ifndef IO_EXPORT_KINDS_H
#define IO_EXPORT_KINDS_H

#include "io/export.h"

typedef struct export_selection {
    int first, every, count;
} export_selection;

static inline int export_frame(export_selection selection, int i) {
    return selection.first + i * selection.every;
}

/* False: stop. */
bool export_tell(const export_options *options, int frames_done, int frame_count);

thenar_status export_vtk(thenar_recording *recording, const char *directory, export_selection selection,
                         const export_options *options, thenar_error *error);
thenar_status export_gltf(thenar_recording *recording, const char *path, export_selection selection,
                          const export_options *options, thenar_error *error);
thenar_status export_csv(thenar_recording *recording, const char *path, export_selection selection,
                         const export_options *options, thenar_error *error);

/* Of contacts: one table with a row per contact, and one file of points for a frame. */
thenar_status export_contacts_csv(thenar_recording *recording, const char *path, export_selection selection,
                                  const export_options *options, thenar_error *error);
thenar_status export_contacts_vtk(thenar_recording *recording, const char *path, int frame, thenar_error *error);

#endif
