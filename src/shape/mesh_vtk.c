/* Legacy VTK, unstructured grids and polydata, text and binary (VTK User's Guide, "Simple Legacy Formats";
 * binary values are big-endian). Up to version 4 cells are "count index index ..."; from version 5 on an
 * OFFSETS and a CONNECTIVITY array. Point and cell data, which follow the geometry, are not read. */
#include "shape/mesh_readers.h"

#include "base/text.h"
#include "shape/mesh_vtk_cells.h"

#include <limits.h>
#include <string.h>

typedef struct vtk {
    scanner *s;
    mesh_builder *builder;
    bool binary, offsets, polydata;
    bool has_points, has_cells;
    int cell_count; /* of polydata, whose cells come in up to four sections */
    vtk_cells cells;
} vtk;

typedef struct type_name {
    const char *name;
    scanner_type type;
} type_name;

static const type_name type_names[] = {
    {"float", SCANNER_FLOAT32},
    {"double", SCANNER_FLOAT64},
    {"int", SCANNER_INT32},
    {"unsigned_int", SCANNER_UINT32},
    {"long", SCANNER_INT64},
    {"unsigned_long", SCANNER_UINT64},
    {"short", SCANNER_INT16},
    {"unsigned_short", SCANNER_UINT16},
    {"char", SCANNER_INT8},
    {"unsigned_char", SCANNER_UINT8},
    {"vtkIdType", SCANNER_INT32},
    {"vtktypeint64", SCANNER_INT64},
    {"vtktypeuint64", SCANNER_UINT64},
    {"vtktypeint32", SCANNER_INT32},
};

static bool read_type(scanner *s, scanner_type *type) {
    if (!scanner_word(s, "a data type")) return false;
    for (size_t i = 0; i < sizeof type_names / sizeof type_names[0]; i++)
        if (scanner_word_is(s, type_names[i].name)) {
            *type = type_names[i].type;
            return true;
        }
    return scanner_fail(s, "found \"%s\"; expected a data type such as float, double or int", s->word);
}

static bool read_count(vtk *v, long *count, const char *what) {
    return scanner_integer(v->s, SCANNER_INT32, 0, INT_MAX, count, what);
}

/* Values follow: as words, or raw right behind this line. */
static bool begin_values(vtk *v) {
    if (!scanner_end_line(v->s)) return false;
    v->s->binary = v->binary;
    return true;
}

static bool read_points(vtk *v) {
    long count;
    scanner_type type = SCANNER_FLOAT32;
    if (v->has_points) return scanner_fail(v->s, "a second POINTS; expected one");
    v->has_points = true;
    if (!read_count(v, &count, "the number of points") || !read_type(v->s, &type)) return false;
    if (type != SCANNER_FLOAT32 && type != SCANNER_FLOAT64)
        return scanner_fail(v->s, "has points of type %s; expected float or double", v->s->word);
    if (!begin_values(v) || !scanner_need(v->s, (size_t)count, 3 * scanner_least_bytes(v->s, type), "points"))
        return false;
    for (long i = 0; i < count; i++) {
        double position[3];
        if (!scanner_position(v->s, type, position) || !mesh_builder_node(v->builder, v->s, position, (int)i))
            return false;
    }
    v->s->binary = false;
    return true;
}

/* Versions up to 4: `size` integers, of which each cell takes one for its count and one per point. */
static bool read_counted_cells(vtk *v, long cell_count, long size) {
    vtk_cells *cells = &v->cells;
    if (!begin_values(v) ||
        !scanner_need(v->s, (size_t)size, scanner_least_bytes(v->s, SCANNER_INT32), "integers of cells"))
        return false;
    for (long i = 0; i < cell_count; i++) {
        long count, index;
        if (!scanner_integer(v->s, SCANNER_INT32, 0, size - 1, &count, "the number of points of a cell")) return false;
        size -= 1 + count;
        uint32_t line = scanner_line(v->s);
        for (long j = 0; j < count; j++) {
            if (!scanner_integer(v->s, SCANNER_INT32, 0, mesh_builder_node_count(v->builder) - 1, &index,
                                 "a node index"))
                return false;
            if (!ARRAY_PUSH(&cells->connectivity, (int)index)) return scanner_no_memory(v->s);
        }
        if (!ARRAY_PUSH(&cells->ends, (int)cells->connectivity.count) || !ARRAY_PUSH(&cells->lines, line))
            return scanner_no_memory(v->s);
    }
    v->s->binary = false;
    return size == 0 ||
           scanner_fail(v->s, "the cells end %ld integers before their size; expected them to match", size);
}

/* Versions from 5 on: one more offset than cells, the first of which is 0. */
static bool read_offset_cells(vtk *v, long offset_count, long index_count) {
    vtk_cells *cells = &v->cells;
    scanner *s = v->s;
    scanner_type type = SCANNER_INT32;
    long value = 0;
    if (!scanner_expect(s, "OFFSETS") || !read_type(s, &type) || !begin_values(v)) return false;
    if (type >= SCANNER_FLOAT32) return scanner_fail(s, "has offsets of type %s; expected an integer type", s->word);
    if (!scanner_need(s, (size_t)offset_count, scanner_least_bytes(s, type), "offsets")) return false;
    for (long i = 0; i < offset_count; i++) {
        if (!scanner_integer(s, type, 0, i == 0 ? 0 : index_count, &value, "an offset")) return false;
        if (i > 0 && !ARRAY_PUSH(&cells->ends, (int)value)) return scanner_no_memory(s);
    }
    s->binary = false;
    if (!scanner_expect(s, "CONNECTIVITY") || !read_type(s, &type) || !begin_values(v)) return false;
    if (type >= SCANNER_FLOAT32) return scanner_fail(s, "has indices of type %s; expected an integer type", s->word);
    if (!scanner_need(s, (size_t)index_count, scanner_least_bytes(s, type), "node indices")) return false;
    for (long i = 0; i < index_count; i++) {
        if (!scanner_integer(s, type, 0, mesh_builder_node_count(v->builder) - 1, &value, "a node index")) return false;
        if (!ARRAY_PUSH(&cells->connectivity, (int)value)) return scanner_no_memory(s);
    }
    s->binary = false;
    return true;
}

static bool read_cells(vtk *v) {
    long cell_count, size;
    if (!v->has_points) return scanner_fail(v->s, "cells before POINTS; expected POINTS first");
    if (!read_count(v, &cell_count, "the number of cells") || !read_count(v, &size, "the size of the cells"))
        return false;
    return v->offsets ? read_offset_cells(v, cell_count, size) : read_counted_cells(v, cell_count, size);
}

static bool read_grid_cells(vtk *v) {
    if (v->has_cells) return scanner_fail(v->s, "a second CELLS; expected one");
    v->has_cells = true;
    return read_cells(v);
}

static bool read_cell_types(vtk *v) {
    long count, type;
    if (!v->has_cells || v->cells.types.count > 0) return scanner_fail(v->s, "CELL_TYPES; expected one, behind CELLS");
    if (!read_count(v, &count, "the number of cell types") || !begin_values(v) ||
        !scanner_need(v->s, (size_t)count, scanner_least_bytes(v->s, SCANNER_INT32), "cell types"))
        return false;
    for (long i = 0; i < count; i++) {
        if (!scanner_integer(v->s, SCANNER_INT32, 0, 255, &type, "a cell type")) return false;
        if (!ARRAY_PUSH(&v->cells.types, (int)type)) return scanner_no_memory(v->s);
    }
    v->s->binary = false;
    return vtk_cells_add(&v->cells, v->s, v->builder, 0, 0);
}

/* A section of polydata: cells of one kind. */
static bool read_poly_cells(vtk *v, int type) {
    bool done = read_cells(v);
    for (size_t i = 0; done && i < v->cells.ends.count; i++)
        if (!ARRAY_PUSH(&v->cells.types, type)) done = scanner_no_memory(v->s);
    done = done && vtk_cells_add(&v->cells, v->s, v->builder, 0, v->cell_count);
    v->cell_count += (int)v->cells.ends.count;
    vtk_cells_free(&v->cells);
    v->has_cells = true;
    return done;
}

/* Lines up to an empty one. */
static bool skip_metadata(vtk *v) {
    scanner_skip_line(v->s);
    while (!scanner_at_line_end(v->s)) scanner_skip_line(v->s);
    return true;
}

/* FIELD name count, then arrays "name components tuples type" with their values. */
static bool skip_field(vtk *v) {
    long arrays, components, tuples;
    scanner *s = v->s;
    if (!scanner_word(s, "a field name") || !read_count(v, &arrays, "the number of arrays")) return false;
    for (long i = 0; i < arrays; i++) {
        scanner_type type = SCANNER_FLOAT32;
        double ignored;
        if (!scanner_word(s, "an array name")) return false;
        if (scanner_word_is(s, "METADATA") && (!skip_metadata(v) || !scanner_word(s, "an array name"))) return false;
        if (!read_count(v, &components, "the number of components") ||
            !read_count(v, &tuples, "the number of tuples") || !read_type(s, &type) || !begin_values(v))
            return false;
        size_t size = scanner_least_bytes(s, type);
        if (!scanner_need(s, (size_t)components, size, "values") ||
            !scanner_need(s, (size_t)components * (size_t)tuples, size, "values"))
            return false;
        for (long j = 0; j < components * tuples; j++)
            if (!scanner_number(s, type, &ignored, "a value")) return false;
        s->binary = false;
    }
    return true;
}

/* One section; *geometry becomes false where the geometry ends. */
static bool read_section(vtk *v, bool *geometry) {
    scanner *s = v->s;
    if (!scanner_word(s, "a section")) return false;
    if (scanner_word_is(s, "POINTS")) return read_points(v);
    if (scanner_word_is(s, "FIELD")) return skip_field(v);
    if (scanner_word_is(s, "METADATA")) return skip_metadata(v);
    if (scanner_word_is(s, "POINT_DATA") || scanner_word_is(s, "CELL_DATA")) {
        *geometry = false;
        return true;
    }
    if (!v->polydata && scanner_word_is(s, "CELLS")) return read_grid_cells(v);
    if (!v->polydata && scanner_word_is(s, "CELL_TYPES")) return read_cell_types(v);
    if (v->polydata && scanner_word_is(s, "VERTICES")) return read_poly_cells(v, VTK_POLY_VERTEX);
    if (v->polydata && scanner_word_is(s, "LINES")) return read_poly_cells(v, VTK_POLY_LINE);
    if (v->polydata && scanner_word_is(s, "POLYGONS")) return read_poly_cells(v, VTK_POLYGON);
    if (v->polydata && scanner_word_is(s, "TRIANGLE_STRIPS")) return read_poly_cells(v, VTK_TRIANGLE_STRIP);
    return scanner_fail(s, "found \"%s\"; expected a section such as POINTS or %s", s->word,
                        v->polydata ? "POLYGONS" : "CELLS");
}

static bool read_head(vtk *v) {
    scanner *s = v->s;
    double version;
    if (!scanner_expect(s, "#") || !scanner_expect(s, "vtk") || !scanner_expect(s, "DataFile") ||
        !scanner_expect(s, "Version") || !scanner_number(s, SCANNER_FLOAT64, &version, "the version"))
        return false;
    if (!(version >= 1 && version < 6)) return scanner_fail(s, "is in format version %s; expected 1.0 to 5.1", s->word);
    v->offsets = version >= 5;
    scanner_skip_line(s);
    scanner_skip_line(s);
    if (!scanner_word(s, "ASCII or BINARY")) return false;
    v->binary = scanner_word_is(s, "BINARY");
    if (!v->binary && !scanner_word_is(s, "ASCII"))
        return scanner_fail(s, "found \"%s\"; expected ASCII or BINARY", s->word);
    if (!scanner_expect(s, "DATASET") || !scanner_word(s, "a kind of dataset")) return false;
    v->polydata = scanner_word_is(s, "POLYDATA");
    return v->polydata || scanner_word_is(s, "UNSTRUCTURED_GRID") ||
           scanner_fail(s, "is a dataset of kind %s; expected UNSTRUCTURED_GRID or POLYDATA", s->word);
}

bool mesh_read_vtk(scanner *s, mesh_builder *builder) {
    vtk v = {.s = s, .builder = builder};
    s->big_endian = true;
    bool geometry = true;
    bool done = read_head(&v);
    while (done && geometry && !scanner_at_end(s)) done = read_section(&v, &geometry);
    if (done && !v.has_points) done = scanner_fail(s, "the geometry ends without POINTS; expected POINTS and cells");
    if (done && !v.has_cells) done = scanner_fail(s, "the geometry ends without cells; expected cells behind POINTS");
    if (done && !v.polydata && v.cells.types.count != v.cells.ends.count)
        done = scanner_fail(s, "the geometry ends without CELL_TYPES; expected them behind CELLS");
    vtk_cells_free(&v.cells);
    return done;
}
