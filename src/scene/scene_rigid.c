#include "scene/scene_rigid.h"

#include "scene/scene_keys.h"
#include "world/model.h"

#include <stdlib.h>

static void read_mesh(config_map *shape, thenar_shape *out, thenar_surface *surface) {
    char *path;
    double scale = 1;
    config_number(shape, "scale", CONFIG_OPTIONAL, config_positive(""), &scale);
    if (!config_file(shape, "mesh", CONFIG_REQUIRED, &path)) return;
    thenar_error error;
    config_adopt(shape, "mesh", thenar_surface_load(path, surface, &error), error.text);
    for (int i = 0; i < 3 * surface->vertex_count; i++) surface->positions[i] *= scale;
    out->surface = surface;
    thenar_status status = shape->reader->status == THENAR_OK ? thenar_surface_check(surface, &error) : THENAR_OK;
    if (status == THENAR_ERROR_INPUT)
        config_fail(shape, "mesh", "%s: %s", path, error.text);
    else
        config_adopt(shape, "mesh", status, error.text);
    free(path);
}

static void read_plane(config_map *shape, thenar_shape *out) {
    config_map plane;
    vec3 normal = {0, 1, 0};
    if (!config_child(shape, "plane", CONFIG_REQUIRED, &plane)) return;
    config_vec3(&plane, "normal", CONFIG_OPTIONAL, config_any(""), &normal);
    config_close(&plane);
    vec3_store(out->normal, normal);
}

/* The numbers of one kind of shape, under its own key. */
static void read_kind(config_map *shape, thenar_shape *out, thenar_surface *surface) {
    double round[2] = {0};
    vec3 size = {0};
    switch (out->kind) {
    case THENAR_SHAPE_SPHERE:
        config_number(shape, "sphere", CONFIG_REQUIRED, config_positive("m"), &out->radius);
        return;
    case THENAR_SHAPE_BOX:
        config_vec3(shape, "box", CONFIG_REQUIRED, config_positive("m"), &size);
        vec3_store(out->size, size);
        return;
    case THENAR_SHAPE_CAPSULE:
    case THENAR_SHAPE_CYLINDER:
        config_numbers(shape, out->kind == THENAR_SHAPE_CAPSULE ? "capsule" : "cylinder", CONFIG_REQUIRED,
                       config_positive("m"), 2, round);
        out->radius = round[0];
        out->length = round[1];
        return;
    case THENAR_SHAPE_PLANE:
        read_plane(shape, out);
        return;
    case THENAR_SHAPE_MESH:
        read_mesh(shape, out, surface);
        return;
    }
}

static bool can_be_round(thenar_shape_kind kind) {
    return kind == THENAR_SHAPE_BOX || kind == THENAR_SHAPE_CYLINDER || kind == THENAR_SHAPE_MESH;
}

static void read_shape(config_map *body, thenar_rigid_def *def, thenar_surface *surface) {
    static const char *const kinds[] = {
        [THENAR_SHAPE_SPHERE] = "sphere",     [THENAR_SHAPE_BOX] = "box",     [THENAR_SHAPE_CAPSULE] = "capsule",
        [THENAR_SHAPE_CYLINDER] = "cylinder", [THENAR_SHAPE_PLANE] = "plane", [THENAR_SHAPE_MESH] = "mesh"};
    config_map shape;
    vec3 move = {0}, turn = {0};
    if (!config_child(body, "shape", CONFIG_REQUIRED, &shape)) return;
    int given = 0;
    for (int i = 0; i <= THENAR_SHAPE_MESH; i++) {
        if (!config_has(&shape, kinds[i])) continue;
        given++;
        def->shape.kind = (thenar_shape_kind)i;
    }
    if (given != 1)
        config_fail(&shape, NULL, "%s; expected sphere, box, capsule, cylinder, plane or mesh",
                    given == 0 ? "no shape" : "several shapes in one");
    read_kind(&shape, &def->shape, surface);
    if (can_be_round(def->shape.kind))
        config_number(&shape, "rounding", CONFIG_OPTIONAL, config_not_negative("m"), &def->shape.rounding);
    config_vec3(&shape, "move", CONFIG_OPTIONAL, config_any("m"), &move);
    config_vec3(&shape, "turn", CONFIG_OPTIONAL, config_any("rad"), &turn);
    config_close(&shape);
    vec3_store(def->move, move);
    vec3_store(def->turn, turn);
}

/* A dynamic body's way to be heavy and to start moving. */
static void read_dynamics(config_map *body, thenar_rigid_def *def) {
    config_map damping;
    vec3 velocity = {0}, spin = {0};
    config_vec3(body, "velocity", CONFIG_OPTIONAL, config_any("m/s"), &velocity);
    config_vec3(body, "spin", CONFIG_OPTIONAL, config_any("rad/s"), &spin);
    vec3_store(def->velocity, velocity);
    vec3_store(def->spin, spin);
    if (!config_child(body, "damping", CONFIG_OPTIONAL, &damping)) return;
    config_number(&damping, "linear", CONFIG_OPTIONAL, config_not_negative("1/s"), &def->damping_linear);
    config_number(&damping, "angular", CONFIG_OPTIONAL, config_not_negative("1/s"), &def->damping_angular);
    config_close(&damping);
}

static void read_mass(config_map *body, thenar_rigid_def *def) {
    double moments[3];
    config_number(body, "density", CONFIG_OPTIONAL, config_positive("kg/m^3"), &def->density);
    config_number(body, "mass", CONFIG_OPTIONAL, config_positive("kg"), &def->mass);
    if (config_has(body, "density") && config_has(body, "mass"))
        config_fail(body, "mass", "mass and density together; expected one of them");
    if (!config_numbers(body, "inertia", CONFIG_OPTIONAL, config_positive("kg m^2"), 3, moments)) return;
    for (int i = 0; i < 3; i++) def->inertia[4 * i] = moments[i];
}

static void read_path(config_map *body, thenar_rigid_def *def) {
    vec3 pivot = {0};
    def->keys = scene_keys_read(body, &def->key_count);
    config_bool(body, "linear", CONFIG_OPTIONAL, &def->linear);
    def->has_pivot = config_vec3(body, "pivot", CONFIG_OPTIONAL, config_any("m"), &pivot);
    vec3_store(def->pivot, pivot);
}

void scene_rigid_read(config_map *body, const char *name, thenar_build *build) {
    static const char *const motions[] = {"dynamic", "driven", "static"};
    thenar_rigid_def def = thenar_rigid_def_default();
    thenar_surface surface = {0};
    thenar_error error;
    int motion = THENAR_MOTION_DYNAMIC;
    def.name = name;
    config_choice(body, "motion", CONFIG_OPTIONAL, motions, 3, &motion);
    def.motion = (thenar_motion)motion;
    read_shape(body, &def, &surface);
    read_mass(body, &def);
    read_dynamics(body, &def);
    read_path(body, &def);
    config_bool(body, "touches", CONFIG_OPTIONAL, &def.touches);
    config_number(body, "friction", CONFIG_OPTIONAL, config_between(0, MODEL_FRICTION_LARGEST, ""), &def.friction);
    config_close(body);
    if (body->reader->status == THENAR_OK)
        config_adopt(body, NULL, thenar_build_add_rigid(build, &def, &error), error.text);
    free((void *)def.keys);
    thenar_surface_free(&surface);
}
