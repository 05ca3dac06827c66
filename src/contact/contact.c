#include "contact/contact.h"

#include <assert.h>

mat3 contact_frame(vec3 n) {
    /* Without a branch that could flip between nearby normals, but where n.z changes sign. */
    double sign = copysign(1, n.z), a = -1 / (sign + n.z), b = n.x * n.y * a;
    vec3 t1 = {1 + sign * n.x * n.x * a, sign * b, -sign * n.x}, t2 = {b, sign + n.y * n.y * a, -n.y};
    return mat3_transpose(mat3_columns(n, t1, t2));
}

bool contact_bind(contact *c, const block_pattern *pattern) {
    for (int i = 0, k = 0; i < c->leg_count; i++)
        for (int j = 0; j <= i; j++, k++) {
            c->blocks[k] = -1;
            if (c->crosses && c->legs[i].other != c->legs[j].other) continue;
            c->blocks[k] = block_pattern_find(pattern, c->legs[i].node, c->legs[j].node);
            if (c->blocks[k] < 0) return false;
        }
    return true;
}

/* M d */
static vec3 leg_motion(const contact_leg *leg, const double *d) {
    vec3 motion = vec3_load(d + 3 * leg->node);
    return vec3_scale(leg->turns ? vec3_cross(motion, leg->arm) : motion, leg->weight);
}

/* M^T f */
static vec3 leg_force(const contact_leg *leg, vec3 f) {
    return vec3_scale(leg->turns ? vec3_cross(leg->arm, f) : f, leg->weight);
}

vec3 contact_motion(const contact *c, const double *d) {
    vec3 motion = {0};
    for (int k = 0; k < c->leg_count; k++) motion = vec3_add(motion, leg_motion(&c->legs[k], d));
    return mat3_mul_vec(c->frame, motion);
}

void contact_add_force(const contact *c, vec3 force, double *sum) {
    for (int k = 0; k < c->leg_count; k++) {
        double *part = sum + 3 * c->legs[k].node;
        vec3_store(part, vec3_add(vec3_load(part), leg_force(&c->legs[k], force)));
    }
}

/* M_i^T W M_j, where M = weight 1 or -weight [arm]x */
static mat3 between_legs(const contact_leg *i, const contact_leg *j, mat3 W) {
    if (i->turns) W = mat3_mul(mat3_skew(i->arm), W);
    if (j->turns) W = mat3_scale(mat3_mul(W, mat3_skew(j->arm)), -1);
    return mat3_scale(W, i->weight * j->weight);
}

void contact_add_blocks(const contact *c, mat3 W, double *blocks) {
    for (int i = 0, k = 0; i < c->leg_count; i++)
        for (int j = 0; j <= i; j++, k++) {
            if (c->blocks[k] < 0) continue; /* the pattern has no room for these two */
            mat3 block = between_legs(&c->legs[i], &c->legs[j], W);
            double *target = blocks + 9 * (size_t)c->blocks[k];
            for (int e = 0; e < 9; e++) target[e] += block.m[e];
        }
}

static void look(contact *c) {
    c->z = vec3_mul_add(c->lambda, vec3_add(c->u, vec3_make(c->shift, 0, 0)), -c->rho);
    c->state = cone_state_of(c->z, c->mu);
    c->force = cone_project(c->z, c->mu, c->state);
}

void contacts_take(contact *contacts, int count, const double *d) {
    for (int i = 0; i < count; i++) contacts[i].u = vec3_add(contacts[i].start, contact_motion(&contacts[i], d));
}

void contacts_move(contact *contacts, int count, const double *d) {
    contacts_take(contacts, count, d);
    for (int i = 0; i < count; i++) look(&contacts[i]);
}

void contacts_guess_shift(contact *contacts, int count) {
    for (int i = 0; i < count; i++) {
        contact *c = &contacts[i];
        c->shift = c->stuck ? 0 : c->mu * cone_tangential(c->u);
        look(c);
    }
}

double contacts_energy(const contact *contacts, int count) {
    double sum = 0;
    for (int i = 0; i < count; i++) sum += vec3_dot(contacts[i].force, contacts[i].force) / (2 * contacts[i].rho);
    return sum;
}

contact_measures contacts_measure(const contact *contacts, int count) {
    contact_measures all = {0};
    for (int i = 0; i < count; i++) {
        const contact *c = &contacts[i];
        double change = vec3_distance(c->force, c->lambda);
        all.force = fmax(all.force, change);
        all.length = fmax(all.length, change / c->rho);
        if (c->state == CONE_OPEN) continue;
        double shift = c->state == CONE_SLIP ? c->mu * cone_tangential(c->u) : 0;
        all.length = fmax(all.length, fabs(shift - c->shift));
        all.mean += c->force.x;
        all.active++;
    }
    if (all.active > 0) all.mean /= all.active;
    return all;
}

void contacts_gradient(const contact *contacts, int count, double weight, double *gradient) {
    for (int i = 0; i < count; i++) {
        const contact *c = &contacts[i];
        if (c->state == CONE_OPEN) continue;
        contact_add_force(c, vec3_scale(mat3_mul_vec_transposed(c->frame, c->force), -weight), gradient);
    }
}

mat3 contact_stiffness(const contact *c) {
    mat3 D = cone_derivative(c->z, c->mu, c->state);
    return mat3_scale(mat3_mul(mat3_mul(mat3_transpose(c->frame), D), c->frame), c->rho);
}

void contact_add_crossing(const contact *c, const mat3 *stiffness, double weight, const double *x, double *y) {
    vec3 motion[2] = {vec3_make(0, 0, 0), vec3_make(0, 0, 0)};
    for (int k = 0; k < c->leg_count; k++) {
        const contact_leg *leg = &c->legs[k];
        motion[leg->other] = vec3_add(motion[leg->other], leg_motion(leg, x));
    }
    for (int side = 0; side < 2; side++) motion[side] = vec3_scale(mat3_mul_vec(*stiffness, motion[side]), weight);
    for (int k = 0; k < c->leg_count; k++) {
        const contact_leg *leg = &c->legs[k];
        double *sum = y + 3 * leg->node;
        vec3_store(sum, vec3_add(vec3_load(sum), leg_force(leg, motion[!leg->other])));
    }
}

void contacts_hessian(const contact *contacts, int count, double weight, double *blocks) {
    for (int n = 0; n < count; n++) {
        const contact *c = &contacts[n];
        if (c->state == CONE_OPEN) continue;
        mat3 D = cone_derivative(c->z, c->mu, c->state);
        mat3 W = mat3_mul(mat3_mul(mat3_transpose(c->frame), D), c->frame);
        contact_add_blocks(c, mat3_scale(W, weight * c->rho), blocks);
    }
}

/* The shift goes all the way until that swings it to and fro, between stick and slip mostly; then ever less. */
static void move_shift(contact *c) {
    double wanted = c->state == CONE_STICK ? 0 : c->mu * cone_tangential(c->u), change = wanted - c->shift;
    c->share = change * c->last_change < 0 ? 0.5 * c->share : fmin(1, 2 * c->share);
    c->shift += c->share * change;
    c->last_change = change;
}

void contacts_update(contact *contacts, int count) {
    for (int i = 0; i < count; i++) {
        contact *c = &contacts[i];
        move_shift(c);
        c->lambda = c->force.x > c->most ? vec3_scale(c->force, c->most / c->force.x) : c->force;
        c->settled = c->state;
        look(c);
    }
}
