/* A few balls in a rigid solid that touch where the solid does: what it feels other bodies with.
 *
 * A sphere is one ball, a capsule a row of balls along its axis; a box and a cylinder have balls of their rounding's
 * radius (0: points) at their corners and along their rims. All lie inside the solid and reach its surface. Bodies that
 * are smaller than the space between the balls are felt only if they feel back, by balls of their own. */
#ifndef CONTACT_FIND_H
#define CONTACT_FIND_H

#include "body/rigid.h"
#include "body/soft.h"
#include "core/memory.h"
#include "core/simd.h"
#include "core/vec3.h"
#include "geometry/bvh.h"

#include <stdint.h>

/* A longer side of a box or a cylinder has balls in its middle too, since what it lies on may be smaller; shorter ones
 * have none, since each costs. */
#define CONTACT_LONG_SIDE 0.1 /* m */
#define CONTACT_RIM 16    /* balls on a rim of a cylinder: it rolls as such a polygon does, even to 2 % of its radius */
#define CONTACT_CAPSULE 9 /* balls in a capsule at most; a radius apart if that takes fewer */
#define CONTACT_BALLS_MAX 64 /* of any primitive */

/* Writes the centres in the body's frame and tells the radius they have in common, m. Returns how many there are; the
 * shape is no plane and no mesh. */
int contact_balls(const rigid_shape *shape, vec3 centre[CONTACT_BALLS_MAX], double *radius);

/* An order of places in space in which every group of so many in a row stands together.
 *
 * The leaves of a tree (shape/bvh.h) are not all of one size, so that groups in a row reach over from one leaf to the
 * next, which may be elsewhere: of a hand's points, on other fingers. */

/* order[i]: which of the places comes as number i. The same places always give the same order. */
void compact_order(const vec3 *place, int count, int group, int *order);

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

/* The skin of a soft body as the other side of a contact: its triangles, where they are now, and which of them are
 * near.
 *
 * A point of a triangle moves as the one tet that holds the triangle's middle does, or the nearest one that touches its
 * corners' tets: it hangs on four nodes, whatever its corners hang on. FACES_LEAF triangles that stand together are a
 * leaf, with a box around them; FACES_LEAF boxes in a row have one around these, and so on up to one. The skin's points
 * have groups of their own here, CONTACT_CLUSTER each: those of contact_skin are as good for few large bodies, but
 * among the fingers of a hand some reach from one to another. A body that may touch itself has contact_self in
 * addition: what of it is not contact. Nothing is allocated after contact_faces_create. */

#define FACES_LEAF SIMD_LANES
#define FACES_LEVELS 12
#define FACES_PIECES 8 /* into which a search is cut, for threads */

/* A point that is deeper inside than this has gone through: it is left alone. Solvers leave micrometres, so only what
 * is put or driven into another body gets that far; and each point is searched for at least so far around it. */
#define CONTACT_DEPTH 3e-3 /* m */

/* Triangles meet smoothly if their normals at rest differ by less: then the normal goes over from one to the other. */
#define FACES_SMOOTH 0.766 /* cosine of 40 degrees */

/* Which of a group's points do not touch which of a leaf's triangles: a bit each, FACES_LEAF to a point. */
typedef struct contact_mask {
    int leaf;
    uint64_t excluded; /* all ones: none touches any */
} contact_mask;

/* What a point of a body's skin does not touch of the same skin. */
typedef struct contact_self {
    int *start;          /* group_count + 1: of each group of points in `masks` */
    contact_mask *masks; /* by ascending leaf, only those with a one */
    double *overlap;     /* point_count: how far each is inside the same skin at rest, m, >= 0 */
} contact_self;

/* slot: where the point stands in its group. */
static inline uint64_t contact_mask_bit(int slot, int place) {
    return (uint64_t)1 << (slot % CONTACT_CLUSTER * FACES_LEAF + place % FACES_LEAF);
}

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

/* Eight boxes, side by side; those that are not there are empty. */
typedef struct faces_boxes {
    f64x8 low[3], high[3];
} faces_boxes;

/* The triangles that a point is near to, while they are searched: faces_find.c. */
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

/* Room for the leaves near a group of points: leaf_count each. */
typedef struct faces_room {
    int *near;
    uint64_t *masks; /* what is excluded of these, for a body that touches itself */
} faces_room;

typedef struct contact_faces_state {
    const contact_faces *faces;
    const contact_skin_state *skin;
    const double *x;    /* of the body's nodes */
    faces_boxes *boxes; /* of all levels: one of level k has the boxes around eight of level k - 1 */
    faces_found *found; /* a point: what the search finds for it */
    faces_room *room;   /* FACES_PIECES: what each piece of a search needs */
} contact_faces_state;

/* Of the skin of a soft body, which must live as long. self_distance: see thenar_soft_def. On an error nothing is left
 * to free. */
thenar_status contact_faces_create(const contact_skin *skin, double self_distance, contact_faces *out,
                                   thenar_error *error);
void contact_faces_free(contact_faces *faces);
void contact_faces_layout(contact_faces_state *state, const contact_faces *faces, arena *work);

/* The skin is up to date. */
void contact_faces_update(contact_faces_state *state, const contact_skin_state *skin, const body_state *body);

static inline int contact_faces_leaf_count(const contact_faces *faces) {
    return (faces->count + FACES_LEAF - 1) / FACES_LEAF;
}
static inline int contact_faces_leaf_end(const contact_faces *faces, int leaf) {
    int end = (leaf + 1) * FACES_LEAF;
    return end < faces->count ? end : faces->count;
}

/* Twice the area along the normal. */
static inline vec3 contact_faces_area(const contact_faces *faces, const vec3 *positions, int place) {
    const int *corner = faces->corner + 3 * (size_t)place;
    vec3 a = positions[corner[0]];
    return vec3_cross(vec3_sub(positions[corner[1]], a), vec3_sub(positions[corner[2]], a));
}

/* Whether that is a triangle of the skin, with corners. */
static inline bool contact_faces_has(const contact_faces *faces, int triangle) {
    return triangle >= 0 && triangle < faces->triangle_count && faces->skin->triangles[3 * (size_t)triangle] >= 0;
}

/* Leaves whose boxes overlap the box, ascending, to `near`, which has room for all. Returns how many. */
int contact_faces_near(const contact_faces_state *state, const box *around, int *near);
/* The box around a leaf. */
box contact_faces_leaf_box(const contact_faces_state *state, int leaf);

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
int contact_find_points(const contact_skin_state *const *skins, const rigid_state *const *rigids,
                        contact_faces_state *const *faces, const contact_pair *pairs, const int *near, int near_count,
                        double margin, double h, workers *pool, contact_point *points, int capacity);

/* What contact_find_points is filling, for the searches of its two kinds of pairs. */

typedef struct candidates {
    contact_point *points;
    int capacity, count;
    double margin, h;
    workers *pool;
    contact_pair pair; /* at hand */
    int number;        /* of it */
} candidates;

/* One more was found: what to fill, or NULL if there is no room. */
static inline contact_point *candidates_add(candidates *out) {
    return out->count++ < out->capacity ? &out->points[out->count - 1] : NULL;
}

/* Which boxes overlap: sort and sweep along one axis.
 *
 * The boxes stand in the order of their lower ends along the axis on which their middles are spread most. A box can
 * overlap only those that begin before it ends, which stand behind it. Bodies that lie side by side are looked at once
 * for each neighbour along the axis, so that n of them cost about n; all in one heap cost n^2 / 2 comparisons of boxes,
 * which is still little beside what is done with pairs that do overlap.
 *
 * The order of each axis is kept from call to call, since it hardly changes from step to step, and is put right by
 * insertion; lower ends that are equal stand by index. So the order, and with it all that is told, depends on the boxes
 * alone and not on the calls before. */

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
