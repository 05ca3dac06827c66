/* Cells as legacy VTK and VTU files hold them, and their way into the builder. */
#ifndef SHAPE_MESH_VTK_CELLS_H
#define SHAPE_MESH_VTK_CELLS_H

#include "shape/mesh_builder.h"

/* Types of VTK's cells (vtkCellType.h) that the readers themselves give to the cells of polydata. */
enum { VTK_POLY_VERTEX = 2, VTK_POLY_LINE = 4, VTK_TRIANGLE_STRIP = 6, VTK_POLYGON = 7 };

typedef struct vtk_cells {
    ARRAY(int) connectivity; /* point indices of all cells, one cell behind the other */
    ARRAY(int) ends;         /* per cell: where its indices end in connectivity */
    ARRAY(uint32_t) lines;   /* per cell: its line in the file; shorter than ends if there are none */
    ARRAY(int) types;        /* per cell */
} vtk_cells;

void vtk_cells_free(vtk_cells *cells);

/* Puts the cells into the builder, shifting their indices by first_point and counting them from first_cell.
 */
bool vtk_cells_add(vtk_cells *cells, scanner *s, mesh_builder *builder, int first_point, int first_cell);

#endif
