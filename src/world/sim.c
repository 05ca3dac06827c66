/* A simulation's memory, its reset, and what can be read and set between steps. */
#include "world/sim.h"

#include "core/hash.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What can be read of contacts between steps. */

const char *const contact_method_names[CONTACT_METHODS] = {[CONTACT_POINT] = "point",
                                                           [CONTACT_AGGREGATE] = "aggregate",
                                                           [CONTACT_PENALTY] = "penalty",
                                                           [CONTACT_NONE] = "none"};

contact_method contact_method_find(const char *name) {
    int method = 0;
    while (method < CONTACT_METHODS && strcmp(name, contact_method_names[method]) != 0) method++;
    return (contact_method)method;
}

const char *thenar_sim_contact_method(const thenar_sim *sim) {
    return contact_method_names[sim->contact];
}

const thenar_contact *thenar_sim_contacts(const thenar_sim *sim) {
    return sim->contacts.reported;
}

int thenar_sim_contact_count(const thenar_sim *sim) {
    return sim->contacts.report_count;
}

const thenar_contact_pair *thenar_sim_contact_pairs(const thenar_sim *sim) {
    return sim->contacts.pair_reports;
}

int thenar_sim_contact_pair_count(const thenar_sim *sim) {
    return sim->contacts.pair_report_count;
}

void thenar_sim_contact_wrench(const thenar_sim *sim, int body, double force[3], double torque[3], double *area) {
    assert(body >= 0 && body < sim->model->body_count);
    vec3 f = {0}, t = {0};
    double sum = 0;
    for (int i = 0; i < sim->contacts.pair_report_count; i++) {
        const thenar_contact_pair *pair = &sim->contacts.pair_reports[i];
        if (pair->body[0] != body && pair->body[1] != body) continue;
        /* Of two soft bodies each has its own points and so its own area; a body does nothing to itself as a whole. */
        bool own = pair->body[0] == body, both = pair->body[0] == pair->body[1];
        double sign = both ? 0 : own ? 1 : -1;
        f = vec3_mul_add(f, vec3_load(pair->force), sign);
        t = vec3_mul_add(t, vec3_load(pair->torque), sign);
        if (own || thenar_model_body_kind(sim->model, body) == THENAR_BODY_RIGID) sum += pair->area;
    }
    if (force) vec3_store(force, f);
    if (torque) vec3_store(torque, t);
    if (area) *area = sum;
}

const char *thenar_stage_name(thenar_stage stage) {
    static const char *const names[THENAR_STAGE_COUNT] = {
        "drive",       "skeletons",         "formulate", "find_contacts", "build_constraints", "factor",
        "free_motion", "solve_constraints", "integrate", "publish",       "linearize"};
    assert((unsigned)stage < THENAR_STAGE_COUNT);
    return names[stage];
}

const char *thenar_warning_name(thenar_warning warning) {
    static const char *const names[THENAR_WARNING_COUNT] = {"step_split",    "step_failed",   "inverted",
                                                            "not_converged", "contacts_lost", "spin_limited"};
    assert((unsigned)warning < THENAR_WARNING_COUNT);
    return names[warning];
}

thenar_sim_options thenar_sim_options_default(void) {
    return (thenar_sim_options){.dt = 0, .threads = 1};
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

static thenar_status unknown_solver(const char *name, thenar_error *error) {
    char known[256] = "";
    for (int i = 0; i < solver_count; i++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i > 0 ? ", " : "", solver_table[i]->name);
    }
    return error_set(error, THENAR_ERROR_INPUT, "there is no solver %s; expected one of %s", name, known);
}

static thenar_status find_friction(const char *name, solver_friction *friction, thenar_error *error) {
    static const char *const names[] = {
        [FRICTION_PYRAMID] = "pyramid", [FRICTION_CONE] = "cone", [FRICTION_PRINTED] = "printed"};
    int count = sizeof names / sizeof *names, k = 0;
    while (name && k < count && strcmp(name, names[k]) != 0) k++;
    *friction = (solver_friction)k;
    if (k < count) return THENAR_OK;
    return error_set(error, THENAR_ERROR_INPUT, "there is no friction %s; expected pyramid, cone or printed", name);
}

static thenar_status find_coupling(const char *name, const solver_class *solver, coupling_method *coupling,
                                   thenar_error *error) {
    *coupling = name ? coupling_method_find(name) : COUPLING_MONOLITHIC;
    if (*coupling == COUPLING_METHODS)
        return error_set(error, THENAR_ERROR_INPUT, "there is no coupling %s; expected monolithic, schur or cg", name);
    if (*coupling != COUPLING_MONOLITHIC && solver != solver_table[0])
        return error_set(error, THENAR_ERROR_INPUT, "coupling %s with solver %s; expected solver %s", name,
                         solver->name, solver_table[0]->name);
    return THENAR_OK;
}

thenar_status thenar_sim_create(const thenar_model *model, const thenar_sim_options *options, thenar_sim **out,
                                thenar_error *error) {
    *out = NULL;
    thenar_sim_options chosen = options ? *options : thenar_sim_options_default();
    double dt = chosen.dt == 0 ? model->dt : chosen.dt;
    if (!(dt >= MODEL_DT_SMALLEST && dt <= MODEL_DT_LARGEST))
        return error_set(error, THENAR_ERROR_INPUT, "dt is %g; expected %g to %g s", dt, MODEL_DT_SMALLEST,
                         MODEL_DT_LARGEST);
    const solver_class *solver = chosen.solver ? solver_find(chosen.solver) : solver_table[0];
    if (!solver) return unknown_solver(chosen.solver, error);
    contact_method method = chosen.contact ? contact_method_find(chosen.contact) : model->contact;
    if (method == CONTACT_METHODS)
        return error_set(error, THENAR_ERROR_INPUT,
                         "there is no contact method %s; expected point, aggregate, penalty or none", chosen.contact);
    solver_friction friction;
    thenar_status status = find_friction(chosen.friction, &friction, error);
    if (status != THENAR_OK) return status;
    coupling_method coupling;
    status = find_coupling(chosen.coupling, solver, &coupling, error);
    if (status != THENAR_OK) return status;
    if (coupling != COUPLING_MONOLITHIC && method == CONTACT_AGGREGATE)
        return error_set(error, THENAR_ERROR_INPUT,
                         "coupling %s with aggregated contact; expected another contact method, or monolithic",
                         chosen.coupling);
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

void thenar_sim_reset(thenar_sim *sim) {
    *sim->clock = (sim_clock){0};
    sim->stats = (thenar_stats){0};
    for (int i = 0; i < model_mover_count(sim->model); i++) sim->model->bodies[i]->kind->reset(sim->bodies[i]);
    for (int i = 0; i < sim->model->hand_count; i++) hand_reset(&sim->hands[i], sim->bodies);
    for (int i = 0; i < sim->model->handle_count; i++) handle_follow_bone(sim_handle(sim, i));
    contact_state_reset(&sim->contacts, &sim->model->contacts);
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

const thenar_model *thenar_sim_model(const thenar_sim *sim) {
    return sim->model;
}

double thenar_sim_time(const thenar_sim *sim) {
    return sim->clock->time;
}

const char *thenar_sim_solver(const thenar_sim *sim) {
    return sim->solver->name;
}

double thenar_sim_dt(const thenar_sim *sim) {
    return sim->dt;
}

uint64_t thenar_sim_step_count(const thenar_sim *sim) {
    return sim->clock->step_count;
}

const double *thenar_sim_positions(const thenar_sim *sim, int body) {
    return sim_soft(sim, body)->x;
}

const double *thenar_sim_velocities(const thenar_sim *sim, int body) {
    return sim_soft(sim, body)->v;
}

const double *thenar_sim_forces(const thenar_sim *sim, int body) {
    return sim_soft(sim, body)->force;
}

void thenar_sim_support_wrench(const thenar_sim *sim, int body, int support, double force[3], double torque[3]) {
    assert(support >= 0 && support < model_soft(sim->model, body)->support_count);
    vec3 f, t;
    soft_support_wrench(sim_soft(sim, body), support, &f, &t);
    vec3_store(force, f);
    vec3_store(torque, t);
}

thenar_status thenar_sim_limit_iterations(thenar_sim *sim, int max) {
    if (max < 0) return THENAR_ERROR_INPUT;
    sim->clock->max_iterations = (uint64_t)max;
    return THENAR_OK;
}

thenar_status thenar_sim_apply_force(thenar_sim *sim, int body, int node, const double force[3]) {
    soft_state *state = sim_soft(sim, body);
    assert(node >= 0 && node < soft_of(state)->mesh.node_count);
    if (!vec3_is_finite(vec3_load(force))) return THENAR_ERROR_INPUT;
    memcpy(state->applied + 3 * node, force, 3 * sizeof *force);
    return THENAR_OK;
}

thenar_status thenar_sim_set_state(thenar_sim *sim, int body, const double *positions, const double *velocities) {
    soft_state *state = sim_soft(sim, body);
    size_t count = 3 * (size_t)soft_of(state)->mesh.node_count;
    if ((positions && !body_within(positions, count, BODY_FARTHEST)) ||
        (velocities && !body_within(velocities, count, BODY_FASTEST)))
        return THENAR_ERROR_INPUT;
    if (positions) {
        memcpy(state->x, positions, count * sizeof *positions);
        contact_forget(&sim->contacts, &sim->model->contacts, body);
    }
    if (velocities) memcpy(state->v, velocities, count * sizeof *velocities);
    return THENAR_OK;
}

thenar_status thenar_sim_drive(thenar_sim *sim, int body, int support, const double move[3], const double turn[3]) {
    soft_state *state = sim_soft(sim, body);
    assert(support >= 0 && support < soft_of(state)->support_count);
    if (!body_within(move, 3, BODY_FARTHEST) || !body_within(turn, 3, BODY_FARTHEST)) return THENAR_ERROR_INPUT;
    support_state *driven = &state->support_states[support];
    memcpy(driven->move, move, sizeof driven->move);
    memcpy(driven->turn, turn, sizeof driven->turn);
    driven->driven = 1;
    return THENAR_OK;
}

void thenar_sim_surface(const thenar_sim *sim, int body, double *positions) {
    assert(body >= 0 && body < sim->model->body_count);
    sim->model->bodies[body]->kind->place_surface(sim->bodies[body], positions);
}

void thenar_sim_stretches(const thenar_sim *sim, int body, double *values) {
    soft_stretches(sim_soft(sim, body), values);
}

void thenar_sim_energy(const thenar_sim *sim, int body, double *kinetic, double *elastic, double *gravity) {
    assert(body >= 0 && body < sim->model->body_count);
    sim->model->bodies[body]->kind->energy(sim->bodies[body], sim->model->gravity, kinetic, elastic, gravity);
}

const thenar_stats *thenar_sim_stats(const thenar_sim *sim) {
    return &sim->stats;
}

uint64_t thenar_sim_warning_count(const thenar_sim *sim, thenar_warning warning) {
    assert((unsigned)warning < THENAR_WARNING_COUNT);
    return sim->clock->warnings[warning];
}

uint64_t thenar_sim_hash(const thenar_sim *sim) {
    return hash_bytes(0, sim->kept, sim->kept_size);
}

/* What can be read and set of rigid bodies between steps. */

rigid_state *sim_rigid(const thenar_sim *sim, int body) {
    (void)model_rigid(sim->model, body); /* asserts */
    return (rigid_state *)sim->bodies[body];
}

void thenar_sim_pose(const thenar_sim *sim, int body, double position[3], double quaternion[4]) {
    const rigid_kept *kept = sim_rigid(sim, body)->kept;
    memcpy(position, kept->position, sizeof kept->position);
    memcpy(quaternion, kept->orientation, sizeof kept->orientation);
}

void thenar_sim_twist(const thenar_sim *sim, int body, double velocity[3], double spin[3]) {
    const rigid_kept *kept = sim_rigid(sim, body)->kept;
    memcpy(velocity, kept->velocity, sizeof kept->velocity);
    memcpy(spin, kept->spin, sizeof kept->spin);
}

thenar_status thenar_sim_apply_wrench(thenar_sim *sim, int body, const double force[3], const double torque[3]) {
    rigid_kept *kept = sim_rigid(sim, body)->kept;
    if (!vec3_is_finite(vec3_load(force)) || !vec3_is_finite(vec3_load(torque))) return THENAR_ERROR_INPUT;
    memcpy(kept->force, force, sizeof kept->force);
    memcpy(kept->torque, torque, sizeof kept->torque);
    return THENAR_OK;
}

void thenar_sim_wrench(const thenar_sim *sim, int body, double force[3], double torque[3]) {
    const rigid_kept *kept = sim_rigid(sim, body)->kept;
    memcpy(force, kept->force, sizeof kept->force);
    memcpy(torque, kept->torque, sizeof kept->torque);
}

thenar_status thenar_sim_drive_pose(thenar_sim *sim, int body, const double position[3], const double quaternion[4]) {
    rigid_state *state = sim_rigid(sim, body);
    assert(rigid_of(state)->motion == THENAR_MOTION_DRIVEN);
    quat turn = rigid_orientation(quaternion);
    double square = turn.x * turn.x + turn.y * turn.y + turn.z * turn.z + turn.w * turn.w;
    if (!body_is_near(vec3_load(position)) || !(square > 0) || !isfinite(square)) return THENAR_ERROR_INPUT;
    turn = quat_unit(turn);
    const double pose[7] = {position[0], position[1], position[2], turn.x, turn.y, turn.z, turn.w};
    memcpy(state->kept->driven_pose, pose, sizeof pose);
    state->kept->driven = 1;
    return THENAR_OK;
}
