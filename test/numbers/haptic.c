/* Attacks on the haptic loop: its settings, what the simulation tells it, and times. */
#include "test.h"

#include "finite.h"
#include "numbers/areas.h"
#include "numbers/attack.h"

#include <time.h>

static thenar_haptic_handle haptic_handle;
static thenar_haptic_def haptic_def;
static thenar_haptic *haptic;
static thenar_haptic_linear linear;

static thenar_status use_haptic(thenar_error *error) {
    thenar_haptic *made;
    thenar_status status = thenar_haptic_create(&haptic_def, &made, error);
    thenar_haptic_free(status == THENAR_OK ? made : NULL);
    return status;
}

static void make_haptic_def(void) {
    haptic_handle = thenar_haptic_handle_default();
    haptic_def = thenar_haptic_def_default();
    haptic_def.handles = &haptic_handle;
    haptic_def.handle_count = 1;
    haptic_def.real_time = false;
    linear = (thenar_haptic_linear){.pose = {0, 0, 0, 0, 0, 0, 1}, .step = 1, .step_length = 0.01};
}

void attack_haptic_create(void) {
    make_haptic_def();
    attack_struct("thenar_haptic_def", &haptic_def, use_haptic);
    attack_struct("thenar_haptic_handle", &haptic_handle, use_haptic);
    attack_struct("thenar_haptic_settings", &haptic_handle.settings, use_haptic);
}

static void make_haptic(bool simulated_time) {
    thenar_error error;
    make_haptic_def();
    haptic_def.simulated_time = simulated_time;
    assert_ok(thenar_haptic_create(&haptic_def, &haptic, &error), error);
}

static thenar_status use_publish(thenar_error *error) {
    thenar_status status = thenar_haptic_publish(haptic, 0, &linear);
    snprintf(error->text, sizeof error->text, "refused");
    linear.step++;
    return status;
}

void attack_publish(void) {
    thenar_error error;
    make_haptic(false);
    assert_ok(thenar_haptic_start(haptic, &error), error);
    long before = refused;
    attack_struct("thenar_haptic_linear", &linear, use_publish);
    thenar_haptic_stats stats;
    for (int wait = 0; wait < 2000; wait++) {
        thenar_haptic_read_stats(haptic, &stats);
        if (stats.handles[0].faults[THENAR_HAPTIC_BAD_LINEAR] == (uint64_t)(refused - before)) break;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    for (int i = 0; i < 3; i++) assert_true(stats.handles[0].force[i] == 0 && stats.handles[0].torque[i] == 0);
    assert_int_equal(stats.handles[0].faults[THENAR_HAPTIC_BAD_LINEAR], refused - before);
    thenar_haptic_free(haptic);
}

void attack_haptic_pose(void) {
    make_haptic(false);
    for (int i = 0; i < BAD_COUNT; i++) {
        double pose[13] = {0};
        thenar_haptic_pose(haptic, 0, bad_numbers[i], pose, pose + 7);
        count_attempt(false);
        assert_true(are_finite(pose, 13));
    }
    thenar_haptic_free(haptic);
}

void attack_advance(void) {
    make_haptic(true);
    for (int i = 0; i < BAD_COUNT; i++) {
        thenar_haptic_stats stats;
        thenar_haptic_advance(haptic, bad_numbers[i]);
        count_attempt(false);
        thenar_haptic_read_stats(haptic, &stats);
        assert_true(stats.ticks <= (uint64_t)(60 * haptic_def.rate) * (uint64_t)(i + 1));
        assert_true(are_finite(stats.handles[0].force, 3));
    }
    thenar_haptic_free(haptic);
}
