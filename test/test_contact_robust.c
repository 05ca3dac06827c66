/* What contact must survive: no step is lost in silence, nothing becomes NaN, energy stays bounded, and once the load
 * is gone all is as before. */
#include "contact_pinch.h"

#include "allocations.h"
#include "core/memory.h"
#include "poses.h"

/* ---- the same, again ---- */

/* A pinched cube that is lifted. */
static void pinch_play(thenar_sim *sim, int from, int to) {
    for (int i = from; i < to; i++) pinch_step(sim, 0.9e-3 * fmin(1, i / 10.0), 1e-4 * i);
}

static void the_state_is_the_same_with_any_number_of_threads_and_after_a_reset(void **unused) {
    (void)unused;
    uint64_t first = 0;
    for (int threads = 1; threads <= 4; threads *= 2) {
        thenar_sim *sim = pinch_start(0.01, threads);
        pinch_play(sim, 0, 40);
        assert_true(thenar_sim_stats(sim)->contacts > 20);
        if (threads == 1) first = thenar_sim_hash(sim);
        assert_true(thenar_sim_hash(sim) == first);
        thenar_sim_reset(sim);
        pinch_play(sim, 0, 40);
        assert_true(thenar_sim_hash(sim) == first);
        thenar_sim_free(sim);
    }
}

static void a_restored_simulation_continues_bit_for_bit_in_the_middle_of_contact(void **unused) {
    (void)unused;
    thenar_error error;
    thenar_sim *sim = pinch_start(0.01, 1), *other = pinch_start(0.01, 2);
    pinch_play(sim, 0, 20);
    size_t size = thenar_sim_snapshot_size(sim);
    void *bytes = malloc(size);
    thenar_sim_snapshot(sim, bytes);
    pinch_play(other, 0, 7);
    assert_ok(thenar_sim_restore(other, bytes, size, &error), error);
    assert_true(thenar_sim_hash(sim) == thenar_sim_hash(other));
    for (int i = 20; i < 40; i++) {
        pinch_play(sim, i, i + 1);
        pinch_play(other, i, i + 1);
        assert_true(thenar_sim_hash(sim) == thenar_sim_hash(other));
    }
    assert_memory_equal(thenar_sim_contacts(sim), thenar_sim_contacts(other),
                        (size_t)thenar_sim_contact_count(sim) * sizeof(thenar_contact));
    free(bytes);
    thenar_sim_free(sim);
    thenar_sim_free(other);
}

static void a_step_with_contacts_allocates_nothing(void **unused) {
    (void)unused;
    thenar_sim *sim = pinch_start(0.01, 2);
    long before = allocation_count;
    pinch_play(sim, 0, 30);
    assert_int_equal(allocation_count - before, 0);
    assert_true(thenar_sim_stats(sim)->contacts > 20);
    free(memory_array(1, 1)); /* the counter counts */
    assert_int_equal(allocation_count - before, 1);
    thenar_sim_free(sim);
}

/* ---- what is watched while something is abused ---- */

typedef struct watch {
    double energy; /* J: the most there was */
    double speed;  /* m/s: the fastest body */
    double depth;  /* m: the deepest contact */
    int steps, unconverged, split, failed, lost;
} watch;

static void watch_step(thenar_sim *sim, watch *w) {
    thenar_status status = thenar_sim_step(sim);
    w->steps++;
    w->failed += status != THENAR_OK;
    assert_true(scene_is_finite(sim));
    w->energy = fmax(w->energy, scene_energy(sim));
    for (int i = 0; i < thenar_model_body_count(thenar_sim_model(sim)); i++)
        w->speed = fmax(w->speed, vec3_length(scene_velocity(sim, i)));
    w->depth = fmax(w->depth, scene_contacts(sim, 0).depth);
    w->unconverged = (int)thenar_sim_warning_count(sim, THENAR_WARNING_NOT_CONVERGED);
    w->split = (int)thenar_sim_warning_count(sim, THENAR_WARNING_STEP_SPLIT);
    w->lost = (int)thenar_sim_warning_count(sim, THENAR_WARNING_CONTACTS_LOST);
    assert_int_equal(w->failed, thenar_sim_warning_count(sim, THENAR_WARNING_STEP_FAILED));
}

static void watch_run(thenar_sim *sim, watch *w, double time) {
    for (int i = steps_in(time, thenar_sim_dt(sim)); i > 0; i--) watch_step(sim, w);
}

static void watch_tell(const char *what, const watch *w) {
    print_message("  %-34s energy at most %.2e J, speed %.2e m/s, depth %.1e m, of %d steps unconverged %d, split %d, "
                  "failed %d, lost contacts %d\n",
                  what, w->energy, w->speed, w->depth, w->steps, w->unconverged, w->split, w->failed, w->lost);
}

/* ---- a finger-like block over a table ---- */

#define FINGER_LENGTH 0.07

/* Body 0: 7 cm long, held at its upper side, E 2 MPa, limits 0.9..1.1, 1 mm above body 1, the ground. */
static thenar_sim *finger_start(double h, bool held, double height) {
    scene s = scene_begin_on_earth();
    thenar_tet_mesh mesh =
        scene_box(vec3_make(0, height, -0.007), vec3_make(FINGER_LENGTH, height + 0.014, 0.007), 10, 2, 2);
    thenar_soft_def def = scene_soft("finger", &mesh, 2e6, 0.8);
    def.material.stretch_min = 0.9;
    def.material.stretch_max = 1.1;
    thenar_support bone = {.name = "bone",
                           .region = tools_box_region(vec3_make(0, height + 0.014, -1), vec3_make(1, 1 + height, 1))};
    def.supports = &bone;
    def.support_count = held;
    scene_add_soft(&s, &def);
    scene_add_ground(&s, 0.8);
    thenar_sim *sim = scene_sim(&s, h, 1);
    thenar_tet_mesh_free(&mesh);
    return sim;
}

static void drive_finger(thenar_sim *sim, vec3 to) {
    const double move[3] = {to.x, to.y, to.z}, turn[3] = {0};
    drive_support(sim, 0, 0, move, turn);
}

/* Once nothing presses, the finger has its shape back. */
static void assert_recovered(const thenar_sim *sim, int body) {
    double min, max;
    scene_stretches(sim, body, &min, &max);
    if (!(min > 0.98 && max < 1.02)) print_error("stretches %g .. %g\n", min, max);
    assert_true(min > 0.98 && max < 1.02);
    assert_true(scene_kinetic(sim) < 1e-4);
}

/* A support that is pressed down until the table bears 1000 N, and taken back. */
static void a_finger_is_pressed_with_1000_newtons_through_its_bone(void **unused) {
    (void)unused;
    for (int k = 0; k < 2; k++) {
        thenar_sim *sim = finger_start(time_step(k), true, 0.001);
        watch w = {0};
        double down = 0, force[3] = {0}, torque[3];
        for (int i = 0; i < steps_in(2, thenar_sim_dt(sim)); i++) {
            thenar_sim_contact_wrench(sim, 0, force, torque, NULL);
            down += thenar_sim_dt(sim) * (force[1] < 1000 ? 0.004 : -0.001);
            drive_finger(sim, vec3_make(0, -down, 0));
            watch_step(sim, &w);
        }
        double min, max, support[3];
        scene_stretches(sim, 0, &min, &max);
        thenar_sim_contact_wrench(sim, 0, force, torque, NULL);
        thenar_sim_support_wrench(sim, 0, 0, support, torque);
        print_message("  pressed by %.3f mm: table %.1f N, bone %.1f N, stretches %.4f..%.4f\n", 1e3 * down - 1,
                      force[1], support[1], min, max);
        watch_tell(k ? "1000 N by the bone, long step" : "1000 N by the bone, short step", &w);
        assert_true(force[1] > 500);
        for (int i = 0; i < steps_in(0.2, thenar_sim_dt(sim)); i++)
            drive_finger(sim, vec3_make(0, 0, 0)), watch_step(sim, &w);
        watch_run(sim, &w, 0.5);
        assert_recovered(sim, 0);
        assert_int_equal(w.failed, 0);
        thenar_sim_free(sim);
    }
}

static void a_finger_is_pressed_with_1000_newtons_on_its_nodes(void **unused) {
    (void)unused;
    for (int k = 0; k < 2; k++) {
        thenar_sim *sim = finger_start(time_step(k), false, 0.001);
        const thenar_tet_mesh *mesh = thenar_model_mesh(thenar_sim_model(sim), 0);
        int top = 0;
        for (int i = 0; i < mesh->node_count; i++) top += mesh->positions[3 * i + 1] > 0.0149;
        watch w = {0};
        for (int phase = 0; phase < 2; phase++) {
            const double force[3] = {0, phase ? 0 : -1000.0 / top, 0};
            for (int i = 0; i < mesh->node_count; i++)
                if (mesh->positions[3 * i + 1] > 0.0149) thenar_sim_apply_force(sim, 0, i, force);
            watch_run(sim, &w, 1);
            double wrench[3], torque[3], min, max;
            scene_stretches(sim, 0, &min, &max);
            thenar_sim_contact_wrench(sim, 0, wrench, torque, NULL);
            print_message("  %s: table %.2f N, stretches %.4f..%.4f\n", phase ? "without" : "pressed", wrench[1], min,
                          max);
            if (phase == 0) assert_near(wrench[1], 1000, 20);
        }
        watch_tell(k ? "1000 N on its nodes, long step" : "1000 N on its nodes, short step", &w);
        assert_recovered(sim, 0);
        assert_int_equal(w.failed, 0);
        thenar_sim_free(sim);
    }
}

static void a_finger_is_dropped_from_2_m(void **unused) {
    (void)unused;
    for (int k = 0; k < 2; k++) {
        thenar_sim *sim = finger_start(time_step(k), false, 2);
        double first = scene_energy(sim), min, max;
        watch w = {0};
        watch_run(sim, &w, 3);
        scene_stretches(sim, 0, &min, &max);
        print_message("  %.4f J at first, at rest %.1e J kinetic, middle at %.4f m, stretches %.4f..%.4f\n", first,
                      scene_kinetic(sim), scene_place(sim, 0).y, min, max);
        watch_tell(k ? "dropped from 2 m, long step" : "dropped from 2 m, short step", &w);
        assert_true(w.energy <= first * 1.001);
        assert_recovered(sim, 0);
        assert_int_equal(w.failed, 0);
        thenar_sim_free(sim);
    }
}

static void a_bone_jumps_10_cm_into_the_table_and_back(void **unused) {
    (void)unused;
    for (int k = 0; k < 2; k++) {
        thenar_sim *sim = finger_start(time_step(k), true, 0.001);
        watch w = {0};
        watch_run(sim, &w, 0.1);
        drive_finger(sim, vec3_make(0, -0.1, 0));
        watch_run(sim, &w, 0.3);
        watch_tell(k ? "10 cm into the table, long step" : "10 cm into the table, short step", &w);
        drive_finger(sim, vec3_make(0, 0, 0));
        watch_run(sim, &w, 1);
        watch_tell("  and back", &w);
        assert_recovered(sim, 0);
        assert_int_equal(w.failed, 0);
        thenar_sim_free(sim);
    }
}

/* ---- squeezed ---- */

static void pads_squeeze_more_than_their_limits_can_give(void **unused) {
    (void)unused;
    for (int k = 0; k < 4; k++) {
        double h = time_step(k / 2), depth = k & 1 ? 1.4e-3 : 1.2e-3;
        thenar_sim *sim = pinch_start(h, 1);
        watch w = {0};
        double hard = 0;
        int in = steps_in(0.2, thenar_sim_dt(sim)), hold = steps_in(0.3, thenar_sim_dt(sim));
        for (int i = 1; i <= in + hold; i++) {
            const double left[3] = {depth * fmin(1, (double)i / in), 0, 0}, right[3] = {-left[0], 0, 0}, turn[3] = {0};
            pinch_pull(sim, 0.1 * CONTACT_GRAVITY);
            drive_support(sim, 0, 0, left, turn);
            drive_support(sim, 1, 0, right, turn);
            watch_step(sim, &w);
            hard = fmax(hard, scene_contacts(sim, PINCH_MU).normal);
        }
        double min, max;
        scene_stretches(sim, 0, &min, &max);
        print_message("  squeezed: cube %.3f mm off, normal forces at most %.0f N, now %.0f N, stretches %.3f..%.3f\n",
                      1e3 * vec3_length(scene_place(sim, 2)), hard, scene_contacts(sim, PINCH_MU).normal, min, max);
        watch_tell(k & 1 ? "squeezed by 14 %" : "squeezed by 12 %", &w);
        assert_true(vec3_length(scene_place(sim, 2)) < 1e-4);
        for (int i = 1; i <= in; i++) {
            const double left[3] = {depth + (0.5e-3 - depth) * i / in, 0, 0}, right[3] = {-left[0], 0, 0},
                         turn[3] = {0};
            drive_support(sim, 0, 0, left, turn);
            drive_support(sim, 1, 0, right, turn);
            watch_step(sim, &w);
        }
        int before = w.unconverged;
        watch_run(sim, &w, 0.5);
        scene_stretches(sim, 0, &min, &max);
        contact_figures f = scene_contacts(sim, PINCH_MU);
        print_message(
            "  let loose to 5 %%: cube %.3f mm off, normal forces %.2f N, stretches %.3f..%.3f, unconverged %d\n",
            1e3 * vec3_length(scene_place(sim, 2)), f.normal, min, max, w.unconverged - before);
        assert_int_equal(w.failed, 0);
        assert_true(min > 0.89 && max < 1.11);
        thenar_sim_free(sim);
    }
}

/* A soft cube between two driven plates that meet, and part again. */
static void a_body_is_between_two_plates_that_meet(void **unused) {
    (void)unused;
    for (int k = 0; k < 4; k++) {
        scene s = scene_begin(vec3_make(0, 0, 0), 0);
        bool limited = k & 1;
        thenar_tet_mesh mesh = scene_box(vec3_make(-0.01, -0.01, -0.01), vec3_make(0.01, 0.01, 0.01), 3, 3, 3);
        thenar_soft_def def = scene_soft("cube", &mesh, 1e5, 0.5);
        if (limited) def.material.stretch_min = 0.9, def.material.stretch_max = 1.1;
        scene_add_soft(&s, &def);
        for (int side = 0; side < 2; side++) {
            double sign = side ? 1 : -1;
            thenar_key keys[] = {{.time = 0.1}, {.time = 0.6, .move = {-sign * 0.0105, 0, 0}}, {.time = 1.1}};
            thenar_rigid_def plate = thenar_rigid_def_default();
            plate.name = side ? "right" : "left";
            plate.motion = THENAR_MOTION_DRIVEN;
            plate.shape = (thenar_shape){.kind = THENAR_SHAPE_BOX, .size = {0.04, 0.1, 0.1}};
            plate.keys = keys;
            plate.key_count = 3;
            vec3_store(plate.pose, vec3_make(sign * 0.0305, 0, 0));
            scene_add_rigid(&s, &plate);
        }
        thenar_sim *sim = scene_sim(&s, time_step(k / 2), 1);
        watch w = {0};
        watch_run(sim, &w, 0.6);
        double min, max;
        scene_stretches(sim, 0, &min, &max);
        print_message("  met: stretches %.3f..%.3f\n", min, max);
        watch_run(sim, &w, 1.5);
        watch_tell(limited ? "plates meet, limited" : "plates meet, soft", &w);
        assert_recovered(sim, 0);
        thenar_sim_free(sim);
        thenar_tet_mesh_free(&mesh);
    }
}

/* ---- spikes ---- */

/* A spike thinner than a tet is pressed into a soft block, dragged, and taken out. */
static void a_spike_thinner_than_a_tet_is_pressed_in_and_dragged(void **unused) {
    (void)unused;
    for (int k = 0; k < 6; k++) {
        thenar_error error;
        scene s = scene_begin_on_earth();
        thenar_tet_mesh mesh = scene_box(vec3_make(-0.03, -0.02, -0.03), vec3_make(0.03, 0, 0.03), 6, 3, 6);
        thenar_soft_def def = scene_soft("block", &mesh, 1e5, 0.5);
        def.material.stretch_min = 0.9, def.material.stretch_max = 1.1;
        thenar_support base = {.region = tools_box_region(vec3_make(-1, -0.02, -1), vec3_make(1, -0.02, 1))};
        def.supports = &base;
        def.support_count = 1;
        scene_add_soft(&s, &def);
        thenar_rigid_def spike = thenar_rigid_def_default();
        thenar_surface cone = {0};
        spike.name = "spike";
        spike.motion = THENAR_MOTION_DRIVEN;
        double half = 0.02;
        if (k % 3 == 0) spike.shape = (thenar_shape){.kind = THENAR_SHAPE_CAPSULE, .radius = 0.001, .length = 0.038};
        if (k % 3 == 1) spike.shape = (thenar_shape){.kind = THENAR_SHAPE_BOX, .size = {0.001, 0.04, 0.001}};
        if (k % 3 == 2) {
            /* A cone that stands on its tip: a cylinder whose lower rim is drawn together. */
            assert_ok(thenar_surface_cylinder(0.004, 0.04, 4, &cone, &error), error);
            for (int i = 0; i < cone.vertex_count; i++) {
                double share = 0.02 + 0.98 * (cone.positions[3 * i + 1] + 0.02) / 0.04;
                cone.positions[3 * i] *= share;
                cone.positions[3 * i + 2] *= share;
            }
            spike.shape = (thenar_shape){.kind = THENAR_SHAPE_MESH, .surface = &cone};
        }
        /* Near a node, then dragged over several tets, and out. Points of the skin feel the spike; between them it
         * goes in unfelt. */
        thenar_key keys[] = {{.time = 0.1},
                             {.time = 0.4, .move = {0, -0.008, 0}},
                             {.time = 1, .move = {0.015, -0.008, 0.004}},
                             {.time = 1.3, .move = {0.015, 0.01, 0.004}}};
        spike.keys = keys;
        spike.key_count = 4;
        vec3_store(spike.pose, vec3_make(0.0003, half + 0.001, 0.0002));
        scene_add_rigid(&s, &spike);
        thenar_sim *sim = scene_sim(&s, time_step(k / 3), 1);
        watch w = {0};
        watch_run(sim, &w, 1);
        double min, max;
        scene_stretches(sim, 0, &min, &max);
        contact_figures f = scene_contacts(sim, 0.5);
        print_message("  dragged: stretches %.3f..%.3f, %d touch with %.3f N\n", min, max, f.touching, f.normal);
        watch_run(sim, &w, 1.3);
        watch_tell(k % 3 == 0 ? "capsule of 1 mm" : k % 3 == 1 ? "box of 1 mm" : "cone", &w);
        assert_recovered(sim, 0);
        assert_int_equal(w.failed, 0);
        thenar_sim_free(sim);
        thenar_tet_mesh_free(&mesh);
        thenar_surface_free(&cone);
    }
}

/* ---- where things start, and how much they weigh ---- */

static void bodies_that_start_inside_each_other_come_apart_gently(void **unused) {
    (void)unused;
    for (int k = 0; k < 6; k++) {
        scene s = scene_begin_on_earth();
        thenar_tet_mesh mesh = scene_box(vec3_make(-0.02, -0.02, -0.02), vec3_make(0.02, 0.02, 0.02), 3, 3, 3);
        thenar_soft_def def = scene_soft("block", &mesh, 1e5, 0.5);
        if (k % 3 == 1) def.material.stretch_min = 0.9, def.material.stretch_max = 1.1;
        thenar_rigid_def cube = scene_cube("block", 0.04, 0.06, vec3_make(0, 0, 0), 0.5);
        if (k % 3 == 2)
            scene_add_rigid(&s, &cube);
        else
            scene_add_soft(&s, &def);
        scene_add_ground(&s, 0.5);
        thenar_sim *sim = scene_sim(&s, time_step(k / 3), 1);
        watch w = {0};
        watch_run(sim, &w, 2);
        watch_tell(k % 3 == 0 ? "half inside, soft" : k % 3 == 1 ? "half inside, limited" : "half inside, rigid", &w);
        assert_true(w.speed < 1);
        assert_near(scene_place(sim, 0).y, 0.02, 1e-3);
        if (k % 3 != 2) assert_recovered(sim, 0);
        thenar_sim_free(sim);
        thenar_tet_mesh_free(&mesh);
    }
}

static void a_milligram_and_a_tonne_lie_on_something_soft(void **unused) {
    (void)unused;
    for (int k = 0; k < 6; k++) {
        double mass = k % 3 == 0 ? 1e-6 : k % 3 == 1 ? 1 : 1000;
        scene s = scene_begin_on_earth();
        thenar_tet_mesh mesh = scene_box(vec3_make(-0.03, -0.02, -0.03), vec3_make(0.03, 0, 0.03), 4, 2, 4);
        thenar_soft_def def = scene_soft("block", &mesh, 1e5, 0.5);
        def.material.stretch_min = 0.9, def.material.stretch_max = 1.1;
        scene_add_soft(&s, &def);
        thenar_rigid_def cube = scene_cube("cube", 0.07, mass, vec3_make(0, 0.0355, 0), 0.5);
        int body = scene_add_rigid(&s, &cube);
        thenar_rigid_def ground = thenar_rigid_def_default();
        ground.name = "ground";
        ground.motion = THENAR_MOTION_STATIC;
        ground.shape = (thenar_shape){.kind = THENAR_SHAPE_PLANE, .normal = {0, 1, 0}};
        ground.pose[1] = -0.02;
        scene_add_rigid(&s, &ground);
        thenar_sim *sim = scene_sim(&s, time_step(k / 3), 1);
        watch w = {0};
        watch_run(sim, &w, 1);
        double force[3], torque[3], min, max;
        thenar_sim_contact_wrench(sim, body, force, torque, NULL);
        scene_stretches(sim, 0, &min, &max);
        char what[64];
        snprintf(what, sizeof what, "%g kg", mass);
        print_message("  bears %.4f of the weight, middle at %.3f mm, stretches %.3f..%.3f\n",
                      force[1] / (mass * CONTACT_GRAVITY), 1e3 * scene_place(sim, body).y, min, max);
        watch_tell(what, &w);
        assert_int_equal(w.failed, 0);
        assert_true(w.speed < 1);
        thenar_sim_free(sim);
        thenar_tet_mesh_free(&mesh);
    }
}

static void twenty_cubes_fall_on_a_heap(void **unused) {
    (void)unused;
    scene s = scene_begin_on_earth();
    scene_add_ground(&s, 0.5);
    char name[20][16];
    for (int i = 0; i < 20; i++) {
        snprintf(name[i], sizeof name[i], "cube %d", i);
        thenar_rigid_def cube =
            scene_cube(name[i], 0.03, 0, vec3_make(0.018 * (i % 3 - 1), 0.03 + 0.035 * i, 0.013 * (i % 2)), 0.5);
        cube.shape.rounding = i % 2 ? 0.002 : 0;
        scene_add_rigid(&s, &cube);
    }
    thenar_sim *sim = scene_sim(&s, 0.005, 1);
    watch w = {0};
    double first = scene_energy(sim), lowest = INFINITY;
    watch_run(sim, &w, 3);
    for (int i = 1; i <= 20; i++) lowest = fmin(lowest, scene_place(sim, i).y);
    print_message("  energy %.4f J at first, kinetic at the end %.1e J, lowest middle at %.4f m, %d contacts\n", first,
                  scene_kinetic(sim), lowest, thenar_sim_contact_count(sim));
    watch_tell("20 cubes", &w);
    assert_int_equal(w.failed, 0);
    assert_true(w.energy <= first * 1.01);
    assert_true(lowest > 0.0145);
    thenar_sim_free(sim);
}

/* ---- options at their ends ---- */

static void friction_and_margin_may_be_tiny_or_large(void **unused) {
    (void)unused;
    const double frictions[] = {0, 0.5, 10}, margins[] = {1e-7, 1e-3, 0.02};
    for (int k = 0; k < 18; k++) {
        double mu = frictions[k % 3], margin = margins[k / 3 % 3], h = time_step(k / 9);
        scene s = scene_begin(vec3_make(CONTACT_GRAVITY * sin(0.2), -CONTACT_GRAVITY * cos(0.2), 0), margin);
        thenar_tet_mesh mesh = scene_box(vec3_make(-0.02, 0.001, -0.02), vec3_make(0.02, 0.021, 0.02), 3, 2, 3);
        thenar_soft_def def = scene_soft("block", &mesh, 1e5, mu);
        scene_add_soft(&s, &def);
        scene_add_ground(&s, mu);
        thenar_sim *sim = scene_sim(&s, h, 1);
        watch w = {0};
        watch_run(sim, &w, 0.5);
        vec3 before = scene_velocity(sim, 0);
        watch_run(sim, &w, 0.5);
        double a = (scene_velocity(sim, 0).x - before.x) / 0.5, expected = mu == 0 ? CONTACT_GRAVITY * sin(0.2) : 0;
        if (fabs(a - expected) > 0.005 * CONTACT_GRAVITY || w.unconverged) {
            print_message("  mu %g margin %g h %g: acceleration %.4f, expected %.4f\n", mu, margin, h, a, expected);
            watch_tell("", &w);
        }
        assert_near(a, expected, 0.005 * CONTACT_GRAVITY);
        assert_true(w.depth < 1e-5);
        assert_int_equal(w.failed, 0);
        thenar_sim_free(sim);
        thenar_tet_mesh_free(&mesh);
    }
}

static void more_contacts_than_there_is_room_for_are_counted(void **unused) {
    (void)unused;
    scene s = scene_begin_on_earth();
    thenar_tet_mesh mesh = scene_box(vec3_make(-0.3, 0.0005, -0.3), vec3_make(0.3, 0.0205, 0.3), 48, 1, 48);
    thenar_soft_def def = scene_soft("sheet", &mesh, 1e5, 0.5);
    scene_add_soft(&s, &def);
    scene_add_ground(&s, 0.5);
    thenar_sim *sim = scene_sim(&s, 0.01, 2);
    watch w = {0};
    watch_run(sim, &w, 0.05);
    watch_tell("2401 points on the ground", &w);
    assert_int_equal(thenar_sim_contact_count(sim), 2048);
    assert_true(w.lost > 0);
    assert_int_equal(w.failed, 0);
    thenar_sim_free(sim);
    thenar_tet_mesh_free(&mesh);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_state_is_the_same_with_any_number_of_threads_and_after_a_reset),
    cmocka_unit_test(a_restored_simulation_continues_bit_for_bit_in_the_middle_of_contact),
    cmocka_unit_test(a_step_with_contacts_allocates_nothing),
    cmocka_unit_test(a_finger_is_pressed_with_1000_newtons_through_its_bone),
    cmocka_unit_test(a_finger_is_pressed_with_1000_newtons_on_its_nodes),
    cmocka_unit_test(a_finger_is_dropped_from_2_m),
    cmocka_unit_test(a_bone_jumps_10_cm_into_the_table_and_back),
    cmocka_unit_test(pads_squeeze_more_than_their_limits_can_give),
    cmocka_unit_test(a_body_is_between_two_plates_that_meet),
    cmocka_unit_test(a_spike_thinner_than_a_tet_is_pressed_in_and_dragged),
    cmocka_unit_test(bodies_that_start_inside_each_other_come_apart_gently),
    cmocka_unit_test(a_milligram_and_a_tonne_lie_on_something_soft),
    cmocka_unit_test(twenty_cubes_fall_on_a_heap),
    cmocka_unit_test(friction_and_margin_may_be_tiny_or_large),
    cmocka_unit_test(more_contacts_than_there_is_room_for_are_counted),
};

TEST_MAIN(tests)
