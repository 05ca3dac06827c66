/* Aggregated contacts (contact/patch.h): constraints of patches instead of those of their points, and back again. */
#include "world/contacts.h"

#include <string.h>

void contacts_aggregate(contacts_state *state, const contacts_model *contacts, const system_model *systems,
                        system_state *system_states, int system_count, const body_step *step) {
    patch_set *set = &state->patches;
    set->count = set->member_count = set->leg_count = set->lost = 0;
    for (int s = 0; s < system_count; s++) {
        system_state *system = &system_states[s];
        int first = state->system_start[s], count = state->system_start[s + 1] - first;
        system->contact_count = 0;
        system->patches = set->patches + set->count;
        system->patch_count = 0;
        system->is_displaced = false;
        if (count == 0) continue;
        for (int i = 0; i < 3 * systems[s].pattern.node_count; i++) system->product[i] = step->h * system->v[i];
        contacts_move(state->contacts + first, count, system->product);
        system->patch_count = patches_make(set, state->contacts + first, count, state->points, state->skin_pointers,
                                           contacts->pressure, step->h);
    }
    state->lost += set->lost;
}

void contacts_spread(contacts_state *state, const system_model *systems, system_state *system_states, int system_count,
                     const body_step *step) {
    for (int s = 0; s < system_count; s++) {
        system_state *system = &system_states[s];
        int first = state->system_start[s], count = state->system_start[s + 1] - first;
        if (count == 0) continue;
        for (int i = 0; i < 3 * systems[s].pattern.node_count; i++) system->product[i] = step->h * system->v[i];
        contacts_move(state->contacts + first, count, system->product);
        patches_move(system->patches, system->patch_count, system->product);
        patches_spread(system->patches, system->patch_count, state->contacts + first, count);
        solver_problem problem = system_problem(system, &systems[s], step);
        system->is_displaced = system->patch_count > 0 && system->patch_rows == PATCH_ROWS_PRINTED &&
                               patch_forces_stabilize(&system->stabilizer, &problem, system->displacement);
        if (!system->is_displaced) continue;
        for (int i = 0; i < 3 * systems[s].pattern.node_count; i++) system->product[i] += system->displacement[i];
        contacts_move(state->contacts + first, count, system->product);
    }
}
