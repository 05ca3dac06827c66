/* Mesh files to meshes that were checked: Gmsh 2.2 and 4.1 (text, binary), legacy VTK (text, binary), VTU
 * (inline text), OBJ, STL (text, binary), PLY (text, binary of both byte orders).
 *
 * The content decides the format where it can, else the extension. A file is untrusted: what is wrong with it
 * comes back as THENAR_ERROR_INPUT and a message with the place; memory stays within a small multiple of its
 * size.
 *
 * Files that mix kinds of elements give a tet mesh and a surface, each with the nodes it uses and their order
 * kept. Polygons become fans of triangles. Elements of a higher order, and volumes that are not tets, are
 * errors. Beside tets, a node of no element at all is an error. */
#ifndef IO_MESH_FILE_H
#define IO_MESH_FILE_H

#include "io/file.h"
#include "mesh/mesh.h"

/* A named physical group of tets. */
typedef struct mesh_region {
    int tag;
    char *name;
} mesh_region;

typedef struct mesh_file {
    thenar_tet_mesh tets;   /* may be empty */
    thenar_surface surface; /* may be empty, but not both */
    int region_count;
    mesh_region *regions; /* as the file orders them; not every tag has a name, nor every name a tet */
    mesh_note note;       /* what was repaired in the tets */
} mesh_file;

thenar_status mesh_file_read(const char *path, mesh_file *out, thenar_error *error);

/* The same for bytes in memory (with a zero behind the last, as file_read gives them); path is for its
 * extension and for messages. */
thenar_status mesh_file_parse(const char *path, file_bytes bytes, mesh_file *out, thenar_error *error);

/* As mesh_file_read, but tets may be inverted, flat or double and nodes unused: to measure a mesh that is refused. */
thenar_status mesh_file_read_loose(const char *path, mesh_file *out, thenar_error *error);
void mesh_file_free(mesh_file *file);

#endif
