/* VTU: VTK's XML file of an unstructured grid, with format="ascii" arrays (VTK User's Guide, "XML File
 * Formats"). Binary (base64), appended and hence compressed arrays are refused by name. Point, cell and field
 * data are skipped; several pieces become one mesh. */
#include "shape/mesh_readers.h"

#include "base/text.h"
#include "shape/mesh_vtk_cells.h"

#include <ctype.h>
#include <limits.h>
#include <string.h>

#define MOST_ATTRIBUTES 24
#define LONGEST_NAME 63

typedef struct attribute {
    char name[LONGEST_NAME + 1];
    char value[SCANNER_LONGEST_WORD + 1];
} attribute;

typedef struct tag {
    char name[LONGEST_NAME + 1];
    bool closing;      /* </name> */
    bool self_closing; /* <name/> */
    int attribute_count;
    attribute attributes[MOST_ATTRIBUTES];
} tag;

static bool read_name(scanner *s, char name[LONGEST_NAME + 1]) {
    size_t length = 0;
    while (s->at < s->end && (isalnum((unsigned char)*s->at) || strchr("_:.-", *s->at)) && *s->at) {
        if (length == LONGEST_NAME)
            return scanner_fail(s, "a name is longer than %d; expected a shorter one", LONGEST_NAME);
        name[length++] = *s->at++;
    }
    name[length] = 0;
    return length > 0 || scanner_fail(s, "no name behind \"<\" or in a tag; expected one");
}

/* Values that are too long for their place are cut: none that is looked at is so long. */
static bool read_attribute(scanner *s, tag *t) {
    if (t->attribute_count == MOST_ATTRIBUTES)
        return scanner_fail(s, "<%s> has more than %d attributes; expected fewer", t->name, MOST_ATTRIBUTES);
    attribute *a = &t->attributes[t->attribute_count++];
    if (!read_name(s, a->name)) return false;
    if (scanner_at_end(s) || *s->at != '=') return scanner_fail(s, "no \"=\" behind %s; expected a value", a->name);
    s->at++;
    if (scanner_at_end(s) || (*s->at != '"' && *s->at != '\''))
        return scanner_fail(s, "the value of %s has no quotes; expected quotes", a->name);
    char quote = *s->at++;
    const char *stop = memchr(s->at, quote, scanner_left(s));
    if (!stop) return scanner_fail(s, "the value of %s does not end; expected a closing quote", a->name);
    size_t length = (size_t)(stop - s->at);
    if (length > SCANNER_LONGEST_WORD) length = SCANNER_LONGEST_WORD;
    for (size_t i = 0; i < length; i++) a->value[i] = (unsigned char)s->at[i] < 32 ? '?' : s->at[i];
    a->value[length] = 0;
    char closing[2] = {quote, 0};
    return scanner_skip_past(s, closing);
}

/* Goes over text, comments and declarations to the next tag and reads it. */
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
            return t->self_closing ? scanner_fail(s, "\"/\" inside <%s>; expected \">\" behind it", t->name) : false;
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
    char name[LONGEST_NAME + 1];
    memcpy(name, opened->name, sizeof name);
    tag t;
    for (int depth = 1; depth > 0;) {
        if (!next_tag(s, &t)) return false;
        if (strcmp(t.name, name) == 0 && !t.self_closing) depth += t.closing ? -1 : 1;
    }
    return true;
}

static bool read_count(scanner *s, const tag *t, const char *name, long *count) {
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

/* The words of an array end at a tag, which may touch the last of them. */
static bool array_goes_on(scanner *s) {
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

static bool read_points(scanner *s, mesh_builder *builder, long count) {
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
            if (!array_goes_on(s)) return scanner_fail(s, "the array has %ld points; expected %ld", i, count);
            if (!read_array_number(s, &position[axis])) return false;
        }
        if (!mesh_builder_node(builder, s, position, mesh_builder_node_count(builder))) return false;
    }
    if (array_goes_on(s)) return scanner_fail(s, "the array goes on behind %ld points; expected its end", count);
    return (array.self_closing || expect_closing(s, "DataArray")) && expect_closing(s, "Points");
}

static bool read_integers(scanner *s, int **data, size_t *count, size_t *capacity) {
    while (array_goes_on(s)) {
        double value;
        if (!read_array_number(s, &value)) return false;
        if (!(value >= 0 && value <= INT_MAX) || value != (int)value)
            return scanner_fail(s, "found %g; expected an integer, 0..%d", value, INT_MAX);
        if (!memory_grow((void **)data, capacity, *count + 1, sizeof **data)) return scanner_no_memory(s);
        (*data)[(*count)++] = (int)value;
    }
    return expect_closing(s, "DataArray");
}

static bool read_cells(scanner *s, vtk_cells *cells) {
    tag t;
    for (;;) {
        if (!next_tag(s, &t)) return false;
        if (is_closing(&t, "Cells")) return true;
        const char *name = attribute_of(&t, "Name");
        bool connectivity = strcmp(name, "connectivity") == 0, ends = strcmp(name, "offsets") == 0;
        if (t.closing || strcmp(t.name, "DataArray") != 0)
            return scanner_fail(s, "found <%s%s> in <Cells>; expected <DataArray>", t.closing ? "/" : "", t.name);
        if (!connectivity && !ends && strcmp(name, "types") != 0) {
            if (!skip_element(s, &t)) return false;
            continue;
        }
        if (!check_inline(s, &t)) return false;
        if (t.self_closing) continue;
        bool read = connectivity ? read_integers(s, &cells->connectivity.data, &cells->connectivity.count,
                                                 &cells->connectivity.capacity)
                    : ends       ? read_integers(s, &cells->ends.data, &cells->ends.count, &cells->ends.capacity)
                                 : read_integers(s, &cells->types.data, &cells->types.count, &cells->types.capacity);
        if (!read) return false;
    }
}

static bool read_piece(scanner *s, mesh_builder *builder, const tag *piece, vtk_cells *cells, int *cell_count) {
    long point_count, piece_cells;
    tag t;
    bool has_points = false;
    int first_point = mesh_builder_node_count(builder);
    if (!read_count(s, piece, "NumberOfPoints", &point_count) || !read_count(s, piece, "NumberOfCells", &piece_cells))
        return false;
    if (piece->self_closing) return true;
    for (;;) {
        if (!next_tag(s, &t)) return false;
        if (is_closing(&t, "Piece")) break;
        if (t.closing) return scanner_fail(s, "found </%s> in <Piece>; expected </Piece>", t.name);
        if (strcmp(t.name, "Points") == 0 && !t.self_closing) {
            if (has_points) return scanner_fail(s, "a second <Points>; expected one");
            has_points = true;
            if (!read_points(s, builder, point_count)) return false;
        } else if (strcmp(t.name, "Cells") == 0 && !t.self_closing) {
            if (!read_cells(s, cells)) return false;
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
    return scanner_at_end(s) || scanner_fail(s, "text behind </VTKFile>; expected the end of the file");
}
