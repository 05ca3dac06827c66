/* A linear complementarity problem with a dense matrix: 0 <= lambda, w = B lambda + q >= 0, lambda^T w = 0, and the
 * friction of its contacts. See lcp.c. */
#ifndef SOLVER_LCP_H
#define SOLVER_LCP_H

#include "contact/patch_law.h"
#include "solver/rows.h"

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
int lcp_relax(dense_lcp *lcp, const row_set *set, const solver_problem *problem, lcp_error enough, int most_sweeps,
              int iterations);

/* Contacts keep their lambda, and v goes where all the rows push; set->motion is by how much. Returns how many limits
 * push. */
int lcp_apply(dense_lcp *lcp, row_set *set, const solver_problem *problem);

#endif
