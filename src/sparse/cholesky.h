/* Sparse direct solver for symmetric positive definite matrices of 3x3 node blocks.
 *
 * The pattern of a matrix: which pairs of nodes are coupled. Only the lower triangle is stored, by columns: column j
 * has its rows i >= j in ascending order, the diagonal first. The values are a flat array of 9 doubles per block
 * (row-major 3x3), in the order of `row`; block k is A_ij and, if i != j, A_ji = A_ij^T. */
#ifndef SPARSE_CHOLESKY_H
#define SPARSE_CHOLESKY_H

#include "core/error.h"
#include "core/memory.h"
#include "core/threads.h"
#include "core/vec3.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct block_pattern {
    int node_count;
    int block_count;
    int *column_start; /* node_count + 1 */
    int *row;          /* block_count */
} block_pattern;

/* Creates a pattern from groups of nodes that are all coupled with each other: group g has the nodes
 * group_node[group_start[g]] to group_node[group_start[g + 1] - 1] (a tet is a group of four). Every diagonal block
 * exists. Indices must be in [0, node_count). */
thenar_status block_pattern_create(int node_count, int group_count, const int *group_start, const int *group_node,
                                   block_pattern *out, thenar_error *error);
void block_pattern_free(block_pattern *pattern);

/* The block of (row, column) with row >= column, or -1 if these nodes are not coupled. */
int block_pattern_find(const block_pattern *pattern, int row, int column);

/* y = A x for a matrix with this pattern; x and y hold 3 * node_count doubles and do not overlap. */
void block_pattern_multiply(const block_pattern *pattern, const double *blocks, const double *x, double *y);

/* Factorization P A P^T = L L^T.
 *
 * A plan (ordering, fronts, memory layout) is made once for a pattern. It is constant and may be shared by threads.
 * A factor has the numbers; its arrays come from the caller's arena, and nothing is allocated after that.
 *
 *     cholesky_plan_create(&pattern, NULL, &plan, error);
 *     cholesky_factor_layout(&factor, plan, arena);
 *     if (cholesky_factorize(&factor, blocks, workers) == CHOLESKY_DONE) cholesky_solve(&factor, x);
 *
 * Vectors have three doubles per node, in the node order of the pattern or, where stated, in elimination order:
 * there node i is at 3 * cholesky_plan_position(plan)[i]. Eight right-hand sides are interleaved: component c of
 * right-hand side s is x[8 * c + s].
 *
 * Results do not depend on the number of threads, to the last bit. A factor serves one thread at a time, since
 * solves write to its workspace. */

typedef enum cholesky_ordering {
    CHOLESKY_ORDERING_BEST,   /* the better of AMD and METIS, by operations */
    CHOLESKY_ORDERING_AMD,    /* approximate minimum degree */
    CHOLESKY_ORDERING_METIS,  /* nested dissection */
    CHOLESKY_ORDERING_NATURAL /* as numbered, up to a postorder of the elimination tree */
} cholesky_ordering;

typedef struct cholesky_options {
    cholesky_ordering ordering;
    int last_count; /* this many nodes at the end are eliminated last, in their given order */
} cholesky_options;

typedef struct cholesky_plan cholesky_plan;

/* What a plan costs. */
typedef struct cholesky_facts {
    const char *ordering; /* the one picked: "amd", "metis" or "natural" */
    double flops;         /* multiplications and additions of one factorization, each counted as one */
    int front_count;
    int piece_count; /* independent subtrees that threads may take; 0: too small to be worth it */
} cholesky_facts;

/* options may be NULL: best ordering, no last nodes. The same pattern always gives the same plan. (METIS seeds and uses
 * rand() of the process: a program that calls rand() in another thread at the same time breaks this.) */
thenar_status cholesky_plan_create(const block_pattern *pattern, const cholesky_options *options, cholesky_plan **out,
                                   thenar_error *error);
void cholesky_plan_free(cholesky_plan *plan);
cholesky_facts cholesky_plan_facts(const cholesky_plan *plan);
/* position[node]: place of the node in the elimination order. */
const int *cholesky_plan_position(const cholesky_plan *plan);

typedef struct cholesky_factor {
    const cholesky_plan *plan;
    double *panels;  /* L, front by front */
    double *inverse; /* the entries of A^-1 in the pattern of L, front by front */
    double *work;    /* updates of fronts until their parent is assembled */
    double *scratch; /* the current front of each piece */
    double *vector;  /* 3 * node_count rows of eight doubles */
    double *rows;    /* the rows of one front, eight doubles each */
    bool *visited;   /* per front: visited by the current reach; all false between calls */
    int *reached;    /* fronts visited by cholesky_solve_at */
    int *failed;     /* per piece: position of the first pivot that was not positive, or INT_MAX */
} cholesky_factor;

/* Takes the arrays of the factor from the arena (core/memory.h). */
void cholesky_factor_layout(cholesky_factor *factor, const cholesky_plan *plan, arena *memory);

/* A view has the numbers of a factor and a separate workspace, so that threads can solve with one factor at the same
 * time. Only solves and reading of the inverse accept a view. */
void cholesky_view_layout(cholesky_factor *view, const cholesky_plan *plan, arena *memory);
/* Attaches a view to a factor; it stays valid when the matrix is factored again. */
void cholesky_view_open(cholesky_factor *view, const cholesky_factor *factor);

#define CHOLESKY_DONE (-1)

/* Factors the matrix. Returns CHOLESKY_DONE, or the node whose pivot was not a positive finite number; then the
 * factor must not be used until a factorization succeeds. pool may be NULL. */
int cholesky_factorize(cholesky_factor *factor, const double *blocks, workers *pool);

/* x = A^-1 x, in place. */
void cholesky_solve(cholesky_factor *factor, double *x);
void cholesky_solve_eight(cholesky_factor *factor, double *x);

/* Half of a solve: y = L^-1 P b in elimination order, and x = P^T L^-T y. J A^-1 J^T = |L^-1 P J^T|^2 needs
 * the first only. The two arrays must not overlap. */
void cholesky_forward(cholesky_factor *factor, const double *b, double *y);
void cholesky_backward(cholesky_factor *factor, const double *y, double *x);
void cholesky_forward_eight(cholesky_factor *factor, const double *b, double *y);

/* A range of rows in elimination order: scalar rows [first, first + count). */
typedef struct cholesky_range {
    int first, count;
} cholesky_range;

/* y = L^-1 y for eight sparse right-hand sides, in elimination order, that are nonzero only at node_count nodes.
 * Only the rows that can become nonzero are visited (the reach of the nodes in the elimination tree). Writes these
 * rows to `reach`, ascending, which has room for cholesky_facts.front_count ranges, and returns their number. */
int cholesky_forward_reach(cholesky_factor *factor, const int *nodes, int node_count, double *y, cholesky_range *reach);

/* The fronts that nodes reach: those that they are in, and all their ancestors in the tree. Nodes are marked first,
 * in any number of calls. Listing writes the fronts, ascending (up to cholesky_facts.front_count), returns their
 * number and clears the marks. */
void cholesky_reach_mark(cholesky_factor *factor, const int *nodes, int node_count);
int cholesky_reach_list(cholesky_factor *factor, int *fronts);
/* cholesky_backward for eight right-hand sides and the nodes of these fronts only; the rest of x is not written. */
void cholesky_backward_eight_on(cholesky_factor *factor, const int *fronts, int front_count, const double *y,
                                double *x);

/* x = A^-1 x at some nodes, with x zero elsewhere: visits only the rows that these nodes reach. Other entries of x
 * are neither read nor written. */
void cholesky_solve_at(cholesky_factor *factor, const int *nodes, int node_count, double *x);

/* The entries of A^-1 in the pattern of L, which contains the pattern of A. The factor is kept. */
void cholesky_inverse(cholesky_factor *factor, workers *pool);

/* The block (i, j) of A^-1, row-major, after cholesky_inverse. False if it is not in the pattern of L. */
bool cholesky_inverse_block(const cholesky_factor *factor, int i, int j, double out[9]);

/* Where the inverse blocks of the ten pairs of four nodes are stored. A pair is stored once, the node that is
 * eliminated first as its column. */
typedef struct cholesky_location {
    size_t block[10];                  /* its first entry */
    int stride[10];                    /* from a column to the next */
    unsigned char row[10], column[10]; /* which of the four nodes */
} cholesky_location;

/* False if some pair of the nodes is not in the pattern of L. */
bool cholesky_locate(const cholesky_plan *plan, const int nodes[4], cholesky_location *location);
/* g^T Z g with the 12x12 block Z of A^-1 of the four nodes: g holds three numbers of each of them, in the order given. */
double cholesky_inverse_form(const cholesky_factor *factor, const cholesky_location *location, const double g[12]);

/* The row compliance W = J A^-1 J^T for sparse rows J and the factor of A: the response of rows to forces along
 * rows. See row_compliance.c. */

/* A row of J. Its nodes are different; a row without nodes moves nothing. */
typedef struct compliance_row {
    int count;
    const int *node;
    const vec3 *gradient;
} compliance_row;

typedef struct compliance_group compliance_group;
typedef struct reduction reduction;

typedef struct row_compliance {
    const reduction *reduction; /* of the factored matrix, or NULL (sparse/reduction.h) */
    double *right;              /* 24 per node: eight right-hand sides, zero between calls */
    int *nodes;                 /* of eight rows */
    cholesky_range *reach;      /* of eight rows */
    int *filled;                /* the rows that have nodes */
    compliance_group *groups;   /* eight of these each */
    double *kept;               /* their L^-1 P J^T, one after the other */
    cholesky_range *ranges;     /* which rows of L these are */
    size_t room;                /* of kept */
} row_compliance;

void row_compliance_layout(row_compliance *g, const cholesky_plan *plan, int node_count, int max_rows, arena *memory);

/* W: `stride` numbers per row, a multiple of 8 and >= count; columns up to the next multiple of 8 are set to 0. */
void row_compliance_product(row_compliance *g, cholesky_factor *factor, const compliance_row *rows, int count,
                            double *W, int stride);

#endif
