/* Comma-separated values: fields one by one, quoted as RFC 4180 has it where they need to be, lines ending in
 * LF.
 *
 *     csv_writer csv;
 *     csv_open(&csv, path, &error) ...
 *     csv_text(&csv, "step"), csv_text(&csv, "time"), csv_end_row(&csv);
 *     csv_integer(&csv, 1), csv_number(&csv, 0.001), csv_end_row(&csv);
 *     csv_close(&csv, &error) ...
 *
 * Numbers have 9 significant digits and a decimal point in every locale. Nothing is allocated between open
 * and close. A write that fails (disk full) is told by csv_close. */
#ifndef IO_EXPORT_H
#define IO_EXPORT_H

#include "core/error.h"

#include "thenar/recording.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct csv_writer {
    FILE *file;
    char *path;
    bool row_begun;
} csv_writer;

thenar_status csv_open(csv_writer *csv, const char *path, thenar_error *error);
void csv_text(csv_writer *csv, const char *text);
void csv_number(csv_writer *csv, double number);
void csv_integer(csv_writer *csv, long long number);
void csv_empty(csv_writer *csv);
void csv_end_row(csv_writer *csv);

/* Releases everything, also when it fails. A writer that was never opened (zeroed) is fine. */
thenar_status csv_close(csv_writer *csv, thenar_error *error);

/* Unstructured grids, and points, in VTK's legacy ASCII format (file version 3.0), as ParaView reads them.
 *
 * A grid is made of pieces, one a body, whose points and cells are written one behind the other. Every piece
 * has the same named arrays: values[a] of a piece belongs to the grid's array a. Numbers have 9 significant
 * digits: all of a float32, and 1 nm at 1 m. */

/* A named array on points or cells; 3 components become VECTORS, other counts SCALARS or a FIELD. */
typedef struct vtk_array {
    const char *name; /* blanks become underscores */
    int components;
} vtk_array;

typedef struct vtk_piece {
    int point_count, tet_count, triangle_count;
    const double *points; /* 3 * point_count, m */
    const int *tets;      /* 4 * tet_count, counting from the piece's first point */
    const int *triangles; /* 3 * triangle_count */
    int body;             /* index that the cells carry in the array `body` */
    /* One pointer per array of the grid, NULL where the piece has no values: then zeros are written. */
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

/* A piece's tets come first, its triangles behind them. */
thenar_status vtk_write(const char *path, const vtk_grid *grid, thenar_error *error);

/* Points alone, as PolyData in which each is a vertex to be seen: their arrays, no cells. */
thenar_status vtk_write_points(const char *path, const vtk_grid *grid, thenar_error *error);

/* A list of files with their times (s) that ParaView opens as one animation; names are relative to the list.
 */
thenar_status vtk_write_series(const char *path, const char *const *names, const double *times, int count,
                               thenar_error *error);

/* A recording in the formats of other programs. */

/* The exporters behind thenar_recording_export. Frames are those of a selection: first, first + every, ..., count of
 * them. */

typedef struct export_selection {
    int first, every, count;
} export_selection;

static inline int export_frame(export_selection selection, int i) {
    return selection.first + i * selection.every;
}

/* False: stop. */
bool export_tell(const thenar_export_options *options, int frames_done, int frame_count);

thenar_status export_vtk(thenar_recording *recording, const char *directory, export_selection selection,
                         const thenar_export_options *options, thenar_error *error);
thenar_status export_gltf(thenar_recording *recording, const char *path, export_selection selection,
                          const thenar_export_options *options, thenar_error *error);

/* Of contacts: one table with a row per contact, and one file of points for a frame. */
thenar_status export_contacts_vtk(thenar_recording *recording, const char *path, int frame, thenar_error *error);

/* Builds a binary glTF 2.0 file (.glb): arrays go to its one buffer, objects to its lists.
 *
 *     gltf_builder gltf;
 *     gltf_begin(&gltf, "a scene");
 *     int positions = gltf_add_floats(&gltf, GLTF_VERTICES, xyz, count, 3);
 *     int mesh = gltf_append(&gltf, "meshes", json_pack(...));
 *     ...
 *     status = gltf_write(&gltf, path, &error);
 *     gltf_free(&gltf);
 *
 * Memory that runs out on the way is remembered and told by gltf_write; the indices returned until then mean
 * nothing.
 */

typedef struct gltf_builder {
    json_t *root;
    unsigned char *bytes; /* the buffer */
    size_t size, capacity;
    bool failed;
} gltf_builder;

/* What the numbers of an accessor are for. */
typedef enum gltf_use { GLTF_VERTICES, GLTF_ANIMATION } gltf_use;

#endif
