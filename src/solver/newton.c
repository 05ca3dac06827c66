/* Newton's method on the augmented Lagrangian with spectral limits (perez2016, Eq. 1, solved to its optimum), and
 * contact and friction in the same solve.
 *
 * Inner iterations minimize the augmented Lagrangian Phi (newton.h) by Newton's method with an Armijo line search.
 * The Hessian has the pattern of A, so one iteration is one assembly and one factorization, plus conjugate gradients
 * where soft bodies touch (soft_coupling.c). Where few contacts are active and not converged, an iteration also
 * finds their forces (condense.c). Outer iterations update the multipliers and increase the penalty rho. With the
 * multipliers of the last step as a start, usually one outer iteration is enough, and A itself is never factored.
 *
 * Two things are essential: complementarity in the stopping rule, or wrong multipliers add energy to the motion; and
 * the curvature of the limits in the Hessian, or the iteration stalls. */
#include "solver/newton.h"

#include "body/rigid.h"
#include "solver/baseline/baseline.h"
#include "solver/solver.h"

#include <math.h>
#include <string.h>

static int size_of(const solver_problem *problem) {
    return 3 * problem->pattern->node_count;
}

/* Evaluates limits and contacts at d. */
static void lagrangian_evaluate(const solver_problem *problem, const double *d) {
    EACH_LIMITED (problem, k, limits) {
        limits->move(problem->bodies[k], problem->step, d + 3 * problem->first_node[k]);
        limits->evaluate(problem->bodies[k], problem->step);
    }
    contact_evaluate(problem->contacts, problem->contact_count, d);
    patch_evaluate(problem->patches, problem->patch_count, d);
}

/* The terms of limits and contacts, kg m^2. */
static double lagrangian_constraint_energy(const solver_problem *problem, double rho) {
    double sum = 0, h = problem->step->h;
    EACH_LIMITED (problem, k, limits) sum += limits->energy(problem->bodies[k]);
    return h * h *
           (rho * sum + contact_energy(problem->contacts, problem->contact_count) -
            patch_work(problem->patches, problem->patch_count));
}

/* gradient = residual + gradients of the terms; residual = A d - h b = A (x - x*). */
static void lagrangian_gradient(const solver_problem *problem, double rho, const double *residual, double *gradient) {
    double h = problem->step->h;
    memcpy(gradient, residual, (size_t)size_of(problem) * sizeof *gradient);
    EACH_LIMITED (problem, k, limits)
        limits->gradient(problem->bodies[k], problem->step, h * h * rho, gradient + 3 * problem->first_node[k]);
    contact_add_gradient(problem->contacts, problem->contact_count, h * h, gradient);
    patch_add_forces(problem->patches, problem->patch_count, -h * h, gradient);
    solver_fold(problem, gradient);
}

/* Without those of contacts. */
static void lagrangian_hessian_of_limits(const solver_problem *problem, double rho, double *hessian) {
    double h = problem->step->h;
    memcpy(hessian, problem->A, 9 * (size_t)problem->pattern->block_count * sizeof *hessian);
    EACH_LIMITED (problem, k, limits) limits->hessian(problem->bodies[k], problem->step, h * h * rho, hessian);
}

/* hessian = A + Hessians of the terms, 9 per block. */
static void lagrangian_hessian(const solver_problem *problem, double rho, double *hessian) {
    double h = problem->step->h;
    lagrangian_hessian_of_limits(problem, rho, hessian);
    contact_add_hessian(problem->contacts, problem->contact_count, h * h, hessian);
}

static body_limit_measures lagrangian_measure_limits(const solver_problem *problem) {
    body_limit_measures all = {0};
    EACH_LIMITED (problem, k, limits) {
        body_limit_measures one = limits->measure(problem->bodies[k]);
        all.distance = fmax(all.distance, one.distance);
        all.active += one.active;
    }
    return all;
}

/* The forces of a soft body are so much larger than the weight of a small object that |gradient| alone hides an
 * unbalanced object. */
static double out_of_balance(const solver_problem *problem, const double *gradient) {
    double h = problem->step->h, worst = 0;
    for (int k = 0; k < problem->body_count; k++) {
        if (problem->bodies[k]->model->kind != &rigid_class) continue;
        const rigid_model *body = (const rigid_model *)problem->bodies[k]->model;
        if (body->motion != THENAR_MOTION_DYNAMIC) continue;
        const double *own = gradient + 3 * problem->first_node[k];
        double weight = 9.81 * body->base.mass, arm = sqrt(mat3_trace(body->inertia) / (2 * body->base.mass));
        double force = vec3_length(vec3_load(own + 3 * RIGID_LINEAR)) / (h * h);
        double torque = vec3_length(vec3_load(own + 3 * RIGID_ANGULAR)) / (h * h);
        worst = fmax(worst, fmax(force, torque / arm) / weight);
    }
    return worst;
}

static lagrangian_measures lagrangian_measure(const solver_problem *problem, const double *residual,
                                              const double *gradient) {
    int n = size_of(problem);
    return (lagrangian_measures){.limits = lagrangian_measure_limits(problem),
                                 .contacts = contact_measure(problem->contacts, problem->contact_count),
                                 .size = sqrt(rows_dot(residual, residual, n)),
                                 .slope = sqrt(rows_dot(gradient, gradient, n)),
                                 .balance = out_of_balance(problem, gradient)};
}

/* Penalties rho, in units of the Young's modulus of each tet. A low one converges in few iterations far from the
 * limits, a high one near them. It is increased only when a multiplier step did not reduce the distance: with a rho
 * that is too high too early, the line search takes tiny steps (40 iterations instead of 16 on a hand that is
 * thrown). */
#define RHO_NEAR NEWTON_RHO
#define RHO_FAR 50.0
#define RHO_GROWTH 10.0
#define RHO_LARGEST 1e4
/* Distance of a strain from its limits above which RHO_FAR is better. With 0.02 a hand that closes to a fist starts
 * low in steps where it should not, and takes up to 44 iterations instead of 15. */
#define FAR_DISTANCE 0.05
#define DISTANCE_DROP 0.3 /* reduction that a multiplier step should achieve */

/* In Young's moduli: maximum stress of a multiplier (safeguarded multipliers [Andreani, Birgin, Martinez, Schuverdt
 * 2008, On augmented Lagrangian methods with general lower-level constraints, SIAM J. Optim. 18]). Where limits,
 * contacts and supports are incompatible, as when pads are driven closer than their limits allow, multipliers would
 * grow without limit and throw away what is between them. */
#define STRESS_LARGEST 1000.0
#define STRESS_UNMET 10.0   /* the same after a step that did not converge: with 30, squeezed pads buckle */
#define NO_PROGRESS 0.8     /* of the distance remains after a multiplier step: the limits are incompatible */
#define UNMET_DISTANCE 0.01 /* of a strain from its limits, for that test */

/* |gradient| over |A (x - x*)| at which the multipliers are updated. */
#define GRADIENT_SETTLED 0.01
#define GRADIENT_TRACE 5e-4
#define LOOSE_UPDATES 2  /* updates of the multipliers for which ten times that is enough */
#define STRICT_UPDATES 3 /* updates after which a tenth is required */
#define SAME_START 1e-7  /* m: initial guesses that differ by less are equal */
#define MAX_INNER 8      /* Newton steps before the multipliers are updated in any case */
#define MAX_ITERATIONS 60
/* The maximum when time is short. hand-letters, in steps of 10 ms: 12.2 iterations and 5.7 ms per step on average,
 * maximum 45 and 21 ms; with 20: 9.8 and 4.8 ms, maximum 14 ms, and letters differ by 3 mm after 4 s. With 16 they
 * differ by 77 mm; with 4 no step of grip-strong converges, and it takes 4.0 iterations instead of 1.4. Grips take
 * fewer in any case. */
#define HURRIED_ITERATIONS 20
/* Iterations in which contacts are condensed. Beyond these the forces may oscillate, since they are exact for limits
 * that are not converged: with up to 64 contacts condensed in all iterations, half of the steps of 10 ms in which
 * 1000 N press a finger on a table did not converge. */
#define MAX_CONDENSED 20
#define MAX_PASSES 120 /* Newton and multiplier steps together */
#define MAX_HALVINGS 20
#define ARMIJO 1e-4

/* Tolerance of a direction where soft bodies touch. With 1e-3 Newton takes a few percent fewer steps, but conjugate
 * gradients more than twice as many (hand-letters: 17 ms per step instead of 7). */
#define COUPLING_SHARE 0.1 /* relative residual */
#define COUPLING_STEPS 100
#define LINKED_SHARE 0.01   /* with spring contacts, whose passes do not converge if light bodies are inaccurate */
#define COUPLING_TRACE 1e-5 /* of |A (x - x*)|, a fiftieth of GRADIENT_TRACE: enough for a system at rest */

typedef struct newton_state {
    double *hessian;   /* 9 per block */
    double *d;         /* 3 per node: x - x0 */
    double *residual;  /* A (x - x*) */
    double *gradient;  /* of the augmented Lagrangian */
    double *direction; /* Newton's */
    double *product;   /* A direction */
    condense condense;
    patch_forces patch_forces;
} newton_state;
static_assert(sizeof(newton_state) <= SOLVER_STATE_LARGEST, "a solver's state must fit where it is measured");

static void newton_layout(void *solver, const solver_problem *problem, arena *work) {
    newton_state *state = solver;
    size_t components = 3 * (size_t)problem->pattern->node_count;
    state->hessian = ARENA_ARRAY(work, double, 9 * (size_t)problem->pattern->block_count);
    state->d = ARENA_ARRAY(work, double, components);
    state->residual = ARENA_ARRAY(work, double, components);
    state->gradient = ARENA_ARRAY(work, double, components);
    state->direction = ARENA_ARRAY(work, double, components);
    state->product = ARENA_ARRAY(work, double, components);
    condense_layout(&state->condense, problem, work);
    patch_forces_layout(&state->patch_forces, problem, problem->patch_rows, work);
}

static bool has_multipliers(const solver_problem *problem) {
    bool any = false;
    EACH_LIMITED (problem, k, limits) any |= limits->warm(problem->bodies[k]);
    for (int i = 0; i < problem->contact_count; i++) any |= problem->contacts[i].lambda.x > 0;
    for (int i = 0; i < problem->patch_count; i++) any |= problem->patches[i].lambda[0] > 0;
    return any;
}

static bool newton_needs_free_motion(const solver_problem *problem) {
    return !has_multipliers(problem);
}

/* The direction with condensed contacts; updates their multipliers and the gradient. False, and nothing changes but
 * the factor, if that is not possible. */
static bool find_condensed(newton_state *state, const solver_problem *problem, double rho) {
    if (problem->coupled || problem->uncondensed || condense_collect(&state->condense, problem) == 0) return false;
    lagrangian_hessian_of_limits(problem, rho, state->hessian);
    if (!solver_factor(problem, state->hessian)) return false;
    if (!condense_solve(&state->condense, problem, state->gradient, state->direction)) return false;
    contact_evaluate(problem->contacts, problem->contact_count, state->d);
    lagrangian_gradient(problem, rho, state->residual, state->gradient);
    return true;
}

/* The forces of patches for the next step, direction = H^-1 (h^2 J^T lambda - g) with g the gradient without them,
 * and that direction. */
static void find_direction_with_patches(newton_state *state, const solver_problem *problem) {
    int n = size_of(problem);
    double h = problem->step->h;
    patch_add_forces(problem->patches, problem->patch_count, h * h, state->gradient);
    for (int i = 0; i < n; i++) state->direction[i] = -state->gradient[i];
    solver_solve(problem, state->direction);
    for (int i = 0; i < n; i++) state->product[i] = state->d[i] + state->direction[i];
    patch_evaluate(problem->patches, problem->patch_count, state->product);
    patch_forces_assemble(&state->patch_forces, problem);
    patch_forces_solve(&state->patch_forces, problem);
    patch_add_forces(problem->patches, problem->patch_count, -h * h, state->gradient);
    for (int i = 0; i < n; i++) state->direction[i] = -state->gradient[i];
    solver_solve(problem, state->direction);
    patch_evaluate(problem->patches, problem->patch_count, state->d);
}

static bool is_limited(const solver_problem *problem) {
    bool any = false;
    EACH_LIMITED (problem, k, limits) any = true;
    return any;
}

/* Without limits and contacts, H is A, which was factored for the free motion. */
static bool is_factored(const solver_problem *problem) {
    return problem->patch_count > 0 && !is_limited(problem);
}

/* direction = -H^-1 gradient; false if H is not positive definite. */
static bool find_direction(newton_state *state, const solver_problem *problem, double rho) {
    if (!is_factored(problem)) {
        lagrangian_hessian(problem, rho, state->hessian);
        if (!solver_factor(problem, state->hessian)) return false;
    }
    if (problem->patch_count > 0) {
        find_direction_with_patches(state, problem);
        return true;
    }
    for (int i = 0; i < size_of(problem); i++) state->direction[i] = -state->gradient[i];
    double size = sqrt(rows_dot(state->residual, state->residual, size_of(problem)));
    soft_coupling_end end = {.share = problem->link_count > 0 ? LINKED_SHARE : COUPLING_SHARE,
                             .trace = COUPLING_TRACE * size,
                             .max = COUPLING_STEPS};
    soft_coupling_solve(problem, state->hessian, end, state->direction);
    return true;
}

/* Moves along the direction as far as Phi decreases enough. Leaves the bodies evaluated at the new d. */
static void line_search(newton_state *state, const solver_problem *problem, double rho) {
    int n = size_of(problem);
    double slope = rows_dot(state->gradient, state->direction, n), before = lagrangian_constraint_energy(problem, rho);
    soft_coupling_multiply(problem, state->direction, state->product);
    double linear = rows_dot(state->residual, state->direction, n),
           square = rows_dot(state->direction, state->product, n);
    double step = 1, done = 0;
    for (int halvings = 0;; halvings++, step /= 2) {
        for (int i = 0; i < n; i++) state->d[i] += (step - done) * state->direction[i];
        done = step;
        lagrangian_evaluate(problem, state->d);
        double change =
            step * linear + 0.5 * step * step * square + lagrangian_constraint_energy(problem, rho) - before;
        if (change <= ARMIJO * step * slope || halvings == MAX_HALVINGS) break;
    }
    solver_fold(problem, state->product);
    for (int i = 0; i < n; i++) state->residual[i] += step * state->product[i];
}

/* residual = A d - h b; evaluates the bodies at d. Returns Phi. */
static double evaluate(newton_state *state, const solver_problem *problem, double rho) {
    double h = problem->step->h;
    int n = size_of(problem);
    soft_coupling_multiply(problem, state->d, state->residual);
    double linear = rows_dot(problem->b, state->d, n), square = rows_dot(state->d, state->residual, n);
    for (int i = 0; i < n; i++) state->residual[i] -= h * problem->b[i];
    solver_fold(problem, state->residual);
    lagrangian_evaluate(problem, state->d);
    contact_guess_shift(problem->contacts, problem->contact_count);
    return 0.5 * square - h * linear + lagrangian_constraint_energy(problem, rho);
}

/* The initial d: h times the velocity of the last step, or with the same change of velocity as in that step (a body
 * that rotates grows at constant velocities), whichever is closer to the minimum. */
static void start_warm(newton_state *state, const solver_problem *problem) {
    double h = problem->step->h, *more = state->product, largest = 0;
    int n = size_of(problem);
    for (int k = 0; k < problem->body_count; k++) {
        const body_state *body = problem->bodies[k];
        body->model->kind->velocity(body, state->d + 3 * problem->first_node[k]);
        body->model->kind->change(body, more + 3 * problem->first_node[k]);
    }
    solver_expand(problem, state->d);
    solver_expand(problem, more);
    for (int i = 0; i < n; i++) {
        state->d[i] *= h, more[i] *= h;
        largest = fmax(largest, fabs(more[i]));
    }
    if (largest <= SAME_START) {
        evaluate(state, problem, RHO_NEAR);
        return;
    }
    double plain = evaluate(state, problem, RHO_NEAR);
    for (int i = 0; i < n; i++) state->d[i] += more[i];
    if (evaluate(state, problem, RHO_NEAR) <= plain) return;
    for (int i = 0; i < n; i++) state->d[i] -= more[i];
    evaluate(state, problem, RHO_NEAR);
}

static void start(newton_state *state, const solver_problem *problem, bool is_warm) {
    EACH_LIMITED (problem, k, limits) {
        limits->begin(problem->bodies[k]);
        limits->take_up(problem->bodies[k]);
    }
    if (is_warm && !problem->continues) {
        start_warm(state, problem);
        return;
    }
    for (int i = 0; i < size_of(problem); i++) state->d[i] = problem->step->h * problem->v[i];
    evaluate(state, problem, RHO_NEAR);
}

/* The initial rho; converts the multipliers, stored in units of RHO_NEAR. */
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

/* Whether d is close enough to the minimum of Phi to update the multipliers: loose while they are far off, strict
 * once those of contacts do not settle, since steps from inaccurate minima may cycle. */
static bool is_settled(const solver_problem *problem, const lagrangian_measures *now, int updates) {
    bool limits_far = now->limits.distance > 5 * problem->tolerance.violation;
    bool contacts_far = updates < LOOSE_UPDATES && !contacts_agree(problem, &now->contacts, 10);
    bool strict = updates >= STRICT_UPDATES && !contacts_agree(problem, &now->contacts, 1);
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
    bool condensed = false;
    double rho = first_rho(problem), before = INFINITY;
    for (int pass = 0; pass < MAX_PASSES; pass++) {
        lagrangian_gradient(problem, rho, state->residual, state->gradient);
        lagrangian_measures now = lagrangian_measure(problem, state->residual, state->gradient);
        if (problem->patch_count > 0 && report->iterations > 0)
            now.contacts = patch_forces_measure(&state->patch_forces, problem);
        solver_trace_point(problem, report->iterations, false, now.limits.distance);
        bool settled = is_settled(problem, &now, updates);
        /* One iteration is usually enough. But where it leaves more than rounding, bodies at rest tremble between
         * two states within the tolerances, so contacts get a second one. */
        bool polish = problem->contact_count + problem->patch_count > 0 && report->iterations == 1 &&
                      now.slope > GRADIENT_TRACE * now.size;
        report->converged = report->iterations > 0 && !polish && is_converged(problem, &now);
        /* The last iteration updates the multipliers in any case, or the next step would start where this one did. */
        bool is_last = report->iterations >= solver_max_iterations(problem, MAX_ITERATIONS);
        /* Two updates without a step in between would count the same violation twice. */
        if (!report->converged && !is_last && inner < MAX_INNER && (!settled || inner == 0 || polish)) {
            /* Once started it continues: contacts that are terms in every other iteration cycle. */
            condensed |= !contacts_agree(problem, &now.contacts, 1);
            bool all_at_once = condensed && report->iterations < MAX_CONDENSED;
            if (!(all_at_once && find_condensed(state, problem, rho)) && !find_direction(state, problem, rho))
                return false;
            line_search(state, problem, rho);
            report->iterations++;
            inner++;
            continue;
        }
        report->residual = now.limits.distance;
        report->active = now.limits.active;
        double unmet = fmax(UNMET_DISTANCE, NO_PROGRESS * before);
        if (settled && rho >= RHO_LARGEST && now.limits.distance > unmet) break;
        bool raise = settled && now.limits.distance > fmax(DISTANCE_DROP * before, problem->tolerance.violation);
        double next = raise && !report->converged ? fmin(RHO_LARGEST, rho * RHO_GROWTH) : rho;
        EACH_LIMITED (problem, k, limits) limits->update(problem->bodies[k], rho / next, STRESS_LARGEST / next);
        contact_update(problem->contacts, problem->contact_count);
        updates++;
        rho = next;
        if (report->converged || is_last) break;
        EACH_LIMITED (problem, k, limits) limits->evaluate(problem->bodies[k], problem->step);
        before = now.limits.distance;
        inner = 0;
    }
    /* The units of the stored multipliers. */
    double max = (report->converged ? STRESS_LARGEST : STRESS_UNMET) / RHO_NEAR;
    EACH_LIMITED (problem, k, limits) limits->rescale(problem->bodies[k], rho / RHO_NEAR, max);
    return true;
}

static bool newton_solve(void *solver, const solver_problem *problem, solver_report *report) {
    newton_state *state = solver;
    *report = (solver_report){0};
    bool is_warm = has_multipliers(problem) && !is_factored(problem);
    start(state, problem, is_warm);
    report->rows = 3 * problem->contact_count + problem->patch_rows * problem->patch_count;
    if (!is_warm) {
        report->residual = lagrangian_measure_limits(problem).distance;
        bool touches =
            problem->patch_count > 0 || contact_measure(problem->contacts, problem->contact_count).active > 0;
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
                                    .takes_links = true,
                                    .hurried = HURRIED_ITERATIONS,
                                    .layout = newton_layout,
                                    .needs_free_motion = newton_needs_free_motion,
                                    .solve = newton_solve};
