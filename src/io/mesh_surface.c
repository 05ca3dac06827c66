/* Readers of surface formats: OBJ, STL, PLY.
 *
 * Wavefront OBJ: the vertices (v) and faces (f) of all objects and groups as one surface. Indices count from 1, or
 * backwards from the newest vertex if negative; texture and normal indices are ignored, as are statements for
 * materials, groups, curves and points. A backslash at the end of a line joins it with the next. */
#include "io/mesh_reader.h"

#include "core/hash.h"
#include "core/text.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const char *const ignored_statements[] = {
    "vn", "vt",     "vp",     "o",   "g",     "s",        "l",        "p",          "usemtl",   "mtllib",
    "mg", "usemap", "maplib", "lod", "bevel", "c_interp", "d_interp", "shadow_obj", "trace_obj"};

static bool is_ignored(const scanner *s) {
    for (size_t i = 0; i < sizeof ignored_statements / sizeof ignored_statements[0]; i++)
        if (strcmp(s->word, ignored_statements[i]) == 0) return true;
    return false;
}

/* x y z, optionally followed by a weight or a colour. */
static bool read_vertex(scanner *s, mesh_builder *builder) {
    double numbers[7];
    int count = 0;
    uint32_t line = scanner_line(s);
    for (; !scanner_at_line_end(s) && *s->at != '#'; count++) {
        if (count == 7) return scanner_fail(s, "more than 7 numbers for a vertex; expected x y z");
        if (!scanner_number(s, SCANNER_FLOAT64, &numbers[count], "a coordinate")) return false;
    }
    if (count < 3) return scanner_fail(s, "a vertex has %d numbers; expected x y z", count);
    if (!mesh_builder_add_node(builder, s, numbers, mesh_builder_node_count(builder) + 1)) return false;
    builder->node_places.data[builder->node_places.count - 1].line = line;
    return true;
}

/* The vertex of "v", "v/vt", "v//vn" or "v/vt/vn", counting from 0. */
static bool parse_corner(scanner *s, int vertex_count, int *vertex) {
    char *slash = strchr(s->word, '/');
    bool is_valid = !slash || (strspn(slash, "/-0123456789") == strlen(slash) && slash[strlen(slash) - 1] != '/');
    if (slash) *slash = 0;
    long index = 0;
    is_valid = is_valid && text_to_long(s->word, -(long)INT_MAX, INT_MAX, &index) && index != 0;
    if (slash) *slash = '/';
    if (!is_valid) return scanner_fail(s, "found \"%s\"; expected an index such as 1, 1/2, 1//3 or 1/2/3", s->word);
    if (index < -(long)vertex_count)
        return scanner_fail(s, "index %ld is out of range; expected -%d or more, the number of vertices so far", index,
                            vertex_count);
    *vertex = (int)(index > 0 ? index - 1 : vertex_count + index);
    return true;
}

typedef ARRAY(int) index_list;

static bool read_face(scanner *s, mesh_builder *builder, index_list *corners, int number) {
    mesh_place place = {.number = number, .line = scanner_line(s)};
    corners->count = 0;
    while (!scanner_at_line_end(s) && *s->at != '#') {
        int vertex = 0;
        if (!scanner_word(s, "an index") || !parse_corner(s, mesh_builder_node_count(builder), &vertex)) return false;
        if (!ARRAY_PUSH(corners, vertex)) return scanner_no_memory(s);
    }
    return mesh_builder_add_polygon(builder, s, corners->data, corners->count, place);
}

static void skip_comment(scanner *s) {
    s->continues = false;
    scanner_skip_line(s);
    s->continues = true;
}

static bool read_statement(scanner *s, mesh_builder *builder, index_list *corners, int *face_count) {
    if (*s->at == '#') return skip_comment(s), true;
    if (!scanner_word(s, "a statement")) return false;
    if (strcmp(s->word, "v") == 0) {
        if (!read_vertex(s, builder)) return false;
    } else if (strcmp(s->word, "f") == 0) {
        if (!read_face(s, builder, corners, ++*face_count)) return false;
    } else if (is_ignored(s)) {
        scanner_skip_line(s);
        return true;
    } else {
        return scanner_fail(s, "found \"%s\"; expected an OBJ statement such as v, f, vn, vt, o or g", s->word);
    }
    if (!scanner_at_line_end(s)) return skip_comment(s), true;
    return scanner_end_line(s);
}

bool mesh_read_obj(scanner *s, mesh_builder *builder) {
    index_list corners = {0};
    int face_count = 0;
    bool done = true;
    builder->first_node = 1;
    s->continues = true;
    while (done && !scanner_at_end(s)) done = read_statement(s, builder, &corners, &face_count);
    free(corners.data);
    return done;
}

/* STL, text and binary: triangles with separate corners. Corners with exactly equal coordinates become one vertex; a
 * tolerance could merge different ones. Normals are ignored; the order of corners gives the orientation. Binary is
 * little-endian: 80 bytes of any text, the number of triangles (4 bytes), then 50 bytes for each. */

#define HEADER_SIZE 80
#define TRIANGLE_SIZE 50

typedef struct stl {
    scanner *s;
    mesh_builder *builder;
    key_table vertices; /* by position */
    int triangle_count;
} stl;

static bool add_vertex(stl *t, const double position[3], int *index) {
    /* -0 + 0 is 0: vertices are compared by their bytes, so both zeros must have the same. */
    double place[3] = {position[0] + 0.0, position[1] + 0.0, position[2] + 0.0};
    mesh_builder *builder = t->builder;
    int newest = mesh_builder_node_count(builder);
    if (!mesh_builder_add_node(builder, t->s, place, newest)) return false;
    long first = key_table_put(&t->vertices, builder->positions.data, (size_t)newest);
    if (first == KEY_TABLE_NO_MEMORY) return scanner_no_memory(t->s);
    *index = (int)first;
    if (first != newest) {
        builder->positions.count--;
        builder->node_places.count--;
        builder->used.count--;
    }
    return true;
}

static bool read_corners(stl *t, bool keyword, int corners[3]) {
    double position[3];
    for (int i = 0; i < 3; i++) {
        if (keyword && !scanner_expect(t->s, "vertex")) return false;
        if (!scanner_position(t->s, SCANNER_FLOAT32, position) || !add_vertex(t, position, &corners[i])) return false;
    }
    return true;
}

static bool add_triangle(stl *t, const int corners[3], uint32_t line) {
    mesh_place place = {.number = t->triangle_count++, .line = line};
    return mesh_builder_add_polygon(t->builder, t->s, corners, 3, place);
}

/* facet normal x y z outer loop, three vertices, endloop endfacet; the word "facet" has been read. */
static bool read_facet(stl *t) {
    scanner *s = t->s;
    uint32_t line = scanner_line(s);
    double normal[3];
    int corners[3];
    return scanner_expect(s, "normal") && scanner_position(s, SCANNER_FLOAT32, normal) && scanner_expect(s, "outer") &&
           scanner_expect(s, "loop") && read_corners(t, true, corners) && scanner_expect(s, "endloop") &&
           scanner_expect(s, "endfacet") && add_triangle(t, corners, line);
}

static bool read_solid(stl *t) {
    scanner *s = t->s;
    if (!scanner_expect(s, "solid")) return false;
    scanner_skip_line(s);
    for (;;) {
        if (!scanner_word(s, "facet or endsolid")) return false;
        if (scanner_word_is(s, "endsolid")) break;
        if (!scanner_word_is(s, "facet")) return scanner_fail(s, "found \"%s\"; expected facet or endsolid", s->word);
        if (!read_facet(t)) return false;
    }
    scanner_skip_line(s);
    return true;
}

static bool read_binary(stl *t) {
    scanner *s = t->s;
    long count, ignored;
    double normal[3];
    int corners[3];
    s->binary = s->has_binary = true;
    if (!scanner_need(s, 1, HEADER_SIZE + 4, "STL header")) return false;
    s->at += HEADER_SIZE;
    if (!scanner_integer(s, SCANNER_UINT32, 0, UINT32_MAX, &count, "the number of triangles") ||
        !scanner_need(s, (size_t)count, TRIANGLE_SIZE, "triangles"))
        return false;
    if (scanner_left(s) != (size_t)count * TRIANGLE_SIZE)
        return scanner_fail(s, "found %zu bytes after the %ld triangles; expected the end of the file",
                            scanner_left(s) - (size_t)count * TRIANGLE_SIZE, count);
    for (long i = 0; i < count; i++)
        if (!scanner_position(s, SCANNER_FLOAT32, normal) || !read_corners(t, false, corners) ||
            !scanner_integer(s, SCANNER_UINT16, 0, UINT16_MAX, &ignored, "attributes") || !add_triangle(t, corners, 0))
            return false;
    return true;
}

/* Binary files may begin with "solid" too, but have a zero byte in the header or in the count. */
static bool is_text(const scanner *s) {
    size_t size = scanner_left(s) < HEADER_SIZE + 4 ? scanner_left(s) : HEADER_SIZE + 4;
    return size >= 5 && memcmp(s->at, "solid", 5) == 0 && !memchr(s->at, 0, size);
}

bool mesh_read_stl(scanner *s, mesh_builder *builder) {
    stl t = {.s = s, .builder = builder, .vertices = {.key_size = sizeof(vec3)}};
    bool done = true;
    scanner_at_end(s);
    if (!is_text(s)) {
        s->at = s->start;
        done = read_binary(&t);
    } else {
        do done = read_solid(&t);
        while (done && !scanner_at_end(s));
    }
    free(t.vertices.slots);
    return done;
}

/* PLY, text and binary of both byte orders (Turk, "The PLY Polygon File Format", 1994): a text header that declares
 * elements and their properties, then the rows of each element. x, y, z of "vertex" and the list vertex_indices (or
 * vertex_index) of "face" are read; other properties and elements are skipped. */

typedef enum property_role { ROLE_NONE, ROLE_X, ROLE_Y, ROLE_Z, ROLE_CORNERS } property_role;

typedef struct property {
    bool list;
    scanner_type count_type; /* of a list */
    scanner_type type;
    property_role role;
} property;

typedef struct element {
    enum { ELEMENT_OTHER, ELEMENT_VERTEX, ELEMENT_FACE } kind;
    long count;
    int role_count; /* properties with a role */
    ARRAY(property) properties;
} element;

typedef struct ply {
    scanner *s;
    mesh_builder *builder;
    bool binary, has_format;
    ARRAY(element) elements;
    ARRAY(int) corners;
} ply;

typedef struct type_name {
    const char *name, *other_name;
    scanner_type type;
} type_name;

static const type_name type_names[] = {
    {"char", "int8", SCANNER_INT8},        {"uchar", "uint8", SCANNER_UINT8},      {"short", "int16", SCANNER_INT16},
    {"ushort", "uint16", SCANNER_UINT16},  {"int", "int32", SCANNER_INT32},        {"uint", "uint32", SCANNER_UINT32},
    {"float", "float32", SCANNER_FLOAT32}, {"double", "float64", SCANNER_FLOAT64},
};

static bool read_type(scanner *s, scanner_type *type) {
    if (!scanner_word(s, "a type")) return false;
    for (size_t i = 0; i < sizeof type_names / sizeof type_names[0]; i++)
        if (strcmp(s->word, type_names[i].name) == 0 || strcmp(s->word, type_names[i].other_name) == 0) {
            *type = type_names[i].type;
            return true;
        }
    return scanner_fail(s, "found \"%s\"; expected a type such as float, double, uchar or int", s->word);
}

static bool read_format(ply *p) {
    scanner *s = p->s;
    if (p->has_format) return scanner_fail(s, "a second format; expected one");
    p->has_format = true;
    if (!scanner_word(s, "a format")) return false;
    s->big_endian = strcmp(s->word, "binary_big_endian") == 0;
    p->binary = s->big_endian || strcmp(s->word, "binary_little_endian") == 0;
    if (!p->binary && strcmp(s->word, "ascii") != 0)
        return scanner_fail(s, "found \"%s\"; expected ascii, binary_little_endian or binary_big_endian", s->word);
    return scanner_expect(s, "1.0");
}

static bool read_element_header(ply *p) {
    scanner *s = p->s;
    element e = {0};
    if (!scanner_word(s, "the name of an element")) return false;
    if (strcmp(s->word, "vertex") == 0) e.kind = ELEMENT_VERTEX;
    if (strcmp(s->word, "face") == 0) e.kind = ELEMENT_FACE;
    if (strcmp(s->word, "tristrips") == 0) return scanner_fail(s, "has triangle strips; expected faces");
    for (size_t i = 0; i < p->elements.count; i++)
        if (e.kind != ELEMENT_OTHER && p->elements.data[i].kind == e.kind)
            return scanner_fail(s, "a second element %s; expected one", s->word);
    if (!scanner_integer(s, SCANNER_INT32, 0, INT_MAX, &e.count, "the number of elements")) return false;
    return ARRAY_PUSH(&p->elements, e) || scanner_no_memory(s);
}

static property_role role_of(const element *e, const char *name, bool list) {
    if (e->kind == ELEMENT_VERTEX && !list && name[0] >= 'x' && name[0] <= 'z' && name[1] == 0)
        return (property_role)(ROLE_X + (name[0] - 'x'));
    bool corners = strcmp(name, "vertex_indices") == 0 || strcmp(name, "vertex_index") == 0;
    return e->kind == ELEMENT_FACE && list && corners ? ROLE_CORNERS : ROLE_NONE;
}

static bool read_property(ply *p) {
    scanner *s = p->s;
    if (p->elements.count == 0) return scanner_fail(s, "a property before any element; expected an element first");
    element *e = &p->elements.data[p->elements.count - 1];
    property added = {0};
    scanner before = *s;
    if (!scanner_word(s, "a type")) return false;
    added.list = strcmp(s->word, "list") == 0;
    if (!added.list) *s = before;
    if (added.list && !read_type(s, &added.count_type)) return false;
    if (added.list && added.count_type >= SCANNER_FLOAT32)
        return scanner_fail(s, "the count of a list has type %s; expected an integer type", s->word);
    if (!read_type(s, &added.type) || !scanner_word(s, "the name of a property")) return false;
    added.role = role_of(e, s->word, added.list);
    if (added.role == ROLE_CORNERS && added.type >= SCANNER_FLOAT32)
        return scanner_fail(s, "%s is not of an integer type; expected int or uint", s->word);
    for (size_t i = 0; added.role != ROLE_NONE && i < e->properties.count; i++)
        if (e->properties.data[i].role == added.role)
            return scanner_fail(s, "a second property %s; expected one", s->word);
    e->role_count += added.role != ROLE_NONE;
    return ARRAY_PUSH(&e->properties, added) || scanner_no_memory(s);
}

/* *done: this was the last line. */
static bool read_header_line(ply *p, bool *done) {
    scanner *s = p->s;
    if (!scanner_word(s, "end_header")) return false;
    if (strcmp(s->word, "comment") == 0 || strcmp(s->word, "obj_info") == 0) {
        scanner_skip_line(s);
        return true;
    }
    bool read;
    if (strcmp(s->word, "format") == 0)
        read = read_format(p);
    else if (strcmp(s->word, "element") == 0)
        read = read_element_header(p);
    else if (strcmp(s->word, "property") == 0)
        read = read_property(p);
    else {
        *done = strcmp(s->word, "end_header") == 0;
        read = *done || scanner_fail(s, "found \"%s\"; expected element, property or end_header", s->word);
    }
    return read && scanner_end_line(s);
}

static bool read_header(ply *p) {
    bool done = false;
    if (!scanner_expect(p->s, "ply")) return false;
    while (!done)
        if (!read_header_line(p, &done)) return false;
    if (!p->has_format) return scanner_fail(p->s, "the header has no format; expected \"format ascii 1.0\" or binary");
    for (size_t i = 0; i < p->elements.count; i++) {
        const element *e = &p->elements.data[i];
        /* Rows without bytes would permit any count. */
        if (e->properties.count == 0 && e->count > 0)
            return scanner_fail(p->s, "element %zu of the header has no properties; expected some", i);
        if (e->kind == ELEMENT_VERTEX && e->role_count < 3)
            return scanner_fail(p->s, "the vertices lack coordinates; expected properties x, y and z");
        if (e->kind == ELEMENT_FACE && e->role_count < 1)
            return scanner_fail(p->s, "the faces lack their vertices; expected a list vertex_indices");
    }
    return true;
}

static bool read_list(ply *p, const property *list) {
    scanner *s = p->s;
    long count, index;
    double ignored;
    if (!scanner_integer(s, list->count_type, 0, INT_MAX, &count, "the length of a list") ||
        !scanner_need(s, (size_t)count, scanner_min_bytes(s, list->type), "items of a list"))
        return false;
    for (long i = 0; i < count; i++) {
        if (list->role != ROLE_CORNERS) {
            if (!scanner_number(s, list->type, &ignored, "a number")) return false;
            continue;
        }
        if (!scanner_integer(s, list->type, 0, INT_MAX, &index, "a vertex index")) return false;
        if (!ARRAY_PUSH(&p->corners, (int)index)) return scanner_no_memory(s);
    }
    return true;
}

static bool read_row(ply *p, const element *e, int number) {
    double position[3] = {0};
    p->corners.count = 0;
    for (size_t i = 0; i < e->properties.count; i++) {
        const property *read = &e->properties.data[i];
        if (!p->binary && scanner_at_line_end(p->s))
            return scanner_fail(p->s, "the line ends early; expected %zu properties", e->properties.count);
        double value = 0;
        if (read->list ? !read_list(p, read) : !scanner_number(p->s, read->type, &value, "a number")) return false;
        if (read->role >= ROLE_X && read->role <= ROLE_Z) position[read->role - ROLE_X] = value;
    }
    mesh_place place = {.number = number, .line = scanner_line(p->s)};
    if (e->kind == ELEMENT_VERTEX && !mesh_builder_add_node(p->builder, p->s, position, number)) return false;
    if (e->kind == ELEMENT_FACE &&
        !mesh_builder_add_polygon(p->builder, p->s, p->corners.data, p->corners.count, place))
        return false;
    return p->binary || scanner_end_line(p->s);
}

static bool read_rows(ply *p, const element *e) {
    size_t min = 0;
    for (size_t i = 0; i < e->properties.count; i++)
        min += scanner_min_bytes(p->s, e->properties.data[i].list ? e->properties.data[i].count_type
                                                                  : e->properties.data[i].type);
    if (!scanner_need(p->s, (size_t)e->count, min, "rows")) return false;
    for (long i = 0; i < e->count; i++)
        if (!read_row(p, e, (int)i)) return false;
    return true;
}

static bool read_body(ply *p) {
    scanner *s = p->s;
    s->binary = s->has_binary = p->binary;
    for (size_t i = 0; i < p->elements.count; i++)
        if (!read_rows(p, &p->elements.data[i])) return false;
    bool ended = p->binary ? scanner_left(s) == 0 : scanner_at_end(s);
    return ended ||
           scanner_fail(s, "found %zu bytes after the last element; expected the end of the file", scanner_left(s));
}

bool mesh_read_ply(scanner *s, mesh_builder *builder) {
    ply p = {.s = s, .builder = builder};
    bool done = read_header(&p) && read_body(&p);
    for (size_t i = 0; i < p.elements.count; i++) free(p.elements.data[i].properties.data);
    free(p.elements.data);
    free(p.corners.data);
    return done;
}
