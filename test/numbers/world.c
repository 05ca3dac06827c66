/* A small world that has one of each, and attacks on all it is made of. */
#include "test.h"

#include "finite.h"
#include "numbers/areas.h"
#include "numbers/attack.h"
#include "numbers/parts.h"

static thenar_world_def world;
static thenar_support support;
static thenar_load load;
static thenar_soft_region soft_region;
static thenar_soft_def soft;
static thenar_rigid_def ground, block, driven;
static thenar_handle_def handle;
static thenar_sim_options options;
thenar_tet_mesh mesh;
thenar_key keys[3];

static void make_mesh(void) {
    const double low[3] = {0, 0.001, 0}, high[3] = {0.02, 0.011, 0.01};
    const int cells[3] = {2, 1, 1};
    thenar_error error;
    assert_ok(thenar_tet_mesh_box(low, high, cells, THENAR_LATTICE_CUBE, &mesh, &error), error);
}

void make_parts(void) {
    world = thenar_world_def_default();
    make_mesh();
    for (int i = 0; i < 3; i++) keys[i] = (thenar_key){.time = 0.01 * i, .move = {0, 0.001 * i, 0}};
    support = (thenar_support){.name = "held",
                               .region = {.kind = THENAR_REGION_BOX, .box_min = {-1, -1, -1}, .box_max = {1e-4, 1, 1}},
                               .keys = keys,
                               .key_count = 3,
                               .has_pivot = true};
    load = (thenar_load){.region = {.kind = THENAR_REGION_SPHERE, .centre = {0.02, 0, 0}, .radius = 0.02},
                         .force = {0, -0.1, 0}};
    soft_region =
        (thenar_soft_region){.region = {.kind = THENAR_REGION_HALF, .point = {0.01, 0, 0}, .normal = {1, 0, 0}},
                             .material = thenar_material_default()};
    soft = thenar_soft_def_default();
    soft.name = "soft";
    soft.mesh = &mesh;
    soft.supports = &support;
    soft.support_count = 1;
    soft.loads = &load;
    soft.load_count = 1;
    soft.regions = &soft_region;
    soft.region_count = 1;
    soft.material.stretch_min = 0.8;
    soft.material.stretch_max = 1.2;
    soft.material.fibres[0] = (thenar_fibre){.direction = {1, 0, 0}, .stretch_max = 1.1};
    ground = block = driven = thenar_rigid_def_default();
    ground.name = "ground";
    ground.motion = THENAR_MOTION_STATIC;
    ground.shape = (thenar_shape){.kind = THENAR_SHAPE_PLANE, .normal = {0, 1, 0}};
    block.name = "block";
    block.shape = (thenar_shape){.kind = THENAR_SHAPE_BOX, .size = {0.02, 0.01, 0.01}, .radius = 0.01, .length = 0.01};
    block.pose[0] = 0.01, block.pose[1] = 0.02, block.pose[2] = 0.005;
    driven.name = "driven";
    driven.motion = THENAR_MOTION_DRIVEN;
    driven.shape = (thenar_shape){.kind = THENAR_SHAPE_SPHERE, .radius = 0.005};
    driven.pose[0] = 0.1;
    driven.keys = keys;
    driven.key_count = 3;
    driven.has_pivot = true;
    handle = thenar_handle_def_default();
    handle.name = "handle";
    handle.tool = "soft";
    handle.seed[0] = 0.02;
    handle.radius = 0.015;
    handle.keys = keys;
    handle.key_count = 3;
    handle.has_pivot = true;
    handle.linearize = true;
    options = thenar_sim_options_default();
}

void free_parts(void) {
    thenar_tet_mesh_free(&mesh);
}

void step_contained(thenar_sim *sim, int steps) {
    for (int i = 0; i < steps; i++) {
        uint64_t failed = thenar_sim_warning_count(sim, THENAR_WARNING_STEP_FAILED);
        int soft_body = thenar_model_find_body(thenar_sim_model(sim), "soft");
        double before = soft_body >= 0 ? thenar_sim_positions(sim, soft_body)[3] : 0;
        thenar_status status = thenar_sim_step(sim);
        const char *nonsense = find_nonsense(sim);
        if (nonsense) {
            complain(nonsense);
            return;
        }
        assert_true(status == THENAR_OK || status == THENAR_ERROR_NUMERIC);
        assert_int_equal(thenar_sim_warning_count(sim, THENAR_WARNING_STEP_FAILED) - failed, status != THENAR_OK);
        if (status != THENAR_OK && soft_body >= 0) assert_true(thenar_sim_positions(sim, soft_body)[3] == before);
    }
}

static thenar_status add_parts(thenar_build *build, thenar_error *error) {
    thenar_status status = thenar_build_add_soft(build, &soft, error);
    if (status == THENAR_OK) status = thenar_build_add_rigid(build, &ground, error);
    if (status == THENAR_OK) status = thenar_build_add_rigid(build, &block, error);
    if (status == THENAR_OK) status = thenar_build_add_rigid(build, &driven, error);
    if (status == THENAR_OK) status = thenar_build_add_handle(build, &handle, error);
    return status;
}

static thenar_status make_sim(thenar_sim **sim, thenar_error *error) {
    thenar_model *model = NULL;
    *sim = NULL;
    thenar_build *build = thenar_build_create(&world);
    assert_non_null(build);
    thenar_status status = add_parts(build, error);
    if (status == THENAR_OK) status = thenar_build_compile(build, &model, error);
    thenar_build_free(build);
    if (status == THENAR_OK) status = thenar_sim_create(model, &options, sim, error);
    thenar_model_free(model);
    return status;
}

thenar_sim *make_small_sim(void) {
    thenar_error error;
    thenar_sim *sim;
    options.contact = THENAR_CONTACT_OF_MODEL;
    assert_ok(make_sim(&sim, &error), error);
    return sim;
}

static thenar_status use_world(thenar_error *error) {
    static const thenar_contact_method methods[] = {THENAR_CONTACT_POINT, THENAR_CONTACT_PENALTY,
                                                    THENAR_CONTACT_AGGREGATE};
    for (int i = 0; i < (all_are_tried() ? 3 : 2); i++) {
        thenar_sim *sim;
        options.contact = methods[i];
        thenar_status status = make_sim(&sim, error);
        if (status != THENAR_OK) return status;
        step_contained(sim, 2);
        thenar_sim_free(sim);
    }
    return THENAR_OK;
}

void attack_world(void) {
    attack_struct("thenar_world_def", &world, use_world);
}

static void attack_material(thenar_material *material) {
    attack_struct("thenar_material", material, use_world);
    attack_struct("thenar_fibre", &material->fibres[0], use_world);
}

/* A surface of its own, and how densely it touches. */
static void attack_skin(void) {
    thenar_surface surface;
    thenar_embedding embedding;
    thenar_error error;
    assert_ok(thenar_tet_mesh_surface(&mesh, &surface, &embedding, &error), error);
    double spacing[64] = {0};
    assert_true(surface.vertex_count <= 64);
    soft.surface = &surface;
    soft.embedding = &embedding;
    soft.contact_spacing_at = spacing;
    sparse = 2;
    attack_array("contact_spacing_at", spacing, 2, use_world);
    attack_array("surface", surface.positions, 6, use_world);
    attack_array("embedding", embedding.weights, 8, use_world);
    sparse = 1;
    soft.surface = NULL;
    soft.embedding = NULL;
    soft.contact_spacing_at = NULL;
    thenar_surface_free(&surface);
    thenar_embedding_free(&embedding);
}

void attack_soft(void) {
    attack_struct("thenar_soft_def", &soft, use_world);
    attack_material(&soft.material);
    attack_material(&soft_region.material);
    attack_struct("thenar_region", &soft_region.region, use_world);
    attack_struct("thenar_region", &support.region, use_world);
    sparse = 3; /* much the same again */
    attack_struct("thenar_region", &load.region, use_world);
    sparse = 1;
    attack_struct("thenar_support", &support, use_world);
    attack_struct("thenar_key", &keys[1], use_world);
    attack_struct("thenar_load", &load, use_world);
    attack_array("mesh", mesh.positions, 3 * 4, use_world);
    double fill[64];
    for (int i = 0; i < mesh.tet_count; i++) fill[i] = 1;
    soft.fill = fill;
    attack_array("fill", fill, 2, use_world);
    soft.fill = NULL;
    attack_skin();
}

void attack_rigid(void) {
    static const thenar_shape_kind kinds[] = {THENAR_SHAPE_SPHERE, THENAR_SHAPE_BOX, THENAR_SHAPE_CAPSULE,
                                              THENAR_SHAPE_CYLINDER};
    attack_struct("thenar_rigid_def", &block, use_world);
    attack_struct("thenar_rigid_def", &driven, use_world);
    for (int i = 0; i < COUNT(kinds); i++) {
        block.shape.kind = kinds[i];
        attack_struct("thenar_shape", &block.shape, use_world);
    }
    block.shape.kind = THENAR_SHAPE_BOX;
    attack_struct("thenar_shape", &ground.shape, use_world);
    thenar_surface surface;
    thenar_error error;
    assert_ok(thenar_surface_sphere(0.005, 1, &surface, &error), error);
    block.shape.kind = THENAR_SHAPE_MESH;
    block.shape.surface = &surface;
    attack_array("surface", surface.positions, 6, use_world);
    attack_array("thenar_shape.rounding", &block.shape.rounding, 1, use_world);
    block.shape.kind = THENAR_SHAPE_BOX;
    block.shape.surface = NULL;
    thenar_surface_free(&surface);
}

void attack_sim_create(void) {
    attack_struct("thenar_sim_options", &options, use_world);
}

void attack_handle(void) {
    attack_struct("thenar_handle_def", &handle, use_world);
}
