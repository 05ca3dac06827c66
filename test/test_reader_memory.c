/* Every allocation of every reader of JSON and of recordings made to fail in turn, those of jansson and zstd too: an error,
 * nothing leaked, nothing half-built. Meshes, scenes, tracks and device files have tests of their own. */
#include "failing_memory.h"

#if FAILING_MEMORY

#include "core/file.h"
#include "io/json.h"
#include "device/device.h"
#include "device/user.h"
#include "recording_fixture.h"
#include "scene/scene.h"
#include "io/hand_gltf.h"

#include <unistd.h>

static char directory[] = "/tmp/test_reader_memory_XXXXXX";
static char path[64];

static file_bytes read_all(const char *name) {
    file_bytes bytes;
    thenar_error error;
    assert_ok(file_read(name, FILE_SIZE_LIMIT, &bytes, &error), error);
    return bytes;
}

static void write_all(const char *text) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0 && fclose(file) == 0);
}

/* Both ways, each allocation; some must have been errors. */
static void fail_in_turn(failing_memory_use use, void *context) {
    for (int once = 0; once < 2; once++) {
        failing_memory_count count = failing_memory_each(use, context, once);
        assert_true(count.failed > 3 && count.refused > 3);
    }
}

static thenar_status parse_json(void *context, thenar_error *error) {
    json_t *root;
    thenar_status status = json_text_parse(context, strlen(context), "text", &root, error);
    assert_true((status == THENAR_OK) == (root != NULL));
    json_decref(root);
    return status;
}

/* Texts and numbers that outgrow jansson's buffers, in which its own reader reads on or aborts; a table that grows. */
static void json_is_read_whole_or_not_at_all(void **state) {
    (void)state;
    char text[8192] = "{\"a text that is much longer than a first buffer would be, with \\u00e9\\n in it\": "
                      "0.12345678901234567890123456789012345678901234567890, \"list\": [";
    for (int i = 0; i < 40; i++) sprintf(text + strlen(text), "-%d.5e-3, ", i);
    strcat(text, "[true, null]], \"object\": {");
    for (int i = 0; i < 40; i++) sprintf(text + strlen(text), "%s\"key %d\": \"%d\"", i ? ", " : "", i, i);
    strcat(text, "}}");
    fail_in_turn(parse_json, text);
}

static thenar_status read_user(void *context, thenar_error *error) {
    user_model model;
    thenar_status status = user_model_read(context, &model, error);
    assert_true(status == THENAR_OK || !model.keys);
    user_model_free(&model);
    return status;
}

static thenar_status open_recorded(void *context, thenar_error *error) {
    char message[256];
    (void)context;
    void *device = device_recorded_table.open(path, message, sizeof message);
    if (!device)
        return error_set(error, strstr(message, "out of memory") ? THENAR_ERROR_MEMORY : THENAR_ERROR_FILE, "%s",
                         message);
    device_recorded_table.close(device);
    return THENAR_OK;
}

/* The first allocation of a device is its own; its library, which would not survive, does not come to ask. */
static void a_device_that_gets_no_memory_says_so(void **state) {
    (void)state;
    static const thenar_device_table *const tables[] = {
#ifdef THENAR_OSC
        &device_osc_table,
#endif
#ifdef THENAR_WEBSOCKET
        &device_ws_table,
#endif
        NULL};
    for (int i = 0; tables[i]; i++) {
        char message[256] = "";
        memory_fails_once = true;
        memory_until_failure = 0;
        assert_null(tables[i]->open("47100", message, sizeof message));
        memory_until_failure = -1;
        assert_string_equal(message, "out of memory");
    }
}

static thenar_status read_message(void *context, thenar_error *error) {
    thenar_device_sample sample;
    char id[INVERSE_ID], text[512];
    if (!inverse_read(context, strlen(context), &sample, id)) return error_memory(error, "a message");
    const double force[3] = {0.1, 0.2, 0.3};
    return inverse_write(id, force, text, sizeof text) > 0 ? THENAR_OK : error_memory(error, "an order");
}

static void what_haptic_devices_read_is_whole_or_not_at_all(void **state) {
    (void)state;
    write_all("{\"mass\": 0.30000000000000004, \"repeat\": true, \"keys\": [{\"t\": 0, \"position\": [0, "
              "0.0200000000000001, 0]}, "
              "{\"t\": 0.5, \"turn\": [0, 1, 0]}]}");
    fail_in_turn(read_user, path);
    failing_memory_count built_in = failing_memory_each(read_user, (void *)(uintptr_t) "", false);
    assert_int_equal(built_in.refused, 1);
    write_all(
        "{\"t\": 0, \"position\": [0, 0.0200000000000001, 0]}\n{\"t\": 1, \"position\": [0, 0, 0], \"orientation\": "
        "[0, 0, 0, 1]}\n");
    fail_in_turn(open_recorded, NULL);
    char message[] =
        "{\"inverse3\": [{\"device_id\": \"049D\", \"state\": {\"cursor_position\": {\"x\": 0.10000000000000001, "
        "\"y\": 0, \"z\": 0.1}, \"cursor_velocity\": {\"x\": 0, \"y\": 0, \"z\": 0}}}]}";
    fail_in_turn(read_message, message);
    remove(path);
}

static thenar_status read_recording(void *context, thenar_error *error) {
    thenar_recording *recording;
    thenar_status status = thenar_recording_open(path, &recording, error);
    if (status != THENAR_OK) {
        assert_null(recording);
        return status;
    }
    double places[3 * FIXTURE_LARGEST];
    const thenar_recording_mesh *mesh;
    const thenar_contact *contacts;
    int count;
    assert_true((thenar_recording_damage(recording) != NULL) == (context != NULL));
    assert_int_equal(thenar_recording_frame_count(recording), FIXTURE_FRAMES);
    for (int b = 0; b < FIXTURE_BODIES && status == THENAR_OK; b++) {
        status = thenar_recording_read_mesh(recording, b, &mesh, error);
        if (status == THENAR_OK) status = thenar_recording_read_surface(recording, b, 2, places, error);
    }
    if (status == THENAR_OK) status = thenar_recording_read_contacts(recording, 3, &contacts, &count, error);
    thenar_recording_close(recording);
    return status;
}

static void a_recording_is_read_whole_or_not_at_all(void **state) {
    (void)state;
    fixture_record(path, THENAR_RECORDING_FLOAT64, NULL);
    fail_in_turn(read_recording, NULL);
    /* Without its last byte there is no index: frames are found from the front. */
    file_bytes whole = read_all(path);
    assert_int_equal(truncate(path, (off_t)whole.size - 1), 0);
    fail_in_turn(read_recording, path);
    free(whole.data);
    remove(path);
}

static thenar_status read_hand(void *context, thenar_error *error) {
    const file_bytes *all = context;
    hand_shape hand;
    double *weight;
    /* The bytes are used up. */
    file_bytes bytes = {.data = malloc(all->size + 1), .size = all->size};
    if (!bytes.data) return error_memory(error, "bytes");
    memcpy(bytes.data, all->data, all->size + 1);
    thenar_status status = hand_gltf_parse("hand.glb", bytes, &hand, &weight, error);
    assert_true((status == THENAR_OK) == (weight != NULL && hand.skin.positions != NULL));
    free(weight);
    hand_shape_free(&hand);
    return status;
}

static void a_hand_from_gltf_is_read_whole_or_not_at_all(void **state) {
    (void)state;
    static const char *const names[] = {"binary", "text"};
    for (int i = 0; i < 2; i++) {
        char name[256];
        snprintf(name, sizeof name, SOURCE_DIR "/test/fuzz/corpus/gltf/%s", names[i]);
        file_bytes bytes = read_all(name);
        fail_in_turn(read_hand, &bytes);
        free(bytes.data);
    }
}

static thenar_status read_scene(void *context, thenar_error *error) {
    const file_bytes *text = context;
    thenar_model *model;
    thenar_status status = scene_parse(text->data, text->size, SOURCE_DIR "/scenes/scene.yaml", &model, error);
    assert_true((status == THENAR_OK) == (model != NULL));
    thenar_model_free(model);
    return status;
}

static void a_scene_with_things_that_touch_is_read_whole_or_not_at_all(void **state) {
    (void)state;
    file_bytes text = read_all(SOURCE_DIR "/test/fuzz/scene.yaml");
    fail_in_turn(read_scene, &text);
    free(text.data);
}

static int make_directory(void **state) {
    (void)state;
    if (!mkdtemp(directory)) return -1;
    snprintf(path, sizeof path, "%s/file", directory);
    return 0;
}

static int remove_directory(void **state) {
    (void)state;
    return rmdir(directory);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(json_is_read_whole_or_not_at_all),
    cmocka_unit_test(what_haptic_devices_read_is_whole_or_not_at_all),
    cmocka_unit_test(a_device_that_gets_no_memory_says_so),
    cmocka_unit_test(a_recording_is_read_whole_or_not_at_all),
    cmocka_unit_test(a_hand_from_gltf_is_read_whole_or_not_at_all),
    cmocka_unit_test(a_scene_with_things_that_touch_is_read_whole_or_not_at_all),
};

int main(int argc, char **argv) {
    char filter[256] = "*";
    if (argc > 1) snprintf(filter, sizeof filter, "*%s*", argv[1]);
    cmocka_set_test_filter(filter);
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}

#else

int main(void) {
    return 0;
}

#endif
