/* Bad numbers into every input of the API: each is refused with a reason, or contained: whatever can be read afterwards
 * is a number, and a step that failed is counted and left the state as it was.
 *
 * `functions` has a row for every public function, and `structs` one for every number of a struct that goes in: both are
 * compared with the headers, so that a new function or field without a row fails. */
#include "test.h"

#include "finite.h"

#include "base/hash.h"
#include "thenar/thenar.h"

#include <ctype.h>
#include <time.h>

static const double bad_numbers[] = {NAN, INFINITY, -INFINITY, 1e30, -1e30, 1e300, -1e300, 5e-324, 1e-300, -0.0};
#define BAD_COUNT ((int)(sizeof bad_numbers / sizeof *bad_numbers))

static long tried, refused, broken; /* of all rows */
static char under_attack[160];
static int sparse = 1, attempts; /* of the attacks on a struct, only every so many are tried */

/* Told, and counted: one run shows all that is wrong. */
static void complain(const char *what) {
    print_error("%s: %s\n", under_attack, what);
    broken++;
}

/* ---- numbers in a struct ---- */

typedef struct field {
    const char *name;
    size_t offset;
    int count;
} field;

#define FIELD(type, member)                                                                                            \
    { #member, offsetof(type, member), (int)(sizeof(((type *)0)->member) / sizeof(double)) }
#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

/* Tries a world, or whatever has the struct in it. Refused: not THENAR_OK, and error has the reason. */
typedef thenar_status (*attempt)(thenar_error *error);

static void try_once(attempt use) {
    thenar_error error = {0};
    thenar_status status = use(&error);
    tried++;
    if (status == THENAR_OK) return;
    refused++;
    if (status != THENAR_ERROR_INPUT) complain(error.text);
    if (!error.text[0]) complain("refused without a reason");
}

/* Each number of the struct in turn is each bad number; `use` knows the struct. */
static void attack(const char *type, void *base, const field *fields, int count, attempt use) {
    for (int f = 0; f < count; f++)
        for (int k = 0; k < fields[f].count; k++)
            for (int i = 0; i < BAD_COUNT; i++) {
                double *at = (double *)(void *)((char *)base + fields[f].offset) + k, good = *at;
                snprintf(under_attack, sizeof under_attack, "%s.%s[%d] = %g", type, fields[f].name, k, bad_numbers[i]);
                if (attempts++ % sparse != 0) continue;
                *at = bad_numbers[i];
                try_once(use);
                *at = good;
            }
}

static const field world_fields[] = {FIELD(thenar_world_def, gravity), FIELD(thenar_world_def, dt),
                                     FIELD(thenar_world_def, margin), FIELD(thenar_world_def, contact_stiffness),
                                     FIELD(thenar_world_def, contact_damping)};
static const field fibre_fields[] = {FIELD(thenar_fibre, direction), FIELD(thenar_fibre, min),
                                     FIELD(thenar_fibre, max)};
static const field material_fields[] = {FIELD(thenar_material, young),
                                        FIELD(thenar_material, poisson),
                                        FIELD(thenar_material, density),
                                        FIELD(thenar_material, damping_mass),
                                        FIELD(thenar_material, damping_stiffness),
                                        FIELD(thenar_material, stretch_min),
                                        FIELD(thenar_material, stretch_max)};
static const field region_fields[] = {FIELD(thenar_region, a), FIELD(thenar_region, b), FIELD(thenar_region, radius)};
static const field key_fields[] = {FIELD(thenar_key, time), FIELD(thenar_key, move), FIELD(thenar_key, turn)};
static const field support_fields[] = {FIELD(thenar_support, pivot), FIELD(thenar_support, stiffness),
                                       FIELD(thenar_support, damping)};
static const field load_fields[] = {FIELD(thenar_load, force)};
static const field soft_fields[] = {FIELD(thenar_soft_def, velocity), FIELD(thenar_soft_def, spin),
                                    FIELD(thenar_soft_def, friction), FIELD(thenar_soft_def, self_distance),
                                    FIELD(thenar_soft_def, contact_spacing)};
static const field shape_fields[] = {FIELD(thenar_shape, radius), FIELD(thenar_shape, length),
                                     FIELD(thenar_shape, size), FIELD(thenar_shape, normal),
                                     FIELD(thenar_shape, rounding)};
static const field rigid_fields[] = {
    FIELD(thenar_rigid_def, density), FIELD(thenar_rigid_def, mass),           FIELD(thenar_rigid_def, inertia),
    FIELD(thenar_rigid_def, move),    FIELD(thenar_rigid_def, turn),           FIELD(thenar_rigid_def, velocity),
    FIELD(thenar_rigid_def, spin),    FIELD(thenar_rigid_def, damping_linear), FIELD(thenar_rigid_def, damping_angular),
    FIELD(thenar_rigid_def, pivot),   FIELD(thenar_rigid_def, friction)};
static const field sim_fields[] = {FIELD(thenar_sim_options, dt)};
static const field hand_key_fields[] = {FIELD(thenar_hand_key, time), FIELD(thenar_hand_key, share)};
static const field hand_fields[] = {FIELD(thenar_hand_def, length),
                                    FIELD(thenar_hand_def, breadth),
                                    FIELD(thenar_hand_def, move),
                                    FIELD(thenar_hand_def, turn),
                                    FIELD(thenar_hand_def, joint_stretch_min),
                                    FIELD(thenar_hand_def, joint_stretch_max),
                                    FIELD(thenar_hand_def, bone_share),
                                    FIELD(thenar_hand_def, flesh_stiffness),
                                    FIELD(thenar_hand_def, flesh_damping),
                                    FIELD(thenar_hand_def, skin_share),
                                    FIELD(thenar_hand_def, joint_stiffness),
                                    FIELD(thenar_hand_def, joint_damping),
                                    FIELD(thenar_hand_def, base_stiffness),
                                    FIELD(thenar_hand_def, base_damping),
                                    FIELD(thenar_hand_def, base_turn_stiffness),
                                    FIELD(thenar_hand_def, base_turn_damping),
                                    FIELD(thenar_hand_def, most_force),
                                    FIELD(thenar_hand_def, most_torque),
                                    FIELD(thenar_hand_def, bone_coupling),
                                    FIELD(thenar_hand_def, friction),
                                    FIELD(thenar_hand_def, contact_spacing),
                                    FIELD(thenar_hand_def, self_distance),
                                    FIELD(thenar_hand_def, smoothing)};
static const field handle_fields[] = {FIELD(thenar_handle_def, seed),
                                      FIELD(thenar_handle_def, radius),
                                      FIELD(thenar_handle_def, spring_stiffness),
                                      FIELD(thenar_handle_def, spring_damping),
                                      FIELD(thenar_handle_def, stiffness),
                                      FIELD(thenar_handle_def, damping),
                                      FIELD(thenar_handle_def, turn_stiffness),
                                      FIELD(thenar_handle_def, turn_damping),
                                      FIELD(thenar_handle_def, most_force),
                                      FIELD(thenar_handle_def, most_torque),
                                      FIELD(thenar_handle_def, pivot)};
static const field mesh_fields[] = {FIELD(thenar_mesh_options, cell_size), FIELD(thenar_mesh_options, fit_quality)};
static const field linear_fields[] = {
    FIELD(thenar_haptic_linear, position),    FIELD(thenar_haptic_linear, orientation),
    FIELD(thenar_haptic_linear, velocity),    FIELD(thenar_haptic_linear, force),
    FIELD(thenar_haptic_linear, stiffness),   FIELD(thenar_haptic_linear, damping),
    FIELD(thenar_haptic_linear, viscosity),   FIELD(thenar_haptic_linear, time),
    FIELD(thenar_haptic_linear, step_length), FIELD(thenar_haptic_linear, inertia)};
static const field settings_fields[] = {
    FIELD(thenar_haptic_settings, stiffness),       FIELD(thenar_haptic_settings, damping),
    FIELD(thenar_haptic_settings, turn_stiffness),  FIELD(thenar_haptic_settings, turn_damping),
    FIELD(thenar_haptic_settings, proxy_mass),      FIELD(thenar_haptic_settings, proxy_inertia),
    FIELD(thenar_haptic_settings, most_force),      FIELD(thenar_haptic_settings, most_torque),
    FIELD(thenar_haptic_settings, force_slew),      FIELD(thenar_haptic_settings, torque_slew),
    FIELD(thenar_haptic_settings, stale_after),     FIELD(thenar_haptic_settings, silent_after),
    FIELD(thenar_haptic_settings, fade_time),       FIELD(thenar_haptic_settings, recover_time),
    FIELD(thenar_haptic_settings, jump_distance),   FIELD(thenar_haptic_settings, jump_speed),
    FIELD(thenar_haptic_settings, velocity_cutoff), FIELD(thenar_haptic_settings, energy_reserve),
    FIELD(thenar_haptic_settings, energy_most)};
static const field haptic_handle_fields[] = {FIELD(thenar_haptic_handle, origin), FIELD(thenar_haptic_handle, turn),
                                             FIELD(thenar_haptic_handle, grip)};
static const field haptic_fields[] = {FIELD(thenar_haptic_def, rate), FIELD(thenar_haptic_def, watchdog)};
static const field wearable_fields[] = {FIELD(thenar_wearable_def, pitch),
                                        FIELD(thenar_wearable_def, roll),
                                        FIELD(thenar_wearable_def, displacement),
                                        FIELD(thenar_wearable_def, tilt_speed),
                                        FIELD(thenar_wearable_def, displacement_speed),
                                        FIELD(thenar_wearable_def, clearance),
                                        FIELD(thenar_wearable_def, force_limit),
                                        FIELD(thenar_wearable_def, pulp_force),
                                        FIELD(thenar_wearable_def, pulp_rate),
                                        FIELD(thenar_wearable_def, azimuth),
                                        FIELD(thenar_wearable_def, base_radius),
                                        FIELD(thenar_wearable_def, base_height),
                                        FIELD(thenar_wearable_def, platform_radius),
                                        FIELD(thenar_wearable_def, platform_depth),
                                        FIELD(thenar_wearable_def, pulley_radius),
                                        FIELD(thenar_wearable_def, crank),
                                        FIELD(thenar_wearable_def, rod),
                                        FIELD(thenar_wearable_def, servo_range),
                                        FIELD(thenar_wearable_def, servo_speed),
                                        FIELD(thenar_wearable_def, servo_pulse),
                                        FIELD(thenar_wearable_def, frequency),
                                        FIELD(thenar_wearable_def, rate_full),
                                        FIELD(thenar_wearable_def, slip_full),
                                        FIELD(thenar_wearable_def, release)};
static const field tactile_fields[] = {FIELD(thenar_tactile_def, turn), FIELD(thenar_tactile_def, depth)};
static const field tactile_options_fields[] = {FIELD(thenar_tactile_options, touching),
                                               FIELD(thenar_tactile_options, hysteresis),
                                               FIELD(thenar_tactile_options, depth)};

/* What goes in, by struct. Those without rows only come out, or are told by devices (test_haptic_faults has these). */
static const struct {
    const char *name;
    const field *fields;
    int count;
} structs[] = {
    {"thenar_world_def", world_fields, COUNT(world_fields)},
    {"thenar_fibre", fibre_fields, COUNT(fibre_fields)},
    {"thenar_material", material_fields, COUNT(material_fields)},
    {"thenar_region", region_fields, COUNT(region_fields)},
    {"thenar_key", key_fields, COUNT(key_fields)},
    {"thenar_support", support_fields, COUNT(support_fields)},
    {"thenar_load", load_fields, COUNT(load_fields)},
    {"thenar_soft_def", soft_fields, COUNT(soft_fields)},
    {"thenar_shape", shape_fields, COUNT(shape_fields)},
    {"thenar_rigid_def", rigid_fields, COUNT(rigid_fields)},
    {"thenar_sim_options", sim_fields, COUNT(sim_fields)},
    {"thenar_hand_key", hand_key_fields, COUNT(hand_key_fields)},
    {"thenar_hand_def", hand_fields, COUNT(hand_fields)},
    {"thenar_handle_def", handle_fields, COUNT(handle_fields)},
    {"thenar_mesh_options", mesh_fields, COUNT(mesh_fields)},
    {"thenar_haptic_linear", linear_fields, COUNT(linear_fields)},
    {"thenar_haptic_settings", settings_fields, COUNT(settings_fields)},
    {"thenar_haptic_handle", haptic_handle_fields, COUNT(haptic_handle_fields)},
    {"thenar_haptic_def", haptic_fields, COUNT(haptic_fields)},
    {"thenar_wearable_def", wearable_fields, COUNT(wearable_fields)},
    {"thenar_tactile_def", tactile_fields, COUNT(tactile_fields)},
    {"thenar_tactile_options", tactile_options_fields, COUNT(tactile_options_fields)},
};

/* ---- a small world that has one of each ---- */

static thenar_world_def world;
static thenar_tet_mesh mesh;
static thenar_key keys[3];
static thenar_support support;
static thenar_load load;
static thenar_soft_region soft_region;
static thenar_soft_def soft;
static thenar_rigid_def ground, block, driven;
static thenar_handle_def handle;
static thenar_sim_options options;

static thenar_tet_mesh make_mesh(double x) {
    const double low[3] = {x, 0.001, 0}, high[3] = {x + 0.02, 0.011, 0.01};
    const int cells[3] = {2, 1, 1};
    thenar_tet_mesh made;
    thenar_error error;
    assert_ok(thenar_tet_mesh_box(low, high, cells, THENAR_LATTICE_CUBE, &made, &error), error);
    return made;
}

static int make_parts(void **state) {
    (void)state;
    world = thenar_world_def_default();
    mesh = make_mesh(0);
    for (int i = 0; i < 3; i++) keys[i] = (thenar_key){.time = 0.01 * i, .move = {0, 0.001 * i, 0}};
    support = (thenar_support){.name = "held",
                               .region = {.kind = THENAR_REGION_BOX, .a = {-1, -1, -1}, .b = {1e-4, 1, 1}},
                               .keys = keys,
                               .key_count = 3,
                               .has_pivot = true};
    load = (thenar_load){.region = {.kind = THENAR_REGION_SPHERE, .a = {0.02, 0, 0}, .radius = 0.02},
                         .force = {0, -0.1, 0}};
    soft_region = (thenar_soft_region){.region = {.kind = THENAR_REGION_HALF, .a = {0.01, 0, 0}, .b = {1, 0, 0}},
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
    soft.material.fibres[0] = (thenar_fibre){.direction = {1, 0, 0}, .max = 1.1};
    ground = block = driven = thenar_rigid_def_default();
    ground.name = "ground";
    ground.motion = THENAR_MOTION_STATIC;
    ground.shape = (thenar_shape){.kind = THENAR_SHAPE_PLANE, .normal = {0, 1, 0}};
    block.name = "block";
    block.shape = (thenar_shape){.kind = THENAR_SHAPE_BOX, .size = {0.02, 0.01, 0.01}, .radius = 0.01, .length = 0.01};
    block.move[0] = 0.01, block.move[1] = 0.02, block.move[2] = 0.005;
    driven.name = "driven";
    driven.motion = THENAR_MOTION_DRIVEN;
    driven.shape = (thenar_shape){.kind = THENAR_SHAPE_SPHERE, .radius = 0.005};
    driven.move[0] = 0.1;
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
    return 0;
}

static int free_parts(void **state) {
    (void)state;
    thenar_tet_mesh_free(&mesh);
    return 0;
}

/* After each step, all is a number; a step that failed is counted, and nothing has moved. */
static void step_contained(thenar_sim *sim, int steps) {
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

static const char *const methods[] = {"point", "penalty", "aggregate"};

static thenar_status use_world(thenar_error *error) {
    for (int i = 0; i < (getenv("NUMBERS_ALL") ? 3 : 2); i++) {
        thenar_sim *sim;
        options.contact = methods[i];
        thenar_status status = make_sim(&sim, error);
        if (status != THENAR_OK) return status;
        step_contained(sim, 2);
        thenar_sim_free(sim);
    }
    return THENAR_OK;
}

static void attack_world(void) {
    attack("thenar_world_def", &world, world_fields, COUNT(world_fields), use_world);
}

static void attack_material(thenar_material *material) {
    attack("thenar_material", material, material_fields, COUNT(material_fields), use_world);
    attack("thenar_fibre", &material->fibres[0], fibre_fields, COUNT(fibre_fields), use_world);
}

static void attack_array(const char *what, double *values, int count, attempt use) {
    const field all = {"", 0, count};
    attack(what, values, &all, 1, use);
}

static void attack_soft(void) {
    attack("thenar_soft_def", &soft, soft_fields, COUNT(soft_fields), use_world);
    attack_material(&soft.material);
    attack_material(&soft_region.material);
    attack("thenar_region", &soft_region.region, region_fields, COUNT(region_fields), use_world);
    attack("thenar_region", &support.region, region_fields, COUNT(region_fields), use_world);
    sparse = 3; /* much the same again */
    attack("thenar_region", &load.region, region_fields, COUNT(region_fields), use_world);
    sparse = 1;
    attack("thenar_support", &support, support_fields, COUNT(support_fields), use_world);
    attack("thenar_key", &keys[1], key_fields, COUNT(key_fields), use_world);
    attack("thenar_load", &load, load_fields, COUNT(load_fields), use_world);
    attack_array("mesh", mesh.positions, 3 * 4, use_world);
    double fill[64];
    for (int i = 0; i < mesh.tet_count; i++) fill[i] = 1;
    soft.fill = fill;
    attack_array("fill", fill, 2, use_world);
    soft.fill = NULL;
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

static void attack_rigid(void) {
    static const thenar_shape_kind kinds[] = {THENAR_SHAPE_SPHERE, THENAR_SHAPE_BOX, THENAR_SHAPE_CAPSULE,
                                              THENAR_SHAPE_CYLINDER};
    attack("thenar_rigid_def", &block, rigid_fields, COUNT(rigid_fields), use_world);
    attack("thenar_rigid_def", &driven, rigid_fields, COUNT(rigid_fields), use_world);
    for (int i = 0; i < COUNT(kinds); i++) {
        block.shape.kind = kinds[i];
        attack("thenar_shape", &block.shape, shape_fields, COUNT(shape_fields), use_world);
    }
    block.shape.kind = THENAR_SHAPE_BOX;
    attack("thenar_shape", &ground.shape, shape_fields, COUNT(shape_fields), use_world);
    thenar_surface surface;
    thenar_error error;
    assert_ok(thenar_surface_sphere(0.005, 1, &surface, &error), error);
    block.shape.kind = THENAR_SHAPE_MESH;
    block.shape.surface = &surface;
    attack_array("surface", surface.positions, 6, use_world);
    attack("thenar_shape", &block.shape, &shape_fields[4], 1, use_world);
    block.shape.kind = THENAR_SHAPE_BOX;
    block.shape.surface = NULL;
    thenar_surface_free(&surface);
}

static void attack_sim_create(void) {
    attack("thenar_sim_options", &options, sim_fields, COUNT(sim_fields), use_world);
}

static void attack_handle(void) {
    attack("thenar_handle_def", &handle, handle_fields, COUNT(handle_fields), use_world);
}

/* ---- what is set between steps ---- */

static thenar_sim *shared;
static double numbers[256]; /* the array that goes in */

/* The call, then steps; then all is undone, and a step succeeds again. `use` is told to put good numbers in. */
static void attack_call(const char *what, int count, thenar_status (*call)(const double *values)) {
    double good[256];
    memcpy(good, numbers, sizeof good);
    for (int k = 0; k < count; k++)
        for (int i = 0; i < BAD_COUNT; i++) {
            uint64_t hash = thenar_sim_hash(shared);
            numbers[k] = bad_numbers[i];
            thenar_status status = call(numbers);
            tried++;
            refused += status != THENAR_OK;
            snprintf(under_attack, sizeof under_attack, "%s[%d] = %g", what, k, bad_numbers[i]);
            if (status != THENAR_OK && thenar_sim_hash(shared) != hash) complain("refused, but something has changed");
            if (!isfinite(bad_numbers[i]) && status == THENAR_OK) complain("not refused");
            step_contained(shared, 2);
            memcpy(numbers, good, sizeof good);
            assert_int_equal(call(numbers), THENAR_OK);
            thenar_status after = thenar_sim_step(shared);
            if (after != THENAR_OK) complain("the step after it fails too");
            if (find_nonsense(shared)) complain("not a number in the step after it");
            thenar_sim_reset(shared);
        }
}

static void start_shared(void) {
    thenar_error error;
    options.contact = NULL;
    assert_ok(make_sim(&shared, &error), error);
    memset(numbers, 0, sizeof numbers);
}

static void end_shared(void) {
    thenar_sim_free(shared);
    shared = NULL;
}

static thenar_status call_apply_force(const double *v) {
    return thenar_sim_apply_force(shared, 0, 5, v);
}

static void attack_apply_force(void) {
    start_shared();
    attack_call("force", 3, call_apply_force);
    end_shared();
}

static thenar_status call_set_state(const double *v) {
    int count = 3 * mesh.node_count;
    return thenar_sim_set_state(shared, 0, v, v + count);
}

static void attack_set_state(void) {
    start_shared();
    int count = 3 * mesh.node_count;
    assert_true(2 * count <= 256);
    memcpy(numbers, mesh.positions, (size_t)count * sizeof(double));
    attack_call("state", 2 * count, call_set_state);
    end_shared();
}

static thenar_status call_drive(const double *v) {
    return thenar_sim_drive(shared, 0, 0, v, v + 3);
}

static void attack_drive(void) {
    start_shared();
    attack_call("support", 6, call_drive);
    end_shared();
}

static thenar_status call_apply_wrench(const double *v) {
    return thenar_sim_apply_wrench(shared, 2, v, v + 3);
}

static void attack_apply_wrench(void) {
    start_shared();
    attack_call("wrench", 6, call_apply_wrench);
    end_shared();
}

static thenar_status call_drive_pose(const double *v) {
    return thenar_sim_drive_pose(shared, 3, v, v + 3);
}

static void attack_drive_pose(void) {
    start_shared();
    numbers[0] = 0.1, numbers[6] = 1;
    attack_call("pose", 7, call_drive_pose);
    end_shared();
}

static thenar_status call_drive_handle(const double *v) {
    return thenar_sim_drive_handle(shared, 0, v, v + 7);
}

static void attack_drive_handle(void) {
    start_shared();
    thenar_handle_state state;
    thenar_sim_handle(shared, 0, &state);
    memcpy(numbers, state.pose, sizeof state.pose);
    attack_call("handle", 13, call_drive_handle);
    end_shared();
}

/* A snapshot whose checksum fits what somebody has put into it. */
static void attack_restore(void) {
    start_shared();
    size_t size = thenar_sim_snapshot_size(shared), head = 5 * sizeof(uint64_t);
    char *bytes = malloc(size), *good = malloc(size);
    thenar_sim_step(shared);
    thenar_sim_snapshot(shared, good);
    for (size_t at = head; at + sizeof(double) <= size; at += sizeof(double) * 7)
        for (int i = 0; i < 5; i++) {
            thenar_error error = {0};
            memcpy(bytes, good, size);
            memcpy(bytes + at, &bad_numbers[i], sizeof(double));
            uint64_t checksum = hash_bytes(0, bytes + head, size - head);
            memcpy(bytes + head - sizeof checksum, &checksum, sizeof checksum);
            thenar_status status = thenar_sim_restore(shared, bytes, size, &error);
            tried++;
            refused += status != THENAR_OK;
            if (status != THENAR_OK) assert_true(error.text[0] && status == THENAR_ERROR_INPUT);
            snprintf(under_attack, sizeof under_attack, "snapshot with %g at byte %zu", bad_numbers[i], at);
            if (find_nonsense(shared)) complain("not a number");
            thenar_sim_step(shared);
            if (find_nonsense(shared)) complain("not a number a step later");
            assert_ok(thenar_sim_restore(shared, good, size, &error), error);
            if (thenar_sim_step(shared) != THENAR_OK) complain("no step after it");
        }
    free(bytes);
    free(good);
    end_shared();
}

/* ---- hands ---- */

static thenar_hand_def hand;
static thenar_hand_key hand_keys[2];
static thenar_tactile_def tactile_def;
static thenar_tactile_options tactile_options;
static double key_angles[THENAR_HAND_ANGLES];

static void make_hand(void) {
    hand = thenar_hand_def_default();
    hand.triangles = 6000;
    hand.touches = false;
    hand_keys[0] = (thenar_hand_key){.time = 0, .pose = "open", .other = "fist", .share = 0.2, .angles = key_angles};
    hand_keys[1] = (thenar_hand_key){.time = 0.05, .pose = "fist"};
    for (int i = 0; i < THENAR_HAND_ANGLES; i++) key_angles[i] = NAN;
    hand.keys = hand_keys;
    hand.key_count = 2;
    hand.base_keys = keys;
    hand.base_key_count = 3;
    tactile_def = (thenar_tactile_def){
        .name = "worn", .finger = THENAR_FINGER_INDEX, .device = thenar_wearable_def_default(THENAR_WEARABLE_RRS)};
    tactile_options = thenar_tactile_options_default();
}

static thenar_status make_hand_model(thenar_model **model, thenar_error *error) {
    *model = NULL;
    world = thenar_world_def_default();
    thenar_build *build = thenar_build_create(&world);
    assert_non_null(build);
    thenar_status status = thenar_build_add_hand(build, &hand, error);
    if (status == THENAR_OK) status = thenar_build_add_tactile(build, &tactile_def, error);
    if (status == THENAR_OK) status = thenar_build_compile(build, model, error);
    thenar_build_free(build);
    return status;
}

static thenar_status use_hand(thenar_error *error) {
    thenar_model *model;
    thenar_sim *sim = NULL;
    thenar_status status = make_hand_model(&model, error);
    if (status == THENAR_OK) status = thenar_sim_create(model, NULL, &sim, error);
    thenar_model_free(model);
    if (status != THENAR_OK) return status;
    step_contained(sim, 2);
    thenar_sim_free(sim);
    return status;
}

/* A hand takes a third of a second to make: with NUMBERS_ALL in the environment all is tried, else some. */
static void attack_hand(void) {
    make_hand();
    sparse = getenv("NUMBERS_ALL") ? 1 : SANITIZED ? 97 : 41;
    attack("thenar_hand_def", &hand, hand_fields, COUNT(hand_fields), use_hand);
    attack("thenar_material", &hand.material, material_fields, 2, use_hand);
    attack("thenar_hand_key", &hand_keys[1], hand_key_fields, COUNT(hand_key_fields), use_hand);
    attack_array("angles", key_angles + 3, 1, use_hand);
    attack("thenar_key", &keys[1], key_fields, COUNT(key_fields), use_hand);
    sparse = 1;
}

static void start_hand(void) {
    thenar_error error;
    thenar_model *model;
    make_hand();
    assert_ok(make_hand_model(&model, &error), error);
    assert_ok(thenar_sim_create(model, NULL, &shared, &error), error);
    thenar_model_free(model);
    memset(numbers, 0, sizeof numbers);
}

static thenar_status call_drive_hand_angles(const double *v) {
    return thenar_sim_drive_hand_angles(shared, 0, v, v + 7);
}

static void attack_drive_hand_angles(void) {
    start_hand();
    numbers[6] = 1;
    attack_call("wrist and angles", 7 + 4, call_drive_hand_angles);
    end_shared();
}

static void attack_drive_hand(void) {
    start_hand();
    double joints[7 * THENAR_HAND_JOINTS];
    for (int k = 0; k < 14; k++)
        for (int i = 0; i < BAD_COUNT; i++) {
            thenar_sim_hand_joints(shared, 0, joints);
            joints[k + 7 * 4] = bad_numbers[i];
            thenar_status status = thenar_sim_drive_hand(shared, 0, joints);
            tried++;
            refused += status != THENAR_OK;
            bool unseen = isnan(bad_numbers[i]) || fabs(bad_numbers[i]) < 1; /* which is fine */
            if (!unseen) assert_int_equal(status, THENAR_ERROR_INPUT);
            step_contained(shared, 1);
            thenar_sim_reset(shared);
        }
    end_shared();
}

static void attack_drive_hand_flexion(void) {
    start_hand();
    double flexion[5] = {0}, wrist[7] = {0, 0, 0, 0, 0, 0, 1};
    for (int k = 0; k < 12; k++)
        for (int i = 0; i < BAD_COUNT; i++) {
            double *at = k < 5 ? &flexion[k] : &wrist[k - 5], good = *at;
            *at = bad_numbers[i];
            thenar_status status = thenar_sim_drive_hand_flexion(shared, 0, flexion, wrist);
            tried++;
            refused += status != THENAR_OK;
            if (isinf(*at) || fabs(*at) > 1e10) assert_int_equal(status, THENAR_ERROR_INPUT);
            step_contained(shared, 1);
            thenar_sim_reset(shared);
            *at = good;
        }
    end_shared();
}

/* ---- tactile devices ---- */

static thenar_model *hand_model;
static thenar_sim *hand_sim; /* of it, after some steps */

static void make_hand_sim(void) {
    thenar_error error;
    make_hand();
    assert_ok(make_hand_model(&hand_model, &error), error);
    assert_ok(thenar_sim_create(hand_model, NULL, &hand_sim, &error), error);
    for (int i = 0; i < 3; i++) assert_int_equal(thenar_sim_step(hand_sim), THENAR_OK);
}

static void free_hand_sim(void) {
    thenar_sim_free(hand_sim);
    thenar_model_free(hand_model);
}

static thenar_status use_tactile(thenar_error *error) {
    thenar_tactile *tactile;
    tactile_options.devices = &tactile_def;
    tactile_options.device_count = 1;
    thenar_status status = thenar_tactile_create(hand_model, &tactile_options, &tactile, error);
    if (status != THENAR_OK) return status;
    for (int i = 0; i < 2; i++) {
        thenar_tactile_update(tactile, hand_sim);
        const thenar_tactile_command *c = thenar_tactile_command_of(tactile, 0);
        assert_true(are_finite(c->pose, 3) && are_finite(c->wanted, 3) && are_finite(c->value, 3) &&
                    isfinite(c->press));
    }
    thenar_tactile_free(tactile);
    return status;
}

static thenar_status use_wearable(thenar_error *error) {
    return thenar_wearable_check(&tactile_def.device, error);
}

static void attack_tactile(void) {
    make_hand_sim();
    attack("thenar_tactile_def", &tactile_def, tactile_fields, COUNT(tactile_fields), use_tactile);
    attack("thenar_tactile_options", &tactile_options, tactile_options_fields, COUNT(tactile_options_fields),
           use_tactile);
    for (int kind = 0; kind < THENAR_WEARABLE_KIND_COUNT; kind++) {
        tactile_def.device = thenar_wearable_def_default((thenar_wearable_kind)kind);
        attack("thenar_wearable_def", &tactile_def.device, wearable_fields, COUNT(wearable_fields), use_tactile);
    }
    free_hand_sim();
}

/* A model takes a device as it is; whoever watches the pads with it is told. */
static void attack_add_tactile(void) {
    make_hand();
    for (int i = 0; i < 2; i++) {
        thenar_error error = {0};
        thenar_tactile *tactile;
        tactile_def.device.crank = bad_numbers[i];
        thenar_status status = make_hand_model(&hand_model, &error);
        if (status == THENAR_OK) status = thenar_tactile_create(hand_model, NULL, &tactile, &error);
        tried++;
        refused += status != THENAR_OK;
        assert_int_equal(status, THENAR_ERROR_INPUT);
        assert_non_null(strstr(error.text, "crank"));
        thenar_model_free(hand_model);
    }
}

static void attack_wearable(void) {
    make_hand();
    for (int kind = 0; kind < THENAR_WEARABLE_KIND_COUNT; kind++) {
        tactile_def.device = thenar_wearable_def_default((thenar_wearable_kind)kind);
        attack("thenar_wearable_def", &tactile_def.device, wearable_fields, COUNT(wearable_fields), use_wearable);
    }
}

static void attack_kinematics(void) {
    for (int kind = 0; kind < 2; kind++) {
        thenar_wearable_def def = thenar_wearable_def_default((thenar_wearable_kind)kind);
        for (int k = 0; k < 3; k++)
            for (int i = 0; i < BAD_COUNT; i++) {
                double in[3] = {0}, out[3] = {0};
                in[k] = bad_numbers[i];
                tried += 2;
                bool there = thenar_wearable_inverse(&def, in, out);
                if (there) assert_true(are_finite(out, 3));
                bool back = thenar_wearable_forward(&def, in, out);
                if (back) assert_true(are_finite(out, 3));
                refused += !there + !back;
                if (!isfinite(in[k])) assert_false(there || back);
            }
    }
}

static void attack_output(void) {
    thenar_error error;
    thenar_tactile *tactile;
    thenar_output *output;
    make_hand();
    assert_ok(make_hand_model(&hand_model, &error), error);
    assert_ok(thenar_tactile_create(hand_model, NULL, &tactile, &error), error);
    for (int i = 0; i < BAD_COUNT; i++) {
        thenar_status status = thenar_output_open(tactile, "osc:127.0.0.1:9", bad_numbers[i], &output, &error);
        tried++;
        refused += status != THENAR_OK;
        if (bad_numbers[i] != 0) assert_int_equal(status, THENAR_ERROR_INPUT);
        thenar_output_close(output, NULL);
    }
    thenar_tactile_free(tactile);
    thenar_model_free(hand_model);
}

/* ---- the haptic loop ---- */

static thenar_haptic_handle haptic_handle;
static thenar_haptic_def haptic_def;
static thenar_haptic *haptic;
static thenar_haptic_linear linear;

static thenar_status use_haptic(thenar_error *error) {
    thenar_haptic *made;
    thenar_status status = thenar_haptic_create(&haptic_def, &made, error);
    thenar_haptic_free(status == THENAR_OK ? made : NULL);
    return status;
}

static void make_haptic(void) {
    haptic_handle = thenar_haptic_handle_default();
    haptic_def = thenar_haptic_def_default();
    haptic_def.handles = &haptic_handle;
    haptic_def.handle_count = 1;
    haptic_def.real_time = false;
    linear = (thenar_haptic_linear){.orientation = {0, 0, 0, 1}, .step = 1, .step_length = 0.01};
}

static void attack_haptic_create(void) {
    make_haptic();
    attack("thenar_haptic_def", &haptic_def, haptic_fields, COUNT(haptic_fields), use_haptic);
    attack("thenar_haptic_handle", &haptic_handle, haptic_handle_fields, COUNT(haptic_handle_fields), use_haptic);
    attack("thenar_haptic_settings", &haptic_handle.settings, settings_fields, COUNT(settings_fields), use_haptic);
}

static thenar_status use_publish(thenar_error *error) {
    thenar_status status = thenar_haptic_publish(haptic, 0, &linear);
    snprintf(error->text, sizeof error->text, "refused");
    linear.step++;
    return status;
}

static void attack_publish(void) {
    thenar_error error;
    make_haptic();
    assert_ok(thenar_haptic_create(&haptic_def, &haptic, &error), error);
    assert_ok(thenar_haptic_start(haptic, &error), error);
    long before = refused;
    attack("thenar_haptic_linear", &linear, linear_fields, COUNT(linear_fields), use_publish);
    thenar_haptic_stats stats;
    for (int wait = 0; wait < 2000; wait++) {
        thenar_haptic_read_stats(haptic, &stats);
        if (stats.handles[0].faults[THENAR_HAPTIC_BAD_LINEAR] == (uint64_t)(refused - before)) break;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    for (int i = 0; i < 3; i++) assert_true(stats.handles[0].force[i] == 0 && stats.handles[0].torque[i] == 0);
    assert_int_equal(stats.handles[0].faults[THENAR_HAPTIC_BAD_LINEAR], refused - before);
    thenar_haptic_free(haptic);
}

static void attack_haptic_pose(void) {
    thenar_error error;
    make_haptic();
    assert_ok(thenar_haptic_create(&haptic_def, &haptic, &error), error);
    for (int i = 0; i < BAD_COUNT; i++) {
        double pose[13] = {0};
        thenar_haptic_pose(haptic, 0, bad_numbers[i], pose, pose + 3, pose + 7);
        tried++;
        assert_true(are_finite(pose, 13));
    }
    thenar_haptic_free(haptic);
}

static void attack_advance(void) {
    thenar_error error;
    make_haptic();
    haptic_def.simulated_time = true;
    assert_ok(thenar_haptic_create(&haptic_def, &haptic, &error), error);
    for (int i = 0; i < BAD_COUNT; i++) {
        thenar_haptic_stats stats;
        thenar_haptic_advance(haptic, bad_numbers[i]);
        tried++;
        thenar_haptic_read_stats(haptic, &stats);
        assert_true(stats.ticks <= (uint64_t)(60 * haptic_def.rate) * (uint64_t)(i + 1));
        assert_true(are_finite(stats.handles[0].force, 3));
    }
    thenar_haptic_free(haptic);
}

/* ---- meshes ---- */

static double lengths[8];
static thenar_surface ball;
static thenar_mesh_options mesh_options;

static thenar_status free_mesh(thenar_status status, thenar_tet_mesh *made) {
    if (status == THENAR_OK)
        assert_true(are_finite(made->positions, 3 * made->node_count));
    else
        assert_null(made->positions);
    thenar_tet_mesh_free(made);
    return status;
}

static thenar_status free_surface(thenar_status status, thenar_surface *made) {
    if (status == THENAR_OK)
        assert_true(are_finite(made->positions, 3 * made->vertex_count));
    else
        assert_null(made->positions);
    thenar_surface_free(made);
    return status;
}

static thenar_status use_box(thenar_error *error) {
    const int cells[3] = {1, 1, 1};
    thenar_tet_mesh made = {0};
    return free_mesh(thenar_tet_mesh_box(lengths, lengths + 3, cells, THENAR_LATTICE_CUBE, &made, error), &made);
}

static void attack_box(void) {
    for (int i = 0; i < 3; i++) lengths[i] = 0, lengths[3 + i] = 1;
    attack_array("corners", lengths, 6, use_box);
}

static thenar_status use_sphere(thenar_error *error) {
    thenar_surface made = {0};
    return free_surface(thenar_surface_sphere(lengths[0], 1, &made, error), &made);
}

static thenar_status use_capsule(thenar_error *error) {
    thenar_surface made = {0};
    return free_surface(thenar_surface_capsule(lengths[0], lengths[1], 1, &made, error), &made);
}

static thenar_status use_cylinder(thenar_error *error) {
    thenar_surface made = {0};
    return free_surface(thenar_surface_cylinder(lengths[0], lengths[1], 1, &made, error), &made);
}

static thenar_status use_surface_box(thenar_error *error) {
    thenar_surface made = {0};
    return free_surface(thenar_surface_box(lengths, 1, &made, error), &made);
}

static thenar_status use_torus(thenar_error *error) {
    thenar_surface made = {0};
    return free_surface(thenar_surface_torus(lengths[0], lengths[1], 1, &made, error), &made);
}

static void attack_primitive(const char *what, int count, attempt use) {
    lengths[0] = 0.02, lengths[1] = 0.01, lengths[2] = 0.01;
    attack_array(what, lengths, count, use);
}

static void attack_sphere(void) {
    attack_primitive("sphere", 1, use_sphere);
}
static void attack_capsule(void) {
    attack_primitive("capsule", 2, use_capsule);
}
static void attack_cylinder(void) {
    attack_primitive("cylinder", 2, use_cylinder);
}
static void attack_surface_box(void) {
    attack_primitive("box", 3, use_surface_box);
}
static void attack_torus(void) {
    attack_primitive("torus", 2, use_torus);
}

static thenar_status use_from_surface(thenar_error *error) {
    thenar_tet_mesh made = {0};
    thenar_embedding embedding = {0};
    thenar_status status = thenar_tet_mesh_from_surface(&ball, &mesh_options, &made, &embedding, error);
    if (status == THENAR_OK) assert_true(are_finite(embedding.weights, 4 * embedding.vertex_count));
    thenar_embedding_free(&embedding);
    return free_mesh(status, &made);
}

static thenar_status use_fill(thenar_error *error) {
    double fill[64];
    thenar_status status = thenar_tet_mesh_fill(&mesh, &ball, fill, error);
    if (status == THENAR_OK) assert_true(are_finite(fill, mesh.tet_count));
    return status;
}

static thenar_status use_embedding(thenar_error *error) {
    thenar_embedding embedding = {0};
    thenar_status status = thenar_embedding_create(&mesh, &ball, &embedding, NULL, error);
    if (status == THENAR_OK) assert_true(are_finite(embedding.weights, 4 * embedding.vertex_count));
    thenar_embedding_free(&embedding);
    return status;
}

static thenar_status use_tet_surface(thenar_error *error) {
    thenar_surface made = {0};
    return free_surface(thenar_tet_mesh_surface(&mesh, &made, NULL, error), &made);
}

static thenar_status use_check(thenar_error *error) {
    return thenar_surface_check(&ball, error);
}

static thenar_status use_quality(thenar_error *error) {
    thenar_tet_figures figures;
    return thenar_tet_mesh_quality(&mesh, &figures, error);
}

static thenar_status use_surface_quality(thenar_error *error) {
    thenar_surface_figures figures;
    return thenar_surface_quality(&ball, &figures, error);
}

static void attack_ball(attempt use, bool tets) {
    thenar_error error;
    assert_ok(thenar_surface_sphere(0.01, 1, &ball, &error), error);
    mesh_options = thenar_mesh_options_default();
    mesh_options.target_tets = 100;
    mesh_options.fit = true;
    attack_array("surface", ball.positions, 3, use);
    if (tets) attack_array("mesh", mesh.positions, 6, use);
    if (use == use_from_surface) attack("thenar_mesh_options", &mesh_options, mesh_fields, COUNT(mesh_fields), use);
    thenar_surface_free(&ball);
}

static void attack_from_surface(void) {
    attack_ball(use_from_surface, false);
}
static void attack_fill(void) {
    attack_ball(use_fill, true);
}
static void attack_embedding(void) {
    attack_ball(use_embedding, true);
}
static void attack_tet_surface(void) {
    attack_ball(use_tet_surface, true);
}
static void attack_check(void) {
    attack_ball(use_check, false);
}
static void attack_quality(void) {
    attack_ball(use_quality, true);
}
static void attack_surface_quality(void) {
    attack_ball(use_surface_quality, false);
}

/* ---- the table ---- */

static const struct {
    const char *name;
    void (*attack)(void);
} functions[] = {
    {"thenar_build_create", attack_world},
    {"thenar_build_add_soft", attack_soft},
    {"thenar_build_add_rigid", attack_rigid},
    {"thenar_build_add_hand", attack_hand},
    {"thenar_build_add_handle", attack_handle},
    {"thenar_build_add_tactile", attack_add_tactile},
    {"thenar_sim_create", attack_sim_create},
    {"thenar_sim_apply_force", attack_apply_force},
    {"thenar_sim_set_state", attack_set_state},
    {"thenar_sim_drive", attack_drive},
    {"thenar_sim_apply_wrench", attack_apply_wrench},
    {"thenar_sim_drive_pose", attack_drive_pose},
    {"thenar_sim_drive_handle", attack_drive_handle},
    {"thenar_sim_drive_hand", attack_drive_hand},
    {"thenar_sim_drive_hand_angles", attack_drive_hand_angles},
    {"thenar_sim_drive_hand_flexion", attack_drive_hand_flexion},
    {"thenar_sim_restore", attack_restore},
    {"thenar_tactile_create", attack_tactile},
    {"thenar_wearable_check", attack_wearable},
    {"thenar_wearable_inverse", attack_kinematics},
    {"thenar_wearable_forward", attack_kinematics},
    {"thenar_output_open", attack_output},
    {"thenar_haptic_create", attack_haptic_create},
    {"thenar_haptic_publish", attack_publish},
    {"thenar_haptic_pose", attack_haptic_pose},
    {"thenar_haptic_advance", attack_advance},
    {"thenar_tet_mesh_box", attack_box},
    {"thenar_tet_mesh_from_surface", attack_from_surface},
    {"thenar_tet_mesh_fill", attack_fill},
    {"thenar_embedding_create", attack_embedding},
    {"thenar_tet_mesh_surface", attack_tet_surface},
    {"thenar_surface_sphere", attack_sphere},
    {"thenar_surface_capsule", attack_capsule},
    {"thenar_surface_cylinder", attack_cylinder},
    {"thenar_surface_box", attack_surface_box},
    {"thenar_surface_torus", attack_torus},
    {"thenar_surface_check", attack_check},
    {"thenar_tet_mesh_quality", attack_quality},
    {"thenar_surface_quality", attack_surface_quality},
    {"thenar_hand_def_default", NULL},
    {"thenar_build_set_track", NULL},
    {"thenar_model_hand_count", NULL},
    {"thenar_model_find_hand", NULL},
    {"thenar_model_hand_name", NULL},
    {"thenar_model_hand_is_left", NULL},
    {"thenar_model_hand_bodies", NULL},
    {"thenar_model_hand_of_body", NULL},
    {"thenar_model_hand_limits", NULL},
    {"thenar_model_hand_pose", NULL},
    {"thenar_model_track_time", NULL},
    {"thenar_hand_joint_name", NULL},
    {"thenar_sim_hand_joints", NULL},
    {"thenar_sim_hand_target", NULL},
    {"thenar_sim_hand_angles", NULL},
    {"thenar_sim_hand_coupling", NULL},
    {"thenar_handle_def_default", NULL},
    {"thenar_model_handle_count", NULL},
    {"thenar_model_find_handle", NULL},
    {"thenar_model_handle_name", NULL},
    {"thenar_model_handle_body", NULL},
    {"thenar_model_handle_bone", NULL},
    {"thenar_model_handle_node_count", NULL},
    {"thenar_model_handle_mass", NULL},
    {"thenar_sim_linearize_handle", NULL},
    {"thenar_sim_handle", NULL},
    {"thenar_sim_coupling", NULL},
    {"thenar_haptic_settings_default", NULL},
    {"thenar_haptic_handle_default", NULL},
    {"thenar_haptic_def_default", NULL},
    {"thenar_haptic_free", NULL},
    {"thenar_haptic_start", NULL},
    {"thenar_haptic_stop", NULL},
    {"thenar_haptic_real_time", NULL},
    {"thenar_haptic_fault_name", NULL},
    {"thenar_haptic_read_stats", NULL},
    {"thenar_haptic_notice", NULL},
    {"thenar_haptic_def_of", NULL},
    {"thenar_haptic_handle_of", NULL},
    {"thenar_haptic_drive", NULL},
    {"thenar_haptic_tell", NULL},
    {"thenar_recorder_create_more", NULL},
    {"thenar_replay_open", NULL},
    {"thenar_replay_step", NULL},
    {"thenar_replay_close", NULL},
    {"thenar_tet_mesh_load", NULL},
    {"thenar_surface_load", NULL},
    {"thenar_tet_mesh_free", NULL},
    {"thenar_surface_free", NULL},
    {"thenar_embedding_free", NULL},
    {"thenar_mesh_options_default", NULL},
    {"thenar_material_default", NULL},
    {"thenar_soft_def_default", NULL},
    {"thenar_rigid_def_default", NULL},
    {"thenar_world_def_default", NULL},
    {"thenar_build_compile", NULL},
    {"thenar_build_free", NULL},
    {"thenar_model_free", NULL},
    {"thenar_model_name", NULL},
    {"thenar_model_dt", NULL},
    {"thenar_model_dof_count", NULL},
    {"thenar_model_body_count", NULL},
    {"thenar_model_find_body", NULL},
    {"thenar_model_body_name", NULL},
    {"thenar_model_body_kind", NULL},
    {"thenar_model_mass", NULL},
    {"thenar_model_inertia", NULL},
    {"thenar_model_motion", NULL},
    {"thenar_model_find_support", NULL},
    {"thenar_model_mesh", NULL},
    {"thenar_model_surface", NULL},
    {"thenar_model_embedding", NULL},
    {"thenar_model_stretch_limits", NULL},
    {"thenar_model_masses", NULL},
    {"thenar_model_contact_pair_count", NULL},
    {"thenar_model_contact_pair", NULL},
    {"thenar_model_warning_count", NULL},
    {"thenar_model_warning", NULL},
    {"thenar_recording_open", NULL},
    {"thenar_recording_close", NULL},
    {"thenar_recording_damage", NULL},
    {"thenar_recording_get_info", NULL},
    {"thenar_recording_frame_count", NULL},
    {"thenar_recording_frame_time", NULL},
    {"thenar_recording_frame_step", NULL},
    {"thenar_recording_body_count", NULL},
    {"thenar_recording_body_at", NULL},
    {"thenar_recording_find_body", NULL},
    {"thenar_recording_channel_count", NULL},
    {"thenar_recording_channel_at", NULL},
    {"thenar_recording_find_channel", NULL},
    {"thenar_recording_read_mesh", NULL},
    {"thenar_recording_read_channel", NULL},
    {"thenar_recording_read_positions", NULL},
    {"thenar_recording_read_surface", NULL},
    {"thenar_recording_read_contacts", NULL},
    {"thenar_recorder_create", NULL},
    {"thenar_recorder_create_tactile", NULL},
    {"thenar_recorder_add", NULL},
    {"thenar_recorder_close", NULL},
    {"thenar_scene_load", NULL},
    {"thenar_sim_options_default", NULL},
    {"thenar_stage_name", NULL},
    {"thenar_warning_name", NULL},
    {"thenar_sim_free", NULL},
    {"thenar_sim_reset", NULL},
    {"thenar_sim_step", NULL},
    {"thenar_sim_model", NULL},
    {"thenar_sim_time", NULL},
    {"thenar_sim_solver", NULL},
    {"thenar_sim_contact_method", NULL},
    {"thenar_sim_dt", NULL},
    {"thenar_sim_step_count", NULL},
    {"thenar_sim_positions", NULL},
    {"thenar_sim_velocities", NULL},
    {"thenar_sim_forces", NULL},
    {"thenar_sim_support_wrench", NULL},
    {"thenar_sim_pose", NULL},
    {"thenar_sim_twist", NULL},
    {"thenar_sim_wrench", NULL},
    {"thenar_sim_surface", NULL},
    {"thenar_sim_stretches", NULL},
    {"thenar_sim_write_vtk", NULL},
    {"thenar_sim_energy", NULL},
    {"thenar_sim_contacts", NULL},
    {"thenar_sim_contact_count", NULL},
    {"thenar_sim_contact_pairs", NULL},
    {"thenar_sim_contact_pair_count", NULL},
    {"thenar_sim_contact_wrench", NULL},
    {"thenar_sim_stats", NULL},
    {"thenar_sim_warning_count", NULL},
    {"thenar_sim_hash", NULL},
    {"thenar_sim_snapshot_size", NULL},
    {"thenar_sim_snapshot", NULL},
    {"thenar_sim_continue", NULL},
    {"thenar_version", NULL},
    {"thenar_status_name", NULL},
    {"thenar_finger_name", NULL},
    {"thenar_wearable_kind_name", NULL},
    {"thenar_wearable_def_default", NULL},
    {"thenar_wearable_load", NULL},
    {"thenar_wearable_value_count", NULL},
    {"thenar_wearable_value_name", NULL},
    {"thenar_model_tactile_count", NULL},
    {"thenar_model_tactile", NULL},
    {"thenar_tactile_options_default", NULL},
    {"thenar_tactile_free", NULL},
    {"thenar_tactile_reset", NULL},
    {"thenar_tactile_update", NULL},
    {"thenar_tactile_device_count", NULL},
    {"thenar_tactile_device", NULL},
    {"thenar_tactile_device_pad", NULL},
    {"thenar_tactile_command_of", NULL},
    {"thenar_pad_region_name", NULL},
    {"thenar_tactile_pad_count", NULL},
    {"thenar_tactile_pad_of", NULL},
    {"thenar_tactile_points", NULL},
    {"thenar_output_push", NULL},
    {"thenar_output_count", NULL},
    {"thenar_output_close", NULL},
};

/* ---- comparing with the headers ---- */

static char *headers;

static int read_headers(void **state) {
    static const char *const names[] = {"status", "mesh",   "model", "sim",       "hand",
                                        "device", "haptic", "scene", "recording", "tactile"};
    size_t used = 0;
    headers = calloc(1, 1 << 20);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[256];
        snprintf(path, sizeof path, SOURCE_DIR "/include/thenar/%s.h", names[i]);
        FILE *file = fopen(path, "rb");
        if (!file) return -1;
        used += fread(headers + used, 1, (1 << 20) - used - 1, file);
        fclose(file);
    }
    return make_parts(state);
}

static int forget_headers(void **state) {
    free(headers);
    return free_parts(state);
}

static bool is_word(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

/* A prototype takes numbers: a double by value, const doubles, or a struct of them. */
static bool takes_numbers(const char *from, const char *to) {
    static const char *const structs_in[] = {"_def *", "_options *", "_linear *", "tet_mesh *", "thenar_surface *"};
    char text[512];
    snprintf(text, sizeof text, "%.*s", (int)(to - from), from);
    if (strstr(text, "const double ")) return true;
    for (const char *at = text; (at = strstr(at, "double ")); at += 7) {
        const char *end = at + 7;
        while (is_word(*end)) end++;
        if (at[7] != '*' && *end != '[') return true;
    }
    for (size_t i = 0; i < sizeof structs_in / sizeof *structs_in; i++) {
        const char *at = strstr(text, structs_in[i]);
        const char *is_const = strstr(text, "const thenar_");
        if (at && is_const && is_const < at && !memchr(is_const, ',', (size_t)(at - is_const))) return true;
    }
    return false;
}

static int find_function(const char *name) {
    for (int i = 0; i < COUNT(functions); i++)
        if (strcmp(functions[i].name, name) == 0) return i;
    return -1;
}

static void every_public_function_has_a_row(void **unused) {
    (void)unused;
    int count = 0;
    /* Numbers that are only read by what has its own row, or come from a file. */
    static const char *const without[] = {"thenar_wearable_value_count", "thenar_wearable_value_name",
                                          "thenar_scene_load"};
    for (const char *at = headers; (at = strstr(at, "THENAR_API ")); at++) {
        const char *open = strchr(at, '('), *close = open ? strchr(open, ')') : NULL, *name = open;
        while (name && is_word(name[-1])) name--;
        if (!close || strncmp(name, "thenar_", 7) != 0) continue; /* the macro itself */
        char word[64];
        snprintf(word, sizeof word, "%.*s", (int)(open - name), name);
        int row = find_function(word);
        if (row < 0) fail_msg("%s has no row in test_numbers.c: what do bad numbers do to it?", word);
        bool exempt = false;
        for (int i = 0; i < COUNT(without); i++) exempt = exempt || strcmp(word, without[i]) == 0;
        if (!functions[row].attack && takes_numbers(open, close) && !exempt)
            fail_msg("%s takes numbers, but nothing is tried on it", word);
        count++;
    }
    assert_int_equal(count, COUNT(functions));
}

/* Every `double name` in the struct, arrays included and pointers left out, is in the list. */
static void check_struct(const char *name, const field *fields, int count) {
    char start[64];
    snprintf(start, sizeof start, "typedef struct %s {", name);
    const char *at = strstr(headers, start);
    if (!at) fail_msg("there is no struct %s any more", name);
    int seen = 0;
    for (const char *line = at, *end = strstr(at, "\n}"); line && line < end; line = strchr(line + 1, '\n')) {
        const char *word = line;
        while (isspace((unsigned char)*word)) word++;
        const char *type = "double";
        if (strncmp(word, type, 6) != 0) continue;
        word += 6;
        while (isspace((unsigned char)*word)) word++;
        if (*word == '*') continue;
        size_t length = 0;
        while (is_word(word[length])) length++;
        bool known = false;
        for (int i = 0; i < count; i++)
            known = known || (strlen(fields[i].name) == length && strncmp(fields[i].name, word, length) == 0);
        if (!known) fail_msg("%s.%.*s has no row in test_numbers.c", name, (int)length, word);
        seen++;
    }
    if (seen != count) fail_msg("%s has %d numbers in the header, %d rows here", name, seen, count);
}

static void every_number_of_a_struct_has_a_row(void **unused) {
    (void)unused;
    for (int i = 0; i < COUNT(structs); i++) check_struct(structs[i].name, structs[i].fields, structs[i].count);
}

static void bad_numbers_are_refused_or_contained(void **unused) {
    (void)unused;
    const char *only = getenv("NUMBERS_ONLY");
    for (int i = 0; i < COUNT(functions); i++) {
        long before = tried, out = refused;
        clock_t start = clock();
        if (!functions[i].attack || (only && !strstr(functions[i].name, only))) continue;
        functions[i].attack();
        print_message("  %-32s %5ld tried, %5ld refused, %.1f s\n", functions[i].name, tried - before, refused - out,
                      (double)(clock() - start) / CLOCKS_PER_SEC);
        fflush(stdout);
        assert_true(tried > before);
    }
    assert_int_equal(broken, 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_public_function_has_a_row),
    cmocka_unit_test(every_number_of_a_struct_has_a_row),
    cmocka_unit_test(bad_numbers_are_refused_or_contained),
};

int main(int argc, char **argv) {
    char filter[256] = "*";
    if (argc > 1) snprintf(filter, sizeof filter, "*%s*", argv[1]);
    cmocka_set_test_filter(filter);
    return cmocka_run_group_tests(tests, read_headers, forget_headers);
}
