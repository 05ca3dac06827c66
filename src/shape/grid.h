/* A box of space cut into tets on a regular grid: the stencils behind box meshes and the lattice mesher.
 *
 * A grid has cells[0] x cells[1] x cells[2] cubes. Its nodes are the corners of the cubes (x fastest) and,
 * for the body-centred kind, the centres of the cubes behind them. A tet is known by its number: cube * tets
 * per cube + which; in the body-centred kind the twelve tets of a cube straddle its three upper faces, and
 * those on the upper side of the grid do not exist. */
#ifndef SHAPE_GRID_H
#define SHAPE_GRID_H

#include "base/error.h"
#include "math/vec3.h"
#include "thenar/mesh.h"

#define GRID_CELL_LIMIT 4000000 /* cubes; tet numbers and node numbers then fit into an int */
#define GRID_STAR_LIMIT 32      /* tets around a node, at most */
#define GRID_NEAR_LIMIT 256     /* tets in eight cubes, those across their sides included, at most */

typedef struct grid {
    thenar_lattice kind;
    int cells[3];
    vec3 origin; /* lowest corner */
    vec3 cell;   /* edges of a cube */
} grid;

/* A grid of more cubes than GRID_CELL_LIMIT, or of none, must not be used: check first. */
bool grid_fits(const int cells[3]);

int grid_node_count(const grid *g);
vec3 grid_node(const grid *g, int node);

/* One more than the largest tet number. */
int grid_tet_count(const grid *g);
/* The nodes of a tet, positively oriented; false if there is no tet of that number. */
bool grid_tet(const grid *g, int tet, int node[4]);
void grid_tet_corners(const grid *g, int tet, vec3 corner[4]);

/* The tets that have the node as a corner; returns how many. */
int grid_star(const grid *g, int node, int tets[GRID_STAR_LIMIT]);
/* The tets that share volume with the cube around a point (the nearest cube when it is outside), or with the
 * two, four or eight cubes that meet in it; some tets may be there twice. */
int grid_tets_near(const grid *g, vec3 point, int tets[GRID_NEAR_LIMIT]);

/* The mesh of the tets with keep[tet] != 0 (keep NULL: all), nodes and tets in the order of their numbers. */
thenar_status grid_mesh(const grid *g, const unsigned char *keep, thenar_tet_mesh *out, thenar_error *error);

#endif
