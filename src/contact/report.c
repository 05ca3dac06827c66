/* The report of a step's contacts: every contact, sums per pair of bodies, loads on supports, and touched nodes. */
#include "contact/contact.h"

#include <float.h>
#include <string.h>

void contact_report_clear(contact_state *state) {
    state->report_count = state->pair_report_count = 0;
}

/* Marks the nodes that contacts hold, with their forces: the bones of the next step account for them (hand/step.c,
 * hand/bones.c). */
static void touch_nodes(const int node[4], const double weights[4], vec3 force, body_state *body) {
    if (body->model->kind != &soft_class) return;
    for (int k = 0; k < 4; k++) {
        if (weights[k] == 0) continue;
        soft_state *soft = (soft_state *)body;
        double *touched = &soft->touched[node[k]];
        *touched = fmin(1, *touched + fabs(weights[k]));
        if (!soft_of(soft)->carriers) continue;
        double *sum = soft->contact_force + 3 * node[k];
        vec3_store(sum, vec3_mul_add(vec3_load(sum), force, weights[k]));
    }
}

static void note_touched(const contact_state *state, const contact_model *contacts, body_state *const *bodies,
                         int count) {
    for (int i = 0; i < contacts->skin_count; i++) {
        body_state *body = bodies[contacts->skin_body[i]];
        if (body->model->kind != &soft_class) continue;
        soft_state *soft = (soft_state *)body;
        memset(soft->touched, 0, (size_t)soft_of(soft)->mesh.node_count * sizeof *soft->touched);
        if (soft_of(soft)->carriers)
            memset(soft->contact_force, 0, 3 * (size_t)soft_of(soft)->mesh.node_count * sizeof *soft->contact_force);
    }
    for (int i = 0; i < count; i++) {
        const contact_point *point = &state->points[state->contacts[i].point];
        const int *pair = contacts->pairs[point->pair].body;
        const contact *c = &state->contacts[i];
        if (!(c->lambda.x > 0)) continue;
        vec3 force = mat3_mul_vec_transposed(c->frame, c->lambda);
        touch_nodes(point->node, point->weights, force, bodies[pair[0]]);
        touch_nodes(point->other_node, point->other_weights, vec3_scale(force, -1), bodies[pair[1]]);
    }
}

/* Adds the force of a contact on held nodes to the reaction of their support. */
static void load_supports(const int node[4], const double weights[4], vec3 force, body_state *body) {
    if (body->model->kind != &soft_class) return;
    soft_state *state = (soft_state *)body;
    for (int k = 0; k < 4; k++) {
        if (weights[k] == 0 || soft_of(state)->system_node[node[k]] >= 0) continue;
        double *reaction = state->force + 3 * node[k];
        vec3_store(reaction, vec3_mul_add(vec3_load(reaction), force, -weights[k]));
    }
}

/* Position of a contact: the vertex, or the gap away from the closest point of the other body. */
static vec3 position_of(const contact *c, const contact_point *point, const contact_pair *pair,
                        body_state *const *bodies) {
    const body_state *skin = bodies[pair->body[0]];
    if (skin->model->kind != &soft_class) {
        const rigid_kept *other = ((const rigid_state *)bodies[pair->body[1]])->kept;
        vec3 closest =
            vec3_add(vec3_load(other->position), quat_rotate(rigid_orientation(other->orientation), point->anchor));
        return vec3_mul_add(closest, mat3_row(c->frame, 0), c->u.x - c->allowed_penetration);
    }
    const double *x = ((const soft_state *)skin)->x;
    vec3 p = {0};
    for (int k = 0; k < 4; k++) p = vec3_mul_add(p, vec3_load(x + 3 * point->node[k]), point->weights[k]);
    return p;
}

/* The touched triangle of the body's own surface; for a coarser skin, one around its corner with the largest weight. */
static int touched_face(const contact_model *contacts, const contact_point *point) {
    int faces = contacts->pairs[point->pair].faces;
    if (faces < 0 || !contacts->skins[faces].around_face) return point->face_b;
    const contact_skin *skin = &contacts->skins[faces];
    const int *corner = skin->triangles + 3 * (size_t)point->face_b;
    vec3 w = point->anchor;
    int heaviest = corner[w.x >= w.y && w.x >= w.z ? 0 : w.y >= w.z ? 1 : 2];
    for (int k = skin->around_start[heaviest]; k < skin->around_start[heaviest + 1]; k++)
        if (skin->around[k] == point->face_b) return skin->around_face[k];
    return point->face_b;
}

static thenar_contact report_contact(const contact_model *contacts, const contact *c, const contact_point *point,
                                     const contact_pair *pair, body_state *const *bodies) {
    thenar_contact reported = {.body = {pair->body[0], pair->body[1]},
                               .vertex = point->vertex,
                               .face = {point->face_a, touched_face(contacts, point)},
                               .sticks = c->lambda.x > 0 && c->settled == CONE_STICK,
                               .gap = c->u.x - c->allowed_penetration,
                               .force = c->lambda.x,
                               .area = point->area};
    vec3_store(reported.position, position_of(c, point, pair, bodies));
    vec3_store(reported.normal, mat3_row(c->frame, 0));
    vec3_store(reported.friction, mat3_mul_vec_transposed(c->frame, vec3_make(0, c->lambda.y, c->lambda.z)));
    return reported;
}

/* Adds a contact to the sums of its pair; `centre` and `pressure` are sums until the pair is finished. */
static void add_to_pair(thenar_contact_pair *pair, const thenar_contact *reported) {
    vec3 normal = vec3_load(reported->normal), at = vec3_load(reported->position);
    vec3 force = vec3_mul_add(vec3_load(reported->friction), normal, reported->force);
    pair->count++;
    if (!(reported->force > 0)) return;
    pair->touching++;
    vec3_store(pair->force, vec3_add(vec3_load(pair->force), force));
    vec3_store(pair->torque, vec3_add(vec3_load(pair->torque), vec3_cross(at, force)));
    vec3_store(pair->centre, vec3_mul_add(vec3_load(pair->centre), at, reported->force));
    pair->area += reported->area;
    pair->normal_force += reported->force;
}

static void finish_pair(thenar_contact_pair *pair) {
    if (pair->normal_force > 0) vec3_store(pair->centre, vec3_scale(vec3_load(pair->centre), 1 / pair->normal_force));
    pair->pressure = pair->area > 0 ? pair->normal_force / pair->area : 0;
}

bool contact_report_is_finite(const contact_state *state) {
    bool is_finite = true;
    for (int i = 0; i < state->report_count; i++) {
        const thenar_contact *reported = &state->reported[i];
        is_finite = is_finite && body_within(reported->position, 3, DBL_MAX) &&
                    body_within(reported->normal, 3, DBL_MAX) && body_within(reported->friction, 3, DBL_MAX) &&
                    isfinite(reported->force) && isfinite(reported->gap);
    }
    for (int i = 0; i < state->pair_report_count; i++) {
        const thenar_contact_pair *reported = &state->pair_reports[i];
        is_finite = is_finite && body_within(reported->force, 3, DBL_MAX) &&
                    body_within(reported->torque, 3, DBL_MAX) && body_within(reported->centre, 3, DBL_MAX) &&
                    isfinite(reported->normal_force) && isfinite(reported->pressure);
    }
    return is_finite;
}

void contact_report(contact_state *state, const contact_model *contacts, body_state *const *bodies) {
    contact_report_clear(state);
    if (contacts->pair_count == 0) return;
    int count = state->system_start[state->system_count];
    thenar_contact_pair *sums = NULL;
    for (int i = 0, current = -1; i < count; i++) {
        const contact *c = &state->contacts[i];
        const contact_point *point = &state->points[c->point];
        const contact_pair *pair = &contacts->pairs[point->pair];
        vec3 force = mat3_mul_vec_transposed(c->frame, c->lambda);
        load_supports(point->node, point->weights, force, bodies[pair->body[0]]);
        load_supports(point->other_node, point->other_weights, vec3_scale(force, -1), bodies[pair->body[1]]);
        if (point->pair != current) {
            if (sums) finish_pair(sums);
            sums = &state->pair_reports[state->pair_report_count++];
            *sums = (thenar_contact_pair){.body = {pair->body[0], pair->body[1]}, .first = i};
            current = point->pair;
        }
        state->reported[i] = report_contact(contacts, c, point, pair, bodies);
        add_to_pair(sums, &state->reported[i]);
    }
    if (sums) finish_pair(sums);
    state->report_count = count;
    note_touched(state, contacts, bodies, count);
}
