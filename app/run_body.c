#include "app/run_body.h"

#include "core/vec3.h"
#include "world/sim.h"

bool run_body_is_rigid(const thenar_model *model, int body) {
    return thenar_model_body_kind(model, body) == THENAR_BODY_RIGID;
}

static vec3 centroid(const thenar_sim *sim, int body) {
    const thenar_model *model = thenar_sim_model(sim);
    if (run_body_is_rigid(model, body)) {
        double position[3], quaternion[4];
        thenar_sim_pose(sim, body, position, quaternion);
        return vec3_load(position);
    }
    const double *x = thenar_sim_positions(sim, body), *mass = thenar_model_masses(model, body);
    vec3 sum = {0};
    double total = 0;
    for (int i = 0; i < thenar_model_mesh(model, body)->node_count; i++) {
        total += mass[i];
        sum = vec3_mul_add(sum, vec3_load(x + 3 * i), mass[i]);
    }
    return vec3_scale(sum, 1 / total);
}

/* A torque about the origin becomes one about a point: T - p x F. */
static void move_torque(double torque[3], const double force[3], vec3 point) {
    vec3_store(torque, vec3_sub(vec3_load(torque), vec3_cross(point, vec3_load(force))));
}

static void add_supports(const thenar_sim *sim, int body, run_body_figures *figures) {
    for (int s = 0; s < model_soft(thenar_sim_model(sim), body)->support_count; s++) {
        double force[3], torque[3];
        thenar_sim_support_wrench(sim, body, s, force, torque);
        for (int k = 0; k < 3; k++) {
            figures->support_force[k] += force[k];
            figures->support_torque[k] += torque[k];
        }
    }
}

static void add_contacts(const thenar_sim *sim, int body, run_body_figures *figures) {
    const thenar_contact *contacts = thenar_sim_contacts(sim);
    double friction = 0;
    for (int i = 0; i < thenar_sim_contact_count(sim); i++) {
        const thenar_contact *point = &contacts[i];
        if ((point->body[0] != body && point->body[1] != body) || !(point->force > 0)) continue;
        figures->contacts++;
        figures->normal_force += point->force;
        friction += vec3_length(vec3_load(point->friction));
        if (point->area > 0) figures->largest_pressure = fmax(figures->largest_pressure, point->force / point->area);
    }
    if (figures->normal_force > 0) figures->friction_ratio = friction / figures->normal_force;
    if (figures->contact_area > 0) figures->pressure = figures->normal_force / figures->contact_area;
}

run_body_figures run_body_measure(const thenar_sim *sim, int body) {
    run_body_figures figures = {0};
    vec3 centre = centroid(sim, body);
    vec3_store(figures.centroid, centre);
    thenar_sim_contact_wrench(sim, body, figures.force, figures.torque, &figures.contact_area);
    move_torque(figures.torque, figures.force, centre);
    add_contacts(sim, body, &figures);
    if (run_body_is_rigid(thenar_sim_model(sim), body)) return figures;
    add_supports(sim, body, &figures);
    move_torque(figures.support_torque, figures.support_force, centre);
    return figures;
}
