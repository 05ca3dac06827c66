/* Direct solver for symmetric positive definite matrices of 3x3 node blocks: P A P^T = L L^T.
 *
 * A plan (ordering, fronts, memory layout) is made once for a pattern; it never changes and may be shared by
 * threads. A factor holds the numbers; its arrays come from the caller's arena, and nothing below allocates
 * after that.
 *
 *     cholesky_plan_create(&pattern, NULL, &plan, error);
 *     cholesky_factor_layout(&factor, plan, arena);
 *     if (cholesky_factorize(&factor, blocks, workers) == CHOLESKY_DONE) cholesky_solve(&factor, x);
 *
 * Vectors hold three doubles a node, in the node order of the pattern unless "in elimination order" is said;
 * there node i stands at 3 * cholesky_plan_position(plan)[i]. Eight right-hand sides at once are interleaved:
 * component c of right-hand side s is x[8 * c + s].
 *
 * Results do not depend on the number of threads, to the last bit. A factor serves one thread at a time: the
 * solves write to its workspace. */
#ifndef SPARSE_CHOLESKY_H
#define SPARSE_CHOLESKY_H

#include "base/arena.h"
#include "base/error.h"
#include "base/workers.h"
#include "sparse/block_pattern.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum cholesky_ordering {
    CHOLESKY_ORDERING_BEST,   /* AMD and METIS, whichever needs fewer operations */
    CHOLESKY_ORDERING_AMD,    /* approximate minimum degree */
    CHOLESKY_ORDERING_METIS,  /* nested dissection */
    CHOLESKY_ORDERING_NATURAL /* as numbered, up to a postorder of the elimination tree */
} cholesky_ordering;

typedef struct cholesky_options {
    cholesky_ordering ordering;
    int last_count; /* the last so many nodes are eliminated last, in their given order */
} cholesky_options;

typedef struct cholesky_plan cholesky_plan;

/* What a plan costs. */
typedef struct cholesky_facts {
    const char *ordering; /* the one picked: "amd", "metis" or "natural" */
    double flops;         /* multiplications and additions of one factorization, each counted as one */
    double nonzeros;      /* doubles in the lower triangle of L, with the zeros that merged fronts hold */
    int front_count;
    int piece_count; /* independent subtrees that threads may take; 0: too small to be worth it */
} cholesky_facts;

/* options may be NULL: best ordering, no last nodes. The same pattern always gives the same plan. (METIS
 * draws from the rand() of the process, after seeding it: a program that calls rand() in another thread at
 * that moment spoils this.) */
thenar_status cholesky_plan_create(const block_pattern *pattern, const cholesky_options *options, cholesky_plan **out,
                                   thenar_error *error);
void cholesky_plan_free(cholesky_plan *plan);
cholesky_facts cholesky_plan_facts(const cholesky_plan *plan);
/* position[node]: when the node is eliminated, 0 first. */
const int *cholesky_plan_position(const cholesky_plan *plan);

typedef struct cholesky_factor {
    const cholesky_plan *plan;
    double *panels;  /* L, front by front */
    double *inverse; /* the entries of A^-1 in the pattern of L, front by front */
    double *work;    /* fronts that wait for their parent */
    double *scratch; /* the front at hand, one a piece */
    double *vector;  /* 3 * node_count rows of eight doubles */
    double *rows;    /* the rows of one front, eight doubles each */
    bool *visited;   /* a front: met by what goes over a reach; all false between calls */
    int *reached;    /* fronts that cholesky_solve_at goes over */
    int *failed;     /* a piece: position of the first pivot that was not positive, or INT_MAX */
} cholesky_factor;

/* Takes the factor's arrays from the arena (base/arena.h: measure, then carve). */
void cholesky_factor_layout(cholesky_factor *factor, const cholesky_plan *plan, arena *memory);

/* A view: the numbers of a factor with a workspace of its own, so that threads can solve with one factor at the same
 * time. Only the solves and the reading of the inverse take it. */
void cholesky_view_layout(cholesky_factor *view, const cholesky_plan *plan, arena *memory);
/* The view shows this factor from now on, also when it is factored anew. */
void cholesky_view_open(cholesky_factor *view, const cholesky_factor *factor);

#define CHOLESKY_DONE (-1)

/* Factors the matrix. CHOLESKY_DONE, or the node whose pivot was not a positive number (NaN and infinity are
 * not): then the factor must not be used until a factorization is done. pool may be NULL. */
int cholesky_factorize(cholesky_factor *factor, const double *blocks, workers *pool);

/* x = A^-1 x, in place. */
void cholesky_solve(cholesky_factor *factor, double *x);
void cholesky_solve_eight(cholesky_factor *factor, double *x);

/* Half of a solve: y = L^-1 P b in elimination order, and x = P^T L^-T y. J A^-1 J^T = |L^-1 P J^T|^2 needs
 * the first only. The two arrays must not overlap. */
void cholesky_forward(cholesky_factor *factor, const double *b, double *y);
void cholesky_backward(cholesky_factor *factor, const double *y, double *x);
void cholesky_forward_eight(cholesky_factor *factor, const double *b, double *y);
void cholesky_backward_eight(cholesky_factor *factor, const double *y, double *x);

/* A range of rows in elimination order: scalar rows [first, first + count). */
typedef struct cholesky_range {
    int first, count;
} cholesky_range;

/* y = L^-1 y for eight sparse right-hand sides, in elimination order, that are zero but at node_count nodes:
 * only the rows that can become nonzero are visited (the reach of the nodes in the elimination tree). Writes
 * these rows to `reach`, ascending, which has room for cholesky_facts.front_count ranges, and returns their
 * number. */
int cholesky_forward_reach(cholesky_factor *factor, const int *nodes, int node_count, double *y, cholesky_range *reach);

/* The fronts that nodes reach: those that they are in, and all above these in the tree. Nodes are marked first, in any number of
 * calls; listing writes the fronts, ascending, of which there are at most cholesky_facts.front_count, returns their number and
 * forgets the marks. */
void cholesky_reach_mark(cholesky_factor *factor, const int *nodes, int node_count);
int cholesky_reach_list(cholesky_factor *factor, int *fronts);
/* cholesky_backward_eight for the nodes of these fronts only; x has nothing else written. */
void cholesky_backward_eight_on(cholesky_factor *factor, const int *fronts, int front_count, const double *y,
                                double *x);

/* x = A^-1 x at some nodes, where x is zero elsewhere: goes over the rows that these reach only. What x has at other nodes is
 * neither read nor written. */
void cholesky_solve_at(cholesky_factor *factor, const int *nodes, int node_count, double *x);

/* The entries of A^-1 in the pattern of L, which holds the pattern of A. The factor itself stays. */
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
/* The 12x12 block of A^-1 of the four nodes, row-major, in the order in which they were given. */
void cholesky_inverse_gather(const cholesky_factor *factor, const cholesky_location *location, double out[144]);
/* g^T Z g with that block Z: g holds three numbers of each of the four nodes. */
double cholesky_inverse_form(const cholesky_factor *factor, const cholesky_location *location, const double g[12]);

#endif
