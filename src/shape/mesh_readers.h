/* One reader per file format. Each puts what it finds into the builder; false: the scanner has the error. */
#ifndef SHAPE_MESH_READERS_H
#define SHAPE_MESH_READERS_H

#include "shape/mesh_builder.h"

bool mesh_read_gmsh(scanner *s, mesh_builder *builder);
bool mesh_read_vtk(scanner *s, mesh_builder *builder);
bool mesh_read_vtu(scanner *s, mesh_builder *builder);
bool mesh_read_obj(scanner *s, mesh_builder *builder);
bool mesh_read_stl(scanner *s, mesh_builder *builder);
bool mesh_read_ply(scanner *s, mesh_builder *builder);

#endif
