/* Another solver, to compare ours with. A peer is a module that is loaded at run time, so that the command does not
 * link it. */
#ifndef BENCH_PEER_H
#define BENCH_PEER_H

#include "sparse/cholesky.h"

typedef enum bench_peer_kind { BENCH_PEER_SIMPLICIAL, BENCH_PEER_SUPERNODAL } bench_peer_kind;

typedef struct bench_peer {
    const char *name;
    /* Orders and analyses the pattern; NULL if that fails. */
    void *(*create)(const block_pattern *pattern, int kind);
    /* Copies the values into the format of the peer; not timed. */
    void (*set)(void *solver, const double *blocks);
    /* Numeric factorization into the existing factor; 0 on success. */
    int (*factorize)(void *solver);
    /* x = A^-1 x, three doubles per node, in place. */
    void (*solve)(void *solver, double *x);
    void (*destroy)(void *solver);
    /* Number of doubles in L. */
    double (*nonzeros)(void *solver);
} bench_peer;

/* The function that a module exports, and its name. */
#define BENCH_PEER_SYMBOL "bench_peer_table"
typedef const bench_peer *(*bench_peer_entry)(void);

#endif
