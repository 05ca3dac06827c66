/* Spectral augmented-Lagrangian Newton (perez2016 Eq. 1 solved to its optimum), with contact and friction in the same
 * solve.
 *
 * Inner iterations minimize the augmented Lagrangian Phi (lagrangian.h) by Newton with an Armijo line search; the
 * Hessian has the pattern of A, so one iteration is one assembly and one factorization (where soft bodies touch each
 * other, some conjugate gradients on top: crossing.h). Outer steps move the
 * multipliers and raise the penalty rho. Started from the multipliers of the last step, mostly one outer step is left
 * to do, and A itself is never factored.
 *
 * What must not be left out (each was met): complementarity in the stopping rule, or multipliers that stuck pump energy
 * into the motion; the curvature of the limits in the Hessian, or the iteration stalls. */
#include "solver/newton.h"

#include "solver/crossing.h"
#include "solver/lagrangian.h"
#include "solver/rows.h"

#include <math.h>
#include <string.h>

/* Penalties rho, in units of each tet's Young's modulus. Far from the limits a low one converges in few iterations,
 * near them a high one. It is raised only when a multipliers' step did not bring the distance down: with a rho that is
 * too high too early, the line search takes tiny steps (40 iterations instead of 16 on a hand that is thrown). */
#define RHO_NEAR NEWTON_RHO
#define RHO_FAR 50.0
#define RHO_GROWTH 10.0
#define RHO_LARGEST 1e4
#define FAR_DISTANCE 0.02 /* of a strain from its limits, where RHO_FAR is better */
#define DISTANCE_DROP 0.3 /* that a multipliers' step should achieve */

/* Young's moduli: the largest stress that a multiplier stands for (safeguarded multipliers [Andreani, Birgin, Martinez,
 * Schuverdt 2008, On augmented Lagrangian methods with general lower-level constraints, SIAM J. Optim. 18]). Where
 * limits, contacts and supports cannot all be met, as when pads are driven closer than their limits allow, multipliers
 * would grow without end and shoot what is between them away. */
#define STRESS_LARGEST 1000.0
#define STRESS_UNMET 10.0 /* that a step which could not be met leaves to the next one: with 30, squeezed pads buckle */
#define NO_PROGRESS 0.8   /* of the distance is left by a multipliers' step: far from the limits, they cannot be met */

/* How small the gradient must be, of |A (x - x*)|, for the multipliers to move. */
#define GRADIENT_SETTLED 0.01
#define GRADIENT_TRACE 5e-4
#define LOOSE_UPDATES 2  /* of the multipliers, while ten times that is enough */
#define STRICT_UPDATES 3 /* from which on a tenth is asked for */
#define SAME_START 1e-7  /* m: starts that differ by less are the same */
#define MOST_INNER 8     /* Newton steps before the multipliers move anyway */
#define MOST_ITERATIONS 60
#define MOST_PASSES 120 /* Newton and multipliers' steps together */
#define MOST_HALVINGS 20
#define ARMIJO 1e-4

typedef struct newton_state {
    double *hessian;   /* 9 per block */
    double *d;         /* 3 per node: x - x0 */
    double *residual;  /* A (x - x*) */
    double *gradient;  /* of the augmented Lagrangian */
    double *direction; /* Newton's */
    double *product;   /* A direction */
    crossing crossing;
} newton_state;

static void newton_layout(void *solver, const solver_problem *problem, arena *work) {
    newton_state *state = solver;
    size_t components = 3 * (size_t)problem->pattern->node_count;
    state->hessian = ARENA_ARRAY(work, double, 9 * (size_t)problem->pattern->block_count);
    state->d = ARENA_ARRAY(work, double, components);
    state->residual = ARENA_ARRAY(work, double, components);
    state->gradient = ARENA_ARRAY(work, double, components);
    state->direction = ARENA_ARRAY(work, double, components);
    state->product = ARENA_ARRAY(work, double, components);
    crossing_layout(&state->crossing, problem, work);
}

static int size_of(const solver_problem *problem) {
    return 3 * problem->pattern->node_count;
}

static bool has_multipliers(const solver_problem *problem) {
    bool any = false;
    EACH_LIMITED (problem, k, limits) any |= limits->warm(problem->bodies[k]);
    for (int i = 0; i < problem->contact_count; i++) any |= problem->contacts[i].lambda.x > 0;
    return any;
}

static bool newton_needs_free_motion(const solver_problem *problem) {
    return !has_multipliers(problem);
}

/* direction = -H^-1 gradient; false if H is not positive definite. */
static bool find_direction(newton_state *state, const solver_problem *problem, double rho) {
    lagrangian_hessian(problem, rho, state->hessian);
    if (!solver_factor(problem, state->hessian)) return false;
    for (int i = 0; i < size_of(problem); i++) state->direction[i] = -state->gradient[i];
    if (problem->crosses && crossing_collect(&state->crossing, problem) > 0)
        crossing_solve(&state->crossing, problem, state->hessian,
                       sqrt(rows_dot(state->residual, state->residual, size_of(problem))), state->direction);
    else
        solver_solve(problem, state->direction);
    return true;
}

/* Goes along the direction as far as Phi falls enough. Leaves the bodies at the new d. */
static void line_search(newton_state *state, const solver_problem *problem, double rho) {
    int n = size_of(problem);
    double slope = rows_dot(state->gradient, state->direction, n), before = lagrangian_constraint_energy(problem, rho);
    block_pattern_multiply(problem->pattern, problem->A, state->direction, state->product);
    double linear = rows_dot(state->residual, state->direction, n),
           square = rows_dot(state->direction, state->product, n);
    double step = 1, done = 0;
    for (int halvings = 0;; halvings++, step /= 2) {
        for (int i = 0; i < n; i++) state->d[i] += (step - done) * state->direction[i];
        done = step;
        lagrangian_move(problem, state->d);
        double change =
            step * linear + 0.5 * step * step * square + lagrangian_constraint_energy(problem, rho) - before;
        if (change <= ARMIJO * step * slope || halvings == MOST_HALVINGS) break;
    }
    for (int i = 0; i < n; i++) state->residual[i] += step * state->product[i];
}

/* residual = A d - h b; the bodies are looked at where d takes them. Returns Phi. */
static double look_at(newton_state *state, const solver_problem *problem, double rho) {
    double h = problem->step->h;
    int n = size_of(problem);
    block_pattern_multiply(problem->pattern, problem->A, state->d, state->residual);
    double linear = rows_dot(problem->b, state->d, n), square = rows_dot(state->d, state->residual, n);
    for (int i = 0; i < n; i++) state->residual[i] -= h * problem->b[i];
    lagrangian_move(problem, state->d);
    contacts_guess_shift(problem->contacts, problem->contact_count);
    return 0.5 * square - h * linear + lagrangian_constraint_energy(problem, rho);
}

/* d of the motion going on as it did: at the velocities of the last step, or with these changing on as they did in it
 * (a body that turns grows at constant velocities), whichever is nearer to the minimum. */
static void start_warm(newton_state *state, const solver_problem *problem) {
    double h = problem->step->h, *more = state->product, largest = 0;
    int n = size_of(problem);
    for (int k = 0; k < problem->body_count; k++) {
        const body_state *body = problem->bodies[k];
        body->model->kind->velocity(body, state->d + 3 * problem->first_node[k]);
        body->model->kind->change(body, more + 3 * problem->first_node[k]);
    }
    for (int i = 0; i < n; i++) {
        state->d[i] *= h, more[i] *= h;
        largest = fmax(largest, fabs(more[i]));
    }
    if (largest <= SAME_START) {
        look_at(state, problem, RHO_NEAR);
        return;
    }
    double plain = look_at(state, problem, RHO_NEAR);
    for (int i = 0; i < n; i++) state->d[i] += more[i];
    if (look_at(state, problem, RHO_NEAR) <= plain) return;
    for (int i = 0; i < n; i++) state->d[i] -= more[i];
    look_at(state, problem, RHO_NEAR);
}

static void start(newton_state *state, const solver_problem *problem, bool is_warm) {
    EACH_LIMITED (problem, k, limits) {
        limits->begin(problem->bodies[k]);
        limits->take_up(problem->bodies[k]);
    }
    if (is_warm) {
        start_warm(state, problem);
        return;
    }
    for (int i = 0; i < size_of(problem); i++) state->d[i] = problem->step->h * problem->v[i];
    look_at(state, problem, RHO_NEAR);
}

/* The start's rho, with the multipliers (kept in units of RHO_NEAR) in its units. */
static double first_rho(const solver_problem *problem) {
    if (lagrangian_measure_limits(problem).distance <= FAR_DISTANCE) return RHO_NEAR;
    EACH_LIMITED (problem, k, limits) {
        limits->rescale(problem->bodies[k], RHO_NEAR / RHO_FAR, INFINITY);
        limits->evaluate(problem->bodies[k], problem->step);
    }
    return RHO_FAR;
}

static bool contacts_agree(const solver_problem *problem, const contact_measures *now, double slack) {
    const solver_tolerances *tolerance = &problem->tolerance;
    return now->length <= slack * tolerance->length * problem->step->h &&
           now->force <= slack * tolerance->force * now->mean;
}

/* Near enough to the minimum of Phi for the multipliers to move: loosely as long as they are far off; strictly once
 * those of contacts do not come to rest, since steps from rough minima may go round in circles. */
static bool is_settled(const solver_problem *problem, const lagrangian_measures *now, int updates) {
    bool limits_far = now->limits.distance > 5 * problem->tolerance.violation;
    bool contacts_far = updates < LOOSE_UPDATES && !contacts_agree(problem, &now->contacts, 10);
    bool strict = problem->contact_count > 0 && updates >= STRICT_UPDATES;
    double share = limits_far || contacts_far ? 10 : strict ? 0.1 : 1;
    return now->slope <= share * GRADIENT_SETTLED * now->size && now->balance <= share * problem->tolerance.balance;
}

static bool is_converged(const solver_problem *problem, const lagrangian_measures *now) {
    const solver_tolerances *tolerance = &problem->tolerance;
    return now->limits.distance <= tolerance->violation && contacts_agree(problem, &now->contacts, 1) &&
           now->slope <= tolerance->stationarity * now->size && now->balance <= tolerance->balance;
}

/* Outer and inner iterations. False if a factorization failed. */
static bool iterate(newton_state *state, const solver_problem *problem, solver_report *report) {
    int inner = 0, updates = 0;
    double rho = first_rho(problem), before = INFINITY;
    for (int pass = 0; pass < MOST_PASSES && report->iterations < MOST_ITERATIONS; pass++) {
        lagrangian_gradient(problem, rho, state->residual, state->gradient);
        lagrangian_measures now = lagrangian_measure(problem, state->residual, state->gradient);
        solver_tell(problem, report->iterations, false, now.limits.distance);
        bool settled = is_settled(problem, &now, updates);
        /* One iteration is mostly enough; but where it leaves more than a trace, bodies at rest tremble between two
         * states that are both within the tolerances, so contacts get a second one. */
        bool polish = problem->contact_count > 0 && report->iterations == 1 && now.slope > GRADIENT_TRACE * now.size;
        report->converged = report->iterations > 0 && !polish && is_converged(problem, &now);
        /* Multipliers that move twice without a step in between are moved by the same violation twice. */
        if (!report->converged && inner < MOST_INNER && (!settled || inner == 0 || polish)) {
            if (!find_direction(state, problem, rho)) return false;
            line_search(state, problem, rho);
            report->iterations++;
            inner++;
            continue;
        }
        report->residual = now.limits.distance;
        report->active = now.limits.active;
        double unmet = fmax(FAR_DISTANCE / 2, NO_PROGRESS * before);
        if (settled && rho >= RHO_LARGEST && now.limits.distance > unmet) break;
        bool raise = settled && now.limits.distance > fmax(DISTANCE_DROP * before, problem->tolerance.violation);
        double next = raise && !report->converged ? fmin(RHO_LARGEST, rho * RHO_GROWTH) : rho;
        EACH_LIMITED (problem, k, limits) limits->update(problem->bodies[k], rho / next, STRESS_LARGEST / next);
        contacts_update(problem->contacts, problem->contact_count);
        updates++;
        rho = next;
        if (report->converged) break;
        EACH_LIMITED (problem, k, limits) limits->evaluate(problem->bodies[k], problem->step);
        before = now.limits.distance;
        inner = 0;
    }
    /* The units in which the next step finds its multipliers. */
    double most = (report->converged ? STRESS_LARGEST : STRESS_UNMET) / RHO_NEAR;
    EACH_LIMITED (problem, k, limits) limits->rescale(problem->bodies[k], rho / RHO_NEAR, most);
    return true;
}

static bool newton_solve(void *solver, const solver_problem *problem, solver_report *report) {
    newton_state *state = solver;
    *report = (solver_report){0};
    bool is_warm = has_multipliers(problem);
    start(state, problem, is_warm);
    report->rows = 3 * problem->contact_count;
    if (!is_warm) {
        report->residual = lagrangian_measure_limits(problem).distance;
        bool touches = contacts_measure(problem->contacts, problem->contact_count).active > 0;
        report->converged = report->residual <= problem->tolerance.violation && !touches;
        if (report->converged) return true;
    }
    if (!iterate(state, problem, report)) return false;
    EACH_LIMITED (problem, k, limits) limits->put_away(problem->bodies[k]);
    for (int i = 0; i < size_of(problem); i++) problem->v[i] = state->d[i] / problem->step->h;
    return true;
}

const solver_class newton_solver = {.name = "newton",
                                    .summary = "augmented-Lagrangian Newton: to the optimum, warm-started",
                                    .state_size = sizeof(newton_state),
                                    .layout = newton_layout,
                                    .needs_free_motion = newton_needs_free_motion,
                                    .solve = newton_solve};
