/* The skin of a soft body as the other side of a contact: its triangles, where they are now, and which of them are near.
 *
 * A point of a triangle moves as the one tet that holds the triangle's middle does, or the nearest one that touches its
 * corners' tets: it hangs on four nodes, whatever its corners hang on. The triangles stand in an order in which
 * neighbours in space are neighbours in memory; FACES_LEAF in a row have a box around them, FACES_FAN boxes in a row
 * one around these, and so on up to a few. A body that may touch itself has contact_self in addition: what of it is not
 * contact. Nothing is allocated after contact_faces_create. */
#ifndef CONTACT_FACES_H
#define CONTACT_FACES_H

#include "contact/skin.h"

#include <stdint.h>

#define FACES_LEAF 8
#define FACES_FAN 4
#define FACES_LEVELS 16

/* A point that is deeper inside than this has gone through: it is left alone. Half of what a finger is thick. */
#define CONTACT_DEPTH 5e-3 /* m */

/* Triangles meet smoothly if their normals at rest differ by less: then the normal goes over from one to the other. */
#define FACES_SMOOTH 0.766 /* cosine of 40 degrees */

/* What a point of a body's skin does not touch of the same skin. */
typedef struct contact_self {
    int *start;      /* point_count + 1: of each point in `excluded` */
    int *excluded;   /* places of triangles, ascending */
    uint64_t *apart; /* a bit each pair of a cluster of points and a leaf: 1 if no point tests any of its triangles */
    int words;       /* of a cluster in `apart` */
    double *overlap; /* point_count: how far each is inside the same skin at rest, m, >= 0 */
} contact_self;

typedef struct contact_faces {
    const contact_skin *skin;
    int triangle_count; /* of the skin, those without corners included */
    int count;          /* of those with corners: their places are 0 to count - 1 */
    int *triangle;      /* count: which of the skin's triangles */
    int *corner;        /* 3 count: points of the skin */
    int *tet;           /* count: of the body's mesh, whose nodes carry it */
    int *smooth_start;  /* 3 count + 1: of each corner in `smooth` */
    int *smooth;        /* places of the triangles around a corner that meet this one smoothly, itself included */
    int level_count;
    int level_start[FACES_LEVELS + 1]; /* of each level in `boxes`; level 0 are the leaves */
    contact_self *self;                /* NULL: never touches itself */
} contact_faces;

typedef struct contact_faces_state {
    const contact_faces *faces;
    const contact_skin_state *skin;
    const double *x;     /* of the body's nodes */
    box *triangle_boxes; /* count */
    box *boxes;          /* of all levels */
    int *near;           /* leaf_count: where the search writes leaves */
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
    return faces->level_start[1];
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

/* Leaves whose boxes are nearer to p than range, ascending, in state->near. Returns how many. */
int contact_faces_near(contact_faces_state *state, vec3 p, double range);

/* What is excluded, and what overlaps, in the skin at rest; positions: the points at rest. */
thenar_status contact_self_create(const contact_faces *faces, double distance, const vec3 *positions,
                                  contact_self **out, thenar_error *error);
void contact_self_free(contact_self *self);

/* Whether the point does not touch the triangle at that place. */
bool contact_self_excludes(const contact_self *self, int point, int place);

#endif
