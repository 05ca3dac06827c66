/* Wraps a coarse tet mesh around a fine skin: every vertex of the skin in a tet, every tet sound, the boundary close.
 * */
#ifndef SHAPE_TET_WRAP_H
#define SHAPE_TET_WRAP_H

#include "shape/distance.h"
#include "thenar/mesh.h"

/* What the tets must cover. Meshes have a group for each tet as tag. */
typedef struct tet_wrap {
    const signed_distance *solid; /* what the skin holds */
    const thenar_surface *skin;
    const int *group; /* of the vertices: see tet_cover.h */
} tet_wrap;

/* Moves nodes until the skin is covered by tets that improving can still mend. */
thenar_status tet_wrap_cover(const tet_wrap *wrap, thenar_tet_mesh *mesh, thenar_error *error);

/* Draws the boundary of tets that cover the skin to it, in so many turns between which the inner nodes make room; then
 * improves the worst tets. */
thenar_status tet_wrap_fit(const tet_wrap *wrap, int turns, thenar_tet_mesh *mesh, thenar_error *error);

#endif
