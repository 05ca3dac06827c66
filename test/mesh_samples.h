/* A small box as bytes of every mesh format, written independently of the readers: 8 nodes, 6 tets, 12
 * triangles, with coordinates that float holds exactly, so that all formats must give the same mesh to the
 * last bit. */
#ifndef MESH_SAMPLES_H
#define MESH_SAMPLES_H

#include "test.h"

#include "core/memory.h"

typedef struct sample_bytes {
    char *data;
    size_t count, capacity;
    bool big_endian;
} sample_bytes;

static const double box_nodes[8][3] = {{0, 0, 0},    {0.125, 0, 0},    {0, 0.25, 0},    {0.125, 0.25, 0},
                                       {0, 0, -0.5}, {0.125, 0, -0.5}, {0, 0.25, -0.5}, {0.125, 0.25, -0.5}};
/* Around the diagonal 0-7; the third axis points down, hence nodes 1 and 2 of each are swapped. */
static const int box_tets[6][4] = {{0, 3, 1, 7}, {0, 2, 3, 7}, {0, 6, 2, 7}, {0, 4, 6, 7}, {0, 5, 4, 7}, {0, 1, 5, 7}};
static const int box_tags[6] = {7, 7, 7, 9, 9, 9};
static const int box_triangles[12][3] = {{0, 1, 3}, {0, 3, 2}, {4, 7, 5}, {4, 6, 7}, {0, 5, 1}, {0, 4, 5},
                                         {2, 3, 7}, {2, 7, 6}, {0, 2, 6}, {0, 6, 4}, {1, 5, 7}, {1, 7, 3}};

static inline void put_raw(sample_bytes *b, const void *bytes, size_t size) {
    assert_true(memory_grow((void **)&b->data, &b->capacity, b->count + size + 1, 1));
    memcpy(b->data + b->count, bytes, size);
    b->count += size;
    b->data[b->count] = 0;
}

static inline void put_text(sample_bytes *b, const char *format, ...) {
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    assert_true(length >= 0 && (size_t)length < sizeof line);
    put_raw(b, line, (size_t)length);
}

static inline void put_bits(sample_bytes *b, uint64_t bits, int size) {
    for (int i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)(bits >> 8 * (b->big_endian ? size - 1 - i : i));
        put_raw(b, &byte, 1);
    }
}

static inline void put_i32(sample_bytes *b, int value) {
    put_bits(b, (uint32_t)value, 4);
}
static inline void put_i64(sample_bytes *b, int value) {
    put_bits(b, (uint64_t)value, 8);
}

static inline void put_f32(sample_bytes *b, double value) {
    float single = (float)value;
    uint32_t bits;
    memcpy(&bits, &single, 4);
    put_bits(b, bits, 4);
}

static inline void put_f64(sample_bytes *b, double value) {
    uint64_t bits;
    memcpy(&bits, &value, 8);
    put_bits(b, bits, 8);
}

#define EACH(index, count) for (int index = 0; index < (count); index++)

/* Node tags of the 4.1 samples: with gaps and falling, as edited meshes have them. */
static inline int sparse_tag(int node) {
    return 100 - 7 * node;
}

static inline void put_physical_names(sample_bytes *b) {
    put_text(b, "$PhysicalNames\n3\n2 3 \"skin\"\n3 7 \"soft flesh\"\n3 9 \"nail\"\n$EndPhysicalNames\n");
}

static inline void sample_gmsh_22_text(sample_bytes *b) {
    put_text(b, "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n");
    put_physical_names(b);
    put_text(b, "$Nodes\n8\n");
    EACH(i, 8)
    put_text(b, "%d %.17g %.17g %.17g\n", i + 1, box_nodes[i][0], box_nodes[i][1], box_nodes[i][2]);
    put_text(b, "$EndNodes\n$Elements\n9\n1 15 2 0 1 1\n2 1 2 0 1 1 2\n3 2 2 3 1 1 2 4\n");
    EACH(i, 6)
    put_text(b, "%d 4 2 %d 1 %d %d %d %d\n", i + 4, box_tags[i], box_tets[i][0] + 1, box_tets[i][1] + 1,
             box_tets[i][2] + 1, box_tets[i][3] + 1);
    put_text(b, "$EndElements\n$NodeData\n1\n\"a\"\n$EndNodeData\n");
}

static inline void put_gmsh_22_binary(sample_bytes *b) {
    put_text(b, "$MeshFormat\n2.2 1 8\n");
    put_i32(b, 1);
    put_text(b, "\n$EndMeshFormat\n");
    put_physical_names(b);
    put_text(b, "$Nodes\n8\n");
    EACH(i, 8) {
        put_i32(b, i + 1);
        EACH(j, 3) put_f64(b, box_nodes[i][j]);
    }
    put_text(b, "\n$EndNodes\n$Elements\n8\n");
    const int line_and_triangle[] = {1, 1, 2, 1, 0, 1, 1, 2, 2, 1, 2, 2, 3, 1, 1, 2, 4};
    EACH(i, 17) put_i32(b, line_and_triangle[i]);
    put_i32(b, 4), put_i32(b, 6), put_i32(b, 2);
    EACH(i, 6) {
        put_i32(b, i + 3), put_i32(b, box_tags[i]), put_i32(b, 1);
        EACH(j, 4) put_i32(b, box_tets[i][j] + 1);
    }
    put_text(b, "\n$EndElements\n");
}

static inline void sample_gmsh_22_little(sample_bytes *b) {
    put_gmsh_22_binary(b);
}

static inline void sample_gmsh_22_big(sample_bytes *b) {
    b->big_endian = true;
    put_gmsh_22_binary(b);
}

static inline void sample_gmsh_41_text(sample_bytes *b) {
    put_text(b, "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n");
    put_physical_names(b);
    put_text(b, "$Entities\n1 1 1 2\n1 0 0 0 0\n1 0 0 0 1 1 1 0 2 1 -1\n1 0 0 0 1 1 1 1 3 1 1\n"
                "1 0 0 0 1 1 1 1 7 1 1\n2 0 0 0 1 1 1 2 9 7 1 1\n$EndEntities\n");
    put_text(b, "$Nodes\n2 8 1 100\n2 1 1 3\n");
    EACH(i, 3) put_text(b, "%d\n", sparse_tag(i));
    EACH(i, 3) put_text(b, "%.17g %.17g %.17g 0.5 0.5\n", box_nodes[i][0], box_nodes[i][1], box_nodes[i][2]);
    put_text(b, "3 1 0 5\n");
    for (int i = 3; i < 8; i++) put_text(b, "%d\n", sparse_tag(i));
    for (int i = 3; i < 8; i++) put_text(b, "%.17g %.17g %.17g\n", box_nodes[i][0], box_nodes[i][1], box_nodes[i][2]);
    put_text(b, "$EndNodes\n$Elements\n3 7 1 7\n2 1 2 1\n1 %d %d %d\n", sparse_tag(0), sparse_tag(1), sparse_tag(3));
    EACH(volume, 2) {
        put_text(b, "3 %d 4 3\n", volume + 1);
        for (int i = 3 * volume; i < 3 * volume + 3; i++)
            put_text(b, "%d %d %d %d %d\n", i + 2, sparse_tag(box_tets[i][0]), sparse_tag(box_tets[i][1]),
                     sparse_tag(box_tets[i][2]), sparse_tag(box_tets[i][3]));
    }
    put_text(b, "$EndElements\n");
}

static inline void put_entity_binary(sample_bytes *b, int tag, int groups, int group) {
    put_i32(b, tag);
    EACH(i, 6) put_f64(b, i);
    put_i64(b, groups);
    if (groups) put_i32(b, group);
    put_i64(b, 1), put_i32(b, 1);
}

static inline void sample_gmsh_41_binary(sample_bytes *b) {
    put_text(b, "$MeshFormat\n4.1 1 8\n");
    put_i32(b, 1);
    put_text(b, "\n$EndMeshFormat\n");
    put_physical_names(b);
    put_text(b, "$Entities\n");
    put_i64(b, 1), put_i64(b, 0), put_i64(b, 1), put_i64(b, 2);
    put_i32(b, 1), put_f64(b, 0), put_f64(b, 0), put_f64(b, 0), put_i64(b, 0);
    put_entity_binary(b, 1, 0, 0);
    put_entity_binary(b, 1, 1, 7);
    put_entity_binary(b, 2, 1, 9);
    put_text(b, "\n$EndEntities\n$Nodes\n");
    put_i64(b, 1), put_i64(b, 8), put_i64(b, 1), put_i64(b, 100);
    put_i32(b, 3), put_i32(b, 1), put_i32(b, 0), put_i64(b, 8);
    EACH(i, 8) put_i64(b, sparse_tag(i));
    EACH(i, 24) put_f64(b, box_nodes[i / 3][i % 3]);
    put_text(b, "\n$EndNodes\n$Elements\n");
    put_i64(b, 2), put_i64(b, 6), put_i64(b, 1), put_i64(b, 6);
    EACH(volume, 2) {
        put_i32(b, 3), put_i32(b, volume + 1), put_i32(b, 4), put_i64(b, 3);
        for (int i = 3 * volume; i < 3 * volume + 3; i++) {
            put_i64(b, i + 1);
            EACH(j, 4) put_i64(b, sparse_tag(box_tets[i][j]));
        }
    }
    put_text(b, "\n$EndElements\n");
}

static inline void put_vtk_head(sample_bytes *b, const char *version, const char *kind, const char *dataset) {
    put_text(b, "# vtk DataFile Version %s\na title\n%s\nDATASET %s\n", version, kind, dataset);
}

static inline void put_vtk_points(sample_bytes *b, const char *type) {
    put_text(b, "POINTS 8 %s\n", type);
    EACH(i, 24) {
        if (b->big_endian && type[0] == 'f')
            put_f32(b, box_nodes[i / 3][i % 3]);
        else if (b->big_endian)
            put_f64(b, box_nodes[i / 3][i % 3]);
        else
            put_text(b, "%.17g%s", box_nodes[i / 3][i % 3], i % 3 == 2 ? "\n" : " ");
    }
    if (b->big_endian) put_text(b, "\n");
}

static inline void sample_vtk_text(sample_bytes *b) {
    put_vtk_head(b, "3.0", "ASCII", "UNSTRUCTURED_GRID");
    put_text(b, "FIELD FieldData 1\nTIME 1 1 double\n0.5\n");
    put_vtk_points(b, "double");
    put_text(b, "METADATA\nINFORMATION 0\n\nCELLS 7 33\n2 0 1\n");
    EACH(i, 6) put_text(b, "4 %d %d %d %d\n", box_tets[i][0], box_tets[i][1], box_tets[i][2], box_tets[i][3]);
    put_text(b, "CELL_TYPES 7\n3\n10\n10\n10\n10\n10\n10\nPOINT_DATA 8\nSCALARS a int\n");
}

static inline void sample_vtk_binary(sample_bytes *b) {
    b->big_endian = true;
    put_vtk_head(b, "3.0", "BINARY", "UNSTRUCTURED_GRID");
    put_vtk_points(b, "float");
    put_text(b, "CELLS 6 30\n");
    EACH(i, 30) put_i32(b, i % 5 == 0 ? 4 : box_tets[i / 5][i % 5 - 1]);
    put_text(b, "\nCELL_TYPES 6\n");
    EACH(i, 6) put_i32(b, 10);
    put_text(b, "\n");
}

static inline void sample_vtk_5_text(sample_bytes *b) {
    put_vtk_head(b, "5.1", "ASCII", "UNSTRUCTURED_GRID");
    put_vtk_points(b, "float");
    put_text(b, "CELLS 7 24\nOFFSETS vtktypeint64\n0 4 8 12 16 20 24\nCONNECTIVITY vtktypeint64\n");
    EACH(i, 24) put_text(b, "%d ", box_tets[i / 4][i % 4]);
    put_text(b, "\nCELL_TYPES 6\n10 10 10 10 10 10\n");
}

static inline void sample_vtk_5_binary(sample_bytes *b) {
    b->big_endian = true;
    put_vtk_head(b, "5.1", "BINARY", "UNSTRUCTURED_GRID");
    put_vtk_points(b, "double");
    put_text(b, "CELLS 7 24\nOFFSETS vtktypeint64\n");
    EACH(i, 7) put_i64(b, 4 * i);
    put_text(b, "\nCONNECTIVITY vtktypeint64\n");
    EACH(i, 24) put_i64(b, box_tets[i / 4][i % 4]);
    put_text(b, "\nCELL_TYPES 6\n");
    EACH(i, 6) put_i32(b, 10);
    put_text(b, "\n");
}

static inline void sample_vtu(sample_bytes *b) {
    put_text(b, "<?xml version=\"1.0\"?>\n<!-- a comment with <tags> -->\n"
                "<VTKFile type='UnstructuredGrid' version=\"0.1\" byte_order=\"LittleEndian\">\n<UnstructuredGrid>\n"
                "<FieldData><DataArray type=\"Float64\" Name=\"t\" format=\"ascii\">1</DataArray></FieldData>\n"
                "<Piece NumberOfPoints=\"8\" NumberOfCells=\"6\">\n"
                "<CellData><DataArray Name=\"x\" format=\"appended\" offset=\"0\"/></CellData>\n<Points>\n");
    put_text(b, "<DataArray type=\"Float64\" NumberOfComponents=\"3\" format=\"ascii\">\n");
    EACH(i, 24) put_text(b, "%.17g%s", box_nodes[i / 3][i % 3], i == 23 ? "" : i % 3 == 2 ? "\n" : " ");
    put_text(b, "</DataArray>\n</Points>\n<Cells>\n"
                "<DataArray type=\"UInt8\" Name=\"types\" format=\"ascii\">10 10 10 10 10 10</DataArray>\n"
                "<DataArray type=\"Int32\" Name=\"connectivity\" format=\"ascii\">\n");
    EACH(i, 24) put_text(b, "%d ", box_tets[i / 4][i % 4]);
    put_text(b, "</DataArray>\n<DataArray type=\"Int32\" Name=\"offsets\" format=\"ascii\">4 8 12 16 20 24 "
                "</DataArray>\n"
                "</Cells>\n</Piece>\n</UnstructuredGrid>\n</VTKFile>\n");
}

static inline void sample_polydata_text(sample_bytes *b) {
    put_vtk_head(b, "3.0", "ASCII", "POLYDATA");
    put_vtk_points(b, "float");
    put_text(b, "VERTICES 1 2\n1 0\nPOLYGONS 12 48\n");
    EACH(i, 12) put_text(b, "3 %d %d %d\n", box_triangles[i][0], box_triangles[i][1], box_triangles[i][2]);
}

static inline void sample_polydata_binary(sample_bytes *b) {
    b->big_endian = true;
    put_vtk_head(b, "3.0", "BINARY", "POLYDATA");
    put_vtk_points(b, "double");
    put_text(b, "POLYGONS 12 48\n");
    EACH(i, 48) put_i32(b, i % 4 == 0 ? 3 : box_triangles[i / 4][i % 4 - 1]);
    put_text(b, "\n");
}

static inline void sample_obj(sample_bytes *b) {
    put_text(b, "# a box\nmtllib box.mtl\no box\n");
    EACH(i, 8) put_text(b, "v %.17g %.17g %.17g\n", box_nodes[i][0], box_nodes[i][1], box_nodes[i][2]);
    put_text(b, "vt 0 0\nvn 0 0 1\ng all\nusemtl skin\ns off\n");
    EACH(i, 12) {
        const int *t = box_triangles[i];
        if (i % 4 == 0) put_text(b, "f %d %d %d\n", t[0] + 1, t[1] + 1, t[2] + 1);
        if (i % 4 == 1) put_text(b, "f %d/1 %d/1 \\\n %d/1 # more\n", t[0] + 1, t[1] + 1, t[2] + 1);
        if (i % 4 == 2) put_text(b, "f %d//1 %d//1 %d//1\r\n", t[0] + 1, t[1] + 1, t[2] + 1);
        if (i % 4 == 3) put_text(b, "f %d/1/-1 %d/1/-1 %d/1/-1\n", t[0] - 8, t[1] - 8, t[2] - 8);
    }
}

static inline void sample_stl_text(sample_bytes *b) {
    put_text(b, "solid box of triangles\n");
    EACH(i, 12) {
        put_text(b, "  facet normal 0 0 1\n    outer loop\n");
        EACH(j, 3) {
            const double *p = box_nodes[box_triangles[i][j]];
            put_text(b, "      vertex %.9e %.9e %.9e\n", p[0], p[1], i % 2 && p[2] == 0 ? -0.0 : p[2]);
        }
        put_text(b, "    endloop\n  endfacet\n");
    }
    put_text(b, "endsolid box of triangles\n");
}

static inline void sample_stl_binary(sample_bytes *b) {
    char head[80] = "solid in name only: a binary file";
    put_raw(b, head, sizeof head);
    put_i32(b, 12);
    EACH(i, 12) {
        EACH(j, 3) put_f32(b, 0);
        EACH(j, 9) put_f32(b, box_nodes[box_triangles[i][j / 3]][j % 3]);
        put_bits(b, 0, 2);
    }
}

static inline void put_ply_head(sample_bytes *b, const char *format) {
    put_text(b,
             "ply\nformat %s 1.0\ncomment a box\nelement vertex 8\nproperty float x\nproperty uchar red\n"
             "property double y\nproperty float z\nelement face 12\nproperty list uchar int vertex_indices\n"
             "property list uchar float weights\nelement edge 1\nproperty short a\nend_header\n",
             format);
}

static inline void sample_ply_text(sample_bytes *b) {
    put_ply_head(b, "ascii");
    EACH(i, 8) put_text(b, "%.17g 255 %.17g %.17g\n", box_nodes[i][0], box_nodes[i][1], box_nodes[i][2]);
    EACH(i, 12)
    put_text(b, "3 %d %d %d 1 0.5\n", box_triangles[i][0], box_triangles[i][1], box_triangles[i][2]);
    put_text(b, "-3\n");
}

static inline void put_ply_body(sample_bytes *b) {
    EACH(i, 8) {
        put_f32(b, box_nodes[i][0]), put_bits(b, 255, 1);
        put_f64(b, box_nodes[i][1]), put_f32(b, box_nodes[i][2]);
    }
    EACH(i, 12) {
        put_bits(b, 3, 1);
        EACH(j, 3) put_i32(b, box_triangles[i][j]);
        put_bits(b, 1, 1), put_f32(b, 0.5);
    }
    put_bits(b, 7, 2);
}

static inline void sample_ply_little(sample_bytes *b) {
    put_ply_head(b, "binary_little_endian");
    put_ply_body(b);
}

static inline void sample_ply_big(sample_bytes *b) {
    put_ply_head(b, "binary_big_endian");
    b->big_endian = true;
    put_ply_body(b);
}

typedef struct mesh_sample {
    const char *file;
    void (*write)(sample_bytes *b);
    bool tets;   /* a tet mesh, else a surface */
    bool tags;   /* with regions */
    bool binary; /* cut short, it must not be read */
} mesh_sample;

static const mesh_sample mesh_samples[] = {
    {"gmsh_22_text.msh", sample_gmsh_22_text, true, true, false},
    {"gmsh_22_little.msh", sample_gmsh_22_little, true, true, true},
    {"gmsh_22_big.msh", sample_gmsh_22_big, true, true, true},
    {"gmsh_41_text.msh", sample_gmsh_41_text, true, true, false},
    {"gmsh_41_binary.msh", sample_gmsh_41_binary, true, true, true},
    {"text.vtk", sample_vtk_text, true, false, false},
    {"binary.vtk", sample_vtk_binary, true, false, true},
    {"text_5.vtk", sample_vtk_5_text, true, false, false},
    {"binary_5.vtk", sample_vtk_5_binary, true, false, true},
    {"text.vtu", sample_vtu, true, false, false},
    {"polydata_text.vtk", sample_polydata_text, false, false, false},
    {"polydata_binary.vtk", sample_polydata_binary, false, false, true},
    {"box.obj", sample_obj, false, false, false},
    {"text.stl", sample_stl_text, false, false, false},
    {"binary.stl", sample_stl_binary, false, false, true},
    {"text.ply", sample_ply_text, false, false, false},
    {"little.ply", sample_ply_little, false, false, true},
    {"big.ply", sample_ply_big, false, false, true},
};
#define MESH_SAMPLE_COUNT (sizeof mesh_samples / sizeof mesh_samples[0])

static inline sample_bytes sample_of(const mesh_sample *sample) {
    sample_bytes b = {0};
    sample->write(&b);
    return b;
}

#endif
