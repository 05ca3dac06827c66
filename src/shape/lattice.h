/* The lattice mesher: the tets of a regular grid that share volume with a solid [garre2009, section 4: the
 * skin is embedded in a regular tetrahedral mesh].
 *
 * Steps: a grid around the solid -> mark the tets that share volume with it -> mend the places where the tets
 * hang together by less than a face -> drop crumbs -> draw the boundary to the surface if asked. With a
 * target number of tets, the first three are repeated over cell sizes until the number comes close. */
#ifndef SHAPE_LATTICE_H
#define SHAPE_LATTICE_H

#include "shape/grid.h"
#include "shape/surface_distance.h"

typedef struct lattice_solid {
    signed_distance distance;
    const surface_distance
        *surface;               /* what distance comes from, for an exact test; NULL: tets are tested by sampling */
    const thenar_surface *skin; /* vertices that must each lie in a tet; NULL: none */
} lattice_solid;

/* Marks the tets of a grid around the solid: keep[tet] = 1 where it shares volume (deeper than a billionth of
 * a cell) or holds a vertex of the skin. keep has grid_tet_count() bytes, zeroed. */
thenar_status lattice_mark(const lattice_solid *solid, const grid *g, unsigned char *keep, thenar_error *error);

/* Marks more tets until the mesh is sound: around every node and around every edge, the marked tets are
 * joined face to face, and so are the unmarked ones around every node. The boundary is then a manifold. */
thenar_status lattice_mend(const grid *g, unsigned char *keep, thenar_error *error);

/* Moves boundary nodes towards the surface, as far as every tet keeps its quality and every vertex of the
 * skin (NULL: none) its tet. hold: which tet that is, where several hold a vertex (NULL: any). */
thenar_status lattice_fit(const signed_distance *solid, const thenar_surface *skin, const thenar_embedding *hold,
                          double quality, thenar_tet_mesh *mesh, thenar_error *error);

/* As lattice_fit, but moves nodes about until no tet has a radius ratio below `quality`, or no move makes the worst
 * tet around a node better. Vertices of the skin (NULL: none) stay in their tets; nodes of the boundary stay near the
 * solid (NULL: anywhere). */
thenar_status lattice_improve(const signed_distance *solid, const thenar_surface *skin, const thenar_embedding *hold,
                              double quality, thenar_tet_mesh *mesh, thenar_error *error);

/* Moves each inner node to the mean of those around it, where tets and skin allow it as in lattice_fit: room for the
 * boundary to follow. */
thenar_status lattice_relax(const thenar_surface *skin, const thenar_embedding *hold, double quality,
                            thenar_tet_mesh *mesh, thenar_error *error);

/* All of it. Options are checked here. */
thenar_status lattice_mesh(const lattice_solid *solid, const thenar_mesh_options *options, thenar_tet_mesh *mesh,
                           thenar_error *error);

#endif
