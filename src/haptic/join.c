/* The loop and a simulation: where the device wants a handle before a step, what the handle tells after it. */
#include "haptic/loop.h"

#include "haptic/held.h"
#include "haptic/settings.h"
#include "world/sim.h"

#include <assert.h>
#include <string.h>

/* A bone that the hand itself couples to its tracker has the hand's gains, whoever drives it (hand_step.c). */
static const skeleton_coupling *gains_of(const thenar_model *model, const handle_model *handle) {
    if (!handle_is_bone(handle)) return &handle->coupling;
    const skeleton_coupling *own = &model->hands[handle->hand]->coupling[handle->bone];
    return own->stiffness > 0 ? own : &handle->coupling;
}

thenar_haptic_handle thenar_haptic_handle_of(const thenar_sim *sim, int handle) {
    const handle_model *model = model_handle(sim->model, handle);
    const skeleton_coupling *gains = gains_of(sim->model, model);
    thenar_haptic_handle out = thenar_haptic_handle_default();
    thenar_haptic_settings *s = &out.settings;
    thenar_handle_state now;
    s->stiffness = gains->stiffness;
    s->damping = gains->damping;
    s->turn_stiffness = gains->turn_stiffness;
    s->turn_damping = gains->turn_damping;
    s->most_force = haptic_lower(s->most_force, gains->most_force);
    s->most_torque = haptic_lower(s->most_torque, gains->most_torque);
    s->proxy_mass = model->rigid.mass;
    s->proxy_inertia = (model->rigid.inertia.m[0] + model->rigid.inertia.m[4] + model->rigid.inertia.m[8]) / 3;
    thenar_sim_handle(sim, handle, &now);
    memcpy(out.origin, now.pose, sizeof out.origin);
    memcpy(out.grip, now.pose + 3, sizeof out.grip);
    haptic_as_said(sim->model, handle, &out);
    return out;
}

bool thenar_haptic_drive(thenar_haptic *haptic, int of_loop, thenar_sim *sim, int handle) {
    assert(of_loop >= 0 && of_loop < haptic->channel_count);
    const haptic_channel *c = &haptic->channels[of_loop];
    thenar_handle_state now;
    double pose[7], velocity[6];
    if (!c->device) return false;
    thenar_sim_linearize_handle(sim, handle, !c->settings.plain);
    if (thenar_haptic_pose(haptic, of_loop, sim->dt, pose, pose + 3, velocity))
        return thenar_sim_drive_handle(sim, handle, pose, velocity) == THENAR_OK;
    thenar_sim_handle(sim, handle, &now);
    if (!sim_handle(sim, handle)->kept->is_driven) thenar_sim_drive_handle(sim, handle, now.pose, NULL);
    return false;
}

thenar_status thenar_haptic_tell(thenar_haptic *haptic, int of_loop, const thenar_sim *sim, int handle) {
    assert(of_loop >= 0 && of_loop < haptic->channel_count);
    struct haptic_linear linear;
    thenar_haptic_linear told;
    bool plain = haptic->channels[of_loop].settings.plain;
    if (!sim_handle(sim, handle)->linear->is_there && !plain) return THENAR_ERROR_NUMERIC;
    sim_handle_linear(sim, handle, &linear);
    memcpy(&told, &linear, sizeof told);
    return thenar_haptic_publish(haptic, of_loop, &told);
}
