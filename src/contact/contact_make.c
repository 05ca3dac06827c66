/* The known part of the motion. A held node and a driven body are at the end of the step where they are taken; what can
 * move starts from where it is, and its unknown d comes on top. So with x the point of the skin, p the closest point of
 * the other body and a the point that it sticks to (p, if it does not),
 *   start_n = n . (x - p),   start_t = t . (x - a)
 * A point that rolls (that of a ball) is not the one of its body that stuck, and a lies where it would be had it not
 * rolled: x - a is what it had slipped when the last step ended.
 *   The force acts on both bodies at x: with the lever of p instead, friction that ends an approach would leave both
 * with an angular momentum that they did not have.
 *   What was inside when the step began is asked out at RECOVERY m/s only: a body that was put there by force (a
 * driven one that jumps) must not be shot out. */
#include "contact/contact_make.h"

#include <string.h>

#define RECOVERY 0.5 /* m/s */
#define STIFFNESS 3.0
/* m/s^2, of the heavier side: what a multiplier may stand for. Between bodies that are driven into each other it would
 * grow without end, see newton.c. */
#define LARGEST_ACCELERATION 1e6
#define SOFT_LENGTH 10e-6 /* m: by which a force that is already there may give way */

/* Where a rigid body is at the end of the step, as far as it is known. */
typedef struct pose {
    vec3 centre;
    quat turn;
} pose;

static pose pose_begin(const rigid_state *state) {
    return (pose){vec3_load(state->kept->position), rigid_orientation(state->kept->orientation)};
}

static pose pose_known(const rigid_state *state) {
    if (rigid_of(state)->motion == THENAR_MOTION_DYNAMIC) return pose_begin(state);
    return (pose){vec3_load(state->target), rigid_orientation(state->target + 3)};
}

static bool is_soft(const body_state *body) {
    return body->model->kind == &soft_class;
}

static void add_leg(contact *c, contact_leg leg) {
    int k = c->leg_count++;
    for (; k > 0 && c->legs[k - 1].node > leg.node; k--) c->legs[k] = c->legs[k - 1];
    c->legs[k] = leg;
}

static void add_rigid_legs(contact *c, const rigid_state *state, int first_node, vec3 arm, double weight) {
    if (rigid_of(state)->motion != THENAR_MOTION_DYNAMIC) return;
    add_leg(c, (contact_leg){.node = first_node + RIGID_LINEAR, .weight = weight});
    add_leg(c, (contact_leg){.node = first_node + RIGID_ANGULAR, .weight = weight, .turns = true, .arm = arm});
}

/* The legs of the skin's side. Returns where the point is at the end of the step, as far as it is known. */
static vec3 add_skin_legs(contact *c, const contact_point *point, contact_side side, const body_step *step) {
    vec3 x = point->position;
    if (!is_soft(side.body)) {
        add_rigid_legs(c, (const rigid_state *)side.body, side.first_node, point->arm, 1);
        return x;
    }
    const soft_state *state = (const soft_state *)side.body;
    for (int k = 0; k < 4; k++) {
        if (point->weights[k] == 0) continue;
        int node = point->node[k], unknown = soft_of(state)->system_node[node];
        if (unknown >= 0)
            add_leg(c, (contact_leg){.node = side.first_node + unknown, .weight = point->weights[k]});
        else
            x = vec3_mul_add(x, vec3_load(state->target_velocity + 3 * node), step->h * point->weights[k]);
    }
    return x;
}

/* How hard it is to move the point on one side: the weighted mean of its nodes' diagonal blocks, kg. INFINITY if
 * nothing there moves. */
static double side_weight(const contact *c, const contact_equations *equations, bool of_skin) {
    double sum = 0, weights = 0;
    for (int i = 0; i < c->leg_count; i++) {
        const contact_leg *leg = &c->legs[i];
        if (leg->turns || (leg->weight > 0) != of_skin) continue;
        const double *block = equations->blocks + 9 * (size_t)c->blocks[i * (i + 3) / 2];
        sum += fabs(leg->weight) * (block[0] + block[4] + block[8]) / 3;
        weights += fabs(leg->weight);
    }
    return weights > 0 ? sum / weights : INFINITY;
}

static void set_penalty(contact *c, const contact_equations *equations) {
    double h = equations->step->h, skin = side_weight(c, equations, true), other = side_weight(c, equations, false);
    double lighter = fmin(skin, other), heavier = isinf(skin) || (other > skin && isfinite(other)) ? other : skin;
    c->rho = fmax(STIFFNESS * lighter / (h * h), c->lambda.x / SOFT_LENGTH);
    c->most = LARGEST_ACCELERATION * heavier;
}

bool contact_make(contact *c, const contact_point *point, const contact_memory *memory, contact_side skin,
                  contact_side rigid, double mu, const contact_equations *equations) {
    const body_step *step = equations->step;
    const rigid_state *other = (const rigid_state *)rigid.body;
    pose begin = pose_begin(other), end = pose_known(other);
    vec3 normal = quat_rotate(end.turn, quat_rotate(quat_conjugate(begin.turn), point->normal));
    *c = (contact){.mu = mu, .share = 1, .frame = contact_frame(normal)};
    vec3 x = add_skin_legs(c, point, skin, step);
    add_rigid_legs(c, other, rigid.first_node, vec3_sub(point->position, begin.centre), -1);
    if (c->leg_count == 0 || !contact_bind(c, equations->pattern)) return false;

    vec3 closest = vec3_add(end.centre, quat_rotate(end.turn, point->anchor)), anchor = closest;
    if (memory) {
        c->stuck = memory->stuck;
        c->lambda = mat3_mul_vec(c->frame, quat_rotate(end.turn, vec3_load(memory->force)));
        vec3 stored = quat_rotate(end.turn, vec3_load(memory->anchor));
        if (c->stuck) anchor = point->rolls ? vec3_sub(x, stored) : vec3_add(end.centre, stored);
    }
    vec3 was = vec3_add(begin.centre, quat_rotate(begin.turn, point->anchor));
    c->known = mat3_mul_vec(c->frame, vec3_sub(vec3_sub(x, point->position), vec3_sub(closest, was)));
    vec3 slip = mat3_mul_vec(c->frame, vec3_sub(x, anchor));
    c->leeway = fmax(0, -point->gap - RECOVERY * step->h);
    c->start = vec3_make(vec3_dot(normal, vec3_sub(x, closest)) + c->leeway, slip.y, slip.z);
    set_penalty(c, equations);
    return true;
}

contact_memory contact_remember(const contact *c, const contact_point *point, const contact_memory *before,
                                const rigid_state *rigid) {
    contact_memory memory = {
        .pair = point->pair, .index = point->index, .stuck = c->settled == CONE_STICK || c->anchored};
    quat back = quat_conjugate(pose_known(rigid).turn);
    vec3_store(memory.force, quat_rotate(back, mat3_mul_vec_transposed(c->frame, c->lambda)));
    vec3 slide = quat_rotate(back, mat3_mul_vec_transposed(c->frame, c->slide));
    vec3 slipped = mat3_mul_vec_transposed(c->frame, vec3_make(0, c->u.y - c->slide.y, c->u.z - c->slide.z));
    if (point->rolls)
        vec3_store(memory.anchor, quat_rotate(back, slipped));
    else if (before && before->stuck)
        memcpy(memory.anchor, before->anchor, sizeof memory.anchor);
    else
        vec3_store(memory.anchor, point->anchor);
    if (c->anchored && !point->rolls) vec3_store(memory.anchor, vec3_add(vec3_load(memory.anchor), slide));
    return memory;
}
