/* Contacts as rows: one of non-penetration and two of friction each (perez2013, section 4.2); of patches, where contacts are
 * aggregated, one more, of friction that resists twist (talvas2015, section 3.4). Below, a contact is either. See
 * contact_rows.c. */
#ifndef SOLVER_NEWTON_H
#define SOLVER_NEWTON_H

#include "contact/constraint.h"
#include "core/memory.h"
#include "solver/solver.h"

#include <stdbool.h>

#define CONTACT_ROWS 3 /* of a contact point: the gap, two tangents */
#define CONTACT_TAIL (CONTACT_LEGS - ROW_NODES)
#define MAX_CONTACT_ROWS PATCH_ROWS

/* The contacts that take part in a solve, in the order in which they came to: those that it starts from (rows_begin)
 * and those that were violated since. */
typedef struct row_contacts {
    int each; /* rows of a contact */
    int count;
    int max;     /* that there is room for */
    bool all;    /* also those that are not violated take part */
    int *index;  /* of the problem's contacts or patches */
    bool *taken; /* one of these: it takes part */
    /* a row each: */
    row_tail *tail;
    int *tail_node;      /* CONTACT_TAIL */
    vec3 *tail_gradient; /* CONTACT_TAIL */
    double *lambda;      /* impulse, kg m/s: always within the bounds of contact_rows_project */
    double error;        /* m: the largest that is left, of contacts without room too */
    double square;       /* m^2: sum of the squared errors */
} row_contacts;

/* Patches take the place of contact points. */
static inline bool contact_rows_aggregated(const solver_problem *problem) {
    return problem->max_patches > 0;
}

/* Rows of each, how many there are and can be. */
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

/* The three rows of a contact point. node, gradient: room for CONTACT_TAIL a row. */
void contact_rows_of_point(const contact *c, int index, constraint_row rows[CONTACT_ROWS], row_tail tails[CONTACT_ROWS],
                           int *node, vec3 *gradient);

/* The gradients of the rows of the i-th that takes part. */
void contact_rows_make(row_contacts *contacts, const solver_problem *problem, int i, constraint_row *rows);

/* The force that a contact starts from, N, N m. */
void contact_rows_start(const solver_problem *problem, int index, double lambda[MAX_CONTACT_ROWS]);

/* Gap, ways and angle where the contact was looked at last. Returns the gap. */
double contact_rows_values(const solver_problem *problem, int index, double u[MAX_CONTACT_ROWS]);

/* The same for the friction of a contact, and the torques of a patch's pressure: lambda[1] and on go to what the normal
 * impulse allows and is nearest, measured by D, how far a unit of each moves its row. Whether friction was allowed as it
 * was. */
bool contact_rows_confine(const solver_problem *problem, int index, double normal, const double D[MAX_CONTACT_ROWS],
                          double lambda[MAX_CONTACT_ROWS]);

/* lambda goes into the pyramid, the cone or the patch's set: the normal first, then what it allows. */
void contact_rows_project(const solver_problem *problem, int index, double lambda[MAX_CONTACT_ROWS]);

/* How far a contact is from w_n >= 0, lambda_n >= 0, complementary, and from friction that sticks or opposes the slip:
 * the way, m, that it would still go if lambda_k - w_k / D_k were projected alone. w: C / h, m/s, rad/s. */
double contact_rows_error(const solver_problem *problem, int index, const double lambda[MAX_CONTACT_ROWS],
                          const double w[MAX_CONTACT_ROWS], const double D[MAX_CONTACT_ROWS]);

/* The solve ends, with the contacts looked at where it did: each is told its force and how it ended.
 * diagonal: D of their rows. */
void contact_rows_end(const row_contacts *contacts, const solver_problem *problem, const double *diagonal);

/* Contact with Coulomb friction of a few points that act on each other:
 *
 *   u = q + W f,   f_i in K_i = { |f_t| <= mu f_n },   u_n >= 0,   f_n u_n = 0,   u_t = 0 or f_t = -mu f_n u_t / |u_t|
 *
 * for each of them, with W symmetric and positive definite. See cone_problem.c. */

/* Three rows and columns a contact: normal, two tangents. */
typedef struct cone_problem {
    int count;     /* contacts */
    int max;       /* that there is room for */
    int stride;    /* of W: a multiple of eight */
    double *W;     /* m/N, row-major */
    double *q;     /* m: u without forces */
    double *mu;    /* a contact */
    vec3 *force;   /* a contact, N; in: where to start */
    vec3 *u;       /* a contact, m; out */
    double *slope; /* as W: of the residual */
    double *step;  /* a row: Newton's, from the residual */
} cone_problem;

void cone_problem_layout(cone_problem *problem, int max, arena *work);

/* False if it does not come to an end, or W is singular: then forces and u are of no use. */
bool cone_problem_solve(cone_problem *problem);

/* Newton's direction where few contacts push: these are not terms of the Hessian, but are solved exactly, with their
 * friction, against the linear equations that are left.
 *
 *   H d = h^2 J^T f - g,   H = A + limits, factored,   u = u0 + J d = q + W f,   W = h^2 J H^-1 J^T
 *
 * g is the gradient without contacts. W and q are small and dense; cone_problem.h finds the forces f, which become the
 * contacts' multipliers, and d follows. With contacts as terms of the augmented Lagrangian alone, a multipliers' step
 * leaves k / (k + rho) of their error, where k is how stiff the bodies are there: at active limits nearly all of it.
 * And one direction changes only few contacts from stick to slip or open, while here all of them settle in it.
 *
 * d is a direction of descent for the augmented Lagrangian with the new multipliers. The derivative along d is
 * -d^T H d + h^2 (f - P) . J d, and J d takes u to where P = f. As -P is the gradient of the contacts' terms, which are
 * convex in u, the second part is not positive either. */

/* W costs as the square, its elimination as the cube of them. With room for 64, two-hands, grip-strong and
 * hand-phalanges take as many iterations. */
#define CONDENSE_MAX 24
#define CONDENSE_PIECES 3 /* that threads share */

/* Eight rows of contacts. */
typedef struct condense_group {
    double *half;          /* 24 per node: L^-1 P J^T of each row, in elimination order */
    cholesky_range *reach; /* where that is not zero */
    int range_count;
} condense_group;

typedef struct condense {
    cone_problem small;
    int *index;           /* a contact of the small problem: which of the problem's */
    constraint_row *rows; /* three a contact */
    row_tail *tails;
    int *tail_node; /* CONTACT_TAIL a row */
    vec3 *tail_gradient;
    condense_group *groups;
    cholesky_factor *views; /* a piece */
    double *right;          /* 3 per node: h^2 J^T f - g */
    double *start;          /* 3 per node: L^-1 P (-g) */
} condense;

void condense_layout(condense *state, const solver_problem *problem, arena *work);

/* The contacts that push, or did. Returns how many there are; 0 if they are too many. */
int condense_collect(condense *state, const solver_problem *problem);

/* The direction, with the problem's factor being of H and `gradient` that of the augmented Lagrangian. The contacts
 * collected get their multipliers, but are not looked at anew. False, and nothing changes, if their forces are not
 * found, or are larger than they may be. */
bool condense_solve(condense *state, const solver_problem *problem, const double *gradient, double *direction);

/* The augmented Lagrangian of a problem,
 *
 *   Phi(d) = 1/2 d^T A d - h b^T d + h^2 (rho sum of the limits' terms + sum of the contacts' terms),   d = x - x0,
 *
 * put together from the bodies' limits (body/body.h) and the contacts (contact/contact.h), and how far a d is from its
 * optimum. Patches (contact/patch.h) have no term with a penalty: their forces, which solver/patch_forces.h finds, do work on
 * what they move, -h^2 lambda^T u. rho is in units of each tet's Young's modulus; contacts have penalties of their own. */

/* Below: where they were looked at last. */

typedef struct lagrangian_measures {
    body_limit_measures limits;
    contact_measures contacts;
    double size;    /* |A (x - x*)| */
    double slope;   /* |gradient| */
    double balance; /* largest force on a rigid body that nothing balances, of its weight on earth; torques likewise */
} lagrangian_measures;

/* The default solver: Newton's method on the augmented Lagrangian. See newton.c. */

/* The penalty rho, in units of each tet's Young's modulus, in whose units multipliers of limits are kept between
 * steps. */
#define NEWTON_RHO 500.0

extern const solver_class newton_solver;

#endif
