/* From the definition of a rigid body to its model: shape, mass, inertia, path. */
#include "body/rigid.h"

#include <stdlib.h>

#define SMALLEST_MASS 1e-12 /* kg */
#define LARGEST_MASS 1e15   /* kg */

thenar_rigid_def thenar_rigid_def_default(void) {
    return (thenar_rigid_def){.density = 1000, .touches = true, .friction = 0.5};
}

static bool is_zero(const double *values, int count) {
    for (int i = 0; i < count; i++)
        if (values[i] != 0) return false;
    return true;
}

static thenar_status check_motion(const thenar_rigid_def *def, thenar_error *error) {
    if ((unsigned)def->motion > THENAR_MOTION_STATIC)
        return error_set(error, THENAR_ERROR_INPUT, "unknown kind of motion %d", (int)def->motion);
    if (def->shape.kind == THENAR_SHAPE_PLANE && def->motion != THENAR_MOTION_STATIC)
        return error_set(error, THENAR_ERROR_INPUT, "a plane that moves; expected motion static");
    if (def->key_count > 0 && def->motion != THENAR_MOTION_DRIVEN)
        return error_set(error, THENAR_ERROR_INPUT, "keys for a body that is not driven; expected motion driven");
    bool moves = !is_zero(def->velocity, 3) || !is_zero(def->spin, 3);
    if (moves && def->motion != THENAR_MOTION_DYNAMIC)
        return error_set(error, THENAR_ERROR_INPUT,
                         "velocity or spin for a body that is not dynamic; expected motion dynamic");
    return THENAR_OK;
}

static thenar_status check_numbers(const thenar_rigid_def *def, thenar_error *error) {
    const double *vectors[] = {def->move, def->turn, def->velocity, def->spin};
    static const char *const names[] = {"move", "turn", "velocity", "spin"};
    for (int i = 0; i < 4; i++)
        if (!body_within(vectors[i], 3, i < 2 ? BODY_FARTHEST : BODY_FASTEST))
            return error_set(error, THENAR_ERROR_INPUT,
                             "%s is not finite or too large: (%g, %g, %g); expected up to %g", names[i], vectors[i][0],
                             vectors[i][1], vectors[i][2], i < 2 ? BODY_FARTHEST : BODY_FASTEST);
    if (!(def->damping_linear >= 0 && def->damping_angular >= 0 &&
          isfinite(def->damping_linear + def->damping_angular)))
        return error_set(error, THENAR_ERROR_INPUT, "damping is %g and %g; expected >= 0 1/s", def->damping_linear,
                         def->damping_angular);
    if (!(def->mass >= 0) || !isfinite(def->mass))
        return error_set(error, THENAR_ERROR_INPUT, "mass is %g; expected > 0 kg, or 0 to take it from the density",
                         def->mass);
    if (def->mass == 0 && !(def->density > 0 && isfinite(def->density)))
        return error_set(error, THENAR_ERROR_INPUT, "density is %g; expected > 0 kg/m^3", def->density);
    return THENAR_OK;
}

static thenar_status check(const thenar_rigid_def *def, thenar_error *error) {
    if (!def->name || !*def->name) return error_set(error, THENAR_ERROR_INPUT, "a rigid body has no name");
    thenar_status status = rigid_shape_check(&def->shape, error);
    if (status == THENAR_OK) status = check_motion(def, error);
    if (status == THENAR_OK) status = check_numbers(def, error);
    thenar_support path = {
        .name = def->name, .keys = def->keys, .key_count = def->key_count, .has_pivot = def->has_pivot};
    vec3_store(path.pivot, vec3_load(def->pivot));
    return status == THENAR_OK ? support_check(&path, error) : status;
}

/* All leading minors are larger than those of tiny times the trace. */
static bool is_positive(mat3 a) {
    double scale = mat3_trace(a);
    if (!(scale > 0) || !isfinite(scale)) return false;
    mat3 s = mat3_scale(a, 1 / scale);
    double tiny = 1e-12;
    return s.m[0] > tiny && s.m[0] * s.m[4] - s.m[1] * s.m[3] > tiny * tiny && mat3_determinant(s) > tiny * tiny * tiny;
}

/* An inertia is symmetric, positive, and no moment is larger than the sum of the others: S = tr(I)/2 1 - I, which sums
 * up m x x^T, has no negative direction. */
static bool is_inertia(mat3 inertia) {
    double size = mat3_trace(inertia);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < i; j++)
            if (!(fabs(inertia.m[3 * i + j] - inertia.m[3 * j + i]) <= 1e-9 * size)) return false;
    mat3 second = mat3_add(mat3_scale(mat3_identity(), (0.5 + 1e-9) * size), mat3_scale(inertia, -1));
    return is_positive(inertia) && is_positive(second);
}

/* Mass and inertia; `centre` is the centre of mass in the shape's own axes. */
static thenar_status weigh(rigid_model *body, const thenar_rigid_def *def, vec3 *centre, thenar_error *error) {
    mass_properties shape = rigid_shape_mass(&def->shape);
    *centre = shape.centre;
    if (def->shape.kind == THENAR_SHAPE_PLANE) return THENAR_OK;
    body->mass = def->mass > 0 ? def->mass : def->density * shape.mass;
    if (!(body->mass >= SMALLEST_MASS && body->mass <= LARGEST_MASS))
        return error_set(error, THENAR_ERROR_INPUT, "the mass is %g kg; expected %g to %g kg", body->mass,
                         SMALLEST_MASS, LARGEST_MASS);
    bool given = !is_zero(def->inertia, 9);
    for (int i = 0; i < 9; i++)
        body->inertia.m[i] = given ? def->inertia[i] : shape.inertia.m[i] * (body->mass / shape.mass);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < i; j++) body->inertia.m[3 * j + i] = body->inertia.m[3 * i + j];
    if (!is_inertia(given ? *(const mat3 *)def->inertia : body->inertia))
        return error_set(error, THENAR_ERROR_INPUT,
                         "%s is no inertia; expected a symmetric positive matrix with no moment larger than the sum of "
                         "the two others",
                         given ? "what is given as one" : "what the shape has");
    return THENAR_OK;
}

static thenar_status build_path(rigid_model *body, const thenar_rigid_def *def, thenar_error *error) {
    body->path.keys = memory_copy(def->keys, (size_t)def->key_count * sizeof *def->keys);
    if (!body->path.keys) return error_memory(error, def->name);
    body->path.key_count = def->key_count;
    body->path.linear = def->linear;
    body->path.pivot = def->has_pivot ? vec3_load(def->pivot) : body->position;
    return THENAR_OK;
}

static thenar_status build(rigid_model *body, const thenar_rigid_def *def, thenar_error *error) {
    body->base.kind = &rigid_class;
    body->base.name = memory_string(def->name);
    if (!body->base.name) return error_memory(error, def->name);
    body->motion = def->motion;
    body->damping_linear = def->damping_linear;
    body->damping_angular = def->damping_angular;
    body->velocity = vec3_load(def->velocity);
    body->spin = vec3_load(def->spin);
    vec3 centre;
    thenar_status status = weigh(body, def, &centre, error);
    if (status != THENAR_OK) return status;
    body->orientation = quat_from_rotation_vector(vec3_load(def->turn));
    body->position = vec3_add(vec3_load(def->move), quat_rotate(body->orientation, centre));
    status = rigid_shape_create(&def->shape, centre, &body->shape, error);
    return status == THENAR_OK ? build_path(body, def, error) : status;
}

thenar_status rigid_model_create(const thenar_rigid_def *def, rigid_model **out, thenar_error *error) {
    *out = NULL;
    thenar_status status = check(def, error);
    if (status != THENAR_OK) return status;
    rigid_model *body = MEMORY_ARRAY(rigid_model, 1);
    if (!body) return error_memory(error, def->name);
    status = build(body, def, error);
    if (status == THENAR_OK)
        *out = body;
    else
        rigid_model_free(&body->base);
    return status;
}

void rigid_model_free(body_model *base) {
    rigid_model *body = (rigid_model *)base;
    rigid_shape_free(&body->shape);
    support_free(&body->path);
    free(body->base.name);
    free(body);
}
