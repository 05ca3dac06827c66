/* A small pool of threads for parallel loops inside one step.
 *
 * The promise that determinism rests on: the work is cut into the same pieces whatever the number of threads;
 * threads only decide who does which piece. A piece writes only what is its own; sums over pieces are added up
 * by the caller in the order of the pieces. */
#ifndef BASE_WORKERS_H
#define BASE_WORKERS_H

#include "base/error.h"

typedef struct workers workers;

/* thread_count counts the caller: 1 makes a pool without threads of its own. */
thenar_status workers_create(int thread_count, workers **out, thenar_error *error);
void workers_free(workers *pool);
int workers_count(const workers *pool);

typedef void (*workers_piece)(void *context, int piece);

/* Runs piece(context, i) once for each i in [0, piece_count), the caller helping; returns when all are done.
 * pool may be NULL: the caller does it all. Not to be called from within a piece. Allocates nothing. */
void workers_run(workers *pool, int piece_count, workers_piece piece, void *context);

#endif
