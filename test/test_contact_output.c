/* The contact report: forces balance, sums agree, and a recording has the same. */
#include "soft_tools.h"

#include "world/sim.h"

#include <unistd.h>

enum { BLOCK, TABLE, PLATE };
#define SIDE 0.04      /* of the block, m */
#define GRAVITY 9.81   /* m/s^2, downwards */
#define PLATE_MASS 0.1 /* kg */

typedef struct world_parts {
    bool held;                           /* the top layer of the block is held by a support that goes down 2 mm */
    bool with_plate;                     /* a rigid plate lies on the block */
    const thenar_surface *table_surface; /* NULL: the table is a plane at y = 0 */
} world_parts;

static void add_block(thenar_build *build, bool held) {
    thenar_error error;
    thenar_tet_mesh mesh = tools_box(SIDE, SIDE, SIDE, 3, 3, 3);
    for (int i = 0; i < mesh.node_count; i++) mesh.positions[3 * i + 1] += 0.001;
    thenar_key keys[2] = {{.time = 0}, {.time = 0.2, .move = {0.001, -0.003, 0}}};
    thenar_support top = {.name = "top",
                          .region = {.kind = THENAR_REGION_HALF, .point = {0, SIDE, 0}, .normal = {0, -1, 0}},
                          .keys = keys,
                          .key_count = 2};
    thenar_soft_def block = thenar_soft_def_default();
    block.name = "block";
    block.mesh = &mesh;
    block.material.young = 50e3;
    block.material.damping_mass = 2;
    block.supports = &top;
    block.support_count = held;
    assert_ok(thenar_build_add_soft(build, &block, &error), error);
    thenar_tet_mesh_free(&mesh);
}

static thenar_model *make_world(world_parts parts) {
    thenar_error error;
    thenar_world_def world = thenar_world_def_default();
    thenar_build *build = thenar_build_create(&world);
    add_block(build, parts.held);
    thenar_rigid_def table = thenar_rigid_def_default();
    table.name = "table";
    table.motion = THENAR_MOTION_STATIC;
    table.shape = (thenar_shape){.kind = THENAR_SHAPE_PLANE, .normal = {0, 1, 0}};
    if (parts.table_surface) {
        table.shape = (thenar_shape){.kind = THENAR_SHAPE_MESH, .surface = parts.table_surface};
        table.pose[1] = -SIDE; /* half of its height */
    }
    assert_ok(thenar_build_add_rigid(build, &table, &error), error);
    if (parts.with_plate) {
        thenar_rigid_def plate = thenar_rigid_def_default();
        plate.name = "plate";
        plate.shape = (thenar_shape){.kind = THENAR_SHAPE_BOX, .size = {0.06, 0.02, 0.06}};
        plate.mass = PLATE_MASS;
        vec3_store(plate.pose, vec3_make(SIDE / 2, SIDE + 0.012, SIDE / 2));
        assert_ok(thenar_build_add_rigid(build, &plate, &error), error);
    }
    thenar_model *model;
    assert_ok(thenar_build_compile(build, &model, &error), error);
    thenar_build_free(build);
    return model;
}

static thenar_sim *settle(thenar_model *model, int steps) {
    thenar_sim *sim = tools_sim(model, 0.01, 1);
    tools_run(sim, steps);
    return sim;
}

static void drop(thenar_sim *sim, thenar_model *model) {
    thenar_sim_free(sim);
    thenar_model_free(model);
}

/* Everything that the contacts do to a body, added up here. */
static void add_up(const thenar_sim *sim, int body, vec3 *force, vec3 *torque, double *area) {
    *force = *torque = (vec3){0};
    *area = 0;
    for (int i = 0; i < thenar_sim_contact_count(sim); i++) {
        const thenar_contact *c = &thenar_sim_contacts(sim)[i];
        if (c->body[0] != body && c->body[1] != body) continue;
        vec3 f = vec3_mul_add(vec3_load(c->friction), vec3_load(c->normal), c->force);
        if (c->body[1] == body) f = vec3_scale(f, -1);
        *force = vec3_add(*force, f);
        *torque = vec3_add(*torque, vec3_cross(vec3_load(c->position), f));
        if (c->force > 0) *area += c->area;
    }
}

static void assert_vectors_near(const double *got, vec3 expected, double tolerance) {
    assert_near(got[0], expected.x, tolerance);
    assert_near(got[1], expected.y, tolerance);
    assert_near(got[2], expected.z, tolerance);
}

static void forces_of_a_resting_block_add_up_to_its_weight(void **unused) {
    (void)unused;
    thenar_model *model = make_world((world_parts){0});
    thenar_sim *sim = settle(model, 300);
    double weight = SIDE * SIDE * SIDE * 1000 * GRAVITY, area;
    vec3 force, torque;
    add_up(sim, BLOCK, &force, &torque, &area);
    assert_near(thenar_model_mass(model, BLOCK) * GRAVITY, weight, 1e-12);
    assert_near(force.y, weight, 1e-3 * weight);
    assert_near(force.x, 0, 1e-3 * weight);
    assert_near(force.z, 0, 1e-3 * weight);
    /* A block at rest: the centre of pressure is below its centre. */
    const thenar_contact_pair *pair = thenar_sim_contact_pairs(sim);
    assert_int_equal(thenar_sim_contact_pair_count(sim), 1);
    assert_near(pair->centre[0], SIDE / 2, 1e-3 * SIDE);
    assert_near(pair->centre[2], SIDE / 2, 1e-3 * SIDE);
    assert_near(pair->pressure * pair->area, weight, 1e-3 * weight);
    drop(sim, model);
}

static void each_body_of_a_stack_bears_what_lies_on_it(void **unused) {
    (void)unused;
    thenar_model *model = make_world((world_parts){.with_plate = true});
    thenar_sim *sim = settle(model, 400);
    double weight = thenar_model_mass(model, BLOCK) * GRAVITY, load = PLATE_MASS * GRAVITY, force[3];
    thenar_sim_contact_wrench(sim, PLATE, force, NULL, NULL);
    assert_near(force[1], load, 1e-3 * load);
    thenar_sim_contact_wrench(sim, BLOCK, force, NULL, NULL);
    assert_near(force[1], weight, 1e-3 * (weight + load));
    thenar_sim_contact_wrench(sim, TABLE, force, NULL, NULL);
    assert_near(force[1], -weight - load, 1e-3 * (weight + load));
    drop(sim, model);
}

static void sums_of_pairs_and_bodies_are_those_over_their_contacts(void **unused) {
    (void)unused;
    thenar_model *model = make_world((world_parts){.with_plate = true});
    thenar_sim *sim = tools_sim(model, 0.01, 1);
    bool touched = false;
    for (int step = 0; step < 60; step++) {
        tools_run(sim, 1);
        int pushing = 0, listed = 0;
        for (int p = 0; p < thenar_sim_contact_pair_count(sim); p++) {
            const thenar_contact_pair *pair = &thenar_sim_contact_pairs(sim)[p];
            vec3 force = {0}, torque = {0};
            double normal = 0, area = 0;
            assert_int_equal(pair->first, listed);
            listed += pair->count;
            for (int i = pair->first; i < pair->first + pair->count; i++) {
                const thenar_contact *c = &thenar_sim_contacts(sim)[i];
                assert_memory_equal(c->body, pair->body, sizeof c->body);
                vec3 f = vec3_mul_add(vec3_load(c->friction), vec3_load(c->normal), c->force);
                force = vec3_add(force, f);
                torque = vec3_add(torque, vec3_cross(vec3_load(c->position), f));
                normal += c->force;
                area += c->force > 0 ? c->area : 0;
                pushing += c->force > 0;
            }
            /* Sums of up to 50 numbers below 10. */
            assert_vectors_near(pair->force, force, 1e-12);
            assert_vectors_near(pair->torque, torque, 1e-12);
            assert_near(pair->normal_force, normal, 1e-12);
            assert_near(pair->area, area, 1e-15);
        }
        assert_int_equal(listed, thenar_sim_contact_count(sim));
        assert_int_equal(pushing, thenar_sim_stats(sim)->contacts);
        touched = touched || pushing > 0;
        for (int body = BLOCK; body <= PLATE; body++) {
            vec3 f, t;
            double area, force[3], torque[3], reported;
            add_up(sim, body, &f, &t, &area);
            thenar_sim_contact_wrench(sim, body, force, torque, &reported);
            assert_vectors_near(force, f, 1e-12);
            assert_vectors_near(torque, t, 1e-12);
            assert_near(reported, area, 1e-15);
        }
    }
    assert_true(touched);
    drop(sim, model);
}

static void two_bodies_that_touch_feel_opposite_wrenches(void **unused) {
    (void)unused;
    thenar_model *model = make_world((world_parts){.held = true});
    thenar_sim *sim = settle(model, 15); /* while it is pressed and dragged */
    double on_block[3], block_torque[3], on_table[3], table_torque[3], area, table_area;
    thenar_sim_contact_wrench(sim, BLOCK, on_block, block_torque, &area);
    thenar_sim_contact_wrench(sim, TABLE, on_table, table_torque, &table_area);
    assert_true(on_block[1] > 0.1 && area > 0);
    for (int k = 0; k < 3; k++) {
        assert_near(on_table[k], -on_block[k], 0);
        assert_near(table_torque[k], -block_torque[k], 0);
    }
    assert_near(table_area, area, 0);
    drop(sim, model);
}

/* At rest: force of the support + force of contact + weight = 0, and the same of torques about the origin. */
static void a_block_held_against_a_table_is_in_balance(void **unused) {
    (void)unused;
    thenar_model *model = make_world((world_parts){.held = true});
    thenar_sim *sim = settle(model, 400);
    double support[3], support_torque[3], push[3], push_torque[3], largest = 0;
    thenar_sim_support_wrench(sim, BLOCK, 0, support, support_torque);
    thenar_sim_contact_wrench(sim, BLOCK, push, push_torque, NULL);
    const double *masses = thenar_model_masses(model, BLOCK), *x = thenar_sim_positions(sim, BLOCK);
    vec3 weight = {0}, weight_torque = {0};
    for (int i = 0; i < thenar_model_mesh(model, BLOCK)->node_count; i++) {
        vec3 f = vec3_make(0, -GRAVITY * masses[i], 0);
        weight = vec3_add(weight, f);
        weight_torque = vec3_add(weight_torque, vec3_cross(vec3_load(x + 3 * i), f));
    }
    assert_true(push[1] > 2 * -weight.y); /* it is pressed, not only laid down */
    for (int k = 0; k < 3; k++) largest = fmax(largest, fabs(push[k]));
    vec3 force = vec3_add(vec3_add(vec3_load(support), vec3_load(push)), weight);
    vec3 torque = vec3_add(vec3_add(vec3_load(support_torque), vec3_load(push_torque)), weight_torque);
    /* The solver itself stops where forces change by less than 2 %; a block at rest comes much nearer. */
    assert_near(vec3_length(force), 0, 1e-3 * largest);
    assert_near(vec3_length(torque), 0, 1e-3 * largest * SIDE);
    drop(sim, model);
}

static void friction_is_within_its_cone_and_normals_are_unit(void **unused) {
    (void)unused;
    thenar_model *model = make_world((world_parts){.held = true});
    thenar_sim *sim = tools_sim(model, 0.01, 1);
    for (int step = 0; step < 30; step++) {
        tools_run(sim, 1);
        for (int i = 0; i < thenar_sim_contact_count(sim); i++) {
            const thenar_contact *c = &thenar_sim_contacts(sim)[i];
            vec3 normal = vec3_load(c->normal), friction = vec3_load(c->friction);
            assert_near(vec3_length(normal), 1, 1e-12);
            assert_near(vec3_dot(normal, friction), 0, 1e-12);
            assert_true(c->force >= 0);
            assert_true(vec3_length(friction) <= 0.5 * c->force * (1 + 1e-9) + 1e-12); /* both have mu 0.5 */
        }
    }
    drop(sim, model);
}

static void nothing_is_reported_after_a_reset_or_a_restore(void **unused) {
    (void)unused;
    thenar_model *model = make_world((world_parts){0});
    thenar_sim *sim = settle(model, 50);
    assert_true(thenar_sim_contact_count(sim) > 0);
    size_t size = thenar_sim_snapshot_size(sim);
    void *bytes = malloc(size);
    thenar_error error;
    thenar_sim_snapshot(sim, bytes);
    assert_ok(thenar_sim_restore(sim, bytes, size, &error), error);
    assert_int_equal(thenar_sim_contact_count(sim), 0);
    assert_int_equal(thenar_sim_contact_pair_count(sim), 0);
    tools_run(sim, 1);
    assert_true(thenar_sim_contact_count(sim) > 0);
    thenar_sim_reset(sim);
    assert_int_equal(thenar_sim_contact_count(sim), 0);
    free(bytes);
    drop(sim, model);
}

/* Implicit Euler falls n (n + 1) / 2 h^2 g in n steps, less by its damping: v (1 + h alpha) = v0 + h g. */
static void without_contact_bodies_fall_through_each_other(void **unused) {
    (void)unused;
    thenar_model *model = make_world((world_parts){0});
    thenar_error error;
    thenar_sim *sim;
    thenar_sim_options options = {.size = sizeof(thenar_sim_options), .dt = 0.01, .contact = THENAR_CONTACT_NONE};
    assert_ok(thenar_sim_create(model, &options, &sim, &error), error);
    assert_int_equal(thenar_sim_contact_method(sim), THENAR_CONTACT_NONE);
    double start = thenar_sim_positions(sim, BLOCK)[1], fall = 0, speed = 0;
    for (int step = 0; step < 50; step++) {
        tools_run(sim, 1);
        speed = (speed + 0.01 * GRAVITY) / (1 + 0.01 * 2);
        fall += 0.01 * speed;
        assert_int_equal(thenar_sim_contact_count(sim), 0);
    }
    assert_near(thenar_sim_positions(sim, BLOCK)[1], start - fall, 1e-9);
    drop(sim, model);
}

static void unknown_contact_methods_are_refused(void **unused) {
    (void)unused;
    thenar_model *model = make_world((world_parts){0});
    thenar_error error;
    thenar_sim *sim;
    static const char *const names[] = {"aggregated", "springs", ""};
    for (int i = 0; i < 3; i++) assert_int_equal(thenar_contact_method_find(names[i]), -1);
    thenar_sim_options options = thenar_sim_options_default();
    options.contact = (thenar_contact_method)77;
    assert_true(thenar_sim_create(model, &options, &sim, &error) < 0);
    assert_non_null(strstr(error.text, "77"));
    assert_null(sim);
    assert_ok(thenar_sim_create(model, NULL, &sim, &error), error);
    assert_int_equal(thenar_sim_contact_method(sim), THENAR_CONTACT_POINT);
    drop(sim, model);
}

/* As recorded: with 24 bits. */
static void assert_recorded(double got, double value) {
    assert_near(got, (float)value, 0);
}

static void compare_contacts(const thenar_contact *got, const thenar_contact *reported) {
    assert_memory_equal(got->body, reported->body, sizeof got->body);
    assert_memory_equal(got->face, reported->face, sizeof got->face);
    assert_int_equal(got->vertex, reported->vertex);
    assert_int_equal(got->sticks, reported->sticks);
    for (int k = 0; k < 3; k++) {
        assert_recorded(got->position[k], reported->position[k]);
        assert_recorded(got->normal[k], reported->normal[k]);
        assert_recorded(got->friction[k], reported->friction[k]);
    }
    assert_recorded(got->gap, reported->gap);
    assert_recorded(got->force, reported->force);
    assert_recorded(got->area, reported->area);
}

/* The table is a mesh, whose triangles the contacts name. */
static void a_recording_has_the_contacts_that_the_simulation_reported(void **unused) {
    (void)unused;
    enum { STEPS = 40 };
    const char *path = BINARY_DIR "/test_contact_output.thenar";
    thenar_error error;
    thenar_surface surface;
    const double size[3] = {0.3, 2 * SIDE, 0.3};
    assert_ok(thenar_surface_box(size, 6, &surface, &error), error);
    thenar_model *model = make_world((world_parts){.with_plate = true, .table_surface = &surface});
    thenar_surface_free(&surface);
    thenar_sim *sim = tools_sim(model, 0.01, 1);
    thenar_recorder *recorder;
    thenar_contact *reported[STEPS + 1] = {NULL};
    int counts[STEPS + 1] = {0}, faces = 0;
    assert_ok(thenar_recorder_create(path, sim, NULL, &recorder, &error), error);
    assert_ok(thenar_recorder_add(recorder, &error), error);
    for (int step = 1; step <= STEPS; step++) {
        tools_run(sim, 1);
        assert_ok(thenar_recorder_add(recorder, &error), error);
        counts[step] = thenar_sim_contact_count(sim);
        reported[step] = malloc(((size_t)counts[step] + 1) * sizeof **reported);
        if (counts[step] > 0)
            memcpy(reported[step], thenar_sim_contacts(sim), (size_t)counts[step] * sizeof **reported);
    }
    assert_ok(thenar_recorder_close(recorder, &error), error);
    assert_true(counts[STEPS] > 0);

    thenar_recording *recording;
    assert_ok(thenar_recording_open(path, &recording, &error), error);
    assert_null(thenar_recording_damage(recording));
    assert_int_equal(thenar_recording_frame_count(recording), STEPS + 1);
    for (int frame = STEPS; frame >= 0; frame--) {
        const thenar_contact *contacts;
        int count;
        assert_ok(thenar_recording_read_contacts(recording, frame, &contacts, &count, &error), error);
        assert_int_equal(count, counts[frame]);
        assert_true(count <= thenar_recording_get_info(recording).max_contacts);
        for (int i = 0; i < count; i++) {
            compare_contacts(&contacts[i], &reported[frame][i]);
            faces += contacts[i].face[1] >= 0;
        }
        free(reported[frame]);
    }
    assert_true(faces > 0);
    thenar_recording_close(recording);
    unlink(path);
    drop(sim, model);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(forces_of_a_resting_block_add_up_to_its_weight),
    cmocka_unit_test(each_body_of_a_stack_bears_what_lies_on_it),
    cmocka_unit_test(sums_of_pairs_and_bodies_are_those_over_their_contacts),
    cmocka_unit_test(two_bodies_that_touch_feel_opposite_wrenches),
    cmocka_unit_test(a_block_held_against_a_table_is_in_balance),
    cmocka_unit_test(friction_is_within_its_cone_and_normals_are_unit),
    cmocka_unit_test(nothing_is_reported_after_a_reset_or_a_restore),
    cmocka_unit_test(without_contact_bodies_fall_through_each_other),
    cmocka_unit_test(unknown_contact_methods_are_refused),
    cmocka_unit_test(a_recording_has_the_contacts_that_the_simulation_reported),
};

TEST_MAIN(tests)
