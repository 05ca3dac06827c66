/* A cube between two soft limited pads: held without creep, lost where Coulomb says it is lost. */
#include "contact_pinch.h"

static void the_cube_is_held_for_seconds_without_creep(void **unused) {
    (void)unused;
    for (int k = 0; k < 4; k++) {
        double h = time_step(k / 2), depth = k & 1 ? 0.9e-3 : 0.5e-3;
        thenar_sim *sim = pinch_start(h, 1);
        pinch_squeeze(sim, depth, 0.2);
        tools_run(sim, steps_in(0.5, thenar_sim_dt(sim)));
        vec3 before = scene_place(sim, 2);
        tools_run(sim, steps_in(test_full() ? 5 : 2, h));
        double creep = vec3_distance(scene_place(sim, 2), before), min, max;
        contact_figures f = scene_contacts(sim, PINCH_MU);
        scene_stretches(sim, 0, &min, &max);
        double force[3], torque[3];
        thenar_sim_contact_wrench(sim, 2, force, torque, NULL);
        print_message("  h %g squeezed %.1f mm: creep %.2e mm, normal forces %.2f N, bears %.6f of the weight, %d "
                      "touch, %d limits, stretches %.4f..%.4f, depth %.1e m, cone %.6f, unconverged %d\n",
                      h, 1e3 * depth, 1e3 * creep, f.normal, force[1] / (0.1 * CONTACT_GRAVITY), f.touching,
                      thenar_sim_stats(sim)->active_constraints, min, max, f.depth, f.cone, unconverged(sim));
        assert_true(creep < 2e-5);
        assert_near(force[1] / (0.1 * CONTACT_GRAVITY), 1, 0.01);
        assert_true(f.cone <= 1 + 1e-9 && f.depth < 2e-6);
        assert_true(min > 0.9 - 2e-3 && max < 1.1 + 2e-3);
        assert_int_equal(unconverged(sim), 0);
        thenar_sim_free(sim);
    }
}

/* Pulls the cube along a direction in the plane of the pads, while these are brought nearer or apart so that the normal
 * forces stay what they are: held at a fixed distance, pads that are sheared to their limits jam the cube instead.
 * Returns the largest pull, as a share of what friction can bear at that moment, that the cube withstood. */
static double withstands(double newtons, double h, double angle, int *limits, int *missed) {
    thenar_sim *sim = pinch_start(h, 1);
    double depth = newtons > 4 ? 0.75e-3 : 0.45e-3, share = 0, max = 0;
    pinch_squeeze(sim, depth, 0.2);
    const double torque[3] = {0};
    int ramp = steps_in(3, thenar_sim_dt(sim)), bear = steps_in(0.3, thenar_sim_dt(sim));
    for (int i = 1; i <= bear; i++) {
        pinch_pull(sim, 0.1 * CONTACT_GRAVITY * i / bear);
        depth += h * 1e-3 * (newtons - scene_contacts(sim, PINCH_MU).normal);
        assert_int_equal(pinch_step(sim, depth, 0), THENAR_OK);
    }
    *limits = 0;
    for (int i = 1; i <= ramp; i++) {
        double normal = scene_contacts(sim, PINCH_MU).normal, done = (double)i / ramp;
        double load = PINCH_MU * newtons * fmin(2.7 * done, 0.85 + 0.3 * done); /* the last tenths slowly */
        depth += h * 1e-3 * (newtons - normal);
        double force[3] = {0, load * sin(angle) + 0.1 * CONTACT_GRAVITY, load * cos(angle)};
        assert_int_equal(thenar_sim_apply_wrench(sim, 2, force, torque), THENAR_OK);
        assert_int_equal(pinch_step(sim, depth, 0), THENAR_OK);
        if (vec3_length(scene_velocity(sim, 2)) > 0.005) break;
        share = load / (PINCH_MU * scene_contacts(sim, PINCH_MU).normal);
        max = fmax(max, share);
        if (thenar_sim_stats(sim)->active_constraints > *limits) *limits = thenar_sim_stats(sim)->active_constraints;
    }
    *missed = unconverged(sim);
    thenar_sim_free(sim);
    return max;
}

static void the_cube_slips_at_coulombs_threshold(void **unused) {
    (void)unused;
    for (int k = 0; k < 8; k++) {
        if (k < 4 && k % 3 != 0 && !test_full()) continue; /* two of four with the short step */
        double h = time_step(k / 4), angle = k & 1 ? -1.57079632679 : 0.6, newtons = k & 2 ? 5 : 2;
        int limits, missed;
        double share = withstands(newtons, h, angle, &limits, &missed);
        print_message("  h %g towards %.2f with %g N: slips at %.4f of mu N, up to %d limits, unconverged %d\n", h,
                      angle, newtons, share, limits, missed);
        assert_near(share, 1, 0.05);
    }
}

/* Lifted by 5 cm, shaken and put down again with the pads. */
static void the_cube_is_lifted_and_shaken_and_stays(void **unused) {
    (void)unused;
    for (int k = 0; k < 2; k++) {
        double h = time_step(k), depth = 0.9e-3, worst = 0;
        thenar_sim *sim = pinch_start(h, 1);
        pinch_squeeze(sim, depth, 0.2);
        tools_run(sim, steps_in(0.5, thenar_sim_dt(sim)));
        vec3 before = scene_place(sim, 2);
        int steps = steps_in(2, thenar_sim_dt(sim));
        for (int i = 0; i <= steps; i++) {
            double t = 2.0 * i / steps, up = 0.025 * (1 - cos(3.14159265358979 * t));
            up += 0.001 * sin(60 * t) * sin(3.14159265358979 * t / 2);
            assert_int_equal(pinch_step(sim, depth, up), THENAR_OK);
            worst = fmax(worst, fabs(scene_place(sim, 2).y - before.y - up));
        }
        tools_run(sim, steps_in(0.5, thenar_sim_dt(sim)));
        double moved = vec3_distance(scene_place(sim, 2), before);
        print_message("  h %g: moved by %.2e mm in the pads, at most %.3f mm on the way, unconverged %d of %d\n", h,
                      1e3 * moved, 1e3 * worst, unconverged(sim), steps);
        assert_true(worst < 1e-3);
        assert_true(moved < 3e-4);
        thenar_sim_free(sim);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_cube_is_held_for_seconds_without_creep),
    cmocka_unit_test(the_cube_slips_at_coulombs_threshold),
    cmocka_unit_test(the_cube_is_lifted_and_shaken_and_stays),
};

TEST_MAIN(tests)
