/* The state of a simulation as a whole: its memory, reset, snapshots, and continuing with another model. sim_access.c has
 * the access to parts of it. */
#include "world/sim.h"

#include "core/error.h"
#include "core/hash.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const char *const stages[] = {
    "drive",       "skeletons",         "formulate", "find_contacts", "build_constraints", "factor",
    "free_motion", "solve_constraints", "integrate", "publish",       "linearize"};
NAMES(thenar_stage, stages)

static const char *const warnings[] = {"step_split",    "step_failed",  "inverted", "not_converged",
                                       "contacts_lost", "spin_limited", "energy"};
NAMES(thenar_warning, warnings)

static const char *const frictions[] = {
    [FRICTION_PYRAMID] = "pyramid", [FRICTION_CONE] = "cone", [FRICTION_PRINTED] = "printed"};
NAMES(thenar_friction, frictions)

NAMES(thenar_coupling, coupling_method_names)

thenar_status thenar_sim_options_init(thenar_sim_options *options, size_t size) {
    const thenar_sim_options defaults = {.threads = 1, .contact = THENAR_CONTACT_OF_MODEL};
    return sized_give(options, size, &defaults, sizeof defaults, "thenar_sim_options");
}

/* ---- Memory ---- */

/* The fixed part: the struct, its tables, and one state struct per body. */
static thenar_sim *layout_fixed(const thenar_model *model, arena *fixed) {
    thenar_sim *sim = ARENA_ARRAY(fixed, thenar_sim, 1);
    body_state **bodies = ARENA_ARRAY(fixed, body_state *, model_mover_count(model));
    body_state **members = ARENA_ARRAY(fixed, body_state *, model_mover_count(model));
    system_state *systems = ARENA_ARRAY(fixed, system_state, model->system_count);
    hand_state *hands = ARENA_ARRAY(fixed, hand_state, model->hand_count);
    for (int i = 0; i < model_mover_count(model); i++) {
        body_state *state = arena_take(fixed, 1, model->bodies[i]->kind->state_size);
        if (!state) continue;
        state->model = model->bodies[i];
        bodies[i] = state;
    }
    if (!sim) return NULL;
    sim->model = model;
    sim->bodies = bodies;
    sim->members = members;
    for (int i = 0, member = 0; i < model->system_count; i++)
        for (int k = 0; k < model->systems[i].body_count; k++) members[member++] = bodies[model->systems[i].bodies[k]];
    sim->systems = systems;
    sim->hands = hands;
    for (int i = 0; i < model->hand_count; i++) hands[i].model = model->hands[i];
    return sim;
}

/* What the memory of a simulation depends on besides its model. */
typedef struct sim_choice {
    const solver_class *solver;
    coupling_method coupling;
    bool aggregates; /* contacts */
} sim_choice;

static void layout_arrays(thenar_sim *sim, const sim_choice *choice, arena *kept, arena *work) {
    sim->clock = ARENA_ARRAY(kept, sim_clock, 1);
    for (int i = 0; i < model_mover_count(sim->model); i++)
        sim->model->bodies[i]->kind->layout(sim->bodies[i], kept, work);
    for (int i = 0; i < sim->model->hand_count; i++) hand_layout(&sim->hands[i], kept, work);
    int max_nodes = 0;
    for (int i = 0; i < sim->model->system_count; i++)
        if (sim->model->systems[i].pattern.node_count > max_nodes)
            max_nodes = sim->model->systems[i].pattern.node_count;
    contact_state_layout(&sim->contacts, &sim->model->contacts, sim->model->body_count, sim->model->system_count,
                         choice->aggregates, max_nodes, kept, work);
    linearization_layout(&sim->linearization, sim->model, work);
    ledger_layout(&sim->ledger, sim->model, work);
    body_state *const *members = sim->members;
    bool adapts = sim->model->contacts.pressure == THENAR_PRESSURE_ADAPTIVE;
    system_choice parts = {choice->solver, choice->coupling, sim->contacts.patches.max,
                           adapts ? PATCH_ROWS : PATCH_ROWS_PRINTED};
    for (int i = 0; i < sim->model->system_count; i++) {
        system_layout(&sim->systems[i], &sim->model->systems[i], &parts, members, work);
        members += sim->model->systems[i].body_count;
    }
}

/* The sizes of the parts, from a layout on a temporary fixed part. False: out of memory. */
static bool measure(const thenar_model *model, const sim_choice *choice, size_t *fixed_size, size_t *kept_size,
                    size_t *work_size) {
    arena fixed = {0}, kept = {0}, work = {0};
    layout_fixed(model, &fixed);
    void *draft = memory_aligned(fixed.used);
    if (!draft) return false;
    arena on_draft = arena_on(draft, fixed.used);
    layout_arrays(layout_fixed(model, &on_draft), choice, &kept, &work);
    free(draft);
    *fixed_size = fixed.used;
    *kept_size = kept.used;
    *work_size = work.used;
    return true;
}

static thenar_sim *allocate(const thenar_model *model, const sim_choice *choice) {
    size_t fixed_size, kept_size, work_size;
    if (!measure(model, choice, &fixed_size, &kept_size, &work_size)) return NULL;
    char *block = memory_aligned(fixed_size + 2 * kept_size + work_size);
    if (!block) return NULL;
    arena fixed = arena_on(block, fixed_size);
    arena kept = arena_on(block + fixed_size, kept_size);
    arena work = arena_on(block + fixed_size + 2 * kept_size, work_size);
    thenar_sim *sim = layout_fixed(model, &fixed);
    layout_arrays(sim, choice, &kept, &work);
    contact_state_open(&sim->contacts, &model->contacts, sim->bodies, model->body_count, model->system_count);
    for (int i = 0; i < model->handle_count; i++) handle_open(sim_handle(sim, i), sim->bodies, sim->hands);
    for (int i = 0; i < model->bones_count; i++) {
        int mover = model->body_count + model->handle_count + i;
        bones_open(sim_bones(sim, i), &sim->hands[model_bones(model, i)->hand], sim->bodies,
                   &sim->systems[model->system_of[mover]].reduction, model->first_node_of);
    }
    sim->solver = choice->solver;
    sim->coupling = choice->coupling;
    sim->kept = block + fixed_size;
    sim->backup = sim->kept + kept_size;
    sim->kept_size = kept_size;
    return sim;
}

/* Checks the enumerations of the options. */
static thenar_status check_choices(const thenar_sim_options *o, thenar_error *error) {
    const struct {
        const char *what;
        int value, count;
    } choices[] = {{"solver", (int)o->solver, THENAR_SOLVER_COUNT},
                   {"contact method", (int)o->contact, THENAR_CONTACT_METHOD_COUNT},
                   {"friction", (int)o->friction, THENAR_FRICTION_COUNT},
                   {"coupling", (int)o->coupling, THENAR_COUPLING_COUNT}};
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++)
        if (choices[i].value < 0 || choices[i].value >= choices[i].count)
            return error_set(error, THENAR_ERROR_INPUT, "there is no %s %d; expected 0 to %d", choices[i].what,
                             choices[i].value, choices[i].count - 1);
    if (o->coupling == THENAR_COUPLING_MONOLITHIC) return THENAR_OK;
    if (o->solver != THENAR_SOLVER_NEWTON)
        return error_set(error, THENAR_ERROR_INPUT, "coupling %s with solver %s; expected solver %s",
                         thenar_coupling_name(o->coupling), thenar_solver_name(o->solver),
                         thenar_solver_name(THENAR_SOLVER_NEWTON));
    if (o->contact == THENAR_CONTACT_AGGREGATE)
        return error_set(error, THENAR_ERROR_INPUT,
                         "coupling %s with aggregated contact; expected another contact method, or monolithic",
                         thenar_coupling_name(o->coupling));
    return THENAR_OK;
}

thenar_status thenar_sim_create(const thenar_model *model, const thenar_sim_options *options, thenar_sim **out,
                                thenar_error *error) {
    USAGE_STATUS(out, error, "the pointer to the simulation is NULL");
    *out = NULL;
    USAGE_STATUS(model, error, "the model is NULL");
    thenar_sim_options chosen = thenar_sim_options_default();
    thenar_status status =
        options ? sized_take(&chosen, sizeof chosen, options, "thenar_sim_options", error) : THENAR_OK;
    if (status != THENAR_OK) return status;
    double dt = chosen.dt == 0 ? model->dt : chosen.dt;
    if (!(dt >= MODEL_DT_SMALLEST && dt <= MODEL_DT_LARGEST))
        return error_set(error, THENAR_ERROR_INPUT, "dt is %g; expected %g to %g s", dt, MODEL_DT_SMALLEST,
                         MODEL_DT_LARGEST);
    if (chosen.contact == THENAR_CONTACT_OF_MODEL) chosen.contact = (thenar_contact_method)model->contact;
    status = check_choices(&chosen, error);
    if (status == THENAR_OK && model->bones_count > 0 && chosen.solver != THENAR_SOLVER_NEWTON)
        status = error_set(error, THENAR_ERROR_INPUT,
                           "solver %s with hands whose bones are coupled with their flesh; expected solver %s, or a "
                           "world with bones: split",
                           thenar_solver_name(chosen.solver), thenar_solver_name(THENAR_SOLVER_NEWTON));
    workers *pool;
    if (status == THENAR_OK) status = workers_create(chosen.threads == 0 ? 1 : chosen.threads, &pool, error);
    if (status != THENAR_OK) return status;
    sim_choice choice = {solver_table[chosen.solver], (coupling_method)chosen.coupling,
                         chosen.contact == THENAR_CONTACT_AGGREGATE};
    thenar_sim *sim = allocate(model, &choice);
    if (!sim) {
        workers_free(pool);
        return error_memory(error, "simulation");
    }
    for (int i = 0; i < model->system_count; i++) sim->systems[i].friction = (solver_friction)chosen.friction;
    sim->pool = pool;
    sim->friction = chosen.friction;
    sim->contact = (contact_method)chosen.contact;
    sim->dt = dt;
    model_keep(model);
    thenar_sim_reset(sim);
    *out = sim;
    return THENAR_OK;
}

void thenar_sim_free(thenar_sim *sim) {
    if (!sim) return;
    workers_free(sim->pool);
    thenar_model_free((thenar_model *)sim->model);
    free(sim);
}

thenar_status thenar_sim_reset(thenar_sim *sim) {
    USAGE_POINTER(sim, THENAR_ERROR_USAGE);
    *sim->clock = (sim_clock){0};
    sim->stats = (thenar_stats){0};
    sim->ledger.is_current = false;
    sim->ledger.sum = (thenar_energy){0};
    sim->ledger.warnings = 0;
    for (int i = 0; i < model_mover_count(sim->model); i++) sim->model->bodies[i]->kind->reset(sim->bodies[i]);
    for (int i = 0; i < sim->model->hand_count; i++) hand_reset(&sim->hands[i], sim->bodies);
    for (int i = 0; i < sim->model->handle_count; i++) handle_follow_bone(sim_handle(sim, i));
    contact_state_reset(&sim->contacts, &sim->model->contacts);
    return THENAR_OK;
}

bool sim_is_finite(const thenar_sim *sim) {
    bool is_finite = true;
    for (int i = 0; i < model_mover_count(sim->model); i++)
        is_finite = is_finite && sim->model->bodies[i]->kind->is_finite(sim->bodies[i]);
    for (int i = 0; i < sim->model->hand_count; i++) is_finite = is_finite && hand_is_finite(&sim->hands[i]);
    return is_finite;
}

soft_state *sim_soft(const thenar_sim *sim, int body) {
    (void)model_soft(sim->model, body); /* asserts */
    return (soft_state *)sim->bodies[body];
}

rigid_state *sim_rigid(const thenar_sim *sim, int body) {
    (void)model_rigid(sim->model, body); /* asserts */
    return (rigid_state *)sim->bodies[body];
}

hand_state *sim_hand(const thenar_sim *sim, int hand) {
    assert(hand >= 0 && hand < sim->model->hand_count);
    return &sim->hands[hand];
}

handle_state *sim_handle(const thenar_sim *sim, int handle) {
    (void)model_handle(sim->model, handle); /* asserts */
    return (handle_state *)sim->bodies[sim->model->body_count + handle];
}

bones_state *sim_bones(const thenar_sim *sim, int bones) {
    (void)model_bones(sim->model, bones); /* asserts */
    return (bones_state *)sim->bodies[sim->model->body_count + sim->model->handle_count + bones];
}

/* ---- Snapshots: a header that names the model, then the kept state, byte for byte ---- */

/* A step always leaves a valid state; a snapshot may contain anything. */

static bool is_flag(long long value) {
    return value == 0 || value == 1;
}

static bool is_turn(const double q[4]) {
    return q[0] != 0 || q[1] != 0 || q[2] != 0 || q[3] != 0;
}

/* These check flags, and quaternions of length 0; the classes of the bodies check numbers. */
static bool soft_is_valid(const soft_state *state) {
    for (int s = 0; s < soft_of(state)->support_count; s++)
        if (!is_flag(state->support_states[s].driven)) return false;
    return true;
}

static bool rigid_is_valid(const rigid_state *state) {
    return is_flag(state->kept->driven) && is_turn(state->kept->orientation);
}

/* Joints that a tracker did not see are NaN, so they are not checked. */
static bool hand_is_valid(const hand_state *state) {
    const skeleton_state *bones = &state->skeleton;
    const hand_kept *kept = state->kept;
    const retarget_carried *carried = &kept->carried;
    size_t count = (size_t)bones->model->bone_count, from_turn = offsetof(retarget_carried, turn);
    return body_within((const double *)bones->coupling, count * sizeof *bones->coupling / sizeof(double), DBL_MAX) &&
           body_within((const double *)bones->wrench, count * sizeof *bones->wrench / sizeof(double), DBL_MAX) &&
           kept->driver >= HAND_BY_SCRIPT && kept->driver <= HAND_BY_ANGLES && is_flag(carried->started) &&
           body_within((const double *)&carried->turn, (sizeof *carried - from_turn) / sizeof(double), DBL_MAX);
}

/* Returns what is invalid, or NULL. */
static const char *find_invalid(const thenar_sim *sim) {
    const thenar_model *model = sim->model;
    if (!isfinite(sim->clock->time) || !isfinite(sim->clock->first_time)) return "the clock";
    if (sim->clock->max_iterations > INT_MAX) return "the solver";
    for (int i = 0; i < model_mover_count(model); i++) {
        const body_class *kind = model->bodies[i]->kind;
        const body_state *state = sim->bodies[i];
        bool is_handle = kind == &handle_class;
        bool is_valid = kind->is_finite(state) && (kind == &soft_class    ? soft_is_valid((const soft_state *)state)
                                                   : kind == &bones_class ? true
                                                                          : rigid_is_valid((const rigid_state *)state));
        if (!is_valid || (is_handle && !is_flag(((const handle_state *)state)->kept->is_driven)))
            return model->bodies[i]->name;
    }
    for (int i = 0; i < model->hand_count; i++)
        if (!hand_is_finite(&sim->hands[i]) || !hand_is_valid(&sim->hands[i])) return model->hands[i]->name;
    return NULL;
}

#define SNAPSHOT_MAGIC 0x31534e4148454854u /* "THEHANS1" */

typedef struct snapshot_header {
    uint64_t magic;
    uint64_t model_hash;
    uint64_t size; /* of the state that follows, bytes */
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
    sim->ledger.is_current = false;
    const char *invalid = find_invalid(sim);
    if (invalid) {
        memcpy(sim->kept, sim->backup, sim->kept_size);
        return error_set(error, THENAR_ERROR_INPUT, "%s: %s has values that no step leaves", what, invalid);
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

/* ---- Continuing from another simulation, with different materials, time step or solver: what a person changes while
 * watching. A snapshot is stricter, since it guarantees the same bits ---- */

static bool bodies_match(const thenar_model *a, const thenar_model *b) {
    if (a->body_count != b->body_count || a->hand_count != b->hand_count || a->handle_count != b->handle_count)
        return false;
    for (int i = 0; i < a->body_count; i++) {
        if (a->bodies[i]->kind != b->bodies[i]->kind) return false;
        if (model_is_rigid(a, i)) continue;
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

/* Whether the kept states have the same arrays. Limits that are added or removed change them, also those of contacts. */
static bool same_layout(const thenar_sim *a, const thenar_sim *b) {
    if (a->kept_size != b->kept_size || a->model->contacts.capacity != b->model->contacts.capacity ||
        a->model->contacts.pair_count != b->model->contacts.pair_count)
        return false;
    for (int i = 0; i < a->model->body_count; i++)
        if (!model_is_rigid(a->model, i) && a->model->bodies[i]->limited != b->model->bodies[i]->limited) return false;
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
    if (body->carriers && soft_of(from)->carriers) memcpy(to->contact_force, from->contact_force, bytes);
    memcpy(to->warm, from->warm, 9 * batches * sizeof *to->warm);
    memcpy(to->support_states, from->support_states, (size_t)body->support_count * sizeof *to->support_states);
}

/* Copies the bodies without multipliers of limits and contacts, which the solver finds again. Hands are always
 * copied this way, since the parameters of their springs are part of the kept state and may have changed. */
static void continue_bodies(thenar_sim *sim, const thenar_sim *from) {
    *sim->clock = *from->clock;
    for (int i = 0; i < sim->model->body_count; i++)
        if (model_is_rigid(sim->model, i))
            *sim_rigid(sim, i)->kept = *sim_rigid(from, i)->kept;
        else
            continue_soft(sim_soft(sim, i), sim_soft(from, i));
    for (int i = 0; i < sim->model->handle_count; i++) {
        *sim_handle(sim, i)->rigid.kept = *sim_handle(from, i)->rigid.kept;
        *sim_handle(sim, i)->kept = *sim_handle(from, i)->kept;
    }
    for (int i = 0; i < sim->model->bones_count && i < from->model->bones_count; i++)
        *sim_bones(sim, i)->kept = *sim_bones(from, i)->kept;
}

thenar_status thenar_sim_continue(thenar_sim *sim, const thenar_sim *from, thenar_error *error) {
    USAGE_STATUS(sim && from, error, "a simulation is NULL");
    if (!bodies_match(sim->model, from->model))
        return error_set(error, THENAR_ERROR_INPUT, "%s: its bodies are not those of %s; expected the same meshes",
                         sim->model->name, from->model->name);
    thenar_sim_reset(sim);
    sim->ledger.sum = from->ledger.sum;
    sim->ledger.warnings = from->ledger.warnings;
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
