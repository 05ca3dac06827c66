/* Projected Jacobi with a line search, and friction.
 *
 * The line search minimizes 1/2 lambda^T B lambda + w^T lambda within bounds that do not depend on lambda. Those of
 * friction do, through the normal impulse, and Coulomb's law is not the minimum of anything. So an iteration has two
 * halves, as perez2013 has them in PGS ("after the normal force of a contact is computed, we add friction").
 *
 * Limits and normals together, as printed. What slips follows its normal, s_t = (lambda_t / lambda_n) s_n, which Eq. 12
 * must know of, or with a soft body that slides the iteration goes round in circles: with s' = s + s_t
 *
 *   alpha = -s^T w / s^T B s'                     within [0, 1]; without slip it is Eq. 12
 *
 * Then friction, with the normals as they are:
 *
 *   f = P(lambda_t) - lambda_t                    what the new bounds forbid: always done, whatever it costs
 *   s = P(lambda_t + f - D^-1 w_t) - lambda_t - f
 *   alpha = -(s^T w + s^T B f) / s^T B s          within [0, 1]
 *   lambda_t += f + alpha s
 *
 * s^T B f is the product of what half a solve leaves of each. P is the projection on the pyramid's or the cone's
 * section, which is convex: every alpha ends within it. (One line search over both halves was left: where normals give
 * way, f may climb, and alpha is 0 for ever.) */
#include "solver/jacobi.h"

#include <math.h>
#include <string.h>

#define AT_BOUND 1e-9 /* share of its bound by which friction may be off it and yet slip */

int jacobi_direction(const row_set *set, const solver_problem *problem, double *s, double *slope) {
    int active = 0, contacts = rows_of_contacts(set);
    double h = problem->step->h;
    for (int i = 0; i < contacts; i += set->contacts.each) {
        double D = set->diagonal[i], lambda = set->contacts.lambda[i];
        s[i] = D > 0 ? fmax(0, lambda - set->rows[i].value / (h * D)) - lambda : 0;
        for (int t = 1; t < set->contacts.each; t++) s[i + t] = 0;
    }
    for (int i = contacts; i < set->count; i++) {
        double D = set->diagonal[i];
        s[i] = D > 0 ? fmax(0, -set->rows[i].value / (h * D)) : 0;
        active += s[i] > 0;
    }
    *slope = 0;
    for (int i = 0; i < set->count; i++) *slope += s[i] * set->rows[i].value;
    *slope /= h;
    return active;
}

static double within(double alpha) {
    return fmax(0, fmin(1, alpha));
}

/* s_t of what slips. Whether anything does. */
static bool follow(const row_set *set, const solver_problem *problem, double *s) {
    bool any = false, together = problem->friction == FRICTION_CONE || contact_rows_aggregated(problem);
    for (int i = 0, k = 0; i < set->contacts.count; i++, k += set->contacts.each) {
        const double *lambda = set->contacts.lambda + k;
        double normal = (1 - AT_BOUND) * lambda[0], bound = contact_rows_mu(problem, set->contacts.index[i]) * normal;
        if (!(bound > 0) || s[k] == 0) continue;
        double inside[MOST_CONTACT_ROWS];
        memcpy(inside, lambda, (size_t)set->contacts.each * sizeof *inside);
        bool out =
            together && !contact_rows_confine(problem, set->contacts.index[i], normal, set->diagonal + k, inside);
        for (int t = 1; t < set->contacts.each; t++)
            if (t >= PATCH_ROWS_PRINTED ? inside[t] != lambda[t] : together ? out : fabs(lambda[t]) >= bound)
                s[k + t] = lambda[t] / lambda[0] * s[k], any = true;
    }
    return any;
}

double jacobi_step(row_set *set, const solver_problem *problem, double slope, double *s, double *kept) {
    int components = 3 * problem->pattern->node_count;
    double square = rows_push(set, problem, s, set->count);
    if (set->contacts.count > 0) memcpy(kept, set->half, (size_t)components * sizeof *kept);
    if (follow(set, problem, s)) {
        rows_push(set, problem, s, set->count);
        square = rows_dot(set->half, kept, components);
    }
    return square > 0 ? within(-slope / square) : 0;
}

void jacobi_push_contacts(row_set *set, const double *s, double alpha) {
    for (int k = 0; k < rows_of_contacts(set); k++) set->contacts.lambda[k] += alpha * s[k];
}

void jacobi_rates(const row_set *set, const solver_problem *problem, double alpha, double *w) {
    for (int k = 0; k < rows_of_contacts(set); k++)
        w[k] = set->rows[k].value / problem->step->h + alpha * row_times(&set->rows[k], set->motion);
}

/* lambda_t goes within its bounds; f to s. Whether that changed anything. */
static bool confine(row_set *set, const solver_problem *problem, double *s) {
    bool changed = false;
    for (int i = 0, k = 0; i < set->contacts.count; i++, k += set->contacts.each) {
        double *lambda = set->contacts.lambda + k;
        int index = set->contacts.index[i];
        for (int t = 1; t < set->contacts.each; t++) s[k + t] = -lambda[t];
        contact_rows_confine(problem, index, lambda[0], set->diagonal + k, lambda);
        s[k] = 0;
        for (int t = 1; t < set->contacts.each; t++) changed = (s[k + t] += lambda[t]) != 0 || changed;
    }
    return changed;
}

/* s from there on. Returns s^T w. */
static double aim(const row_set *set, const solver_problem *problem, const double *w, double *s) {
    double slope = 0;
    for (int i = 0, k = 0; i < set->contacts.count; i++, k += set->contacts.each) {
        const double *lambda = set->contacts.lambda + k, *D = set->diagonal + k;
        int index = set->contacts.index[i], each = set->contacts.each;
        double next[MOST_CONTACT_ROWS];
        for (int t = 0; t < each; t++) s[k + t] = 0;
        if (!(D[1] > 0 && D[2] > 0)) continue;
        for (int t = 1; t < each; t++) next[t] = D[t] > 0 ? lambda[t] - w[k + t] / D[t] : 0;
        contact_rows_confine(problem, index, lambda[0], D, next);
        for (int t = 1; t < each; t++) {
            s[k + t] = next[t] - lambda[t];
            slope += s[k + t] * w[k + t];
        }
    }
    return slope;
}

void jacobi_friction(row_set *set, const solver_problem *problem, const double *w, double *s, double *kept) {
    int components = 3 * problem->pattern->node_count, rows = rows_of_contacts(set);
    bool confined = confine(set, problem, s);
    if (confined) {
        rows_push(set, problem, s, rows);
        memcpy(kept, set->half, (size_t)components * sizeof *kept);
    }
    double slope = aim(set, problem, w, s), square = rows_push(set, problem, s, rows);
    if (confined) slope += rows_dot(set->half, kept, components);
    double alpha = square > 0 ? within(-slope / square) : 0;
    for (int k = 0; k < rows; k++) set->contacts.lambda[k] += alpha * s[k];
    for (int i = 0; i < components; i++) set->half[i] = alpha * set->half[i] + (confined ? kept[i] : 0);
    rows_move(set, problem);
}
