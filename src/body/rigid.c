/* Builds a rigid body from its definition: shape, mass, inertia, path. */
#include "body/rigid.h"

#include "mesh/mesh.h"

#include <stdlib.h>
#include <string.h>

#define SHOWN_ROUND 8   /* resolution of the triangles that show a round shape */
#define SHOWN_PLANE 2.0 /* m, side of the square that shows a plane */
#define GRID_CELLS 16   /* along the longest side of a mesh */
#define TOUCHING 1e-9   /* share of a mesh's extent: closer than this, rounding decides the direction to the surface */
#define SMALLEST_LENGTH 1e-6 /* m */
#define LARGEST_LENGTH 1e6   /* m */

static const double pi = 3.14159265358979323846;

static thenar_status check_length(const char *what, double value, thenar_error *error) {
    if (value >= SMALLEST_LENGTH && value <= LARGEST_LENGTH) return THENAR_OK;
    return error_set(error, THENAR_ERROR_INPUT, "the %s is %g m; expected %g to %g m", what, value, SMALLEST_LENGTH,
                     LARGEST_LENGTH);
}

static thenar_status check_rounding(double rounding, double largest, thenar_error *error) {
    if (rounding >= 0 && rounding <= largest) return THENAR_OK;
    return error_set(error, THENAR_ERROR_INPUT, "the rounding is %g m; expected 0 to %g m", rounding, largest);
}

static double min_of(const double size[3]) {
    return fmin(size[0], fmin(size[1], size[2]));
}

/* Checks the numbers of a shape, whatever body it is for. */
static thenar_status rigid_shape_check(const thenar_shape *def, thenar_error *error) {
    thenar_status status = THENAR_OK;
    switch (def->kind) {
    case THENAR_SHAPE_SPHERE:
        return check_length("radius", def->radius, error);
    case THENAR_SHAPE_BOX:
        for (int i = 0; i < 3 && status == THENAR_OK; i++) status = check_length("size", def->size[i], error);
        return status == THENAR_OK ? check_rounding(def->rounding, min_of(def->size) / 2, error) : status;
    case THENAR_SHAPE_CAPSULE:
    case THENAR_SHAPE_CYLINDER:
        status = check_length("radius", def->radius, error);
        if (status == THENAR_OK) status = check_length("length", def->length, error);
        if (status != THENAR_OK || def->kind == THENAR_SHAPE_CAPSULE) return status;
        return check_rounding(def->rounding, fmin(def->radius, def->length / 2), error);
    case THENAR_SHAPE_PLANE: {
        double length = vec3_length(vec3_load(def->normal));
        if (length > 0 && isfinite(length)) return THENAR_OK;
        return error_set(error, THENAR_ERROR_INPUT, "the normal of a plane has length %g; expected a direction",
                         length);
    }
    case THENAR_SHAPE_MESH:
        if (!def->surface) return error_set(error, THENAR_ERROR_INPUT, "a shape of a mesh has no surface");
        status = surface_validate(def->surface, error);
        return status == THENAR_OK ? check_rounding(def->rounding, LARGEST_LENGTH, error) : status;
    }
    return error_set(error, THENAR_ERROR_INPUT, "unknown kind of shape %d", (int)def->kind);
}

/* From the integrals of x^2, y^2, z^2 over a solid that is symmetric in all three. */
static mass_properties symmetric(double volume, vec3 squares) {
    return (mass_properties){
        .mass = volume, .inertia = mat3_diagonal(squares.y + squares.z, squares.x + squares.z, squares.x + squares.y)};
}

/* In each octant, a box with half sizes a, b, c grown by r is the core, a slab on each face, a quarter cylinder on
 * each edge and an eighth of a ball at the corner. The integral of x^2 over one octant: */
static double box_square(double a, double b, double c, double r) {
    double r2 = r * r, r3 = r2 * r, along = a * a * a / 3;
    double slabs = b * c * (pow(a + r, 3) / 3 - along) + along * r * (b + c);
    double quarter = a * a * pi * r2 / 4 + 2 * a * r3 / 3 + pi * r2 * r2 / 16;
    double ball = a * a * pi * r3 / 6 + a * pi * r2 * r2 / 8 + pi * r3 * r2 / 30;
    return along * b * c + slabs + (b + c) * quarter + along * pi * r2 / 4 + ball;
}

static mass_properties box_mass(const thenar_shape *def) {
    double r = def->rounding, a = def->size[0] / 2 - r, b = def->size[1] / 2 - r, c = def->size[2] / 2 - r;
    double octant = a * b * c + r * (a * b + b * c + c * a) + pi * r * r / 4 * (a + b + c) + pi * r * r * r / 6;
    vec3 squares = {8 * box_square(a, b, c, r), 8 * box_square(b, c, a, r), 8 * box_square(c, a, b, r)};
    return symmetric(8 * octant, squares);
}

/* Discs of radius rho along y: volume int pi rho^2, x^2 and z^2 each int pi rho^4 / 4, y^2 int pi rho^2 y^2. On the
 * straight part, of half length `half`, rho is the radius; at each end rho = A + sqrt(r^2 - t^2) with t up to r. A
 * cylinder with rounding r has A = radius - r; a capsule has A = 0 and r = radius. */
static mass_properties round_mass(double radius, double half, double A, double r) {
    double r2 = r * r, r3 = r2 * r, r4 = r2 * r2, r5 = r4 * r, A2 = A * A;
    double end2 = A2 * r + A * pi * r2 / 2 + 2 * r3 / 3;
    double end4 = A2 * A2 * r + A2 * A * pi * r2 + 4 * A2 * r3 + 3 * A * pi * r4 / 4 + 8 * r5 / 15;
    double end2_t = A2 * r2 / 2 + 2 * A * r3 / 3 + r4 / 4;
    double end2_tt = A2 * r3 / 3 + A * pi * r4 / 8 + 2 * r5 / 15;
    double square = radius * radius;
    double across = pi / 2 * (square * square * half + end4);
    double along = 2 * pi * (square * half * half * half / 3 + half * half * end2 + 2 * half * end2_t + end2_tt);
    return symmetric(2 * pi * (square * half + end2), vec3_make(across, along, across));
}

mass_properties rigid_shape_mass(const thenar_shape *def) {
    double r = def->radius, square = 4 * pi / 15 * r * r * r * r * r;
    switch (def->kind) {
    case THENAR_SHAPE_SPHERE:
        return symmetric(4 * pi / 3 * r * r * r, vec3_make(square, square, square));
    case THENAR_SHAPE_BOX:
        return box_mass(def);
    case THENAR_SHAPE_CAPSULE:
        return round_mass(r, def->length / 2, 0, r);
    case THENAR_SHAPE_CYLINDER:
        return round_mass(r, def->length / 2 - def->rounding, r - def->rounding, def->rounding);
    case THENAR_SHAPE_MESH:
        return mass_of_surface(def->surface, 1);
    case THENAR_SHAPE_PLANE:
        break;
    }
    return (mass_properties){0};
}

static rigid_closest closest_of_mesh(const rigid_shape *shape, vec3 point) {
    closest_point closest = surface_distance_query(&shape->mesh, point);
    vec3 extent = vec3_sub(shape->mesh.bounds.high, shape->mesh.bounds.low);
    bool touching = fabs(closest.distance) < TOUCHING * vec3_length(extent);
    return (rigid_closest){.distance = closest.distance - shape->growth,
                           .normal = touching ? closest.pseudonormal : closest.normal,
                           .triangle = closest.triangle};
}

static double evaluate_mesh(const void *context, vec3 point, vec3 *normal) {
    rigid_closest closest = closest_of_mesh(context, point);
    if (normal) *normal = closest.normal;
    return closest.distance;
}

rigid_closest rigid_shape_closest(const rigid_shape *shape, vec3 point) {
    rigid_closest result = {.triangle = -1};
    if (shape->kind == THENAR_SHAPE_MESH)
        result = closest_of_mesh(shape, point);
    else
        result.distance = signed_distance_at(&shape->solid, point, &result.normal);
    result.point = vec3_mul_add(point, result.normal, -result.distance);
    return result;
}

static int cell_along(const rigid_grid *grid, int axis, double from_low) {
    int cell = (int)(from_low / grid->size);
    return cell < grid->cells[axis] ? cell : grid->cells[axis] - 1;
}

/* Moving a point by e changes its distance by at most e, and no mesh is nearer than its box. */
static double min_mesh_distance(const rigid_shape *shape, vec3 point) {
    const box *bounds = &shape->mesh.bounds;
    const rigid_grid *grid = &shape->grid;
    vec3 inside = vec3_min(vec3_max(point, bounds->low), bounds->high), from = vec3_sub(inside, bounds->low);
    int x = cell_along(grid, 0, from.x), y = cell_along(grid, 1, from.y), z = cell_along(grid, 2, from.z);
    double min =
        (double)grid->min[((size_t)z * (size_t)grid->cells[1] + (size_t)y) * (size_t)grid->cells[0] + (size_t)x];
    double outside = vec3_distance(point, inside);
    return fmax(min - outside, outside > 0 ? outside : -INFINITY) - shape->growth;
}

static bool build_grid(rigid_shape *shape) {
    rigid_grid *grid = &shape->grid;
    vec3 low = shape->mesh.bounds.low, extent = vec3_sub(shape->mesh.bounds.high, low);
    grid->size = fmax(extent.x, fmax(extent.y, extent.z)) / GRID_CELLS;
    const double extents[3] = {extent.x, extent.y, extent.z};
    for (int i = 0; i < 3; i++) grid->cells[i] = (int)fmax(1, fmin(GRID_CELLS, ceil(extents[i] / grid->size)));
    size_t count = (size_t)grid->cells[0] * (size_t)grid->cells[1] * (size_t)grid->cells[2];
    grid->min = MEMORY_ARRAY(float, count);
    if (!grid->min) return false;
    double reach = grid->size * sqrt(3) / 2 * (1 + 1e-6);
    for (size_t i = 0; i < count; i++) {
        size_t x = i % (size_t)grid->cells[0], y = i / (size_t)grid->cells[0] % (size_t)grid->cells[1];
        size_t z = i / (size_t)grid->cells[0] / (size_t)grid->cells[1];
        vec3 middle = vec3_mul_add(low, vec3_make((double)x + 0.5, (double)y + 0.5, (double)z + 0.5), grid->size);
        double min = surface_distance_query(&shape->mesh, middle).distance - reach;
        grid->min[i] = (float)(min - fabs(min) * 1e-6); /* a lower bound, whichever way it is rounded */
    }
    return true;
}

double rigid_shape_min_distance(const rigid_shape *shape, vec3 point) {
    if (shape->kind == THENAR_SHAPE_MESH) return min_mesh_distance(shape, point);
    return signed_distance_at(&shape->solid, point, NULL);
}

/* A square in the plane, visible from the side of the normal. */
static thenar_status show_plane(vec3 normal, thenar_surface *out, thenar_error *error) {
    thenar_status status = surface_create(4, 2, out, error);
    if (status != THENAR_OK) return status;
    vec3 other = fabs(normal.x) < 0.5 ? vec3_make(1, 0, 0) : vec3_make(0, 0, 1);
    vec3 along = vec3_scale(vec3_unit(vec3_cross(other, normal)), SHOWN_PLANE / 2), across = vec3_cross(normal, along);
    const int triangles[] = {0, 1, 2, 0, 2, 3};
    vec3_store(out->positions, vec3_scale(vec3_add(along, across), -1));
    vec3_store(out->positions + 3, vec3_sub(along, across));
    vec3_store(out->positions + 6, vec3_add(along, across));
    vec3_store(out->positions + 9, vec3_sub(across, along));
    memcpy(out->triangles, triangles, sizeof triangles);
    return THENAR_OK;
}

static thenar_status show(const thenar_shape *def, thenar_surface *out, thenar_error *error) {
    switch (def->kind) {
    case THENAR_SHAPE_SPHERE:
        return thenar_surface_sphere(def->radius, SHOWN_ROUND, out, error);
    case THENAR_SHAPE_BOX:
        return thenar_surface_box(def->size, 1, out, error);
    case THENAR_SHAPE_CAPSULE:
        return thenar_surface_capsule(def->radius, def->length, SHOWN_ROUND, out, error);
    case THENAR_SHAPE_CYLINDER:
        return thenar_surface_cylinder(def->radius, def->length, SHOWN_ROUND, out, error);
    case THENAR_SHAPE_PLANE:
        return show_plane(vec3_unit(vec3_load(def->normal)), out, error);
    case THENAR_SHAPE_MESH:
        return surface_copy(def->surface, out, error);
    }
    return THENAR_OK;
}

/* The surface is already in the frame of the body. */
static thenar_status prepare_distance(const thenar_shape *def, vec3 centre, rigid_shape *shape, thenar_error *error) {
    vec3 middle = vec3_scale(centre, -1), half_axis = {0, def->length / 2, 0}, all = {1, 1, 1};
    thenar_status status = THENAR_OK;
    switch (def->kind) {
    case THENAR_SHAPE_SPHERE:
        shape->sphere = (sphere_shape){middle, def->radius};
        shape->solid = signed_distance_of_sphere(&shape->sphere);
        break;
    case THENAR_SHAPE_BOX:
        shape->box = (box_shape){middle, vec3_mul_add(vec3_scale(vec3_load(def->size), 0.5), all, -def->rounding),
                                 def->rounding};
        shape->solid = signed_distance_of_box(&shape->box);
        break;
    case THENAR_SHAPE_CAPSULE:
        shape->capsule = (capsule_shape){vec3_sub(middle, half_axis), vec3_add(middle, half_axis), def->radius};
        shape->solid = signed_distance_of_capsule(&shape->capsule);
        break;
    case THENAR_SHAPE_CYLINDER:
        shape->cylinder =
            (cylinder_shape){middle, def->radius - def->rounding, def->length / 2 - def->rounding, def->rounding};
        shape->solid = signed_distance_of_cylinder(&shape->cylinder);
        break;
    case THENAR_SHAPE_PLANE:
        shape->plane.normal = vec3_unit(vec3_load(def->normal));
        shape->plane.offset = vec3_dot(shape->plane.normal, middle);
        shape->solid = signed_distance_of_plane(&shape->plane);
        break;
    case THENAR_SHAPE_MESH:
        shape->growth = def->rounding;
        status = surface_distance_create(&shape->surface, &shape->mesh, error);
        if (status == THENAR_OK && !build_grid(shape)) status = error_memory(error, "grid of distances");
        shape->solid = (signed_distance){
            .evaluate = evaluate_mesh, .context = shape, .bounds = box_grow(shape->mesh.bounds, shape->growth)};
        break;
    }
    return status;
}

thenar_status rigid_shape_create(const thenar_shape *def, vec3 centre, rigid_shape *out, thenar_error *error) {
    *out = (rigid_shape){.kind = def->kind};
    thenar_status status = show(def, &out->surface, error);
    for (int i = 0; i < out->surface.vertex_count && status == THENAR_OK; i++)
        vec3_store(out->surface.positions + 3 * i, vec3_sub(surface_vertex(&out->surface, i), centre));
    if (status == THENAR_OK) status = prepare_distance(def, centre, out, error);
    if (status != THENAR_OK) rigid_shape_free(out);
    return status;
}

void rigid_shape_free(rigid_shape *shape) {
    if (shape->kind == THENAR_SHAPE_MESH) surface_distance_free(&shape->mesh);
    free(shape->grid.min);
    thenar_surface_free(&shape->surface);
    *shape = (rigid_shape){0};
}

#define SMALLEST_MASS 1e-12 /* kg */
#define LARGEST_MASS 1e15   /* kg */

thenar_status thenar_rigid_def_init(thenar_rigid_def *def, size_t size) {
    const thenar_rigid_def defaults = {
        .density = 1000, .pose = {0, 0, 0, 0, 0, 0, 1}, .touches = true, .friction = 0.5};
    return sized_give(def, size, &defaults, sizeof defaults, "thenar_rigid_def");
}

static const char *const motions[] = {"dynamic", "driven", "static"};
NAMES(thenar_motion, motions)

static const char *const shapes[] = {"sphere", "box", "capsule", "cylinder", "plane", "mesh"};
NAMES(thenar_shape_kind, shapes)

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
    const double *vectors[] = {def->pose, def->velocity, def->spin};
    static const char *const names[] = {"the position", "velocity", "spin"};
    for (int i = 0; i < 3; i++)
        if (!body_within(vectors[i], 3, i < 1 ? BODY_FARTHEST : BODY_FASTEST))
            return error_set(error, THENAR_ERROR_INPUT,
                             "%s is not finite or too large: (%g, %g, %g); expected up to %g", names[i], vectors[i][0],
                             vectors[i][1], vectors[i][2], i < 1 ? BODY_FARTHEST : BODY_FASTEST);
    if (!pose_has_orientation(def->pose))
        return error_set(error, THENAR_ERROR_INPUT, "the orientation is (%g, %g, %g, %g); expected a quaternion",
                         def->pose[3], def->pose[4], def->pose[5], def->pose[6]);
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

/* All leading minors exceed those of a tiny multiple of the trace. */
static bool is_positive(mat3 a) {
    double scale = mat3_trace(a);
    if (!(scale > 0) || !isfinite(scale)) return false;
    mat3 s = mat3_scale(a, 1 / scale);
    double tiny = 1e-12;
    return s.m[0] > tiny && s.m[0] * s.m[4] - s.m[1] * s.m[3] > tiny * tiny && mat3_determinant(s) > tiny * tiny * tiny;
}

/* An inertia is symmetric and positive, and no principal moment exceeds the sum of the others: S = tr(I)/2 1 - I, the
 * sum of m x x^T, is positive semidefinite. */
static bool is_inertia(mat3 inertia) {
    double size = mat3_trace(inertia);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < i; j++)
            if (!(fabs(inertia.m[3 * i + j] - inertia.m[3 * j + i]) <= 1e-9 * size)) return false;
    mat3 second = mat3_add(mat3_scale(mat3_identity(), (0.5 + 1e-9) * size), mat3_scale(inertia, -1));
    return is_positive(inertia) && is_positive(second);
}

/* Mass and inertia; `centre` is the centre of mass in the axes of the shape. */
static thenar_status weigh(rigid_model *body, const thenar_rigid_def *def, vec3 *centre, thenar_error *error) {
    mass_properties shape = rigid_shape_mass(&def->shape);
    *centre = shape.centre;
    if (def->shape.kind == THENAR_SHAPE_PLANE) return THENAR_OK;
    body->base.mass = def->mass > 0 ? def->mass : def->density * shape.mass;
    if (!(body->base.mass >= SMALLEST_MASS && body->base.mass <= LARGEST_MASS))
        return error_set(error, THENAR_ERROR_INPUT, "the mass is %g kg; expected %g to %g kg", body->base.mass,
                         SMALLEST_MASS, LARGEST_MASS);
    bool given = !is_zero(def->inertia, 9);
    for (int i = 0; i < 9; i++)
        body->inertia.m[i] = given ? def->inertia[i] : shape.inertia.m[i] * (body->base.mass / shape.mass);
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
    body->base.surface = &body->shape.surface;
    body->base.system_node_count = def->motion == THENAR_MOTION_DYNAMIC ? RIGID_NODES : 0;
    body->motion = def->motion;
    body->damping_linear = def->damping_linear;
    body->damping_angular = def->damping_angular;
    body->velocity = vec3_load(def->velocity);
    body->spin = vec3_load(def->spin);
    vec3 centre;
    thenar_status status = weigh(body, def, &centre, error);
    if (status != THENAR_OK) return status;
    body->orientation = pose_orientation(def->pose);
    body->position = vec3_add(vec3_load(def->pose), quat_rotate(body->orientation, centre));
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
