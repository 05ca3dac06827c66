/* A contact (contact/contact.h) is linear in the unknowns, u = start + F sum_k M_k d_k, so its rows are the same in all
 * of a step: C = u_n >= 0 with its impulse lambda_n >= 0, and u_t1, u_t2 with the impulses of friction. Of these
 * perez2013 (section 4.2) says: "in each iteration of PGS, after the normal force of a contact is computed, we add
 * friction forces [that] maximize the dissipation of tangential velocity subject to the Coulomb cone constraint [...]
 * We approximate the cone constraint using a four-sided pyramid". Here that is
 *
 *   lambda_t <- P(lambda_t - w_t / D_t),   P on |lambda_t1|, |lambda_t2| <= mu lambda_n, or on the disc of that radius
 *
 * with w = u / h, not the velocity alone: what sticks stays where it stuck (u_t counts from its anchor), without creep.
 *
 * Strain limits are pushed anew in every linearization and never let go (perez2016, Eqs. 5 and 11). Friction cannot be
 * bounded by a normal impulse that is forgotten, so the impulses of contacts are kept over all of a solve; what the
 * solvers change is the sum. */
#include "solver/contact_rows.h"

#include <math.h>
#include <string.h>

void contact_rows_layout(row_contacts *contacts, const solver_problem *problem, int most, arena *work) {
    if (most > problem->most_contacts) most = problem->most_contacts;
    *contacts = (row_contacts){.most = most,
                               .index = ARENA_ARRAY(work, int, most),
                               .taken = ARENA_ARRAY(work, bool, problem->most_contacts),
                               .tail = ARENA_ARRAY(work, row_tail, CONTACT_ROWS * most),
                               .lambda = ARENA_ARRAY(work, double, CONTACT_ROWS *most)};
}

/* F_axis M: what the unknown of a leg does to u_axis. */
static vec3 leg_gradient(const contact_leg *leg, vec3 direction) {
    return vec3_scale(leg->turns ? vec3_cross(leg->arm, direction) : direction, leg->weight);
}

void contact_rows_make(const contact *c, int index, constraint_row rows[CONTACT_ROWS], row_tail tails[CONTACT_ROWS]) {
    for (int axis = 0; axis < CONTACT_ROWS; axis++) {
        constraint_row *row = &rows[axis];
        row_tail *tail = &tails[axis];
        vec3 direction = mat3_row(c->frame, axis);
        *row = (constraint_row){.kind = CONSTRAINT_CONTACT, .element = index, .axis = axis, .weight = 1};
        for (int a = 0; a < ROW_TAIL; a++) tail->node[a] = -1;
        for (int a = 0; a < ROW_NODES; a++) row->node[a] = -1;
        int used = 0;
        for (int k = 0; k < c->leg_count; k++) {
            /* Both sides of a body that touches itself may hang on a node; legs stand by ascending node. */
            bool again = k > 0 && c->legs[k - 1].node == c->legs[k].node, fits;
            used += !again;
            int place = used - 1;
            fits = place < ROW_NODES;
            vec3 *gradient = fits ? &row->gradient[place] : &tail->gradient[place - ROW_NODES];
            vec3 own = leg_gradient(&c->legs[k], direction);
            *(fits ? &row->node[place] : &tail->node[place - ROW_NODES]) = c->legs[k].node;
            *gradient = again ? vec3_add(*gradient, own) : own;
        }
        if (used > ROW_NODES) row->tail = tail;
    }
}

void friction_project(solver_friction friction, double bound, double t[2]) {
    if (friction == FRICTION_PYRAMID) {
        for (int i = 0; i < 2; i++) t[i] = fmax(-bound, fmin(bound, t[i]));
        return;
    }
    double size = hypot(t[0], t[1]);
    if (!(size > bound)) return;
    for (int i = 0; i < 2; i++) t[i] *= bound / size;
}

void contact_rows_project(const contact *c, solver_friction friction, double lambda[CONTACT_ROWS]) {
    lambda[0] = fmax(0, lambda[0]);
    friction_project(friction, c->mu * lambda[0], lambda + 1);
}

double contact_rows_error(const contact *c, const solver_problem *problem, const double lambda[CONTACT_ROWS],
                          const double w[CONTACT_ROWS], const double D[CONTACT_ROWS]) {
    if (!(D[0] > 0 && D[1] > 0 && D[2] > 0)) return 0;
    double next[CONTACT_ROWS], error = 0;
    for (int i = 0; i < CONTACT_ROWS; i++) next[i] = lambda[i] - w[i] / D[i];
    next[0] = fmax(0, next[0]);
    friction_project(problem->friction, c->mu * lambda[0], next + 1);
    for (int i = 0; i < CONTACT_ROWS; i++) error = fmax(error, D[i] * fabs(next[i] - lambda[i]));
    return problem->step->h * error;
}

/* It would leave its bounds if it were to stick, as newton has it, and has left its anchor by more than what sticks
 * may: near its bounds the tolerance alone would let go of anchors again and again, and a block on a slope creeps. */
static bool slips(const contact *c, const solver_problem *problem, const double *lambda, const double *D) {
    double h = problem->step->h, bound = c->mu * lambda[0];
    if (!(D[1] > 0 && D[2] > 0 && bound > 0)) return true;
    if (cone_tangential(c->u) <= h * problem->tolerance.length) return false;
    double t[2] = {lambda[1] - c->u.y / (h * D[1]), lambda[2] - c->u.z / (h * D[2])};
    return problem->friction == FRICTION_CONE ? hypot(t[0], t[1]) > bound : fmax(fabs(t[0]), fabs(t[1])) > bound;
}

void contact_rows_end(const row_contacts *contacts, const solver_problem *problem, const double *diagonal) {
    for (int i = 0; i < problem->contact_count; i++) {
        contact *c = &problem->contacts[i];
        c->lambda = (vec3){0};
        c->settled = CONE_OPEN;
    }
    for (int i = 0; i < contacts->count; i++) {
        contact *c = &problem->contacts[contacts->index[i]];
        const double *lambda = contacts->lambda + CONTACT_ROWS * i;
        c->lambda = vec3_scale(vec3_load(lambda), 1 / problem->step->h);
        if (!(lambda[0] > 0)) continue;
        c->settled = slips(c, problem, lambda, diagonal + CONTACT_ROWS * i) ? CONE_SLIP : CONE_STICK;
    }
}
