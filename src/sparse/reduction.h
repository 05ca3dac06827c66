/* Dependent nodes: nodes of a matrix that move with others.
 *
 * A dependent node i follows up to REDUCTION_CARRIERS other nodes, its carriers: x_i = sum_k J_ik x_k. With y the
 * independent nodes, x = T y, T = [1; J], a problem in x becomes one in y:
 *
 *   minimize 1/2 x^T A x - b^T x,  x = T y:   (T^T A T) y = T^T b.
 *
 * Both have the same numbering: a vector of the reduced problem has zeros at the dependent nodes, and the reduced
 * matrix has 1 on their diagonal and nothing else. So everything that forms A, b and x knows nothing of the reduction:
 *   reduction_matrix   T^T A T
 *   reduction_fold     x <- T^T x: forces on dependent nodes become forces on their carriers
 *   reduction_expand   x <- T x: dependent nodes follow their carriers
 * A solve with A restricted to T is fold, solve with the reduced matrix, expand. Carriers are independent. */
#ifndef SPARSE_REDUCTION_H
#define SPARSE_REDUCTION_H

#include "core/error.h"
#include "core/memory.h"
#include "core/vec3.h"
#include "sparse/cholesky.h"

#include <stdbool.h>

#define REDUCTION_CARRIERS 8 /* a palm and up to three fingers, two each */
#define REDUCTION_PIECES 4   /* parts of the terms, for threads */

/* A dependent node and its carriers; -1 after the last. */
typedef struct reduction_node {
    int node;
    int carrier[REDUCTION_CARRIERS];
} reduction_node;

/* One block of A between a dependent and an independent node, and where its products go. */
typedef struct reduction_term {
    int from;    /* the block of A */
    int node;    /* the dependent node, as an index in `nodes` */
    int own;     /* the independent node */
    bool is_row; /* the dependent node is the row of the block, else its column */
    int first;   /* of its targets: one for each carrier */
} reduction_term;

typedef enum reduction_side { REDUCTION_PLAIN, REDUCTION_TRANSPOSED, REDUCTION_BOTH } reduction_side;

typedef struct reduction_target {
    int to; /* block of the reduced matrix */
    reduction_side side;
} reduction_target;

/* A_ij between two dependent nodes. Each is listed for both i and j, and A_ii once. */
typedef struct reduction_pair {
    int from; /* the block of A */
    bool transposed;
    int other;                     /* j, as an index in `nodes` */
    int place[REDUCTION_CARRIERS]; /* of the carriers of j in the sums of i */
} reduction_pair;

/* What dependent node i adds to blocks between carriers: sums W_l = sum_j A_ij J_jl over all carriers l of its dependent
 * neighbours j, then J_ik^T W_l for each of its own carriers k. */
typedef struct reduction_row {
    int first_pair, pair_count;
    int sum_count;    /* carriers l */
    int first_target; /* for each k and, within that, each l: a block, or -1 above the diagonal */
} reduction_row;

/* Consecutive blocks: `count` from `from` of A go to `to` of the reduced matrix. */
typedef struct reduction_run {
    int from, to, count;
} reduction_run;

typedef struct reduction_model {
    int count;             /* 0: no node is dependent, and nothing below is used */
    reduction_node *nodes; /* ascending */
    int *index;            /* per node of the matrix: its index in `nodes`, or -1 */
    block_pattern pattern; /* of the reduced matrix */
    int copied_count;
    reduction_run *copied; /* blocks between independent nodes */
    int cleared_count;
    reduction_run *cleared; /* the other blocks: sums of products */
    int term_count;
    reduction_term *terms; /* ascending in `own`, so that pieces of them write to different blocks */
    int term_start[REDUCTION_PIECES + 1];
    bool is_divided; /* terms and rows write to different blocks, so threads can share them */
    int *carrier_count;
    reduction_target *targets;
    reduction_row *rows; /* per dependent node */
    reduction_pair *pairs;
    int *row_targets;
    int max_sums;
} reduction_model;

/* The Jacobians of one simulation. */
typedef struct reduction {
    const reduction_model *model;
    mat3 (*J)[REDUCTION_CARRIERS]; /* per dependent node; the caller sets them before the first use in a step */
    double *blocks;                /* 9 per block of the reduced matrix */
    mat3 *sums;                    /* W of one node */
    bool *is_whole;                /* per dependent node: it moves with its first carrier as a whole, J = 1 */
} reduction;

/* pattern: of the whole matrix. Takes ownership of `nodes`, which are ascending. */
thenar_status reduction_model_create(const block_pattern *pattern, reduction_node *nodes, int count,
                                     reduction_model *out, thenar_error *error);
void reduction_model_free(reduction_model *model);

void reduction_layout(reduction *state, const reduction_model *model, arena *work);

/* state->blocks = T^T A T. pool may be NULL. */
void reduction_matrix(reduction *state, const double *blocks, workers *pool);
/* x: 3 per node of the matrix. */
void reduction_fold(const reduction *state, double *x);
void reduction_expand(const reduction *state, double *x);

/* The gradient of a row at dependent node `index` as gradients at its carriers; returns their number. */
static inline int reduction_gradient(const reduction *state, int index, vec3 gradient, int node[REDUCTION_CARRIERS],
                                     vec3 out[REDUCTION_CARRIERS]) {
    const reduction_node *dependent = &state->model->nodes[index];
    int count = 0;
    for (; count < REDUCTION_CARRIERS && dependent->carrier[count] >= 0; count++) {
        node[count] = dependent->carrier[count];
        out[count] = mat3_mul_vec_transposed(state->J[index][count], gradient);
    }
    return count;
}

#endif
