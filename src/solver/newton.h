/* The default solver, Newton's method on the augmented Lagrangian (newton.c), and what it shares with the solvers on
 * rows: contacts as rows (contact_rows.c) and the condensed contact problem (condense.c).
 *
 * A contact has one row of non-penetration and two of friction (perez2013, section 4.2). A patch, if contacts are
 * aggregated, has one more of friction that resists twist (talvas2015, section 3.4). Below, "contact" means either. */
#ifndef SOLVER_NEWTON_H
#define SOLVER_NEWTON_H

#include "contact/constraint.h"
#include "core/memory.h"
#include "solver/solver.h"

#include <stdbool.h>

#define CONTACT_ROWS 3 /* per contact point: the gap, two tangents */
#define CONTACT_TAIL (CONTACT_LEGS - ROW_NODES)
#define MAX_CONTACT_ROWS PATCH_ROWS

/* The contacts of a solve, in the order in which they were added: those that it starts from (rows_begin), and those
 * that were violated since. */
typedef struct row_contacts {
    int each; /* rows of a contact */
    int count;
    int max;     /* capacity */
    bool all;    /* includes those that are not violated */
    int *index;  /* of the problem's contacts or patches */
    bool *taken; /* per contact or patch: it is included */
    /* one per row: */
    row_tail *tail;
    int *tail_node;      /* CONTACT_TAIL */
    vec3 *tail_gradient; /* CONTACT_TAIL */
    double *lambda;      /* impulse, kg m/s; always admissible (contact_rows_project) */
    double error;        /* m: the largest remaining error, also of contacts beyond the capacity */
    double square;       /* m^2: sum of the squared errors */
} row_contacts;

/* Whether patches replace contact points. */
static inline bool contact_rows_aggregated(const solver_problem *problem) {
    return problem->max_patches > 0;
}

/* Rows per contact, their number, and their maximum. */
static inline int contact_rows_each(const solver_problem *problem) {
    return contact_rows_aggregated(problem) ? problem->patch_rows : CONTACT_ROWS;
}

static inline int contact_rows_count(const solver_problem *problem) {
    return contact_rows_aggregated(problem) ? problem->patch_count : problem->contact_count;
}

static inline int contact_rows_max(const solver_problem *problem) {
    return contact_rows_aggregated(problem) ? problem->max_patches : problem->max_contacts;
}

static inline double contact_rows_mu(const solver_problem *problem, int index) {
    return contact_rows_aggregated(problem) ? problem->patches[index].mu : problem->contacts[index].mu;
}

void contact_rows_layout(row_contacts *contacts, const solver_problem *problem, int max, arena *work);

/* The three rows of a contact point. node, gradient: room for CONTACT_TAIL per row. */
void contact_rows_of_point(const contact *c, int index, constraint_row rows[CONTACT_ROWS], row_tail tails[CONTACT_ROWS],
                           int *node, vec3 *gradient);

/* The rows of the i-th contact of the solve. */
void contact_rows_make(row_contacts *contacts, const solver_problem *problem, int i, constraint_row *rows);

/* The initial force of a contact, N, N m. */
void contact_rows_start(const solver_problem *problem, int index, double lambda[MAX_CONTACT_ROWS]);

/* Gap, slides and angle of the last evaluation. Returns the gap. */
double contact_rows_values(const solver_problem *problem, int index, double u[MAX_CONTACT_ROWS]);

/* Projects the friction of a contact and the torques of a patch's pressure, lambda[1] and on, on what the normal
 * impulse allows, in the norm of D, the motion of each row per unit of impulse. True if friction was admissible. */
bool contact_rows_confine(const solver_problem *problem, int index, double normal, const double D[MAX_CONTACT_ROWS],
                          double lambda[MAX_CONTACT_ROWS]);

/* Projects lambda on the pyramid, the cone or the set of the patch: the normal first, then what it allows. */
void contact_rows_project(const solver_problem *problem, int index, double lambda[MAX_CONTACT_ROWS]);

/* The error of a contact with respect to w_n >= 0, lambda_n >= 0, complementarity, and friction that sticks or
 * opposes the slip: the distance, m, that it would move if lambda_k - w_k / D_k were projected alone. w: C / h, m/s,
 * rad/s. */
double contact_rows_error(const solver_problem *problem, int index, const double lambda[MAX_CONTACT_ROWS],
                          const double w[MAX_CONTACT_ROWS], const double D[MAX_CONTACT_ROWS]);

/* The end of a solve, with the contacts evaluated at the solution: sets the force and the state of each. diagonal: D
 * of their rows. */
void contact_rows_end(const row_contacts *contacts, const solver_problem *problem, const double *diagonal);

/* Contact with Coulomb friction of a few points that interact:
 *
 *   u = q + W f,   f_i in K_i = { |f_t| <= mu f_n },   u_n >= 0,   f_n u_n = 0,   u_t = 0 or f_t = -mu f_n u_t / |u_t|
 *
 * for each of them, with W symmetric and positive definite. See condense.c. */

/* Three rows and columns per contact: normal, two tangents. */
typedef struct cone_problem {
    int count;     /* contacts */
    int max;       /* capacity */
    int stride;    /* of W: a multiple of eight */
    double *W;     /* m/N, row-major */
    double *q;     /* m: u without forces */
    double *mu;    /* per contact */
    vec3 *force;   /* per contact, N; in: initial guess */
    vec3 *u;       /* per contact, m; out */
    double *slope; /* derivative of the residual, as W */
    double *step;  /* per row: residual, then Newton step */
} cone_problem;

void cone_problem_layout(cone_problem *problem, int max, arena *work);

/* False if it does not converge, or W is singular; then force and u are undefined. */
bool cone_problem_solve(cone_problem *problem);

/* Newton's direction with few active contacts: these are not terms of the Hessian but are solved exactly, with
 * friction, against the remaining linear equations.
 *
 *   H d = h^2 J^T f - g,   H = A + limits, factored,   u = u0 + J d = q + W f,   W = h^2 J H^-1 J^T
 *
 * g is the gradient without contacts. W and q are small and dense. cone_problem_solve finds the forces f, which
 * become the multipliers of the contacts, and d follows. With contacts as terms of the augmented Lagrangian alone, a
 * multiplier step leaves k / (k + rho) of their error, where k is the stiffness of the bodies there: nearly all of
 * it at active limits. And one direction changes only few contacts from stick to slip or open, while here all of
 * them converge at once.
 *
 * d is a descent direction of the augmented Lagrangian with the new multipliers. The derivative along d is -d^T H d
 * + h^2 (f - P) . J d, and J d takes u to where P = f. As -P is the gradient of the terms of the contacts, which are
 * convex in u, the second part is not positive. */

/* The cost of W grows with the square, of its elimination with the cube of their number. With room for 64, two-hands,
 * grip-strong and hand-phalanges take the same number of iterations. */
#define CONDENSE_MAX 24
#define CONDENSE_PIECES 3 /* parts for threads */

/* Eight rows of contacts. */
typedef struct condense_group {
    double *half;          /* 24 per node: L^-1 P J^T of each row, in elimination order */
    cholesky_range *reach; /* its nonzero ranges */
    int range_count;
} condense_group;

typedef struct condense {
    cone_problem small;
    int *index;           /* index in the problem of each contact of the small problem */
    constraint_row *rows; /* three per contact */
    row_tail *tails;
    int *tail_node; /* CONTACT_TAIL per row */
    vec3 *tail_gradient;
    condense_group *groups;
    cholesky_factor *views; /* per part */
    double *right;          /* 3 per node: h^2 J^T f - g */
    double *start;          /* 3 per node: L^-1 P (-g) */
} condense;

void condense_layout(condense *state, const solver_problem *problem, arena *work);

/* Collects the contacts that are active or have a multiplier. Returns how many there are; 0 if they are too many. */
int condense_collect(condense *state, const solver_problem *problem);

/* The direction, with the problem's factor being of H and `gradient` that of the augmented Lagrangian. Sets the
 * multipliers of the collected contacts without evaluating them again. False, and nothing changes, if their forces
 * are not found or exceed their maximum. */
bool condense_solve(condense *state, const solver_problem *problem, const double *gradient, double *direction);

/* The augmented Lagrangian of a problem,
 *
 *   Phi(d) = 1/2 d^T A d - h b^T d + h^2 (rho sum of the limits' terms + sum of the contacts' terms),   d = x - x0,
 *
 * with the limits of the bodies (body/body.h) and the contacts (contact/constraint.h). Patches (contact/patch.h)
 * have no penalty term: their forces, from patch_forces_solve, do the work -h^2 lambda^T u. rho is in units of the
 * Young's modulus of each tet; contacts have penalties of their own. */

typedef struct lagrangian_measures {
    body_limit_measures limits;
    contact_measures contacts;
    double size;    /* |A (x - x*)| */
    double slope;   /* |gradient| */
    double balance; /* largest unbalanced force on a rigid body over its weight on earth; torques likewise */
} lagrangian_measures;

/* The penalty rho in units of the Young's modulus of each tet. The multipliers of limits are stored in these units
 * between steps. */
#define NEWTON_RHO 500.0

extern const solver_class newton_solver;

#endif
