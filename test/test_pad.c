/* The pad of a medium hand's index finger flattens on a plate as a fingertip does (bench/pad_press.h). */
#include "test.h"

#include "bench/pad_press.h"

#include <math.h>

static thenar_model *make(thenar_hand_detail detail) {
    thenar_error error;
    thenar_model *model;
    thenar_hand_def hand = thenar_hand_def_default();
    assert_int_equal(thenar_hand_def_set_detail(&hand, detail), THENAR_OK);
    assert_ok(pad_press_model(&hand, &model, &error), error);
    return model;
}

static void print(double dt, const pad_figures *f) {
    print_message("  %4.0f ms %.1f N: %.3f N (plate %.3f, base %.3f) at %.2f mm, %d points on %.1f mm2, largest share "
                  "%.3f, R2 %.2f (%.2f over 2 mm), volume %+.3f, unconverged %d of %d\n",
                  1e3 * dt, f->load, f->force, f->plate_force, f->base_force, 1e3 * f->indentation, f->points,
                  1e6 * f->area, f->max_share, f->fit, f->smooth_fit, f->volume_change, f->unconverged, f->steps);
}

static void the_pad_flattens_on_a_plate_at_any_time_step(void **state) {
    (void)state;
    static const double steps[] = {0.001, 0.005, 0.01, 0.02}, loads[] = {0.2, 0.5, 1, 2};
    thenar_model *model = make(THENAR_HAND_MEDIUM);
    double first = 0;
    for (int k = 0; k < 4; k++) {
        thenar_error error;
        pad_press press;
        pad_figures f[4];
        assert_ok(pad_press_create(model, steps[k], &press, &error), error);
        for (int i = 0; i < 4; i++) {
            assert_ok(pad_press_to(&press, loads[i], &f[i], &error), error);
            print(steps[k], &f[i]);
            /* Where limits of many tets bind at once, a step in some hundreds stops short: at most 1 %. */
            assert_true(100 * f[i].unconverged <= f[i].steps);
            assert_int_equal(f[i].inverted, 0);
            /* The load is reached, or what is left is viscous: within 2 %. */
            assert_near(f[i].force / loads[i], 1, 0.02);
            /* The plate is flat: its normal force is the sum of the points'. */
            assert_near(f[i].plate_force / f[i].force, 1, 1e-9);
            /* The hand is at rest but for creep. */
            assert_near(f[i].base_force / f[i].force, 1, 0.01);
            /* What people's pads do, F = 0.08 N (exp(1.33 d/mm) - 1): a placeholder of low trust, so to 0.6 mm. */
            assert_near(1e3 * f[i].indentation, log(1 + loads[i] / 0.08) / 1.33, 0.6);
            /* People's fingertips lose at most about 5 % of their volume; tets of that size a little more. */
            assert_true(f[i].volume_change < 0 && f[i].volume_change > -0.06);
        }
        const pad_figures *one = &f[2], *two = &f[3];
        assert_true(one->points >= 25 && one->area > 60e-6 && one->area < 130e-6 && one->max_share < 0.12);
        /* The area grows more slowly than that of a sphere in a half-space (2/3). */
        double exponent = log(two->area / one->area) / log(two->force / one->force);
        assert_true(exponent > 0.2 && exponent < 0.6);
        /* Time steps agree on the state of rest. */
        if (k == 0) first = one->indentation;
        assert_near(one->indentation / first, 1, 0.01);
        pad_press_free(&press);
    }
    thenar_model_free(model);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_pad_flattens_on_a_plate_at_any_time_step),
};

TEST_MAIN(tests)
