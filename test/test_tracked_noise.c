/* Noise of a tracker (1 mm on every joint) neither tilts nor toggles the device on a finger that touches a plate, even
 * if it only grazes it. `thenar bench track` prints more cases. */
#include "test.h"

#include "bench/tracked_noise.h"

#include <math.h>

#define RMS 1e-3  /* m */
#define PITCH 0.5 /* degrees, standard deviation */
#define TOGGLES 5 /* in 10 s */
#define DEGREES 57.29577951308232

static tracked_noise_result on_plate(thenar_model *model, double depth, bool filter) {
    tracked_noise_case c = {.kind = TRACKED_NOISE_PLATE, .at = depth, .filter = filter, .rms = RMS, .seed = 3};
    tracked_noise_result result;
    thenar_error error;
    assert_ok(tracked_noise_run(model, &c, 0.01, &result, &error), error);
    print_message("  %g mm deep, filter %s: pitch %.2f degrees, %d changes of touch\n", 1e3 * depth,
                  filter ? "on" : "off", DEGREES * result.pitch, result.toggles);
    return result;
}

static void noise_of_a_tracker_hardly_reaches_the_devices(void **unused) {
    (void)unused;
    thenar_error error;
    thenar_model *model;
    assert_ok(tracked_noise_model(THENAR_HAND_COARSE, RMS, &model, &error), error);
    const double depths[] = {0, 0.5e-3};
    for (int i = 0; i < 2; i++) {
        tracked_noise_result result = on_plate(model, depths[i], true);
        assert_true(result.touched > 0.9);
        assert_true(DEGREES * result.pitch < PITCH);
        assert_true(result.toggles < TOGGLES);
    }
    /* There is noise to be filtered. */
    tracked_noise_result off = on_plate(model, 0.5e-3, false);
    assert_true(DEGREES * off.pitch > 2 * PITCH);
    assert_true(off.toggles > TOGGLES);
    thenar_model_free(model);
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(noise_of_a_tracker_hardly_reaches_the_devices)};

TEST_MAIN(tests)
