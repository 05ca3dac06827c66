/* Spectral augmented-Lagrangian Newton (perez2016 Eq. 1 solved to its optimum).
 *
 *   Phi(d) = 1/2 d^T A d - h b^T d + sum of the bodies' limit terms,   d = x - x0,   A (x - x*) = A d - h b
 *
 * Inner iterations minimize Phi by Newton with an Armijo line search; the Hessian has the pattern of A, so one
 * iteration is one assembly and one factorization. Outer steps move the multipliers and raise the penalty rho. Started
 * from the multipliers of the last step, mostly one outer step is left to do, and A itself is never factored.
 *
 * What must not be left out (each was met): complementarity in the stopping rule, or multipliers that stuck pump energy
 * into the motion; the curvature of the limits in the Hessian, or the iteration stalls. */
#include "solver/newton.h"

#include <math.h>
#include <string.h>

/* Penalties rho, in units of each tet's Young's modulus. Far from the limits a low one converges in few iterations,
 * near them a high one. It is raised only when a multipliers' step did not bring the distance down: with a rho that is
 * too high too early, the line search takes tiny steps (40 iterations instead of 16 on a hand that is thrown). */
#define RHO_NEAR 500.0
#define RHO_FAR 50.0
#define RHO_GROWTH 10.0
#define RHO_LARGEST 1e4
#define FAR_DISTANCE 0.02 /* of a strain from its limits, where RHO_FAR is better */
#define DISTANCE_DROP 0.3 /* that a multipliers' step should achieve */

/* How small the gradient must be, of |A (x - x*)|, for the multipliers to move: loosely at first. */
#define GRADIENT_LOOSE 0.1
#define GRADIENT_TIGHT 0.01
#define MOST_INNER 8 /* Newton steps before the multipliers move anyway */
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
}

static int size_of(const solver_problem *problem) {
    return 3 * problem->pattern->node_count;
}

static bool has_multipliers(const solver_problem *problem) {
    bool any = false;
    EACH_LIMITED (problem, k, limits) any |= limits->warm(problem->bodies[k]);
    return any;
}

static bool newton_needs_free_motion(const solver_problem *problem) {
    return !has_multipliers(problem);
}

static double dot(const double *a, const double *b, int count) {
    double sum = 0;
    for (int i = 0; i < count; i++) sum += a[i] * b[i];
    return sum;
}

static void move_to(const solver_problem *problem, const double *d) {
    EACH_LIMITED (problem, k, limits) {
        limits->move(problem->bodies[k], problem->step, d + 3 * problem->first_node[k]);
        limits->evaluate(problem->bodies[k], problem->step);
    }
}

static double limit_energy(const solver_problem *problem, double weight) {
    double sum = 0;
    EACH_LIMITED (problem, k, limits) sum += limits->energy(problem->bodies[k]);
    return weight * sum;
}

static body_limit_measures measure(const solver_problem *problem) {
    body_limit_measures all = {0};
    EACH_LIMITED (problem, k, limits) {
        body_limit_measures one = limits->measure(problem->bodies[k]);
        all.distance = fmax(all.distance, one.distance);
        all.active += one.active;
    }
    return all;
}

static void find_gradient(newton_state *state, const solver_problem *problem, double weight) {
    memcpy(state->gradient, state->residual, (size_t)size_of(problem) * sizeof *state->gradient);
    EACH_LIMITED (problem, k, limits)
        limits->gradient(problem->bodies[k], problem->step, weight, state->gradient + 3 * problem->first_node[k]);
}

/* direction = -H^-1 gradient; false if H is not positive definite. */
static bool find_direction(newton_state *state, const solver_problem *problem, double weight) {
    memcpy(state->hessian, problem->A, 9 * (size_t)problem->pattern->block_count * sizeof *state->hessian);
    EACH_LIMITED (problem, k, limits) limits->hessian(problem->bodies[k], problem->step, weight, state->hessian);
    if (cholesky_factorize(problem->factor, state->hessian, problem->step->pool) != CHOLESKY_DONE) return false;
    for (int i = 0; i < size_of(problem); i++) state->direction[i] = -state->gradient[i];
    cholesky_solve(problem->factor, state->direction);
    return true;
}

/* Goes along the direction as far as Phi falls enough. Leaves the bodies at the new d. */
static void line_search(newton_state *state, const solver_problem *problem, double weight) {
    int n = size_of(problem);
    double slope = dot(state->gradient, state->direction, n), before = limit_energy(problem, weight);
    block_pattern_multiply(problem->pattern, problem->A, state->direction, state->product);
    double linear = dot(state->residual, state->direction, n), square = dot(state->direction, state->product, n);
    double step = 1, done = 0;
    for (int halvings = 0;; halvings++, step /= 2) {
        for (int i = 0; i < n; i++) state->d[i] += (step - done) * state->direction[i];
        done = step;
        move_to(problem, state->d);
        double change = step * linear + 0.5 * step * step * square + limit_energy(problem, weight) - before;
        if (change <= ARMIJO * step * slope || halvings == MOST_HALVINGS) break;
    }
    for (int i = 0; i < n; i++) state->residual[i] += step * state->product[i];
}

/* d to start from: the free motion, or the motion of the last step. */
static void start(newton_state *state, const solver_problem *problem, bool is_warm) {
    double h = problem->step->h;
    int n = size_of(problem);
    for (int k = 0; is_warm && k < problem->body_count; k++)
        problem->bodies[k]->model->kind->velocity(problem->bodies[k], problem->v + 3 * problem->first_node[k]);
    for (int i = 0; i < n; i++) state->d[i] = h * problem->v[i];
    block_pattern_multiply(problem->pattern, problem->A, state->d, state->residual);
    for (int i = 0; i < n; i++) state->residual[i] -= h * problem->b[i];
    EACH_LIMITED (problem, k, limits) {
        limits->begin(problem->bodies[k]);
        limits->take_up(problem->bodies[k]);
    }
    move_to(problem, state->d);
}

/* The start's rho, with the multipliers (kept in units of RHO_NEAR) in its units. */
static double first_rho(const solver_problem *problem) {
    if (measure(problem).distance <= FAR_DISTANCE) return RHO_NEAR;
    EACH_LIMITED (problem, k, limits) {
        limits->rescale(problem->bodies[k], RHO_NEAR / RHO_FAR);
        limits->evaluate(problem->bodies[k], problem->step);
    }
    return RHO_FAR;
}

/* Outer and inner iterations. False if a factorization failed. */
static bool iterate(newton_state *state, const solver_problem *problem, solver_report *report) {
    int n = size_of(problem), inner = 0;
    double h = problem->step->h, rho = first_rho(problem), before = INFINITY;
    const solver_tolerances *tolerance = &problem->tolerance;
    for (int pass = 0; pass < MOST_PASSES && report->iterations < MOST_ITERATIONS; pass++) {
        find_gradient(state, problem, h * h * rho);
        body_limit_measures now = measure(problem);
        solver_tell(problem, report->iterations, false, now.distance);
        double size = sqrt(dot(state->residual, state->residual, n));
        double slope = sqrt(dot(state->gradient, state->gradient, n));
        double wanted = now.distance > 5 * tolerance->violation ? GRADIENT_LOOSE : GRADIENT_TIGHT;
        bool settled = slope <= wanted * size;
        if (report->iterations == 0 || (!settled && inner < MOST_INNER)) {
            if (!find_direction(state, problem, h * h * rho)) return false;
            line_search(state, problem, h * h * rho);
            report->iterations++;
            inner++;
            continue;
        }
        report->residual = now.distance;
        report->active = now.active;
        report->converged = now.distance <= tolerance->violation && slope <= tolerance->stationarity * size;
        bool raise = settled && now.distance > DISTANCE_DROP * before;
        double next = raise && !report->converged ? fmin(RHO_LARGEST, rho * RHO_GROWTH) : rho;
        EACH_LIMITED (problem, k, limits) limits->update(problem->bodies[k], rho / next);
        rho = next;
        if (report->converged) break;
        EACH_LIMITED (problem, k, limits) limits->evaluate(problem->bodies[k], problem->step);
        before = now.distance;
        inner = 0;
    }
    /* The units in which the next step finds its multipliers. */
    EACH_LIMITED (problem, k, limits) limits->rescale(problem->bodies[k], rho / RHO_NEAR);
    return true;
}

static bool newton_solve(void *solver, const solver_problem *problem, solver_report *report) {
    newton_state *state = solver;
    *report = (solver_report){0};
    bool is_warm = has_multipliers(problem);
    start(state, problem, is_warm);
    if (!is_warm) {
        report->residual = measure(problem).distance;
        report->converged = report->residual <= problem->tolerance.violation;
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
