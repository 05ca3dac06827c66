/* Internals of a factorization: elimination orders with their trees and column counts, and the fronts of a plan.
 *
 * Liu, "The role of elimination trees in sparse factorization", SIAM J. Matrix Anal. Appl. 11 (1990). */
#ifndef SPARSE_CHOLESKY_PLAN_H
#define SPARSE_CHOLESKY_PLAN_H

#include "sparse/cholesky.h"

/* The neighbours of node i, without i itself: neighbour[start[i]] up to neighbour[start[i + 1] - 1]. */
typedef struct graph {
    int count;
    int *start;
    int *neighbour;
} graph;

/* The graph of a pattern. The last last_count nodes are also linked to a chain, so that they are the last path of the
 * elimination tree and its postorder keeps them at the end, in their order. */
thenar_status graph_create(const block_pattern *pattern, int last_count, graph *out, thenar_error *error);
void graph_free(graph *g);

/* An order and its tree; everything is indexed by elimination position. */
typedef struct elimination {
    int *node;   /* position -> node */
    int *parent; /* the elimination tree, -1 at a root; a parent comes after its children */
    int *count;  /* nodes in the column of L, including the diagonal */
    const char *name;
    double flops; /* of the factorization, with 3x3 node blocks */
} elimination;

/* The requested order, in postorder: the nodes of every subtree are consecutive, its root last. */
thenar_status elimination_create(const graph *g, const cholesky_options *options, elimination *out,
                                 thenar_error *error);
void elimination_free(elimination *e);

/* A plan: the fronts of the multifrontal method and the maps between them.
 *
 * A front eliminates `pivots` nodes (its columns) and has `below` more nodes as rows. In scalars its rows are
 *     [0, k)         k = 3 pivots, then padding up to kp, a multiple of 8
 *     [kp, kp + m)   m = 3 below, then padding up to height = kp + mp
 * so that both parts start at a register of eight doubles. A "padded row" is an index into this range. */

typedef struct front {
    int first;                        /* elimination position of the first pivot */
    int pivots;                       /* nodes eliminated here */
    int below;                        /* nodes of the other rows */
    int parent;                       /* front, or -1 */
    int row_start;                    /* into plan->row: elimination positions of the `below` nodes, ascending */
    int child_start, child_count;     /* into plan->child, ascending */
    int run_start, run_count;         /* into plan->run */
    int inner;                        /* number of leading scalar rows of `below` that are pivots of the parent */
    int scatter_start, scatter_count; /* into plan->scatter */
    size_t panel;                     /* of factor->panels and factor->inverse */
    size_t update;                    /* of factor->work: the Schur complement, until the parent is assembled */
    size_t spread;                    /* of factor->work: the inverse on the rows below, until the children are done */
} front;

/* Rows [from, from + count) of a front's `below` part are the padded rows [to, to + count) of its parent. */
typedef struct front_run {
    int from, to, count;
} front_run;

/* Block `source` / 2 of the matrix, transposed if source is odd, is stored at `target` in the pivot columns of its
 * front (column-major, `height` per column). */
typedef struct front_scatter {
    int source, target;
} front_scatter;

/* Fronts [first, end): a subtree; the last front is its root. */
typedef struct front_piece {
    int first, end;
    double flops;
    size_t scratch; /* of factor->scratch */
} front_piece;

struct cholesky_plan {
    int node_count;
    int front_count;
    int piece_count;
    int top_count;
    int max_rows;  /* maximum height of a front */
    int *position; /* node_count: node -> elimination position */
    int *node;     /* node_count: elimination position -> node */
    int *front_of; /* node_count: elimination position -> front */
    front *fronts;
    int *row;
    int *child;
    front_run *run;
    front_scatter *scatter;
    front_piece *piece;
    int *top; /* the fronts that are in no piece, ascending */
    size_t top_scratch;
    size_t panel_size, work_size, scratch_size; /* doubles */
    cholesky_facts facts;
};

static inline int front_round(int rows) {
    return (rows + 7) / 8 * 8;
}
static inline int front_k(const front *f) {
    return 3 * f->pivots;
}
static inline int front_m(const front *f) {
    return 3 * f->below;
}
static inline int front_kp(const front *f) {
    return front_round(3 * f->pivots);
}
static inline int front_mp(const front *f) {
    return front_round(3 * f->below);
}
static inline int front_height(const front *f) {
    return front_kp(f) + front_mp(f);
}

/* The padded row of an elimination position in a front, or -1. */
int front_find_row(const cholesky_plan *plan, const front *f, int position);

/* The Schur complement is stored as its lower triangle in block columns of 8: block column b has the rows from 8 b on.
 * The result is the offset of row 0 of column j; entries from row 8 (j / 8) on exist. */
static inline size_t front_update_column(int mp, int j) {
    int b = j / 8;
    return (size_t)(8 * b) * (size_t)mp - (size_t)(32 * b) * (size_t)(b - 1) + (size_t)(j % 8) * (size_t)(mp - 8 * b) -
           (size_t)(8 * b);
}
/* The pool if the front is large enough to be shared by its threads, else NULL. */
workers *front_pool(const front *f, workers *pool);

/* The groups of an elimination, in postorder. Group g holds the positions member[start[g]] up to
 * member[start[g + 1] - 1] of the elimination, to be renumbered in this order. */
typedef struct front_groups {
    int count;
    int *start;
    int *parent; /* group, or -1 */
    int *member;
} front_groups;

/* Positions from first_last on (the nodes to be eliminated last) are not merged with earlier ones. */
thenar_status front_groups_create(const elimination *e, int n, int first_last, front_groups *out, thenar_error *error);
void front_groups_free(front_groups *groups);

/* The pivots of one front may be eliminated in any order. Sorts them so that the rows of its descendants form few
 * runs, and renumbers positions and rows. Positions from first_last on stay. False: out of memory. */
bool front_sort_pivots(cholesky_plan *plan, int first_last);

#endif
