/* Unstructured grids, and points, in VTK's legacy ASCII format (file version 3.0), as ParaView reads them.
 *
 * A grid is made of pieces, one a body, whose points and cells are written one behind the other. Every piece
 * has the same named arrays: values[a] of a piece belongs to the grid's array a. Numbers have 9 significant
 * digits: all of a float32, and 1 nm at 1 m. */
#ifndef IO_VTK_H
#define IO_VTK_H

#include "base/error.h"

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

#endif
