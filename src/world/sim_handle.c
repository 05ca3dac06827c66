/* Handles behind the public API, and for the haptic loop. */
#include "world/sim.h"

#include "base/clock.h"

#include <assert.h>
#include <string.h>

#define FARTHEST 1e6 /* m, and m/s: beyond it a device is broken */

const handle_model *model_handle(const thenar_model *model, int handle) {
    assert(handle >= 0 && handle < model->handle_count);
    return (const handle_model *)model->bodies[model->body_count + handle];
}

handle_state *sim_handle(const thenar_sim *sim, int handle) {
    (void)model_handle(sim->model, handle); /* asserts */
    return (handle_state *)sim->bodies[sim->model->body_count + handle];
}

int thenar_model_handle_count(const thenar_model *model) {
    return model->handle_count;
}

int thenar_model_find_handle(const thenar_model *model, const char *name) {
    for (int i = 0; i < model->handle_count; i++)
        if (strcmp(model_handle(model, i)->rigid.base.name, name) == 0) return i;
    return -1;
}

const char *thenar_model_handle_name(const thenar_model *model, int handle) {
    return model_handle(model, handle)->rigid.base.name;
}

int thenar_model_handle_body(const thenar_model *model, int handle) {
    return model_handle(model, handle)->body;
}

void thenar_model_handle_bone(const thenar_model *model, int handle, int *hand, int *bone) {
    if (hand) *hand = model_handle(model, handle)->hand;
    if (bone) *bone = model_handle(model, handle)->bone;
}

int thenar_model_handle_node_count(const thenar_model *model, int handle) {
    return model_handle(model, handle)->link_count;
}

void thenar_model_handle_mass(const thenar_model *model, int handle, double *mass, double inertia[9]) {
    const rigid_model *rigid = &model_handle(model, handle)->rigid;
    if (mass) *mass = rigid->mass;
    if (inertia) memcpy(inertia, rigid->inertia.m, sizeof rigid->inertia.m);
}

static bool are_usable(const double *values, int count) {
    for (int i = 0; i < count; i++)
        if (!(fabs(values[i]) <= FARTHEST)) return false;
    return true;
}

thenar_status thenar_sim_drive_handle(thenar_sim *sim, int handle, const double pose[7], const double velocity[6]) {
    static const double at_rest[6] = {0};
    handle_kept *kept = sim_handle(sim, handle)->kept;
    if (!velocity) velocity = at_rest;
    if (!are_usable(pose, 7) || !are_usable(velocity, 6)) return THENAR_ERROR_INPUT;
    quat turn = rigid_orientation(pose + 3);
    double square = turn.x * turn.x + turn.y * turn.y + turn.z * turn.z + turn.w * turn.w;
    if (!(square > 1e-6)) return THENAR_ERROR_INPUT;
    turn = quat_unit(turn);
    const double unit[7] = {pose[0], pose[1], pose[2], turn.x, turn.y, turn.z, turn.w};
    memcpy(kept->driven, unit, sizeof unit);
    memcpy(kept->driven_motion, velocity, sizeof kept->driven_motion);
    kept->is_driven = 1;
    return THENAR_OK;
}

void thenar_sim_linearize_handle(thenar_sim *sim, int handle, bool on) {
    handle_state *state = sim_handle(sim, handle);
    state->linearize = on;
    if (!on) state->linear->is_there = false;
}

static int count_contacts(const thenar_sim *sim, const handle_model *handle) {
    int count = 0, bodies = handle_is_bone(handle) ? sim->model->hands[handle->hand]->flesh_count : 1;
    for (int i = 0; i < sim->contacts.told_pair_count; i++) {
        const thenar_contact_pair *pair = &sim->contacts.told_pairs[i];
        bool own = false;
        for (int k = 0; k < 2; k++)
            own = own || (pair->body[k] >= handle->body && pair->body[k] < handle->body + bodies);
        if (own) count += pair->touching;
    }
    return count;
}

void thenar_sim_handle(const thenar_sim *sim, int handle, thenar_handle_state *state) {
    const handle_state *own = sim_handle(sim, handle);
    const handle_kept *kept = own->kept;
    *state =
        (thenar_handle_state){.linearized = own->linear->is_there, .contacts = count_contacts(sim, handle_of(own))};
    memcpy(state->pose, own->rigid.kept->pose, sizeof state->pose);
    memcpy(state->velocity, kept->motion, sizeof state->velocity);
    memcpy(state->wanted, kept->wanted, sizeof state->wanted);
    memcpy(state->wanted_velocity, kept->wanted_motion, sizeof state->wanted_velocity);
    memcpy(state->force, kept->force, sizeof state->force);
    memcpy(state->coupling, kept->pull, sizeof state->coupling);
    if (!state->linearized) return;
    memcpy(state->stiffness, own->linear->stiffness, sizeof state->stiffness);
    memcpy(state->damping, own->linear->damping, sizeof state->damping);
    memcpy(state->inertia, own->linear->inertia, sizeof state->inertia);
    memcpy(state->viscosity, own->linear->viscosity, sizeof state->viscosity);
}

void sim_handle_linear(const thenar_sim *sim, int handle, struct haptic_linear *linear) {
    thenar_handle_state state;
    thenar_sim_handle(sim, handle, &state);
    *linear = (struct haptic_linear){.time = sim->clock->time,
                                     .step_length = sim->dt,
                                     .step = sim->clock->step_count,
                                     .published_ns = clock_now(),
                                     .contacts = state.contacts};
    memcpy(linear->position, state.pose, sizeof linear->position);
    memcpy(linear->orientation, state.pose + 3, sizeof linear->orientation);
    memcpy(linear->velocity, state.velocity, sizeof linear->velocity);
    memcpy(linear->force, state.force, sizeof linear->force);
    memcpy(linear->stiffness, state.stiffness, sizeof linear->stiffness);
    memcpy(linear->damping, state.damping, sizeof linear->damping);
    memcpy(linear->inertia, state.inertia, sizeof linear->inertia);
    memcpy(linear->viscosity, state.viscosity, sizeof linear->viscosity);
}

const char *thenar_sim_coupling(const thenar_sim *sim) {
    return coupling_method_names[sim->coupling];
}
