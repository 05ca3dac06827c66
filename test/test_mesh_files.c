#include "mesh_samples.h"
#include "thenar/file.h"

#include "core/threads.h"
#include "core/hash.h"
#include "io/file.h"
#include "io/mesh_reader.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[] = "/tmp/thenar_mesh_files_XXXXXX";

static int make_directory(void **state) {
    (void)state;
    return mkdtemp(directory) ? 0 : -1;
}

static int remove_directory(void **state) {
    (void)state;
    return rmdir(directory);
}

static const char *path_of(const char *file) {
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", directory, file);
    return path;
}

/* Writes, reads through the file system, removes. */
static thenar_status read_file(const char *file, const void *data, size_t size, mesh_file *out, thenar_error *error) {
    const char *path = path_of(file);
    FILE *stream = fopen(path, "wb");
    assert_non_null(stream);
    assert_int_equal(fwrite(data, 1, size, stream), size);
    assert_int_equal(fclose(stream), 0);
    thenar_status status = mesh_file_read(path, out, error);
    assert_int_equal(remove(path), 0);
    return status;
}

static thenar_status read_text(const char *file, const char *text, mesh_file *out, thenar_error *error) {
    return read_file(file, text, strlen(text), out, error);
}

/* A copy of exactly the bytes and the terminating zero, so that the address sanitizer sees any step beyond.
 */
static thenar_status parse_copy(const char *file, const char *data, size_t size, mesh_file *out, thenar_error *error) {
    file_bytes bytes = {.data = malloc(size + 1), .size = size};
    assert_non_null(bytes.data);
    memcpy(bytes.data, data, size);
    bytes.data[size] = 0;
    thenar_status status = mesh_file_parse(file, bytes, out, error);
    free(bytes.data);
    return status;
}

static bool is_box_of_tets(const mesh_file *file, bool tags) {
    const thenar_tet_mesh *mesh = &file->tets;
    if (mesh->node_count != 8 || mesh->tet_count != 6) return false;
    if (memcmp(mesh->positions, box_nodes, sizeof box_nodes) != 0) return false;
    if (memcmp(mesh->tets, box_tets, sizeof box_tets) != 0) return false;
    if (!tags) return mesh->tags == NULL && file->region_count == 0;
    return mesh->tags && memcmp(mesh->tags, box_tags, sizeof box_tags) == 0 && file->region_count == 2 &&
           file->regions[0].tag == 7 && strcmp(file->regions[0].name, "soft flesh") == 0 && file->regions[1].tag == 9 &&
           strcmp(file->regions[1].name, "nail") == 0;
}

/* Corner by corner: STL numbers its vertices in another order. */
static bool is_box_of_triangles(const mesh_file *file) {
    const thenar_surface *surface = &file->surface;
    if (surface->vertex_count != 8 || surface->triangle_count != 12 || file->tets.tet_count != 0) return false;
    for (int i = 0; i < 36; i++)
        for (int axis = 0; axis < 3; axis++)
            if (surface->positions[3 * surface->triangles[i] + axis] != box_nodes[box_triangles[i / 3][i % 3]][axis])
                return false;
    return true;
}

static bool is_box(const mesh_sample *sample, const mesh_file *file) {
    return sample->tets ? is_box_of_tets(file, sample->tags) : is_box_of_triangles(file);
}

static void every_format_gives_the_same_box(void **state) {
    (void)state;
    for (size_t i = 0; i < MESH_SAMPLE_COUNT; i++) {
        sample_bytes bytes = sample_of(&mesh_samples[i]);
        mesh_file file;
        thenar_error error;
        assert_ok(read_file(mesh_samples[i].file, bytes.data, bytes.count, &file, &error), error);
        if (!is_box(&mesh_samples[i], &file)) fail_msg("%s is not the box", mesh_samples[i].file);
        assert_string_equal(file.note.text, "");
        mesh_file_free(&file);
        free(bytes.data);
    }
}

static void content_decides_the_format_before_the_extension(void **state) {
    (void)state;
    for (size_t i = 0; i < MESH_SAMPLE_COUNT; i++) {
        if (mesh_samples[i].write == sample_obj) continue;
        sample_bytes bytes = sample_of(&mesh_samples[i]);
        mesh_file file;
        thenar_error error;
        assert_ok(read_file("mesh.obj", bytes.data, bytes.count, &file, &error), error);
        assert_true(is_box(&mesh_samples[i], &file));
        mesh_file_free(&file);
        free(bytes.data);
    }
}

static void text_keeps_every_bit_of_a_double(void **state) {
    (void)state;
    const double numbers[] = {1.0 / 3, 0.1, 2e-7, 1.2345678901234567, -4.9e-5, 1e-300};
    char text[1024];
    snprintf(text, sizeof text, "v %.17g %.17g %.17g\nv %.17g %.17g %.17g\nv 0 0 0\nf 1 2 3\n", numbers[0], numbers[1],
             numbers[2], numbers[3], numbers[4], numbers[5]);
    mesh_file file;
    thenar_error error;
    assert_ok(read_text("a.obj", text, &file, &error), error);
    assert_memory_equal(file.surface.positions, numbers, sizeof numbers);
    mesh_file_free(&file);
}

static void a_binary_file_cut_anywhere_is_refused_or_the_same(void **state) {
    (void)state;
    for (size_t i = 0; i < MESH_SAMPLE_COUNT; i++) {
        sample_bytes bytes = sample_of(&mesh_samples[i]);
        for (size_t size = 0; size < bytes.count; size++) {
            mesh_file file;
            thenar_error error = {0};
            thenar_status status = parse_copy(mesh_samples[i].file, bytes.data, size, &file, &error);
            if (status != THENAR_OK) {
                assert_int_equal(status, THENAR_ERROR_INPUT);
                assert_non_null(strstr(error.text, mesh_samples[i].file));
                continue;
            }
            if (mesh_samples[i].binary && !is_box(&mesh_samples[i], &file))
                fail_msg("%s cut to %zu bytes is another mesh", mesh_samples[i].file, size);
            mesh_file_free(&file);
        }
        free(bytes.data);
    }
}

/* Independent of the readers' own checks: what came out is safe to use. */
static void check_finite(const mesh_file *file) {
    assert_true(file->tets.tet_count > 0 || file->surface.triangle_count > 0);
    for (int i = 0; i < 4 * file->tets.tet_count; i++)
        assert_in_range(file->tets.tets[i], 0, file->tets.node_count - 1);
    for (int i = 0; i < 3 * file->surface.triangle_count; i++)
        assert_in_range(file->surface.triangles[i], 0, file->surface.vertex_count - 1);
    for (int i = 0; i < 3 * file->tets.node_count; i++) assert_true(isfinite(file->tets.positions[i]));
    for (int i = 0; i < 3 * file->surface.vertex_count; i++) assert_true(isfinite(file->surface.positions[i]));
}

static void a_changed_byte_anywhere_is_refused_or_gives_a_valid_mesh(void **state) {
    (void)state;
    const int flips[] = {0x01, 0x04, 0x20, 0x80, 0xff};
    for (size_t i = 0; i < MESH_SAMPLE_COUNT; i++) {
        sample_bytes bytes = sample_of(&mesh_samples[i]);
        for (size_t at = 0; at < bytes.count; at++)
            for (size_t j = 0; j < sizeof flips / sizeof flips[0]; j++) {
                bytes.data[at] = (char)(bytes.data[at] ^ flips[j]);
                mesh_file file;
                thenar_error error = {0};
                if (parse_copy(mesh_samples[i].file, bytes.data, bytes.count, &file, &error) == THENAR_OK) {
                    check_finite(&file);
                    mesh_file_free(&file);
                } else {
                    assert_int_equal(error.status, THENAR_ERROR_INPUT);
                    assert_null(strpbrk(error.text, "\n\r"));
                }
                bytes.data[at] = (char)(bytes.data[at] ^ flips[j]);
            }
        free(bytes.data);
    }
}

typedef struct bad_file {
    const char *file, *text;
    const char *words[3]; /* all in the message, behind the file's name; NULL: none */
} bad_file;

#define GMSH_2(nodes, elements)                                                                                        \
    "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n" nodes "$EndNodes\n$Elements\n" elements "$EndElements"            \
    "\n"
#define FIVE_NODES "5\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n5 1 1 1\n"
#define GMSH_FIVE(elements) GMSH_2(FIVE_NODES, elements)
#define VTK(version, dataset) "# vtk DataFile Version " version "\n\nASCII\nDATASET " dataset "\n"
#define VTK_GRID(cells) VTK("3.0", "UNSTRUCTURED_GRID") "POINTS 5 float\n0 0 0 1 0 0 0 1 0 0 0 1 1 1 1\n" cells
#define VTU(type, format, count, cells)                                                                                \
    "<VTKFile type=\"" type "\"><UnstructuredGrid><Piece NumberOfPoints=\"" count "\" NumberOfCells=\"1\"><Points>"    \
    "<DataArray NumberOfComponents=\"3\" format=\"" format                                                             \
    "\">0 0 0 1 0 0 0 1 0 0 0 1</DataArray></Points><Cells>" cells "</Cells></Piece></UnstructuredGrid></VTKFile>"
#define VTU_CELLS(nodes, end, type)                                                                                    \
    "<DataArray Name=\"connectivity\" format=\"ascii\">" nodes "</DataArray>"                                          \
    "<DataArray Name=\"offsets\" format=\"ascii\">" end "</DataArray>"                                                 \
    "<DataArray Name=\"types\" format=\"ascii\">" type "</DataArray>"
#define OBJ_THREE "v 0 0 0\nv 1 0 0\nv 0 1 0\n"
#define STL(a, b, c)                                                                                                   \
    "solid x\nfacet normal 0 0 1\nouter loop\nvertex " a "\nvertex " b "\nvertex " c "\nendloop\nendfacet\n"
#define PLY(vertices, faces, body)                                                                                     \
    "ply\nformat ascii 1.0\nelement vertex " vertices "\nproperty float x\nproperty float y\nproperty float z\n"       \
    "element face " faces "\nproperty list uchar int vertex_index\nend_header\n" body

static const bad_file bad_files[] = {
    /* what every mesh is checked for */
    {"index.msh", GMSH_FIVE("2\n1 4 0 1 2 3 5\n2 4 0 1 2 3 99\n"), {"msh:15:", "node 99", "out of range"}},
    {"nan.msh",
     GMSH_2("4\n1 0 0 0\n2 nan 0 0\n3 0 1 0\n4 0 0 1\n", "1\n1 4 0 1 2 3 4\n"),
     {"msh:7:", "node 2", "finite"}},
    {"inf.msh",
     GMSH_2("4\n1 0 0 0\n2 1e999 0 0\n3 0 1 0\n4 0 0 1\n", "1\n1 4 0 1 2 3 4\n"),
     {"msh:7:", "inf", "finite"}},
    {"inverted.msh",
     GMSH_FIVE("2\n1 4 0 1 2 3 4\n2 4 0 2 3 5 4\n"),
     {"msh:15:", "tet 2 is inverted", "swap two nodes"}},
    {"flat.msh",
     GMSH_2("5\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n5 1 1 1e-13\n", "2\n1 4 0 1 2 3 4\n2 4 0 1 2 3 5\n"),
     {"msh:15:", "tet 2 is flat", "longest edge"}},
    {"twice.msh", GMSH_FIVE("3\n1 4 0 1 2 3 4\n2 4 0 2 3 4 5\n3 4 0 3 1 2 4\n"), {"msh:16:", "tet 3", "duplicate"}},
    {"groups.msh",
     GMSH_FIVE("3\n1 4 1 7 1 2 3 4\n2 4 1 7 2 3 4 5\n1 4 1 9 1 2 3 4\n"),
     {"duplicate", "physical group"}},
    {"repeated.msh", GMSH_FIVE("2\n1 4 0 1 2 3 4\n2 4 0 5 2 5 4\n"), {"msh:15:", "tet 2", "node 5 twice"}},
    {"unused.msh", GMSH_FIVE("1\n1 4 0 1 2 3 4\n"), {"msh:10:", "node 5 is unused"}},
    {"points.msh", GMSH_FIVE("1\n1 15 0 1\n"), {"no tets and no triangles"}},
    {"none.msh", GMSH_FIVE("0\n"), {"no tets and no triangles"}},
    /* Gmsh */
    {"tet10.msh", GMSH_FIVE("1\n1 11 0 1 2 3 4 5 1 2 3 4 5\n"), {"msh:14:", "tet10", "expected linear tets"}},
    {"hex.msh", GMSH_FIVE("1\n1 5 0 1 2 3 4 5 1 2 3\n"), {"msh:14:", "hexahedron"}},
    {"prism.msh", GMSH_FIVE("1\n1 6 0 1 2 3 4 5 1\n"), {"msh:14:", "prism"}},
    {"old.msh", "$MeshFormat\n4 0 8\n$EndMeshFormat\n", {"msh:2:1:", "version 4", "expected 2.2 or 4.1"}},
    {"tagged.msh", GMSH_2("2\n1 0 0 0\n1 1 0 0\n", "0\n"), {"msh:7:1:", "node 1 appears twice"}},
    {"more.msh", GMSH_FIVE("2\n1 4 0 1 2 3 4 5\n2 4 0 2 3 4 5\n"), {"msh:14:15:", "\"5\"", "end of the line"}},
    {"fewer.msh", GMSH_FIVE("2\n1 4 0 1 2 3 4\n"), {"msh:15:", "$EndElements", "element tag"}},
    {"behind.msh", GMSH_FIVE("2\n1 4 0 1 2 3 4\n2 4 0 5 4 3 2\n") "garbage\n", {"msh:17:1:", "garbage", "a section"}},
    {"open.msh", GMSH_FIVE("2\n1 4 0 1 2 3 4\n2 4 0 5 4 3 2\n") "$Notes\n", {"msh:17:", "$EndNotes"}},
    {"order.msh", "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Elements\n0\n$EndElements\n", {"$Nodes first"}},
    {"start.msh", "$NOD\n1\n", {"does not begin", "$MeshFormat"}},
    {"parts.msh", "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$PartitionedEntities\n", {"partitioned"}},
    {"name.msh", "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n1\n3 1 \"a\n", {"msh:6:", "closing quote"}},
    /* VTK */
    {"index.vtk", VTK_GRID("CELLS 1 5\n4 0 1 2 5\nCELL_TYPES 1\n10\n"), {"vtk:8:9:", "\"5\"", "node index, 0..4"}},
    {"unused.vtk", VTK_GRID("CELLS 1 5\n4 0 1 2 3\nCELL_TYPES 1\n10\n"), {"vtk:6:", "node 4 is unused"}},
    {"tet10.vtk", VTK_GRID("CELLS 1 11\n10 0 1 2 3 4 0 1 2 3 4\nCELL_TYPES 1\n24\n"), {"quadratic tet (tet10)"}},
    {"hex.vtk", VTK_GRID("CELLS 1 9\n8 0 1 2 3 4 0 1 2\nCELL_TYPES 1\n12\n"), {"cell 0 is a hexahedron"}},
    {"three.vtk", VTK_GRID("CELLS 1 4\n3 0 1 2\nCELL_TYPES 1\n10\n"), {"tet with 3 points", "expected 4"}},
    {"types.vtk", VTK_GRID("CELLS 1 5\n4 0 1 2 3\nCELL_TYPES 2\n10 10\n"), {"2 cell types for 1 cells"}},
    {"no_types.vtk", VTK_GRID("CELLS 1 5\n4 0 1 2 3\n"), {"CELL_TYPES"}},
    {"size.vtk", VTK_GRID("CELLS 1 6\n4 0 1 2 3 3\nCELL_TYPES 1\n10\n"), {"1 integers"}},
    {"behind.vtk", VTK_GRID("CELLS 1 5\n4 0 1 2 3\nCELL_TYPES 1\n10\ngarbage\n"), {"vtk:11:1:", "\"garbage\""}},
    {"grid.vtk", VTK("3.0", "STRUCTURED_POINTS"), {"vtk:4:9:", "STRUCTURED_POINTS", "UNSTRUCTURED_GRID"}},
    {"short.vtk", VTK("3.0", "UNSTRUCTURED_GRID") "POINTS 5 float\n0 0 0 1", {"truncated", "5 points", "found 7"}},
    {"degenerate.vtk",
     VTK("3.0", "POLYDATA") "POINTS 3 float\n0 0 0 1 0 0 0 1 0\nPOLYGONS 1 4\n3 0 1 1\n",
     {"vtk:8:", "face 0 is degenerate", "node 1 twice"}},
    {"offsets.vtk",
     VTK("5.1", "POLYDATA") "POINTS 3 float\n0 0 0 1 0 0 0 1 0\nPOLYGONS 3 3\nOFFSETS vtktypeint64\n0 3 2\n"
                            "CONNECTIVITY vtktypeint64\n0 1 2\n",
     {"cell 1 ends at 2"}},
    /* VTU */
    {"binary.vtu",
     VTU("UnstructuredGrid", "binary", "4", VTU_CELLS("0 1 2 3", "4", "10")),
     {"format=\"binary\"", "not supported", "ASCII data mode"}},
    {"appended.vtu",
     VTU("UnstructuredGrid", "appended", "4", VTU_CELLS("0 1 2 3", "4", "10")),
     {"format=\"appended\""}},
    {"poly.vtu", VTU("PolyData", "ascii", "4", ""), {"type=\"PolyData\"", "UnstructuredGrid"}},
    {"index.vtu",
     VTU("UnstructuredGrid", "ascii", "4", VTU_CELLS("0 1 2 4", "4", "10")),
     {"node index 4", "out of range"}},
    {"more.vtu", VTU("UnstructuredGrid", "ascii", "3", VTU_CELLS("0 1 2 3", "4", "10")), {"continues", "3 points"}},
    {"fewer.vtu",
     VTU("UnstructuredGrid", "ascii", "5", VTU_CELLS("0 1 2 3", "4", "10")),
     {"has 4 points", "expected 5"}},
    {"tet10.vtu", VTU("UnstructuredGrid", "ascii", "4", VTU_CELLS("0 1 2 3", "4", "24")), {"quadratic tet (tet10)"}},
    {"word.vtu", VTU("UnstructuredGrid", "ascii", "4", VTU_CELLS("0 1 two 3", "4", "10")), {"\"two\"", "a number"}},
    {"behind.vtu", VTU("UnstructuredGrid", "ascii", "4", VTU_CELLS("0 1 2 3", "4", "10")) " x", {"after </VTKFile>"}},
    {"early.vtu", "<VTKFile type=\"UnstructuredGrid\"><UnstructuredGrid>\n", {"vtu:2:", "ends early"}},
    {"html.vtu", "<html></html>", {"does not begin", "<?xml"}},
    /* OBJ */
    {"garbage.obj", OBJ_THREE "f 1 2 3\nhello there\n", {"obj:5:1:", "\"hello\"", "OBJ statement"}},
    {"index.obj", OBJ_THREE "f 1 2 4\n", {"obj:4:", "index 4", "expected 1..3"}},
    {"negative.obj", OBJ_THREE "f -1 -2 -4\n", {"obj:4:9:", "index -4", "out of range"}},
    {"zero.obj", OBJ_THREE "f 0 1 2\n", {"obj:4:3:", "\"0\""}},
    {"slash.obj", OBJ_THREE "f 1/ 2 3\n", {"obj:4:3:", "\"1/\""}},
    {"two.obj", OBJ_THREE "f 1 2\n", {"obj:4:", "2 nodes", "at least 3"}},
    {"degenerate.obj", OBJ_THREE "f 1 2 3\nf 1 2 2\n", {"obj:5:", "face 2 is degenerate", "node 2 twice"}},
    {"short.obj", "v 0 0\n", {"obj:1:", "2 numbers"}},
    {"word.obj", "v 0 0 zero\n", {"obj:1:7:", "\"zero\""}},
    {"joined.obj", "v 0 0 \\\n 0\nv 1 0 0\nv 0 1 0\nf 1 \\\r\n 2 \\\n x\n", {"obj:7:2:", "\"x\""}},
    {"points.obj", OBJ_THREE, {"no tets and no triangles"}},
    /* STL */
    {"degenerate.stl", STL("0 0 0", "1 0 0", "1 0 -0") "endsolid\n", {"stl:2:", "face 0 is degenerate"}},
    {"nan.stl", STL("0 0 0", "1 0 0", "1 nan 0") "endsolid\n", {"stl:6:", "not finite"}},
    {"open.stl", STL("0 0 0", "1 0 0", "0 1 0"), {"stl:9:1:", "ends early", "endsolid"}},
    {"word.stl", STL("0 0 0", "1 0 0", "0 1 x") "endsolid\n", {"stl:6:12:", "\"x\""}},
    {"behind.stl", STL("0 0 0", "1 0 0", "0 1 0") "endsolid\ngarbage\n", {"stl:10:1:", "\"garbage\""}},
    {"short.stl", "not an STL file", {"truncated", "84 bytes", "found 15"}},
    /* PLY */
    {"index.ply", PLY("3", "1", "0 0 0\n1 0 0\n0 1 0\n3 0 1 3\n"), {"ply:13:", "index 3", "expected 0..2"}},
    {"nan.ply", PLY("3", "1", "0 0 0\n1 nan 0\n0 1 0\n3 0 1 2\n"), {"ply:11:", "not finite"}},
    {"degenerate.ply", PLY("3", "1", "0 0 0\n1 0 0\n0 1 0\n3 0 1 0\n"), {"ply:13:", "face 0 is degenerate"}},
    {"two.ply", PLY("3", "1", "0 0 0\n1 0 0\n0 1 0\n2 0 1\n"), {"ply:13:", "2 nodes"}},
    {"more.ply", PLY("3", "1", "0 0 0 5\n1 0 0\n0 1 0\n3 0 1 2\n"), {"ply:10:7:", "\"5\"", "end of the line"}},
    {"fewer.ply", PLY("3", "1", "0 0\n1 0 0\n0 1 0\n3 0 1 2\n"), {"ply:10:4:", "3 properties"}},
    {"behind.ply", PLY("3", "1", "0 0 0\n1 0 0\n0 1 0\n3 0 1 2\nx\n"), {"ply:14:1:", "2 bytes after"}},
    {"points.ply", PLY("3", "0", "0 0 0\n1 0 0\n0 1 0\n"), {"no tets and no triangles"}},
    {"no_y.ply", "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nend_header\n0\n", {"x, y and z"}},
    {"type.ply",
     "ply\nformat ascii 1.0\nelement vertex 1\nproperty quad x\nend_header\n0\n",
     {"ply:4:10:", "\"quad\""}},
    /* neither content nor extension */
    {"unknown.xyz", "1 2 3\n", {"not a known mesh file", "Gmsh"}},
};

static void check_refused(const char *file, thenar_status status, const thenar_error *error, const char *const *words,
                          size_t word_count) {
    if (status != THENAR_ERROR_INPUT) fail_msg("%s: status %d", file, status);
    assert_int_equal(error->status, status);
    const char *name = strstr(error->text, file);
    if (!name) fail_msg("no %s in \"%s\"", file, error->text);
    for (size_t i = 0; i < word_count && words[i]; i++)
        if (!strstr(name, words[i])) fail_msg("%s: no \"%s\" in \"%s\"", file, words[i], error->text);
}

static void a_malformed_file_is_refused_with_its_place_and_reason(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof bad_files / sizeof bad_files[0]; i++) {
        mesh_file file;
        thenar_error error = {0};
        thenar_status status = read_text(bad_files[i].file, bad_files[i].text, &file, &error);
        check_refused(bad_files[i].file, status, &error, bad_files[i].words, 3);
        assert_int_equal(file.tets.tet_count + file.surface.triangle_count + file.region_count, 0);
        assert_null(file.tets.positions);
        assert_int_equal(read_text(bad_files[i].file, bad_files[i].text, &file, NULL), THENAR_ERROR_INPUT);
    }
}

/* One each per format: two billion of something in a file of a few hundred bytes. */
static const bad_file lying_files[] = {
    {"a.msh", GMSH_2("2000000000\n1 0 0 0\n", ""), {"2000000000 nodes", "bytes", "found"}},
    {"b.msh", GMSH_FIVE("2000000000\n1 4 0 1 2 3 4\n"), {"2000000000 elements", "bytes", "found"}},
    {"c.msh", "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Nodes\n1 2000000000 1 5\n", {"2000000000 nodes"}},
    {"d.msh", "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Nodes\n1 1 1 5\n3 1 0 2000000000\n", {"2000000000 nodes"}},
    {"e.msh",
     "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Nodes\n0 0 0 0\n$EndNodes\n$Elements\n1 2000000000 1 9\n3 1 4 "
     "2000000000\n",
     {"2000000000 elements"}},
    {"f.msh",
     "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Entities\n2000000000 0 0 0\n1 0 0 0 2000000000\n",
     {"2000000000 physical groups"}},
    {"g.msh", "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n2000000000\n", {"2000000000 physical names"}},
    {"h.msh", "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Nodes\n99999999999 5 1 5\n", {"99999999999"}},
    {"a.vtk", VTK("3.0", "POLYDATA") "POINTS 2000000000 float\n0 0 0\n", {"2000000000 points"}},
    {"b.vtk", VTK_GRID("CELLS 2000000000 2000000000\n4 0 1 2 3\n"), {"2000000000 integers"}},
    {"c.vtk", VTK_GRID("CELLS 1 5\n4 0 1 2 3\nCELL_TYPES 2000000000\n10\n"), {"2000000000 cell types"}},
    {"d.vtk",
     VTK("5.1", "POLYDATA") "POINTS 1 float\n0 0 0\nPOLYGONS 2000000000 3\nOFFSETS vtktypeint64\n0 3\n",
     {"2000000000 offsets"}},
    {"e.vtk", VTK("5.1", "POLYDATA") "FIELD a 1\nb 2000000000 2000000000 int\n1\n", {"2000000000 values"}},
    {"a.vtu", VTU("UnstructuredGrid", "ascii", "2000000000", ""), {"2000000000 points"}},
    {"a.ply", PLY("2000000000", "1", "0 0 0\n"), {"2000000000 rows"}},
    {"b.ply", PLY("1", "1", "0 0 0\n2000000000 0 1\n"), {"2000000000 items"}},
    {"c.ply", "ply\nformat ascii 1.0\nelement x 2000000000\nend_header\n", {"no properties"}},
};

static long peak_kilobytes(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

static void a_count_beyond_the_file_is_refused_before_any_memory_is_taken(void **state) {
    (void)state;
    long before = peak_kilobytes();
    int64_t start = clock_now();
    for (size_t i = 0; i < sizeof lying_files / sizeof lying_files[0]; i++) {
        mesh_file file;
        thenar_error error = {0};
        thenar_status status = read_text(lying_files[i].file, lying_files[i].text, &file, &error);
        check_refused(lying_files[i].file, status, &error, lying_files[i].words, 3);
    }
    /* A thousandth of what the claimed counts would take; a loop over two billion would take seconds. */
    assert_true(peak_kilobytes() - before < 32 * 1024);
    assert_true(clock_now() - start < 1000000000);
}

static void binary_counts_and_lengths_are_held_against_the_file(void **state) {
    (void)state;
    const char *few[] = {"truncated", "600 bytes", "found 599"};
    const char *many[] = {"2000000000 triangles", "1e+11"};
    const char *after[] = {"1 bytes after", "end of the file"};
    sample_bytes stl = {0}, ply = {0};
    sample_stl_binary(&stl);
    sample_ply_little(&ply);
    mesh_file file;
    thenar_error error;
    thenar_status status = read_file("cut.stl", stl.data, stl.count - 1, &file, &error);
    check_refused("cut.stl", status, &error, few, 3);
    put_bits(&stl, 0, 1);
    status = read_file("long.stl", stl.data, stl.count, &file, &error);
    check_refused("long.stl", status, &error, after, 2);
    put_bits(&ply, 0, 1);
    status = read_file("long.ply", ply.data, ply.count, &file, &error);
    check_refused("long.ply", status, &error, after, 2);
    stl.count = 80;
    put_i32(&stl, 2000000000);
    status = read_file("lie.stl", stl.data, stl.count, &file, &error);
    check_refused("lie.stl", status, &error, many, 1);
    free(stl.data);
    free(ply.data);
}

static void a_missing_file_a_directory_and_an_empty_file_are_different_errors(void **state) {
    (void)state;
    mesh_file file;
    thenar_error error;
    assert_int_equal(mesh_file_read(path_of("missing.msh"), &file, &error), THENAR_ERROR_FILE);
    assert_non_null(strstr(error.text, "missing.msh: cannot open: No such file"));
    const char *directory_words[] = {"is a directory"}, *empty_words[] = {"is empty"};
    assert_int_equal(mkdir(path_of("folder.msh"), 0700), 0);
    check_refused("folder.msh", mesh_file_read(path_of("folder.msh"), &file, &error), &error, directory_words, 1);
    assert_int_equal(rmdir(path_of("folder.msh")), 0);
    check_refused("empty.msh", read_text("empty.msh", "", &file, &error), &error, empty_words, 1);
}

static void nodes_of_lines_and_triangles_alone_are_left_out(void **state) {
    (void)state;
    mesh_file file;
    thenar_error error;
    /* Node 10 belongs to a line, 20 to a triangle, 60 to a point; the tet has 30, 40, 50 and 15. */
    const char *text = GMSH_2("7\n10 9 9 9\n20 8 8 8\n30 0 0 0\n40 1 0 0\n50 0 1 0\n60 7 7 7\n15 0 0 1\n",
                              "4\n1 1 0 10 30\n2 2 0 20 30 40\n3 15 0 60\n4 4 0 30 40 50 15\n");
    assert_ok(read_text("mixed.msh", text, &file, &error), error);
    const int tet[] = {0, 1, 2, 3}, triangle[] = {0, 1, 2};
    const double nodes[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1}, vertices[] = {8, 8, 8, 0, 0, 0, 1, 0, 0};
    assert_int_equal(file.tets.node_count, 4);
    assert_memory_equal(file.tets.tets, tet, sizeof tet);
    assert_memory_equal(file.tets.positions, nodes, sizeof nodes);
    assert_null(file.tets.tags);
    assert_int_equal(file.surface.vertex_count, 3);
    assert_memory_equal(file.surface.triangles, triangle, sizeof triangle);
    assert_memory_equal(file.surface.positions, vertices, sizeof vertices);
    mesh_file_free(&file);
}

static void a_mesh_of_inverted_tets_alone_is_turned_with_a_note(void **state) {
    (void)state;
    mesh_file file;
    thenar_error error;
    assert_ok(read_text("turned.msh", GMSH_FIVE("2\n1 4 0 1 3 2 4\n2 4 0 2 3 5 4\n"), &file, &error), error);
    assert_string_equal(file.note.text, "all 2 tets were inverted and have been turned");
    const int tets[] = {0, 2, 3, 1, 1, 2, 3, 4};
    assert_memory_equal(file.tets.tets, tets, sizeof tets);
    mesh_file_free(&file);
}

static void polygons_become_fans_and_strips_keep_their_side(void **state) {
    (void)state;
    mesh_file file;
    thenar_error error;
    const int fan[] = {0, 1, 2, 0, 2, 3, 0, 3, 4}, strip[] = {0, 1, 2, 2, 1, 3, 2, 3, 4};
    assert_ok(read_text("a.obj", "v 0 0 0\nv 1 0 0\nv 2 1 0\nv 1 2 0\nv 0 2 0\nf 1 2 3 4 5\n", &file, &error), error);
    assert_int_equal(file.surface.triangle_count, 3);
    assert_memory_equal(file.surface.triangles, fan, sizeof fan);
    mesh_file_free(&file);
    const char *text = PLY("5", "1", "0 0 0\n1 0 0\n2 1 0\n1 2 0\n0 2 0\n5 0 1 2 3 4\n");
    assert_ok(read_text("a.ply", text, &file, &error), error);
    assert_memory_equal(file.surface.triangles, fan, sizeof fan);
    mesh_file_free(&file);
    text = VTK("3.0", "POLYDATA") "POINTS 5 float\n0 0 0 1 0 0 0 1 0 1 1 0 0 2 0\nTRIANGLE_STRIPS 1 6\n5 0 1 2 3 4\n";
    assert_ok(read_text("a.vtk", text, &file, &error), error);
    assert_int_equal(file.surface.triangle_count, 3);
    assert_memory_equal(file.surface.triangles, strip, sizeof strip);
    mesh_file_free(&file);
}

static void pieces_of_a_vtu_file_become_one_mesh(void **state) {
    (void)state;
#define PIECE(z)                                                                                                       \
    "<Piece NumberOfPoints=\"4\" NumberOfCells=\"1\"><Points><DataArray NumberOfComponents=\"3\" "                     \
    "format=\"ascii\">"                                                                                                \
    "0 0 " z " 1 0 " z " 0 1 " z                                                                                       \
    " 0 0 9</DataArray></Points><Cells>" VTU_CELLS("0 1 2 3", "4", "10") "</Cells></Piece>"
    mesh_file file;
    thenar_error error;
    const char *text =
        "<VTKFile type=\"UnstructuredGrid\"><UnstructuredGrid>" PIECE("1") PIECE("5") "</UnstructuredGrid></VTKFile>";
    assert_ok(read_text("pieces.vtu", text, &file, &error), error);
    const int tets[] = {0, 1, 2, 3, 4, 5, 6, 7};
    assert_int_equal(file.tets.node_count, 8);
    assert_memory_equal(file.tets.tets, tets, sizeof tets);
    assert_near(file.tets.positions[3 * 4 + 2], 5, 0);
    mesh_file_free(&file);
}

static void the_public_loaders_take_their_part_and_say_what_is_missing(void **state) {
    (void)state;
    thenar_tet_mesh mesh;
    thenar_surface surface;
    thenar_error error;
    const char *no_tets[] = {"has no tets", "12 triangles"}, *no_triangles[] = {"has no triangles", "6 tets"};
    sample_bytes bytes = {0};
    sample_vtk_binary(&bytes);
    FILE *stream = fopen(path_of("tets.vtk"), "wb");
    assert_non_null(stream);
    fwrite(bytes.data, 1, bytes.count, stream);
    fclose(stream);
    assert_ok(thenar_tet_mesh_load(path_of("tets.vtk"), &mesh, &error), error);
    assert_memory_equal(mesh.tets, box_tets, sizeof box_tets);
    thenar_tet_mesh_free(&mesh);
    check_refused("tets.vtk", thenar_surface_load(path_of("tets.vtk"), &surface, &error), &error, no_triangles, 2);
    assert_null(surface.positions);
    remove(path_of("tets.vtk"));
    bytes.count = 0;
    bytes.big_endian = false;
    sample_obj(&bytes);
    stream = fopen(path_of("faces.obj"), "wb");
    assert_non_null(stream);
    fwrite(bytes.data, 1, bytes.count, stream);
    fclose(stream);
    assert_ok(thenar_surface_load(path_of("faces.obj"), &surface, &error), error);
    assert_memory_equal(surface.triangles, box_triangles, sizeof box_triangles);
    thenar_surface_free(&surface);
    check_refused("faces.obj", thenar_tet_mesh_load(path_of("faces.obj"), &mesh, &error), &error, no_tets, 2);
    remove(path_of("faces.obj"));
    free(bytes.data);
}

/* A mesh that code built has no file: the checks number from 0 and give no line. */
static void a_mesh_built_in_code_is_checked_by_the_same_rules(void **state) {
    (void)state;
    thenar_tet_mesh mesh;
    thenar_error error;
    mesh_note note;
    mesh_origin origin = {.name = "built"};
    assert_ok(tet_mesh_create(8, 6, false, &mesh, &error), error);
    memcpy(mesh.positions, box_nodes, sizeof box_nodes);
    memcpy(mesh.tets, box_tets, sizeof box_tets);
    assert_ok(mesh_check_tets(&mesh, &origin, &note, &error), error);
    mesh.tets[5] = 8;
    assert_int_equal(mesh_check_tets(&mesh, &origin, &note, &error), THENAR_ERROR_INPUT);
    assert_string_equal(error.text, "built: tet 1 has node index 8, which is out of range; expected 0..7");
    mesh.tets[5] = -1;
    assert_int_equal(mesh_check_tets(&mesh, &origin, NULL, NULL), THENAR_ERROR_INPUT);
    memcpy(mesh.tets, box_tets, sizeof box_tets);
    mesh.tet_count = 2;
    assert_int_equal(mesh_check_tets(&mesh, &origin, &note, &error), THENAR_ERROR_INPUT);
    assert_non_null(strstr(error.text, "built: node 4 is unused"));
    mesh.tet_count = 0;
    assert_int_equal(mesh_check_tets(&mesh, &origin, &note, &error), THENAR_ERROR_INPUT);
    assert_non_null(strstr(error.text, "has no tets"));
    thenar_tet_mesh_free(&mesh);
}

static void flatness_does_not_depend_on_the_unit(void **state) {
    (void)state;
    thenar_tet_mesh mesh;
    thenar_error error;
    mesh_origin origin = {.name = "built"};
    assert_ok(tet_mesh_create(4, 1, false, &mesh, &error), error);
    for (int i = 0; i < 4; i++) mesh.tets[i] = i;
    /* Heights of a right tet: its volume over edge^3 (edge sqrt 2) is height / 17, against the bound of
     * 1e-12. */
    for (double unit = 1e-120; unit < 1e121; unit *= 1e12) {
        const double corners[12] = {0, 0, 0, unit, 0, 0, 0, unit, 0, 0, 0, 0};
        memcpy(mesh.positions, corners, sizeof corners);
        mesh.positions[11] = 1e-10 * unit;
        assert_ok(mesh_check_tets(&mesh, &origin, NULL, &error), error);
        mesh.positions[11] = 1e-12 * unit;
        assert_int_equal(mesh_check_tets(&mesh, &origin, NULL, &error), THENAR_ERROR_INPUT);
        assert_non_null(strstr(error.text, "flat"));
    }
    thenar_tet_mesh_free(&mesh);
}

static void an_unlikely_size_is_remarked_on(void **state) {
    (void)state;
    mesh_note warning;
    const double huge[] = {-20, 0, 0, 37.3, 1, 1}, tiny[] = {0, 0, 0, 0, 5e-5, 0}, hand[] = {0, 0, 0, 0.19, 0.08, 0.03};
    assert_true(mesh_size_warning(huge, 2, &warning));
    assert_string_equal(warning.text, "is 57.3 m across; a mesh in millimetres? scale it with scale: 0.001");
    assert_true(mesh_size_warning(tiny, 2, &warning));
    assert_non_null(strstr(warning.text, "is 0.05 mm across"));
    assert_false(mesh_size_warning(hand, 2, &warning));
    assert_string_equal(warning.text, "");
}

static void a_raw_value_is_read_when_all_of_its_bytes_are_there(void **state) {
    (void)state;
    char zeros[9] = {0};
    static const size_t bytes[] = {1, 1, 2, 2, 4, 4, 8, 8, 4, 8};
    for (int type = SCANNER_INT8; type <= SCANNER_FLOAT64; type++)
        for (size_t size = 0; size <= 8; size++) {
            thenar_error error = {0};
            double value;
            scanner s = scanner_make("bytes", (file_bytes){.data = zeros, .size = size}, &error);
            s.binary = true;
            bool fits = size >= bytes[type];
            assert_int_equal(scanner_number(&s, (scanner_type)type, &value, "a number"), fits);
            if (!fits) assert_non_null(strstr(error.text, "bytes: byte 0: truncated"));
            assert_int_equal(s.at - s.start, fits ? bytes[type] : 0);
        }
}

static void a_key_table_finds_the_first_of_equal_keys(void **state) {
    (void)state;
    enum { COUNT = 20000 };
    int *keys = MEMORY_ARRAY(int, COUNT);
    assert_non_null(keys);
    key_table table = {.key_size = sizeof *keys};
    int missing = -1;
    assert_int_equal(key_table_find(&table, keys, &missing), KEY_TABLE_NONE);
    for (int i = 0; i < COUNT; i++) {
        keys[i] = i % 7001 * 64;
        assert_int_equal(key_table_put(&table, keys, (size_t)i), i % 7001);
    }
    for (int i = 0; i < COUNT; i++) assert_int_equal(key_table_find(&table, keys, &keys[i]), i % 7001);
    assert_int_equal(key_table_find(&table, keys, &missing), KEY_TABLE_NONE);
    free(table.slots);
    free(keys);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_format_gives_the_same_box),
    cmocka_unit_test(content_decides_the_format_before_the_extension),
    cmocka_unit_test(text_keeps_every_bit_of_a_double),
    cmocka_unit_test(a_binary_file_cut_anywhere_is_refused_or_the_same),
    cmocka_unit_test(a_changed_byte_anywhere_is_refused_or_gives_a_valid_mesh),
    cmocka_unit_test(a_malformed_file_is_refused_with_its_place_and_reason),
    cmocka_unit_test(a_count_beyond_the_file_is_refused_before_any_memory_is_taken),
    cmocka_unit_test(binary_counts_and_lengths_are_held_against_the_file),
    cmocka_unit_test(a_missing_file_a_directory_and_an_empty_file_are_different_errors),
    cmocka_unit_test(nodes_of_lines_and_triangles_alone_are_left_out),
    cmocka_unit_test(a_mesh_of_inverted_tets_alone_is_turned_with_a_note),
    cmocka_unit_test(polygons_become_fans_and_strips_keep_their_side),
    cmocka_unit_test(pieces_of_a_vtu_file_become_one_mesh),
    cmocka_unit_test(the_public_loaders_take_their_part_and_say_what_is_missing),
    cmocka_unit_test(a_mesh_built_in_code_is_checked_by_the_same_rules),
    cmocka_unit_test(flatness_does_not_depend_on_the_unit),
    cmocka_unit_test(an_unlikely_size_is_remarked_on),
    cmocka_unit_test(a_raw_value_is_read_when_all_of_its_bytes_are_there),
    cmocka_unit_test(a_key_table_finds_the_first_of_equal_keys),
};

int main(int argc, char **argv) {
    char filter[256] = "*";
    if (argc > 1) snprintf(filter, sizeof filter, "*%s*", argv[1]);
    cmocka_set_test_filter(filter);
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
