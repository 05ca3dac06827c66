/* A body with the branches of a hand, for benchmarks: a palm with five spread fingers, meshed coarsely. */
#ifndef BENCH_HAND_LIKE_H
#define BENCH_HAND_LIKE_H

#include "core/error.h"

#include "thenar/mesh.h"

/* Hand length 0.19 m, breadth 0.086 m, fingers along +y, palm facing +z, wrist at the origin. */
thenar_status shape_hand_like(int target_tets, thenar_tet_mesh *mesh, thenar_error *error);

#endif
