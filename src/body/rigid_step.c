/* The stages of a step of a rigid body.
 *
 * Unknowns of a dynamic body: the velocity of its centre of mass and its angular velocity u, in world axes;
 *   [ (1 + h c) m 1                     ]     [ m v + h (m g + force)  ]
 *   [                (1 + h d) R I R^T  ] =   [ R I w + h torque       ]
 * with damping c and d, the inertia I in the body's frame, its orientation R at the start of the step, and
 *   I w + h/2 w x I w = I R^T spin                          (half a step, implicit).
 * Then the body rotates by the Cayley map of h u, that is the normalized quaternion (h u / 2, 1), and keeps
 *   spin = w' - h/2 I^-1 (w' x I w'),  w' = R^T u           (half a step, explicit; rotated to world axes by the new R).
 * Without torque both halves form the implicit midpoint rule of Euler's equations, which conserves the energy spin . I
 * spin and, with the Cayley map, the angular momentum R I spin for any h (Austin, Krishnaprasad and Wang 1993, Almost
 * Poisson integration of rigid body systems, J. Comput. Phys. 107; Simo and Wong 1991). It is second-order accurate.
 * The usual choice, Catto's implicit Euler step (GDC 2015), loses 13 % of the energy of the box in
 * scenes/rigid-tumble.yaml within its 8 s. Unlike a midpoint rule on the whole step, u is all of the body's motion: a
 * contact that stops u stops the body.
 *
 * A body that would rotate by more than RIGID_MAX_TURN is slowed down to that, both before contact detection (280
 * turns within a step moved its points 9 m along the tangent, and the 450 J of its spin became 1.9 kJ) and after it. */
#include "body/rigid.h"

#include "core/hash.h"

#include <float.h>
#include <string.h>

#define MAX_NEWTON_STEPS 16 /* four suffice at h |spin| = 0.3; more than about ten mean that the step is far too long */

static void store_quat(double *target, quat q) {
    target[0] = q.x, target[1] = q.y, target[2] = q.z, target[3] = q.w;
}

/* Twice the rotational energy: the square of the norm that torque-free rotation conserves. */
static double spin_square(mat3 inertia, vec3 spin) {
    return vec3_dot(spin, mat3_mul_vec(inertia, spin));
}

/* The spin, slowed down if necessary so that its energy is at most that of one of two others. */
static vec3 limit_spin(mat3 inertia, vec3 spin, double max) {
    double square = spin_square(inertia, spin);
    return square > max && square > 0 ? vec3_scale(spin, sqrt(max / square)) : spin;
}

static vec3 backward_residual(mat3 inertia, vec3 w, vec3 momentum, double h) {
    vec3 Iw = mat3_mul_vec(inertia, w);
    return vec3_sub(vec3_mul_add(Iw, vec3_cross(w, Iw), h / 2), momentum);
}

vec3 rigid_spin_backward(mat3 inertia, vec3 spin, double h) {
    vec3 momentum = mat3_mul_vec(inertia, spin), w = spin;
    vec3 residual = backward_residual(inertia, w, momentum, h);
    double size = vec3_length(residual);
    /* Newton's method down to rounding. */
    for (int i = 0; i < MAX_NEWTON_STEPS && size > 0; i++) {
        mat3 turning = mat3_add(mat3_mul(mat3_skew(w), inertia), mat3_scale(mat3_skew(mat3_mul_vec(inertia, w)), -1));
        mat3 jacobian = mat3_add(inertia, mat3_scale(turning, h / 2));
        vec3 next = vec3_sub(w, mat3_mul_vec(mat3_inverse(jacobian), residual));
        vec3 next_residual = backward_residual(inertia, next, momentum, h);
        double next_size = vec3_length(next_residual);
        if (!(next_size < size)) break;
        w = next, residual = next_residual, size = next_size;
    }
    /* The solution is never faster than the spin; the result of a far too long step must not be either. */
    return limit_spin(inertia, w, spin_square(inertia, spin));
}

static vec3 rigid_spin_forward(mat3 inertia, vec3 w, double h) {
    vec3 turning = vec3_cross(w, mat3_mul_vec(inertia, w));
    return vec3_mul_add(w, mat3_mul_vec(mat3_inverse(inertia), turning), -h / 2);
}

vec3 rigid_spin_advance(mat3 inertia, vec3 before, vec3 w, double h) {
    double max = fmax(spin_square(inertia, before), spin_square(inertia, w));
    return limit_spin(inertia, rigid_spin_forward(inertia, w, h), max);
}

static bool is_dynamic(const rigid_model *body) {
    return body->motion == THENAR_MOTION_DYNAMIC;
}

/* Velocity and spin are coupled only by contact. */
bool rigid_couple(const body_model *base, int first_node, body_couplings *couplings) {
    if (!is_dynamic((const rigid_model *)base)) return true;
    return ARRAY_PUSH(&couplings->start, (int)couplings->node.count) &&
           ARRAY_PUSH(&couplings->node, first_node + RIGID_LINEAR) &&
           ARRAY_PUSH(&couplings->node, first_node + RIGID_ANGULAR);
}

thenar_status rigid_bind(body_model *base, const block_pattern *pattern, int first_node, thenar_error *error) {
    (void)error;
    rigid_model *body = (rigid_model *)base;
    if (!is_dynamic(body)) return THENAR_OK;
    int linear = first_node + RIGID_LINEAR, angular = first_node + RIGID_ANGULAR;
    body->linear_block = block_pattern_find(pattern, linear, linear);
    body->coupling_block = block_pattern_find(pattern, angular, linear);
    body->angular_block = block_pattern_find(pattern, angular, angular);
    return THENAR_OK;
}

static void rigid_layout(body_state *base, arena *kept, arena *work) {
    rigid_state *state = (rigid_state *)base;
    state->kept = ARENA_ARRAY(kept, rigid_kept, 1);
    state->target = ARENA_ARRAY(work, double, 7);
}

/* Pose of a driven or static body at a time. */
static void place(const rigid_state *state, double time, double pose[7]) {
    const rigid_model *body = rigid_of(state);
    if (state->kept->driven) {
        memcpy(pose, state->kept->driven_pose, sizeof state->kept->driven_pose);
        return;
    }
    const support_state by_keys = {0};
    vec3 move, turn;
    support_pose(&body->path, &by_keys, time, &move, &turn);
    quat rotation = quat_from_rotation_vector(turn);
    vec3_store(pose, support_place(&body->path, move, rotation, body->position));
    store_quat(pose + 3, quat_unit(quat_mul(rotation, body->orientation)));
}

static void rigid_reset(body_state *base) {
    rigid_state *state = (rigid_state *)base;
    const rigid_model *body = rigid_of(state);
    *state->kept = (rigid_kept){0};
    vec3_store(state->kept->velocity, body->velocity);
    vec3_store(state->kept->spin, body->spin);
    vec3_store(state->kept->position, body->position);
    store_quat(state->kept->orientation, body->orientation);
    if (!is_dynamic(body)) place(state, 0, state->kept->pose);
}

static void rigid_drive(body_state *base, const body_step *step) {
    rigid_state *state = (rigid_state *)base;
    if (!is_dynamic(rigid_of(state))) place(state, step->time, state->target);
}

/* The share of a spin with which a body rotates by RIGID_MAX_TURN within h. 1 if it rotates by less, or if it is not
 * finite, in which case the step fails. */
static double turn_share(vec3 spin, double h) {
    double turn = h * vec3_length(spin);
    return turn > RIGID_MAX_TURN && isfinite(turn) ? RIGID_MAX_TURN / turn : 1;
}

/* The spin that is simulated. */
static vec3 slow_down(rigid_state *state, vec3 spin, double h) {
    double share = turn_share(spin, h);
    if (share == 1) return spin;
    state->base.slowed = true;
    return vec3_scale(spin, share);
}

static void rigid_formulate(body_state *base, const body_step *step, double *blocks, double *b) {
    rigid_state *state = (rigid_state *)base;
    const rigid_model *body = rigid_of(state);
    if (!is_dynamic(body)) return;
    const rigid_kept *kept = state->kept;
    double h = step->h;
    mat3 R = quat_to_mat3(rigid_orientation(kept->orientation));
    mat3 inertia = mat3_mul(mat3_mul(R, body->inertia), mat3_transpose(R));
    mat3 linear = mat3_scale(mat3_identity(), (1 + h * body->damping_linear) * body->base.mass);
    mat3 angular = mat3_scale(inertia, 1 + h * body->damping_angular);
    memcpy(blocks + 9 * (size_t)body->linear_block, linear.m, sizeof linear.m);
    memset(blocks + 9 * (size_t)body->coupling_block, 0, 9 * sizeof *blocks);
    memcpy(blocks + 9 * (size_t)body->angular_block, angular.m, sizeof angular.m);

    vec3 pull = vec3_mul_add(vec3_load(kept->force), step->gravity, body->base.mass);
    vec3_store(b + 3 * RIGID_LINEAR, vec3_mul_add(vec3_scale(vec3_load(kept->velocity), body->base.mass), pull, h));
    vec3 w = rigid_spin_backward(body->inertia, mat3_mul_vec_transposed(R, vec3_load(kept->spin)), h);
    vec3 momentum = mat3_mul_vec(R, mat3_mul_vec(body->inertia, w));
    momentum = vec3_mul_add(momentum, vec3_load(kept->torque), h);
    vec3 free_spin = mat3_mul_vec(mat3_inverse(angular), momentum);
    if (turn_share(free_spin, h) < 1) momentum = mat3_mul_vec(angular, slow_down(state, free_spin, h));
    vec3_store(b + 3 * RIGID_ANGULAR, momentum);
}

static bool integrate_dynamic(rigid_state *state, double h, const double *v) {
    const rigid_model *body = rigid_of(state);
    rigid_kept *kept = state->kept;
    vec3 velocity = vec3_load(v + 3 * RIGID_LINEAR), u = slow_down(state, vec3_load(v + 3 * RIGID_ANGULAR), h);
    vec3 position = vec3_mul_add(vec3_load(kept->position), velocity, h);
    quat before = rigid_orientation(kept->orientation);
    quat step = quat_unit((quat){h * u.x / 2, h * u.y / 2, h * u.z / 2, 1});
    quat after = quat_unit(quat_mul(step, before));
    vec3 w = quat_rotate(quat_conjugate(before), u);
    vec3 old_spin = quat_rotate(quat_conjugate(before), vec3_load(kept->spin));
    vec3 spin = quat_rotate(after, rigid_spin_advance(body->inertia, old_spin, w, h));
    if (!body_is_near(position) || !vec3_is_finite(velocity) || !(vec3_dot(spin, spin) <= BODY_FASTEST * BODY_FASTEST))
        return false;
    vec3_store(kept->change, vec3_sub(velocity, vec3_load(kept->velocity)));
    vec3_store(kept->change + 3, vec3_sub(spin, vec3_load(kept->spin)));
    vec3_store(kept->position, position);
    vec3_store(kept->velocity, velocity);
    vec3_store(kept->spin, spin);
    store_quat(kept->orientation, after);
    return true;
}

void rigid_coming_motion(const rigid_state *state, double h, vec3 *velocity, vec3 *spin) {
    const rigid_kept *kept = state->kept;
    *velocity = vec3_load(kept->velocity);
    *spin = vec3_load(kept->spin);
    const rigid_model *body = rigid_of(state);
    if (is_dynamic(body)) {
        quat turn = rigid_orientation(kept->orientation);
        vec3 torque = quat_rotate(quat_conjugate(turn), vec3_load(kept->torque));
        *velocity = vec3_mul_add(*velocity, vec3_load(kept->force), h / body->base.mass);
        *spin = vec3_mul_add(*spin, quat_rotate(turn, mat3_mul_vec(mat3_inverse(body->inertia), torque)), h);
        *spin = vec3_scale(*spin, turn_share(*spin, h));
    }
    if (body->motion != THENAR_MOTION_DRIVEN) return;
    vec3 move = vec3_sub(vec3_load(state->target), vec3_load(kept->position));
    quat before = rigid_orientation(kept->orientation), after = rigid_orientation(state->target + 3);
    vec3 turn = quat_to_rotation_vector(quat_mul(after, quat_conjugate(before)));
    *velocity = vec3_scale(move, 1 / h);
    *spin = vec3_scale(turn, 1 / h);
}

static bool integrate_driven(rigid_state *state, double h) {
    vec3 velocity, spin;
    rigid_coming_motion(state, h, &velocity, &spin);
    if (!vec3_is_finite(velocity) || !body_is_near(vec3_load(state->target))) return false;
    vec3_store(state->kept->velocity, velocity);
    vec3_store(state->kept->spin, spin);
    memcpy(state->kept->pose, state->target, sizeof state->kept->pose);
    return true;
}

static bool rigid_integrate(body_state *base, const body_step *step, const double *v) {
    rigid_state *state = (rigid_state *)base;
    return is_dynamic(rigid_of(state)) ? integrate_dynamic(state, step->h, v) : integrate_driven(state, step->h);
}

static bool rigid_displace(body_state *base, const double *dq) {
    rigid_state *state = (rigid_state *)base;
    rigid_kept *kept = state->kept;
    if (!is_dynamic(rigid_of(state))) return true;
    vec3 position = vec3_add(vec3_load(kept->position), vec3_load(dq + 3 * RIGID_LINEAR));
    vec3 turn = vec3_load(dq + 3 * RIGID_ANGULAR);
    if (!body_is_near(position) || !vec3_is_finite(turn)) return false;
    vec3_store(kept->position, position);
    store_quat(kept->orientation,
               quat_unit(quat_mul(quat_from_rotation_vector(turn), rigid_orientation(kept->orientation))));
    return true;
}

static void rigid_publish(body_state *base, const body_step *step) {
    (void)base, (void)step;
}

static bool rigid_is_finite(const body_state *base) {
    const rigid_kept *kept = ((const rigid_state *)base)->kept;
    return body_within(kept->position, 3, BODY_FARTHEST) && body_within(kept->orientation, 4, 2) &&
           body_within(kept->twist, 6, DBL_MAX) && body_within(kept->change, 6, DBL_MAX) &&
           body_within(kept->force, 3, DBL_MAX) && body_within(kept->torque, 3, DBL_MAX) &&
           body_within(kept->driven_pose, 7, DBL_MAX);
}

static void rigid_rest(body_state *base) {
    rigid_kept *kept = ((rigid_state *)base)->kept;
    memset(kept->twist, 0, sizeof kept->twist);
    memset(kept->change, 0, sizeof kept->change);
}

static int rigid_inverted(const body_state *base) {
    (void)base;
    return 0;
}

void rigid_velocity(const body_state *base, double *v) {
    const rigid_state *state = (const rigid_state *)base;
    if (!is_dynamic(rigid_of(state))) return;
    memcpy(v, state->kept->twist, sizeof state->kept->twist);
}

void rigid_change(const body_state *base, double *v) {
    const rigid_state *state = (const rigid_state *)base;
    if (!is_dynamic(rigid_of(state))) return;
    memcpy(v, state->kept->change, sizeof state->kept->change);
}

/* Covers what the meaning of a state depends on: shape, mass, motion. */
static uint64_t rigid_hash(const body_model *base) {
    const rigid_model *body = (const rigid_model *)base;
    const double numbers[] = {(double)body->motion, (double)body->shape.kind, body->base.mass,
                              body->damping_linear, body->damping_angular,    body->path.linear};
    const thenar_surface *surface = &body->shape.surface;
    uint64_t hash = hash_bytes(0, body->base.name, strlen(body->base.name));
    hash = hash_bytes(hash, numbers, sizeof numbers);
    hash = hash_bytes(hash, &body->inertia, sizeof body->inertia);
    hash = hash_bytes(hash, &body->shape.solid.bounds, sizeof body->shape.solid.bounds);
    hash = hash_bytes(hash, surface->positions, 3 * (size_t)surface->vertex_count * sizeof(double));
    hash = hash_bytes(hash, surface->triangles, 3 * (size_t)surface->triangle_count * sizeof(int));
    hash = hash_bytes(hash, &body->position, sizeof body->position);
    hash = hash_bytes(hash, &body->orientation, sizeof body->orientation);
    hash = hash_bytes(hash, &body->path.pivot, sizeof body->path.pivot);
    return hash_bytes(hash, body->path.keys, (size_t)body->path.key_count * sizeof(thenar_key));
}

static void rigid_place_surface(const body_state *base, double *positions) {
    const rigid_state *state = (const rigid_state *)base;
    const thenar_surface *surface = &rigid_of(state)->shape.surface;
    quat turn = rigid_orientation(state->kept->orientation);
    vec3 centre = vec3_load(state->kept->position);
    for (int i = 0; i < surface->vertex_count; i++)
        vec3_store(positions + 3 * i, vec3_add(quat_rotate(turn, vec3_load(surface->positions + 3 * i)), centre));
}

static void rigid_energy(const body_state *base, vec3 gravity, double *kinetic, double *elastic, double *potential) {
    const rigid_state *state = (const rigid_state *)base;
    const rigid_model *body = rigid_of(state);
    vec3 v = vec3_load(state->kept->velocity);
    vec3 spin = quat_rotate(quat_conjugate(rigid_orientation(state->kept->orientation)), vec3_load(state->kept->spin));
    if (kinetic) *kinetic = 0.5 * (body->base.mass * vec3_dot(v, v) + spin_square(body->inertia, spin));
    if (elastic) *elastic = 0;
    if (potential) *potential = -body->base.mass * vec3_dot(gravity, vec3_load(state->kept->position));
}

const body_class rigid_class = {
    .name = "rigid",
    .state_size = sizeof(rigid_state),
    .couple = rigid_couple,
    .bind = rigid_bind,
    .hash = rigid_hash,
    .free = rigid_model_free,
    .layout = rigid_layout,
    .reset = rigid_reset,
    .drive = rigid_drive,
    .formulate = rigid_formulate,
    .integrate = rigid_integrate,
    .displace = rigid_displace,
    .publish = rigid_publish,
    .is_finite = rigid_is_finite,
    .rest = rigid_rest,
    .inverted = rigid_inverted,
    .velocity = rigid_velocity,
    .change = rigid_change,
    .place_surface = rigid_place_surface,
    .energy = rigid_energy,
};
