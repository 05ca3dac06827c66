/* Whether a simulation can go on from what it keeps. The step leaves nothing else; a snapshot may hold anything. */
#include "world/sim.h"

#include <limits.h>
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

static bool is_turn(const double q[4]) {
    return q[0] != 0 || q[1] != 0 || q[2] != 0 || q[3] != 0;
}

/* What is no number: flags, and quaternions that turn to nowhere. */
static bool soft_has_flags(const soft_state *state) {
    bool sound = true;
    for (int s = 0; s < soft_of(state)->support_count; s++) sound = sound && is_flag(state->support_states[s].driven);
    return sound;
}

static bool rigid_has_flags(const rigid_state *state) {
    return is_flag(state->kept->driven) && is_turn(state->kept->orientation);
}

/* Of the joints that a tracker saw, some may be missing: these are NaN, as everywhere. */
static bool hand_has_all(const hand_state *state) {
    const skeleton_state *bones = &state->skeleton;
    const hand_kept *kept = state->kept;
    const retarget_carried *carried = &kept->carried;
    return FINITE(bones->coupling, bones->model->bone_count) && FINITE(bones->wrench, bones->model->bone_count) &&
           kept->driver >= HAND_BY_SCRIPT && kept->driver <= HAND_BY_ANGLES && is_flag(carried->started) &&
           all_finite(&carried->turn, sizeof *carried - offsetof(retarget_carried, turn));
}

/* The numbers of a body are looked at by its class, as after every step. */
const char *sim_unsound(const thenar_sim *sim) {
    const thenar_model *model = sim->model;
    if (!isfinite(sim->clock->time) || !isfinite(sim->clock->first_time)) return "the clock";
    if (sim->clock->most_iterations > INT_MAX) return "the solver";
    for (int i = 0; i < model_mover_count(model); i++) {
        const body_class *kind = model->bodies[i]->kind;
        bool handle = i >= model->body_count, soft = kind == &soft_class;
        if (!kind->sound(sim->bodies[i])) return model->bodies[i]->name;
        if (!(soft     ? soft_has_flags(sim_soft(sim, i))
              : handle ? rigid_has_flags(&sim_handle(sim, i - model->body_count)->rigid)
                       : rigid_has_flags(sim_rigid(sim, i))))
            return model->bodies[i]->name;
    }
    for (int i = 0; i < model->handle_count; i++)
        if (!is_flag(sim_handle(sim, i)->kept->is_driven)) return model->bodies[model->body_count + i]->name;
    for (int i = 0; i < model->hand_count; i++)
        if (!hand_is_sound(&sim->hands[i]) || !hand_has_all(&sim->hands[i])) return model->hands[i]->name;
    return NULL;
}
