/* STL, text and binary: triangles that each bring their own corners; corners with equal coordinates become
 * one vertex (exactly equal: no tolerance that could join what is apart). Normals are ignored, the order of
 * corners counts. Binary is little-endian: 80 bytes of any text, the number of triangles (4), then 50 bytes
 * for each. */
#include "shape/mesh_readers.h"

#include "base/key_table.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define HEAD_SIZE 80
#define TRIANGLE_SIZE 50

typedef struct stl {
    scanner *s;
    mesh_builder *builder;
    key_table vertices; /* by position */
    int triangle_count;
} stl;

static bool add_vertex(stl *t, const double position[3], int *index) {
    /* -0 + 0 is 0: the two zeros are one place and must have the same bytes. */
    double place[3] = {position[0] + 0.0, position[1] + 0.0, position[2] + 0.0};
    mesh_builder *builder = t->builder;
    int newest = mesh_builder_node_count(builder);
    if (!mesh_builder_node(builder, t->s, place, newest)) return false;
    long first = key_table_put(&t->vertices, builder->positions.data, (size_t)newest);
    if (first == KEY_TABLE_NO_MEMORY) return scanner_no_memory(t->s);
    *index = (int)first;
    if (first != newest) {
        builder->positions.count--;
        builder->node_places.count--;
        builder->touched.count--;
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
    return mesh_builder_polygon(t->builder, t->s, corners, 3, place);
}

/* facet normal x y z outer loop, three vertices, endloop endfacet; the word "facet" is read already. */
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
    if (!scanner_need(s, 1, HEAD_SIZE + 4, "STL head")) return false;
    s->at += HEAD_SIZE;
    if (!scanner_integer(s, SCANNER_UINT32, 0, UINT32_MAX, &count, "the number of triangles") ||
        !scanner_need(s, (size_t)count, TRIANGLE_SIZE, "triangles"))
        return false;
    if (scanner_left(s) != (size_t)count * TRIANGLE_SIZE)
        return scanner_fail(s, "found %zu bytes behind the %ld triangles; expected the end of the file",
                            scanner_left(s) - (size_t)count * TRIANGLE_SIZE, count);
    for (long i = 0; i < count; i++)
        if (!scanner_position(s, SCANNER_FLOAT32, normal) || !read_corners(t, false, corners) ||
            !scanner_integer(s, SCANNER_UINT16, 0, UINT16_MAX, &ignored, "attributes") || !add_triangle(t, corners, 0))
            return false;
    return true;
}

/* Binary files may begin with "solid" too, but they have zero bytes soon: in the head, or in the count. */
static bool is_text(const scanner *s) {
    size_t looked_at = scanner_left(s) < HEAD_SIZE + 4 ? scanner_left(s) : HEAD_SIZE + 4;
    return looked_at >= 5 && memcmp(s->at, "solid", 5) == 0 && !memchr(s->at, 0, looked_at);
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
