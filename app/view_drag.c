/* f = k (target - p) - c v at the point p, distributed over the nodes near it. The spring is explicit, so its stiffness is
 * limited by the time step h: with m the effective mass, h^2 k / m <= 1 and c = sqrt(k m) stay well within the stability bound
 * h^2 k / m + 2 h c / m < 4 of the semi-implicit Euler method. The body's own stiffness is implicit and only adds
 * resistance. */
#include "app/view_live.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PATCH_SHARE 0.12 /* radius of the patch that takes the force, as a share of the body's extent */

static double distance(const double a[3], const double b[3]) {
    double x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];
    return sqrt(x * x + y * y + z * z);
}

static void cross(const double a[3], const double b[3], double out[3]) {
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

static double extent_of(const thenar_surface *surface) {
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int i = 0; i < 3 * surface->vertex_count; i++) {
        low[i % 3] = fmin(low[i % 3], surface->positions[i]);
        high[i % 3] = fmax(high[i % 3], surface->positions[i]);
    }
    return distance(low, high);
}

static bool take_soft(view_drag *drag, const thenar_model *model, double extent) {
    const thenar_tet_mesh *mesh = thenar_model_mesh(model, drag->body);
    const double *mass = thenar_model_masses(model, drag->body);
    const double *centre = thenar_model_surface(model, drag->body)->positions + 3 * drag->vertex;
    double total = 0;
    for (double radius = PATCH_SHARE * extent; total == 0; radius *= 2)
        for (int i = 0; i < mesh->node_count; i++) {
            double share = distance(mesh->positions + 3 * i, centre) / radius;
            double weight = mass[i] * (1 - share * share);
            if (!(share < 1) || !(weight > 0)) continue;
            if (!LIST_PUSH(&drag->nodes, i) || !LIST_PUSH(&drag->weights, weight)) return false;
            total += weight;
        }
    double compliance = 0;
    for (size_t k = 0; k < drag->nodes.count; k++) {
        drag->weights.data[k] /= total;
        compliance += drag->weights.data[k] * drag->weights.data[k] / mass[drag->nodes.data[k]];
    }
    drag->mass = 1 / compliance;
    return true;
}

static void take_rigid(view_drag *drag, const thenar_model *model) {
    static const double centre[3];
    double inertia[9];
    memcpy(drag->point, thenar_model_surface(model, drag->body)->positions + 3 * drag->vertex, sizeof drag->point);
    thenar_model_inertia(model, drag->body, inertia);
    double min = fmin(inertia[0], fmin(inertia[4], inertia[8])), arm = distance(drag->point, centre);
    drag->mass = 1 / (1 / thenar_model_mass(model, drag->body) + arm * arm / min);
}

bool drag_take(view_drag *drag, thenar_sim *sim, int body, int vertex) {
    const thenar_model *model = thenar_sim_model(sim);
    drag_release(drag, sim);
    drag->nodes.count = drag->weights.count = 0;
    drag->body = body;
    drag->vertex = vertex;
    if (run_body_is_rigid(model, body) && thenar_model_motion(model, body) != THENAR_MOTION_DYNAMIC) return false;
    double extent = extent_of(thenar_model_surface(model, body));
    if (run_body_is_rigid(model, body))
        take_rigid(drag, model);
    else if (!take_soft(drag, model, extent))
        return false;
    drag->stiffness = 20 * thenar_model_mass(model, body) * 9.81 / extent;
    drag->active = true;
    return true;
}

static void set_force(view_drag *drag, double h, const double position[3], const double velocity[3]) {
    double stiffness = fmin(drag->strength * drag->stiffness, drag->mass / (h * h));
    double damping = sqrt(stiffness * drag->mass);
    for (int c = 0; c < 3; c++) {
        drag->position[c] = position[c];
        drag->force[c] = stiffness * (drag->target[c] - position[c]) - damping * velocity[c];
    }
}

static void apply_soft(view_drag *drag, thenar_sim *sim) {
    const thenar_embedding *embedding = thenar_model_embedding(thenar_sim_model(sim), drag->body);
    const int *tet = thenar_model_mesh(thenar_sim_model(sim), drag->body)->tets + 4 * embedding->tet[drag->vertex];
    const double *x = thenar_sim_positions(sim, drag->body), *v = thenar_sim_velocities(sim, drag->body);
    double position[3] = {0}, velocity[3] = {0};
    for (int k = 0; k < 4; k++)
        for (int c = 0; c < 3; c++) position[c] += embedding->weights[4 * drag->vertex + k] * x[3 * tet[k] + c];
    for (size_t k = 0; k < drag->nodes.count; k++)
        for (int c = 0; c < 3; c++) velocity[c] += drag->weights.data[k] * v[3 * drag->nodes.data[k] + c];
    set_force(drag, thenar_sim_dt(sim), position, velocity);
    for (size_t k = 0; k < drag->nodes.count; k++) {
        double part[3];
        for (int c = 0; c < 3; c++) part[c] = drag->weights.data[k] * drag->force[c];
        thenar_sim_apply_force(sim, drag->body, drag->nodes.data[k], part);
    }
}

static void apply_rigid(view_drag *drag, thenar_sim *sim) {
    double pose[7], twist[6], once[3], twice[3], arm[3], torque[3];
    thenar_sim_pose(sim, drag->body, pose);
    thenar_sim_twist(sim, drag->body, twist);
    const double *turn = pose + 3;
    /* The arm is the point rotated by the quaternion (u, w): p + 2 w (u x p) + 2 u x (u x p). */
    cross(turn, drag->point, once);
    cross(turn, once, twice);
    for (int c = 0; c < 3; c++) arm[c] = drag->point[c] + 2 * (turn[3] * once[c] + twice[c]);
    double around[3], position[3];
    cross(twist + 3, arm, around);
    for (int c = 0; c < 3; c++) {
        position[c] = pose[c] + arm[c];
        twist[c] += around[c];
    }
    set_force(drag, thenar_sim_dt(sim), position, twist);
    cross(arm, drag->force, torque);
    thenar_sim_apply_wrench(sim, drag->body, drag->force, torque);
}

void drag_apply(view_drag *drag, thenar_sim *sim) {
    if (!drag->active) return;
    if (run_body_is_rigid(thenar_sim_model(sim), drag->body))
        apply_rigid(drag, sim);
    else
        apply_soft(drag, sim);
}

void drag_release(view_drag *drag, thenar_sim *sim) {
    static const double none[3];
    if (!drag->active) return;
    drag->active = false;
    if (run_body_is_rigid(thenar_sim_model(sim), drag->body)) thenar_sim_apply_wrench(sim, drag->body, none, none);
    for (size_t k = 0; k < drag->nodes.count; k++) thenar_sim_apply_force(sim, drag->body, drag->nodes.data[k], none);
}

void drag_free(view_drag *drag) {
    free(drag->nodes.data);
    free(drag->weights.data);
    *drag = (view_drag){0};
}
