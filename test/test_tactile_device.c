/* Devices: kinematics there and back, speeds, and descriptions that make no sense. */
#include "test.h"
#include "thenar/scene.h"

#include "random.h"
#include "tactile/tactile.h"
#include "thenar/thenar.h"

#include <unistd.h>

#define DEGREE (3.14159265358979323846 / 180)

static void random_pose(random_source *random, const thenar_wearable_def *def, double pose[3]) {
    double low[3], high[3];
    wearable_bounds(def, low, high);
    for (int k = 0; k < 3; k++) pose[k] = random_uniform(random, low[k], high[k]);
}

static void forward_kinematics_give_the_pose_back(void **state) {
    (void)state;
    random_source random = {1};
    for (int kind = THENAR_WEARABLE_CABLE; kind <= THENAR_WEARABLE_RRS; kind++) {
        thenar_wearable_def def = thenar_wearable_def_default((thenar_wearable_kind)kind);
        for (int round = 0; round < 300; round++) {
            def.azimuth = random_uniform(&random, -3, 3);
            double pose[3], angles[3], back[3];
            random_pose(&random, &def, pose);
            assert_true(thenar_wearable_inverse(&def, pose, angles));
            assert_true(thenar_wearable_forward(&def, angles, back));
            for (int k = 0; k < 3; k++) assert_near(back[k], pose[k], 1e-10);
        }
    }
}

/* Joints in the planes of their legs, rods of their length, and the surface through (0, 0, displacement). */
static void legs_stay_in_their_planes_and_keep_their_lengths(void **state) {
    (void)state;
    random_source random = {2};
    thenar_wearable_def def = thenar_wearable_def_default(THENAR_WEARABLE_RRS);
    for (int round = 0; round < 300; round++) {
        double pose[3], angles[3];
        vec3 joint[3];
        random_pose(&random, &def, pose);
        platform_joints(&def, pose, joint);
        assert_true(platform_inverse(&def, pose, angles));
        vec3 n = vec3_make(sin(pose[1]) * cos(pose[0]), -sin(pose[0]), cos(pose[1]) * cos(pose[0]));
        for (int k = 0; k < 3; k++) {
            double angle = def.azimuth + 120 * DEGREE * k;
            vec3 out = vec3_make(cos(angle), sin(angle), 0), across = vec3_make(-sin(angle), cos(angle), 0);
            vec3 hinge = vec3_scale(out, def.base_radius + def.crank * cos(angles[k]));
            hinge.z = def.base_height - def.crank * sin(angles[k]);
            assert_near(vec3_dot(across, joint[k]), 0, 1e-14);
            assert_near(vec3_distance(hinge, joint[k]), def.rod, 1e-14);
            assert_near(vec3_distance(joint[k], joint[(k + 1) % 3]), def.platform_radius * sqrt(3), 1e-14);
            vec3 above = vec3_sub(vec3_mul_add(joint[k], n, def.platform_depth), vec3_make(0, 0, pose[2]));
            assert_near(vec3_dot(n, above), 0, 1e-14);
        }
    }
}

static void no_step_is_longer_than_the_speeds_allow(void **state) {
    (void)state;
    random_source random = {3};
    for (int kind = THENAR_WEARABLE_CABLE; kind <= THENAR_WEARABLE_THIMBLE; kind++)
        for (int round = 0; round < 50; round++) {
            thenar_wearable_def def = thenar_wearable_def_default((thenar_wearable_kind)kind);
            def.servo_speed *= round % 2 ? 1 : 0.1; /* the servos, or the platform, are slower */
            double pose[3], wanted[3], angles[3] = {0}, dt = 0.001 * (1 + round % 10);
            random_pose(&random, &def, pose);
            random_pose(&random, &def, wanted);
            if (wearable_is_platform(&def)) platform_inverse(&def, pose, angles);
            bool arrived = false;
            for (int step = 0; step < 20000 && !arrived; step++) {
                double before[3], turned[3], max = step % 2 ? INFINITY : 1e-4;
                memcpy(before, pose, sizeof pose), memcpy(turned, angles, sizeof angles);
                wearable_approach(&def, wanted, dt, max, pose, angles);
                for (int k = 0; k < 3; k++) {
                    double allowed = dt * (k < 2 ? def.tilt_speed : def.displacement_speed);
                    if (k == 2 && pose[k] > before[k]) allowed = fmin(allowed, max);
                    assert_true(fabs(pose[k] - before[k]) <= allowed * (1 + 1e-9));
                    assert_true(fabs(angles[k] - turned[k]) <= def.servo_speed * dt * (1 + 1e-9));
                }
                arrived = memcmp(pose, before, sizeof pose) == 0;
            }
            for (int k = 0; k < 3; k++) assert_near(pose[k], wanted[k], 1e-12);
        }
}

/* Writes a file, loads it with `load`, and expects an error that has these words. */
static void expect_error(const char *text, const char *file_and_line, const char *words) {
    char path[] = "/tmp/test_device_XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, text, strlen(text)), (long)strlen(text));
    close(file);
    thenar_error error;
    thenar_wearable_def def;
    assert_int_equal(thenar_wearable_load(path, &def, sizeof def, &error), THENAR_ERROR_INPUT);
    unlink(path);
    char place[64];
    snprintf(place, sizeof place, "%s:%s", path, file_and_line);
    if (!strstr(error.text, place) || !strstr(error.text, words) || !strstr(error.text, "expected")) {
        print_error("expected %s ... %s in: %s\n", place, words, error.text);
        fail();
    }
}

static void bad_descriptions_say_where_and_what_was_expected(void **state) {
    (void)state;
    expect_error("thenar_device: 1\nkind: cable\nrange: {pitch: [30, -30]}\n", "3:", "the smaller number first");
    expect_error("thenar_device: 1\nkind: rrs\nservo: {pulse: [2500, 500]}\n", "3:", "the smaller number first");
    expect_error("thenar_device: 1\nkind: rrs\ngeometry: {crank: 0.005, rod: 0.006}\n", "3:", "do not close");
    expect_error("thenar_device: 1\nkind: rrs\nservo: {range: [0, 20]}\n", "1:", "servos would turn");
    expect_error("thenar_device: 1\nkind: rrs\nservo: {range: [-180, 180]}\n"
                 "geometry: {base_radius: 0.015, crank: 0.016, rod: 0.019}\n",
                 "4:", "do not hold");
    expect_error("thenar_device: 1\nkind: balloon\n", "2:", "cable");
    expect_error("thenar_device: 2\nkind: cable\n", "1:", "1");
    expect_error("thenar_device: 1\nkind: thimble\nforce_limit: -1\n", "3:", "force_limit");
    expect_error("thenar_device: 1\nkind: vibration\nfrequency: [.nan, 3]\n", "3:", "frequency");
}

static void a_description_is_read_as_it_is_written(void **state) {
    (void)state;
    char path[] = "/tmp/test_device_XXXXXX";
    static const char text[] =
        "thenar_device: 1\nkind: thimble\ncommand: force\nrange: {displacement: [-0.001, 0.002]}\n"
        "speed: {displacement: 0.07}\nforce_limit: 1.25\nclearance: 0.0015\n"
        "pulp: {force: 0.09, rate: 1200}\n";
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, text, strlen(text)), (long)strlen(text));
    close(file);
    thenar_error error;
    thenar_wearable_def def;
    assert_ok(thenar_wearable_load(path, &def, sizeof def, &error), error);
    unlink(path);
    assert_true(def.kind == THENAR_WEARABLE_THIMBLE && def.by_force);
    const double got[] = {def.displacement_min, def.displacement_max, def.displacement_speed, def.force_limit,
                          def.clearance,        def.pulp_force,       def.pulp_rate};
    const double expected[] = {-0.001, 0.002, 0.07, 1.25, 0.0015, 0.09, 1200};
    for (int i = 0; i < 7; i++) assert_near(got[i], expected[i], 0);
    assert_string_equal(thenar_wearable_value_name(&def, 0), "force 1");
    def.by_force = false;
    assert_string_equal(thenar_wearable_value_name(&def, 0), "displacement m");
    def = thenar_wearable_def_default(THENAR_WEARABLE_VIBRATION);
    assert_string_equal(thenar_wearable_value_name(&def, 1), "frequency Hz");
}

static void bad_numbers_of_a_program_are_refused(void **state) {
    (void)state;
    thenar_error error;
    thenar_wearable_def def = thenar_wearable_def_default(THENAR_WEARABLE_CABLE);
    assert_ok(thenar_wearable_check(&def, &error), error);
    def.roll_max = -1;
    assert_int_equal(thenar_wearable_check(&def, &error), THENAR_ERROR_INPUT);
    def = thenar_wearable_def_default(THENAR_WEARABLE_THIMBLE);
    def.pulp_rate = NAN;
    assert_int_equal(thenar_wearable_check(&def, &error), THENAR_ERROR_INPUT);
    def = thenar_wearable_def_default(THENAR_WEARABLE_VIBRATION);
    assert_ok(thenar_wearable_check(&def, &error), error);
    def.kind = (thenar_wearable_kind)17;
    assert_int_equal(thenar_wearable_check(&def, &error), THENAR_ERROR_INPUT);
}

/* The files that come with the program have the program's defaults, so that their comments are true. */
static void device_files_are_the_defaults(void **state) {
    (void)state;
    for (int kind = 0; kind < THENAR_WEARABLE_KIND_COUNT; kind++) {
        char path[512];
        thenar_error error;
        thenar_wearable_def read, def = thenar_wearable_def_default((thenar_wearable_kind)kind);
        snprintf(path, sizeof path, SOURCE_DIR "/scenes/devices/%s.yaml", thenar_wearable_kind_name(def.kind));
        assert_ok(thenar_wearable_load(path, &read, sizeof read, &error), error);
        assert_int_equal(read.kind, kind);
        assert_near(read.pitch_min, def.pitch_min, 1e-12);
        assert_near(read.pitch_max, def.pitch_max, 1e-12);
        bool thimble = kind == THENAR_WEARABLE_THIMBLE;
        assert_near(read.displacement_min, thimble ? -0.002 : def.displacement_min, 1e-12);
        assert_near(read.displacement_max, thimble ? 0.003 : def.displacement_max, 1e-12);
        assert_near(read.crank, def.crank, 0);
        assert_near(read.tilt_speed, def.tilt_speed, 1e-12);
        assert_near(read.release, def.release, 0);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(forward_kinematics_give_the_pose_back),
    cmocka_unit_test(legs_stay_in_their_planes_and_keep_their_lengths),
    cmocka_unit_test(no_step_is_longer_than_the_speeds_allow),
    cmocka_unit_test(bad_descriptions_say_where_and_what_was_expected),
    cmocka_unit_test(a_description_is_read_as_it_is_written),
    cmocka_unit_test(bad_numbers_of_a_program_are_refused),
    cmocka_unit_test(device_files_are_the_defaults),
};
TEST_MAIN(tests)
