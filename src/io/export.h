/* Exports a recording to the formats of other programs, and writes VTK files. */
#ifndef IO_EXPORT_H
#define IO_EXPORT_H

#include "core/error.h"
#include "core/vec3.h"

#include "thenar/recording.h"

#include <stdbool.h>

/* The exporters behind thenar_recording_export write the frames first, first + every, ..., count of them. */
typedef struct export_selection {
    int first, every, count;
} export_selection;

static inline int export_frame(export_selection selection, int i) {
    return selection.first + i * selection.every;
}

/* Reports progress to the caller; false: it wants to stop. */
bool export_report_progress(const thenar_export_options *options, int frames_done, int frame_count);

thenar_status export_vtk(thenar_recording *recording, const char *directory, export_selection selection,
                         const thenar_export_options *options, thenar_error *error);
thenar_status export_gltf(thenar_recording *recording, const char *path, export_selection selection,
                          const thenar_export_options *options, thenar_error *error);

/* The force of a contact on the first of its two bodies, normal force and friction, N; on the second it is the
 * opposite. */
vec3 export_contact_force(const thenar_contact *contact);

/* The pressure on the skin around a contact point, Pa; 0 for points of rigid bodies, which have no area. */
double export_contact_pressure(const thenar_contact *contact);

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
