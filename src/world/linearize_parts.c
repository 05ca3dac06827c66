#include "world/linearize_parts.h"

#include "body/rigid.h"
#include "body/soft.h"

static void add_soft_mass(double *const X[6], const soft_model *soft, const double *mass, int first, double sum[36]) {
    for (int node = 0; node < soft->mesh.node_count; node++) {
        int at = 3 * (first + soft->system_node[node]);
        if (soft->system_node[node] < 0) continue;
        for (int i = 0; i < 36; i++)
            sum[i] += mass[node] * vec3_dot(vec3_load(X[i / 6] + at), vec3_load(X[i % 6] + at));
    }
}

void linearize_add_inertia(double *const X[6], const body_model *body, const body_state *state, int first,
                           double sum[36]) {
    if (body->kind == &soft_class) {
        add_soft_mass(X, (const soft_model *)body, ((const soft_model *)body)->mass, first, sum);
        return;
    }
    const rigid_model *rigid = (const rigid_model *)body;
    mat3 R = quat_to_mat3(rigid_orientation(((const rigid_state *)state)->kept->orientation));
    mat3 inertia = mat3_mul(mat3_mul(R, rigid->inertia), mat3_transpose(R));
    int at = 3 * first;
    for (int i = 0; i < 36; i++) {
        vec3 turn = mat3_mul_vec(inertia, vec3_load(X[i % 6] + at + 3));
        sum[i] += rigid->mass * vec3_dot(vec3_load(X[i / 6] + at), vec3_load(X[i % 6] + at)) +
                  vec3_dot(vec3_load(X[i / 6] + at + 3), turn);
    }
}

/* Column c of beta K X in eight tets, against the columns up to it. */
static void add_batch(const soft_batch *batch, const soft_model *soft, const f64x8 product[12], double *const X[6],
                      int first, int c, double h, double sum[36]) {
    for (int l = 0; l < batch->tet_count; l++) {
        double beta = batch->beta[l], share = beta / (h * (h + beta)); /* the product is (h^2 + h beta) K X */
        for (int a = 0; a < 4; a++) {
            int own = soft->system_node[batch->node[a][l]];
            if (own < 0) continue;
            vec3 force = {share * product[3 * a][l], share * product[3 * a + 1][l], share * product[3 * a + 2][l]};
            for (int i = 0; i <= c; i++) {
                double part = vec3_dot(vec3_load(X[i] + 3 * (first + own)), force);
                sum[6 * i + c] += part;
                if (i < c) sum[6 * c + i] += part;
            }
        }
    }
}

void linearize_add_viscosity(double *const X[6], body_state *state, int first, double h, double sum[36]) {
    soft_state *of_soft = (soft_state *)state;
    const soft_model *soft = soft_of(of_soft);
    add_soft_mass(X, soft, soft->damped_mass, first, sum);
    add_soft_mass(X, soft, soft->damping, first, sum);
    for (int c = 0; c < 6; c++) {
        double *w = of_soft->free_velocity;
        for (int node = 0; node < soft->mesh.node_count; node++) {
            int own = soft->system_node[node];
            vec3_store(w + 3 * node, own < 0 ? vec3_make(0, 0, 0) : vec3_load(X[c] + 3 * (first + own)));
        }
        for (int k = 0; k < soft->batch_count; k++) {
            f64x8 product[12];
            soft_element_stiffness_times(&soft->batches[k], of_soft->rotation + 9 * k, w, h, product);
            add_batch(&soft->batches[k], soft, product, X, first, c, h, sum);
        }
    }
}
