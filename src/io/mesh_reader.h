/* A cursor over the bytes of a mesh file: words and numbers of text with line numbers, raw values of either
 * byte order with bounds.
 *
 * Functions that return bool give false after a failure; the message is then in the error and scanner.status
 * says which kind. `what` names the thing that is read, for messages ("a node number"). scanner_integer and
 * scanner_number read a word of text or raw bytes, as scanner.binary says, so that one reader serves the text
 * and the binary variant of a format. */
#ifndef IO_MESH_READER_H
#define IO_MESH_READER_H

#include "core/error.h"
#include "io/file.h"
#include "core/memory.h"
#include "core/vec3.h"
#include "io/mesh_file.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCANNER_LONGEST_WORD 127

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
    const char *start, *at, *end; /* *end is zero, as file_read leaves it */
    const char *line_start;
    long line;                           /* of `at`, from 1 */
    const char *token;                   /* where the last word or value began: messages point there */
    long token_line, token_column;       /* from 1 */
    char word[SCANNER_LONGEST_WORD + 1]; /* the last word; control characters become '?', a long one ends in ... */
    bool binary;                         /* values are raw bytes now */
    bool has_binary;                     /* raw bytes were read: messages give the byte instead of the line */
    bool big_endian;
    bool continues; /* a backslash at the end of a line joins it with the next */
    thenar_status status;
    thenar_error *error;
} scanner;

scanner scanner_on(const char *path, file_bytes bytes, thenar_error *error);

/* THENAR_ERROR_INPUT at the token; returns false. */
bool scanner_fail(scanner *s, const char *format, ...) THENAR_PRINTF(2, 3);

/* THENAR_ERROR_MEMORY; returns false. */
bool scanner_no_memory(scanner *s);

/* The line of the token, or 0 where there are no lines. */
uint32_t scanner_line(const scanner *s);

size_t scanner_left(const scanner *s);

/* Nothing but blanks is left. */
bool scanner_at_end(scanner *s);

/* Nothing but blanks is left on this line. */
bool scanner_at_line_end(scanner *s);

/* Goes to the next line; the rest of this one must be blank. Raw bytes may start right there. */
bool scanner_end_line(scanner *s);
void scanner_skip_line(scanner *s);

/* Goes behind the next occurrence of text; false (and nothing moved, no message) if there is none. */
bool scanner_skip_past(scanner *s, const char *text);

/* The next word, into s->word. */
bool scanner_word(scanner *s, const char *what);

/* The next word is this one, in upper or lower case. */
bool scanner_expect(scanner *s, const char *word);
bool scanner_word_is(const scanner *s, const char *word);

/* A value of `type`; low..high is what is allowed. */
bool scanner_integer(scanner *s, scanner_type type, long low, long high, long *value, const char *what);
bool scanner_number(scanner *s, scanner_type type, double *value, const char *what);
bool scanner_position(scanner *s, scanner_type type, double position[3]);

/* The bytes that one value takes at least: its size if binary; a digit and a blank in text. */
size_t scanner_min_bytes(const scanner *s, scanner_type type);
size_t scanner_type_size(scanner_type type);

/* `count` things of at least `bytes_each` bytes fit into what is left of the file: ask before allocating. */
bool scanner_need(scanner *s, size_t count, size_t bytes_each, const char *what);

/* Collects nodes and elements as a file reader finds them, then turns them into checked meshes. A zeroed
 * builder is empty. The functions that return bool report through the scanner. */

typedef struct mesh_tet {
    int nodes[4];
} mesh_tet;

typedef struct mesh_triangle {
    int nodes[3];
} mesh_triangle;

typedef struct mesh_builder {
    bool loose; /* tets may be of any shape, and nodes unused: numbers are checked, nothing else */
    ARRAY(vec3) positions;
    ARRAY(mesh_place) node_places;
    ARRAY(unsigned char) touched; /* per node: a point or a line element uses it */
    ARRAY(mesh_tet) tets;
    ARRAY(mesh_place) tet_places;
    ARRAY(int) tags; /* per tet */
    ARRAY(mesh_triangle) triangles;
    ARRAY(mesh_place) triangle_places;
    ARRAY(mesh_region) regions;
    int first_node; /* how the file numbers its first node */
} mesh_builder;

int mesh_builder_node_count(const mesh_builder *builder);

/* `number` is what the file calls the node or element. Indices of nodes are from 0 in the order they were
 * added; those of tets and polygons may run ahead of the nodes and are checked in the end. */
bool mesh_builder_node(mesh_builder *builder, scanner *s, const double position[3], int number);
bool mesh_builder_tet(mesh_builder *builder, scanner *s, const int nodes[4], int tag, mesh_place place);

/* A fan of count - 2 triangles around the first node. */
bool mesh_builder_polygon(mesh_builder *builder, scanner *s, const int *nodes, size_t count, mesh_place place);

/* A strip of count - 2 triangles, every second one turned so that all face the same way. */
bool mesh_builder_strip(mesh_builder *builder, scanner *s, const int *nodes, size_t count, mesh_place place);

/* Points and lines: only that they use their nodes, which must have been added, is kept. */
void mesh_builder_touch(mesh_builder *builder, const int *nodes, size_t count);

/* Copies the name. */
bool mesh_builder_region(mesh_builder *builder, scanner *s, int tag, const char *name);

/* Cells as legacy VTK and VTU files hold them, and their way into the builder. */

/* Types of VTK's cells (vtkCellType.h) that the readers themselves give to the cells of polydata. */
enum { VTK_POLY_VERTEX = 2, VTK_POLY_LINE = 4, VTK_TRIANGLE_STRIP = 6, VTK_POLYGON = 7 };

typedef struct vtk_cells {
    ARRAY(int) connectivity; /* point indices of all cells, one cell behind the other */
    ARRAY(int) ends;         /* per cell: where its indices end in connectivity */
    ARRAY(uint32_t) lines;   /* per cell: its line in the file; shorter than ends if there are none */
    ARRAY(int) types;        /* per cell */
} vtk_cells;

/* One reader per file format. Each puts what it finds into the builder; false: the scanner has the error. */

bool mesh_read_gmsh(scanner *s, mesh_builder *builder);
bool mesh_read_vtk(scanner *s, mesh_builder *builder);
bool mesh_read_vtu(scanner *s, mesh_builder *builder);
bool mesh_read_obj(scanner *s, mesh_builder *builder);
bool mesh_read_stl(scanner *s, mesh_builder *builder);
bool mesh_read_ply(scanner *s, mesh_builder *builder);

#endif
