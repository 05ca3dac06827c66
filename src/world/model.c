#include "world/model.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void model_keep(const thenar_model *model) {
    /* The count is the one thing of a model that changes; it is atomic. */
    atomic_fetch_add(&((thenar_model *)model)->owners, 1);
}

void thenar_model_free(thenar_model *model) {
    if (!model || atomic_fetch_sub(&model->owners, 1) > 1) return;
    for (int i = 0; i < model->system_count; i++) system_free(&model->systems[i]);
    contacts_free(&model->contacts);
    for (int i = 0; i < model_mover_count(model); i++) model->bodies[i]->kind->free(model->bodies[i]);
    for (int i = 0; i < model->hand_count; i++) hand_model_free(model->hands[i]);
    for (int i = 0; i < model->warning_count; i++) free(model->warnings[i]);
    free(model->warnings);
    free(model->systems);
    free(model->system_of);
    free(model->first_node_of);
    free(model->bodies);
    free(model->hands);
    for (int i = 0; i < model->tactile_count; i++) {
        free((void *)model->tactile[i].name);
        free((void *)model->tactile[i].hand);
    }
    free(model->tactile);
    for (int i = 0; model->held && i < model->handle_count; i++) free(model->held[i].device);
    free(model->held);
    free(model->haptic);
    free(model->name);
    free(model);
}

const soft_model *model_soft(const thenar_model *model, int body) {
    assert(body >= 0 && body < model->body_count && model->bodies[body]->kind == &soft_class);
    return (const soft_model *)model->bodies[body];
}

const rigid_model *model_rigid(const thenar_model *model, int body) {
    assert(body >= 0 && body < model->body_count && model->bodies[body]->kind == &rigid_class);
    return (const rigid_model *)model->bodies[body];
}

const char *thenar_model_name(const thenar_model *model) {
    return model->name;
}

double thenar_model_dt(const thenar_model *model) {
    return model->dt;
}

int thenar_model_dof_count(const thenar_model *model) {
    int nodes = 0;
    for (int i = 0; i < model->system_count; i++) nodes += model->systems[i].pattern.node_count;
    return 3 * nodes;
}

int thenar_model_body_count(const thenar_model *model) {
    return model->body_count;
}

int thenar_model_find_body(const thenar_model *model, const char *name) {
    for (int i = 0; i < model->body_count; i++)
        if (strcmp(model->bodies[i]->name, name) == 0) return i;
    return -1;
}

const char *thenar_model_body_name(const thenar_model *model, int body) {
    assert(body >= 0 && body < model->body_count);
    return model->bodies[body]->name;
}

thenar_body_kind thenar_model_body_kind(const thenar_model *model, int body) {
    assert(body >= 0 && body < model->body_count);
    return model->bodies[body]->kind == &rigid_class ? THENAR_BODY_RIGID : THENAR_BODY_SOFT;
}

double thenar_model_mass(const thenar_model *model, int body) {
    assert(body >= 0 && body < model->body_count);
    return model->bodies[body]->kind->mass(model->bodies[body]);
}

void thenar_model_inertia(const thenar_model *model, int body, double inertia[9]) {
    memcpy(inertia, model_rigid(model, body)->inertia.m, 9 * sizeof *inertia);
}

thenar_motion thenar_model_motion(const thenar_model *model, int body) {
    return model_rigid(model, body)->motion;
}

int thenar_model_find_support(const thenar_model *model, int body, const char *name) {
    const soft_model *soft = model_soft(model, body);
    for (int i = 0; i < soft->support_count; i++)
        if (soft->supports[i].name && strcmp(soft->supports[i].name, name) == 0) return i;
    return -1;
}

const thenar_tet_mesh *thenar_model_mesh(const thenar_model *model, int body) {
    return &model_soft(model, body)->mesh;
}

const thenar_surface *thenar_model_surface(const thenar_model *model, int body) {
    assert(body >= 0 && body < model->body_count);
    return model->bodies[body]->kind->surface(model->bodies[body]);
}

const thenar_embedding *thenar_model_embedding(const thenar_model *model, int body) {
    return &model_soft(model, body)->embedding;
}

const double *thenar_model_masses(const thenar_model *model, int body) {
    return model_soft(model, body)->mass;
}

bool thenar_model_stretch_limits(const thenar_model *model, int body, double *limits) {
    const soft_model *soft = model_soft(model, body);
    for (int t = 0; t < soft->mesh.tet_count; t++) {
        const soft_batch *batch = &soft->batches[t / SIMD_LANES];
        double min = batch->s_min[t % SIMD_LANES], max = batch->s_max[t % SIMD_LANES];
        limits[2 * t] = min > 0 ? min : 0;
        limits[2 * t + 1] = max < SOFT_NO_LIMIT ? max : 0;
    }
    return soft->limited;
}

int thenar_model_contact_pair_count(const thenar_model *model) {
    return model->contacts.pair_count;
}

void thenar_model_contact_pair(const thenar_model *model, int pair, int body[2]) {
    assert(pair >= 0 && pair < model->contacts.pair_count);
    memcpy(body, model->contacts.pairs[pair].body, sizeof model->contacts.pairs[pair].body);
}

int thenar_model_warning_count(const thenar_model *model) {
    return model->warning_count;
}

const char *thenar_model_warning(const thenar_model *model, int index) {
    assert(index >= 0 && index < model->warning_count);
    return model->warnings[index];
}

int thenar_model_tactile_count(const thenar_model *model) {
    return model->tactile_count;
}

const thenar_tactile_def *thenar_model_tactile(const thenar_model *model, int index) {
    assert(index >= 0 && index < model->tactile_count);
    return &model->tactile[index];
}
