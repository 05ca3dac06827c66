/* The projection. With C the set and Phi its support function, z = P(z) + y, where
 *
 *   y = argmin 1/2 |y - z|^2 + bound Phi(y)                     (Moreau)
 *
 * is a smooth problem in three unknowns but for the places where a cell does not move. There |.| is rounded off to
 * sqrt(|.|^2 + e^2) with e a small part of |z|, and Newton's method does the rest, from the y of the last call or from
 * nearly 0, where y is if z is in the set; if that does not settle soon, from z over falling e. The torque is taken in units of `arm`, so that all are forces. */
#include "constraint/contensou.h"

#include <math.h>
#include <string.h>

#define GRID 8                 /* cells a side, where there are more points than cells */
#define ROUNDING 1e-5          /* e, of |z| */
#define FIRST_ROUNDING 0.1     /* from which it falls by ten each time */
#define INSIDE (20 * ROUNDING) /* |y| of |z| that is nothing but the rounding */
#define SETTLED 1e-7           /* gradient, of |z| */
#define MOST_STEPS 12          /* of Newton for one e */
#define MOST_HALVINGS 12

/* Where a point is in the grid over the patch's extent. */
static int cell_of(const double place[2], const double low[2], const double size[2]) {
    int index[2];
    for (int k = 0; k < 2; k++) {
        double at = size[k] > 0 ? GRID * (place[k] - low[k]) / size[k] : 0;
        index[k] = at < 0 ? 0 : at >= GRID ? GRID - 1 : (int)at;
    }
    return GRID * index[1] + index[0];
}

/* Turning about the centre gives grad Phi(0, 0, 1), whose force a slide the other way takes away. */
static double sure_torque(const contensou *law) {
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
        law.torque = sure_torque(&law);
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
    law.torque = sure_torque(&law);
    return law;
}

static double add_up(f64x8 v) {
    return ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7]));
}

/* Phi rounded off, its gradient and its Hessian (xx, xy, xw, yy, yw, ww), with q in units of 1 / scale. */
static double rounded(const contensou *law, double scale, double e, const double y[3], double g[3], double H[6]) {
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
    return rounded(law, 1, tiny, motion, gradient, H);
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
    double phi = rounded(problem->law, problem->scale, e, y, gradient, H), square = 0;
    for (int k = 0; k < 3; k++) {
        double off = y[k] - problem->z[k];
        square += off * off;
        gradient[k] = off + problem->bound * gradient[k];
    }
    return 0.5 * square + problem->bound * phi;
}

/* Newton's method with a line search; whether it settled. */
static bool minimize(const proximal *problem, double e, double y[3]) {
    double gradient[3], H[6], now = cost(problem, e, y, gradient, H);
    for (int i = 0; i < MOST_STEPS; i++) {
        if (dot3(gradient, gradient) <= SETTLED * SETTLED * problem->size * problem->size) return true;
        double step[3], next[3], after = 0, share = 1;
        solve_three(H, problem->bound, gradient, step);
        double slope = dot3(gradient, step);
        for (int halvings = 0; halvings < MOST_HALVINGS; halvings++, share /= 2) {
            for (int k = 0; k < 3; k++) next[k] = y[k] - share * step[k];
            after = cost(problem, e, next, gradient, H);
            if (after <= now - 1e-4 * share * slope) break;
        }
        memcpy(y, next, sizeof next);
        now = after;
    }
    return false;
}

/* A double cone that is in C: forces without a torque up to the bound, and what lies between these and a torque. */
static bool surely_inside(const contensou *law, double bound, const double z[3]) {
    double turning = z[2] == 0 ? 0 : law->torque > 0 ? fabs(z[2]) / law->torque : INFINITY;
    return hypot(z[0], z[1]) + turning <= bound;
}

bool contensou_project(const contensou *law, double bound, double arm, const double z[3], double start[3],
                       double out[3]) {
    memcpy(out, z, 3 * sizeof *out);
    if (surely_inside(law, bound, z)) return true;
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
