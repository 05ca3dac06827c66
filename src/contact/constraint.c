/* Contact constraints: their terms of the augmented Lagrangian, and their construction from contact points
 * (constraint.h). */
#include "contact/constraint.h"

#include <string.h>

mat3 contact_frame(vec3 n) {
    /* Duff et al. 2017, "Building an orthonormal basis, revisited": continuous except where n.z changes sign. */
    double sign = copysign(1, n.z), a = -1 / (sign + n.z), b = n.x * n.y * a;
    vec3 t1 = {1 + sign * n.x * n.x * a, sign * b, -sign * n.x}, t2 = {b, sign + n.y * n.y * a, -n.y};
    return mat3_transpose(mat3_columns(n, t1, t2));
}

bool contact_bind(contact *c, const block_pattern *pattern) {
    for (int i = 0, k = 0; i < c->leg_count; i++)
        for (int j = 0; j <= i; j++, k++) {
            c->blocks[k] = -1;
            if (c->couples_soft && c->legs[i].other != c->legs[j].other) continue;
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
static mat3 leg_block(const contact_leg *i, const contact_leg *j, mat3 W) {
    if (i->turns) W = mat3_mul(mat3_skew(i->arm), W);
    if (j->turns) W = mat3_scale(mat3_mul(W, mat3_skew(j->arm)), -1);
    return mat3_scale(W, i->weight * j->weight);
}

void contact_add_blocks(const contact *c, mat3 W, double *blocks) {
    for (int i = 0, k = 0; i < c->leg_count; i++)
        for (int j = 0; j <= i; j++, k++) {
            if (c->blocks[k] < 0) continue; /* between two soft sides */
            mat3 block = leg_block(&c->legs[i], &c->legs[j], W);
            double *target = blocks + 9 * (size_t)c->blocks[k];
            for (int e = 0; e < 9; e++) target[e] += block.m[e];
        }
}

static void evaluate(contact *c) {
    c->z = vec3_mul_add(c->lambda, vec3_add(c->u, vec3_make(c->shift, 0, 0)), -c->rho);
    c->state = cone_state_of(c->z, c->mu);
    c->force = cone_project(c->z, c->mu, c->state);
}

void contact_set_gaps(contact *contacts, int count, const double *d) {
    for (int i = 0; i < count; i++) contacts[i].u = vec3_add(contacts[i].start, contact_motion(&contacts[i], d));
}

void contact_evaluate(contact *contacts, int count, const double *d) {
    contact_set_gaps(contacts, count, d);
    for (int i = 0; i < count; i++) evaluate(&contacts[i]);
}

void contact_guess_shift(contact *contacts, int count) {
    for (int i = 0; i < count; i++) {
        contact *c = &contacts[i];
        c->shift = c->stuck ? 0 : c->mu * cone_tangential(c->u);
        evaluate(c);
    }
}

double contact_energy(const contact *contacts, int count) {
    double sum = 0;
    for (int i = 0; i < count; i++) sum += vec3_dot(contacts[i].force, contacts[i].force) / (2 * contacts[i].rho);
    return sum;
}

contact_measures contact_measure(const contact *contacts, int count) {
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

void contact_add_gradient(const contact *contacts, int count, double weight, double *gradient) {
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

void contact_add_soft_coupling(const contact *c, const mat3 *stiffness, double weight, const double *x, double *y) {
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

void contact_add_hessian(const contact *contacts, int count, double weight, double *blocks) {
    for (int n = 0; n < count; n++) {
        const contact *c = &contacts[n];
        if (c->state == CONE_OPEN) continue;
        mat3 D = cone_derivative(c->z, c->mu, c->state);
        mat3 W = mat3_mul(mat3_mul(mat3_transpose(c->frame), D), c->frame);
        contact_add_blocks(c, mat3_scale(W, weight * c->rho), blocks);
    }
}

/* Moves the shift to mu |u_t|: fully, until it oscillates (mostly between stick and slip), then with more and more
 * damping. */
static void move_shift(contact *c) {
    double wanted = c->state == CONE_STICK ? 0 : c->mu * cone_tangential(c->u), change = wanted - c->shift;
    c->share = change * c->last_change < 0 ? 0.5 * c->share : fmin(1, 2 * c->share);
    c->shift += c->share * change;
    c->last_change = change;
}

void contact_update(contact *contacts, int count) {
    for (int i = 0; i < count; i++) {
        contact *c = &contacts[i];
        move_shift(c);
        c->lambda = c->force.x > c->max ? vec3_scale(c->force, c->max / c->force.x) : c->force;
        c->settled = c->state;
        evaluate(c);
    }
}

/* Construction. Held nodes and driven bodies are at their targets at the end of the step; everything else starts from
 * its current position and moves by the unknown d. With x the point of the skin, p the closest point of the other body
 * and a the point that x sticks to (p, if it does not stick),
 *
 *   start_n = n . (x - p),   start_t = t . (x - a)
 *
 * A rolling point (of a ball) changes with the body's rotation; there x - a is what it had slipped at the end of the
 * last step.
 *
 * The force acts on both bodies at x. With the lever arm of p instead, friction would change the angular momentum.
 *
 * On a soft body p and a are points of triangles of its skin, and move with the four nodes of the triangle of p
 * (find.h). The memory of a contact rotates with its triangle.
 *
 * Penetration at the start of the step is corrected at CONTACT_RECOVERY m/s only: a body that was placed inside another
 * (by a driven one that jumps) must not be thrown out. */

#define STIFFNESS 3.0
/* m/s^2: bound of the multiplier, over the mass of the heavier side. Between bodies that are driven into each other it
 * would grow without limit, see newton.c. */
#define LARGEST_ACCELERATION 1e6
#define SOFT_LENGTH 10e-6 /* m: compliance of a remembered force */
/* The same between two soft bodies, which both yield by more: with 10 um, hand-letters takes 40 % more iterations,
 * and 32 of its steps do not converge instead of 5. */
#define SOFT_PAIR_LENGTH 50e-6

/* Pose of a rigid body. */
typedef struct pose {
    vec3 centre;
    quat turn;
} pose;

static pose pose_begin(const rigid_state *state) {
    return (pose){vec3_load(state->kept->position), rigid_orientation(state->kept->orientation)};
}

/* At the end of the step, as far as it is known. */
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
    bool other = weight < 0;
    add_leg(c, (contact_leg){.node = first_node + RIGID_LINEAR, .weight = weight, .other = other});
    add_leg(c, (contact_leg){
                   .node = first_node + RIGID_ANGULAR, .weight = weight, .turns = true, .other = other, .arm = arm});
}

/* Adds the legs of the skin. Returns the position of the point at the end of the step, as far as it is known. */
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

/* Effective mass of one side: the weighted mean of the diagonal blocks of its nodes, kg. INFINITY if it cannot move. */
static double effective_mass(const contact *c, const contact_equations *equations, bool of_skin) {
    double sum = 0, weights = 0;
    for (int i = 0; i < c->leg_count; i++) {
        const contact_leg *leg = &c->legs[i];
        if (leg->turns || (c->couples_soft ? !leg->other : leg->weight > 0) != of_skin) continue;
        const double *block = equations->blocks + 9 * (size_t)c->blocks[i * (i + 3) / 2];
        sum += fabs(leg->weight) * (block[0] + block[4] + block[8]) / 3;
        weights += fabs(leg->weight);
    }
    return weights > 0 ? sum / weights : INFINITY;
}

static void set_penalty(contact *c, const contact_equations *equations) {
    double h = equations->step->h, skin = effective_mass(c, equations, true),
           other = effective_mass(c, equations, false);
    double lighter = fmin(skin, other), heavier = isinf(skin) || (other > skin && isfinite(other)) ? other : skin;
    c->rho = fmax(STIFFNESS * lighter / (h * h), c->lambda.x / (c->couples_soft ? SOFT_PAIR_LENGTH : SOFT_LENGTH));
    c->max = LARGEST_ACCELERATION * heavier;
}

/* The other side of a contact at the end of the step, as far as it is known. */
typedef struct other_end {
    vec3 normal;
    vec3 moved;           /* displacement of p within the step, as far as it is known, m */
    vec3 closest, anchor; /* p and a; a only if there is a memory; x - a for a rolling point */
    vec3 force;           /* remembered, world axes, N */
} other_end;

static other_end other_side_rigid(contact *c, const contact_point *point, const contact_memory *memory,
                                  contact_side side) {
    const rigid_state *other = (const rigid_state *)side.body;
    pose begin = pose_begin(other), end = pose_known(other);
    other_end f = {.normal = quat_rotate(end.turn, quat_rotate(quat_conjugate(begin.turn), point->normal)),
                   .closest = vec3_add(end.centre, quat_rotate(end.turn, point->anchor))};
    f.moved = vec3_sub(f.closest, vec3_add(begin.centre, quat_rotate(begin.turn, point->anchor)));
    add_rigid_legs(c, other, side.first_node, vec3_sub(point->position, begin.centre), -1);
    if (!memory) return f;
    vec3 stored = quat_rotate(end.turn, vec3_load(memory->anchor));
    f.force = quat_rotate(end.turn, vec3_load(memory->force));
    f.anchor = point->rolls ? stored : vec3_add(end.centre, stored);
    return f;
}

/* Axes that rotate with a triangle of a skin, as columns. */
static mat3 triangle_axes(const contact_skin_state *state, int triangle) {
    const int *corner = state->skin->triangles + 3 * (size_t)triangle;
    vec3 a = state->positions[corner[0]], along = vec3_unit(vec3_sub(state->positions[corner[1]], a));
    vec3 normal = vec3_unit(vec3_cross(along, vec3_sub(state->positions[corner[2]], a)));
    return mat3_columns(along, normal, vec3_cross(along, normal));
}

static vec3 triangle_point(const contact_skin_state *state, int triangle, vec3 weights) {
    const int *corner = state->skin->triangles + 3 * (size_t)triangle;
    vec3 p = vec3_scale(state->positions[corner[0]], weights.x);
    p = vec3_mul_add(p, state->positions[corner[1]], weights.y);
    return vec3_mul_add(p, state->positions[corner[2]], weights.z);
}

static other_end other_side_soft(contact *c, const contact_point *point, const contact_memory *memory,
                                 contact_side side, const body_step *step) {
    const soft_state *state = (const soft_state *)side.body;
    vec3 moved = {0};
    for (int k = 0; k < 4; k++) {
        int node = point->other_node[k], unknown = soft_of(state)->system_node[node];
        double weight = point->other_weights[k];
        if (weight == 0) continue;
        if (unknown >= 0)
            add_leg(c, (contact_leg){.node = side.first_node + unknown, .weight = -weight, .other = true});
        else
            moved = vec3_mul_add(moved, vec3_load(state->target_velocity + 3 * node), step->h * weight);
    }
    other_end f = {.normal = point->normal,
                   .moved = moved,
                   .closest = vec3_add(triangle_point(side.skin, point->face_b, point->anchor), moved)};
    if (!memory) return f;
    f.force = mat3_mul_vec(triangle_axes(side.skin, memory->face), vec3_load(memory->force));
    f.anchor = vec3_add(triangle_point(side.skin, memory->face, vec3_load(memory->anchor)), moved);
    return f;
}

bool contact_make(contact *c, const contact_point *point, const contact_memory *memory, contact_side skin,
                  contact_side other, double mu, const contact_equations *equations) {
    const body_step *step = equations->step;
    *c = (contact){.mu = mu, .share = 1, .couples_soft = is_soft(other.body)};
    vec3 x = add_skin_legs(c, point, skin, step);
    other_end f =
        c->couples_soft ? other_side_soft(c, point, memory, other, step) : other_side_rigid(c, point, memory, other);
    if (c->leg_count == 0 || !contact_bind(c, equations->pattern)) return false;

    c->frame = contact_frame(f.normal);
    vec3 anchor = f.closest;
    if (memory) {
        c->stuck = memory->stuck;
        c->lambda = mat3_mul_vec(c->frame, f.force);
        if (c->stuck) anchor = point->rolls ? vec3_sub(x, f.anchor) : f.anchor;
    }
    c->known = mat3_mul_vec(c->frame, vec3_sub(vec3_sub(x, point->position), f.moved));
    vec3 slip = mat3_mul_vec(c->frame, vec3_sub(x, anchor));
    c->allowed_penetration = fmax(0, -point->gap - CONTACT_RECOVERY * step->h);
    c->start =
        vec3_make(vec3_dot(f.normal, vec3_sub(x, f.closest)) + point->allowed + c->allowed_penetration, slip.y, slip.z);
    set_penalty(c, equations);
    return true;
}

/* Barycentric coordinates of a point in the plane of a triangle; the point may be outside it. */
static vec3 triangle_weights(const contact_skin_state *state, int triangle, vec3 p) {
    const int *corner = state->skin->triangles + 3 * (size_t)triangle;
    vec3 a = state->positions[corner[0]];
    vec3 ab = vec3_sub(state->positions[corner[1]], a), ac = vec3_sub(state->positions[corner[2]], a);
    vec3 normal = vec3_cross(ab, ac), ap = vec3_sub(p, a);
    double size = vec3_dot(normal, normal);
    if (!(size > 0)) return vec3_make(1, 0, 0);
    double b = vec3_dot(vec3_cross(ap, ac), normal) / size, c = vec3_dot(vec3_cross(ab, ap), normal) / size;
    return vec3_make(1 - b - c, b, c);
}

/* The anchor stays the same while the contact sticks. The anchor of a spring contact (penalty.c) trails behind the
 * point: it is kept on the triangle that is nearest now. slipped: from the anchor to the point, m. */
static void remember_on_soft(const contact *c, const contact_point *point, const contact_memory *before,
                             const contact_skin_state *skin, vec3 slipped, contact_memory *memory) {
    bool same = before && before->stuck && !c->anchored;
    memory->face = same ? before->face : point->face_b;
    if (same)
        memcpy(memory->anchor, before->anchor, sizeof memory->anchor);
    else if (c->anchored)
        vec3_store(memory->anchor,
                   triangle_weights(skin, point->face_b,
                                    vec3_sub(triangle_point(skin, point->face_b, point->anchor), slipped)));
    else
        vec3_store(memory->anchor, point->anchor);
    vec3 force = mat3_mul_vec_transposed(c->frame, c->lambda);
    vec3_store(memory->force, mat3_mul_vec_transposed(triangle_axes(skin, memory->face), force));
}

contact_memory contact_remember(const contact *c, const contact_point *point, const contact_memory *before,
                                contact_side other) {
    contact_memory memory = {
        .pair = point->pair, .index = point->index, .stuck = c->settled == CONE_STICK || c->anchored};
    vec3 force = mat3_mul_vec_transposed(c->frame, c->lambda);
    vec3 slipped = mat3_mul_vec_transposed(c->frame, vec3_make(0, c->u.y - c->slide.y, c->u.z - c->slide.z));
    if (is_soft(other.body)) {
        remember_on_soft(c, point, before, other.skin, slipped, &memory);
        return memory;
    }
    quat back = quat_conjugate(pose_known((const rigid_state *)other.body).turn);
    vec3_store(memory.force, quat_rotate(back, force));
    vec3 slide = quat_rotate(back, mat3_mul_vec_transposed(c->frame, c->slide));
    if (point->rolls)
        vec3_store(memory.anchor, quat_rotate(back, slipped));
    else if (before && before->stuck)
        memcpy(memory.anchor, before->anchor, sizeof memory.anchor);
    else
        vec3_store(memory.anchor, point->anchor);
    if (c->anchored && !point->rolls) vec3_store(memory.anchor, vec3_add(vec3_load(memory.anchor), slide));
    return memory;
}
