/* What the readers of mesh formats share: a scanner over the bytes (words and numbers of text with line numbers, raw
 * values of either byte order with bounds checks), and a builder that collects nodes and elements.
 *
 * Functions that return bool return false on a failure, with the message in scanner.error and its kind in
 * scanner.status. `what` names what is being read, for messages ("a node number"). scanner_integer and scanner_number
 * read a word of text or raw bytes, depending on scanner.binary, so that one reader serves the text and the binary
 * variant of a format. */
#ifndef IO_MESH_READER_H
#define IO_MESH_READER_H

#include "io/file.h"
#include "core/memory.h"
#include "core/vec3.h"

#include <stdbool.h>
#include <stdint.h>

#define SCANNER_WORD_MAX 127

typedef enum scanner_type {
    SCANNER_INT8,
    SCANNER_UINT8,
    SCANNER_INT16,
    SCANNER_UINT16,
    SCANNER_INT32,
    SCANNER_UINT32,
    SCANNER_INT64,
    SCANNER_UINT64,
    SCANNER_FLOAT32,
    SCANNER_FLOAT64
} scanner_type;

typedef struct scanner {
    const char *path;
    const char *start, *at, *end; /* *end is zero, as from file_read */
    const char *line_start;
    long line;                       /* of `at`, from 1 */
    const char *token;               /* start of the last word or value, for messages */
    long token_line, token_column;   /* from 1 */
    char word[SCANNER_WORD_MAX + 1]; /* the last word; control characters become '?', a word that is cut ends in ... */
    bool binary;                     /* values are raw bytes from now on */
    bool has_binary;                 /* raw bytes were read, so messages give the byte instead of the line */
    bool big_endian;
    bool continues; /* a backslash at the end of a line joins it with the next */
    thenar_status status;
    thenar_error *error;
} scanner;

scanner scanner_make(const char *path, file_bytes bytes, thenar_error *error);

/* THENAR_ERROR_INPUT at the token; returns false. */
bool scanner_fail(scanner *s, const char *format, ...) THENAR_PRINTF(2, 3);

/* THENAR_ERROR_MEMORY; returns false. */
bool scanner_no_memory(scanner *s);

/* The line of the token, or 0 where there are no lines. */
uint32_t scanner_line(const scanner *s);

size_t scanner_left(const scanner *s);

/* True if only blanks are left. */
bool scanner_at_end(scanner *s);

/* True if only blanks are left on this line. */
bool scanner_at_line_end(scanner *s);

/* Advances to the next line; the rest of this one must be blank. Raw bytes may start there. */
bool scanner_end_line(scanner *s);
void scanner_skip_line(scanner *s);

/* Advances past the next occurrence of text; false, without a message and without advancing, if there is none. */
bool scanner_skip_past(scanner *s, const char *text);

/* The next word, into s->word. */
bool scanner_word(scanner *s, const char *what);

/* The next word must be this one, in upper or lower case. */
bool scanner_expect(scanner *s, const char *word);
bool scanner_word_is(const scanner *s, const char *word);

/* A value of `type` within low..high. */
bool scanner_integer(scanner *s, scanner_type type, long low, long high, long *value, const char *what);
bool scanner_number(scanner *s, scanner_type type, double *value, const char *what);
bool scanner_position(scanner *s, scanner_type type, double position[3]);

/* Minimum size of a value in bytes: its size if binary; a digit and a blank in text. */
size_t scanner_min_bytes(const scanner *s, scanner_type type);

/* Checks that `count` items of at least `bytes_each` bytes fit into the rest of the file. Call before allocating. */
bool scanner_need(scanner *s, size_t count, size_t bytes_each, const char *what);

/* Collects nodes and elements, then turns them into checked meshes. A zeroed builder is empty. Functions that return
 * bool report errors through the scanner. */

typedef struct mesh_tet {
    int nodes[4];
} mesh_tet;

typedef struct mesh_triangle {
    int nodes[3];
} mesh_triangle;

typedef struct mesh_builder {
    bool loose; /* tets of any shape and unused nodes are allowed; only numbers are checked */
    ARRAY(vec3) positions;
    ARRAY(mesh_place) node_places;
    ARRAY(unsigned char) used; /* per node: a point or a line element uses it */
    ARRAY(mesh_tet) tets;
    ARRAY(mesh_place) tet_places;
    ARRAY(int) tags; /* per tet */
    ARRAY(mesh_triangle) triangles;
    ARRAY(mesh_place) triangle_places;
    ARRAY(mesh_region) regions;
    int first_node; /* how the file numbers its first node */
} mesh_builder;

int mesh_builder_node_count(const mesh_builder *builder);

/* `number` is that of the node or element in the file. Node indices count from 0 in the order of addition; tets and
 * polygons may refer to nodes that are added later, so their indices are checked at the end. */
bool mesh_builder_add_node(mesh_builder *builder, scanner *s, const double position[3], int number);
bool mesh_builder_add_tet(mesh_builder *builder, scanner *s, const int nodes[4], int tag, mesh_place place);

/* A fan of count - 2 triangles around the first node. */
bool mesh_builder_add_polygon(mesh_builder *builder, scanner *s, const int *nodes, size_t count, mesh_place place);

/* A strip of count - 2 triangles, every second one flipped so that all face the same way. */
bool mesh_builder_add_strip(mesh_builder *builder, scanner *s, const int *nodes, size_t count, mesh_place place);

/* For points and lines: marks their nodes, which must have been added, as used. */
void mesh_builder_mark_used(mesh_builder *builder, const int *nodes, size_t count);

/* Copies the name. */
bool mesh_builder_add_region(mesh_builder *builder, scanner *s, int tag, const char *name);

/* One reader per file format. Each adds nodes and elements to the builder; false: the scanner has the error. */

bool mesh_read_gmsh(scanner *s, mesh_builder *builder);
bool mesh_read_vtk(scanner *s, mesh_builder *builder);
bool mesh_read_vtu(scanner *s, mesh_builder *builder);
bool mesh_read_obj(scanner *s, mesh_builder *builder);
bool mesh_read_stl(scanner *s, mesh_builder *builder);
bool mesh_read_ply(scanner *s, mesh_builder *builder);

#endif
