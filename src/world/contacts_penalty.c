/* Contacts by springs (contact/penalty.h): instead of constraints, equations that are added to A and b, so that every
 * solver only sees the limits of the bodies. */
#include "world/contacts.h"

#include <string.h>

/* d of the motion going on as it did. */
static void predict(const system_model *system, const system_state *state, double h, double *d) {
    for (int k = 0; k < system->body_count; k++) {
        const body_state *body = state->bodies[k];
        body->model->kind->velocity(body, d + 3 * system->first_node[k]);
    }
    for (int i = 0; i < 3 * system->pattern.node_count; i++) d[i] *= h;
}

static void add_equations(contacts_state *state, int first, int end, system_state *system, double h) {
    system->link_count = 0;
    for (int i = first; i < end; i++) {
        const penalty_term *term = &state->terms[i];
        const contact *c = &state->contacts[i];
        penalty_add(term, c, h, system->blocks, system->b);
        if (c->crosses && term->state != CONE_OPEN)
            system->links[system->link_count++] = (solver_link){.contact = c, .stiffness = penalty_stiffness(term, c)};
    }
}

void contacts_penalize(contacts_state *state, const contacts_model *contacts, const system_model *systems,
                       system_state *system_states, int system_count, const body_step *step) {
    for (int s = 0; s < system_count; s++) {
        system_state *system = &system_states[s];
        int first = state->system_start[s], end = state->system_start[s + 1];
        system->contact_count = system->link_count = 0;
        system->secant = 0;
        if (first == end) continue;
        size_t nodes = (size_t)systems[s].pattern.node_count, blocks = (size_t)systems[s].pattern.block_count;
        memcpy(system->untouched_blocks, system->blocks, 9 * blocks * sizeof *system->blocks);
        memcpy(system->untouched_b, system->b, 3 * nodes * sizeof *system->b);
        predict(&systems[s], system, step->h, system->product);
        for (int i = first; i < end; i++)
            penalty_begin(&state->terms[i], &state->contacts[i], &state->points[state->contacts[i].point],
                          &contacts->law, step->h, system->product);
        add_equations(state, first, end, system, step->h);
    }
}

bool contacts_fit(contacts_state *state, const system_model *systems, system_state *system_states, int s, double h,
                  int pass) {
    int first = state->system_start[s], end = state->system_start[s + 1];
    system_state *system = &system_states[s];
    double *d = system->product;
    for (int i = 0; i < 3 * systems[s].pattern.node_count; i++) d[i] = h * system->v[i];
    penalty_fit fit = {.same = true};
    for (int i = first; i < end; i++) penalty_look(&state->terms[i], &state->contacts[i], d, &fit);
    if (fit.active > 0) fit.mean /= fit.active;
    /* The first look is at a guess: that it is wrong says nothing yet. */
    if (pass > 1) system->secant = fit.same ? system->secant * PENALTY_SECANT_LEFT : 1;
    return fit.same && fit.change <= system->tolerance.force * fit.mean;
}

void contacts_renew(contacts_state *state, const system_model *systems, system_state *system_states, int s, double h) {
    int first = state->system_start[s], end = state->system_start[s + 1];
    system_state *system = &system_states[s];
    size_t nodes = (size_t)systems[s].pattern.node_count, blocks = (size_t)systems[s].pattern.block_count;
    memcpy(system->blocks, system->untouched_blocks, 9 * blocks * sizeof *system->blocks);
    memcpy(system->b, system->untouched_b, 3 * nodes * sizeof *system->b);
    for (int i = first; i < end; i++) penalty_renew(&state->terms[i], &state->contacts[i], system->secant);
    add_equations(state, first, end, system, h);
}

void contacts_settle(contacts_state *state, int system_count) {
    for (int i = 0; i < state->system_start[system_count]; i++) penalty_settle(&state->terms[i], &state->contacts[i]);
}
