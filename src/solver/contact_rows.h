/* Contacts as rows: one of non-penetration and two of friction each (perez2013, section 4.2); of patches, where contacts are
 * aggregated, one more, of friction that resists twist (talvas2015, section 3.4). Below, a contact is either. See
 * contact_rows.c. */
#ifndef SOLVER_CONTACT_ROWS_H
#define SOLVER_CONTACT_ROWS_H

#include "solver/problem.h"

#define CONTACT_ROWS 3 /* of a contact point: the gap, two tangents */
#define CONTACT_TAIL (CONTACT_LEGS - ROW_NODES)
#define MOST_CONTACT_ROWS PATCH_ROWS

/* The contacts that take part in a solve, in the order in which they came to: those that it starts from (rows_begin)
 * and those that were violated since. */
typedef struct row_contacts {
    int each; /* rows of a contact */
    int count;
    int most;    /* that there is room for */
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
    return problem->most_patches > 0;
}

/* Rows of each, how many there are and can be. */
static inline int contact_rows_each(const solver_problem *problem) {
    return contact_rows_aggregated(problem) ? problem->patch_rows : CONTACT_ROWS;
}

static inline int contact_rows_count(const solver_problem *problem) {
    return contact_rows_aggregated(problem) ? problem->patch_count : problem->contact_count;
}

static inline int contact_rows_most(const solver_problem *problem) {
    return contact_rows_aggregated(problem) ? problem->most_patches : problem->most_contacts;
}

static inline double contact_rows_mu(const solver_problem *problem, int index) {
    return contact_rows_aggregated(problem) ? problem->patches[index].mu : problem->contacts[index].mu;
}

void contact_rows_layout(row_contacts *contacts, const solver_problem *problem, int most, arena *work);

/* The three rows of a contact point. node, gradient: room for CONTACT_TAIL a row. */
void contact_rows_of_point(const contact *c, int index, constraint_row rows[CONTACT_ROWS], row_tail tails[CONTACT_ROWS],
                           int *node, vec3 *gradient);

/* The gradients of the rows of the i-th that takes part. */
void contact_rows_make(row_contacts *contacts, const solver_problem *problem, int i, constraint_row *rows);

/* The force that a contact starts from, N, N m. */
void contact_rows_start(const solver_problem *problem, int index, double lambda[MOST_CONTACT_ROWS]);

/* Gap, ways and angle where the contact was looked at last. Returns the gap. */
double contact_rows_values(const solver_problem *problem, int index, double u[MOST_CONTACT_ROWS]);

/* (t1, t2) goes to the nearest point of the section of the pyramid or the cone where the normal impulse allows
 * `bound`. */
void friction_project(solver_friction friction, double bound, double t[2]);

/* The same for the friction of a contact, and the torques of a patch's pressure: lambda[1] and on go to what the normal
 * impulse allows and is nearest, measured by D, how far a unit of each moves its row. Whether friction was allowed as it
 * was. */
bool contact_rows_confine(const solver_problem *problem, int index, double normal, const double D[MOST_CONTACT_ROWS],
                          double lambda[MOST_CONTACT_ROWS]);

/* lambda goes into the pyramid, the cone or the patch's set: the normal first, then what it allows. */
void contact_rows_project(const solver_problem *problem, int index, double lambda[MOST_CONTACT_ROWS]);

/* How far a contact is from w_n >= 0, lambda_n >= 0, complementary, and from friction that sticks or opposes the slip:
 * the way, m, that it would still go if lambda_k - w_k / D_k were projected alone. w: C / h, m/s, rad/s. */
double contact_rows_error(const solver_problem *problem, int index, const double lambda[MOST_CONTACT_ROWS],
                          const double w[MOST_CONTACT_ROWS], const double D[MOST_CONTACT_ROWS]);

/* The solve ends, with the contacts looked at where it did: each is told its force and how it ended.
 * diagonal: D of their rows. */
void contact_rows_end(const row_contacts *contacts, const solver_problem *problem, const double *diagonal);

#endif
