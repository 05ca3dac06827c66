/* Finding contact points: skin.c makes the points with which a body touches others, faces.c the triangles of soft
 * bodies that points touch, and find.c searches for points near other bodies.
 *
 * Primitives touch with a few balls that lie inside the solid and reach its surface. A sphere is one ball, a capsule
 * a row of balls along its axis. A box and a cylinder have balls of their rounding radius (0: points) at their
 * corners and along their rims. A body smaller than the space between the balls is detected only by balls of its
 * own. */
#ifndef CONTACT_FIND_H
#define CONTACT_FIND_H

#include "body/rigid.h"
#include "body/soft.h"
#include "core/memory.h"
#include "core/simd.h"
#include "core/vec3.h"
#include "geometry/distance.h"

#include <stdint.h>

/* Longer sides of a box or a cylinder also have balls in their middle, since what they lie on may be smaller.
 * Shorter ones have none, since each ball costs time. */
#define CONTACT_LONG_SIDE 0.1 /* m */
#define CONTACT_RIM 16    /* balls on a rim of a cylinder, which rolls like that polygon: round to 2 % of its radius */
#define CONTACT_CAPSULE 9 /* maximum in a capsule; fewer if they are a radius apart */
#define CONTACT_BALLS_MAX 64 /* maximum of any primitive */

/* Writes the centres in the body frame and their common radius, m. Returns how many there are. Planes and meshes have
 * none. */
int contact_balls(const rigid_shape *shape, vec3 centre[CONTACT_BALLS_MAX], double *radius);

/* An order of points in which each group of `group` consecutive points is compact in space.
 *
 * The leaves of a tree (geometry/distance.h) vary in size, so consecutive groups would reach from one leaf to the next,
 * which may be elsewhere: on another finger of a hand. */

/* order[i]: index of the point at place i. The same points always give the same order. */
void compact_order(const vec3 *place, int count, int group, int *order);

/* The points with which a body touches others, their positions and velocities.
 *
 * For a soft body these are the surface vertices (of the mesh boundary or the finer embedded surface) that a
 * triangle uses. With a contact_spacing they are some of these, with coarser triangles between them
 * (geometry/simplify.c). For a rigid body they are the centres of the balls above or the vertices of its mesh,
 * vertices at the same place counted once, with the growth of the mesh as radius.
 *
 * A contact_skin is constant; a contact_skin_state belongs to a simulation. The points are ordered so that
 * neighbours in space are neighbours in memory. They are searched in clusters of CONTACT_CLUSTER consecutive points.
 * Each cluster has a bounding ball of positions and one of velocities, by which it is rejected as a whole. Nothing
 * is allocated after contact_skin_create. */

#define CONTACT_CLUSTER 8

/* Attachment of a vertex to the nodes of a soft body. */
typedef struct contact_hold {
    int node[4];
    double weights[4]; /* sum 1; a vertex that is a node has one 1 and zeros */
} contact_hold;

typedef struct contact_skin {
    const body_model *body;
    int point_count;
    int cluster_count;   /* the last one may be smaller */
    double radius;       /* of the points of a rigid body, m; 0 for a soft one */
    contact_hold *holds; /* point_count, of a soft body; else NULL */
    vec3 *centres;       /* point_count, of a rigid body, in its frame, m; else NULL */
    /* Of soft bodies and rigid meshes; NULL for primitives. */
    int *vertex;        /* point_count: of the body's surface; of vertices at the same place the first */
    int triangle_count; /* of the surface, or of the coarser one */
    int *triangles;     /* 3 per triangle: points; -1 if two of its corners are the same point */
    int *around_start;  /* point_count + 1: of each point in `around` */
    int *around;        /* the triangles around a point, ascending */
    /* As `around`, for a coarser surface: the triangle of the body's own surface at that vertex and on the same side;
     * NULL if the two surfaces are the same. */
    int *around_face;
} contact_skin;

/* Bounds: every point, with its radius, is within `reach` of `middle`; every velocity within `spread` of `velocity`. */
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

/* For a soft body, or a dynamic rigid body that is no plane. The body must outlive the skin. */
thenar_status contact_skin_create(const body_model *body, contact_skin *out, thenar_error *error);
void contact_skin_free(contact_skin *skin);
void contact_skin_layout(contact_skin_state *state, const contact_skin *skin, arena *work);

/* Positions at the start of a step of h (s), and velocities over it if nothing touches the body. Free nodes and
 * rigid bodies keep their velocity plus that of the forces on the whole body (without gravity); held nodes move as
 * driven. The body's drive has run. */
void contact_skin_update(contact_skin_state *state, const body_state *body, double h);

static inline int contact_cluster_end(const contact_skin *skin, int cluster) {
    int end = (cluster + 1) * CONTACT_CLUSTER;
    return end < skin->point_count ? end : skin->point_count;
}

/* The skin of a soft body as the other side of a contact: its triangles, and a tree of boxes around them.
 *
 * A point of a triangle moves with one tet: the one that contains the middle of the triangle, or the nearest one
 * that shares a node with the tets of its corners. It is thus attached to four nodes. FACES_LEAF neighbouring
 * triangles form a leaf with a bounding box, FACES_LEAF boxes in a row have one around them, and so on up to one.
 * The points of the skin have separate groups of CONTACT_CLUSTER here: the clusters of contact_skin are as good for
 * a few large bodies, but on a hand some reach from one finger to another. A body that may touch itself also has a
 * contact_self: which contacts to exclude. Nothing is allocated after contact_faces_create. */

#define FACES_LEAF SIMD_LANES
#define FACES_LEVELS 12
#define FACES_PIECES 8 /* parts of a search, for threads */

/* Points deeper inside than this are ignored: they have passed through. Solvers leave micrometres, so only what is
 * placed or driven into another body gets this deep. It is also the minimum search distance. */
#define CONTACT_DEPTH 3e-3 /* m */

/* Triangles meet smoothly if their normals at rest differ by less; then the normal is interpolated across their
 * edge. */
#define FACES_SMOOTH 0.766 /* cosine of 40 degrees */

/* Exclusions between the points of a group and the triangles of a leaf: one bit each, FACES_LEAF per point. */
typedef struct contact_mask {
    int leaf;
    uint64_t excluded; /* all ones: no contact is possible */
} contact_mask;

/* Contacts of a skin with itself that are excluded. */
typedef struct contact_self {
    int *start;          /* group_count + 1: of each group of points in `masks` */
    contact_mask *masks; /* by ascending leaf; masks of zeros are not stored */
    double *overlap;     /* point_count: how far each is inside the same skin at rest, m, >= 0 */
} contact_self;

typedef struct contact_faces {
    const contact_skin *skin;
    int triangle_count; /* of the skin, those without corners included */
    int group_count;    /* of points */
    int *point;         /* point_count: the skin's points, group by group */
    int count;          /* of triangles with corners: their places are 0 to count - 1 */
    int *triangle;      /* count: which of the skin's triangles */
    int *corner;        /* 3 count: points of the skin */
    int *tet;           /* count: of the body's mesh, whose nodes carry it */
    int *smooth_start;  /* 3 count + 1: of each corner in `smooth` */
    int *smooth;        /* places of the triangles around a corner that meet this one smoothly, itself included */
    int level_count;
    int level_start[FACES_LEVELS + 1]; /* of each level in `boxes`; level 0 has the triangles, a leaf each */
    contact_self *self;                /* NULL: never touches itself */
} contact_faces;

/* Eight boxes in lanes; unused lanes are empty boxes. */
typedef struct faces_boxes {
    f64x8 low[3], high[3];
} faces_boxes;

/* The nearest triangle of a point found so far. */
typedef struct faces_nearest {
    double squared; /* of the distance, m^2 */
    int place;      /* -1: none */
    int feature;
    vec3 point;
    double weights[3];
} faces_nearest;

typedef struct faces_found {
    faces_nearest all, facing;
} faces_found;

/* Scratch of one part of a search: leaf_count each. */
typedef struct faces_room {
    int *near;
    uint64_t *masks; /* exclusions of these, for a body that touches itself */
} faces_room;

typedef struct contact_faces_state {
    const contact_faces *faces;
    const contact_skin_state *skin;
    const double *x;    /* of the body's nodes */
    faces_boxes *boxes; /* of all levels: one of level k bounds eight of level k - 1 */
    faces_found *found; /* result of the search for each point */
    faces_room *room;   /* FACES_PIECES: scratch of each part */
} contact_faces_state;

/* For the skin of a soft body, which must outlive the faces. self_distance: see thenar_soft_def. On an error nothing is
 * left to free. */
thenar_status contact_faces_create(const contact_skin *skin, double self_distance, contact_faces *out,
                                   thenar_error *error);
void contact_faces_free(contact_faces *faces);
void contact_faces_layout(contact_faces_state *state, const contact_faces *faces, arena *work);

/* The skin is up to date. */
void contact_faces_update(contact_faces_state *state, const contact_skin_state *skin, const body_state *body);

/* The normal, with twice the area as length. */
static inline vec3 contact_faces_area(const contact_faces *faces, const vec3 *positions, int place) {
    const int *corner = faces->corner + 3 * (size_t)place;
    vec3 a = positions[corner[0]];
    return vec3_cross(vec3_sub(positions[corner[1]], a), vec3_sub(positions[corner[2]], a));
}

/* Writes the leaves whose boxes overlap a box, ascending, to `near`, which has room for all. Returns how many. */
int contact_faces_near(const contact_faces_state *state, const box *around, int *near);
/* The box around a leaf. */
box contact_faces_leaf_box(const contact_faces_state *state, int leaf);

/* Candidate contact points: points of a skin that are closer than a margin to another body, or inside it, or get
 * there within the step.
 *
 * With the gap g (m), the velocity u of the point relative to the other body there (m/s; see contact_skin_update),
 * the outward normal n of the other body and the step h (s), a point is a candidate if
 *   g < margin + h max(0, -n . u).
 * Bodies, then clusters, then points are rejected by their boxes and by lower bounds of the distance, with |u| as an
 * upper bound of the approach, so that no candidate is missed. The other body may be soft; see find.c for its
 * triangles. (`thenar run` writes the time of the search to steps.csv: find_contacts_us.) */

/* Two bodies that may touch: points of the first against the surface of the second. A soft body may touch itself. */
typedef struct contact_pair {
    int body[2];
    int skin;   /* of the first body */
    int faces;  /* of the second body if it is soft, else -1 */
    int system; /* the linear system that has the unknowns of the contacts */
    double mu;
} contact_pair;

typedef struct contact_point {
    int skin, other;   /* the skin, and the other body */
    int pair, index;   /* index of the pair, and of the point in the skin; candidates are sorted by both */
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

/* A pair can have candidates only if these two boxes overlap. With c the point of the rigid body closest to a point,
 * -n . u <= |velocity of the point| + |velocity of the body| + |spin| |c - centre of mass|: the rest of the arm is
 * along n, and rotation moves it across n. */
box contact_skin_reach(const contact_skin_state *skin, double margin, double h);
box contact_rigid_reach(const rigid_state *rigid, double h);

/* Finds all candidates of the pairs in `near` (near_count indices, ascending), sorted by pair and point. Writes the
 * first `capacity` of them and returns how many there are, which may be more. faces: may be NULL if no pair needs
 * them. pool: may be NULL. The skins are up to date, and the drives of the bodies have run. */
int contact_find_points(const contact_skin_state *const *skins, const rigid_state *const *rigids,
                        contact_faces_state *const *faces, const contact_pair *pairs, const int *near, int near_count,
                        double margin, double h, workers *pool, contact_point *points, int capacity);

/* The broad phase: pairs of boxes that overlap, by sort and sweep along one axis.
 *
 * The boxes are sorted by their lower ends along the axis with the largest variance of their centres. A box overlaps
 * only those behind it that begin before it ends. n bodies side by side cost about n, and n in one heap n^2 / 2
 * comparisons, still little beside the work for overlapping pairs.
 *
 * The order of each axis is kept from call to call, since it hardly changes, and is updated by insertion; equal
 * lower ends are sorted by index. So the result depends on the boxes alone and not on earlier calls. */

typedef struct broad_phase {
    int count;
    int *order[3]; /* count each, for the axes: by ascending lower end */
} broad_phase;

void broad_phase_layout(broad_phase *state, int count, arena *work);
/* Once the state has its memory. */
void broad_phase_open(broad_phase *state);

/* Calls visit once for each pair of boxes that overlap, one of the first `split` boxes and one of the others. Boxes may
 * be infinite; none of their numbers is NaN. */
typedef void (*broad_phase_visit)(void *context, int one, int other);
void broad_phase_find(broad_phase *state, const box *boxes, int split, broad_phase_visit visit, void *context);

#endif
