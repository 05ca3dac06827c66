/* Whether a simulation can go on from what it keeps. The step leaves nothing else; a snapshot may hold anything. */
#include "world/sim.h"

#include <math.h>
#include <stddef.h>

/* Structs of doubles are looked at as arrays of them. */
static bool all_finite(const void *numbers, size_t bytes) {
    const double *values = numbers;
    for (size_t i = 0; i < bytes / sizeof *values; i++)
        if (!isfinite(values[i])) return false;
    return true;
}

#define FINITE(array, count) all_finite((array), (size_t)(count) * sizeof *(array))

static bool is_flag(long long value) {
    return value == 0 || value == 1;
}

static bool soft_is_sound(const soft_state *state) {
    const soft_model *body = soft_of(state);
    int nodes = body->mesh.node_count, batches = body->batch_count;
    bool sound = FINITE(state->x, 3 * nodes) && FINITE(state->v, 3 * nodes) && FINITE(state->change, 3 * nodes) &&
                 FINITE(state->applied, 3 * nodes) && FINITE(state->force, 3 * nodes) &&
                 FINITE(state->touched, nodes) && FINITE(state->warm, 9 * batches) &&
                 (!body->limited || FINITE(state->multiplier, SOFT_MULTIPLIERS * batches));
    for (int s = 0; s < body->support_count && sound; s++) {
        const support_state *support = &state->support_states[s];
        sound = FINITE(support->move, 3) && FINITE(support->turn, 3) && is_flag(support->driven);
    }
    return sound;
}

static bool is_turn(const double q[4]) {
    return q[0] != 0 || q[1] != 0 || q[2] != 0 || q[3] != 0;
}

static bool rigid_is_sound(const rigid_state *state) {
    const rigid_kept *kept = state->kept;
    return all_finite(kept, offsetof(rigid_kept, driven)) && is_flag(kept->driven) && is_turn(kept->orientation);
}

static bool handle_is_sound(const handle_state *state) {
    const handle_kept *kept = state->kept;
    return rigid_is_sound(&state->rigid) && all_finite(kept, offsetof(handle_kept, is_driven)) &&
           is_flag(kept->is_driven);
}

/* Of the joints that a tracker saw, some may be missing: these are NaN, as everywhere. */
static bool hand_is_sound(const hand_state *state) {
    const skeleton_state *bones = &state->skeleton;
    const hand_kept *kept = state->kept;
    int bone_count = bones->model->bone_count, dof_count = bones->model->dof_count;
    const retarget_carried *carried = &kept->carried;
    return FINITE(bones->pose, bone_count) && FINITE(bones->motion, bone_count) && FINITE(bones->q, dof_count) &&
           FINITE(bones->rate, dof_count) && FINITE(bones->target, dof_count) && FINITE(bones->coupling, bone_count) &&
           FINITE(bones->wrench, bone_count) && kept->driver >= HAND_BY_SCRIPT && kept->driver <= HAND_BY_ANGLES &&
           FINITE(&kept->given, 1) && FINITE(&kept->target, 1) && is_flag(carried->started) &&
           all_finite(&carried->turn, sizeof *carried - offsetof(retarget_carried, turn));
}

const char *sim_unsound(const thenar_sim *sim) {
    const thenar_model *model = sim->model;
    if (!isfinite(sim->clock->time) || !isfinite(sim->clock->first_time)) return "the clock";
    for (int i = 0; i < model->body_count; i++) {
        bool soft = model->bodies[i]->kind == &soft_class;
        if (!(soft ? soft_is_sound(sim_soft(sim, i)) : rigid_is_sound(sim_rigid(sim, i))))
            return model->bodies[i]->name;
    }
    for (int i = 0; i < model->handle_count; i++)
        if (!handle_is_sound(sim_handle(sim, i))) return model->bodies[model->body_count + i]->name;
    for (int i = 0; i < model->hand_count; i++)
        if (!hand_is_sound(&sim->hands[i])) return model->hands[i]->name;
    return NULL;
}
