/* Storage of meshes. */
#ifndef SHAPE_MESH_H
#define SHAPE_MESH_H

#include "thenar/mesh.h"

#endif
