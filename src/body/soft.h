/* The soft body: linear corotational finite elements on tets (perez2013, section 3.1), lumped mass, Rayleigh damping,
 * implicit Euler with linearized forces (perez2013, Eq. 12).
 *
 * Nodes held by supports are not unknowns: the system holds the free nodes only, in mesh order. The model is built in
 * soft_model.c, the element kernel is in soft_element.c, the stages of a step in soft_step.c. */
#ifndef BODY_SOFT_H
#define BODY_SOFT_H

#include "body/body.h"
#include "body/soft_element.h"
#include "body/soft_limit.h"
#include "body/support.h"

#include "thenar/model.h"

typedef struct soft_model {
    body_model base;
    thenar_tet_mesh mesh;
    thenar_surface surface;
    thenar_embedding embedding;
    double *contact_spacing; /* of each vertex of the surface: between those that touch, m; NULL: all touch */
    int *contact_groups;     /* a vertex of the surface: its label for patches of contact; NULL: all the same */

    double *mass;        /* node_count, kg */
    double *damped_mass; /* node_count: mass times Rayleigh alpha, kg/s */
    double *load;        /* 3 node_count: constant forces, N */
    double *velocity;    /* 3 node_count: at time 0, m/s */
    double *stiffness;   /* node_count: of the spring to its support, N/m; 0 without one */
    double *damping;     /* node_count: of that spring, N s/m */
    double total_mass;
    double volume;        /* of the filled part, m^3 */
    bool weightless;      /* gravity does not pull at it */
    double self_distance; /* m, 0: never touches itself */

    int batch_count;
    soft_batch *batches;
    bool limited;        /* some tet has a strain limit */
    soft_fibres *fibres; /* batch_count, or NULL: limits along directions */

    int support_count;
    support_model *supports;
    int *system_node; /* node_count: unknown of a node, counted within the body, or -1 if it is held */
    int free_count;   /* number of unknowns, in blocks of three */

    /* Assembly by gathering: block i of the body is the sum of the element blocks block_source[block_start[i]] up to
     * block_start[i + 1], in ascending order of tets; the same for the force on free node i. Each sum has one owner
     * and one order, so it comes out the same with any number of threads. */
    int block_count;
    int *block_target;  /* block_count: index of the block in the system */
    int *block_start;   /* block_count + 1 */
    int *block_source;  /* offset of an element block in the records */
    int *diagonal_node; /* block_count: the mesh node of a diagonal block, -1 for others */
    int *force_start;   /* node_count + 1 */
    int *force_source;  /* offset of an element's nodal force in the records */
} soft_model;

typedef struct soft_state {
    body_state base;
    /* kept */
    double *x;         /* 3 node_count, m */
    double *v;         /* 3 node_count, m/s */
    double *change;    /* 3 node_count, m/s: of v in the last step */
    double *applied;   /* 3 node_count, N */
    double *force;     /* 3 node_count, N: what thenar_sim_forces shows */
    double *touched;   /* node_count: by how much contacts that push hang on a node, 0 to 1; of the last step */
    f64x8 *warm;       /* 9 per batch: V of the last decomposition, where the next one starts */
    f64x8 *multiplier; /* 9 per batch: scaled multipliers Y of the strain limits, if there are any */
    support_state *support_states;
    /* work */
    double *target_velocity;   /* 3 node_count: of held nodes; 0 for free ones */
    double *spring_pull;       /* 3 node_count: force of a spring on a node that does not move within the step, N */
    double *previous_velocity; /* 3 node_count: at the beginning of the step */
    double *free_velocity;     /* 3 node_count: of free nodes at the end of the step; 0 for held ones */
    f64x8 *rotation;           /* 9 per batch */
    double *records;           /* SOFT_RECORD per tet (padded to whole batches) */
    int *inverted;             /* per batch: inverted tets that formulate met */
    /* work, if there are strain limits */
    double *trial;                  /* 3 node_count: where the limits are looked at */
    soft_limit_point *limit_points; /* per batch: G + Y at trial */
    double *limit_records;          /* as records, of the limits' gradient and Hessian; zero where none pushes */
    int *limit_pushes;              /* per batch: 1 where limit_records is not zero */
    double *limit_impulse;          /* 3 node_count: on held nodes, from solvers that work on rows, kg m/s */
} soft_state;

/* Checks the definition and builds the model; frees nothing of the definition. */
thenar_status soft_model_create(const thenar_soft_def *def, soft_model **out, thenar_error *error);

extern const body_class soft_class;
extern const body_limits soft_limits;

static inline const soft_model *soft_of(const soft_state *state) {
    return (const soft_model *)state->base.model;
}

/* Readers behind the public API. */
void soft_place_surface(const body_state *base, double *positions);
void soft_stretches(const soft_state *state, double *values);
void soft_energy(const body_state *base, vec3 gravity, double *kinetic, double *elastic, double *potential);
void soft_support_wrench(const soft_state *state, int support, vec3 *force, vec3 *torque);

#endif
