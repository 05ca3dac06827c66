/* Aggregated contacts (contact/patch.h): constraints of patches instead of those of their points, and back again. */
#include "world/contacts.h"

#include "contact/patch_pressure.h"

#include <string.h>

#define PASSES 2 /* in which pressures adapt within a step */

/* d = h^2 A^-1 J^T f for forces f on contacts. */
static void respond(system_state *system, const system_model *model, const body_step *step, double *d) {
    cholesky_solve(&system->factor, d);
    for (int i = 0; i < 3 * model->pattern.node_count; i++) d[i] *= step->h * step->h;
}

/* The contacts are looked at where the free motion ends; `held`: with the forces that they remember. */
static void move_to_end(contact *contacts, int count, system_state *system, const system_model *model,
                        const body_step *step, bool held) {
    int size = 3 * model->pattern.node_count;
    double *d = system->product;
    memset(d, 0, (size_t)size * sizeof *d);
    if (held) {
        for (int i = 0; i < count; i++)
            contact_add_force(&contacts[i], mat3_mul_vec_transposed(contacts[i].frame, contacts[i].lambda), d);
        respond(system, model, step, d);
    }
    for (int i = 0; i < size; i++) d[i] += step->h * system->v[i];
    contacts_move(contacts, count, d);
}

/* The pressure shifts within each group to where gaps call for it. */
static void adapt_pressure(patch_set *set, int groups, const contact *contacts, int count, system_state *system,
                           const system_model *model, const body_step *step) {
    double *d = system->product;
    patch_pressure_open(set, contacts, count, system->blocks, step->h);
    double enough = system->tolerance.length * step->h;
    for (int pass = 0; pass < PASSES && patch_pressure_wish(set, count, groups) > enough; pass++) {
        memset(d, 0, 3 * (size_t)model->pattern.node_count * sizeof *d);
        for (int i = 0; i < count; i++)
            if (set->change[i] != 0)
                contact_add_force(&contacts[i], vec3_scale(mat3_row(contacts[i].frame, 0), set->change[i]), d);
        respond(system, model, step, d);
        for (int i = 0; i < count; i++)
            if (set->group[i] >= 0) set->motion[i] = contact_motion(&contacts[i], d).x;
        patch_pressure_change(set, groups);
    }
}

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
        contact *own = state->contacts + first;
        bool adapts = contacts->pressure == THENAR_PRESSURE_ADAPTIVE;
        move_to_end(own, count, system, &systems[s], step, adapts);
        int groups = patches_group(set, own, count, state->points, state->skin_pointers, contacts->pressure);
        if (adapts) adapt_pressure(set, groups, own, count, system, &systems[s], step);
        system->patch_count = patches_make(set, own, state->points, groups, contacts->pressure, step->h);
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
