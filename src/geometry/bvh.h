/* A bounding volume hierarchy of boxes, for finding the items near a point or box. */
#ifndef GEOMETRY_BVH_H
#define GEOMETRY_BVH_H

#include "core/error.h"
#include "core/vec3.h"

#include <stdbool.h>

#define BVH_STACK 64 /* the tree halves its items at each level, so it is at most 32 deep */

typedef struct box {
    vec3 low, high;
} box;

static inline box box_of(const vec3 *point, int count) {
    box b = {point[0], point[0]};
    for (int i = 1; i < count; i++) {
        b.low = vec3_min(b.low, point[i]);
        b.high = vec3_max(b.high, point[i]);
    }
    return b;
}
static inline box box_join(box a, box b) {
    return (box){vec3_min(a.low, b.low), vec3_max(a.high, b.high)};
}
static inline box box_grow(box a, double by) {
    vec3 margin = {by, by, by};
    return (box){vec3_sub(a.low, margin), vec3_add(a.high, margin)};
}
static inline bool box_overlaps(const box *a, const box *b) {
    return a->low.x <= b->high.x && b->low.x <= a->high.x && a->low.y <= b->high.y && b->low.y <= a->high.y &&
           a->low.z <= b->high.z && b->low.z <= a->high.z;
}
/* 0 for a point inside. */
static inline double box_distance_squared(const box *a, vec3 p) {
    double x = fmax(fmax(a->low.x - p.x, p.x - a->high.x), 0), y = fmax(fmax(a->low.y - p.y, p.y - a->high.y), 0),
           z = fmax(fmax(a->low.z - p.z, p.z - a->high.z), 0);
    return x * x + y * y + z * z;
}

typedef struct bvh_node {
    box bounds;
    int first, count; /* a leaf: item[first] up to item[first + count - 1]; count 0: an inner node */
    int right;        /* an inner node: its second child; the first one follows the node itself */
} bvh_node;

typedef struct bvh {
    int node_count;
    bvh_node *node; /* node[0] is the root; none in a tree without items */
    int *item;      /* the items in the order of the leaves */
} bvh;

thenar_status bvh_create(const box *boxes, int count, bvh *out, thenar_error *error);
void bvh_free(bvh *tree);

/* Calls visit for each item whose leaf overlaps the query (the item's own box may not) until it returns
 * false. */
typedef bool (*bvh_visit)(void *context, int item);
void bvh_overlap(const bvh *tree, box query, bvh_visit visit, void *context);

#endif
