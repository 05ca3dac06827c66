/* Retargeting: from 25 tracked joints of some hand to the base pose and the 20 angles of this one.
 *
 * The tracked hand has other bone lengths, so it is not joints that are brought together but directions: those of its
 * bones, and those within its palm. retarget_fit.h does that by damped least squares within the joints' limits; this
 * file prepares what is seen, places the base, and smooths. A frame starts from the last one's result, allocates
 * nothing, and depends on nothing but the frames before it. */
#ifndef BODY_RETARGET_H
#define BODY_RETARGET_H

#include "body/hand_skeleton.h"

/* What a tracker saw, in the world. A joint without position or orientation has NaN there (tracked_hand_unseen). */
typedef struct tracked_hand {
    vec3 position[HAND_JOINTS];
    quat orientation[HAND_JOINTS]; /* unit, or NaN */
} tracked_hand;

tracked_hand tracked_hand_unseen(void);
/* The mirror image, at x = 0: a left hand for a right one. */
tracked_hand tracked_hand_mirrored(const tracked_hand *seen);

typedef struct retarget_options {
    /* Smoothing (Casiez, Roussel and Vogel 2012): a low pass that opens with speed. cutoff: of a hand at rest, Hz, 0
     * for none; opening: Hz more per rad/s (of angles and the base's turn) and per 0.1 m/s (of the base). */
    double cutoff, opening;
    /* Weight of an orientation beside a direction. Trackers lay the axes of their joints differently, so directions
     * decide and orientations help where there are none. */
    double orientation_weight;
} retarget_options;
retarget_options retarget_options_default(void); /* no smoothing */

typedef struct retarget_result {
    skeleton_pose base; /* of the wrist's bone */
    double q[HAND_ANGLES];
    double residual; /* root mean square angle between the bones' directions and the tracked ones, rad */
    int seen;        /* tracked positions in use */
    int iterations;
    bool held;   /* too little was seen: the last pose stays */
    bool jumped; /* the base is further from the last frame's than a hand moves: 0.2 m or 90 degrees */
} retarget_result;

/* One low-passed number and its speed. */
typedef struct retarget_filter {
    double value, speed;
} retarget_filter;

/* What is carried from frame to frame. No padding: it is part of a simulation's state. */
typedef struct retarget_carried {
    long long started; /* 1 once a hand was seen */
    quat turn;         /* of the base, as found */
    vec3 position;
    double q[HAND_ANGLES];          /* as found */
    double palm_scale;              /* size of the tracked palm in units of the model's */
    double length[HAND_FINGERS][3]; /* of the tracked bones, m; 0: not seen yet */
    quat smooth_turn;
    vec3 smooth_position;
    double turn_speed, position_speed;
    retarget_filter smooth[HAND_ANGLES];
} retarget_carried;

typedef struct retarget {
    const hand_skeleton *hand;
    retarget_options options;
    vec3 palm_centre; /* mean of wrist and knuckles, in the wrist's frame */
    retarget_carried carried;
} retarget;

/* hand: stays the caller's, and must outlive the retarget. */
void retarget_start(retarget *r, const hand_skeleton *hand, const retarget_options *options);

/* The next frame, dt seconds after the last one. */
void retarget_frame(retarget *r, const tracked_hand *tracked, double dt, retarget_result *out);

/* Whether joints look like the other hand's: the mirror image fits far better. For messages: a track may be
 * mislabelled, and a hand that is seen badly is no proof. */
bool retarget_is_other_hand(const hand_skeleton *hand, const tracked_hand *seen);

#endif
