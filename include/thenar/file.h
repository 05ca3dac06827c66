/* Files: meshes, hands, tracks, VTK and CSV. Everything that can be read from a path can be read from memory. */
#ifndef THENAR_FILE_H
#define THENAR_FILE_H

#include "thenar/hand.h"
#include "thenar/mesh.h"
#include "thenar/sim.h"
#include "thenar/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A source of files other than the file system, for what a scene or a device names: includes, meshes, hands, tracks.
 * The functions are called by the thread that loads, during that call. */
typedef struct thenar_file_source {
    /** The contents of a file. path: as it is written, relative to the file that names it. False: there is no such
     * file. */
    bool (*read)(void *context, const char *path, const void **bytes, size_t *size);
    /** Called when the contents are not needed any more; may be NULL. */
    void (*release)(void *context, const void *bytes);
    void *context; /**< passed to both */
} thenar_file_source;

/** Formats of mesh files. */
typedef enum thenar_mesh_format {
    THENAR_MESH_AUTO, /**< from the contents; of a file without a signature from its extension */
    THENAR_MESH_MSH,  /**< Gmsh 2.2 or 4.1, text or binary */
    THENAR_MESH_VTK,  /**< legacy VTK, text or binary */
    THENAR_MESH_VTU,  /**< VTK XML with inline text arrays */
    THENAR_MESH_OBJ,  /**< Wavefront OBJ */
    THENAR_MESH_STL,  /**< STL, text or binary */
    THENAR_MESH_PLY,  /**< PLY, text or binary */
    THENAR_MESH_FORMAT_COUNT
} thenar_mesh_format;

/** Number of mesh formats. */
THENAR_IO_API int thenar_mesh_format_count(void);
/** Name of a format: "auto", or its extension, "msh", "vtk", "vtu", "obj", "stl" or "ply". */
THENAR_IO_API const char *thenar_mesh_format_name(thenar_mesh_format format);
/** The mesh format of that name, or -1. */
THENAR_IO_API int thenar_mesh_format_find(const char *name);

/** Reads the tets of a mesh file: Gmsh .msh 2.2 or 4.1 (text or binary), legacy VTK unstructured grid (text or
 * binary), or VTU with inline text arrays. The file's numbers are metres. Nodes keep their order; those that only
 * points, lines and triangles use are left out. The region tags are Gmsh's physical groups, 0 for none.
 *
 * A file that is not a valid mesh is THENAR_ERROR_INPUT with its place: an index out of range, a coordinate that is
 * not finite, a node of no element, a tet that is flat, inverted, or there twice, other elements than linear tets,
 * triangles, quads, lines and points. If all tets are inverted they are reoriented instead. On an error *mesh is
 * empty. */
THENAR_IO_API thenar_status thenar_tet_mesh_load(const char *path, thenar_tet_mesh *mesh, thenar_error *error);

/** The same from memory. */
THENAR_IO_API thenar_status thenar_tet_mesh_parse(const void *bytes, size_t size, thenar_mesh_format format,
                                                  thenar_tet_mesh *mesh, thenar_error *error);

/** Reads the triangles of a mesh file: OBJ, STL (text or binary), PLY (text or binary), legacy VTK polydata, or any
 * format of thenar_tet_mesh_load. The file's numbers are metres. Polygons become fans of triangles; equal corners of
 * STL triangles become one vertex; vertices of no triangle are left out. A triangle that has a vertex twice is an
 * error. On an error *surface is empty. */
THENAR_IO_API thenar_status thenar_surface_load(const char *path, thenar_surface *surface, thenar_error *error);

/** The same from memory. */
THENAR_IO_API thenar_status thenar_surface_parse(const void *bytes, size_t size, thenar_mesh_format format,
                                                 thenar_surface *surface, thenar_error *error);

/** All that a mesh file has. */
typedef struct thenar_mesh_file {
    thenar_tet_mesh tets;   /**< may be empty */
    thenar_surface surface; /**< may be empty, but not both */
    char note[256];         /**< what was repaired, "" for nothing */
} thenar_mesh_file;

/** Reads a mesh file. loose: tets may be inverted, flat or double and nodes unused, to measure a mesh that would be
 * refused. Release it with thenar_mesh_file_free. On an error *file is empty. */
THENAR_IO_API thenar_status thenar_mesh_file_load(const char *path, bool loose, thenar_mesh_file *file,
                                                  thenar_error *error);

/** Releases the meshes and empties the struct; NULL is fine. */
THENAR_IO_API void thenar_mesh_file_free(thenar_mesh_file *file);

/** Writes a tet mesh as legacy VTK (ASCII, unstructured grid). */
THENAR_IO_API thenar_status thenar_tet_mesh_write_vtk(const thenar_tet_mesh *mesh, const char *path,
                                                      thenar_error *error);

/** Writes all bodies of a simulation to a legacy VTK file (ASCII, unstructured grid) for ParaView: points in m with
 * `rest`, `displacement` (m), `velocity` (m/s) and `force` (N), tets with `s` (the three stretches) and `body`. Rigid
 * bodies are triangles without displacement and force. */
THENAR_IO_API thenar_status thenar_sim_write_vtk(const thenar_sim *sim, const char *path, thenar_error *error);

/** Reads a hand from a glTF file: a closed mesh with skin weights and the 25 joints of WebXR by name (docs/hand.md).
 * tets: approximate number of tets of its flesh; 0: coarse. */
THENAR_IO_API thenar_status thenar_hand_shape_load(const char *path, int tets, thenar_hand_shape **shape,
                                                   thenar_error *error);

/** The same with the flesh of a level of detail. */
THENAR_IO_API thenar_status thenar_hand_shape_load_detail(const char *path, thenar_hand_detail detail,
                                                          thenar_hand_shape **shape, thenar_error *error);

/** The same from memory, binary (.glb) or text. */
THENAR_IO_API thenar_status thenar_hand_shape_parse_detail(const void *bytes, size_t size, thenar_hand_detail detail,
                                                           thenar_hand_shape **shape, thenar_error *error);

/** As thenar_hand_shape_load, from memory, binary (.glb) or text. */
THENAR_IO_API thenar_status thenar_hand_shape_parse(const void *bytes, size_t size, int tets, thenar_hand_shape **shape,
                                                    thenar_error *error);

/** Reads tracked joints from a file of JSON lines (docs/hand.md has the format). */
THENAR_IO_API thenar_status thenar_track_load(const char *path, thenar_track **track, thenar_error *error);

/** The same from memory. */
THENAR_IO_API thenar_status thenar_track_parse(const void *bytes, size_t size, thenar_track **track,
                                               thenar_error *error);

/** Writes comma-separated values: fields one by one, quoted as RFC 4180 requires, lines ending in LF, numbers with 9
 * significant digits and a decimal point in every locale. */
typedef struct thenar_csv thenar_csv;

/** Creates a file; an old one is replaced. */
THENAR_IO_API thenar_status thenar_csv_open(const char *path, thenar_csv **csv, thenar_error *error);
/** Adds a text. */
THENAR_IO_API void thenar_csv_text(thenar_csv *csv, const char *text);
/** Adds a number. */
THENAR_IO_API void thenar_csv_number(thenar_csv *csv, double number);
/** Adds an integer. */
THENAR_IO_API void thenar_csv_integer(thenar_csv *csv, long long number);
/** Adds an empty field. */
THENAR_IO_API void thenar_csv_empty(thenar_csv *csv);
/** Ends a row. */
THENAR_IO_API void thenar_csv_end_row(thenar_csv *csv);
/** Closes the file and frees the writer, also on an error: a write that failed at any time (disk full) is reported
 * here. NULL is fine. */
THENAR_IO_API thenar_status thenar_csv_close(thenar_csv *csv, thenar_error *error);

#ifdef __cplusplus
}
#endif

#endif
