#include "contact/patch.h"

void patches_move(patch *patches, int count, const double *d) {
    for (int i = 0; i < count; i++) {
        patch *p = &patches[i];
        for (int row = 0; row < PATCH_ROWS; row++) {
            const vec3 *gradient = p->gradient + (size_t)row * (size_t)p->leg_count;
            double sum = p->start[row];
            for (int k = 0; k < p->leg_count; k++) sum += vec3_dot(gradient[k], vec3_load(d + 3 * p->node[k]));
            p->u[row] = sum;
        }
    }
}

void patches_add_force(const patch *patches, int count, double weight, double *sum) {
    for (int i = 0; i < count; i++) {
        const patch *p = &patches[i];
        for (int row = 0; row < PATCH_ROWS; row++) {
            const vec3 *gradient = p->gradient + (size_t)row * (size_t)p->leg_count;
            double scale = weight * p->lambda[row];
            if (scale == 0) continue;
            for (int k = 0; k < p->leg_count; k++)
                vec3_store(sum + 3 * p->node[k], vec3_mul_add(vec3_load(sum + 3 * p->node[k]), gradient[k], scale));
        }
    }
}

double patches_work(const patch *patches, int count) {
    double sum = 0;
    for (int i = 0; i < count; i++)
        for (int row = 0; row < PATCH_ROWS; row++) sum += patches[i].lambda[row] * patches[i].u[row];
    return sum;
}

void patches_spread(const patch *patches, int count, contact *contacts, int contact_count) {
    for (int i = 0; i < contact_count; i++) {
        contacts[i].lambda = (vec3){0};
        contacts[i].settled = CONE_OPEN;
    }
    for (int i = 0; i < count; i++) {
        const patch *p = &patches[i];
        vec3 friction = vec3_scale(mat3_row(p->frame, 1), p->lambda[1]);
        friction = vec3_mul_add(friction, mat3_row(p->frame, 2), p->lambda[2]);
        for (int k = 0; k < p->member_count; k++) {
            const patch_member *member = &p->members[k];
            contact *c = &contacts[member->contact];
            vec3 tangential = vec3_mul_add(vec3_scale(friction, member->share), member->twist, p->lambda[3]);
            c->lambda = mat3_mul_vec(c->frame, tangential);
            c->lambda.x =
                member->share * p->lambda[0] + member->slope[0] * p->lambda[4] + member->slope[1] * p->lambda[5];
            c->settled = p->settled;
        }
    }
}
