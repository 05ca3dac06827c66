/* What can be read of contacts between steps. */
#include "world/sim.h"

#include <assert.h>
#include <string.h>

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
    return sim->contacts.told;
}

int thenar_sim_contact_count(const thenar_sim *sim) {
    return sim->contacts.told_count;
}

const thenar_contact_pair *thenar_sim_contact_pairs(const thenar_sim *sim) {
    return sim->contacts.told_pairs;
}

int thenar_sim_contact_pair_count(const thenar_sim *sim) {
    return sim->contacts.told_pair_count;
}

void thenar_sim_contact_wrench(const thenar_sim *sim, int body, double force[3], double torque[3], double *area) {
    assert(body >= 0 && body < sim->model->body_count);
    vec3 f = {0}, t = {0};
    double sum = 0;
    for (int i = 0; i < sim->contacts.told_pair_count; i++) {
        const thenar_contact_pair *pair = &sim->contacts.told_pairs[i];
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
