/* The model: the bodies of a world and their properties, compiled once and immutable from then on.
 *
 * Describe bodies with structs that start from a default function, add them to a thenar_build, compile it to a
 * thenar_model; or load a scene file (thenar/scene.h), which does the same. Any number of simulations (thenar/sim.h) in
 * any number of threads share one model. */
#ifndef THENAR_MODEL_H
#define THENAR_MODEL_H

#include "thenar/mesh.h"
#include "thenar/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A compiled world. Immutable, with a reference count: each simulation holds a reference. */
typedef struct thenar_model thenar_model;

/** A model under construction. */
typedef struct thenar_build thenar_build;

/** A limit on the stretch along one direction of the rest shape. */
typedef struct thenar_fibre {
    double direction[3]; /**< any length; zero: no limit */
    double stretch_min;  /**< smallest stretch, below 1 and >= 0 (0: no limit) */
    double stretch_max;  /**< largest stretch, above 1 (0: no limit) */
} thenar_fibre;

#define THENAR_FIBRES 3 /**< number of fibre limits of a material */

/** Isotropic Hooke material with Rayleigh damping, soft between its stretch limits and rigid at them. Start from
 * thenar_material_default() or thenar_material_of(). */
typedef struct thenar_material {
    double young;                       /**< Young's modulus E, Pa, > 0 */
    double poisson;                     /**< Poisson's ratio nu, -1 < nu < 0.5 */
    double density;                     /**< kg/m^3, > 0 */
    double damping_mass;                /**< Rayleigh alpha, 1/s, >= 0: damps all motion */
    double damping_stiffness;           /**< Rayleigh beta, s, >= 0: damps deformation */
    double stretch_min;                 /**< smallest principal stretch, below 1 and >= 0 (0: no limit) */
    double stretch_max;                 /**< largest principal stretch, above 1 (0: no limit) */
    thenar_fibre fibres[THENAR_FIBRES]; /**< further limits, along directions */
} thenar_material;

/** Soft tissue: 100 kPa, nu 0.45, 1000 kg/m^3, alpha 0, beta 0.01 s. */
THENAR_API thenar_material thenar_material_default(void);

/** Materials with a name. */
typedef enum thenar_material_preset {
    THENAR_MATERIAL_TISSUE, /**< soft tissue without stretch limits: thenar_material_default() */
    THENAR_MATERIAL_FLESH,  /**< the flesh of the default hand: 60 kPa, stretch limits 0.9 and 1.1 */
    THENAR_MATERIAL_PRESET_COUNT
} thenar_material_preset;

/** Number of material presets. */
THENAR_API int thenar_material_preset_count(void);
/** Name of a material preset: "tissue" or "flesh". */
THENAR_API const char *thenar_material_preset_name(thenar_material_preset preset);
/** The material preset of that name, or -1. */
THENAR_API int thenar_material_preset_find(const char *name);
/** The material of a preset; the default one for a number that is no preset. */
THENAR_API thenar_material thenar_material_of(thenar_material_preset preset);

/** The kinds of regions. */
typedef enum thenar_region_kind {
    THENAR_REGION_ALL,    /**< everything */
    THENAR_REGION_BOX,    /**< between the corners box_min and box_max, borders included */
    THENAR_REGION_SPHERE, /**< around `centre`, within `radius` */
    THENAR_REGION_HALF,   /**< the half-space behind a plane: normal . (x - point) <= 0 */
    THENAR_REGION_TAG     /**< tets with this tag in the mesh, and their nodes */
} thenar_region_kind;

/** A part of a body, in the rest shape. It contains a node if it contains its rest position, a tet if it contains its
 * centroid. Borders count as inside with a tolerance of 1e-9 of the body's extent. Fields of other kinds are not
 * read. */
typedef struct thenar_region {
    thenar_region_kind kind; /**< which of the fields below count */
    double box_min[3];       /**< corner with the smallest coordinates, m */
    double box_max[3];       /**< corner with the largest coordinates, m */
    double centre[3];        /**< of the sphere, m */
    double radius;           /**< of the sphere, m */
    double point[3];         /**< on the plane, m */
    double normal[3];        /**< of the plane, out of the half-space; any length */
    int tag;                 /**< of tets */
} thenar_region;

/** The material of one region of a body. */
typedef struct thenar_soft_region {
    thenar_region region;     /**< where */
    thenar_material material; /**< what is there */
} thenar_soft_region;

/** A key frame of a motion, relative to the rest pose. Translation and rotation vector are interpolated component by
 * component between two keys and constant before the first and after the last one. A first key that is not zero moves
 * the nodes away from their rest positions from the beginning. The rotation is a rotation vector, not a quaternion,
 * because a motion between two keys can be more than half a turn. */
typedef struct thenar_key {
    double time;    /**< s */
    double move[3]; /**< translation from the rest position, m */
    double turn[3]; /**< rotation vector about the pivot, rad; its length may exceed a turn */
} thenar_key;

/** Nodes that are fixed, or moved as one rigid piece by keys or by thenar_sim_drive_support. With a stiffness, springs
 * tie the nodes to the piece instead: they lag behind, and the force is proportional to the distance. */
typedef struct thenar_support {
    const char *name;       /**< for thenar_model_find_support, printable UTF-8; may be NULL */
    thenar_region region;   /**< which nodes */
    const thenar_key *keys; /**< times strictly ascending, numbers below 1e100; NULL: fixed until driven */
    int key_count;          /**< number of keys */
    bool linear;            /**< constant speed between keys; false: smooth, at rest at each key */
    bool has_pivot;         /**< false: the pivot is the mean of the nodes */
    double pivot[3];        /**< centre of the rotation `turn`, m */
    double stiffness;       /**< sum of the springs between the nodes and the piece, N/m; 0: the nodes are fixed to
                                 it */
    double damping;         /**< of these springs, N s/m */
} thenar_support;

/** A constant force spread evenly over the nodes of a region. */
typedef struct thenar_load {
    thenar_region region; /**< which nodes */
    double force[3];      /**< total, N */
} thenar_load;

/** A soft body: corotational finite elements on a tet mesh. */
typedef struct thenar_soft_def {
    uint32_t size;                     /**< of this struct, bytes; the default function sets it */
    const char *name;                  /**< unique in the model, not empty, printable UTF-8 */
    const thenar_tet_mesh *mesh;       /**< rest shape, at most 20 million tets; if all are inverted, the copy is
                                        reoriented */
    const thenar_surface *surface;     /**< finer surface for display and contact; NULL: the boundary of the mesh */
    const thenar_embedding *embedding; /**< of `surface` in `mesh`; NULL with a NULL surface */
    const double *fill; /**< filled share of each tet, > 0 and <= 1, scales mass and stiffness; or NULL. The values of
                             thenar_tet_mesh_fill may be 0: apply a lower bound (scenes use 0.05) */
    thenar_material material;          /**< outside the regions */
    const thenar_soft_region *regions; /**< later ones take precedence */
    int region_count;                  /**< number of regions */
    const thenar_support *supports;    /**< a node in several belongs to the last one; each must contain at least one
                                         node */
    int support_count;                 /**< number of supports */
    const thenar_load *loads;          /**< they add up */
    int load_count;                    /**< number of loads */
    double velocity[3];                /**< of all free nodes at time 0, m/s, up to 1e9; supported ones start at rest */
    double spin[3];       /**< angular velocity of the free nodes about the centre of mass at time 0, rad/s */
    bool touches;         /**< false: no contact with anything (the default function sets true) */
    double friction;      /**< coefficient of friction mu of its skin, >= 0; for two bodies, the geometric mean */
    double self_distance; /**< self-contact between two points of the skin that are at least this far apart along the
                               skin at rest, m; 0: no self-contact. About the width of a finger for a hand */
    /** Approximate distance between the surface vertices that take part in contact, m, >= 0: a subset is chosen whose
     * triangles follow the surface. 0: all vertices. */
    double contact_spacing;
    /** The same for each vertex of `surface`, which must be given, instead of contact_spacing, m, >= 0: small where
     * contact must be fine, 0 keeps all vertices there. NULL: the same everywhere. */
    const double *contact_spacing_at;
    /** A label for each vertex of `surface`, which must be given: THENAR_CONTACT_AGGREGATE never puts points of
     * different labels into one patch. A hand's labels are its phalanges. NULL: all the same. */
    const int *contact_groups;
} thenar_soft_def;

/** Fills in the defaults of a struct of `size` bytes. */
THENAR_API thenar_status thenar_soft_def_init(thenar_soft_def *def, size_t size);

/** A soft body with the default material, friction 0.5 and nothing else; name and mesh must be set. */
static inline thenar_soft_def thenar_soft_def_default(void) {
    thenar_soft_def def;
    thenar_soft_def_init(&def, sizeof def);
    return def;
}

/** The shapes of rigid bodies. */
typedef enum thenar_shape_kind {
    THENAR_SHAPE_SPHERE,   /**< radius, about the origin */
    THENAR_SHAPE_BOX,      /**< size, about the origin */
    THENAR_SHAPE_CAPSULE,  /**< radius, and length of the straight part, along y about the origin */
    THENAR_SHAPE_CYLINDER, /**< radius and length, along y about the origin */
    THENAR_SHAPE_PLANE,    /**< the half-space below a plane through the origin; for static bodies */
    THENAR_SHAPE_MESH      /**< the interior of a closed surface */
} thenar_shape_kind;

/** Number of shapes. */
THENAR_API int thenar_shape_kind_count(void);
/** Name of a shape: "sphere", "box", "capsule", "cylinder", "plane" or "mesh". */
THENAR_API const char *thenar_shape_kind_name(thenar_shape_kind kind);
/** The shape kind of that name, or -1. */
THENAR_API int thenar_shape_kind_find(const char *name);

/** A solid in its own axes. Fields of other kinds are not read. */
typedef struct thenar_shape {
    thenar_shape_kind kind;        /**< which of the fields below count */
    double radius;                 /**< m, > 0 */
    double length;                 /**< m, > 0 */
    double size[3];                /**< edges of the box, m, > 0 */
    double normal[3];              /**< of the plane, out of the solid; any length but 0 */
    const thenar_surface *surface; /**< closed, m; vertices at the same place count as one */
    /** Radius of the edges of a box, a cylinder or a mesh, m, >= 0. A box and a cylinder keep their size; a mesh grows
     * by this much, with its mass and inertia left as they are. Rounded edges make contact smooth: at a sharp edge
     * the contact normal of a sliding point jumps. */
    double rounding;
} thenar_shape;

/** How a rigid body moves. */
typedef enum thenar_motion {
    THENAR_MOTION_DYNAMIC, /**< under forces */
    THENAR_MOTION_DRIVEN,  /**< by keys or thenar_sim_drive_body, whatever forces act */
    THENAR_MOTION_STATIC,  /**< never */
    THENAR_MOTION_COUNT
} thenar_motion;

/** Number of motions. */
THENAR_API int thenar_motion_count(void);
/** Name of a motion: "dynamic", "driven" or "static". */
THENAR_API const char *thenar_motion_name(thenar_motion motion);
/** The motion of that name, or -1. */
THENAR_API int thenar_motion_find(const char *name);

/** A rigid body. The origin of its frame (thenar_sim_pose) is the centre of mass (of a plane: the plane's origin), its
 * axes are those of the shape. */
typedef struct thenar_rigid_def {
    uint32_t size;        /**< of this struct, bytes; the default function sets it */
    const char *name;     /**< unique in the model, not empty, printable UTF-8 */
    thenar_motion motion; /**< how it moves */
    thenar_shape shape;   /**< the solid */
    double density;       /**< kg/m^3, > 0; not read if mass is given */
    double mass;          /**< kg, > 0; 0: from shape and density */
    double inertia[9];    /**< about the centre of mass in the axes of the shape, kg m^2, row by row; all 0: from shape
                             and mass */
    double pose[7];       /**< of the shape's origin at time 0: position, m, up to 1e6, and quaternion of any length
                             but 0 */
    double velocity[3];   /**< of the centre of mass at time 0, m/s; for dynamic bodies, as all up to damping_angular */
    double spin[3];       /**< angular velocity at time 0, rad/s */
    double damping_linear;  /**< rate at which the velocity decays, 1/s, >= 0 */
    double damping_angular; /**< rate at which the angular velocity decays, 1/s, >= 0 */
    const thenar_key *keys; /**< of a driven body, relative to its pose at time 0, times ascending; NULL: it stays */
    int key_count;          /**< number of keys */
    bool linear;            /**< constant speed between keys; false: smooth, at rest at each key */
    bool has_pivot;         /**< false: the pivot is the centre of mass */
    double pivot[3];        /**< centre of the keys' rotation `turn`, m */
    bool touches;           /**< false: no contact with anything (the default function sets true) */
    double friction;        /**< coefficient of friction, as of a soft body */
} thenar_rigid_def;

/** Fills in the defaults of a struct of `size` bytes. */
THENAR_API thenar_status thenar_rigid_def_init(thenar_rigid_def *def, size_t size);

/** Dynamic, 1000 kg/m^3, undamped, friction 0.5, at rest at the origin; name and shape must be set. */
static inline thenar_rigid_def thenar_rigid_def_default(void) {
    thenar_rigid_def def;
    thenar_rigid_def_init(&def, sizeof def);
    return def;
}

/** How contact between bodies is modelled. */
typedef enum thenar_contact_method {
    THENAR_CONTACT_OF_MODEL = -1, /**< of thenar_sim_options only: the method of the model */
    THENAR_CONTACT_POINT = 0,     /**< each contact point is a constraint with friction, met to the solver's
                                       tolerance */
    THENAR_CONTACT_AGGREGATE, /**< the points of a phalanx, or of one spot of another soft body, share four constraints,
                                   with friction that resists twist (talvas2015) */
    THENAR_CONTACT_PENALTY,   /**< each point has a spring, a damper and anchored friction (perez2016): bodies
                                   penetrate a little. Between soft bodies with stretch limits it needs
                                   THENAR_SOLVER_NEWTON */
    THENAR_CONTACT_NONE,      /**< bodies pass through each other */
    THENAR_CONTACT_METHOD_COUNT
} thenar_contact_method;

/** Number of contact methods. */
THENAR_API int thenar_contact_method_count(void);
/** Name of a contact method: "point", "aggregate", "penalty" or "none". */
THENAR_API const char *thenar_contact_method_name(thenar_contact_method method);
/** The contact method of that name, or -1. */
THENAR_API int thenar_contact_method_find(const char *name);

/** How the pressure of aggregated contacts is distributed over their points. */
typedef enum thenar_contact_pressure {
    THENAR_PRESSURE_ADAPTIVE,    /**< as in the last step, increased where points would penetrate and reduced where they
                                      would separate: converges to what separate points would have */
    THENAR_PRESSURE_PENETRATION, /**< by area and depth after a free motion (talvas2015, section 3.3) */
    THENAR_PRESSURE_UNIFORM,     /**< by area: the same pressure everywhere (talvas2015, section 3.2) */
    THENAR_CONTACT_PRESSURE_COUNT
} thenar_contact_pressure;

/** Number of pressure distributions. */
THENAR_API int thenar_contact_pressure_count(void);
/** Name of a pressure distribution: "adaptive", "penetration" or "uniform". */
THENAR_API const char *thenar_contact_pressure_name(thenar_contact_pressure pressure);
/** The contact pressure of that name, or -1. */
THENAR_API int thenar_contact_pressure_find(const char *name);

/** How the bones and the flesh of hands are solved. */
typedef enum thenar_bones {
    THENAR_BONES_COUPLED, /**< in one system: flesh inside a bone moves with it, and forces act in the same step */
    THENAR_BONES_SPLIT,   /**< bones first, then flesh that springs attach to them (perez2016, section II-A). Solvers
                               other than THENAR_SOLVER_NEWTON need it */
    THENAR_BONES_COUNT
} thenar_bones;

/** Number of ways to solve bones and flesh. */
THENAR_API int thenar_bones_count(void);
/** Name of a way to solve bones and flesh: "coupled" or "split". */
THENAR_API const char *thenar_bones_name(thenar_bones bones);
/** The way to solve bones and flesh of that name, or -1. */
THENAR_API int thenar_bones_find(const char *name);

/** Properties of the whole world. */
typedef struct thenar_world_def {
    uint32_t size;     /**< of this struct, bytes; the default function sets it */
    const char *name;  /**< shown in reports; printable UTF-8, NULL for none */
    double gravity[3]; /**< m/s^2, each up to 1e6 */
    double dt;         /**< default time step of simulations, s, 1e-6 to 1 */
    double margin;     /**< points closer than this can touch within a step, m, > 0; faster approaches are found
                            earlier */
    /** Stiffness of THENAR_CONTACT_PENALTY per area of skin, normal and tangential: Pa/m, above 0 to 1e13. The
     * stiffness of a point is this times its area, N/m; a point of a rigid body counts for 1 cm^2. The penetration
     * is pressure over stiffness. */
    double contact_stiffness;
    double contact_damping;                   /**< of the dampers parallel to these springs, Pa s/m, 0 to 1e10 */
    thenar_contact_method contact_method;     /**< of simulations that do not choose one themselves */
    thenar_contact_pressure contact_pressure; /**< of aggregated contacts */
    thenar_bones bones;                       /**< of all hands */
} thenar_world_def;

/** Fills in the defaults of a struct of `size` bytes. */
THENAR_API thenar_status thenar_world_def_init(thenar_world_def *def, size_t size);

/** Gravity (0, -9.81, 0), dt 0.01 s, margin 1 mm, contact by points, adaptive pressure, contact stiffness 1e9 Pa/m and
 * damping 1e5 Pa s/m: 1 kPa penetrates by 1 um, a hundredth of the deformation of a pad of 100 kPa that is 1 cm
 * thick; the time constant of the damper is 0.1 ms. */
static inline thenar_world_def thenar_world_def_default(void) {
    thenar_world_def def;
    thenar_world_def_init(&def, sizeof def);
    return def;
}

/** An empty build; `world` is copied. NULL if memory runs out or `world` is NULL or has no size. Its values are
 * checked by thenar_build_compile. A build without bodies compiles to an empty world. */
THENAR_API thenar_build *thenar_build_create(const thenar_world_def *world);

/** Adds a copy of a soft body. On error the build is unchanged. */
THENAR_API thenar_status thenar_build_add_soft(thenar_build *build, const thenar_soft_def *def, thenar_error *error);

/** Adds a copy of a rigid body, as thenar_build_add_soft does. */
THENAR_API thenar_status thenar_build_add_rigid(thenar_build *build, const thenar_rigid_def *def, thenar_error *error);

/** Compiles the bodies added so far: orderings, symbolic factors, memory layout. The build loses its bodies whether
 * this succeeds or not; free it. */
THENAR_API thenar_status thenar_build_compile(thenar_build *build, thenar_model **model, thenar_error *error);

/** Frees a build; NULL is fine. */
THENAR_API void thenar_build_free(thenar_build *build);

/** Releases one reference to a model; the last one frees it. NULL is fine. */
THENAR_API void thenar_model_free(thenar_model *model);

/** How the bones and the flesh of its hands are solved. */
THENAR_API thenar_bones thenar_model_bones(const thenar_model *model);
/** Name of the world; never NULL. */
THENAR_API const char *thenar_model_name(const thenar_model *model);

/** Default time step, s. */
THENAR_API double thenar_model_dt(const thenar_model *model);

/** Number of unknowns: three per free node of a soft body, six per dynamic rigid body. */
THENAR_API int thenar_model_dof_count(const thenar_model *model);

#define THENAR_ALL_BODIES (-1) /**< in place of the index of a body, for calls that take it */

/** Number of bodies; bodies are numbered from 0 in the order in which they were added. */
THENAR_API int thenar_model_body_count(const thenar_model *model);

/** Index of the body of that name, or -1. */
THENAR_API int thenar_model_find_body(const thenar_model *model, const char *name);

/** Name of a body; NULL for an index out of range. */
THENAR_API const char *thenar_model_body_name(const thenar_model *model, int body);

/** The kinds of bodies. Calls that are for one kind fail for a body of the other. */
typedef enum thenar_body_kind {
    THENAR_BODY_SOFT,  /**< added by thenar_build_add_soft or thenar_build_add_hand */
    THENAR_BODY_RIGID, /**< added by thenar_build_add_rigid */
    THENAR_BODY_KIND_COUNT
} thenar_body_kind;

/** Number of kinds of bodies. */
THENAR_API int thenar_body_kind_count(void);
/** Name of a kind of body: "soft" or "rigid". */
THENAR_API const char *thenar_body_kind_name(thenar_body_kind kind);
/** The body kind of that name, or -1. */
THENAR_API int thenar_body_kind_find(const char *name);

/** Kind of a body; -1 for an index out of range. */
THENAR_API int thenar_model_body_kind(const thenar_model *model, int body);

/** Number of nodes of a soft body, 0 of a rigid one; with THENAR_ALL_BODIES of all soft bodies together. */
THENAR_API int thenar_model_node_count(const thenar_model *model, int body);

/** Where the nodes of a body begin in arrays over the nodes of all soft bodies (thenar_sim_read_positions, ...). */
THENAR_API int thenar_model_first_node(const thenar_model *model, int body);

/** Number of surface vertices of a body; with THENAR_ALL_BODIES of all bodies together. */
THENAR_API int thenar_model_vertex_count(const thenar_model *model, int body);

/** Where the surface vertices of a body begin in arrays over those of all bodies (thenar_sim_read_surface). */
THENAR_API int thenar_model_first_vertex(const thenar_model *model, int body);

/** Number of rigid bodies. */
THENAR_API int thenar_model_rigid_count(const thenar_model *model);

/** Mass of a body, kg; 0 for a plane. */
THENAR_API double thenar_model_mass(const thenar_model *model, int body);

/** Inertia of a rigid body about its centre of mass, in its own axes, kg m^2: 9 numbers, row by row. */
THENAR_API thenar_status thenar_model_inertia(const thenar_model *model, int body, double inertia[9]);

/** How a rigid body moves, a thenar_motion; -1 if the body is not rigid. */
THENAR_API int thenar_model_motion(const thenar_model *model, int body);

/** Number of supports of a soft body. */
THENAR_API int thenar_model_support_count(const thenar_model *model, int body);

/** Name of a support, "" if it has none. */
THENAR_API const char *thenar_model_support_name(const thenar_model *model, int body, int support);

/** Index of the named support of a soft body, or -1. */
THENAR_API int thenar_model_find_support(const thenar_model *model, int body, const char *name);

/** The tet mesh of a soft body in its rest shape. Valid as long as the model, as all that a model returns. */
THENAR_API const thenar_tet_mesh *thenar_model_mesh(const thenar_model *model, int body);

/** The surface of a body: of a soft one in its rest shape, the one it was given or the mesh's boundary; of a rigid one
 * in its own frame (round shapes as triangles, a plane as a square of 2 m). */
THENAR_API const thenar_surface *thenar_model_surface(const thenar_model *model, int body);

/** How the surface of a soft body is attached to its mesh. */
THENAR_API const thenar_embedding *thenar_model_embedding(const thenar_model *model, int body);

/** Smallest and largest principal stretch of each tet of a soft body, written to `limits` (2 per tet); 0 where there
 * is no such limit. Returns whether any tet has one. */
THENAR_API bool thenar_model_stretch_limits(const thenar_model *model, int body, double *limits);

/** Lumped masses of the nodes of a soft body, kg. */
THENAR_API const double *thenar_model_masses(const thenar_model *model, int body);

/** Number of pairs of bodies that can touch: one has points (it is soft, or rigid and dynamic), the other is rigid, or
 * both are soft; and one of them can move. Two dynamic rigid bodies, and two soft ones, are two pairs, one for the
 * points of each. A soft body with self-contact is a pair with itself. */
THENAR_API int thenar_model_contact_pair_count(const thenar_model *model);

/** The bodies of such a pair, as in thenar_contact_pair: whose points, whose surface. */
THENAR_API thenar_status thenar_model_contact_pair(const thenar_model *model, int pair, int body[2]);

/** Number of warnings about input that compiled nevertheless (a body of 57 m, say). */
THENAR_API int thenar_model_warning_count(const thenar_model *model);

/** One of these warnings, one line. */
THENAR_API const char *thenar_model_warning(const thenar_model *model, int index);

#ifdef __cplusplus
}
#endif

#endif
