/* W = J A^-1 J^T for sparse rows J and the factor of A: what forces along rows do to rows. See gram.c. */
#ifndef SPARSE_GRAM_H
#define SPARSE_GRAM_H

#include "math/vec3.h"
#include "sparse/cholesky.h"

/* A row of J: no node comes twice. A row without nodes moves nothing. */
typedef struct gram_row {
    int count;
    const int *node;
    const vec3 *gradient;
} gram_row;

typedef struct gram_group gram_group;

typedef struct gram {
    double *right;          /* 24 per node: eight right-hand sides, zero between calls */
    int *nodes;             /* of eight rows */
    cholesky_range *reach;  /* of eight rows */
    int *filled;            /* the rows that have nodes */
    gram_group *groups;     /* eight of these each */
    double *kept;           /* their halves, one after the other */
    cholesky_range *ranges; /* which rows of L these are */
    size_t room;            /* of kept */
} gram;

void gram_layout(gram *g, const cholesky_plan *plan, int node_count, int most_rows, arena *memory);

/* W: `stride` (a multiple of 8, at least count) to a row; columns up to the next multiple of 8 become 0. */
void gram_product(gram *g, cholesky_factor *factor, const gram_row *rows, int count, double *W, int stride);

#endif
