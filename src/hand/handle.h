/* The handle (garre2009, section 4): a rigid piece by which a device holds a soft body, the tool. It is made in
 * handle_model.c, handle_step.c has the equations.
 *
 * A handle in a soft body is a body of its own (body/body.h) with two block nodes of unknowns, in the island of its
 * tool, that nobody sees: no surface, no contacts. A bone of a hand as a handle has no unknowns; the skeleton moves
 * it.
 * It stands for itself and the bones beyond it, the palm for all of the hand, and the springs that hang flesh on these
 * are its springs: of all bones alone, one would feel what flesh passes on between two of them, which is large in a fist
 * and means nothing to who holds the hand. The springs of both kinds are the soft body's own
 * (soft_model.stiffness and .damping); each step leaves in soft_state.spring_pull what pulls a node. */
#ifndef HAND_HANDLE_H
#define HAND_HANDLE_H

#include "body/rigid.h"
#include "hand/hand.h"
#include "hand/skeleton.h"

#include "thenar/haptic.h"

/* A spring: a node, and the point of the handle that it is tied to. Of a bone's handle the point is the mean of those
 * of the bones that it carries, by their weights: then `holds` are those of the node. */
typedef struct handle_link {
    int body, node; /* in the model of the world; in its mesh */
    double weight;  /* how much of the point's motion is this handle's: 1, or the sum of its bones' weights */
    vec3 local;     /* the point in the handle's frame, m; not of bones */
    const hand_hold *holds;
    int hold_count;
} handle_link;

typedef struct handle_model {
    rigid_model rigid;        /* mass, inertia, path of the wanted pose; a bone's is static: without unknowns */
    int hand, bone;           /* -1: in a soft body */
    bool carries[HAND_BONES]; /* a bone's handle takes the bones beyond it along, with their joints as they are */
    int body;                 /* of the tool, the first one */
    int link_count;
    handle_link *links;
    skeleton_coupling coupling; /* gains of the virtual coupling */
    bool linearize;
    int (*blocks)[RIGID_NODES]; /* a link: the system's blocks between the handle's unknowns and the node */
} handle_model;

/* What a snapshot keeps beside the rigid body's part. No padding. */
typedef struct handle_kept {
    double motion[6];                   /* at the end of the last step, as it was solved for, m/s and rad/s */
    double force[6];                    /* of the tool, N and N m */
    double pull[6];                     /* of the virtual coupling, N and N m */
    double wanted[7], wanted_motion[6]; /* at the end of the last step */
    double driven[7], driven_motion[6]; /* by thenar_sim_drive_handle */
    long long is_driven;
} handle_kept;

/* The response of tool and force to the handle's motion; world/linearize.c. */
typedef struct handle_linear {
    double stiffness[36], damping[36], inertia[36], viscosity[36];
    double sums[3]; /* over the springs: k, d, kappa */
    bool is_there;
} handle_linear;

typedef struct handle_state {
    rigid_state rigid;
    handle_kept *kept;
    double *arms;                                  /* work, 3 a link: from the origin to its point, m */
    coupling_spring linear_spring, angular_spring; /* work: of the virtual coupling in this step */
    handle_linear *linear;                         /* work */
    bool linearize;
    body_state *const *bodies; /* of the world */
    hand_state *hand;          /* of a bone, else NULL */
} handle_state;

extern const body_class handle_class;

/* In a soft body, which is number `body`, or a bone of a hand. Springs are written to the soft body. */
thenar_status handle_model_create(const thenar_handle_def *def, soft_model *tool, int body, handle_model **out,
                                  thenar_error *error);
thenar_status handle_model_on_bone(const thenar_handle_def *def, const hand_model *hand, int number, handle_model **out,
                                   thenar_error *error);

/* What the springs couple, and where their blocks are: the unknowns of handle and tool start at these nodes. */
bool handle_couple(const handle_model *handle, const soft_model *tool, int first_node, int tool_first,
                   body_couplings *couplings);
void handle_bind(handle_model *handle, const soft_model *tool, const block_pattern *pattern, int first_node,
                 int tool_first);

/* Once the state has its memory. */
void handle_open(handle_state *state, body_state *const *bodies, hand_state *hands);
/* A bone's handle is where its bone is. After the hand's own reset or step. */
void handle_follow_bone(handle_state *state);
void handle_free(body_model *base);

static inline const handle_model *handle_of(const handle_state *state) {
    return (const handle_model *)state->rigid.base.model;
}
static inline bool handle_is_bone(const handle_model *handle) {
    return handle->hand >= 0;
}

#endif
