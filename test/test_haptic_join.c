/* The haptic loop and the handles of a simulation, joined by the public functions. Most of it without the loop's thread:
 * what a tick would have reported is written by hand. */
#include "hand_world.h"
#include "scene_files.h"

#include "core/threads.h"
#include "haptic/haptic.h"
#include "world/sim.h"

#include <time.h>

#define PATIENCE 20000 /* ms */

static thenar_sim *open_scene(const char *name, const char *const *sets, int count, double dt) {
    return scene_file_open(
        name, sets, count,
        &(thenar_sim_options){.size = sizeof(thenar_sim_options), .dt = dt, .contact = THENAR_CONTACT_OF_MODEL});
}

static thenar_haptic *make_loop(const thenar_haptic_handle *handle) {
    thenar_haptic_def def = thenar_haptic_def_default();
    def.handles = handle;
    def.handle_count = 1;
    def.real_time = false; /* a test must not starve the machine */
    thenar_haptic *haptic = NULL;
    thenar_error error;
    assert_ok(thenar_haptic_create(&def, &haptic, &error), error);
    return haptic;
}

/* As if a tick had found the device there just now. */
static void report(thenar_haptic *haptic, vec3 position, vec3 turn, vec3 velocity, bool silent) {
    haptic_report *r = triple_buffer_slot(&haptic->reports);
    memset(r, 0, sizeof *r);
    quat q = quat_from_rotation_vector(turn);
    r->time_ns = clock_now();
    r->known[0] = true;
    r->silent[0] = silent;
    r->handles[0].gain = silent ? 0 : 1;
    vec3_store(r->handles[0].device_pose, position);
    memcpy(r->handles[0].device_pose + 3, (double[]){q.x, q.y, q.z, q.w}, 4 * sizeof(double));
    vec3_store(r->velocity[0], velocity);
    triple_buffer_publish(&haptic->reports);
}

static void the_proxy_is_held_as_the_handle_is(void **unused) {
    (void)unused;
    static const char *const sets[] = {"handles.device.coupling.most_force=4"};
    thenar_sim *sim = open_scene("haptic-finger", sets, 1, 0.01);
    thenar_haptic_handle handle = thenar_haptic_handle_of(sim, 0);
    const thenar_haptic_settings *s = &handle.settings;
    double mass, inertia[9];
    thenar_model_handle_mass(thenar_sim_model(sim), 0, &mass, inertia);
    assert_near(s->stiffness, 2000, 0);
    assert_near(s->damping, 20, 0);
    assert_near(s->turn_stiffness, 20, 0);
    assert_near(s->turn_damping, 0.1, 0);
    assert_near(s->max_force, 4, 0);
    assert_near(s->max_torque, thenar_haptic_settings_default().max_torque, 0);
    assert_near(s->proxy_mass, mass, 0);
    assert_near(s->proxy_inertia, (inertia[0] + inertia[4] + inertia[8]) / 3, 1e-18);
    thenar_sim_free(sim);
}

/* The bones of a hand have axes of their own; the palm of this one has a coupling of its own too. */
static void a_device_at_its_origin_is_where_the_handle_is(void **unused) {
    (void)unused;
    thenar_error error;
    thenar_hand_def hand = hand_world_def();
    thenar_build *build = hand_world_build(&hand);
    thenar_handle_def def = thenar_handle_def_default();
    def.tool = hand.name;
    def.stiffness = 321;
    const char *const bones[] = {"wrist", "index-finger-phalanx-distal"};
    for (int i = 0; i < 2; i++) {
        def.name = bones[i];
        def.joint = (thenar_hand_joint)thenar_hand_joint_find(bones[i]);
        assert_ok(thenar_build_add_handle(build, &def, &error), error);
    }
    thenar_model *model = hand_world_compile(build);
    thenar_sim *sim = hand_world_start(model, 0.01, 1);
    for (int i = 0; i < 2; i++) {
        thenar_haptic_handle handle = thenar_haptic_handle_of(sim, i);
        thenar_handle_state state;
        thenar_sim_handle(sim, i, &state);
        assert_near(handle.settings.stiffness, i == 0 ? hand.base_stiffness : 321, 0);
        handle.device = "user:"; /* begins 2 cm above its origin, not turned */
        thenar_haptic *haptic = make_loop(&handle);
        assert_ok(thenar_haptic_start(haptic, &error), error);
        double pose[7], *position = pose, *orientation = pose + 3;
        int ms = 0;
        while (!thenar_haptic_pose(haptic, 0, 0, pose, NULL) && ms++ < PATIENCE)
            nanosleep(&(struct timespec){0, 1000000}, NULL);
        thenar_haptic_stop(haptic);
        assert_true(position[1] < state.pose[1] + 0.021); /* on its way down */
        assert_near(position[0], state.pose[0], 1e-6);
        assert_near(position[2], state.pose[2], 1e-6);
        double cosine = 0;
        for (int k = 0; k < 4; k++) cosine += orientation[k] * state.pose[3 + k];
        assert_near(fabs(cosine), 1, 1e-9);
        thenar_haptic_free(haptic);
    }
    thenar_sim_free(sim);
    thenar_model_free(model);
}

static void a_step_goes_to_where_the_device_will_be_when_it_ends(void **unused) {
    (void)unused;
    thenar_sim *sim = open_scene("haptic-wall", NULL, 0, 0.01);
    thenar_haptic_handle handle = thenar_haptic_handle_of(sim, 0);
    handle.device = "user:";
    thenar_haptic *haptic = make_loop(&handle);
    vec3 place = vec3_add(vec3_load(handle.base), vec3_make(0.001, 0.02, 0)), speed = {0, 0, 0.2};
    thenar_handle_state state;
    thenar_sim_linearize_handle(sim, 0, false);
    double late = 1; /* s: the device has gone on since it was seen; after too long it is not foretold */
    for (int i = 0; i < PATIENCE && !(late < 0.01); i++) {
        int64_t before = clock_now();
        report(haptic, place, vec3_make(0, 0.1, 0), speed, false);
        assert_true(thenar_haptic_drive_sim(haptic, 0, sim, 0));
        late = 1e-9 * (double)(clock_now() - before);
    }
    assert_int_equal(thenar_sim_step(sim), THENAR_OK);
    thenar_sim_handle(sim, 0, &state);
    assert_near(state.target[0], place.x, 1e-15);
    assert_true(state.target[2] >= place.z + 0.2 * 0.01 && state.target[2] <= place.z + 0.2 * (0.01 + late));
    assert_near(state.target_velocity[2], 0.2, 0);
    assert_near(state.target[4], sin(0.05), 1e-12);
    assert_true(state.linearized); /* by being driven */
    /* Gone silent, it is where it was, and does not move. */
    report(haptic, place, vec3_make(0, 0, 0), speed, true);
    assert_true(thenar_haptic_drive_sim(haptic, 0, sim, 0));
    thenar_sim_step(sim);
    thenar_sim_handle(sim, 0, &state);
    assert_near(state.target[2], place.z, 0);
    assert_near(state.target_velocity[2], 0, 0);
    thenar_haptic_free(haptic);
    thenar_sim_free(sim);
}

static void until_the_device_speaks_the_handle_stays(void **unused) {
    (void)unused;
    thenar_sim *sim = open_scene("haptic-finger", NULL, 0, 0.01);
    thenar_haptic_handle handle = thenar_haptic_handle_of(sim, 0);
    thenar_handle_state begin, state;
    thenar_sim_handle(sim, 0, &begin);
    handle.device = "user:";
    thenar_haptic *haptic = make_loop(&handle); /* not started: nothing comes */
    for (int i = 0; i < 10; i++) {
        assert_false(thenar_haptic_drive_sim(haptic, 0, sim, 0));
        thenar_sim_step(sim);
    }
    thenar_sim_handle(sim, 0, &state);
    for (int i = 0; i < 7; i++) assert_near(state.target[i], begin.pose[i], 1e-15); /* its keys go down 2.5 mm */
    for (int i = 0; i < 6; i++) assert_near(state.target_velocity[i], 0, 0);
    thenar_haptic_free(haptic);
    /* Without a device the keys have it. */
    thenar_sim_reset(sim);
    handle.device = NULL;
    haptic = make_loop(&handle);
    for (int i = 0; i < 10; i++) {
        assert_false(thenar_haptic_drive_sim(haptic, 0, sim, 0));
        thenar_sim_step(sim);
    }
    thenar_sim_handle(sim, 0, &state);
    assert_true(state.target[1] < begin.pose[1] - 0.001);
    thenar_haptic_free(haptic);
    thenar_sim_free(sim);
}

static void a_step_publishes_its_linearization(void **unused) {
    (void)unused;
    thenar_sim *sim = open_scene("haptic-wall", NULL, 0, 0.01);
    thenar_haptic_handle handle = thenar_haptic_handle_of(sim, 0);
    handle.device = "user:";
    thenar_haptic *haptic = make_loop(&handle);
    thenar_handle_state state;
    assert_int_equal(thenar_haptic_publish_sim(haptic, 0, sim, 0), THENAR_ERROR_NUMERIC); /* no step, nothing to tell */
    report(haptic, vec3_add(vec3_load(handle.base), vec3_make(0, -0.004, 0)), vec3_make(0, 0, 0), vec3_make(0, 0, 0),
           false);
    for (int i = 0; i < 30; i++) {
        thenar_haptic_drive_sim(haptic, 0, sim, 0);
        assert_int_equal(thenar_sim_step(sim), THENAR_OK);
        assert_int_equal(thenar_haptic_publish_sim(haptic, 0, sim, 0), THENAR_OK);
    }
    const struct haptic_linear *reported = triple_buffer_read(&haptic->channels[0].updates, NULL);
    thenar_sim_handle(sim, 0, &state);
    assert_int_equal(reported->step, 30);
    assert_near(reported->time, 0.3, 1e-12);
    assert_near(reported->step_length, 0.01, 0);
    assert_int_equal(reported->contacts, state.contacts);
    assert_true(reported->contacts > 0 && reported->force[1] > 1);
    for (int i = 0; i < 6; i++) assert_near(reported->force[i], state.force[i], 0);
    for (int i = 0; i < 36; i++) {
        assert_near(reported->stiffness[i], state.stiffness[i], 0);
        assert_near(reported->inertia[i], state.inertia[i], 0);
    }
    thenar_haptic_free(haptic);
    /* A plain coupling needs poses alone: nothing is linearized for it, and poses are published all the same. */
    handle.settings.plain = true;
    haptic = make_loop(&handle);
    thenar_haptic_drive_sim(haptic, 0, sim, 0);
    thenar_sim_step(sim);
    assert_int_equal(thenar_haptic_publish_sim(haptic, 0, sim, 0), THENAR_OK);
    thenar_sim_handle(sim, 0, &state);
    assert_false(state.linearized);
    thenar_haptic_free(haptic);
    thenar_sim_free(sim);
}

/* With threads and a clock: a person leans on the pad of haptic-wall until what is felt is what the simulation's own
 * coupling does. Whether both came to rest; prints the forces and the faults. */
static bool comes_to_rest(thenar_sim *sim, const char *device) {
    thenar_haptic_handle handle = thenar_haptic_handle_of(sim, 0);
    handle.device = device;
    handle.settings.stale_after = handle.settings.silent_after = 0.5; /* the machine may be busy */
    thenar_haptic *haptic = make_loop(&handle);
    thenar_error error;
    thenar_haptic_stats stats;
    thenar_handle_state state;
    double off = INFINITY;
    assert_ok(thenar_haptic_start(haptic, &error), error);
    for (int ms = 0; ms < PATIENCE / 2 && !(off < 0.01); ms += 10) {
        thenar_haptic_drive_sim(haptic, 0, sim, 0);
        assert_int_equal(thenar_sim_step(sim), THENAR_OK);
        assert_int_equal(thenar_haptic_publish_sim(haptic, 0, sim, 0), THENAR_OK);
        thenar_haptic_read_stats(haptic, &stats);
        thenar_sim_handle(sim, 0, &state);
        /* 500 N/m of the person, 2000 N/m of the coupling, and a pad that is far stiffer, for 8 mm. */
        bool leans = stats.handles[0].gain == 1 && stats.handles[0].force[1] > 2.5 && stats.handles[0].force[1] < 3.3;
        off = leans ? fabs(stats.handles[0].force[1] + state.coupling[1]) : INFINITY;
        nanosleep(&(struct timespec){0, 10000000}, NULL);
    }
    print_message("felt %.4f N, the handle is held down with %.4f N", stats.handles[0].force[1], -state.coupling[1]);
    for (int i = 0; i < THENAR_HAPTIC_FAULT_COUNT; i++)
        if (stats.handles[0].faults[i])
            print_message(", %s %d", thenar_haptic_fault_name((thenar_haptic_fault)i), (int)stats.handles[0].faults[i]);
    print_message("\n");
    thenar_haptic_free(haptic);
    return off < 0.01;
}

/* Rarely a run ends in a lasting oscillation instead (docs/haptic-loop.md, Known limits): it may start again, once. This
 * hides that fault from the result; the printed line shows it. */
static void a_person_feels_what_the_handle_bears(void **unused) {
    (void)unused;
    static const char *const sets[] = {"bodies.pad.shape.box.cells=[2, 2, 2]"};
    char path[512], device[600];
    snprintf(path, sizeof path, "%s/test/leaning_pad.json", BINARY_DIR);
    snprintf(device, sizeof device, "user:%s", path);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(
        "{\"damping\": 15, \"keys\": [{\"t\": 0, \"position\": [0, 0, 0]}, {\"t\": 0.2, \"position\": [0, -0.01, 0]}]}",
        file);
    fclose(file);
    bool rests = false;
    for (int attempt = 0; attempt < 2 && !rests; attempt++) {
        thenar_sim *sim = open_scene("haptic-wall", sets, 1, 0.01);
        rests = comes_to_rest(sim, device);
        thenar_sim_free(sim);
    }
    assert_true(rests);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_proxy_is_held_as_the_handle_is),
    cmocka_unit_test(a_device_at_its_origin_is_where_the_handle_is),
    cmocka_unit_test(a_step_goes_to_where_the_device_will_be_when_it_ends),
    cmocka_unit_test(until_the_device_speaks_the_handle_stays),
    cmocka_unit_test(a_step_publishes_its_linearization),
    cmocka_unit_test(a_person_feels_what_the_handle_bears),
};

TEST_MAIN(tests)
