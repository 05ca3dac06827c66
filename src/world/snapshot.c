/* A snapshot: a header that names the model, then the kept state, byte for byte. */
#include "world/sim.h"

#include "core/error.h"
#include "core/hash.h"

#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

/* Validation of a kept state. A step always leaves a valid one; a snapshot may contain anything. */

/* Structs of doubles are checked as arrays. */
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

/* Checks what is not a plain number: flags, and quaternions of length 0. */
static bool soft_has_flags(const soft_state *state) {
    bool is_finite = true;
    for (int s = 0; s < soft_of(state)->support_count; s++)
        is_finite = is_finite && is_flag(state->support_states[s].driven);
    return is_finite;
}

static bool rigid_has_flags(const rigid_state *state) {
    return is_flag(state->kept->driven) && is_turn(state->kept->orientation);
}

/* Joints that a tracker did not see are NaN. */
static bool hand_has_all(const hand_state *state) {
    const skeleton_state *bones = &state->skeleton;
    const hand_kept *kept = state->kept;
    const retarget_carried *carried = &kept->carried;
    return FINITE(bones->coupling, bones->model->bone_count) && FINITE(bones->wrench, bones->model->bone_count) &&
           kept->driver >= HAND_BY_SCRIPT && kept->driver <= HAND_BY_ANGLES && is_flag(carried->started) &&
           all_finite(&carried->turn, sizeof *carried - offsetof(retarget_carried, turn));
}

/* The class of a body checks its numbers, as after every step. Returns what is invalid, or NULL. */
static const char *find_invalid(const thenar_sim *sim) {
    const thenar_model *model = sim->model;
    if (!isfinite(sim->clock->time) || !isfinite(sim->clock->first_time)) return "the clock";
    if (sim->clock->max_iterations > INT_MAX) return "the solver";
    for (int i = 0; i < model_mover_count(model); i++) {
        const body_class *kind = model->bodies[i]->kind;
        bool handle = i >= model->body_count, soft = kind == &soft_class;
        if (!kind->is_finite(sim->bodies[i])) return model->bodies[i]->name;
        if (!(soft     ? soft_has_flags(sim_soft(sim, i))
              : handle ? rigid_has_flags(&sim_handle(sim, i - model->body_count)->rigid)
                       : rigid_has_flags(sim_rigid(sim, i))))
            return model->bodies[i]->name;
    }
    for (int i = 0; i < model->handle_count; i++)
        if (!is_flag(sim_handle(sim, i)->kept->is_driven)) return model->bodies[model->body_count + i]->name;
    for (int i = 0; i < model->hand_count; i++)
        if (!hand_is_finite(&sim->hands[i]) || !hand_has_all(&sim->hands[i])) return model->hands[i]->name;
    return NULL;
}

#define SNAPSHOT_MAGIC 0x31534e4148454854u /* "THEHANS1" */

typedef struct snapshot_header {
    uint64_t magic;
    uint64_t model_hash;
    uint64_t size; /* of the state behind the header, bytes */
    double dt;
    uint64_t checksum; /* of that state */
} snapshot_header;

size_t thenar_sim_snapshot_size(const thenar_sim *sim) {
    USAGE_POINTER(sim, 0);
    return sizeof(snapshot_header) + sim->kept_size;
}

thenar_status thenar_sim_snapshot(const thenar_sim *sim, void *bytes) {
    USAGE_POINTER(sim, THENAR_ERROR_USAGE);
    USAGE_POINTER(bytes, THENAR_ERROR_USAGE);
    snapshot_header header = {.magic = SNAPSHOT_MAGIC,
                              .model_hash = sim->model->hash,
                              .size = sim->kept_size,
                              .dt = sim->dt,
                              .checksum = thenar_sim_hash(sim)};
    memcpy(bytes, &header, sizeof header);
    memcpy((char *)bytes + sizeof header, sim->kept, sim->kept_size);
    return THENAR_OK;
}

thenar_status sim_take_state(thenar_sim *sim, const char *state, const char *what, thenar_error *error) {
    if (!contact_memory_is_valid(&sim->model->contacts, &sim->contacts, state, sim->kept))
        return error_set(error, THENAR_ERROR_INPUT, "%s: its contacts are not those of the model", what);
    /* The backup belongs to the step and is free between steps. */
    memcpy(sim->backup, sim->kept, sim->kept_size);
    memcpy(sim->kept, state, sim->kept_size);
    const char *unsound = find_invalid(sim);
    if (unsound) {
        memcpy(sim->kept, sim->backup, sim->kept_size);
        return error_set(error, THENAR_ERROR_INPUT, "%s: %s has values that no step leaves", what, unsound);
    }
    sim->stats = (thenar_stats){0};
    contact_report_clear(&sim->contacts);
    for (int i = 0; i < sim->model->handle_count; i++) sim_handle(sim, i)->linear->is_there = false;
    return THENAR_OK;
}

thenar_status thenar_sim_restore(thenar_sim *sim, const void *bytes, size_t size, thenar_error *error) {
    USAGE_STATUS(sim && bytes, error, "the simulation or the snapshot is NULL");
    snapshot_header header;
    if (size < sizeof header)
        return error_set(error, THENAR_ERROR_INPUT, "a snapshot of %zu bytes; expected %zu", size,
                         thenar_sim_snapshot_size(sim));
    memcpy(&header, bytes, sizeof header);
    if (header.magic != SNAPSHOT_MAGIC)
        return error_set(error, THENAR_ERROR_INPUT, "not a snapshot of this version of Thenar");
    if (header.model_hash != sim->model->hash)
        return error_set(error, THENAR_ERROR_INPUT, "a snapshot of another model; expected one of %s",
                         sim->model->name);
    if (header.dt != sim->dt)
        return error_set(error, THENAR_ERROR_INPUT, "a snapshot with a time step of %g s; expected %g s", header.dt,
                         sim->dt);
    if (header.size != sim->kept_size || size != thenar_sim_snapshot_size(sim))
        return error_set(error, THENAR_ERROR_INPUT, "a snapshot of %zu bytes; expected %zu", size,
                         thenar_sim_snapshot_size(sim));
    const char *state = (const char *)bytes + sizeof header;
    if (hash_bytes(0, state, sim->kept_size) != header.checksum)
        return error_set(error, THENAR_ERROR_INPUT, "a damaged snapshot: its checksum is wrong");
    return sim_take_state(sim, state, "a damaged snapshot", error);
}

/* A simulation continues from another one with different materials, time step or solver: what a person changes while
 * watching. A snapshot is stricter, since it guarantees the same bits. */

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

/* Limits may have been added or removed, and with them room for contacts; otherwise the kept state is copied. */
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

/* Copies the bodies without multipliers of limits and contacts, which the solver finds again. Hands are always
 * copied this way, since the parameters of their springs are part of the kept state and may have changed. */
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
    USAGE_STATUS(sim && from, error, "a simulation is NULL");
    if (!bodies_match(sim->model, from->model))
        return error_set(error, THENAR_ERROR_INPUT, "%s: its bodies are not those of %s; expected the same meshes",
                         sim->model->name, from->model->name);
    thenar_sim_reset(sim);
    if (same_layout(sim, from)) {
        memcpy(sim->kept, from->kept, sim->kept_size);
        /* With other surfaces, the triangles that contacts stick to may not exist. */
        if (!contact_memory_is_valid(&sim->model->contacts, &sim->contacts, sim->kept, sim->kept))
            contact_state_reset(&sim->contacts, &sim->model->contacts);
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
