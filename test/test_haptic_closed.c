/* The whole of it, closed, in simulated time: a simulated person, a device, the loop's proxy, and a real simulation with
 * a soft tool in steps of 10 ms that are published when they are over. Beside it the same simulation at the loop's rate,
 * with the device on its handle's coupling and nothing in between. */
#include "scene_files.h"

#include "bench/closed_loop.h"

#define STEP 0.01
#define PAD_GAP 0.002 /* m between the pad of haptic-wall and the wall */

static thenar_sim *open_scene(const char *name, const char *const *sets, int count, double dt) {
    return scene_file_open(
        name, sets, count,
        &(thenar_sim_options){.size = sizeof(thenar_sim_options), .dt = dt, .contact = THENAR_CONTACT_OF_MODEL});
}

/* The pad of haptic-wall, coarser. */
static thenar_sim *open_pad(double young, double dt) {
    char firm[64];
    const char *sets[] = {"bodies.pad.shape.box.cells=[2, 2, 2]", firm};
    snprintf(firm, sizeof firm, "bodies.pad.material.young=%g", young);
    return open_scene("haptic-wall", sets, 2, dt);
}

static thenar_sim *open_finger(bool has_weight, double dt) {
    const char *sets[] = {"gravity=[0, 0, 0]"};
    return open_scene("haptic-finger", sets, has_weight ? 0 : 1, dt);
}

/* 1 cm beyond the wall, and along it; 8 mm beyond the table. */
static press_script pad_script(void) {
    return press_script_make(vec3_make(0, -0.012, 0), vec3_make(0.05, -0.012, 0));
}
static press_script finger_script(void) {
    return press_script_make(vec3_make(0, -0.013, 0), vec3_make(0, -0.013, 0.03));
}

/* As the handle is held; whoever presses hard is not to be stopped by what a device can do. */
static thenar_haptic_settings settings_of(const thenar_sim *sim, bool passivity) {
    thenar_haptic_settings settings = thenar_haptic_handle_of(sim, 0).settings;
    settings.max_force = 40;
    settings.passivity = passivity;
    return settings;
}

/* Hands of 100 to 2000 N/m from slack to firm, at one tool. */
static void check_hands(thenar_sim *sim, press_script script, bool passivity, double finer, const char *name) {
    double worst = 0, booked = 0;
    int runs = 0;
    for (double stiffness = 100; stiffness < 2100; stiffness *= SANITIZED ? 19.9 : finer)
        for (double share = 0.05; share < 1.3; share *= SANITIZED ? 20 : finer) {
            closed_loop w = closed_loop_begin(sim, RENDER_LINEAR, settings_of(sim, passivity),
                                              press_script_user(&script, stiffness, share));
            if (!closed_loop_is_stable(&w)) {
                print_error("%s: a hand of %g N/m, %g of critical damping\n", name, stiffness, share);
                fail();
            }
            worst = fmax(worst, w.returned_max);
            booked = fmax(booked, w.state.energy.worst);
            runs++;
        }
    print_message("%s%s: %d hands, at most %.2g mJ more out than in (%.2g mJ by the loop's own account)\n", name,
                  passivity ? "" : ", passivity off", runs, 1e3 * worst, 1e3 * booked);
    assert_true(worst < 1e-3);
    assert_true(booked < 1e-3);
    closed_loop held =
        closed_loop_begin(sim, RENDER_HELD, settings_of(sim, passivity), press_script_user(&script, 100, 0.05));
    while (held.tick < 3300) closed_loop_tick(&held);
    assert_true(held.returned_max > 5e-3); /* otherwise this tests nothing */
}

static void no_hand_at_a_pad_makes_it_swing_or_give_energy(void **unused) {
    (void)unused;
    for (double young = 1e5; young < 2e7; young *= SANITIZED ? 100 : 10) {
        char name[64];
        snprintf(name, sizeof name, "pad of %g Pa", young);
        thenar_sim *sim = open_pad(young, STEP);
        check_hands(sim, pad_script(), true, test_full() ? 2.115 : 4.47, name);
        if (!SANITIZED) check_hands(sim, pad_script(), false, 4.47, name);
        thenar_sim_free(sim);
    }
}

static void no_hand_with_a_finger_makes_it_swing_or_give_energy(void **unused) {
    (void)unused;
    thenar_sim *sim = open_finger(false, STEP);
    check_hands(sim, finger_script(), true, 4.47, "finger without weight");
    thenar_sim_free(sim);
}

/* A bar of 120 g, soft and damped as flesh is, that falls flat on the wall. Most of what resists within a step are its
 * dampers: taken for springs, they make such a hand swing, with up to 3 J. */
static void a_heavy_soft_tool_does_not_swing_by_its_own_dampers(void **unused) {
    (void)unused;
    const char *sets[] = {
        "bodies.pad.shape.box.size=[0.15, 0.02, 0.04]",
        "bodies.pad.shape.box.cells=[6, 1, 2]",
        "bodies.pad.shape.move=[-0.02, 0.002, -0.02]",
        "bodies.pad.material={young: 2e5, poisson: 0.4, density: 1000, damping: {stiffness: 0.02}}",
        "handles.device.seed=[0, 0.012, 0]",
        "handles.device.radius=0.035",
        "handles.device.springs={stiffness: 2000, damping: 2}",
        "handles.device.coupling={stiffness: 3000, damping: 60, turn_stiffness: 10, turn_damping: 0.3}"};
    thenar_sim *sim = open_scene("haptic-wall", sets, (int)(sizeof sets / sizeof *sets), STEP);
    press_script script = press_script_make(vec3_make(0, -0.02, 0), vec3_make(0.03, -0.02, 0));
    thenar_haptic_settings settings = settings_of(sim, true);
    double worst = 0;
    settings.max_torque = 10;
    for (double share = 0.05; share < 0.3; share *= 2.15) {
        closed_loop w = closed_loop_begin(sim, RENDER_LINEAR, settings, press_script_user(&script, 2000, share));
        assert_true(closed_loop_is_stable(&w));
        worst = fmax(worst, w.returned_max);
    }
    print_message("bar of 120 g: at most %.2g mJ more out than in\n", 1e3 * worst);
    assert_true(worst < 1e-3);
    thenar_sim_free(sim);
}

/* The loop's energy account leaves out the work of the tool's weight. */
static void the_weight_of_a_finger_is_no_energy_of_the_loop_s(void **unused) {
    (void)unused;
    thenar_sim *sim = open_finger(true, STEP);
    press_script script = finger_script();
    double worst = 0;
    for (double stiffness = 100; stiffness < 2100; stiffness *= 19.9) {
        closed_loop w =
            closed_loop_begin(sim, RENDER_LINEAR, settings_of(sim, true), press_script_user(&script, stiffness, 0.2));
        assert_true(closed_loop_is_stable(&w));
        worst = fmax(worst, w.state.energy.worst);
    }
    print_message("finger with its weight: at most %.2g mJ more out than in\n", 1e3 * worst);
    assert_true(worst < 1e-3);
    thenar_sim_free(sim);
}

static void free_space_does_not_drag(void **unused) {
    (void)unused;
    for (int i = 0; i < 2; i++) {
        thenar_sim *sim = i == 0 ? open_pad(1e6, STEP) : open_finger(true, STEP);
        double drag = closed_loop_drag(sim, RENDER_LINEAR, settings_of(sim, true), 0.2);
        double plain = closed_loop_drag(sim, RENDER_PLAIN, settings_of(sim, true), 0.2);
        print_message("%s at 0.2 m/s: %.2g N, plain coupling %.2f N\n", i == 0 ? "pad" : "finger", drag, plain);
        assert_true(drag < 1e-3); /* asked for: 0.1 */
        assert_true(plain > 1);   /* otherwise this tests nothing */
        thenar_sim_free(sim);
    }
}

/* After the press: the force of a simulation in steps of a tick, with the device on its handle's own coupling. `along`: how
 * far apart they are as vectors, else upwards, as shares of the force. */
static double apart_from_direct(thenar_sim *slow, thenar_sim *fast, press_script script, bool along, const char *name) {
    double worst = 0;
    for (double stiffness = 100; stiffness < 2100; stiffness *= SANITIZED ? 19.9 : 4.47) {
        user_model user = press_script_user(&script, stiffness, 0.5);
        closed_loop loop = closed_loop_begin(slow, RENDER_LINEAR, settings_of(slow, true), user);
        closed_loop whole = closed_loop_begin(fast, RENDER_DIRECT, settings_of(fast, true), user);
        while (loop.tick < 1600) closed_loop_tick(&loop);
        while (whole.tick < 1600) closed_loop_tick(&whole);
        vec3 off = vec3_sub(vec3_load(loop.wrench), vec3_load(whole.wrench));
        worst = fmax(worst, (along ? vec3_length(off) : fabs(off.y)) / vec3_length(vec3_load(whole.wrench)));
        print_message("%s, hand of %.0f N/m: %.4f N, whole simulation at 1 kHz %.4f N\n", name, stiffness,
                      loop.wrench[1], whole.wrench[1]);
    }
    print_message("%s: at most %.3f %% apart\n", name, 100 * worst);
    thenar_sim_free(slow);
    thenar_sim_free(fast);
    return worst;
}

static void the_force_is_that_of_a_simulation_at_the_loop_s_rate(void **unused) {
    (void)unused;
    const char *slick[] = {"bodies.finger.friction=0", "bodies.table.friction=0"};
    assert_true(apart_from_direct(open_pad(1e5, STEP), open_pad(1e5, 1e-3), pad_script(), true, "soft pad") < 1e-3);
    assert_true(apart_from_direct(open_pad(1e6, STEP), open_pad(1e6, 1e-3), pad_script(), true, "pad") < 1e-3);
    assert_true(apart_from_direct(open_scene("haptic-finger", slick, 2, STEP),
                                  open_scene("haptic-finger", slick, 2, 1e-3), finger_script(), true,
                                  "finger without friction") < 1e-3);
    /* Asked for: 0.05. With friction, what a finger bears along the table depends on where it first stuck. */
    assert_true(apart_from_direct(open_finger(true, STEP), open_finger(true, 1e-3), finger_script(), false,
                                  "finger, upwards") < 0.02);
}

static thenar_sim *make_stiff_pad(void *unused, double stiffness, double damping) {
    (void)unused;
    char k[64], d[64];
    /* With the scene's 5 N m/rad a plain coupling swings in its turns, in free air already, whatever the wall is. */
    const char *sets[] = {"bodies.pad.shape.box.cells=[1, 1, 1]",
                          "bodies.pad.material.young=1e7",
                          "handles.device.coupling.turn_stiffness=1",
                          "handles.device.coupling.turn_damping=0.01",
                          k,
                          d};
    snprintf(k, sizeof k, "handles.device.coupling.stiffness=%g", stiffness);
    snprintf(d, sizeof d, "handles.device.coupling.damping=%g", damping);
    return open_scene("haptic-wall", sets, 6, STEP);
}

static void the_linearization_renders_walls_five_times_stiffer(void **unused) {
    (void)unused;
    if (SANITIZED) skip();
    press_script script = pad_script();
    stable_wall linear = closed_loop_stiffest(make_stiff_pad, NULL, RENDER_LINEAR, 0.1, &script, PAD_GAP, 1.5);
    stable_wall held = closed_loop_stiffest(make_stiff_pad, NULL, RENDER_HELD, 0.1, &script, PAD_GAP, 1.5);
    stable_wall plain = closed_loop_stiffest(make_stiff_pad, NULL, RENDER_PLAIN, 0.1, &script, PAD_GAP, 1.5);
    stable_wall dragging = closed_loop_stiffest(make_stiff_pad, NULL, RENDER_PLAIN, INFINITY, &script, PAD_GAP, 1.5);
    print_message("stiffest stable wall: %.0f N/m linearized (drag %.2g N); %.0f N/m with the simulation's force held; "
                  "%.0f N/m by a plain coupling with a drag under 0.1 N, %.0f N/m with one of %.1f N\n",
                  linear.felt, linear.drag, held.felt, plain.felt, dragging.felt, dragging.drag);
    assert_true(linear.felt >= 5 * held.felt);
    assert_true(linear.felt >= 5 * plain.felt);
    assert_true(held.felt > 0 && plain.felt > 0); /* otherwise this tests nothing */
}

/* A surface is felt at the latest when the step in which the device crosses it is published. */
static void a_wall_is_felt_within_a_step_of_its_crossing(void **unused) {
    (void)unused;
    thenar_sim *sim = open_pad(1e6, STEP);
    double soonest = INFINITY, latest = -INFINITY;
    for (int phase = 0; phase < 10; phase += SANITIZED ? 5 : 1)
        for (double speed = 0.05; speed < 0.3; speed *= 2) {
            double delay = closed_loop_delay(sim, RENDER_LINEAR, settings_of(sim, true), PAD_GAP, speed, phase, 0);
            soonest = fmin(soonest, delay), latest = fmax(latest, delay);
        }
    print_message("a force comes %.0f to %.0f ms after the surface was crossed\n", 1e3 * soonest, 1e3 * latest);
    assert_true(latest < STEP + 1.5e-3);
    thenar_sim_free(sim);
}

static void the_same_person_feels_the_same_bits(void **unused) {
    (void)unused;
    thenar_sim *sim = open_pad(1e6, STEP);
    press_script script = pad_script();
    closed_loop first =
        closed_loop_begin(sim, RENDER_LINEAR, settings_of(sim, true), press_script_user(&script, 450, 0.2));
    while (first.tick < 1000) closed_loop_tick(&first);
    closed_loop second =
        closed_loop_begin(sim, RENDER_LINEAR, settings_of(sim, true), press_script_user(&script, 450, 0.2));
    while (second.tick < 1000) closed_loop_tick(&second);
    assert_memory_equal(first.wrench, second.wrench, sizeof first.wrench);
    thenar_sim_free(sim);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(no_hand_at_a_pad_makes_it_swing_or_give_energy),
    cmocka_unit_test(no_hand_with_a_finger_makes_it_swing_or_give_energy),
    cmocka_unit_test(a_heavy_soft_tool_does_not_swing_by_its_own_dampers),
    cmocka_unit_test(the_weight_of_a_finger_is_no_energy_of_the_loop_s),
    cmocka_unit_test(free_space_does_not_drag),
    cmocka_unit_test(the_force_is_that_of_a_simulation_at_the_loop_s_rate),
    cmocka_unit_test(the_linearization_renders_walls_five_times_stiffer),
    cmocka_unit_test(a_wall_is_felt_within_a_step_of_its_crossing),
    cmocka_unit_test(the_same_person_feels_the_same_bits),
};

TEST_MAIN(tests)
