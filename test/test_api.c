/* What holds for the whole API: versions, structs that carry their size, names of enumerations, misuse, reading from memory,
 * devices of the program, reading everything in one call. */
#include "test.h"

#include "core/error.h"
#include "hand_world.h"

#include "thenar/thenar.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static const char beam[] = "thenar: 1\n"
                           "title: beam\n"
                           "bodies:\n"
                           "  beam:\n"
                           "    shape: {box: {size: [0.2, 0.04, 0.04], cells: [5, 1, 1]}}\n"
                           "    material: {young: 1e6, poisson: 0.3, density: 1000}\n"
                           "    supports: {wall: {where: {box: [[-1, -1, -1], [0.001, 1, 1]]}}}\n"
                           "  ball:\n"
                           "    kind: rigid\n"
                           "    motion: driven\n"
                           "    shape: {sphere: 0.01, move: [0, 1, 0]}\n";

static thenar_sim *beam_sim(void) {
    thenar_error error;
    thenar_model *model;
    thenar_sim *sim;
    assert_ok(thenar_scene_parse(beam, strlen(beam), "beam.yaml", NULL, &model, NULL, &error), error);
    assert_ok(thenar_sim_create(model, NULL, &sim, &error), error);
    thenar_model_free(model);
    return sim;
}

/* ---- Versions ---- */

static void the_version_of_headers_and_library_is_checked(void **state) {
    (void)state;
    thenar_error error;
    char expected[32];
    snprintf(expected, sizeof expected, "%d.%d.%d", THENAR_VERSION_MAJOR, THENAR_VERSION_MINOR, THENAR_VERSION_PATCH);
    assert_string_equal(thenar_version(), expected);
    assert_string_equal(THENAR_VERSION, expected);
    assert_int_equal(thenar_version_number(), THENAR_VERSION_NUMBER);
    assert_ok(thenar_version_check(THENAR_VERSION_NUMBER, &error), error);
    const int wrong[] = {THENAR_VERSION_NUMBER + 1, THENAR_VERSION_NUMBER + 1000, THENAR_VERSION_NUMBER - 1000,
                         THENAR_VERSION_NUMBER + 1000000, 0};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(thenar_version_check(wrong[i], &error), THENAR_ERROR_USAGE);
        assert_non_null(strstr(error.text, THENAR_VERSION));
        assert_string_equal(thenar_last_error(), error.text);
    }
}

/* ---- Sizes ---- */

/* An option struct of a program that knows fewer fields, or more of them, than the library. */
static void a_shorter_struct_takes_defaults_and_a_longer_one_must_be_zero_there(void **state) {
    (void)state;
    thenar_error error;
    thenar_sim *sim, *source = beam_sim();
    const thenar_model *model = thenar_sim_model(source);
    /* Up to dt: solver, contact and the rest are not there. What is behind is garbage. */
    thenar_sim_options options;
    memset(&options, 0xff, sizeof options);
    options.size = offsetof(thenar_sim_options, solver);
    options.threads = 1;
    options.dt = 0.002;
    assert_ok(thenar_sim_create(model, &options, &sim, &error), error);
    assert_near(thenar_sim_dt(sim), 0.002, 0);
    assert_int_equal(thenar_sim_solver(sim), THENAR_SOLVER_NEWTON);
    assert_int_equal(thenar_sim_contact_method(sim), THENAR_CONTACT_POINT);
    thenar_sim_free(sim);
    /* The defaults of a shorter struct write no more than that. */
    memset(&options, 0xff, sizeof options);
    assert_int_equal(thenar_sim_options_init(&options, offsetof(thenar_sim_options, solver)), THENAR_OK);
    assert_int_equal(options.size, offsetof(thenar_sim_options, solver));
    assert_int_equal(options.threads, 1);
    assert_int_equal((int)options.solver, -1);

    struct {
        thenar_sim_options known;
        int unknown[4];
    } longer;
    assert_int_equal(thenar_sim_options_init(&longer.known, sizeof longer), THENAR_OK);
    assert_int_equal(longer.unknown[0], 0);
    assert_int_equal(longer.known.size, sizeof longer);
    assert_ok(thenar_sim_create(model, &longer.known, &sim, &error), error);
    thenar_sim_free(sim);
    longer.unknown[2] = 1;
    assert_int_equal(thenar_sim_create(model, &longer.known, &sim, &error), THENAR_ERROR_USAGE);
    assert_null(sim);
    assert_non_null(strstr(error.text, "thenar_sim_options"));

    longer.known.size = 0;
    assert_int_equal(thenar_sim_create(model, &longer.known, &sim, &error), THENAR_ERROR_USAGE);
    assert_non_null(strstr(error.text, "start from thenar_sim_options_default()"));
    assert_int_equal(thenar_sim_options_init(&longer.known, 0), THENAR_ERROR_USAGE);
    assert_int_equal(thenar_sim_options_init(NULL, sizeof options), THENAR_ERROR_USAGE);
    thenar_sim_free(source);
}

/* Every struct that begins with its size: its default function sets it, and a call that takes it refuses it without. */
static thenar_model *any_model;
#define TAKES(type, call)                                                                                              \
    static thenar_status take_##type(void *def, thenar_error *error) {                                                 \
        type *d = def;                                                                                                 \
        return call;                                                                                                   \
    }
static thenar_build *any_build(void) {
    thenar_world_def world = thenar_world_def_default();
    return thenar_build_create(&world);
}
typedef thenar_status add_function(thenar_build *build, const void *def, thenar_error *error);
static thenar_status add_to_build(const void *def, add_function *add, thenar_error *error) {
    thenar_build *build = any_build();
    thenar_status status = add(build, def, error);
    thenar_build_free(build);
    return status;
}
static thenar_status create_sim(const thenar_sim_options *options, thenar_error *error) {
    thenar_sim *sim;
    return thenar_sim_create(any_model, options, &sim, error);
}
static thenar_status create_tactile(const thenar_tactile_options *options, thenar_error *error) {
    thenar_tactile *tactile;
    return thenar_tactile_create(any_model, options, &tactile, error);
}
static thenar_status create_haptic(const thenar_haptic_def *def, thenar_error *error) {
    thenar_haptic *haptic;
    return thenar_haptic_create(def, &haptic, error);
}
static thenar_status create_held(const thenar_haptic_handle *handle, thenar_error *error) {
    thenar_haptic_def def = thenar_haptic_def_default();
    def.handles = handle;
    def.handle_count = 1;
    return create_haptic(&def, error);
}
static thenar_status parse_scene(const thenar_scene_options *options, thenar_error *error) {
    thenar_model *model;
    return thenar_scene_parse(beam, strlen(beam), "beam.yaml", options, &model, NULL, error);
}
static thenar_status build_world(const thenar_world_def *world, thenar_error *error) {
    thenar_build *build = thenar_build_create(world);
    snprintf(error->text, sizeof error->text, "%s", thenar_last_error());
    return build ? THENAR_OK : THENAR_ERROR_USAGE;
}
static thenar_status mesh_ball(const thenar_mesh_options *options, thenar_error *error) {
    thenar_surface ball;
    thenar_tet_mesh mesh;
    assert_int_equal(thenar_surface_sphere(0.1, 2, &ball, NULL), THENAR_OK);
    thenar_status status = thenar_tet_mesh_from_surface(&ball, options, &mesh, NULL, error);
    thenar_surface_free(&ball);
    return status;
}
static thenar_status record(const thenar_recorder_options *options, thenar_error *error) {
    thenar_recorder *recorder;
    thenar_sim *sim = beam_sim();
    thenar_status status = thenar_recorder_create("/nowhere/at/all", sim, options, &recorder, error);
    thenar_sim_free(sim);
    return status;
}
TAKES(thenar_sim_options, create_sim(d, error))
TAKES(thenar_world_def, build_world(d, error))
TAKES(thenar_soft_def, add_to_build(d, (add_function *)(void (*)(void))thenar_build_add_soft, error))
TAKES(thenar_rigid_def, add_to_build(d, (add_function *)(void (*)(void))thenar_build_add_rigid, error))
TAKES(thenar_hand_def, add_to_build(d, (add_function *)(void (*)(void))thenar_build_add_hand, error))
TAKES(thenar_handle_def, add_to_build(d, (add_function *)(void (*)(void))thenar_build_add_handle, error))
TAKES(thenar_tactile_def, add_to_build(d, (add_function *)(void (*)(void))thenar_build_add_tactile, error))
TAKES(thenar_tactile_options, create_tactile(d, error))
TAKES(thenar_mesh_options, mesh_ball(d, error))
TAKES(thenar_scene_options, parse_scene(d, error))
TAKES(thenar_haptic_def, create_haptic(d, error))
TAKES(thenar_haptic_handle, create_held(d, error))
TAKES(thenar_recorder_options, record(d, error))
/* The options are checked before anything is read of the recording. */
TAKES(thenar_export_options, thenar_recording_export((thenar_recording *)d, THENAR_EXPORT_CSV, "/nowhere", d, error))
TAKES(thenar_wearable_def, thenar_wearable_check(d, error))
static thenar_status thimble_init(void *def, size_t size) {
    return thenar_wearable_def_init(def, size, THENAR_WEARABLE_THIMBLE);
}

static void every_struct_with_a_size_is_refused_without_it(void **state) {
    (void)state;
    static union {
        uint32_t size;
        char bytes[4096];
    } any;
#define ROW(type)                                                                                                      \
    { #type, sizeof(type), (thenar_status(*)(void *, size_t))(void (*)(void))type##_init, take_##type }
    const struct {
        const char *name;
        size_t size;
        thenar_status (*init)(void *def, size_t size);
        thenar_status (*take)(void *def, thenar_error *error);
    } rows[] = {ROW(thenar_sim_options),
                ROW(thenar_world_def),
                ROW(thenar_soft_def),
                ROW(thenar_rigid_def),
                ROW(thenar_hand_def),
                ROW(thenar_handle_def),
                ROW(thenar_tactile_def),
                ROW(thenar_tactile_options),
                ROW(thenar_mesh_options),
                ROW(thenar_scene_options),
                ROW(thenar_haptic_def),
                ROW(thenar_haptic_handle),
                ROW(thenar_recorder_options),
                ROW(thenar_export_options),
                {"thenar_wearable_def", sizeof(thenar_wearable_def), thimble_init, take_thenar_wearable_def}};
    thenar_sim *sim = beam_sim();
    any_model = (thenar_model *)thenar_sim_model(sim);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        thenar_error error = {0};
        assert_int_equal(rows[i].init(&any, rows[i].size), THENAR_OK);
        assert_int_equal(any.size, rows[i].size);
        any.size = 0;
        assert_int_equal(rows[i].take(&any, &error), THENAR_ERROR_USAGE);
        if (!strstr(error.text, rows[i].name)) fail_msg("'%s' does not name %s", error.text, rows[i].name);
        /* Longer than the library knows, and not zero there. */
        assert_int_equal(rows[i].init(&any, rows[i].size + 8), THENAR_OK);
        any.bytes[rows[i].size + 5] = 1;
        assert_int_equal(rows[i].take(&any, &error), THENAR_ERROR_USAGE);
        if (!strstr(error.text, rows[i].name)) fail_msg("'%s' does not name %s", error.text, rows[i].name);
    }
    thenar_sim_free(sim);
}

/* ---- Names ---- */

#define NAMED(type)                                                                                                    \
    { #type, type##_count, (const char *(*)(int))(void (*)(void))type##_name, type##_find }

static void every_enumerator_is_found_by_its_name(void **state) {
    (void)state;
    const struct {
        const char *type;
        int (*count)(void);
        const char *(*name)(int value);
        int (*find)(const char *name);
    } all[] = {NAMED(thenar_solver),        NAMED(thenar_contact_method), NAMED(thenar_contact_pressure),
               NAMED(thenar_friction),      NAMED(thenar_coupling),       NAMED(thenar_stage),
               NAMED(thenar_warning),       NAMED(thenar_motion),         NAMED(thenar_shape_kind),
               NAMED(thenar_body_kind),     NAMED(thenar_lattice),        NAMED(thenar_material_preset),
               NAMED(thenar_finger),        NAMED(thenar_hand_joint),     NAMED(thenar_hand_pose),
               NAMED(thenar_wearable_kind), NAMED(thenar_pad_region),     NAMED(thenar_mesh_format),
               NAMED(thenar_export_format), NAMED(thenar_haptic_fault)};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        assert_true(all[i].count() > 1);
        for (int k = 0; k < all[i].count(); k++)
            if (all[i].find(all[i].name(k)) != k) fail_msg("%s %d is not found by its name", all[i].type, k);
        assert_string_equal(all[i].name(-1), "unknown");
        assert_string_equal(all[i].name(all[i].count()), "unknown");
        assert_int_equal(all[i].find("no such name"), -1);
        assert_int_equal(all[i].find(NULL), -1);
    }
    assert_int_equal(thenar_solver_count(), THENAR_SOLVER_COUNT);
    assert_int_equal(thenar_stage_count(), THENAR_STAGE_COUNT);
    assert_int_equal(thenar_hand_joint_count(), THENAR_HAND_JOINTS);
    assert_string_equal(thenar_hand_joint_name(THENAR_JOINT_LITTLE_TIP), "pinky-finger-tip");
    assert_int_equal(thenar_hand_joint_bone(THENAR_JOINT_WRIST), 0);
    assert_int_equal(thenar_hand_joint_bone(THENAR_JOINT_INDEX_TIP), -1);
    assert_near(thenar_material_of(THENAR_MATERIAL_FLESH).stretch_max, 1.1, 0);
}

/* ---- Misuse ---- */

/* Each call is wrong in one way; none stops the program, each leaves a message that names the function. */
static void misuse_is_a_status_with_a_message(void **state) {
    (void)state;
    thenar_error error;
    thenar_sim *sim = beam_sim();
    const thenar_model *model = thenar_sim_model(sim);
    double numbers[256] = {0};
    int pair[2];
    const double force[3] = {0}, pose[7] = {0, 0, 0, 0, 0, 0, 1}, bad[7] = {NAN};
#define WRONG(call, result)                                                                                            \
    do {                                                                                                               \
        thenar_version_check(0, &error);                                                                               \
        if ((call) != (result)) fail_msg("%s is not %s", #call, #result);                                              \
        if (strstr(thenar_last_error(), "headers of Thenar")) fail_msg("%s leaves no message", #call);                 \
    } while (0)
#define USE(call) WRONG(call, THENAR_ERROR_USAGE)
    WRONG(thenar_model_body_name(model, 2), NULL);
    WRONG(thenar_model_body_name(NULL, 0), NULL);
    WRONG(thenar_model_body_kind(model, -2), -1);
    WRONG(thenar_model_find_body(model, NULL), -1);
    WRONG(thenar_model_body_count(NULL), 0);
    WRONG(thenar_model_mesh(model, 1), NULL);
    WRONG(thenar_model_masses(model, 1), NULL);
    WRONG(thenar_model_embedding(model, 1), NULL);
    WRONG(thenar_model_surface(model, 9), NULL);
    WRONG(thenar_model_motion(model, 0), -1);
    WRONG(thenar_model_find_support(model, 1, "wall"), -1);
    WRONG(thenar_model_support_name(model, 0, 1), NULL);
    WRONG(thenar_model_warning(model, 0), NULL);
    WRONG(thenar_model_hand_name(model, 0), NULL);
    WRONG(thenar_model_hand_is_left(model, 0), false);
    WRONG(thenar_model_hand_bodies(model, 0, NULL), 0);
    WRONG(thenar_model_handle_name(model, 0), NULL);
    WRONG(thenar_model_handle_body(model, 0), -1);
    WRONG(thenar_model_tactile(model, 0), NULL);
    WRONG(thenar_model_stretch_limits(model, 0, NULL), false);
    USE(thenar_model_inertia(model, 0, numbers));
    USE(thenar_model_contact_pair(model, 99, pair));
    USE(thenar_model_hand_rest(model, 0, numbers));
    USE(thenar_model_hand_limits(model, 0, numbers, numbers));
    USE(thenar_model_hand_pose(model, 0, THENAR_HAND_POSE_FIST, numbers));
    USE(thenar_model_handle_bone(model, 0, pair, pair));
    USE(thenar_model_handle_mass(model, 0, numbers, numbers));
    WRONG(thenar_sim_model(NULL), NULL);
    WRONG(thenar_sim_positions(sim, 1), NULL);
    WRONG(thenar_sim_velocities(sim, -1), NULL);
    WRONG(thenar_sim_forces(NULL, 0), NULL);
    WRONG(thenar_sim_contacts(NULL), NULL);
    WRONG(thenar_sim_contact_pairs(NULL), NULL);
    WRONG(thenar_sim_stats(NULL), NULL);
    WRONG(thenar_sim_energy_sum(NULL), NULL);
    WRONG(thenar_sim_warning_count(sim, THENAR_WARNING_COUNT), 0);
    WRONG(thenar_sim_hash(NULL), 0);
    WRONG(thenar_sim_snapshot_size(NULL), 0);
    USE(thenar_sim_step(NULL));
    USE(thenar_sim_reset(NULL));
    USE(thenar_sim_snapshot(sim, NULL));
    USE(thenar_sim_restore(sim, NULL, 10, &error));
    USE(thenar_sim_continue(sim, NULL, &error));
    USE(thenar_sim_pose(sim, 0, numbers));
    USE(thenar_sim_pose(sim, 1, NULL));
    USE(thenar_sim_twist(sim, 0, numbers));
    USE(thenar_sim_wrench(sim, 0, numbers, numbers));
    USE(thenar_sim_apply_wrench(sim, 0, force, force));
    USE(thenar_sim_apply_force(sim, 0, 10000, force));
    USE(thenar_sim_apply_force(sim, 1, 0, force));
    USE(thenar_sim_apply_force(sim, 0, 0, NULL));
    WRONG(thenar_sim_apply_force(sim, 0, 0, bad), THENAR_ERROR_INPUT);
    USE(thenar_sim_set_state(sim, 1, NULL, NULL));
    USE(thenar_sim_drive_support(sim, 0, 1, pose));
    WRONG(thenar_sim_drive_support(sim, 0, 0, bad), THENAR_ERROR_INPUT);
    USE(thenar_sim_drive_body(sim, 0, pose));
    WRONG(thenar_sim_drive_body(sim, 1, bad), THENAR_ERROR_INPUT);
    WRONG(thenar_sim_limit_iterations(sim, -1), THENAR_ERROR_INPUT);
    USE(thenar_sim_support_wrench(sim, 0, 7, numbers, numbers));
    USE(thenar_sim_surface(sim, 2, numbers));
    USE(thenar_sim_stretches(sim, 1, numbers));
    USE(thenar_sim_energy(sim, 2, NULL, NULL, NULL));
    USE(thenar_sim_contact_wrench(sim, 2, NULL, NULL, NULL));
    USE(thenar_sim_read_positions(sim, THENAR_ALL_BODIES, numbers, 1));
    USE(thenar_sim_read_positions(sim, 1, numbers, 256));
    USE(thenar_sim_read_surface(sim, 2, numbers, 256));
    USE(thenar_sim_read_poses(sim, NULL, 256));
    USE(thenar_sim_read_twists(sim, numbers, 5));
    USE(thenar_sim_read_contact_wrenches(sim, numbers, 13));
    USE(thenar_sim_drive_hand(sim, 0, numbers));
    USE(thenar_sim_drive_hand_angles(sim, 0, pose, numbers));
    USE(thenar_sim_drive_hand_flexion(sim, 0, numbers, pose));
    USE(thenar_sim_hand_joints(sim, 0, numbers));
    USE(thenar_sim_hand_target(sim, 0, numbers, numbers));
    USE(thenar_sim_hand_angles(sim, 0, numbers, numbers));
    USE(thenar_sim_hand_coupling(sim, 0, 0, numbers, numbers));
    USE(thenar_sim_drive_handle(sim, 0, pose, NULL));
    USE(thenar_sim_linearize_handle(sim, 0, true));
    USE(thenar_sim_handle(sim, 0, NULL));
    USE(thenar_sim_create(NULL, NULL, &(thenar_sim *){NULL}, &error));
    USE(thenar_build_add_soft(NULL, NULL, &error));
    USE(thenar_build_compile(NULL, &(thenar_model *){NULL}, &error));
    WRONG(thenar_build_create(NULL), NULL);
    USE(thenar_surface_sphere(1, 2, NULL, &error));
    USE(thenar_tet_mesh_quality(NULL, NULL, &error));
    USE(thenar_tet_mesh_load(NULL, NULL, &error));
    USE(thenar_tet_mesh_parse("x", 1, (thenar_mesh_format)99, &(thenar_tet_mesh){0}, &error));
    USE(thenar_scene_load(NULL, NULL, NULL, NULL, &error));
    USE(thenar_track_load(NULL, NULL, &error));
    USE(thenar_hand_shape_load(NULL, 1, NULL, &error));
    USE(thenar_recording_open(NULL, NULL, &error));
    WRONG(thenar_recording_body_at(NULL, 0), NULL);
    WRONG(thenar_recording_channel_at(NULL, 0), NULL);
    WRONG(thenar_recording_frame_count(NULL), 0);
    USE(thenar_recorder_create(NULL, sim, NULL, &(thenar_recorder *){NULL}, &error));
    USE(thenar_recorder_add(NULL, &error));
    USE(thenar_replay_step(NULL, NULL, &error));
    USE(thenar_tactile_create(NULL, NULL, &(thenar_tactile *){NULL}, &error));
    USE(thenar_tactile_update(NULL, sim));
    USE(thenar_tactile_reset(NULL));
    WRONG(thenar_tactile_command_of(NULL, 0), NULL);
    WRONG(thenar_tactile_pad_of(NULL, 0), NULL);
    WRONG(thenar_tactile_points(NULL, 0), NULL);
    USE(thenar_haptic_create(NULL, &(thenar_haptic *){NULL}, &error));
    USE(thenar_haptic_start(NULL, &error));
    USE(thenar_haptic_stop(NULL));
    USE(thenar_haptic_advance(NULL, 1));
    USE(thenar_haptic_publish(NULL, 0, NULL));
    WRONG(thenar_haptic_pose(NULL, 0, 0, NULL, NULL), false);
    WRONG(thenar_haptic_drive_sim(NULL, 0, sim, 0), false);
    USE(thenar_haptic_publish_sim(NULL, 0, sim, 0));
    USE(thenar_haptic_read_stats(NULL, NULL));
    USE(thenar_output_open(NULL, NULL, 0, &(thenar_output *){NULL}, &error));
    USE(thenar_output_push(NULL, NULL));
    USE(thenar_device_register("a:b", NULL, &error));
    USE(thenar_device_register("osc", NULL, &error));
    WRONG(thenar_device_find("nothing"), -1);
    WRONG(thenar_wearable_inverse(NULL, NULL, NULL), false);
    WRONG(thenar_config_text(NULL, ""), NULL);
    assert_true(isnan(thenar_sim_time(NULL)) && isnan(thenar_sim_dt(NULL)) && isnan(thenar_model_mass(model, 7)));
    thenar_sim_free(sim);
    /* What frees accepts NULL. */
    thenar_sim_free(NULL);
    thenar_model_free(NULL);
    thenar_build_free(NULL);
    thenar_track_free(NULL);
    thenar_hand_shape_free(NULL);
    thenar_config_free(NULL);
    thenar_recording_close(NULL);
    thenar_tactile_free(NULL);
    thenar_haptic_free(NULL);
    thenar_output_close(NULL, NULL);
    thenar_csv_close(NULL, NULL);
}

/* Every public function with nothing but zeros, each in a process of its own: null handles, null strings, null results. */
typedef long any_function(long, long, long, long, long, long, double, double, double, double, long, long, long, long);
static const struct {
    const char *name, *returns;
    any_function *call;
} functions[] = {
#include "api_functions.inc"
};

static int call_with_zeros(any_function *call, long *result) {
    int ends[2], status;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL); /* cmocka would go on with the tests */
        long value = call(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
        _exit(write(ends[1], &value, sizeof value) == sizeof value ? 0 : 1);
    }
    close(ends[1]);
    if (read(ends[0], result, sizeof *result) != sizeof *result) *result = 0;
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

/* Nothing crashes, and what returns a status refuses; only closing nothing succeeds. */
static void every_function_survives_zeros(void **state) {
    (void)state;
    int wrong = 0, count = (int)(sizeof functions / sizeof *functions);
    for (int i = 0; i < count; i++) {
        const char *name = functions[i].name;
        long result;
        int status = call_with_zeros(functions[i].call, &result);
        bool accepts = !status && strcmp(functions[i].returns, "thenar_status") == 0 && (int)result == THENAR_OK;
        if (!status && !(accepts && !strstr(name, "_close"))) continue;
        print_message("%s(0, ...) %s\n", name, status ? "ends the process" : "succeeds");
        wrong++;
    }
    assert_true(count > 200);
    assert_int_equal(wrong, 0);
}

static jmp_buf out_of_the_assert;
static char seen[256];

static void leave(const char *expression, const char *file, int line, void *context) {
    snprintf(seen, sizeof seen, "%s %s %d %s", (const char *)context, expression, line > 0, strrchr(file, '/') + 1);
    longjmp(out_of_the_assert, 1);
}

static void an_invariant_that_fails_goes_to_the_handler(void **state) {
    (void)state;
    thenar_set_assert_handler(leave, "mine:");
    if (setjmp(out_of_the_assert) == 0) {
        thenar_assert_failed("1 == 2", "src/core/some.c", 7);
    }
    thenar_set_assert_handler(NULL, NULL);
    assert_string_equal(seen, "mine: 1 == 2 1 some.c");
}

/* ---- From memory ---- */

typedef struct memory_files {
    const char *path, *text;
    int reads, releases;
} memory_files;

static bool read_memory(void *context, const char *path, const void **bytes, size_t *size) {
    memory_files *files = context;
    if (strcmp(path, files->path) != 0) return false;
    files->reads++;
    *bytes = files->text;
    *size = strlen(files->text);
    return true;
}

static void release_memory(void *context, const void *bytes) {
    memory_files *files = context;
    assert_ptr_equal(bytes, files->text);
    files->releases++;
}

/* The scenes that thenar_scene_each visits. */
typedef struct visited {
    int count, beams;
    char beam[4096];
} visited;

static void visit_scene(void *context, const char *name, const char *path) {
    visited *all = context;
    all->count++;
    if (strcmp(name, "beam-soft") != 0) return;
    all->beams++;
    snprintf(all->beam, sizeof all->beam, "%s", path);
}

static void scenes_are_found_by_name(void **state) {
    (void)state;
    char path[4096], small[8];
    thenar_error error;
    thenar_model *model;
    visited all = {0};
    setenv("THENAR_SCENES", SOURCE_DIR "/scenes", 1);
    assert_ok(thenar_scene_find("beam-soft", path, sizeof path, &error), error);
    assert_int_equal(thenar_scene_each(visit_scene, &all), THENAR_OK);
    assert_true(all.count > 10);
    assert_int_equal(all.beams, 1);
    assert_string_equal(all.beam, path);
    assert_ok(thenar_scene_load("beam-soft", NULL, &model, NULL, &error), error);
    assert_string_equal(thenar_model_name(model), "beam-soft");
    thenar_model_free(model);
    /* Texts with a slash or an extension are paths, whether the file exists or not. */
    assert_ok(thenar_scene_find("./beam-soft", path, sizeof path, &error), error);
    assert_string_equal(path, "./beam-soft");
    assert_ok(thenar_scene_find("nowhere.yaml", path, sizeof path, &error), error);
    assert_string_equal(path, "nowhere.yaml");
    assert_int_equal(thenar_scene_find("beam-sfot", path, sizeof path, &error), THENAR_ERROR_FILE);
    assert_non_null(strstr(error.text, "did you mean beam-soft?"));
    assert_int_equal(thenar_scene_load("beam-sfot", NULL, &model, NULL, &error), THENAR_ERROR_FILE);
    assert_non_null(strstr(error.text, "did you mean beam-soft?"));
    assert_int_equal(thenar_scene_find("", path, sizeof path, &error), THENAR_ERROR_FILE);
    assert_int_equal(thenar_scene_find("beam-soft.yaml", small, sizeof small, &error), THENAR_ERROR_FILE);
    assert_non_null(strstr(error.text, "too long"));
    assert_int_equal(thenar_scene_find(NULL, path, sizeof path, &error), THENAR_ERROR_USAGE);
    assert_int_equal(thenar_scene_each(NULL, NULL), THENAR_ERROR_USAGE);
}

static void a_scene_and_what_it_names_come_from_memory(void **state) {
    (void)state;
    const char tets[] = "# vtk DataFile Version 3.0\nt\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 4 double\n"
                        "0 0 0 0.1 0 0 0 0.1 0 0 0 0.1\nCELLS 1 5\n4 0 1 2 3\nCELL_TYPES 1\n10\n";
    const char scene[] = "thenar: 1\nbodies: {one: {shape: {mesh: one.vtk}, material: {young: 1e5, poisson: 0.3, "
                         "density: 1000}}}\n";
    memory_files files = {.path = "world/one.vtk", .text = tets};
    thenar_file_source source = {.read = read_memory, .release = release_memory, .context = &files};
    thenar_scene_options options = thenar_scene_options_default();
    thenar_scene_info info;
    thenar_error error;
    thenar_model *model;
    options.files = &source;
    assert_ok(thenar_scene_parse(scene, strlen(scene), "world/my.yaml", &options, &model, &info, &error), error);
    assert_string_equal(thenar_model_name(model), "my");
    assert_int_equal(thenar_model_mesh(model, 0)->tet_count, 1);
    assert_true(files.reads == 1 && files.releases == 1);
    thenar_model_free(model);
    files.path = "elsewhere";
    assert_int_equal(thenar_scene_parse(scene, strlen(scene), "world/my.yaml", &options, &model, &info, &error),
                     THENAR_ERROR_FILE);
    assert_non_null(strstr(error.text, "world/one.vtk"));
    /* The source was for that call. */
    assert_int_equal(thenar_track_load("elsewhere", &(thenar_track *){NULL}, &error), THENAR_ERROR_FILE);

    thenar_tet_mesh mesh;
    assert_ok(thenar_tet_mesh_parse(tets, strlen(tets), THENAR_MESH_AUTO, &mesh, &error), error);
    assert_int_equal(mesh.node_count, 4);
    thenar_tet_mesh_free(&mesh);
    thenar_surface surface;
    const char obj[] = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";
    assert_ok(thenar_surface_parse(obj, strlen(obj), THENAR_MESH_OBJ, &surface, &error), error);
    assert_int_equal(surface.triangle_count, 1);
    thenar_surface_free(&surface);
    assert_int_equal(thenar_surface_parse(obj, strlen(obj), THENAR_MESH_AUTO, &surface, &error), THENAR_ERROR_INPUT);

    const char device[] = "thenar_device: 1\nkind: thimble\n";
    thenar_wearable_def def;
    assert_ok(thenar_wearable_parse(device, strlen(device), "device.yaml", &def, sizeof def, &error), error);
    assert_true(def.kind == THENAR_WEARABLE_THIMBLE && def.size == sizeof def);
    const char track[] = "{\"t\": 1, \"hand\": \"left\", \"flexion\": [0, 0, 0, 0, 0]}\n"
                         "{\"t\": 3, \"hand\": \"left\", \"flexion\": [1, 1, 1, 1, 1]}\n";
    thenar_track *frames;
    assert_ok(thenar_track_parse(track, strlen(track), &frames, &error), error);
    assert_true(thenar_track_has_hand(frames, true) && !thenar_track_has_hand(frames, false));
    assert_near(thenar_track_duration(frames), 2, 0);
    thenar_track_free(frames);
}

static char *read_whole(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    char *bytes = malloc(1 << 20);
    assert_non_null(file);
    *size = fread(bytes, 1, 1 << 20, file);
    fclose(file);
    return bytes;
}

static void a_recording_in_memory_is_read_and_replayed(void **state) {
    (void)state;
    char path[] = "/tmp/test_api_XXXXXX";
    thenar_error error;
    thenar_sim *sim = beam_sim();
    thenar_recorder *recorder;
    close(mkstemp(path));
    assert_ok(thenar_recorder_create(path, sim, NULL, &recorder, &error), error);
    assert_ok(thenar_recorder_add(recorder, &error), error);
    for (int i = 0; i < 3; i++) {
        thenar_sim_step(sim);
        assert_ok(thenar_recorder_add(recorder, &error), error);
    }
    assert_true(thenar_recorder_hash(recorder) == thenar_sim_hash(sim));
    assert_ok(thenar_recorder_close(recorder, &error), error);
    size_t size;
    char *bytes = read_whole(path, &size);
    unlink(path);
    thenar_recording *recording;
    assert_ok(thenar_recording_open_memory(bytes, size, &recording, &error), error);
    assert_int_equal(thenar_recording_frame_count(recording), 4);
    double x[3 * 64];
    assert_true(thenar_recording_body_at(recording, 0)->node_count <= 64);
    assert_ok(thenar_recording_read_positions(recording, 0, 3, x, &error), error);
    assert_near(x[0], thenar_sim_positions(sim, 0)[0], 1e-7);
    assert_int_equal(thenar_recording_read_positions(recording, 0, 4, x, &error), THENAR_ERROR_USAGE);
    assert_int_equal(thenar_recording_read_positions(recording, 2, 0, x, &error), THENAR_ERROR_USAGE);
    assert_int_equal(thenar_recording_read_channel(recording, 999, 0, x, &error), THENAR_ERROR_USAGE);
    assert_true(isnan(thenar_recording_frame_time(recording, -1)));
    thenar_recording_close(recording);
    assert_int_equal(thenar_recording_open_memory(bytes, 10, &recording, &error), THENAR_ERROR_INPUT);
    thenar_sim *again = beam_sim();
    thenar_replay *replay;
    assert_ok(thenar_replay_open_memory(bytes, size, again, &replay, &error), error);
    for (int done = 0; !done;) assert_ok(thenar_replay_step(replay, &done, &error), error);
    assert_true(thenar_sim_hash(again) == thenar_sim_hash(sim));
    thenar_replay_close(replay);
    thenar_sim_free(again);
    thenar_sim_free(sim);
    free(bytes);
}

static void a_scene_is_changed_before_it_is_compiled(void **state) {
    (void)state;
    thenar_error error;
    thenar_config *config;
    assert_ok(thenar_config_parse(beam, strlen(beam), "beam.yaml", &config, &error), error);
    assert_int_equal(thenar_config_kind_at(config, "bodies"), THENAR_CONFIG_MAPPING);
    assert_int_equal(thenar_config_count(config, "bodies"), 2);
    assert_string_equal(thenar_config_key(config, "bodies", 1), "ball");
    assert_null(thenar_config_key(config, "bodies", 2));
    assert_near(thenar_config_number(config, "bodies.beam.material.young"), 1e6, 0);
    assert_near(thenar_config_number(config, "bodies.ball.shape.move[1]"), 1, 0);
    assert_string_equal(thenar_config_text(config, "title"), "beam");
    assert_ok(thenar_config_set(config, "bodies.beam.material.young=2e6", &error), error);
    assert_near(thenar_config_number(config, "bodies.beam.material.young"), 2e6, 0);
    assert_true(isnan(thenar_config_number(config, "bodies.beam.material.nothing")));
    assert_int_equal(thenar_config_kind_at(config, "nothing.at.all"), THENAR_CONFIG_NONE);
    thenar_config_free(config);
}

/* ---- Everything in one call ---- */

static void one_call_reads_what_many_do(void **state) {
    (void)state;
    thenar_sim *sim = beam_sim();
    const thenar_model *model = thenar_sim_model(sim);
    for (int i = 0; i < 3; i++) thenar_sim_step(sim);
    size_t nodes = (size_t)thenar_model_node_count(model, THENAR_ALL_BODIES),
           vertices = (size_t)thenar_model_vertex_count(model, THENAR_ALL_BODIES);
    assert_int_equal(nodes, thenar_model_mesh(model, 0)->node_count);
    assert_int_equal(thenar_model_rigid_count(model), 1);
    assert_int_equal(thenar_model_first_node(model, 1), nodes);
    double *x = malloc(3 * nodes * sizeof *x), *surface = malloc(3 * vertices * sizeof *surface), poses[7], pose[7];
    assert_int_equal(thenar_sim_read_positions(sim, THENAR_ALL_BODIES, x, 3 * nodes), THENAR_OK);
    assert_memory_equal(x, thenar_sim_positions(sim, 0), 3 * nodes * sizeof *x);
    assert_int_equal(thenar_sim_read_velocities(sim, 0, x, 3 * nodes), THENAR_OK);
    assert_memory_equal(x, thenar_sim_velocities(sim, 0), 3 * nodes * sizeof *x);
    assert_int_equal(thenar_sim_read_forces(sim, 0, x, 3 * nodes), THENAR_OK);
    assert_memory_equal(x, thenar_sim_forces(sim, 0), 3 * nodes * sizeof *x);
    assert_int_equal(thenar_sim_read_surface(sim, THENAR_ALL_BODIES, surface, 3 * vertices), THENAR_OK);
    double *own = malloc(3 * vertices * sizeof *own);
    assert_int_equal(thenar_sim_surface(sim, 1, own), THENAR_OK);
    assert_memory_equal(surface + 3 * thenar_model_first_vertex(model, 1), own,
                        3 * (size_t)thenar_model_vertex_count(model, 1) * sizeof *own);
    assert_int_equal(thenar_sim_read_poses(sim, poses, 7), THENAR_OK);
    assert_int_equal(thenar_sim_pose(sim, 1, pose), THENAR_OK);
    assert_memory_equal(poses, pose, sizeof pose);
    double wrenches[14];
    assert_int_equal(thenar_sim_read_contact_wrenches(sim, wrenches, 14), THENAR_OK);
    assert_int_equal(thenar_sim_read_hand_joints(sim, NULL, 0), THENAR_OK);
    free(x);
    free(surface);
    free(own);
    thenar_sim_free(sim);
}

/* A support that is driven to a pose of the API is where a key of the same rotation would take it. */
static void a_support_goes_to_the_pose_it_is_driven_to(void **state) {
    (void)state;
    thenar_sim *sim = beam_sim();
    const double half = sqrt(0.5), pose[7] = {0, 0.01, 0, 2 * half, 0, 0, 2 * half}; /* a quarter about x, any length */
    assert_int_equal(thenar_sim_drive_support(sim, 0, 0, pose), THENAR_OK);
    thenar_sim_step(sim);
    const double *rest = thenar_model_mesh(thenar_sim_model(sim), 0)->positions, *x = thenar_sim_positions(sim, 0);
    int moved = 0;
    for (int i = 0; i < thenar_model_node_count(thenar_sim_model(sim), 0); i++) {
        if (rest[3 * i] > 0.001) continue;
        assert_near(x[3 * i + 1], 0.02 + 0.01 - (rest[3 * i + 2] - 0.02), 1e-12); /* about the middle of the end */
        assert_near(x[3 * i + 2], 0.02 + (rest[3 * i + 1] - 0.02), 1e-12);
        moved++;
    }
    assert_true(moved >= 4);
    thenar_sim_free(sim);
}

/* ---- Devices of the program ---- */

typedef struct my_device {
    int opened, closed, writes;
    double last[16];
} my_device;
static my_device registered_one;

static void *my_open(const char *argument, char *message, size_t size) {
    if (strcmp(argument, "right") != 0) {
        snprintf(message, size, "argument %s", argument);
        return NULL;
    }
    registered_one.opened++;
    return &registered_one;
}
static int my_read(void *device, thenar_device_sample *sample) {
    (void)device;
    sample->has = THENAR_DEVICE_POSITION;
    sample->pose[1] = 0.02;
    return 1;
}
static int my_write(void *device, const double *values, int count) {
    my_device *d = device;
    memcpy(d->last, values, (size_t)(count < 16 ? count : 16) * sizeof *values);
    d->writes++;
    return 0;
}
static void my_describe(void *device, thenar_device_info *info) {
    (void)device;
    info->channels = 10;
}
static void my_close(void *device) {
    ((my_device *)device)->closed++;
}

static const thenar_device_table haptic_table = {.version = THENAR_DEVICE_VERSION,
                                                 .size = sizeof haptic_table,
                                                 .kind = THENAR_DEVICE_HAPTIC,
                                                 .name = "mine",
                                                 .open = my_open,
                                                 .read = my_read,
                                                 .write = my_write,
                                                 .close = my_close};
static const thenar_device_table tactile_table = {.version = THENAR_DEVICE_VERSION,
                                                  .size = sizeof tactile_table,
                                                  .kind = THENAR_DEVICE_TACTILE,
                                                  .name = "my buzzer",
                                                  .describe = my_describe,
                                                  .read = my_read,
                                                  .write = my_write,
                                                  .close = my_close};

static void feel(const thenar_haptic_handle *handle, my_device *device) {
    thenar_error error;
    thenar_haptic *haptic;
    thenar_haptic_def def = thenar_haptic_def_default();
    def.handles = handle;
    def.handle_count = 1;
    def.real_time = false;
    assert_ok(thenar_haptic_create(&def, &haptic, &error), error);
    assert_ok(thenar_haptic_start(haptic, &error), error);
    double pose[7] = {0};
    for (int i = 0; i < 2000 && !thenar_haptic_pose(haptic, 0, 0, pose, NULL); i++) usleep(1000);
    assert_near(pose[1], 0.02, 1e-12);
    thenar_haptic_free(haptic);
    assert_int_equal(device->closed, 1);
}

static void a_haptic_device_is_a_table_of_the_program(void **state) {
    (void)state;
    thenar_error error;
    my_device own = {0};
    thenar_haptic_handle handle = thenar_haptic_handle_default();
    handle.table = &haptic_table;
    handle.table_device = &own;
    feel(&handle, &own);
    assert_int_equal(own.opened, 0);

    int before = thenar_device_count();
    assert_ok(thenar_device_register("test-mine", &haptic_table, &error), error);
    assert_int_equal(thenar_device_register("test-mine", &haptic_table, &error), THENAR_ERROR_USAGE);
    assert_int_equal(thenar_device_count(), before + 1);
    assert_string_equal(thenar_device_name(thenar_device_find("test-mine")), "test-mine");
    handle = thenar_haptic_handle_default();
    handle.device = "test-mine:right";
    feel(&handle, &registered_one);
    assert_int_equal(registered_one.opened, 1);
    thenar_haptic_def def = thenar_haptic_def_default();
    thenar_haptic *haptic;
    def.handles = &handle;
    def.handle_count = 1;
    handle.device = "test-mine:wrong";
    assert_int_equal(thenar_haptic_create(&def, &haptic, &error), THENAR_ERROR_FILE);
    assert_non_null(strstr(error.text, "argument wrong"));
}

static void a_tactile_device_is_a_table_of_the_program(void **state) {
    (void)state;
    thenar_error error;
    thenar_hand_def def = hand_world_def();
    thenar_model *model = hand_world_model(&def);
    thenar_sim *sim = hand_world_start(model, 0.01, 1);
    thenar_wearable_def thimble = thenar_wearable_def_default(THENAR_WEARABLE_THIMBLE);
    thenar_tactile_def device = thenar_tactile_def_default();
    thenar_tactile_options options = thenar_tactile_options_default();
    thenar_tactile *tactile;
    thenar_output *output;
    my_device own = {0};
    device.name = "press";
    device.device = &thimble;
    options.devices = &device;
    options.device_count = 1;
    assert_ok(thenar_tactile_create(model, &options, &tactile, &error), error);
    assert_ok(thenar_output_open_table(tactile, &tactile_table, &own, 0, &output, &error), error);
    assert_int_equal(thenar_tactile_update(tactile, sim), THENAR_OK);
    assert_int_equal(thenar_output_push(output, tactile), THENAR_OK);
    thenar_output_counts counts;
    thenar_output_close(output, &counts);
    assert_true(counts.sent == 1 && own.writes == 1 && own.closed == 1);
    double numbers[THENAR_TACTILE_NUMBERS];
    assert_int_equal(thenar_tactile_read_device(tactile, 0, numbers), THENAR_OK);
    assert_near(own.last[4], numbers[2], 0); /* displacement */
    assert_int_equal(thenar_tactile_read_device(tactile, 1, numbers), THENAR_ERROR_USAGE);
    char *text = thenar_tactile_describe(tactile);
    assert_non_null(strstr(text, "\"press\""));
    thenar_text_free(text);
    thenar_tactile_free(tactile);
    thenar_sim_free(sim);
    thenar_model_free(model);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_version_of_headers_and_library_is_checked),
    cmocka_unit_test(a_shorter_struct_takes_defaults_and_a_longer_one_must_be_zero_there),
    cmocka_unit_test(every_struct_with_a_size_is_refused_without_it),
    cmocka_unit_test(every_enumerator_is_found_by_its_name),
    cmocka_unit_test(misuse_is_a_status_with_a_message),
    cmocka_unit_test(every_function_survives_zeros),
    cmocka_unit_test(an_invariant_that_fails_goes_to_the_handler),
    cmocka_unit_test(scenes_are_found_by_name),
    cmocka_unit_test(a_scene_and_what_it_names_come_from_memory),
    cmocka_unit_test(a_recording_in_memory_is_read_and_replayed),
    cmocka_unit_test(a_scene_is_changed_before_it_is_compiled),
    cmocka_unit_test(one_call_reads_what_many_do),
    cmocka_unit_test(a_support_goes_to_the_pose_it_is_driven_to),
    cmocka_unit_test(a_haptic_device_is_a_table_of_the_program),
    cmocka_unit_test(a_tactile_device_is_a_table_of_the_program),
};

TEST_MAIN(tests)
