/* What the server shows: a running simulation (view_live.c) or a recording (view_recorded.c). All calls come from the
 * server's thread. */
#ifndef APP_VIEW_SOURCE_H
#define APP_VIEW_SOURCE_H

#include "app/view_message.h"

#include <stdbool.h>

/* How far one viewer has been served. Zeroed: nothing yet. */
typedef struct view_cursor {
    uint64_t frame, steps, state; /* counts of what it has seen */
    int64_t wanted;               /* recordings: 1 + the frame that it asked for, 0 for none */
    bool holds;                   /* live: it has a body in its hand */
} view_cursor;

#define ORDER_JOINT_NUMBERS 175 /* 25 joints, 7 each */
#define ORDER_ANGLE_NUMBERS 27  /* the wrist's 7, 20 angles */

/* What a viewer says, little-endian: kind, a, b, 0, and then x for most kinds, 48 bytes together, or the first so
 * many of `drive` for those that drive a hand. Which numbers a kind uses: docs/viewer-protocol.md. */
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
    ORDER_SPEED,  /* x0: simulated seconds a second */
    ORDER_DT,     /* x0: s */
    ORDER_SOLVER, /* a: index in the head's list */
    ORDER_TUNE,   /* a: index in the head's list, x0: value, NaN takes it away */
    ORDER_DRAG,   /* a: body, b: vertex of its surface, x0..2: where to, m, x3: strength, 1 is the usual one */
    ORDER_DROP,
    ORDER_WANT,    /* a: frame of a recording */
    ORDER_CONTACT, /* a: index in the head's list */
    ORDER_JOINTS,  /* a: hand, drive: its tracked joints */
    ORDER_ANGLES,  /* a: hand, drive: its wrist's pose and its angles */
    ORDER_KINDS
};

/* Poses come many times a second from trackers that err: what is wrong with one is told, and does not end a
 * connection. */
static inline bool order_drives(uint32_t kind) {
    return kind == ORDER_JOINTS || kind == ORDER_ANGLES;
}

/* Bytes of an order of a kind. */
static inline size_t order_size(uint32_t kind) {
    const size_t head = 4 * sizeof(uint32_t);
    if (kind == ORDER_JOINTS) return head + ORDER_JOINT_NUMBERS * sizeof(float);
    if (kind == ORDER_ANGLES) return head + ORDER_ANGLE_NUMBERS * sizeof(float);
    return head + 4 * sizeof(double);
}

/* An order of these bytes; what is wrong with it, or NULL. */
const char *order_read(const void *bytes, size_t length, view_order *order);

typedef struct view_source view_source;
struct view_source {
    /* Everything that a new viewer needs before frames. */
    void (*head)(view_source *source, view_message *out);
    /* What is new for this viewer; nothing is written if nothing is. */
    void (*updates)(view_source *source, view_cursor *cursor, view_message *out);
    /* NULL, or what is wrong with it: no such order, or its numbers are out of range. */
    const char *(*order)(view_source *source, view_cursor *cursor, const view_order *order);
    /* The viewer has gone. */
    void (*leave)(view_source *source, view_cursor *cursor);
    void (*free)(view_source *source);
};

#endif
