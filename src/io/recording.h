/* Writing a recording: describe the run, write frames, close.
 *
 * Each frame is one write to the kernel, so that a writer that is killed loses at most the frame it was
 * writing. A write that fails (disk full) is reported at its frame; the file is cut back to the last whole
 * frame. Nothing is allocated between recording_create and recording_close. */
#ifndef IO_RECORDING_H
#define IO_RECORDING_H

#include "base/error.h"
#include "thenar/recording.h"

#include <stdbool.h>

/* A body: what is NULL it does not have. EMBEDDED needs all three, NODES mesh and surface (whose own
 * positions are not used), RIGID the surface. */
typedef struct recording_body {
    const char *name, *kind;
    thenar_recording_surface surface_kind;
    const thenar_tet_mesh *mesh;
    const thenar_surface *surface;
    const thenar_embedding *embedding;
} recording_body;

typedef struct recording_description {
    const char *scene, *solver;
    double dt;            /* s */
    const char *metadata; /* a JSON object as text, or NULL; nothing that depends on the machine */
    const recording_body *bodies;
    int body_count;
    /* element_count counts for RUN and BODY (0 means 1); for nodes, tets and vertices it comes from the body.
     */
    const thenar_recording_channel *channels;
    int channel_count;
    int most_contacts; /* in a frame */
    size_t most_extra; /* bytes of the largest chunk of recording_write_extra; 0: there are none */
    int level;         /* of zstd; 0: the default, 1 */
    bool sync_frames;  /* wait for the disk after each frame: survives a power cut too, at the price of the
                         rate */
} recording_description;

typedef struct recording_writer recording_writer;

/* Writes the header and the meshes. The description is copied; it may go. *out is NULL on failure. */
thenar_status recording_create(const char *path, const recording_description *description, recording_writer **out,
                               thenar_error *error);

/* values[c] has element_count * components numbers of channel c. */
typedef struct recording_frame {
    uint64_t step;
    double time; /* s */
    const double *const *values;
    const thenar_contact *contacts;
    int contact_count; /* at most most_contacts */
} recording_frame;

/* After a failure every later call fails alike. */
thenar_status recording_write_frame(recording_writer *writer, const recording_frame *frame, thenar_error *error);

/* A chunk of another type (four letters), which readers of frames pass over; it belongs to the next frame.
 * compress: where that makes it smaller. Failures are as above. */
thenar_status recording_write_extra(recording_writer *writer, const char *type, const void *bytes, size_t size,
                                    bool compress, thenar_error *error);

/* Bytes in the file so far. */
uint64_t recording_size(const recording_writer *writer);

/* Writes the index (unless an earlier write failed: then that error is returned again) and frees the writer.
 * NULL is fine. */
thenar_status recording_close(recording_writer *writer, thenar_error *error);

#endif
