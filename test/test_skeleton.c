/* The articulated skeleton against a dense formulation that shares no code with it: 4x4 matrices, Jacobians column by
 * column, Gaussian elimination. */
#include "plain_hand.h"
#include "allocations.h"

#include "core/threads.h"
#include "core/hash.h"
#include "core/memory.h"
#include "random.h"

#define MAX_BONES 24
#define MAX_DOFS 80

/* The reference. Generalized velocities: angular and linear (of the origin) velocity of bone 0 if it is free, then the
 * rates. */

typedef struct matrix4 {
    double m[4][4];
} matrix4;

static matrix4 multiply(matrix4 a, matrix4 b) {
    matrix4 c = {0};
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            for (int k = 0; k < 4; k++) c.m[i][j] += a.m[i][k] * b.m[k][j];
    return c;
}

/* Rodrigues' formula and a translation. */
static matrix4 matrix_of(vec3 axis, double angle, vec3 move) {
    double c = cos(angle), s = sin(angle), n[3] = {axis.x, axis.y, axis.z};
    double cross[3][3] = {{0, -n[2], n[1]}, {n[2], 0, -n[0]}, {-n[1], n[0], 0}};
    matrix4 a = {0};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) a.m[i][j] = (i == j ? c : 0) + s * cross[i][j] + (1 - c) * n[i] * n[j];
    a.m[0][3] = move.x, a.m[1][3] = move.y, a.m[2][3] = move.z, a.m[3][3] = 1;
    return a;
}

static matrix4 matrix_of_pose(skeleton_pose pose) {
    vec3 r = quat_to_rotation_vector(pose.orientation);
    return matrix_of(vec3_unit(r), vec3_length(r), pose.position);
}

static vec3 turned(matrix4 a, vec3 v) {
    return vec3_make(a.m[0][0] * v.x + a.m[0][1] * v.y + a.m[0][2] * v.z,
                     a.m[1][0] * v.x + a.m[1][1] * v.y + a.m[1][2] * v.z,
                     a.m[2][0] * v.x + a.m[2][1] * v.y + a.m[2][2] * v.z);
}

static vec3 moved(matrix4 a, vec3 v) {
    return vec3_add(turned(a, v), vec3_make(a.m[0][3], a.m[1][3], a.m[2][3]));
}

typedef struct dense {
    const skeleton_model *model;
    int base, size; /* unknowns of the base, of all */
    matrix4 bone[MAX_BONES];
    vec3 centre[MAX_BONES];
    vec3 spin[MAX_BONES][MAX_DOFS], velocity[MAX_BONES][MAX_DOFS]; /* of the centre, at unit velocities */
    mat3 inertia[MAX_BONES];
} dense;

static dense dense_at(const skeleton_model *model, matrix4 base, const double *q) {
    dense d = {.model = model, .base = model->bones[0].free ? 6 : 0};
    d.size = d.base + model->dof_count;
    vec3 axis[MAX_DOFS], at[MAX_DOFS];
    for (int b = 0; b < model->bone_count; b++) {
        const skeleton_bone *bone = &model->bones[b];
        matrix4 local = matrix_of_pose((skeleton_pose){bone->offset, bone->rotation});
        matrix4 frame = bone->free ? base : bone->parent < 0 ? local : multiply(d.bone[bone->parent], local);
        for (int k = 0; k < bone->axis_count; k++) {
            int i = model->first_dof[b] + k;
            axis[i] = turned(frame, bone->axes[k].axis);
            at[i] = moved(frame, vec3_make(0, 0, 0));
            frame = multiply(frame, matrix_of(bone->axes[k].axis, q[i], vec3_make(0, 0, 0)));
        }
        d.bone[b] = frame;
        d.centre[b] = moved(frame, bone->centre);
        mat3 R;
        for (int i = 0; i < 9; i++) R.m[i] = frame.m[i / 3][i % 3];
        d.inertia[b] = mat3_mul(mat3_mul(R, bone->inertia), mat3_transpose(R));
        /* Every bone on the way to the root moves this one. */
        for (int a = b; a >= 0; a = model->bones[a].parent) {
            for (int i = model->first_dof[a]; i < model->first_dof[a + 1]; i++) {
                d.spin[b][d.base + i] = axis[i];
                d.velocity[b][d.base + i] = vec3_cross(axis[i], vec3_sub(d.centre[b], at[i]));
            }
            if (!model->bones[a].free) continue;
            for (int i = 0; i < 3; i++) {
                vec3 e = vec3_make(i == 0, i == 1, i == 2);
                d.spin[b][i] = e;
                d.velocity[b][i] = vec3_cross(e, vec3_sub(d.centre[b], moved(base, vec3_make(0, 0, 0))));
                d.velocity[b][3 + i] = e;
            }
        }
    }
    return d;
}

static double matrix[MAX_DOFS][MAX_DOFS], right[MAX_DOFS];

/* M = sum_b Jv^T m Jv + Jw^T I Jw. */
static void dense_mass(const dense *d) {
    memset(matrix, 0, sizeof matrix);
    memset(right, 0, sizeof right);
    for (int b = 0; b < d->model->bone_count; b++)
        for (int i = 0; i < d->size; i++)
            for (int j = 0; j < d->size; j++)
                matrix[i][j] += d->model->bones[b].mass * vec3_dot(d->velocity[b][i], d->velocity[b][j]) +
                                vec3_dot(d->spin[b][i], mat3_mul_vec(d->inertia[b], d->spin[b][j]));
}

/* A force at the centre and a torque on bone b, added to the right-hand side. */
static void dense_push(const dense *d, int b, vec3 force, vec3 torque) {
    for (int i = 0; i < d->size; i++) right[i] += vec3_dot(force, d->velocity[b][i]) + vec3_dot(torque, d->spin[b][i]);
}

/* The velocity of a point of bone b at a unit velocity. */
static vec3 dense_point(const dense *d, int b, int i, vec3 point) {
    return vec3_add(d->velocity[b][i], vec3_cross(d->spin[b][i], vec3_sub(point, d->centre[b])));
}

/* Gaussian elimination with pivots; the solution is in `right`. */
static void dense_solve(int n) {
    for (int k = 0; k < n; k++) {
        int best = k;
        for (int i = k + 1; i < n; i++)
            if (fabs(matrix[i][k]) > fabs(matrix[best][k])) best = i;
        for (int j = 0; j < n; j++) {
            double t = matrix[k][j];
            matrix[k][j] = matrix[best][j], matrix[best][j] = t;
        }
        double t = right[k];
        right[k] = right[best], right[best] = t;
        for (int i = k + 1; i < n; i++) {
            double f = matrix[i][k] / matrix[k][k];
            for (int j = k; j < n; j++) matrix[i][j] -= f * matrix[k][j];
            right[i] -= f * right[k];
        }
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int j = i + 1; j < n; j++) right[i] -= matrix[i][j] * right[j];
        right[i] /= matrix[i][i];
    }
}

/* A tree of bones with 0..3 axes each, springs, limits, and skew inertias. */
static vec3 random_vector(random_source *r, double size) {
    double x = random_uniform(r, -size, size), y = random_uniform(r, -size, size);
    return vec3_make(x, y, random_uniform(r, -size, size));
}

static quat random_turn(random_source *r) {
    return quat_from_rotation_vector(random_vector(r, 1.5));
}

static skeleton_model *random_tree(random_source *r, int bone_count, bool free_base) {
    skeleton_bone *bones = MEMORY_ARRAY(skeleton_bone, bone_count);
    for (int b = 0; b < bone_count; b++) {
        skeleton_bone *bone = &bones[b];
        bone->parent = b == 0 ? -1 : (int)random_uniform(r, fmax(0, b - 3), b);
        bone->free = b == 0 && free_base;
        bone->offset = random_vector(r, 0.1);
        bone->rotation = random_turn(r);
        bone->axis_count = bone->free ? 0 : b == 0 ? 2 : (int)random_uniform(r, 0, 4);
        for (int k = 0; k < bone->axis_count; k++)
            bone->axes[k] =
                (skeleton_axis){.axis = vec3_unit(vec3_add(vec3_make(k == 0, k == 1, k == 2), random_vector(r, 0.3))),
                                .lower = -1.2,
                                .upper = 1.2,
                                .stiffness = random_uniform(r, 0, 3),
                                .damping = random_uniform(r, 0, 0.1),
                                .limit_stiffness = 10,
                                .limit_damping = 0.02};
        bone->mass = random_uniform(r, 0.01, 0.1);
        bone->centre = random_vector(r, 0.03);
        mat3 turn = quat_to_mat3(random_turn(r));
        mat3 principal = mat3_diagonal(random_uniform(r, 2e-5, 3e-5), random_uniform(r, 2e-5, 3e-5), 1.5e-5);
        bone->inertia = mat3_mul(mat3_mul(turn, principal), mat3_transpose(turn));
        bone->inertia.m[3] = bone->inertia.m[1];
        bone->inertia.m[6] = bone->inertia.m[2];
        bone->inertia.m[7] = bone->inertia.m[5];
    }
    skeleton_model *model;
    thenar_error error;
    assert_ok(skeleton_model_create(bones, bone_count, &model, &error), error);
    free(bones);
    assert_true(model->dof_count + 6 <= MAX_DOFS);
    return model;
}

/* The same without springs. */
static skeleton_model *loose_tree(random_source *r, int bone_count, bool free_base) {
    skeleton_model *model = random_tree(r, bone_count, free_base);
    for (int b = 0; b < bone_count; b++)
        for (int k = 0; k < model->bones[b].axis_count; k++) {
            skeleton_axis *axis = &model->bones[b].axes[k];
            axis->stiffness = axis->damping = 0;
            axis->lower = -INFINITY, axis->upper = INFINITY;
        }
    return model;
}

typedef struct setting {
    skeleton_pose base;
    spatial_motion twist;
    double q[MAX_DOFS], rate[MAX_DOFS];
} setting;

static setting random_setting(random_source *r, const skeleton_model *model) {
    setting s = {0};
    s.base.position = random_vector(r, 0.5);
    s.base.orientation = random_turn(r);
    s.twist.angular = random_vector(r, 3);
    s.twist.linear = random_vector(r, 1);
    for (int i = 0; i < model->dof_count; i++) {
        s.q[i] = random_uniform(r, -1.3, 1.3);
        s.rate[i] = random_uniform(r, -4, 4);
    }
    return s;
}

/* base: the motion of bone 0 at its origin, if it is free. */
static void set_rates(skeleton_state *state, spatial_motion base, const double *rate) {
    const skeleton_model *model = state->model;
    skeleton_begin(state, 0, vec3_make(0, 0, 0)); /* places the axes */
    memcpy(state->rate, rate, (size_t)model->dof_count * sizeof *rate);
    for (int b = 0; b < model->bone_count; b++) {
        const skeleton_bone *bone = &model->bones[b];
        spatial_motion V = bone->parent >= 0 ? state->twist[bone->parent] : spatial_motion_zero();
        if (bone->free) V = base; /* its origin is the reference point */
        for (int i = model->first_dof[b]; i < model->first_dof[b + 1]; i++)
            V = spatial_motion_mul_add(V, state->axis[i], rate[i]);
        vec3 centre = vec3_add(state->pose[b].position, quat_rotate(state->pose[b].orientation, bone->centre));
        state->twist[b] = V;
        state->motion[b] = (skeleton_bone_motion){spatial_motion_point(V, vec3_sub(centre, state->origin)), V.angular};
    }
}

static double kinetic_energy(const skeleton_state *state) {
    double sum = 0;
    for (int b = 0; b < state->model->bone_count; b++) {
        const skeleton_bone *bone = &state->model->bones[b];
        const skeleton_bone_motion *motion = &state->motion[b];
        vec3 spin = quat_rotate(quat_conjugate(state->pose[b].orientation), motion->spin);
        sum += 0.5 * bone->mass * vec3_dot(motion->velocity, motion->velocity) +
               0.5 * vec3_dot(spin, mat3_mul_vec(bone->inertia, spin));
    }
    return sum;
}

static void set(skeleton_state *state, const setting *s) {
    skeleton_set_pose(state, &s->base, s->q);
    set_rates(state, s->twist, s->rate);
}

/* The base's matrix after moving on at its velocity for a time. */
static matrix4 base_at(const setting *s, double time) {
    vec3 spin = s->twist.angular;
    matrix4 turn = matrix_of(vec3_unit(spin), vec3_length(spin) * time, vec3_make(0, 0, 0));
    matrix4 base = matrix_of_pose(s->base);
    for (int i = 0; i < 3; i++) base.m[i][3] = 0;
    base = multiply(turn, base);
    vec3 at = vec3_mul_add(s->base.position, s->twist.linear, time);
    base.m[0][3] = at.x, base.m[1][3] = at.y, base.m[2][3] = at.z;
    return base;
}

static dense dense_of(const skeleton_model *model, const setting *s, double time) {
    double q[MAX_DOFS];
    for (int i = 0; i < model->dof_count; i++) q[i] = s->q[i] + time * s->rate[i];
    return dense_at(model, base_at(s, time), q);
}

static double speed(const setting *s, const dense *d, int i) {
    const double base[6] = {s->twist.angular.x, s->twist.angular.y, s->twist.angular.z,
                            s->twist.linear.x,  s->twist.linear.y,  s->twist.linear.z};
    return i < d->base ? base[i] : s->rate[i - d->base];
}

/* Spin and velocity of a bone's centre while no generalized velocity changes. */
static void bone_motion(const setting *s, const dense *d, int b, vec3 *spin, vec3 *velocity) {
    *spin = *velocity = vec3_make(0, 0, 0);
    for (int i = 0; i < d->size; i++) {
        *spin = vec3_mul_add(*spin, d->spin[b][i], speed(s, d, i));
        *velocity = vec3_mul_add(*velocity, d->velocity[b][i], speed(s, d, i));
    }
}

static void forward_kinematics_is_the_product_of_the_joints_matrices(void **unused) {
    (void)unused;
    random_source r = {1};
    for (int n = 0; n < 50; n++) {
        skeleton_model *model = random_tree(&r, 20, n % 2);
        void *memory;
        skeleton_state state = plain_state(model, &memory);
        setting s = random_setting(&r, model);
        set(&state, &s);
        dense d = dense_of(model, &s, 0);
        for (int b = 0; b < model->bone_count; b++)
            for (int i = 0; i < 4; i++) {
                vec3 p = vec3_make(i == 1, i == 2, i == 3), expected = moved(d.bone[b], p);
                vec3 got = vec3_add(state.pose[b].position, quat_rotate(state.pose[b].orientation, p));
                assert_near(vec3_distance(got, expected), 0, 1e-13);
            }
        free(memory);
        skeleton_model_free(model);
    }
}

/* Accelerations from the velocities of two short steps. In the first step a bone has no motion from an earlier pose, so
 * its velocities lack the velocity products. */
static void accelerate(skeleton_state *state, const setting *s, double h, vec3 gravity, double *out) {
    for (int step = 0; step < 2; step++) {
        if (step == 0) set(state, s);
        assert_true(plain_step(state, h, gravity));
        const spatial_motion *V = &state->twist[0];
        const double base[6] = {V->angular.x, V->angular.y, V->angular.z, V->linear.x, V->linear.y, V->linear.z};
        int bases = state->model->bones[0].free ? 6 : 0;
        for (int i = 0; i < bases + state->model->dof_count; i++) {
            double now = i < bases ? base[i] : state->rate[i - bases];
            out[i] = step == 0 ? now : (now - out[i]) / h;
        }
    }
}

/* Velocity products by differentiating the reference's Jacobians along the motion, sixth-order central differences. */
static void accelerations_agree_with_a_dense_mass_matrix(void **unused) {
    (void)unused;
    random_source r = {2};
    double once = 0, worst = 0; /* error of the shorter steps, and extrapolated to steps of length 0 */
    for (int n = 0; n < 40; n++) {
        skeleton_model *model = loose_tree(&r, 16, n % 2);
        void *memory;
        skeleton_state state = plain_state(model, &memory);
        setting s = random_setting(&r, model);
        for (int b = 0; b < model->bone_count; b++)
            state.wrench[b] = (skeleton_wrench){random_vector(&r, 1), random_vector(&r, 0.1)};
        vec3 gravity = vec3_make(1, -9.81, 2);
        double longer[MAX_DOFS], shorter[MAX_DOFS];
        accelerate(&state, &s, 2e-6, gravity, longer);
        accelerate(&state, &s, 1e-6, gravity, shorter);

        dense d = dense_of(model, &s, 0);
        dense_mass(&d);
        const double step = 8e-4, weights[3] = {45. / 60, -9. / 60, 1. / 60};
        static dense later[3], earlier[3];
        for (int k = 0; k < 3; k++) {
            later[k] = dense_of(model, &s, (k + 1) * step);
            earlier[k] = dense_of(model, &s, -(k + 1) * step);
        }
        for (int b = 0; b < model->bone_count; b++) {
            vec3 spin, velocity, turning = {0}, drift = {0}, w, v;
            bone_motion(&s, &d, b, &spin, &velocity);
            for (int k = 0; k < 3; k++) {
                bone_motion(&s, &later[k], b, &w, &v);
                turning = vec3_mul_add(turning, w, weights[k] / step),
                drift = vec3_mul_add(drift, v, weights[k] / step);
                bone_motion(&s, &earlier[k], b, &w, &v);
                turning = vec3_mul_add(turning, w, -weights[k] / step),
                drift = vec3_mul_add(drift, v, -weights[k] / step);
            }
            vec3 force = vec3_add(state.wrench[b].force, vec3_scale(vec3_sub(gravity, drift), model->bones[b].mass));
            vec3 gyroscopic = vec3_cross(spin, mat3_mul_vec(d.inertia[b], spin));
            vec3 torque = vec3_sub(state.wrench[b].torque, vec3_add(gyroscopic, mat3_mul_vec(d.inertia[b], turning)));
            dense_push(&d, b, force, torque);
        }
        dense_solve(d.size);
        double largest = 0;
        for (int i = 0; i < d.size; i++) largest = fmax(largest, fabs(right[i]));
        for (int i = 0; i < d.size; i++) {
            once = fmax(once, fabs(shorter[i] - right[i]) / largest);
            worst = fmax(worst, fabs(2 * shorter[i] - longer[i] - right[i]) / largest);
        }
        free(memory);
        skeleton_model_free(model);
    }
    print_message("accelerations: %.1e off, relative; %.1e extrapolated\n", once, worst);
    /* First order in the step; extrapolated, the rounding of the velocities is left, divided by 1e-6 s. */
    assert_near(once, 0, 1e-3);
    assert_near(worst, 0, 1e-5);
}

/* The system of one step, built by the reference: springs, coupling, limits that are known to push. */
static void dense_step(const dense *d, const skeleton_state *state, const setting *s, double h, vec3 gravity) {
    const skeleton_model *model = d->model;
    dense_mass(d);
    for (int b = 0; b < model->bone_count; b++) {
        const skeleton_bone *bone = &model->bones[b];
        vec3 spin, velocity;
        bone_motion(s, d, b, &spin, &velocity);
        /* Half a step of gyroscopic torque, implicit: fixed-point iteration on I w + h/2 w x I w = I spin. */
        vec3 w = spin;
        mat3 inverse = mat3_inverse(d->inertia[b]);
        for (int k = 0; k < 200; k++)
            w = vec3_mul_add(spin, mat3_mul_vec(inverse, vec3_cross(w, mat3_mul_vec(d->inertia[b], w))), -h / 2);
        vec3 force = vec3_mul_add(state->wrench[b].force, gravity, bone->mass);
        dense_push(d, b, vec3_add(vec3_scale(velocity, bone->mass), vec3_scale(force, h)),
                   vec3_add(mat3_mul_vec(d->inertia[b], w), vec3_scale(state->wrench[b].torque, h)));
        for (int k = 0; k < bone->axis_count; k++) {
            int i = model->first_dof[b] + k, row = d->base + i;
            const skeleton_axis *axis = &bone->axes[k];
            matrix[row][row] += h * axis->damping + h * h * axis->stiffness;
            right[row] += h * axis->stiffness * (state->target[i] - s->q[i]);
            if (!state->limit[i]) continue;
            /* Torque -k x - d (x - x0) / h at the end of the step, x = q + h v - limit. */
            double x = s->q[i] - (state->limit[i] > 0 ? axis->upper : axis->lower);
            double x0 = state->limit[i] > 0 ? fmax(0, x) : fmin(0, x);
            matrix[row][row] += h * axis->limit_damping + h * h * axis->limit_stiffness;
            right[row] -= h * axis->limit_stiffness * x + axis->limit_damping * (x - x0);
        }
        const skeleton_coupling *c = &state->coupling[b];
        vec3 origin = moved(d->bone[b], vec3_make(0, 0, 0));
        quat turn = quat_mul(c->target.orientation, quat_conjugate(state->pose[b].orientation));
        vec3 e = vec3_sub(c->target.position, origin), angle = quat_to_rotation_vector(turn);
        vec3 pull = vec3_add(vec3_scale(e, c->stiffness), vec3_scale(c->velocity, c->damping));
        vec3 twist = vec3_add(vec3_scale(angle, c->turn_stiffness), vec3_scale(c->spin, c->turn_damping));
        for (int i = 0; i < d->size; i++) {
            vec3 J = dense_point(d, b, i, origin);
            right[i] += h * (vec3_dot(J, pull) + vec3_dot(d->spin[b][i], twist));
            for (int j = 0; j < d->size; j++)
                matrix[i][j] +=
                    (h * c->damping + h * h * c->stiffness) * vec3_dot(J, dense_point(d, b, j, origin)) +
                    (h * c->turn_damping + h * h * c->turn_stiffness) * vec3_dot(d->spin[b][i], d->spin[b][j]);
        }
    }
}

static void a_step_solves_the_dense_implicit_equations(void **unused) {
    (void)unused;
    random_source r = {3};
    double worst = 0;
    int limits = 0;
    for (int n = 0; n < 60; n++) {
        skeleton_model *model = random_tree(&r, 16, n % 2);
        void *memory;
        skeleton_state state = plain_state(model, &memory);
        setting s = random_setting(&r, model);
        set(&state, &s);
        const double h = n % 3 == 0 ? 1e-3 : n % 3 == 1 ? 1e-2 : 5e-2;
        vec3 gravity = vec3_make(1, -9.81, 2);
        for (int i = 0; i < model->dof_count; i++) state.target[i] = random_uniform(&r, -1, 1);
        for (int b = 0; b < model->bone_count; b++)
            state.wrench[b] = (skeleton_wrench){random_vector(&r, 1), random_vector(&r, 0.1)};
        for (int b = 0; b < model->bone_count; b += 5)
            state.coupling[b] = (skeleton_coupling){.target = {random_vector(&r, 0.5), random_turn(&r)},
                                                    .velocity = random_vector(&r, 1),
                                                    .spin = random_vector(&r, 1),
                                                    .stiffness = random_uniform(&r, 0, 500),
                                                    .damping = random_uniform(&r, 0, 5),
                                                    .turn_stiffness = random_uniform(&r, 0, 2),
                                                    .turn_damping = random_uniform(&r, 0, 0.1)};
        skeleton_begin(&state, h, gravity);
        /* Flesh: springs at two points of a bone. */
        vec3 points[2] = {random_vector(&r, 0.5), random_vector(&r, 0.5)}, impulse = random_vector(&r, 0.1);
        for (int k = 0; k < 2; k++) skeleton_add_point(&state, 7, points[k], 0.05, impulse);
        assert_true(skeleton_solve(&state, h));
        assert_int_equal(state.unsettled, 0);

        dense d = dense_of(model, &s, 0);
        dense_step(&d, &state, &s, h, gravity);
        for (int k = 0; k < 2; k++)
            for (int i = 0; i < d.size; i++) {
                vec3 J = dense_point(&d, 7, i, points[k]);
                right[i] += vec3_dot(J, impulse);
                for (int j = 0; j < d.size; j++) matrix[i][j] += 0.05 * vec3_dot(J, dense_point(&d, 7, j, points[k]));
            }
        dense_solve(d.size);
        double largest = 0;
        for (int i = 0; i < d.size; i++) largest = fmax(largest, fabs(right[i]));
        for (int i = 0; i < model->dof_count; i++) {
            worst = fmax(worst, fabs(state.next_rate[i] - right[d.base + i]) / largest);
            /* The limits that push are those that the solution passes and would pull otherwise. */
            double end = s.q[i] + h * right[d.base + i], x = fabs(end) - 1.2, x0 = fmax(0, fabs(s.q[i]) - 1.2);
            bool pushes = x > 0 && 10 * x + 0.02 * (x - x0) / h > 0;
            assert_int_equal(state.limit[i], pushes ? (end > 0 ? 1 : -1) : 0);
            limits += state.limit[i] != 0;
        }
        if (d.base) {
            vec3 spin = vec3_make(right[0], right[1], right[2]), velocity = vec3_make(right[3], right[4], right[5]);
            worst = fmax(worst, vec3_distance(state.twist[0].angular, spin) / largest);
            worst = fmax(worst, vec3_distance(state.twist[0].linear, velocity) / largest);
        }
        free(memory);
        skeleton_model_free(model);
    }
    print_message("implicit step: %.1e off, relative; %d limits pushed\n", worst, limits);
    assert_true(limits > 50);
    assert_near(worst, 0, 1e-10);
}

static void momenta(const skeleton_state *state, vec3 *linear, vec3 *angular) {
    *linear = *angular = vec3_make(0, 0, 0);
    for (int b = 0; b < state->model->bone_count; b++) {
        const skeleton_bone *bone = &state->model->bones[b];
        quat R = state->pose[b].orientation;
        vec3 centre = vec3_add(state->pose[b].position, quat_rotate(R, bone->centre));
        vec3 p = vec3_scale(state->motion[b].velocity, bone->mass);
        vec3 spin = quat_rotate(quat_conjugate(R), state->motion[b].spin);
        *linear = vec3_add(*linear, p);
        *angular =
            vec3_add(*angular, vec3_add(vec3_cross(centre, p), quat_rotate(R, mat3_mul_vec(bone->inertia, spin))));
    }
}

static void energy_and_momentum_of_a_free_skeleton_drift_less_with_smaller_steps(void **unused) {
    (void)unused;
    double energy[3], turning[3];
    for (int n = 0; n < 3; n++) {
        random_source r = {6};
        skeleton_model *model = loose_tree(&r, 8, true);
        void *memory;
        skeleton_state state = plain_state(model, &memory);
        setting s = random_setting(&r, model);
        set(&state, &s);
        const double h = n == 0 ? 1e-3 : n == 1 ? 1e-4 : 1e-5;
        vec3 none = vec3_make(0, 0, 0), p0, L0, p, L;
        momenta(&state, &p0, &L0);
        double first = kinetic_energy(&state), last = first;
        for (int i = 0; i < (int)lround(0.5 / h); i++) {
            assert_true(plain_step(&state, h, none));
            double now = kinetic_energy(&state);
            assert_true(now <= last * (1 + 1e-12));
            last = now;
        }
        momenta(&state, &p, &L);
        assert_near(vec3_distance(p, p0), 0, 1e-11 * vec3_length(p0));
        energy[n] = 1 - last / first;
        turning[n] = vec3_distance(L, L0) / vec3_length(L0);
        print_message("h %g s, after 0.5 s: energy %.2e, angular momentum %.2e off\n", h, energy[n], turning[n]);
        free(memory);
        skeleton_model_free(model);
    }
    /* First order: ten times less with a tenth of the step. */
    for (int n = 0; n < 2; n++) {
        assert_true(energy[n + 1] < energy[n] / 6);
        assert_true(turning[n + 1] < turning[n] / 6);
    }
    assert_true(energy[2] < 2e-3 && turning[2] < 2e-3);
}

static void a_pendulum_swings_with_its_period(void **unused) {
    (void)unused;
    skeleton_bone bone = {.parent = -1,
                          .rotation = quat_identity(),
                          .axis_count = 1,
                          .axes = {{.axis = {0, 0, 1}, .lower = -10, .upper = 10}},
                          .mass = 0.2,
                          .centre = {0, -0.3, 0},
                          .inertia = mat3_diagonal(1e-3, 1e-3, 1e-3)};
    skeleton_model *model;
    thenar_error error;
    assert_ok(skeleton_model_create(&bone, 1, &model, &error), error);
    void *memory;
    skeleton_state state = plain_state(model, &memory);
    double q = 0.02, h = 1e-5;
    skeleton_set_pose(&state, NULL, &q);
    /* Time from release to the second passage through zero: three quarters of a period. */
    int passages = 0, steps = 0;
    while (passages < 2) {
        double before = state.q[0];
        assert_true(plain_step(&state, h, vec3_make(0, -9.81, 0)));
        steps++;
        passages += (before > 0) != (state.q[0] > 0);
    }
    double period = 2 * acos(-1) * sqrt((1e-3 + 0.2 * 0.09) / (0.2 * 9.81 * 0.3)) * (1 + 0.02 * 0.02 / 16);
    assert_near(steps * h, 0.75 * period, 1e-4 * period);
    free(memory);
    skeleton_model_free(model);
}

static void a_free_bone_moves_as_a_rigid_body(void **unused) {
    (void)unused;
    /* Its angular momentum and energy are kept to rounding, as rigid_step.c promises. */
    random_source r = {8};
    skeleton_model *model = random_tree(&r, 1, true);
    model->bones[0].centre = vec3_make(0, 0, 0);
    void *memory;
    skeleton_state state = plain_state(model, &memory);
    setting s = random_setting(&r, model);
    s.twist.angular = vec3_make(9, -7, 3);
    set(&state, &s);
    vec3 none = vec3_make(0, 0, 0), p0, L0, p, L;
    momenta(&state, &p0, &L0);
    double first = kinetic_energy(&state);
    for (int i = 0; i < 2000; i++) assert_true(plain_step(&state, 0.01, none));
    momenta(&state, &p, &L);
    assert_near(kinetic_energy(&state), first, 1e-11 * first);
    assert_near(vec3_distance(L, L0), 0, 1e-11 * vec3_length(L0));
    free(memory);
    skeleton_model_free(model);
}

static void limits_hold_against_torques_and_fast_fingers(void **unused) {
    (void)unused;
    hand_skeleton_rest rest = plain_hand_right(1);
    hand_skeleton hand = plain_hand_skeleton(&rest);
    void *memory;
    skeleton_state state = plain_state(hand.model, &memory);
    const double steps[] = {1e-4, 1e-3, 1e-2, 2e-2};
    for (int n = 0; n < 4; n++)
        for (int way = -1; way <= 1; way += 2) {
            double worst = 0, settled = 0, h = steps[n], rate[HAND_ANGLES];
            skeleton_reset(&state);
            /* Targets far beyond every limit, and 40 rad/s towards them. */
            for (int i = 0; i < HAND_ANGLES; i++) {
                state.target[i] = way > 0 ? hand.upper[i] + 0.2 : hand.lower[i] - 0.2;
                rate[i] = 40 * way;
            }
            state.coupling[0] = (skeleton_coupling){
                .target = state.pose[0], .stiffness = 2000, .damping = 20, .turn_stiffness = 20, .turn_damping = 0.2};
            set_rates(&state, spatial_motion_zero(), rate);
            for (int i = 0; i < (int)(0.6 / h); i++) {
                assert_true(plain_step(&state, h, vec3_make(0, -9.81, 0)));
                settled = 0;
                for (int k = 0; k < HAND_ANGLES; k++) {
                    double over = fmax(state.q[k] - hand.upper[k], hand.lower[k] - state.q[k]);
                    worst = fmax(worst, over), settled = fmax(settled, over);
                }
            }
            assert_int_equal(state.unsettled, 0);
            print_message("h %g s: limits passed by at most %.4f rad, in the end %.4f rad\n", h, worst, settled);
            /* At rest the limit's spring (20 N m/rad) balances the joint's (1 N m/rad, 0.2 rad and more away). */
            assert_near(settled, 0.2 / 21, 0.002);
            assert_true(worst < 0.12);
        }
    free(memory);
    hand_skeleton_free(&hand);
}

static double pose_error(const skeleton_state *state, int bone, double *angle) {
    const skeleton_coupling *c = &state->coupling[bone];
    quat turn = quat_mul(c->target.orientation, quat_conjugate(state->pose[bone].orientation));
    *angle = vec3_length(quat_to_rotation_vector(turn));
    return vec3_distance(c->target.position, state->pose[bone].position);
}

/* The palm follows a wrist that waves; stiffness over six decades, steps from 0.1 to 20 ms. */
static void a_coupled_hand_follows_and_stays_stable(void **unused) {
    (void)unused;
    hand_skeleton_rest rest = plain_hand_right(1);
    hand_skeleton hand = plain_hand_skeleton(&rest);
    void *memory;
    skeleton_state state = plain_state(hand.model, &memory);
    const double steps[] = {1e-4, 1e-3, 1e-2, 2e-2};
    for (int n = 0; n < 4; n++)
        for (int decade = 1; decade <= 7; decade++) {
            double h = steps[n], k = pow(10, decade), worst = 0, worst_angle = 0, max = 0;
            double damping = 2 * sqrt(k * 0.5), turn_damping = 2 * sqrt(k * 1e-2 * 2e-3);
            skeleton_reset(&state);
            for (int i = 1; i <= (int)(1.5 / h); i++) {
                double t = i * h, w = 2 * acos(-1);
                quat swing = plain_turn(0, 1, 0, 30 * sin(w * t));
                state.coupling[0] = (skeleton_coupling){.target = {vec3_make(0.1 * (1 - cos(w * t)), 0, 0), swing},
                                                        .velocity = {0.1 * w * sin(w * t), 0, 0},
                                                        .spin = {0, 30 * PLAIN_DEGREE * w * cos(w * t), 0},
                                                        .stiffness = k,
                                                        .damping = damping,
                                                        .turn_stiffness = k * 1e-2,
                                                        .turn_damping = turn_damping};
                assert_true(plain_step(&state, h, vec3_make(0, -9.81, 0)));
                double angle, error = pose_error(&state, 0, &angle);
                if (t > 0.5) worst = fmax(worst, error), worst_angle = fmax(worst_angle, angle);
                max = fmax(max, kinetic_energy(&state));
            }
            if (decade % 3 == 1)
                print_message("h %g s, %g N/m: off by at most %.3g mm, %.3g degrees\n", h, k, 1e3 * worst,
                              worst_angle / PLAIN_DEGREE);
            /* What the motion needs: acceleration and gravity over stiffness; the fingers bend on their own springs. */
            assert_true(worst < 0.45 * (9.81 + 0.1 * 39.5) * 1.6 / k + 3e-3);
            assert_true(max < 2);
        }
    free(memory);
    hand_skeleton_free(&hand);
}

/* Half a metre and 170 degrees from one step to the next, while the fingers close. */
static void a_jump_of_the_tracked_hand_does_not_explode(void **unused) {
    (void)unused;
    hand_skeleton_rest rest = plain_hand_right(1);
    hand_skeleton hand = plain_hand_skeleton(&rest);
    void *memory;
    skeleton_state state = plain_state(hand.model, &memory);
    const double steps[] = {1e-4, 1e-3, 1e-2, 2e-2};
    for (int n = 0; n < 8; n++)
        for (int decade = 2; decade <= 7; decade++) {
            bool bounded = n % 2;
            double h = steps[n / 2], k = pow(10, decade), angle, beyond = 0;
            skeleton_reset(&state);
            state.coupling[0] = (skeleton_coupling){.target = {{0.5, 0, 0}, plain_turn(0, 0, 1, 170)},
                                                    .stiffness = k,
                                                    .damping = 2 * sqrt(k * 0.5),
                                                    .turn_stiffness = k * 1e-2,
                                                    .turn_damping = 2 * sqrt(k * 1e-2 * 2e-3),
                                                    .max_force = bounded ? 30 : 0,
                                                    .max_torque = bounded ? 1 : 0};
            for (int i = 0; i < HAND_ANGLES; i++) state.target[i] = hand.upper[i];
            for (int i = 0; i < (int)(2 / h); i++) {
                assert_true(plain_step(&state, h, vec3_make(0, 0, 0)));
                for (int d = 0; d < HAND_ANGLES; d++)
                    beyond = fmax(beyond, fmax(state.q[d] - hand.upper[d], hand.lower[d] - state.q[d]));
            }
            if (decade % 5 == 2)
                print_message("h %g s, %g N/m%s: limits passed by %.2f rad, %d steps unsettled\n", h, k,
                              bounded ? ", at most 30 N" : "", beyond, state.unsettled);
            assert_near(pose_error(&state, 0, &angle), 0, 1e-4);
            assert_near(angle, 0, 1e-3);
            assert_true(kinetic_energy(&state) < 1e-6);
            if (bounded) assert_true(beyond < 0.3);
        }
    free(memory);
    hand_skeleton_free(&hand);
}

static void a_hand_that_is_held_does_not_drift(void **unused) {
    (void)unused;
    hand_skeleton_rest rest = plain_hand_right(1);
    hand_skeleton hand = plain_hand_skeleton(&rest);
    void *memory;
    skeleton_state state = plain_state(hand.model, &memory);
    for (int b = 0; b < HAND_BONES; b++)
        state.coupling[b] = (skeleton_coupling){
            .target = state.pose[b], .stiffness = 500, .damping = 3, .turn_stiffness = 1, .turn_damping = 0.01};
    skeleton_pose before[HAND_BONES];
    memcpy(before, state.pose, sizeof before);
    for (int i = 0; i < 1000; i++) assert_true(plain_step(&state, 1e-3, vec3_make(0, 0, 0)));
    for (int b = 0; b < HAND_BONES; b++)
        assert_near(vec3_distance(state.pose[b].position, before[b].position), 0, 1e-9);
    free(memory);
    hand_skeleton_free(&hand);
}

static void pressing_a_fingertip_loads_the_coupling(void **unused) {
    (void)unused;
    hand_skeleton_rest rest = plain_hand_right(1);
    hand_skeleton hand = plain_hand_skeleton(&rest);
    void *memory;
    skeleton_state state = plain_state(hand.model, &memory);
    state.coupling[0] = (skeleton_coupling){
        .target = state.pose[0], .stiffness = 5000, .damping = 20, .turn_stiffness = 50, .turn_damping = 0.2};
    int tip_bone = hand_joint_bone(HAND_INDEX_TIP);
    state.wrench[tip_bone].force = vec3_make(0, 0.5, 0);
    for (int i = 0; i < 3000; i++) assert_true(plain_step(&state, 1e-3, vec3_make(0, 0, 0)));
    skeleton_wrench pull = skeleton_coupling_wrench(&state, 0);
    assert_near(vec3_distance(pull.force, vec3_make(0, -0.5, 0)), 0, 1e-6);
    /* The torque about the wrist, and that of the knuckle's spring, balance the force at the end bone's centre. */
    const skeleton_bone *bone = &hand.model->bones[tip_bone];
    vec3 centre = vec3_add(state.pose[tip_bone].position, quat_rotate(state.pose[tip_bone].orientation, bone->centre));
    vec3 arm = vec3_sub(centre, state.pose[0].position);
    assert_near(vec3_distance(pull.torque, vec3_scale(vec3_cross(arm, state.wrench[tip_bone].force), -1)), 0, 1e-6);
    vec3 knuckle = state.pose[4].position,
         axis = vec3_scale(mat3_column(quat_to_mat3(state.pose[4].orientation), 0), -1);
    double moment = vec3_dot(axis, vec3_cross(vec3_sub(centre, knuckle), state.wrench[tip_bone].force));
    assert_near(skeleton_joint_torque(&state, HAND_FINGER_ANGLES + HAND_FLEXION), -moment, 3e-3 * fabs(moment));
    free(memory);
    hand_skeleton_free(&hand);
}

static void a_hand_is_at_rest_where_its_joints_were_given(void **unused) {
    (void)unused;
    for (int left = 0; left < 2; left++) {
        hand_skeleton_rest rest = plain_hand_right(1);
        if (left) rest = plain_hand_mirrored(rest);
        hand_skeleton hand = plain_hand_skeleton(&rest);
        void *memory;
        skeleton_state state = plain_state(hand.model, &memory);
        assert_int_equal(hand.model->dof_count, HAND_ANGLES);
        skeleton_pose joints[HAND_JOINTS];
        hand_skeleton_joints(&hand, state.pose, joints);
        for (int j = 0; j < HAND_JOINTS; j++) {
            assert_near(vec3_distance(joints[j].position, rest.joints[j].position), 0, 1e-14);
            quat turn = quat_mul(joints[j].orientation, quat_conjugate(rest.joints[j].orientation));
            assert_near(vec3_length(quat_to_rotation_vector(turn)), 0, 1e-12);
        }
        /* The rest pose bends each joint by six degrees; the fingers fan out by 3 - finger degrees. */
        for (int finger = 1; finger < HAND_FINGERS; finger++) {
            assert_near(hand.rest[4 * finger + HAND_ABDUCTION] / PLAIN_DEGREE, 3 - finger, 0.03);
            assert_near(hand.rest[4 * finger + HAND_MIDDLE_FLEXION] / PLAIN_DEGREE, 6, 1e-9);
        }
        /* Flexion brings every tip towards the palm's side, abduction towards the thumb. */
        for (int finger = 1; finger < HAND_FINGERS; finger++)
            for (int k = 0; k < HAND_FINGER_ANGLES; k++) {
                double q[HAND_ANGLES];
                memcpy(q, hand.rest, sizeof q);
                q[4 * finger + k] += 0.1;
                skeleton_set_pose(&state, NULL, q);
                skeleton_pose bent[HAND_JOINTS];
                hand_skeleton_joints(&hand, state.pose, bent);
                int tip = HAND_INDEX_TIP + 5 * (finger - 1);
                vec3 way = vec3_sub(bent[tip].position, joints[tip].position);
                if (k == HAND_ABDUCTION)
                    assert_true((left ? way.x : -way.x) > 0.003);
                else
                    assert_true(way.y < -0.001);
            }
        /* The thumb's bend it towards the fingers, and out of the plane of the palm. */
        for (int k = 0; k < HAND_FINGER_ANGLES; k++) {
            double q[HAND_ANGLES];
            memcpy(q, hand.rest, sizeof q);
            q[k] += 0.1;
            skeleton_set_pose(&state, NULL, q);
            skeleton_pose bent[HAND_JOINTS];
            hand_skeleton_joints(&hand, state.pose, bent);
            vec3 way = vec3_sub(bent[HAND_THUMB_TIP].position, joints[HAND_THUMB_TIP].position);
            if (k == HAND_ABDUCTION)
                assert_true(way.y < -0.003);
            else
                assert_true((left ? -way.x : way.x) > 0.001);
        }
        free(memory);
        hand_skeleton_free(&hand);
    }
}

static void a_step_allocates_nothing_and_repeats_bit_for_bit(void **unused) {
    (void)unused;
    hand_skeleton_rest rest = plain_hand_right(1);
    hand_skeleton hand = plain_hand_skeleton(&rest);
    uint64_t hashes[2];
    for (int n = 0; n < 2; n++) {
        void *memory;
        skeleton_state state = plain_state(hand.model, &memory);
        state.coupling[0] = (skeleton_coupling){.target = {{0.1, 0, 0}, plain_turn(0, 1, 0, 40)},
                                                .stiffness = 1000,
                                                .damping = 10,
                                                .turn_stiffness = 10,
                                                .turn_damping = 0.1};
        for (int i = 0; i < HAND_ANGLES; i++) state.target[i] = hand.upper[i];
        long before = allocation_count;
        for (int i = 0; i < 200; i++) assert_true(plain_step(&state, 2e-3, vec3_make(0, -9.81, 0)));
        assert_int_equal(allocation_count, before);
        hashes[n] = hash_bytes(0, state.pose, HAND_BONES * sizeof *state.pose);
        hashes[n] = hash_bytes(hashes[n], state.motion, HAND_BONES * sizeof *state.motion);
        free(memory);
    }
    assert_true(hashes[0] == hashes[1]);
    hand_skeleton_free(&hand);
}

/* What is kept is all that the next step starts from: a copy of it, with any work memory, goes on bit for bit. */
static void a_restored_snapshot_continues_bit_for_bit(void **unused) {
    (void)unused;
    hand_skeleton_rest rest = plain_hand_right(1);
    hand_skeleton hand = plain_hand_skeleton(&rest);
    skeleton_state state = {.model = hand.model};
    arena kept = {0}, work = {0};
    skeleton_layout(&state, &kept, &work);
    size_t kept_size = kept.used, work_size = work.used;
    char *kept_memory = memory_aligned(kept_size), *work_memory = memory_aligned(work_size);
    char *snapshot = memory_aligned(kept_size), *end = memory_aligned(kept_size);
    kept = arena_on(kept_memory, kept_size), work = arena_on(work_memory, work_size);
    skeleton_layout(&state, &kept, &work);
    skeleton_reset(&state);
    state.coupling[0] = (skeleton_coupling){.target = {{0.1, 0, 0}, plain_turn(0, 1, 0, 40)},
                                            .stiffness = 1000,
                                            .damping = 10,
                                            .turn_stiffness = 10,
                                            .turn_damping = 0.1};
    for (int i = 0; i < HAND_ANGLES; i++) state.target[i] = hand.upper[i];
    vec3 gravity = vec3_make(0, -9.81, 0);
    for (int i = 0; i < 50; i++) assert_true(plain_step(&state, 2e-3, gravity));
    memcpy(snapshot, kept_memory, kept_size);
    for (int i = 0; i < 50; i++) assert_true(plain_step(&state, 2e-3, gravity));
    memcpy(end, kept_memory, kept_size);
    memcpy(kept_memory, snapshot, kept_size);
    memset(work_memory, 0xff, work_size);
    for (int i = 0; i < 50; i++) assert_true(plain_step(&state, 2e-3, gravity));
    assert_memory_equal(kept_memory, end, kept_size);
    free(kept_memory), free(work_memory), free(snapshot), free(end);
    hand_skeleton_free(&hand);
}

static void bad_bones_are_refused(void **unused) {
    (void)unused;
    const skeleton_bone good = {.parent = -1,
                                .rotation = quat_identity(),
                                .axis_count = 1,
                                .axes = {{.axis = {1, 0, 0}, .lower = -1, .upper = 1}},
                                .mass = 1,
                                .inertia = mat3_diagonal(1, 1, 1)};
    skeleton_model *model;
    thenar_error error;
    assert_ok(skeleton_model_create(&good, 1, &model, &error), error);
    skeleton_model_free(model);
    assert_int_equal(skeleton_model_create(&good, 0, &model, &error), THENAR_ERROR_INPUT);
    assert_non_null(strstr(error.text, "a skeleton of 0 bones"));
    for (int n = 0; n < 10; n++) {
        skeleton_bone bad = good;
        if (n == 0) bad.parent = 0;
        if (n == 1) bad.axis_count = 4;
        if (n == 2) bad.free = true;
        if (n == 3) bad.offset.y = NAN;
        if (n == 4) bad.rotation.w = 2;
        if (n == 5) bad.mass = 0;
        if (n == 6) bad.inertia.m[4] = -1;
        if (n == 7) bad.axes[0].axis.x = 2;
        if (n == 8) bad.axes[0].rest = 3;
        if (n == 9) bad.axes[0].limit_damping = -1;
        assert_int_equal(skeleton_model_create(&bad, 1, &model, &error), THENAR_ERROR_INPUT);
        assert_null(model);
        assert_non_null(strstr(error.text, "bone 0"));
    }
    hand_skeleton_rest rest = plain_hand_right(1);
    hand_springs springs = hand_springs_default();
    hand_skeleton hand;
    rest.joints[HAND_RING_TIP] = rest.joints[HAND_RING_DISTAL];
    assert_int_equal(hand_skeleton_create(&rest, &springs, &hand, &error), THENAR_ERROR_INPUT);
    assert_non_null(strstr(error.text, "ring-finger-tip"));
    rest.joints[HAND_THUMB_TIP].position.x = NAN;
    assert_int_equal(hand_skeleton_create(&rest, &springs, &hand, &error), THENAR_ERROR_INPUT);
    assert_non_null(strstr(error.text, "thumb-tip"));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(forward_kinematics_is_the_product_of_the_joints_matrices),
    cmocka_unit_test(accelerations_agree_with_a_dense_mass_matrix),
    cmocka_unit_test(a_step_solves_the_dense_implicit_equations),
    cmocka_unit_test(energy_and_momentum_of_a_free_skeleton_drift_less_with_smaller_steps),
    cmocka_unit_test(a_pendulum_swings_with_its_period),
    cmocka_unit_test(a_free_bone_moves_as_a_rigid_body),
    cmocka_unit_test(limits_hold_against_torques_and_fast_fingers),
    cmocka_unit_test(a_coupled_hand_follows_and_stays_stable),
    cmocka_unit_test(a_jump_of_the_tracked_hand_does_not_explode),
    cmocka_unit_test(a_hand_that_is_held_does_not_drift),
    cmocka_unit_test(pressing_a_fingertip_loads_the_coupling),
    cmocka_unit_test(a_hand_is_at_rest_where_its_joints_were_given),
    cmocka_unit_test(a_step_allocates_nothing_and_repeats_bit_for_bit),
    cmocka_unit_test(a_restored_snapshot_continues_bit_for_bit),
    cmocka_unit_test(bad_bones_are_refused),
};

TEST_MAIN(tests)
