/* Candidate contact points: vertices of a soft body's surface that are nearer to a rigid body than a margin, or inside.
 *
 * A contact_skin is what never changes of a soft body's collision surface (its own surface: the mesh's boundary or the
 * finer embedded one): the order in which vertices stand together in clusters, and their areas. Its contact_skin_state
 * belongs to a simulation: where the vertices are, and boxes around the clusters. Bodies are first compared by their
 * boxes, then clusters by their boxes and by a lower bound of the distance, then vertices by the same, then by
 * distance.
 *
 * Points come out in the order of skins, then rigid bodies, then the skin's vertices: the same for the same state.
 * Nothing is allocated after contact_skin_create. */
#ifndef CONTACT_POINTS_H
#define CONTACT_POINTS_H

#include "base/arena.h"
#include "body/rigid.h"
#include "body/soft.h"

typedef struct contact_skin {
    const soft_model *body;
    int vertex_count;
    int *vertex;       /* vertex_count: of the body's surface, in the skin's order */
    double *area;      /* vertex_count, in the skin's order: a third of the triangles around it at rest, m^2 */
    int cluster_count; /* of CONTACT_CLUSTER vertices in a row, the last one of what is left */
} contact_skin;

/* Of the bunny's 1,839 vertices, the update takes 7 us; finding takes 0.4 us for a ball of 1 cm (2.8 without clusters),
 * 16 for the ground (39), 10 for another bunny of 3,674 triangles (109 without its grid). 4 to 32 do alike. */
#define CONTACT_CLUSTER 8

typedef struct contact_skin_state {
    const contact_skin *skin;
    double *positions; /* 3 vertex_count, in the skin's order, m */
    box *boxes;        /* cluster_count */
    box bounds;        /* of all */
} contact_skin_state;

/* Vertices that no triangle uses are left out. */
thenar_status contact_skin_create(const soft_model *body, contact_skin *out, thenar_error *error);
void contact_skin_free(contact_skin *skin);
void contact_skin_layout(contact_skin_state *state, const contact_skin *skin, arena *work);

/* Takes the vertices' positions over from the soft body, which must be the skin's. */
void contact_skin_update(contact_skin_state *state, const soft_state *body);

typedef struct contact_point {
    int skin, rigid;   /* indices of the bodies in the arrays that were searched */
    int vertex;        /* of the soft body's surface */
    int node[4];       /* of the soft body: the vertex is the sum of weights times nodes */
    double weights[4]; /* adding up to 1; a vertex that is a node has one 1 and zeros */
    vec3 position;     /* of the vertex, m */
    vec3 normal;       /* unit, out of the rigid body; world axes */
    vec3 anchor;       /* closest point of the rigid body in its own frame, m */
    double gap;        /* m, negative inside */
    double area;       /* of the vertex at rest, m^2 */
} contact_point;

/* All candidates with gap < margin (m). Writes the first `capacity` of them and returns how many there are, which may
 * be more. Skins and bodies that are NULL are passed over. */
int contact_points_find(const contact_skin_state *const *skins, int skin_count, const rigid_state *const *rigids,
                        int rigid_count, double margin, contact_point *points, int capacity);

#endif
