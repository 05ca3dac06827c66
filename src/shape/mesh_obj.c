/* Wavefront OBJ: the vertices (v) and faces (f) of all objects and groups as one surface. Indices count from
 * 1, or back from the newest vertex if negative; texture and normal indices are ignored, and so are the
 * statements for materials, groups, curves and points. A backslash at the end of a line joins it with the
 * next. */
#include "shape/mesh_readers.h"

#include "base/text.h"

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

/* x y z, and maybe a weight or a colour. */
static bool read_vertex(scanner *s, mesh_builder *builder) {
    double numbers[7];
    int count = 0;
    uint32_t line = scanner_line(s);
    for (; !scanner_at_line_end(s) && *s->at != '#'; count++) {
        if (count == 7) return scanner_fail(s, "more than 7 numbers for a vertex; expected x y z");
        if (!scanner_number(s, SCANNER_FLOAT64, &numbers[count], "a coordinate")) return false;
    }
    if (count < 3) return scanner_fail(s, "a vertex has %d numbers; expected x y z", count);
    if (!mesh_builder_node(builder, s, numbers, mesh_builder_node_count(builder) + 1)) return false;
    builder->node_places.data[builder->node_places.count - 1].line = line;
    return true;
}

/* The vertex of "v", "v/vt", "v//vn" or "v/vt/vn", counting from 0. */
static bool parse_corner(scanner *s, int vertex_count, int *vertex) {
    char *slash = strchr(s->word, '/');
    bool sound = !slash || (strspn(slash, "/-0123456789") == strlen(slash) && slash[strlen(slash) - 1] != '/');
    if (slash) *slash = 0;
    long index = 0;
    sound = sound && text_to_long(s->word, -(long)INT_MAX, INT_MAX, &index) && index != 0;
    if (slash) *slash = '/';
    if (!sound) return scanner_fail(s, "found \"%s\"; expected an index such as 1, 1/2, 1//3 or 1/2/3", s->word);
    if (index < -(long)vertex_count)
        return scanner_fail(s, "index %ld is out of range; expected -%d or more: the vertices so far", index,
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
    return mesh_builder_polygon(builder, s, corners->data, corners->count, place);
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
