/* From tracked joints or gloves to joint angles: the skeleton of a hand, retargeting, gloves, and tracks.
 *
 * The skeleton has 16 bones, 20 angles and a free base, derived from the rest frames of the 25 joints. Angles are
 * numbered 4 finger + {flexion, abduction, middle joint, end joint}. For the thumb these are the carpometacarpal (CMC)
 * joint with two axes, the metacarpophalangeal (MCP) and the interphalangeal (IP) joint; for the fingers the MCP joint
 * with two axes, the proximal (PIP) and the distal (DIP) interphalangeal joint. Units are rad. Flexion is positive
 * towards the palmar side of the bone (-y), abduction towards the thumb's side of the hand, and for the thumb itself
 * away from the palm. An angle is zero where a bone continues its predecessor (the metacarpal, for a finger's MCP
 * joint), whatever the rest pose is. The thumb's CMC joint has no such pose and is zero at rest.
 *
 * Joints with two axes apply flexion first and abduction in the flexed frame. In the other order, abduction would roll
 * a finger bent by 90 degrees instead of spreading it. */
#ifndef HAND_RETARGET_H
#define HAND_RETARGET_H

#include "core/error.h"
#include "core/memory.h"
#include "core/shared.h"
#include "hand/shape.h"
#include "hand/skeleton.h"

#include "thenar/hand.h"

#include <stdatomic.h>
#include <stddef.h>

#define HAND_FINGER_ANGLES 4
#define HAND_ANGLES (HAND_FINGERS * HAND_FINGER_ANGLES)
enum { HAND_FLEXION, HAND_ABDUCTION, HAND_MIDDLE_FLEXION, HAND_END_FLEXION };

/* Mass properties of a bone, in the frame of its first joint. */
typedef struct hand_bone_mass {
    double mass;  /* kg */
    vec3 centre;  /* m */
    mat3 inertia; /* about the centre, kg m^2 */
} hand_bone_mass;

/* Springs of the joints. They get softer towards the fingertip, as the load gets lighter. No published figures exist
 * for a hand that follows a tracked one; the defaults (not verified) let a finger settle within about 20 ms. */
typedef struct hand_springs {
    double stiffness, damping;             /* of the first joint of a finger, N m/rad, N m s/rad */
    double middle, end;                    /* shares of these for the middle and the end joint */
    double limit_stiffness, limit_damping; /* of all joints, N m/rad, N m s/rad */
} hand_springs;
hand_springs hand_springs_default(void);

typedef struct hand_skeleton_rest {
    bool left;
    skeleton_pose joints[HAND_JOINTS]; /* frames as in shape.h */
    hand_bone_mass bones[HAND_BONES];
} hand_skeleton_rest;

typedef struct hand_skeleton {
    bool left;
    skeleton_model *model;
    skeleton_pose joints[HAND_JOINTS]; /* each in the frame of the bone that carries it (hand_joint_bone) */
    double lower[HAND_ANGLES], upper[HAND_ANGLES], rest[HAND_ANGLES]; /* rad */
    /* From the skin (hand_skeleton_measure_tips); 0: unknown. */
    double finger_radius[HAND_FINGERS]; /* half the breadth of a finger, mean over its phalanges, m */
    vec3 tip_half[HAND_FINGERS];        /* from the joint at a tip to the skin: sideways, to the palm, to the end, m */
} hand_skeleton;

/* Ranges of motion as in joints.c, widened where the rest pose lies outside. */
thenar_status hand_skeleton_create(const hand_skeleton_rest *rest, const hand_springs *springs, hand_skeleton *out,
                                   thenar_error *error);
void hand_skeleton_free(hand_skeleton *hand);

/* How thick the fingers are. skin: at rest; bone_of: the bone of each of its vertices. */
void hand_skeleton_measure_tips(hand_skeleton *hand, const thenar_surface *skin, const int *bone_of,
                                const hand_frame joint[HAND_JOINTS]);

/* The frames of the 25 joints, from those of the 16 bones. */
void hand_skeleton_joints(const hand_skeleton *hand, const skeleton_pose bones[HAND_BONES],
                          skeleton_pose joints[HAND_JOINTS]);

/* Retargeting: from 25 tracked joints to the base pose and the 20 angles of this hand.
 *
 * The tracked hand may have other bone lengths, so retargeting matches directions, not joint positions: those of the
 * bones, those within the palm, and, with more weight, those from the root of a finger to its tip, with the bones of
 * the model scaled to the tracked lengths. A hand that was built with the lengths of the tracked one (measure.c) puts
 * its tips where the tracked ones are. retarget_fit.c does this by damped least squares within the joint limits; retarget.c
 * prepares the observations, places the base and smooths. A frame starts from the result of the last one, allocates
 * nothing, and depends only on the frames before it. */

/* A tracked frame in world coordinates. A missing position or orientation is NaN (tracked_hand_unseen). */
typedef struct tracked_hand {
    vec3 position[HAND_JOINTS];
    quat orientation[HAND_JOINTS]; /* unit, or NaN */
} tracked_hand;

tracked_hand tracked_hand_unseen(void) SHARED(tracked_hand_unseen);

/* The filter is a low pass with a cutoff f that rises with speed (the 1 Euro filter of Casiez, Roussel and Vogel 2012),
 *     y += (1 - exp(-2 pi f dt)) (x - y),   f = cutoff + opening s^3 / (s^2 + noise_speed^2).
 * s is the length of a velocity that is itself low-pass filtered at derivative_cutoff, twice, since after one low pass
 * noise of the position is still there at all frequencies: for the four angles of a finger
 * that of its tip relative to the palm, for the base that of the palm. One speed of a tip in space opens all angles of
 * its finger, because it stands out of the noise far better than the rates of single angles: noise of 1 mm turns an end
 * bone of 18 mm by 4 degrees, but a tip moves at 100 mm/s and more. s^3 / (s^2 + noise_speed^2) is s for fast motion and
 * hardly opens for what noise alone looks like. The lag of a motion at constant speed is s / (2 pi f), less than
 * 1 / (2 pi opening) for fast motion. Tried and left: a tip that is
 * never more than 3 mm behind the unfiltered one. It takes 5 ms of the lag of a slow pinch (49 ms), but noise of 1 mm
 * exceeds it often enough to double the pitch of the little finger at rest. */
typedef struct retarget_options {
    double cutoff;            /* of a hand at rest, Hz; 0: no filter */
    double opening;           /* Hz per m/s */
    double derivative_cutoff; /* Hz */
    double noise_speed;       /* m/s */
    /* Weight of an orientation relative to a direction. Trackers place the axes of their joints differently, so
     * directions decide and orientations help where directions are missing. */
    double orientation_weight;
    double pinch; /* 1: thumb and finger touch when the tracked ones do (retarget.c); 0: not; a share of that */
    double pinch_press; /* overlap of the two skins where the tracked tips just meet, over their distance there */
} retarget_options;
retarget_options retarget_options_default(void); /* with filter */

typedef struct retarget_result {
    skeleton_pose base; /* of the wrist bone */
    double q[HAND_ANGLES];
    double residual; /* root mean square angle between the directions of the bones and the tracked ones, rad */
    int seen;        /* number of tracked positions in use */
    int iterations;
    bool held;   /* too few joints were seen, so the last pose is kept */
    bool jumped; /* the base moved farther since the last frame than a hand can: 0.2 m or 90 degrees */
} retarget_result;

/* Carried over from frame to frame. Part of the saved state, so it must not contain padding. */
typedef struct retarget_carried {
    long long started; /* 1 once a hand has been seen */
    quat turn;         /* of the base, unfiltered */
    vec3 position;
    double q[HAND_ANGLES];          /* unfiltered */
    double palm_scale;              /* size of the tracked palm relative to the model's */
    double length[HAND_FINGERS][3]; /* of the tracked bones, m; 0 until seen */
    quat smooth_turn;
    vec3 smooth_position;
    /* Velocities of the tips relative to the palm, velocity and spin of the palm, m/s and rad/s, each after one and
     * after two low passes. */
    float velocity[HAND_FINGERS + 2][2][3];
    double tips_apart[HAND_FINGERS]; /* of the tracked thumb and each finger, filtered, m; 0: not seen yet; [0]: 0 */
    double smooth[HAND_ANGLES];
} retarget_carried;

typedef struct retarget {
    const hand_skeleton *hand;
    retarget_options options;
    vec3 palm_centre; /* mean of wrist and knuckles, in the frame of the wrist */
    retarget_carried carried;
} retarget;

/* The caller keeps `hand`, which must outlive the retarget. */
void retarget_start(retarget *r, const hand_skeleton *hand, const retarget_options *options);

/* Processes the next frame, dt seconds after the last one. */
void retarget_frame(retarget *r, const tracked_hand *tracked, double dt, retarget_result *out);

/* The cutoff of the filter at a speed, Hz, and its gain within dt. */
double retarget_cutoff(const retarget_options *options, double speed);
double retarget_gain(double cutoff, double dt);

/* True if the joints look like those of the other hand: their mirror image fits far better. Used for messages, since a
 * track may be mislabelled; a badly tracked hand is no proof. */
bool retarget_is_other_hand(const hand_skeleton *hand, const tracked_hand *seen);

/* Measures a hand over the first 200 frames that show its wrist and knuckles (measure.c). frames: the first of `count`
 * frames that are `stride` bytes apart. Fails if there are fewer than 5 of them, or if it is no size of a hand, for
 * example because the positions are not in metres; the message says which. */
thenar_status hand_measure(const tracked_hand *frames, size_t stride, size_t count, bool left, hand_size *out,
                           thenar_error *error);

/* Fits the orientation R of the base and the angles q to tracked directions, by damped least squares with bounds.
 *
 *     min over R, q of  sum_v w_v rho(|m_v(q) - R^T s_v|^2) + sum_o w_o rho(|log(R^T S_o R_b(q)^T)|^2),
 *     lower <= q <= upper.
 * s_v: a unit vector between two tracked joints; m_v: the same vector of the model, with its bones scaled to the
 * tracked lengths, in the frame of the base; S_o: a tracked orientation, R_b that of the model; rho(x) = c^2 log(1 + x
 * / c^2), which discounts outliers. Fingers interact only through R, so the normal equations form an arrow of five 4x4
 * blocks and one 3x3 block. */

/* The bones `first` to `last` of a finger (0..2) in sequence; or, with finger -1, a vector within the palm. */
typedef struct fit_vector {
    int finger, first, last;
    vec3 seen;       /* unit vector in the world */
    vec3 fixed;      /* part of the model's vector that lies in the palm, divided by its length */
    double share[3]; /* share of each bone's own vector in the model's vector */
    double weight;
    bool tip; /* from the root of a finger to its tip, in addition to its bones */
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
    bool without_tips; /* leaves the vectors to tips out. Their large weights lead to other local minima from afar */
    int vector_count, turn_count;
    fit_vector vectors[FIT_MAX_VECTORS];
    fit_turn turns[FIT_MAX_TURNS];
} fit_problem;

typedef struct fit_point {
    quat turn;
    double q[HAND_ANGLES];
} fit_point;

/* Improves a point in at most `max` iterations; `width` is c. Returns the number of iterations. */
int fit_solve(const fit_problem *problem, double width, int max, fit_point *point);
/* Root mean square of |m_v - R^T s_v| over the vectors along fingers without those to tips, or over all vectors if there
 * are none, rad. */
double fit_residual(const fit_problem *problem, const fit_point *point);
/* The vectors of a finger's bones in the frame of the base, m, with the lengths of the model. */
/* The tip of a finger, its derivatives with respect to the angles and the rotation of the end bone, in the frame of
 * the base. */
typedef struct finger_reach {
    vec3 tip, column[HAND_FINGER_ANGLES];
    mat3 end;
} finger_reach;
void fit_finger_reach(const hand_skeleton *hand, int finger, const double q[HAND_FINGER_ANGLES], finger_reach *out);

void fit_finger_vectors(const hand_skeleton *hand, int finger, const double q[HAND_FINGER_ANGLES], vec3 vectors[3]);

/* The rotation that best maps `from` to `to`, weighted (Horn 1987). */
quat fit_rotation(const vec3 *from, const vec3 *to, const double *weight, int count);

/* Observations of a frame for the fit: vectors between visible joints, and orientations of bones. */

/* Joints in the palm, with weights for how well trackers and hands agree on them. The metacarpals lie in different
 * places in every model. */
typedef struct palm_joint {
    hand_joint joint;
    double weight;
} palm_joint;
#define PALM_JOINTS 10
#define PALM_CORNERS 5 /* the first entries: wrist and knuckles */
extern const palm_joint retarget_palm[PALM_JOINTS];

/* Gloves with one value per finger (talvas2015 used a 5DT Data Glove 5): flexion f from 0 (open) to 1 (closed).
 *
 * Angle i of the hand is q_i = o_i + f (c_i - o_i), with the finger's f and the open and closed angles o_i and c_i of
 * drive.c, so that all joints of a finger bend in proportion. Such a glove measures no abduction: the fingers stay
 * side by side and the thumb opposes them. */

/* A glove worn differently from its calibration reports slightly less than 0 or more than 1. Values up to these bounds
 * are clamped to 0..1; values beyond them are rejected. */
#define GLOVE_MIN (-0.5)
#define GLOVE_MAX 1.5

typedef struct glove_frame {
    double time; /* s */
    double flexion[HAND_FINGERS];
    skeleton_pose wrist; /* position.x is NaN if unknown */
} glove_frame;

/* The frames of one hand, by ascending time. */
typedef ARRAY(glove_frame) glove_track;

static inline bool glove_value_is_fine(double flexion) {
    return flexion >= GLOVE_MIN && flexion <= GLOVE_MAX; /* false for NaN */
}

/* Replaces missing values (NaN) by those of the frame before, those before the first known value by that one, and by 0
 * if there is none. Wrists likewise, if there are any. */
void glove_fill(glove_track *frames) SHARED(glove_fill);
/* The frame at a time, interpolated along straight lines and great circles, and constant before the first and after
 * the last frame. There must be at least one frame. */
glove_frame glove_sample(const glove_track *frames, double time);
/* The angles of one finger. */
void glove_finger(const hand_skeleton *hand, int finger, double flexion, double q[HAND_ANGLES]);

/* Tracks: recorded hand motions. docs/hand.md describes the file format, src/io reads it.
 *
 * Both hands may be in one track, each with frames of its own. All frames of a hand are either joints or glove values.
 * Frames that do not come after the last one of their hand, and a truncated last line, are dropped and counted. */

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

typedef struct thenar_track {
    atomic_int owners;     /* of one that the API has handed out */
    char *name;            /* for messages, NULL for none */
    track_hand hands[2];   /* right, left: indexed by `left` */
    glove_track gloves[2]; /* likewise for gloves; one of the two is empty */
    /* How many, and the line of the first: */
    long repeated, repeated_line;     /* frames dropped because they repeat the time of the last one */
    long decreasing, decreasing_line; /* frames dropped because they are earlier than the last one */
    long clamped, clamped_line;       /* glove values clamped to 0..1 */
    long truncated_line;              /* number of a truncated last line, or 0 */
} track;

/* A file without any frame is an error. Free the track with track_free. */
thenar_status track_read(const char *path, track *out, thenar_error *error);
/* The same from text; `name` is for messages. */
thenar_status track_parse(const char *text, size_t size, const char *name, track *out, thenar_error *error);
void track_free(track *t) SHARED(track_free);

/* One more reference to a track of the API; thenar_track_free releases one. */
track *track_keep(const track *t);

/* Fails if the track does not have this hand; the message says what it has. */
thenar_status track_expect(const track *t, bool left, thenar_error *error);

/* hand_measure of its frames. */
thenar_status track_measure(const track *t, bool left, hand_size *out, thenar_error *error);

/* The joints of a hand at a time, interpolated along straight lines and great circles, and constant before the first
 * and after the last frame. A joint missing in one of two frames is taken from the nearer one. All joints are unseen
 * if the track does not have this hand. */
void track_sample(const track *t, bool left, double time, tracked_hand *out);

/* Number of frames of a hand. */
static inline size_t track_count(const track *t, bool left) {
    return t->hands[left].count + t->gloves[left].count;
}

/* Times of the first and the last frame over both hands, s. */
double track_start(const track *t);
double track_stop(const track *t);

/* Times of the first and the last frame of one hand, s. */
static inline double track_begin(const track *t, bool left) {
    return t->hands[left].count > 0 ? t->hands[left].data[0].time : t->gloves[left].data[0].time;
}
static inline double track_end(const track *t, bool left) {
    const track_hand *hand = &t->hands[left];
    const glove_track *glove = &t->gloves[left];
    return hand->count > 0 ? hand->data[hand->count - 1].time : glove->data[glove->count - 1].time;
}

#endif
