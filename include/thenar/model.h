/* The model: what a world is made of, compiled once and never changed again.
 *
 * Describe bodies with plain structs that start from a default function, add them to a thenar_build, compile it to a
 * thenar_model; or load a scene file, which does the same. Any number of simulations (thenar/sim.h) share one model,
 * from any number of threads. SI units, right-handed, y up. */
#ifndef THENAR_MODEL_H
#define THENAR_MODEL_H

#include "thenar/mesh.h"
#include "thenar/status.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A compiled world. Immutable; counted by its owners (each simulation is one). */
typedef struct thenar_model thenar_model;

/** A model under construction. */
typedef struct thenar_build thenar_build;

/** A limit on the stretch along one direction of the rest shape. */
typedef struct thenar_fibre {
    double direction[3]; /**< any length; zero: no limit */
    double min;          /**< least stretch, below 1 and >= 0 (0: none) */
    double max;          /**< largest stretch, above 1 (0: none) */
} thenar_fibre;

/** How many a material can have. */
#define THENAR_FIBRES 3

/** Isotropic Hooke material with Rayleigh damping, soft between its stretch limits and rigid at them. */
typedef struct thenar_material {
    double young;             /**< Young's modulus E, Pa, > 0 */
    double poisson;           /**< Poisson's ratio nu, -1 < nu < 0.5 */
    double density;           /**< kg/m^3, > 0 */
    double damping_mass;      /**< Rayleigh alpha, 1/s, >= 0: damps all motion */
    double damping_stiffness; /**< Rayleigh beta, s, >= 0: damps deformation */
    double stretch_min;       /**< least principal stretch, below 1 and >= 0 (0: no limit): stiff from there on */
    double stretch_max;       /**< largest principal stretch, above 1 (0: no limit) */
    thenar_fibre fibres[THENAR_FIBRES]; /**< further limits, along directions */
} thenar_material;

/** Soft tissue: 100 kPa, nu 0.45, 1000 kg/m^3, alpha 0, beta 0.01 s. */
THENAR_API thenar_material thenar_material_default(void);

/** What a region is given by. */
typedef enum thenar_region_kind {
    THENAR_REGION_ALL,    /**< everything */
    THENAR_REGION_BOX,    /**< from corner a to corner b, borders included */
    THENAR_REGION_SPHERE, /**< centre a, radius */
    THENAR_REGION_HALF,   /**< the side of the plane through a that the normal b points away from: b.(x-a) <= 0 */
    THENAR_REGION_TAG     /**< tets with this tag in the mesh, and their nodes */
} thenar_region_kind;

/** A part of a body, in the rest shape. Holds a node if it holds its rest position, a tet if it holds its centroid.
 * Borders count as inside with a tolerance of 1e-9 of the body's extent. */
typedef struct thenar_region {
    thenar_region_kind kind;
    double a[3];   /**< m */
    double b[3];   /**< m (a direction for THENAR_REGION_HALF) */
    double radius; /**< m */
    int tag;
} thenar_region;

/** A material that holds in one region of a body. */
typedef struct thenar_soft_region {
    thenar_region region;
    thenar_material material;
} thenar_soft_region;

/** A moment of a support's motion: where its nodes are at a time. Between two keys, move and turn are interpolated
 * number by number; before the first and after the last key they are theirs. So a first key that is not zero puts the
 * nodes there from the beginning, away from the rest shape. */
typedef struct thenar_key {
    double time;    /**< s */
    double move[3]; /**< translation from the rest place, m */
    double turn[3]; /**< rotation vector about the pivot, radians */
} thenar_key;

/** Nodes that are held: fixed, or moved as one rigid piece by keys or by thenar_sim_drive. Held by springs they give
 * way: then they follow the piece as a finger follows a handle, with a force that is bounded by how far they are from
 * it. */
typedef struct thenar_support {
    const char *name;       /**< for thenar_model_find_support, printable UTF-8; may be NULL */
    thenar_region region;   /**< which nodes */
    const thenar_key *keys; /**< times strictly ascending, numbers below 1e100; NULL: fixed until driven */
    int key_count;
    bool linear; /**< constant speed between keys; false: smooth, at rest at each key */
    bool has_pivot;
    double pivot[3]; /**< what `turn` turns about, m; without has_pivot the middle of the nodes */
    double
        stiffness;  /**< of springs between the nodes and the piece, all together, N/m; 0: the nodes are held firmly */
    double damping; /**< of these springs, N s/m */
} thenar_support;

/** A constant force spread evenly over the nodes of a region. */
typedef struct thenar_load {
    thenar_region region;
    double force[3]; /**< total, N */
} thenar_load;

/** A soft body: corotational finite elements on a tet mesh. */
typedef struct thenar_soft_def {
    const char *name;              /**< unique in the model, not empty, printable UTF-8 */
    const thenar_tet_mesh *mesh;   /**< rest shape, at most 20 million tets; if all are inverted, the copy is turned */
    const thenar_surface *surface; /**< finer surface to show, carried by `embedding`; NULL: the mesh's boundary */
    const thenar_embedding *embedding; /**< how `surface` hangs on `mesh`; NULL with a NULL surface */
    const double *fill; /**< share of each tet that is filled, > 0 and <= 1, scales mass and stiffness; or NULL. What
                             thenar_tet_mesh_fill gives may be 0: put a floor under it (scenes take 0.05) */
    thenar_material material;          /**< where no region says otherwise */
    const thenar_soft_region *regions; /**< later ones win */
    int region_count;
    const thenar_support *supports; /**< a node of several belongs to the last; each must hold one at least */
    int support_count;
    const thenar_load *loads; /**< they add up */
    int load_count;
    double velocity[3];   /**< of all free nodes at time 0, m/s, up to 1e9; held ones start at rest */
    double spin[3];       /**< angular velocity of the free nodes about the centre of mass at time 0, rad/s */
    bool touches;         /**< false: nothing touches it (the default function sets true) */
    double friction;      /**< coefficient of friction mu of its skin, >= 0; of two bodies the geometric mean counts */
    double self_distance; /**< the body touches itself where two places of its skin are at least this far apart along
                               the skin at rest, m; 0: never. About the breadth of a finger for a hand */
    /** How far apart the vertices of the surface are that touch, about, m, >= 0: some are chosen so that triangles
     * between them follow the surface. 0: all vertices touch. */
    double contact_spacing;
    /** The same for each vertex of `surface`, which must be given, instead of contact_spacing, m, >= 0: small where
     * contact must be fine, 0 keeps the vertices that are there. NULL: the same everywhere. */
    const double *contact_spacing_at;
    /** A label for each vertex of `surface`, which must be given: where contacts are aggregated (`aggregate`,
     * thenar_sim_options.contact), points of different labels are never put into one patch. A hand's are its phalanges.
     * NULL: all have the same. */
    const int *contact_groups;
} thenar_soft_def;

/** A soft body with the default material, friction 0.5 and nothing else; name and mesh must be set. */
THENAR_API thenar_soft_def thenar_soft_def_default(void);

/** The solid that a rigid body is. */
typedef enum thenar_shape_kind {
    THENAR_SHAPE_SPHERE,   /**< radius, about the origin */
    THENAR_SHAPE_BOX,      /**< size, about the origin */
    THENAR_SHAPE_CAPSULE,  /**< radius, and length of the straight part, along y about the origin */
    THENAR_SHAPE_CYLINDER, /**< radius and length, along y about the origin */
    THENAR_SHAPE_PLANE,    /**< everything below the plane through the origin; for static bodies */
    THENAR_SHAPE_MESH      /**< what a closed surface holds */
} thenar_shape_kind;

/** A solid in its own axes. What its kind does not name is not read. */
typedef struct thenar_shape {
    thenar_shape_kind kind;
    double radius;                 /**< m, > 0 */
    double length;                 /**< m, > 0 */
    double size[3];                /**< all of the box from side to side, m, > 0 */
    double normal[3];              /**< of the plane, out of the solid; any length but 0 */
    const thenar_surface *surface; /**< closed, m; vertices at the same place count as one */
    /** Radius of the edges of a box, a cylinder or a mesh, m, >= 0. A box and a cylinder keep their size; a mesh grows
     * by this much, with its mass and inertia left as they are. Contact is smooth where edges are round: the normal of
     * a point that slides over a sharp edge turns at once. */
    double rounding;
} thenar_shape;

/** What moves a rigid body. */
typedef enum thenar_motion {
    THENAR_MOTION_DYNAMIC, /**< forces */
    THENAR_MOTION_DRIVEN,  /**< keys, or thenar_sim_drive_pose; forces do not matter to it */
    THENAR_MOTION_STATIC   /**< nothing */
} thenar_motion;

/** A rigid body. Its own frame, which thenar_sim_pose tells, has its origin at the centre of mass (of a plane: at the
 * plane's origin) and the axes of the shape. */
typedef struct thenar_rigid_def {
    const char *name; /**< unique in the model, not empty */
    thenar_motion motion;
    thenar_shape shape;
    double density;     /**< kg/m^3, > 0; not read if mass is given */
    double mass;        /**< kg, > 0; 0: from shape and density */
    double inertia[9];  /**< about the centre of mass in the axes of the shape, kg m^2; all 0: from shape and mass */
    double move[3];     /**< where the shape's origin is at time 0, m, up to 1e6 */
    double turn[3];     /**< how the shape is turned about its origin at time 0, rotation vector, radians */
    double velocity[3]; /**< of the centre of mass at time 0, m/s; for dynamic bodies, as is all to damping_angular */
    double spin[3];     /**< angular velocity at time 0, rad/s */
    double damping_linear;  /**< share of the velocity that is lost, 1/s, >= 0 */
    double damping_angular; /**< of the angular velocity, 1/s, >= 0 */
    const thenar_key *keys; /**< of a driven body, from its place at time 0, times ascending; NULL: it stays */
    int key_count;
    bool linear; /**< constant speed between keys; false: smooth, at rest at each key */
    bool has_pivot;
    double pivot[3]; /**< what the keys' `turn` turns about, m; without has_pivot the centre of mass */
    bool touches;    /**< false: nothing touches it (the default function sets true) */
    double friction; /**< as of a soft body */
} thenar_rigid_def;

/** Dynamic, 1000 kg/m^3, undamped, friction 0.5, at rest at the origin; name and shape must be set. */
THENAR_API thenar_rigid_def thenar_rigid_def_default(void);

/** How bodies touch. */
typedef enum thenar_contact_method {
    THENAR_CONTACT_POINT, /**< each point in contact is a constraint with friction */
    THENAR_CONTACT_AGGREGATE, /**< points of a phalanx, or of one spot of another soft body, are one constraint together, with
                                   friction that resists twist (talvas2015) */
    THENAR_CONTACT_PENALTY, /**< each point has a spring and anchored friction (perez2016) */
    THENAR_CONTACT_NONE     /**< not at all */
} thenar_contact_method;

/** How the pressure of aggregated contacts spreads over their points. */
typedef enum thenar_contact_pressure {
    THENAR_PRESSURE_ADAPTIVE, /**< as in the last step, more where that would leave points inside the other body and less
                                      where it would leave them off it: comes to what points would have one by one */
    THENAR_PRESSURE_PENETRATION, /**< by area and depth after a free motion (talvas2015, section 3.3) */
    THENAR_PRESSURE_UNIFORM      /**< by area: the pressure is the same everywhere (talvas2015, section 3.2) */
} thenar_contact_pressure;

/** What holds for the whole world. */
typedef struct thenar_world_def {
    const char *name;  /**< shown in reports; printable UTF-8, NULL for none */
    double gravity[3]; /**< m/s^2, each up to 1e6 */
    double dt;         /**< default time step of simulations, s, 1e-6 to 1 */
    double margin;     /**< points nearer than this may touch within a step, m, > 0; what approaches is seen earlier */
    /** Of contacts by springs (the method "penalty"; others do not read it), an area of skin, both into the surface and
     * along it: Pa/m, above 0 to 1e13. A point has it times its area in N/m; a point of a rigid body counts for 1 cm^2.
     * Contacts sink in by pressure over stiffness. */
    double contact_stiffness;
    double contact_damping;                   /**< of the dampers beside these springs, Pa s/m, 0 to 1e10 */
    thenar_contact_method contact_method;     /**< of simulations that do not choose one themselves */
    thenar_contact_pressure contact_pressure; /**< of aggregated contacts; others do not read it */
} thenar_world_def;

/** Gravity (0, -9.81, 0), dt 0.01 s, margin 1 mm, contact stiffness 1e9 Pa/m and damping 1e5 Pa s/m: 1 kPa sinks in by
 * 1 um, a hundredth of what a pad of 100 kPa that is 1 cm thick gives way by itself; the damper is worth 0.1 ms. Contact
 * by points, adaptive pressure. */
THENAR_API thenar_world_def thenar_world_def_default(void);

/** An empty build; `world` is copied and must not be NULL. NULL only when memory runs out. A build without bodies
 * compiles to an empty world. */
THENAR_API thenar_build *thenar_build_create(const thenar_world_def *world);

/** Adds a copy of a soft body: nothing that `def` points to is needed afterwards. On error the build is as before. */
THENAR_API thenar_status thenar_build_add_soft(thenar_build *build, const thenar_soft_def *def, thenar_error *error);

/** Adds a copy of a rigid body, as thenar_build_add_soft does. */
THENAR_API thenar_status thenar_build_add_rigid(thenar_build *build, const thenar_rigid_def *def, thenar_error *error);

/** Compiles the bodies added so far: orderings, symbolic factors, memory layout. The build is emptied of its bodies
 * whether it succeeds or not; free it. */
THENAR_API thenar_status thenar_build_compile(thenar_build *build, thenar_model **model, thenar_error *error);

/** Frees a build; NULL is fine. */
THENAR_API void thenar_build_free(thenar_build *build);

/** Gives up one ownership of a model; the last one frees it. NULL is fine. */
THENAR_API void thenar_model_free(thenar_model *model);

/** Name of the world; never NULL. */
THENAR_API const char *thenar_model_name(const thenar_model *model);

/** Default time step, s. */
THENAR_API double thenar_model_dt(const thenar_model *model);

/** Number of unknowns: three a node of a soft body that is free to move, six a dynamic rigid body. */
THENAR_API int thenar_model_dof_count(const thenar_model *model);

/** Number of bodies; bodies are numbered from 0 in the order in which they were added. */
THENAR_API int thenar_model_body_count(const thenar_model *model);

/** Index of the body of that name, or -1. */
THENAR_API int thenar_model_find_body(const thenar_model *model, const char *name);

/** Name of a body. */
THENAR_API const char *thenar_model_body_name(const thenar_model *model, int body);

/** The kinds of bodies. Calls that are for one kind assert that the body is of it. */
typedef enum thenar_body_kind {
    THENAR_BODY_SOFT, /**< added by thenar_build_add_soft */
    THENAR_BODY_RIGID /**< added by thenar_build_add_rigid */
} thenar_body_kind;

/** Kind of a body. */
THENAR_API thenar_body_kind thenar_model_body_kind(const thenar_model *model, int body);

/** Mass of a body, kg; 0 for a plane. */
THENAR_API double thenar_model_mass(const thenar_model *model, int body);

/** Inertia of a rigid body about its centre of mass, in its own axes, kg m^2: 9 numbers, row by row. */
THENAR_API void thenar_model_inertia(const thenar_model *model, int body, double inertia[9]);

/** What moves a rigid body. */
THENAR_API thenar_motion thenar_model_motion(const thenar_model *model, int body);

/** Index of the named support of a soft body, or -1. */
THENAR_API int thenar_model_find_support(const thenar_model *model, int body, const char *name);

/** The tet mesh of a soft body in its rest shape. Valid while the model is. */
THENAR_API const thenar_tet_mesh *thenar_model_mesh(const thenar_model *model, int body);

/** The surface of a body: of a soft one in its rest shape, the one it was given or the mesh's boundary; of a rigid one
 * in its own frame (round shapes as triangles, a plane as a square of 2 m). */
THENAR_API const thenar_surface *thenar_model_surface(const thenar_model *model, int body);

/** How the surface of a soft body hangs on its mesh. */
THENAR_API const thenar_embedding *thenar_model_embedding(const thenar_model *model, int body);

/** Least and largest principal stretch of each tet of a soft body, written to `limits` (2 per tet); 0 where there is no
 * such limit. Returns whether any tet has one. */
THENAR_API bool thenar_model_stretch_limits(const thenar_model *model, int body, double *limits);

/** Lumped masses of the nodes of a soft body, kg. */
THENAR_API const double *thenar_model_masses(const thenar_model *model, int body);

/** Number of pairs of bodies that may touch: one has points (it is soft, or rigid and dynamic), the other is rigid, or
 * both are soft; and one of them can move. Two dynamic rigid bodies, and two soft ones, are two pairs, one for the
 * points of each. A soft body that may touch itself is a pair with itself. */
THENAR_API int thenar_model_contact_pair_count(const thenar_model *model);

/** The bodies of such a pair, as in thenar_contact_pair: whose points, whose surface. */
THENAR_API void thenar_model_contact_pair(const thenar_model *model, int pair, int body[2]);

/** Number of warnings about the input that did not keep it from compiling (a body of 57 m, say). */
THENAR_API int thenar_model_warning_count(const thenar_model *model);

/** One of them. */
THENAR_API const char *thenar_model_warning(const thenar_model *model, int index);

#ifdef __cplusplus
}
#endif

#endif
