/* What a mesh must hold before anything is computed from it, for meshes from files and meshes built in code.
 *
 * Messages name the mesh, the line where its file has lines, the element or node, what was found and what was
 * expected: "hand.msh:31: tet 7 is inverted, ...". */
#ifndef SHAPE_MESH_CHECK_H
#define SHAPE_MESH_CHECK_H

#include "base/error.h"
#include "thenar/mesh.h"

#include <stdbool.h>
#include <stdint.h>

/* Where a node or an element stood in its file. */
typedef struct mesh_place {
    int number;    /* as the file counts or tags it */
    uint32_t line; /* from 1; 0: the file has no lines */
} mesh_place;

typedef struct mesh_origin {
    const char *name;           /* the file, or what the caller calls the mesh */
    const mesh_place *nodes;    /* one per node, or NULL: nodes are numbered from 0 */
    const mesh_place *elements; /* one per tet or triangle, or NULL: they are numbered from 0 */
    int first_node;             /* how the file numbers its first node, for messages about bad indices */
} mesh_origin;

/* A remark that is not an error; empty text: none. */
typedef struct mesh_note {
    char text[256];
} mesh_note;

/* All indices of tets, the coordinates, then each tet: no node twice, not flat, not inverted, no tet twice;
 * no node without a tet, at least one tet. If all tets are inverted, as some exporters write them, they are
 * turned and the note says so. */
thenar_status mesh_check_tets(thenar_tet_mesh *mesh, const mesh_origin *origin, mesh_note *note, thenar_error *error);

/* Indices, coordinates, no vertex twice in a triangle, at least one triangle. */
thenar_status mesh_check_surface(const thenar_surface *surface, const mesh_origin *origin, thenar_error *error);

/* The parts that file readers need on their own. indices: per_element of each element. used: one byte per
 * node. */
thenar_status mesh_check_indices(const int *indices, int element_count, int per_element, int node_count,
                                 const mesh_origin *origin, thenar_error *error);
thenar_status mesh_check_used(const unsigned char *used, int node_count, const mesh_origin *origin,
                              thenar_error *error);

/* Numbers that can be followed: every position finite, every index within range. Enough for what measures or cuts a
 * mesh and must not refuse a bad one. */
thenar_status tet_mesh_validate(const thenar_tet_mesh *mesh, thenar_error *error);
thenar_status surface_validate(const thenar_surface *surface, thenar_error *error);

/* The size suggests another unit than the metre: true and a text such as "is 57.3 m across; a mesh in
 * millimetres? scale it with scale: 0.001", to be put behind the mesh's name. */
bool mesh_size_warning(const double *positions, int count, mesh_note *warning);

#endif
