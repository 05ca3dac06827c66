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

/* What a viewer says: 48 bytes, little-endian. Which numbers a kind uses: docs/viewer-protocol.md. */
typedef struct view_order {
    uint32_t kind, a, b, zero;
    double x[4];
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
    ORDER_KINDS
};

typedef struct view_source view_source;
struct view_source {
    /* Everything that a new viewer needs before frames. */
    void (*head)(view_source *source, view_message *out);
    /* What is new for this viewer; nothing is written if nothing is. */
    void (*news)(view_source *source, view_cursor *cursor, view_message *out);
    /* False: no such order, or its numbers are out of range. */
    bool (*order)(view_source *source, view_cursor *cursor, const view_order *order);
    /* The viewer has gone. */
    void (*leave)(view_source *source, view_cursor *cursor);
    void (*free)(view_source *source);
};

#endif
