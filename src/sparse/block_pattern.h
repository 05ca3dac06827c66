/* The pattern of a symmetric matrix of 3x3 node blocks: which pairs of nodes are coupled.
 *
 * Only the lower triangle is kept, by columns: column j holds its rows i >= j in ascending order, the diagonal first.
 * The values of a matrix with this pattern are a flat array of 9 doubles a block (row-major 3x3), in the order of
 * `row`; block k stands for A_ij and, if i != j, for A_ji = A_ij^T. */
#ifndef SPARSE_BLOCK_PATTERN_H
#define SPARSE_BLOCK_PATTERN_H

#include "base/error.h"

typedef struct block_pattern {
    int node_count;
    int block_count;
    int *column_start; /* node_count + 1 */
    int *row;          /* block_count */
} block_pattern;

/* From groups of nodes that couple all with all: group g holds the nodes group_node[group_start[g]] up to
 * group_node[group_start[g + 1] - 1] (a tet is a group of four). Every diagonal block is there. Indices must lie in
 * [0, node_count). */
thenar_status block_pattern_create(int node_count, int group_count, const int *group_start, const int *group_node,
                                   block_pattern *out, thenar_error *error);
void block_pattern_free(block_pattern *pattern);

/* The block of (row, column) with row >= column, or -1 if these nodes are not coupled. */
int block_pattern_find(const block_pattern *pattern, int row, int column);

/* y = A x for a matrix with this pattern; x and y hold 3 * node_count doubles and do not overlap. */
void block_pattern_multiply(const block_pattern *pattern, const double *blocks, const double *x, double *y);

#endif
