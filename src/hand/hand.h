/* Poses of a hand by name, as angles. */
#ifndef HAND_HAND_H
#define HAND_HAND_H

#include "body/soft.h"
#include "body/support.h"
#include "core/error.h"
#include "hand/retarget.h"
#include "hand/shape.h"

#include "thenar/hand.h"

/* The angles of a named pose, within the limits of this hand: "rest", "open", "relaxed", "fist", "pinch", "point" or
 * "spread". Returns false for any other name. */
bool hand_pose_find(const hand_skeleton *hand, const char *name, double q[HAND_ANGLES]);

/* The names, for messages. */
extern const char *const hand_pose_names[];
int hand_pose_count(void);

/* A scripted hand: poses by name or by angles, and a path of the wrist, both as keys over time. */

typedef struct hand_script_def {
    const thenar_hand_key *poses; /* none: the rest pose */
    int pose_count;
    const thenar_key *keys; /* of the wrist, from its rest place and about it; none: it stays there */
    int key_count;
    bool linear; /* constant speed between keys; false: smooth, at rest at each key */
} hand_script_def;

typedef struct hand_script_key {
    double time;
    double q[HAND_ANGLES];
} hand_script_key;

typedef struct hand_script {
    skeleton_pose rest; /* of the wrist */
    double rest_angles[HAND_ANGLES];
    int key_count;
    hand_script_key *keys;
    support_model path;
} hand_script;

thenar_status hand_script_create(const hand_script_def *def, const hand_skeleton *hand, hand_script *out,
                                 thenar_error *error);
void hand_script_free(hand_script *script);

/* Base pose and angles at a time; before the first and behind the last key they are theirs. */
void hand_script_sample(const hand_script *script, double time, skeleton_pose *base, double q[HAND_ANGLES]);

/* The composite hand: bones that follow a tracked hand, and soft bodies that hang on them by springs, both ways.
 *
 * Node i of the flesh is pulled by a spring of zero length (k_i, d_i) to the place t_i where its bones would take it,
 * t_i = sum_b w_ib (R_b X_ib + p_b) (perez2016, II-A: one spring a node, the skeletal end by linear blend skinning). A
 * step takes the bones first, with the flesh approximated, then the flesh with the bones' motion known; there is no
 * common system. hand_step.c has the equations and the reason of the approximation, hand_drive.c where the bones are
 * wanted, hand_model.c how a hand is made. */

/* A bone that a node hangs on. */
typedef struct hand_hold {
    int bone;
    double weight; /* those of a node add up to 1 */
    vec3 local;    /* the node at rest in the bone's frame, m */
} hand_hold;

/* A soft body on bones. The springs are the soft body's own (soft_model.stiffness and .damping). */
typedef struct hand_attachment {
    int body; /* in the model of the world */
    int node_count;
    int *hold_start; /* node_count + 1 */
    hand_hold *holds;
    double *stiffness; /* node_count, N/m: of the flesh around a node, the mean of its diagonal block at rest */
} hand_attachment;

/* The pad of a finger: what tactile devices render. */
typedef struct hand_pad_model {
    int flesh;          /* whose skin it is on */
    hand_region region; /* vertices of that skin */
    hand_frame frame;   /* of the last phalanx at rest */
} hand_pad_model;

typedef struct hand_model {
    char *name;
    hand_skeleton skeleton;
    bool weight;                            /* gravity pulls at the bones */
    skeleton_coupling coupling[HAND_BONES]; /* gains; the targets come from the drive */
    double flesh_stiffness;                 /* of the springs in the core of a finger, N/m */
    hand_script script;
    track *track; /* or NULL */
    retarget_options retarget;
    int first_body, flesh_count;
    hand_attachment *flesh;
    hand_pad_model pad[HAND_FINGERS];
    double young; /* of the flesh, Pa */
} hand_model;

/* Where bones are wanted. */
typedef struct hand_target {
    skeleton_pose base;
    double q[HAND_ANGLES];
} hand_target;

/* By whom a hand is driven: its script or track until someone takes it over. */
typedef enum hand_driver { HAND_BY_SCRIPT, HAND_BY_JOINTS, HAND_BY_ANGLES } hand_driver;

/* No padding: it is part of a simulation's state. */
typedef struct hand_kept {
    long long driver;
    tracked_hand joints;      /* HAND_BY_JOINTS: what was seen last */
    hand_target given;        /* HAND_BY_ANGLES */
    hand_target target;       /* at the end of the last step */
    retarget_carried carried; /* from frame to frame */
} hand_kept;

typedef struct hand_state {
    const hand_model *model;
    skeleton_state skeleton;
    hand_kept *kept;
    double *before; /* work, 3 a node of all flesh: where nodes were wanted when the step began, m */
    struct handle_state *handles[HAND_BONES]; /* of its bones, those that are handles (body/handle.h) */
} hand_state;

/* Makes a hand and its soft bodies, *flesh_count of them, which then belong to the caller (as *flesh itself: free
 * it). */
thenar_status hand_model_create(const thenar_hand_def *def, hand_model **out, soft_model ***flesh, int *flesh_count,
                                thenar_error *error);
void hand_model_free(hand_model *hand);
uint64_t hand_model_hash(const hand_model *hand);
/* The track drives it from now on; NULL: its script again. `t` is taken over. */
void hand_model_set_track(hand_model *hand, track *t);

void hand_layout(hand_state *state, arena *kept, arena *work);
/* To where the drive begins, the flesh as at rest. After the bodies' own reset. bodies: of the world. */
void hand_reset(hand_state *state, body_state *const *bodies);

/* Whether most frames of its track fit the other hand far better. */
bool hand_track_looks_mirrored(const hand_model *hand);

/* Where the bones are wanted at the end of a step, and how fast the target moves there. */
void hand_drive(hand_state *state, const body_step *step, hand_target *target);
/* Bones to the end of the step; the flesh is told where it is pulled. False: as skeleton_solve. */
bool hand_advance(hand_state *state, body_state *const *bodies, const body_step *step);
/* Goes on from where another simulation of this hand is, with springs of its own. */
void hand_continue(hand_state *state, const hand_state *from);
/* Whether where its bones are, how they move and where they are wanted are numbers, and places near enough. */
bool hand_is_finite(const hand_state *state);
/* All velocities to zero. */
void hand_rest_bones(hand_state *state);

/* The flesh of a hand as soft bodies, and which of their nodes hang on which bones. */

#define HAND_SMALLEST_FILL 0.05 /* of a tet that is hardly filled, as in scenes */

#endif
