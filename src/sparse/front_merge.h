/* Supernodes: which nodes are eliminated together in one front. */
#ifndef SPARSE_FRONT_MERGE_H
#define SPARSE_FRONT_MERGE_H

#include "sparse/ordering.h"

/* The groups of an elimination, in postorder. Group g holds the positions member[start[g]] up to
 * member[start[g + 1] - 1] of the elimination, to be renumbered in this order. */
typedef struct front_groups {
    int count;
    int *start;
    int *parent; /* group, or -1 */
    int *member;
} front_groups;

/* Positions from first_last on (the nodes to be eliminated last) are not put together with earlier ones. */
thenar_status front_groups_create(const elimination *e, int n, int first_last, front_groups *out, thenar_error *error);
void front_groups_free(front_groups *groups);

#endif
