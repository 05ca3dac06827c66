#include "solver/lagrangian.h"

#include "body/rigid.h"
#include "solver/rows.h"

#include <math.h>
#include <string.h>

static int size_of(const solver_problem *problem) {
    return 3 * problem->pattern->node_count;
}

void lagrangian_move(const solver_problem *problem, const double *d) {
    EACH_LIMITED (problem, k, limits) {
        limits->move(problem->bodies[k], problem->step, d + 3 * problem->first_node[k]);
        limits->evaluate(problem->bodies[k], problem->step);
    }
    contacts_move(problem->contacts, problem->contact_count, d);
    patches_move(problem->patches, problem->patch_count, d);
}

double lagrangian_constraint_energy(const solver_problem *problem, double rho) {
    double sum = 0, h = problem->step->h;
    EACH_LIMITED (problem, k, limits) sum += limits->energy(problem->bodies[k]);
    return h * h *
           (rho * sum + contacts_energy(problem->contacts, problem->contact_count) -
            patches_work(problem->patches, problem->patch_count));
}

void lagrangian_gradient(const solver_problem *problem, double rho, const double *residual, double *gradient) {
    double h = problem->step->h;
    memcpy(gradient, residual, (size_t)size_of(problem) * sizeof *gradient);
    EACH_LIMITED (problem, k, limits)
        limits->gradient(problem->bodies[k], problem->step, h * h * rho, gradient + 3 * problem->first_node[k]);
    contacts_gradient(problem->contacts, problem->contact_count, h * h, gradient);
    patches_add_force(problem->patches, problem->patch_count, -h * h, gradient);
}

void lagrangian_hessian_of_limits(const solver_problem *problem, double rho, double *hessian) {
    double h = problem->step->h;
    memcpy(hessian, problem->A, 9 * (size_t)problem->pattern->block_count * sizeof *hessian);
    EACH_LIMITED (problem, k, limits) limits->hessian(problem->bodies[k], problem->step, h * h * rho, hessian);
}

void lagrangian_hessian(const solver_problem *problem, double rho, double *hessian) {
    double h = problem->step->h;
    lagrangian_hessian_of_limits(problem, rho, hessian);
    contacts_hessian(problem->contacts, problem->contact_count, h * h, hessian);
}

body_limit_measures lagrangian_measure_limits(const solver_problem *problem) {
    body_limit_measures all = {0};
    EACH_LIMITED (problem, k, limits) {
        body_limit_measures one = limits->measure(problem->bodies[k]);
        all.distance = fmax(all.distance, one.distance);
        all.active += one.active;
    }
    return all;
}

/* A soft body's forces are so much larger than a small object's weight that |gradient| alone hides what the object
 * still misses. */
static double out_of_balance(const solver_problem *problem, const double *gradient) {
    double h = problem->step->h, worst = 0;
    for (int k = 0; k < problem->body_count; k++) {
        if (problem->bodies[k]->model->kind != &rigid_class) continue;
        const rigid_model *body = (const rigid_model *)problem->bodies[k]->model;
        if (body->motion != THENAR_MOTION_DYNAMIC) continue;
        const double *own = gradient + 3 * problem->first_node[k];
        double weight = 9.81 * body->mass, arm = sqrt(mat3_trace(body->inertia) / (2 * body->mass));
        double force = vec3_length(vec3_load(own + 3 * RIGID_LINEAR)) / (h * h);
        double torque = vec3_length(vec3_load(own + 3 * RIGID_ANGULAR)) / (h * h);
        worst = fmax(worst, fmax(force, torque / arm) / weight);
    }
    return worst;
}

lagrangian_measures lagrangian_measure(const solver_problem *problem, const double *residual, const double *gradient) {
    int n = size_of(problem);
    return (lagrangian_measures){.limits = lagrangian_measure_limits(problem),
                                 .contacts = contacts_measure(problem->contacts, problem->contact_count),
                                 .size = sqrt(rows_dot(residual, residual, n)),
                                 .slope = sqrt(rows_dot(gradient, gradient, n)),
                                 .balance = out_of_balance(problem, gradient)};
}
