/* The solid of a rigid body: its signed distance, its mass properties, what it looks like.
 *
 * All of it is in the body's frame, whose origin is the centre of mass. Distances are exact for primitives and for
 * closed meshes (shape/distance.h, shape/surface_distance.h). The normal is the direction in which the distance grows,
 * so that the closest point is point - distance * normal. Outside a convex solid it is continuous, and turns by no more
 * than the point moves over its distance from the core; rounding puts a core of that depth under the surface, where
 * contact happens. Meshes have no core of their own and grow by the rounding instead. */
#ifndef BODY_RIGID_SHAPE_H
#define BODY_RIGID_SHAPE_H

#include "thenar/model.h"

#include "shape/distance.h"
#include "shape/mass.h"
#include "shape/surface_distance.h"

/* Cells over the box of a mesh, each with a lower bound of the signed distance in it: most points that are asked for
 * are far from the surface, and this says so without a search. */
typedef struct rigid_grid {
    int cells[3];
    double size;  /* of a cell, m */
    float *least; /* cells[0] * cells[1] * cells[2], x fastest, m */
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
    signed_distance solid;  /* of the shape above: a rigid_shape stays where it was made */
    thenar_surface surface; /* to show */
} rigid_shape;

/* The closest point of a solid's surface, in the body's frame. */
typedef struct rigid_closest {
    double distance; /* m, negative inside */
    vec3 point;      /* m */
    vec3 normal;     /* unit, outward */
    int triangle;    /* of a mesh, the one that holds the point; -1 for other shapes */
} rigid_closest;

/* What the numbers of a shape must be, whatever body it is for. */
thenar_status rigid_shape_check(const thenar_shape *def, thenar_error *error);

/* Of density 1, about the centre of mass in the shape's own axes. A plane has mass 0 and its centre at the origin. */
mass_properties rigid_shape_mass(const thenar_shape *def);

/* centre: the origin of the body's frame in the shape's own axes. On an error nothing is left to free. */
thenar_status rigid_shape_create(const thenar_shape *def, vec3 centre, rigid_shape *out, thenar_error *error);
void rigid_shape_free(rigid_shape *shape);

/* A distance that is at most the true one, m, without a search: of a primitive the distance itself. */
double rigid_shape_least_distance(const rigid_shape *shape, vec3 point);

rigid_closest rigid_shape_closest(const rigid_shape *shape, vec3 point);

#endif
