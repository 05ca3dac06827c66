/* A constraint row: C(x) >= 0, linearized. Strain limits, contacts and aggregates meet in one list of these; every
 * solver that works on rows takes that list. */
#ifndef BODY_BODY_H
#define BODY_BODY_H

#include "core/error.h"
#include "core/memory.h"
#include "core/threads.h"
#include "core/vec3.h"
#include "sparse/cholesky.h"

#include "thenar/mesh.h"

#include <stdbool.h>
#include <stdint.h>

#define ROW_NODES 4
#define ROW_AXES 6 /* limits of an element that may be rows at once: three singular values, three fibres */

typedef enum constraint_kind {
    CONSTRAINT_STRETCH_MIN, /* s - s_min >= 0 */
    CONSTRAINT_STRETCH_MAX, /* s_max - s >= 0 */
    CONSTRAINT_CONTACT /* axis 0: gap >= 0; 1 and 2: the way along a tangent, which friction wants to be 0; of a patch of
                          contact points also 3: the angle about its normal, likewise */
} constraint_kind;

/* What few rows need and all would have to carry: contacts hang on up to eight nodes, patches of them on many. */
typedef struct row_tail {
    int count;
    const int *node; /* no two of a row are the same */
    const vec3 *gradient;
} row_tail;

typedef struct constraint_row {
    constraint_kind kind;
    int element;              /* tet of the body; of a contact its index */
    int axis;                 /* which of its singular values, 0 the largest; 3 and on: which fibre */
    int node[ROW_NODES];      /* unknowns of the system, -1 for a held node */
    const row_tail *tail;     /* more nodes, or NULL */
    vec3 gradient[ROW_NODES]; /* dC / dx of each node */
    double value;             /* C; negative where it is violated */
    double weight; /* metres that one unit of C stands for (perez2013, Eq. 18): mean edge for strains, 1 for contacts */
} constraint_row;

/* The body interface (garre2009, section 6): what the world knows of a body, whatever its kind.
 *
 * A body contributes unknowns (block nodes of three velocities), the groups of them that it couples, and at every
 * step its blocks of A and b. A system (world/system.h) holds one body or an island of bodies, factors and solves;
 * the velocities come back to each body's integrate. So a body can be solved alone, as a black box with its own
 * factor, or together with those it touches, and does not know which.
 *
 * Model and state: body_model is immutable and shared; body_state belongs to one simulation. Both are the first
 * member of the kind's own struct. A state's arrays come from two arenas: `kept` is what a snapshot copies and the
 * next step starts from, `work` is what a step may lose. */

/* Beyond these nothing is simulated: what is farther away or faster came of nonsense, and its square is still a number.
 * An input beyond them is refused, a step that leads there fails. */
#define BODY_FARTHEST 1e6 /* m */
#define BODY_FASTEST 1e9  /* m/s, rad/s */

/* All between -most and most; false for NaN. */
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
    bool touches;    /* takes part in contact */
    double friction; /* Coulomb's coefficient mu of its surface */
    int family;      /* bodies of the same one do not touch each other: pieces that lie side by side; 0: none */
} body_model;

typedef struct body_state {
    const body_model *model;
    bool slowed; /* in this step, as it would have turned too far (RIGID_MAX_TURN) */
} body_state;

/* Groups of system nodes that couple all with all, as block_pattern_create takes them. */
typedef struct body_couplings {
    ARRAY(int) start; /* of each group in `node`; the last group ends where `node` does */
    ARRAY(int) node;
} body_couplings;

/* What every stage of a step is told. */
typedef struct body_step {
    double time;        /* at the end of the step, s */
    double h;           /* length of the step, s */
    double left;        /* to the end of the simulation's step, of which this may be a piece, s; h for a whole one */
    bool last;          /* if this fails, nothing smaller is tried: what can do without a good solve does so */
    int max_iterations; /* of a solve; 0: as many as the solver allows itself */
    vec3 gravity;
    workers *pool;
} body_step;

/* How far a body is from the optimum within its own limits. */
typedef struct body_limit_measures {
    double distance; /* as a strain: bounds the largest violation, and how far the multipliers are from complementary */
    int active;      /* limits that push */
} body_limit_measures;

/* Limits that a body sets itself, for solvers that minimize the augmented Lagrangian: penalty terms with multipliers
 * that the body keeps from step to step. A displacement d is counted from the beginning of the step (x = x0 + d, held
 * nodes go where they are driven), 3 per unknown of the body. weight: h^2 rho in units of Young's modulus, s^2. */
typedef struct body_limits {
    /* Some multiplier is not zero: the last step ended at a limit. */
    bool (*warm)(const body_state *state);
    /* The multipliers in units of another rho, none larger than `most`. */
    void (*rescale)(body_state *state, double factor, double max);
    /* The solve begins: nothing pushes yet, decompositions start from where the step does. */
    void (*begin)(body_state *state);
    /* Solvers with multipliers take them up when they begin and put them away when they end: in between steps these
     * turn as the elements do. */
    void (*take_up)(body_state *state);
    void (*put_away)(body_state *state);
    /* The body is looked at where d takes it, by the calls below. */
    void (*move)(body_state *state, const body_step *step, const double *d);
    /* Decomposes what the next four calls need, after move or update. */
    void (*evaluate)(body_state *state, const body_step *step);
    double (*energy)(const body_state *state); /* over weight: N m */
    body_limit_measures (*measure)(const body_state *state);
    /* Adds the gradient to the body's own part. */
    void (*gradient)(body_state *state, const body_step *step, double weight, double *gradient);
    /* Adds the Hessian to the blocks of the whole system. */
    void (*hessian)(body_state *state, const body_step *step, double weight, double *blocks);
    /* The multipliers' step; `factor` as in rescale, `most`: how large one may become. */
    void (*update)(body_state *state, double factor, double max);
    /* After a step: adds the Hessian of the limits that pushed at its end, with a penalty `stiffer` times as large, so
     * that they hold all but exactly. weight: as above, with the rho in whose units multipliers are kept. convex:
     * without its negative directions. */
    void (*tangent)(body_state *state, const body_step *step, double weight, double stiffer, bool convex,
                    double *blocks);
    /* For solvers that work on rows. An element (a tet) has up to ROW_AXES rows at a time; the unknowns of the body
     * start at first_node in the system. */
    int (*element_count)(const body_model *body);
    void (*element_nodes)(const body_model *body, int element, int first_node, int node[ROW_NODES]);
    /* The limits that are violated where the body is looked at, linearized there, by ascending batches of elements.
     * rows: room for ROW_AXES an element. Returns their number. */
    int (*rows)(body_state *state, const body_step *step, int first_node, constraint_row *rows);
    /* The same limits linearized where the body is looked at now. */
    void (*relinearize)(body_state *state, int first_node, constraint_row *rows, int count);
    /* What rows do to held nodes, whose supports take it: adds scale J^T lambda to `impulse`, 3 numbers a node of the
     * body, where these are held. */
    int (*node_count)(const body_model *body);
    void (*react)(body_state *state, const constraint_row *rows, const double *lambda, double scale, int count,
                  double *impulse);
    /* The impulses of the whole solve, for the reactions that the step publishes. */
    void (*hold)(body_state *state, const double *impulse);
} body_limits;

struct body_class {
    const char *name;
    size_t state_size; /* of the kind's own state struct */

    /* Model. */
    int (*system_node_count)(const body_model *body);
    bool (*couple)(const body_model *body, int first_node, body_couplings *couplings); /* false: out of memory */
    /* The pattern of the body's system is known: remember where the own blocks are. */
    thenar_status (*bind)(body_model *body, const block_pattern *pattern, int first_node, thenar_error *error);
    uint64_t (*hash)(const body_model *body);
    void (*free)(body_model *body);
    /* Asked of bodies that are seen only: NULL of handles, as are `inverted`, `place_surface` and `energy`. */
    const thenar_surface *(*surface)(const body_model *body); /* what is seen, at rest or in the body's own frame */
    double (*mass)(const body_model *body);                   /* kg */

    /* State. */
    void (*layout)(body_state *state, arena *kept, arena *work);
    void (*reset)(body_state *state);

    /* The stages of a step, in order. blocks: values of the whole system; b, v: the body's own part. */
    void (*drive)(body_state *state, const body_step *step);
    void (*formulate)(body_state *state, const body_step *step, double *blocks, double *b);
    bool (*integrate)(body_state *state, const body_step *step, const double *v); /* false: not finite, or too far */
    /* The unknowns are moved on by dq, m, without a change of velocities; false: not finite. */
    bool (*displace)(body_state *state, const double *dq);
    void (*publish)(body_state *state, const body_step *step);
    /* Whether all that is kept, what was published included, are numbers, and places within BODY_FARTHEST. */
    bool (*is_finite)(const body_state *state);
    void (*rest)(body_state *state);                      /* all velocities to zero: the last resort */
    int (*inverted)(const body_state *state);             /* inverted elements that formulate met */
    void (*velocity)(const body_state *state, double *v); /* of the unknowns at the beginning of the step */
    void (*change)(const body_state *state, double *v);   /* of these velocities in the step before */

    /* What can be read between steps: the surface's vertices in the world, and energies (each may be NULL), J. */
    void (*place_surface)(const body_state *state, double *positions);
    void (*energy)(const body_state *state, vec3 gravity, double *kinetic, double *elastic, double *potential);

    /* Whether a body of this kind has limits, and how to treat them. */
    bool (*limited)(const body_model *body);
    const body_limits *limits;
};

#endif
