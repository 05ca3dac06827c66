/* The points with which a body touches others, where they are and how they move.
 *
 * Of a soft body these are the vertices of its surface (the mesh's boundary or the finer embedded one) that a triangle
 * uses or, if it has a contact_spacing, some of them, with coarser triangles between them (shape/simplify.h). Of a
 * rigid body they are the centres of balls in its solid: those of contact/balls.h, or the vertices of its mesh, those
 * at the same place counted once, with the mesh's growth for a radius.
 *
 * A contact_skin never changes; its contact_skin_state belongs to a simulation. The points stand in an order in which
 * neighbours in space are neighbours in memory, and are searched in clusters of CONTACT_CLUSTER in a row: around each
 * there is a ball in space, and a ball in the space of velocities, by which a whole cluster is told to be too far away
 * to arrive. Nothing is allocated after contact_skin_create. */
#ifndef CONTACT_SKIN_H
#define CONTACT_SKIN_H

#include "base/arena.h"
#include "body/rigid.h"
#include "body/soft.h"

#define CONTACT_CLUSTER 8

/* How a vertex hangs on the nodes of a soft body. */
typedef struct contact_hold {
    int node[4];
    double weights[4]; /* adding up to 1; a vertex that is a node has one 1 and zeros */
} contact_hold;

typedef struct contact_skin {
    const body_model *body;
    int point_count;
    int cluster_count;   /* the last one has what is left */
    double radius;       /* of the points of a rigid body, m; 0 for a soft one */
    contact_hold *holds; /* point_count, of a soft body; else NULL */
    vec3 *centres;       /* point_count, of a rigid body, in its frame, m; else NULL */
    /* Of soft bodies and rigid meshes; NULL for primitives. */
    int *vertex;        /* point_count: of the body's surface; of vertices at the same place the first */
    int triangle_count; /* of the surface, or of the coarser one */
    int *triangles;     /* 3 a triangle: points; -1 if it has lost a corner by counting places once */
    int *around_start;  /* point_count + 1: of each point in `around` */
    int *around;        /* the triangles around a point, ascending */
    int *around_face; /* as `around`, of a coarser surface: the triangle of the body's own surface around that vertex on
                          the same side; NULL: they are the same */
} contact_skin;

/* No point is further from `middle` than `reach`, the points' radius included; no velocity further from `velocity` than
 * `spread`. */
typedef struct contact_cluster {
    vec3 middle;
    double reach; /* m */
    vec3 velocity;
    double spread; /* m/s */
} contact_cluster;

typedef struct contact_skin_state {
    const contact_skin *skin;
    vec3 *positions;           /* point_count, m */
    vec3 *velocities;          /* point_count, m/s */
    contact_cluster *clusters; /* cluster_count */
    contact_cluster whole;     /* of all points */
    box bounds;                /* of all points, their radius included */
    vec3 centre;               /* of mass, of a rigid body, m */
} contact_skin_state;

/* Of a soft body, or a dynamic rigid one that is no plane; it must live as long as the skin. */
thenar_status contact_skin_create(const body_model *body, contact_skin *out, thenar_error *error);
void contact_skin_free(contact_skin *skin);
void contact_skin_layout(contact_skin_state *state, const contact_skin *skin, arena *work);

/* Where the points are at the beginning of a step of h (s), and their velocities over it if nothing touches the body:
 * free nodes and rigid bodies go on as they did and as the forces on the whole body push them (without gravity), held
 * nodes go where they are driven. The body's drive has run. */
void contact_skin_update(contact_skin_state *state, const body_state *body, double h);

static inline int contact_cluster_end(const contact_skin *skin, int cluster) {
    int end = (cluster + 1) * CONTACT_CLUSTER;
    return end < skin->point_count ? end : skin->point_count;
}

#endif
