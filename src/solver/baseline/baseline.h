/* What the solvers that work on rows share: the violated limits at v, and the products with J and A^-1. See rows.c. */
#ifndef SOLVER_BASELINE_BASELINE_H
#define SOLVER_BASELINE_BASELINE_H

#include "contact/patch.h"
#include "solver/newton.h"
#include "solver/solver.h"

/* Substitutions for many rows are shared out to threads in at most so many pieces. */
#define ROWS_PIECES 8

/* What a piece works with. */
typedef struct row_scratch {
    cholesky_factor view;
    double *right; /* 24 per node: right-hand sides, zero between calls */
    double *left;  /* 24 per node: solutions */
    int *nodes;    /* of the right-hand sides at hand */
    cholesky_range *reach;
} row_scratch;

typedef struct row_set row_set;

/* Finds D = diag(J A^-1 J^T) of the rows [first, end): of contacts only or of limits only. */
typedef void (*row_diagonal)(row_set *set, const solver_problem *problem, int first, int end);

struct row_set {
    constraint_row *rows; /* of the contacts first, then of the limits */
    int count;
    int seen;         /* the most that there were in this solve */
    int *first_row;   /* body_count + 1: the rows of each body's limits */
    double violation; /* the largest of the limits where the rows were collected, 0 without any */
    double at_first;  /* the same where they were collected first in this solve; below 0: nowhere yet */
    row_contacts contacts;
    row_diagonal find_diagonal;
    double *diagonal; /* a row: D; that of contacts is there when they take part */
    int *filled;      /* rows that are not empty, in the order in which they are substituted */
    int *fronts;      /* of the factor that they reach */
    double *force;    /* 3 per node: J^T lambda, kg m/s */
    double *half;     /* 3 per node, in elimination order: L^-1 P force */
    double *motion;   /* 3 per node: A^-1 force, m/s */
    double *d;        /* 3 per node: h v */
    double *free;     /* 3 per node: the free motion, m/s */
    double *impulse;  /* of all the solve on held nodes: 3 per node of each limited body, one body after the other */
    int impulse_size;
    row_scratch *scratch;
};

/* max_contacts: that ever take part. */
void rows_layout(row_set *set, const solver_problem *problem, int max_contacts, arena *work);

/* The most rows there can be. */
int rows_limit(const solver_problem *problem);

/* The solve begins: the factor of A is there, multipliers of another solver's limits are dropped. Where there
 * are no limits, the contacts that pushed in the last step push again, and v is what that makes of the free motion. */
void rows_begin(row_set *set, const solver_problem *problem, row_diagonal find_diagonal);

/* The contacts that take part, and the limits that are violated at v, linearized there. */
void rows_collect(row_set *set, const solver_problem *problem);

/* The rows of contacts are rows 0 to: */
static inline int rows_of_contacts(const row_set *set) {
    return set->contacts.each * set->contacts.count;
}

/* Limits and contacts are as they should be, to the share of the tolerances. */
bool rows_agree(const row_set *set, const solver_problem *problem);

/* The rows of limits linearized at the beginning of the step; held nodes are where they are driven. */
void rows_linearize_at_start(row_set *set, const solver_problem *problem);

/* force = J^T lambda of the first `count` rows, half = L^-1 P force; returns lambda^T B lambda = |half|^2. */
double rows_push(row_set *set, const solver_problem *problem, const double *lambda, int count);
/* motion = A^-1 force, after rows_push. */
void rows_move(row_set *set, const solver_problem *problem);

/* The rows of limits act with scale lambda: what that does to held nodes is added to the impulses. */
void rows_react(row_set *set, const solver_problem *problem, const double *lambda, double scale);
/* The solve ends where the rows were collected: bodies and contacts are told the impulses, and the report how it is.
 * False: it went astray, the limits are violated far more than before it; then the step cannot be done so. In the last
 * resort (body_step.last) it is the free motion then, without limits and contacts, and not converged. */
bool rows_end(row_set *set, const solver_problem *problem, solver_report *report);

/* J_k x */
double row_times(const constraint_row *row, const double *x);

/* D by one whole substitution a row (perez2016, Eq. 13), on all threads. */
void rows_diagonal(row_set *set, const solver_problem *problem, int first, int end);
/* The same, eight rows at a time and over the rows of L that they reach only. */
void rows_diagonal_by_reach(row_set *set, const solver_problem *problem, int first, int end);
/* D of the limits, which change in every linearization. */
static inline void rows_diagonal_of_limits(row_set *set, const solver_problem *problem) {
    set->find_diagonal(set, problem, rows_of_contacts(set), set->count);
}
/* B = J A^-1 J^T, row-major, `stride` (a multiple of 8, at least count) to a row, on all threads. */
void rows_matrix(row_set *set, const solver_problem *problem, double *B, int stride);

/* a . b; eight sums, so not in the order of the index but in one that never changes. */
double rows_dot(const double *a, const double *b, int count);

/* sqrt of the sum of the squared violations; those of contacts as strains, by the ratio of the tolerances. */
double rows_norm(const row_set *set, const solver_problem *problem);

/* The Jacobi direction and its line search (perez2016, Eqs. 11 and 12), for njls and njls+, and what becomes of them
 * with friction. See jacobi.c. */

/* alpha of Eq. 12, within [0, 1], for a slope s^T w over limits and normals. What slips follows its normal: its part
 * of s is set, and set->half is that of all of s. kept: 3 per node, overwritten. */
double jacobi_step(row_set *set, const solver_problem *problem, double slope, double *s, double *kept);

/* The contacts go alpha s. */
void jacobi_push_contacts(row_set *set, const double *s, double alpha);

/* The step of friction, after the normals' one. w: C / h of the contacts' rows as they are now. Contacts keep the new
 * lambda; set->half and set->motion tell what it does to v. s: a row of a contact, kept: 3 per node; both are
 * overwritten. */
void jacobi_friction(row_set *set, const solver_problem *problem, const double *w, double *s, double *kept);

static inline int jacobi_count(int max, int active) {
    return active > max ? active : max;
}

/* A linear complementarity problem with a dense matrix: 0 <= lambda, w = B lambda + q >= 0, lambda^T w = 0, and the
 * friction of its contacts. See lcp.c. */

/* Rows that a dense B is made for: 72 MB. Of more, the worst violated limits are taken. */
#define LCP_ROWS 3000
#define LCP_CONTACTS 500 /* of which half the rows may be; of more, the first are taken */

typedef struct dense_lcp {
    int stride;
    double *B;      /* stride to a row */
    double *lambda; /* a row each: */
    double *w;
    double *D; /* of rows of contacts: the diagonal, as far as steps of friction ask it (contact_rows.h) */
    patch_response *patches; /* one each, where contacts are aggregated */
    double *order;           /* violations, to find the worst */
} dense_lcp;

/* How far the rows are from what they should be. Of contacts that is contact_rows_error: without what an impulse that
 * is too large leaves open, and what slips where it should not, contacts would be done as soon as nothing
 * penetrates. */
typedef struct lcp_error {
    double largest;  /* violation of a limit, as a strain */
    double length;   /* error of a contact, m */
    double weighted; /* sum of all as lengths, m (perez2013, Eq. 18) */
} lcp_error;

void lcp_layout(dense_lcp *lcp, const solver_problem *problem, arena *work);

/* Keeps the contacts and the worst limits of the set, in their order, LCP_ROWS together. */
void lcp_choose(dense_lcp *lcp, row_set *set, const solver_problem *problem);

/* B of the rows; lambda = 0, of contacts what they push so far. */
void lcp_formulate(dense_lcp *lcp, row_set *set, const solver_problem *problem);

/* Projected Gauss-Seidel from there, with w = C / h, until the limits' largest error or the sum is at most the one in
 * `enough`, and that of contacts too, or so many sweeps. Returns the number of sweeps, which count on from `iterations`
 * in the trace. */
int lcp_relax(dense_lcp *lcp, const row_set *set, const solver_problem *problem, lcp_error enough, int max_sweeps,
              int iterations);

/* Contacts keep their lambda, and v goes where all the rows push; set->motion is by how much. Returns how many limits
 * push. */
int lcp_apply(dense_lcp *lcp, row_set *set, const solver_problem *problem);

/* Sequential quadratic programming around a solver for the linear complementarity problem. See sqp.c. */

/* Solves 0 <= lambda, B lambda + C / h >= 0 for the rows in the set, with the friction of contacts, and adds
 * A^-1 J^T lambda to v; counts its iterations and the limits that push in the report. */
typedef void (*sqp_lcp)(void *state, row_set *set, const solver_problem *problem, solver_report *report);

/* Of `own` further iterations, how many the solve may still take. */
static inline int sqp_left(const solver_problem *problem, const solver_report *report, int own) {
    return solver_max(problem, report->iterations + own) - report->iterations;
}

/* Each LCP is solved to this share of the tolerance of the limits themselves. Just below it is fastest: 0.5 takes 1.3
 * times as long, 0.2 1.5 times; what the linearization left out would keep 1 above the tolerance for long. */
#define SQP_LCP_SHARE 0.9

/* The solver of perez2013: one linearization, projected Gauss-Seidel. See pgs.c. */

extern const solver_class pgs_solver;

/* SQP with projected Gauss-Seidel: a baseline of perez2016. See sqp_pgs.c. */

extern const solver_class sqp_pgs_solver;

/* SQP with projected Jacobi and line search: a baseline of perez2016. See sqp_pjls.c. */

extern const solver_class sqp_pjls_solver;

/* The nonlinear Jacobi line-search solver of perez2016, as printed. See njls.c. */

extern const solver_class njls_solver, njls_reach_solver;

/* njls with D from the selected inverse and Anderson acceleration. See njls_plus.c. */

extern const solver_class njls_plus_solver;

#endif
