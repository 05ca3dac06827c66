/* The soft body in a step. With the time step h, lumped masses M, Rayleigh coefficients alpha and beta, and the warped
 * stiffness K (soft_element.c), perez2013's Eq. 12 is
 *   A = M (1 + h alpha) + (h^2 + h beta) K,   b = M v0 + h (f_elastic + M g + applied) - (h^2 + h beta) K_fh v_h
 * over the free nodes f; h are the held nodes, whose velocities are known. The damping force -D v0 in F and the term h
 * D v0 of Eq. 12 cancel, so b has neither. A spring k, d that pulls a node to its support at the end of the step adds
 * h^2 k + h d to A and h (k (target - x0) + d v_target) to b. */
#include "body/soft.h"

#include "core/hash.h"
#include "mesh/mesh.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

/* Readers between steps. */

static void soft_place_surface(const body_state *base, double *positions) {
    const soft_state *state = (const soft_state *)base;
    const soft_model *body = soft_of(state);
    for (int i = 0; i < body->embedding.vertex_count; i++) {
        const int *node = body->mesh.tets + 4 * body->embedding.tet[i];
        vec3 sum = {0};
        for (int k = 0; k < 4; k++)
            sum = vec3_mul_add(sum, vec3_load(state->x + 3 * node[k]), body->embedding.weights[4 * i + k]);
        vec3_store(positions + 3 * i, sum);
    }
}

void soft_stretches(const soft_state *state, double *values) {
    const soft_model *body = soft_of(state);
    for (int k = 0; k < body->batch_count; k++) {
        f64x8 s[3];
        soft_element_stretches(&body->batches[k], state->x, s);
        for (int l = 0; l < body->batches[k].tet_count; l++)
            for (int i = 0; i < 3; i++) values[3 * (SIMD_LANES * k + l) + i] = s[i][l];
    }
}

static void soft_energy(const body_state *base, vec3 gravity, double *kinetic, double *elastic, double *potential) {
    const soft_state *state = (const soft_state *)base;
    const soft_model *body = soft_of(state);
    double moving = 0, raised = 0, strained = 0;
    for (int i = 0; i < body->mesh.node_count; i++) {
        vec3 v = vec3_load(state->v + 3 * i);
        moving += 0.5 * body->mass[i] * vec3_dot(v, v);
        raised -= body->mass[i] * vec3_dot(gravity, vec3_load(state->x + 3 * i));
    }
    for (int k = 0; k < body->batch_count; k++)
        strained += soft_element_energy(&body->batches[k], state->x, NULL, NULL);
    if (kinetic) *kinetic = moving;
    if (elastic) *elastic = strained;
    if (potential) *potential = raised;
}

void soft_support_wrench(const soft_state *state, int support, vec3 *force, vec3 *torque) {
    const support_model *held = &soft_of(state)->supports[support];
    *force = *torque = vec3_make(0, 0, 0);
    for (int k = 0; k < held->node_count; k++) {
        int i = held->nodes[k];
        vec3 reaction = vec3_load(state->force + 3 * i);
        /* Other forces on the node are not the spring's. */
        if (held->stiffness > 0)
            reaction = vec3_sub(reaction,
                                vec3_add(vec3_load(state->applied + 3 * i), vec3_load(soft_of(state)->load + 3 * i)));
        *force = vec3_add(*force, reaction);
        *torque = vec3_add(*torque, vec3_cross(vec3_load(state->x + 3 * i), reaction));
    }
}

static void soft_layout(body_state *base, arena *kept, arena *work) {
    soft_state *state = (soft_state *)base;
    const soft_model *body = soft_of(state);
    size_t components = 3 * (size_t)body->mesh.node_count, batches = (size_t)body->batch_count;
    state->x = ARENA_ARRAY(kept, double, components);
    state->v = ARENA_ARRAY(kept, double, components);
    state->change = ARENA_ARRAY(kept, double, components);
    state->applied = ARENA_ARRAY(kept, double, components);
    state->force = ARENA_ARRAY(kept, double, components);
    state->touched = ARENA_ARRAY(kept, double, body->mesh.node_count);
    state->contact_force = ARENA_ARRAY(kept, double, body->carriers ? components : 0);
    state->warm = ARENA_ARRAY(kept, f64x8, 9 * batches);
    state->support_states = ARENA_ARRAY(kept, support_state, body->support_count);
    state->multiplier = ARENA_ARRAY(kept, f64x8, body->base.limited ? SOFT_MULTIPLIERS * batches : 0);
    state->target_velocity = ARENA_ARRAY(work, double, components);
    state->spring_pull = ARENA_ARRAY(work, double, components);
    state->previous_velocity = ARENA_ARRAY(work, double, components);
    state->free_velocity = ARENA_ARRAY(work, double, components);
    state->rotation = ARENA_ARRAY(work, f64x8, 9 * batches);
    state->records = ARENA_ARRAY(work, double, batches *SIMD_LANES *SOFT_RECORD);
    state->inverted = ARENA_ARRAY(work, int, batches);
    if (!body->base.limited) return;
    state->trial = ARENA_ARRAY(work, double, components);
    state->limit_points = ARENA_ARRAY(work, soft_limit_point, batches);
    state->limit_warm = ARENA_ARRAY(work, bool, batches);
    state->limit_quiet = ARENA_ARRAY(work, bool, batches);
    state->limit_pushes = ARENA_ARRAY(work, unsigned, batches);
    state->limit_records = ARENA_ARRAY(work, double, batches *SIMD_LANES *SOFT_RECORD);
    state->limit_impulse = ARENA_ARRAY(work, double, components);
}

/* Positions of the nodes of a support at a time. */
static void place_support(const soft_state *state, int index, double time, double *positions) {
    const soft_model *body = soft_of(state);
    const support_model *support = &body->supports[index];
    vec3 move, turn;
    support_pose(support, &state->support_states[index], time, &move, &turn);
    quat rotation = quat_from_rotation_vector(turn);
    for (int k = 0; k < support->node_count; k++) {
        int i = support->nodes[k];
        vec3_store(positions + 3 * i, support_place(support, move, rotation, vec3_load(body->mesh.positions + 3 * i)));
    }
}

static void soft_reset(body_state *base) {
    soft_state *state = (soft_state *)base;
    const soft_model *body = soft_of(state);
    size_t bytes = 3 * (size_t)body->mesh.node_count * sizeof(double);
    memcpy(state->x, body->mesh.positions, bytes);
    memcpy(state->v, body->velocity, bytes);
    memset(state->change, 0, bytes);
    memset(state->applied, 0, bytes);
    memcpy(state->force, body->load, bytes);
    memset(state->touched, 0, (size_t)body->mesh.node_count * sizeof *state->touched);
    if (body->carriers) memset(state->contact_force, 0, bytes);
    memset(state->support_states, 0, (size_t)body->support_count * sizeof *state->support_states);
    for (int i = 0; i < 9 * body->batch_count; i++) state->warm[i] = f64x8_set(i % 9 % 4 == 0);
    if (body->base.limited)
        memset(state->multiplier, 0, SOFT_MULTIPLIERS * (size_t)body->batch_count * sizeof *state->multiplier);
    memset(state->inverted, 0, (size_t)body->batch_count * sizeof *state->inverted);
    /* Nodes on springs start at rest; firmly held nodes start at their support. */
    for (int s = 0; s < body->support_count; s++)
        if (body->supports[s].stiffness == 0) place_support(state, s, 0, state->x);
}

/* Held nodes move to their support at the end of the step. */
static void drive_firmly(soft_state *state, int s, const body_step *step) {
    const support_model *support = &soft_of(state)->supports[s];
    place_support(state, s, step->time, state->target_velocity);
    /* Keys give the pose at the end of a partial step; a driver only that at the end of the whole step. */
    double duration = state->support_states[s].driven ? step->left : step->h;
    for (int k = 0; k < support->node_count; k++) {
        int first = 3 * support->nodes[k];
        for (int c = first; c < first + 3; c++)
            state->target_velocity[c] = (state->target_velocity[c] - state->x[c]) / duration;
    }
}

/* pull = k (target - x0) + d v_target. A driven support does not move by itself, so v_target is 0. */
static void drive_by_springs(soft_state *state, int s, const body_step *step) {
    const support_model *support = &soft_of(state)->supports[s];
    double *before = state->free_velocity; /* free until integrate */
    place_support(state, s, step->time - step->h, before);
    place_support(state, s, step->time, state->spring_pull);
    for (int k = 0; k < support->node_count; k++) {
        int first = 3 * support->nodes[k];
        for (int c = first; c < first + 3; c++) {
            double target = state->spring_pull[c], speed = (target - before[c]) / step->h;
            state->spring_pull[c] = support->stiffness * (target - state->x[c]) + support->damping * speed;
        }
    }
}

static void soft_drive(body_state *base, const body_step *step) {
    soft_state *state = (soft_state *)base;
    const soft_model *body = soft_of(state);
    size_t bytes = 3 * (size_t)body->mesh.node_count * sizeof(double);
    memcpy(state->previous_velocity, state->v, bytes);
    memset(state->target_velocity, 0, bytes);
    memset(state->spring_pull, 0, bytes);
    for (int s = 0; s < body->support_count; s++)
        (body->supports[s].stiffness > 0 ? drive_by_springs : drive_firmly)(state, s, step);
}

typedef struct formulating {
    soft_state *state;
    const body_step *step;
    double *blocks, *b;
} formulating;

static void formulate_elements(void *context, int piece) {
    formulating *job = context;
    soft_state *state = job->state;
    const soft_model *body = soft_of(state);
    int pieces = soft_piece_count(body->batch_count, SOFT_BATCHES_PER_PIECE);
    int end = soft_share(body->batch_count, piece + 1, pieces);
    for (int k = soft_share(body->batch_count, piece, pieces); k < end; k++)
        state->inverted[k] = soft_element_formulate(&body->batches[k], state->x, state->target_velocity, job->step->h,
                                                    state->warm + 9 * k, state->rotation + 9 * k,
                                                    state->records + (size_t)k * SIMD_LANES * SOFT_RECORD);
}

static void gather_block(const formulating *job, int slot) {
    const soft_model *body = soft_of(job->state);
    f64x8 sum = f64x8_set(0);
    double ninth = 0;
    int node = body->diagonal_node[slot];
    if (node >= 0) {
        double h = job->step->h, mass = body->mass[node] + h * body->damped_mass[node];
        mass += h * (h * body->stiffness[node] + body->damping[node]);
        sum[0] = mass, sum[4] = mass, ninth = mass;
    }
    for (int k = body->block_start[slot]; k < body->block_start[slot + 1]; k++) {
        const double *source = job->state->records + body->block_source[k];
        sum += f64x8_load(source);
        ninth += source[8];
    }
    double *target = job->blocks + 9 * (size_t)body->block_target[slot];
    f64x8_store(target, sum);
    target[8] = ninth;
}

static void gather_force(const formulating *job, int node) {
    const soft_state *state = job->state;
    const soft_model *body = soft_of(state);
    int unknown = body->system_node[node];
    if (unknown < 0) return;
    double h = job->step->h, mass = body->mass[node];
    vec3 outside = vec3_add(vec3_load(state->applied + 3 * node), vec3_load(body->load + 3 * node));
    outside = vec3_add(outside, vec3_load(state->spring_pull + 3 * node));
    vec3 sum = vec3_scale(vec3_load(state->v + 3 * node), mass);
    if (!body->weightless) outside = vec3_mul_add(outside, job->step->gravity, mass);
    sum = vec3_mul_add(sum, outside, h);
    for (int k = body->force_start[node]; k < body->force_start[node + 1]; k++)
        sum = vec3_add(sum, vec3_load(state->records + body->force_source[k]));
    vec3_store(job->b + 3 * unknown, sum);
}

static void gather_piece(void *context, int piece) {
    const formulating *job = context;
    const soft_model *body = soft_of(job->state);
    int pieces = soft_piece_count(body->block_count, SOFT_BLOCKS_PER_PIECE);
    int block_end = soft_share(body->block_count, piece + 1, pieces);
    for (int slot = soft_share(body->block_count, piece, pieces); slot < block_end; slot++) gather_block(job, slot);
    int node_end = soft_share(body->mesh.node_count, piece + 1, pieces);
    for (int node = soft_share(body->mesh.node_count, piece, pieces); node < node_end; node++) gather_force(job, node);
}

static void soft_formulate(body_state *base, const body_step *step, double *blocks, double *b) {
    formulating job = {.state = (soft_state *)base, .step = step, .blocks = blocks, .b = b};
    const soft_model *body = soft_of(job.state);
    workers_run(step->pool, soft_piece_count(body->batch_count, SOFT_BATCHES_PER_PIECE), formulate_elements, &job);
    workers_run(step->pool, soft_piece_count(body->block_count, SOFT_BLOCKS_PER_PIECE), gather_piece, &job);
}

static bool soft_integrate(body_state *base, const body_step *step, const double *v) {
    soft_state *state = (soft_state *)base;
    const soft_model *body = soft_of(state);
    for (int i = 0; i < body->mesh.node_count; i++) {
        int unknown = body->system_node[i];
        vec3 velocity = vec3_load(unknown >= 0 ? v + 3 * unknown : state->target_velocity + 3 * i);
        vec3 position = vec3_mul_add(vec3_load(state->x + 3 * i), velocity, step->h);
        if (!body_is_near(position)) return false;
        vec3_store(state->x + 3 * i, position);
        vec3_store(state->change + 3 * i, vec3_sub(velocity, vec3_load(state->v + 3 * i)));
        vec3_store(state->v + 3 * i, velocity);
        vec3_store(state->free_velocity + 3 * i, unknown >= 0 ? velocity : vec3_make(0, 0, 0));
    }
    return true;
}

static bool soft_displace(body_state *base, const double *dq) {
    soft_state *state = (soft_state *)base;
    const soft_model *body = soft_of(state);
    for (int i = 0; i < body->mesh.node_count; i++) {
        int unknown = body->system_node[i];
        if (unknown < 0) continue;
        vec3 position = vec3_add(vec3_load(state->x + 3 * i), vec3_load(dq + 3 * unknown));
        if (!body_is_near(position)) return false;
        vec3_store(state->x + 3 * i, position);
    }
    return true;
}

/* The equation of motion of held node n, solved for the reaction:
 *   reaction = M ((1 + h alpha) v - v0) / h - M g - applied + ((h^2 + h beta) K v_free - record) / h
 * where the record is the element's part of b, h f - (h^2 + h beta) K v_held. */
static void add_reactions(soft_state *state, const body_step *step) {
    const soft_model *body = soft_of(state);
    double h = step->h;
    for (int k = 0; k < body->batch_count; k++) {
        const soft_batch *batch = &body->batches[k];
        if (!batch->has_held) continue;
        f64x8 product[12];
        soft_element_stiffness_times(batch, state->rotation + 9 * k, state->free_velocity, h, product);
        for (int l = 0; l < batch->tet_count; l++)
            for (int a = 0; a < 4; a++) {
                int node = batch->node[a][l];
                if (body->system_node[node] >= 0) continue;
                const double *record = state->records + ((size_t)k * SIMD_LANES + (size_t)l) * SOFT_RECORD;
                for (int c = 0; c < 3; c++)
                    state->force[3 * node + c] += (product[3 * a + c][l] - record[SOFT_RECORD_FORCE + 3 * a + c]) / h;
            }
    }
}

/* The support also bears the strain limits of held nodes: the negative gradient over h^2, or an impulse over h. */
static void add_limit_reactions(soft_state *state, const body_step *step) {
    const soft_model *body = soft_of(state);
    for (int i = 0; i < 3 * body->mesh.node_count; i++) state->force[i] -= state->limit_impulse[i] / step->h;
    for (int k = 0; k < body->batch_count; k++) {
        const soft_batch *batch = &body->batches[k];
        if (!batch->has_held || !state->limit_pushes[k]) continue;
        for (int l = 0; l < batch->tet_count; l++)
            for (int a = 0; a < 4; a++) {
                int node = batch->node[a][l];
                if (body->system_node[node] >= 0) continue;
                const double *record = state->limit_records + ((size_t)k * SIMD_LANES + (size_t)l) * SOFT_RECORD;
                for (int c = 0; c < 3; c++)
                    state->force[3 * node + c] -= record[SOFT_RECORD_FORCE + 3 * a + c] / (step->h * step->h);
            }
    }
}

static void soft_publish(body_state *base, const body_step *step) {
    soft_state *state = (soft_state *)base;
    const soft_model *body = soft_of(state);
    for (int i = 0; i < body->mesh.node_count; i++) {
        vec3 force = vec3_add(vec3_load(state->applied + 3 * i), vec3_load(body->load + 3 * i));
        if (body->system_node[i] < 0) {
            vec3 v = vec3_load(state->v + 3 * i), v0 = vec3_load(state->previous_velocity + 3 * i);
            vec3 borne = force;
            force = vec3_scale(vec3_sub(v, v0), body->mass[i] / step->h);
            force = vec3_mul_add(force, v, body->damped_mass[i]);
            if (!body->weightless) force = vec3_mul_add(force, step->gravity, -body->mass[i]);
            force = vec3_sub(force, borne);
        } else if (body->stiffness[i] > 0) {
            double h = step->h;
            force = vec3_add(force, vec3_load(state->spring_pull + 3 * i));
            force = vec3_mul_add(force, vec3_load(state->v + 3 * i), -(h * body->stiffness[i] + body->damping[i]));
        }
        vec3_store(state->force + 3 * i, force);
    }
    add_reactions(state, step);
    if (body->base.limited) add_limit_reactions(state, step);
}

static bool soft_is_finite(const body_state *base) {
    const soft_state *state = (const soft_state *)base;
    const soft_model *body = soft_of(state);
    size_t components = 3 * (size_t)body->mesh.node_count, lanes = SIMD_LANES * (size_t)body->batch_count;
    bool is_finite = body_within(state->x, components, BODY_FARTHEST);
    const double *const others[] = {state->v, state->change, state->applied, state->force,
                                    body->carriers ? state->contact_force : state->force};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        is_finite = is_finite && body_within(others[i], components, DBL_MAX);
    is_finite = is_finite && body_within(state->touched, (size_t)body->mesh.node_count, DBL_MAX);
    is_finite = is_finite && body_within((const double *)state->warm, 9 * lanes, DBL_MAX);
    for (int s = 0; s < body->support_count; s++)
        is_finite = is_finite && body_within(state->support_states[s].move, 3, DBL_MAX) &&
                    body_within(state->support_states[s].turn, 3, DBL_MAX);
    return is_finite &&
           (!body->base.limited || body_within((const double *)state->multiplier, SOFT_MULTIPLIERS * lanes, DBL_MAX));
}

static void soft_rest(body_state *base) {
    soft_state *state = (soft_state *)base;
    const soft_model *body = soft_of(state);
    size_t bytes = 3 * (size_t)body->mesh.node_count * sizeof *state->v;
    memset(state->v, 0, bytes);
    memset(state->change, 0, bytes);
    /* These may be the reason why the step failed. */
    if (body->base.limited)
        memset(state->multiplier, 0, SOFT_MULTIPLIERS * (size_t)body->batch_count * sizeof *state->multiplier);
}

static int soft_inverted(const body_state *base) {
    const soft_state *state = (const soft_state *)base;
    int count = 0;
    for (int k = 0; k < soft_of(state)->batch_count; k++) count += state->inverted[k];
    return count;
}

/* Selects the unknowns from all nodes. */
static void take_unknowns(const soft_state *state, const double *values, double *v) {
    const soft_model *body = soft_of(state);
    for (int i = 0; i < body->mesh.node_count; i++)
        if (body->system_node[i] >= 0) memcpy(v + 3 * body->system_node[i], values + 3 * i, 3 * sizeof *v);
}

static void soft_velocity(const body_state *base, double *v) {
    const soft_state *state = (const soft_state *)base;
    take_unknowns(state, state->v, v);
}

static void soft_change(const body_state *base, double *v) {
    const soft_state *state = (const soft_state *)base;
    take_unknowns(state, state->change, v);
}

/* Covers what the meaning of a state depends on: shape, stiffness, supports. */
static uint64_t soft_hash(const body_model *base) {
    const soft_model *body = (const soft_model *)base;
    uint64_t hash = hash_bytes(0, body->base.name, strlen(body->base.name));
    size_t nodes = (size_t)body->mesh.node_count;
    hash = hash_bytes(hash, body->mesh.positions, 3 * nodes * sizeof(double));
    hash = hash_bytes(hash, body->mesh.tets, 4 * (size_t)body->mesh.tet_count * sizeof(int));
    hash = hash_bytes(hash, body->mass, nodes * sizeof(double));
    hash = hash_bytes(hash, body->damped_mass, nodes * sizeof(double));
    hash = hash_bytes(hash, body->load, 3 * nodes * sizeof(double));
    hash = hash_bytes(hash, body->system_node, nodes * sizeof(int));
    hash = hash_bytes(hash, body->stiffness, nodes * sizeof(double));
    hash = hash_bytes(hash, &body->self_distance, sizeof body->self_distance);
    hash = hash_bytes(hash, body->damping, nodes * sizeof(double));
    if (body->carriers) hash = hash_bytes(hash, body->carriers, nodes * sizeof *body->carriers);
    for (int k = 0; k < body->batch_count; k++) {
        hash = hash_bytes(hash, &body->batches[k].lambda, sizeof(f64x8));
        hash = hash_bytes(hash, &body->batches[k].mu, sizeof(f64x8));
        hash = hash_bytes(hash, &body->batches[k].beta, sizeof(f64x8));
        hash = hash_bytes(hash, &body->batches[k].s_min, sizeof(f64x8));
        hash = hash_bytes(hash, &body->batches[k].s_max, sizeof(f64x8));
    }
    if (body->fibres) hash = hash_bytes(hash, body->fibres, (size_t)body->batch_count * sizeof *body->fibres);
    size_t vertices = (size_t)body->surface.vertex_count;
    if (body->contact_spacing) hash = hash_bytes(hash, body->contact_spacing, vertices * sizeof(double));
    if (body->contact_groups) hash = hash_bytes(hash, body->contact_groups, vertices * sizeof(int));
    for (int s = 0; s < body->support_count; s++) {
        const support_model *support = &body->supports[s];
        hash = hash_bytes(hash, support->nodes, (size_t)support->node_count * sizeof *support->nodes);
        hash = hash_bytes(hash, support->keys, (size_t)support->key_count * sizeof *support->keys);
        hash = hash_bytes(hash, &support->pivot, sizeof support->pivot);
        hash = hash_bytes(hash, &support->linear, sizeof support->linear);
    }
    return hash;
}

static void soft_free(body_model *base) {
    soft_model *body = (soft_model *)base;
    for (int s = 0; s < body->support_count; s++) support_free(&body->supports[s]);
    thenar_tet_mesh_free(&body->mesh);
    thenar_surface_free(&body->surface);
    thenar_embedding_free(&body->embedding);
    free(body->contact_spacing);
    free(body->contact_groups);
    void *owned[] = {body->base.name,    body->mass,          body->damped_mass, body->load,         body->velocity,
                     body->batches,      body->supports,      body->system_node, body->block_target, body->block_start,
                     body->block_source, body->diagonal_node, body->force_start, body->force_source, body->fibres,
                     body->stiffness,    body->damping,       body->carriers,    body->tet_block,    body};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
}

const body_class soft_class = {
    .name = "soft",
    .state_size = sizeof(soft_state),
    .couple = soft_couple,
    .bind = soft_bind,
    .hash = soft_hash,
    .free = soft_free,
    .layout = soft_layout,
    .reset = soft_reset,
    .drive = soft_drive,
    .formulate = soft_formulate,
    .integrate = soft_integrate,
    .displace = soft_displace,
    .publish = soft_publish,
    .is_finite = soft_is_finite,
    .rest = soft_rest,
    .inverted = soft_inverted,
    .velocity = soft_velocity,
    .change = soft_change,
    .place_surface = soft_place_surface,
    .energy = soft_energy,
    .limits = &soft_limits,
};
