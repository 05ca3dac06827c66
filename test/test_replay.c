/* Promises of replays and of states from outside: a recording's inputs give its states bit for bit, and what is forged
 * is refused or contained. */
#include "hand_world.h"
#include "soft_tools.h"

#include "io/file.h"
#include "core/hash.h"
#include "io/recording.h"
#include "world/sim.h"
#include "poses.h"

#include <stdlib.h>
#include <unistd.h>

#define RECORDING BINARY_DIR "/test_replay.thenar"
#define STEPS 12

enum { CUSHION, BOX, PUSHER };

/* A soft cushion on a support, a box that falls on it, and a driven ball: contacts, limits, springs. */
static thenar_model *cushion_and_box(double young) {
    thenar_error error;
    thenar_world_def world = thenar_world_def_default();
    world.name = "cushion";
    thenar_build *build = thenar_build_create(&world);
    thenar_tet_mesh mesh = tools_box(0.2, 0.1, 0.2, 3, 2, 3);
    thenar_support base = {.name = "base", .region = tools_box_region(vec3_make(0, 0, 0), vec3_make(0.2, 0, 0.2))};
    thenar_soft_def soft = thenar_soft_def_default();
    soft.name = "cushion";
    soft.mesh = &mesh;
    soft.material.young = young;
    soft.material.stretch_min = 0.8;
    soft.supports = &base;
    soft.support_count = 1;
    assert_ok(thenar_build_add_soft(build, &soft, &error), error);
    thenar_rigid_def block = thenar_rigid_def_default();
    block.name = "box";
    block.shape = (thenar_shape){.kind = THENAR_SHAPE_BOX, .size = {0.1, 0.05, 0.1}};
    vec3_store(block.pose, vec3_make(0.1, 0.127, 0.1));
    assert_ok(thenar_build_add_rigid(build, &block, &error), error);
    thenar_rigid_def ball = thenar_rigid_def_default();
    ball.name = "pusher";
    ball.motion = THENAR_MOTION_DRIVEN;
    ball.shape = (thenar_shape){.kind = THENAR_SHAPE_SPHERE, .radius = 0.02};
    vec3_store(ball.pose, vec3_make(0.1, 0.2, 0.1));
    assert_ok(thenar_build_add_rigid(build, &ball, &error), error);
    thenar_model *model;
    assert_ok(thenar_build_compile(build, &model, &error), error);
    thenar_build_free(build);
    thenar_tet_mesh_free(&mesh);
    return model;
}

/* What comes from outside before a step: each kind of input, at steps of its own. */
static void set_something(thenar_sim *sim, int step) {
    const double s = 0.001 * step, force[3] = {0.1 * step, 1, -2}, torque[3] = {0, 0.01, 0}, zero[3] = {0};
    const double place[3] = {0.1 + s, 0.19 - s, 0.1}, turn[4] = {0, s, 0, 1}, move[3] = {s, 0, 0};
    if (step % 3 == 0) assert_int_equal(thenar_sim_apply_force(sim, CUSHION, 20, step % 2 ? force : zero), THENAR_OK);
    if (step % 4 == 1) assert_int_equal(thenar_sim_apply_wrench(sim, BOX, force, torque), THENAR_OK);
    if (step > 3) assert_int_equal(drive_body(sim, PUSHER, place, turn), THENAR_OK);
    if (step == 6 || step == 8) assert_int_equal(thenar_sim_limit_iterations(sim, step == 6 ? 1 : 0), THENAR_OK);
    if (step == 7) assert_int_equal(drive_support(sim, CUSHION, 0, move, zero), THENAR_OK);
    if (step == 9) {
        const thenar_tet_mesh *mesh = thenar_model_mesh(thenar_sim_model(sim), CUSHION);
        assert_int_equal(thenar_sim_set_state(sim, CUSHION, mesh->positions, NULL), THENAR_OK);
    }
}

static thenar_recorder *start_recording(const thenar_sim *sim) {
    thenar_error error;
    thenar_recorder *recorder;
    assert_ok(thenar_recorder_create(RECORDING, sim, NULL, &recorder, &error), error);
    assert_ok(thenar_recorder_add(recorder, &error), error);
    return recorder;
}

/* The last state's hash. */
static uint64_t record(const thenar_model *model) {
    thenar_error error;
    thenar_sim *sim = tools_sim(model, 0.005, 1);
    thenar_recorder *recorder = start_recording(sim);
    for (int i = 0; i < STEPS; i++) {
        set_something(sim, i);
        tools_run(sim, 1);
        assert_ok(thenar_recorder_add(recorder, &error), error);
    }
    assert_true(thenar_sim_contact_count(sim) > 0);
    assert_ok(thenar_recorder_close(recorder, &error), error);
    uint64_t hash = thenar_sim_hash(sim);
    thenar_sim_free(sim);
    return hash;
}

/* Steps that were replayed before the end or an error, whose status is left in *status. */
static int replay_all(thenar_replay *replay, thenar_status *status, thenar_error *error) {
    int done = 0;
    for (int steps = 0;; steps++) {
        *status = thenar_replay_step(replay, &done, error);
        if (*status != THENAR_OK || done) return steps;
    }
}

static void the_inputs_of_a_recording_give_its_states_bit_for_bit(void **unused) {
    (void)unused;
    thenar_error error;
    thenar_status status;
    thenar_model *model = cushion_and_box(1e4), *equal = cushion_and_box(1e4);
    uint64_t hash = record(model);
    thenar_sim *sim = tools_sim(equal, 0.005, 2), *idle = tools_sim(equal, 0.005, 1);
    thenar_replay *replay;
    tools_run(sim, 3);
    assert_ok(thenar_replay_open(RECORDING, sim, &replay, &error), error);
    assert_int_equal(thenar_sim_step_count(sim), 0);
    assert_int_equal(replay_all(replay, &status, &error), STEPS);
    assert_ok(status, error);
    assert_true(thenar_sim_hash(sim) == hash);
    thenar_replay_close(replay);
    /* The inputs mattered. */
    tools_run(idle, STEPS);
    assert_true(thenar_sim_hash(idle) != hash);
    thenar_sim_free(sim);
    thenar_sim_free(idle);
    thenar_model_free(model);
    thenar_model_free(equal);
    unlink(RECORDING);
}

/* Trackers that lose joints, angles, a device that holds the wrist: what drives a hand. */
static void drive_hand(thenar_sim *sim, int step) {
    double joints[7 * THENAR_HAND_JOINTS], wrist[7], angles[THENAR_HAND_ANGLES];
    thenar_sim_hand_joints(sim, 0, joints);
    memcpy(wrist, joints, sizeof wrist);
    wrist[1] += 0.001 * step;
    for (int i = 0; i < THENAR_HAND_ANGLES; i++) angles[i] = 0.02 * step;
    for (int j = 0; j < THENAR_HAND_JOINTS; j++) joints[7 * j] += 0.002;
    for (int i = 0; i < 7; i++) joints[7 * 12 + i] = NAN; /* not seen */
    if (step == 1 || step == 2) assert_int_equal(thenar_sim_drive_hand(sim, 0, joints), THENAR_OK);
    if (step == 4) assert_int_equal(thenar_sim_drive_hand_angles(sim, 0, wrist, angles), THENAR_OK);
    if (step == 5) assert_int_equal(thenar_sim_drive_handle(sim, 0, wrist, NULL), THENAR_OK);
}

static void a_recording_of_a_hand_holds_what_drove_it(void **unused) {
    (void)unused;
    thenar_error error;
    thenar_status status;
    thenar_hand_def def = hand_world_def();
    thenar_build *build = hand_world_build(&def);
    thenar_handle_def handle = thenar_handle_def_default();
    handle.name = "grip";
    handle.tool = def.name;
    handle.joint = THENAR_JOINT_WRIST;
    handle.linearize = true;
    assert_ok(thenar_build_add_handle(build, &handle, &error), error);
    thenar_model *model = hand_world_compile(build);
    thenar_sim *sim = hand_world_start(model, 0.01, 1), *other = hand_world_start(model, 0.01, 2);
    thenar_recorder *recorder = start_recording(sim);
    for (int i = 0; i < 7; i++) {
        drive_hand(sim, i);
        tools_run(sim, 1);
        assert_ok(thenar_recorder_add(recorder, &error), error);
    }
    assert_ok(thenar_recorder_close(recorder, &error), error);
    thenar_replay *replay;
    assert_ok(thenar_replay_open(RECORDING, other, &replay, &error), error);
    assert_int_equal(replay_all(replay, &status, &error), 7);
    assert_ok(status, error);
    assert_true(thenar_sim_hash(other) == thenar_sim_hash(sim));
    thenar_replay_close(replay);
    /* A snapshot with joints that were not seen is valid. */
    size_t size = thenar_sim_snapshot_size(sim);
    void *snapshot = malloc(size);
    thenar_sim_snapshot(sim, snapshot);
    assert_ok(thenar_sim_restore(other, snapshot, size, &error), error);
    free(snapshot);
    thenar_sim_free(sim);
    thenar_sim_free(other);
    thenar_model_free(model);
    unlink(RECORDING);
}

static void a_replay_continues_after_omitted_frames_and_resets(void **unused) {
    (void)unused;
    thenar_error error;
    thenar_status status;
    thenar_model *model = cushion_and_box(1e4);
    thenar_sim *sim = tools_sim(model, 0.005, 1);
    thenar_recorder *recorder = start_recording(sim);
    for (int i = 0; i < STEPS; i++) {
        if (i == 8) thenar_sim_reset(sim);
        set_something(sim, i);
        tools_run(sim, 1);
        if (i != 4) assert_ok(thenar_recorder_add(recorder, &error), error);
        if (i == 5) assert_ok(thenar_recorder_add(recorder, &error), error); /* the same again */
    }
    assert_ok(thenar_recorder_close(recorder, &error), error);
    uint64_t hash = thenar_sim_hash(sim);
    thenar_replay *replay;
    assert_ok(thenar_replay_open(RECORDING, sim, &replay, &error), error);
    /* Steps 4 and 5 are one stride, and the first behind the reset cannot be distinguished from a restore. */
    assert_int_equal(replay_all(replay, &status, &error), STEPS - 3);
    assert_ok(status, error);
    assert_true(thenar_sim_hash(sim) == hash);
    thenar_replay_close(replay);
    thenar_sim_free(sim);
    thenar_model_free(model);
    unlink(RECORDING);
}

static void refused(const thenar_model *model, const thenar_sim_options *options, const char *words) {
    thenar_error error;
    thenar_sim *sim;
    thenar_replay *replay;
    assert_ok(thenar_sim_create(model, options, &sim, &error), error);
    uint64_t before = thenar_sim_hash(sim);
    assert_int_equal(thenar_replay_open(RECORDING, sim, &replay, &error), THENAR_ERROR_INPUT);
    assert_null(replay);
    if (!strstr(error.text, words)) fail_msg("\"%s\" does not say \"%s\"", error.text, words);
    assert_true(thenar_sim_hash(sim) == before);
    thenar_sim_free(sim);
}

static void a_replay_in_another_simulation_is_refused_by_name(void **unused) {
    (void)unused;
    thenar_model *model = cushion_and_box(1e4), *stiffer = cushion_and_box(2e4);
    record(model);
    refused(stiffer,
            &(thenar_sim_options){.size = sizeof(thenar_sim_options), .dt = 0.005, .contact = THENAR_CONTACT_OF_MODEL},
            "another model");
    refused(model,
            &(thenar_sim_options){.size = sizeof(thenar_sim_options), .dt = 0.01, .contact = THENAR_CONTACT_OF_MODEL},
            "time step");
    refused(model,
            &(thenar_sim_options){.size = sizeof(thenar_sim_options),
                                  .dt = 0.005,
                                  .solver = THENAR_SOLVER_PGS,
                                  .contact = THENAR_CONTACT_OF_MODEL},
            "solver newton; expected pgs");
    refused(model,
            &(thenar_sim_options){.size = sizeof(thenar_sim_options), .dt = 0.005, .contact = THENAR_CONTACT_PENALTY},
            "contact point; expected penalty");
    refused(model,
            &(thenar_sim_options){.size = sizeof(thenar_sim_options),
                                  .dt = 0.005,
                                  .friction = THENAR_FRICTION_CONE,
                                  .contact = THENAR_CONTACT_OF_MODEL},
            "friction pyramid; expected cone");
    thenar_model_free(model);
    thenar_model_free(stiffer);
    unlink(RECORDING);
}

/* Replays what is in the file now; whatever it is, the end is a message or the states that were recorded. */
static void replay_what_is_there(thenar_sim *sim, int *steps, thenar_status *status) {
    thenar_error error = {0};
    thenar_replay *replay;
    *steps = 0;
    *status = thenar_replay_open(RECORDING, sim, &replay, &error);
    if (*status == THENAR_OK) *steps = replay_all(replay, status, &error);
    if (*status != THENAR_OK) assert_true(error.text[0] != 0);
    thenar_replay_close(replay);
}

static void a_recording_that_was_cut_replays_up_to_the_cut(void **unused) {
    (void)unused;
    thenar_error error;
    thenar_model *model = cushion_and_box(1e4);
    thenar_sim *sim = tools_sim(model, 0.005, 1);
    record(model);
    file_bytes bytes;
    assert_ok(file_read(RECORDING, FILE_SIZE_LIMIT, &bytes, &error), error);
    int last = STEPS;
    for (size_t size = bytes.size; size-- > 0;) {
        /* Around every chunk, and a sample in between: a replay takes a millisecond a step. */
        if (size % (SANITIZED ? 997 : 97) != 0) continue;
        assert_int_equal(truncate(RECORDING, (off_t)size), 0);
        int steps;
        thenar_status status;
        replay_what_is_there(sim, &steps, &status);
        assert_true(steps <= last);
        if (status == THENAR_OK) assert_int_equal(thenar_sim_step_count(sim), steps);
        last = steps;
    }
    assert_int_equal(last, 0);
    free(bytes.data);
    thenar_sim_free(sim);
    thenar_model_free(model);
    unlink(RECORDING);
}

/* The offset of the first chunk of a type; its header is left in *chunk. */
static size_t find_chunk(const file_bytes *bytes, const char *type, int number, recording_chunk *chunk) {
    for (size_t at = sizeof(recording_preamble); at < bytes->size; at += sizeof *chunk + chunk->stored_size) {
        memcpy(chunk, bytes->data + at, sizeof *chunk);
        if (recording_is_type(chunk, type) && number-- == 0) return at;
    }
    fail_msg("no chunk %s", type);
    return 0;
}

static void write_file(const file_bytes *bytes) {
    FILE *file = fopen(RECORDING, "wb");
    assert_int_equal(fwrite(bytes->data, 1, bytes->size, file), bytes->size);
    fclose(file);
}

static void damaged_inputs_are_noticed(void **unused) {
    (void)unused;
    thenar_error error;
    thenar_model *model = cushion_and_box(1e4);
    thenar_sim *sim = tools_sim(model, 0.005, 1);
    record(model);
    file_bytes bytes;
    assert_ok(file_read(RECORDING, FILE_SIZE_LIMIT, &bytes, &error), error);
    const char *types[] = {"STAT", "INPT"};
    for (int k = 0; k < 2; k++) {
        recording_chunk chunk;
        size_t at = find_chunk(&bytes, types[k], 0, &chunk), size = sizeof chunk + (size_t)chunk.stored_size;
        for (size_t i = at; i < at + size; i += i < at + sizeof chunk ? 1 : 61) {
            bytes.data[i] ^= 16;
            write_file(&bytes);
            int steps;
            thenar_status status;
            replay_what_is_there(sim, &steps, &status);
            assert_int_equal(status, THENAR_ERROR_INPUT);
            assert_int_equal(steps, 0);
            bytes.data[i] ^= 16;
        }
    }
    free(bytes.data);
    thenar_sim_free(sim);
    thenar_model_free(model);
    unlink(RECORDING);
}

/* Sound inputs, but the state behind them is said to be another: as if this were not the machine that recorded it. */
static void a_replay_that_ends_otherwise_says_at_which_step(void **unused) {
    (void)unused;
    thenar_error error;
    thenar_model *model = cushion_and_box(1e4);
    thenar_sim *sim = tools_sim(model, 0.005, 1);
    record(model);
    file_bytes bytes;
    assert_ok(file_read(RECORDING, FILE_SIZE_LIMIT, &bytes, &error), error);
    recording_chunk chunk;
    size_t at = find_chunk(&bytes, "INPT", 0, &chunk);
    assert_int_equal(chunk.flags, 0);
    char *payload = bytes.data + at + sizeof chunk;
    const uint64_t wrong = 0x1234;
    memcpy(payload + offsetof(inputs_step, hash), &wrong, sizeof wrong);
    chunk.checksum = recording_checksum_payload(recording_checksum_header(&chunk), payload, (size_t)chunk.stored_size);
    memcpy(bytes.data + at, &chunk, sizeof chunk);
    write_file(&bytes);
    thenar_replay *replay;
    int done;
    assert_ok(thenar_replay_open(RECORDING, sim, &replay, &error), error);
    assert_int_equal(thenar_replay_step(replay, &done, &error), THENAR_ERROR_INPUT);
    char expected[128];
    snprintf(expected, sizeof expected, "step 1 ends with state %016llx; expected 0000000000001234, as recorded",
             (unsigned long long)thenar_sim_hash(sim));
    assert_non_null(strstr(error.text, expected));
    thenar_replay_close(replay);
    free(bytes.data);
    thenar_sim_free(sim);
    thenar_model_free(model);
    unlink(RECORDING);
}

/* Inputs with a valid checksum that write where they must not, or what no step leaves. */
static void forged_inputs_are_refused_and_change_nothing(void **unused) {
    (void)unused;
    thenar_error error;
    thenar_model *model = cushion_and_box(1e4);
    thenar_sim *sim = tools_sim(model, 0.005, 1);
    record(model);
    file_bytes bytes;
    assert_ok(file_read(RECORDING, FILE_SIZE_LIMIT, &bytes, &error), error);
    recording_chunk chunk;
    bytes.size = find_chunk(&bytes, "INPT", 0, &chunk);
    const size_t first = (size_t)((char *)sim_soft(sim, CUSHION)->x - sim->kept);
    const struct {
        uint64_t offset, size, word;
        const char *words;
    } cases[] = {{sim->kept_size, 8, 0, "outside the state"},
                 {sim->kept_size - 8, 16, 0, "outside the state"},
                 {UINT64_MAX - 7, 8, 0, "outside the state"},
                 {0, UINT64_MAX, 0, "outside the state"},
                 {first, 8, 0x7ff8000000000000, "cushion has values"},
                 {first, 8, 0x7ff0000000000000, "cushion has values"},
                 {(size_t)((char *)sim->contacts.memory_count - sim->kept), 8, 1u << 30, "contacts are not those"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const uint64_t payload[] = {1, 0, cases[i].offset, cases[i].size, cases[i].word}; /* of step 1 */
        chunk = (recording_chunk){.type = "INPT", .stored_size = sizeof payload, .raw_size = sizeof payload};
        chunk.checksum = recording_checksum_payload(recording_checksum_header(&chunk), payload, sizeof payload);
        write_file(&bytes);
        FILE *file = fopen(RECORDING, "ab");
        fwrite(&chunk, sizeof chunk, 1, file);
        fwrite(payload, sizeof payload, 1, file);
        fclose(file);
        thenar_replay *replay;
        int done;
        assert_ok(thenar_replay_open(RECORDING, sim, &replay, &error), error);
        uint64_t before = thenar_sim_hash(sim);
        assert_int_equal(thenar_replay_step(replay, &done, &error), THENAR_ERROR_INPUT);
        if (!strstr(error.text, cases[i].words)) fail_msg("\"%s\" does not say \"%s\"", error.text, cases[i].words);
        assert_true(thenar_sim_hash(sim) == before);
        thenar_replay_close(replay);
    }
    free(bytes.data);
    thenar_sim_free(sim);
    thenar_model_free(model);
    unlink(RECORDING);
}

/* The 40 bytes in front of a snapshot's state end with its checksum. */
#define SNAPSHOT_HEADER 40

/* Each word of the state in turn is not a number, under a checksum that fits. Words that hold no number (counts, gaps,
 * contacts that are not there) may be taken over: then nothing that is not finite comes of it. */
static void a_snapshot_with_values_that_no_step_leaves_is_refused(void **unused) {
    (void)unused;
    thenar_error error;
    thenar_model *model = cushion_and_box(1e4);
    thenar_sim *sim = tools_sim(model, 0.005, 1);
    tools_run(sim, 8);
    size_t size = thenar_sim_snapshot_size(sim), nodes = (size_t)thenar_model_mesh(model, CUSHION)->node_count;
    assert_int_equal(size, SNAPSHOT_HEADER + sim->kept_size);
    char *good = malloc(size), *forged = malloc(size);
    thenar_sim_snapshot(sim, good);
    uint64_t hash = thenar_sim_hash(sim);
    int taken = 0, words = 0;
    size_t used = (size_t)((char *)sim->contacts.memory - sim->kept) +
                  (size_t)*sim->contacts.memory_count * sizeof *sim->contacts.memory;
    for (size_t at = SNAPSHOT_HEADER; at < SNAPSHOT_HEADER + used; at += SANITIZED ? 56 : 8, words++) {
        memcpy(forged, good, size);
        const uint64_t nan_bits = 0x7ff8000000000001;
        memcpy(forged + at, &nan_bits, sizeof nan_bits);
        uint64_t checksum = hash_bytes(0, forged + SNAPSHOT_HEADER, sim->kept_size);
        memcpy(forged + SNAPSHOT_HEADER - 8, &checksum, sizeof checksum);
        thenar_status status = thenar_sim_restore(sim, forged, size, &error);
        if (status == THENAR_OK) {
            taken++;
            thenar_sim_step(sim);
            for (size_t i = 0; i < 3 * nodes; i++) assert_true(isfinite(thenar_sim_positions(sim, CUSHION)[i]));
            assert_ok(thenar_sim_restore(sim, good, size, &error), error);
        } else {
            assert_int_equal(status, THENAR_ERROR_INPUT);
            assert_non_null(strstr(error.text, "a damaged snapshot: "));
        }
        assert_true(thenar_sim_hash(sim) == hash);
    }
    /* Most words are numbers. */
    if (taken > words / 5) fail_msg("%d of %d forged snapshots were taken over", taken, words);
    free(good);
    free(forged);
    thenar_sim_free(sim);
    thenar_model_free(model);
}

/* Whatever the length, and whichever bit of the header is another one. */
static void a_cut_snapshot_and_any_flipped_bit_of_its_header_is_refused_by_name(void **unused) {
    (void)unused;
    thenar_error error;
    thenar_model *model = cushion_and_box(1e4);
    thenar_sim *sim = tools_sim(model, 0.005, 1);
    tools_run(sim, 5);
    size_t size = thenar_sim_snapshot_size(sim);
    char *bytes = malloc(size + 1);
    thenar_sim_snapshot(sim, bytes);
    uint64_t hash = thenar_sim_hash(sim);
    for (size_t length = 0; length <= size + 1; length++) {
        if (length == size) continue;
        error.text[0] = 0;
        assert_int_equal(thenar_sim_restore(sim, bytes, length, &error), THENAR_ERROR_INPUT);
        assert_non_null(strstr(error.text, "expected"));
    }
    for (int bit = 0; bit < 8 * SNAPSHOT_HEADER; bit++) {
        error.text[0] = 0;
        bytes[bit / 8] ^= (char)(1 << bit % 8);
        assert_int_equal(thenar_sim_restore(sim, bytes, size, &error), THENAR_ERROR_INPUT);
        assert_non_null(strstr(error.text, "snapshot"));
        bytes[bit / 8] ^= (char)(1 << bit % 8);
    }
    assert_true(thenar_sim_hash(sim) == hash);
    free(bytes);
    thenar_sim_free(sim);
    thenar_model_free(model);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_inputs_of_a_recording_give_its_states_bit_for_bit),
    cmocka_unit_test(a_recording_of_a_hand_holds_what_drove_it),
    cmocka_unit_test(a_replay_continues_after_omitted_frames_and_resets),
    cmocka_unit_test(a_replay_in_another_simulation_is_refused_by_name),
    cmocka_unit_test(a_recording_that_was_cut_replays_up_to_the_cut),
    cmocka_unit_test(damaged_inputs_are_noticed),
    cmocka_unit_test(a_replay_that_ends_otherwise_says_at_which_step),
    cmocka_unit_test(forged_inputs_are_refused_and_change_nothing),
    cmocka_unit_test(a_snapshot_with_values_that_no_step_leaves_is_refused),
    cmocka_unit_test(a_cut_snapshot_and_any_flipped_bit_of_its_header_is_refused_by_name),
};
TEST_MAIN(tests)
