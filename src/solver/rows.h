/* What the solvers that work on rows share: the violated limits at v, and the products with J and A^-1. See rows.c. */
#ifndef SOLVER_ROWS_H
#define SOLVER_ROWS_H

#include "solver/contact_rows.h"

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

/* most_contacts: that ever take part. */
void rows_layout(row_set *set, const solver_problem *problem, int most_contacts, arena *work);

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

#endif
