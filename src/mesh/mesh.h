/* Meshes: creation, checks, surfaces and boundaries, mass properties, quality, and files. */
#ifndef MESH_MESH_H
#define MESH_MESH_H

#include "core/error.h"
#include "core/shared.h"
#include "core/vec3.h"

#include "thenar/mesh.h"

#include <stdbool.h>
#include <stdint.h>

/* Zeroed arrays of these sizes, or an error and an empty struct. tags: whether the mesh has region tags. */
thenar_status tet_mesh_create(int node_count, int tet_count, bool tags, thenar_tet_mesh *out, thenar_error *error)
    SHARED(tet_mesh_create);

thenar_status surface_create(int vertex_count, int triangle_count, thenar_surface *out, thenar_error *error)
    SHARED(surface_create);

thenar_status embedding_create(int vertex_count, thenar_embedding *out, thenar_error *error);

/* Copies of all arrays. */
thenar_status tet_mesh_copy(const thenar_tet_mesh *mesh, thenar_tet_mesh *out, thenar_error *error);
thenar_status surface_copy(const thenar_surface *surface, thenar_surface *out, thenar_error *error);
thenar_status embedding_copy(const thenar_embedding *embedding, thenar_embedding *out, thenar_error *error);

static inline vec3 tet_mesh_node(const thenar_tet_mesh *mesh, int node) {
    return vec3_load(mesh->positions + 3 * (size_t)node);
}
static inline const int *tet_mesh_tet(const thenar_tet_mesh *mesh, int tet) {
    return mesh->tets + 4 * (size_t)tet;
}
static inline void tet_mesh_corners(const thenar_tet_mesh *mesh, int tet, vec3 corner[4]) {
    for (int i = 0; i < 4; i++) corner[i] = tet_mesh_node(mesh, tet_mesh_tet(mesh, tet)[i]);
}
static inline vec3 surface_vertex(const thenar_surface *surface, int vertex) {
    return vec3_load(surface->positions + 3 * (size_t)vertex);
}
static inline const int *surface_triangle(const thenar_surface *surface, int triangle) {
    return surface->triangles + 3 * (size_t)triangle;
}
static inline void surface_corners(const thenar_surface *surface, int triangle, vec3 corner[3]) {
    for (int i = 0; i < 3; i++) corner[i] = surface_vertex(surface, surface_triangle(surface, triangle)[i]);
}

/* Signed: positive for a tet that is oriented as thenar_tet_mesh says. */
static inline double tet_volume(const vec3 corner[4]) {
    vec3 a = vec3_sub(corner[1], corner[0]), b = vec3_sub(corner[2], corner[0]), c = vec3_sub(corner[3], corner[0]);
    return vec3_dot(vec3_cross(a, b), c) / 6;
}

/* The corners opposite to corners 0, 1, 2, 3, counter-clockwise seen from outside a positive tet. */
extern const int tet_face_corners[4][3];

/* Checks before anything is computed from a mesh, for meshes from files and meshes built in code.
 *
 * Messages name the mesh, the line if its file has lines, the element or node, what was found and what was expected:
 * "hand.msh:31: tet 7 is inverted, ...". */

/* Position of a node or element in its file. */
typedef struct mesh_place {
    int number;    /* its number or tag in the file */
    uint32_t line; /* from 1; 0: the file has no lines */
} mesh_place;

typedef struct mesh_origin {
    const char *name;           /* the file, or the caller's name of the mesh */
    const mesh_place *nodes;    /* one per node, or NULL: nodes are numbered from 0 */
    const mesh_place *elements; /* one per tet or triangle, or NULL: they are numbered from 0 */
    int first_node;             /* the file's number of its first node, for messages about bad indices */
} mesh_origin;

/* A remark that is not an error; empty text: none. */
typedef struct mesh_note {
    char text[256];
} mesh_note;

/* Checks all indices and coordinates, then each tet (no repeated node, not flat, not inverted, no duplicate tet), that
 * every node belongs to a tet, and that there is a tet. If all tets are inverted, as some exporters write them, flips
 * them and says so in the note. */
thenar_status mesh_check_tets(thenar_tet_mesh *mesh, const mesh_origin *origin, mesh_note *note, thenar_error *error)
    SHARED(mesh_check_tets);

/* Indices, coordinates, no repeated vertex in a triangle, at least one triangle. */
thenar_status mesh_check_surface(const thenar_surface *surface, const mesh_origin *origin, thenar_error *error)
    SHARED(mesh_check_surface);

/* The parts that file readers need on their own. indices: per_element of each element. used: one byte per
 * node. */
thenar_status mesh_check_indices(const int *indices, int element_count, int per_element, int node_count,
                                 const mesh_origin *origin, thenar_error *error) SHARED(mesh_check_indices);
thenar_status mesh_check_used(const unsigned char *used, int node_count, const mesh_origin *origin, thenar_error *error)
    SHARED(mesh_check_used);

/* Checks only that positions are finite and indices in range: enough for measuring or cutting a mesh that may be bad. */
thenar_status tet_mesh_validate(const thenar_tet_mesh *mesh, thenar_error *error) SHARED(tet_mesh_validate);
thenar_status surface_validate(const thenar_surface *surface, thenar_error *error);

/* The size suggests another unit than the metre: true and a text such as "is 57.3 m across; a mesh in millimetres?
 * scale it with scale: 0.001", to follow the name of the mesh. */
bool mesh_size_warning(const double *positions, int count, mesh_note *warning);

/* Properties of triangles as a surface: edges, closedness, normals, areas. */

/* One side of a triangle, identified by its edge (low < high). */
typedef struct half_edge {
    int low, high;
    int triangle;
    int corner; /* the side runs from this corner of the triangle to the next */
} half_edge;

/* All 3 * triangle_count sides, sorted by edge, then by triangle, so that the sides of one edge are adjacent. free()
 * it. */
thenar_status surface_half_edges(const thenar_surface *surface, half_edge **out, thenar_error *error);

/* The end of the run of sides that lie on the same edge as side[first]. */
size_t half_edge_run(const half_edge *side, size_t first, size_t count);

/* neighbour[3 * t + k]: the triangle across the side of t from corner k to the next, or -1 where the surface
 * is open or more than two triangles meet. free() it. */
thenar_status surface_neighbours(const thenar_surface *surface, int **out, thenar_error *error);

/* For each vertex the lowest one at the same place. NULL when memory runs out. free() it. */
int *surface_first_at_place(const thenar_surface *surface) SHARED(surface_first_at_place);

/* The surface with every triangle on the first vertex of each position, and without triangles that degenerate by that.
 * Vertices keep their numbers. */
thenar_status surface_weld(const thenar_surface *surface, thenar_surface *out, thenar_error *error);

/* THENAR_OK if every edge has two triangles that run along it in opposite directions, and the volume is positive. Does
 * not weld; thenar_surface_check does. */
thenar_status surface_check_closed(const thenar_surface *surface, thenar_error *error);

/* Unit normals at the vertices, each the sum of the triangles' normals weighted by their corner angles there.
 */
void surface_vertex_normals(const thenar_surface *surface, vec3 *normal);
/* A third of the area of the triangles around each vertex. */
void surface_vertex_areas(const thenar_surface *surface, double *area);
/* The normal of a triangle with its area as length. */
vec3 surface_area_vector(const thenar_surface *surface, int triangle);
/* Radians between the two sides that meet at a corner of a triangle. */
double surface_corner_angle(const thenar_surface *surface, int triangle, int corner);

/* Adjacency in a tet mesh: faces, edges, and the boundary as a surface. */

/* The boundary of a tet mesh, and the nodes and tets it comes from. */
typedef struct boundary {
    thenar_surface surface; /* triangles face outward */
    int *node;              /* vertex_count: the node of each vertex, ascending */
    int *tet;               /* triangle_count: the tet of each triangle, ascending */
    int *face;              /* triangle_count: the corner of that tet opposite to the triangle */
} boundary;

/* A face that belongs to three tets or more is an input error. */
thenar_status boundary_create(const thenar_tet_mesh *mesh, boundary *out, thenar_error *error);
void boundary_free(boundary *b);

/* part[t]: the face-connected part that tet t belongs to, numbered from 0 in the order of their first tets. free() it. */
thenar_status tet_mesh_parts(const thenar_tet_mesh *mesh, int **out, int *part_count, thenar_error *error);

/* The edges of the mesh, two nodes each, the lower one first, sorted. free() it. */
thenar_status tet_mesh_edges(const thenar_tet_mesh *mesh, int **out, int *count, thenar_error *error);

/* Mass properties of a solid of uniform density, from its tets or from its closed surface.
 *
 * A tet with corners x_i and signed volume V has the moments
 *     int 1 = V,   int x = V/4 sum x_i,   int x x^T = V/20 (sum x_i x_i^T + (sum x_i)(sum x_i)^T).
 * A closed surface is the sum of the signed tets from one point to each of its triangles (the divergence theorem). The
 * inertia tensor about the centre of mass c, with S = int (x - c)(x - c)^T, is tr(S) 1 - S. */

typedef struct mass_properties {
    double mass;  /* kg: density * volume; with density 1, the volume in m^3 */
    vec3 centre;  /* m */
    mat3 inertia; /* kg m^2, about the centre, in the axes of the mesh */
} mass_properties;

/* density in kg/m^3, times fill[tet] unless fill is NULL. A mesh without volume has mass 0 and its centre at its first point. */
mass_properties mass_of_tets(const thenar_tet_mesh *mesh, const double *fill, double density);
/* Meaningless for an open surface; the mass of an inverted one is negative. */
mass_properties mass_of_surface(const thenar_surface *surface, double density);

/* Shape measures of a single tet; those of whole meshes are in thenar/mesh.h. */

/* Three times the inscribed over the circumscribed radius, with the sign of the volume: 1 for a regular tet. */
double tet_radius_ratio(const vec3 corner[4]);

/* Radians between the faces at each edge, in the order 01 02 03 12 13 23. */
void tet_dihedral_angles(const vec3 corner[4], double angle[6]);

#endif
