/* The haptic loop with its threads, through the public functions. Nothing depends on when something happens, only on
 * that it does: the machine may be busy. */
#include "test.h"

#include "allocations.h"
#include "core/threads.h"
#include "haptic/haptic.h"
#include "thenar/thenar.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <time.h>

#define PLUGIN "plugin:" BINARY_DIR "/test/"
#define PATIENCE 20000 /* ms */
#define WALL 2000.0    /* N/m */

static void sleep_ms(long ms) {
    struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&pause, NULL);
}

/* A person who leans on the ground with a spring of 500 N/m, 2 cm deep. */
static const char *leaning_person(void) {
    static char text[600];
    char path[512];
    snprintf(path, sizeof path, "%s/test/leaning.json", BINARY_DIR);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("{\"stiffness\": 500, \"damping\": 15, \"keys\": [{\"t\": 0, \"position\": [0, 0.01, 0]}, "
          "{\"t\": 0.2, \"position\": [0, -0.02, 0]}]}",
          file);
    fclose(file);
    snprintf(text, sizeof text, "user:%s", path);
    return text;
}

/* A simulation of a wall at y = 0, in a thread of its own. */
typedef struct wall_thread {
    thenar_haptic *haptic;
    int handle;
    pthread_t thread;
    atomic_bool stop, pause;
} wall_thread;

static void wall_tell(thenar_haptic *haptic, int handle, uint64_t step, double y) {
    thenar_haptic_linear linear = {.pose = {0, y, 0, 0, 0, 0, 1}};
    linear.step = step;
    linear.step_length = 0.01;
    linear.contacts = y < 0;
    if (y < 0) {
        linear.force[1] = -WALL * y;
        linear.stiffness[7] = WALL;
    }
    assert_int_equal(thenar_haptic_publish(haptic, handle, &linear), THENAR_OK);
}

static void *wall_main(void *argument) {
    wall_thread *w = argument;
    for (uint64_t step = 1; !atomic_load(&w->stop); step++) {
        double position[7];
        if (!atomic_load(&w->pause)) {
            /* The handle is where coupling and wall leave it. */
            bool known = thenar_haptic_pose(w->haptic, w->handle, 0.01, position, NULL);
            wall_tell(w->haptic, w->handle, step, known ? position[1] * (position[1] < 0 ? 1 / 3.0 : 1) : 1);
        }
        sleep_ms(5);
    }
    return NULL;
}

static void wall_begin(wall_thread *w, thenar_haptic *haptic, int handle) {
    w->haptic = haptic;
    w->handle = handle;
    pthread_create(&w->thread, NULL, wall_main, w);
}

static void wall_end(wall_thread *w) {
    atomic_store(&w->stop, true);
    pthread_join(w->thread, NULL);
}

static thenar_haptic *make(const thenar_haptic_handle *handles, int count) {
    thenar_haptic_def def = thenar_haptic_def_default();
    def.handles = handles;
    def.handle_count = count;
    def.real_time = false; /* a test must not starve the machine */
    thenar_haptic *haptic = NULL;
    thenar_error error;
    assert_ok(thenar_haptic_create(&def, &haptic, &error), error);
    return haptic;
}

/* A busy machine may hold up the thread that tells for longer than a person's simulation may be. */
static thenar_haptic_handle patient_handle(const char *device) {
    thenar_haptic_handle handle = thenar_haptic_handle_default();
    handle.device = device;
    handle.settings.stale_after = handle.settings.silent_after = 0.5;
    return handle;
}

static void start(thenar_haptic *haptic) {
    thenar_error error;
    assert_ok(thenar_haptic_start(haptic, &error), error);
}

static bool reaches(thenar_haptic *haptic, int handle, double force, double within) {
    thenar_haptic_stats stats;
    for (int ms = 0; ms < PATIENCE; ms += 5) {
        thenar_haptic_read_stats(haptic, &stats);
        if (fabs(stats.handles[handle].force[1] - force) < within && stats.handles[handle].gain == 1) return true;
        sleep_ms(5);
    }
    return false;
}

static void a_person_who_leans_on_a_wall_feels_it(void **unused) {
    (void)unused;
    const double expected = 0.02 / (1 / 500.0 + 1 / 1000.0 + 1 / WALL);
    thenar_haptic_handle handles[2] = {patient_handle(leaning_person()), patient_handle(leaning_person())};
    handles[1].base[1] = 0.1; /* this one is in the air */
    thenar_haptic *haptic = make(handles, 2);
    wall_thread walls[2] = {0};
    start(haptic);
    wall_begin(&walls[0], haptic, 0);
    wall_begin(&walls[1], haptic, 1);
    assert_true(reaches(haptic, 0, expected, 0.02 * expected));
    assert_true(reaches(haptic, 1, 0, 0.01));
    thenar_haptic_stats stats;
    thenar_haptic_read_stats(haptic, &stats);
    assert_true(stats.ticks > 0 && stats.handles[0].updates > 0 && stats.handles[0].samples > 0);
    assert_true(stats.handles[0].energy_in > 1e-3);
    assert_true(stats.period_p50_us > 0 && stats.period_p50_us <= stats.period_p99_us);
    assert_true(stats.period_p99_us <= stats.period_p999_us && stats.period_p999_us <= stats.period_max_us);
    assert_near(stats.handles[1].device_pose[1], 0.08, 0.005);
    uint64_t sum = 0;
    for (int i = 0; i < THENAR_HAPTIC_JITTER; i++) sum += stats.jitter[i];
    assert_true(sum > 0 && sum + 1 >= stats.ticks - 5);
    print_message("period p50 %.0f us, p99 %.0f, p99.9 %.0f, worst %.0f, %llu of %llu missed; tick p50 %.1f us\n",
                  stats.period_p50_us, stats.period_p99_us, stats.period_p999_us, stats.period_max_us,
                  (unsigned long long)stats.missed, (unsigned long long)stats.ticks, stats.tick_p50_us);
    thenar_haptic_stop(haptic);
    thenar_haptic_read_stats(haptic, &stats);
    assert_true(stats.handles[0].force[1] == 0); /* it ends without force */
    start(haptic);
    assert_true(reaches(haptic, 0, expected, 0.02 * expected));
    wall_end(&walls[0]);
    wall_end(&walls[1]);
    thenar_haptic_free(haptic);
}

static void a_simulation_that_stops_is_noticed_and_said(void **unused) {
    (void)unused;
    thenar_haptic_handle handle = patient_handle(leaning_person());
    handle.settings.stale_after = 0.1;
    thenar_haptic *haptic = make(&handle, 1);
    wall_thread wall = {0};
    start(haptic);
    wall_begin(&wall, haptic, 0);
    assert_true(reaches(haptic, 0, 5.714, 0.2));
    char text[512];
    thenar_haptic_notice(haptic, text, sizeof text);
    atomic_store(&wall.pause, true);
    thenar_haptic_stats stats = {0};
    for (int ms = 0; ms < PATIENCE; ms++) {
        thenar_haptic_read_stats(haptic, &stats);
        if (stats.handles[0].gain == 0) break;
        sleep_ms(1);
    }
    assert_true(stats.handles[0].gain == 0 && stats.handles[0].force[1] == 0);
    assert_true(stats.handles[0].faults[THENAR_HAPTIC_STALE] > 0);
    assert_true(thenar_haptic_notice(haptic, text, sizeof text));
    assert_non_null(strstr(text, "the simulation is late"));
    atomic_store(&wall.pause, false);
    assert_true(reaches(haptic, 0, 5.714, 0.2));
    wall_end(&wall);
    thenar_haptic_free(haptic);
}

static void the_loop_keeps_running_while_a_plugin_hangs(void **unused) {
    (void)unused;
    thenar_haptic_handle handle = thenar_haptic_handle_default();
    handle.device = PLUGIN "faulty.so,hang";
    thenar_haptic *haptic = make(&handle, 1);
    thenar_haptic_stats stats = {0};
    char text[512], all[2048] = "";
    start(haptic);
    for (int ms = 0; ms < PATIENCE && stats.handles[0].faults[THENAR_HAPTIC_HUNG] == 0; ms++) {
        wall_tell(haptic, 0, (uint64_t)ms + 1, 1);
        thenar_haptic_read_stats(haptic, &stats);
        sleep_ms(1);
    }
    assert_true(stats.handles[0].faults[THENAR_HAPTIC_HUNG] > 0);
    uint64_t ticks = stats.ticks;
    for (int ms = 0; ms < PATIENCE && stats.ticks < ticks + 20; ms++) {
        thenar_haptic_read_stats(haptic, &stats);
        sleep_ms(1);
    }
    assert_true(stats.ticks >= ticks + 20);
    while (thenar_haptic_notice(haptic, text, sizeof text) && !strstr(all, "does not return"))
        strncat(all, text, sizeof all - strlen(all) - 1);
    assert_non_null(strstr(all, "does not return"));
    thenar_haptic_free(haptic);
}

static void nonsense_is_refused(void **unused) {
    (void)unused;
    thenar_haptic_handle handle = thenar_haptic_handle_default();
    thenar_haptic_def def = thenar_haptic_def_default();
    thenar_haptic *haptic = NULL;
    thenar_error error;
    assert_int_equal(thenar_haptic_create(&def, &haptic, &error), THENAR_ERROR_INPUT);
    def.handles = &handle;
    def.handle_count = 1;
    def.rate = 20000;
    assert_int_equal(thenar_haptic_create(&def, &haptic, &error), THENAR_ERROR_INPUT);
    assert_non_null(strstr(error.text, "10000"));
    def.rate = 1000;
    handle.settings.proxy_mass = 0;
    assert_int_equal(thenar_haptic_create(&def, &haptic, &error), THENAR_ERROR_INPUT);
    assert_non_null(strstr(error.text, "proxy_mass"));
    handle.settings = thenar_haptic_settings_default();
    handle.settings.damping = NAN;
    assert_int_equal(thenar_haptic_create(&def, &haptic, &error), THENAR_ERROR_INPUT);
    handle.settings = thenar_haptic_settings_default();
    handle.device = "magic";
    assert_true(thenar_haptic_create(&def, &haptic, &error) < 0);
    assert_non_null(strstr(error.text, "handle 0"));
    assert_null(haptic);
    handle.device = NULL;
    handle.base[2] = INFINITY;
    assert_int_equal(thenar_haptic_create(&def, &haptic, &error), THENAR_ERROR_INPUT);
    assert_non_null(strstr(error.text, "pose of the device"));
    handle.base[2] = 0;
    handle.grip[1] = NAN;
    assert_int_equal(thenar_haptic_create(&def, &haptic, &error), THENAR_ERROR_INPUT);
    handle.grip[1] = 0;
    def.priority = 100;
    assert_int_equal(thenar_haptic_create(&def, &haptic, &error), THENAR_ERROR_INPUT);
    assert_non_null(strstr(error.text, "priority 100"));
    haptic = make(&handle, 1);
    thenar_haptic_linear linear = {.pose = {0, 0, 0, 0, 0, 0, 1}, .step = 1, .step_length = 0.01};
    assert_int_equal(thenar_haptic_publish(haptic, 0, &linear), THENAR_OK);
    linear.force[2] = NAN;
    assert_int_equal(thenar_haptic_publish(haptic, 0, &linear), THENAR_ERROR_INPUT);
    assert_false(thenar_haptic_pose(haptic, 0, 0, NULL, NULL));
    thenar_haptic_free(haptic);
    thenar_haptic_free(NULL);
}

static void every_fault_has_a_name(void **unused) {
    (void)unused;
    for (int f = 0; f < THENAR_HAPTIC_FAULT_COUNT; f++) {
        assert_true(strlen(thenar_haptic_fault_name((thenar_haptic_fault)f)) > 2);
        for (int g = 0; g < f; g++)
            assert_string_not_equal(thenar_haptic_fault_name((thenar_haptic_fault)f),
                                    thenar_haptic_fault_name((thenar_haptic_fault)g));
    }
}

static void the_loop_allocates_nothing(void **unused) {
    (void)unused;
    thenar_haptic_handle handle = patient_handle(leaning_person());
    thenar_haptic *haptic = make(&handle, 1);
    thenar_haptic_stats stats = {0};
    start(haptic);
    long before = allocation_count;
    for (int ms = 0; ms < PATIENCE && stats.ticks < 200; ms++) {
        wall_tell(haptic, 0, (uint64_t)ms + 1, -0.001);
        thenar_haptic_read_stats(haptic, &stats);
        sleep_ms(1);
    }
    assert_true(stats.ticks >= 200);
    assert_int_equal(allocation_count - before, 0);
    thenar_haptic_free(haptic);
}

/* Granted or refused, the loop runs and says which. */
static void real_time_is_asked_for_and_what_came_of_it_is_said(void **unused) {
    (void)unused;
    thenar_haptic_handle handle = thenar_haptic_handle_default();
    thenar_haptic_def def = thenar_haptic_def_default();
    thenar_haptic *haptic;
    thenar_haptic_stats stats = {0};
    thenar_error error;
    def.handles = &handle;
    def.handle_count = 1;
    assert_ok(thenar_haptic_create(&def, &haptic, &error), error);
    assert_string_equal(thenar_haptic_real_time(haptic), "not started");
    start(haptic);
    start(haptic); /* once is enough */
    for (int ms = 0; ms < PATIENCE && stats.ticks < 3; ms++) {
        thenar_haptic_read_stats(haptic, &stats);
        sleep_ms(1);
    }
    assert_true(stats.ticks >= 3);
    print_message("%s\n", thenar_haptic_real_time(haptic));
    assert_non_null(strstr(thenar_haptic_real_time(haptic), "real-time priority"));
    assert_non_null(strstr(thenar_haptic_real_time(haptic), "memory "));
    thenar_haptic_free(haptic);
}

static void *refused_main(void *text) {
    if (real_time_begin(1000, text, 256)) munlockall();
    return NULL;
}

static void a_priority_that_is_refused_is_said_with_what_would_help(void **unused) {
    (void)unused;
    char text[256];
    pthread_t thread; /* of its own: what is granted ends with it */
    assert_int_equal(pthread_create(&thread, NULL, refused_main, text), 0);
    pthread_join(thread, NULL);
    assert_non_null(strstr(text, "no real-time priority (refused; `ulimit -r 1000`"));
}

static void a_loop_without_memory_is_refused(void **unused) {
    (void)unused;
    thenar_haptic_handle handles[2] = {thenar_haptic_handle_default(), thenar_haptic_handle_default()};
    thenar_haptic_def def = thenar_haptic_def_default();
    thenar_haptic *haptic = NULL;
    thenar_error error;
    handles[1].device = "user:";
    def.handles = handles;
    def.handle_count = 2;
    int refused = 0;
    for (long granted = 0; !haptic; granted++) {
        allocations_left = granted;
        thenar_status status = thenar_haptic_create(&def, &haptic, &error);
        allocations_left = -1;
        assert_true(haptic ? status == THENAR_OK : status < 0 && strstr(error.text, "memory"));
        refused += !haptic;
    }
    assert_true(refused >= 6); /* the loop, its handles, its times (2), reports, updates (2), the device */
    thenar_haptic_free(haptic);
}

static void a_system_without_threads_refuses_the_loop(void **unused) {
    (void)unused;
    if (SANITIZED) skip(); /* they make threads in their own way */
    pthread_attr_t usual, huge;
    thenar_haptic_handle handle = thenar_haptic_handle_default();
    thenar_haptic *haptic = make(&handle, 1);
    thenar_error error;
    assert_int_equal(pthread_getattr_default_np(&usual), 0);
    assert_int_equal(pthread_getattr_default_np(&huge), 0);
    assert_int_equal(pthread_attr_setstacksize(&huge, (size_t)1 << 50), 0); /* more than there are addresses */
    assert_int_equal(pthread_setattr_default_np(&huge), 0);
    thenar_status status = thenar_haptic_start(haptic, &error);
    pthread_setattr_default_np(&usual);
    assert_true(status < 0);
    assert_non_null(strstr(error.text, "thread"));
    start(haptic); /* and then it works */
    thenar_haptic_free(haptic);
    pthread_attr_destroy(&usual);
    pthread_attr_destroy(&huge);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(real_time_is_asked_for_and_what_came_of_it_is_said),
    cmocka_unit_test(a_priority_that_is_refused_is_said_with_what_would_help),
    cmocka_unit_test(a_loop_without_memory_is_refused),
    cmocka_unit_test(a_system_without_threads_refuses_the_loop),
    cmocka_unit_test(a_person_who_leans_on_a_wall_feels_it),
    cmocka_unit_test(a_simulation_that_stops_is_noticed_and_said),
    cmocka_unit_test(the_loop_keeps_running_while_a_plugin_hangs),
    cmocka_unit_test(nonsense_is_refused),
    cmocka_unit_test(every_fault_has_a_name),
    cmocka_unit_test(the_loop_allocates_nothing),
};

TEST_MAIN(tests)
