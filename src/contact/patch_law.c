/* The law of a patch: distribution of its pressure, Coulomb-Contensou friction, and the step of one patch whose rows
 * move by B times the change of its force (patch.h). Where it sticks and presses everywhere, the step is B^-1 u.
 * Elsewhere its parts step one after the other, each projected on its own set: the torques of the pressure on a
 * polygon, friction on the set of Coulomb and Contensou. */
#include "contact/patch.h"

#include "core/dense.h"

#include <math.h>
#include <string.h>

/* Pressure. The paper distributes it by the depth of points after the free motion (talvas2015, Eqs. 7 and 11 to 13,
 * divided by their sum),
 *
 *   share_i = S_i depth_i / sum_k S_k depth_k,   uniform: share_i = S_i / sum_k S_k
 *
 * with S_i a third of the triangles around the vertex. In a free motion all compressed flesh recovers, so the longer
 * the step, the more alike are depths and shares, and the gaps that they leave are never closed.
 *
 * Adaptive pressure starts from the free motion with the forces p_i of the last step. The gaps g_i at its end are
 * the residual of these forces. With c_i an estimate of the compliance at the point, the points of a group would
 * change by
 *
 *   e_i = max(0, p_i + (b - g_i) / c_i) - p_i,   sum_i e_i = 0
 *
 * where the sum sets b, their common motion, which is left to the rows of their patch. With W_ik the motion of i per
 * unit of force at k, the best fraction of the change is taken,
 *
 *   p_i <- p_i + t e_i,   g_i <- g_i + t sum_k W_ik e_k,   t = min(1, -sum_i g_i e_i / sum_ik e_i W_ik e_k)
 *
 * which is a projected gradient step for the minimum of p W p / 2 + g p, the problem that point contacts solve. So
 * no change increases it, however wrong the c_i are. Where a patch rests and all gaps are 0 nothing changes: the
 * forces are exactly those of points. Where it rolls, new points get their force at once; shares that lag behind
 * would push from behind, and accelerate a ball. Points without a force yet have p_i = -g_i / c_i: as in the paper,
 * but with the compliance instead of the area. */

#define SMALLEST_AREA 1e-12       /* m^2, of a point: those of rigid skins have none */
#define SMALLEST_COMPLIANCE 1e-12 /* m/N, of flesh that is held and does not yield */

/* c_i: the compliance with all nodes but those of the contacts held, and a unit force on every contact in a group,
 * so that many points on few nodes do not overshoot. */
static void find_compliance(patch_set *set, const contact *contacts, int count, const block_pattern *pattern,
                            const double *blocks, double h) {
    for (int i = 0; i < count; i++)
        for (int k = 0; k < contacts[i].leg_count; k++) set->load[contacts[i].legs[k].node] = 0;
    for (int i = 0; i < count; i++)
        for (int k = 0; k < contacts[i].leg_count && set->group[i] >= 0; k++)
            set->load[contacts[i].legs[k].node] += fabs(contacts[i].legs[k].weight);
    for (int i = 0; i < count; i++) {
        const contact *c = &contacts[i];
        double sum = 0;
        for (int k = 0; k < c->leg_count; k++) {
            const contact_leg *leg = &c->legs[k];
            if (leg->other && !c->couples_soft) continue; /* the rows of the patch move a rigid body */
            const double *block = blocks + 9 * (size_t)pattern->column_start[leg->node];
            sum += 3 * fabs(leg->weight) * set->load[leg->node] / (block[0] + block[4] + block[8]);
        }
        set->compliance[i] = fmax(SMALLEST_COMPLIANCE, h * h * sum);
    }
}

void patch_pressure_start(patch_set *set, const contact *contacts, int count, const block_pattern *pattern,
                          const double *blocks, double h) {
    find_compliance(set, contacts, count, pattern, blocks, h);
    for (int i = 0; i < count; i++) {
        set->force[i] = set->group[i] >= 0 ? fmax(0, contacts[i].lambda.x) : 0;
        set->change[i] = set->motion[i] = 0;
    }
}

/* Sets the changes e_i of a group. The number of active points decreases from iteration to iteration. */
static void find_changes(patch_set *set, const int *list, int count) {
    double force = 0, *next = set->change;
    for (int k = 0; k < count; k++) force += set->force[list[k]];
    for (int k = 0; k < count; k++) next[list[k]] = force;
    for (int left = count, before = count + 1; force > 0 && left < before;) {
        double sum = 0, stiffness = 0;
        for (int k = 0; k < count; k++) {
            int i = list[k];
            if (!(next[i] > 0)) continue;
            sum += set->force[i] - set->gap[i] / set->compliance[i];
            stiffness += 1 / set->compliance[i];
        }
        double b = (force - sum) / stiffness;
        before = left, left = 0;
        for (int k = 0; k < count; k++) {
            int i = list[k];
            if (!(next[i] > 0)) continue;
            next[i] = set->force[i] + (b - set->gap[i]) / set->compliance[i];
            left += next[i] > 0;
        }
    }
    for (int k = 0; k < count; k++) next[list[k]] = fmax(0, next[list[k]]) - set->force[list[k]];
}

bool patch_pressure_find_changes(patch_set *set, int count, int groups) {
    bool any = false;
    for (int g = 0, first = 0; g < groups; first = set->ends[g++])
        find_changes(set, set->order + first, set->ends[g] - first);
    for (int i = 0; i < count; i++) any |= set->change[i] != 0;
    return any;
}

void patch_pressure_apply(patch_set *set, int groups) {
    for (int g = 0, first = 0; g < groups; first = set->ends[g++]) {
        double gain = 0, cost = 0;
        for (int k = first; k < set->ends[g]; k++) {
            int i = set->order[k];
            gain -= set->gap[i] * set->change[i];
            cost += set->motion[i] * set->change[i];
        }
        double t = gain > 0 && cost > 0 ? fmin(1, gain / cost) : 0;
        for (int k = first; k < set->ends[g]; k++) {
            int i = set->order[k];
            set->force[i] = fmax(0, set->force[i] + t * set->change[i]);
            set->gap[i] += t * set->motion[i];
        }
    }
}

void patch_find_shares(const patch_set *set, thenar_contact_pressure pressure, const contact *contacts,
                       const contact_point *points, const int *list, int count, double *share) {
    bool adapts = pressure == THENAR_PRESSURE_ADAPTIVE;
    double force = 0, sum = 0;
    for (int k = 0; k < count && adapts; k++) force += set->force[list[k]];
    for (int k = 0; k < count; k++) {
        int i = list[k];
        double area = fmax(SMALLEST_AREA, points[contacts[i].point].area);
        if (adapts)
            share[k] = force > 0 ? set->force[i] : set->depth[i] / set->compliance[i];
        else
            share[k] = pressure == THENAR_PRESSURE_UNIFORM ? area : area * set->depth[i];
        sum += share[k];
    }
    for (int k = 0; k < count; k++) share[k] /= sum;
}

/* The projection of friction. With C the set and Phi its support function, z = P(z) + y, where
 *
 *   y = argmin 1/2 |y - z|^2 + bound Phi(y)                     (Moreau)
 *
 * is a problem in three unknowns, smooth except where a cell does not move. There |.| is smoothed to sqrt(|.|^2 +
 * e^2) with e small beside |z|. Newton's method starts from the y of the last call, or near 0, where y is if z is in
 * the set; if that does not converge soon, from z with decreasing e. The torque is in units of `arm`, so that all
 * are forces. */

#define GRID 8                 /* cells per side, if there are more points than cells */
#define ROUNDING 1e-5          /* e over |z| */
#define FIRST_ROUNDING 0.1     /* the first e, reduced by ten each time */
#define INSIDE (20 * ROUNDING) /* |y| over |z| due to the smoothing alone */
#define SETTLED 1e-7           /* gradient over |z| */
#define MAX_STEPS 12           /* Newton steps for one e */
#define MAX_HALVINGS 12

/* The cell of a point in a grid over the extent of the patch. */
static int cell_of(const double place[2], const double low[2], const double size[2]) {
    int index[2];
    for (int k = 0; k < 2; k++) {
        double at = size[k] > 0 ? GRID * (place[k] - low[k]) / size[k] : 0;
        index[k] = at < 0 ? 0 : at >= GRID ? GRID - 1 : (int)at;
    }
    return GRID * index[1] + index[0];
}

/* Rotation about the centre gives grad Phi(0, 0, 1); sliding in the opposite direction cancels its force. */
static double pure_torque_bound(const contensou *law) {
    double turning[3] = {0, 0, 1}, limit[3];
    contensou_potential(law, turning, limit);
    return limit[2] / (1 + hypot(limit[0], limit[1]));
}

static void put(contensou *law, int cell, double share, const double place[2], double spread) {
    law->share[cell / 8][cell % 8] = share;
    law->x[cell / 8][cell % 8] = -place[1];
    law->y[cell / 8][cell % 8] = place[0];
    law->spread[cell / 8][cell % 8] = spread;
}

contensou contensou_make(int count, const double *share, const double (*place)[2]) {
    contensou law = {0};
    double square = 0;
    for (int i = 0; i < count; i++) square += share[i] * (place[i][0] * place[i][0] + place[i][1] * place[i][1]);
    law.radius = sqrt(square);
    if (count <= CONTENSOU_CELLS) {
        law.batches = (count + 7) / 8;
        for (int i = 0; i < count; i++) put(&law, i, share[i], place[i], 0);
        law.torque = pure_torque_bound(&law);
        return law;
    }
    double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY}, size[2];
    for (int i = 0; i < count; i++)
        for (int k = 0; k < 2; k++) low[k] = fmin(low[k], place[i][k]), high[k] = fmax(high[k], place[i][k]);
    for (int k = 0; k < 2; k++) size[k] = high[k] - low[k];
    double sum[CONTENSOU_CELLS] = {0}, centre[CONTENSOU_CELLS][2] = {{0}}, squares[CONTENSOU_CELLS] = {0};
    for (int i = 0; i < count; i++) {
        int cell = cell_of(place[i], low, size);
        sum[cell] += share[i];
        for (int k = 0; k < 2; k++) {
            centre[cell][k] += share[i] * place[i][k];
            squares[cell] += share[i] * place[i][k] * place[i][k];
        }
    }
    int used = 0;
    for (int cell = 0; cell < CONTENSOU_CELLS; cell++) {
        if (!(sum[cell] > 0)) continue;
        double variance = squares[cell] / sum[cell];
        for (int k = 0; k < 2; k++) {
            centre[cell][k] /= sum[cell];
            variance -= centre[cell][k] * centre[cell][k];
        }
        put(&law, used++, sum[cell], centre[cell], sqrt(fmax(0, variance / 2)));
    }
    law.batches = (used + 7) / 8;
    law.torque = pure_torque_bound(&law);
    return law;
}

static double add_up(f64x8 v) {
    return ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7]));
}

/* The smoothed Phi, its gradient and its Hessian (xx, xy, xw, yy, yw, ww), with q in units of 1 / scale. */
static double smoothed_potential(const contensou *law, double scale, double e, const double y[3], double g[3],
                                 double H[6]) {
    f64x8 sum = f64x8_set(0), gx = sum, gy = sum, gw = sum, h[6] = {sum, sum, sum, sum, sum, sum};
    for (int b = 0; b < law->batches; b++) {
        f64x8 qx = law->x[b] * f64x8_set(scale), qy = law->y[b] * f64x8_set(scale),
              qz = law->spread[b] * f64x8_set(scale);
        f64x8 vx = f64x8_set(y[0]) + f64x8_set(y[2]) * qx, vy = f64x8_set(y[1]) + f64x8_set(y[2]) * qy;
        f64x8 vz = f64x8_set(y[2]) * qz;
        f64x8 size = f64x8_sqrt(vx * vx + vy * vy + vz * vz + f64x8_set(e * e));
        f64x8 weight = law->share[b] / size, ux = vx / size, uy = vy / size, uz = vz / size;
        sum += law->share[b] * size;
        gx += weight * vx, gy += weight * vy, gw += weight * (vx * qx + vy * qy + vz * qz);
        /* share (1 - u u^T) / size, then with q on the left and the right */
        f64x8 xx = weight * (f64x8_set(1) - ux * ux), xy = -weight * ux * uy, xz = -weight * ux * uz;
        f64x8 yy = weight * (f64x8_set(1) - uy * uy), yz = -weight * uy * uz, zz = weight * (f64x8_set(1) - uz * uz);
        f64x8 xw = xx * qx + xy * qy + xz * qz, yw = xy * qx + yy * qy + yz * qz, zw = xz * qx + yz * qy + zz * qz;
        h[0] += xx, h[1] += xy, h[2] += xw, h[3] += yy, h[4] += yw, h[5] += xw * qx + yw * qy + zw * qz;
    }
    g[0] = add_up(gx), g[1] = add_up(gy), g[2] = add_up(gw);
    for (int i = 0; i < 6; i++) H[i] = add_up(h[i]);
    return add_up(sum);
}

double contensou_potential(const contensou *law, const double motion[3], double gradient[3]) {
    double H[6], tiny = 1e-12 * (hypot(motion[0], motion[1]) + fabs(motion[2]) * law->radius) + 1e-300;
    return smoothed_potential(law, 1, tiny, motion, gradient, H);
}

/* x = (1 + s H)^-1 b */
static void solve_three(const double H[6], double s, const double b[3], double x[3]) {
    double a = 1 + s * H[0], p = s * H[1], q = s * H[2], c = 1 + s * H[3], r = s * H[4], d = 1 + s * H[5];
    double l21 = p / a, l31 = q / a, c2 = c - l21 * p, r2 = r - l31 * p, l32 = r2 / c2, d2 = d - l31 * q - l32 * r2;
    double y1 = b[1] - l21 * b[0], y2 = b[2] - l31 * b[0] - l32 * y1;
    x[2] = y2 / d2;
    x[1] = (y1 - r2 * x[2]) / c2;
    x[0] = (b[0] - p * x[1] - q * x[2]) / a;
}

static double dot3(const double a[3], const double b[3]) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

typedef struct proximal {
    const contensou *law;
    double bound, scale;
    const double *z;
    double size; /* |z| */
} proximal;

/* 1/2 |y - z|^2 + bound Phi(y) */
static double cost(const proximal *problem, double e, const double y[3], double gradient[3], double H[6]) {
    double phi = smoothed_potential(problem->law, problem->scale, e, y, gradient, H), square = 0;
    for (int k = 0; k < 3; k++) {
        double off = y[k] - problem->z[k];
        square += off * off;
        gradient[k] = off + problem->bound * gradient[k];
    }
    return 0.5 * square + problem->bound * phi;
}

/* Newton's method with a line search; true if it converged. */
static bool minimize(const proximal *problem, double e, double y[3]) {
    double gradient[3], H[6], now = cost(problem, e, y, gradient, H);
    for (int i = 0; i < MAX_STEPS; i++) {
        if (dot3(gradient, gradient) <= SETTLED * SETTLED * problem->size * problem->size) return true;
        double step[3], next[3], after = 0, share = 1;
        solve_three(H, problem->bound, gradient, step);
        double slope = dot3(gradient, step);
        for (int halvings = 0; halvings < MAX_HALVINGS; halvings++, share /= 2) {
            for (int k = 0; k < 3; k++) next[k] = y[k] - share * step[k];
            after = cost(problem, e, next, gradient, H);
            if (after <= now - 1e-4 * share * slope) break;
        }
        memcpy(y, next, sizeof next);
        now = after;
    }
    return false;
}

/* A subset of C: a double cone of forces up to the bound and pure torques. */
static bool is_inside_double_cone(const contensou *law, double bound, const double z[3]) {
    double turning = z[2] == 0 ? 0 : law->torque > 0 ? fabs(z[2]) / law->torque : INFINITY;
    return hypot(z[0], z[1]) + turning <= bound;
}

bool contensou_project(const contensou *law, double bound, double arm, const double z[3], double start[3],
                       double out[3]) {
    memcpy(out, z, 3 * sizeof *out);
    if (is_inside_double_cone(law, bound, z)) return true;
    if (!(law->radius > 0)) { /* a point: Coulomb's disc */
        double size = hypot(z[0], z[1]), share = size > bound ? bound / size : 1;
        out[0] *= share, out[1] *= share, out[2] = 0;
        return share == 1 && z[2] == 0;
    }
    double scaled[3] = {z[0], z[1], z[2] / arm}, y[3] = {start[0], start[1], start[2]};
    proximal problem = {law, bound, 1 / arm, scaled, sqrt(dot3(scaled, scaled))};
    bool is_new = !(dot3(y, y) > 0);
    for (int k = 0; is_new && k < 3; k++) y[k] = ROUNDING * scaled[k];
    if (!minimize(&problem, ROUNDING * problem.size, y)) {
        memcpy(y, scaled, sizeof y);
        for (double e = FIRST_ROUNDING; e > 0.5 * ROUNDING; e *= 0.1) minimize(&problem, e * problem.size, y);
    }
    memcpy(start, y, sizeof y);
    if (sqrt(dot3(y, y)) <= INSIDE * problem.size) return true;
    for (int k = 0; k < 3; k++) out[k] = scaled[k] - y[k];
    out[2] *= arm;
    return false;
}

#define PARALLEL 1e-16 /* squared sine between two sides that coincide, as corners of the rim may */
#define DEFINITE 1e-9  /* smallest pivot, relative to the diagonal */

/* Enlarges D from `first` to `end` enough for a simultaneous step of all of them. */
static void bound_block(const double *block, int stride, double scale, int first, int end, double D[PATCH_ROWS]) {
    double max = 1;
    for (int k = first; k < end; k++) {
        double sum = 0;
        for (int i = first; i < end; i++)
            if (D[i] > 0 && D[k] > 0)
                sum += scale * fabs(block[(size_t)k * (size_t)stride + (size_t)i]) / sqrt(D[i] * D[k]);
        max = fmax(max, sum);
    }
    for (int k = first; k < end; k++) D[k] *= max;
}

/* Rows that cannot move are left out of L. False if the others are not positive definite. */
static bool factor(const double *block, int stride, int rows, double scale, double L[PATCH_ROWS][PATCH_ROWS]) {
    int immobile = 0;
    for (int i = 0; i < rows; i++) {
        for (int k = 0; k <= i; k++) L[i][k] = scale * block[(size_t)i * (size_t)stride + (size_t)k];
        immobile += !(L[i][i] > 0);
    }
    return dense_cholesky(L[0], rows, PATCH_ROWS, DEFINITE) == immobile;
}

patch_response patch_respond(const double *block, int stride, int rows, double scale) {
    patch_response r = {0};
    for (int k = 0; k < rows; k++) r.D[k] = scale * block[(size_t)k * (size_t)(stride + 1)];
    r.D[1] = r.D[2] = fmax(r.D[1], r.D[2]);
    bound_block(block, stride, scale, 1, PATCH_ROWS_PRINTED, r.D);
    bound_block(block, stride, scale, PATCH_ROWS_PRINTED, rows, r.D);
    r.is_definite = r.D[0] > 0 && factor(block, stride, rows, scale, r.L);
    return r;
}

/* The minimum pressure over the corners of the rim, N. */
static double min_pressure(const patch *p, double normal, const double torque[2]) {
    double min = 0;
    for (int i = 0; i < PATCH_RIM; i++) min = fmin(min, p->rim[i][0] * torque[0] + p->rim[i][1] * torque[1]);
    return normal + min;
}

bool patch_settle(patch *p, const patch_response *response, const double u[PATCH_ROWS], double lambda[PATCH_ROWS]) {
    if (!response->is_definite) return false;
    double x[PATCH_ROWS], next[PATCH_ROWS];
    memcpy(x, u, sizeof x);
    dense_cholesky_solve(response->L[0], PATCH_ROWS, PATCH_ROWS, x);
    for (int i = 0; i < PATCH_ROWS; i++) next[i] = response->L[i][i] > 0 ? lambda[i] - x[i] : 0;
    if (!(next[0] > 0) || min_pressure(p, next[0], next + PATCH_ROWS_PRINTED) < 0) return false;
    double arm = response->D[3] > 0 ? sqrt(response->D[1] / response->D[3]) : 1, nearest[3];
    if (!contensou_project(&p->law, p->mu * next[0], arm, next + 1, p->guess, nearest)) return false;
    memcpy(lambda, next, sizeof next);
    return true;
}

/* The nearest point of a polygon, one side after the other: if the nearest point so far violates a side, it moves to
 * the line of that side, as far along it as the sides before allow. */
void patch_confine_pressure(const patch *p, double normal, const double D[PATCH_ROWS], double lambda[PATCH_ROWS]) {
    double *torque = lambda + PATCH_ROWS_PRINTED, scale[2], wanted[2], at[2], side[PATCH_RIM][2];
    for (int k = 0; k < 2; k++)
        if (!(D[PATCH_ROWS_PRINTED + k] > 0)) torque[k] = 0;
    if (min_pressure(p, normal, torque) >= 0) return;
    for (int k = 0; k < 2; k++) {
        scale[k] = sqrt(D[PATCH_ROWS_PRINTED + k]);
        wanted[k] = at[k] = scale[k] * torque[k];
    }
    /* side . at >= -normal */
    for (int i = 0; i < PATCH_RIM; i++)
        for (int k = 0; k < 2; k++) side[i][k] = scale[k] > 0 ? p->rim[i][k] / scale[k] : 0;
    for (int i = 0; i < PATCH_RIM; i++) {
        double square = side[i][0] * side[i][0] + side[i][1] * side[i][1];
        if (!(side[i][0] * at[0] + side[i][1] * at[1] < -normal) || !(square > 0)) continue;
        double along[2] = {-side[i][1], side[i][0]}, foot = -normal / square, low = -INFINITY, high = INFINITY;
        for (int j = 0; j < i; j++) {
            double slope = side[j][0] * along[0] + side[j][1] * along[1];
            double room = normal + foot * (side[j][0] * side[i][0] + side[j][1] * side[i][1]);
            if (slope * slope <= PARALLEL * square * (side[j][0] * side[j][0] + side[j][1] * side[j][1])) continue;
            if (slope > 0) low = fmax(low, -room / slope);
            if (slope < 0) high = fmin(high, -room / slope);
        }
        double t = (along[0] * wanted[0] + along[1] * wanted[1]) / square;
        t = fmax(low, fmin(high, t));
        for (int k = 0; k < 2; k++) at[k] = foot * side[i][k] + t * along[k];
    }
    for (int k = 0; k < 2; k++) torque[k] = scale[k] > 0 ? at[k] / scale[k] : 0;
}

bool patch_friction(patch *p, double bound, const double D[PATCH_ROWS], const double u[PATCH_ROWS],
                    double lambda[PATCH_ROWS]) {
    double z[3] = {0};
    bool turns = D[3] > 0;
    if (D[1] > 0) z[0] = lambda[1] - u[1] / D[1], z[1] = lambda[2] - u[2] / D[1];
    if (turns) z[2] = lambda[3] - u[3] / D[3];
    bool sticks = contensou_project(&p->law, bound, turns ? sqrt(D[1] / D[3]) : 1, z, p->guess, lambda + 1);
    return sticks && bound > 0;
}
