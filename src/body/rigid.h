/* Rigid bodies: dynamic (two block nodes of unknowns: velocity of the centre of mass, angular velocity), driven, or
 * static (no unknowns). rigid.c builds the model, rigid_step.c has the stages of a step.
 *
 * The solid of a body is given by its signed distance, mass properties and visible surface, all in the body's frame,
 * whose origin is the centre of mass. Distances are exact for primitives and for closed meshes (geometry/distance.h).
 * The normal is the direction in which the distance grows, so the closest point is point - distance * normal. Outside
 * a convex solid it is continuous and turns by at most the displacement of the point over its distance from the core;
 * rounding puts a core at that depth below the surface, where contact happens. Meshes have no core of their own and
 * are grown by the rounding instead. */
#ifndef BODY_RIGID_H
#define BODY_RIGID_H

#include "body/body.h"
#include "geometry/distance.h"
#include "mesh/mesh.h"

#include "thenar/model.h"

/* Cells over the bounding box of a mesh, each with a lower bound of the signed distance in it. Most query points are
 * far from the surface, and this shows it without a search. */
typedef struct rigid_grid {
    int cells[3];
    double size; /* of a cell, m */
    float *min;  /* cells[0] * cells[1] * cells[2], x fastest, m */
} rigid_grid;

typedef struct rigid_shape {
    thenar_shape_kind kind;
    union {
        sphere_shape sphere;
        box_shape box;
        capsule_shape capsule;
        cylinder_shape cylinder;
        plane_shape plane;
        surface_distance mesh;
    };
    double growth;          /* of a mesh, m */
    rigid_grid grid;        /* of a mesh */
    signed_distance solid;  /* of the shape above, so a rigid_shape must not be moved */
    thenar_surface surface; /* visible surface */
} rigid_shape;

/* The closest point of a solid's surface, in the frame of the body. */
typedef struct rigid_closest {
    double distance; /* m, negative inside */
    vec3 point;      /* m */
    vec3 normal;     /* unit, outward */
    int triangle;    /* of a mesh: the triangle that contains the point; -1 for other shapes */
} rigid_closest;

/* For density 1, about the centre of mass in the axes of the shape. A plane has mass 0 and its centre at the origin. */
mass_properties rigid_shape_mass(const thenar_shape *def);

/* centre: origin of the body's frame in the axes of the shape. On error there is nothing to free. */
thenar_status rigid_shape_create(const thenar_shape *def, vec3 centre, rigid_shape *out, thenar_error *error);
void rigid_shape_free(rigid_shape *shape);

/* A lower bound of the distance, m, without a search; for a primitive the distance itself. */
double rigid_shape_min_distance(const rigid_shape *shape, vec3 point);

rigid_closest rigid_shape_closest(const rigid_shape *shape, vec3 point);

/* Largest rotation of a dynamic body within a step: half a turn, beyond which its poses do not show the direction of
 * rotation. Contact points move along the tangent, which over several turns leads anywhere. */
#define RIGID_MAX_TURN 3.14159265358979323846 /* rad */

/* The unknowns of a dynamic body, in order. */
enum { RIGID_LINEAR, RIGID_ANGULAR, RIGID_NODES };

typedef struct rigid_model {
    body_model base;
    thenar_motion motion;
    rigid_shape shape;
    mat3 inertia;                           /* kg m^2, about the centre of mass, in the body's frame */
    double damping_linear, damping_angular; /* 1/s */
    vec3 position;                          /* both at time 0 */
    quat orientation;
    vec3 velocity, spin;
    support_model path;                              /* keys of a driven body: a support without nodes */
    int linear_block, coupling_block, angular_block; /* of the system's blocks */
} rigid_model;

/* Saved state. Doubles and one long long, so no padding is hashed. */
typedef struct rigid_kept {
    union {
        struct {
            double position[3], orientation[4]; /* m; unit quaternion */
        };
        double pose[7];
    };
    union {
        struct {
            double velocity[3], spin[3]; /* m/s, rad/s, in world axes */
        };
        double twist[6];
    };
    double change[6];           /* of the twist in the last step, m/s, rad/s */
    double force[3], torque[3]; /* applied, N and N m, in world axes */
    double driven_pose[7];
    long long driven; /* 1 once thenar_sim_drive_pose has taken over */
} rigid_kept;

typedef struct rigid_state {
    body_state base;
    rigid_kept *kept;
    double *target; /* work, 7: the pose of a driven body at the end of the step */
} rigid_state;

/* Checks the definition and builds the model. The caller keeps the definition. */
thenar_status rigid_model_create(const thenar_rigid_def *def, rigid_model **out, thenar_error *error);
void rigid_model_free(body_model *base);

extern const body_class rigid_class;
/* Of rigid_class, for handles too. */
bool rigid_couple(const body_model *base, int first_node, body_couplings *couplings);
thenar_status rigid_bind(body_model *base, const block_pattern *pattern, int first_node, thenar_error *error);
void rigid_velocity(const body_state *base, double *v);
void rigid_change(const body_state *base, double *v);

static inline const rigid_model *rigid_of(const rigid_state *state) {
    return (const rigid_model *)state->base.model;
}
static inline quat rigid_orientation(const double orientation[4]) {
    return (quat){orientation[0], orientation[1], orientation[2], orientation[3]};
}

/* Predicted motion over the coming step of h without contact: a dynamic body keeps its velocity plus the effect of its
 * applied wrench (without gravity), a driven one moves to its target, a static one stays. Velocity of the centre of
 * mass, m/s; angular velocity, rad/s, in world axes. */
void rigid_coming_motion(const rigid_state *state, double h, vec3 *velocity, vec3 *spin);

/* Half a step of torque-free rotation, in the body's frame: I w + h/2 w x I w = I spin solved for w, and spin = w -
 * h/2 I^-1 (w x I w). See rigid_step.c. */
vec3 rigid_spin_backward(mat3 inertia, vec3 spin, double h);
/* The same, but no faster than both w and the spin before the step, so that a far too long step adds no energy. */
vec3 rigid_spin_advance(mat3 inertia, vec3 before, vec3 w, double h);

#endif
