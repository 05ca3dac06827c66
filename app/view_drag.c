/* f = k (target - p) - c v at the point p, spread over the nodes near it. The spring is explicit, so it must not be
 * stiffer than the step allows: with m the mass that it feels, h^2 k / m <= 1 and c = sqrt(k m) keep it well within the
 * bound h^2 k / m + 2 h c / m < 4 of the semi-implicit Euler method. The body's own stiffness is implicit and only
 * adds to what resists. */
#include "app/view_live.h"

#include "core/vec3.h"

#include <stdlib.h>

#define PATCH_SHARE 0.12 /* radius of the patch that takes the force, of the body's extent */

static double extent_of(const thenar_surface *surface) {
    vec3 low = vec3_load(surface->positions), high = low;
    for (int i = 1; i < surface->vertex_count; i++) {
        low = vec3_min(low, vec3_load(surface->positions + 3 * i));
        high = vec3_max(high, vec3_load(surface->positions + 3 * i));
    }
    return vec3_distance(low, high);
}

static bool take_soft(view_drag *drag, const thenar_model *model, double extent) {
    const thenar_tet_mesh *mesh = thenar_model_mesh(model, drag->body);
    const double *mass = thenar_model_masses(model, drag->body);
    vec3 centre = vec3_load(thenar_model_surface(model, drag->body)->positions + 3 * drag->vertex);
    double total = 0;
    for (double radius = PATCH_SHARE * extent; total == 0; radius *= 2)
        for (int i = 0; i < mesh->node_count; i++) {
            double share = vec3_distance(vec3_load(mesh->positions + 3 * i), centre) / radius;
            double weight = mass[i] * (1 - share * share);
            if (!(share < 1) || !(weight > 0)) continue;
            if (!ARRAY_PUSH(&drag->nodes, i) || !ARRAY_PUSH(&drag->weights, weight)) return false;
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
    vec3 point = vec3_load(thenar_model_surface(model, drag->body)->positions + 3 * drag->vertex);
    vec3_store(drag->point, point);
    double inertia[9];
    thenar_model_inertia(model, drag->body, inertia);
    double min = fmin(inertia[0], fmin(inertia[4], inertia[8])), mass = thenar_model_mass(model, drag->body);
    drag->mass = 1 / (1 / mass + vec3_dot(point, point) / min);
}

static bool is_rigid(const thenar_model *model, int body) {
    return thenar_model_body_kind(model, body) == THENAR_BODY_RIGID;
}

bool drag_take(view_drag *drag, thenar_sim *sim, int body, int vertex) {
    const thenar_model *model = thenar_sim_model(sim);
    drag_release(drag, sim);
    drag->nodes.count = drag->weights.count = 0;
    drag->body = body;
    drag->vertex = vertex;
    if (is_rigid(model, body) && thenar_model_motion(model, body) != THENAR_MOTION_DYNAMIC) return false;
    double extent = extent_of(thenar_model_surface(model, body));
    if (is_rigid(model, body))
        take_rigid(drag, model);
    else if (!take_soft(drag, model, extent))
        return false;
    drag->stiffness = 20 * thenar_model_mass(model, body) * 9.81 / extent;
    drag->active = true;
    return true;
}

static vec3 spring(view_drag *drag, double h, vec3 position, vec3 velocity) {
    double stiffness = fmin(drag->strength * drag->stiffness, drag->mass / (h * h));
    double damping = sqrt(stiffness * drag->mass);
    vec3 pull = vec3_scale(vec3_sub(vec3_load(drag->target), position), stiffness);
    return vec3_mul_add(pull, velocity, -damping);
}

static void apply_soft(view_drag *drag, thenar_sim *sim) {
    const thenar_embedding *embedding = thenar_model_embedding(thenar_sim_model(sim), drag->body);
    const int *tet = thenar_model_mesh(thenar_sim_model(sim), drag->body)->tets + 4 * embedding->tet[drag->vertex];
    const double *x = thenar_sim_positions(sim, drag->body), *v = thenar_sim_velocities(sim, drag->body);
    vec3 position = {0}, velocity = {0};
    for (int k = 0; k < 4; k++)
        position = vec3_mul_add(position, vec3_load(x + 3 * tet[k]), embedding->weights[4 * drag->vertex + k]);
    for (size_t k = 0; k < drag->nodes.count; k++)
        velocity = vec3_mul_add(velocity, vec3_load(v + 3 * drag->nodes.data[k]), drag->weights.data[k]);
    vec3 force = spring(drag, thenar_sim_dt(sim), position, velocity);
    for (size_t k = 0; k < drag->nodes.count; k++) {
        double part[3];
        vec3_store(part, vec3_scale(force, drag->weights.data[k]));
        thenar_sim_apply_force(sim, drag->body, drag->nodes.data[k], part);
    }
    vec3_store(drag->held, position);
    vec3_store(drag->force, force);
}

static void apply_rigid(view_drag *drag, thenar_sim *sim) {
    double centre[3], turn[4], velocity[3], spin[3], torque[3];
    thenar_sim_pose(sim, drag->body, centre, turn);
    thenar_sim_twist(sim, drag->body, velocity, spin);
    vec3 arm = quat_rotate((quat){turn[0], turn[1], turn[2], turn[3]}, vec3_load(drag->point));
    vec3 position = vec3_add(vec3_load(centre), arm);
    vec3 speed = vec3_add(vec3_load(velocity), vec3_cross(vec3_load(spin), arm));
    vec3 force = spring(drag, thenar_sim_dt(sim), position, speed);
    vec3_store(drag->held, position);
    vec3_store(drag->force, force);
    vec3_store(torque, vec3_cross(arm, force));
    thenar_sim_apply_wrench(sim, drag->body, drag->force, torque);
}

void drag_apply(view_drag *drag, thenar_sim *sim) {
    if (!drag->active) return;
    if (is_rigid(thenar_sim_model(sim), drag->body))
        apply_rigid(drag, sim);
    else
        apply_soft(drag, sim);
}

void drag_release(view_drag *drag, thenar_sim *sim) {
    static const double none[3];
    if (!drag->active) return;
    drag->active = false;
    if (is_rigid(thenar_sim_model(sim), drag->body)) thenar_sim_apply_wrench(sim, drag->body, none, none);
    for (size_t k = 0; k < drag->nodes.count; k++) thenar_sim_apply_force(sim, drag->body, drag->nodes.data[k], none);
}

void drag_free(view_drag *drag) {
    free(drag->nodes.data);
    free(drag->weights.data);
    *drag = (view_drag){0};
}
