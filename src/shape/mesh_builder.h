/* Collects nodes and elements as a file reader finds them, then turns them into checked meshes. A zeroed
 * builder is empty. The functions that return bool report through the scanner. */
#ifndef SHAPE_MESH_BUILDER_H
#define SHAPE_MESH_BUILDER_H

#include "base/memory.h"
#include "math/vec3.h"
#include "shape/mesh_file.h"
#include "shape/mesh_scanner.h"

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

void mesh_builder_free(mesh_builder *builder);

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

/* The region names move into `out`; the builder still needs mesh_builder_free. */
thenar_status mesh_builder_finish(mesh_builder *builder, const char *path, mesh_file *out, thenar_error *error);

#endif
