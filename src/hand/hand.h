/* The hand: bones that follow a target pose, and soft bodies attached to them by springs.
 *
 * Bones and flesh act on each other. Node i of the flesh is pulled by a zero-length spring (k_i, d_i) to the point t_i
 * where its bones would carry it, t_i = sum_b w_ib (R_b X_ib + p_b) (perez2016, II-A: one spring per node, its
 * skeletal end placed by linear blend skinning). A step first moves the bones, with an approximation of the flesh, and
 * then the flesh, with the motion of the bones known; there is no common system. step.c has the equations and the
 * reason for the approximation, drive.c the target pose, model.c the construction. */
#ifndef HAND_HAND_H
#define HAND_HAND_H

#include "body/body.h"
#include "body/rigid.h"
#include "body/soft.h"
#include "core/error.h"
#include "core/shared.h"
#include "hand/retarget.h"
#include "hand/shape.h"
#include "hand/skeleton.h"

#include "thenar/hand.h"
#include "thenar/haptic.h"

/* The angles of a pose, within the limits of this hand. */
void hand_pose_angles(const hand_skeleton *hand, thenar_hand_pose pose, double q[HAND_ANGLES]);

/* A script: poses by name or by angles, and a path of the wrist, both as keys over time. */

typedef struct hand_script_def {
    const thenar_hand_key *poses; /* empty: the rest pose */
    int pose_count;
    const thenar_key *keys; /* wrist motion relative to its rest pose; empty: it stays there */
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

/* Base pose and joint angles at a time. Before the first key and after the last one the values of that key apply. */
void hand_script_sample(const hand_script *script, double time, skeleton_pose *base, double q[HAND_ANGLES]);

/* One bone that a node follows. */
typedef struct hand_hold {
    int bone;
    double weight; /* the weights of a node add up to 1 */
    vec3 local;    /* rest position of the node in the frame of the bone, m */
} hand_hold;

/* Which bones the nodes of a soft body follow. The springs are the soft body's own (soft_model.stiffness, .damping). */
typedef struct hand_attachment {
    int body; /* index in the world's model */
    int node_count;
    int *hold_start; /* node_count + 1 */
    hand_hold *holds;
    double *stiffness; /* node_count, N/m: of the flesh around a node, the mean diagonal of its block at rest */
} hand_attachment;

/* The pad of a finger, which tactile devices render. */
typedef struct hand_pad_model {
    int flesh;          /* index of the flesh that carries its skin */
    hand_region region; /* vertices of that skin */
    hand_frame frame;   /* of the distal phalanx at rest */
} hand_pad_model;

typedef struct hand_model {
    bool coupled;     /* bones and flesh are one system (bones.c); false: bones first, then flesh (step.c) */
    bool has_muscles; /* that carry what the flesh resists (bones_compensate) */
    char *name;
    hand_skeleton skeleton;
    bool weight;                            /* gravity acts on the bones */
    skeleton_coupling coupling[HAND_BONES]; /* gains; drive.c sets the targets */
    bool couples_if_tracked;                /* those of the fingers act while a tracker drives the hand */
    double flesh_stiffness;                 /* of the springs in the core of a finger, N/m */
    hand_script script;
    track *track; /* or NULL */
    retarget_options retarget;
    char unfit[200]; /* why it does not have the size of the tracked hand, or empty */
    int first_body, flesh_count;
    hand_attachment *flesh;
    hand_pad_model pad[HAND_FINGERS];
    double young; /* of the flesh, Pa */
} hand_model;

/* Target pose of the bones. */
typedef struct hand_target {
    skeleton_pose base;
    double q[HAND_ANGLES];
} hand_target;

/* What drives a hand: its script or track, until the application takes over. */
typedef enum hand_driver { HAND_BY_SCRIPT, HAND_BY_JOINTS, HAND_BY_ANGLES } hand_driver;

/* Part of the saved state, so it must not contain padding. */
typedef struct hand_kept {
    long long driver;
    tracked_hand joints;      /* HAND_BY_JOINTS: the last tracked frame */
    hand_target given;        /* HAND_BY_ANGLES: the last given pose */
    hand_target target;       /* at the end of the last step */
    retarget_carried carried; /* retargeting state that carries over between frames */
} hand_kept;

typedef struct hand_state {
    const hand_model *model;
    skeleton_state skeleton;
    hand_kept *kept;
    double *before; /* work, 3 per node of all flesh: node targets at the start of the step, m */
    struct handle_state *handles[HAND_BONES]; /* handles on its bones; NULL where there is none */
    struct bones_state *bones;                /* of a coupled hand, else NULL */
} hand_state;

extern const char *const hand_bones_names[THENAR_BONES_COUNT] SHARED(hand_bones_names);

/* The bones as a body with unknowns, in the system of the flesh; see bones.c. */

#define BONES_LINEAR 0 /* block nodes of the palm */
#define BONES_ANGULAR 1
#define BONES_PALM_NODES 2
#define BONES_NODES (BONES_PALM_NODES + 2 * HAND_FINGERS)
#define BONES_UNKNOWNS (3 * BONES_NODES)

/* A spring of zero length between a node of the flesh and the point to which its bones carry it. */
typedef struct bones_spring {
    int node;                        /* of the flesh */
    int carrier[REDUCTION_CARRIERS]; /* block nodes of the bones, -1 after the last */
    int block[REDUCTION_CARRIERS];   /* of the system, between these and the node */
} bones_spring;

typedef struct bones_springs {
    int count;
    bones_spring *spring;
} bones_springs;

typedef struct bones_model {
    body_model base;
    int hand; /* index in the world's model */
    const skeleton_model *skeleton;
    bones_springs springs[HAND_BONES];    /* of each flesh, if its nodes are not inside bones */
    int blocks[BONES_NODES][BONES_NODES]; /* of the system, row >= column; -1 where nothing couples two fingers */
} bones_model;

/* Saved state in addition to that of the skeleton. No padding. */
typedef struct bones_kept {
    double v[BONES_UNKNOWNS], change[BONES_UNKNOWNS]; /* unknowns at the end of the last step, and their change in it */
    double multiplier[HAND_ANGLES];                   /* of the joint limits, scaled, rad */
    double shift[HAND_ANGLES];                        /* of the targets of the joint springs, rad */
    /* What springs, dampers and couplings of a joint carried in the last step beyond `shift`, as an angle of its spring,
     * rad. */
    double error[HAND_ANGLES];
} bones_kept;

typedef struct bones_state {
    body_state base;
    bones_kept *kept;
    hand_state *hand;
    body_state *const *bodies;       /* all bodies of the world */
    const reduction *dependent;      /* nodes that move with bones, of the system */
    const int *first_node;           /* of each body of the world in its system */
    double angle[HAND_ANGLES];       /* where the limits are evaluated, rad */
    double delta[HAND_ANGLES];       /* rad */
    double target_rate[HAND_ANGLES]; /* of the targets in this step, without their shift, rad/s */
    /* At the start of the step: inertia of each bone, and its origin from that of the palm, m. */
    spatial_inertia inertia[HAND_BONES];
    vec3 arm[HAND_BONES];
    double kappa[HAND_BONES][2]; /* h^2 K + h D of its coupling, linear and angular */
} bones_state;

extern const body_class bones_class;

/* number: of the hand in the world's model. */
thenar_status bones_model_create(const hand_model *hand, int number, bones_model **out, thenar_error *error);
/* The block nodes that move the point to which bones carry a node of the flesh. */
void bones_carriers(const hand_attachment *flesh, int node, int out[REDUCTION_CARRIERS]);
/* Call once the state has its memory. */
void bones_open(bones_state *state, hand_state *hand, body_state *const *bodies, const reduction *dependent,
                const int *first_node);
/* Shifts the targets of the joint springs by what carries the flesh. last: asked angles at the end of the last step;
 * call between skeleton_begin and bones_begin. */
void bones_compensate(bones_state *state, const double asked[HAND_ANGLES], const double last[HAND_ANGLES], double h);
/* The start of a step: Jacobians of the nodes that move with bones, and the pull of springs. */
void bones_begin(bones_state *state, double h);

/* Springs of the hand's flesh number `flesh`, for nodes of the soft body that have a stiffness. */
thenar_status bones_add_springs(bones_model *bones, int flesh, const hand_attachment *attachment,
                                const soft_model *soft, thenar_error *error);
/* Couples the unknowns of bones and flesh, which start at these nodes, and finds their blocks. */
bool bones_couple_springs(const bones_model *bones, const soft_model *soft, int flesh, int first_node, int soft_first,
                          body_couplings *couplings);
void bones_bind_springs(bones_model *bones, const soft_model *soft, int flesh, const block_pattern *pattern,
                        int first_node, int soft_first);

/* For the linearization of a handle on a coupled bone. Columns of X: 3 per node of the system, of which the bones' own
 * start at first_node. */

/* Adds the unit wrenches on a bone, at its origin, to six columns: J_b^T. */
void bones_add_wrenches(const bones_state *state, int bone, int first_node, double *const X[6]);
/* Motion of the origin of a bone in each column, linear then angular: out[6 i + c] is component i of column c. */
void bones_motion(const bones_state *state, int bone, int first_node, double *const X[6], double out[36]);
/* Inertia of a handle: of the bones that it carries, moving rigidly about the origin of `bone`. */
void bones_mass(const bones_state *state, int bone, const bool carries[HAND_BONES], double M[36]);
/* Adds X^T M X of the bones, and X^T D X of the dampers of joints and couplings without that of bone `except`. */
void bones_add_inertia(const bones_state *state, int first_node, double *const X[6], double sum[36]);
void bones_add_viscosity(const bones_state *state, int except, int first_node, double *const X[6], double sum[36]);

/* Where the bones carry a node of the flesh: sum_b w_b (R_b X_b + p_b). */
vec3 hand_skinned_point(const hand_attachment *flesh, int node, const skeleton_pose *pose);

/* Creates a hand and its soft bodies. The caller owns the *flesh_count bodies and the array *flesh itself. */
thenar_status hand_model_create(const thenar_hand_def *def, bool coupled, hand_model **out, soft_model ***flesh,
                                int *flesh_count, thenar_error *error);
void hand_model_free(hand_model *hand);
uint64_t hand_model_hash(const hand_model *hand);
/* The track drives it from now on; NULL: its script again. The hand holds a reference. */
void hand_model_set_track(hand_model *hand, const track *t);

void hand_layout(hand_state *state, arena *kept, arena *work);
/* Moves the bones to the start of the drive and the flesh to its rest shape. Call after the reset of the bodies.
 * bodies: all bodies of the world. */
void hand_reset(hand_state *state, body_state *const *bodies);

/* True if most frames of the track fit a hand of the other side far better. */
bool hand_track_looks_mirrored(const hand_model *hand);

/* Target pose at the end of a step. */
void hand_drive(hand_state *state, const body_step *step, hand_target *target);
/* The start of a step. Bones that are solved first move to the end of the step and pull the flesh; coupled ones get
 * their terms of the system. False if skeleton_solve fails. */
bool hand_advance(hand_state *state, body_state *const *bodies, const body_step *step);
/* The part of each joint's equation in a step of h that stands for the flesh around it, N m s^2: it acts like a damper to
 * the target rate, so the target does work on it (world/ledger.c). */
double hand_joint_reserve(const hand_model *hand, double h);
/* Takes over the state of the same hand in another simulation, which may have other spring constants. */
void hand_continue(hand_state *state, const hand_state *from);
/* True if poses, velocities and targets of the bones are finite and within the world's bounds. */
bool hand_is_finite(const hand_state *state);
/* Sets all velocities to zero. */
void hand_rest_bones(hand_state *state);

#define HAND_SMALLEST_FILL 0.05 /* smallest fill of a tet that is hardly filled, as in scenes */

/* The handle (garre2009, section 4): a rigid piece by which a device holds a soft body, the tool.
 *
 * A handle in a soft body is a body of its own (body/body.h) with two block nodes of unknowns, in the island of its
 * tool. It has no surface and no contacts. A handle on a bone has no unknowns, since the skeleton moves it. It stands
 * for its bone and all bones beyond it (the palm for the whole hand), and its springs are those that attach flesh to
 * these bones. Taking the springs of one bone alone would render the force that flesh transmits between two bones,
 * which is large in a fist and means nothing to the person who holds the hand. The springs of both kinds are the soft
 * body's own (soft_model.stiffness and .damping); each step writes the pull on a node to soft_state.spring_pull. */

/* A spring between a node and a point of the handle. For a handle on a bone, the point is the weighted mean of the
 * points of the bones that it carries, and `holds` are those of the node. */
typedef struct handle_link {
    int body, node; /* index in the world's model; index in its mesh */
    double weight;  /* share of the point's motion due to this handle: 1, or the sum of the weights of its bones */
    vec3 local;     /* the point in the frame of the handle, m; unused for bones */
    const hand_hold *holds;
    int hold_count;
} handle_link;

typedef struct handle_model {
    rigid_model rigid;        /* mass, inertia and path of the target pose; static, without unknowns, on a bone */
    int hand, bone;           /* -1 in a soft body */
    bool carries[HAND_BONES]; /* bones beyond it, which move with it while their joints keep their angles */
    int body;                 /* index of the first tool */
    int link_count;
    handle_link *links;
    skeleton_coupling coupling; /* gains of the virtual coupling */
    bool linearize;
    int (*blocks)[RIGID_NODES]; /* per link: the system's blocks between the handle's unknowns and the node */
} handle_model;

/* Saved state in addition to that of the rigid body. No padding. */
typedef struct handle_kept {
    double motion[6];                   /* solved velocity at the end of the last step, m/s and rad/s */
    double force[6];                    /* of the tool on the handle, N and N m */
    double pull[6];                     /* of the virtual coupling, N and N m */
    double wanted[7], wanted_motion[6]; /* target at the end of the last step */
    double driven[7], driven_motion[6]; /* set by thenar_sim_drive_handle */
    long long is_driven;
} handle_kept;

/* Linear response of tool and force to the motion of the handle; see world/linearize.c. */
typedef struct handle_linear {
    double stiffness[36], damping[36], inertia[36], viscosity[36];
    double sums[3]; /* sums over the springs: k, d, kappa */
    bool is_there;
} handle_linear;

typedef struct handle_state {
    rigid_state rigid;
    handle_kept *kept;
    double *arms;                                  /* work, 3 per link: from the origin to its point, m */
    coupling_spring linear_spring, angular_spring; /* work: the virtual coupling in this step */
    handle_linear *linear;                         /* work */
    bool linearize;
    body_state *const *bodies; /* all bodies of the world */
    hand_state *hand;          /* for a handle on a bone, else NULL */
} handle_state;

extern const body_class handle_class;

/* Creates a handle in the soft body with index `body`, or on a bone. Writes the springs to the soft body. */
thenar_status handle_model_create(const thenar_handle_def *def, soft_model *tool, int body, handle_model **out,
                                  thenar_error *error);
thenar_status handle_model_on_bone(const thenar_handle_def *def, const hand_model *hand, int number, handle_model **out,
                                   thenar_error *error);

/* Couples the unknowns of handle and tool, which start at these nodes, and finds their blocks. */
bool handle_couple(const handle_model *handle, const soft_model *tool, int first_node, int tool_first,
                   body_couplings *couplings);
void handle_bind(handle_model *handle, const soft_model *tool, const block_pattern *pattern, int first_node,
                 int tool_first);

/* Call once the state has its memory. */
void handle_open(handle_state *state, body_state *const *bodies, hand_state *hands);
/* Moves the handle of a bone to its bone. Call after the hand's reset or step. */
void handle_follow_bone(handle_state *state);
void handle_free(body_model *base);

static inline const handle_model *handle_of(const handle_state *state) {
    return (const handle_model *)state->rigid.base.model;
}
static inline bool handle_is_bone(const handle_model *handle) {
    return handle->hand >= 0;
}
/* Gains of the virtual coupling of a handle on a bone: those of the hand, if it always couples this bone, else its own. */
static inline const skeleton_coupling *handle_bone_coupling(const handle_model *handle, const hand_model *hand) {
    const skeleton_coupling *own = &hand->coupling[handle->bone];
    bool always = handle->bone == 0 || !hand->couples_if_tracked;
    return always && own->stiffness > 0 ? own : &handle->coupling;
}

#endif
