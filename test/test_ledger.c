/* Promises of the energy ledger: each joule has a source, and the ones that have none are counted. */
#include "contact_tools.h"
#include "scene_files.h"
#include "soft_tools.h"

#include "body/soft.h"
#include "core/svd3.h"

static double stored(const thenar_energy *e) {
    return e->kinetic + e->elastic + e->gravity + e->springs;
}

static double supplied(const thenar_energy *e) {
    return e->supports + e->driven + e->targets + e->applied + e->contacts;
}

static uint64_t gains(const thenar_sim *sim) {
    return thenar_sim_warning_count(sim, THENAR_WARNING_ENERGY);
}

/* Steps, and checks in each that energy changes by what came in and went out, and that it is never without a source. */
static void run_balanced(thenar_sim *sim, int steps, double before, double tolerance) {
    for (int i = 0; i < steps; i++) {
        assert_int_equal(thenar_sim_step(sim), THENAR_OK);
        const thenar_energy *e = &thenar_sim_stats(sim)->energy;
        assert_near(stored(e) - before, supplied(e) - e->dissipated + e->excess, 1e-12 + 1e-9 * fabs(before));
        assert_true(e->excess <= tolerance);
        before = stored(e);
    }
    assert_int_equal(gains(sim), 0);
}

/* Implicit Euler: v -= g h, then y += h v. A step of a fall loses m g^2 h^2 / 2, whatever the speed. */
static void a_falling_body_loses_what_implicit_euler_takes(void **unused) {
    (void)unused;
    const double mass = 0.3, h = 0.01;
    scene s = scene_begin_on_earth();
    thenar_rigid_def def = scene_cube("cube", 0.1, mass, vec3_make(0, 5, 0), 0.5);
    vec3_store(def.velocity, vec3_make(1, 2, 0));
    vec3_store(def.spin, vec3_make(3, 1, 2));
    scene_add_rigid(&s, &def);
    thenar_sim *sim = scene_sim(&s, h, 1);
    double kinetic, gravity;
    thenar_sim_energy(sim, 0, &kinetic, NULL, &gravity);
    run_balanced(sim, 50, kinetic + gravity, 1e-12);
    const thenar_energy *sum = thenar_sim_energy_sum(sim);
    double lost = 50 * 0.5 * mass * CONTACT_GRAVITY * CONTACT_GRAVITY * h * h;
    assert_near(sum->dissipated, lost, 1e-9 * lost);
    assert_near(stored(sum), kinetic + gravity - lost, 1e-9 * (kinetic + gravity));
    assert_near(supplied(sum), 0, 1e-12);
    thenar_sim_free(sim);
}

/* A bar without lateral contraction, stretched by 2 % within `duration`: work in, E A (dl)^2 / (2 l) stored. */
static double stretch_bar(double duration, double *work) {
    thenar_tet_mesh mesh = tools_box(0.2, 0.05, 0.05, 8, 2, 2);
    const thenar_key keys[] = {{.time = 0}, {.time = duration, .move = {0.004, 0, 0}}};
    const thenar_support supports[] = {
        {.name = "fixed", .region = tools_box_region(vec3_make(-1, -1, -1), vec3_make(1e-6, 1, 1))},
        {.name = "moved",
         .region = tools_box_region(vec3_make(0.2 - 1e-6, -1, -1), vec3_make(1, 1, 1)),
         .keys = keys,
         .key_count = 2}};
    thenar_soft_def def = thenar_soft_def_default();
    def.name = "bar";
    def.mesh = &mesh;
    def.material.young = 1e5;
    def.material.poisson = 0;
    def.supports = supports;
    def.support_count = 2;
    thenar_model *model = tools_model(&def, 0);
    thenar_sim *sim = tools_sim(model, 0.002, 1);
    run_balanced(sim, (int)lround((duration + 2) / 0.002), 0, 1e-9);
    const thenar_energy *sum = thenar_sim_energy_sum(sim);
    double elastic = sum->elastic;
    *work = sum->supports;
    assert_near(supplied(sum), sum->supports, 1e-12);
    tools_free(sim, model, &mesh);
    return elastic;
}

static void a_moved_support_puts_in_what_is_stored(void **unused) {
    (void)unused;
    double expected = 1e5 * 0.05 * 0.05 * 0.004 * 0.004 / (2 * 0.2), work[2], elastic[2];
    for (int i = 0; i < 2; i++) {
        elastic[i] = stretch_bar(i == 0 ? 0.5 : 2, &work[i]);
        print_message("elastic %.6g J of %.6g, work %.6g\n", elastic[i], expected, work[i]);
        /* Corotational strain is linear in the displacement of a straight bar. */
        assert_near(elastic[i], expected, 1e-3 * expected);
        assert_true(work[i] > elastic[i]);
    }
    /* Damping takes a share in proportion to the speed. */
    assert_near(work[1] - elastic[1], (work[0] - elastic[0]) / 4, 0.02 * (work[0] - elastic[0]));
}

/* A load on a free body: its work is its force times the way of its node. */
static void an_applied_force_puts_in_force_times_way(void **unused) {
    (void)unused;
    thenar_tet_mesh mesh = tools_box(0.1, 0.1, 0.1, 2, 2, 2);
    thenar_soft_def def = thenar_soft_def_default();
    def.name = "cube";
    def.mesh = &mesh;
    thenar_model *model = tools_model(&def, 0);
    thenar_sim *sim = tools_sim(model, 0.005, 1);
    int node = mesh.node_count - 1;
    const double force[3] = {0.3, -0.1, 0.2};
    assert_int_equal(thenar_sim_apply_force(sim, 0, node, force), THENAR_OK);
    vec3 start = vec3_load(thenar_sim_positions(sim, 0) + 3 * node);
    run_balanced(sim, 40, 0, 1e-6);
    vec3 way = vec3_sub(vec3_load(thenar_sim_positions(sim, 0) + 3 * node), start);
    double work = vec3_dot(vec3_load(force), way);
    assert_true(work > 0);
    assert_near(thenar_sim_energy_sum(sim)->applied, work, 1e-12);
    tools_free(sim, model, &mesh);
}

/* A cube that slides to rest: friction takes all of m v^2 / 2, with each contact method. */
static void friction_takes_the_kinetic_energy_of_what_slides(void **unused) {
    (void)unused;
    const thenar_contact_method methods[] = {THENAR_CONTACT_POINT, THENAR_CONTACT_AGGREGATE, THENAR_CONTACT_PENALTY};
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        scene s = scene_begin_on_earth();
        scene_add_ground(&s, 0.4);
        thenar_rigid_def def = scene_cube("cube", 0.1, 0.5, vec3_make(0, 0.05, 0), 0.4);
        vec3_store(def.velocity, vec3_make(1, 0, 0));
        scene_add_rigid(&s, &def);
        thenar_sim_options options = thenar_sim_options_default();
        options.dt = 0.002;
        options.contact = methods[i];
        thenar_sim *sim = scene_sim_with(&s, &options);
        for (int k = 0; k < 300; k++) assert_int_equal(thenar_sim_step(sim), THENAR_OK);
        const thenar_energy *sum = thenar_sim_energy_sum(sim);
        print_message("%s: kinetic %.2g, contacts %.6g, dissipated %.3g, excess %.3g J\n",
                      thenar_contact_method_name(methods[i]), sum->kinetic, sum->contacts, sum->dissipated,
                      sum->excess);
        assert_true(sum->kinetic < 1e-9);
        /* A step of braking by a loses m a^2 h^2 / 2 more in the integration: h a / v of it all. */
        assert_near(sum->contacts, -0.25, 0.02 * 0.25);
        assert_true(sum->excess < 1e-3 * 0.25);
        assert_int_equal(gains(sim), 0);
        thenar_sim_free(sim);
    }
}

/* A driven body pushes a cube over ground without friction: its work becomes kinetic energy, lost in part by the impact. */
static void a_driven_body_does_work_by_contact(void **unused) {
    (void)unused;
    scene s = scene_begin_on_earth();
    scene_add_ground(&s, 0);
    thenar_rigid_def cube = scene_cube("cube", 0.1, 0.5, vec3_make(0, 0.05, 0), 0);
    thenar_rigid_def pusher = scene_cube("pusher", 0.1, 1, vec3_make(-0.12, 0.05, 0), 0);
    const thenar_key keys[] = {{.time = 0}, {.time = 1, .move = {0.5, 0, 0}}};
    pusher.motion = THENAR_MOTION_DRIVEN;
    pusher.keys = keys;
    pusher.key_count = 2;
    pusher.linear = true;
    scene_add_rigid(&s, &cube);
    scene_add_rigid(&s, &pusher);
    thenar_sim *sim = scene_sim(&s, 0.005, 1);
    tools_run(sim, 100);
    const thenar_energy *sum = thenar_sim_energy_sum(sim);
    print_message("driven %.6g, kinetic %.6g, contacts %.3g, dissipated %.3g, excess %.3g J\n", sum->driven,
                  sum->kinetic, sum->contacts, sum->dissipated, sum->excess);
    assert_near(sum->kinetic, 0.5 * 0.5 * 0.25, 1e-6);
    /* p v with the momentum p of the cube: half of it is lost in the impact. */
    assert_near(sum->driven, 0.5 * 0.25, 1e-3);
    assert_int_equal(gains(sim), 0);
    thenar_sim_free(sim);
}

/* A hand whose fingers are driven by springs: the targets supply what it stores and loses. */
static void the_targets_of_a_hand_put_in_what_it_stores(void **unused) {
    (void)unused;
    thenar_sim *sim = scene_file_open("hand-fist", NULL, 0, NULL);
    tools_run(sim, 1);
    double before = stored(&thenar_sim_stats(sim)->energy);
    run_balanced(sim, SANITIZED ? 20 : 150, before, 0.02);
    const thenar_energy *sum = thenar_sim_energy_sum(sim);
    print_message("springs %.3g, elastic %.3g, targets %.3g, dissipated %.3g, excess %.3g J\n", sum->springs,
                  sum->elastic, sum->targets, sum->dissipated, sum->excess);
    assert_true(sum->springs > 0 && sum->elastic > 0);
    assert_true(sum->excess < 0.02 * sum->springs);
    thenar_sim_free(sim);
}

static const char *const stiff[] = {"bodies.hand.material.young=2e6", "bones=split"};

/* The split step of bones and flesh blows up with stiff flesh: 3.6 kJ from nowhere, without the ledger. */
static void a_stiff_hand_that_blows_up_is_noticed_and_split(void **unused) {
    (void)unused;
    for (int i = 0; i < (SANITIZED ? 1 : 2); i++) {
        thenar_sim_options options = thenar_sim_options_default();
        options.dt = i == 0 ? 0.01 : 0.02;
        thenar_sim *sim = scene_file_open("hand-fist", stiff, 2, &options);
        double max = 0, first = 0;
        while (thenar_sim_time(sim) < 1.5) {
            tools_run(sim, 1);
            max = fmax(max, stored(&thenar_sim_stats(sim)->energy));
            if (first == 0 && gains(sim) > 0) first = thenar_sim_time(sim);
        }
        print_message("dt %g s: noticed at %.2f s, in %d steps, split %d; at most %.3g J, excess %.3g J\n", options.dt,
                      first, (int)gains(sim), (int)thenar_sim_warning_count(sim, THENAR_WARNING_STEP_SPLIT), max,
                      thenar_sim_energy_sum(sim)->excess);
        assert_true(gains(sim) > 0);
        assert_true(thenar_sim_warning_count(sim, THENAR_WARNING_STEP_SPLIT) >= gains(sim));
        thenar_sim_free(sim);
    }
}

/* The same hand with its bones and flesh in one system has nothing to notice. */
static void a_stiff_hand_in_one_system_gains_nothing(void **unused) {
    (void)unused;
    for (int i = 0; i < (SANITIZED ? 1 : 2); i++) {
        thenar_sim_options options = thenar_sim_options_default();
        options.dt = i == 0 ? 0.01 : 0.02;
        thenar_sim *sim = scene_file_open("hand-fist", stiff, 1, &options);
        while (thenar_sim_time(sim) < 1.5) tools_run(sim, 1);
        print_message("dt %g s: excess %.3g J\n", options.dt, thenar_sim_energy_sum(sim)->excess);
        assert_int_equal(gains(sim), 0);
        thenar_sim_free(sim);
    }
}

/* The ledger is no part of the state, but steps that it splits are: the decision must not depend on the past. */
static void a_split_step_is_the_same_after_a_restore(void **unused) {
    (void)unused;
    thenar_error error;
    thenar_sim *sim = scene_file_open("hand-fist", stiff, 2, NULL),
               *other = scene_file_open("hand-fist", stiff, 2, NULL);
    tools_run(sim, 105);
    size_t size = thenar_sim_snapshot_size(sim);
    void *bytes = malloc(size);
    assert_int_equal(thenar_sim_snapshot(sim, bytes), THENAR_OK);
    assert_ok(thenar_sim_restore(other, bytes, size, &error), error);
    uint64_t before = gains(sim);
    tools_run(sim, 30);
    tools_run(other, 30);
    assert_true(gains(sim) > before);
    assert_int_equal(gains(other), gains(sim) - before);
    assert_true(thenar_sim_hash(sim) == thenar_sim_hash(other));
    free(bytes);
    thenar_sim_free(sim);
    thenar_sim_free(other);
}

/* A body that is set in motion by hand has got its energy there: it is no gain of the next step. */
static void setting_a_state_is_no_gain(void **unused) {
    (void)unused;
    thenar_tet_mesh mesh = tools_box(0.1, 0.1, 0.1, 2, 2, 2);
    thenar_soft_def def = thenar_soft_def_default();
    def.name = "cube";
    def.mesh = &mesh;
    thenar_model *model = tools_model(&def, 0);
    thenar_sim *sim = tools_sim(model, 0.005, 1);
    tools_run(sim, 3);
    double *v = calloc(3 * (size_t)mesh.node_count, sizeof *v);
    for (int i = 0; i < mesh.node_count; i++) v[3 * i] = 10;
    assert_int_equal(thenar_sim_set_state(sim, 0, NULL, v), THENAR_OK);
    tools_run(sim, 1);
    assert_true(thenar_sim_stats(sim)->energy.kinetic > 1);
    assert_near(thenar_sim_stats(sim)->energy.excess, 0, 1e-9);
    assert_int_equal(gains(sim), 0);
    thenar_sim_reset(sim);
    assert_near(thenar_sim_energy_sum(sim)->dissipated, 0, 0);
    free(v);
    tools_free(sim, model, &mesh);
}

/* The energy of a tet without a decomposition is that of its singular values, inverted or flat as well. */
static void elastic_energy_needs_no_decomposition(void **unused) {
    (void)unused;
    soft_batch batch = {.tet_count = SIMD_LANES};
    double x[12 * SIMD_LANES];
    for (int i = 0; i < 9; i++) batch.gradient[i] = f64x8_set(i % 4 == 0);
    batch.mu = f64x8_set(3);
    batch.lambda = f64x8_set(20);
    for (int l = 0; l < SIMD_LANES; l++)
        for (int a = 0; a < 4; a++) batch.node[a][l] = 4 * l + a;
    unsigned seed = 1;
    for (int round = 0; round < 1000; round++) {
        double size = round % 2 ? 0.02 : 1.5;
        for (int i = 0; i < 12 * SIMD_LANES; i++) {
            seed = seed * 1664525u + 1013904223u;
            int node = i / 3 % 4, axis = i % 3;
            x[i] = (node == axis + 1) + size * ((double)(seed >> 8) / (1 << 23) - 1);
        }
        f64x8 s[3];
        soft_element_stretches(&batch, x, s);
        double expected = 0;
        for (int l = 0; l < SIMD_LANES; l++) {
            double trace = s[0][l] + s[1][l] + s[2][l] - 3;
            expected += 10 * trace * trace;
            for (int i = 0; i < 3; i++) expected += 3 * (s[i][l] - 1) * (s[i][l] - 1);
        }
        /* The root is nearly double where a tet is nearly flat, and Newton's method slow. */
        double tolerance = round % 2 ? 1e-12 : 1e-4;
        assert_near(soft_element_energy(&batch, x, NULL, NULL), expected, tolerance * (1 + expected));
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_falling_body_loses_what_implicit_euler_takes),
    cmocka_unit_test(a_moved_support_puts_in_what_is_stored),
    cmocka_unit_test(an_applied_force_puts_in_force_times_way),
    cmocka_unit_test(friction_takes_the_kinetic_energy_of_what_slides),
    cmocka_unit_test(a_driven_body_does_work_by_contact),
    cmocka_unit_test(the_targets_of_a_hand_put_in_what_it_stores),
    cmocka_unit_test(a_stiff_hand_that_blows_up_is_noticed_and_split),
    cmocka_unit_test(a_stiff_hand_in_one_system_gains_nothing),
    cmocka_unit_test(a_split_step_is_the_same_after_a_restore),
    cmocka_unit_test(setting_a_state_is_no_gain),
    cmocka_unit_test(elastic_energy_needs_no_decomposition),
};

TEST_MAIN(tests)
