/* What the solvers on rows share: violated limits and contacts as rows at v, and products with J and A^-1 (rows.c). */
#ifndef SOLVER_BASELINE_BASELINE_H
#define SOLVER_BASELINE_BASELINE_H

#include "contact/patch.h"
#include "solver/newton.h"
#include "solver/solver.h"

/* Maximum number of parts in which threads share substitutions. */
#define ROWS_PIECES 8

/* Scratch of one part. */
typedef struct row_scratch {
    cholesky_factor view;
    double *right; /* 24 per node: right-hand sides, zero between calls */
    double *left;  /* 24 per node: solutions */
    int *nodes;    /* of the current right-hand sides */
    cholesky_range *reach;
} row_scratch;

typedef struct row_set row_set;

/* Finds D = diag(J A^-1 J^T) of the rows [first, end): of contacts only or of limits only. */
typedef void (*row_diagonal)(row_set *set, const solver_problem *problem, int first, int end);

struct row_set {
    constraint_row *rows; /* of the contacts first, then of the limits */
    int count;
    int seen;         /* maximum in this solve */
    int *first_row;   /* body_count + 1: the rows of each body's limits */
    double violation; /* of limits, the largest at the last collection, 0 without any */
    double at_first;  /* the same at the first collection of this solve; negative: none yet */
    row_contacts contacts;
    row_diagonal find_diagonal;
    double *diagonal; /* per row: D */
    int *filled;      /* rows that are not empty, in the order in which they are substituted */
    int *fronts;      /* of the factor that they reach */
    double *force;    /* 3 per node: J^T lambda, kg m/s */
    double *half;     /* 3 per node, in elimination order: L^-1 P force */
    double *motion;   /* 3 per node: A^-1 force, m/s */
    double *d;        /* 3 per node: h v */
    double *free;     /* 3 per node: the free motion, m/s */
    double *impulse;  /* on held nodes in the whole solve: 3 per node of each limited body, one body after the other */
    int impulse_size;
    row_scratch *scratch;
};

/* max_contacts: capacity. */
void rows_layout(row_set *set, const solver_problem *problem, int max_contacts, arena *work);

/* The maximum number of rows. */
int rows_limit(const solver_problem *problem);

/* Starts a solve with the factor of A; drops multipliers of limits of another solver. Without limits, the contacts
 * that were active in the last step start with their forces, and v is changed accordingly. */
void rows_begin(row_set *set, const solver_problem *problem, row_diagonal find_diagonal);

/* Collects the contacts of the solve and the limits that are violated at v, linearized there. */
void rows_collect(row_set *set, const solver_problem *problem);

/* The number of rows of contacts, which come first. */
static inline int rows_of_contacts(const row_set *set) {
    return set->contacts.each * set->contacts.count;
}

/* Whether limits and contacts are within the share of the tolerances. */
bool rows_agree(const row_set *set, const solver_problem *problem);

/* Linearizes the rows of limits at the start of the step; held nodes are at their targets. */
void rows_linearize_at_start(row_set *set, const solver_problem *problem);

/* force = J^T lambda of the first `count` rows, half = L^-1 P force; returns lambda^T B lambda = |half|^2. */
double rows_push(row_set *set, const solver_problem *problem, const double *lambda, int count);
/* motion = A^-1 force, after rows_push. */
void rows_move(row_set *set, const solver_problem *problem);

/* Adds the effect of scale lambda of the limits on held nodes to the impulses. */
void rows_react(row_set *set, const solver_problem *problem, const double *lambda, double scale);
/* The end of a solve, at the last collection: sets the impulses of bodies and contacts, and the report. False if it
 * diverged: the limits are violated far more than before, and the step fails. In the last attempt (body_step.last)
 * the result is then the free motion, without limits and contacts, not converged. */
bool rows_end(row_set *set, const solver_problem *problem, solver_report *report);

/* J_k x */
double row_times(const constraint_row *row, const double *x);

/* D by one whole substitution per row (perez2016, Eq. 13), on all threads. */
void rows_diagonal(row_set *set, const solver_problem *problem, int first, int end);
/* The same, eight rows at a time and over the rows of L that they reach only. */
void rows_diagonal_by_reach(row_set *set, const solver_problem *problem, int first, int end);
/* D of the limits, which change in every linearization. */
static inline void rows_diagonal_of_limits(row_set *set, const solver_problem *problem) {
    set->find_diagonal(set, problem, rows_of_contacts(set), set->count);
}
/* B = J A^-1 J^T, row-major, with `stride` numbers per row (a multiple of 8, >= count), on all threads. */
void rows_matrix(row_set *set, const solver_problem *problem, double *B, int stride);

/* a . b by eight partial sums: the order of additions is fixed. */
double rows_dot(const double *a, const double *b, int count);

/* Root of the sum of squared violations; those of contacts as strains, by the ratio of the tolerances. */
double rows_norm(const row_set *set, const solver_problem *problem);

/* The Jacobi direction and its line search (perez2016, Eqs. 11 and 12), with friction, for njls and njls+ (njls.c). */

/* alpha of Eq. 12, in [0, 1], for a slope s^T w over limits and normals. Friction of slipping contacts follows its
 * normal: sets its part of s and set->half of all of s. kept: 3 per node, overwritten. */
double jacobi_step(row_set *set, const solver_problem *problem, double slope, double *s, double *kept);

/* Adds alpha s to the impulses of contacts. */
void jacobi_push_contacts(row_set *set, const double *s, double alpha);

/* The step of friction, after that of the normals. w: C / h of the rows of contacts. Contacts keep the new lambda;
 * set->half and set->motion are its effect on v. s: per row of a contact, kept: 3 per node; both are overwritten. */
void jacobi_friction(row_set *set, const solver_problem *problem, const double *w, double *s, double *kept);

/* A linear complementarity problem with a dense matrix: 0 <= lambda, w = B lambda + q >= 0, lambda^T w = 0, with
 * friction of contacts (pgs.c). */

/* Maximum rows of a dense B: 72 MB. Beyond that, the most violated limits are taken. */
#define LCP_ROWS 3000
#define LCP_CONTACTS 500 /* up to half of the rows; beyond that, the first are taken */

typedef struct dense_lcp {
    int stride;
    double *B;      /* stride per row */
    double *lambda; /* one per row: */
    double *w;
    double *D;               /* of rows of contacts: the diagonal for steps of friction (contact_rows.c) */
    patch_response *patches; /* per patch, if contacts are aggregated */
    double *order;           /* violations, to find the largest */
} dense_lcp;

/* Errors of the rows. For contacts this is contact_rows_error: with penetration alone, contacts would count as
 * converged with too large impulses or wrong slip. */
typedef struct lcp_error {
    double largest;  /* violation of a limit, as a strain */
    double length;   /* error of a contact, m */
    double weighted; /* sum of all as lengths, m (perez2013, Eq. 18) */
} lcp_error;

void lcp_layout(dense_lcp *lcp, const solver_problem *problem, arena *work);

/* Keeps the contacts and the most violated limits of the set, in their order, LCP_ROWS together. */
void lcp_choose(dense_lcp *lcp, row_set *set, const solver_problem *problem);

/* Sets B of the rows, and lambda: 0, or the impulse so far for contacts. */
void lcp_formulate(dense_lcp *lcp, row_set *set, const solver_problem *problem);

/* Projected Gauss-Seidel with w = C / h, until the largest error of limits or the sum, and that of contacts, are
 * below `enough`, or up to a number of sweeps. Returns the number of sweeps; the trace counts them from
 * `iterations`. */
int lcp_relax(dense_lcp *lcp, const row_set *set, const solver_problem *problem, lcp_error enough, int max_sweeps,
              int iterations);

/* Stores lambda of contacts and applies all rows to v; set->motion is the change. Returns the number of active
 * limits. */
int lcp_apply(dense_lcp *lcp, row_set *set, const solver_problem *problem);

/* Sequential quadratic programming around a solver for the linear complementarity problem (sqp.c). */

/* Solves 0 <= lambda, B lambda + C / h >= 0 for the rows of the set, with friction of contacts, and adds A^-1 J^T
 * lambda to v; counts iterations and active limits in the report. */
typedef void (*sqp_lcp)(void *state, row_set *set, const solver_problem *problem, solver_report *report);

/* The solvers. */
extern const solver_class pgs_solver;      /* of perez2013: one linearization, projected Gauss-Seidel (pgs.c) */
extern const solver_class sqp_pgs_solver;  /* SQP with projected Gauss-Seidel: a baseline of perez2016 (sqp.c) */
extern const solver_class sqp_pjls_solver; /* SQP with projected Jacobi and line search: likewise (sqp.c) */
extern const solver_class njls_solver,
    njls_reach_solver;                      /* nonlinear Jacobi with line search of perez2016, as printed */
extern const solver_class njls_plus_solver; /* njls with D from the selected inverse and Anderson acceleration */

#endif
