/* What a solver is given: the equations of one system, and the bodies with their limits.
 *
 *   minimize  1/2 (v - v*)^T A (v - v*)  subject to  C(x0 + h v) >= 0        (perez2016, Eq. 1)
 *
 * A v* = b is the free motion. Every solver leaves the velocities in v and says how it went in solver_report. */
#ifndef SOLVER_PROBLEM_H
#define SOLVER_PROBLEM_H

#include "body/body.h"
#include "contact/patch.h"
#include "solver/coupled.h"
#include "sparse/cholesky.h"

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

/* What a contact by springs between soft sides (penalty.h) adds to A where the pattern has no blocks: crossing.h. */
typedef struct solver_link {
    const contact *contact;
    mat3 stiffness; /* W in world axes, N/m */
} solver_link;

typedef struct crossing crossing;

typedef struct solver_problem {
    const block_pattern *pattern;
    const double *A;          /* 9 per block */
    const solver_link *links; /* what belongs to A besides, each with h^2 */
    int link_count;
    const double *b;         /* 3 per node, kg m/s */
    double *v;               /* 3 per node, m/s; in: free motion, if it was solved; out: the solution */
    bool goes_on;            /* v is the solution with other springs in A and b, in this step: start there */
    cholesky_factor *factor; /* of A, if it was factored; a solver may overwrite it */
    coupled_state *coupled;  /* where handles are solved apart from their tools, newton only; else NULL */
    int body_count;
    body_state *const *bodies;
    const int *first_node; /* of each body's unknowns */
    contact *contacts;     /* of this step */
    int contact_count;
    int most_contacts;  /* that there ever are */
    crossing *crossing; /* NULL if none of them ever crosses: contact.h */
    patch *patches;     /* of this step, instead of contacts, where these are aggregated */
    int patch_count;
    int most_patches; /* that there ever are; 0: contacts are not aggregated */
    int patch_rows;   /* PATCH_ROWS, or PATCH_ROWS_PRINTED */
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
static inline int solver_most(const solver_problem *problem, int own) {
    int most = problem->step->most_iterations;
    return most > 0 && most < own ? most : own;
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

#endif
