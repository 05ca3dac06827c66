/* Tracks: recorded motions of hands, from files of JSON lines.
 *
 * One frame a line: {"t": seconds, "hand": "left" or "right", "joints": [25 of [x, y, z], [x, y, z, qx, qy, qz, qw] or
 * null]}, joints in the order of hand_joints.h, metres, y up; or, of a glove with one value a finger (glove.h), {"t": ...,
 * "hand": ..., "flexion": [5 of 0 to 1 or null], "wrist": [x, y, z, qx, qy, qz, qw], null or left out}. All frames of a
 * hand are of one kind. Other keys are left alone. Both hands may be in one file,
 * each with frames of its own at any times; empty lines are skipped. What is wrong in a line is an error that names it,
 * with these exceptions, which are counted instead: a frame at the time of its hand's last one or before it is left
 * out, and so is a last line that was not written to its end. */
#ifndef BODY_TRACK_H
#define BODY_TRACK_H

#include "base/error.h"
#include "base/memory.h"
#include "body/glove.h"
#include "body/retarget.h"

#include <stddef.h>

#define TRACK_MOST_BYTES ((size_t)1 << 29)  /* of a file */
#define TRACK_MOST_LINE ((size_t)1 << 16)   /* bytes of a line; a frame of full poses has about 5,000 */
#define TRACK_MOST_FRAMES ((size_t)1 << 19) /* of both hands; an hour at 120 Hz; 0.7 GB */
#define TRACK_MOST_DISTANCE 1000.           /* m, of a joint from the origin */

typedef struct track_frame {
    double time; /* s */
    tracked_hand joints;
} track_frame;

/* The frames of one hand, by ascending time. */
typedef ARRAY(track_frame) track_hand;

typedef struct track {
    track_hand hands[2];              /* right, left: by `left` */
    glove_track gloves[2];            /* the same of hands in gloves: one of the two is empty */
    long repeated, repeated_line;     /* frames left out at the same time as the one before, the first one's line */
    long decreasing, decreasing_line; /* frames left out at an earlier time than the one before */
    long truncated_line;              /* the line that ends in the middle, or 0 */
    long clamped, clamped_line;       /* values of gloves brought within 0 and 1, the first one's line */
} track;

/* A file without any frame is an error. Free the track in the end. */
thenar_status track_read(const char *path, track *out, thenar_error *error);
/* The same from text; `name` is for messages. */
thenar_status track_parse(const char *text, size_t size, const char *name, track *out, thenar_error *error);
void track_free(track *t);

/* That a track has this hand; if not, a message that says what it has. */
thenar_status track_expect(const track *t, bool left, const char *name, thenar_error *error);

/* The joints of a hand at a time, between frames along straight lines and great circles; before the first and behind
 * the last frame they are theirs. A joint that is not seen in one of two frames is as in the nearer one. All unseen if
 * the track does not have this hand. */
void track_sample(const track *t, bool left, double time, tracked_hand *out);

/* Number of frames of a hand. */
static inline size_t track_count(const track *t, bool left) {
    return t->hands[left].count + t->gloves[left].count;
}

/* When its first frame is, and its last, of both hands, s. */
double track_start(const track *t);
double track_stop(const track *t);

/* The times of the first and the last frame of a hand that is there, s. */
static inline double track_begin(const track *t, bool left) {
    return t->hands[left].count > 0 ? t->hands[left].data[0].time : t->gloves[left].data[0].time;
}
static inline double track_end(const track *t, bool left) {
    const track_hand *hand = &t->hands[left];
    const glove_track *glove = &t->gloves[left];
    return hand->count > 0 ? hand->data[hand->count - 1].time : glove->data[glove->count - 1].time;
}

#endif
