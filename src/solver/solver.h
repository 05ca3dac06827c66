/* Handles and tools solved apart (garre2009, section 5.2): both stay what they are, and meet in a Schur complement.
 *
 *   [ H_t   H_th ] [ x_t ]   [ r_t ]        S = H_h - H_ht Z,   Z = H_t^-1 H_th,
 *   [ H_ht  H_h  ] [ x_h ] = [ r_h ]        x_h = S^-1 (r_h - H_ht y),   y = H_t^-1 r_t,   x_t = y - Z x_h
 *
 * (Eqs. 12 and 13). The tool, with all that it touches, is the leading part of the system: a matrix that can be solved,
 * by its own factor or by the paper's conjugate gradients; handles are six rows each. What the paper solves last, Eq.
 * 12 with x_h known, is Z again. The default is to solve all as one matrix with the handles eliminated last, which is
 * the same arithmetic in another order; this is there to compare with, and for tools that are solved elsewhere. */
#ifndef SOLVER_SOLVER_H
#define SOLVER_SOLVER_H

#include "body/body.h"
#include "contact/patch.h"
#include "core/shared.h"
#include "core/memory.h"
#include "core/threads.h"
#include "sparse/cholesky.h"

#include <stdbool.h>

/* The first is the default. */
typedef enum coupling_method { COUPLING_MONOLITHIC, COUPLING_SCHUR, COUPLING_CG, COUPLING_METHODS } coupling_method;
extern const char *const coupling_method_names[COUPLING_METHODS] SHARED(coupling_method_names);
/* COUPLING_METHODS if there is none of that name. */
coupling_method coupling_method_find(const char *name);

/* What the pattern says; immutable. */
typedef struct coupled_model {
    int tool_nodes, handle_nodes; /* the last ones are the handles' */
    block_pattern pattern;        /* of H_t */
    int *source;                  /* a block of it: the block of the whole matrix */
    cholesky_plan *plan;
} coupled_model;

/* tool_last: nodes of the tool that are eliminated last, in their order. */
thenar_status coupled_model_create(const block_pattern *whole, int handle_nodes, int tool_last, coupled_model *out,
                                   thenar_error *error);
void coupled_model_free(coupled_model *model);

typedef struct coupled_state {
    const coupled_model *model;
    const block_pattern *whole;
    coupling_method method;
    const double *blocks;      /* the matrix that was factored last */
    double *tool;              /* H_t, 9 a block */
    double *diagonal;          /* conjugate gradients: inverses of the diagonal blocks, 9 a node */
    cholesky_factor factor;    /* the direct way: of H_t */
    double *Z;                 /* 3 tool_nodes for each of the 3 handle_nodes columns */
    double *S;                 /* its Cholesky factor, below the diagonal */
    double *y, *r, *z, *p, *q; /* 3 tool_nodes each */
    double *x_h;               /* 3 handle_nodes */
    int iterations;            /* of conjugate gradients, since the layout */
} coupled_state;

void coupled_layout(coupled_state *state, const coupled_model *model, const block_pattern *whole,
                    coupling_method method, arena *work);
/* Takes a matrix apart, Z and S with it. It must stay until the last solve. False: not positive definite. */
bool coupled_factor(coupled_state *state, const double *blocks, workers *pool);
/* x = H^-1 x, 3 numbers a node of the whole. */
void coupled_solve(coupled_state *state, double *x);

/* What a solver is given: the equations of one system, and the bodies with their limits.
 *
 *   minimize  1/2 (v - v*)^T A (v - v*)  subject to  C(x0 + h v) >= 0        (perez2016, Eq. 1)
 *
 * A v* = b is the free motion. Every solver leaves the velocities in v and says how it went in solver_report. */

/* Stopping rule that all solvers share. */
typedef struct solver_tolerances {
    double violation;    /* largest violation of a strain limit; with multipliers |G - P(G + Y)|, which bounds it */
    double stationarity; /* of |A (x - x*)| that the gradient of the Lagrangian may have, where there are multipliers */
    double length; /* of a contact that gives way or slips where it must not, m a second of time step: m = it times h */
    double force;  /* by which contact forces may still change, of their mean */
    double balance; /* of its weight that a rigid body may be out of balance by */
} solver_tolerances;

#define SOLVER_TOLERANCES                                                                                              \
    ((solver_tolerances){.violation = 1e-3, .stationarity = 0.02, .length = 2e-4, .force = 0.02, .balance = 0.01})

/* The section of Coulomb's cone that solvers on rows take; newton always takes the cone. */
typedef enum solver_friction {
    FRICTION_PYRAMID, /* |f_t1| <= mu f_n and |f_t2| <= mu f_n (perez2013: "a four-sided pyramid"): it holds the cone,
                         and along its edges friction is sqrt 2 times too strong */
    FRICTION_CONE,    /* |f_t| <= mu f_n */
    FRICTION_PRINTED /* of patches, the admissible sets as talvas2015 prints them, otherwise the nearest point of the exact
                         one; of contact points the pyramid */
} solver_friction;

/* For those who watch a solver converge. */
typedef struct solver_trace {
    /* After so many iterations the largest violation is `residual`; linearized: of the linearized limits. */
    void (*point)(void *context, int iterations, bool linearized, double residual);
    void *context;
} solver_trace;

typedef struct soft_coupling soft_coupling;

typedef struct solver_problem {
    const block_pattern *pattern;
    const double *A;           /* 9 per block */
    const contact_link *links; /* what belongs to A besides, each with h^2 */
    int link_count;
    const double *b;         /* 3 per node, kg m/s */
    double *v;               /* 3 per node, m/s; in: free motion, if it was solved; out: the solution */
    bool continues;          /* v is the solution with other springs in A and b, in this step: start there */
    cholesky_factor *factor; /* of A, if it was factored; a solver may overwrite it */
    coupled_state *coupled;  /* where handles are solved apart from their tools, newton only; else NULL */
    int body_count;
    body_state *const *bodies;
    const int *first_node; /* of each body's unknowns */
    contact *contacts;     /* of this step */
    int contact_count;
    int max_contacts;             /* that there ever are */
    soft_coupling *soft_coupling; /* NULL if none of them ever crosses: contact.h */
    patch *patches;               /* of this step, instead of contacts, where these are aggregated */
    int patch_count;
    int max_patches; /* that there ever are; 0: contacts are not aggregated */
    int patch_rows;  /* PATCH_ROWS, or PATCH_ROWS_PRINTED */
    bool
        uncondensed; /* newton takes contacts by their multipliers alone (condense.h): to compare with solves that must */
    solver_friction friction;
    const body_step *step;
    solver_tolerances tolerance;
    const solver_trace *trace; /* or NULL */
} solver_problem;

typedef struct solver_report {
    bool converged;
    int iterations;
    int active;      /* limits that push; of solvers that work on rows, the most that did in one iteration */
    double residual; /* largest violation of a limit, as a strain, or a bound on it */
    int rows;        /* one-dimensional constraints that it looked at; of solvers on rows, the most in an iteration */
} solver_report;

/* Factors a matrix of the problem's pattern, which must stay for the solves; false if it is not positive definite. */
static inline bool solver_factor(const solver_problem *problem, const double *blocks) {
    return problem->coupled ? coupled_factor(problem->coupled, blocks, problem->step->pool)
                            : cholesky_factorize(problem->factor, blocks, problem->step->pool) == CHOLESKY_DONE;
}

/* x = (that matrix)^-1 x */
static inline void solver_solve(const solver_problem *problem, double *x) {
    if (problem->coupled)
        coupled_solve(problem->coupled, x);
    else
        cholesky_solve(problem->factor, x);
}

/* How many iterations a solve may take that allows itself `own`. */
static inline int solver_max(const solver_problem *problem, int own) {
    int max = problem->step->max_iterations;
    return max > 0 && max < own ? max : own;
}

static inline void solver_tell(const solver_problem *problem, int iterations, bool linearized, double residual) {
    if (problem->trace) problem->trace->point(problem->trace->context, iterations, linearized, residual);
}

/* What body k can do about its limits, or NULL if it has none. */
static inline const body_limits *solver_limits(const solver_problem *problem, int k) {
    const body_model *model = problem->bodies[k]->model;
    return model->kind->limited(model) ? model->kind->limits : NULL;
}

/* Each body with limits: its index and what it can do. */
#define EACH_LIMITED(problem, k, limits)                                                                               \
    for (int k = 0; k < (problem)->body_count; k++)                                                                    \
        for (const body_limits *limits = solver_limits(problem, k); limits; limits = NULL)

/* A solver behind one small interface; `--solver NAME` chooses it. One file each; the table is in solver.c. */

#define SOLVER_STATE_LARGEST 1024 /* bytes: a state holds pointers and a few numbers */

typedef struct solver_class {
    const char *name;
    const char *summary; /* one line for --help */
    size_t state_size;   /* of the solver's own struct, at most SOLVER_STATE_LARGEST */
    bool takes_links;    /* of the problem; one that knows A by its factor alone never ends well with them */
    int hurried; /* iterations that leave the next step a good start, where time is short; 0: it must not be cut short */
    /* Takes the arrays of a state from the arena, which may be measuring (base/arena.h). problem: pattern, bodies,
     * first_node and the factor's plan are set, the rest is not. Nothing is allocated later. */
    void (*layout)(void *state, const solver_problem *problem, arena *work);
    /* Whether A must be factored and v be the free motion before solve is called; NULL: always. */
    bool (*needs_free_motion)(const solver_problem *problem);
    /* False if the step cannot be done (a factorization failed); otherwise v and the report are set. */
    bool (*solve)(void *state, const solver_problem *problem, solver_report *report);
} solver_class;

/* The default is the first. */
extern const solver_class *const solver_table[];
extern const int solver_count;

/* H d = g where contacts between soft bodies, or of one with itself, couple nodes that the pattern of H does not.
 *
 *   H = M + sum_c C_c,   M = A + limits + sum_c (J_a^T W J_a + J_b^T W J_b),   C_c = J_a^T W J_b + J_b^T W J_a
 *
 * with J_a and J_b the two sides of a contact: M has the pattern, is positive definite and is factored; C is the rest.
 * Blocks for all nodes that may ever meet would make the matrix of a hand dense. Conjugate gradients on H with the
 * preconditioner M^-1 + T (T^T H T)^-1 T^T, where the columns of T move each body as a whole: in M both bodies of a
 * contact are held where they are, so that their way together is what M knows least of. A body that touches only itself
 * does without T: then M times a direction follows from the residuals, and no product with the matrix is needed. At the
 * end the residual is freed of T, so that momentum is kept to rounding, however early the iteration ends. */

#define COARSE_BODIES_MAX 16 /* of an island that T moves, the first so many */

struct soft_coupling {
    int count;           /* contacts that push and cross */
    contact_link *links; /* max_contacts: these, with their W */
    int *body;           /* a node: which of the bodies it belongs to, -1 for those of rigid and further ones */
    int whole;           /* bodies that T moves */
    double *coarse;      /* 3 whole x 3 whole: T^T H T, then its Cholesky factor, below the diagonal */
    /* 3 per node */
    double *residual, *solved, *direction, *product, *factored; /* the last: M direction */
};

/* problem: pattern, bodies, first_node and max_contacts are set. */
void soft_coupling_layout(soft_coupling *state, const solver_problem *problem, arena *work);

/* y = A x, with the links. */
void soft_coupling_multiply(const solver_problem *problem, const double *x, double *y);

/* How exactly an x is wanted: until what is left of it is a share of |x|, or as little as `trace`, or after so many
 * iterations. */
typedef struct soft_coupling_end {
    double share, trace;
    int max;
} soft_coupling_end;

/* x = H^-1 x, with the links of A and the contacts that push where they were looked at last; blocks: M, of which the
 * problem's factor is. Where nothing crosses, by that factor alone. Returns the iterations that were needed. */
int soft_coupling_solve(const solver_problem *problem, const double *blocks, soft_coupling_end end, double *x);

/* Patches (contact/patch.h) condensed on a factored matrix H: what their forces do to each other,
 *
 *   u = u_free + h^2 W lambda,   W = J H^-1 J^T
 *
 * with u their gaps, ways and angles at the end of the step. A few rows a patch, however many points and nodes it has, so W
 * is small and dense. See patch_forces.c. */

typedef struct patch_forces {
    int rows;               /* of a patch: as the problem has them, or 1 for the gaps alone */
    int stride;             /* of W */
    double *W;              /* row after row, 1/kg and so on */
    double *u;              /* a row */
    double *push;           /* a patch, of patch_forces_stabilize */
    patch_response *own;    /* a patch: what its block of h^2 W does */
    compliance_row *sparse; /* a row: the patch's gradient */
    row_compliance products;
    int sweeps; /* of the last solve */
} patch_forces;

void patch_forces_layout(patch_forces *state, const solver_problem *problem, int rows, arena *work);

/* W of the problem's patches and the matrix that its factor is of. */
void patch_forces_assemble(patch_forces *state, const solver_problem *problem);

/* The forces of the patches where all obey their law together; patches' u: where they end without forces. Leaves u where they
 * end with them. */
void patch_forces_solve(patch_forces *state, const solver_problem *problem);

/* How far the patches, where they were looked at last, are from their law: W is there. */
contact_measures patch_forces_measure(const patch_forces *state, const solver_problem *problem);

/* Position stabilization (talvas2015, Algorithm 1 and Eqs. 5, 6 and 10): the smallest displacement, in the norm of the factored
 * matrix, that takes patches out of the other body whose velocities are found. rows is 1. dq: 3 per node, m. False if there is
 * nothing to be done. */
bool patch_forces_stabilize(patch_forces *state, const solver_problem *problem, double *dq);

#endif
