/* The skeleton of a hand: 16 bones, 20 angles and a free base, from the frames of its 25 joints at rest.
 *
 * Angles are numbered 4 finger + {flexion, abduction, middle joint, end joint}: the thumb's carpometacarpal (CMC) joint
 * with two axes, its metacarpophalangeal (MCP) and interphalangeal (IP) one; the fingers' MCP joint with two axes,
 * their proximal (PIP) and distal (DIP) interphalangeal one. In rad; flexion is positive towards the palm's side of the
 * bone (-y), abduction towards the thumb's side of the hand, of the thumb itself away from the palm. An angle is zero
 * where the bone continues the one before it (a finger's metacarpal for its MCP joint), whatever the rest pose is; the
 * thumb's CMC joint, which has no such pose, is zero at rest.
 *
 * Two axes turn flexion first, abduction in the flexed frame: the other order would let abduction roll a finger bent by
 * 90 degrees instead of spreading it. */
#ifndef HAND_RETARGET_H
#define HAND_RETARGET_H

#include "core/error.h"
#include "core/memory.h"
#include "hand/shape.h"
#include "hand/skeleton.h"

#include <stddef.h>

#define HAND_FINGER_ANGLES 4
#define HAND_ANGLES (HAND_FINGERS * HAND_FINGER_ANGLES)
enum { HAND_FLEXION, HAND_ABDUCTION, HAND_MIDDLE_FLEXION, HAND_END_FLEXION };

/* Of a bone in the frame of its first joint. */
typedef struct hand_bone_mass {
    double mass;  /* kg */
    vec3 centre;  /* m */
    mat3 inertia; /* about the centre, kg m^2 */
} hand_bone_mass;

/* Springs of the joints. A finger's joints get softer towards its tip, as what hangs on them gets lighter. No source
 * has figures of a hand that follows a tracked one: the defaults (unverified) let a finger settle within about 20
 * ms. */
typedef struct hand_springs {
    double stiffness, damping;             /* of the first joint of a finger, N m/rad, N m s/rad */
    double middle, end;                    /* shares of these for the middle and the end joint */
    double limit_stiffness, limit_damping; /* of all joints, N m/rad, N m s/rad */
} hand_springs;
hand_springs hand_springs_default(void);

typedef struct hand_skeleton_rest {
    bool left;
    skeleton_pose joints[HAND_JOINTS]; /* hand_joints.h has the conventions of the frames */
    hand_bone_mass bones[HAND_BONES];
} hand_skeleton_rest;

typedef struct hand_skeleton {
    bool left;
    skeleton_model *model;
    skeleton_pose joints[HAND_JOINTS]; /* each in the frame of the bone that carries it (hand_joint_bone) */
    double lower[HAND_ANGLES], upper[HAND_ANGLES], rest[HAND_ANGLES]; /* rad */
} hand_skeleton;

/* Ranges of motion as in hand_skeleton.c, widened where the rest pose is beyond them. */
thenar_status hand_skeleton_create(const hand_skeleton_rest *rest, const hand_springs *springs, hand_skeleton *out,
                                   thenar_error *error);
void hand_skeleton_free(hand_skeleton *hand);

/* The frames of the 25 joints, from those of the 16 bones. */
void hand_skeleton_joints(const hand_skeleton *hand, const skeleton_pose bones[HAND_BONES],
                          skeleton_pose joints[HAND_JOINTS]);

/* Retargeting: from 25 tracked joints of some hand to the base pose and the 20 angles of this one.
 *
 * The tracked hand has other bone lengths, so it is not joints that are brought together but directions: those of its
 * bones, and those within its palm. retarget_fit.h does that by damped least squares within the joints' limits; this
 * file prepares what is seen, places the base, and smooths. A frame starts from the last one's result, allocates
 * nothing, and depends on nothing but the frames before it. */

/* What a tracker saw, in the world. A joint without position or orientation has NaN there (tracked_hand_unseen). */
typedef struct tracked_hand {
    vec3 position[HAND_JOINTS];
    quat orientation[HAND_JOINTS]; /* unit, or NaN */
} tracked_hand;

tracked_hand tracked_hand_unseen(void);

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

/* Directions of a tracked hand to the orientation R of the base and the angles q, by damped least squares with bounds.
 *
 *     min over R, q of  sum_v w_v rho(|m_v(q) - R^T s_v|^2) + sum_o w_o rho(|log(R^T S_o R_b(q)^T)|^2),
 *     lower <= q <= upper.
 * s_v: a vector between two tracked joints over its length; m_v: the same of the model, its bones scaled to the tracked
 * lengths, in the frame of the base; S_o: a tracked orientation, R_b the model's; rho(x) = c^2 log(1 + x / c^2), which
 * lets go of what does not fit. Fingers meet in R only: the normal equations are an arrow of five 4x4 blocks and a 3x3
 * one. */

/* The bones `first` to `last` of a finger (0..2), one after the other; or, with finger -1, a vector in the palm. */
typedef struct fit_vector {
    int finger, first, last;
    vec3 seen;       /* in the world, over its length */
    vec3 fixed;      /* the part of the model's vector that lies in the palm, over the same length */
    double share[3]; /* of each bone's own vector in the model's */
    double weight;
} fit_vector;

typedef struct fit_turn {
    int finger, bone; /* finger -1: the base */
    quat seen;
    double weight;
} fit_turn;

#define FIT_MAX_VECTORS 40
#define FIT_MAX_TURNS HAND_BONES

typedef struct fit_problem {
    const hand_skeleton *hand;
    int vector_count, turn_count;
    fit_vector vectors[FIT_MAX_VECTORS];
    fit_turn turns[FIT_MAX_TURNS];
} fit_problem;

typedef struct fit_point {
    quat turn;
    double q[HAND_ANGLES];
} fit_point;

/* Improves a point; `width` is c. Returns the number of iterations, `most` at most. */
int fit_solve(const fit_problem *problem, double width, int max, fit_point *point);
/* Root mean square of |m_v - R^T s_v| over the vectors along fingers, or over all if there are none; rad. */
double fit_residual(const fit_problem *problem, const fit_point *point);
/* The vector of a bone of a finger in the frame of the base, m, in the model's length. */
void fit_finger_vectors(const hand_skeleton *hand, int finger, const double q[HAND_FINGER_ANGLES], vec3 vectors[3]);

/* The rotation that brings `from` nearest to `to`, weighted (Horn 1987). */
quat fit_rotation(const vec3 *from, const vec3 *to, const double *weight, int count);

/* What a frame of a tracked hand becomes for the fit: vectors between joints that are seen, and turns of bones. */

/* Joints that lie in the palm, and how well trackers and hands agree on them. The fingers' metacarpals and the thumb's
 * lie elsewhere in every model. */
typedef struct palm_joint {
    hand_joint joint;
    double weight;
} palm_joint;
#define PALM_JOINTS 10
#define PALM_CORNERS 5 /* the first ones: wrist and knuckles */
extern const palm_joint retarget_palm[PALM_JOINTS];

/* Gloves with one value a finger (talvas2015 used a 5DT Data Glove 5): flexion f from 0, open, to 1, closed.
 *
 * Angle i of the hand is q_i = o_i + f (c_i - o_i) with the finger's f and the angles o_i open and c_i closed of
 * glove.c, so that all joints of a finger bend in the same proportion. Such a glove measures no abduction: fingers
 * stay side by side, the thumb opposes them. */

/* A glove that is worn otherwise than it was calibrated tells a little less than 0 or more than 1: values are brought
 * between these up to here, and no glove's beyond. */
#define GLOVE_LEAST (-0.5)
#define GLOVE_MAX 1.5

typedef struct glove_frame {
    double time; /* s */
    double flexion[HAND_FINGERS];
    skeleton_pose wrist; /* position.x is NaN: not told */
} glove_frame;

/* The frames of one hand, by ascending time. */
typedef ARRAY(glove_frame) glove_track;

static inline bool glove_value_is_fine(double flexion) {
    return flexion >= GLOVE_LEAST && flexion <= GLOVE_MAX; /* false for NaN */
}

/* Values that are missing (NaN) become what they were in the frame before, before the first one what they are in that,
 * and 0 if there is none; so do wrists, if there is any. */
void glove_fill(glove_track *frames);
/* At a time, along straight lines and great circles; before the first and behind the last frame it is theirs. There
 * must be one. */
glove_frame glove_sample(const glove_track *frames, double time);
/* The same of one finger. */
void glove_finger(const hand_skeleton *hand, int finger, double flexion, double q[HAND_ANGLES]);

/* Tracks: recorded motions of hands, from files of JSON lines.
 *
 * One frame a line: {"t": seconds, "hand": "left" or "right", "joints": [25 of [x, y, z], [x, y, z, qx, qy, qz, qw] or
 * null]}, joints in the order of hand_joints.h, metres, y up; or, of a glove with one value a finger (glove.h), {"t": ...,
 * "hand": ..., "flexion": [5 of 0 to 1 or null], "wrist": [x, y, z, qx, qy, qz, qw], null or left out}. All frames of a
 * hand are of one kind. Other keys are left alone. Both hands may be in one file,
 * each with frames of its own at any times; empty lines are skipped. What is wrong in a line is an error that names it,
 * with these exceptions, which are counted instead: a frame at the time of its hand's last one or before it is left
 * out, and so is a last line that was not written to its end. */

#define TRACK_MAX_BYTES ((size_t)1 << 29)  /* of a file */
#define TRACK_MAX_LINE ((size_t)1 << 16)   /* bytes of a line; a frame of full poses has about 5,000 */
#define TRACK_MAX_FRAMES ((size_t)1 << 19) /* of both hands; an hour at 120 Hz; 0.7 GB */
#define TRACK_MAX_DISTANCE 1000.           /* m, of a joint from the origin */

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
