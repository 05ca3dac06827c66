/* What goes wrong around the haptic loop, in simulated time: in each case the force is gone within 20 ms, comes back when
 * all is well again, no number that is not finite gets out, and it was counted. */
#include "test.h"

#include "haptic_wall.h"

#define MS 1000000

static const user_key hold_keys[] = {{0, {0, 0.01, 0}, {0, 0, 0}}, {0.3, {0, -0.02, 0}, {0, 0, 0}}};

/* A hand that leans on a wall with some newtons, settled. */
static haptic_world leaning(void) {
    user_model user = user_model_default();
    user.damping = 15;
    user.keys = (user_key *)(uintptr_t)hold_keys;
    user.key_count = 2;
    haptic_world w = haptic_world_make(thenar_haptic_settings_default(), user, 2000);
    while (w.tick < 1000) haptic_world_tick(&w);
    assert_true(force_size(&w) > 2);
    for (int i = 0; i < THENAR_HAPTIC_FAULT_COUNT; i++)
        if (i != THENAR_HAPTIC_SLEWED && i != THENAR_HAPTIC_HELD_BACK) assert_int_equal(w.state.faults[i], 0);
    return w;
}

/* What happens in a tick, in place of an ordinary one. */
typedef void (*fault_tick)(haptic_world *w, device_sample *sample, int64_t *now_ns);

/* Ticks with the person held where it is: the fault decides what the loop sees. */
static void faulty_tick(haptic_world *w, fault_tick fault, int64_t *clock) {
    int64_t now = *clock += MS;
    device_sample sample = {.number = (uint64_t)w->tick + 1};
    user_sample(&w->person, sample.number, &sample.body);
    if (w->tick % 10 == 0) haptic_world_simulate(w, now);
    fault(w, &sample, &now);
    *clock = now;
    memcpy(w->before, w->wrench, sizeof w->before);
    haptic_tick(&w->settings, &w->state, &sample, &w->reported, now, w->dt, w->wrench);
    user_advance(&w->user, &w->person, w->before, w->dt);
    w->tick++;
}

/* The force falls, never jumps, and is gone after `within` ms; it comes back within half a second after the fault. */
static void check_fault(fault_tick fault, thenar_haptic_fault counter, int lasts, int within, const char *name) {
    haptic_world w = leaning();
    int64_t clock = (int64_t)w.tick * MS - MS;
    int gone = -1;
    for (int ms = 1; ms <= lasts; ms++) {
        faulty_tick(&w, fault, &clock);
        double change = force_size(&w) - vec3_length(vec3_load(w.before));
        for (int i = 0; i < 6; i++) assert_true(isfinite(w.wrench[i]));
        assert_true(change < 0.1);
        assert_true(fabs(change) < 2.0); /* N in a millisecond */
        if (gone < 0 && force_size(&w) == 0) gone = ms;
    }
    print_message("%s: no force after %d ms, counted %llu\n", name, gone, (unsigned long long)w.state.faults[counter]);
    assert_true(gone > 0 && gone <= within);
    assert_true(w.state.faults[counter] > 0);
    for (int ms = 0; ms < 800; ms++) {
        int64_t now = clock += MS;
        haptic_world_simulate(&w, now);
        haptic_world_feel(&w, now);
    }
    assert_true(force_size(&w) > 2);
    assert_near(w.state.gain, 1, 1e-12);
}

static struct haptic_linear frozen;

static void simulation_stops(haptic_world *w, device_sample *sample, int64_t *now) {
    (void)sample, (void)now;
    if (w->tick == 1000) frozen = w->reported; /* the last update for a second */
    w->reported = frozen;
}

static void a_simulation_that_stops_for_a_second_takes_the_force_away(void **unused) {
    (void)unused;
    /* A step of 10 ms is waited for; then the 20 ms begin. */
    check_fault(simulation_stops, THENAR_HAPTIC_STALE, 1000, 10 + 20, "simulation stopped");
}

static void device_is_silent(haptic_world *w, device_sample *sample, int64_t *now) {
    (void)now;
    (void)w;
    sample->number = 1000; /* the last that came */
}

static void a_device_that_is_silent_takes_the_force_away(void **unused) {
    (void)unused;
    check_fault(device_is_silent, THENAR_HAPTIC_SILENT, 300, 20, "device silent");
}

static void device_says_nan(haptic_world *w, device_sample *sample, int64_t *now) {
    (void)w, (void)now;
    sample->body.pose[1] = NAN;
}

static void device_says_infinity_for_its_velocity(haptic_world *w, device_sample *sample, int64_t *now) {
    (void)w, (void)now;
    sample->body.velocity[2] = -INFINITY;
}

static void device_says_no_quaternion(haptic_world *w, device_sample *sample, int64_t *now) {
    (void)w, (void)now;
    memset(sample->body.pose + 3, 0, sizeof sample->body.pose + 3);
}

static void device_says_garbage(haptic_world *w, device_sample *sample, int64_t *now) {
    (void)w, (void)now;
    memset(&sample->body, 0x7f, sizeof sample->body);
}

static void invalid_samples_of_a_device_end_the_force(void **unused) {
    (void)unused;
    check_fault(device_says_nan, THENAR_HAPTIC_BAD_SAMPLE, 100, 20, "NaN");
    check_fault(device_says_infinity_for_its_velocity, THENAR_HAPTIC_BAD_SAMPLE, 100, 20, "infinite velocity");
    check_fault(device_says_no_quaternion, THENAR_HAPTIC_BAD_SAMPLE, 100, 20, "zero quaternion");
    check_fault(device_says_garbage, THENAR_HAPTIC_BAD_SAMPLE, 100, 20, "garbage");
}

static void device_jumps(haptic_world *w, device_sample *sample, int64_t *now) {
    (void)w, (void)now;
    sample->body.pose[1] -= 0.2;
}

static void device_jumps_and_is_back(haptic_world *w, device_sample *sample, int64_t *now) {
    (void)now;
    if (w->tick == 1000) sample->body.pose[0] += 0.2;
}

static void device_turns_over(haptic_world *w, device_sample *sample, int64_t *now) {
    (void)w, (void)now;
    sample->body.pose[3] = 1;
    sample->body.pose[6] = 0;
}

static void a_device_that_jumps_takes_the_force_away(void **unused) {
    (void)unused;
    /* Down into the wall: it stays there, so that the force is only looked at until it is gone. */
    check_fault(device_jumps, THENAR_HAPTIC_JUMP, 10, 20, "jump of 20 cm");
    check_fault(device_jumps_and_is_back, THENAR_HAPTIC_JUMP, 10, 20, "20 cm and back");
    check_fault(device_turns_over, THENAR_HAPTIC_JUMP, 10, 20, "half a turn");
}

static void clock_steps_ahead(haptic_world *w, device_sample *sample, int64_t *now) {
    (void)sample;
    if (w->tick == 1003) *now += 3600 * (int64_t)1000 * MS;
}

static void clock_steps_back(haptic_world *w, device_sample *sample, int64_t *now) {
    (void)sample;
    if (w->tick == 1003) *now -= 500 * (int64_t)MS;
}

static void a_clock_that_steps_takes_the_force_away(void **unused) {
    (void)unused;
    check_fault(clock_steps_ahead, THENAR_HAPTIC_CLOCK, 12, 20, "clock an hour ahead");
    check_fault(clock_steps_back, THENAR_HAPTIC_CLOCK, 12, 20, "clock half a second back");
}

static void simulation_tells_nan(haptic_world *w, device_sample *sample, int64_t *now) {
    (void)sample, (void)now;
    w->reported.stiffness[7] = NAN;
}

static void an_invalid_linearization_ends_the_force(void **unused) {
    (void)unused;
    check_fault(simulation_tells_nan, THENAR_HAPTIC_BAD_LINEAR, 200, 10 + 20, "NaN from the simulation");
}

static void a_clock_that_stepped_back_does_not_hide_that_the_simulation_stopped(void **unused) {
    (void)unused;
    haptic_world w = leaning();
    int64_t clock = (int64_t)w.tick * MS - 10000 * (int64_t)MS;
    frozen = w.reported;
    for (int ms = 0; ms < 1000; ms++) faulty_tick(&w, simulation_stops, &clock);
    assert_true(force_size(&w) == 0);
    assert_int_equal(w.state.faults[THENAR_HAPTIC_STALE], 1);
}

static void before_anything_is_known_there_is_no_force(void **unused) {
    (void)unused;
    thenar_haptic_settings settings = thenar_haptic_settings_default();
    haptic_state state = {0};
    device_sample none = {0};
    struct haptic_linear nothing = {0};
    double wrench[6];
    for (int64_t tick = 0; tick < 50; tick++) {
        haptic_tick(&settings, &state, &none, &nothing, tick * MS, 1e-3, wrench);
        for (int i = 0; i < 6; i++) assert_true(wrench[i] == 0);
    }
}

static void a_matrix_that_is_not_what_it_should_be_moves_nothing_far(void **unused) {
    (void)unused;
    haptic_world w = leaning();
    w.reported.step += 1000;
    for (int i = 0; i < 36; i++) w.reported.stiffness[i] = 1e9 * (i % 7 == 0 ? 1e-6 : 1); /* not positive at all */
    for (int64_t tick = w.tick; tick < 1100; tick++) {
        device_sample sample = {.number = (uint64_t)tick + 1};
        user_sample(&w.person, sample.number, &sample.body);
        w.reported.step++;
        w.reported.published_ns = tick * MS;
        haptic_tick(&w.settings, &w.state, &sample, &w.reported, tick * MS, w.dt, w.wrench);
        assert_true(force_size(&w) <= w.settings.max_force + 1e-12);
    }
    assert_true(w.state.faults[THENAR_HAPTIC_UNSOLVED] > 0);
}

/* News and sample are there from the first tick on, and nothing is known of where the proxy was; or it was elsewhere. */
static void whoever_begins_does_so_where_the_device_is(void **unused) {
    (void)unused;
    thenar_haptic_settings settings = thenar_haptic_settings_default();
    struct haptic_linear linear = {
        .position = {0.3, 0.2, 0.1}, .orientation = {0, 0, 0, 1}, .step = 1, .step_length = 0.01};
    haptic_state never = {0}, stopped = {.position = {0.3, 0.25, 0.1}, .orientation = {0, 0, 0, 1}};
    haptic_state *states[] = {&never, &stopped};
    for (int i = 0; i < 2; i++)
        for (int64_t tick = 1; tick <= 5; tick++) {
            double wrench[6];
            device_sample sample = sample_at((uint64_t)tick, (vec3){0.3, 0.2, 0.1});
            linear.step = (uint64_t)tick;
            linear.published_ns = tick * MS;
            haptic_tick(&settings, states[i], &sample, &linear, tick * MS, 1e-3, wrench);
            for (int k = 0; k < 6; k++) assert_near(wrench[k], 0, 1e-12);
            assert_true(vec3_distance(states[i]->position, (vec3){0.3, 0.2, 0.1}) < 1e-12);
        }
}

/* Each number of a sample in turn, for as long as the force would need to fade: whatever it is, what is sent is a number
 * within its limits, and no bad number is believed. */
static void no_number_of_a_sample_makes_a_force_that_is_none(void **unused) {
    (void)unused;
    const double bad[] = {NAN, INFINITY, -INFINITY, 1e30, -1e30, 1e300, 5e-324, -0.0};
    const haptic_world settled = leaning();
    const int numbers = 13; /* position, orientation, velocity, spin */
    for (int k = 0; k < numbers; k++)
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
            haptic_world w = settled;
            for (int64_t tick = w.tick, end = tick + 30; tick < end; tick++) {
                device_sample sample = {.number = (uint64_t)tick + 1};
                user_sample(&w.person, sample.number, &sample.body);
                sample.body.has |= THENAR_DEVICE_VELOCITY | THENAR_DEVICE_SPIN;
                double *const places[] = {sample.body.pose, sample.body.pose + 3, sample.body.velocity,
                                          sample.body.spin};
                const int first[] = {0, 3, 7, 10};
                int place = (k >= 3) + (k >= 7) + (k >= 10);
                places[place][k - first[place]] = bad[i];
                haptic_tick(&w.settings, &w.state, &sample, &w.reported, tick * MS, w.dt, w.wrench);
                for (int c = 0; c < 6; c++) assert_true(isfinite(w.wrench[c]));
                assert_true(force_size(&w) <= w.settings.max_force + 1e-12);
                assert_true(vec3_length(vec3_load(w.wrench + 3)) <= w.settings.max_torque + 1e-12);
            }
            bool small = fabs(bad[i]) < 1; /* which may be right */
            if (!small) assert_int_equal(w.state.faults[THENAR_HAPTIC_BAD_SAMPLE], 30);
            if (!small) assert_true(force_size(&w) == 0);
        }
}

/* Whatever made it so: in the tick in which the force is no number, none is sent. It comes back by itself. */
static void a_force_that_is_no_number_is_none_in_that_tick(void **unused) {
    (void)unused;
    const double bad[] = {NAN, INFINITY, -INFINITY, 1e30};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        haptic_world w = leaning();
        int64_t clock = (int64_t)w.tick * MS - MS;
        uint64_t before = w.state.faults[THENAR_HAPTIC_UNSOLVED];
        w.state.wrench[i % 6] = bad[i];
        for (int ms = 0; ms < 800; ms++) {
            int64_t now = clock += MS;
            haptic_world_simulate(&w, now);
            haptic_world_feel(&w, now);
            for (int c = 0; c < 6; c++) assert_true(isfinite(w.wrench[c]));
            if (ms == 0) assert_true(force_size(&w) == 0 && vec3_length(vec3_load(w.wrench + 3)) == 0);
        }
        assert_true(w.state.faults[THENAR_HAPTIC_UNSOLVED] > before);
        assert_true(force_size(&w) > 2);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(whoever_begins_does_so_where_the_device_is),
    cmocka_unit_test(a_simulation_that_stops_for_a_second_takes_the_force_away),
    cmocka_unit_test(a_device_that_is_silent_takes_the_force_away),
    cmocka_unit_test(invalid_samples_of_a_device_end_the_force),
    cmocka_unit_test(a_device_that_jumps_takes_the_force_away),
    cmocka_unit_test(a_clock_that_steps_takes_the_force_away),
    cmocka_unit_test(an_invalid_linearization_ends_the_force),
    cmocka_unit_test(a_clock_that_stepped_back_does_not_hide_that_the_simulation_stopped),
    cmocka_unit_test(before_anything_is_known_there_is_no_force),
    cmocka_unit_test(a_matrix_that_is_not_what_it_should_be_moves_nothing_far),
    cmocka_unit_test(no_number_of_a_sample_makes_a_force_that_is_none),
    cmocka_unit_test(a_force_that_is_no_number_is_none_in_that_tick),
};

TEST_MAIN(tests)
