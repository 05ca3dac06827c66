/* Real time under load: the policy of thenar_pace with a clock that is made up. */
#include "thenar/sim.h"
#include "test.h"

#include <math.h>

#define DT 0.01
#define PACE_STEPS 4      /* the rules of thenar/sim.h */
#define PACE_SECONDS 0.02 /* s */
#define PACE_HURRY 0.5
#define PACE_WINDOW 0.5 /* s */

/* Steps for so many seconds, each of which takes as long as `takes` says (s), as the viewer and the run do it. The clock
 * goes on from *now (s); returns the steps. */
static long keep_pace(thenar_pace *p, double *now, double seconds, double speed, double (*takes)(long step)) {
    long steps = 0;
    for (double end = *now + seconds; *now < end;) {
        thenar_pace_update(p, llround(1e9 * *now), speed, DT);
        if (!thenar_pace_is_due(p, DT)) {
            *now += fmax(1e-9, 1e-9 * (double)thenar_pace_wait(p, llround(1e9 * *now), speed, DT));
            continue;
        }
        *now += takes(steps++);
        thenar_pace_stepped(p, llround(1e9 * *now), speed, DT);
    }
    return steps;
}

static double takes_half(long step) {
    (void)step;
    return DT / 2;
}
static double takes_fourfold(long step) {
    (void)step;
    return 4 * DT;
}
static double takes_long_once(long step) {
    return step == 100 ? 3.5 * DT : DT / 2;
}
static double takes_ages_once(long step) {
    return step == 100 ? 1.0 : DT / 2;
}
/* Slower on average than what can be kept, by fits and starts. */
static double takes_by_turns(long step) {
    return step % 10 == 0 ? 15 * DT : DT / 2;
}
static double takes_minutes(long step) {
    (void)step;
    return 100;
}

static void steps_that_are_in_time_are_never_late_and_nothing_is_forgiven(void **unused) {
    (void)unused;
    double now = 0;
    thenar_pace p = thenar_pace_start(0, DT);
    long steps = keep_pace(&p, &now, 10, 1, takes_half);
    assert_in_range(steps, 1000, 1001);
    assert_int_equal(p.late_steps, 0);
    assert_true(p.dropped == 0 && p.share_min == 1 && !p.slow && p.slow_seconds == 0);
}

static void a_step_that_was_late_is_made_up_for(void **unused) {
    (void)unused;
    double now = 0;
    thenar_pace p = thenar_pace_start(0, DT);
    long steps = keep_pace(&p, &now, 10, 1, takes_long_once);
    assert_in_range(steps, 1000, 1001);
    assert_true(p.dropped == 0 && p.share_min == 1);
    /* 3.5 dt are due behind it; each further step is done in half its time: 3, 2.5, 2, 1.5, 1, then 0.5. */
    assert_int_equal(p.late_steps, 6);
    assert_true(fabs(p.due_max - 3.5 * DT) < 1e-6);
}

static void backlog_beyond_the_maximum_is_dropped_and_counted(void **unused) {
    (void)unused;
    double now = 0;
    thenar_pace p = thenar_pace_start(0, DT);
    long steps = keep_pace(&p, &now, 10, 1, takes_ages_once);
    /* Of the second that a step took four steps are made up for. */
    assert_true(fabs(p.dropped - (1.0 - PACE_STEPS * DT)) < 1e-6);
    assert_in_range(steps, 1000 - 96, 1001 - 96);
    assert_true(p.due_max <= PACE_STEPS * DT + 1e-12);
    assert_true(p.share_min < 0.5 && p.slow_seconds > 0.5 && !p.slow && p.share == 1);
}

static void a_machine_that_is_too_slow_runs_in_slow_motion_with_a_bounded_backlog(void **unused) {
    (void)unused;
    double now = 0;
    thenar_pace p = thenar_pace_start(0, DT);
    long steps = keep_pace(&p, &now, 100, 1, takes_fourfold);
    assert_in_range(steps, 2499, 2501); /* a quarter of real time, without a pause */
    assert_int_equal(p.late_steps, (uint64_t)steps);
    assert_true(p.slow && fabs(p.share - 0.25) < 0.01 && fabs(p.share_min - 0.25) < 0.1);
    assert_true(fabs(p.slow_seconds - 100) < 1.5);
    assert_true(p.due_max <= PACE_STEPS * DT + 1e-12);
    /* All time is accounted for: it was simulated, dropped, or is due. */
    assert_true(fabs(DT + now - ((double)steps * DT + p.dropped + p.due)) < 1e-6);
    /* Once it can keep up again the backlog is gone within as many steps, and is no longer reported. */
    uint64_t late = p.late_steps;
    steps = keep_pace(&p, &now, 1, 1, takes_half);
    assert_in_range(steps, 100, 100 + PACE_STEPS + 1);
    assert_in_range(p.late_steps - late, 0, 2 * PACE_STEPS);
    assert_true(!p.slow && p.share == 1);
}

static void load_that_comes_and_goes_never_makes_a_spiral(void **unused) {
    (void)unused;
    double now = 0;
    thenar_pace p = thenar_pace_start(0, DT);
    long steps = keep_pace(&p, &now, 195, 1, takes_by_turns);
    assert_in_range(steps, 9000, 13000);
    assert_true(p.due_max <= PACE_STEPS * DT + 1e-12);
    assert_true(fabs(DT + now - ((double)steps * DT + p.dropped + p.due)) < 1e-6);
}

static void other_speeds_pauses_and_endless_steps_account_for_all_time(void **unused) {
    (void)unused;
    double now = 0;
    thenar_pace p = thenar_pace_start(0, 0);
    assert_in_range(keep_pace(&p, &now, 10, 0.1, takes_half), 99, 101);
    assert_true(p.dropped == 0);
    now += 3600; /* a pause owes nothing */
    thenar_pace_update(&p, llround(1e9 * now), 0, DT);
    assert_true(p.dropped == 0 && p.due < 1.01 * DT);
    /* Ten times as fast as real time with steps of half of it: a fifth of what is asked for. */
    keep_pace(&p, &now, 10, 10, takes_half);
    assert_true(p.slow && fabs(p.share - 0.2) < 0.02);
    assert_true(p.due_max <= 10 * PACE_SECONDS + 1e-12);
    keep_pace(&p, &now, 1, 1, takes_minutes);
    assert_true(p.slow && p.share < 0.01 && p.share >= 0 && isfinite(p.dropped));
}

static void half_of_the_maximum_backlog_shortens_steps_for_at_least_half_a_second(void **unused) {
    (void)unused;
    double now = 0;
    thenar_pace p = thenar_pace_start(0, DT);
    keep_pace(&p, &now, 1, 1, takes_half);
    assert_true(!p.hurried && p.hurried_steps == 0);
    now += 0.9 * DT; /* with what is due already, less than half of it */
    keep_pace(&p, &now, DT / 4, 1, takes_half);
    assert_false(p.hurried);
    keep_pace(&p, &now, 1, 1, takes_half);
    now += PACE_HURRY * PACE_STEPS * DT;
    keep_pace(&p, &now, 0.9 * PACE_WINDOW, 1, takes_half);
    assert_true(p.hurried && p.dropped == 0);
    uint64_t steps = p.hurried_steps;
    assert_in_range(steps, 0.8 * PACE_WINDOW / DT, PACE_WINDOW / DT + PACE_STEPS);
    keep_pace(&p, &now, 1, 1, takes_half);
    assert_true(!p.hurried && p.hurried_steps < steps + (uint64_t)(PACE_WINDOW / DT));
    /* Who is too slow for good always is; who asks for more than real time never. */
    keep_pace(&p, &now, 10, 1, takes_fourfold);
    assert_true(p.hurried);
    keep_pace(&p, &now, 10, 1, takes_half);
    steps = p.hurried_steps;
    keep_pace(&p, &now, 10, 10, takes_half);
    assert_true(p.slow && !p.hurried && p.hurried_steps == steps);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(steps_that_are_in_time_are_never_late_and_nothing_is_forgiven),
    cmocka_unit_test(a_step_that_was_late_is_made_up_for),
    cmocka_unit_test(backlog_beyond_the_maximum_is_dropped_and_counted),
    cmocka_unit_test(a_machine_that_is_too_slow_runs_in_slow_motion_with_a_bounded_backlog),
    cmocka_unit_test(load_that_comes_and_goes_never_makes_a_spiral),
    cmocka_unit_test(other_speeds_pauses_and_endless_steps_account_for_all_time),
    cmocka_unit_test(half_of_the_maximum_backlog_shortens_steps_for_at_least_half_a_second),
};
TEST_MAIN(tests)
