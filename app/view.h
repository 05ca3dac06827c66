/* The viewer's data: messages, orders, and the two sources that a server can show, a running simulation (view_live.c) or a
 * recording (view_recorded.c). docs/viewer-protocol.md has the protocol.
 *
 * A message consists of sections, little-endian. A section is a header of 16 bytes (kind, body, number of elements, bytes of
 * the payload; u32 each) and its payload, padded with zeros to a multiple of 8. The same sections go over the WebSocket and
 * into a report. */
#ifndef APP_VIEW_H
#define APP_VIEW_H

#include "app/command.h"

#include "thenar/hand.h"
#include "thenar/haptic.h"
#include "thenar/mesh.h"
#include "thenar/recording.h"
#include "thenar/sim.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* --------------------------------------------------------------------------------------- messages (view_message.c) */

#define VIEW_PROTOCOL 2

enum {
    SECTION_HEAD = 1, /* JSON */
    SECTION_REST,     /* f32 x 3 per node */
    SECTION_TETS,     /* u32 x 4 */
    SECTION_SURFACE,  /* f32 x 3 per vertex */
    SECTION_TRIANGLES,
    SECTION_LIMITS = 8, /* f32 x 2 per tet: minimum and maximum stretch, 0 without one */
    SECTION_TIMES,      /* f64 per frame */
    SECTION_STEPS,      /* f64 x columns per step */
    SECTION_FRAME,      /* f64 x 4: time, step, index of the frame or -1, wall clock */
    SECTION_POSITIONS,  /* f32 x 3 per node */
    SECTION_BOX,        /* f32 x 6: low and high corner; for 16-bit positions */
    SECTION_POSITIONS16, /* u16 x 3 per node in the box: low bytes, then high bytes, of the difference to the last frame */
    SECTION_POSE,        /* f32 x 7 */
    SECTION_CONTACTS,    /* 16 words per point, see view_contact */
    SECTION_DRAG,        /* f32 x 9: dragged point, mouse, force */
    SECTION_STATE,       /* JSON */
    SECTION_BENCH,       /* JSON */
    SECTION_SKIN_START,  /* u32 per vertex and one more: offset of its nodes in the next two */
    SECTION_SKIN_NODE,   /* u32 */
    SECTION_SKIN_WEIGHT, /* f32 */
    SECTION_JOINTS,      /* f32 x 3 per joint of a hand; `body` is the number of the hand */
    SECTION_TARGET,      /* f32 x 27: target of a hand, wrist and angles; `body` is the number of the hand */
    SECTION_NOTICE,      /* text, for this viewer only */
    SECTION_HANDLE,      /* f32 x 26: pose, target pose, force of the tool, of the coupling; `body` is the handle */
    SECTION_DEVICE,      /* f32 x 18: a tactile device; `body` is its number */
    SECTION_PAD,         /* u8 per point of a finger pad: 1 if it touches; `body` is the number of the pad */
    SECTION_HAPTIC,      /* f32 x 21: a haptic device, RUN_HAPTIC_NUMBERS; `body` is its number */
    SECTION_LOOP,        /* JSON: the haptic loop */
    SECTION_PACE         /* f64 x 7: how a live simulation keeps to real time */
};

/* A contact point in SECTION_CONTACTS. The normal points out of body 1; forces are those on body 0. */
typedef struct view_contact {
    float position[3]; /* m */
    float normal[3];
    float friction[3];  /* N */
    float normal_force; /* N */
    float area;         /* m^2, 0 if unknown */
    float gap;          /* m, negative where bodies overlap */
    int32_t body[2];    /* -1: none */
    int32_t face[2];    /* triangle of the body's surface, -1: unknown */
} view_contact;

typedef struct view_message {
    LIST(unsigned char) bytes;
    bool failed; /* memory ran out: the rest is missing */
} view_message;

/* Adds a section and returns its payload, zeroed; NULL after memory ran out. Valid until the next call. */
void *message_section(view_message *message, uint32_t kind, int body, size_t count, size_t size);

/* Empties it and keeps its memory. */
void message_clear(view_message *message);
void message_free(view_message *message);

void message_floats(view_message *message, uint32_t kind, int body, size_t count, const double *values,
                    size_t value_count);
void message_doubles(view_message *message, uint32_t kind, size_t count, const double *values, size_t value_count);
void message_text(view_message *message, uint32_t kind, const char *text);
/* Takes one reference of value; NULL means that memory ran out. */
void message_json(view_message *message, uint32_t kind, json_t *value);
/* Appends whole sections of another message. */
void message_append(view_message *message, const void *bytes, size_t size);

/* The meshes of a body; NULL for those that it lacks. limits: 2 per tet, or NULL. */
void message_mesh(view_message *message, int body, const thenar_tet_mesh *mesh, const thenar_surface *surface,
                  const thenar_embedding *embedding, const double *limits);

/* The joints of a hand, from 7 numbers per joint. */
void message_joints(view_message *message, int hand, const double joints[7 * THENAR_HAND_JOINTS]);

/* The numbers of a tactile device, and the points of a pad that touch (0: no). */
#define VIEW_DEVICE_NUMBERS 18
void message_device(view_message *message, int device, const double *numbers);
void message_pad(view_message *message, int pad, const double *touches, int count);

/* The contacts with a force; writes nothing if there are none. */
void message_contacts(view_message *message, const thenar_contact *contacts, int count);

/* Begins a frame, to which the positions, poses and contacts that follow belong. index: -1 for a live one. */
void message_frame(view_message *message, double time, double step, double index, double wall);

/* 16-bit positions of one body, frame by frame, each as the difference to the last one. */
typedef struct view_packer {
    int node_count;
    bool grown;
    float low[3], high[3];
    uint16_t *last; /* 3 node_count */
} view_packer;

/* Extends the box by the positions of a frame; call it for all frames before the first one is packed. */
void packer_grow(view_packer *packer, const double *positions);
thenar_status packer_begin(view_packer *packer, view_message *message, int body, thenar_error *error);
void packer_add(view_packer *packer, view_message *message, int body, const double *positions);

/* ----------------------------------------------------------------------------------------- orders (view_message.c) */

#define ORDER_JOINT_NUMBERS 175 /* 25 joints, 7 each */
#define ORDER_ANGLE_NUMBERS 27  /* the wrist's 7, 20 angles */

/* An order from a viewer, little-endian: kind, a, b, 0, then x for most kinds, 48 bytes in all, or the first numbers of `drive`
 * for those that drive a hand. */
typedef struct view_order {
    uint32_t kind, a, b, zero;
    double x[4];
    float drive[ORDER_JOINT_NUMBERS];
} view_order;

enum {
    ORDER_PLAY = 1,
    ORDER_PAUSE,
    ORDER_STEP,
    ORDER_RESET,
    ORDER_SPEED,  /* x0: simulated seconds per second */
    ORDER_DT,     /* x0: s */
    ORDER_SOLVER, /* a: index in the head's list */
    ORDER_TUNE,   /* a: index in the head's list, x0: value, NaN removes it */
    ORDER_DRAG,   /* a: body, b: vertex of its surface, x0..2: target, m, x3: strength, 1 is the default */
    ORDER_DROP,
    ORDER_WANT,    /* a: frame of a recording */
    ORDER_CONTACT, /* a: index in the head's list */
    ORDER_JOINTS,  /* a: hand, drive: its tracked joints */
    ORDER_ANGLES,  /* a: hand, drive: its wrist's pose and its angles */
    ORDER_KINDS
};

/* Whether an order drives a hand. Trackers send many poses per second and some are wrong: a wrong one is reported and does not
 * end the connection. */
static inline bool order_drives(uint32_t kind) {
    return kind == ORDER_JOINTS || kind == ORDER_ANGLES;
}

/* Size of an order, bytes. */
static inline size_t order_size(uint32_t kind) {
    const size_t head = 4 * sizeof(uint32_t);
    if (kind == ORDER_JOINTS) return head + ORDER_JOINT_NUMBERS * sizeof(float);
    if (kind == ORDER_ANGLES) return head + ORDER_ANGLE_NUMBERS * sizeof(float);
    return head + 4 * sizeof(double);
}

/* Reads an order; returns what is wrong with it, or NULL. */
const char *order_read(const void *bytes, size_t length, view_order *order);

/* --------------------------------------------------------------------------------------------------------- sources */

/* What one viewer has received. Zeroed: nothing yet. */
typedef struct view_cursor {
    uint64_t frame, steps, state; /* counts of what it has received */
    int64_t wanted;               /* recordings: 1 + the frame that it asked for, 0 for none */
    bool drags;                   /* live: it drags a body */
} view_cursor;

/* All calls come from the server's thread. */
typedef struct view_source view_source;
struct view_source {
    /* Everything that a new viewer needs before frames. */
    void (*head)(view_source *source, view_message *out);
    /* Everything that is new for this viewer; writes nothing if there is nothing new. */
    void (*updates)(view_source *source, view_cursor *cursor, view_message *out);
    /* NULL, or what is wrong: no such order, or a number out of range. */
    const char *(*order)(view_source *source, view_cursor *cursor, const view_order *order);
    /* The viewer has disconnected. */
    void (*leave)(view_source *source, view_cursor *cursor);
    void (*free)(view_source *source);
};

/* Whether a path is a recording or the folder of a run, not a scene. */
bool view_is_recording(const char *path);

/* A recording, given as a file or as the folder of a run. Warns of damage on stderr. */
thenar_status view_recorded_open(const char *path, view_source **out, thenar_error *error);

/* The recording of a source that view_recorded_open made. */
thenar_recording *view_recorded_recording(view_source *source);

/* A part of a recording: frames first, first + every, ... before end. */
typedef struct view_range {
    int first, end, every;
} view_range;

/* A part of a recording for a page without a server: head, meshes, series, frames with 16-bit positions. */
thenar_status view_recorded_pack(view_source *source, view_range range, view_message *out, thenar_error *error);

/* The numbers of a run that are plotted, one row per step: from steps.csv of the run, or from the recording itself. */
typedef struct view_series {
    LIST(char *) names;
    LIST(double) values; /* row by row; NaN for an empty field */
    size_t row_count;
} view_series;

/* Reads a table of numbers with one line of names. */
thenar_status series_read_csv(view_series *series, const char *path, thenar_error *error);

/* The channels of the run, from at most row_limit frames spread over the recording. */
thenar_status series_read_recording(view_series *series, thenar_recording *recording, int row_limit,
                                    thenar_error *error);

/* Keeps at most row_limit rows: of each interval the row with the longest step, so that no peak is lost. */
void series_thin(view_series *series, size_t row_limit);

/* Index of a column, -1 if there is none. */
int series_find(const view_series *series, const char *name);
void series_free(view_series *series);

/* A simulation that runs in real time in its own thread, for viewers to watch and to interact with. */
typedef struct view_live_request {
    const char *scene;
    option_list sets;
    option_list sends;   /* targets for the commands of tactile devices */
    option_list devices; /* haptic devices, as run's --device */
    const char *track;   /* file of tracked joints that drive its hands, or NULL */
    double dt;           /* 0: the scene's */
    const char *solver;  /* NULL: the default */
    const char *contact; /* NULL: the default */
    const char *record;  /* file for a recording, or NULL */
    int threads;
    int iterations; /* maximum per solve; 0: unlimited */
    bool paused;    /* waits for a viewer to press play */
} view_live_request;

/* Loads the scene; the simulation stands still until view_live_start. */
thenar_status view_live_create(const view_live_request *request, view_source **out, thenar_error *error);

/* Starts the thread, which calls `notify` whenever there is something new. */
thenar_status view_live_start(view_source *source, void (*notify)(void *context), void *context, thenar_error *error);

/* Ends the thread; `notify` is not called after it. */
void view_live_stop(view_source *source);

/* Once, after the stop: closes the recording and prints the statistics. */
thenar_status view_live_finish(view_source *source, thenar_error *error);

#endif
