/* What can be read of a soft body between steps. */
#include "body/soft.h"

void soft_place_surface(const body_state *base, double *positions) {
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

void soft_energy(const body_state *base, vec3 gravity, double *kinetic, double *elastic, double *potential) {
    const soft_state *state = (const soft_state *)base;
    const soft_model *body = soft_of(state);
    double moving = 0, raised = 0, strained = 0;
    for (int i = 0; i < body->mesh.node_count; i++) {
        vec3 v = vec3_load(state->v + 3 * i);
        moving += 0.5 * body->mass[i] * vec3_dot(v, v);
        raised -= body->mass[i] * vec3_dot(gravity, vec3_load(state->x + 3 * i));
    }
    for (int k = 0; k < body->batch_count; k++) strained += soft_element_energy(&body->batches[k], state->x);
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
        /* What else acts on the node of a spring is not the spring's. */
        if (held->stiffness > 0)
            reaction = vec3_sub(reaction,
                                vec3_add(vec3_load(state->applied + 3 * i), vec3_load(soft_of(state)->load + 3 * i)));
        *force = vec3_add(*force, reaction);
        *torque = vec3_add(*torque, vec3_cross(vec3_load(state->x + 3 * i), reaction));
    }
}
