/* Meshes: tetrahedra for what is simulated, triangles for what is seen and touched.
 *
 * Lengths are in metres. Positions are arrays of xyz triplets in double precision; indices count from zero.
 * The structs own their arrays: get them from the functions below, release them with thenar_tet_mesh_free and
 * thenar_surface_free. A zeroed struct is an empty mesh. */
#ifndef THENAR_MESH_H
#define THENAR_MESH_H

#include "thenar/status.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A tetrahedral mesh. A tet (a, b, c, d) is positively oriented: (b-a) x (c-a) . (d-a) > 0. */
typedef struct thenar_tet_mesh {
    int node_count;
    int tet_count;
    double *positions; /**< 3 * node_count, metres */
    int *tets;         /**< 4 * tet_count node indices */
    int *tags;         /**< tet_count region tags (physical groups of Gmsh), or NULL when the mesh has none */
} thenar_tet_mesh;

/** A triangle mesh; triangles are counter-clockwise seen from outside. */
typedef struct thenar_surface {
    int vertex_count;
    int triangle_count;
    double *positions; /**< 3 * vertex_count, metres */
    int *triangles;    /**< 3 * triangle_count vertex indices */
} thenar_surface;

/** How a surface hangs on a tet mesh: vertex i is the weighted sum of the four nodes of tet[i]. */
typedef struct thenar_embedding {
    int vertex_count;
    int *tet;        /**< vertex_count tet indices */
    double *weights; /**< 4 * vertex_count barycentric weights, adding up to 1 */
} thenar_embedding;

/** Reads the tets of a mesh file: Gmsh .msh 2.2 or 4.1 (text or binary), legacy VTK unstructured grid (text or
 * binary), or VTU with inline text arrays. The file's numbers are taken as metres. Nodes keep their order; those that
 * only points, lines and triangles use are left out. The region tags are Gmsh's physical groups, 0 for none.
 *
 * A file that is not a sound mesh is THENAR_ERROR_INPUT with its place: an index out of range, a coordinate that is
 * not finite, a node of no element, a tet that is flat, inverted, or there twice, other elements than linear tets,
 * triangles, quads, lines and points. If all tets are inverted they are turned instead. On an error *mesh is empty. */
THENAR_API thenar_status thenar_tet_mesh_load(const char *path, thenar_tet_mesh *mesh, thenar_error *error);

/** Reads the triangles of a mesh file: OBJ, STL (text or binary), PLY (text or binary), legacy VTK polydata, or any
 * format of thenar_tet_mesh_load. The file's numbers are taken as metres. Polygons become fans of triangles; equal
 * corners of STL triangles become one vertex; vertices of no triangle are left out. A triangle that has a vertex
 * twice is an error, and so is whatever else is wrong with the file. On an error *surface is empty. */
THENAR_API thenar_status thenar_surface_load(const char *path, thenar_surface *surface, thenar_error *error);

/** Releases the arrays and empties the struct; NULL and empty structs are fine. */
THENAR_API void thenar_tet_mesh_free(thenar_tet_mesh *mesh);
THENAR_API void thenar_surface_free(thenar_surface *surface);
THENAR_API void thenar_embedding_free(thenar_embedding *embedding);

#ifdef __cplusplus
}
#endif

#endif
