/* One step of one soft body as dense matrices: A, b and x0 of perez2016's Eq. 1, for methods that solve it in other
 * ways.
 *
 * A and b are those that the step itself used; other tests compare them with theory (test_soft.c). Everything else,
 * shape functions, deformation and objective, is written anew here. */
#ifndef TEST_DENSE_STEP_H
#define TEST_DENSE_STEP_H

#include "soft_tools.h"

#include "core/memory.h"
#include "world/sim.h"

typedef struct dense_step {
    const thenar_tet_mesh *mesh;
    const int *unknown; /* of a mesh node, or -1: it is held and stays where it is */
    double h;
    int n; /* unknowns: 3 per free node */
    double *A, *b, *free_motion;
    double *x0;          /* 3 per mesh node */
    vec3 (*gradient)[4]; /* of the shape functions of each tet */
} dense_step;

/* A = L L^T in place of the lower triangle. */
static inline void dense_factor(double *A, int n) {
    for (int j = 0; j < n; j++)
        for (int i = j; i < n; i++) {
            double sum = A[i * n + j];
            for (int k = 0; k < j; k++) sum -= A[i * n + k] * A[j * n + k];
            A[i * n + j] = i == j ? sqrt(sum) : sum / A[j * n + j];
        }
}

static inline void dense_solve(const double *L, int n, double *x) {
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < i; k++) x[i] -= L[i * n + k] * x[k];
        x[i] /= L[i * n + i];
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int k = i + 1; k < n; k++) x[i] -= L[k * n + i] * x[k];
        x[i] /= L[i * n + i];
    }
}

static inline void dense_shape_gradients(dense_step *dense) {
    for (int t = 0; t < dense->mesh->tet_count; t++) {
        vec3 x[4], *g = dense->gradient[t];
        for (int a = 0; a < 4; a++) x[a] = vec3_load(dense->mesh->positions + 3 * dense->mesh->tets[4 * t + a]);
        mat3 inverse = mat3_inverse(mat3_columns(vec3_sub(x[1], x[0]), vec3_sub(x[2], x[0]), vec3_sub(x[3], x[0])));
        for (int a = 1; a < 4; a++) g[a] = mat3_row(inverse, a - 1);
        g[0] = vec3_scale(vec3_add(g[1], vec3_add(g[2], g[3])), -1);
    }
}

/* The next step of the simulation, whose body 0 is soft, is alone in its system and has supports at rest. The step is
 * done: where it came to is in the simulation. */
static inline dense_step dense_from(thenar_sim *sim) {
    const thenar_model *model = thenar_sim_model(sim);
    const system_model *system = &model->systems[0];
    assert_true(system->body_count == 1 && system->bodies[0] == 0);
    const thenar_tet_mesh *mesh = thenar_model_mesh(model, 0);
    int n = 3 * system->pattern.node_count, nodes = mesh->node_count;
    dense_step dense = {.mesh = mesh,
                        .unknown = model_soft(model, 0)->system_node,
                        .h = thenar_sim_dt(sim),
                        .n = n,
                        .A = calloc((size_t)(n * n), sizeof(double)),
                        .x0 = memory_copy(thenar_sim_positions(sim, 0), 3 * (size_t)nodes * sizeof(double)),
                        .gradient = calloc((size_t)mesh->tet_count, sizeof *dense.gradient)};
    dense_shape_gradients(&dense);
    tools_run(sim, 1);
    const block_pattern *pattern = &system->pattern;
    for (int j = 0; j < pattern->node_count; j++)
        for (int k = pattern->column_start[j]; k < pattern->column_start[j + 1]; k++)
            for (int c = 0; c < 9; c++) {
                int row = 3 * pattern->row[k] + c / 3, column = 3 * j + c % 3;
                dense.A[row * n + column] = dense.A[column * n + row] = sim->systems[0].blocks[9 * k + c];
            }
    dense.b = memory_copy(sim->systems[0].b, (size_t)n * sizeof(double));
    dense.free_motion = memory_copy(dense.b, (size_t)n * sizeof(double));
    double *L = memory_copy(dense.A, (size_t)(n * n) * sizeof *L);
    dense_factor(L, n);
    dense_solve(L, n, dense.free_motion);
    free(L);
    return dense;
}

static inline void dense_free(dense_step *dense) {
    free(dense->A);
    free(dense->b);
    free(dense->free_motion);
    free(dense->x0);
    free(dense->gradient);
}

/* A (v - v*) */
static inline void dense_residual(const dense_step *dense, const double *v, double *residual) {
    for (int i = 0; i < dense->n; i++) {
        residual[i] = 0;
        for (int j = 0; j < dense->n; j++) residual[i] += dense->A[i * dense->n + j] * (v[j] - dense->free_motion[j]);
    }
}

/* 1/2 (v - v*)^T A (v - v*) */
static inline double dense_objective(const dense_step *dense, const double *v) {
    double sum = 0;
    for (int i = 0; i < dense->n; i++)
        for (int j = 0; j < dense->n; j++)
            sum += 0.5 * (v[i] - dense->free_motion[i]) * dense->A[i * dense->n + j] * (v[j] - dense->free_motion[j]);
    return sum;
}

/* x0 + h v */
static inline vec3 dense_position(const dense_step *dense, int node, const double *v) {
    vec3 x = vec3_load(dense->x0 + 3 * node);
    return dense->unknown[node] < 0 ? x : vec3_mul_add(x, vec3_load(v + 3 * dense->unknown[node]), dense->h);
}

/* G = sum of x_a g_a^T */
static inline mat3 dense_deformation(const dense_step *dense, int t, const double *v) {
    mat3 G = {{0}};
    for (int a = 0; a < 4; a++)
        G = mat3_add(G, mat3_outer(dense_position(dense, dense->mesh->tets[4 * t + a], v), dense->gradient[t][a]));
    return G;
}

#endif
