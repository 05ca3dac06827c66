/* A small pool of threads for parallel loops inside one step.
 *
 * The promise that determinism rests on: the work is cut into the same pieces whatever the number of threads;
 * threads only decide who does which piece. A piece writes only what is its own; sums over pieces are added up
 * by the caller in the order of the pieces. */
#ifndef CORE_THREADS_H
#define CORE_THREADS_H

#include "core/error.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct workers workers;

/* thread_count counts the caller: 1 makes a pool without threads of its own. */
thenar_status workers_create(int thread_count, workers **out, thenar_error *error);
void workers_free(workers *pool);
int workers_count(const workers *pool);

typedef void (*workers_piece)(void *context, int piece);

/* Runs piece(context, i) once for each i in [0, piece_count), the caller helping; returns when all are done.
 * pool may be NULL: the caller does it all. Not to be called from within a piece. Allocates nothing. */
void workers_run(workers *pool, int piece_count, workers_piece piece, void *context);

/* The newest of something, from one thread to one other, without locks: three slots, of which the writer has one, the
 * reader has one, and the third, with a mark if it is news, lies between them. Either takes it in one atomic exchange;
 * neither ever waits, and the reader may skip news but never sees half of any. */

#define TRIPLE_LINE 64 /* bytes; what two threads write lies on different lines of the cache */

typedef struct triple_buffer {
    size_t size; /* of a slot, bytes, a multiple of TRIPLE_LINE */
    char *slots;
    _Alignas(TRIPLE_LINE) unsigned writing; /* the writer's slot */
    _Alignas(TRIPLE_LINE) unsigned reading; /* the reader's slot */
    _Alignas(TRIPLE_LINE) atomic_uint between;
} triple_buffer;

/* Slots of `size` bytes, zeroed; false: no memory. */
bool triple_buffer_create(triple_buffer *t, size_t size);
void triple_buffer_free(triple_buffer *t);

/* The writer's slot, with something old in it. */
void *triple_buffer_slot(triple_buffer *t);
/* Tells what is in it; the writer has another slot afterwards. */
void triple_buffer_publish(triple_buffer *t);

/* The newest that was told (zeros before the first), the reader's until the next call. `news`, if not NULL: whether it
 * is another one than last time. */
const void *triple_buffer_read(triple_buffer *t, bool *news);

/* Monotonic time. */

/* Nanoseconds since some fixed moment. */
int64_t clock_now(void);

#endif
