/* The velocities of a skeleton at the end of a step, in time linear in the number of bones (perez2016, II-A).
 *
 * Implicit Euler with linearized springs asks for the twists V of the bones and the rates v of the joints that minimize
 *     sum_b 1/2 V_b^T A_b V_b - b_b^T V_b + sum_i 1/2 a_i v_i^2 - c_i v_i,   V_b = V_parent + sum_i S_i v_i,
 *     A_b = I_b + h D + h^2 K (coupling) + kappa J^T J (flesh),   b_b = I_b V0_b + h (f + K e + D v_t) + J^T impulse,
 *     a_i = h d_i + h^2 k_i,                                      c_i = h k_i (q_i* - q_i),
 * with the inertia I_b where the bone is at the beginning of the step, the twist V0_b that it brings along
 * (skeleton_step.c), wrenches f, the distance e of the coupling's target at the end of the step, and the target's twist
 * v_t. (With the accelerations in place of the velocities as unknowns, v_i = v0_i + h dv_i, this is D_i = S^T I^A S + h
 * d + h^2 k and tau_i = -k (q + h v0 - q*) - d v0 of the articulated-body algorithm; but for
 * the velocity products, which skeleton_step.c treats in its own way, the solution is the same.)
 *
 * Eliminating from the leaves to the root, one axis after the other: with the articulated I, p of all that hangs on it,
 *     U = I S, D = S^T U + a, u = S^T p + c;   I -= U U^T / D,  p -= U u / D   to what the axis hangs on;
 * a free root is I V = p, a 6x6 Cholesky factorization; then from the root to the leaves v = (u - U^T V) / D, V += S v.
 *
 * Limits: an angle that is beyond its limit by x at the end of the step and by x0 at its beginning is pushed back by
 *     max(0, k_l x + d_l (x - x0) / h) = (k_l + d_l / h) max(0, q + h v - edge),
 *     edge = limit + x0 d_l / (h k_l + d_l):
 * a spring that begins at the edge, and never pulls. It is as implicit as the others, and continuous, so that what is
 * minimized stays convex. Which limits push is found by solving until they stay the same (Newton's method on a
 * piecewise quadratic function; two rounds as a rule). Testing the angle at the beginning of the step only would let a
 * fast finger pass its limit by a whole step. */
#include "body/skeleton.h"

#include <assert.h>
#include <string.h>

#define MOST_LIMIT_ROUNDS 10
#define SAME_ANGLE 1e-12 /* rad */
#define FASTEST 1e12     /* m/s and rad/s, all bones together: beyond, the next step's products may overflow */

/* h k_l + d_l, the push per rad over a step, N m s/rad. */
static double limit_pull(const skeleton_axis *axis, double h) {
    return h * axis->limit_stiffness + axis->limit_damping;
}

/* Where the spring of a limit (-1: the lower one, 1: the upper one) begins. */
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

/* carried: b of every bone; push: c of every dof; both are used up. */
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

/* The limit that pushes when an angle goes from q to `end`: -1, 1, or 0. At the edge itself, where it makes no
 * difference, as it was: else rounding would decide, and the rounds never end. */
static signed char limit_at(const skeleton_axis *axis, signed char before, double q, double end, double h) {
    if (before && fabs(end - limit_edge(axis, before, q, h)) < SAME_ANGLE) return before;
    if (end > axis->upper) return end > limit_edge(axis, 1, q, h) + SAME_ANGLE;
    if (end < axis->lower) return (signed char)-(end < limit_edge(axis, -1, q, h) - SAME_ANGLE);
    return 0;
}

/* Sets the limits that angles pass at these rates; returns whether any of them is another than before. */
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

static bool is_sound(const skeleton_state *state) {
    double sum = 0; /* not a number if any is not */
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
    for (state->limit_rounds = 0; changed && state->limit_rounds < MOST_LIMIT_ROUNDS; state->limit_rounds++) {
        if (!factor(state, h)) return false;
        start_push(state, h);
        memcpy(state->carried, state->momentum, (size_t)model->bone_count * sizeof *state->carried);
        substitute(state, state->carried, state->push, state->twist, state->next_rate);
        if (!is_sound(state)) return false;
        changed = set_limits(state, state->next_rate, h);
    }
    state->unsettled += changed;
    return true;
}

void skeleton_respond(const skeleton_state *state, const spatial_force *impulse, spatial_motion *change, double *rate) {
    memcpy(state->carried, impulse, (size_t)state->model->bone_count * sizeof *state->carried);
    memset(state->push, 0, (size_t)state->model->dof_count * sizeof *state->push);
    substitute(state, state->carried, state->push, change, rate);
}

/* The same elimination gives accelerations: with the springs left out, A_b = I_b and b_b = f - I_b z_b - V_b x* I_b
 * V_b, z_b the acceleration that bones have while no rate changes. */
bool skeleton_accelerations(skeleton_state *state, vec3 gravity, spatial_motion *base, double *acceleration) {
    const skeleton_model *model = state->model;
    skeleton_begin(state, 0, gravity);
    memset(state->limit, 0, (size_t)model->dof_count * sizeof *state->limit);
    if (!factor(state, 0)) return false;
    spatial_motion *drift = state->twist; /* z_b, until the solution takes its place */
    for (int b = 0; b < model->bone_count; b++) {
        const skeleton_bone *bone = &model->bones[b];
        vec3 centre =
            vec3_add(vec3_sub(state->pose[b].position, state->origin), mat3_mul_vec(state->turn[b], bone->centre));
        spatial_motion V = spatial_motion_at(state->motion[b].spin, state->motion[b].velocity, centre);
        drift[b] = bone->parent >= 0 ? drift[bone->parent] : spatial_motion_zero();
        /* Each axis is carried by what comes before it: V without the turns of this axis and those behind. */
        spatial_motion before = V;
        for (int i = model->first_dof[b + 1] - 1; i >= model->first_dof[b]; i--) {
            before = spatial_motion_mul_add(before, state->axis[i], -state->rate[i]);
            spatial_motion turned = spatial_cross_motion(before, state->axis[i]);
            drift[b] = spatial_motion_mul_add(drift[b], turned, state->rate[i]);
        }
        spatial_force swirl = spatial_cross_force(V, spatial_inertia_mul(&state->inertia[b], V));
        skeleton_wrench applied = state->wrench[b];
        vec3 pull = vec3_mul_add(applied.force, gravity, bone->mass);
        state->carried[b] = spatial_force_sub(spatial_force_at(applied.torque, pull, centre), swirl);
        state->carried[b] = spatial_force_sub(state->carried[b], spatial_inertia_mul(&state->inertia[b], drift[b]));
    }
    memset(state->push, 0, (size_t)model->dof_count * sizeof *state->push);
    substitute(state, state->carried, state->push, state->twist, acceleration);
    for (int b = 0; b < model->bone_count; b++) {
        if (!model->bones[b].free) continue;
        assert(base);
        /* From the spatial acceleration to that of the origin: the rate of change of V there plus spin x velocity. */
        vec3 r = vec3_sub(state->pose[b].position, state->origin), spin = state->motion[b].spin;
        vec3 to_origin = mat3_mul_vec(state->turn[b], vec3_scale(model->bones[b].centre, -1));
        vec3 velocity = vec3_add(state->motion[b].velocity, vec3_cross(spin, to_origin));
        base->angular = state->twist[b].angular;
        base->linear = vec3_add(spatial_motion_point(state->twist[b], r), vec3_cross(spin, velocity));
        base++;
    }
    return true;
}
