/* Memory and reset of a simulation. sim_access.c has the access to its state between steps. */
#include "world/sim.h"

#include "core/error.h"
#include "core/hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What can be read of contacts between steps. */

static const char *const stages[] = {
    "drive",       "skeletons",         "formulate", "find_contacts", "build_constraints", "factor",
    "free_motion", "solve_constraints", "integrate", "publish",       "linearize"};
NAMES(thenar_stage, stages)

static const char *const warnings[] = {"step_split",    "step_failed",   "inverted",
                                       "not_converged", "contacts_lost", "spin_limited"};
NAMES(thenar_warning, warnings)

static const char *const frictions[] = {
    [FRICTION_PYRAMID] = "pyramid", [FRICTION_CONE] = "cone", [FRICTION_PRINTED] = "printed"};
NAMES(thenar_friction, frictions)

NAMES(thenar_coupling, coupling_method_names)

thenar_status thenar_sim_options_init(thenar_sim_options *options, size_t size) {
    const thenar_sim_options defaults = {.threads = 1, .contact = THENAR_CONTACT_OF_MODEL};
    return sized_give(options, size, &defaults, sizeof defaults, "thenar_sim_options");
}

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

/* What a simulation's memory depends on beside its model. */
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
    body_state *const *members = sim->members;
    bool adapts = sim->model->contacts.pressure == THENAR_PRESSURE_ADAPTIVE;
    system_choice parts = {choice->solver, choice->coupling, sim->contacts.patches.max,
                           adapts ? PATCH_ROWS : PATCH_ROWS_PRINTED};
    for (int i = 0; i < sim->model->system_count; i++) {
        system_layout(&sim->systems[i], &sim->model->systems[i], &parts, members, work);
        members += sim->model->systems[i].body_count;
    }
}

/* The arrays' sizes, found on a throw-away fixed part. False: out of memory. */
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
    sim->solver = choice->solver;
    sim->coupling = choice->coupling;
    sim->kept = block + fixed_size;
    sim->backup = sim->kept + kept_size;
    sim->kept_size = kept_size;
    return sim;
}

/* What the options say beside numbers, which are enumerators. */
static thenar_status check_choices(const thenar_sim_options *o, thenar_contact_method method, thenar_error *error) {
    const struct {
        const char *what;
        int value, count;
    } choices[] = {{"solver", (int)o->solver, THENAR_SOLVER_COUNT},
                   {"contact method", (int)method, THENAR_CONTACT_METHOD_COUNT},
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
    if (method == THENAR_CONTACT_AGGREGATE)
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
    thenar_contact_method chosen_method =
        chosen.contact == THENAR_CONTACT_OF_MODEL ? (thenar_contact_method)model->contact : chosen.contact;
    status = check_choices(&chosen, chosen_method, error);
    if (status != THENAR_OK) return status;
    const solver_class *solver = solver_table[chosen.solver];
    contact_method method = (contact_method)chosen_method;
    solver_friction friction = (solver_friction)chosen.friction;
    coupling_method coupling = (coupling_method)chosen.coupling;
    workers *pool;
    status = workers_create(chosen.threads == 0 ? 1 : chosen.threads, &pool, error);
    if (status != THENAR_OK) return status;
    sim_choice choice = {solver, coupling, method == CONTACT_AGGREGATE};
    thenar_sim *sim = allocate(model, &choice);
    if (!sim) {
        workers_free(pool);
        return error_memory(error, "simulation");
    }
    for (int i = 0; i < model->system_count; i++) sim->systems[i].friction = friction;
    sim->pool = pool;
    sim->friction = chosen.friction;
    sim->contact = method;
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

/* What can be read and set of rigid bodies between steps. */
