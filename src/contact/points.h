/* Candidate contact points: points of a body's skin that are nearer to a rigid body, or to the skin of a soft one, than
 * a margin, or inside, or come that near within the step.
 *
 * With the gap g of a point (m), the velocity u of the point relative to the rigid body there (m/s, contact_skin_update
 * says which velocities), the outward normal n of the rigid body and the step h (s), a point is a candidate if
 *   g < margin + h max(0, -n . u).
 * Bodies are first compared by their boxes and by lower bounds of the distance, then clusters by lower bounds of the
 * distance, then points by the same; in all of them |u| stands for the approach, so that nothing is passed over.
 * The other side may be the skin of a soft body, another one or the same: see faces_find.c.
 * (`thenar run` prints what the search takes in a scene: find_contacts_us in steps.csv.) */
#ifndef CONTACT_POINTS_H
#define CONTACT_POINTS_H

#include "contact/faces.h"

/* Whose points against whose distance; never the same rigid body. */
typedef struct contact_pair {
    int skin, rigid; /* indices in the arrays that are searched; rigid: of the other body, soft ones too */
    bool on_skin;    /* the other body is soft */
    int other;       /* then: which of the faces */
} contact_pair;

typedef struct contact_point {
    int skin, rigid;   /* of the pair */
    int pair, index;   /* which pair, and which point of the skin: ascending */
    int vertex;        /* of a soft body: of its surface; of a rigid one: the skin's point */
    int node[4];       /* of a soft body: the vertex is the sum of weights times nodes; of a rigid one: -1 */
    double weights[4]; /* of a soft body: adding up to 1; of a rigid one: 0 */
    vec3 arm;          /* of a rigid skin: from its centre of mass to `position`, world axes, m; of a soft one: 0 */
    vec3 position;     /* on the skin's surface, m: of a ball, its point that is nearest to the other body */
    vec3 normal;       /* unit, out of the body `rigid`; world axes */
    vec3 anchor;       /* closest point of the body `rigid`, in its own frame, m; if that is soft: barycentric
                          coordinates in the triangle face_b */
    double gap;        /* m, negative inside */
    bool rolls;        /* the point is that of a ball: not always the same one of the skin's body */
    double area;       /* of a soft skin: a third of the triangles around the vertex that face the other body, as they
                          are now and as the other body sees them (projected along the normal), m^2; else 0 */
    int face_a;        /* of the triangles of the skin's surface around the vertex, the one whose outward normal is most
                          opposed to `normal`; -1 for primitives */
    int face_b;        /* the nearest triangle of the rigid mesh or the other skin; -1 for primitives */
    /* Of a soft body on the other side. */
    int other_node[4];       /* that carry its side of the contact; -1 of a rigid one */
    double other_weights[4]; /* of these, adding up to 1 */
    double allowed;          /* m: how far inside it may be, since it is at rest; in `gap` already */
} contact_point;

/* A pair has candidates only if these two boxes overlap: with c the point of the rigid body that is closest to a point,
 * -n . u <= |velocity of the point| + |velocity of the body| + |spin| |c - centre of mass|, since the rest of the arm
 * is along n and turns across it. */
box contact_skin_reach(const contact_skin_state *skin, double margin, double h);
box contact_rigid_reach(const rigid_state *rigid, double h);

/* All candidates of the pairs, in the order of the pairs and then of the skin's points. Writes the first `capacity` of
 * them and returns how many there are, which may be more. near: the numbers of the `near_count` pairs to look at,
 * ascending. faces: may be NULL if no pair is on a skin. pool: may be NULL. The skins are up to date, the bodies'
 * drive has run. */
int contact_points_find(const contact_skin_state *const *skins, const rigid_state *const *rigids,
                        contact_faces_state *const *faces, const contact_pair *pairs, const int *near, int near_count,
                        double margin, double h, workers *pool, contact_point *points, int capacity);

#endif
