/* What readers say of files that are wrong in ways that the tests of each do not come to. */
#include "test.h"
#include "thenar/scene.h"

#include "io/file.h"
#include "core/text.h"
#include "device/device.h"
#include "io/recording.h"
#include "scene/config.h"
#include "scene/scene.h"
#include "world/model.h"
#include "poses.h"

#include <sys/mman.h>
#include <unistd.h>

static void assert_says(const thenar_error *error, const char *words) {
    if (!strstr(error->text, words)) fail_msg("\"%s\" does not say \"%s\"", error->text, words);
}

static int open_file(const void *data, size_t size, char path[32]) {
    int file = memfd_create("test", 0);
    assert_true(file >= 0 && write(file, data, size) == (ssize_t)size);
    snprintf(path, 32, "/proc/self/fd/%d", file);
    return file;
}

#define PLY "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty float z\n"
#define VTK "# vtk DataFile Version 3.0\nt\nASCII\nDATASET UNSTRUCTURED_GRID\n"
#define VTK_5 "# vtk DataFile Version 5.1\nt\nASCII\nDATASET UNSTRUCTURED_GRID\n"
#define POINTS "POINTS 4 float\n0 0 0 1 0 0 0 1 0 0 0 1\n"
#define VTU                                                                                                            \
    "<VTKFile type=\"UnstructuredGrid\"><UnstructuredGrid><Piece NumberOfPoints=\"1\" NumberOfCells=\"1\"><Cells>"
#define NAME "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static void mesh_files_are_refused_by_name(void **state) {
    (void)state;
    static const char *const cases[][3] = {
        {"a.ply", PLY "element vertex 1\n", "a second element vertex"},
        {"a.ply", PLY "element face 1\nproperty list float int vertex_indices\n", "the count of a list has type float"},
        {"a.ply", PLY "element face 1\nproperty list uchar float vertex_indices\n", "not of an integer type"},
        {"a.vtk", VTK "POINTS 1 int\n0 0 0\n", "has points of type int"},
        {"a.vtk",
         VTK_5 POINTS "CELLS 2 5\nOFFSETS vtktypeint64\n0 4\nCONNECTIVITY vtktypeint64\n0 1 2 3 0\nCELL_TYPES 1\n10\n",
         "the cells use 4 point indices; expected all 5"},
        {"a.vtu", "<VTKFile type=\"UnstructuredGrid\"><" NAME ">", "a name is longer than 63"},
        {"a.vtu",
         "<VTKFile type=\"UnstructuredGrid\" a=\"\" b=\"\" c=\"\" d=\"\" e=\"\" f=\"\" g=\"\" h=\"\" i=\"\" j=\"\" "
         "k=\"\" l=\"\" "
         "m=\"\" n=\"\" o=\"\" p=\"\" q=\"\" r=\"\" s=\"\" t=\"\" u=\"\" v=\"\" w=\"\" x=\"\" y=\"\">",
         "more than 24 attributes"},
        {"a.vtu", VTU "<DataArray Name=\"connectivity\" format=\"ascii\">-1</DataArray>",
         "found -1; expected an integer"},
        {"a.vtu", VTU "<DataArray Name=\"offsets\" format=\"ascii\">1.5</DataArray>",
         "found 1.5; expected an integer"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mesh_file file;
        thenar_error error;
        char *text = strdup(cases[i][1]);
        thenar_status status = mesh_file_parse(cases[i][0], (file_bytes){text, strlen(text)}, &file, &error);
        assert_int_equal(status, THENAR_ERROR_INPUT);
        assert_says(&error, cases[i][2]);
        free(text);
    }
    thenar_error error;
    assert_int_equal(mesh_check_surface(&(thenar_surface){0}, &(mesh_origin){.name = "a"}, &error), THENAR_ERROR_INPUT);
    assert_says(&error, "has no triangles");
}

static void metadata_between_the_arrays_of_a_field_is_passed_over(void **state) {
    (void)state;
    char text[] =
        VTK "FIELD FieldData 2\na 1 1 float\n0\nMETADATA\nINFORMATION 1\nNAME x LOCATION y\nDATA 2 0 0\n\nb 2 1 "
            "int\n1 2\n" POINTS "CELLS 1 5\n4 0 1 2 3\nCELL_TYPES 1\n10\n";
    mesh_file file;
    thenar_error error;
    assert_ok(mesh_file_parse("a.vtk", (file_bytes){text, strlen(text)}, &file, &error), error);
    assert_int_equal(file.tets.tet_count, 1);
    mesh_file_free(&file);
    char path[32];
    int at = open_file(text, strlen(text), path);
    thenar_mesh_file loaded;
    assert_ok(thenar_mesh_file_load(path, true, &loaded, &error), error);
    thenar_mesh_file_free(&loaded);
    close(at);
}

/* The text with the first `from` in it replaced. */
static file_bytes replaced(const file_bytes *text, const char *from, const char *to) {
    const char *at = strstr(text->data, from);
    if (!at) fail_msg("there is no %s", from);
    size_t front = (size_t)(at - text->data), size = text->size - strlen(from) + strlen(to);
    char *data = malloc(size + 1);
    memcpy(data, text->data, front);
    strcpy(data + front, to);
    strcpy(data + front + strlen(to), at + strlen(from));
    return (file_bytes){data, size};
}

static void hands_are_refused_by_name(void **state) {
    (void)state;
    static const char *const cases[][3] = {
        {"\"buffers\": [{\"byteLength\": ", "\"buffers\": [{\"byteLength\": 9", "expected its byteLength"},
        {"\"bufferView\": 4, \"componentType\": 5121, \"count\": 36",
         "\"bufferView\": 4, \"componentType\": 5125, \"count\": 9", "of triangle"},
        {"\"skin\": 0", "\"skim\": 0", "no mesh with a skin"},
        {"\"count\": 25", "\"count\": 24", "24 bind matrices"},
        {"\"indices\": 4}", "\"indices\": 4, \"mode\": 1}", "a primitive that is not triangles"},
        {"\"bufferView\": 2, \"componentType\": 5121, \"count\": 9",
         "\"bufferView\": 2, \"componentType\": 5121, \"count\": 8", "expected equal numbers"},
        {"{\"attributes\": {\"POSITION\": 1, \"JOINTS_0\": 2, \"WEIGHTS_0\": 3}, \"indices\": 4}", "", "no triangles"}};
    file_bytes good;
    thenar_error error;
    hand_shape hand;
    double *weight;
    assert_ok(file_read(SOURCE_DIR "/test/fuzz/corpus/gltf/text", FILE_SIZE_LIMIT, &good, &error), error);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        file_bytes wrong = replaced(&good, cases[i][0], cases[i][1]);
        assert_int_equal(hand_gltf_parse("a.gltf", wrong, &hand, &weight, &error), THENAR_ERROR_INPUT);
        assert_says(&error, cases[i][2]);
    }
    char many[4096] = "\"joints\": [0";
    for (int i = 0; i < 1000; i++) strcat(many, ",0");
    file_bytes wrong = replaced(&good, "\"joints\": [0", many);
    assert_int_equal(hand_gltf_parse("a.gltf", wrong, &hand, &weight, &error), THENAR_ERROR_INPUT);
    assert_says(&error, "the skin has more than 1000 joints");
    wrong = (file_bytes){strdup("[]"), 2};
    assert_int_equal(hand_gltf_parse("a.gltf", wrong, &hand, &weight, &error), THENAR_ERROR_INPUT);
    assert_says(&error, "expected a JSON object");
    free(good.data);
}

static void scripts_and_recordings_of_devices_are_refused_by_name(void **state) {
    (void)state;
    static const char *const lines[][2] = {
        {"{\"t\": 0, \"position\": [0, 0, 0], \"orientation\": [0, 0, 0, 0]}\n", "orientation is not"},
        {"{\"t\": 1, \"position\": [0, 0, 0]}\n{\"t\": 1, \"position\": [0, 0, 0]}\n", "t is not later"},
        {"{\"t\": 1}\n", "position is not"},
        {"{\"t\": \"1\"}\n", "t is not a time"},
        {"\n\n", "no frames"},
        {"{\"t\": NaN}\n", "NaN"}};
    user_model model;
    thenar_error error;
    assert_int_equal(user_model_parse("{}", 2, "a.json", &model, &error), THENAR_ERROR_INPUT);
    assert_says(&error, "keys is missing or empty");
    assert_ok(user_model_read("", &model, &error), error);
    assert_true(model.repeat && model.key_count == 4);
    user_model_free(&model);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char path[32], message[256];
        int file = open_file(lines[i][0], strlen(lines[i][0]), path);
        assert_null(device_recorded_table.open(path, message, sizeof message));
        if (!strstr(message, lines[i][1])) fail_msg("\"%s\" does not say \"%s\"", message, lines[i][1]);
        close(file);
    }
    static const double force[6];
    assert_int_equal(device_recorded_table.write(NULL, force, 6), 0);
}

/* A port of UDP that another has, and one of TCP that nobody has. */
static void ports_that_do_not_work_are_errors(void **state) {
    (void)state;
    char message[256];
#ifdef THENAR_OSC
    char port[16] = "";
    void *first = NULL;
    for (int number = 47000; number < 47100 && !first; number++) {
        snprintf(port, sizeof port, "%d", number);
        first = device_osc_table.open(port, message, sizeof message);
    }
    assert_non_null(first);
    assert_null(device_osc_table.open(port, message, sizeof message));
    assert_non_null(strstr(message, "expected a free one"));
    device_osc_table.close(first);
    assert_null(device_osc_table.open("0", message, sizeof message));
    assert_non_null(strstr(message, "is not a port"));
#endif
#ifdef THENAR_WEBSOCKET
    assert_null(device_ws_table.open("1", message, sizeof message));
    assert_non_null(strstr(message, "no service answers"));
    assert_null(device_ws_table.open("65536", message, sizeof message));
    assert_non_null(strstr(message, "is not a port"));
#endif
    (void)message;
}

static size_t put_chunk(char *file, const char *type, const void *payload, size_t size) {
    recording_chunk chunk = {.stored_size = size, .raw_size = size};
    memcpy(chunk.type, type, sizeof chunk.type);
    chunk.checksum = recording_checksum_payload(recording_checksum_header(&chunk), payload, size);
    memcpy(file, &chunk, sizeof chunk);
    memcpy(file + sizeof chunk, payload, size);
    return sizeof chunk + size;
}

#define HEAD(bodies, channels)                                                                                         \
    "{\"scene\":\"s\",\"thenar_version\":\"0\",\"solver\":\"n\",\"dt\":0.001,\"metadata\":{},\"bodies\":[" bodies      \
    "],\"channels\":[" channels "]}"
#define BODY(tets, vertices, surface)                                                                                  \
    "{\"name\":\"a\",\"kind\":\"k\",\"nodes\":0,\"tets\":" tets ",\"vertices\":" vertices                              \
    ",\"triangles\":0,\"surface\":\"" surface "\"}"
#define CHANNEL(place, body, count, components)                                                                        \
    "{\"name\":\"c\",\"unit\":\"\",\"body\":" body ",\"place\":\"" place "\",\"count\":" count                         \
    ",\"components\":" components ",\"type\":\"f32\"}"

static void recordings_are_refused_by_name(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {HEAD(BODY("0", "3", "embedded"), ""), "a kind that fits the counts"},
        {HEAD(BODY("0", "3", "none"), ""), "a kind that fits the counts"},
        {HEAD(BODY("0", "3", "rigid"), CHANNEL("vertices", "0", "4", "1")), "the count of the body"},
        {HEAD(BODY("0", "0", "none"), ""), "a mesh is missing"},
        {HEAD("", CHANNEL("run", "-1", "2147483647", "4096")), "frames of 35184372072448 bytes in a file of"},
        {"[1", "unterminated array"},
        {"[]", "not an object"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char file[4096] = {0}, path[32];
        uint32_t version = RECORDING_VERSION;
        thenar_recording *recording;
        thenar_error error;
        memcpy(file, recording_magic, sizeof recording_magic);
        memcpy(file + 8, &version, sizeof version);
        size_t size = 16 + put_chunk(file + 16, "HEAD", cases[i][0], strlen(cases[i][0]));
        size += put_chunk(file + size, "FRAM", file, 16);
        int at = open_file(file, size, path);
        assert_int_equal(thenar_recording_open(path, &recording, &error), THENAR_ERROR_INPUT);
        assert_says(&error, cases[i][1]);
        close(at);
    }
}

/* The index is as it should be, but what it calls a frame has no room for its step and time. */
static void a_frame_shorter_than_its_time_is_damage(void **state) {
    (void)state;
    char file[4096] = {0}, path[32];
    const char *head = HEAD("", "");
    const thenar_contact *contacts;
    int count;
    thenar_recording *recording;
    thenar_error error;
    memcpy(file, recording_magic, sizeof recording_magic);
    memcpy(file + 8, &(uint32_t){RECORDING_VERSION}, sizeof(uint32_t));
    size_t size = 16 + put_chunk(file + 16, "HEAD", head, strlen(head)), frame = size;
    size += put_chunk(file + size, "FRAM", file, 8);
    size += put_chunk(file + size, "MORE", file, 64);
    struct {
        recording_key key;
        recording_tail tail;
    } index = {{.offset = frame}, {.frame_count = 1, .index_offset = size}};
    memcpy(index.tail.magic, recording_tail_magic, sizeof index.tail.magic);
    size += put_chunk(file + size, "KEYS", &index, sizeof index);
    int at = open_file(file, size, path);
    assert_ok(thenar_recording_open(path, &recording, &error), error);
    assert_null(thenar_recording_damage(recording));
    assert_int_equal(thenar_recording_read_contacts(recording, 0, &contacts, &count, &error), THENAR_ERROR_INPUT);
    assert_says(&error, "a chunk is too short");
    thenar_recording_close(recording);
    close(at);
}

static void values_that_are_set_too_deep_or_too_long_are_refused(void **state) {
    (void)state;
    config tree = {0};
    thenar_error error;
    char text[1024] = "", path[256] = "a";
    for (int i = 0; i < 63; i++) strcat(text, "{a: ");
    strcat(text, "1");
    for (int i = 0; i < 63; i++) strcat(text, "}");
    for (int i = 0; i < 63; i++) strcat(path, ".a");
    assert_ok(config_parse(&tree, text, strlen(text), "a.yaml", &error), error);
    strcat(path, "=1");
    assert_int_equal(config_set(&tree, path, &error), THENAR_ERROR_INPUT);
    assert_says(&error, "too many keys; expected at most 64 levels");
    char *long_value = malloc(CONFIG_BYTE_LIMIT + 8);
    memset(long_value, 'a', CONFIG_BYTE_LIMIT + 7);
    memcpy(long_value, "a=", 2);
    long_value[CONFIG_BYTE_LIMIT + 7] = 0;
    assert_int_equal(config_set(&tree, long_value, &error), THENAR_ERROR_INPUT);
    assert_says(&error, "the value is too long");
    free(long_value);
    config_free(&tree);
    char directives[1024] = "";
    for (int i = 0; i < 65; i++) strcat(directives, "%a\n");
    assert_int_equal(config_parse(&tree, directives, strlen(directives), "a.yaml", &error), THENAR_ERROR_INPUT);
    assert_says(&error, "a.yaml:65:1: too many lines that begin with %");
}

#define SOFT(shape, more) "thenar: 1\nbodies:\n  a:\n    shape: " shape "\n    material: {young: 1e5}\n" more
#define BOX "{box: {size: [0.1, 0.1, 0.1], cells: [1, 1, 1]}}"
#define LIMITED(limits) "thenar: 1\nbodies:\n  a:\n    shape: " BOX "\n    material: {young: 1e5, limits: " limits "}\n"
#define RIGID(rest) "thenar: 1\nbodies:\n  a:\n    kind: rigid\n" rest

static void scenes_are_refused_by_name(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {SOFT("{}", ""), "scene.yaml:4:12: no shape; expected box, mesh, embed, finger or hand"},
        {SOFT("{finger: {}, hand: {}}", ""), "several shapes in one; expected box"},
        {SOFT("{box: {size: [1, 1, 1], cells: [1, 1.5, 1]}}", ""), "cells are 1, 1.5, 1; expected whole numbers"},
        {SOFT("{box: {size: [1, 1, 1], cells: [1000, 1000, 1000]}}", ""), "1e+09 cells; expected at most"},
        {SOFT("{mesh: meshes/ball.obj}", ""), "holds a surface and no tets"},
        {SOFT("{embed: {sphere: 1, capsule: [1, 1], cell: 0.5}}", ""), "several things to embed; expected one of"},
        {SOFT("{embed: {cell: 0.5}}", ""), "nothing to embed; expected surface: FILE"},
        {SOFT("{embed: {sphere: 1, cell: 0.5, tets: 100}}", ""), "cell and tets together; expected one of them"},
        {SOFT("{hand: {file: a.glb, length: 0.2}}", ""), "length together with file"},
        {SOFT(BOX, "    loads: [{where: {box: [[0, 0, 0]]}, force: [0, 1, 0]}]\n"), "1 corners; expected two"},
        {SOFT(BOX, "    loads: [{where: {all: false}, force: [0, 1, 0]}]\n"), "all is false; expected true"},
        {LIMITED("{along: [{direction: [0, 0, 0], max: 1.1}]}"), "no direction; expected a vector that is not zero"},
        {LIMITED("{along: [{direction: [1, 0, 0]}, {direction: [1, 0, 0]}, {direction: [1, 0, 0]}, {direction: [1, 0, "
                 "0]}, {direction: [0, 1, 0], max: 1.1}]}"),
         "5 directions; expected at most 3"},
        {RIGID("    shape: {}\n"), "no shape; expected sphere, box, capsule"},
        {RIGID("    shape: {sphere: 1, plane: {}}\n"), "several shapes in one; expected sphere"},
        {RIGID("    shape: {sphere: 1}\n    mass: 1\n    density: 1\n"), "mass and density together"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        thenar_model *model;
        thenar_error error;
        thenar_status status = thenar_scene_parse(cases[i][0], strlen(cases[i][0]), SOURCE_DIR "/scenes/scene.yaml",
                                                  NULL, &model, NULL, &error);
        assert_null(model);
        if (status != THENAR_ERROR_INPUT || !strstr(error.text, cases[i][1]))
            fail_msg("\"%s\" does not say \"%s\"", status == THENAR_OK ? "nothing" : error.text, cases[i][1]);
    }
}

/* What a scene says of a rigid body's damping and inertia, of fibres and of regions arrives. */
static void scenes_are_read_as_they_are_written(void **state) {
    (void)state;
    static const char text[] =
        "thenar: 1\ngravity: [0, 0, 0]\nbodies:\n"
        "  top: {kind: rigid, shape: {sphere: 0.1}, mass: 2, inertia: [1, 2, 3], spin: [0, 0, 1], "
        "damping: {linear: 3, angular: 5}, velocity: [1, 0, 0], touches: false}\n"
        "  bar:\n    shape: {embed: {capsule: [0.05, 0.2], cell: 0.05}}\n    touches: false\n"
        "    material: {young: 1e5, limits: {along: [{direction: [0, 2, 0], min: 0.9, max: 1.2}]}}\n"
        "    loads: [{where: {all: true}, force: [0, 3, 0]}]\n";
    thenar_model *model;
    thenar_sim *sim;
    thenar_error error;
    assert_ok(thenar_scene_parse(text, strlen(text), SOURCE_DIR "/scenes/scene.yaml", NULL, &model, NULL, &error),
              error);
    const soft_model *bar = model_soft(model, 1);
    assert_true(bar->fibres[0].direction[0][1][0] == 1);
    assert_true(bar->fibres[0].min[0][0] == 0.9 && bar->fibres[0].max[0][0] == 1.2);
    assert_ok(thenar_sim_create(model,
                                &(thenar_sim_options){
                                    .size = sizeof(thenar_sim_options), .dt = 1e-3, .contact = THENAR_CONTACT_OF_MODEL},
                                &sim, &error),
              error);
    double velocity[3], spin[3];
    assert_int_equal(thenar_sim_step(sim), THENAR_OK);
    /* v (1 + h d) = v0 in an implicit step. */
    body_twist(sim, 0, velocity, spin);
    assert_near(velocity[0], 1 / (1 + 1e-3 * 3), 1e-12);
    assert_near(spin[2], 1 / (1 + 1e-3 * 5), 1e-12);
    thenar_sim_free(sim);
    thenar_model_free(model);
}

static void files_and_texts_are_looked_at(void **state) {
    (void)state;
    char path[32];
    file_bytes bytes;
    thenar_error error;
    int file = open_file("abc", 3, path);
    assert_int_equal(file_read(path, 2, &bytes, &error), THENAR_ERROR_INPUT);
    assert_says(&error, "has 3 bytes; expected at most 2");
    close(file);
    assert_int_equal(file_make_directory("/proc/no/folder", &error), THENAR_ERROR_FILE);
    assert_true(text_is_printable("caf\xc3\xa9") && !text_is_printable("\xc2\x85") && !text_is_printable("\xc3"));
    assert_string_equal(thenar_status_name(THENAR_OK), "ok");
    assert_string_equal(thenar_status_name(THENAR_ERROR_MEMORY), "out of memory");
    assert_string_equal(thenar_status_name(THENAR_ERROR_INPUT), "bad input");
    assert_string_equal(thenar_status_name(THENAR_ERROR_FILE), "file error");
    assert_string_equal(thenar_status_name(THENAR_ERROR_NUMERIC), "numerical failure");
    assert_string_equal(thenar_status_name((thenar_status)99), "unknown status");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(mesh_files_are_refused_by_name),
    cmocka_unit_test(metadata_between_the_arrays_of_a_field_is_passed_over),
    cmocka_unit_test(hands_are_refused_by_name),
    cmocka_unit_test(scripts_and_recordings_of_devices_are_refused_by_name),
    cmocka_unit_test(ports_that_do_not_work_are_errors),
    cmocka_unit_test(recordings_are_refused_by_name),
    cmocka_unit_test(a_frame_shorter_than_its_time_is_damage),
    cmocka_unit_test(values_that_are_set_too_deep_or_too_long_are_refused),
    cmocka_unit_test(scenes_are_refused_by_name),
    cmocka_unit_test(scenes_are_read_as_they_are_written),
    cmocka_unit_test(files_and_texts_are_looked_at),
};

TEST_MAIN(tests)
