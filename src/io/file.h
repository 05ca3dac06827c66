/* Files: whole files, JSON, meshes, hands and VTK. What is read is untrusted: an error names the file, the position in it,
 * what is wrong, and what was expected. */
#ifndef IO_FILE_H
#define IO_FILE_H

#include "core/error.h"
#include "hand/shape.h"
#include "mesh/mesh.h"

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>

#define FILE_SIZE_LIMIT ((size_t)1 << 31) /* largest input file, bytes: 2 GiB */

typedef struct file_bytes {
    char *data; /* size bytes and a terminating zero; free() it */
    size_t size;
} file_bytes;

/* Copies bytes as file_read would read them; none, or more than `limit`, is an error. name: for the message. */
thenar_status file_copy(const char *name, const void *bytes, size_t size, size_t limit, file_bytes *out,
                        thenar_error *error);

/* Sets where file_read of this thread takes files from; NULL: the file system. Returns the previous source. */
const struct thenar_file_source *file_source_set(const struct thenar_file_source *source);

/* Reads a whole regular file. A missing or empty file, a directory, or more than `limit` bytes is an error. */
thenar_status file_read(const char *path, size_t limit, file_bytes *out, thenar_error *error);

/* Opens a file for writing. Numbers are printed in the locale of the thread: see text_locale_begin. */
thenar_status file_create(const char *path, FILE **out, thenar_error *error);

/* Flushes and closes the file. A write that failed at any time since file_create (disk full) is an error here. */
thenar_status file_close(FILE *file, const char *path, thenar_error *error);

/* Creates a directory and its parents; they may exist. */
thenar_status file_make_directory(const char *path, thenar_error *error);

/* The part of path after the last dot of its last component, in its original case; "" if there is none. */
const char *file_extension(const char *path);

/* Reads JSON (RFC 8259) from untrusted text into jansson's values.
 *
 * jansson's own reader is not used: when memory runs out within a string or a number it continues without the rest, and
 * reads beyond its buffer or aborts. Its functions that create values report running out of memory.
 *
 * Limits: JSON_TEXT_DEPTH, JSON_TEXT_VALUES, and about 100 bytes of memory per byte of text. Duplicate keys are errors.
 * Strings are UTF-8 without zeros, whole numbers fit into 64 bits, and other numbers are finite. */

#define JSON_TEXT_DEPTH 128      /* levels of nested arrays and objects */
#define JSON_TEXT_VALUES 1000000 /* values in a text */

/* What is wrong with a text, and where. */
typedef struct json_text_fault {
    thenar_status status; /* THENAR_ERROR_INPUT or THENAR_ERROR_MEMORY */
    const char *what;     /* "unterminated string", ...: a constant */
    size_t offset;        /* bytes from the start; the size of the text if more was expected */
    long line, column;    /* of the offset, from 1, in characters */
} json_text_fault;

/* A new reference, or NULL and a fault. */
json_t *json_text_read(const char *text, size_t size, json_text_fault *fault);

/* The same with a message that begins with `name`, line and column. */
thenar_status json_text_parse(const char *text, size_t size, const char *name, json_t **out, thenar_error *error);

/* Mesh files: Gmsh 2.2 and 4.1 (text, binary), legacy VTK (text, binary), VTU (inline text), OBJ, STL (text, binary),
 * PLY (text, binary of both byte orders). The content decides the format if it has a signature, else the extension.
 * Memory stays within a small multiple of the file's size.
 *
 * A file with several kinds of elements gives a tet mesh and a surface, each with the nodes that it uses, in their
 * order. Polygons become fans of triangles. Elements of higher order, and volumes other than tets, are errors. In a
 * file with tets, a node without an element is an error. */

/* A named physical group of tets. */
typedef struct mesh_region {
    int tag;
    char *name;
} mesh_region;

typedef struct mesh_file {
    thenar_tet_mesh tets;   /* may be empty */
    thenar_surface surface; /* may be empty, but not both */
    int region_count;
    mesh_region *regions; /* in the order of the file; a tag may have no name, and a name no tet */
    mesh_note note;       /* what was repaired in the tets */
} mesh_file;

thenar_status mesh_file_read(const char *path, mesh_file *out, thenar_error *error);

/* The same for bytes in memory (followed by a zero, as from file_read); path is for its extension and for messages. */
thenar_status mesh_file_parse(const char *path, file_bytes bytes, mesh_file *out, thenar_error *error);
void mesh_file_free(mesh_file *file);

/* Hands in glTF 2.0 files, binary (.glb) or text (.gltf) with embedded buffers: any closed mesh with the 25 joints of
 * WebXR, by name, and skin weights. Every offset, length, stride and index is checked before a byte is read.
 *
 * Joints come from the inverse bind matrices, not from the nodes, which may be siblings, in any order and in any pose.
 * Vertices at the same position (texture seams) are merged. The hand is rotated into the frame of its wrist; a hand
 * whose thumb is at -x is a right hand. The last joints of some hands lie deep inside the fingertips and are kept there. */

/* Makes the flesh as that of the built-in hand. */
thenar_status hand_gltf_load(const char *path, hand_fineness fineness, hand_shape *out, thenar_error *error);

/* Reads joints and skin as they are in the file, without tets, and HAND_BONES weights per vertex; free() these. `bytes`
 * are freed, also on an error. path: for messages. */
thenar_status hand_gltf_parse(const char *path, file_bytes bytes, hand_shape *out, double **weight,
                              thenar_error *error);

/* Unstructured grids in VTK's legacy ASCII format (file version 3.0), as ParaView reads them.
 *
 * A grid consists of pieces, one per body, whose points and cells are written one after the other. All pieces have the
 * same named arrays: values[a] of a piece belongs to the grid's array a. Numbers have 9 significant digits: all of a
 * float32, and 1 nm at 1 m. */

/* A named array on points or cells; 3 components become VECTORS, 1 SCALARS, other counts a FIELD. */
typedef struct vtk_array {
    const char *name; /* blanks become underscores */
    int components;
} vtk_array;

typedef struct vtk_piece {
    int point_count, tet_count, triangle_count;
    const double *points; /* 3 * point_count, m */
    const int *tets;      /* 4 * tet_count, counted from the piece's first point */
    const int *triangles; /* 3 * triangle_count */
    int body;             /* index of the body, written to the cell array `body` */
    /* One pointer per array of the grid; NULL if the piece has no values: then zeros are written. */
    const double *const *point_values;
    const double *const *cell_values; /* of the tets; triangles get zeros */
} vtk_piece;

typedef struct vtk_grid {
    const char *title; /* one line */
    const vtk_piece *pieces;
    int piece_count;
    const vtk_array *point_arrays;
    int point_array_count;
    const vtk_array *cell_arrays; /* besides `body` */
    int cell_array_count;
} vtk_grid;

/* The tets of a piece come before its triangles. */
thenar_status vtk_write(const char *path, const vtk_grid *grid, thenar_error *error);

#endif
