/* What contact_points_find is filling, for the searches of its two kinds of pairs. */
#ifndef CONTACT_HARVEST_H
#define CONTACT_HARVEST_H

#include "contact/points.h"

typedef struct harvest {
    contact_point *points;
    int capacity, count;
    double margin, h;
    workers *pool;
    contact_pair pair; /* at hand */
    int number;        /* of it */
} harvest;

/* One more was found: what to fill, or NULL if there is no room. */
static inline contact_point *harvest_take(harvest *out) {
    return out->count++ < out->capacity ? &out->points[out->count - 1] : NULL;
}

/* What is the skin's own about its point: how it hangs on its body, area, face. Position and normal are there. */
void harvest_describe(const contact_skin_state *state, int index, contact_point *point);

/* Points of a soft body's skin against the skin of another, which may be the same one: faces_find.c. */
void harvest_faces(harvest *out, contact_faces_state *mine, contact_faces_state *other);

#endif
