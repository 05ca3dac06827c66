/* Meshes: tetrahedra for simulation, triangles for display and contact. thenar/file.h reads and writes mesh files.
 *
 * Lengths are in metres. Positions are arrays of xyz triplets in double precision; indices count from zero.
 * The structs own their arrays: get them from the functions below, release them with thenar_tet_mesh_free and
 * thenar_surface_free. A zeroed struct is an empty mesh. */
#ifndef THENAR_MESH_H
#define THENAR_MESH_H

#include "thenar/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A tetrahedral mesh. A tet (a, b, c, d) is positively oriented: (b-a) x (c-a) . (d-a) > 0. */
typedef struct thenar_tet_mesh {
    int node_count;    /**< number of nodes */
    int tet_count;     /**< number of tets */
    double *positions; /**< 3 * node_count, metres */
    int *tets;         /**< 4 * tet_count node indices */
    int *tags;         /**< tet_count region tags (physical groups of Gmsh), or NULL when the mesh has none */
} thenar_tet_mesh;

/** A triangle mesh; triangles are counter-clockwise seen from outside. */
typedef struct thenar_surface {
    int vertex_count;   /**< number of vertices */
    int triangle_count; /**< number of triangles */
    double *positions; /**< 3 * vertex_count, metres */
    int *triangles;    /**< 3 * triangle_count vertex indices */
} thenar_surface;

/** How a surface is attached to a tet mesh: vertex i is the weighted sum of the four nodes of tet[i]. */
typedef struct thenar_embedding {
    int vertex_count; /**< number of vertices */
    int *tet;        /**< vertex_count tet indices */
    double *weights; /**< 4 * vertex_count barycentric weights, adding up to 1 */
} thenar_embedding;

/** Releases the arrays and empties the struct; NULL and empty structs are fine. */
THENAR_API void thenar_tet_mesh_free(thenar_tet_mesh *mesh);
/** As thenar_tet_mesh_free. */
THENAR_API void thenar_surface_free(thenar_surface *surface);
/** As thenar_tet_mesh_free. */
THENAR_API void thenar_embedding_free(thenar_embedding *embedding);

/** How a lattice divides space into tets. */
typedef enum thenar_lattice {
    /** Body-centred cubic: twelve equal, well-shaped tets a cube (dihedral angles 60 and 90 degrees). */
    THENAR_LATTICE_BCC = 0,
    /** Five tets a cube, every other cube mirrored so that faces match: the fewest tets. */
    THENAR_LATTICE_CUBE,
    /** Six tets a cube around its diagonal, all of one volume (Kuhn). */
    THENAR_LATTICE_KUHN,
    THENAR_LATTICE_COUNT /**< number of lattices */
} thenar_lattice;

/** Number of lattices. */
THENAR_API int thenar_lattice_count(void);
/** Name of a lattice: "bcc", "cube" or "kuhn". */
THENAR_API const char *thenar_lattice_name(thenar_lattice lattice);
/** The lattice of that name, or -1. */
THENAR_API int thenar_lattice_find(const char *name);

/** A box between the corners `min` and `max`, m, in cells[0] x cells[1] x cells[2] cubes of THENAR_LATTICE_CUBE or
 * THENAR_LATTICE_KUHN. 10 x 2 x 2 cubes of five tets make 200 tets on 99 nodes. */
THENAR_API thenar_status thenar_tet_mesh_box(const double min[3], const double max[3], const int cells[3],
                                             thenar_lattice lattice, thenar_tet_mesh *mesh, thenar_error *error);

/** How thenar_tet_mesh_from_surface meshes; start from thenar_mesh_options_default(). */
typedef struct thenar_mesh_options {
    uint32_t size;          /**< of this struct, bytes; the default function sets it */
    thenar_lattice lattice; /**< default THENAR_LATTICE_BCC */
    double cell_size;       /**< edge of a lattice cube, m; 0 (default): computed from target_tets */
    int target_tets;        /**< default 5000; reached within about 3 % where the body spans several cells */
    bool fit;               /**< move the boundary nodes towards the surface; default false: a plain lattice */
    double fit_quality;     /**< with fit: the smallest radius ratio of a tet, 0..1, default 0.3 */
} thenar_mesh_options;

/** Fills in the defaults named at each member of a struct of `size` bytes. */
THENAR_API thenar_status thenar_mesh_options_init(thenar_mesh_options *options, size_t size);

/** The defaults named at each member. */
static inline thenar_mesh_options thenar_mesh_options_default(void) {
    thenar_mesh_options options;
    thenar_mesh_options_init(&options, sizeof options);
    return options;
}

/** Embeds a closed surface in a regular tetrahedral mesh: the tets of a lattice that share volume with the
 * solid. Vertices at the same place count as one, so that a surface with texture seams is closed. Every
 * vertex of a triangle lies in a tet of the mesh (embedding weights >= -1e-12; a vertex that no triangle uses
 * is attached to a tet close by), thin parts are kept, and the mesh is connected by faces: around every node and
 * edge, the tets are joined face to face. A surface of several separate parts gives a mesh of several parts.
 * The mesh covers more volume than the solid: see thenar_tet_mesh_fill. The same input gives the same mesh
 * bit for bit. options may be NULL (the defaults), embedding may be NULL. */
THENAR_API thenar_status thenar_tet_mesh_from_surface(const thenar_surface *surface, const thenar_mesh_options *options,
                                                      thenar_tet_mesh *mesh, thenar_embedding *embedding,
                                                      thenar_error *error);

/** The share of each tet's volume that lies inside a closed surface, 0..1: fill holds mesh->tet_count
 * numbers. A mesh that covers its body has the body's mass and nearly its stiffness when each tet's mass and
 * stiffness are scaled by its fill (Nesme et al. 2009); keep a floor under the factor, since a tet may be
 * almost empty. */
THENAR_API thenar_status thenar_tet_mesh_fill(const thenar_tet_mesh *mesh, const thenar_surface *surface, double *fill,
                                              thenar_error *error);

/** Attaches a surface to a mesh: each vertex to the tet that contains it, or to the nearest one if it lies outside the
 * mesh (then with negative weights). outside, if not NULL, receives the number of vertices outside. */
THENAR_API thenar_status thenar_embedding_create(const thenar_tet_mesh *mesh, const thenar_surface *surface,
                                                 thenar_embedding *embedding, int *outside, thenar_error *error);

/** The boundary of a tet mesh, vertices in the order of their nodes, triangles facing outward. embedding (may
 * be NULL) names for each vertex a tet that has it as a corner, with the weight 1 on that corner. */
THENAR_API thenar_status thenar_tet_mesh_surface(const thenar_tet_mesh *mesh, thenar_surface *surface,
                                                 thenar_embedding *embedding, thenar_error *error);

/** Closed surfaces about the origin, long axis along y. resolution >= 1 sets how fine: an edge of the
 * icosahedron is cut into that many (sphere), a quarter circle into that many (the others). Lengths in
 * metres. The vertices of round parts lie on the shape, so that the volume inside is a little less than the
 * shape's. */
THENAR_API thenar_status thenar_surface_sphere(double radius, int resolution, thenar_surface *surface,
                                               thenar_error *error);
/** length is that of the cylindrical part, between the centres of the half spheres. */
THENAR_API thenar_status thenar_surface_capsule(double radius, double length, int resolution, thenar_surface *surface,
                                                thenar_error *error);
/** A cylinder with flat ends; radius and length in metres. */
THENAR_API thenar_status thenar_surface_cylinder(double radius, double length, int resolution, thenar_surface *surface,
                                                 thenar_error *error);
/** Each edge is cut into resolution pieces. */
THENAR_API thenar_status thenar_surface_box(const double size[3], int resolution, thenar_surface *surface,
                                            thenar_error *error);
/** ring: radius of the centre line, about the y axis; tube: radius of the tube, less than ring. */
THENAR_API thenar_status thenar_surface_torus(double ring, double tube, int resolution, thenar_surface *surface,
                                              thenar_error *error);

/** THENAR_OK if the surface is closed, every edge shared by two triangles that agree on the outside, and not
 * inside out; otherwise the message names the first edge at fault by its vertices. Vertices at the same place
 * count as one. */
THENAR_API thenar_status thenar_surface_check(const thenar_surface *surface, thenar_error *error);

/** Measures of a tet mesh. Angles in degrees, lengths in metres, volume in cubic metres. The radius ratio is
 * three times the inscribed over the circumscribed radius: 1 for a regular tet, towards 0 for a flat one,
 * negative for an inverted one. */
typedef struct thenar_tet_figures {
    int nodes; /**< number of nodes */
    int tets;  /**< number of tets */
    int parts; /**< pieces that are joined by faces; 1 for a body in one piece */
    double volume;            /**< of all tets */
    double edge_min;          /**< shortest edge */
    double edge_mean;         /**< mean length of an edge */
    double edge_max;          /**< longest edge */
    double edge_ratio_mean;   /**< longest over shortest edge of a tet, mean */
    double edge_ratio_max;    /**< longest over shortest edge of a tet, largest */
    double dihedral_min;      /**< smallest angle between two faces of a tet */
    double dihedral_max;      /**< largest angle between two faces of a tet */
    double radius_ratio_min;  /**< of the worst tet */
    double radius_ratio_mean; /**< mean of all tets */
    int inverted; /**< tets with negative volume */
    int flat;     /**< tets with a volume below 1e-9 of their longest edge cubed */
    int worst;    /**< the tet with the smallest radius ratio; -1 in an empty mesh */
} thenar_tet_figures;

/** Measures a tet mesh, good or bad; only an index out of range or a position that is not finite is an error. */
THENAR_API thenar_status thenar_tet_mesh_quality(const thenar_tet_mesh *mesh, thenar_tet_figures *figures,
                                                 thenar_error *error);

/** Measures of a surface. Angles in degrees, lengths in metres, area and volume in m² and m³. */
typedef struct thenar_surface_figures {
    int vertices;  /**< number of vertices */
    int triangles; /**< number of triangles */
    bool closed; /**< thenar_surface_check finds nothing */
    double area;   /**< of all triangles */
    double volume; /**< enclosed, negative when inside out; means little unless closed */
    double edge_min;  /**< shortest edge */
    double edge_mean; /**< mean length of an edge */
    double edge_max;  /**< longest edge */
    double angle_min; /**< smallest corner of a triangle */
} thenar_surface_figures;

/** Measures a surface, open or closed. */
THENAR_API thenar_status thenar_surface_quality(const thenar_surface *surface, thenar_surface_figures *figures,
                                                thenar_error *error);

/** If the size suggests another unit than the metre (57 m across: a mesh in millimetres?), writes one line about it to
 * `text`, of `size` bytes, and returns true. positions: 3 * count, m. */
THENAR_API bool thenar_mesh_size_warning(const double *positions, int count, char *text, size_t size);

/** A surface that follows coarse tets smoothly, for display: barycentric interpolation has a kink at every face between
 * tets. Each vertex is a weighted sum of ten to thirty nodes; affine motions are reproduced exactly. Contact uses
 * thenar_embedding. */
typedef struct thenar_smooth_embedding {
    int vertex_count; /**< number of vertices */
    int *start;     /**< vertex_count + 1: the nodes of vertex v are node[start[v]] up to node[start[v + 1] - 1] */
    int *node;      /**< ascending within a vertex */
    double *weight; /**< adding up to 1 within a vertex; some may be negative */
} thenar_smooth_embedding;

#define THENAR_SMOOTH_REACH 0.3 /**< usual reach of thenar_smooth_embedding_create, mean edges of the tets */

/** Makes one from an embedding. reach: standard deviation of the smoothing, in mean edges of the tets, > 0. A surface
 * that is no finer than the tets stays as it is. */
THENAR_API thenar_status thenar_smooth_embedding_create(const thenar_tet_mesh *mesh, const thenar_surface *surface,
                                                        const thenar_embedding *embedding, double reach,
                                                        thenar_smooth_embedding *out, thenar_error *error);
/** Releases the arrays and empties the struct; NULL is fine. */
THENAR_API void thenar_smooth_embedding_free(thenar_smooth_embedding *embedding);
/** Positions of the vertices (3 each, m) for positions of the nodes (3 each, m). */
THENAR_API thenar_status thenar_smooth_embedding_apply(const thenar_smooth_embedding *embedding, const double *nodes,
                                                       double *vertices);

#ifdef __cplusplus
}
#endif

#endif
