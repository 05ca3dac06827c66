/* The linear systems of a model, and the table of solvers. */
#include "solver/solver.h"

#include "hand/hand.h"
#include "solver/baseline/baseline.h"
#include "solver/newton.h"

#include "thenar/sim.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Tolerance and maximum iterations of conjugate gradients for the free motion, where spring contacts couple soft
 * bodies. */
#define LINKED_SHARE 1e-9
#define LINKED_STEPS 400

static int find_member(const system_model *system, int body) {
    for (int k = 0; k < system->body_count; k++)
        if (system->bodies[k] == body) return k;
    return -1;
}

/* The k-th body if it is a handle with unknowns, its tool, and the first node of the tool; else NULL. */
static handle_model *handle_member(body_model *const *all_bodies, const system_model *system, int k,
                                   const soft_model **tool, int *tool_first) {
    body_model *body = all_bodies[system->bodies[k]];
    if (body->kind != &handle_class || handle_is_bone((const handle_model *)body)) return NULL;
    handle_model *handle = (handle_model *)body;
    *tool = (const soft_model *)all_bodies[handle->body];
    *tool_first = system->first_node[find_member(system, handle->body)];
    return handle;
}

/* Visits the flesh in this system whose springs attach it to the k-th body, if that is a hand's bones. */
typedef bool (*spring_visitor)(bones_model *bones, const soft_model *soft, int flesh, int first_node, int soft_first,
                               void *context);

static bool each_sprung(body_model *const *all_bodies, const system_model *system, int k, spring_visitor visit,
                        void *context) {
    bones_model *bones = (bones_model *)all_bodies[system->bodies[k]];
    if (bones->base.kind != &bones_class) return true;
    bool enough = true;
    for (int m = 0, flesh = 0; m < system->body_count && enough; m++) {
        const soft_model *soft = (const soft_model *)all_bodies[system->bodies[m]];
        if (soft->base.kind != &soft_class || !soft->carriers || soft->carrier_body != system->bodies[k]) continue;
        enough = visit(bones, soft, flesh++, system->first_node[k], system->first_node[m], context);
    }
    return enough;
}

static bool couple_springs(bones_model *bones, const soft_model *soft, int flesh, int first_node, int soft_first,
                           void *context) {
    return bones_couple_springs(bones, soft, flesh, first_node, soft_first, context);
}

static bool bind_springs(bones_model *bones, const soft_model *soft, int flesh, int first_node, int soft_first,
                         void *context) {
    bones_bind_springs(bones, soft, flesh, context, first_node, soft_first);
    return true;
}

static thenar_status couple_bodies(body_model *const *all_bodies, const contact_model *contacts, system_model *system,
                                   int node_count, thenar_error *error) {
    body_couplings couplings = {0};
    bool enough = true;
    for (int k = 0; k < system->body_count && enough; k++) {
        const body_model *body = all_bodies[system->bodies[k]];
        enough = body->kind->couple(body, system->first_node[k], &couplings);
        const soft_model *tool = NULL;
        int tool_first = 0;
        const handle_model *handle = handle_member(all_bodies, system, k, &tool, &tool_first);
        if (enough) enough = each_sprung(all_bodies, system, k, couple_springs, &couplings);
        if (handle && enough) enough = handle_couple(handle, tool, system->first_node[k], tool_first, &couplings);
    }
    enough = enough &&
             contact_couple(contacts, all_bodies, system->bodies, system->first_node, system->body_count, &couplings);
    enough = enough && ARRAY_PUSH(&couplings.start, (int)couplings.node.count);
    thenar_status status = enough
                               ? block_pattern_create(node_count, (int)couplings.start.count - 1, couplings.start.data,
                                                      couplings.node.data, &system->pattern, error)
                               : error_memory(error, "linear system");
    free(couplings.start.data);
    free(couplings.node.data);
    return status;
}

/* The nodes of soft bodies that move with bones of the same system. */
static thenar_status reduce(body_model *const *all_bodies, system_model *system, thenar_error *error) {
    int count = 0;
    for (int pass = 0; pass < 2; pass++) {
        reduction_node *nodes = pass > 0 ? MEMORY_ARRAY(reduction_node, count) : NULL;
        if (pass > 0 && !nodes) return error_memory(error, "dependent nodes");
        int found = 0;
        for (int k = 0; k < system->body_count; k++) {
            const soft_model *soft = (const soft_model *)all_bodies[system->bodies[k]];
            if (soft->base.kind != &soft_class || !soft->carriers) continue;
            int first = system->first_node[find_member(system, soft->carrier_body)];
            for (int i = 0; i < soft->mesh.node_count; i++) {
                if (soft->carriers[i][0] < 0) continue;
                if (nodes) {
                    nodes[found].node = system->first_node[k] + soft->system_node[i];
                    for (int c = 0; c < REDUCTION_CARRIERS; c++)
                        nodes[found].carrier[c] = soft->carriers[i][c] < 0 ? -1 : first + soft->carriers[i][c];
                }
                found++;
            }
        }
        count = found;
        if (count == 0) return THENAR_OK;
        if (nodes) return reduction_model_create(&system->pattern, nodes, count, &system->reduction, error);
    }
    return THENAR_OK;
}

/* The pattern of the matrix that is factored. */
static const block_pattern *factored_pattern(const system_model *system) {
    return system->reduction.count > 0 ? &system->reduction.pattern : &system->pattern;
}

thenar_status system_create(body_model *const *all_bodies, int *bodies, int body_count, const contact_model *contacts,
                            system_model *out, thenar_error *error) {
    system_model system = {.body_count = body_count, .bodies = bodies};
    system.first_node = MEMORY_ARRAY(int, body_count);
    thenar_status status = system.first_node ? THENAR_OK : error_memory(error, "linear system");
    int node_count = 0;
    cholesky_options options = {0};
    for (int k = 0; k < body_count && status == THENAR_OK; k++) {
        const body_model *body = all_bodies[bodies[k]];
        int own = body->system_node_count;
        system.first_node[k] = node_count;
        node_count += own;
        if (body->kind != &soft_class) options.last_count += own;
        if (body->kind == &handle_class) system.handle_nodes += own;
    }
    if (status == THENAR_OK) status = couple_bodies(all_bodies, contacts, &system, node_count, error);
    if (status == THENAR_OK) status = reduce(all_bodies, &system, error);
    if (status == THENAR_OK && node_count > 0)
        status = cholesky_plan_create(factored_pattern(&system), &options, &system.plan, error);
    if (status == THENAR_OK && system.handle_nodes > 0)
        status = coupled_model_create(factored_pattern(&system), system.handle_nodes,
                                      options.last_count - system.handle_nodes, &system.coupled, error);
    for (int k = 0; k < body_count && status == THENAR_OK; k++) {
        body_model *body = all_bodies[bodies[k]];
        status = body->kind->bind(body, &system.pattern, system.first_node[k], error);
        const soft_model *tool = NULL;
        int tool_first = 0;
        handle_model *handle = handle_member(all_bodies, &system, k, &tool, &tool_first);
        each_sprung(all_bodies, &system, k, bind_springs, &system.pattern);
        if (handle) handle_bind(handle, tool, &system.pattern, system.first_node[k], tool_first);
        system.limited = system.limited || (node_count > 0 && body->limited);
    }
    if (status == THENAR_OK)
        *out = system;
    else
        system_free(&system);
    return status;
}

void system_free(system_model *system) {
    block_pattern_free(&system->pattern);
    reduction_model_free(&system->reduction);
    cholesky_plan_free(system->plan);
    coupled_model_free(&system->coupled);
    free(system->bodies);
    free(system->first_node);
    *system = (system_model){0};
}

void system_layout(system_state *state, const system_model *system, const system_choice *choice,
                   body_state *const *bodies, arena *work) {
    size_t components = 3 * (size_t)system->pattern.node_count;
    bool touches = system->max_contacts > 0;
    state->bodies = bodies;
    state->blocks = ARENA_ARRAY(work, double, 9 * (size_t)system->pattern.block_count);
    state->b = ARENA_ARRAY(work, double, components);
    state->v = ARENA_ARRAY(work, double, components);
    state->product = ARENA_ARRAY(work, double, components);
    state->untouched_blocks = ARENA_ARRAY(work, double, touches ? 9 * (size_t)system->pattern.block_count : 0);
    state->untouched_b = ARENA_ARRAY(work, double, touches ? components : 0);
    if (system->plan) cholesky_factor_layout(&state->factor, system->plan, work);
    state->reduction = (reduction){0};
    if (system->reduction.count > 0) reduction_layout(&state->reduction, &system->reduction, work);
    state->links = ARENA_ARRAY(work, contact_link, system->couples_soft ? system->max_contacts : 0);
    state->link_count = 0;
    state->continues = false;
    state->coupled = (coupled_state){0};
    if (choice->coupling != COUPLING_MONOLITHIC && system->handle_nodes > 0)
        coupled_layout(&state->coupled, &system->coupled, factored_pattern(system), choice->coupling, work);
    state->tolerance = SOLVER_TOLERANCES;
    state->friction = FRICTION_PYRAMID;
    state->uncondensed = false;
    state->trace = NULL;
    state->max_patches = touches ? choice->max_patches : 0;
    state->patch_rows = choice->patch_rows;
    state->patch_count = 0;
    state->is_displaced = false;
    if (!system_is_constrained(system)) return;
    solver_problem problem = system_problem(state, system, NULL);
    patch_forces_layout(&state->stabilizer, &problem, 1, work);
    state->displacement = ARENA_ARRAY(work, double, state->max_patches > 0 ? components : 0);
    if (system->couples_soft) soft_coupling_layout(&state->soft_coupling, &problem, work);
    state->solver = arena_take(work, 1, choice->solver->state_size);
    /* While measuring there is no state yet: the solver lays out a temporary one. */
    union {
        max_align_t alignment;
        char bytes[SOLVER_STATE_LARGEST];
    } draft;
    choice->solver->layout(state->solver ? state->solver : &draft, &problem, work);
}

solver_problem system_problem(system_state *state, const system_model *system, const body_step *step) {
    return (solver_problem){.pattern = &system->pattern,
                            .A = state->blocks,
                            .links = state->links,
                            .link_count = state->link_count,
                            .b = state->b,
                            .v = state->v,
                            .continues = state->continues,
                            .factor = &state->factor,
                            .coupled = state->coupled.model ? &state->coupled : NULL,
                            .reduction = state->reduction.model ? &state->reduction : NULL,
                            .body_count = system->body_count,
                            .bodies = state->bodies,
                            .first_node = system->first_node,
                            .contacts = state->contacts,
                            .contact_count = state->contact_count,
                            .max_contacts = system->max_contacts,
                            .soft_coupling =
                                system->couples_soft && state->max_patches == 0 ? &state->soft_coupling : NULL,
                            .patches = state->patches,
                            .patch_count = state->patch_count,
                            .max_patches = state->max_patches,
                            .patch_rows = state->patch_rows,
                            .uncondensed = state->uncondensed,
                            .friction = state->friction,
                            .step = step,
                            .tolerance = state->tolerance,
                            .trace = state->trace};
}

contact_equations system_equations(system_state *state, const system_model *system, const body_step *step) {
    return (contact_equations){.pattern = &system->pattern,
                               .blocks = state->blocks,
                               .b = state->b,
                               .v = state->v,
                               .untouched_blocks = state->untouched_blocks,
                               .untouched_b = state->untouched_b,
                               .scratch = state->product,
                               .factor = &state->factor,
                               .reduction = state->reduction.model ? &state->reduction : NULL,
                               .body_count = system->body_count,
                               .body = system->bodies,
                               .bodies = state->bodies,
                               .first_node = system->first_node,
                               .links = state->links,
                               .step = step};
}

void system_displace_patches(system_state *state, const system_model *system, const body_step *step) {
    if (state->patch_count == 0 || state->patch_rows != PATCH_ROWS_PRINTED) return;
    for (int i = 0; i < 3 * system->pattern.node_count; i++) state->product[i] = step->h * state->v[i];
    patch_evaluate(state->patches, state->patch_count, state->product);
    solver_problem problem = system_problem(state, system, step);
    state->is_displaced = patch_forces_stabilize(&state->stabilizer, &problem, state->displacement);
}

bool system_factor(system_state *state, const system_model *system, workers *pool) {
    if (!system->plan) return true;
    const body_step step = {.pool = pool};
    solver_problem problem = system_problem(state, system, &step);
    return solver_factor(&problem, state->blocks);
}

void system_solve(system_state *state, const system_model *system, const body_step *step) {
    if (!system->plan) return;
    solver_problem problem = system_problem(state, system, step);
    problem.contact_count = 0;
    memcpy(state->v, state->b, 3 * (size_t)system->pattern.node_count * sizeof *state->v);
    soft_coupling_solve(&problem, state->blocks, (soft_coupling_end){.share = LINKED_SHARE, .max = LINKED_STEPS},
                        state->v);
}

double system_residual(system_state *state, const system_model *system, const body_step *step) {
    solver_problem problem = system_problem(state, system, step);
    soft_coupling_multiply(&problem, state->v, state->product);
    double error = 0, size = 0;
    int n = 3 * system->pattern.node_count;
    for (int i = 0; i < n; i++) {
        state->product[i] -= state->b[i];
        size += state->b[i] * state->b[i];
    }
    solver_fold(&problem, state->product);
    for (int i = 0; i < n; i++) error += state->product[i] * state->product[i];
    return size > 0 ? sqrt(error / size) : 0;
}

const solver_class *const solver_table[] = {&newton_solver, &pgs_solver,        &sqp_pgs_solver,  &sqp_pjls_solver,
                                            &njls_solver,   &njls_reach_solver, &njls_plus_solver};
const int solver_count = (int)(sizeof solver_table / sizeof *solver_table);
_Static_assert(sizeof solver_table / sizeof *solver_table == THENAR_SOLVER_COUNT,
               "the table is in the order of the enumeration");

int thenar_solver_count(void) {
    return solver_count;
}

const char *thenar_solver_name(thenar_solver solver) {
    return (unsigned)solver < (unsigned)solver_count ? solver_table[solver]->name : "unknown";
}

int thenar_solver_find(const char *name) {
    for (int i = 0; name && i < solver_count; i++)
        if (strcmp(solver_table[i]->name, name) == 0) return i;
    return -1;
}

const char *thenar_solver_summary(thenar_solver solver) {
    return (unsigned)solver < (unsigned)solver_count ? solver_table[solver]->summary : "unknown";
}

int thenar_solver_short_iterations(thenar_solver solver) {
    return (unsigned)solver < (unsigned)solver_count ? solver_table[solver]->hurried : 0;
}
