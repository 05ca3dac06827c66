/* One simulation goes on from another whose materials, time step or solver are different: what a person changes while
 * watching. A snapshot is stricter, since it promises the same bits. */
#include "world/sim.h"

#include <string.h>

static bool bodies_match(const thenar_model *a, const thenar_model *b) {
    if (a->body_count != b->body_count || a->hand_count != b->hand_count || a->handle_count != b->handle_count)
        return false;
    for (int i = 0; i < a->body_count; i++) {
        if (a->bodies[i]->kind != b->bodies[i]->kind) return false;
        if (thenar_model_body_kind(a, i) == THENAR_BODY_RIGID) continue;
        const soft_model *x = model_soft(a, i), *y = model_soft(b, i);
        if (x->mesh.node_count != y->mesh.node_count || x->mesh.tet_count != y->mesh.tet_count ||
            x->support_count != y->support_count)
            return false;
    }
    for (int i = 0; i < a->handle_count; i++)
        if (model_handle(a, i)->body != model_handle(b, i)->body ||
            model_handle(a, i)->bone != model_handle(b, i)->bone)
            return false;
    for (int i = 0; i < a->hand_count; i++)
        if (a->hands[i]->first_body != b->hands[i]->first_body || a->hands[i]->flesh_count != b->hands[i]->flesh_count)
            return false;
    return true;
}

/* Limits may have come or gone, and room for contacts with them; else the kept state can be taken over as it is. */
static bool same_layout(const thenar_sim *a, const thenar_sim *b) {
    if (a->kept_size != b->kept_size || a->model->contacts.capacity != b->model->contacts.capacity ||
        a->model->contacts.pair_count != b->model->contacts.pair_count)
        return false;
    for (int i = 0; i < a->model->body_count; i++)
        if (thenar_model_body_kind(a->model, i) == THENAR_BODY_SOFT &&
            model_soft(a->model, i)->limited != model_soft(b->model, i)->limited)
            return false;
    return true;
}

static void continue_soft(soft_state *to, const soft_state *from) {
    const soft_model *body = soft_of(to);
    size_t bytes = 3 * (size_t)body->mesh.node_count * sizeof(double), batches = (size_t)body->batch_count;
    memcpy(to->x, from->x, bytes);
    memcpy(to->v, from->v, bytes);
    memcpy(to->change, from->change, bytes);
    memcpy(to->applied, from->applied, bytes);
    memcpy(to->force, from->force, bytes);
    memcpy(to->touched, from->touched, (size_t)body->mesh.node_count * sizeof *to->touched);
    memcpy(to->warm, from->warm, 9 * batches * sizeof *to->warm);
    memcpy(to->support_states, from->support_states, (size_t)body->support_count * sizeof *to->support_states);
}

/* Without the multipliers of limits and contacts: the solver finds them anew. Hands follow in any case: what their
 * springs are made of is kept, and may be another now. */
static void continue_bodies(thenar_sim *sim, const thenar_sim *from) {
    *sim->clock = *from->clock;
    for (int i = 0; i < sim->model->body_count; i++)
        if (thenar_model_body_kind(sim->model, i) == THENAR_BODY_RIGID)
            *sim_rigid(sim, i)->kept = *sim_rigid(from, i)->kept;
        else
            continue_soft(sim_soft(sim, i), sim_soft(from, i));
    for (int i = 0; i < sim->model->handle_count; i++) {
        *sim_handle(sim, i)->rigid.kept = *sim_handle(from, i)->rigid.kept;
        *sim_handle(sim, i)->kept = *sim_handle(from, i)->kept;
    }
}

thenar_status thenar_sim_continue(thenar_sim *sim, const thenar_sim *from, thenar_error *error) {
    if (!bodies_match(sim->model, from->model))
        return error_set(error, THENAR_ERROR_INPUT, "%s: its bodies are not those of %s; expected the same meshes",
                         sim->model->name, from->model->name);
    thenar_sim_reset(sim);
    if (same_layout(sim, from)) {
        memcpy(sim->kept, from->kept, sim->kept_size);
        /* The surfaces may be others: then triangles that contacts stick to are not there. */
        if (!contacts_check(&sim->model->contacts, &sim->contacts, sim->kept, sim->kept))
            contacts_reset(&sim->contacts, &sim->model->contacts);
    } else {
        continue_bodies(sim, from);
    }
    for (int i = 0; i < sim->model->hand_count; i++) hand_continue(&sim->hands[i], &from->hands[i]);
    for (int i = 0; i < sim->model->handle_count; i++) sim_handle(sim, i)->linearize = sim_handle(from, i)->linearize;
    if (sim->dt != from->dt) {
        sim->clock->first_time = from->clock->time;
        sim->clock->first_step = from->clock->step_count;
    }
    return THENAR_OK;
}
