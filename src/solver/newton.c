/* Spectral augmented-Lagrangian Newton (perez2016 Eq. 1 solved to its optimum).
 *
 *   Phi(d) = 1/2 d^T A d - h b^T d + sum of the bodies' limit terms,   d = x - x0,   A (x - x*) = A d - h b
 *
 * Inner iterations minimize Phi by Newton with an Armijo line search; the Hessian has the pattern of A, so one iteration
 * is one assembly and one factorization. Outer steps move the multipliers and raise the penalty rho. Started from the
 * multipliers of the last step, mostly one outer step is left to do, and A itself is never factored.
 *
 * What must not be left out (each was met): complementarity in the stopping rule, or multipliers that stuck pump energy
 * into the motion; the curvature of the limits in the Hessian, or the iteration stalls. */
#include "solver/newton.h"

#include <math.h>
#include <string.h>

/* Penalties in units of each tet's Young's modulus. A cold start has far to go and rises fast from a low rho. */
typedef struct newton_schedule {
    double first, growth, last;
    int inner; /* Newton steps before the multipliers move anyway */
} newton_schedule;
static const newton_schedule cold = {.first = 30, .growth = 10, .last = 3000, .inner = 3};
static const newton_schedule warm = {.first = 500, .growth = 6, .last = 1e4, .inner = 5};

#define MULTIPLIER_GRADIENT 0.01 /* of |A (x - x*)|: small enough for the multipliers to move */
#define MOST_ITERATIONS 60
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
    EACH_LIMITED (problem, k, limits) limits->move(problem->bodies[k], problem->step, d + 3 * problem->first_node[k]);
}

static double limit_energy(const solver_problem *problem, double weight) {
    double sum = 0;
    EACH_LIMITED (problem, k, limits) sum += limits->energy(problem->bodies[k], weight);
    return sum;
}

static body_limit_measures measure(const solver_problem *problem) {
    body_limit_measures all = {0};
    EACH_LIMITED (problem, k, limits) {
        body_limit_measures one = limits->measure(problem->bodies[k]);
        all.violation = fmax(all.violation, one.violation);
        all.complementarity = fmax(all.complementarity, one.complementarity);
        all.active += one.active;
    }
    return all;
}

/* Gradient and Hessian of Phi at d. */
static void linearize(newton_state *state, const solver_problem *problem, double weight) {
    memcpy(state->hessian, problem->A, 9 * (size_t)problem->pattern->block_count * sizeof *state->hessian);
    memcpy(state->gradient, state->residual, (size_t)size_of(problem) * sizeof *state->gradient);
    EACH_LIMITED (problem, k, limits)
        limits->linearize(problem->bodies[k], problem->step, weight, state->hessian,
                          state->gradient + 3 * problem->first_node[k]);
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
    EACH_LIMITED (problem, k, limits) limits->begin(problem->bodies[k]);
    move_to(problem, state->d);
}

static bool iterate(newton_state *state, const solver_problem *problem, const newton_schedule *schedule,
                    solver_report *report, double *last_rho) {
    int n = size_of(problem), inner = 0;
    double h = problem->step->h, rho = schedule->first;
    const solver_tolerances *tolerance = &problem->tolerance;
    for (report->iterations = 0; report->iterations < MOST_ITERATIONS;) {
        if (problem->trace) solver_tell(problem, report->iterations, false, measure(problem).violation);
        linearize(state, problem, h * h * rho);
        double size = sqrt(dot(state->residual, state->residual, n));
        double slope = sqrt(dot(state->gradient, state->gradient, n));
        if (report->iterations > 0 && (slope <= MULTIPLIER_GRADIENT * size || inner >= schedule->inner)) {
            body_limit_measures now = measure(problem);
            report->residual = now.violation;
            report->active = now.active;
            report->converged = now.violation <= tolerance->violation && slope <= tolerance->stationarity * size &&
                                now.complementarity <= tolerance->complementarity;
            double next = fmin(schedule->last, rho * schedule->growth);
            if (report->converged) next = rho;
            EACH_LIMITED (problem, k, limits) limits->update(problem->bodies[k], rho / next);
            rho = next;
            inner = 0;
            if (report->converged) break;
            continue;
        }
        if (cholesky_factorize(problem->factor, state->hessian, problem->step->pool) != CHOLESKY_DONE) return false;
        for (int i = 0; i < n; i++) state->direction[i] = -state->gradient[i];
        cholesky_solve(problem->factor, state->direction);
        line_search(state, problem, h * h * rho);
        report->iterations++;
        inner++;
    }
    *last_rho = rho;
    return true;
}

static bool newton_solve(void *solver, const solver_problem *problem, solver_report *report) {
    newton_state *state = solver;
    *report = (solver_report){0};
    bool is_warm = has_multipliers(problem);
    start(state, problem, is_warm);
    if (!is_warm) {
        body_limit_measures now = measure(problem);
        report->residual = now.violation;
        report->converged = now.violation <= problem->tolerance.violation;
        if (report->converged) return true;
    }
    double rho;
    if (!iterate(state, problem, is_warm ? &warm : &cold, report, &rho)) return false;
    /* The next step starts with the multipliers in its own units. */
    EACH_LIMITED (problem, k, limits) limits->rescale(problem->bodies[k], rho / warm.first);
    for (int i = 0; i < size_of(problem); i++) problem->v[i] = state->d[i] / problem->step->h;
    return true;
}

const solver_class newton_solver = {.name = "newton",
                                    .summary = "augmented-Lagrangian Newton: to the optimum, warm-started",
                                    .state_size = sizeof(newton_state),
                                    .layout = newton_layout,
                                    .needs_free_motion = newton_needs_free_motion,
                                    .solve = newton_solve};
