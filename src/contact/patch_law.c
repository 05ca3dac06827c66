/* A patch alone, whose rows move by B times what its force changes by: where it sticks and presses everywhere, B^-1 u is what is
 * left to do, in one step. Elsewhere its parts step one after the other, each to the nearest force of its own set: the torques of
 * the pressure to a polygon, friction to the set of Coulomb and Contensou. */
#include "contact/patch_law.h"

#include <math.h>
#include <string.h>

#define PARALLEL 1e-16 /* squared sine between two sides that are one: corners of the rim may fall together */
#define DEFINITE 1e-9  /* of a diagonal, the least that elimination may leave of it */

/* D from `first` to `end` is made large enough for a step of all of them at once. */
static void bound_block(const double *block, int stride, double scale, int first, int end, double D[PATCH_ROWS]) {
    double most = 1;
    for (int k = first; k < end; k++) {
        double sum = 0;
        for (int i = first; i < end; i++)
            if (D[i] > 0 && D[k] > 0)
                sum += scale * fabs(block[(size_t)k * (size_t)stride + (size_t)i]) / sqrt(D[i] * D[k]);
        most = fmax(most, sum);
    }
    for (int k = first; k < end; k++) D[k] *= most;
}

static bool factor(const double *block, int stride, int rows, double scale, double L[PATCH_ROWS][PATCH_ROWS]) {
    for (int i = 0; i < rows; i++) {
        double diagonal = scale * block[(size_t)i * (size_t)(stride + 1)];
        if (!(diagonal > 0)) continue; /* the row of L is 0 */
        for (int k = 0; k <= i; k++) {
            double sum = scale * block[(size_t)i * (size_t)stride + (size_t)k];
            for (int j = 0; j < k; j++) sum -= L[i][j] * L[k][j];
            if (k == i && !(sum > DEFINITE * diagonal)) return false;
            L[i][k] = k == i ? sqrt(sum) : L[k][k] > 0 ? sum / L[k][k] : 0;
        }
    }
    return true;
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

/* The least that lambda pushes at a corner of the rim, N. */
static double least_push(const patch *p, double normal, const double torque[2]) {
    double least = 0;
    for (int i = 0; i < PATCH_RIM; i++) least = fmin(least, p->rim[i][0] * torque[0] + p->rim[i][1] * torque[1]);
    return normal + least;
}

bool patch_settle(patch *p, const patch_response *response, const double u[PATCH_ROWS], double lambda[PATCH_ROWS]) {
    if (!response->is_definite) return false;
    double x[PATCH_ROWS], next[PATCH_ROWS];
    for (int i = 0; i < PATCH_ROWS; i++) {
        double sum = u[i];
        for (int k = 0; k < i; k++) sum -= response->L[i][k] * x[k];
        x[i] = response->L[i][i] > 0 ? sum / response->L[i][i] : 0;
    }
    for (int i = PATCH_ROWS - 1; i >= 0; i--) {
        double sum = x[i];
        for (int k = i + 1; k < PATCH_ROWS; k++) sum -= response->L[k][i] * x[k];
        x[i] = response->L[i][i] > 0 ? sum / response->L[i][i] : 0;
        next[i] = response->L[i][i] > 0 ? lambda[i] - x[i] : 0;
    }
    if (!(next[0] > 0) || least_push(p, next[0], next + PATCH_ROWS_PRINTED) < 0) return false;
    double arm = response->D[3] > 0 ? sqrt(response->D[1] / response->D[3]) : 1, nearest[3];
    if (!contensou_project(&p->law, p->mu * next[0], arm, next + 1, p->guess, nearest)) return false;
    memcpy(lambda, next, sizeof next);
    return true;
}

/* The nearest point of a polygon, side by side: where the nearest one of those before lies beyond a side, it is on the line of
 * that side, as far along it as those before let it. */
void patch_confine_pressure(const patch *p, double normal, const double D[PATCH_ROWS], double lambda[PATCH_ROWS]) {
    double *torque = lambda + PATCH_ROWS_PRINTED, scale[2], wanted[2], at[2], side[PATCH_RIM][2];
    for (int k = 0; k < 2; k++)
        if (!(D[PATCH_ROWS_PRINTED + k] > 0)) torque[k] = 0;
    if (least_push(p, normal, torque) >= 0) return;
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
