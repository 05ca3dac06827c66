#include "contact/patch.h"

#define PARALLEL 1e-16 /* squared sine between two sides that are one: corners of the rim may fall together */

void patches_move(patch *patches, int count, const double *d) {
    for (int i = 0; i < count; i++) {
        patch *p = &patches[i];
        for (int row = 0; row < PATCH_ROWS; row++) {
            const vec3 *gradient = p->gradient + (size_t)row * (size_t)p->leg_count;
            double sum = p->start[row];
            for (int k = 0; k < p->leg_count; k++) sum += vec3_dot(gradient[k], vec3_load(d + 3 * p->node[k]));
            p->u[row] = sum;
        }
    }
}

void patches_add_force(const patch *patches, int count, double weight, double *sum) {
    for (int i = 0; i < count; i++) {
        const patch *p = &patches[i];
        for (int row = 0; row < PATCH_ROWS; row++) {
            const vec3 *gradient = p->gradient + (size_t)row * (size_t)p->leg_count;
            double scale = weight * p->lambda[row];
            if (scale == 0) continue;
            for (int k = 0; k < p->leg_count; k++)
                vec3_store(sum + 3 * p->node[k], vec3_mul_add(vec3_load(sum + 3 * p->node[k]), gradient[k], scale));
        }
    }
}

double patches_work(const patch *patches, int count) {
    double sum = 0;
    for (int i = 0; i < count; i++)
        for (int row = 0; row < PATCH_ROWS; row++) sum += patches[i].lambda[row] * patches[i].u[row];
    return sum;
}

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

void patch_diagonal(const double *block, int stride, int rows, double scale, double D[PATCH_ROWS]) {
    for (int k = 0; k < PATCH_ROWS; k++) D[k] = k < rows ? scale * block[(size_t)k * (size_t)stride + (size_t)k] : 0;
    D[1] = D[2] = fmax(D[1], D[2]);
    bound_block(block, stride, scale, 1, PATCH_ROWS_PRINTED, D);
    bound_block(block, stride, scale, PATCH_ROWS_PRINTED, rows, D);
}

/* The nearest point of a polygon, side by side: where the nearest one of those before lies beyond a side, it is on the line of
 * that side, as far along it as those before let it. */
void patch_confine_pressure(const patch *p, double normal, const double D[PATCH_ROWS], double lambda[PATCH_ROWS]) {
    double *torque = lambda + PATCH_ROWS_PRINTED, scale[2], wanted[2], at[2], side[PATCH_RIM][2], least = 0;
    for (int k = 0; k < 2; k++)
        if (!(D[PATCH_ROWS_PRINTED + k] > 0)) torque[k] = 0;
    for (int i = 0; i < PATCH_RIM; i++) least = fmin(least, p->rim[i][0] * torque[0] + p->rim[i][1] * torque[1]);
    if (least >= -normal) return;
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

void patches_spread(const patch *patches, int count, contact *contacts, int contact_count) {
    for (int i = 0; i < contact_count; i++) {
        contacts[i].lambda = (vec3){0};
        contacts[i].settled = CONE_OPEN;
    }
    for (int i = 0; i < count; i++) {
        const patch *p = &patches[i];
        vec3 friction = vec3_scale(mat3_row(p->frame, 1), p->lambda[1]);
        friction = vec3_mul_add(friction, mat3_row(p->frame, 2), p->lambda[2]);
        for (int k = 0; k < p->member_count; k++) {
            const patch_member *member = &p->members[k];
            contact *c = &contacts[member->contact];
            vec3 tangential = vec3_mul_add(vec3_scale(friction, member->share), member->twist, p->lambda[3]);
            c->lambda = mat3_mul_vec(c->frame, tangential);
            c->lambda.x =
                member->share * p->lambda[0] + member->slope[0] * p->lambda[4] + member->slope[1] * p->lambda[5];
            c->settled = p->settled;
        }
    }
}
