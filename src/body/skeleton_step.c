/* The state of a skeleton and its motion over a step: momenta in, positions out.
 *
 * A bone brings along the velocity of its centre of mass and its spin, not the rates of its joints: b has I_b V0_b with
 * V0_b the twist of the last step, its spin turned with the bone. The equations of skeleton_solve.c then project what
 * the bones bring along on what the joints allow, in the norm of the kinetic energy. A projection is never longer than
 * what it projects, so however fast a skeleton turns and however long a step is, velocity products (centrifugal and
 * Coriolis forces) never add energy. Written as explicit forces, as the articulated-body algorithm has them, they do:
 * the step would have to be short beside one turn. Without external forces the momentum of a free skeleton is kept to
 * rounding; its angular momentum and its energy to first order in h.
 *
 * The gyroscopic term of a bone and the turn of a free one are those of the rigid body (rigid_step.c), so that a free
 * skeleton of one bone moves as a rigid body does. */
#include "body/skeleton.h"

#include "body/coupling.h"
#include "body/rigid.h"

#include <string.h>

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

/* The joint's frame before its axes turn: where the bone would be with all its angles zero. */
static skeleton_pose hang(const skeleton_bone *bone, const skeleton_pose *pose) {
    if (bone->parent < 0) return (skeleton_pose){bone->offset, bone->rotation};
    const skeleton_pose *parent = &pose[bone->parent];
    return (skeleton_pose){vec3_add(parent->position, quat_rotate(parent->orientation, bone->offset)),
                           quat_mul(parent->orientation, bone->rotation)};
}

void skeleton_place(const skeleton_model *model, const double *q, skeleton_pose *pose) {
    for (int b = 0; b < model->bone_count; b++) {
        const skeleton_bone *bone = &model->bones[b];
        if (bone->free) continue;
        pose[b] = hang(bone, pose);
        for (int k = 0; k < bone->axis_count; k++)
            pose[b].orientation =
                quat_mul(pose[b].orientation, turn_about(bone->axes[k].axis, q[model->first_dof[b] + k]));
        pose[b].orientation = quat_unit(pose[b].orientation);
    }
}

/* The matrices and axes of the bones where they are, for begin and set_rates. */
static void place_axes(skeleton_state *state) {
    const skeleton_model *model = state->model;
    state->origin = state->pose[0].position;
    for (int b = 0; b < model->bone_count; b++) {
        const skeleton_bone *bone = &model->bones[b];
        state->turn[b] = quat_to_mat3(state->pose[b].orientation);
        skeleton_pose joint = hang(bone, state->pose);
        vec3 r = vec3_sub(state->pose[b].position, state->origin);
        for (int k = 0; k < bone->axis_count; k++) {
            int i = model->first_dof[b] + k;
            state->axis[i] = spatial_motion_turn(quat_rotate(joint.orientation, bone->axes[k].axis), r);
            joint.orientation = quat_mul(joint.orientation, turn_about(bone->axes[k].axis, state->q[i]));
        }
    }
}

/* From O to a bone's centre of mass. */
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

void skeleton_set_rates(skeleton_state *state, const spatial_motion *base, const double *rate) {
    const skeleton_model *model = state->model;
    place_axes(state);
    memcpy(state->rate, rate, (size_t)model->dof_count * sizeof *rate);
    for (int b = 0; b < model->bone_count; b++) {
        const skeleton_bone *bone = &model->bones[b];
        spatial_motion V = bone->parent >= 0 ? state->twist[bone->parent] : spatial_motion_zero();
        if (bone->free && base) {
            V = spatial_motion_at(base->angular, base->linear, vec3_sub(state->pose[b].position, state->origin));
            base++;
        }
        for (int i = model->first_dof[b]; i < model->first_dof[b + 1]; i++)
            V = spatial_motion_mul_add(V, state->axis[i], rate[i]);
        state->twist[b] = V;
        state->motion[b] = (skeleton_bone_motion){spatial_motion_point(V, centre_arm(state, b)), V.angular};
    }
}

static coupling_spring linear_spring(const skeleton_state *state, int b) {
    const skeleton_coupling *c = &state->coupling[b];
    return coupling_soften(vec3_sub(c->target.position, state->pose[b].position), c->stiffness, c->damping,
                           c->most_force);
}

static coupling_spring angular_spring(const skeleton_state *state, int b) {
    const skeleton_coupling *c = &state->coupling[b];
    quat turn = quat_mul(c->target.orientation, quat_conjugate(state->pose[b].orientation));
    return coupling_soften(quat_to_rotation_vector(turn), c->turn_stiffness, c->turn_damping, c->most_torque);
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

void skeleton_begin(skeleton_state *state, double h, vec3 gravity) {
    const skeleton_model *model = state->model;
    place_axes(state);
    for (int b = 0; b < model->bone_count; b++) {
        const skeleton_bone *bone = &model->bones[b];
        mat3 R = state->turn[b];
        mat3 inertia = mat3_mul(mat3_mul(R, bone->inertia), mat3_transpose(R));
        vec3 arm = centre_arm(state, b), velocity = state->motion[b].velocity;
        state->inertia[b] = spatial_inertia_rigid(bone->mass, arm, inertia);

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

/* What the bone brings along into the next step. */
static skeleton_bone_motion bring_along(const skeleton_state *state, int b, double h) {
    const skeleton_bone *bone = &state->model->bones[b];
    mat3 R = state->turn[b];
    vec3 w = mat3_mul_vec_transposed(R, state->twist[b].angular);
    vec3 spin = rigid_spin_advance(bone->inertia, mat3_mul_vec_transposed(R, state->motion[b].spin), w, h);
    return (skeleton_bone_motion){spatial_motion_point(state->twist[b], centre_arm(state, b)), spin};
}

void skeleton_integrate(skeleton_state *state, double h) {
    const skeleton_model *model = state->model;
    for (int b = 0; b < model->bone_count; b++) state->motion[b] = bring_along(state, b, h);
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

bool skeleton_step(skeleton_state *state, double h, vec3 gravity) {
    skeleton_begin(state, h, gravity);
    if (!skeleton_solve(state, h)) return false;
    skeleton_integrate(state, h);
    return true;
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

skeleton_energies skeleton_energy(const skeleton_state *state, vec3 gravity) {
    const skeleton_model *model = state->model;
    skeleton_energies sum = {0};
    for (int b = 0; b < model->bone_count; b++) {
        const skeleton_bone *bone = &model->bones[b];
        const skeleton_bone_motion *motion = &state->motion[b];
        quat R = state->pose[b].orientation;
        vec3 spin = quat_rotate(quat_conjugate(R), motion->spin);
        sum.kinetic += 0.5 * bone->mass * vec3_dot(motion->velocity, motion->velocity) +
                       0.5 * vec3_dot(spin, mat3_mul_vec(bone->inertia, spin));
        vec3 centre = vec3_add(state->pose[b].position, quat_rotate(R, bone->centre));
        sum.potential -= bone->mass * vec3_dot(gravity, centre);
        if (is_coupled(&state->coupling[b])) {
            coupling_spring linear = linear_spring(state, b), angular = angular_spring(state, b);
            sum.elastic += 0.5 * linear.stiffness * vec3_dot(linear.way, linear.way) +
                           0.5 * angular.stiffness * vec3_dot(angular.way, angular.way);
        }
        for (int k = 0; k < bone->axis_count; k++) {
            const skeleton_axis *axis = &bone->axes[k];
            int i = model->first_dof[b] + k;
            double stretch = state->q[i] - state->target[i], excess = beyond(axis, state->q[i]);
            sum.elastic += 0.5 * axis->stiffness * stretch * stretch + 0.5 * axis->limit_stiffness * excess * excess;
        }
    }
    return sum;
}
