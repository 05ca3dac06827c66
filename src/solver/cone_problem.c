/* Newton's method on the residual r(f) = f - P(z), z = f - (u + mu |u_t| e_n) / W_nn, which is zero at the solution
 * (contact/contact.h), with P the projection on the cone and D its derivative (constraint/cone.h):
 *
 *   r' = 1 - D + D S W / W_nn,   S = 1 + mu e_n u_t^T / |u_t|
 *
 * A dense matrix that is not symmetric, so it is factored with pivoting. The residual is smooth in pieces (open, stick,
 * slip), and where a step does not bring it down, the forces are in the wrong piece: then some sweeps of Gauss-Seidel,
 * each contact solved exactly while the others push as they did. Alone these would need hundreds where a light body
 * lies between two others. */
#include "solver/cone_problem.h"

#include <math.h>
#include <string.h>

#define RESIDUAL 1e-6 /* of the largest force */
#define MOST_PASSES 30
#define SWEEPS 5
#define SMALLEST_PIVOT 1e-12
#define SLIP_STEPS 40
#define SLIP_RESIDUAL 1e-10 /* of the bound of friction */

void cone_problem_layout(cone_problem *problem, int most, arena *work) {
    int stride = (3 * most + 7) / 8 * 8;
    *problem = (cone_problem){.most = most,
                              .stride = stride,
                              .W = ARENA_ARRAY(work, double, stride *stride),
                              .q = ARENA_ARRAY(work, double, stride),
                              .mu = ARENA_ARRAY(work, double, most),
                              .force = ARENA_ARRAY(work, vec3, most),
                              .u = ARENA_ARRAY(work, vec3, most),
                              .slope = ARENA_ARRAY(work, double, stride *stride),
                              .step = ARENA_ARRAY(work, double, stride)};
}

static const double *row_of(const cone_problem *p, int row) {
    return p->W + (size_t)row * (size_t)p->stride;
}

static double entry(const cone_problem *p, int row, int column) {
    return row_of(p, row)[column];
}

/* q + W f of contact i. */
static vec3 motion(const cone_problem *p, int i) {
    double u[3];
    for (int k = 0; k < 3; k++) {
        const double *row = row_of(p, 3 * i + k);
        u[k] = p->q[3 * i + k];
        for (int j = 0; j < p->count; j++) u[k] += vec3_dot(vec3_load(row + 3 * j), p->force[j]);
    }
    return vec3_load(u);
}

/* The rows of r' of contact i, where D and u are. */
static void fill_slope(cone_problem *p, int i, const mat3 *D, vec3 u) {
    double slip = cone_tangential(u), share = 1 / entry(p, 3 * i, 3 * i);
    double lift_y = slip > 0 ? p->mu[i] * u.y / slip : 0, lift_z = slip > 0 ? p->mu[i] * u.z / slip : 0;
    const double *n = row_of(p, 3 * i), *t1 = n + p->stride, *t2 = t1 + p->stride;
    for (int k = 0; k < 3; k++) {
        double *row = p->slope + (size_t)(3 * i + k) * (size_t)p->stride;
        double a = share * D->m[3 * k], b = share * D->m[3 * k + 1] + a * lift_y,
               c = share * D->m[3 * k + 2] + a * lift_z;
        for (int j = 0; j < 3 * p->count; j++) row[j] = a * n[j] + b * t1[j] + c * t2[j];
        for (int l = 0; l < 3; l++) row[3 * i + l] += (k == l) - D->m[3 * k + l];
    }
}

/* The residual to step, its slope, and u. Returns the largest residual of a contact, of the largest force. */
static double look(cone_problem *p) {
    double worst = 0, largest = 0;
    for (int i = 0; i < p->count; i++) {
        vec3 u = p->u[i] = motion(p, i);
        vec3 shifted = vec3_make(u.x + p->mu[i] * cone_tangential(u), u.y, u.z);
        vec3 z = vec3_mul_add(p->force[i], shifted, -1 / entry(p, 3 * i, 3 * i));
        cone_state state = cone_state_of(z, p->mu[i]);
        vec3 wanted = cone_project(z, p->mu[i], state), residual = vec3_sub(p->force[i], wanted);
        mat3 D = cone_derivative(z, p->mu[i], state);
        vec3_store(p->step + 3 * i, residual);
        fill_slope(p, i, &D, u);
        worst = fmax(worst, vec3_length(residual));
        largest = fmax(largest, vec3_length(wanted));
    }
    return worst > 0 ? worst / largest : 0;
}

static void swap_rows(cone_problem *p, int a, int b) {
    double *left = p->slope + (size_t)a * (size_t)p->stride, *right = p->slope + (size_t)b * (size_t)p->stride;
    for (int j = 0; j < 3 * p->count; j++) {
        double kept = left[j];
        left[j] = right[j], right[j] = kept;
    }
    double kept = p->step[a];
    p->step[a] = p->step[b], p->step[b] = kept;
}

/* step = slope^-1 step, by elimination. */
static bool eliminate(cone_problem *p) {
    int n = 3 * p->count;
    size_t stride = (size_t)p->stride;
    for (int k = 0; k < n; k++) {
        int pivot = k;
        for (int i = k + 1; i < n; i++)
            if (fabs(p->slope[(size_t)i * stride + (size_t)k]) > fabs(p->slope[(size_t)pivot * stride + (size_t)k]))
                pivot = i;
        if (pivot != k) swap_rows(p, k, pivot);
        const double *top = p->slope + (size_t)k * stride;
        if (!(fabs(top[k]) > SMALLEST_PIVOT)) return false;
        for (int i = k + 1; i < n; i++) {
            double *row = p->slope + (size_t)i * stride, share = row[k] / top[k];
            if (share == 0) continue; /* all rows of an open contact */
            for (int j = k + 1; j < n; j++) row[j] -= share * top[j];
            p->step[i] -= share * p->step[k];
        }
    }
    for (int i = n - 1; i >= 0; i--) {
        const double *row = p->slope + (size_t)i * stride;
        for (int j = i + 1; j < n; j++) p->step[i] -= row[j] * p->step[j];
        p->step[i] /= row[i];
    }
    return true;
}

/* One contact with u = b + M f, M a 3x3 block of W. Without the normal, u_t = c + S f_t, and where it slips
 * u_t = -r f_t for some r > 0: (S + r) f_t = -c. |f_t| - mu f_n is positive at r = 0 if it does not stick, negative for
 * r without end, so there is an r between (by regula falsi in r / (1 + r)) for which it is zero. */
static vec3 solve_one(const double M[9], vec3 b, double mu) {
    if (b.x >= 0) return vec3_make(0, 0, 0);
    double normal = -b.x / M[0];
    if (mu == 0) return vec3_make(normal, 0, 0);
    double y = M[1] / M[0], z = M[2] / M[0];
    double Syy = M[4] - M[3] * y, Syz = M[5] - M[3] * z, Szz = M[8] - M[6] * z, scale = Syy + Szz;
    double cy = b.y + M[3] * normal, cz = b.z + M[6] * normal;
    double low = 0, high = 1, share = 0, at_low = 0, at_high = -mu * normal;
    vec3 f = {0};
    for (int k = 0; k < SLIP_STEPS; k++) {
        double r = scale * share / (1 - share), a = Syy + r, d = Szz + r, det = a * d - Syz * Syz;
        f.y = (Syz * cz - d * cy) / det, f.z = (Syz * cy - a * cz) / det;
        f.x = normal - y * f.y - z * f.z;
        double excess = cone_tangential(f) - mu * f.x;
        if ((k == 0 && excess <= 0) || fabs(excess) <= SLIP_RESIDUAL * mu * normal) break;
        /* The end that stays counts half as much the next time, or it might stay for ever. */
        if (excess > 0)
            low = share, at_low = excess, at_high *= k > 0 ? 0.5 : 1;
        else
            high = share, at_high = excess, at_low *= 0.5;
        share = low + (high - low) * at_low / (at_low - at_high);
    }
    return f;
}

static void sweep(cone_problem *p) {
    for (int i = 0; i < p->count; i++) {
        double M[9];
        p->force[i] = vec3_make(0, 0, 0);
        for (int k = 0; k < 9; k++) M[k] = entry(p, 3 * i + k / 3, 3 * i + k % 3);
        p->force[i] = solve_one(M, motion(p, i), p->mu[i]);
    }
}

bool cone_problem_solve(cone_problem *p) {
    double best = INFINITY;
    for (int pass = 0; pass < MOST_PASSES; pass++) {
        double now = look(p);
        if (now <= RESIDUAL) return true;
        bool newton = now < best && eliminate(p);
        best = newton ? now : INFINITY;
        for (int i = 0; newton && i < p->count; i++) p->force[i] = vec3_sub(p->force[i], vec3_load(p->step + 3 * i));
        for (int k = 0; !newton && k < SWEEPS; k++) sweep(p);
    }
    return false;
}
