/* What the viewer is sent: messages made of sections, little-endian (docs/viewer-protocol.md).
 *
 * A section is a header of 16 bytes (kind, body, count of elements, bytes of the payload; u32 each) and its payload,
 * filled up with zeros to a multiple of 8. The same sections go over the WebSocket and into a report. */
#ifndef APP_VIEW_MESSAGE_H
#define APP_VIEW_MESSAGE_H

#include "core/error.h"
#include "core/memory.h"

#include "thenar/hand.h"
#include "thenar/haptic.h"
#include "thenar/mesh.h"
#include "thenar/sim.h"

#include <jansson.h>
#include <stdint.h>

enum {
    SECTION_HEAD = 1, /* JSON */
    SECTION_REST,     /* f32 x 3 a node */
    SECTION_TETS,     /* u32 x 4 */
    SECTION_SURFACE,  /* f32 x 3 a vertex */
    SECTION_TRIANGLES,
    SECTION_LIMITS = 8,  /* f32 x 2 a tet: least and largest stretch, 0 without one */
    SECTION_TIMES,       /* f64 a frame */
    SECTION_STEPS,       /* f64 x columns a step */
    SECTION_FRAME,       /* f64 x 4: time, step, index of the frame or -1, wall clock */
    SECTION_POSITIONS,   /* f32 x 3 a node */
    SECTION_BOX,         /* f32 x 6: low and high corner; for 16-bit positions */
    SECTION_POSITIONS16, /* u16 x 3 a node in the box: low bytes, then high bytes, of the difference to before */
    SECTION_POSE,        /* f32 x 7 */
    SECTION_CONTACTS,    /* 16 words a point, see view_contact */
    SECTION_DRAG,        /* f32 x 9: where it is held, where the mouse is, the force */
    SECTION_STATE,       /* JSON */
    SECTION_BENCH,       /* JSON */
    SECTION_SKIN_START,  /* u32 a vertex and one more: where its nodes begin in the next two */
    SECTION_SKIN_NODE,   /* u32 */
    SECTION_SKIN_WEIGHT, /* f32 */
    SECTION_JOINTS,      /* f32 x 3 a joint of a hand; its number stands in place of the body's */
    SECTION_TARGET,      /* f32 x 27: where a hand is wanted, wrist and angles; its number in place of the body's */
    SECTION_NOTICE,      /* text, for this viewer only */
    SECTION_HANDLE,      /* f32 x 26: pose, wanted pose, force of the tool, of the coupling; its number likewise */
    SECTION_DEVICE,      /* f32 x 18: what a tactile device does; its number stands in place of the body's */
    SECTION_PAD,         /* u8 a point of a pad: 1 if it touches; the pad's number in place of the body's */
    SECTION_HELD,        /* f32 x 21: a device that holds a handle, RUN_HAPTIC_NUMBERS; its number likewise */
    SECTION_LOOP,        /* JSON: the haptic loop */
    SECTION_PACE         /* f64 x 6: how a live simulation keeps to the clock */
};

/* A contact point as it is sent. The normal points out of body 1; forces are those on body 0. */
typedef struct view_contact {
    float position[3]; /* m */
    float normal[3];
    float friction[3];  /* N */
    float normal_force; /* N */
    float area;         /* m^2, 0 if unknown */
    float gap;          /* m, below 0 where bodies overlap */
    int32_t body[2];    /* -1: none */
    int32_t face[2];    /* triangle of the body's surface, -1: unknown */
} view_contact;

typedef struct view_message {
    ARRAY(unsigned char) bytes;
    bool failed; /* memory ran out: what follows is missing */
} view_message;

/* Room for a payload, zeroed; NULL once memory ran out. Valid until the next call. */
void *message_section(view_message *message, uint32_t kind, int body, size_t count, size_t size);

/* Empties it and keeps its memory. */
void message_clear(view_message *message);
void message_free(view_message *message);

void message_floats(view_message *message, uint32_t kind, int body, size_t count, const double *values,
                    size_t value_count);
void message_doubles(view_message *message, uint32_t kind, size_t count, const double *values, size_t value_count);
void message_text(view_message *message, uint32_t kind, const char *text);
/* Takes one reference of value; NULL is memory that ran out. */
void message_json(view_message *message, uint32_t kind, json_t *value);
/* Bytes as they are, whole sections of another message. */
void message_append(view_message *message, const void *bytes, size_t size);

#define VIEW_PROTOCOL 2

/* The meshes of a body; what is NULL it does not have. limits: 2 a tet, or NULL. */
void message_mesh(view_message *message, int body, const thenar_tet_mesh *mesh, const thenar_surface *surface,
                  const thenar_embedding *embedding, const double *limits);

/* Where the joints of a hand are, from 7 numbers a joint. */
void message_joints(view_message *message, int hand, const double joints[7 * THENAR_HAND_JOINTS]);

/* What a tactile device does, VIEW_DEVICE_NUMBERS, and which points of a pad touch (0: not). */
#define VIEW_DEVICE_NUMBERS 18
void message_device(view_message *message, int device, const double *numbers);
void message_pad(view_message *message, int pad, const double *touches, int count);

/* The contacts that push; none: nothing is written. */
void message_contacts(view_message *message, const thenar_contact *contacts, int count);

/* Begins a frame; the positions, poses, contacts that follow are of it. index: -1 for a live one. */
void message_frame(view_message *message, double time, double step, double index, double wall);

/* 16-bit positions of one body, frame after frame: each is the difference to the one before. */
typedef struct view_packer {
    int node_count;
    bool grown;
    float low[3], high[3];
    uint16_t *last; /* 3 node_count */
} view_packer;

/* The box of all positions that will come; call for each before the first is packed. */
void packer_grow(view_packer *packer, const double *positions);
thenar_status packer_begin(view_packer *packer, view_message *message, int body, thenar_error *error);
void packer_add(view_packer *packer, view_message *message, int body, const double *positions);

#endif
