/* Articulated bodies: model, state, solve, and motion over a step. */
#include "hand/skeleton.h"

#include "body/rigid.h"
#include "core/hash.h"

#include <stdlib.h>
#include <string.h>

#define MAX_BONES 100000

static thenar_status check_axis(const skeleton_axis *axis, int bone, int number, thenar_error *error) {
    if (!(fabs(vec3_length(axis->axis) - 1) < 1e-9))
        return error_set(error, THENAR_ERROR_INPUT, "bone %d, axis %d: (%g, %g, %g) is not a unit vector", bone, number,
                         axis->axis.x, axis->axis.y, axis->axis.z);
    if (!(axis->lower <= axis->rest && axis->rest <= axis->upper) || !isfinite(axis->rest))
        return error_set(error, THENAR_ERROR_INPUT,
                         "bone %d, axis %d: rest angle %g and limits %g..%g; expected the rest angle within the limits",
                         bone, number, axis->rest, axis->lower, axis->upper);
    const double springs[] = {axis->stiffness, axis->damping, axis->limit_stiffness, axis->limit_damping};
    for (int i = 0; i < 4; i++)
        if (!(springs[i] >= 0 && isfinite(springs[i])))
            return error_set(error, THENAR_ERROR_INPUT,
                             "bone %d, axis %d: stiffness or damping is %g; expected >= 0 N m/rad and N m s/rad", bone,
                             number, springs[i]);
    return THENAR_OK;
}

static bool is_definite(mat3 a) {
    const double *m = a.m;
    double size = fabs(m[0]) + fabs(m[4]) + fabs(m[8]);
    if (fabs(m[1] - m[3]) + fabs(m[2] - m[6]) + fabs(m[5] - m[7]) > 1e-9 * size) return false;
    return m[0] > 0 && m[0] * m[4] - m[1] * m[3] > 0 && mat3_determinant(a) > 0 && isfinite(size);
}

static thenar_status check_bone(const skeleton_bone *bone, int number, thenar_error *error) {
    if (bone->parent < -1 || bone->parent >= number)
        return error_set(error, THENAR_ERROR_INPUT, "the parent of bone %d is %d; expected -1..%d", number,
                         bone->parent, number - 1);
    if (bone->axis_count < 0 || bone->axis_count > SKELETON_AXES)
        return error_set(error, THENAR_ERROR_INPUT, "bone %d has %d axes; expected 0..%d", number, bone->axis_count,
                         SKELETON_AXES);
    if (bone->free && (bone->parent >= 0 || bone->axis_count > 0))
        return error_set(error, THENAR_ERROR_INPUT, "bone %d is free; expected no parent and no axes", number);
    if (!vec3_is_finite(bone->offset) || !vec3_is_finite(bone->centre))
        return error_set(error, THENAR_ERROR_INPUT, "bone %d: offset or centre of mass is not finite", number);
    quat r = bone->rotation;
    if (!(fabs(r.x * r.x + r.y * r.y + r.z * r.z + r.w * r.w - 1) < 1e-9))
        return error_set(error, THENAR_ERROR_INPUT, "bone %d: the rotation is not a unit quaternion", number);
    if (!(bone->mass > 0 && isfinite(bone->mass)) || !is_definite(bone->inertia))
        return error_set(error, THENAR_ERROR_INPUT,
                         "bone %d: mass %g kg or its inertia is out of range; expected > 0, and a positive definite "
                         "inertia",
                         number, bone->mass);
    for (int i = 0; i < bone->axis_count; i++) {
        thenar_status status = check_axis(&bone->axes[i], number, i, error);
        if (status != THENAR_OK) return status;
    }
    return THENAR_OK;
}

thenar_status skeleton_model_create(const skeleton_bone *bones, int bone_count, skeleton_model **out,
                                    thenar_error *error) {
    *out = NULL;
    if (bone_count < 1 || bone_count > MAX_BONES)
        return error_set(error, THENAR_ERROR_INPUT, "a skeleton of %d bones; expected 1..%d", bone_count, MAX_BONES);
    for (int i = 0; i < bone_count; i++) {
        thenar_status status = check_bone(&bones[i], i, error);
        if (status != THENAR_OK) return status;
    }
    skeleton_model *model = MEMORY_ARRAY(skeleton_model, 1);
    if (!model) return error_memory(error, "a skeleton");
    model->bone_count = bone_count;
    model->bones = memory_copy(bones, (size_t)bone_count * sizeof *bones);
    model->first_dof = MEMORY_ARRAY(int, bone_count + 1);
    if (!model->bones || !model->first_dof) {
        skeleton_model_free(model);
        return error_memory(error, "a skeleton");
    }
    for (int i = 0; i < bone_count; i++) {
        model->first_dof[i] = model->dof_count;
        model->dof_count += bones[i].axis_count;
    }
    model->first_dof[bone_count] = model->dof_count;
    *out = model;
    return THENAR_OK;
}

void skeleton_model_free(skeleton_model *model) {
    if (!model) return;
    free(model->bones);
    free(model->first_dof);
    free(model);
}

/* Field by field, since structs may have padding. */
uint64_t skeleton_model_hash(const skeleton_model *model) {
    uint64_t hash = hash_bytes(0, &model->bone_count, sizeof model->bone_count);
    for (int i = 0; i < model->bone_count; i++) {
        const skeleton_bone *bone = &model->bones[i];
        const int numbers[] = {bone->parent, bone->free, bone->axis_count};
        hash = hash_bytes(hash, numbers, sizeof numbers);
        hash = hash_bytes(hash, &bone->offset, sizeof bone->offset);
        hash = hash_bytes(hash, &bone->rotation, sizeof bone->rotation);
        hash = hash_bytes(hash, bone->axes, (size_t)bone->axis_count * sizeof *bone->axes);
        hash = hash_bytes(hash, &bone->mass, sizeof bone->mass);
        hash = hash_bytes(hash, &bone->centre, sizeof bone->centre);
        hash = hash_bytes(hash, &bone->inertia, sizeof bone->inertia);
    }
    return hash;
}

/* The state of a skeleton and its motion over a step.
 *
 * A bone carries over the velocity of its centre of mass and its angular velocity, not the rates of its joints: b has
 * I_b V0_b, where V0_b is the twist of the last step with its angular velocity turned with the bone. The equations
 * below project this motion onto what the joints allow, in the norm of the kinetic energy. A projection is never
 * longer than the vector it projects, so velocity products (centrifugal and Coriolis forces) never add energy, however
 * fast the skeleton turns and however long the step is. Written as explicit forces, as in the articulated-body
 * algorithm, they do add energy unless the step is short compared with one turn. Without external forces, the linear
 * momentum of a free skeleton is conserved to rounding, its angular momentum and energy to first order in h.
 *
 * The gyroscopic term of a bone and the rotation of a free bone are those of a rigid body (rigid_step.c), so a free
 * skeleton of one bone moves exactly like a rigid body. */

void skeleton_layout(skeleton_state *state, arena *kept, arena *work) {
    int bones = state->model->bone_count, dofs = state->model->dof_count;
    state->pose = ARENA_ARRAY(kept, skeleton_pose, bones);
    state->motion = ARENA_ARRAY(kept, skeleton_bone_motion, bones);
    state->q = ARENA_ARRAY(kept, double, dofs);
    state->rate = ARENA_ARRAY(kept, double, dofs);
    state->target = ARENA_ARRAY(kept, double, dofs);
    state->coupling = ARENA_ARRAY(kept, skeleton_coupling, bones);
    state->wrench = ARENA_ARRAY(kept, skeleton_wrench, bones);

    state->turn = ARENA_ARRAY(work, mat3, bones);
    state->axis = ARENA_ARRAY(work, spatial_motion, dofs);
    state->inertia = ARENA_ARRAY(work, spatial_inertia, bones);
    state->momentum = ARENA_ARRAY(work, spatial_force, bones);
    state->dof_inertia = ARENA_ARRAY(work, double, dofs);
    state->dof_momentum = ARENA_ARRAY(work, double, dofs);
    state->limit = ARENA_ARRAY(work, signed char, dofs);
    state->articulated = ARENA_ARRAY(work, spatial_inertia, bones);
    state->carried = ARENA_ARRAY(work, spatial_force, bones);
    state->lever = ARENA_ARRAY(work, spatial_force, dofs);
    state->give = ARENA_ARRAY(work, double, dofs);
    state->push = ARENA_ARRAY(work, double, dofs);
    state->free_factor = ARENA_ARRAY(work, spatial_factor, bones);
    state->twist = ARENA_ARRAY(work, spatial_motion, bones);
    state->next_rate = ARENA_ARRAY(work, double, dofs);
}

static quat turn_about(vec3 axis, double angle) {
    double s = sin(angle / 2);
    return (quat){axis.x * s, axis.y * s, axis.z * s, cos(angle / 2)};
}

/* The frame of the joint before its axes rotate: the bone's frame at zero angles. */
static skeleton_pose joint_frame(const skeleton_bone *bone, const skeleton_pose *pose) {
    if (bone->parent < 0) return (skeleton_pose){bone->offset, bone->rotation};
    const skeleton_pose *parent = &pose[bone->parent];
    return (skeleton_pose){vec3_add(parent->position, quat_rotate(parent->orientation, bone->offset)),
                           quat_mul(parent->orientation, bone->rotation)};
}

void skeleton_place(const skeleton_model *model, const double *q, skeleton_pose *pose) {
    for (int b = 0; b < model->bone_count; b++) {
        const skeleton_bone *bone = &model->bones[b];
        if (bone->free) continue;
        pose[b] = joint_frame(bone, pose);
        for (int k = 0; k < bone->axis_count; k++)
            pose[b].orientation =
                quat_mul(pose[b].orientation, turn_about(bone->axes[k].axis, q[model->first_dof[b] + k]));
        pose[b].orientation = quat_unit(pose[b].orientation);
    }
}

/* Rotation matrices and axes of the bones in their current poses. */
static void place_axes(skeleton_state *state) {
    const skeleton_model *model = state->model;
    state->origin = state->pose[0].position;
    for (int b = 0; b < model->bone_count; b++) {
        const skeleton_bone *bone = &model->bones[b];
        state->turn[b] = quat_to_mat3(state->pose[b].orientation);
        skeleton_pose joint = joint_frame(bone, state->pose);
        vec3 r = vec3_sub(state->pose[b].position, state->origin);
        for (int k = 0; k < bone->axis_count; k++) {
            int i = model->first_dof[b] + k;
            state->axis[i] = spatial_motion_turn(quat_rotate(joint.orientation, bone->axes[k].axis), r);
            joint.orientation = quat_mul(joint.orientation, turn_about(bone->axes[k].axis, state->q[i]));
        }
    }
}

/* From O to the centre of mass of a bone. */
static vec3 centre_arm(const skeleton_state *state, int b) {
    vec3 r = vec3_sub(state->pose[b].position, state->origin);
    return vec3_add(r, mat3_mul_vec(state->turn[b], state->model->bones[b].centre));
}

void skeleton_reset(skeleton_state *state) {
    const skeleton_model *model = state->model;
    memset(state->coupling, 0, (size_t)model->bone_count * sizeof *state->coupling);
    memset(state->wrench, 0, (size_t)model->bone_count * sizeof *state->wrench);
    memset(state->limit, 0, (size_t)model->dof_count * sizeof *state->limit);
    for (int b = 0; b < model->bone_count; b++) {
        const skeleton_bone *bone = &model->bones[b];
        if (bone->free) state->pose[b] = (skeleton_pose){bone->offset, bone->rotation};
        state->coupling[b].target.orientation = quat_identity();
        for (int k = 0; k < bone->axis_count; k++)
            state->q[model->first_dof[b] + k] = state->target[model->first_dof[b] + k] = bone->axes[k].rest;
    }
    state->unsettled = 0;
    state->limit_rounds = 0;
    skeleton_set_pose(state, NULL, NULL);
}

void skeleton_set_pose(skeleton_state *state, const skeleton_pose *base, const double *q) {
    const skeleton_model *model = state->model;
    for (int b = 0; base && b < model->bone_count; b++)
        if (model->bones[b].free) state->pose[b] = *base++;
    if (q) memcpy(state->q, q, (size_t)model->dof_count * sizeof *q);
    skeleton_place(model, state->q, state->pose);
    memset(state->rate, 0, (size_t)model->dof_count * sizeof *state->rate);
    memset(state->motion, 0, (size_t)model->bone_count * sizeof *state->motion);
}

static coupling_spring linear_spring(const skeleton_state *state, int b) {
    const skeleton_coupling *c = &state->coupling[b];
    return coupling_soften(vec3_sub(c->target.position, state->pose[b].position), c->stiffness, c->damping,
                           c->max_force);
}

static coupling_spring angular_spring(const skeleton_state *state, int b) {
    const skeleton_coupling *c = &state->coupling[b];
    quat turn = quat_mul(c->target.orientation, quat_conjugate(state->pose[b].orientation));
    return coupling_soften(quat_to_rotation_vector(turn), c->turn_stiffness, c->turn_damping, c->max_torque);
}

static bool is_coupled(const skeleton_coupling *c) {
    return c->stiffness > 0 || c->damping > 0 || c->turn_stiffness > 0 || c->turn_damping > 0;
}

static void add_coupling(skeleton_state *state, int b, double h) {
    const skeleton_coupling *c = &state->coupling[b];
    if (!is_coupled(c)) return;
    coupling_spring linear = linear_spring(state, b), angular = angular_spring(state, b);
    skeleton_add_point(state, b, state->pose[b].position, h * linear.damping + h * h * linear.stiffness,
                       vec3_scale(coupling_pull(linear, c->velocity), h));
    double turning = h * angular.damping + h * h * angular.stiffness;
    for (int i = 0; i < 9; i += 4) state->inertia[b].angular.m[i] += turning;
    state->momentum[b].torque = vec3_mul_add(state->momentum[b].torque, coupling_pull(angular, c->spin), h);
}

spatial_inertia skeleton_inertia(const skeleton_state *state, int bone) {
    const skeleton_bone *own = &state->model->bones[bone];
    mat3 R = state->turn[bone];
    return spatial_inertia_rigid(own->mass, centre_arm(state, bone),
                                 mat3_mul(mat3_mul(R, own->inertia), mat3_transpose(R)));
}

void skeleton_begin(skeleton_state *state, double h, vec3 gravity) {
    const skeleton_model *model = state->model;
    place_axes(state);
    for (int b = 0; b < model->bone_count; b++) {
        const skeleton_bone *bone = &model->bones[b];
        mat3 R = state->turn[b];
        vec3 arm = centre_arm(state, b), velocity = state->motion[b].velocity;
        state->inertia[b] = skeleton_inertia(state, b);

        vec3 spin = rigid_spin_backward(bone->inertia, mat3_mul_vec_transposed(R, state->motion[b].spin), h);
        vec3 turning = mat3_mul_vec(R, mat3_mul_vec(bone->inertia, spin));
        vec3 pull = vec3_mul_add(state->wrench[b].force, gravity, bone->mass);
        state->momentum[b] = spatial_force_at(vec3_mul_add(turning, state->wrench[b].torque, h),
                                              vec3_mul_add(vec3_scale(velocity, bone->mass), pull, h), arm);
        add_coupling(state, b, h);
        for (int k = 0; k < bone->axis_count; k++) {
            int i = model->first_dof[b] + k;
            const skeleton_axis *axis = &bone->axes[k];
            state->dof_inertia[i] = h * axis->damping + h * h * axis->stiffness;
            state->dof_momentum[i] = h * axis->stiffness * (state->target[i] - state->q[i]);
        }
    }
}

void skeleton_add_point(skeleton_state *state, int bone, vec3 point, double kappa, vec3 impulse) {
    vec3 r = vec3_sub(point, state->origin);
    spatial_inertia_add_point(&state->inertia[bone], kappa, r);
    state->momentum[bone] = spatial_force_add(state->momentum[bone], spatial_force_at((vec3){0}, impulse, r));
}

/* The motion that the bone carries into the next step. */
static skeleton_bone_motion carried_motion(const skeleton_state *state, int b, double h) {
    const skeleton_bone *bone = &state->model->bones[b];
    mat3 R = state->turn[b];
    vec3 w = mat3_mul_vec_transposed(R, state->twist[b].angular);
    vec3 spin = rigid_spin_advance(bone->inertia, mat3_mul_vec_transposed(R, state->motion[b].spin), w, h);
    return (skeleton_bone_motion){spatial_motion_point(state->twist[b], centre_arm(state, b)), spin};
}

void skeleton_integrate(skeleton_state *state, double h) {
    const skeleton_model *model = state->model;
    for (int b = 0; b < model->bone_count; b++) state->motion[b] = carried_motion(state, b, h);
    for (int b = 0; b < model->bone_count; b++) {
        if (!model->bones[b].free) continue;
        vec3 u = state->twist[b].angular, r = vec3_sub(state->pose[b].position, state->origin);
        quat turn = quat_unit((quat){h * u.x / 2, h * u.y / 2, h * u.z / 2, 1});
        state->pose[b].position = vec3_mul_add(state->pose[b].position, spatial_motion_point(state->twist[b], r), h);
        state->pose[b].orientation = quat_unit(quat_mul(turn, state->pose[b].orientation));
    }
    for (int i = 0; i < model->dof_count; i++) {
        state->rate[i] = state->next_rate[i];
        state->q[i] += h * state->rate[i];
    }
    skeleton_place(model, state->q, state->pose);
    for (int b = 0; b < model->bone_count; b++)
        state->motion[b].spin = quat_rotate(state->pose[b].orientation, state->motion[b].spin);
}

void skeleton_coupling_kappa(const skeleton_state *state, int bone, double h, double kappa[2]) {
    coupling_spring linear = linear_spring(state, bone), angular = angular_spring(state, bone);
    kappa[0] = h * linear.damping + h * h * linear.stiffness;
    kappa[1] = h * angular.damping + h * h * angular.stiffness;
}

skeleton_wrench skeleton_coupling_wrench(const skeleton_state *state, int bone) {
    const skeleton_coupling *c = &state->coupling[bone];
    const skeleton_bone_motion *motion = &state->motion[bone];
    vec3 to_origin = quat_rotate(state->pose[bone].orientation, vec3_scale(state->model->bones[bone].centre, -1));
    vec3 velocity = vec3_add(motion->velocity, vec3_cross(motion->spin, to_origin));
    return (skeleton_wrench){coupling_pull(linear_spring(state, bone), vec3_sub(c->velocity, velocity)),
                             coupling_pull(angular_spring(state, bone), vec3_sub(c->spin, motion->spin))};
}

/* How far an angle is beyond its limits, rad. */
static double beyond(const skeleton_axis *axis, double q) {
    return q > axis->upper ? q - axis->upper : q < axis->lower ? q - axis->lower : 0;
}

double skeleton_joint_torque(const skeleton_state *state, int dof) {
    const skeleton_model *model = state->model;
    int b = 0;
    while (model->first_dof[b + 1] <= dof) b++;
    const skeleton_axis *axis = &model->bones[b].axes[dof - model->first_dof[b]];
    double excess = beyond(axis, state->q[dof]), rate = state->rate[dof];
    return -axis->limit_stiffness * excess + axis->stiffness * (state->target[dof] - state->q[dof]) -
           axis->damping * rate;
}

/* The velocities of a skeleton at the end of a step, in time linear in the number of bones (perez2016, II-A).
 *
 * Implicit Euler with linearized springs finds the twists V of the bones and the rates v of the joints that minimize
 *     sum_b 1/2 V_b^T A_b V_b - b_b^T V_b + sum_i 1/2 a_i v_i^2 - c_i v_i,   V_b = V_parent + sum_i S_i v_i,
 *     A_b = I_b + h D + h^2 K (coupling) + kappa J^T J (flesh),   b_b = I_b V0_b + h (f + K e + D v_t) + J^T impulse,
 *     a_i = h d_i + h^2 k_i,                                      c_i = h k_i (q_i* - q_i),
 * with the inertia I_b of the bone at the start of the step, the twist V0_b carried over (see above), wrenches f, the
 * distance e to the coupling's target at the end of the step, and the target's twist v_t. (With accelerations as
 * unknowns, v_i = v0_i + h dv_i, this is D_i = S^T I^A S + h d + h^2 k and tau_i = -k (q + h v0 - q*) - d v0 of the
 * articulated-body algorithm. Apart from the velocity products, the solution is the same.)
 *
 * Elimination runs from the leaves to the root, axis by axis. With the articulated I, p of the subtree beyond an axis,
 *     U = I S, D = S^T U + a, u = S^T p + c;   I -= U U^T / D,  p -= U u / D   for the parent.
 * A free root solves I V = p by a 6x6 Cholesky factorization. Then from the root to the leaves v = (u - U^T V) / D, V
 * += S v.
 *
 * Limits: an angle that is beyond its limit by x at the end of the step and by x0 at its start is pushed back by
 *     max(0, k_l x + d_l (x - x0) / h) = (k_l + d_l / h) max(0, q + h v - edge),
 *     edge = limit + x0 d_l / (h k_l + d_l),
 * a one-sided spring that starts at the edge. It is implicit like the others, and continuous, so the minimized
 * function stays convex. The set of active limits is found by solving until it no longer changes (Newton's method on a
 * piecewise quadratic function; usually two rounds). Testing the angle at the start of the step only would let a fast
 * finger overshoot its limit by a whole step. */

#define MAX_LIMIT_ROUNDS 10
#define SAME_ANGLE 1e-12 /* rad */
#define FASTEST 1e12     /* m/s and rad/s, over all bones: beyond this, products in the next step may overflow */

/* h k_l + d_l: impulse per rad of violation, N m s/rad. */
static double limit_pull(const skeleton_axis *axis, double h) {
    return h * axis->limit_stiffness + axis->limit_damping;
}

/* The angle at which the spring of a limit (-1: lower, 1: upper) starts. */
static double limit_edge(const skeleton_axis *axis, signed char limit, double q, double h) {
    double end = limit > 0 ? axis->upper : axis->lower, pull = limit_pull(axis, h);
    double excess = limit > 0 ? fmax(0, q - end) : fmin(0, q - end);
    return pull > 0 ? end + excess * (axis->limit_damping / pull) : end;
}

static bool factor_bone(skeleton_state *state, int b, double h) {
    const skeleton_model *model = state->model;
    const skeleton_bone *bone = &model->bones[b];
    spatial_inertia *I = &state->articulated[b];
    for (int k = bone->axis_count - 1; k >= 0; k--) {
        int i = model->first_dof[b] + k;
        double a = state->dof_inertia[i];
        if (state->limit[i]) a += h * limit_pull(&bone->axes[k], h);
        spatial_force U = spatial_inertia_mul(I, state->axis[i]);
        double D = spatial_dot(state->axis[i], U) + a;
        if (!(D > 0)) return false;
        state->lever[i] = U;
        state->give[i] = 1 / D;
        spatial_inertia_add_outer(I, U, -1 / D);
    }
    if (bone->free) return spatial_inertia_factor(I, &state->free_factor[b]);
    if (bone->parent >= 0) state->articulated[bone->parent] = spatial_inertia_add(state->articulated[bone->parent], *I);
    return true;
}

static bool factor(skeleton_state *state, double h) {
    const skeleton_model *model = state->model;
    memcpy(state->articulated, state->inertia, (size_t)model->bone_count * sizeof *state->articulated);
    for (int b = model->bone_count - 1; b >= 0; b--)
        if (!factor_bone(state, b, h)) return false;
    return true;
}

/* carried: b of every bone; push: c of every dof. Both are overwritten. */
static void substitute(const skeleton_state *state, spatial_force *carried, double *push, spatial_motion *twist,
                       double *rate) {
    const skeleton_model *model = state->model;
    for (int b = model->bone_count - 1; b >= 0; b--) {
        const skeleton_bone *bone = &model->bones[b];
        for (int i = model->first_dof[b + 1] - 1; i >= model->first_dof[b]; i--) {
            push[i] += spatial_dot(state->axis[i], carried[b]);
            carried[b] = spatial_force_mul_add(carried[b], state->lever[i], -push[i] * state->give[i]);
        }
        if (bone->parent >= 0) carried[bone->parent] = spatial_force_add(carried[bone->parent], carried[b]);
    }
    for (int b = 0; b < model->bone_count; b++) {
        const skeleton_bone *bone = &model->bones[b];
        spatial_motion V = bone->free          ? spatial_factor_solve(&state->free_factor[b], carried[b])
                           : bone->parent >= 0 ? twist[bone->parent]
                                               : spatial_motion_zero();
        for (int i = model->first_dof[b]; i < model->first_dof[b + 1]; i++) {
            rate[i] = state->give[i] * (push[i] - spatial_dot(V, state->lever[i]));
            V = spatial_motion_mul_add(V, state->axis[i], rate[i]);
        }
        twist[b] = V;
    }
}

/* The limit that is active when an angle moves from q to `end`: -1, 1, or 0. Exactly at the edge, where it makes no
 * difference, the previous choice is kept; otherwise rounding would decide and the iteration might not end. */
static signed char limit_at(const skeleton_axis *axis, signed char before, double q, double end, double h) {
    if (before && fabs(end - limit_edge(axis, before, q, h)) < SAME_ANGLE) return before;
    if (end > axis->upper) return end > limit_edge(axis, 1, q, h) + SAME_ANGLE;
    if (end < axis->lower) return (signed char)-(end < limit_edge(axis, -1, q, h) - SAME_ANGLE);
    return 0;
}

/* Sets the limits that are violated at these rates. Returns true if any of them changed. */
static bool set_limits(skeleton_state *state, const double *rate, double h) {
    const skeleton_model *model = state->model;
    bool changed = false;
    for (int b = 0; b < model->bone_count; b++)
        for (int k = 0; k < model->bones[b].axis_count; k++) {
            int i = model->first_dof[b] + k;
            double q = state->q[i];
            signed char limit = limit_at(&model->bones[b].axes[k], state->limit[i], q, q + h * rate[i], h);
            changed |= limit != state->limit[i];
            state->limit[i] = limit;
        }
    return changed;
}

static void start_push(skeleton_state *state, double h) {
    const skeleton_model *model = state->model;
    memcpy(state->push, state->dof_momentum, (size_t)model->dof_count * sizeof *state->push);
    for (int b = 0; b < model->bone_count; b++)
        for (int k = 0; k < model->bones[b].axis_count; k++) {
            int i = model->first_dof[b] + k;
            const skeleton_axis *axis = &model->bones[b].axes[k];
            if (!state->limit[i]) continue;
            double way = limit_edge(axis, state->limit[i], state->q[i], h) - state->q[i];
            state->push[i] += limit_pull(axis, h) * way;
        }
}

static bool is_valid(const skeleton_state *state) {
    double sum = 0; /* NaN if any term is */
    for (int i = 0; i < state->model->dof_count; i++) sum += fabs(state->next_rate[i]);
    for (int b = 0; b < state->model->bone_count; b++)
        sum += vec3_length(state->twist[b].linear) + vec3_length(state->twist[b].angular);
    return sum < FASTEST;
}

bool skeleton_solve(skeleton_state *state, double h) {
    const skeleton_model *model = state->model;
    memset(state->limit, 0, (size_t)model->dof_count * sizeof *state->limit);
    set_limits(state, state->rate, h);
    bool changed = true;
    for (state->limit_rounds = 0; changed && state->limit_rounds < MAX_LIMIT_ROUNDS; state->limit_rounds++) {
        if (!factor(state, h)) return false;
        start_push(state, h);
        memcpy(state->carried, state->momentum, (size_t)model->bone_count * sizeof *state->carried);
        substitute(state, state->carried, state->push, state->twist, state->next_rate);
        if (!is_valid(state)) return false;
        changed = set_limits(state, state->next_rate, h);
    }
    state->unsettled += changed;
    return true;
}

/* ---- Energies, for the ledger of the world ---- */

double skeleton_kinetic(const skeleton_state *state) {
    double sum = 0;
    for (int b = 0; b < state->model->bone_count; b++) {
        const skeleton_bone *bone = &state->model->bones[b];
        const skeleton_bone_motion *motion = &state->motion[b];
        vec3 spin = quat_rotate(quat_conjugate(state->pose[b].orientation), motion->spin);
        sum += 0.5 * (bone->mass * vec3_dot(motion->velocity, motion->velocity) +
                      vec3_dot(spin, mat3_mul_vec(bone->inertia, spin)));
    }
    return sum;
}

double skeleton_weight(const skeleton_state *state, vec3 gravity) {
    double sum = 0;
    for (int b = 0; b < state->model->bone_count; b++) {
        const skeleton_bone *bone = &state->model->bones[b];
        vec3 centre = vec3_add(state->pose[b].position, quat_rotate(state->pose[b].orientation, bone->centre));
        sum -= bone->mass * vec3_dot(gravity, centre);
    }
    return sum;
}

double skeleton_spring_potential(double way, double stiffness, double max) {
    double reach = max > 0 && stiffness > 0 ? max / stiffness : INFINITY;
    return way <= reach ? 0.5 * stiffness * way * way : max * (way - 0.5 * reach);
}

double skeleton_springs(const skeleton_state *state) {
    const skeleton_model *model = state->model;
    double sum = 0;
    for (int b = 0; b < model->bone_count; b++) {
        const skeleton_coupling *c = &state->coupling[b];
        for (int k = 0; k < model->bones[b].axis_count; k++) {
            const skeleton_axis *axis = &model->bones[b].axes[k];
            int i = model->first_dof[b] + k;
            double way = state->target[i] - state->q[i], excess = beyond(axis, state->q[i]);
            sum += 0.5 * (axis->stiffness * way * way + axis->limit_stiffness * excess * excess);
        }
        if (!is_coupled(c)) continue;
        sum += skeleton_spring_potential(vec3_length(linear_spring(state, b).way), c->stiffness, c->max_force) +
               skeleton_spring_potential(vec3_length(angular_spring(state, b).way), c->turn_stiffness, c->max_torque);
    }
    return sum;
}

/* A damper d between a frame with the velocity v and its target with the velocity u: the target does the work h d (u - v) u,
 * of which h d (u - v)^2 is lost and the rest moves the frame. */
double skeleton_damper_work(const skeleton_state *before, const skeleton_state *after, const double *target,
                            double extra, double h) {
    const skeleton_model *model = after->model;
    double sum = 0;
    for (int b = 0; b < model->bone_count; b++) {
        const skeleton_coupling *c = &after->coupling[b];
        for (int k = 0; k < model->bones[b].axis_count; k++) {
            int i = model->first_dof[b] + k;
            double led = after->target[i] - target[i], moved = after->q[i] - before->q[i];
            sum += (model->bones[b].axes[k].damping + extra) * (led - moved) * led / h;
        }
        if (!is_coupled(c)) continue;
        vec3 moved = vec3_sub(after->pose[b].position, before->pose[b].position);
        quat turn = quat_mul(after->pose[b].orientation, quat_conjugate(before->pose[b].orientation));
        sum += coupling_damper_work(linear_spring(before, b), moved, c->velocity, h) +
               coupling_damper_work(angular_spring(before, b), quat_to_rotation_vector(turn), c->spin, h);
    }
    return sum;
}
