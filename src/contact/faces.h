/* The skin of a soft body as the other side of a contact: its triangles, where they are now, and which of them are
 * near.
 *
 * A point of a triangle moves as the one tet that holds the triangle's middle does, or the nearest one that touches its
 * corners' tets: it hangs on four nodes, whatever its corners hang on. FACES_LEAF triangles that stand together are a
 * leaf, with a box around them; FACES_LEAF boxes in a row have one around these, and so on up to one. The skin's points
 * have groups of their own here, CONTACT_CLUSTER each: those of contact_skin are as good for few large bodies, but
 * among the fingers of a hand some reach from one to another. A body that may touch itself has contact_self in
 * addition: what of it is not contact. Nothing is allocated after contact_faces_create. */
#ifndef CONTACT_FACES_H
#define CONTACT_FACES_H

#include "contact/skin.h"
#include "math/simd.h"

#include <stdint.h>

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

/* What is excluded, and what overlaps, in the skin at rest; positions: the points at rest. */
thenar_status contact_self_create(const contact_faces *faces, double distance, const vec3 *positions,
                                  contact_self **out, thenar_error *error);
void contact_self_free(contact_self *self);

#endif
