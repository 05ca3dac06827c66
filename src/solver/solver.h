/* The interface of solvers, and what they share: the problem of one linear system, the Schur complement of handles,
 * the coupling of soft bodies, and the forces of patches. The end has the linear systems of a model. */
#ifndef SOLVER_SOLVER_H
#define SOLVER_SOLVER_H

#include "body/body.h"
#include "contact/contact.h"
#include "core/memory.h"
#include "core/shared.h"
#include "core/threads.h"
#include "sparse/cholesky.h"
#include "sparse/reduction.h"

#include <stdbool.h>

/* Handles solved apart from their tool (coupled.c). */

/* The first is the default. */
typedef enum coupling_method { COUPLING_MONOLITHIC, COUPLING_SCHUR, COUPLING_CG, COUPLING_METHODS } coupling_method;
extern const char *const coupling_method_names[COUPLING_METHODS] SHARED(coupling_method_names);

/* The constant part. */
typedef struct coupled_model {
    int tool_nodes, handle_nodes; /* the nodes of the handles come last */
    block_pattern pattern;        /* of H_t */
    int *source;                  /* the block of the whole matrix for each of its blocks */
    cholesky_plan *plan;
} coupled_model;

/* tool_last: how many nodes of the tool are eliminated last, in their order. */
thenar_status coupled_model_create(const block_pattern *whole, int handle_nodes, int tool_last, coupled_model *out,
                                   thenar_error *error);
void coupled_model_free(coupled_model *model);

typedef struct coupled_state {
    const coupled_model *model;
    const block_pattern *whole;
    coupling_method method;
    const double *blocks;      /* of the last factored matrix */
    double *tool;              /* H_t, 9 per block */
    double *diagonal;          /* for conjugate gradients: inverses of the diagonal blocks, 9 per node */
    cholesky_factor factor;    /* of H_t, for the direct method */
    double *Z;                 /* 3 tool_nodes for each of the 3 handle_nodes columns */
    double *S;                 /* its Cholesky factor, below the diagonal */
    double *y, *r, *z, *p, *q; /* 3 tool_nodes each */
    double *x_h;               /* 3 handle_nodes */
    int iterations;            /* of conjugate gradients, since the layout */
} coupled_state;

void coupled_layout(coupled_state *state, const coupled_model *model, const block_pattern *whole,
                    coupling_method method, arena *work);
/* Splits a matrix and computes Z and S. The matrix must stay until the last solve. False: not positive definite. */
bool coupled_factor(coupled_state *state, const double *blocks, workers *pool);
/* x = H^-1 x, 3 numbers per node of the whole matrix. */
void coupled_solve(coupled_state *state, double *x);

/* The problem of a solver: the equations of one system, and the bodies with their limits.
 *
 *   minimize  1/2 (v - v*)^T A (v - v*)  subject to  C(x0 + h v) >= 0        (perez2016, Eq. 1)
 *
 * A v* = b is the free motion. Every solver returns the velocities in v and its statistics in solver_report. */

/* Tolerances, the same for all solvers. */
typedef struct solver_tolerances {
    double violation;    /* largest violation of a strain limit; with multipliers |G - P(G + Y)|, which bounds it */
    double stationarity; /* |gradient of the Lagrangian| over |A (x - x*)|, for solvers with multipliers */
    double length;       /* error of a contact in m per second of time step: the tolerance in m is this times h */
    double force;        /* change of contact forces, over their mean */
    double balance;      /* unbalanced force on a rigid body, over its weight */
} solver_tolerances;

#define SOLVER_TOLERANCES                                                                                              \
    ((solver_tolerances){.violation = 1e-3, .stationarity = 0.02, .length = 2e-4, .force = 0.02, .balance = 0.01})

/* Friction of the solvers that work on rows; newton always uses the cone. */
typedef enum solver_friction {
    /* |f_t1| <= mu f_n and |f_t2| <= mu f_n (perez2013: "a four-sided pyramid"). It contains the cone, and along its
     * edges friction is sqrt 2 times too strong. */
    FRICTION_PYRAMID,
    /* |f_t| <= mu f_n */
    FRICTION_CONE,
    /* For patches, the admissible sets as talvas2015 prints them instead of the exact set; for contact points the
     * pyramid. */
    FRICTION_PRINTED
} solver_friction;

/* A callback for convergence plots. */
typedef struct solver_trace {
    /* Called after each iteration with the largest violation; linearized: of the linearized limits. */
    void (*point)(void *context, int iterations, bool linearized, double residual);
    void *context;
} solver_trace;

typedef struct soft_coupling soft_coupling;

typedef struct solver_problem {
    const block_pattern *pattern;
    const double *A;           /* 9 per block */
    const contact_link *links; /* further terms of A, each times h^2 */
    int link_count;
    const double *b; /* 3 per node, kg m/s */
    double *v;       /* 3 per node, m/s; in: the free motion, if it was computed; out: the solution */
    bool continues;  /* v is the solution of the last pass of this step, with other spring contacts: start there */
    cholesky_factor *factor; /* of A, if it was factored; solvers may overwrite it */
    coupled_state *coupled;  /* if handles are solved separately (newton only), else NULL */
    reduction *reduction;    /* if some nodes depend on others, as flesh in a bone (newton only), else NULL */
    int body_count;
    body_state *const *bodies;
    const int *first_node; /* of each body */
    contact *contacts;     /* of this step */
    int contact_count;
    int max_contacts;             /* capacity */
    soft_coupling *soft_coupling; /* NULL if no two soft bodies may touch */
    patch *patches;               /* of this step, instead of contacts, if these are aggregated */
    int patch_count;
    int max_patches;  /* capacity; 0: contacts are not aggregated */
    int patch_rows;   /* PATCH_ROWS, or PATCH_ROWS_PRINTED */
    bool uncondensed; /* newton treats contacts by their multipliers alone (condense.c), for comparison */
    solver_friction friction;
    const body_step *step;
    solver_tolerances tolerance;
    const solver_trace *trace; /* or NULL */
} solver_problem;

typedef struct solver_report {
    bool converged;
    int iterations;
    int active;      /* active limits; for solvers on rows, the maximum of all iterations */
    double residual; /* largest violation of a limit, as a strain, or a bound of it */
    int rows;        /* scalar constraints; for solvers on rows, the maximum of all iterations */
} solver_report;

/* Factors a matrix of the problem's pattern, which must stay until the last solve; false if it is not positive
 * definite. With dependent nodes it is the reduced matrix that is factored: vectors for the factor are folded. */
static inline bool solver_factor(const solver_problem *problem, const double *blocks) {
    if (problem->reduction) {
        reduction_matrix(problem->reduction, blocks, problem->step->pool);
        blocks = problem->reduction->blocks;
    }
    return problem->coupled ? coupled_factor(problem->coupled, blocks, problem->step->pool)
                            : cholesky_factorize(problem->factor, blocks, problem->step->pool) == CHOLESKY_DONE;
}

/* Forces on dependent nodes become forces on their carriers; dependent nodes follow their carriers. */
static inline void solver_fold(const solver_problem *problem, double *x) {
    if (problem->reduction) reduction_fold(problem->reduction, x);
}
static inline void solver_expand(const solver_problem *problem, double *x) {
    if (problem->reduction) reduction_expand(problem->reduction, x);
}

/* x = (factored matrix)^-1 x, among the motions in which dependent nodes follow their carriers. */
static inline void solver_solve(const solver_problem *problem, double *x) {
    solver_fold(problem, x);
    if (problem->coupled)
        coupled_solve(problem->coupled, x);
    else
        cholesky_solve(problem->factor, x);
    solver_expand(problem, x);
}

/* The maximum number of iterations of a solve whose own maximum is `own`. */
static inline int solver_max_iterations(const solver_problem *problem, int own) {
    int max = problem->step->max_iterations;
    return max > 0 && max < own ? max : own;
}

static inline void solver_trace_point(const solver_problem *problem, int iterations, bool linearized, double residual) {
    if (problem->trace) problem->trace->point(problem->trace->context, iterations, linearized, residual);
}

/* The limits of body k, or NULL if it has none. */
static inline const body_limits *solver_limits(const solver_problem *problem, int k) {
    const body_model *model = problem->bodies[k]->model;
    return model->limited ? model->kind->limits : NULL;
}

/* Iterates over the bodies with limits. */
#define EACH_LIMITED(problem, k, limits)                                                                               \
    for (int k = 0; k < (problem)->body_count; k++)                                                                    \
        for (const body_limits *limits = solver_limits(problem, k); limits; limits = NULL)

/* A solver; `--solver NAME` selects it. Each has its own file; the table is in system.c. */

#define SOLVER_STATE_LARGEST 1024 /* bytes: a state holds pointers and a few numbers */

typedef struct solver_class {
    const char *name;
    const char *summary; /* one line for --help */
    size_t state_size;   /* of the solver's own struct, at most SOLVER_STATE_LARGEST */
    bool takes_links;    /* supports links; solvers that use A by its factor alone cannot converge with them */
    int hurried; /* maximum iterations when time is short, enough for a good start of the next step; 0: no reduction */
    /* Takes the arrays of a state from the arena, which may be measuring (core/memory.h). In the problem, only the
     * pattern, the bodies, first_node and the plan of the factor are set. Nothing is allocated later. */
    void (*layout)(void *state, const solver_problem *problem, arena *work);
    /* Whether solve needs the factor of A and the free motion in v; NULL: always. */
    bool (*needs_free_motion)(const solver_problem *problem);
    /* False if the step failed (a factorization did); otherwise v and the report are set. */
    bool (*solve)(void *state, const solver_problem *problem, solver_report *report);
} solver_class;

/* The default is the first. */
extern const solver_class *const solver_table[];
extern const int solver_count;

/* Contact between soft bodies, or of one with itself: H d = g where contacts couple nodes that the pattern of H does
 * not.
 *
 *   H = M + sum_c C_c,   M = A + limits + sum_c (J_a^T W J_a + J_b^T W J_b),   C_c = J_a^T W J_b + J_b^T W J_a
 *
 * with J_a and J_b the two sides of a contact. M has the pattern, is positive definite and is factored; C is the
 * rest. Blocks for all nodes that may ever meet would make the matrix of a hand dense. The solver is conjugate
 * gradients on H with the two-level preconditioner M^-1 + T (T^T H T)^-1 T^T, where the columns of T translate whole
 * bodies: M holds both bodies of a contact in place, so it is worst for their common motion. A body that touches
 * only itself needs no T; then M times a direction follows from the residuals, without a product with the matrix. At
 * the end the residual is made orthogonal to T, so that momentum is conserved to rounding however early the
 * iteration stops. */

#define COARSE_BODIES_MAX 16 /* maximum number of bodies in T, the first of an island */

struct soft_coupling {
    int count;           /* active contacts between soft sides */
    contact_link *links; /* max_contacts */
    int *body;           /* body of each node, -1 for nodes of rigid bodies and beyond COARSE_BODIES_MAX */
    int whole;           /* number of bodies in T */
    double *coarse;      /* 3 whole x 3 whole: T^T H T, then its Cholesky factor, below the diagonal */
    /* 3 per node */
    double *residual, *solved, *direction, *product, *factored; /* the last: M direction */
};

/* problem: pattern, bodies, first_node and max_contacts are set. */
void soft_coupling_layout(soft_coupling *state, const solver_problem *problem, arena *work);

/* y = A x, with the links of A. */
void soft_coupling_multiply(const solver_problem *problem, const double *x, double *y);

/* Stopping rule: the residual relative to the right-hand side, its absolute value, and the number of iterations. */
typedef struct soft_coupling_end {
    double share, trace;
    int max;
} soft_coupling_end;

/* x = H^-1 x, with the links of A and the active contacts; blocks: M, which the factor of the problem is of. Without
 * links and such contacts, this is one solve with that factor. Returns the number of iterations. */
int soft_coupling_solve(const solver_problem *problem, const double *blocks, soft_coupling_end end, double *x);

/* Patches (contact/patch.h) condensed on a factored matrix H: the response of their rows to their forces,
 *
 *   u = u_free + h^2 W lambda,   W = J H^-1 J^T
 *
 * with u their gaps, slides and angles at the end of the step. A patch has a few rows, however many points and nodes
 * it has, so W is small and dense. See patch_forces.c. */

typedef struct patch_forces {
    int rows;               /* per patch: those of the problem, or 1 for the gaps alone */
    int stride;             /* of W */
    double *W;              /* row-major, 1/kg and so on */
    double *u;              /* per row */
    double *push;           /* per patch, of patch_forces_stabilize */
    patch_response *own;    /* per patch: its block of h^2 W */
    compliance_row *sparse; /* per row: the gradient of the patch */
    row_compliance products;
    int sweeps; /* of the last solve */
} patch_forces;

void patch_forces_layout(patch_forces *state, const solver_problem *problem, int rows, arena *work);

/* Computes W of the problem's patches with the problem's factor. */
void patch_forces_assemble(patch_forces *state, const solver_problem *problem);

/* Finds the forces of all patches that obey their laws together. patches' u: in, without forces; out, with them. */
void patch_forces_solve(patch_forces *state, const solver_problem *problem);

/* Residuals of the laws of all patches at their last evaluation, with the current W. */
contact_measures patch_forces_measure(const patch_forces *state, const solver_problem *problem);

/* Position stabilization (talvas2015, Algorithm 1 and Eqs. 5, 6 and 10): the smallest displacement, in the norm of
 * the factored matrix, that moves patches out of the other body after the velocity solve. rows is 1. dq: 3 per node,
 * m. False if none is needed. */
bool patch_forces_stabilize(patch_forces *state, const solver_problem *problem, double *dq);

/* The linear system A v = b of one body, or of an island of bodies that may touch.
 *
 * Bodies contribute nodes and blocks (body/body.h); the system owns the pattern, the ordering and the factor. */

typedef struct system_model {
    int body_count;
    int *bodies;     /* indices in the model */
    int *first_node; /* of each body */
    block_pattern pattern;
    reduction_model reduction; /* of the nodes that move with bones, if there are any */
    cholesky_plan *plan;       /* NULL if nothing can move */
    int handle_nodes;          /* of the handles, which come last */
    coupled_model coupled;     /* Schur complement of the handles, if there are any */
    bool limited;              /* some body has limits and can move */
    int max_contacts;          /* capacity; 0: its bodies touch nothing */
    bool couples_soft;         /* some contacts may be between soft bodies, or of one with itself */
} system_model;

typedef struct system_state {
    body_state *const *bodies; /* the states of its bodies, in its order */
    double *blocks;            /* 9 per block of the pattern: A */
    double *b;                 /* 3 per node, kg m/s */
    double *v;                 /* 3 per node, m/s */
    double *product;           /* 3 per node: A v, for the residual */
    reduction reduction;       /* without a model if no node depends on others */
    double *untouched_blocks;  /* A and b without spring contacts; NULL if nothing may touch */
    double *untouched_b;
    contact_link *links; /* max_contacts: of spring contacts between soft bodies */
    int link_count;
    soft_coupling soft_coupling;
    cholesky_factor factor;
    coupled_state coupled; /* if handles are solved separately; else without a model */
    void *solver;          /* state of the solver, if the system is constrained */
    contact *contacts;     /* of this step */
    int contact_count;
    patch *patches; /* of this step, if contacts are aggregated; then the solver gets these and no contacts */
    int patch_count, max_patches, patch_rows;
    patch_forces stabilizer;
    double *displacement; /* 3 per node, m: position stabilization of patches, if is_displaced */
    bool is_displaced;
    bool is_due;          /* must be solved in this pass of the step */
    bool continues;       /* was solved in the last pass, with other spring contacts */
    solver_report report; /* of its last solve */
    solver_tolerances tolerance;
    solver_friction friction;
    bool uncondensed;          /* see solver_problem */
    const solver_trace *trace; /* or NULL */
} system_state;

/* How a simulation solves its systems. */
typedef struct system_choice {
    const solver_class *solver;
    coupling_method coupling;
    int max_patches; /* of aggregated contacts; 0: contacts are not aggregated */
    int patch_rows;  /* rows per patch */
} system_choice;

/* Creates the system of some bodies of a model, and binds them to their blocks. Takes ownership of `bodies`. */
thenar_status system_create(body_model *const *all_bodies, int *bodies, int body_count, const contact_model *contacts,
                            system_model *out, thenar_error *error);
void system_free(system_model *system);

void system_layout(system_state *state, const system_model *system, const system_choice *choice,
                   body_state *const *bodies, arena *work);

/* Whether the system needs a solver: some body has limits or may touch another. */
static inline bool system_is_constrained(const system_model *system) {
    return system->limited || system->max_contacts > 0;
}

/* The view of the system for solvers. */
solver_problem system_problem(system_state *state, const system_model *system, const body_step *step);

/* The view of the system for its contacts. */
contact_equations system_equations(system_state *state, const system_model *system, const body_step *step);

/* Position stabilization of the patches after the solve: sets the displacement, if one is needed (talvas2015, section
 * 3.2; adaptive patches do without). */
void system_displace_patches(system_state *state, const system_model *system, const body_step *step);

/* A = L L^T; false if A is not positive definite. */
bool system_factor(system_state *state, const system_model *system, workers *pool);

/* v = A^-1 b */
void system_solve(system_state *state, const system_model *system, const body_step *step);

/* |A v - b| / |b|, 0 if b is. */
double system_residual(system_state *state, const system_model *system, const body_step *step);

#endif
