/* No small file makes a reader take much memory or time: hostile inputs of every format, how much each takes, and that
 * memory stays within what docs/reliability.md says. Times are printed for an input and for one twice as long: people judge. */
#include "peak_memory.h"

#include "core/threads.h"
#include "io/file.h"
#include "hand/retarget.h"
#include "device/device.h"
#include "io/recording.h"
#include "scene/config.h"

#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

typedef void (*reader)(const char *name, const file_bytes *bytes);

static void read_yaml(const char *name, const file_bytes *bytes) {
    config tree = {0};
    thenar_error error;
    config_parse(&tree, bytes->data, bytes->size, name, &error);
    config_free(&tree);
}

static void read_json(const char *name, const file_bytes *bytes) {
    (void)name;
    json_text_fault fault;
    json_decref(json_text_read(bytes->data, bytes->size, &fault));
}

static void read_mesh(const char *name, const file_bytes *bytes) {
    mesh_file file;
    thenar_error error;
    mesh_file_parse(name, *bytes, &file, &error);
    mesh_file_free(&file);
}

static void read_track(const char *name, const file_bytes *bytes) {
    track t;
    thenar_error error;
    track_parse(bytes->data, bytes->size, name, &t, &error);
    track_free(&t);
}

static void read_user(const char *name, const file_bytes *bytes) {
    user_model model;
    thenar_error error;
    user_model_parse(bytes->data, bytes->size, name, &model, &error);
    user_model_free(&model);
}

static int open_file(const file_bytes *bytes, char path[32]) {
    int file = memfd_create("test", 0);
    assert_true(file >= 0 && write(file, bytes->data, bytes->size) == (ssize_t)bytes->size);
    snprintf(path, 32, "/proc/self/fd/%d", file);
    return file;
}

static void read_recorded(const char *name, const file_bytes *bytes) {
    char path[32], message[256];
    int file = open_file(bytes, path);
    (void)name;
    void *device = device_recorded_table.open(path, message, sizeof message);
    if (device) device_recorded_table.close(device);
    close(file);
}

/* Every mesh, and one frame. */
static void read_recording(const char *name, const file_bytes *bytes) {
    char path[32];
    int file = open_file(bytes, path), count;
    (void)name;
    thenar_recording *recording;
    thenar_error error;
    const thenar_recording_mesh *mesh;
    const thenar_contact *contacts;
    if (thenar_recording_open(path, &recording, &error) == THENAR_OK) {
        for (int b = 0; b < thenar_recording_body_count(recording); b++)
            thenar_recording_read_mesh(recording, b, &mesh, &error);
        if (thenar_recording_frame_count(recording) > 0)
            thenar_recording_read_contacts(recording, 0, &contacts, &count, &error);
    }
    thenar_recording_close(recording);
    close(file);
}

/* A head, something again and again, a tail. %d in what is repeated becomes its number. */
typedef struct hostile {
    const char *name;
    reader read;
    const char *head, *repeated, *tail;
} hostile;

#define LAUGHS                                                                                                         \
    "a: &a [x, x, x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]\n"                           \
    "c: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b]\nd: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c, *c]\n"                 \
    "e: &e [*d, *d, *d, *d, *d, *d, *d, *d, *d, *d]\nf: &f [*e, *e, *e, *e, *e, *e, *e, *e, *e, *e]\n"
#define NULLS                                                                                                          \
    "null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, "     \
    "null, null, null, null, null, null, null"
#define PLY "ply\nformat ascii 1.0\nelement vertex 2147483647\nproperty float x\nproperty float y\nproperty float z\n"
#define VTK "# vtk DataFile Version 3.0\nt\nASCII\nDATASET UNSTRUCTURED_GRID\n"

static const hostile inputs[] = {
    {"aliases of aliases.yaml", read_yaml, LAUGHS, "# %d\n", ""},
    {"lists in lists.yaml", read_yaml, "", "[", ""},
    {"lists in lists by dashes.yaml", read_yaml, "", "- ", ""},
    {"mappings in mappings.yaml", read_yaml, "", "{a: ", ""},
    {"keys that are questions.yaml", read_yaml, "", "? ", ""},
    {"lists of nothing.yaml", read_yaml, "[", "[],", "]"},
    {"short values.yaml", read_yaml, "[", "a,", "]"},
    {"many keys.yaml", read_yaml, "", "k%d: 1\n", ""},
    {"many anchors.yaml", read_yaml, "", "k%d: &a%d 1\n", ""},
    {"many aliases.yaml", read_yaml, "a: &a 1\nb: [", "*a ,", "]"},
    {"colons.yaml", read_yaml, "", ": ", ""},
    {"quotes.yaml", read_yaml, "", "''", ""},
    {"escapes.yaml", read_yaml, "\"", "\\n", "\""},
    {"lines of text.yaml", read_yaml, "a: |\n", "  x\n", ""},
    {"empty lines.yaml", read_yaml, "a\n", "\n", "b"},
    {"tags.yaml", read_yaml, "", "!a ", ""},
    {"directives.yaml", read_yaml, "", "%%TAG !a%d! b\n", "--- a"},
    {"lists in lists.json", read_json, "", "[", ""},
    {"objects in objects.json", read_json, "", "{\"a\":", ""},
    {"short numbers.json", read_json, "[0", ",0", "]"},
    {"empty lists.json", read_json, "[0", ",[]", "]"},
    {"empty objects.json", read_json, "[0", ",{}", "]"},
    {"short texts.json", read_json, "[0", ",\"\"", "]"},
    {"a long text.json", read_json, "\"", "\\u00e9", "\""},
    {"a long number.json", read_json, "0.", "1", ""},
    {"many keys.json", read_json, "{\"a\":0", ",\"%d\":0", "}"},
    {"frames of nothing.jsonl", read_track, "", "{\"t\":%d,\"hand\":\"left\",\"joints\":[" NULLS "]}\n", ""},
    {"frames of a glove.jsonl", read_track, "", "{\"t\":%d,\"hand\":\"left\",\"flexion\":[0,0,0,0,0]}\n", ""},
    {"frames at one time.jsonl", read_track, "", "{\"t\":0,\"hand\":\"left\",\"flexion\":[0,0,0,0,0]}\n", ""},
    {"empty lines.jsonl", read_track, "", "\n", ""},
    {"keys.json", read_user, "{\"keys\":[{\"t\":0}", ",{\"t\":1%d}", "]}"},
    {"frames.jsonl", read_recorded, "", "{\"t\":%d,\"position\":[0,0,0]}\n", ""},
    {"vertices.obj", read_mesh, "", "v 0 0 0\n", "f 1 2 3\n"},
    {"faces.obj", read_mesh, "v 0 0 0\nv 1 0 0\nv 0 1 0\n", "f 1 2 3\n", ""},
    {"a face of many corners.obj", read_mesh, "v 0 0 0\nv 1 0 0\nv 0 1 0\nf", " 1", "\n"},
    {"lines that go on.obj", read_mesh, "v", " \\\n", ""},
    {"facets.stl", read_mesh, "solid\n",
     "facet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 %d 0\nendloop\nendfacet\n", "endsolid\n"},
    {"billions of vertices.ply", read_mesh, PLY "end_header\n", "0 0 0\n", ""},
    {"elements without properties.ply", read_mesh, "ply\nformat ascii 1.0\n", "element e%d 2147483647\n",
     "end_header\n"},
    {"many properties.ply", read_mesh, "ply\nformat ascii 1.0\nelement e 1\n", "property char p%d\n", "end_header\n"},
    {"billions of points.vtk", read_mesh, VTK "POINTS 2147483647 float\n", "0 0 0\n", ""},
    {"billions of cells.vtk", read_mesh, VTK "POINTS 1 float\n0 0 0\nCELLS 2147483647 2147483647\n", "1 0\n", ""},
    {"empty cells.vtk", read_mesh, VTK "POINTS 1 float\n0 0 0\nCELLS 20000 20000\n", "0\n", ""},
    {"billions of values.vtk", read_mesh, VTK "FIELD f 2147483647\n", "a 0 2147483647 float\n", ""},
    {"billions of nodes.msh", read_mesh, "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n2147483647\n", "1 0 0 0\n", ""},
    {"billions of blocks.msh", read_mesh, "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Nodes\n2147483647 0 1 1\n",
     "0 0 0 0\n", ""},
    {"sections that do not end.msh", read_mesh, "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n", "$A\n$EndA\n", ""},
    {"names of regions.msh", read_mesh, "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n20000\n", "3 1 \"\"\n",
     ""},
    {"tags in tags.vtu", read_mesh, "<VTKFile type=\"UnstructuredGrid\">", "<a>", ""},
    {"comments.vtu", read_mesh, "<VTKFile type=\"UnstructuredGrid\">", "<!---->", ""},
    {"pieces of nothing.vtu", read_mesh, "<VTKFile type=\"UnstructuredGrid\">",
     "<Piece NumberOfPoints=\"0\" NumberOfCells=\"0\"></Piece>", "</VTKFile>"},
};

static file_bytes make(const hostile *input, size_t size) {
    char *text = malloc(size + 4096);
    assert_non_null(text);
    size_t used = (size_t)sprintf(text, "%s", input->head);
    for (int i = 0; used < size; i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        used += (size_t)sprintf(text + used, input->repeated, i, i);
#pragma GCC diagnostic pop
    }
    used += (size_t)sprintf(text + used, "%s", input->tail);
    return (file_bytes){.data = text, .size = used};
}

static double measure(const hostile *input, file_bytes bytes, long *peak) {
    int64_t began = clock_now();
    long before = memory_used;
    memory_peak_begin();
    input->read(input->name, &bytes);
    *peak = memory_peak_since(before);
    assert_int_equal((long)memory_used, before);
    return 1e-6 * (double)(clock_now() - began);
}

#define SMALL 32768
#define FLOOR (1 << 20)    /* bytes that any reader may take, whatever the file: buffers, the largest scratch */
#define BYTES_A_BYTE 110   /* of JSON, YAML and meshes */
#define ALIASES (32 << 20) /* bytes that the aliases of a YAML file may add */

static void memory_is_bounded_by_the_size_of_the_file(void **state) {
    (void)state;
    printf("%-36s %9s %9s %9s %9s\n", "input", "bytes", "peak", "ms", "ms twice");
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        long peak, peak_twice;
        file_bytes once = make(&inputs[i], SMALL), twice = make(&inputs[i], 2 * SMALL);
        double ms = measure(&inputs[i], once, &peak), ms_twice = measure(&inputs[i], twice, &peak_twice);
        printf("%-36s %9zu %9ld %9.2f %9.2f\n", inputs[i].name, once.size, peak, ms, ms_twice);
        long allowed = inputs[i].head == inputs[0].head ? ALIASES : FLOOR;
        if (peak > allowed + BYTES_A_BYTE * (long)once.size || peak_twice > allowed + BYTES_A_BYTE * (long)twice.size)
            fail_msg("%s: %ld bytes for %zu", inputs[i].name, peak, once.size);
        free(once.data);
        free(twice.data);
    }
}

/* Appends to `out` what of `text` is before `from`, and then `to`; returns what is behind `from`. */
static const char *put_replaced(file_bytes *out, const char *text, const char *from, const char *to) {
    const char *at = strstr(text, from);
    assert_non_null(at);
    memcpy(out->data + out->size, text, (size_t)(at - text));
    out->size += (size_t)(at - text);
    out->size += (size_t)sprintf(out->data + out->size, "%s", to);
    return at + strlen(from);
}

#define PIECE "{\"attributes\": {\"POSITION\": 1, \"JOINTS_0\": 2, \"WEIGHTS_0\": 3}, \"indices\": 4}"
#define INDICES "\"bufferView\": 4, \"componentType\": 5121, \"count\": 36"

/* Many pieces that share their arrays: so many corners that they are refused (3000 each), or not (36). */
static void a_hand_from_gltf_takes_memory_by_the_size_of_its_file(void **state) {
    (void)state;
    enum { PIECES = 20000, ZEROS = 3000 };
    file_bytes small;
    thenar_error error;
    assert_ok(file_read(SOURCE_DIR "/test/fuzz/corpus/gltf/text", FILE_SIZE_LIMIT, &small, &error), error);
    char zeros[ZEROS / 3 * 4 + 1] = "", buffer[ZEROS / 3 * 4 + 128];
    memset(zeros, 'A', sizeof zeros - 1);
    snprintf(buffer, sizeof buffer, "\"}, {\"byteLength\": %d, \"uri\": \"data:;base64,%s\"}]}", ZEROS, zeros);
    char *pieces = malloc(PIECES * (sizeof PIECE + 1));
    for (size_t i = 0, at = 0; i < PIECES; i++) at += (size_t)sprintf(pieces + at, "%s%s", i ? "," : "", PIECE);
    for (int refused = 0; refused < 2; refused++) {
        file_bytes large = {.data = malloc(small.size + strlen(pieces) + sizeof buffer + 256)};
        const char *rest = put_replaced(&large, small.data, PIECE, pieces);
        if (refused) {
            rest = put_replaced(&large, rest, INDICES, "\"bufferView\": 5, \"componentType\": 5121, \"count\": 3000");
            rest =
                put_replaced(&large, rest, "], \"buffers\"", ", {\"buffer\": 1, \"byteLength\": 3000}], \"buffers\"");
            rest = put_replaced(&large, rest, "\"}]}", buffer);
        }
        large.size += (size_t)sprintf(large.data + large.size, "%s", rest);
        hand_shape hand;
        double *weight;
        size_t size = large.size;
        long before = memory_used;
        memory_peak_begin();
        thenar_status status = hand_gltf_parse("hand.gltf", large, &hand, &weight, &error);
        long peak = memory_peak_since(before);
        printf("%zu bytes of glTF: %ld bytes\n", size, peak);
        assert_int_equal(status, refused ? THENAR_ERROR_INPUT : THENAR_OK);
        if (refused) assert_non_null(strstr(error.text, "vertices or corners for"));
        /* 65536 vertices and as many as bytes, each with a place and HAND_BONES weights, in arrays that grow by halves. */
        long vertices = 65536 + (long)size;
        assert_true(peak <=
                    FLOOR + BYTES_A_BYTE * (long)size + 3 * vertices * (long)(sizeof(double) * (HAND_BONES + 3)));
        free(weight);
        hand_shape_free(&hand);
    }
    free(pieces);
    free(small.data);
}

static void put_chunk(file_bytes *file, const char *type, uint32_t flags, const void *payload, size_t stored,
                      size_t raw) {
    recording_chunk chunk = {.flags = flags, .stored_size = stored, .raw_size = raw};
    memcpy(chunk.type, type, sizeof chunk.type);
    chunk.checksum = recording_checksum_payload(recording_checksum_header(&chunk), payload, stored);
    memcpy(file->data + file->size, &chunk, sizeof chunk);
    memcpy(file->data + file->size + sizeof chunk, payload, stored);
    file->size += sizeof chunk + stored;
}

/* A body of as many nodes as a header can say, in a mesh of zeros that packs very well: refused, or expanded by what the
 * format allows at most. */
static void a_recording_expands_no_more_than_its_format_allows(void **state) {
    (void)state;
    static const int counts[] = {2147483647, 100000000, 1000000, 100000, 4000};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        char head[1024], packed[65536];
        snprintf(
            head, sizeof head,
            "{\"scene\":\"s\",\"thenar_version\":\"0\",\"solver\":\"n\",\"dt\":0.001,\"contacts\":16777216,"
            "\"metadata\":{},"
            "\"bodies\":[{\"name\":\"a\",\"kind\":\"soft\",\"nodes\":%d,\"tets\":0,\"vertices\":0,\"triangles\":0,"
            "\"surface\":\"none\"}],\"channels\":[{\"name\":\"position\",\"unit\":\"m\",\"body\":0,\"place\":\"nodes\","
            "\"count\":%d,\"components\":3,\"type\":\"f64\"}]}",
            counts[i], counts[i]);
        size_t raw = 3 * sizeof(double) * (size_t)counts[i], real = raw < 1 << 25 ? raw : 1 << 25;
        char *zeros = calloc(real, 1);
        /* Just so much that it does not pack better than the format allows. */
        for (size_t k = 0; k < real / 900; k++) zeros[k] = (char)(k * 2654435761u >> 13);
        size_t stored = ZSTD_compress(packed, sizeof packed, zeros, real, 1);
        free(zeros);
        file_bytes file = {.data = calloc(1, 1 << 18)};
        memcpy(file.data, recording_magic, sizeof recording_magic);
        uint32_t version = RECORDING_VERSION;
        memcpy(file.data + 8, &version, sizeof version);
        file.size = sizeof(recording_preamble);
        put_chunk(&file, "HEAD", 0, head, strlen(head), strlen(head));
        put_chunk(&file, "MESH", RECORDING_FLAG_ZSTD | RECORDING_FLAG_PLANES, packed, stored, raw);
        put_chunk(&file, "FRAM", RECORDING_FLAG_ZSTD, packed, stored, raw);
        long before = memory_used;
        memory_peak_begin();
        read_recording("recording", &file);
        long peak = memory_peak_since(before);
        printf("%zu bytes of a recording that says %d nodes: %ld bytes\n", file.size, counts[i], peak);
        assert_true(peak <= FLOOR + 2 * RECORDING_EXPANSION_MAX * (long)file.size);
        free(file.data);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(memory_is_bounded_by_the_size_of_the_file),
    cmocka_unit_test(a_hand_from_gltf_takes_memory_by_the_size_of_its_file),
    cmocka_unit_test(a_recording_expands_no_more_than_its_format_allows),
};

TEST_MAIN(tests)
