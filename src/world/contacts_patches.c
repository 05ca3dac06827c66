/* Aggregated contacts (contact/patch.h): constraints of patches instead of those of their points, and back again. */
#include "world/contacts.h"

#include "contact/patch_pressure.h"

#include <string.h>

#define PASSES 2 /* in which pressures adapt within a step */

/* The nodes of the contacts, of those in a group only if `grouped`. */
static int list_nodes(patch_set *set, const contact *contacts, int count, bool grouped) {
    int nodes = 0;
    for (int i = 0; i < count; i++)
        for (int k = 0; k < contacts[i].leg_count && (!grouped || set->group[i] >= 0); k++) {
            int node = contacts[i].legs[k].node;
            if (set->slot_of_node[node] >= 0) continue;
            set->slot_of_node[node] = nodes;
            set->nodes[nodes++] = node;
        }
    for (int k = 0; k < nodes; k++) set->slot_of_node[set->nodes[k]] = -1;
    return nodes;
}

static void clear_nodes(const patch_set *set, int nodes, double *d) {
    for (int k = 0; k < nodes; k++) vec3_store(d + 3 * set->nodes[k], (vec3){0});
}

/* d = h^2 A^-1 d at the nodes that are listed, where d is a force on these alone. */
static void respond(const patch_set *set, int nodes, system_state *system, const body_step *step, double *d) {
    cholesky_solve_at(&system->factor, set->nodes, nodes, d);
    for (int k = 0; k < nodes; k++)
        vec3_store(d + 3 * set->nodes[k], vec3_scale(vec3_load(d + 3 * set->nodes[k]), step->h * step->h));
}

/* The contacts are looked at where the free motion ends; `held`: with the forces that they remember. */
static void move_to_end(patch_set *set, contact *contacts, int count, system_state *system, const body_step *step,
                        bool held) {
    double *d = system->product;
    int nodes = list_nodes(set, contacts, count, false);
    clear_nodes(set, nodes, d);
    if (held) {
        for (int i = 0; i < count; i++)
            if (vec3_dot(contacts[i].lambda, contacts[i].lambda) > 0)
                contact_add_force(&contacts[i], mat3_mul_vec_transposed(contacts[i].frame, contacts[i].lambda), d);
        respond(set, nodes, system, step, d);
    }
    for (int k = 0; k < nodes; k++) {
        double *own = d + 3 * set->nodes[k];
        vec3_store(own, vec3_mul_add(vec3_load(own), vec3_load(system->v + 3 * set->nodes[k]), step->h));
    }
    contacts_take(contacts, count, d);
}

/* The pressure shifts within each group to where gaps call for it. */
static void adapt_pressure(patch_set *set, int groups, const contact *contacts, int count, system_state *system,
                           const system_model *model, const body_step *step) {
    double *d = system->product;
    int nodes = list_nodes(set, contacts, count, true);
    patch_pressure_open(set, contacts, count, &model->pattern, system->blocks, step->h);
    for (int pass = 0; pass < PASSES && patch_pressure_wish(set, count, groups); pass++) {
        clear_nodes(set, nodes, d);
        for (int i = 0; i < count; i++)
            if (set->change[i] != 0)
                contact_add_force(&contacts[i], vec3_scale(mat3_row(contacts[i].frame, 0), set->change[i]), d);
        respond(set, nodes, system, step, d);
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
        move_to_end(set, own, count, system, step, adapts);
        int groups = patches_group(set, own, count, state->points, state->skin_pointers, contacts->pressure);
        if (adapts) adapt_pressure(set, groups, own, count, system, &systems[s], step);
        system->patch_count = patches_make(set, own, state->points, groups, contacts->pressure, step->h);
    }
    state->lost += set->lost;
}

void contacts_displace(contacts_state *state, const system_model *systems, system_state *system_states,
                       int system_count, const body_step *step) {
    for (int s = 0; s < system_count; s++) {
        system_state *system = &system_states[s];
        if (state->system_start[s + 1] == state->system_start[s]) continue;
        if (system->patch_count == 0 || system->patch_rows != PATCH_ROWS_PRINTED) continue;
        for (int i = 0; i < 3 * systems[s].pattern.node_count; i++) system->product[i] = step->h * system->v[i];
        patches_move(system->patches, system->patch_count, system->product);
        solver_problem problem = system_problem(system, &systems[s], step);
        system->is_displaced = patch_forces_stabilize(&system->stabilizer, &problem, system->displacement);
    }
}

void contacts_spread(contacts_state *state, const system_model *systems, system_state *system_states, int system_count,
                     const body_step *step) {
    for (int s = 0; s < system_count; s++) {
        system_state *system = &system_states[s];
        int first = state->system_start[s], count = state->system_start[s + 1] - first;
        if (count == 0) continue;
        for (int i = 0; i < 3 * systems[s].pattern.node_count; i++) {
            system->product[i] = step->h * system->v[i];
            if (system->is_displaced) system->product[i] += system->displacement[i];
        }
        contacts_take(state->contacts + first, count, system->product);
        patches_spread(system->patches, system->patch_count, state->contacts + first, count);
    }
}
