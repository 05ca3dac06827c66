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

THENAR_API void thenar_tet_mesh_free(thenar_tet_mesh *mesh);
THENAR_API void thenar_surface_free(thenar_surface *surface);
THENAR_API void thenar_embedding_free(thenar_embedding *embedding);

#ifdef __cplusplus
}
#endif

#endif
