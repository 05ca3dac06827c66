/* A solver of others, to measure ours against. A peer is built as a module of its own and loaded at run time,
 * so that the command links nothing of it. */
#ifndef BENCH_PEER_H
#define BENCH_PEER_H

#include "sparse/cholesky.h"

typedef enum bench_peer_kind { BENCH_PEER_SIMPLICIAL, BENCH_PEER_SUPERNODAL } bench_peer_kind;

typedef struct bench_peer {
    const char *name;
    /* Orders and analyses the pattern; NULL if that fails. */
    void *(*create)(const block_pattern *pattern, int kind);
    /* Takes the values over to the peer's own format; not part of what is timed. */
    void (*set)(void *solver, const double *blocks);
    /* Numeric factorization of what was set, into the factor that is there. 0 if it went well. */
    int (*factorize)(void *solver);
    /* x = A^-1 x, three doubles a node, in place. */
    void (*solve)(void *solver, double *x);
    void (*destroy)(void *solver);
    /* Doubles in L. */
    double (*nonzeros)(void *solver);
} bench_peer;

/* The function that a module exports under this name. */
#define BENCH_PEER_SYMBOL "bench_peer_table"
typedef const bench_peer *(*bench_peer_entry)(void);

#endif
