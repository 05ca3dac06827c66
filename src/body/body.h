/* The body interface (garre2009, section 6): what the world knows of a body, whatever its kind.
 *
 * A body contributes unknowns (block nodes of three velocities), the groups of unknowns that it couples, and at every
 * step its blocks of A and b. A system (solver/solver.h) holds one body or an island of bodies, factors and solves;
 * each body integrates the resulting velocities. So a body can be solved alone, as a black box with its own factor, or
 * together with the bodies it touches, and does not know which.
 *
 * Model and state: body_model is immutable and shared; body_state belongs to one simulation. Each is the first member
 * of the struct of its kind. The arrays of a state come from two arenas: `kept` is what a snapshot copies and the next
 * step starts from, `work` may be lost between steps. */
#ifndef BODY_BODY_H
#define BODY_BODY_H

#include "core/error.h"
#include "core/memory.h"
#include "core/threads.h"
#include "core/vec3.h"
#include "sparse/cholesky.h"

#include "thenar/mesh.h"
#include "thenar/model.h"

#include <stdbool.h>
#include <stdint.h>

/* A constraint row: C(x) >= 0, linearized. Strain limits, contacts and patches meet in one list of rows, which every
 * solver that works on rows takes. */

#define ROW_NODES 4
#define ROW_AXES 6 /* limits per element that may be rows at once: three singular values, three fibres */

typedef enum constraint_kind {
    CONSTRAINT_STRETCH_MIN, /* s - s_min >= 0 */
    CONSTRAINT_STRETCH_MAX, /* s_max - s >= 0 */
    /* Axis 0: gap >= 0; 1 and 2: tangential displacement, which friction drives to 0; for a patch also 3: the angle about
     * its normal, likewise. */
    CONSTRAINT_CONTACT
} constraint_kind;

/* Further nodes of a row. Contacts have up to eight nodes, patches many; most rows need none of these. */
typedef struct row_tail {
    int count;
    const int *node; /* no node occurs twice in a row */
    const vec3 *gradient;
} row_tail;

typedef struct constraint_row {
    constraint_kind kind;
    int element;              /* tet of the body; for a contact its index */
    int axis;                 /* singular value, 0 the largest; from 3 on a fibre */
    int node[ROW_NODES];      /* unknowns of the system, -1 for a held node */
    const row_tail *tail;     /* further nodes, or NULL */
    vec3 gradient[ROW_NODES]; /* dC / dx of each node */
    double value;             /* C, negative where violated */
    double weight;            /* metres per unit of C (perez2013, Eq. 18): mean edge for strains, 1 for contacts */
} constraint_row;

/* Bounds of the simulated world. Anything farther away or faster is the result of an error, and its square is still
 * finite. Input beyond these bounds is refused; a step that leads there fails. */
#define BODY_FARTHEST 1e6 /* m */
#define BODY_FASTEST 1e9  /* m/s, rad/s */

/* True if all values are between -max and max; false for NaN. */
static inline bool body_within(const double *values, size_t count, double max) {
    bool all = true;
    for (size_t i = 0; i < count; i++) all = all && fabs(values[i]) <= max;
    return all;
}
static inline bool body_is_near(vec3 position) {
    return fabs(position.x) <= BODY_FARTHEST && fabs(position.y) <= BODY_FARTHEST && fabs(position.z) <= BODY_FARTHEST;
}

typedef struct body_class body_class;

typedef struct body_model {
    const body_class *kind;
    char *name;
    double mass;                   /* kg */
    const thenar_surface *surface; /* visible, at rest or in the body's own frame; NULL for handles */
    int system_node_count;         /* unknowns, in blocks of three */
    bool limited;                  /* has limits (kind->limits) */
    bool touches;                  /* takes part in contact */
    double friction;               /* Coulomb friction coefficient mu of its surface */
    int family; /* bodies of the same family do not touch each other, such as pieces that lie side by side; 0: none */
} body_model;

typedef struct body_state {
    const body_model *model;
    bool slowed; /* slowed down in this step because it would have turned too far (RIGID_MAX_TURN) */
} body_state;

/* Groups of system nodes in which every node is coupled with every other, as block_pattern_create takes them. */
typedef struct body_couplings {
    ARRAY(int) start; /* start of each group in `node`; the last group ends with `node` */
    ARRAY(int) node;
} body_couplings;

/* Parameters of a step, for every stage. */
typedef struct body_step {
    double time; /* at the end of the step, s */
    double h;    /* length of the step, s */
    double left; /* time to the end of the simulation's step, of which this may be a part, s; h for a whole step */
    bool last;   /* no smaller step is tried if this one fails, so an imperfect solve is accepted */
    int max_iterations; /* per solve; 0: the solver's own limit */
    vec3 gravity;
    workers *pool;
} body_step;

/* How far a body is from the optimum within its own limits. */
typedef struct body_limit_measures {
    double distance; /* as a strain: bounds the largest violation and the complementarity error of the multipliers */
    int active;      /* active limits */
} body_limit_measures;

/* Internal limits of a body, for solvers that minimize the augmented Lagrangian: penalty terms with multipliers that
 * the body keeps from step to step. Displacements d count from the start of the step (x = x0 + d; held nodes follow
 * their supports), 3 per unknown of the body. weight: h^2 rho in units of Young's modulus, s^2. */
typedef struct body_limits {
    /* True if some multiplier is nonzero: the last step ended at a limit. */
    bool (*warm)(const body_state *state);
    /* Rescales the multipliers to another rho; none exceeds `max`. */
    void (*rescale)(body_state *state, double factor, double max);
    /* Starts a solve: no limit is active yet, decompositions start from the beginning of the step. */
    void (*begin)(body_state *state);
    /* Solvers with multipliers load them at the start and store them at the end; between steps they rotate with the
     * elements. */
    void (*take_up)(body_state *state);
    void (*put_away)(body_state *state);
    /* Moves the evaluation point of the calls below to d. */
    void (*move)(body_state *state, const body_step *step, const double *d);
    /* Computes the decompositions that the next four calls need, after move or update. */
    void (*evaluate)(body_state *state, const body_step *step);
    double (*energy)(const body_state *state); /* divided by weight: N m */
    body_limit_measures (*measure)(const body_state *state);
    /* Adds the gradient to the body's own part. */
    void (*gradient)(body_state *state, const body_step *step, double weight, double *gradient);
    /* Adds the Hessian to the blocks of the whole system. */
    void (*hessian)(body_state *state, const body_step *step, double weight, double *blocks);
    /* The multiplier update; `factor` as in rescale, `max`: bound of a multiplier. */
    void (*update)(body_state *state, double factor, double max);
    /* After a step: adds the Hessian of the limits active at its end, with a penalty `stiffer` times as large, so that
     * they hold almost exactly. weight: as above, with the rho in whose units multipliers are stored. convex: without
     * negative directions. */
    void (*tangent)(body_state *state, const body_step *step, double weight, double stiffer, bool convex,
                    double *blocks);
    /* For solvers that work on rows. An element (a tet) has up to ROW_AXES rows at a time; the unknowns of the body
     * start at first_node of the system. */
    int (*element_count)(const body_model *body);
    void (*element_nodes)(const body_model *body, int element, int first_node, int node[ROW_NODES]);
    /* The limits violated at the evaluation point, linearized there, by ascending batches of elements. rows: room for
     * ROW_AXES per element. Returns their number. */
    int (*rows)(body_state *state, const body_step *step, int first_node, constraint_row *rows);
    /* The same limits linearized at the current evaluation point. */
    void (*relinearize)(body_state *state, int first_node, constraint_row *rows, int count);
    /* Reaction of held nodes to rows: adds scale J^T lambda to `impulse`, 3 numbers per node of the body, for held
     * nodes only. */
    int (*node_count)(const body_model *body);
    void (*react)(body_state *state, const constraint_row *rows, const double *lambda, double scale, int count,
                  double *impulse);
    /* The impulses of the whole solve, for the published reactions. */
    void (*hold)(body_state *state, const double *impulse);
} body_limits;

struct body_class {
    const char *name;
    size_t state_size; /* of the kind's own state struct */

    /* Model. */
    bool (*couple)(const body_model *body, int first_node, body_couplings *couplings); /* false: out of memory */
    /* The pattern of the body's system is known: stores the indices of its own blocks. */
    thenar_status (*bind)(body_model *body, const block_pattern *pattern, int first_node, thenar_error *error);
    uint64_t (*hash)(const body_model *body);
    void (*free)(body_model *body);

    /* State. */
    void (*layout)(body_state *state, arena *kept, arena *work);
    void (*reset)(body_state *state);

    /* The stages of a step, in order. blocks: values of the whole system; b, v: the body's own part. */
    void (*drive)(body_state *state, const body_step *step);
    void (*formulate)(body_state *state, const body_step *step, double *blocks, double *b);
    /* False: not finite or out of bounds. */
    bool (*integrate)(body_state *state, const body_step *step, const double *v);
    /* Displaces the unknowns by dq, m, without changing velocities; false: not finite. */
    bool (*displace)(body_state *state, const double *dq);
    void (*publish)(body_state *state, const body_step *step);
    /* True if the saved state, including published values, is finite and all positions are within BODY_FARTHEST. */
    bool (*is_finite)(const body_state *state);
    void (*rest)(body_state *state);                      /* sets all velocities to zero, as a last resort */
    int (*inverted)(const body_state *state);             /* inverted elements found by formulate */
    void (*velocity)(const body_state *state, double *v); /* of the unknowns at the start of the step */
    void (*change)(const body_state *state, double *v);   /* change of these velocities in the step before */

    /* Readable between steps: vertices of the surface in the world, and energies (each may be NULL), J. Like `inverted`
     * only for visible bodies: NULL for handles. */
    void (*place_surface)(const body_state *state, double *positions);
    void (*energy)(const body_state *state, vec3 gravity, double *kinetic, double *elastic, double *potential);

    const body_limits *limits; /* of bodies that are limited */
};

/* Supports: nodes held and moved as one rigid piece, by keys or by a driver, firmly or by springs. Regions: which
 * nodes and tets of a mesh to select. */

typedef struct support_model {
    char *name; /* may be NULL */
    int node_count;
    int *nodes; /* mesh nodes, ascending */
    vec3 pivot;
    int key_count;
    thenar_key *keys;
    bool linear;
    double stiffness, damping; /* springs of each node, N/m and N s/m; 0: held firmly */
} support_model;

/* Saved state of a support. */
typedef struct support_state {
    double move[3], turn[3];
    long long driven; /* 1 once thenar_sim_drive has taken over; a whole word, so that no padding is hashed */
} support_state;

thenar_status support_check(const thenar_support *def, thenar_error *error);

/* The pose at a time, by keys unless a driver has taken over. */
void support_pose(const support_model *support, const support_state *state, double time, vec3 *move, vec3 *turn);

/* Position of a node in that pose; `rest`: its rest position. */
static inline vec3 support_place(const support_model *support, vec3 move, quat turn, vec3 rest) {
    return vec3_add(vec3_add(support->pivot, quat_rotate(turn, vec3_sub(rest, support->pivot))), move);
}

void support_free(support_model *support);

/* Checks the numbers of a region: finite, radius > 0, corners in order, a nonzero direction. */
thenar_status region_check(const thenar_region *region, thenar_error *error);

/* One flag per node or per tet of the mesh. */
void region_mark_nodes(const thenar_region *region, const thenar_tet_mesh *mesh, bool *marked);
void region_mark_tets(const thenar_region *region, const thenar_tet_mesh *mesh, bool *marked);

#endif
