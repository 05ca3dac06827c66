#include "recording_fixture.h"
#include "thenar/file.h"

#include "io/file.h"
#include "core/memory.h"
#include "random.h"
#include "core/text.h"
#include "io/recording.h"
#include "core/vec3.h"

#include <jansson.h>
#include <unistd.h>

#define RECORDING BINARY_DIR "/test_export.thenar"
#define FOLDER BINARY_DIR "/test_export"

static const thenar_export_options every_frame = {.size = sizeof(thenar_export_options)};

static thenar_recording *open_fixture(void) {
    thenar_recording *recording;
    thenar_error error;
    fixture_record(RECORDING, THENAR_RECORDING_FLOAT64, NULL);
    assert_ok(thenar_recording_open(RECORDING, &recording, &error), error);
    return recording;
}

static char *read_text(const char *path) {
    file_bytes bytes;
    thenar_error error;
    assert_ok(file_read(path, FILE_SIZE_LIMIT, &bytes, &error), error);
    unlink(path);
    return bytes.data;
}

/* What an export to VTK left. */
static void remove_folder(void) {
    for (int frame = 0; frame < FIXTURE_FRAMES; frame++) {
        char path[sizeof FOLDER + 64];
        snprintf(path, sizeof path, FOLDER "/frame_%06d.vtk", frame);
        unlink(path);
        snprintf(path, sizeof path, FOLDER "/contacts_%06d.vtk", frame);
        unlink(path);
    }
    unlink(FOLDER "/frames.vtk.series");
    unlink(FOLDER "/contacts.vtk.series");
    assert_int_equal(rmdir(FOLDER), 0);
}

static void expect_text(const char *path, const char *expected) {
    char *text = read_text(path);
    assert_string_equal(text, expected);
    free(text);
}

static json_t *item(const json_t *object, const char *list, size_t index) {
    json_t *found = json_array_get(json_object_get(object, list), index);
    assert_non_null(found);
    return found;
}

static void csv_quotes_what_needs_quoting_and_nothing_else(void **state) {
    (void)state;
    thenar_csv *csv;
    thenar_error error;
    assert_ok(thenar_csv_open(FOLDER ".csv", &csv, &error), error);
    thenar_csv_text(csv, "plain");
    thenar_csv_text(csv, "a,b");
    thenar_csv_text(csv, "say \"hi\"");
    thenar_csv_text(csv, "two\nlines");
    thenar_csv_end_row(csv);
    thenar_csv_number(csv, 0.1);
    thenar_csv_integer(csv, -3);
    thenar_csv_empty(csv);
    thenar_csv_number(csv, 1.0 / 3);
    thenar_csv_end_row(csv);
    assert_ok(thenar_csv_close(csv, &error), error);
    expect_text(FOLDER ".csv", "plain,\"a,b\",\"say \"\"hi\"\"\",\"two\nlines\"\n0.1,-3,,0.333333333\n");
}

static void a_full_disk_is_an_error_of_every_writer(void **state) {
    (void)state;
    thenar_csv *csv;
    thenar_error error = {0};
    assert_ok(thenar_csv_open("/dev/full", &csv, &error), error);
    thenar_csv_number(csv, 1);
    assert_int_equal(thenar_csv_close(csv, &error), THENAR_ERROR_FILE);
    assert_string_equal(error.text, "/dev/full: cannot write: No space left on device");
    vtk_grid grid = {.title = "nothing"};
    assert_int_equal(vtk_write("/dev/full", &grid, &error), THENAR_ERROR_FILE);
    thenar_recording *recording = open_fixture();
    assert_int_equal(thenar_recording_export(recording, THENAR_EXPORT_GLTF, "/dev/full", &every_frame, &error),
                     THENAR_ERROR_FILE);
    assert_int_equal(thenar_recording_export(recording, THENAR_EXPORT_CSV, "/dev/full", &every_frame, &error),
                     THENAR_ERROR_FILE);
    thenar_recording_close(recording);
    unlink(RECORDING);
}

static void a_vtk_file_has_the_layout_of_the_format(void **state) {
    (void)state;
    const double points[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
    const int tets[] = {0, 1, 2, 3}, triangles[] = {0, 1, 2};
    const double force[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12.5}, heat[] = {0.5}, stretch[] = {1, 1, 0.9};
    const double *soft_points[] = {force}, *soft_cells[] = {heat, stretch};
    const vtk_piece pieces[] = {{.point_count = 4,
                                 .tet_count = 1,
                                 .points = points,
                                 .tets = tets,
                                 .body = 3,
                                 .point_values = soft_points,
                                 .cell_values = soft_cells},
                                {.point_count = 3, .triangle_count = 1, .points = points, .triangles = triangles}};
    const vtk_array point_arrays[] = {{"the force", 3}}, cell_arrays[] = {{"heat", 1}, {"s", 3}};
    const vtk_grid grid = {.title = "two\nbodies",
                           .pieces = pieces,
                           .piece_count = 2,
                           .point_arrays = point_arrays,
                           .point_array_count = 1,
                           .cell_arrays = cell_arrays,
                           .cell_array_count = 2};
    thenar_error error;
    assert_ok(vtk_write(FOLDER ".vtk", &grid, &error), error);
    expect_text(FOLDER ".vtk", "# vtk DataFile Version 3.0\ntwo bodies\nASCII\nDATASET UNSTRUCTURED_GRID\n"
                               "POINTS 7 double\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n0 0 0\n1 0 0\n0 1 0\n"
                               "CELLS 2 9\n4 0 1 2 3\n3 4 5 6\nCELL_TYPES 2\n10\n5\n"
                               "CELL_DATA 2\nSCALARS body int 1\nLOOKUP_TABLE default\n3\n0\n"
                               "SCALARS heat double 1\nLOOKUP_TABLE default\n0.5\n0\n"
                               "VECTORS s double\n1 1 0.9\n0 0 0\n"
                               "POINT_DATA 7\nVECTORS the_force double\n"
                               "1 2 3\n4 5 6\n7 8 9\n10 11 12.5\n0 0 0\n0 0 0\n0 0 0\n");
}

/* The numbers behind a heading such as "VECTORS rest double\n". */
static void expect_numbers(const char *text, const char *heading, const double *expected, int count) {
    const char *at = strstr(text, heading);
    assert_non_null(at);
    at += strlen(heading);
    for (int i = 0; i < count; i++) {
        /* 9 significant digits of numbers below 2 */
        assert_near(text_scan_double(at, &at), expected[i], 1e-8);
    }
}

static void a_frame_exported_to_vtk_reads_back(void **state) {
    (void)state;
    thenar_recording *recording = open_fixture();
    thenar_error error;
    thenar_export_options options = {.size = sizeof(thenar_export_options), .first = 1, .every = 3};
    assert_ok(thenar_recording_export(recording, THENAR_EXPORT_VTK, FOLDER, &options, &error), error);
    double positions[14 * 3], displacement[14 * 3], velocity[15], s[6];
    for (int i = 0; i < 15; i++) {
        positions[i] = fixture_value(PAD_POSITION, 4, i);
        positions[15 + i] = fixture_value(SHEET_POSITION, 4, i);
        displacement[i] = positions[i] - pad_nodes[i];
        displacement[15 + i] = positions[15 + i] - sheet_nodes[i];
        velocity[i] = fixture_value(PAD_VELOCITY, 4, i);
    }
    for (int i = 0; i < 6; i++) s[i] = fixture_value(PAD_S, 4, i);
    assert_ok(thenar_recording_read_surface(recording, BLOCK, 4, positions + 30, &error), error);
    for (int i = 0; i < 12; i++) displacement[30 + i] = positions[30 + i] - block_vertices[i];
    char *text = read_text(FOLDER "/frame_000004.vtk");
    expect_numbers(text, "POINTS 14 double\n", positions, 42);
    expect_numbers(text, "VECTORS displacement double\n", displacement, 42);
    expect_numbers(text, "VECTORS velocity double\n", velocity, 15);
    expect_numbers(text, "VECTORS s double\n", s, 6);
    assert_non_null(strstr(text, "CELLS 8 36\n4 0 1 2 3\n4 1 4 2 3\n4 5 6 7 9\n4 6 8 7 9\n3 10 12 11\n"));
    free(text);

    json_t *series = json_load_file(FOLDER "/frames.vtk.series", 0, NULL);
    json_t *files = json_object_get(series, "files");
    assert_int_equal(json_array_size(files), 2);
    assert_string_equal(json_string_value(json_object_get(json_array_get(files, 0), "name")), "frame_000001.vtk");
    assert_near(json_number_value(json_object_get(json_array_get(files, 1), "time")), fixture_time(4), 0);
    json_decref(series);
    remove_folder();
    thenar_recording_close(recording);
    unlink(RECORDING);
}

static void the_own_mesh_reader_reads_what_the_vtk_writer_wrote(void **state) {
    (void)state;
    thenar_recording *recording = open_fixture();
    thenar_error error;
    thenar_export_options options = {.size = sizeof(thenar_export_options), .end = 1};
    assert_ok(thenar_recording_export(recording, THENAR_EXPORT_VTK, FOLDER, &options, &error), error);
    thenar_tet_mesh mesh;
    assert_ok(thenar_tet_mesh_load(FOLDER "/frame_000000.vtk", &mesh, &error), error);
    assert_int_equal(mesh.node_count, 10); /* the block's vertices belong to no tet */
    assert_int_equal(mesh.tet_count, 4);
    assert_memory_equal(mesh.tets, pad_tets, sizeof pad_tets);
    for (int i = 0; i < 15; i++) assert_near(mesh.positions[i], fixture_value(PAD_POSITION, 0, i), 1e-8);
    for (int i = 0; i < 8; i++) assert_int_equal(mesh.tets[8 + i], 5 + sheet_tets[i]);
    thenar_tet_mesh_free(&mesh);
    remove_folder();
    thenar_recording_close(recording);
    unlink(RECORDING);
}

/* A recording of one frame: that body of the fixture with these channels, each of the numbers 0, 1, 2, ... */
static thenar_recording *open_one(int body, const thenar_recording_channel *channels, int count) {
    recording_writer *writer;
    thenar_recording *recording;
    thenar_error error;
    double numbers[64];
    const double **values = malloc((size_t)count * sizeof *values);
    recording_description description = {.scene = "one",
                                         .solver = "none",
                                         .dt = 1e-3,
                                         .bodies = &fixture_bodies[body],
                                         .body_count = 1,
                                         .channels = channels,
                                         .channel_count = count};
    for (int i = 0; i < 64; i++) numbers[i] = i;
    for (int c = 0; c < count; c++) values[c] = numbers;
    assert_ok(recording_create(RECORDING, &description, &writer, &error), error);
    assert_ok(recording_write_frame(writer, &(recording_frame){.values = values}, &error), error);
    assert_ok(recording_close(writer, &error), error);
    assert_ok(thenar_recording_open(RECORDING, &recording, &error), error);
    free(values);
    return recording;
}

/* VTK has a word for one number and for three; six stand in a field. */
static void six_numbers_a_node_are_exported_to_vtk_as_a_field(void **state) {
    (void)state;
    const thenar_recording_channel strain = {"strain", "", 0, THENAR_RECORDING_NODES, 5, 6, THENAR_RECORDING_FLOAT64};
    thenar_recording *recording = open_one(SHEET, &strain, 1);
    thenar_error error;
    double expected[30];
    for (int i = 0; i < 30; i++) expected[i] = i;
    assert_ok(thenar_recording_export(recording, THENAR_EXPORT_VTK, FOLDER, &every_frame, &error), error);
    thenar_tet_mesh mesh;
    assert_ok(thenar_tet_mesh_load(FOLDER "/frame_000000.vtk", &mesh, &error), error);
    assert_int_equal(mesh.tet_count, 2);
    thenar_tet_mesh_free(&mesh);
    char *text = read_text(FOLDER "/frame_000000.vtk");
    expect_numbers(text, "FIELD FieldData 1\nstrain 6 5 double\n", expected, 30);
    free(text);
    remove_folder();
    thenar_recording_close(recording);
    unlink(RECORDING);
}

static void what_a_format_cannot_show_is_refused_by_name(void **state) {
    (void)state;
    thenar_recording_channel many[300];
    char names[300][8];
    thenar_error error = {0};
    for (int c = 0; c < 300; c++) {
        snprintf(names[c], sizeof *names, "c%d", c);
        many[c] = (thenar_recording_channel){names[c], "", 0, THENAR_RECORDING_NODES, 5, 1, THENAR_RECORDING_FLOAT32};
    }
    thenar_recording *recording = open_one(SHEET, many, 300);
    assert_int_equal(thenar_recording_export(recording, THENAR_EXPORT_VTK, FOLDER, &every_frame, &error),
                     THENAR_ERROR_INPUT);
    assert_non_null(strstr(error.text, "too many channels; expected at most 254 names"));
    assert_int_equal(thenar_recording_export(recording, THENAR_EXPORT_CSV, "/no/folder/a.csv", &every_frame, &error),
                     THENAR_ERROR_FILE);
    assert_string_equal(error.text, "/no/folder/a.csv: cannot write: No such file or directory");
    thenar_recording_close(recording);
    const thenar_recording_channel pose = {"pose", "", 0, THENAR_RECORDING_BODY, 1, 7, THENAR_RECORDING_FLOAT32};
    recording = open_one(BONES, &pose, 1);
    assert_int_equal(thenar_recording_export(recording, THENAR_EXPORT_GLTF, FOLDER ".glb", &every_frame, &error),
                     THENAR_ERROR_INPUT);
    assert_non_null(strstr(error.text, "no surface; expected a body with triangles"));
    thenar_recording_close(recording);
    unlink(RECORDING);
    rmdir(FOLDER);
}

static void a_recording_exported_to_csv_has_a_row_per_frame_and_body(void **state) {
    (void)state;
    thenar_recording *recording = open_fixture();
    thenar_error error;
    const char *channels[] = {"velocity", "residual"};
    thenar_export_options options = {
        .size = sizeof(thenar_export_options), .first = 2, .end = 3, .channels = channels, .channel_count = 2};
    assert_ok(thenar_recording_export(recording, THENAR_EXPORT_CSV, FOLDER ".csv", &options, &error), error);
    char *text = read_text(FOLDER ".csv");
    const char *header = "frame,step,time,body,centroid_x,centroid_y,centroid_z,min_x,min_y,min_z,max_x,max_y,max_z,"
                         "velocity_sum_x,velocity_sum_y,velocity_sum_z,velocity_max,residual\n2,7,0.007,pad,";
    assert_memory_equal(text, header, strlen(header));
    const char *at = text + strlen(header);
    double expected[14] = {0}, largest = 0;
    for (int x = 0; x < 3; x++) {
        expected[3 + x] = INFINITY, expected[6 + x] = -INFINITY;
        for (int i = 0; i < 5; i++) {
            double position = fixture_value(PAD_POSITION, 2, 3 * i + x);
            expected[x] += position / 5;
            expected[3 + x] = fmin(expected[3 + x], position);
            expected[6 + x] = fmax(expected[6 + x], position);
            expected[9 + x] += fixture_value(PAD_VELOCITY, 2, 3 * i + x);
        }
    }
    for (int i = 0; i < 15; i += 3)
        largest = fmax(largest, hypot(hypot(fixture_value(PAD_VELOCITY, 2, i), fixture_value(PAD_VELOCITY, 2, i + 1)),
                                      fixture_value(PAD_VELOCITY, 2, i + 2)));
    expected[12] = largest;
    expected[13] = fixture_value(RESIDUAL, 2, 0);
    for (int i = 0; i < 14; i++) {
        assert_near(text_scan_double(at, &at), expected[i], 1e-8);
        assert_int_equal(*at++, i < 13 ? ',' : '\n');
    }
    assert_non_null(strstr(at, "2,7,0.007,\"sheet, \"\"thin\"\"\","));
    assert_non_null(strstr(at, "2,7,0.007,bones,,,,,,,,,,,,,,"));
    free(text);

    channels[0] = "velocty";
    assert_int_equal(thenar_recording_export(recording, THENAR_EXPORT_CSV, FOLDER ".csv", &options, &error),
                     THENAR_ERROR_INPUT);
    assert_string_equal(error.text, "the recording has no channel \"velocty\"; did you mean \"velocity\"?");
    thenar_recording_close(recording);
    unlink(RECORDING);
}

static void contacts_exported_to_csv_have_a_row_each(void **state) {
    (void)state;
    thenar_recording *recording = open_fixture();
    thenar_error error;
    thenar_export_options options = {.size = sizeof(thenar_export_options), .contacts = true};
    assert_ok(thenar_recording_export(recording, THENAR_EXPORT_CSV, FOLDER ".csv", &options, &error), error);
    char *text = read_text(FOLDER ".csv");
    const char *header = "frame,step,time,body_a,body_b,vertex,face_a,face_b,sticks,position_x,position_y,position_z,"
                         "normal_x,normal_y,normal_z,gap,normal_force,friction_x,friction_y,friction_z,force_x,force_y,"
                         "force_z,area,pressure\n";
    assert_memory_equal(text, header, strlen(header));
    const char *at = text + strlen(header);
    for (int frame = 0; frame < FIXTURE_FRAMES; frame++)
        for (int i = 0; i < fixture_contact_count(frame); i++) {
            thenar_contact c = fixture_contact(frame, i);
            char begin[80];
            int length = snprintf(begin, sizeof begin, "%d,%d,%.9g,pad,block,%d,%d,%d,%d,", frame, 3 * frame + 1,
                                  fixture_time(frame), c.vertex, c.face[0], c.face[1], c.sticks);
            assert_memory_equal(at, begin, (size_t)length);
            at += length;
            double expected[16] = {[6] = c.gap, [7] = c.force, [14] = c.area, [15] = c.force / c.area};
            for (int k = 0; k < 3; k++) {
                expected[k] = c.position[k];
                expected[3 + k] = c.normal[k];
                expected[8 + k] = c.friction[k];
                expected[11 + k] = c.friction[k] + c.force * c.normal[k];
            }
            for (int k = 0; k < 16; k++) {
                /* recorded with 24 bits */
                assert_near(text_scan_double(at, &at), expected[k], 2e-7 * (1 + fabs(expected[k])));
                assert_int_equal(*at++, k < 15 ? ',' : '\n');
            }
        }
    assert_int_equal(*at, 0);
    free(text);
    thenar_recording_close(recording);
    unlink(RECORDING);
}

static void contacts_exported_to_vtk_are_points_with_vectors(void **state) {
    (void)state;
    thenar_recording *recording = open_fixture();
    thenar_error error;
    thenar_export_options options = {.size = sizeof(thenar_export_options), .first = 3, .every = 1};
    assert_ok(thenar_recording_export(recording, THENAR_EXPORT_VTK, FOLDER, &options, &error), error);
    double positions[9], force[9], gap[3], pressure[3];
    for (int i = 0; i < 3; i++) {
        thenar_contact c = fixture_contact(3, i);
        for (int k = 0; k < 3; k++) {
            positions[3 * i + k] = (float)c.position[k];
            force[3 * i + k] = (double)(float)c.friction[k] + (double)(float)c.force * (double)(float)c.normal[k];
        }
        gap[i] = (float)c.gap;
        pressure[i] = 1e-5 * (float)c.force / (float)c.area;
    }
    char *text = read_text(FOLDER "/contacts_000003.vtk");
    assert_non_null(strstr(text, "DATASET POLYDATA\n"));
    assert_non_null(strstr(text, "VERTICES 3 6\n1 0\n1 1\n1 2\nPOINT_DATA 3\n"));
    expect_numbers(text, "POINTS 3 double\n", positions, 9);
    expect_numbers(text, "VECTORS force double\n", force, 9);
    expect_numbers(text, "SCALARS gap double 1\nLOOKUP_TABLE default\n", gap, 3);
    const char *at = strstr(text, "SCALARS pressure double 1\nLOOKUP_TABLE default\n");
    assert_non_null(at);
    at += strlen("SCALARS pressure double 1\nLOOKUP_TABLE default\n");
    for (int i = 0; i < 3; i++) assert_near(1e-5 * text_scan_double(at, &at), pressure[i], 1e-6 * pressure[i]);
    free(text);
    expect_numbers(text = read_text(FOLDER "/contacts_000004.vtk"), "POINTS 0 double\nVERTICES 0 0\nPOINT_DATA 0\n",
                   NULL, 0);
    free(text);
    json_t *series = json_load_file(FOLDER "/contacts.vtk.series", 0, NULL);
    assert_string_equal(json_string_value(json_object_get(item(series, "files", 1), "name")), "contacts_000004.vtk");
    json_decref(series);
    remove_folder();
    thenar_recording_close(recording);
    unlink(RECORDING);
}

/* A .glb file taken apart. */
typedef struct glb {
    file_bytes bytes;
    json_t *root;
    const char *buffer;
    size_t buffer_size;
} glb;

static uint32_t word_at(const char *bytes, size_t offset) {
    uint32_t word;
    memcpy(&word, bytes + offset, 4);
    return word;
}

static glb open_glb(const char *path) {
    glb file;
    thenar_error error;
    assert_ok(file_read(path, FILE_SIZE_LIMIT, &file.bytes, &error), error);
    const char *data = file.bytes.data;
    assert_memory_equal(data, "glTF", 4);
    assert_int_equal(word_at(data, 4), 2);
    assert_int_equal(word_at(data, 8), file.bytes.size);
    size_t json_size = word_at(data, 12);
    assert_memory_equal(data + 16, "JSON", 4);
    assert_int_equal(json_size % 4, 0);
    file.root = json_loadb(data + 20, json_size, 0, NULL);
    assert_non_null(file.root);
    file.buffer_size = word_at(data, 20 + json_size);
    assert_memory_equal(data + 24 + json_size, "BIN", 4);
    assert_int_equal(28 + json_size + file.buffer_size, file.bytes.size);
    file.buffer = data + 28 + json_size;
    return file;
}

static long long integer(const json_t *object, const char *key) {
    assert_true(json_is_integer(json_object_get(object, key)));
    return json_integer_value(json_object_get(object, key));
}

/* The numbers of an accessor, after checks of alignment, range and bounds. */
static const float *accessor_floats(const glb *file, long long index, long long count, const char *type) {
    json_t *accessor = item(file->root, "accessors", (size_t)index);
    assert_int_equal(integer(accessor, "componentType"), 5126);
    assert_int_equal(integer(accessor, "count"), count);
    assert_string_equal(json_string_value(json_object_get(accessor, "type")), type);
    json_t *view = item(file->root, "bufferViews", (size_t)integer(accessor, "bufferView"));
    long long offset = integer(view, "byteOffset"), components = type[0] == 'S' ? 1 : type[3] - '0';
    assert_int_equal(offset % 4, 0);
    assert_int_equal(integer(view, "byteLength"), 4 * components * count);
    assert_true((size_t)(offset + integer(view, "byteLength")) <= file->buffer_size);
    const float *values = (const float *)(const void *)(file->buffer + offset);
    for (long long k = 0; k < components; k++) {
        float low = INFINITY, high = -INFINITY;
        for (long long i = 0; i < count; i++) {
            low = fminf(low, values[i * components + k]);
            high = fmaxf(high, values[i * components + k]);
        }
        assert_near(json_real_value(item(accessor, "min", (size_t)k)), low, 0);
        assert_near(json_real_value(item(accessor, "max", (size_t)k)), high, 0);
    }
    return values;
}

/* The animation's track of a node. */
static const float *find_track(const glb *file, int node, const char *path, long long count, const char *type) {
    json_t *animation = item(file->root, "animations", 0), *channel;
    size_t i;
    json_array_foreach(json_object_get(animation, "channels"), i, channel) {
        json_t *target = json_object_get(channel, "target");
        if (integer(target, "node") != node) continue;
        if (strcmp(json_string_value(json_object_get(target, "path")), path) != 0) continue;
        json_t *sampler = item(animation, "samplers", (size_t)integer(channel, "sampler"));
        const float *times = accessor_floats(file, integer(sampler, "input"), FIXTURE_FRAMES, "SCALAR");
        for (int k = 0; k < FIXTURE_FRAMES; k++)
            assert_near(times[k], fixture_time(k) - fixture_time(0), 1e-9); /* float32 of times below 0.02 s */
        return accessor_floats(file, integer(sampler, "output"), count, type);
    }
    fail_msg("node %d has no track %s", node, path);
    return NULL;
}

/* Mesh plus weighted targets, as a viewer works it out at keyframe k, against the recording's own surface.
 * The sheet's node 4 is in no triangle and must be left out; triangles number vertices in the order of first
 * use. */
static void expect_morphs(const glb *file, thenar_recording *recording, int body, const int *order, int count) {
    json_t *primitive = item(item(file->root, "meshes", (size_t)body), "primitives", 0);
    json_t *attributes = json_object_get(primitive, "attributes");
    const float *base = accessor_floats(file, integer(attributes, "POSITION"), count, "VEC3");
    const float *normals = accessor_floats(file, integer(attributes, "NORMAL"), count, "VEC3");
    for (int i = 0; i < count; i++)
        assert_near(hypot(hypot(normals[3 * i], normals[3 * i + 1]), normals[3 * i + 2]), 1, 1e-6);
    const int targets = FIXTURE_FRAMES - 1;
    assert_int_equal(json_array_size(json_object_get(primitive, "targets")), targets);
    const float *weights = find_track(file, body, "weights", FIXTURE_FRAMES * targets, "SCALAR");
    for (int k = 0; k < FIXTURE_FRAMES; k++) {
        double surface[15];
        thenar_error error;
        assert_ok(thenar_recording_read_surface(recording, body, k, surface, &error), error);
        for (int i = 0; i < 3 * count; i++) {
            double sum = base[i];
            for (int t = 0; t < targets; t++) {
                json_t *target = item(primitive, "targets", (size_t)t);
                const float *delta = accessor_floats(file, integer(target, "POSITION"), count, "VEC3");
                sum += weights[k * targets + t] * delta[i];
            }
            assert_near(sum, surface[3 * order[i / 3] + i % 3], 2e-7); /* float32 near 1 */
        }
    }
}

static void a_glb_shows_each_keyframe_as_it_was_recorded(void **state) {
    (void)state;
    thenar_recording *recording = open_fixture();
    thenar_error error;
    assert_ok(thenar_recording_export(recording, THENAR_EXPORT_GLTF, FOLDER ".glb", &every_frame, &error), error);
    glb file = open_glb(FOLDER ".glb");
    assert_string_equal(json_string_value(json_object_get(json_object_get(file.root, "asset"), "version")), "2.0");
    assert_int_equal(json_array_size(json_object_get(file.root, "nodes")), 3); /* the bones cannot be seen */
    const int pad_order[] = {0, 1, 2, 3}, sheet_order[] = {0, 2, 1, 3};
    expect_morphs(&file, recording, PAD, pad_order, 4);
    expect_morphs(&file, recording, SHEET, sheet_order, 4);
    const float *translation = find_track(&file, BLOCK, "translation", FIXTURE_FRAMES, "VEC3");
    const float *rotation = find_track(&file, BLOCK, "rotation", FIXTURE_FRAMES, "VEC4");
    for (int k = 0; k < FIXTURE_FRAMES; k++) {
        for (int x = 0; x < 3; x++) assert_near(translation[3 * k + x], fixture_value(BLOCK_POSE, k, x), 1e-7);
        /* Of the two quaternions of a turn the one near the keyframe before; the recording has the other
         * at 3. */
        double sign = k == 3 ? -1 : 1;
        for (int x = 0; x < 4; x++) assert_near(rotation[4 * k + x], sign * fixture_value(BLOCK_POSE, k, 3 + x), 1e-7);
    }
    json_decref(file.root);
    free(file.bytes.data);
    unlink(FOLDER ".glb");
    thenar_recording_close(recording);
    unlink(RECORDING);
}

/* A long recording of a large surface: keyframes are thinned, the first and last frame stay, the size is
 * bounded. */
static void a_glb_of_a_long_recording_stays_bounded(void **state) {
    (void)state;
    enum { SIDE = 60, FRAMES = 600 };
    const size_t nodes = SIDE * SIDE;
    double *positions = MEMORY_ARRAY(double, 3 * nodes);
    int *triangles = MEMORY_ARRAY(int, 6 * nodes), corner = 0;
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++) {
            vec3_store(positions + 3 * (i * SIDE + j), (vec3){i * 0.01, 0, j * 0.01});
            if (i + 1 == SIDE || j + 1 == SIDE) continue;
            int a = i * SIDE + j, quad[] = {a, a + 1, a + SIDE, a + 1, a + SIDE + 1, a + SIDE};
            for (int k = 0; k < 6; k++) triangles[corner++] = quad[k];
        }
    thenar_tet_mesh mesh = {.node_count = (int)nodes, .positions = positions};
    thenar_surface surface = {.vertex_count = (int)nodes, .triangle_count = corner / 3, .triangles = triangles};
    recording_body body = {.name = "cloth",
                           .kind = "soft",
                           .surface_kind = THENAR_RECORDING_SURFACE_NODES,
                           .mesh = &mesh,
                           .surface = &surface};
    thenar_recording_channel channel = {"position", "m", 0, THENAR_RECORDING_NODES, 0, 3, THENAR_RECORDING_FLOAT32};
    recording_description description = {.scene = "long",
                                         .solver = "none",
                                         .dt = 0.01,
                                         .bodies = &body,
                                         .body_count = 1,
                                         .channels = &channel,
                                         .channel_count = 1};
    recording_writer *writer;
    thenar_recording *recording;
    thenar_error error;
    const double *values[] = {positions};
    assert_ok(recording_create(RECORDING, &description, &writer, &error), error);
    for (int frame = 0; frame < FRAMES; frame++) {
        for (size_t i = 0; i < nodes; i++) positions[3 * i + 1] = 0.01 * sin(0.05 * frame + (double)i * 0.01);
        recording_frame written = {.step = (uint64_t)frame, .time = frame * 0.01, .values = values};
        assert_ok(recording_write_frame(writer, &written, &error), error);
    }
    assert_ok(recording_close(writer, &error), error);
    assert_ok(thenar_recording_open(RECORDING, &recording, &error), error);
    assert_ok(thenar_recording_export(recording, THENAR_EXPORT_GLTF, FOLDER ".glb", &every_frame, &error), error);
    glb file = open_glb(FOLDER ".glb");
    json_t *sampler = item(item(file.root, "animations", 0), "samplers", 0);
    json_t *times = item(file.root, "accessors", (size_t)integer(sampler, "input"));
    assert_in_range(integer(times, "count"), 100, 256);
    assert_near(json_real_value(item(times, "max", 0)), (FRAMES - 1) * 0.01, 1e-6);
    assert_in_range(file.bytes.size, 1000000, 65 << 20);
    json_decref(file.root);
    free(file.bytes.data);
    thenar_recording_close(recording);
    free(positions);
    free(triangles);
    unlink(FOLDER ".glb");
    unlink(RECORDING);
}

static bool stop_after_two(void *context, int done, int count) {
    *(int *)context = done;
    return done < 2 || count < 2;
}

static void an_export_can_be_stopped_and_leaves_whole_files(void **state) {
    (void)state;
    thenar_recording *recording = open_fixture();
    thenar_error error;
    int done = 0;
    thenar_export_options options = {
        .size = sizeof(thenar_export_options), .progress = stop_after_two, .context = &done};
    assert_ok(thenar_recording_export(recording, THENAR_EXPORT_VTK, FOLDER, &options, &error), error);
    assert_int_equal(done, 2);
    assert_int_equal(access(FOLDER "/frame_000001.vtk", F_OK), 0);
    assert_int_not_equal(access(FOLDER "/frame_000002.vtk", F_OK), 0);
    json_t *series = json_load_file(FOLDER "/frames.vtk.series", 0, NULL);
    assert_int_equal(json_array_size(json_object_get(series, "files")), 2);
    json_decref(series);
    assert_ok(thenar_recording_export(recording, THENAR_EXPORT_GLTF, FOLDER ".glb", &options, &error), error);
    glb file = open_glb(FOLDER ".glb");
    json_decref(file.root);
    free(file.bytes.data);
    unlink(FOLDER ".glb");
    remove_folder();
    thenar_recording_close(recording);
    unlink(RECORDING);
}

static void a_range_without_frames_is_refused(void **state) {
    (void)state;
    thenar_recording *recording = open_fixture();
    thenar_error error;
    thenar_export_options options = {.size = sizeof(thenar_export_options), .first = 5};
    assert_int_equal(thenar_recording_export(recording, THENAR_EXPORT_CSV, FOLDER ".csv", &options, &error),
                     THENAR_ERROR_INPUT);
    assert_non_null(strstr(error.text, "within the 5 frames"));
    options = (thenar_export_options){.size = sizeof(thenar_export_options), .every = -1};
    assert_int_equal(thenar_recording_export(recording, THENAR_EXPORT_CSV, FOLDER ".csv", &options, &error),
                     THENAR_ERROR_INPUT);
    assert_int_equal(thenar_export_format_find("gltf"), THENAR_EXPORT_GLTF);
    assert_int_equal(thenar_export_format_find("obj"), -1);
    thenar_recording_close(recording);
    unlink(RECORDING);
}

static void positions_that_are_not_numbers_are_refused_by_gltf_by_name(void **state) {
    (void)state;
    recording_writer *writer;
    thenar_recording *recording;
    thenar_error error = {0};
    double storage[FIXTURE_CHANNELS][FIXTURE_LARGEST];
    const double *pointers[FIXTURE_CHANNELS];
    assert_ok(fixture_create(RECORDING, THENAR_RECORDING_FLOAT32, &writer, &error), error);
    fixture_frame(0, storage, pointers);
    storage[SHEET_POSITION][3] = NAN;
    recording_frame frame = {.values = pointers};
    assert_ok(recording_write_frame(writer, &frame, &error), error);
    assert_ok(recording_close(writer, &error), error);
    assert_ok(thenar_recording_open(RECORDING, &recording, &error), error);
    assert_int_equal(thenar_recording_export(recording, THENAR_EXPORT_GLTF, FOLDER ".glb", &every_frame, &error),
                     THENAR_ERROR_INPUT);
    assert_non_null(strstr(error.text, "frame 0, body \"sheet, \"thin\"\": a position is not finite"));
    thenar_recording_close(recording);
    unlink(RECORDING);
}

/* Changes bytes of one chunk and makes its checksum fit again: what a hostile file, not a bad disk, would
 * hold. */
static void forge_chunk(char *bytes, size_t size, random_source *random) {
    size_t chunks[64], count = 0;
    for (size_t at = sizeof(recording_preamble); at < size && count < 64;) {
        recording_chunk chunk;
        memcpy(&chunk, bytes + at, sizeof chunk);
        chunks[count++] = at;
        at += sizeof chunk + (size_t)chunk.stored_size;
    }
    size_t at = chunks[random_bits(random) % count];
    recording_chunk chunk;
    memcpy(&chunk, bytes + at, sizeof chunk);
    char *payload = bytes + at + sizeof chunk;
    for (int i = (int)(random_bits(random) % 4); i >= 0; i--) {
        unsigned char mask = (unsigned char)(1u << random_bits(random) % 8);
        if (random_bits(random) % 8 == 0)
            ((unsigned char *)&chunk)[4 + random_bits(random) % 4] ^= mask;
        else if (chunk.stored_size > 0)
            payload[random_bits(random) % chunk.stored_size] ^= (char)mask;
    }
    if (random_bits(random) % 8 == 0) chunk.raw_size = random_bits(random) >> random_bits(random) % 64;
    chunk.checksum = recording_checksum_payload(recording_checksum_header(&chunk), payload, (size_t)chunk.stored_size);
    memcpy(bytes + at, &chunk, sizeof chunk);
}

static void forged_recordings_are_read_or_refused_but_never_crash(void **state) {
    (void)state;
    file_bytes whole;
    thenar_error error;
    fixture_record(RECORDING, THENAR_RECORDING_FLOAT32, NULL);
    assert_ok(file_read(RECORDING, FILE_SIZE_LIMIT, &whole, &error), error);
    random_source random = {.state = 11};
    int opened = 0, exported = 0;
    for (int round = 0; round < 2000; round++) {
        char *bytes = memory_copy(whole.data, whole.size);
        forge_chunk(bytes, whole.size, &random);
        FILE *file = fopen(RECORDING, "wb");
        fwrite(bytes, 1, whole.size, file);
        fclose(file);
        free(bytes);
        thenar_recording *recording;
        if (thenar_recording_open(RECORDING, &recording, &error) != THENAR_OK) continue;
        opened++;
        exported +=
            thenar_recording_export(recording, THENAR_EXPORT_GLTF, "/dev/null", &every_frame, &error) == THENAR_OK;
        exported +=
            thenar_recording_export(recording, THENAR_EXPORT_CSV, "/dev/null", &every_frame, &error) == THENAR_OK;
        thenar_recording_close(recording);
    }
    free(whole.data);
    unlink(RECORDING);
    assert_in_range(opened, 200, 1990); /* the forgeries reach behind the header, and some do not get past it */
    assert_in_range(exported, 100, 3980);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(csv_quotes_what_needs_quoting_and_nothing_else),
    cmocka_unit_test(a_full_disk_is_an_error_of_every_writer),
    cmocka_unit_test(a_vtk_file_has_the_layout_of_the_format),
    cmocka_unit_test(a_frame_exported_to_vtk_reads_back),
    cmocka_unit_test(the_own_mesh_reader_reads_what_the_vtk_writer_wrote),
    cmocka_unit_test(contacts_exported_to_csv_have_a_row_each),
    cmocka_unit_test(contacts_exported_to_vtk_are_points_with_vectors),
    cmocka_unit_test(six_numbers_a_node_are_exported_to_vtk_as_a_field),
    cmocka_unit_test(what_a_format_cannot_show_is_refused_by_name),
    cmocka_unit_test(a_recording_exported_to_csv_has_a_row_per_frame_and_body),
    cmocka_unit_test(a_glb_shows_each_keyframe_as_it_was_recorded),
    cmocka_unit_test(a_glb_of_a_long_recording_stays_bounded),
    cmocka_unit_test(an_export_can_be_stopped_and_leaves_whole_files),
    cmocka_unit_test(a_range_without_frames_is_refused),
    cmocka_unit_test(positions_that_are_not_numbers_are_refused_by_gltf_by_name),
    cmocka_unit_test(forged_recordings_are_read_or_refused_but_never_crash),
};

TEST_MAIN(tests)
