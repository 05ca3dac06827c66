#include "shape/mesh_vtk_cells.h"

#include <stdlib.h>

typedef enum cell_kind { CELL_OTHER, CELL_TOUCH, CELL_POLYGON, CELL_STRIP, CELL_TET } cell_kind;

typedef struct cell_type {
    const char *name;
    cell_kind kind;
    size_t node_count; /* 0: any number */
} cell_type;

static const cell_type cell_types[] = {
    [0] = {"empty cell", CELL_OTHER, 0},
    [1] = {"vertex", CELL_TOUCH, 1},
    [2] = {"poly-vertex", CELL_TOUCH, 0},
    [3] = {"line", CELL_TOUCH, 2},
    [4] = {"poly-line", CELL_TOUCH, 0},
    [5] = {"triangle", CELL_POLYGON, 3},
    [6] = {"triangle strip", CELL_STRIP, 0},
    [7] = {"polygon", CELL_POLYGON, 0},
    [8] = {"pixel", CELL_OTHER, 4},
    [9] = {"quad", CELL_POLYGON, 4},
    [10] = {"tet", CELL_TET, 4},
    [11] = {"voxel", CELL_OTHER, 8},
    [12] = {"hexahedron", CELL_OTHER, 8},
    [13] = {"wedge (prism)", CELL_OTHER, 6},
    [14] = {"pyramid", CELL_OTHER, 5},
    [15] = {"pentagonal prism", CELL_OTHER, 10},
    [16] = {"hexagonal prism", CELL_OTHER, 12},
    [21] = {"quadratic edge", CELL_OTHER, 3},
    [22] = {"quadratic triangle", CELL_OTHER, 6},
    [23] = {"quadratic quad", CELL_OTHER, 8},
    [24] = {"quadratic tet (tet10)", CELL_OTHER, 10},
    [25] = {"quadratic hexahedron", CELL_OTHER, 20},
    [26] = {"quadratic wedge", CELL_OTHER, 15},
    [27] = {"quadratic pyramid", CELL_OTHER, 13},
    [41] = {"convex point set", CELL_OTHER, 0},
    [42] = {"polyhedron", CELL_OTHER, 0},
    [69] = {"Lagrange triangle", CELL_OTHER, 0},
    [71] = {"Lagrange tet", CELL_OTHER, 0},
    [72] = {"Lagrange hexahedron", CELL_OTHER, 0},
};
#define CELL_TYPE_COUNT ((int)(sizeof cell_types / sizeof cell_types[0]))

void vtk_cells_free(vtk_cells *cells) {
    free(cells->connectivity.data);
    free(cells->ends.data);
    free(cells->lines.data);
    free(cells->types.data);
    *cells = (vtk_cells){0};
}

static bool add_cell(scanner *s, mesh_builder *builder, int type_number, const int *nodes, size_t count,
                     mesh_place place) {
    const cell_type *type = &cell_types[type_number >= 0 && type_number < CELL_TYPE_COUNT ? type_number : 0];
    if (type->kind == CELL_OTHER)
        return scanner_fail(s,
                            "cell %d is a %s (VTK type %d); expected linear tets, triangles, polygons, lines or points",
                            place.number, type->name ? type->name : "cell of a kind that is not read", type_number);
    if (type->node_count != 0 && count != type->node_count)
        return scanner_fail(s, "cell %d is a %s with %zu points; expected %zu", place.number, type->name, count,
                            type->node_count);
    switch (type->kind) {
    case CELL_TET:
        return mesh_builder_tet(builder, s, nodes, 0, place);
    case CELL_POLYGON:
        return mesh_builder_polygon(builder, s, nodes, count, place);
    case CELL_STRIP:
        return mesh_builder_strip(builder, s, nodes, count, place);
    default:
        mesh_builder_touch(builder, nodes, count);
        return true;
    }
}

static bool shift_points(scanner *s, const mesh_builder *builder, int *points, int count, int first_point, int cell) {
    int last = mesh_builder_node_count(builder) - first_point - 1;
    for (int i = 0; i < count; i++) {
        if (points[i] < 0 || points[i] > last)
            return scanner_fail(s, "cell %d has node index %d, which is out of range; expected 0..%d", cell, points[i],
                                last);
        points[i] += first_point;
    }
    return true;
}

bool vtk_cells_add(vtk_cells *cells, scanner *s, mesh_builder *builder, int first_point, int first_cell) {
    if (cells->types.count != cells->ends.count)
        return scanner_fail(s, "found %zu cell types for %zu cells; expected one each", cells->types.count,
                            cells->ends.count);
    int start = 0;
    for (size_t i = 0; i < cells->ends.count; i++) {
        int end = cells->ends.data[i];
        mesh_place place = {.number = first_cell + (int)i, .line = i < cells->lines.count ? cells->lines.data[i] : 0};
        if (end < start || (size_t)end > cells->connectivity.count)
            return scanner_fail(s, "cell %d ends at %d of the connectivity; expected %d..%zu", place.number, end, start,
                                cells->connectivity.count);
        int *points = end > start ? cells->connectivity.data + start : NULL;
        if (!shift_points(s, builder, points, end - start, first_point, place.number) ||
            !add_cell(s, builder, cells->types.data[i], points, (size_t)(end - start), place))
            return false;
        start = end;
    }
    if ((size_t)start != cells->connectivity.count)
        return scanner_fail(s, "the cells use %d point indices; expected all %zu", start, cells->connectivity.count);
    return true;
}
