/* Promises of the simulation as a whole: determinism, snapshots, no allocation in the step, survival. */
#include "soft_tools.h"

#include "allocations.h"
#include "solver/newton.h"
#include "world/sim.h"
#include "poses.h"

#include <pthread.h>
#include <stdlib.h>

/* A spinning box and a driven capsule. */
static void add_rigids(thenar_build *build) {
    thenar_error error;
    thenar_key keys[] = {{.time = 0}, {.time = 0.2, .move = {0.1, 0, 0}, .turn = {0, 1, 0}}};
    thenar_rigid_def def = thenar_rigid_def_default();
    def.name = "box";
    def.shape = (thenar_shape){.kind = THENAR_SHAPE_BOX, .size = {0.3, 0.2, 0.1}};
    vec3_store(def.spin, vec3_make(1, 20, 2));
    assert_ok(thenar_build_add_rigid(build, &def, &error), error);
    def = thenar_rigid_def_default();
    def.name = "capsule";
    def.motion = THENAR_MOTION_DRIVEN;
    def.shape = (thenar_shape){.kind = THENAR_SHAPE_CAPSULE, .radius = 0.1, .length = 0.2};
    def.keys = keys;
    def.key_count = 2;
    assert_ok(thenar_build_add_rigid(build, &def, &error), error);
}

/* Two soft bodies, one large enough to be cut into many pieces of work, one driven; and two rigid ones. */
static thenar_model *some_bodies(void) {
    thenar_error error;
    thenar_world_def world = thenar_world_def_default();
    world.name = "some";
    thenar_build *build = thenar_build_create(&world);
    thenar_tet_mesh large = tools_box(0.6, 0.3, 0.3, 12, 6, 6), small = tools_box(1, 0.2, 0.2, 10, 2, 2);
    thenar_soft_def def = thenar_soft_def_default();
    def.name = "large";
    def.mesh = &large;
    thenar_support base = {.name = "base", .region = tools_box_region(vec3_make(0, 0, 0), vec3_make(0, 0.3, 0.3))};
    def.supports = &base;
    def.support_count = 1;
    assert_ok(thenar_build_add_soft(build, &def, &error), error);
    thenar_key keys[] = {{.time = 0}, {.time = 0.3, .move = {0, 0.1, 0}, .turn = {0.5, 0, 0}}};
    thenar_support grip = {.name = "grip",
                           .region = tools_box_region(vec3_make(0, 0, 0), vec3_make(0, 0.2, 0.2)),
                           .keys = keys,
                           .key_count = 2};
    def.name = "small";
    def.mesh = &small;
    def.supports = &grip;
    assert_ok(thenar_build_add_soft(build, &def, &error), error);
    add_rigids(build);
    thenar_model *model;
    assert_ok(thenar_build_compile(build, &model, &error), error);
    thenar_build_free(build);
    thenar_tet_mesh_free(&large);
    thenar_tet_mesh_free(&small);
    return model;
}

static void the_state_is_the_same_with_any_number_of_threads(void **unused) {
    (void)unused;
    thenar_model *model = some_bodies();
    uint64_t first = 0;
    for (int threads = 1; threads <= 4; threads *= SANITIZED ? 4 : 2) {
        thenar_sim *sim = tools_sim(model, 0.01, threads);
        tools_run(sim, SANITIZED ? 4 : 6);
        if (threads == 1) first = thenar_sim_hash(sim);
        assert_true(thenar_sim_hash(sim) == first);
        thenar_sim_free(sim);
    }
    thenar_model_free(model);
}

#define SIDE_BY_SIDE 16

typedef struct one_of_many {
    const thenar_model *model;
    int number;
    uint64_t hash;
} one_of_many;

/* Each is pushed in a way of its own. No asserts: it runs in threads. */
static void *run_one_of_many(void *context) {
    one_of_many *one = context;
    thenar_sim *sim;
    thenar_error error;
    const double force[3] = {0, 0.1 * one->number, 0};
    if (thenar_sim_create(one->model, NULL, &sim, &error) != THENAR_OK) return NULL;
    thenar_sim_apply_force(sim, 0, 20, force);
    for (int i = 0; i < 10; i++) thenar_sim_step(sim);
    one->hash = thenar_sim_hash(sim);
    thenar_sim_free(sim);
    return NULL;
}

static void sixteen_simulations_of_one_model_side_by_side_are_those_one_after_the_other(void **unused) {
    (void)unused;
    thenar_tet_mesh mesh = tools_box(0.5, 0.2, 0.2, 5, 2, 2);
    thenar_soft_def def = thenar_soft_def_default();
    def.name = "body";
    def.mesh = &mesh;
    def.material.stretch_max = 1.1;
    thenar_model *model = tools_model(&def, -9.81);
    one_of_many alone[SIDE_BY_SIDE], together[SIDE_BY_SIDE];
    pthread_t threads[SIDE_BY_SIDE];
    for (int i = 0; i < SIDE_BY_SIDE; i++) {
        alone[i] = together[i] = (one_of_many){.model = model, .number = i};
        run_one_of_many(&alone[i]);
        assert_true(i == 0 || alone[i].hash != alone[i - 1].hash);
    }
    for (int i = 0; i < SIDE_BY_SIDE; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_one_of_many, &together[i]), 0);
    for (int i = 0; i < SIDE_BY_SIDE; i++) {
        pthread_join(threads[i], NULL);
        assert_true(together[i].hash == alone[i].hash);
    }
    thenar_model_free(model);
    thenar_tet_mesh_free(&mesh);
}

static void a_restored_simulation_continues_bit_for_bit(void **unused) {
    (void)unused;
    thenar_error error;
    thenar_model *model = some_bodies(), *equal = some_bodies();
    thenar_sim *sim = tools_sim(model, 0.01, 1), *other = tools_sim(equal, 0.01, 2);
    const double force[3] = {1, 2, 3};
    const double torque[3] = {0, 0.1, 0}, place[3] = {1, 1, 1}, turn[4] = {0, 1, 0, 1};
    thenar_sim_apply_force(sim, 0, 100, force);
    thenar_sim_apply_wrench(sim, 2, force, torque);
    drive_body(sim, 3, place, turn);
    tools_run(sim, 10);
    size_t size = thenar_sim_snapshot_size(sim);
    void *snapshot = malloc(size);
    thenar_sim_snapshot(sim, snapshot);
    uint64_t hashes[10];
    for (int i = 0; i < 10; i++) {
        tools_run(sim, 1);
        hashes[i] = thenar_sim_hash(sim);
    }
    tools_run(other, 3);
    assert_ok(thenar_sim_restore(other, snapshot, size, &error), error);
    assert_true(thenar_sim_step_count(other) == 10);
    for (int i = 0; i < 10; i++) {
        tools_run(other, 1);
        assert_true(thenar_sim_hash(other) == hashes[i]);
    }
    free(snapshot);
    thenar_sim_free(sim);
    thenar_sim_free(other);
    thenar_model_free(model);
    thenar_model_free(equal);
}

static void a_simulation_continues_another_with_a_time_step_of_its_own(void **unused) {
    (void)unused;
    thenar_error error;
    thenar_model *model = some_bodies(), *equal = some_bodies();
    thenar_sim *sim = tools_sim(model, 0.01, 1), *same = tools_sim(equal, 0.01, 1), *finer = tools_sim(equal, 0.005, 1);
    const double force[3] = {1, 2, 3}, torque[3] = {0, 0.1, 0}, place[3] = {1, 1, 1}, turned[4] = {0, 1, 0, 1};
    thenar_sim_apply_force(sim, 0, 100, force);
    thenar_sim_apply_wrench(sim, 2, force, torque);
    drive_body(sim, 3, place, turned);
    tools_run(sim, 10);
    assert_ok(thenar_sim_continue(finer, sim, &error), error);
    assert_true(thenar_sim_dt(finer) == 0.005 && thenar_sim_time(finer) == thenar_sim_time(sim));
    size_t bytes = 3 * (size_t)thenar_model_mesh(model, 0)->node_count * sizeof(double);
    assert_memory_equal(thenar_sim_positions(finer, 0), thenar_sim_positions(sim, 0), bytes);
    assert_memory_equal(thenar_sim_velocities(finer, 0), thenar_sim_velocities(sim, 0), bytes);
    /* Nothing but the settings differs: with the same ones it does the same. */
    assert_ok(thenar_sim_continue(same, sim, &error), error);
    tools_run(sim, 5);
    tools_run(same, 5);
    assert_true(thenar_sim_hash(same) == thenar_sim_hash(sim));
    /* Ten steps of half the size come to the same time. */
    tools_run(finer, 10);
    assert_true(fabs(thenar_sim_time(finer) - thenar_sim_time(sim)) < 1e-12);
    double here[3], there[3], turn[4];
    body_pose(sim, 2, here, turn);
    body_pose(finer, 2, there, turn);
    /* Under an acceleration a, a step of h is h T a / 2 ahead of the parabola after a time T. */
    for (int i = 0; i < 3; i++) {
        double acceleration = force[i] / thenar_model_mass(model, 2) - (i == 1 ? 9.81 : 0);
        assert_near(here[i] - there[i], 0.5 * (0.01 - 0.005) * 0.05 * acceleration, 1e-12);
    }
    thenar_sim_free(sim);
    thenar_sim_free(same);
    thenar_sim_free(finer);
    thenar_model_free(model);
    thenar_model_free(equal);
}

/* Two cushions held below, a spinning crate, and a handle on a corner of one cushion; limits or none. */
static thenar_model *cushions_with_handle(bool limited, int cells, int support_count, const char *tool) {
    thenar_error error;
    thenar_world_def world = thenar_world_def_default();
    thenar_build *build = thenar_build_create(&world);
    thenar_tet_mesh mesh = tools_box(0.2, 0.1, 0.2, cells, 2, 4);
    thenar_support supports[2] = {
        {.name = "base", .region = tools_box_region(vec3_make(0, 0, 0), vec3_make(0.2, 0, 0.2))},
        {.name = "side", .region = tools_box_region(vec3_make(0, 0.05, 0), vec3_make(0, 0.1, 0.2))}};
    thenar_soft_def def = thenar_soft_def_default();
    def.name = "cushion";
    def.mesh = &mesh;
    def.material.stretch_max = limited ? 1.2 : 0;
    def.touches = false;
    def.supports = supports;
    def.support_count = support_count;
    assert_ok(thenar_build_add_soft(build, &def, &error), error);
    def.name = "other";
    assert_ok(thenar_build_add_soft(build, &def, &error), error);
    thenar_rigid_def crate = thenar_rigid_def_default();
    crate.name = "crate";
    crate.shape = (thenar_shape){.kind = THENAR_SHAPE_BOX, .size = {0.3, 0.2, 0.1}};
    crate.touches = false;
    vec3_store(crate.spin, vec3_make(1, 20, 2));
    assert_ok(thenar_build_add_rigid(build, &crate, &error), error);
    thenar_handle_def handle = thenar_handle_def_default();
    handle.name = "corner";
    handle.tool = tool;
    vec3_store(handle.seed, vec3_make(0.2, 0.1, 0.2));
    handle.radius = 0.06;
    assert_ok(thenar_build_add_handle(build, &handle, &error), error);
    thenar_model *model;
    assert_ok(thenar_build_compile(build, &model, &error), error);
    thenar_build_free(build);
    thenar_tet_mesh_free(&mesh);
    return model;
}

/* The kept states have other layouts then: body by body, all that moves goes on from where it was. */
static void a_simulation_continues_another_that_has_limits(void **unused) {
    (void)unused;
    thenar_error error;
    thenar_model *model = cushions_with_handle(false, 4, 1, "cushion"),
                 *limited = cushions_with_handle(true, 4, 1, "cushion");
    thenar_sim *sim = tools_sim(model, 0.01, 1), *next = tools_sim(limited, 0.01, 1);
    const double wanted[7] = {0.21, 0.11, 0.2, 0, 0, 0, 1};
    thenar_sim_drive_handle(sim, 0, wanted, NULL);
    tools_run(sim, 10);
    assert_ok(thenar_sim_continue(next, sim, &error), error);
    assert_near(thenar_sim_time(next), thenar_sim_time(sim), 0);
    size_t bytes = 3 * (size_t)thenar_model_mesh(model, 0)->node_count * sizeof(double);
    thenar_handle_state held, holds;
    for (int turn = 0; turn < 2; turn++) { /* where it was, and a step later still, since no limit is reached */
        double here[7], there[7];
        thenar_sim_handle(sim, 0, &held);
        thenar_sim_handle(next, 0, &holds);
        for (int i = 0; i < 7; i++) assert_near(holds.pose[i], held.pose[i], 1e-9);
        body_pose(sim, 2, here, here + 3);
        body_pose(next, 2, there, there + 3);
        for (int i = 0; i < 7; i++) assert_near(there[i], here[i], turn ? 1e-9 : 0);
        const double *x = thenar_sim_positions(sim, 0), *y = thenar_sim_positions(next, 0);
        for (size_t i = 0; i < bytes / sizeof *x; i++) assert_near(y[i], x[i], turn ? 1e-9 : 0);
        tools_run(sim, 1);
        tools_run(next, 1);
    }
    /* Another mesh, another support, a handle on another body: not the same world. */
    thenar_model *others[] = {cushions_with_handle(false, 5, 1, "cushion"),
                              cushions_with_handle(false, 4, 2, "cushion"), cushions_with_handle(false, 4, 1, "other")};
    for (int i = 0; i < 3; i++) {
        thenar_sim *other = tools_sim(others[i], 0.01, 1);
        assert_int_equal(thenar_sim_continue(other, sim, &error), THENAR_ERROR_INPUT);
        assert_non_null(strstr(error.text, "its bodies are not those of"));
        assert_true(thenar_sim_step_count(other) == 0);
        thenar_sim_free(other);
        thenar_model_free(others[i]);
    }
    thenar_sim_free(sim);
    thenar_sim_free(next);
    thenar_model_free(model);
    thenar_model_free(limited);
}

static void options_that_are_none_are_refused_by_name(void **unused) {
    (void)unused;
    struct {
        thenar_sim_options options;
        const char *words;
    } bad[] = {{{.solver = (thenar_solver)9}, "there is no solver 9; expected 0 to 6"},
               {{.friction = (thenar_friction)3}, "there is no friction 3; expected 0 to 2"},
               {{.contact = (thenar_contact_method)-2}, "there is no contact method -2; expected 0 to 3"},
               {{.contact = THENAR_CONTACT_AGGREGATE, .coupling = THENAR_COUPLING_SCHUR},
                "with aggregated contact; expected another"},
               {{.threads = -1}, "-1 threads; expected 1.."}};
    thenar_error error;
    thenar_model *model = some_bodies();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        thenar_sim *sim;
        bad[i].options.size = sizeof bad[i].options;
        assert_int_equal(thenar_sim_create(model, &bad[i].options, &sim, &error), THENAR_ERROR_INPUT);
        assert_null(sim);
        if (!strstr(error.text, bad[i].words)) fail_msg("\"%s\" does not say \"%s\"", error.text, bad[i].words);
    }
    thenar_model_free(model);
    for (int i = 0; i < 2; i++) {
        thenar_world_def world = thenar_world_def_default();
        if (i == 0)
            world.contact_method = (thenar_contact_method)99;
        else
            world.contact_pressure = (thenar_contact_pressure)99;
        thenar_build *build = thenar_build_create(&world);
        assert_int_equal(thenar_build_compile(build, &model, &error), THENAR_ERROR_INPUT);
        assert_non_null(strstr(error.text, i == 0 ? "contact method is 99" : "contact pressure is 99"));
        thenar_build_free(build);
    }
}

/* Their unknowns would all be coupled with each other. */
static void more_rigid_bodies_than_may_touch_are_refused(void **unused) {
    (void)unused;
    thenar_error error;
    thenar_world_def world = thenar_world_def_default();
    thenar_build *build = thenar_build_create(&world);
    for (int i = 0; i < 257; i++) {
        char name[16];
        snprintf(name, sizeof name, "ball %d", i);
        thenar_rigid_def ball = thenar_rigid_def_default();
        ball.name = name;
        ball.shape = (thenar_shape){.kind = THENAR_SHAPE_SPHERE, .radius = 0.01};
        ball.pose[0] = i;
        assert_ok(thenar_build_add_rigid(build, &ball, &error), error);
    }
    thenar_model *model;
    assert_int_equal(thenar_build_compile(build, &model, &error), THENAR_ERROR_INPUT);
    assert_non_null(strstr(error.text, "257 dynamic rigid bodies that may touch; expected at most 256"));
    thenar_build_free(build);
}

static void a_simulation_does_not_continue_one_of_other_bodies(void **unused) {
    (void)unused;
    thenar_error error;
    thenar_world_def world = thenar_world_def_default();
    thenar_build *build = thenar_build_create(&world);
    thenar_model *model = some_bodies(), *empty;
    assert_ok(thenar_build_compile(build, &empty, &error), error);
    thenar_build_free(build);
    thenar_sim *sim = tools_sim(model, 0.01, 1), *other = tools_sim(empty, 0.01, 1);
    tools_run(sim, 3);
    uint64_t before = thenar_sim_hash(sim);
    assert_true(thenar_sim_continue(sim, other, &error) == THENAR_ERROR_INPUT);
    assert_true(thenar_sim_hash(sim) == before);
    thenar_sim_free(sim);
    thenar_sim_free(other);
    thenar_model_free(model);
    thenar_model_free(empty);
}

static void a_snapshot_that_does_not_fit_is_refused_and_changes_nothing(void **unused) {
    (void)unused;
    thenar_error error;
    thenar_tet_mesh mesh = tools_box(1, 0.2, 0.2, 5, 1, 1);
    thenar_soft_def def = thenar_soft_def_default();
    def.name = "body";
    def.mesh = &mesh;
    thenar_model *model = tools_model(&def, -9.81);
    def.material.young *= 2;
    thenar_model *stiffer = tools_model(&def, -9.81);
    thenar_sim *sim = tools_sim(model, 0.01, 1);
    tools_run(sim, 5);
    uint64_t hash = thenar_sim_hash(sim);
    size_t size = thenar_sim_snapshot_size(sim);
    char *snapshot = malloc(size);
    thenar_sim_snapshot(sim, snapshot);
    for (size_t i = 0; i < size; i += i < 64 ? 1 : 37) {
        snapshot[i] ^= 4;
        assert_int_equal(thenar_sim_restore(sim, snapshot, size, &error), THENAR_ERROR_INPUT);
        assert_true(thenar_sim_hash(sim) == hash);
        snapshot[i] ^= 4;
    }
    for (size_t length = 0; length < size; length += 97)
        assert_int_equal(thenar_sim_restore(sim, snapshot, length, &error), THENAR_ERROR_INPUT);
    thenar_sim *other_model = tools_sim(stiffer, 0.01, 1), *other_dt = tools_sim(model, 0.005, 1);
    assert_int_equal(thenar_sim_restore(other_model, snapshot, size, &error), THENAR_ERROR_INPUT);
    assert_non_null(strstr(error.text, "another model"));
    assert_int_equal(thenar_sim_restore(other_dt, snapshot, size, &error), THENAR_ERROR_INPUT);
    assert_non_null(strstr(error.text, "time step"));
    assert_ok(thenar_sim_restore(sim, snapshot, size, &error), error);
    free(snapshot);
    thenar_sim_free(sim);
    thenar_sim_free(other_model);
    thenar_sim_free(other_dt);
    thenar_model_free(model);
    thenar_model_free(stiffer);
    thenar_tet_mesh_free(&mesh);
}

/* Where a support goes next is part of what a state means. */
static void a_snapshot_of_a_model_whose_supports_move_otherwise_is_refused(void **unused) {
    (void)unused;
    thenar_error error;
    thenar_tet_mesh mesh = tools_box(1, 0.2, 0.2, 5, 1, 1);
    thenar_key keys[] = {{.time = 0}, {.time = 1, .turn = {1, 0, 0}}};
    const thenar_region left = tools_box_region(vec3_make(0, 0, 0), vec3_make(0, 1, 1));
    const thenar_region right = tools_box_region(vec3_make(1, 0, 0), vec3_make(1, 1, 1));
    thenar_support base[2] = {{.region = left, .keys = keys, .key_count = 2}, {.region = right}};
    thenar_soft_def def = thenar_soft_def_default();
    def.name = "body";
    def.mesh = &mesh;
    def.support_count = 2;
    def.supports = base;
    thenar_model *model = tools_model(&def, 0);
    thenar_sim *sim = tools_sim(model, 0.01, 1);
    size_t size = thenar_sim_snapshot_size(sim);
    void *snapshot = malloc(size);
    thenar_sim_snapshot(sim, snapshot);
    for (int change = 0; change < 3; change++) {
        thenar_support other[2] = {base[0], base[1]};
        if (change == 0) other[0].linear = true;
        if (change == 1) other[0].has_pivot = true;
        if (change == 2) other[0].region = right, other[1].region = left;
        def.supports = other;
        thenar_model *changed = tools_model(&def, 0);
        thenar_sim *target = tools_sim(changed, 0.01, 1);
        assert_int_equal(thenar_sim_restore(target, snapshot, size, &error), THENAR_ERROR_INPUT);
        assert_non_null(strstr(error.text, "another model"));
        thenar_sim_free(target);
        thenar_model_free(changed);
    }
    free(snapshot);
    thenar_sim_free(sim);
    thenar_model_free(model);
    thenar_tet_mesh_free(&mesh);
}

static void a_reset_simulation_is_a_new_one(void **unused) {
    (void)unused;
    thenar_model *model = some_bodies();
    thenar_sim *sim = tools_sim(model, 0.01, 1);
    uint64_t start = thenar_sim_hash(sim);
    tools_run(sim, 5);
    assert_true(thenar_sim_hash(sim) != start);
    thenar_sim_reset(sim);
    assert_true(thenar_sim_hash(sim) == start);
    thenar_sim_free(sim);
    thenar_model_free(model);
}

static void the_step_allocates_nothing_from_the_first_one_on(void **unused) {
    (void)unused;
    thenar_model *model = some_bodies();
    for (int threads = 1; threads <= 2; threads++) {
        thenar_sim *sim = tools_sim(model, 0.01, threads);
        long before = allocation_count;
        for (int i = 0; i < 5; i++) thenar_sim_step(sim);
        assert_int_equal(allocation_count - before, 0);
        thenar_sim_free(sim);
    }
    /* The counter counts. */
    long before = allocation_count;
    free(memory_array(1, 1));
    assert_int_equal(allocation_count - before, 1);
    thenar_model_free(model);
}

static bool all_finite(const double *values, int count) {
    for (int i = 0; i < count; i++)
        if (!isfinite(values[i])) return false;
    return true;
}

/* Forces that would throw a body out of the world, or overflow, cannot be stepped: the last good positions stay, at
 * rest. */
static void an_impossible_step_keeps_the_last_good_state(void **unused) {
    (void)unused;
    thenar_tet_mesh mesh = tools_box(1, 1, 1, 2, 2, 2);
    thenar_soft_def def = thenar_soft_def_default();
    def.name = "body";
    def.mesh = &mesh;
    thenar_model *model = tools_model(&def, -9.81);
    thenar_sim *sim = tools_sim(model, 0.01, 1);
    int count = 3 * mesh.node_count;
    double *x = malloc((size_t)count * sizeof *x);
    const double huge[] = {1.7e308, 1e30, 1e15}, none[3] = {0};
    for (int k = 0; k < 3; k++) {
        const double force[3] = {0, -huge[k], huge[k]};
        tools_run(sim, 3);
        memcpy(x, thenar_sim_positions(sim, 0), (size_t)count * sizeof *x);
        assert_int_equal(thenar_sim_apply_force(sim, 0, 3, force), THENAR_OK);
        assert_int_equal(thenar_sim_step(sim), THENAR_ERROR_NUMERIC);
        assert_memory_equal(thenar_sim_positions(sim, 0), x, (size_t)count * sizeof *x);
        assert_true(all_finite(thenar_sim_velocities(sim, 0), count));
        assert_true(all_finite(thenar_sim_forces(sim, 0), count));
        assert_int_equal(thenar_sim_warning_count(sim, THENAR_WARNING_STEP_SPLIT), k + 1);
        assert_int_equal(thenar_sim_warning_count(sim, THENAR_WARNING_STEP_FAILED), k + 1);
        /* It goes on once the force is gone. */
        assert_int_equal(thenar_sim_apply_force(sim, 0, 3, none), THENAR_OK);
        tools_run(sim, 3);
        assert_true(thenar_sim_positions(sim, 0)[1] < x[1]);
    }
    free(x);
    tools_free(sim, model, &mesh);
}

/* What a solver may do to v, and for how many solves. */
static double nonsense;
static int nonsense_solves;

static bool solve_nonsense(void *state, const solver_problem *problem, solver_report *report) {
    bool done = newton_solver.solve(state, problem, report);
    if (nonsense_solves > 0) problem->v[4] = nonsense;
    nonsense_solves -= nonsense_solves > 0;
    return done;
}

static void a_solve_that_yields_no_numbers_is_undone_and_counted(void **unused) {
    (void)unused;
    thenar_tet_mesh mesh = tools_box(1, 1, 1, 2, 2, 2);
    thenar_soft_def def = thenar_soft_def_default();
    def.name = "body";
    def.mesh = &mesh;
    def.material.stretch_max = 2; /* so that the solver is asked */
    thenar_model *model = tools_model(&def, -9.81);
    thenar_sim *sim = tools_sim(model, 0.01, 1);
    solver_class faulty = *sim->solver;
    faulty.solve = solve_nonsense;
    sim->solver = &faulty;
    size_t bytes = 3 * (size_t)mesh.node_count * sizeof(double);
    double *x = malloc(bytes);
    const double values[] = {NAN, INFINITY, -INFINITY, 1e30, 1e300};
    for (int k = 0; k < 5; k++) {
        nonsense = values[k];
        /* Once: the step is done in two pieces instead. */
        nonsense_solves = 1;
        assert_int_equal(thenar_sim_step(sim), THENAR_OK);
        assert_int_equal(thenar_sim_warning_count(sim, THENAR_WARNING_STEP_SPLIT), 2 * k + 1);
        /* In every piece: the state is the last good one, at rest, and the next step goes on. */
        memcpy(x, thenar_sim_positions(sim, 0), bytes);
        nonsense_solves = 1000;
        assert_int_equal(thenar_sim_step(sim), THENAR_ERROR_NUMERIC);
        assert_memory_equal(thenar_sim_positions(sim, 0), x, bytes);
        for (int i = 0; i < 3 * mesh.node_count; i++) assert_true(thenar_sim_velocities(sim, 0)[i] == 0);
        assert_true(all_finite(thenar_sim_forces(sim, 0), 3 * mesh.node_count));
        assert_int_equal(thenar_sim_warning_count(sim, THENAR_WARNING_STEP_FAILED), k + 1);
        nonsense_solves = 0;
        assert_int_equal(thenar_sim_step(sim), THENAR_OK);
        assert_true(thenar_sim_positions(sim, 0)[1] < x[1]);
    }
    free(x);
    tools_free(sim, model, &mesh);
}

/* A solver that can do only a fourth of a step of 0.01 s at a time. */
static bool solve_short_steps(void *state, const solver_problem *problem, solver_report *report) {
    return problem->step->h < 0.003 && newton_solver.solve(state, problem, report);
}

static void a_step_done_in_pieces_is_the_step_that_was_asked_for(void **unused) {
    (void)unused;
    thenar_tet_mesh mesh = tools_box(1, 0.2, 0.2, 5, 1, 1);
    thenar_support grip = {.region = tools_box_region(vec3_make(0, 0, 0), vec3_make(0, 1, 1))};
    thenar_soft_def def = thenar_soft_def_default();
    def.name = "body";
    def.mesh = &mesh;
    def.material.stretch_max = 2; /* no limit on compression: what is inverted stays so for a while */
    def.supports = &grip;
    def.support_count = 1;
    thenar_model *model = tools_model(&def, 0);
    thenar_sim *sim = tools_sim(model, 0.01, 1);
    solver_class short_steps = *sim->solver;
    short_steps.solve = solve_short_steps;
    sim->solver = &short_steps;
    /* The free end is folded back into the body: some tets are inverted. */
    double x[3 * 24];
    assert_int_equal(3 * mesh.node_count, 3 * 24);
    for (int i = 0; i < 3 * 24; i++) x[i] = i % 3 == 0 && mesh.positions[i] > 0.9 ? 0.7 : mesh.positions[i];
    thenar_sim_set_state(sim, 0, x, NULL);
    double stretches[3 * 25];
    thenar_sim_stretches(sim, 0, stretches);
    int inverted = 0;
    for (int t = 0; t < mesh.tet_count; t++) inverted += stretches[3 * t + 2] < 0;
    assert_true(inverted > 0);
    const double move[3] = {0, 0.001, 0}, turn[3] = {0};
    drive_support(sim, 0, 0, move, turn);
    assert_int_equal(thenar_sim_step(sim), THENAR_OK);
    assert_int_equal(thenar_sim_warning_count(sim, THENAR_WARNING_STEP_SPLIT), 1);
    /* Those of the beginning, counted once. */
    assert_int_equal(thenar_sim_stats(sim)->inverted_tets, inverted);
    /* The driver's move takes the whole step, not the first piece of it. */
    for (int i = 0; i < mesh.node_count; i++) {
        if (mesh.positions[3 * i] > 0) continue;
        assert_near(thenar_sim_positions(sim, 0)[3 * i + 1], mesh.positions[3 * i + 1] + 0.001, 1e-15);
        assert_near(thenar_sim_velocities(sim, 0)[3 * i + 1], 0.1, 1e-12);
    }
    thenar_sim_free(sim);
    thenar_model_free(model);
    thenar_tet_mesh_free(&mesh);
}

static void inputs_that_are_not_finite_are_refused(void **unused) {
    (void)unused;
    thenar_tet_mesh mesh = tools_box(1, 1, 1, 1, 1, 1);
    thenar_soft_def def = thenar_soft_def_default();
    def.name = "body";
    def.mesh = &mesh;
    thenar_model *model = tools_model(&def, -9.81);
    thenar_sim *sim = tools_sim(model, 0.01, 1);
    uint64_t hash = thenar_sim_hash(sim);
    const double bad[][3] = {{NAN, 0, 0}, {0, INFINITY, 0}, {0, 0, -INFINITY}};
    double x[24];
    memcpy(x, mesh.positions, sizeof x);
    x[7] = NAN;
    for (int i = 0; i < 3; i++) assert_int_equal(thenar_sim_apply_force(sim, 0, 0, bad[i]), THENAR_ERROR_INPUT);
    assert_int_equal(thenar_sim_set_state(sim, 0, x, NULL), THENAR_ERROR_INPUT);
    assert_int_equal(thenar_sim_set_state(sim, 0, NULL, x), THENAR_ERROR_INPUT);
    assert_true(thenar_sim_hash(sim) == hash);
    tools_free(sim, model, &mesh);
}

static void a_model_outlives_its_owner_while_a_simulation_uses_it(void **unused) {
    (void)unused;
    thenar_model *model = some_bodies();
    thenar_sim *sim = tools_sim(model, 0.01, 1);
    thenar_model_free(model);
    tools_run(sim, 2);
    thenar_sim_free(sim);
}

static void a_body_that_is_wholly_held_goes_where_it_is_taken(void **unused) {
    (void)unused;
    thenar_tet_mesh mesh = tools_box(1, 1, 1, 1, 1, 1);
    thenar_support all = {.region = {.kind = THENAR_REGION_ALL}};
    thenar_soft_def def = thenar_soft_def_default();
    def.name = "body";
    def.mesh = &mesh;
    def.supports = &all;
    def.support_count = 1;
    thenar_model *model = tools_model(&def, -9.81);
    thenar_sim *sim = tools_sim(model, 0.01, 1);
    const double move[3] = {1, 2, 3}, turn[3] = {0, 0, 0};
    drive_support(sim, 0, 0, move, turn);
    tools_run(sim, 2);
    for (int i = 0; i < 24; i++) assert_near(thenar_sim_positions(sim, 0)[i], mesh.positions[i] + move[i % 3], 1e-12);
    tools_free(sim, model, &mesh);
}

static void a_world_without_bodies_can_be_run_and_written(void **unused) {
    (void)unused;
    thenar_error error;
    thenar_world_def world = thenar_world_def_default();
    thenar_build *build = thenar_build_create(&world);
    thenar_model *model;
    assert_ok(thenar_build_compile(build, &model, &error), error);
    thenar_build_free(build);
    assert_int_equal(thenar_model_dof_count(model), 0);
    thenar_sim *sim = tools_sim(model, 0, 2);
    tools_run(sim, 3);
    assert_near(thenar_sim_time(sim), 0.03, 1e-15);
    assert_ok(thenar_sim_write_vtk(sim, "/dev/null", &error), error);
    size_t size = thenar_sim_snapshot_size(sim);
    void *snapshot = malloc(size);
    thenar_sim_snapshot(sim, snapshot);
    assert_ok(thenar_sim_restore(sim, snapshot, size, &error), error);
    free(snapshot);
    thenar_sim_free(sim);
    thenar_model_free(model);
}

static void a_mesh_in_millimetres_is_warned_of(void **unused) {
    (void)unused;
    thenar_tet_mesh mesh = tools_box(100, 20, 20, 5, 1, 1);
    thenar_soft_def def = thenar_soft_def_default();
    def.name = "finger";
    def.mesh = &mesh;
    thenar_model *model = tools_model(&def, -9.81);
    assert_int_equal(thenar_model_warning_count(model), 1);
    assert_non_null(strstr(thenar_model_warning(model, 0), "finger"));
    assert_non_null(strstr(thenar_model_warning(model, 0), "millimetres"));
    thenar_model_free(model);
    thenar_tet_mesh_free(&mesh);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_state_is_the_same_with_any_number_of_threads),
    cmocka_unit_test(sixteen_simulations_of_one_model_side_by_side_are_those_one_after_the_other),
    cmocka_unit_test(a_restored_simulation_continues_bit_for_bit),
    cmocka_unit_test(a_simulation_continues_another_with_a_time_step_of_its_own),
    cmocka_unit_test(a_simulation_continues_another_that_has_limits),
    cmocka_unit_test(options_that_are_none_are_refused_by_name),
    cmocka_unit_test(more_rigid_bodies_than_may_touch_are_refused),
    cmocka_unit_test(a_simulation_does_not_continue_one_of_other_bodies),
    cmocka_unit_test(a_snapshot_that_does_not_fit_is_refused_and_changes_nothing),
    cmocka_unit_test(a_snapshot_of_a_model_whose_supports_move_otherwise_is_refused),
    cmocka_unit_test(a_reset_simulation_is_a_new_one),
    cmocka_unit_test(the_step_allocates_nothing_from_the_first_one_on),
    cmocka_unit_test(an_impossible_step_keeps_the_last_good_state),
    cmocka_unit_test(a_solve_that_yields_no_numbers_is_undone_and_counted),
    cmocka_unit_test(a_step_done_in_pieces_is_the_step_that_was_asked_for),
    cmocka_unit_test(inputs_that_are_not_finite_are_refused),
    cmocka_unit_test(a_model_outlives_its_owner_while_a_simulation_uses_it),
    cmocka_unit_test(a_body_that_is_wholly_held_goes_where_it_is_taken),
    cmocka_unit_test(a_world_without_bodies_can_be_run_and_written),
    cmocka_unit_test(a_mesh_in_millimetres_is_warned_of),
};

TEST_MAIN(tests)
