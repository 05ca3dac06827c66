/* The Jacobi direction and its line search (perez2016, Eqs. 11 and 12), for njls and njls+, and what becomes of them
 * with friction. See jacobi.c. */
#ifndef SOLVER_JACOBI_H
#define SOLVER_JACOBI_H

#include "solver/rows.h"

/* s = max(0, -D^-1 C / h), of a contact's normal max(0, lambda - D^-1 C / h) - lambda, of friction 0; a row that no
 * unknown can help stays 0. Returns how many limits push; slope: s^T C / h. */
int jacobi_direction(const row_set *set, const solver_problem *problem, double *s, double *slope);

/* alpha of Eq. 12, within [0, 1], for a slope s^T w over limits and normals. What slips follows its normal: its part
 * of s is set, and set->half is that of all of s. kept: 3 per node, overwritten. */
double jacobi_step(row_set *set, const solver_problem *problem, double slope, double *s, double *kept);

/* The contacts go alpha s. */
void jacobi_push_contacts(row_set *set, const double *s, double alpha);

/* w = C / h of the contacts' rows after v went alpha set->motion from where the rows were collected. */
void jacobi_rates(const row_set *set, const solver_problem *problem, double alpha, double *w);

/* The step of friction, after the normals' one. w: C / h of the contacts' rows as they are now. Contacts keep the new
 * lambda; set->half and set->motion tell what it does to v. s: a row of a contact, kept: 3 per node; both are
 * overwritten. */
void jacobi_friction(row_set *set, const solver_problem *problem, const double *w, double *s, double *kept);

static inline int jacobi_count(int most, int active) {
    return active > most ? active : most;
}

#endif
