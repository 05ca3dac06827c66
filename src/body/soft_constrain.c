/* The strain limits of a whole soft body, for solvers (body/body.h, body_limits). The kernel is in soft_limit.c. */
#include "body/soft.h"
#include "body/soft_limit.h"

#include <string.h>

static double *record_of(soft_state *state, int batch) {
    return state->limit_records + (size_t)batch * SIMD_LANES * SOFT_RECORD;
}

static bool limits_warm(const body_state *base) {
    const soft_state *state = (const soft_state *)base;
    for (int i = 0; i < 9 * soft_of(state)->batch_count; i++)
        if (i64x8_any(state->multiplier[i] != 0.0)) return true;
    return false;
}

static void limits_begin(body_state *base) {
    soft_state *state = (soft_state *)base;
    int batches = soft_of(state)->batch_count;
    memcpy(state->limit_warm, state->warm, 9 * (size_t)batches * sizeof *state->warm);
    for (int k = 0; k < batches; k++) {
        if (state->limit_pushes[k]) memset(record_of(state, k), 0, SIMD_LANES * SOFT_RECORD * sizeof(double));
        state->limit_pushes[k] = 0;
    }
}

static void limits_rescale(body_state *base, double factor) {
    soft_state *state = (soft_state *)base;
    for (int i = 0; i < 9 * soft_of(state)->batch_count; i++) state->multiplier[i] *= factor;
}

static void limits_move(body_state *base, const body_step *step, const double *d) {
    soft_state *state = (soft_state *)base;
    const soft_model *body = soft_of(state);
    for (int i = 0; i < body->mesh.node_count; i++) {
        int unknown = body->system_node[i];
        vec3 x = vec3_load(state->x + 3 * i);
        x = unknown >= 0 ? vec3_add(x, vec3_load(d + 3 * unknown))
                         : vec3_mul_add(x, vec3_load(state->target_velocity + 3 * i), step->h);
        vec3_store(state->trial + 3 * i, x);
    }
}

static double limits_energy(body_state *base, double weight) {
    soft_state *state = (soft_state *)base;
    const soft_model *body = soft_of(state);
    double sum = 0;
    for (int k = 0; k < body->batch_count; k++)
        if (body->batches[k].limited)
            sum += soft_limit_energy(&body->batches[k], state->trial, weight, state->multiplier + 9 * k,
                                     state->limit_warm + 9 * k);
    return sum;
}

static body_limit_measures limits_measure(body_state *base) {
    soft_state *state = (soft_state *)base;
    const soft_model *body = soft_of(state);
    body_limit_measures all = {0};
    for (int k = 0; k < body->batch_count; k++) {
        if (!body->batches[k].limited) continue;
        soft_limit_measures one =
            soft_limit_measure(&body->batches[k], state->trial, state->multiplier + 9 * k, state->limit_warm + 9 * k);
        all.violation = fmax(all.violation, one.violation);
        all.complementarity = fmax(all.complementarity, one.complementarity);
        all.active += one.active;
    }
    return all;
}

/* The records of a batch: those of its limits where they push, zeros elsewhere. */
static void linearize_batch(soft_state *state, int k, double weight) {
    const soft_batch *batch = &soft_of(state)->batches[k];
    bool pushes = batch->limited && soft_limit_linearize(batch, state->trial, weight, state->multiplier + 9 * k,
                                                         state->limit_warm + 9 * k, record_of(state, k));
    if (!pushes && state->limit_pushes[k]) memset(record_of(state, k), 0, SIMD_LANES * SOFT_RECORD * sizeof(double));
    state->limit_pushes[k] = pushes;
}

static void add_blocks(const soft_state *state, double *blocks) {
    const soft_model *body = soft_of(state);
    for (int slot = 0; slot < body->block_count; slot++) {
        double *target = blocks + 9 * (size_t)body->block_target[slot];
        f64x8 sum = f64x8_load(target);
        double ninth = target[8];
        for (int k = body->block_start[slot]; k < body->block_start[slot + 1]; k++) {
            const double *source = state->limit_records + body->block_source[k];
            sum += f64x8_load(source);
            ninth += source[8];
        }
        f64x8_store(target, sum);
        target[8] = ninth;
    }
}

static void subtract_forces(const soft_state *state, double *gradient) {
    const soft_model *body = soft_of(state);
    for (int i = 0; i < body->mesh.node_count; i++) {
        int unknown = body->system_node[i];
        if (unknown < 0) continue;
        vec3 sum = vec3_load(gradient + 3 * unknown);
        for (int k = body->force_start[i]; k < body->force_start[i + 1]; k++)
            sum = vec3_sub(sum, vec3_load(state->limit_records + body->force_source[k]));
        vec3_store(gradient + 3 * unknown, sum);
    }
}

static void limits_linearize(body_state *base, const body_step *step, double weight, double *blocks, double *gradient) {
    (void)step;
    soft_state *state = (soft_state *)base;
    for (int k = 0; k < soft_of(state)->batch_count; k++) linearize_batch(state, k, weight);
    add_blocks(state, blocks);
    subtract_forces(state, gradient);
}

static void limits_update(body_state *base, double factor) {
    soft_state *state = (soft_state *)base;
    const soft_model *body = soft_of(state);
    for (int k = 0; k < body->batch_count; k++)
        if (body->batches[k].limited)
            soft_limit_update(&body->batches[k], state->trial, factor, state->multiplier + 9 * k,
                              state->limit_warm + 9 * k);
}

static int limits_row_limit(const body_model *base) {
    return 3 * ((const soft_model *)base)->mesh.tet_count;
}

/* Mean edge length of a tet in the rest shape, m (perez2013, section 4.3). */
static double mean_edge(const soft_model *body, const soft_batch *batch, int lane) {
    double sum = 0;
    for (int a = 1; a < 4; a++)
        for (int b = 0; b < a; b++)
            sum += vec3_distance(vec3_load(body->mesh.positions + 3 * batch->node[a][lane]),
                                 vec3_load(body->mesh.positions + 3 * batch->node[b][lane]));
    return sum / 6;
}

/* dC/dx_a = sign (g_a . v_i) u_i (perez2013, Eq. 11). */
static constraint_row stretch_row(const soft_model *body, const soft_batch *batch, int lane, const f64x8 U[9],
                                  const f64x8 *V, int i, double sign, int first_node) {
    constraint_row row = {.weight = mean_edge(body, batch, lane)};
    vec3 u = {U[i][lane], U[3 + i][lane], U[6 + i][lane]}, sum = {0};
    for (int a = 0; a < 4; a++) {
        int unknown = body->system_node[batch->node[a][lane]];
        row.node[a] = unknown < 0 ? -1 : first_node + unknown;
    }
    for (int a = 1; a < 4; a++) {
        const f64x8 *g = batch->gradient + 3 * (a - 1);
        double along = g[0][lane] * V[i][lane] + g[1][lane] * V[3 + i][lane] + g[2][lane] * V[6 + i][lane];
        row.gradient[a] = vec3_scale(u, sign * along);
        sum = vec3_add(sum, row.gradient[a]);
    }
    row.gradient[0] = vec3_scale(sum, -1);
    return row;
}

static int limits_rows(body_state *base, int first_node, constraint_row *rows) {
    soft_state *state = (soft_state *)base;
    const soft_model *body = soft_of(state);
    int count = 0;
    for (int k = 0; k < body->batch_count; k++) {
        const soft_batch *batch = &body->batches[k];
        if (!batch->limited) continue;
        f64x8 U[9], s[3], *V = state->limit_warm + 9 * k;
        soft_limit_decompose(batch, state->trial, U, s, V);
        for (int l = 0; l < batch->tet_count; l++)
            for (int i = 0; i < 3; i++) {
                bool low = s[i][l]<batch->s_min[l], high = s[i][l]> batch->s_max[l];
                if (!low && !high) continue;
                constraint_row row = stretch_row(body, batch, l, U, V, i, low ? 1 : -1, first_node);
                row.kind = low ? CONSTRAINT_STRETCH_MIN : CONSTRAINT_STRETCH_MAX;
                row.element = SIMD_LANES * k + l;
                row.value = low ? s[i][l] - batch->s_min[l] : batch->s_max[l] - s[i][l];
                rows[count++] = row;
            }
    }
    return count;
}

const body_limits soft_limits = {
    .warm = limits_warm,
    .begin = limits_begin,
    .rescale = limits_rescale,
    .move = limits_move,
    .energy = limits_energy,
    .measure = limits_measure,
    .linearize = limits_linearize,
    .update = limits_update,
    .row_limit = limits_row_limit,
    .rows = limits_rows,
};
