#include "contact/balls.h"

#include <assert.h>

static const double pi = 3.14159265358979323846;

/* Places from -half to half along an axis: both ends, the middle of a long side, one for a side without length. */
static int stations(double half, double place[3]) {
    int count = 0;
    if (half > 0) place[count++] = -half;
    if (half == 0 || 2 * half > CONTACT_LONG_SIDE) place[count++] = 0;
    if (half > 0) place[count++] = half;
    return count;
}

static int capsule_balls(const capsule_shape *capsule, vec3 *centre) {
    vec3 axis = vec3_sub(capsule->b, capsule->a);
    double spaces = ceil(vec3_length(axis) / capsule->radius);
    int count = (int)fmin(spaces, CONTACT_CAPSULE - 1) + 1;
    for (int i = 0; i < count; i++) centre[i] = vec3_mul_add(capsule->a, axis, (double)i / (count - 1));
    return count;
}

/* A grid of at most 3 x 3 x 3 on the core, without the one in the middle of them all. */
static int box_balls(const box_shape *shape, vec3 *centre) {
    double x[3], y[3], z[3];
    int nx = stations(shape->half.x, x), ny = stations(shape->half.y, y), nz = stations(shape->half.z, z), count = 0;
    for (int i = 0; i < nx; i++)
        for (int j = 0; j < ny; j++)
            for (int k = 0; k < nz; k++) {
                bool inside = nx == 3 && ny == 3 && nz == 3 && i == 1 && j == 1 && k == 1;
                if (!inside) centre[count++] = vec3_add(shape->centre, vec3_make(x[i], y[j], z[k]));
            }
    return count;
}

static int cylinder_balls(const cylinder_shape *cylinder, vec3 *centre) {
    double y[3], r = cylinder->core_radius;
    int rims = stations(cylinder->half_length, y), count = 0;
    for (int i = 0; i < rims; i++) {
        for (int k = 0; k < CONTACT_RIM && r > 0; k++) {
            double angle = 2 * pi * k / CONTACT_RIM;
            centre[count++] = vec3_add(cylinder->centre, vec3_make(r * cos(angle), y[i], r * sin(angle)));
        }
        bool at_end = fabs(y[i]) == cylinder->half_length;
        if (r == 0 || (at_end && 2 * r > CONTACT_LONG_SIDE))
            centre[count++] = vec3_add(cylinder->centre, vec3_make(0, y[i], 0));
    }
    return count;
}

int contact_balls(const rigid_shape *shape, vec3 centre[CONTACT_BALLS_MOST], double *radius) {
    assert(shape->kind != THENAR_SHAPE_PLANE && shape->kind != THENAR_SHAPE_MESH);
    switch (shape->kind) {
    case THENAR_SHAPE_SPHERE:
        centre[0] = shape->sphere.centre;
        *radius = shape->sphere.radius;
        return 1;
    case THENAR_SHAPE_CAPSULE:
        *radius = shape->capsule.radius;
        return capsule_balls(&shape->capsule, centre);
    case THENAR_SHAPE_BOX:
        *radius = shape->box.radius;
        return box_balls(&shape->box, centre);
    case THENAR_SHAPE_CYLINDER:
        *radius = shape->cylinder.radius;
        return cylinder_balls(&shape->cylinder, centre);
    case THENAR_SHAPE_PLANE:
    case THENAR_SHAPE_MESH:
        break;
    }
    return 0;
}
