/* Makes meshes: zeroed arrays of the asked sizes in the public structs, or an error and an empty struct. */
#ifndef SHAPE_MESH_H
#define SHAPE_MESH_H

#include "base/error.h"
#include "thenar/mesh.h"

#include <stdbool.h>

/* tags: whether the mesh has region tags. */
thenar_status tet_mesh_create(int node_count, int tet_count, bool tags, thenar_tet_mesh *out,
                              thenar_error *error);

thenar_status surface_create(int vertex_count, int triangle_count, thenar_surface *out, thenar_error *error);

thenar_status embedding_create(int vertex_count, thenar_embedding *out, thenar_error *error);

#endif
