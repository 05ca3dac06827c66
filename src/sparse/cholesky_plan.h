/* Inside a plan: the fronts of the multifrontal method and the maps between them.
 *
 * A front eliminates `pivots` nodes (its columns) and touches `below` more (its other rows). In scalars its rows are
 *     [0, k)         k = 3 pivots, then padding up to kp, a multiple of 8
 *     [kp, kp + m)   m = 3 below, then padding up to height = kp + mp
 * so that both parts start at a register of eight doubles. "Padded row" means an index into this. */
#ifndef SPARSE_CHOLESKY_PLAN_H
#define SPARSE_CHOLESKY_PLAN_H

#include "sparse/cholesky.h"

typedef struct front {
    int first;                        /* elimination position of the first pivot */
    int pivots;                       /* nodes eliminated here */
    int below;                        /* nodes of the other rows */
    int parent;                       /* front, or -1 */
    int row_start;                    /* into plan->row: elimination positions of the `below` nodes, ascending */
    int child_start, child_count;     /* into plan->child, ascending */
    int run_start, run_count;         /* into plan->run */
    int inner;                        /* the first so many scalar rows of `below` are pivots of the parent */
    int scatter_start, scatter_count; /* into plan->scatter */
    size_t panel;                     /* of factor->panels and factor->inverse */
    size_t update;                    /* of factor->work: the Schur complement, until the parent has taken it */
    size_t spread; /* of factor->work: the inverse on the rows below, until the children have taken it */
} front;

/* Rows [from, from + count) of a front's `below` part are the padded rows [to, to + count) of its parent. */
typedef struct front_run {
    int from, to, count;
} front_run;

/* Block `source` / 2 of the matrix, transposed if source is odd, goes to `target` in the pivot columns of its
 * front (column-major, `height` to a column). */
typedef struct front_scatter {
    int source, target;
} front_scatter;

/* Fronts [first, end): a subtree, the last front its root. */
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
    int most_rows; /* the greatest height of a front */
    int *position; /* node_count: node -> elimination position */
    int *node;     /* node_count: its inverse */
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

/* The Schur complement is kept as its lower triangle in block columns of 8: block column b holds the rows
 * from 8 b on. This is where column j would start at row 0; entries from row 8 (j / 8) on exist. */
static inline size_t front_update_column(int mp, int j) {
    int b = j / 8;
    return (size_t)(8 * b) * (size_t)mp - (size_t)(32 * b) * (size_t)(b - 1) + (size_t)(j % 8) * (size_t)(mp - 8 * b) -
           (size_t)(8 * b);
}
static inline size_t front_update_size(int mp) {
    return (size_t)mp * (size_t)(mp + 8) / 2;
}
static inline size_t front_spread_size(const front *f) {
    return (size_t)front_height(f) * (size_t)front_m(f);
}

#endif
