/* Contact surface matching (tactile.h): Newton's method within the workspace. */
#include "tactile/tactile.h"

#include <stdbool.h>
#include <string.h>

#define SMALLEST_STEP 1e-9 /* m: a shorter step ends the iteration */
#define HALVINGS 12
#define AT_BOUND 1e-12 /* m, rad: tolerance for rounding */

static double sum_lanes(f64x8 a) {
    double sum = 0;
    for (int i = 0; i < SIMD_LANES; i++) sum += a[i];
    return sum;
}

static double weight_of(const match_problem *problem, int k) {
    return k < 2 ? problem->arm * problem->arm : 1;
}

static double pull_cost(const match_problem *problem, const double q[3]) {
    double sum = 0;
    for (int k = 0; k < 3; k++) {
        double b = q[k] - problem->before[k], h = q[k] - problem->home[k];
        sum += weight_of(problem, k) * (problem->hold * b * b + problem->rest * h * h);
    }
    return 0.5 * sum;
}

double match_cost(const match_problem *problem, const double q[3]) {
    const match_points *p = &problem->points;
    double n[3];
    match_normal(q, n);
    f64x8 sum = f64x8_set(0), zero = f64x8_set(0), z = f64x8_set(q[2]);
    for (int g = 0; g < p->group_count; g++) {
        f64x8 d = n[0] * p->target[0][g] + n[1] * p->target[1][g] + n[2] * (p->target[2][g] - z);
        f64x8 e = n[0] * p->skin[0][g] + n[1] * p->skin[1][g] + n[2] * (p->skin[2][g] - z);
        e = f64x8_min(e, zero);
        sum += p->touch[g] * d * d + p->free[g] * e * e;
    }
    return 0.5 * sum_lanes(sum) + pull_cost(problem, q);
}

/* Symmetric 3x3: xx, xy, yy, xz, yz, zz. */
static inline int entry(int i, int j) {
    return i >= j ? i * (i + 1) / 2 + j : j * (j + 1) / 2 + i;
}

static bool is_positive(const double H[6]) {
    double a = H[0], b = H[0] * H[2] - H[1] * H[1];
    double c = H[5] * b - H[3] * (H[3] * H[2] - H[1] * H[4]) + H[4] * (H[3] * H[1] - H[0] * H[4]);
    return a > 0 && b > 0 && c > 0;
}

/* Gradient and Hessian at q; returns the cost. Since d is linear in the point, d and its derivatives with respect to q
 * need four sums: m = sum w d (x, y, z - q2) and sum w d. Far from the optimum the Hessian may be indefinite; then the
 * Gauss-Newton Hessian, without second derivatives of d, replaces it. */
static double expand(const match_problem *problem, const double q[3], double g[3], double H[6]) {
    const match_points *p = &problem->points;
    double n[3], ca = cos(q[0]), sa = sin(q[0]), cb = cos(q[1]), sb = sin(q[1]);
    match_normal(q, n);
    const double by_pitch[3] = {-sb * sa, -ca, -cb * sa}, by_roll[3] = {cb * ca, 0, -sb * ca};
    f64x8 cost = f64x8_set(0), zero = cost, z = f64x8_set(q[2]), moment[4], hessian[6];
    for (int k = 0; k < 4; k++) moment[k] = zero;
    for (int k = 0; k < 6; k++) hessian[k] = zero;
    for (int group = 0; group < p->group_count; group++)
        for (int kind = 0; kind < 2; kind++) {
            f64x8 *const *at = kind ? p->skin : p->target;
            f64x8 x = at[0][group], y = at[1][group], up = at[2][group] - z;
            f64x8 w = kind ? p->free[group] : p->touch[group];
            f64x8 d = n[0] * x + n[1] * y + n[2] * up;
            if (kind) w = f64x8_select(d < zero, w, zero);
            f64x8 J[3] = {by_pitch[0] * x + by_pitch[1] * y + by_pitch[2] * up, by_roll[0] * x + by_roll[2] * up,
                          f64x8_set(-n[2])};
            f64x8 wd = w * d;
            cost += wd * d;
            moment[0] += wd * x, moment[1] += wd * y, moment[2] += wd * up, moment[3] += wd;
            SIMD_FOR (i, 0, 3)
                SIMD_FOR (j, 0, i + 1) hessian[entry(i, j)] += w * J[i] * J[j];
        }
    double m[4], full[6];
    for (int k = 0; k < 4; k++) m[k] = sum_lanes(moment[k]);
    for (int k = 0; k < 6; k++) H[k] = sum_lanes(hessian[k]);
    g[0] = by_pitch[0] * m[0] + by_pitch[1] * m[1] + by_pitch[2] * m[2];
    g[1] = by_roll[0] * m[0] + by_roll[2] * m[2];
    g[2] = -n[2] * m[3];
    for (int k = 0; k < 3; k++) {
        double w = weight_of(problem, k);
        g[k] += w * (problem->hold * (q[k] - problem->before[k]) + problem->rest * (q[k] - problem->home[k]));
        H[entry(k, k)] += w * (problem->hold + problem->rest);
    }
    for (int k = 0; k < 6; k++) full[k] = H[k];
    full[entry(0, 0)] -= n[0] * m[0] + n[1] * m[1] + n[2] * m[2];
    full[entry(1, 0)] += -cb * sa * m[0] + sb * sa * m[2];
    full[entry(1, 1)] += -sb * ca * m[0] - cb * ca * m[2];
    full[entry(2, 0)] -= by_pitch[2] * m[3];
    full[entry(2, 1)] -= by_roll[2] * m[3];
    if (is_positive(full)) memcpy(H, full, sizeof full);
    return 0.5 * sum_lanes(cost) + pull_cost(problem, q);
}

/* H step = -g in the free unknowns; the steps of the others are given. False: not positive definite. */
static bool solve_free(const double H[6], const double g[3], const bool fixed[3], double step[3]) {
    double A[3][3], b[3];
    int index[3], count = 0;
    for (int i = 0; i < 3; i++)
        if (!fixed[i]) index[count++] = i;
    for (int i = 0; i < count; i++) {
        b[i] = -g[index[i]];
        for (int k = 0; k < 3; k++)
            if (fixed[k]) b[i] -= H[entry(index[i], k)] * step[k];
        for (int j = 0; j < count; j++) A[i][j] = H[entry(index[i], index[j])];
    }
    for (int i = 0; i < count; i++) { /* L D L^T */
        if (!(A[i][i] > 0)) return false;
        for (int j = i + 1; j < count; j++) {
            double f = A[j][i] / A[i][i];
            for (int k = i; k < count; k++) A[j][k] -= f * A[i][k];
            b[j] -= f * b[i];
        }
    }
    for (int i = count - 1; i >= 0; i--) {
        for (int k = i + 1; k < count; k++) b[i] -= A[i][k] * b[k];
        b[i] /= A[i][i];
        step[index[i]] = b[i];
    }
    return true;
}

static double model_change(const double H[6], const double g[3], const double step[3]) {
    double sum = 0;
    for (int i = 0; i < 3; i++) {
        sum += g[i] * step[i];
        for (int j = 0; j < 3; j++) sum += 0.5 * step[i] * H[entry(i, j)] * step[j];
    }
    return sum;
}

/* min g.s + 1/2 s.H s with low <= s <= high: the best feasible solution over all choices of active bounds. The model
 * is convex, so this is its minimum. The first choice is no active bound, and usually the only one tried. */
static void solve_bounded(const double H[6], const double g[3], const double low[3], const double high[3],
                          double best[3]) {
    double min = INFINITY;
    for (int k = 0; k < 3; k++) best[k] = 0;
    for (int choice = 0; choice < 27; choice++) {
        const int side[3] = {choice % 3, choice / 3 % 3, choice / 9};
        bool fixed[3], within = true;
        double step[3] = {0};
        for (int k = 0; k < 3; k++) {
            fixed[k] = side[k] > 0;
            if (fixed[k]) step[k] = side[k] == 1 ? low[k] : high[k];
        }
        if (!solve_free(H, g, fixed, step)) continue;
        for (int k = 0; k < 3; k++) within = within && step[k] >= low[k] && step[k] <= high[k];
        if (!within) continue;
        double change = model_change(H, g, step);
        if (!(change < min)) continue;
        min = change;
        for (int k = 0; k < 3; k++) best[k] = step[k];
        if (choice == 0) return;
    }
}

static double clamp(double x, double low, double high) {
    return fmax(low, fmin(high, x));
}

match_result match_solve(const match_problem *problem) {
    match_result result = {0};
    double *q = result.pose, g[3], H[6];
    for (int k = 0; k < 3; k++) q[k] = clamp(problem->before[k], problem->low[k], problem->high[k]);
    result.cost = expand(problem, q, g, H);
    while (result.iterations < MATCH_ITERATIONS) {
        double low[3], high[3], step[3], trial[3], size = 0;
        for (int k = 0; k < 3; k++) low[k] = problem->low[k] - q[k], high[k] = problem->high[k] - q[k];
        solve_bounded(H, g, low, high, step);
        for (int k = 0; k < 3; k++) size = fmax(size, sqrt(weight_of(problem, k)) * fabs(step[k]));
        if (!(size > SMALLEST_STEP)) break;
        result.iterations++;
        double cost = INFINITY, share = 1;
        for (int i = 0; i < HALVINGS && !(cost < result.cost); i++, share *= 0.5) {
            for (int k = 0; k < 3; k++) trial[k] = clamp(q[k] + share * step[k], problem->low[k], problem->high[k]);
            cost = match_cost(problem, trial);
        }
        if (!(cost < result.cost)) break;
        for (int k = 0; k < 3; k++) q[k] = trial[k];
        result.cost = expand(problem, q, g, H);
    }
    for (int k = 0; k < 3; k++)
        if (q[k] - problem->low[k] < AT_BOUND || problem->high[k] - q[k] < AT_BOUND) result.bounded |= 1u << k;
    return result;
}
