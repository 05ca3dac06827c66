/* Legacy VTK, unstructured grids and polydata, text and binary (VTK User's Guide, "Simple Legacy Formats"; binary values
 * are big-endian). Up to version 4, cells are "count index index ..."; from version 5 on, they are an OFFSETS and a
 * CONNECTIVITY array. Point and cell data, which follow the geometry, are not read. */
#include "io/mesh_reader.h"

#include "core/text.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

typedef enum cell_kind { CELL_OTHER, CELL_POINT_OR_LINE, CELL_POLYGON, CELL_STRIP, CELL_TET } cell_kind;

typedef struct cell_type {
    const char *name;
    cell_kind kind;
    size_t node_count; /* 0: any number */
} cell_type;

static const cell_type cell_types[] = {
    [0] = {"empty cell", CELL_OTHER, 0},
    [1] = {"vertex", CELL_POINT_OR_LINE, 1},
    [2] = {"poly-vertex", CELL_POINT_OR_LINE, 0},
    [3] = {"line", CELL_POINT_OR_LINE, 2},
    [4] = {"poly-line", CELL_POINT_OR_LINE, 0},
    [5] = {"triangle", CELL_POLYGON, 3},
    [6] = {"triangle strip", CELL_STRIP, 0},
    [7] = {"polygon", CELL_POLYGON, 0},
    [8] = {"pixel", CELL_OTHER, 4},
    [9] = {"quad", CELL_POLYGON, 4},
    [10] = {"tet", CELL_TET, 4},
    [11] = {"voxel", CELL_OTHER, 8},
    [12] = {"hexahedron", CELL_OTHER, 8},
    [13] = {"wedge (prism)", CELL_OTHER, 6},
    [14] = {"pyramid", CELL_OTHER, 5},
    [15] = {"pentagonal prism", CELL_OTHER, 10},
    [16] = {"hexagonal prism", CELL_OTHER, 12},
    [21] = {"quadratic edge", CELL_OTHER, 3},
    [22] = {"quadratic triangle", CELL_OTHER, 6},
    [23] = {"quadratic quad", CELL_OTHER, 8},
    [24] = {"quadratic tet (tet10)", CELL_OTHER, 10},
    [25] = {"quadratic hexahedron", CELL_OTHER, 20},
    [26] = {"quadratic wedge", CELL_OTHER, 15},
    [27] = {"quadratic pyramid", CELL_OTHER, 13},
    [41] = {"convex point set", CELL_OTHER, 0},
    [42] = {"polyhedron", CELL_OTHER, 0},
    [69] = {"Lagrange triangle", CELL_OTHER, 0},
    [71] = {"Lagrange tet", CELL_OTHER, 0},
    [72] = {"Lagrange hexahedron", CELL_OTHER, 0},
};
/* Types that polydata sections give to their cells. */
enum { POLY_VERTEX = 2, POLY_LINE = 4, TRIANGLE_STRIP = 6, POLYGON = 7 };
#define CELL_TYPE_COUNT ((int)(sizeof cell_types / sizeof cell_types[0]))

typedef ARRAY(int) int_list;

typedef struct vtk_cells {
    int_list connectivity; /* point indices of all cells, cell by cell */
    int_list ends;         /* per cell: where its indices end in connectivity */
    int_list types;        /* per cell */
    ARRAY(uint32_t) lines; /* per cell: its line in the file; shorter than ends if there are none */
} vtk_cells;

static void vtk_cells_free(vtk_cells *cells) {
    free(cells->connectivity.data);
    free(cells->ends.data);
    free(cells->lines.data);
    free(cells->types.data);
    *cells = (vtk_cells){0};
}

static bool add_cell(scanner *s, mesh_builder *builder, int type_number, const int *nodes, size_t count,
                     mesh_place place) {
    const cell_type *type = &cell_types[type_number >= 0 && type_number < CELL_TYPE_COUNT ? type_number : 0];
    if (type->kind == CELL_OTHER)
        return scanner_fail(s,
                            "cell %d is a %s (VTK type %d); expected linear tets, triangles, polygons, lines or points",
                            place.number, type->name ? type->name : "cell of an unsupported type", type_number);
    if (type->node_count != 0 && count != type->node_count)
        return scanner_fail(s, "cell %d is a %s with %zu points; expected %zu", place.number, type->name, count,
                            type->node_count);
    switch (type->kind) {
    case CELL_TET:
        return mesh_builder_add_tet(builder, s, nodes, 0, place);
    case CELL_POLYGON:
        return mesh_builder_add_polygon(builder, s, nodes, count, place);
    case CELL_STRIP:
        return mesh_builder_add_strip(builder, s, nodes, count, place);
    default:
        mesh_builder_mark_used(builder, nodes, count);
        return true;
    }
}

static bool shift_points(scanner *s, const mesh_builder *builder, int *points, int count, int first_point, int cell) {
    int last = mesh_builder_node_count(builder) - first_point - 1;
    for (int i = 0; i < count; i++) {
        if (points[i] < 0 || points[i] > last)
            return scanner_fail(s, "cell %d has node index %d, which is out of range; expected 0..%d", cell, points[i],
                                last);
        points[i] += first_point;
    }
    return true;
}

/* Adds the cells to the builder, shifting their indices by first_point and counting them from first_cell. */
static bool vtk_cells_add(vtk_cells *cells, scanner *s, mesh_builder *builder, int first_point, int first_cell) {
    if (cells->types.count != cells->ends.count)
        return scanner_fail(s, "found %zu cell types for %zu cells; expected one each", cells->types.count,
                            cells->ends.count);
    int start = 0;
    for (size_t i = 0; i < cells->ends.count; i++) {
        int end = cells->ends.data[i];
        mesh_place place = {.number = first_cell + (int)i, .line = i < cells->lines.count ? cells->lines.data[i] : 0};
        if (end < start || (size_t)end > cells->connectivity.count)
            return scanner_fail(s, "cell %d ends at %d of the connectivity; expected %d..%zu", place.number, end, start,
                                cells->connectivity.count);
        int *points = end > start ? cells->connectivity.data + start : NULL;
        if (!shift_points(s, builder, points, end - start, first_point, place.number) ||
            !add_cell(s, builder, cells->types.data[i], points, (size_t)(end - start), place))
            return false;
        start = end;
    }
    if ((size_t)start != cells->connectivity.count)
        return scanner_fail(s, "the cells use %d point indices; expected all %zu", start, cells->connectivity.count);
    return true;
}

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

static const type_name type_names[] = {{"float", SCANNER_FLOAT32},
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
                                       {"vtktypeint32", SCANNER_INT32}};

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

/* Values follow: words, or raw bytes directly after this line. */
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
    if (!begin_values(v) || !scanner_need(v->s, (size_t)count, 3 * scanner_min_bytes(v->s, type), "points"))
        return false;
    for (long i = 0; i < count; i++) {
        double position[3];
        if (!scanner_position(v->s, type, position) || !mesh_builder_add_node(v->builder, v->s, position, (int)i))
            return false;
    }
    v->s->binary = false;
    return true;
}

/* Versions up to 4: `size` integers, of which each cell takes one for its count and one per point. */
static bool read_counted_cells(vtk *v, long cell_count, long size) {
    vtk_cells *cells = &v->cells;
    if (!begin_values(v) ||
        !scanner_need(v->s, (size_t)size, scanner_min_bytes(v->s, SCANNER_INT32), "integers of cells"))
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
           scanner_fail(v->s, "the cells end %ld integers before their size; expected the size to match", size);
}

/* Versions from 5 on: one more offset than cells, the first of which is 0. */
static bool read_offset_cells(vtk *v, long offset_count, long index_count) {
    vtk_cells *cells = &v->cells;
    scanner *s = v->s;
    scanner_type type = SCANNER_INT32;
    long value = 0;
    if (!scanner_expect(s, "OFFSETS") || !read_type(s, &type) || !begin_values(v)) return false;
    if (type >= SCANNER_FLOAT32) return scanner_fail(s, "has offsets of type %s; expected an integer type", s->word);
    if (!scanner_need(s, (size_t)offset_count, scanner_min_bytes(s, type), "offsets")) return false;
    for (long i = 0; i < offset_count; i++) {
        if (!scanner_integer(s, type, 0, i == 0 ? 0 : index_count, &value, "an offset")) return false;
        if (i > 0 && !ARRAY_PUSH(&cells->ends, (int)value)) return scanner_no_memory(s);
    }
    s->binary = false;
    if (!scanner_expect(s, "CONNECTIVITY") || !read_type(s, &type) || !begin_values(v)) return false;
    if (type >= SCANNER_FLOAT32) return scanner_fail(s, "has indices of type %s; expected an integer type", s->word);
    if (!scanner_need(s, (size_t)index_count, scanner_min_bytes(s, type), "node indices")) return false;
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
    if (!v->has_cells || v->cells.types.count > 0)
        return scanner_fail(v->s, "unexpected CELL_TYPES; expected one, after CELLS");
    if (!read_count(v, &count, "the number of cell types") || !begin_values(v) ||
        !scanner_need(v->s, (size_t)count, scanner_min_bytes(v->s, SCANNER_INT32), "cell types"))
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
        size_t size = scanner_min_bytes(s, type);
        if (!scanner_need(s, (size_t)components, size, "values") ||
            !scanner_need(s, (size_t)components * (size_t)tuples, size, "values"))
            return false;
        for (long j = 0; j < components * tuples; j++)
            if (!scanner_number(s, type, &ignored, "a value")) return false;
        s->binary = false;
    }
    return true;
}

/* Reads one section; *geometry becomes false at the end of the geometry. */
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
    if (v->polydata && scanner_word_is(s, "VERTICES")) return read_poly_cells(v, POLY_VERTEX);
    if (v->polydata && scanner_word_is(s, "LINES")) return read_poly_cells(v, POLY_LINE);
    if (v->polydata && scanner_word_is(s, "POLYGONS")) return read_poly_cells(v, POLYGON);
    if (v->polydata && scanner_word_is(s, "TRIANGLE_STRIPS")) return read_poly_cells(v, TRIANGLE_STRIP);
    return scanner_fail(s, "found \"%s\"; expected a section such as POINTS or %s", s->word,
                        v->polydata ? "POLYGONS" : "CELLS");
}

static bool read_header(vtk *v) {
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
    bool done = read_header(&v);
    while (done && geometry && !scanner_at_end(s)) done = read_section(&v, &geometry);
    if (done && !v.has_points) done = scanner_fail(s, "the geometry ends without POINTS; expected POINTS and cells");
    if (done && !v.has_cells) done = scanner_fail(s, "the geometry ends without cells; expected cells after POINTS");
    if (done && !v.polydata && v.cells.types.count != v.cells.ends.count)
        done = scanner_fail(s, "the geometry ends without CELL_TYPES; expected them after CELLS");
    vtk_cells_free(&v.cells);
    return done;
}

/* VTU: VTK's XML file of an unstructured grid, with format="ascii" arrays (VTK User's Guide, "XML File Formats"). Binary
 * (base64), appended and thus compressed arrays are refused by name. Point, cell and field data are skipped; several
 * pieces become one mesh. */

#define MAX_ATTRIBUTES 24
#define NAME_MAX_LENGTH 63

typedef struct attribute {
    char name[NAME_MAX_LENGTH + 1];
    char value[SCANNER_WORD_MAX + 1];
} attribute;

typedef struct tag {
    char name[NAME_MAX_LENGTH + 1];
    bool closing;      /* </name> */
    bool self_closing; /* <name/> */
    int attribute_count;
    attribute attributes[MAX_ATTRIBUTES];
} tag;

static bool read_name(scanner *s, char name[NAME_MAX_LENGTH + 1]) {
    size_t length = 0;
    while (s->at < s->end && (isalnum((unsigned char)*s->at) || strchr("_:.-", *s->at)) && *s->at) {
        if (length == NAME_MAX_LENGTH)
            return scanner_fail(s, "a name is longer than %d characters; expected a shorter one", NAME_MAX_LENGTH);
        name[length++] = *s->at++;
    }
    name[length] = 0;
    return length > 0 || scanner_fail(s, "no name after \"<\" or in a tag; expected one");
}

/* Values too long for their buffer are truncated; no value that is used is so long. */
static bool read_attribute(scanner *s, tag *t) {
    if (t->attribute_count == MAX_ATTRIBUTES)
        return scanner_fail(s, "<%s> has more than %d attributes; expected fewer", t->name, MAX_ATTRIBUTES);
    attribute *a = &t->attributes[t->attribute_count++];
    if (!read_name(s, a->name)) return false;
    if (scanner_at_end(s) || *s->at != '=') return scanner_fail(s, "no \"=\" after %s; expected a value", a->name);
    s->at++;
    if (scanner_at_end(s) || (*s->at != '"' && *s->at != '\''))
        return scanner_fail(s, "the value of %s has no quotes; expected quotes", a->name);
    char quote = *s->at++;
    const char *stop = memchr(s->at, quote, scanner_left(s));
    if (!stop) return scanner_fail(s, "the value of %s does not end; expected a closing quote", a->name);
    size_t length = (size_t)(stop - s->at);
    if (length > SCANNER_WORD_MAX) length = SCANNER_WORD_MAX;
    for (size_t i = 0; i < length; i++) a->value[i] = (unsigned char)s->at[i] < 32 ? '?' : s->at[i];
    a->value[length] = 0;
    char closing[2] = {quote, 0};
    return scanner_skip_past(s, closing);
}

/* Skips text, comments and declarations up to the next tag and reads it. */
static bool next_tag(scanner *s, tag *t) {
    const char *skipped;
    do {
        if (!scanner_skip_past(s, "<"))
            return scanner_at_end(s), scanner_fail(s, "the file ends early; expected a tag");
        skipped = s->at < s->end && *s->at == '?'                       ? "?>"
                  : scanner_left(s) > 2 && memcmp(s->at, "!--", 3) == 0 ? "-->"
                                                                        : NULL;
        if (skipped && !scanner_skip_past(s, skipped)) return scanner_fail(s, "no \"%s\"; expected one", skipped);
    } while (skipped);
    t->attribute_count = 0;
    t->self_closing = false;
    t->closing = s->at < s->end && *s->at == '/';
    if (t->closing) s->at++;
    scanner_at_line_end(s);
    if (!read_name(s, t->name)) return false;
    for (;;) {
        if (scanner_at_end(s)) return scanner_fail(s, "the file ends inside <%s>; expected \">\"", t->name);
        if (*s->at == '>') break;
        if (*s->at == '/' && !t->self_closing) {
            t->self_closing = true;
            s->at++;
        } else if (t->self_closing || !read_attribute(s, t)) {
            return t->self_closing ? scanner_fail(s, "\"/\" inside <%s>; expected \">\" after it", t->name) : false;
        }
    }
    s->at++;
    return true;
}

static const char *attribute_of(const tag *t, const char *name) {
    for (int i = 0; i < t->attribute_count; i++)
        if (strcmp(t->attributes[i].name, name) == 0) return t->attributes[i].value;
    return "";
}

static bool is_closing(const tag *t, const char *name) {
    return t->closing && strcmp(t->name, name) == 0;
}

static bool skip_element(scanner *s, const tag *opened) {
    if (opened->self_closing) return true;
    char name[NAME_MAX_LENGTH + 1];
    memcpy(name, opened->name, sizeof name);
    tag t;
    for (int depth = 1; depth > 0;) {
        if (!next_tag(s, &t)) return false;
        if (strcmp(t.name, name) == 0 && !t.self_closing) depth += t.closing ? -1 : 1;
    }
    return true;
}

static bool vtu_read_count(scanner *s, const tag *t, const char *name, long *count) {
    const char *value = attribute_of(t, name);
    return text_to_long(value, 0, INT_MAX, count) ||
           scanner_fail(s, "<%s> has %s=\"%s\"; expected a count", t->name, name, value);
}

static bool check_inline(scanner *s, const tag *array) {
    const char *format = attribute_of(array, "format");
    return strcmp(format, "ascii") == 0 ||
           scanner_fail(s,
                        "the array %s has format=\"%s\"; binary, appended and compressed arrays are not supported; "
                        "expected format=\"ascii\": save the file in the ASCII data mode",
                        attribute_of(array, "Name"), format);
}

static bool expect_closing(scanner *s, const char *name) {
    tag t;
    if (!next_tag(s, &t)) return false;
    return is_closing(&t, name) || scanner_fail(s, "found <%s%s>; expected </%s>", t.closing ? "/" : "", t.name, name);
}

/* The words of an array end at a tag, which may directly follow the last of them. */
static bool array_continues(scanner *s) {
    return !scanner_at_end(s) && *s->at != '<';
}

static bool read_array_number(scanner *s, double *value) {
    const char *stop;
    scanner_at_end(s);
    *value = text_scan_double(s->at, &stop);
    if (stop == s->at || !(isspace((unsigned char)*stop) || *stop == '<')) {
        if (!scanner_word(s, "a number")) return false;
        return scanner_fail(s, "found \"%s\"; expected a number", s->word);
    }
    s->at = stop;
    return true;
}

static bool vtu_read_points(scanner *s, mesh_builder *builder, long count) {
    tag array;
    double position[3];
    if (!next_tag(s, &array)) return false;
    if (array.closing || strcmp(array.name, "DataArray") != 0)
        return scanner_fail(s, "<Points> without <DataArray>; expected one");
    if (!check_inline(s, &array)) return false;
    const char *components = attribute_of(&array, "NumberOfComponents");
    if (strcmp(components, "3") != 0)
        return scanner_fail(s, "points have NumberOfComponents=\"%s\"; expected 3", components);
    if (!scanner_need(s, (size_t)count, 6, "points")) return false;
    for (long i = 0; i < count; i++) {
        for (int axis = 0; axis < 3; axis++) {
            if (!array_continues(s)) return scanner_fail(s, "the array has %ld points; expected %ld", i, count);
            if (!read_array_number(s, &position[axis])) return false;
        }
        if (!mesh_builder_add_node(builder, s, position, mesh_builder_node_count(builder))) return false;
    }
    if (array_continues(s)) return scanner_fail(s, "the array continues after %ld points; expected its end", count);
    return (array.self_closing || expect_closing(s, "DataArray")) && expect_closing(s, "Points");
}

static bool read_integers(scanner *s, int_list *list) {
    while (array_continues(s)) {
        double value;
        if (!read_array_number(s, &value)) return false;
        if (!(value >= 0 && value <= INT_MAX) || value != (int)value)
            return scanner_fail(s, "found %g; expected an integer, 0..%d", value, INT_MAX);
        if (!ARRAY_PUSH(list, (int)value)) return scanner_no_memory(s);
    }
    return expect_closing(s, "DataArray");
}

static bool vtu_read_cells(scanner *s, vtk_cells *cells) {
    tag t;
    for (;;) {
        if (!next_tag(s, &t)) return false;
        if (is_closing(&t, "Cells")) return true;
        if (t.closing || strcmp(t.name, "DataArray") != 0)
            return scanner_fail(s, "found <%s%s> in <Cells>; expected <DataArray>", t.closing ? "/" : "", t.name);
        const char *name = attribute_of(&t, "Name");
        int_list *list = strcmp(name, "connectivity") == 0 ? &cells->connectivity
                         : strcmp(name, "offsets") == 0    ? &cells->ends
                         : strcmp(name, "types") == 0      ? &cells->types
                                                           : NULL;
        if (list && !check_inline(s, &t)) return false;
        if (t.self_closing) continue;
        if (!(list ? read_integers(s, list) : skip_element(s, &t))) return false;
    }
}

static bool read_piece(scanner *s, mesh_builder *builder, const tag *piece, vtk_cells *cells, int *cell_count) {
    long point_count, piece_cells;
    tag t;
    bool has_points = false;
    int first_point = mesh_builder_node_count(builder);
    if (!vtu_read_count(s, piece, "NumberOfPoints", &point_count) ||
        !vtu_read_count(s, piece, "NumberOfCells", &piece_cells))
        return false;
    if (piece->self_closing) return true;
    for (;;) {
        if (!next_tag(s, &t)) return false;
        if (is_closing(&t, "Piece")) break;
        if (t.closing) return scanner_fail(s, "found </%s> in <Piece>; expected </Piece>", t.name);
        if (strcmp(t.name, "Points") == 0 && !t.self_closing) {
            if (has_points) return scanner_fail(s, "a second <Points>; expected one");
            has_points = true;
            if (!vtu_read_points(s, builder, point_count)) return false;
        } else if (strcmp(t.name, "Cells") == 0 && !t.self_closing) {
            if (!vtu_read_cells(s, cells)) return false;
        } else if (!skip_element(s, &t)) {
            return false;
        }
    }
    if ((size_t)piece_cells != cells->ends.count)
        return scanner_fail(s, "the piece has %zu cells; expected %ld by NumberOfCells", cells->ends.count,
                            piece_cells);
    if (!vtk_cells_add(cells, s, builder, first_point, *cell_count)) return false;
    *cell_count += (int)piece_cells;
    return true;
}

static bool read_file_tag(scanner *s) {
    tag t;
    if (!next_tag(s, &t)) return false;
    if (t.closing || t.self_closing || strcmp(t.name, "VTKFile") != 0)
        return scanner_fail(s, "begins with <%s>; expected <VTKFile>", t.name);
    const char *type = attribute_of(&t, "type");
    return strcmp(type, "UnstructuredGrid") == 0 ||
           scanner_fail(s, "has type=\"%s\"; expected type=\"UnstructuredGrid\"", type);
}

bool mesh_read_vtu(scanner *s, mesh_builder *builder) {
    int cell_count = 0;
    tag t;
    if (!read_file_tag(s)) return false;
    for (;;) {
        if (!next_tag(s, &t)) return false;
        if (is_closing(&t, "VTKFile")) break;
        if (strcmp(t.name, "UnstructuredGrid") == 0) continue;
        if (t.closing) return scanner_fail(s, "found </%s>; expected </VTKFile>", t.name);
        vtk_cells cells = {0};
        bool done =
            strcmp(t.name, "Piece") == 0 ? read_piece(s, builder, &t, &cells, &cell_count) : skip_element(s, &t);
        vtk_cells_free(&cells);
        if (!done) return false;
    }
    return scanner_at_end(s) || scanner_fail(s, "text after </VTKFile>; expected the end of the file");
}
