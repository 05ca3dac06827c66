/* The loop in simulated time, and what a scene says of the devices that hold its handles. */
#include "scene_files.h"

#include "thenar/thenar.h"

static thenar_sim *open_scene(const char *const *sets, int count, double dt) {
    return scene_file_open(
        "haptic-wall", sets, count,
        &(thenar_sim_options){.size = sizeof(thenar_sim_options), .dt = dt, .contact = THENAR_CONTACT_OF_MODEL});
}

static thenar_haptic *make_loop(const thenar_sim *sim, double rate) {
    thenar_haptic_handle handle = thenar_haptic_handle_of(sim, 0);
    thenar_haptic_def def = thenar_haptic_def_of(thenar_sim_model(sim));
    thenar_haptic *haptic = NULL;
    thenar_error error;
    def.rate = rate;
    def.simulated_time = true;
    def.handles = &handle;
    def.handle_count = 1;
    assert_ok(thenar_haptic_create(&def, &haptic, &error), error);
    assert_ok(thenar_haptic_start(haptic, &error), error);
    return haptic;
}

static void step(thenar_haptic *haptic, thenar_sim *sim) {
    thenar_haptic_drive_sim(haptic, 0, sim, 0);
    assert_int_equal(thenar_sim_step(sim), THENAR_OK);
    thenar_haptic_advance(haptic, thenar_sim_dt(sim));
    assert_int_equal(thenar_haptic_publish_sim(haptic, 0, sim, 0), THENAR_OK);
}

static void a_second_has_as_many_ticks_as_the_rate_says(void **unused) {
    (void)unused;
    for (int i = 0; i < 2; i++) {
        double rate = i == 0 ? 1000 : 3000;
        thenar_sim *sim = open_scene(NULL, 0, 1.0 / 120);
        thenar_haptic *haptic = make_loop(sim, rate);
        thenar_haptic_stats stats;
        for (int k = 0; k < 120; k++) step(haptic, sim);
        thenar_haptic_read_stats(haptic, &stats);
        assert_true(fabs((double)stats.ticks - rate) <=
                    1); /* steps and ticks do not fit: one may be due at the very end */
        assert_int_equal(stats.missed, 0);
        assert_near(stats.period_max_us, 1e6 / rate, 1e-3);
        thenar_haptic_free(haptic);
        thenar_sim_free(sim);
    }
}

static void the_same_run_gives_the_same_numbers(void **unused) {
    (void)unused;
    thenar_haptic_handle_stats first = {0};
    uint64_t hash = 0;
    for (int run = 0; run < 2; run++) {
        thenar_sim *sim = open_scene(NULL, 0, 0.005);
        thenar_haptic *haptic = make_loop(sim, 1000);
        thenar_haptic_stats stats;
        for (int k = 0; k < 200; k++) step(haptic, sim);
        thenar_haptic_read_stats(haptic, &stats);
        assert_true(stats.handles[0].force_max > 3);
        assert_true(stats.handles[0].force_mean > 0.5 && stats.handles[0].force_mean < stats.handles[0].force_max);
        if (run == 0) {
            first = stats.handles[0];
            hash = thenar_sim_hash(sim);
        }
        assert_memory_equal(&first, &stats.handles[0], sizeof first);
        assert_true(hash == thenar_sim_hash(sim));
        thenar_haptic_free(haptic);
        thenar_sim_free(sim);
    }
}

/* The promise of docs/haptic-loop.md, on the loop's own clock: none is felt 20 ms after the next step was due. */
static void a_simulation_that_stops_is_no_longer_felt(void **unused) {
    (void)unused;
    thenar_sim *sim = open_scene(NULL, 0, 0.005);
    thenar_haptic *haptic = make_loop(sim, 1000);
    thenar_haptic_stats stats;
    for (int k = 0; k < 180; k++) step(haptic, sim); /* 0.9 s: it presses */
    thenar_haptic_read_stats(haptic, &stats);
    assert_true(stats.handles[0].force[1] > 3);
    assert_int_equal(stats.handles[0].fades, 0);
    thenar_haptic_advance(haptic, thenar_sim_dt(sim) + 0.02);
    thenar_haptic_read_stats(haptic, &stats);
    assert_near(stats.handles[0].force[1], 0, 0);
    assert_int_equal(stats.handles[0].faults[THENAR_HAPTIC_STALE], 1);
    assert_int_equal(stats.handles[0].fades, 1);
    thenar_haptic_free(haptic);
    thenar_sim_free(sim);
}

static void what_lives_in_real_time_is_refused(void **unused) {
    (void)unused;
    thenar_haptic_handle handle = thenar_haptic_handle_default();
    thenar_haptic_def def = thenar_haptic_def_default();
    thenar_haptic *haptic;
    thenar_error error;
    handle.device = "plugin:" BINARY_DIR "/test/device_plugin.so";
    def.simulated_time = true;
    def.handles = &handle;
    def.handle_count = 1;
    assert_int_equal(thenar_haptic_create(&def, &haptic, &error), THENAR_ERROR_INPUT);
    assert_non_null(strstr(error.text, "lives in real time"));
    assert_null(haptic);
}

static void a_scene_says_how_its_handles_are_held(void **unused) {
    (void)unused;
    static const char *const sets[] = {
        "haptic={rate: 2000, real_time: false, watchdog: 0.02, handles: {device: {device: none, stiffness: 700, "
        "most_force: 3, "
        "passivity: false, plain: true, origin: [1, 2, 3], turn: [0, 1.5707963267948966, 0]}}}"};
    thenar_sim *plain = open_scene(NULL, 0, 0.005), *sim = open_scene(sets, 1, 0.005);
    thenar_haptic_def def = thenar_haptic_def_of(thenar_sim_model(sim));
    assert_near(def.rate, 2000, 0);
    assert_near(def.watchdog, 0.02, 0);
    assert_false(def.real_time);
    thenar_haptic_handle said = thenar_haptic_handle_of(sim, 0), own = thenar_haptic_handle_of(plain, 0);
    assert_string_equal(said.device, "none");
    assert_near(said.settings.stiffness, 700, 0);
    assert_near(said.settings.max_force, 3, 0);
    assert_true(said.settings.plain && !said.settings.passivity && said.settings.one_sided);
    assert_near(said.settings.damping, own.settings.damping, 0); /* what is not said is the handle's */
    assert_near(said.settings.proxy_mass, own.settings.proxy_mass, 0);
    for (int k = 0; k < 3; k++) assert_near(said.base[k], k + 1, 0);
    assert_near(said.base[4], sqrt(0.5), 1e-12);
    assert_near(said.grip[1], -sqrt(0.5), 1e-12); /* turned device, handle as it was: both undo each other */
    thenar_sim_free(plain);
    thenar_sim_free(sim);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_second_has_as_many_ticks_as_the_rate_says),
    cmocka_unit_test(the_same_run_gives_the_same_numbers),
    cmocka_unit_test(a_simulation_that_stops_is_no_longer_felt),
    cmocka_unit_test(what_lives_in_real_time_is_refused),
    cmocka_unit_test(a_scene_says_how_its_handles_are_held),
};

TEST_MAIN(tests)
