/* A box of space divided into tets on a regular grid, for box meshes and the lattice mesher.
 *
 * A grid has cells[0] x cells[1] x cells[2] cubes. Its nodes are the corners of the cubes (x fastest) and, for the
 * body-centred kind, then the centres of the cubes. The number of a tet is cube * tets per cube + index; in the
 * body-centred kind the twelve tets of a cube straddle its three upper faces, and those on the upper side of the grid
 * do not exist. */
#ifndef GEOMETRY_LATTICE_H
#define GEOMETRY_LATTICE_H

#include "core/error.h"
#include "core/vec3.h"
#include "geometry/distance.h"

#include "thenar/mesh.h"

#define GRID_CELL_LIMIT 4000000 /* cubes; tet and node numbers then fit into an int */
#define GRID_STAR_LIMIT 32      /* maximum number of tets around a node */
#define GRID_NEAR_LIMIT 256     /* maximum number of tets in eight cubes, including those across their sides */

typedef struct grid {
    thenar_lattice kind;
    int cells[3];
    vec3 origin; /* lowest corner */
    vec3 cell;   /* edges of a cube */
} grid;

/* A grid with no cubes, or more than GRID_CELL_LIMIT, must not be used: check first. */
bool grid_fits(const int cells[3]);

int grid_node_count(const grid *g);
vec3 grid_node(const grid *g, int node);

/* One more than the largest tet number. */
int grid_tet_count(const grid *g);
/* The nodes of a tet, positively oriented; false if there is no tet of that number. */
bool grid_tet(const grid *g, int tet, int node[4]);
void grid_tet_corners(const grid *g, int tet, vec3 corner[4]);

/* The tets that have the node as a corner. Returns their number. */
int grid_star(const grid *g, int node, int tets[GRID_STAR_LIMIT]);
/* The tets that share volume with the cube around a point (the nearest cube if it is outside), or with the two, four
 * or eight cubes that meet in it; some tets may occur twice. */
int grid_tets_near(const grid *g, vec3 point, int tets[GRID_NEAR_LIMIT]);

/* The mesh of the tets with keep[tet] != 0 (keep NULL: all), nodes and tets in the order of their numbers. */
thenar_status grid_mesh(const grid *g, const unsigned char *keep, thenar_tet_mesh *out, thenar_error *error);

/* The lattice mesher: the tets of a regular grid that share volume with a solid (garre2009, section 4: the skin is
 * embedded in a regular tetrahedral mesh).
 *
 * Steps: a grid around the solid -> mark the tets that share volume with it -> repair places where tets are connected
 * by less than a face -> drop small separate parts -> move the boundary to the surface if requested. With a target
 * number of tets, the first three are repeated over cell sizes until the number is close. */

typedef struct lattice_solid {
    signed_distance distance;
    const surface_distance *surface; /* source of the distance, for an exact test; NULL: tets are tested by sampling */
    const thenar_surface *skin;      /* vertices that must each lie in a tet; NULL: none */
} lattice_solid;

/* Marks more tets until the mesh is a manifold: around every node and every edge the marked tets are connected face to
 * face, and so are the unmarked ones around every node. */
thenar_status lattice_mend(const grid *g, unsigned char *keep, thenar_error *error);

/* Moves boundary nodes towards the surface, as far as every tet keeps its quality and every vertex of the skin (NULL:
 * none) its tet. hold: which tet that is, where several contain a vertex (NULL: any). */
thenar_status lattice_fit(const signed_distance *solid, const thenar_surface *skin, const thenar_embedding *hold,
                          double quality, thenar_tet_mesh *mesh, thenar_error *error);

/* As lattice_fit, but moves nodes until no tet has a radius ratio below `quality`, or no move improves the worst tet
 * around a node. Vertices of the skin (NULL: none) stay in their tets; nodes of the boundary stay near the solid
 * (NULL: anywhere). */
thenar_status lattice_improve(const signed_distance *solid, const thenar_surface *skin, const thenar_embedding *hold,
                              double quality, thenar_tet_mesh *mesh, thenar_error *error);

/* Moves each inner node to the mean of its neighbours, where tets and skin allow it as in lattice_fit: this makes room
 * for the boundary to follow. */
thenar_status lattice_relax(const thenar_surface *skin, const thenar_embedding *hold, double quality,
                            thenar_tet_mesh *mesh, thenar_error *error);

/* The whole mesher. Checks the options. */
thenar_status lattice_mesh(const lattice_solid *solid, const thenar_mesh_options *options, thenar_tet_mesh *mesh,
                           thenar_error *error);

#endif
