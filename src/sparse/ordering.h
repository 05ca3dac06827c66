/* Elimination orders of a graph, and what they lead to: elimination tree, postorder, column counts.
 *
 * Liu, "The role of elimination trees in sparse factorization", SIAM J. Matrix Anal. Appl. 11 (1990). */
#ifndef SPARSE_ORDERING_H
#define SPARSE_ORDERING_H

#include "sparse/cholesky.h"

/* Neighbours of node i: neighbour[start[i]] up to neighbour[start[i + 1] - 1], i itself not among them. */
typedef struct graph {
    int count;
    int *start;
    int *neighbour;
} graph;

/* The graph of a pattern. The last last_count nodes are also joined to a chain: the elimination tree then
 * holds them as its last path, and its postorder keeps them at the end in their order. */
thenar_status graph_create(const block_pattern *pattern, int last_count, graph *out, thenar_error *error);
void graph_free(graph *g);

/* An order and its tree; everything is indexed by elimination position. */
typedef struct elimination {
    int *node;   /* position -> node */
    int *parent; /* the elimination tree, -1 at a root; a parent comes after its children */
    int *count;  /* nodes in the column of L, the diagonal one among them */
    const char *name;
    double flops; /* of the factorization, node blocks being 3x3 */
} elimination;

/* The order asked for, in postorder: the nodes of every subtree stand together, its root last. */
thenar_status elimination_create(const graph *g, const cholesky_options *options, elimination *out,
                                 thenar_error *error);
void elimination_free(elimination *e);

/* Postorder of a forest (parents -1 at roots), children and roots ascending: order[place] = node. head and
 * next are workspace, n + 1 ints each. */
void tree_postorder(const int *parent, int n, int *head, int *next, int *order);

#endif
