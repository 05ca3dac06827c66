/* Handles and tools solved separately (garre2009, section 5.2), coupled by a Schur complement:
 *
 *   [ H_t   H_th ] [ x_t ]   [ r_t ]        S = H_h - H_ht Z,   Z = H_t^-1 H_th,
 *   [ H_ht  H_h  ] [ x_h ] = [ r_h ]        x_h = S^-1 (r_h - H_ht y),   y = H_t^-1 r_t,   x_t = y - Z x_h
 *
 * (Eqs. 12 and 13). The tool, with everything that it touches, is the leading part of the system. It is solved by
 * its own factor or by the conjugate gradients of the paper. Each handle has six rows. The last solve of the paper,
 * Eq. 12 with x_h known, is Z again. By default all is one matrix with the handles eliminated last, which is the
 * same arithmetic in another order; this alternative serves for comparison, and for tools that are solved elsewhere. */
#include "solver/solver.h"

#include "core/dense.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CG_TOLERANCE 1e-12 /* relative residual: the motion is then the same to 1e-9 */
#define CG_STEPS 20        /* maximum iterations per unknown */

const char *const coupling_method_names[COUPLING_METHODS] = {"monolithic", "schur", "cg"};

thenar_status coupled_model_create(const block_pattern *whole, int handle_nodes, int tool_last, coupled_model *out,
                                   thenar_error *error) {
    int nodes = whole->node_count - handle_nodes, count = 0;
    coupled_model model = {.tool_nodes = nodes, .handle_nodes = handle_nodes, .pattern = {.node_count = nodes}};
    model.pattern.column_start = MEMORY_ARRAY(int, nodes + 1);
    model.pattern.row = MEMORY_ARRAY(int, whole->block_count);
    model.source = MEMORY_ARRAY(int, whole->block_count);
    if (!model.pattern.column_start || !model.pattern.row || !model.source) {
        coupled_model_free(&model);
        return error_memory(error, "handles");
    }
    for (int j = 0; j < nodes; j++) {
        for (int k = whole->column_start[j]; k < whole->column_start[j + 1]; k++) {
            if (whole->row[k] >= nodes) continue;
            model.pattern.row[count] = whole->row[k];
            model.source[count++] = k;
        }
        model.pattern.column_start[j + 1] = count;
    }
    model.pattern.block_count = count;
    thenar_status status =
        cholesky_plan_create(&model.pattern, &(cholesky_options){.last_count = tool_last}, &model.plan, error);
    if (status == THENAR_OK)
        *out = model;
    else
        coupled_model_free(&model);
    return status;
}

void coupled_model_free(coupled_model *model) {
    block_pattern_free(&model->pattern);
    cholesky_plan_free(model->plan);
    free(model->source);
    *model = (coupled_model){0};
}

void coupled_layout(coupled_state *state, const coupled_model *model, const block_pattern *whole,
                    coupling_method method, arena *work) {
    size_t tool = 3 * (size_t)model->tool_nodes, handle = 3 * (size_t)model->handle_nodes;
    bool by_gradients = method == COUPLING_CG;
    *state = (coupled_state){.model = model,
                             .whole = whole,
                             .method = method,
                             .tool = ARENA_ARRAY(work, double, 9 * (size_t)model->pattern.block_count),
                             .diagonal = ARENA_ARRAY(work, double, by_gradients ? 3 * tool : 0),
                             .Z = ARENA_ARRAY(work, double, tool *handle),
                             .S = ARENA_ARRAY(work, double, handle *handle),
                             .y = ARENA_ARRAY(work, double, tool),
                             .r = ARENA_ARRAY(work, double, by_gradients ? tool : 0),
                             .z = ARENA_ARRAY(work, double, by_gradients ? tool : 0),
                             .p = ARENA_ARRAY(work, double, by_gradients ? tool : 0),
                             .q = ARENA_ARRAY(work, double, by_gradients ? tool : 0),
                             .x_h = ARENA_ARRAY(work, double, handle)};
    if (!by_gradients) cholesky_factor_layout(&state->factor, model->plan, work);
}

static double dot(const double *a, const double *b, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* z = D^-1 r, D the diagonal blocks. */
static void precondition(const coupled_state *state, const double *r, double *z) {
    for (int i = 0; i < state->model->tool_nodes; i++) {
        mat3 inverse;
        memcpy(inverse.m, state->diagonal + 9 * (size_t)i, sizeof inverse.m);
        vec3_store(z + 3 * i, mat3_mul_vec(inverse, vec3_load(r + 3 * i)));
    }
}

/* x = H_t^-1 x */
static void solve_by_gradients(coupled_state *state, double *x) {
    int n = 3 * state->model->tool_nodes;
    double *r = state->r, *z = state->z, *p = state->p, *q = state->q, before = 0;
    memcpy(r, x, (size_t)n * sizeof *r);
    memset(x, 0, (size_t)n * sizeof *x);
    double enough = CG_TOLERANCE * sqrt(dot(r, r, n));
    for (int steps = 0; steps < CG_STEPS * n && sqrt(dot(r, r, n)) > enough; steps++) {
        precondition(state, r, z);
        double now = dot(r, z, n), keep = steps > 0 ? now / before : 0;
        for (int i = 0; i < n; i++) p[i] = steps > 0 ? z[i] + keep * p[i] : z[i];
        block_pattern_multiply(&state->model->pattern, state->tool, p, q);
        double curvature = dot(p, q, n);
        if (!(curvature > 0)) break;
        double step = now / curvature;
        for (int i = 0; i < n; i++) x[i] += step * p[i], r[i] -= step * q[i];
        before = now;
        state->iterations++;
    }
}

static void solve_tool(coupled_state *state, double *x) {
    if (state->method == COUPLING_CG)
        solve_by_gradients(state, x);
    else
        cholesky_solve(&state->factor, x);
}

/* Called for each block of the whole matrix in a row of a handle. */
typedef void (*row_visitor)(coupled_state *state, int row, int column, const double *block, void *context);

static void visit_handles(coupled_state *state, row_visitor visit, void *context) {
    int tool = state->model->tool_nodes;
    for (int j = 0; j < state->whole->node_count; j++)
        for (int k = state->whole->column_start[j]; k < state->whole->column_start[j + 1]; k++)
            if (state->whole->row[k] >= tool)
                visit(state, state->whole->row[k] - tool, j, state->blocks + 9 * (size_t)k, context);
}

/* Initializes Z = H_th and S = H_h. */
static void take_block(coupled_state *state, int row, int column, const double *block, void *context) {
    (void)context;
    int tool = state->model->tool_nodes, n = 3 * state->model->handle_nodes;
    for (int e = 0; e < 9; e++) {
        int i = 3 * row + e / 3, j = 3 * column + e % 3;
        if (column < tool)
            state->Z[(size_t)i * 3 * (size_t)tool + (size_t)j] = block[e];
        else
            state->S[i * n + j - 3 * tool] = state->S[(j - 3 * tool) * n + i] = block[e];
    }
}

/* S -= H_ht Z */
static void eliminate_block(coupled_state *state, int row, int column, const double *block, void *context) {
    (void)context;
    int tool = state->model->tool_nodes, n = 3 * state->model->handle_nodes;
    if (column >= tool) return;
    for (int c = 0; c < n; c++)
        for (int e = 0; e < 9; e++)
            state->S[(3 * row + e / 3) * n + c] -=
                block[e] * state->Z[(size_t)c * 3 * (size_t)tool + (size_t)(3 * column + e % 3)];
}

bool coupled_factor(coupled_state *state, const double *blocks, workers *pool) {
    const coupled_model *model = state->model;
    int tool = model->tool_nodes, n = 3 * model->handle_nodes;
    state->blocks = blocks;
    for (int k = 0; k < model->pattern.block_count; k++)
        memcpy(state->tool + 9 * (size_t)k, blocks + 9 * (size_t)model->source[k], 9 * sizeof *blocks);
    for (int i = 0; i < tool && state->method == COUPLING_CG; i++) {
        mat3 own;
        memcpy(own.m, state->tool + 9 * (size_t)model->pattern.column_start[i], sizeof own.m);
        own = mat3_inverse(own);
        memcpy(state->diagonal + 9 * (size_t)i, own.m, sizeof own.m);
    }
    if (state->method != COUPLING_CG && cholesky_factorize(&state->factor, state->tool, pool) != CHOLESKY_DONE)
        return false;
    memset(state->Z, 0, 3 * (size_t)tool * (size_t)n * sizeof *state->Z);
    memset(state->S, 0, (size_t)n * (size_t)n * sizeof *state->S);
    visit_handles(state, take_block, NULL);
    for (int c = 0; c < n; c++) solve_tool(state, state->Z + (size_t)c * 3 * (size_t)tool);
    visit_handles(state, eliminate_block, NULL);
    return dense_cholesky(state->S, n, n, 0) == 0;
}

/* x_h -= H_ht y */
static void subtract_tool(coupled_state *state, int row, int column, const double *block, void *context) {
    double *x_h = context;
    if (column >= state->model->tool_nodes) return;
    for (int e = 0; e < 9; e++) x_h[3 * row + e / 3] -= block[e] * state->y[3 * column + e % 3];
}

void coupled_solve(coupled_state *state, double *x) {
    int tool = 3 * state->model->tool_nodes, n = 3 * state->model->handle_nodes;
    memcpy(state->y, x, (size_t)tool * sizeof *x);
    memcpy(state->x_h, x + tool, (size_t)n * sizeof *x);
    solve_tool(state, state->y);
    visit_handles(state, subtract_tool, state->x_h);
    dense_cholesky_solve(state->S, n, n, state->x_h);
    memcpy(x, state->y, (size_t)tool * sizeof *x);
    memcpy(x + tool, state->x_h, (size_t)n * sizeof *x);
    for (int c = 0; c < n; c++)
        for (int i = 0; i < tool; i++) x[i] -= state->Z[(size_t)c * (size_t)tool + (size_t)i] * state->x_h[c];
}
