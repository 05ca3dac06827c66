/* Contacts as rows: one of non-penetration and two of friction each (perez2013, section 4.2). See contact_rows.c. */
#ifndef SOLVER_CONTACT_ROWS_H
#define SOLVER_CONTACT_ROWS_H

#include "solver/problem.h"

#define CONTACT_ROWS 3 /* of a contact: the gap, two tangents */

/* The contacts that take part in a solve, in the order in which they came to: those that it starts from (rows_begin)
 * and those that were violated since. */
typedef struct row_contacts {
    int count;
    int most;       /* that there is room for */
    bool all;       /* also those that are not violated take part */
    int *index;     /* of the problem's contacts */
    bool *taken;    /* a contact of the problem: it takes part */
    row_tail *tail; /* a row, as the next two */
    double *lambda; /* impulse, kg m/s: always within the bounds of friction_project */
    double error;   /* m: the largest that is left, of contacts without room too */
    double square;  /* m^2: sum of the squared errors */
} row_contacts;

void contact_rows_layout(row_contacts *contacts, const solver_problem *problem, int most, arena *work);

/* The gradients of a contact's three rows. */
void contact_rows_make(const contact *c, int index, constraint_row rows[CONTACT_ROWS], row_tail tails[CONTACT_ROWS]);

/* (t1, t2) goes to the nearest point of the section of the pyramid or the cone where the normal impulse allows
 * `bound`. */
void friction_project(solver_friction friction, double bound, double t[2]);

/* lambda goes into the pyramid or the cone: the normal first, then what it allows. */
void contact_rows_project(const contact *c, solver_friction friction, double lambda[CONTACT_ROWS]);

/* How far a contact is from w_n >= 0, lambda_n >= 0, complementary, and from friction that sticks or opposes the slip:
 * the way, m, that it would still go if lambda_k - w_k / D_k were projected alone. w: C / h, m/s. */
double contact_rows_error(const contact *c, const solver_problem *problem, const double lambda[CONTACT_ROWS],
                          const double w[CONTACT_ROWS], const double D[CONTACT_ROWS]);

/* The solve ends, with the contacts looked at where it did: each is told its force and how it ended.
 * diagonal: D of their rows. */
void contact_rows_end(const row_contacts *contacts, const solver_problem *problem, const double *diagonal);

#endif
