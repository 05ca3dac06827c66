/* Contacts as rows. A contact (contact/constraint.h) is linear in the unknowns, u = start + F sum_k M_k d_k, so its
 * rows are the same for the whole step: C = u_n >= 0 with its impulse lambda_n >= 0, and u_t1, u_t2 with the
 * impulses of friction. On these perez2013 (section 4.2) says: "in each iteration of PGS, after the normal force of
 * a contact is computed, we add friction forces [that] maximize the dissipation of tangential velocity subject to
 * the Coulomb cone constraint [...] We approximate the cone constraint using a four-sided pyramid". Here that is
 *
 *   lambda_t <- P(lambda_t - w_t / D_t),   P on |lambda_t1|, |lambda_t2| <= mu lambda_n, or on the disc of that radius
 *
 * with w = u / h instead of the velocity alone: a sticking contact stays at its anchor, without creep.
 *
 * The impulses of strain limits are recomputed in every linearization and never decrease (perez2016, Eqs. 5 and 11).
 * Friction needs the normal impulse of the whole solve, so the impulses of contacts are kept; the solvers change the
 * sum.
 *
 * The rows of a patch involve many nodes, and there is a fourth, the twist. Its friction is projected on its own set
 * (contact/patch.h) or, with FRICTION_PRINTED, as in talvas2015: the forces on a disc and the torque on an interval,
 * whose sizes are the gradient of the velocity potential at the motion that lambda - w / D would have to stop (Eqs.
 * 17 to 20). */
#include "solver/newton.h"

#include "contact/patch.h"

#include <math.h>
#include <string.h>

void contact_rows_layout(row_contacts *contacts, const solver_problem *problem, int max, arena *work) {
    if (max > contact_rows_max(problem)) max = contact_rows_max(problem);
    int each = contact_rows_each(problem), tails = contact_rows_aggregated(problem) ? 0 : CONTACT_TAIL * each * max;
    *contacts = (row_contacts){.each = each,
                               .max = max,
                               .index = ARENA_ARRAY(work, int, max),
                               .taken = ARENA_ARRAY(work, bool, contact_rows_max(problem)),
                               .tail = ARENA_ARRAY(work, row_tail, each * max),
                               .tail_node = ARENA_ARRAY(work, int, tails),
                               .tail_gradient = ARENA_ARRAY(work, vec3, tails),
                               .lambda = ARENA_ARRAY(work, double, each *max)};
}

/* Nodes beyond the capacity of the row go to `node` and `gradient`; returns how many. */
static int make_point_row(const contact *c, constraint_row *row, int node[CONTACT_TAIL], vec3 gradient[CONTACT_TAIL]) {
    vec3 direction = mat3_row(c->frame, row->axis);
    int used = 0;
    for (int k = 0; k < c->leg_count; k++) {
        /* Where a body touches itself, both sides may have the same node; legs are sorted by node. */
        bool again = k > 0 && c->legs[k - 1].node == c->legs[k].node;
        used += !again;
        int place = used - 1;
        bool fits = place < ROW_NODES;
        vec3 *sum = fits ? &row->gradient[place] : &gradient[place - ROW_NODES];
        vec3 own = contact_leg_gradient(&c->legs[k], direction);
        *(fits ? &row->node[place] : &node[place - ROW_NODES]) = c->legs[k].node;
        *sum = again ? vec3_add(*sum, own) : own;
    }
    return used > ROW_NODES ? used - ROW_NODES : 0;
}

static constraint_row empty_row(int index, int axis) {
    constraint_row row = {.kind = CONSTRAINT_CONTACT, .element = index, .axis = axis, .weight = 1};
    for (int a = 0; a < ROW_NODES; a++) row.node[a] = -1;
    return row;
}

void contact_rows_of_point(const contact *c, int index, constraint_row rows[CONTACT_ROWS], row_tail tails[CONTACT_ROWS],
                           int *node, vec3 *gradient) {
    for (int axis = 0; axis < CONTACT_ROWS; axis++, node += CONTACT_TAIL, gradient += CONTACT_TAIL) {
        rows[axis] = empty_row(index, axis);
        tails[axis] = (row_tail){make_point_row(c, &rows[axis], node, gradient), node, gradient};
        rows[axis].tail = tails[axis].count > 0 ? &tails[axis] : NULL;
    }
}

static void make_patch_rows(const patch *p, int index, int each, constraint_row *rows, row_tail *tails) {
    for (int axis = 0; axis < each; axis++) {
        rows[axis] = empty_row(index, axis);
        int legs = p->arm[axis] > 0 ? p->leg_count : 0;
        tails[axis] = (row_tail){legs, p->node, p->gradient + (size_t)axis * (size_t)p->leg_count};
        rows[axis].tail = &tails[axis];
    }
}

void contact_rows_make(row_contacts *contacts, const solver_problem *problem, int i, constraint_row *rows) {
    int index = contacts->index[i];
    size_t first = (size_t)contacts->each * (size_t)i;
    if (contact_rows_aggregated(problem))
        make_patch_rows(&problem->patches[index], index, contacts->each, rows, contacts->tail + first);
    else
        contact_rows_of_point(&problem->contacts[index], index, rows, contacts->tail + first,
                              contacts->tail_node + CONTACT_TAIL * first,
                              contacts->tail_gradient + CONTACT_TAIL * first);
}

void contact_rows_start(const solver_problem *problem, int index, double lambda[MAX_CONTACT_ROWS]) {
    if (contact_rows_aggregated(problem))
        memcpy(lambda, problem->patches[index].lambda, (size_t)problem->patch_rows * sizeof *lambda);
    else
        vec3_store(lambda, problem->contacts[index].lambda);
}

double contact_rows_values(const solver_problem *problem, int index, double u[MAX_CONTACT_ROWS]) {
    if (contact_rows_aggregated(problem))
        memcpy(u, problem->patches[index].u, (size_t)problem->patch_rows * sizeof *u);
    else
        vec3_store(u, problem->contacts[index].u);
    return u[0];
}

/* Projects (t1, t2) on the section of the pyramid or the cone of size `bound`. */
static void friction_project(solver_friction friction, double bound, double t[2]) {
    if (friction != FRICTION_CONE) {
        for (int i = 0; i < 2; i++) t[i] = fmax(-bound, fmin(bound, t[i]));
        return;
    }
    double size = hypot(t[0], t[1]);
    if (!(size > bound)) return;
    for (int i = 0; i < 2; i++) t[i] *= bound / size;
}

/* The admissible sets as printed. */
static void confine_as_printed(const patch *p, double bound, const double D[MAX_CONTACT_ROWS], double f[3]) {
    double motion[3] = {D[1] * f[0], D[2] * f[1], D[3] * f[2]}, gradient[3];
    contensou_potential(&p->law, motion, gradient);
    friction_project(FRICTION_CONE, bound * hypot(gradient[0], gradient[1]), f);
    double max = bound * fabs(gradient[2]);
    f[2] = fmax(-max, fmin(max, f[2]));
}

bool contact_rows_confine(const solver_problem *problem, int index, double normal, const double D[MAX_CONTACT_ROWS],
                          double lambda[MAX_CONTACT_ROWS]) {
    double bound = contact_rows_mu(problem, index) * normal;
    double before[3] = {lambda[1], lambda[2], contact_rows_aggregated(problem) ? lambda[3] : 0};
    if (!contact_rows_aggregated(problem)) {
        friction_project(problem->friction, bound, lambda + 1);
        return lambda[1] == before[0] && lambda[2] == before[1];
    }
    patch *p = &problem->patches[index];
    if (problem->patch_rows == PATCH_ROWS) patch_confine_pressure(p, normal, D, lambda);
    if (problem->friction == FRICTION_PRINTED)
        confine_as_printed(p, bound, D, lambda + 1);
    else
        contensou_project(&p->law, bound, D[3] > 0 ? sqrt(D[1] / D[3]) : 1, before, p->guess, lambda + 1);
    return lambda[1] == before[0] && lambda[2] == before[1] && lambda[3] == before[2];
}

void contact_rows_project(const solver_problem *problem, int index, double lambda[MAX_CONTACT_ROWS]) {
    double radius = contact_rows_aggregated(problem) ? problem->patches[index].law.radius : 0;
    double turning = radius > 0 ? 1 / (radius * radius) : 0, D[MAX_CONTACT_ROWS] = {1, 1, 1, turning, turning, turning};
    lambda[0] = fmax(0, lambda[0]);
    contact_rows_confine(problem, index, lambda[0], D, lambda);
}

/* Projects lambda - w / D. True if friction was admissible. */
static bool step_alone(const solver_problem *problem, int index, const double lambda[MAX_CONTACT_ROWS],
                       const double w[MAX_CONTACT_ROWS], const double D[MAX_CONTACT_ROWS],
                       double next[MAX_CONTACT_ROWS]) {
    for (int i = 0; i < contact_rows_each(problem); i++) next[i] = D[i] > 0 ? lambda[i] - w[i] / D[i] : 0;
    next[0] = fmax(0, next[0]);
    return contact_rows_confine(problem, index, lambda[0], D, next);
}

double contact_rows_error(const solver_problem *problem, int index, const double lambda[MAX_CONTACT_ROWS],
                          const double w[MAX_CONTACT_ROWS], const double D[MAX_CONTACT_ROWS]) {
    if (!(D[0] > 0 && D[1] > 0 && D[2] > 0)) return 0;
    double next[MAX_CONTACT_ROWS], error = 0;
    step_alone(problem, index, lambda, w, D, next);
    for (int i = 0; i < contact_rows_each(problem); i++) {
        double arm = i < CONTACT_ROWS ? 1 : problem->patches[index].arm[i];
        error = fmax(error, arm * D[i] * fabs(next[i] - lambda[i]));
    }
    return problem->step->h * error;
}

/* Distance of a contact from its anchor, m. */
static double slid_distance(const solver_problem *problem, int index, const double u[MAX_CONTACT_ROWS]) {
    double turned = contact_rows_aggregated(problem) ? fabs(u[3]) * problem->patches[index].arm[3] : 0;
    return fmax(hypot(u[1], u[2]), turned);
}

/* Whether a contact slips: sticking would exceed its bounds, as in newton, and it has left its anchor by more than
 * the tolerance. Near the bounds the tolerance alone would release anchors again and again, and a block on a slope
 * creeps. */
static bool slips(const solver_problem *problem, int index, const double *lambda, const double *D) {
    double h = problem->step->h, u[MAX_CONTACT_ROWS], w[MAX_CONTACT_ROWS], next[MAX_CONTACT_ROWS];
    if (!(D[1] > 0 && D[2] > 0 && contact_rows_mu(problem, index) * lambda[0] > 0)) return true;
    contact_rows_values(problem, index, u);
    if (slid_distance(problem, index, u) <= h * problem->tolerance.length) return false;
    for (int i = 0; i < contact_rows_each(problem); i++) w[i] = u[i] / h;
    return !step_alone(problem, index, lambda, w, D, next);
}

static void report_contact(const solver_problem *problem, int index, const double *lambda, cone_state state) {
    double h = problem->step->h;
    if (contact_rows_aggregated(problem)) {
        patch *p = &problem->patches[index];
        for (int k = 0; k < problem->patch_rows; k++) p->lambda[k] = lambda[k] / h;
        p->settled = state;
    } else {
        contact *c = &problem->contacts[index];
        c->lambda = vec3_scale(vec3_load(lambda), 1 / h);
        c->settled = state;
    }
}

void contact_rows_end(const row_contacts *contacts, const solver_problem *problem, const double *diagonal) {
    static const double nothing[MAX_CONTACT_ROWS];
    for (int i = 0; i < contact_rows_count(problem); i++) report_contact(problem, i, nothing, CONE_OPEN);
    for (int i = 0; i < contacts->count; i++) {
        int index = contacts->index[i];
        const double *lambda = contacts->lambda + contacts->each * i;
        bool pushes = lambda[0] > 0, slides = pushes && slips(problem, index, lambda, diagonal + contacts->each * i);
        report_contact(problem, index, lambda, slides ? CONE_SLIP : pushes ? CONE_STICK : CONE_OPEN);
    }
}
