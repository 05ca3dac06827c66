/* Making meshes: surfaces of solids (polygonize.c), coarser surfaces (simplify.c), and tets around solids (primitive.c,
 * lattice.c, lattice_fit.c, tets.c). */
#ifndef GEOMETRY_MESHING_H
#define GEOMETRY_MESHING_H

#include "core/error.h"
#include "core/vec3.h"
#include "geometry/distance.h"

#include "thenar/mesh.h"

/* The closed triangle surface where a signed distance is zero: about `target` triangles (within 3 % on a smooth solid
 * that spans many cells). A solid with parts thinner than a cell may come out open or pinched: that is an error. */
thenar_status polygonize(const signed_distance *solid, int target, thenar_surface *out, thenar_error *error);

/* A coarser surface on a subset of the vertices of a finer one.
 *
 * The remaining vertices do not move, so their embedding in tets and their bone weights stay valid. */

typedef struct simple_surface {
    int vertex_count;
    int *vertex; /* of the finer surface, ascending */
    int triangle_count;
    int *triangles; /* 3 per triangle: vertices of the finer surface */
} simple_surface;

/* spacing: target edge length at each vertex, m; 0 keeps the surface. keep: vertices that stay, or NULL. closeness:
 * largest distance of a vertex of the finer surface from the coarser one, as a share of its spacing. The surface may be
 * open; its borders, and vertices where it is pinched or folded onto itself, are kept. The genus is preserved, and every
 * triangle faces the same way as the finer surface at its corners. Unused vertices are left out. */
thenar_status surface_simplify(const thenar_surface *surface, const double *spacing, const bool *keep,
                               double closeness, simple_surface *out, thenar_error *error);
void simple_surface_free(simple_surface *simple);

/* A box of space divided into tets on a regular grid, for box meshes and the lattice mesher.
 *
 * A grid has cells[0] x cells[1] x cells[2] cubes. Its nodes are the corners of the cubes (x fastest) and, for the
 * body-centred kind, then the centres of the cubes. The number of a tet is cube * tets per cube + index; in the
 * body-centred kind the twelve tets of a cube straddle its three upper faces, and those on the upper side of the grid
 * do not exist. */

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
 * (NULL: anywhere). fixed: nodes that do not move (NULL: none). */
thenar_status lattice_improve(const signed_distance *solid, const thenar_surface *skin, const thenar_embedding *hold,
                              double quality, const bool *fixed, thenar_tet_mesh *mesh, thenar_error *error);

/* Moves each inner node to the mean of its neighbours, where tets and skin allow it as in lattice_fit: this makes room
 * for the boundary to follow. */
thenar_status lattice_relax(const thenar_surface *skin, const thenar_embedding *hold, double quality,
                            thenar_tet_mesh *mesh, thenar_error *error);

/* The whole mesher. Checks the options. */
thenar_status lattice_mesh(const lattice_solid *solid, const thenar_mesh_options *options, thenar_tet_mesh *mesh,
                           thenar_error *error);

/* Tets for a given skin: subdivision, wrapping a coarse mesh around a fine skin, and how much of a tet is filled. */

/* Subdivides every tet of a mesh into cut^3 tets of equal volume with matching faces (Edelsbrunner and Grayson 2000,
 * Edgewise subdivision of a simplex).
 *
 * With the corners in the order of their numbers, a tet is the set of points 0 <= t1 <= t2 <= t3 <= cut on the chain
 * corner 0 -> 1 -> 2 -> 3, which the planes of the Kuhn grid divide into tets; on a face shared by two tets the order
 * is the same, and so is the division. */

/* A node of the finer mesh in the coarse one: weighted by parts / cut on up to four corners. */
typedef struct tet_share {
    int node[4]; /* -1: none */
    int parts[4];
} tet_share;

/* share receives one entry per node of out; free() it. The parts inherit the tags. cut >= 1. */
thenar_status tet_subdivide(const thenar_tet_mesh *mesh, int cut, thenar_tet_mesh *out, tet_share **share,
                            thenar_error *error);

/* Wraps a coarse tet mesh around a fine skin: every vertex of the skin in a tet, every tet valid, the boundary close.
 * Where parts of the body come close, as fingers do, each vertex lies in a tet of its own part. */

/* What the tets must cover. The tag of a tet is its group. */
typedef struct tet_wrap {
    const signed_distance *solid; /* what the skin encloses */
    const thenar_surface *skin;
    const int *group;  /* of the vertices */
    const bool *fixed; /* of the nodes: they do not move unless to the skin; NULL: none */
    double quality;    /* radius ratio that fitting keeps and improving aims at; 0: as suits tets of one size */
} tet_wrap;

/* Moves nodes until the skin is covered by tets that can still be improved. */
thenar_status tet_wrap_cover(const tet_wrap *wrap, thenar_tet_mesh *mesh, thenar_error *error);

/* The same for tets in thin layers, which would turn over by that: no tet gets inverted, fixed nodes stay. way: unit
 * directions in which nodes may move outward; zero for those that may not. */
thenar_status tet_wrap_cover_carefully(const tet_wrap *wrap, const vec3 *way, thenar_tet_mesh *mesh,
                                       thenar_error *error);

/* Moves the boundary of tets that cover the skin towards it, in this many turns between which the inner nodes make
 * room; then improves the worst tets. */
thenar_status tet_wrap_fit(const tet_wrap *wrap, int turns, thenar_tet_mesh *mesh, thenar_error *error);

/* How much of a tet lies inside a solid.
 *
 * A tet whose corners are all farther from the surface than its longest edge is full or empty; any other is divided
 * into eight through the midpoints of its edges, twice; the smallest ones take the signed distance as linear between
 * their corners, for which the negative share has a closed form. */

/* The share, 0..1, of a tet in which the linear function with these values at the corners is negative. */
double fill_of_linear(const double value[4]);

double fill_of_tet(const signed_distance *solid, const vec3 corner[4]);
void fill_of_mesh(const signed_distance *solid, const thenar_tet_mesh *mesh, double *fill);

/* True if the solid reaches deeper than tolerance into the tet. Tests the corners of ever smaller tets, down to a
 * sixteenth: a thinner part of the solid that touches none of them is missed. */
bool fill_reaches_tet(const signed_distance *solid, const vec3 corner[4], double tolerance);

#endif
