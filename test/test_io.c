#include "recording_fixture.h"

#include "io/file.h"
#include "core/memory.h"
#include "random.h"
#include "io/recording.h"
#include "core/vec3.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zstd.h>

#define RECORDING BINARY_DIR "/test_io.thenar"

static double stored_as(double value, thenar_recording_type type) {
    return type == THENAR_RECORDING_FLOAT32 ? (double)(float)value : value;
}

static bool same_bits(double a, double b) {
    return memcmp(&a, &b, sizeof a) == 0;
}

static void expect_contact(const thenar_contact *got, const thenar_contact *expected) {
    assert_memory_equal(got->body, expected->body, sizeof got->body);
    assert_memory_equal(got->face, expected->face, sizeof got->face);
    assert_int_equal(got->vertex, expected->vertex);
    assert_int_equal(got->sticks, expected->sticks);
    for (int k = 0; k < 3; k++) {
        assert_near(got->position[k], (float)expected->position[k], 0);
        assert_near(got->normal[k], (float)expected->normal[k], 0);
        assert_near(got->friction[k], (float)expected->friction[k], 0);
    }
    assert_near(got->gap, (float)expected->gap, 0);
    assert_near(got->force, (float)expected->force, 0);
    assert_near(got->area, (float)expected->area, 0);
}

/* False if the reader refuses them, which it may do where it refuses the frame. */
static bool read_contacts(thenar_recording *recording, int frame) {
    const thenar_contact *contacts;
    int count;
    thenar_error error = {0};
    if (thenar_recording_read_contacts(recording, frame, &contacts, &count, &error) != THENAR_OK) {
        assert_int_equal(error.status, THENAR_ERROR_INPUT);
        assert_null(contacts);
        return false;
    }
    assert_int_equal(count, fixture_contact_count(frame));
    for (int i = 0; i < count; i++) {
        thenar_contact expected = fixture_contact(frame, i);
        expect_contact(&contacts[i], &expected);
    }
    return true;
}

/* Reads a frame; false if the reader refuses it. What it does deliver must be exact. */
static bool read_frame(thenar_recording *recording, int frame, thenar_recording_type type) {
    thenar_recording_channel channels[FIXTURE_CHANNELS];
    fixture_channels(type, channels);
    if (!same_bits(thenar_recording_frame_time(recording, frame), fixture_time(frame))) fail();
    assert_int_equal(thenar_recording_frame_step(recording, frame), frame * 3 + 1);
    for (int c = 0; c < FIXTURE_CHANNELS; c++) {
        double values[FIXTURE_LARGEST];
        thenar_error error = {0};
        if (thenar_recording_read_channel(recording, c, frame, values, &error) != THENAR_OK) {
            assert_int_equal(error.status, THENAR_ERROR_INPUT);
            assert_non_null(strstr(error.text, RECORDING ": at byte "));
            assert_false(read_contacts(recording, frame));
            return false;
        }
        for (int i = 0; i < channels[c].element_count * channels[c].components; i++)
            if (!same_bits(values[i], stored_as(fixture_value(c, frame, i), channels[c].type))) {
                print_error("frame %d channel %d number %d: %.17g\n", frame, c, i, values[i]);
                fail();
            }
    }
    assert_true(read_contacts(recording, frame));
    return true;
}

/* Opens the file, compares everything that can be read, and returns how many frames could be; -1 if it does
 * not open, with a message that names the file. */
static int read_all(thenar_recording_type type, bool *whole) {
    thenar_recording *recording;
    thenar_error error = {0};
    if (thenar_recording_open(RECORDING, &recording, &error) != THENAR_OK) {
        assert_null(recording);
        assert_int_equal(error.status, THENAR_ERROR_INPUT);
        assert_non_null(strstr(error.text, RECORDING ": "));
        return -1;
    }
    if (whole) *whole = !thenar_recording_damage(recording);
    for (int body = 0; body < thenar_recording_body_count(recording); body++) {
        const thenar_recording_mesh *mesh;
        assert_ok(thenar_recording_read_mesh(recording, body, &mesh, &error), error);
    }
    int readable = 0;
    for (int frame = 0; frame < thenar_recording_frame_count(recording); frame++)
        readable += read_frame(recording, frame, type);
    thenar_recording_close(recording);
    return readable;
}

static void a_recording_returns_every_number_as_it_was_stored(void **state) {
    (void)state;
    for (int type = THENAR_RECORDING_FLOAT32; type <= THENAR_RECORDING_FLOAT64; type++) {
        fixture_record(RECORDING, (thenar_recording_type)type, NULL);
        bool whole = false;
        assert_int_equal(read_all((thenar_recording_type)type, &whole), FIXTURE_FRAMES);
        assert_true(whole);
    }
    unlink(RECORDING);
}

static void a_recording_returns_the_description_of_the_run(void **state) {
    (void)state;
    fixture_record(RECORDING, THENAR_RECORDING_FLOAT32, NULL);
    thenar_recording *recording;
    thenar_error error;
    assert_ok(thenar_recording_open(RECORDING, &recording, &error), error);
    thenar_recording_info info = thenar_recording_get_info(recording);
    assert_string_equal(info.scene, "fixture");
    assert_string_equal(info.solver, "none");
    assert_string_equal(info.thenar_version, THENAR_VERSION);
    assert_string_equal(info.metadata, "{\"seed\":7}");
    assert_true(same_bits(info.dt, 1e-3));
    assert_int_equal(info.max_contacts, FIXTURE_CONTACTS);
    assert_int_equal(thenar_recording_body_count(recording), FIXTURE_BODIES);
    assert_int_equal(thenar_recording_find_body(recording, "block"), BLOCK);
    assert_int_equal(thenar_recording_find_body(recording, "nobody"), -1);
    assert_string_equal(thenar_recording_body_at(recording, BONES)->kind, "skeleton");
    assert_int_equal(thenar_recording_find_channel(recording, BONES, "pose"), BONES_POSE);
    assert_int_equal(thenar_recording_find_channel(recording, -1, "residual"), RESIDUAL);
    thenar_recording_channel expected[FIXTURE_CHANNELS];
    fixture_channels(THENAR_RECORDING_FLOAT32, expected);
    assert_int_equal(thenar_recording_channel_count(recording), FIXTURE_CHANNELS);
    for (int c = 0; c < FIXTURE_CHANNELS; c++) {
        const thenar_recording_channel *channel = thenar_recording_channel_at(recording, c);
        assert_string_equal(channel->name, expected[c].name);
        assert_string_equal(channel->unit, expected[c].unit);
        assert_int_equal(channel->body, expected[c].body);
        assert_int_equal(channel->element_count, expected[c].element_count);
        assert_int_equal(channel->components, expected[c].components);
    }
    thenar_recording_close(recording);
    unlink(RECORDING);
}

static void meshes_come_back_as_they_went_in(void **state) {
    (void)state;
    fixture_record(RECORDING, THENAR_RECORDING_FLOAT32, NULL);
    thenar_recording *recording;
    thenar_error error;
    const thenar_recording_mesh *mesh;
    assert_ok(thenar_recording_open(RECORDING, &recording, &error), error);
    assert_ok(thenar_recording_read_mesh(recording, PAD, &mesh, &error), error);
    assert_int_equal(mesh->volume.node_count, 5);
    assert_memory_equal(mesh->volume.positions, pad_nodes, sizeof pad_nodes);
    assert_memory_equal(mesh->volume.tets, pad_tets, sizeof pad_tets);
    assert_memory_equal(mesh->surface.positions, pad_vertices, sizeof pad_vertices);
    assert_memory_equal(mesh->surface.triangles, pad_triangles, sizeof pad_triangles);
    assert_int_equal(mesh->embedding.vertex_count, 4);
    assert_memory_equal(mesh->embedding.tet, pad_embedding_tets, sizeof pad_embedding_tets);
    assert_memory_equal(mesh->embedding.weights, pad_weights, sizeof pad_weights);
    assert_ok(thenar_recording_read_mesh(recording, SHEET, &mesh, &error), error);
    assert_int_equal(mesh->surface.vertex_count, 5);
    assert_memory_equal(mesh->surface.positions, sheet_nodes, sizeof sheet_nodes);
    assert_memory_equal(mesh->surface.triangles, sheet_triangles, sizeof sheet_triangles);
    assert_ok(thenar_recording_read_mesh(recording, BONES, &mesh, &error), error);
    assert_int_equal(mesh->volume.node_count + mesh->surface.vertex_count + mesh->embedding.vertex_count, 0);
    thenar_recording_close(recording);
    unlink(RECORDING);
}

static void surfaces_follow_nodes_embeddings_and_poses(void **state) {
    (void)state;
    fixture_record(RECORDING, THENAR_RECORDING_FLOAT64, NULL);
    thenar_recording *recording;
    thenar_error error;
    double got[15];
    const int frame = 3;
    assert_ok(thenar_recording_open(RECORDING, &recording, &error), error);
    assert_ok(thenar_recording_read_surface(recording, SHEET, frame, got, &error), error);
    for (int i = 0; i < 15; i++) assert_near(got[i], fixture_value(SHEET_POSITION, frame, i), 0);

    /* By hand: vertex 3 of the pad is embedded in tet 1 = (1, 4, 2, 3) with weights 1/2, 1/4, 1/8, 1/8. */
    assert_ok(thenar_recording_read_surface(recording, PAD, frame, got, &error), error);
    for (int x = 0; x < 3; x++) {
        double expected = fixture_value(PAD_POSITION, frame, 3 + x) / 2 +
                          fixture_value(PAD_POSITION, frame, 12 + x) / 4 +
                          fixture_value(PAD_POSITION, frame, 6 + x) / 8 + fixture_value(PAD_POSITION, frame, 9 + x) / 8;
        assert_near(got[9 + x], expected, 1e-15); /* sums of numbers near 1: a few roundings */
    }

    /* A turn by 0.9 about y takes (0, 0, 0.3) to (0.3 sin, 0, 0.3 cos). */
    assert_ok(thenar_recording_read_surface(recording, BLOCK, frame, got, &error), error);
    assert_near(got[9], 0.3 + 0.3 * sin(0.9), 1e-15);
    assert_near(got[10], 1, 1e-15);
    assert_near(got[11], 0.3 * cos(0.9), 1e-15);
    thenar_recording_close(recording);
    unlink(RECORDING);
}

static void a_recording_cut_anywhere_has_exactly_the_whole_frames_before_the_cut(void **state) {
    (void)state;
    uint64_t ends[FIXTURE_FRAMES + 1];
    fixture_record(RECORDING, THENAR_RECORDING_FLOAT32, ends);
    file_bytes bytes;
    thenar_error error;
    assert_ok(file_read(RECORDING, FILE_SIZE_LIMIT, &bytes, &error), error);
    for (size_t size = bytes.size; size-- > 0;) {
        assert_int_equal(truncate(RECORDING, (off_t)size), 0);
        int expected = -1;
        for (int k = 0; k <= FIXTURE_FRAMES; k++)
            if (ends[k] <= size) expected = k;
        bool whole = false;
        int got = read_all(THENAR_RECORDING_FLOAT32, &whole);
        if (got != expected || whole) {
            print_error("cut at %zu of %zu: %d frames, expected %d\n", size, bytes.size, got, expected);
            fail();
        }
    }
    free(bytes.data);
    unlink(RECORDING);
}

/* Flips bits of every byte of the file in turn. Whatever is still delivered is exact: read_frame compares it.
 */
static void flip_every_byte(size_t first_frame_byte, const uint64_t *ends, bool has_index) {
    int file = open(RECORDING, O_RDWR);
    assert_true(file >= 0);
    off_t size = lseek(file, 0, SEEK_END);
    for (off_t at = 0; at < size; at++) {
        unsigned char byte, masks[] = {0x01, 0x80, 0xff};
        assert_int_equal(pread(file, &byte, 1, at), 1);
        for (int m = 0; m < 3; m++) {
            unsigned char wrong = byte ^ masks[m];
            assert_int_equal(pwrite(file, &wrong, 1, at), 1);
            bool whole = true;
            int got = read_all(THENAR_RECORDING_FLOAT32, &whole), before = -1;
            for (int k = 0; k <= FIXTURE_FRAMES; k++)
                if (ends[k] <= (uint64_t)at) before = k;
            int expected = before; /* shorter: the frames in front of the damage */
            if (has_index && at >= (off_t)first_frame_byte)
                expected = before < FIXTURE_FRAMES ? FIXTURE_FRAMES - 1 : before;
            if (got != expected) {
                print_error("byte %lld ^ %02x: %d frames, expected %d\n", (long long)at, masks[m], got, expected);
                fail();
            }
            assert_false(whole && before == FIXTURE_FRAMES);
        }
        assert_int_equal(pwrite(file, &byte, 1, at), 1);
    }
    close(file);
}

static void a_flipped_byte_is_noticed_wherever_it_is(void **state) {
    (void)state;
    uint64_t ends[FIXTURE_FRAMES + 1];
    fixture_record(RECORDING, THENAR_RECORDING_FLOAT32, ends);
    flip_every_byte(ends[0], ends, true);
    assert_int_equal(truncate(RECORDING, (off_t)ends[FIXTURE_FRAMES]), 0);
    flip_every_byte(ends[0], ends, false);
    unlink(RECORDING);
}

static void damage_is_reported_with_the_last_good_frame(void **state) {
    (void)state;
    uint64_t ends[FIXTURE_FRAMES + 1];
    fixture_record(RECORDING, THENAR_RECORDING_FLOAT32, ends);
    assert_int_equal(truncate(RECORDING, (off_t)ends[3] + 10), 0);
    thenar_recording *recording;
    thenar_error error;
    assert_ok(thenar_recording_open(RECORDING, &recording, &error), error);
    assert_non_null(strstr(thenar_recording_damage(recording), RECORDING ": damaged after frame 2: "));
    thenar_recording_close(recording);
    assert_int_equal(truncate(RECORDING, (off_t)ends[3]), 0);
    assert_ok(thenar_recording_open(RECORDING, &recording, &error), error);
    assert_non_null(strstr(thenar_recording_damage(recording), "not closed by its writer; it has 3 complete frames"));
    thenar_recording_close(recording);
    unlink(RECORDING);
}

static void put_chunk(FILE *file, const char *type, uint32_t flags, const void *payload, size_t stored, uint64_t raw) {
    recording_chunk chunk = {.flags = flags, .stored_size = stored, .raw_size = raw};
    memcpy(chunk.type, type, 4);
    chunk.checksum = recording_checksum_payload(recording_checksum_header(&chunk), payload, stored);
    fwrite(&chunk, sizeof chunk, 1, file);
    fwrite(payload, 1, stored, file);
}

static FILE *forge_version(const char *head, uint32_t version) {
    FILE *file = fopen(RECORDING, "wb");
    recording_preamble preamble = {.version = version};
    memcpy(preamble.magic, recording_magic, 8);
    fwrite(&preamble, sizeof preamble, 1, file);
    put_chunk(file, "HEAD", 0, head, strlen(head), strlen(head));
    return file;
}

static FILE *forge(const char *head) {
    return forge_version(head, RECORDING_VERSION);
}

static void expect_open_error(const char *part) {
    thenar_recording *recording;
    thenar_error error = {0};
    assert_int_equal(thenar_recording_open(RECORDING, &recording, &error), THENAR_ERROR_INPUT);
    if (!strstr(error.text, part)) {
        print_error("\"%s\" does not say \"%s\"\n", error.text, part);
        fail();
    }
}

#define HEAD_START "{\"scene\":\"a\",\"thenar_version\":\"0\",\"solver\":\"n\",\"dt\":1,\"metadata\":{},"
#define HEAD_BODY(nodes)                                                                                               \
    "{\"name\":\"b\",\"kind\":\"soft\",\"nodes\":" nodes                                                               \
    ",\"tets\":0,\"vertices\":0,\"triangles\":0,\"surface\":\"none\"}"
#define HEAD_CHANNEL(body, count, components)                                                                          \
    "{\"name\":\"c\",\"unit\":\"\",\"body\":" body ",\"place\":\"nodes\",\"count\":" count                             \
    ",\"components\":" components ",\"type\":\"f32\"}"

static void a_header_that_lies_is_refused_by_name(void **state) {
    (void)state;
    static const struct {
        const char *head, *message;
    } cases[] = {
        {"{", "HEAD: "},
        {"[]", "HEAD: not an object"},
        {"{\"bodies\":[]}", "HEAD: channels: expected a list"},
        {HEAD_START "\"bodies\":[" HEAD_BODY("-1") "],\"channels\":[]}", "HEAD: bodies[0].nodes: expected a whole"},
        {HEAD_START "\"bodies\":[" HEAD_BODY("1e99") "],\"channels\":[]}", "HEAD: bodies[0].nodes"},
        {HEAD_START "\"bodies\":[" HEAD_BODY("1") "," HEAD_BODY("1") "],\"channels\":[]}", "HEAD: bodies[1].name"},
        {HEAD_START "\"contacts\":-1,\"bodies\":[],\"channels\":[]}", "HEAD: contacts: expected a whole number within"},
        {HEAD_START "\"contacts\":true,\"bodies\":[],\"channels\":[]}", "HEAD: contacts: expected a whole number"},
        {HEAD_START "\"bodies\":[7],\"channels\":[]}", "HEAD: bodies[0].name"},
        {HEAD_START "\"bodies\":[],\"channels\":[" HEAD_CHANNEL("0", "1", "1") "]}", "HEAD: channels[0].place"},
        {HEAD_START "\"bodies\":[" HEAD_BODY("1") "],\"channels\":[" HEAD_CHANNEL("1", "1", "1") "]}",
         "HEAD: channels[0].body: expected a whole number within 0..0"},
        {HEAD_START "\"bodies\":[" HEAD_BODY("1") "],\"channels\":[" HEAD_CHANNEL("0", "2", "1") "]}",
         "HEAD: channels[0].count"},
        {HEAD_START "\"bodies\":[" HEAD_BODY("1") "],\"channels\":[" HEAD_CHANNEL("0", "1", "9999") "]}",
         "HEAD: channels[0].components"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fclose(forge(cases[i].head));
        expect_open_error(cases[i].message);
    }
    unlink(RECORDING);
}

static void a_small_file_cannot_ask_for_much_memory(void **state) {
    (void)state;
    const char payload[64] = {0};
    FILE *file = forge(HEAD_START "\"bodies\":[" HEAD_BODY("2147483647") "],\"channels\":[]}");
    put_chunk(file, "MESH", RECORDING_FLAG_ZSTD, payload, sizeof payload, 24 * 2147483647ull);
    fclose(file);
    expect_open_error("expand more than 1024 times");

    /* A frame whose numbers are said to be many, but whose zstd frame holds few. */
    file = forge(HEAD_START "\"bodies\":[],\"channels\":[{\"name\":\"c\",\"unit\":\"\",\"body\":-1,\"place\":\"run\","
                            "\"count\":10000,\"components\":1,\"type\":\"f32\"}]}");
    char packed[256] = {0};
    size_t size = ZSTD_compress(packed + 16, sizeof packed - 16, payload, sizeof payload, 1);
    assert_false(ZSTD_isError(size));
    put_chunk(file, "FRAM", RECORDING_FLAG_ZSTD, packed, 16 + 100, 16 + 40000);
    fclose(file);
    thenar_recording *recording;
    thenar_error error;
    double *values = MEMORY_ARRAY(double, 10000);
    assert_ok(thenar_recording_open(RECORDING, &recording, &error), error);
    assert_int_equal(thenar_recording_read_channel(recording, 0, 0, values, &error), THENAR_ERROR_INPUT);
    assert_non_null(strstr(error.text, "size that HEAD implies"));
    thenar_recording_close(recording);
    free(values);
    unlink(RECORDING);
}

/* What version 1 was: no word of contacts in HEAD, nothing behind the channels. */
static void a_recording_of_version_1_is_read_without_contacts(void **state) {
    (void)state;
    FILE *file =
        forge_version(HEAD_START "\"bodies\":[" HEAD_BODY("1") "],\"channels\":[" HEAD_CHANNEL("0", "1", "1") "]}", 1);
    double origin[3] = {0}, moment[2] = {0, 0.5};
    float value = 0.25F;
    char frame[sizeof moment + sizeof value];
    memcpy(frame, moment, sizeof moment);
    memcpy(frame + sizeof moment, &value, sizeof value);
    put_chunk(file, "MESH", 0, origin, sizeof origin, sizeof origin);
    put_chunk(file, "FRAM", 0, frame, sizeof frame, sizeof frame);
    fclose(file);
    thenar_recording *recording;
    thenar_error error;
    double got;
    const thenar_contact *contacts;
    int count = -1;
    assert_ok(thenar_recording_open(RECORDING, &recording, &error), error);
    assert_int_equal(thenar_recording_get_info(recording).max_contacts, 0);
    assert_ok(thenar_recording_read_channel(recording, 0, 0, &got, &error), error);
    assert_near(got, 0.25, 0);
    assert_ok(thenar_recording_read_contacts(recording, 0, &contacts, &count, &error), error);
    assert_int_equal(count, 0);
    thenar_recording_close(recording);
    unlink(RECORDING);
}

static void a_recording_of_a_version_to_come_is_refused_by_name(void **state) {
    (void)state;
    fclose(forge_version(HEAD_START "\"bodies\":[],\"channels\":[]}", 3));
    expect_open_error("has version 3 of the format; expected version 1 to 2");
    unlink(RECORDING);
}

/* One contact in the order of docs/recording-format.md, of which `change` changes one integer. */
static thenar_status read_forged_contact(int change, int to, int max, const thenar_contact **contacts, int *count,
                                         thenar_recording **recording, thenar_error *error) {
    char head[512], frame[16 + 72] = {0};
    snprintf(head, sizeof head, HEAD_START "\"contacts\":%d,\"bodies\":[" HEAD_BODY("1") "],\"channels\":[]}", max);
    int integers[6] = {0, 0, 7, -1, -1, 1};
    float reals[12] = {1, 2, 3, 0, 1, 0, -0.5F, 4, 5, 6, 7, 8};
    if (change >= 0) integers[change] = to;
    memcpy(frame + 16, integers, sizeof integers);
    memcpy(frame + 16 + sizeof integers, reals, sizeof reals);
    double origin[3] = {0};
    FILE *file = forge(head);
    put_chunk(file, "MESH", 0, origin, sizeof origin, sizeof origin);
    put_chunk(file, "FRAM", 0, frame, sizeof frame, sizeof frame);
    fclose(file);
    assert_ok(thenar_recording_open(RECORDING, recording, error), *error);
    if (thenar_recording_frame_count(*recording) == 0) return THENAR_ERROR_INPUT;
    return thenar_recording_read_contacts(*recording, 0, contacts, count, error);
}

static void contacts_lie_in_a_frame_as_the_format_says_and_name_what_is_there(void **state) {
    (void)state;
    const thenar_contact *contacts;
    thenar_recording *recording;
    thenar_error error;
    int count;
    assert_ok(read_forged_contact(-1, 0, 1, &contacts, &count, &recording, &error), error);
    assert_int_equal(count, 1);
    const thenar_contact expected = {.vertex = 7,
                                     .face = {-1, -1},
                                     .sticks = 1,
                                     .position = {1, 2, 3},
                                     .normal = {0, 1, 0},
                                     .gap = -0.5,
                                     .force = 4,
                                     .friction = {5, 6, 7},
                                     .area = 8};
    expect_contact(contacts, &expected);
    thenar_recording_close(recording);
    static const int wrong[][2] = {{0, 1}, {0, -1}, {1, 1}, {2, -1}, {3, 0}, {3, -2}, {4, 0}, {5, 2}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(read_forged_contact(wrong[i][0], wrong[i][1], 1, &contacts, &count, &recording, &error),
                         THENAR_ERROR_INPUT);
        assert_non_null(strstr(error.text, "a contact has an index out of range"));
        assert_null(contacts);
        thenar_recording_close(recording);
    }
    /* More than HEAD allows: the frame is not one of this file. */
    assert_int_equal(read_forged_contact(-1, 0, 0, &contacts, &count, &recording, &error), THENAR_ERROR_INPUT);
    assert_non_null(strstr(thenar_recording_damage(recording), "size that HEAD implies"));
    thenar_recording_close(recording);
    unlink(RECORDING);
}

static void numbers_that_compress_too_well_are_stored_so_that_they_can_be_read(void **state) {
    (void)state;
    thenar_recording_channel channel = {"c", "", -1, THENAR_RECORDING_RUN, 100000, 1, THENAR_RECORDING_FLOAT64};
    recording_description description = {
        .scene = "s", .solver = "n", .dt = 1, .channels = &channel, .channel_count = 1};
    recording_writer *writer;
    thenar_recording *recording;
    thenar_error error;
    double *zeros = MEMORY_ARRAY(double, 100000), *values = MEMORY_ARRAY(double, 100000);
    const double *pointers[] = {zeros};
    assert_ok(recording_create(RECORDING, &description, &writer, &error), error);
    recording_frame frame = {.values = pointers};
    assert_ok(recording_write_frame(writer, &frame, &error), error);
    assert_ok(recording_close(writer, &error), error);
    memset(values, 1, 100000 * sizeof *values);
    assert_ok(thenar_recording_open(RECORDING, &recording, &error), error);
    assert_ok(thenar_recording_read_channel(recording, 0, 0, values, &error), error);
    assert_memory_equal(values, zeros, 100000 * sizeof *values);
    thenar_recording_close(recording);
    free(zeros);
    free(values);
    unlink(RECORDING);
}

static void chunks_of_unknown_types_are_skipped(void **state) {
    (void)state;
    FILE *file = forge(HEAD_START "\"bodies\":[" HEAD_BODY("1") "],\"channels\":[]}");
    double origin[3] = {0}, moment[2] = {0, 0.5};
    put_chunk(file, "LATR", 12345, "news", 4, 4);
    put_chunk(file, "MESH", 0, origin, sizeof origin, sizeof origin);
    put_chunk(file, "FRAM", 0, moment, sizeof moment, sizeof moment);
    put_chunk(file, "LATR", 0, "more", 4, 4);
    put_chunk(file, "FRAM", 0, moment, sizeof moment, sizeof moment);
    fclose(file);
    thenar_recording *recording;
    thenar_error error;
    assert_ok(thenar_recording_open(RECORDING, &recording, &error), error);
    assert_int_equal(thenar_recording_frame_count(recording), 2);
    assert_near(thenar_recording_frame_time(recording, 1), 0.5, 0);
    thenar_recording_close(recording);
    unlink(RECORDING);
}

static void what_is_not_a_recording_is_refused(void **state) {
    (void)state;
    thenar_recording *recording;
    thenar_error error;
    assert_int_equal(thenar_recording_open(BINARY_DIR "/no-such-file", &recording, &error), THENAR_ERROR_FILE);
    assert_non_null(strstr(error.text, "No such file"));
    assert_int_equal(thenar_recording_open(BINARY_DIR, &recording, &error), THENAR_ERROR_INPUT);
    FILE *file = fopen(RECORDING, "wb");
    fputs("bodies: {}\n", file);
    fclose(file);
    expect_open_error("is not a recording");
    unlink(RECORDING);
}

static void a_full_disk_is_an_error_with_the_file_name(void **state) {
    (void)state;
    recording_writer *writer;
    thenar_error error = {0};
    assert_int_equal(fixture_create("/dev/full", THENAR_RECORDING_FLOAT32, &writer, &error), THENAR_ERROR_FILE);
    assert_null(writer);
    assert_string_equal(error.text, "/dev/full: cannot write the header: No space left on device");
}

static void a_missing_folder_is_an_error_with_its_name(void **state) {
    (void)state;
    recording_writer *writer;
    thenar_error error = {0};
    assert_int_equal(fixture_create("/no/folder/a", THENAR_RECORDING_FLOAT32, &writer, &error), THENAR_ERROR_FILE);
    assert_null(writer);
    assert_string_equal(error.text, "/no/folder/a: cannot write: No such file or directory");
}

/* The index is made of what stands in the file: if another has cut it, closing says so; what is left can be read. */
static void a_recording_truncated_by_another_program_is_an_error_on_close(void **state) {
    (void)state;
    uint64_t ends[FIXTURE_FRAMES + 1];
    fixture_record(RECORDING, THENAR_RECORDING_FLOAT32, ends);
    recording_writer *writer;
    thenar_error error = {0};
    assert_ok(fixture_create(RECORDING, THENAR_RECORDING_FLOAT32, &writer, &error), error);
    for (int frame = 0; frame < 3; frame++) assert_ok(fixture_write_frame(writer, frame, &error), error);
    assert_int_equal(truncate(RECORDING, (off_t)ends[2]), 0);
    assert_int_equal(recording_close(writer, &error), THENAR_ERROR_FILE);
    assert_string_equal(error.text, RECORDING ": cannot read back the frames for the index: Input/output error");
    assert_int_equal(read_all(THENAR_RECORDING_FLOAT32, NULL), 2);
    unlink(RECORDING);
}

/* A limit on the size of files stands in for a disk that fills up: write(2) comes back short, then fails. */
static void a_failed_write_is_reported_with_its_frame_and_keeps_the_frames_before(void **state) {
    (void)state;
    uint64_t ends[FIXTURE_FRAMES + 1];
    fixture_record(RECORDING, THENAR_RECORDING_FLOAT32, ends);
    struct rlimit saved;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &saved), 0);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    for (uint64_t limit = ends[0]; limit < ends[FIXTURE_FRAMES]; limit += 7) {
        int fits = 0;
        while (ends[fits + 1] <= limit) fits++;
        recording_writer *writer;
        thenar_error error = {0};
        struct rlimit small = {.rlim_cur = limit, .rlim_max = saved.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        thenar_status created = fixture_create(RECORDING, THENAR_RECORDING_FLOAT32, &writer, &error);
        int frame = 0;
        while (created == THENAR_OK && fixture_write_frame(writer, frame, &error) == THENAR_OK) frame++;
        thenar_status again = created == THENAR_OK ? fixture_write_frame(writer, frame, NULL) : THENAR_OK;
        thenar_error extra = {0};
        if (created == THENAR_OK) recording_write_extra(writer, "MORE", "", 0, false, &extra);
        thenar_error last = {0};
        thenar_status closed = created == THENAR_OK ? recording_close(writer, &last) : THENAR_OK;
        setrlimit(RLIMIT_FSIZE, &saved);
        assert_ok(created, error);
        assert_int_equal(frame, fits);
        assert_int_equal(again, THENAR_ERROR_FILE);
        assert_int_equal(closed, THENAR_ERROR_FILE);
        char expected[256];
        snprintf(expected, sizeof expected, "%s: cannot write frame %d: File too large", RECORDING, fits);
        assert_string_equal(error.text, expected);
        assert_string_equal(last.text, expected);
        assert_string_equal(extra.text, expected);
        assert_int_equal(read_all(THENAR_RECORDING_FLOAT32, NULL), fits);
    }
    signal(SIGXFSZ, handler);
    unlink(RECORDING);
}

/* The child writes frames as fast as it can and counts those that recording_write_frame has accepted. */
static void write_until_killed(volatile int *accepted) {
    recording_writer *writer;
    if (fixture_create(RECORDING, THENAR_RECORDING_FLOAT32, &writer, NULL) != THENAR_OK) _exit(1);
    for (int frame = 0;; frame++) {
        if (fixture_write_frame(writer, frame, NULL) != THENAR_OK) _exit(1);
        *accepted = frame + 1;
    }
}

static void a_killed_writer_loses_at_most_the_frame_it_was_writing(void **state) {
    (void)state;
    volatile int *accepted = mmap(NULL, sizeof *accepted, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(accepted != MAP_FAILED);
    random_source random = {.state = 5};
    for (int round = 0; round < 20; round++) {
        *accepted = 0;
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) write_until_killed(accepted);
        for (int wait = 0; *accepted < 1 && wait < 100000; wait++) usleep(100);
        assert_true(*accepted >= 1);
        usleep((useconds_t)random_uniform(&random, 0, 5000));
        kill(child, SIGKILL);
        int end;
        assert_int_equal(waitpid(child, &end, 0), child);
        assert_true(WIFSIGNALED(end));
        int got = read_all(THENAR_RECORDING_FLOAT32, NULL);
        assert_in_range(got, *accepted, *accepted + 1); /* one more: written, but killed before it was counted */
    }
    munmap((void *)accepted, sizeof *accepted);
    unlink(RECORDING);
}

static void names_that_are_not_text_are_refused(void **state) {
    (void)state;
    recording_description description = {.scene = "\xff\xfe", .solver = "n", .dt = 1};
    recording_writer *writer;
    thenar_error error = {0};
    assert_int_equal(recording_create(RECORDING, &description, &writer, &error), THENAR_ERROR_INPUT);
    assert_non_null(strstr(error.text, "UTF-8"));
    description = (recording_description){.scene = "s", .solver = "n", .dt = 1, .metadata = "[1]"};
    assert_int_equal(recording_create(RECORDING, &description, &writer, &error), THENAR_ERROR_INPUT);
    assert_non_null(strstr(error.text, "metadata"));
    unlink(RECORDING);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_recording_returns_every_number_as_it_was_stored),
    cmocka_unit_test(a_recording_returns_the_description_of_the_run),
    cmocka_unit_test(meshes_come_back_as_they_went_in),
    cmocka_unit_test(surfaces_follow_nodes_embeddings_and_poses),
    cmocka_unit_test(a_recording_cut_anywhere_has_exactly_the_whole_frames_before_the_cut),
    cmocka_unit_test(a_flipped_byte_is_noticed_wherever_it_is),
    cmocka_unit_test(damage_is_reported_with_the_last_good_frame),
    cmocka_unit_test(a_header_that_lies_is_refused_by_name),
    cmocka_unit_test(a_small_file_cannot_ask_for_much_memory),
    cmocka_unit_test(a_recording_of_version_1_is_read_without_contacts),
    cmocka_unit_test(a_recording_of_a_version_to_come_is_refused_by_name),
    cmocka_unit_test(contacts_lie_in_a_frame_as_the_format_says_and_name_what_is_there),
    cmocka_unit_test(numbers_that_compress_too_well_are_stored_so_that_they_can_be_read),
    cmocka_unit_test(chunks_of_unknown_types_are_skipped),
    cmocka_unit_test(what_is_not_a_recording_is_refused),
    cmocka_unit_test(a_full_disk_is_an_error_with_the_file_name),
    cmocka_unit_test(a_missing_folder_is_an_error_with_its_name),
    cmocka_unit_test(a_recording_truncated_by_another_program_is_an_error_on_close),
    cmocka_unit_test(a_failed_write_is_reported_with_its_frame_and_keeps_the_frames_before),
    cmocka_unit_test(a_killed_writer_loses_at_most_the_frame_it_was_writing),
    cmocka_unit_test(names_that_are_not_text_are_refused),
};

TEST_MAIN(tests)
