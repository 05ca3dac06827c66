/* The handle (garre2009, section 4): a rigid piece by which a device holds a soft body, the tool.
 *
 * A handle in a soft body is a body of its own (body/body.h) with two block nodes of unknowns, in the island of its
 * tool. It has no surface and no contacts. A handle on a bone has no unknowns, since the skeleton moves it. It stands
 * for its bone and all bones beyond it (the palm for the whole hand), and its springs are those that attach flesh to
 * these bones. Taking the springs of one bone alone would render the force that flesh transmits between two bones,
 * which is large in a fist and means nothing to the person who holds the hand. The springs of both kinds are the soft
 * body's own (soft_model.stiffness and .damping); each step writes the pull on a node to soft_state.spring_pull. */
#ifndef HAND_HANDLE_H
#define HAND_HANDLE_H

#include "body/rigid.h"
#include "hand/hand.h"
#include "hand/skeleton.h"

#include "thenar/haptic.h"

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

#endif
